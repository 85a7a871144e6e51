"""What stands for programs that `gsh` and its keys start in a shell."""

from __future__ import annotations

import os
from pathlib import Path

from tests.kit.home import Home

_PROGRAM = """#!/bin/sh
[ "$1 $2" = "shell menu" ] && { cat "$HOME/menu"; exit; }
for word in "$@"; do printf '[%s]' "$word"; done; echo
exit 6
"""


def program_that_echoes(home: Home) -> Path:
    """A `gsh-tui` that says what it was told, with status 6; its menu of agents is the file `menu` of the home."""
    file = _made(home.path / "bin" / "gsh-tui", _PROGRAM)
    os.environ["GSH_TUI"] = str(file)
    (home.path / "menu").write_text("")
    return file


def folder_of_fzf(home: Home) -> Path:
    """A folder for `PATH` with an `fzf` that takes the last of what it is shown."""
    return _made(home.path / "finder" / "fzf", "#!/bin/sh\ntail -n 1\n").parent


def _made(file: Path, text: str) -> Path:
    file.parent.mkdir()
    file.write_text(text)
    file.chmod(0o755)
    return file
