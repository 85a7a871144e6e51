"""`python -m gshtui`: the same as the `gsh-tui` command."""

from gshtui.cli.entry import main

if __name__ == "__main__":
    raise SystemExit(main())
