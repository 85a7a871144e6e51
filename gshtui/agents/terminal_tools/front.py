"""What is in front in a pane: a shell that waits at its prompt, or something that runs; and what stands typed there.

Refuses to guess in the shell's favour: what cannot be known counts as running, or as typed by somebody. The kernel is
asked where it can tell (the terminal's foreground group and its mode), the program's name only where it cannot.
"""

from __future__ import annotations

import os
import re
import termios
from dataclasses import dataclass
from pathlib import Path

from gshtui.tmux.marker import Marker
from gshtui.tmux.panes import PaneInfo

SHELLS = frozenset(("zsh", "bash", "sh", "dash", "ash", "ksh", "mksh", "fish"))
"""Shells that the terminal tool can speak to."""
_EDITS = frozenset(("zsh", "bash", "fish"))
"""Shells that take the terminal out of line mode while they wait at the prompt."""
_ENDS = "$#%>❯➜»λ›▶⟩"
"""Characters that prompts end in."""


@dataclass(frozen=True, slots=True)
class Front:
    """`program` is the name of what is in front. `prompt`: it is the pane's own shell, and it waits for a line."""

    program: str
    prompt: bool


def is_shell(program: str) -> bool:
    """Whether a program of this name is a shell; a login shell's name begins with `-`."""
    return program.removeprefix("-") in SHELLS


def front(info: PaneInfo) -> Front:
    """What is in front in the pane now. Blocks for a moment (it reads `/proc`)."""
    program = info.command.removeprefix("-")
    if info.dead or not is_shell(program):
        return Front(program, False)
    grouped = _is_foreground(info.pid)
    if grouped is False:
        return Front(program, False)
    if program not in _EDITS:
        return Front(program, grouped is True)
    mode = _in_line_mode(info.pid)
    return Front(program, not mode if mode is not None else grouped is True)


def _is_foreground(pid: int) -> bool | None:
    """Whether the process's own group is the terminal's foreground one; `None` where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return fields[2] == fields[5]  # its group, and the terminal's


def _in_line_mode(pid: int) -> bool | None:
    """Whether the process's terminal collects lines itself, as it does while commands run; `None`: not known."""
    try:
        terminal = os.open(f"/proc/{pid}/fd/0", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return bool(termios.tcgetattr(terminal)[3] & termios.ICANON)
    except termios.error:
        return None
    finally:
        os.close(terminal)


def typed(seen: Marker, prompt: str = "") -> str:
    """What seems to be typed at a shell's prompt and not entered; empty only when nothing is.

    Args:
        seen: the pane, with its shell at the prompt.
        prompt: what the shell's prompt was when nothing was typed behind it, where that is known.
    """
    before = seen.unfinished
    if prompt and before.rstrip() == prompt.rstrip():
        return ""
    row = seen.rows[seen.info.cursor_y] if seen.info.cursor_y < len(seen.rows) else ""
    behind = row[len(before) :].strip()
    text = before.rstrip()
    end = text[-1:]
    # One prompt's end, with a blank behind it and nothing that could be the end of a command: `$ echo $` is typed.
    if end and end in _ENDS and text.count(end) == 1 and before != text and (not behind or _is_at_right(row, before)):
        return ""
    return (text + (f" {behind}" if behind else "")) or behind


def _is_at_right(row: str, before: str) -> bool:
    """Whether what stands behind the cursor is a prompt at the right edge: well apart from it."""
    return re.match(r"\s{4,}", row[len(before) :]) is not None
