"""`python -m gshtui`: the same as the `gsh-tui` command."""

from gshtui.cli.entry import program

if __name__ == "__main__":
    program()
