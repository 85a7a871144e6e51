"""Keys of `gsh` in a shell with its editor, and what stands for the programs that they start."""

import os
import shutil
from pathlib import Path

from gshtui.settings.loader import load
from gshtui.shell import plugin_files
from tests.kit.home import Home
from tests.kit.shells import Shell

_USUAL = ("sh", "cat", "date", "env", "git", "mkdir", "ps", "rm", "sleep", "stat", "stty", "tail", "tty", "uname")
_PROGRAM = """#!/bin/sh
[ "$1 $2" = "shell menu" ] && { cat "$HOME/menu"; exit; }
for word in "$@"; do printf '[%s]' "$word"; done; echo
exit 6
"""


def press_keys(shell: Shell, keys: str, wanted: str) -> None:
    """Press keys; what is wanted has to appear."""
    shell.press_keys(keys)
    shell.wait_for_text(wanted.encode())


def offer_agents(home: Home, *rows: str) -> None:
    """These agents are what the menu offers: number, name, status."""
    made = ("\t".join((row.split()[0], "  ".join(row.split()))) + "\n" for row in rows)
    (home.path / "menu").write_text("".join(made))


def bind_keys(home: Home, text: str) -> None:
    """The person's settings have these `[keybindings]`, and shells know them."""
    file = home.config / "gsh" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f"[keybindings]\n{text}")
    plugin_files.write_options(load(home.path).settings)


def write_echo_program(home: Home) -> Path:
    """A `gsh-tui` that says what it was told, with status 6; its menu of agents is the file `menu` of the home."""
    file = _made(home.path / "bin" / "gsh-tui", _PROGRAM)
    os.environ["GSH_TUI"] = str(file)
    (home.path / "menu").write_text("")
    return file


def program_folder(home: Home, *more: str) -> Path:
    """A folder for `PATH` with the usual programs and these, whatever else the machine has installed."""
    folder = home.path / f"programs{''.join(f'-{name}' for name in more)}"
    folder.mkdir()
    for name in (*_USUAL, *more):
        if (found := shutil.which(name)) is not None:
            (folder / name).symlink_to(found)
    assert all((folder / name).exists() for name in more), f"`.ci/setup --tests` installs {', '.join(more)}"
    return folder


def _made(file: Path, text: str) -> Path:
    file.parent.mkdir()
    file.write_text(text)
    file.chmod(0o755)
    return file
