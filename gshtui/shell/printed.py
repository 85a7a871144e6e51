"""What a command printed, cut out of its terminal's lines: behind the line on which it was typed, before the prompt.

Pure. It is read off the screen, so it is not exact: what a program drew over, what another one printed between, and
lines above a prompt of several lines may be missing or too much. In doubt it answers nothing. Called by the capture.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_STYLE = re.compile(r"\x1b\[[0-9;:]*m|\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)|[\x0e\x0f]")
_NO_NEWLINE = re.compile(r"(?:\x1b\[[0-9;:]*m){0,8}\x1b\[(?:[0-9;:]*;)?7m[%#](?:\x1b\[[0-9;:]*m)+\s*\Z")
"""What zsh prints behind a last line that had no newline."""
_MARK = "[redacted]"
_RIGHT = re.compile(r"\s*\Z|\s{2,}\S")
"""What may stand behind a typed command on its line: nothing, or a prompt at the right."""
_HEAD_MOST = 4


@dataclass(frozen=True, slots=True)
class Habit:
    """What the prompt of a shell looks like, as far as it was seen."""

    prompt: str = ""
    """Its last line."""
    head: int | None = None
    """Lines above that: as many as were the same above each prompt that was seen."""


@dataclass(frozen=True, slots=True)
class Printed:
    """What was found."""

    lines: tuple[str, ...]
    habit: Habit
    above: bool = False
    """There was more above it, which is gone."""


def printed(screen: Sequence[str], command: str, habit: Habit, *, scrolled: bool) -> Printed | None:
    """What the newest command on these lines printed; `None` where that cannot be told.

    Args:
        screen: the terminal's last lines down to the prompt, styled, wrapped lines joined.
        command: as typed, secrets taken out.
        habit: what is known of the prompt.
        scrolled: there is more above these lines.
    """
    plain = [_STYLE.sub("", _NO_NEWLINE.sub("", line)).rstrip() for line in screen]
    while plain and not plain[-1]:
        plain.pop()
    if not plain:
        return None
    typed = [line.rstrip() for line in command.rstrip().split("\n")]
    found = _echo(plain[:-1], typed, habit.prompt)
    if found is None:
        if not scrolled or not habit.prompt or not _is_prompt(plain[-1], habit.prompt):
            return None
        return Printed(_without_head(plain[:-1], habit.head or 0), habit, above=True)
    at, prompt = found
    if not prompt or not _is_prompt(plain[-1], prompt):
        return None  # the prompt is not there yet, or something stands in its place
    body = plain[at + 1 : -1]
    seen = _repeated(plain[: at - len(typed) + 1], body)
    head = seen if habit.head is None else min(seen, habit.head)
    return Printed(_without_head(body, 0 if habit.head is None else head), Habit(plain[-1], head))


def _repeated(above: Sequence[str], body: Sequence[str]) -> int:
    """How many lines above the last prompt are also above the one before: those of the prompt, most likely."""
    count = 0
    for before, now in zip(reversed(above[-_HEAD_MOST:]), reversed(body[-_HEAD_MOST:]), strict=False):
        if before != now:
            break
        count += 1
    return count


def _echo(plain: Sequence[str], typed: Sequence[str], prompt: str) -> tuple[int, str] | None:
    """The line on which the command was typed to its end, and the prompt before it: the last such place."""
    for known in (prompt, ""):
        for at in range(len(plain) - len(typed), -1, -1):
            before = _typed_at(plain[at], typed[0], known)
            if before is None:
                continue
            rest = zip(plain[at + 1 : at + len(typed)], typed[1:], strict=True)
            if all(_typed_at(line, wanted, "") is not None for line, wanted in rest):
                return at + len(typed) - 1, before
        if not prompt:
            break
    return None


def _typed_at(line: str, typed: str, prompt: str) -> str | None:
    """What stands before the typed text on a line that ends with it; `None` when it does not."""
    if prompt and not line.startswith(prompt.rstrip()):
        return None
    first, *others = typed.split(_MARK)
    start = len(prompt.rstrip()) if prompt else 0
    at = line.find(first, start)
    if at < 0:
        return None
    end = at + len(first)
    for other in others:
        end = line.find(other, end)
        if end < 0:
            return None
        end += len(other)
    if (not others or others[-1]) and not _RIGHT.match(line, end):
        return None
    return line[:at]


def _is_prompt(line: str, prompt: str) -> bool:
    """Whether a line begins as the prompt does; its folder and time may be others."""
    line, prompt = line.strip(), prompt.strip()
    return bool(line) and (line.startswith(prompt) or line[-1:] == prompt[-1:] or prompt in line)


def _without_head(body: Sequence[str], head: int) -> tuple[str, ...]:
    kept = list(body[: len(body) - head] if head else body)
    while kept and not kept[-1]:
        kept.pop()
    return tuple(kept)
