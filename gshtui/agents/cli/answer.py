"""What a program added to its conversation on the screen: the part of the picture that was not there before.

Pure. Programs redraw their input and everything below it all the time, so that is left out; what came is found behind
the last lines that were there already. Called by the session.
"""

from __future__ import annotations

from collections.abc import Sequence

_ANCHORS = (6, 4, 3, 2, 1)
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
