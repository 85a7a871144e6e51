"""`gsh-tui shell init zsh` by the shortest way: it runs at the start of shells, where every millisecond is waited for.

Imports `os` and `sys` only. Called by `entry` before click is loaded, and by `shell init` for the command's path.
"""

from __future__ import annotations

import os
import sys

from gshtui.shell import plugin


def quick(arguments: list[str]) -> bool:
    """Print the text if that is all that is asked for; False: click is to look at it."""
    if len(arguments) != 3 or arguments[:2] != ["shell", "init"] or arguments[2] not in plugin.SHELLS:
        return False
    os.write(1, os.fsencode(plugin.text(arguments[2], command())))
    return True


def command() -> str:
    """The `gsh-tui` that runs, to be called again by its path; empty when it was not started as one."""
    name = sys.argv[0]
    if os.path.basename(name) != "gsh-tui":  # noqa: PTH119
        return ""
    return os.path.abspath(name)  # noqa: PTH100
