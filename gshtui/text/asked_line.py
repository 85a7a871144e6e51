"""What a program asks, in one line: for rows in which there is no room for more. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

_GENERAL = re.compile(
    r"(?i)(?:(?:do|would|you|want|like|to|proceed|continue|run|execute|allow|apply|the|this|following|"
    r"execution|of)\b *)+(?:command|change|\[shell\])?\?"
)
"""The words of a program's question that say nothing which what it is about does not say."""
_LONGEST = 400
_PROMPT = "$ "
"""Stands before a command, which may come behind lines that say where and why."""
_SAYS = re.compile(r"\w{1,40}: ")
"""How a line begins that says where or why."""
_DRAWN = re.compile(r" {0,20}\d{1,9} ")
"""A line of a change, as programs draw it: below its number is the file's."""


def only_line(detail: str) -> str:
    """The one line of what a program asks about, such as a command; empty: there are none or more, or it is long."""
    lines = [line.strip() for line in detail.split("\n") if line.strip()]
    return lines[0] if len(lines) == 1 and len(lines[0]) <= _LONGEST else ""


def is_general(subject: str, detail: str) -> bool:
    """Whether these words of a program say nothing that the lines about it do not say."""
    return bool(detail.strip()) and _GENERAL.fullmatch(subject) is not None


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
    if asked in told.lower() or is_general(subject, told):
        return told
    return " · ".join((told, subject) if subject.endswith("?") else (subject, told))


def command_first(lines: Sequence[str]) -> Sequence[str]:
    """The lines with the command before those that say where and why, if it is the last of them."""
    return [lines[-1], *lines[:-1]] if _ends_with_command(lines) else lines


def _ends_with_command(lines: Sequence[str]) -> bool:
    """Whether what is in front of the last line says where or why: a command has more lines, some like a prompt."""
    *others, last = [line.strip() for line in lines if line.strip()] or [""]
    said = others[:1] and _SAYS.match(others[0]) and not any(line.startswith(_PROMPT) for line in others)
    return bool(said) and last.startswith(_PROMPT)


def _undrawn(detail: str) -> str:
    """Without a change that is drawn below its heading, or with no more than the command at its end."""
    first, *others = lines = detail.strip("\n").split("\n")
    if _ends_with_command(lines):
        return lines[-1]
    return first if all(_DRAWN.match(line) for line in others if line.strip()) else detail
