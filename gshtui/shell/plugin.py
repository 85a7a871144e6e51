"""The shell plugins: where their files are, the text to source, and the line for a start-up file.

Uses only a little of the standard library, because `gsh-tui shell init` runs whenever such a shell starts. Rejects a
shell without a plugin. Called by the command line.
"""

from __future__ import annotations

import os

SHELLS = ("zsh", "bash", "fish")
IN_TMUX = ("zsh", "bash")
"""Those that can go on in a tmux of their own."""
MARK = "# gsh-tui shell install"
"""Ends the line that `install` adds, so that `uninstall` knows it."""
_FILES = {"zsh": "gsh.plugin.zsh", "bash": "gsh.bash", "fish": "gsh.fish"}


def path(shell: str = "zsh") -> str:
    """The plugin's file. Raises `KeyError` for another shell."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), _FILES[shell])  # noqa: PTH100, PTH118, PTH120


def text(shell: str, command: str = "") -> str:
    """What `source <(gsh-tui shell init …)` reads. `command`: the `gsh-tui` that is to be called, where it is known."""
    if shell == "fish":
        told = f"set -g GSH_TUI {quoted(command, shell)}\n" if command else ""
    else:
        told = f"GSH_TUI={quoted(command)}\n" if command else ""
    return f"{told}source {quoted(path(shell), shell)}\n"


def line(shell: str, *, in_tmux: bool = False) -> str:
    """The line for the start-up file, which does nothing if the plugin's file no longer exists. `in_tmux`: a shell
    outside tmux goes on in one of its own.
    """
    file = quoted(path(shell), shell)
    if shell == "fish":
        return f"test ! -r {file}; or source {file}  {MARK}"
    return f"[[ ! -r {file} ]] || {'GSH_IN_TMUX=1 ' if in_tmux else ''}source {file}  {MARK}"


def quoted(word: str, shell: str = "") -> str:
    """A word quoted for zsh and bash, or for fish."""
    if word and all(letter.isalnum() or letter in "/._-+@%" for letter in word) and word.isascii():
        return word
    if shell == "fish":
        return "'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return "'" + word.replace("'", "'\\''") + "'"
