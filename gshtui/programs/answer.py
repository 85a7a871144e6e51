"""What a program added to its conversation on the screen: the part of the picture that was not there before.

Pure. Programs redraw their input and everything below it all the time, so that is left out; what came is found behind
the last lines that were there already. A program with a prompt only prints: what came there is what stands between the
typed line and the next prompt. Called by the session.
"""

from __future__ import annotations

from collections.abc import Sequence

from gshtui.tmux.marker import Marker

_ANCHORS = (6, 4, 3, 2, 1)
_NARROW, _BLANK = 10, 4
"""Columns of the narrowest terminal that is reckoned with, and empty rows that may stand before an echo."""
_ECHO = "❯›>┃│▌▄▀─ \xa0"


def added(before: Sequence[str], after: Sequence[str], prompt: str = "") -> str:
    """The lines of `after` that came since `before`, without the echo of the prompt.

    Args:
        before, after: plain lines of the conversation, oldest first.
        prompt: what was entered in between.
    """
    old = [line for line in before if line]
    places = [number for number, line in enumerate(after) if line]
    new = [after[number] for number in places]
    rest = list(after) if not old else None
    for size in _ANCHORS:
        if rest is not None or size > len(old):
            continue
        anchor = old[-size:]
        found = next((n for n in range(len(new) - size, -1, -1) if new[n : n + size] == anchor), None)
        if found is not None:
            rest = list(after[places[found + size - 1] + 1 :])
    if rest is None:  # it has scrolled on for longer than can be seen
        known = set(old)
        rest = [line for line in after if not line or line not in known]
    return "\n".join(_without_echo(rest, prompt)).strip("\n")


def _without_echo(lines: list[str], prompt: str) -> list[str]:
    words = [line.strip() for line in prompt.split("\n") if line.strip()]
    at = 0
    while at < len(lines) and (not lines[at].strip(_ECHO) or lines[at].strip(_ECHO) in words):
        at += 1
    return lines[at:]


def output(before: Marker, now: Marker, came: str, entered: str) -> str:
    """What a program with a prompt printed.

    Args:
        before, now: its terminal, at its prompt both times.
        came: what came in between: the echo of what was entered, the output, and the prompt.
    """
    rows = came.split("\n")
    rows = rows[_echoed(rows, entered) :]
    prompt = now.unfinished.rstrip()
    if rows and prompt and rows[-1].rstrip() == prompt:
        rows.pop()
        # A prompt of several lines: those above its last one were there before as well.
        for above, was in zip(reversed(now.anchor()), reversed(before.anchor()), strict=False):
            if not (rows and above and rows[-1].rstrip() == above == was):
                break
            rows.pop()
    return "\n".join(rows).strip("\n")


def _echoed(rows: Sequence[str], entered: str) -> int:
    """How many rows at the beginning show what was entered; a long line stands in several, a block behind prompts."""
    at = 0
    lines = [line for line in entered.split("\n") if line.strip()]
    for line in lines:
        wanted, shown = "".join(line.split()), ""
        for end in range(at, min(at + len(line) // _NARROW + _BLANK, len(rows))):
            shown += "".join(rows[end].split())
            if wanted in shown:
                at = end + 1
                break
        else:
            return at
    while len(lines) > 1 and at < len(rows) and rows[at].strip() in ("...", ">"):
        at += 1
    return at
