"""`gsh-tui shell init zsh` by the shortest path: it runs when a shell starts, and the user waits for every millisecond.

Imports only `os` and `sys`. Called by `entry` before click is loaded, and by `shell init` for the command's path.
"""

from __future__ import annotations

import os
import sys

from gshtui.shell import plugin


def quick(arguments: list[str]) -> bool:
    """Print the text if nothing else was asked for; False: leave it to click."""
    if len(arguments) != 3 or arguments[:2] != ["shell", "init"] or arguments[2] not in plugin.SHELLS:
        return False
    os.write(1, os.fsencode(plugin.text(arguments[2], command())))
    return True


def command() -> str:
    """The path of the running `gsh-tui`, for calling it again; empty if it was started under another name."""
    name = sys.argv[0]
    if os.path.basename(name) != "gsh-tui":  # noqa: PTH119
        return ""
    return os.path.abspath(name)  # noqa: PTH100
