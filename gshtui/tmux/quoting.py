"""Quotes text for tmux's command language, so that tmux takes all of it literally.

Pure. Every argument that we did not write ourselves goes through `quoted`; text that tmux would expand as a format goes
through `unexpanded` first.
"""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z0-9_@:./=+,-]+\Z")
# A tilde is a home folder to tmux, in quotes too.
_SPECIAL = re.compile(r'[\\"$~\x00-\x1f\x7f]')
_PANE = re.compile(r"%[0-9]+\Z")
SESSION = re.compile(r"[a-z0-9][a-z0-9-]{0,63}\Z")
"""The pattern of our session names."""


def quoted(argument: str) -> str:
    """One argument of a command line. Newlines and other controls are written as escapes, so it stays one line."""
    if _PLAIN.match(argument):
        return argument
    return '"' + _SPECIAL.sub(_escaped, argument) + '"'


def command(*words: str) -> str:
    """A command line. An argument that may start with `-` without being an option must follow `--` or an option."""
    return " ".join(map(quoted, words))


def unexpanded(text: str) -> str:
    """Text for a place where tmux expands formats: `#` is doubled, so that `#(command)` never runs."""
    return text.replace("#", "##")


def resizing(target: str, width: int, height: int) -> str:
    """A command that resizes a window unless a person is attached to its session, which tmux itself decides."""
    resize = command("resize-window", "-t", target, "-x", str(width), "-y", str(height))
    return command("if-shell", "-F", "-t", target, "#{session_attached}", "", resize)


def is_pane(target: str) -> bool:
    """Whether it is a pane's id, the only way that we name a target."""
    return bool(_PANE.match(target))


def _escaped(match: re.Match[str]) -> str:
    character = match.group()
    if character in '\\"$':
        return "\\" + character
    return f"\\{ord(character):03o}"
