"""Quotes text for tmux's command language, so that tmux takes all of it literally.

Pure. Every argument that we did not write ourselves goes through `quoted`; text that tmux would expand as a format goes
through `unexpanded` first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

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


class ShownRow(msgspec.Struct, frozen=True):
    """A row of a screen, by what is known of it.

    Args:
        text: as it is shown, without blanks at its end.
        marked: signs that are not in `text` may be in front of it, such as a cursor.
        beside: behind two blanks something else may follow.
    """

    text: str
    marked: bool = False
    beside: bool = False


def on_screen(rows: Sequence[ShownRow]) -> str:
    """tmux's condition that all of these rows are on a pane's screen, character for character.

    Characters beyond ASCII may be any: what a pattern makes of them depends on the server's language.
    """
    conditions = [f"#{{C/r:{pattern}}}" for pattern in dict.fromkeys(map(_row_pattern, rows))] or ["1"]
    while len(conditions) > 1:  # a balanced tree: tmux limits the depth
        odd = conditions[len(conditions) // 2 * 2 :]
        pairs = zip(conditions[::2], conditions[1::2], strict=False)
        conditions = [f"#{{&&:{one},{other}}}" for one, other in pairs] + odd
    return conditions[0]


_SAFE = re.compile(r"[0-9A-Za-z ]")
_BEYOND_ASCII = re.compile(r"[^ -~]+")
_LONGEST_ROW = 400


def _row_pattern(row: ShownRow) -> str:
    """A regular expression for exactly this row, as it is written inside a format."""
    head = "[^0-9A-Za-z]*" if row.marked else ""
    tail = "" if len(row.text) > _LONGEST_ROW else "( *$|  )" if row.beside else " *$"
    parts = _BEYOND_ASCII.split(row.text[:_LONGEST_ROW])
    return f"^{head}{'.+'.join(''.join(map(_character, part)) for part in parts)}{tail}"


def _character(character: str) -> str:
    if _SAFE.match(character):
        return character
    if character in "^\\":
        return f"\\{character}"
    return f"[#{character}]" if character in "#,}" else f"[{character}]"


_WAITS = "@gsh-waits"
_LIST = f"#{{S:#{{?{_WAITS}, ◆ #{{=/20/…:{_WAITS}}},}}}}"
_LINE = f"#[bg=yellow,fg=black] waiting for you:{_LIST} #[default]"


def waiting_notes(session: str, name: str) -> list[str]:
    """The commands that note at a session who waits for the person there, and show the list of all of them. `name`: of
    letters, digits and `-`; empty: nobody waits there now.
    """
    note = (
        ("set-option", "-t", f"={session}:", _WAITS, name)
        if name
        else ("set-option", "-u", "-t", f"={session}:", _WAITS)
    )
    seen = command("set-option", "-u", "-t", f"={session}:", "status")  # off since it was started
    some = " ; ".join((command("set-option", "-g", "status-format[0]", _LINE), "set-option -g status on"))
    show = command("if-shell", "-F", "-t", f"={session}:", _LIST, some, "set-option -g status off")
    return [seen, command(*note), show]


def is_pane(target: str) -> bool:
    """Whether it is a pane's id, the only way that we name a target."""
    return bool(_PANE.match(target))


def _escaped(match: re.Match[str]) -> str:
    character = match.group()
    if character in '\\"$':
        return "\\" + character
    return f"\\{ord(character):03o}"
