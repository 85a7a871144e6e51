"""What a program asks, in one line: for rows in which there is no room for more. Pure."""

from __future__ import annotations

import re

_GENERAL = re.compile(
    r"(?i)(?:(?:do|would|you|want|like|to|proceed|continue|run|execute|allow|apply|the|this|following)\b *)+"
    r"(?:command|change)?\?"
)
"""The words of a program's question that say nothing which what it is about does not say."""
_LONGEST = 400
_DRAWN = re.compile(r" {0,20}\d{1,9} ")
"""A line of a change, as programs draw it: below its number is the file's."""


def only_line(detail: str) -> str:
    """The one line of what a program asks about, such as a command; empty: there are none or more, or it is long."""
    lines = [line.strip() for line in detail.split("\n") if line.strip()]
    return lines[0] if len(lines) == 1 and len(lines[0]) <= _LONGEST else ""


def unsaid(subject: str, detail: str) -> str:
    """What a program asks about, without its first line where that is no more than the question says."""
    first, _, rest = detail.partition("\n")
    return rest if first.strip() and first.strip() in (subject, subject.partition(": ")[2]) else detail


def asked_line(subject: str, detail: str) -> str:
    """The question with what it is about, each said once: first what it is about, but a statement before its prompt."""
    from gshtui.text.sanitise import one_line  # not before the first letter

    subject, told = one_line(subject, _LONGEST), one_line(only_line(_undrawn(detail)), _LONGEST)
    asked = subject.removesuffix("?").lower()
    if not told or told.lower() in asked:
        return subject
    if asked in told.lower() or _GENERAL.fullmatch(subject):
        return told
    return " · ".join((told, subject) if subject.endswith("?") else (subject, told))


def _undrawn(detail: str) -> str:
    """Without a change that is drawn below its heading."""
    first, *others = detail.strip("\n").split("\n")
    return first if all(_DRAWN.match(line) for line in others if line.strip()) else detail
