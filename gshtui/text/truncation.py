"""Truncation: keep head and tail of a long text, cut at character borders, with one marker that has true numbers.

Bytes omitted = bytes of the original − bytes of head and tail. Lines from the middle that look like errors are kept
too. Pure; never cuts what a cut would not shorten.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice

import msgspec

_BLOCK = 1 << 20
_ERRORS = 40
_ERROR_LENGTH = 200
_ROOM_FOR_ERRORS = 400
"""Below this limit, in bytes, an eighth of it is too short for a useful line."""
_OPENS, _SAYS, _PLAIN = "\n\n… (", " bytes omitted", ") …"
_WITH_ERRORS, _ERRORS_END = "; lines in them that look like errors:) …\n", "\n…"
_MOST = 10**15 - 1
"""The largest count that a marker allows for."""
_HINTS = ("rror", "RROR", "ail", "FAIL", "atal", "FATAL", "xception", "raceback", "anic", "egmentation", "denied")
_ERROR_LINE = re.compile(
    r"\b(?:\w*(?:Error|Exception|Failure)|errors?|ERRORS?|fail(?:ed|ures?|s)?|FAIL(?:ED|URES?)?|fatal|FATAL|Traceback"
    r"|panic(?:ked)?|PANIC|Segmentation fault|[Pp]ermission denied|Failed|Fatal|E   )\b"
)
_NOT_AN_ERROR = re.compile(r"\b(?:0|no) (?:errors?|failures?|failed)\b", re.IGNORECASE)


class Gap(msgspec.Struct, frozen=True):
    """Where a text has already lost bytes: its marker is between `start` and `end`, and stands for `lost` bytes."""

    start: int
    end: int
    lost: int


def marker(omitted: int, key: str = "", errors: str = "") -> str:
    """What goes between head and tail: so many bytes are left out, with these lines that look like errors."""
    said = f"{_WITH_ERRORS}{errors}{_ERRORS_END}" if errors else _PLAIN
    return f"{_OPENS}{omitted:,}{_SAYS}{said}{way_back(key)}\n\n"


def way_back(key: str) -> str:
    """The marker's line that says how to read the whole; empty without a key."""
    return f"\n[the whole output: `output key={key}`]" if key else ""


def gap_of(text: str) -> Gap | None:
    """The first marker in a text known to be cut, so that further cuts have true numbers."""
    start = text.find(_OPENS)
    number, words, rest = text[start + len(_OPENS) :].partition(_SAYS)
    digits = number.replace(",", "")
    if start < 0 or not words or not (digits.isascii() and digits.isdecimal()):
        return None
    end = len(text) - len(rest)
    if not rest.startswith(_PLAIN):
        end = text.find(_ERRORS_END, end)
    last = text.find("\n\n", end)
    return None if end < 0 or last < 0 else Gap(start, last + 2, int(digits))


def least(key: str = "", notes: str = "") -> int:
    """Bytes of a cut text that keeps nothing; smaller limits count as this."""
    return len(marker(_MOST, key).encode()) + _size(_behind("", notes))


def original_size(text: str, gap: Gap | None = None) -> int:
    """Bytes of the original: the text's, with those lost in place of its marker."""
    if gap is None:
        return _size(text)
    return _size(text[: gap.start]) + gap.lost + _size(text[gap.end :])


def is_too_long(text: str, limit: int, key: str = "", *, notes: str = "") -> bool:
    """Whether `shorten` would cut it."""
    if not limit:
        return False
    room = max(limit, least(key, notes)) - _size(_behind(text, notes))
    return len(text) > room or (len(text) * 4 > room and _size(text) > room)


def shorten(text: str, limit: int, key: str = "", *, notes: str = "", gap: Gap | None = None) -> str:
    """The text, or its head and tail with a marker that says how many bytes are left out.

    The result has at most `limit` bytes of UTF-8 including marker, error-like lines and notes; if the marker and notes
    alone take more (see `least`), that many. So the same limit never cuts twice.

    Args:
        text: any text.
        limit: bytes; 0: no limit.
        key: key of the whole text; the marker says how to read it.
        notes: final lines added to every text and never cut.
        gap: where the text has already lost something: merged into the one marker.
    """
    last = _behind(text, notes)
    if not is_too_long(text, limit, key, notes=notes):
        return f"{text}{last}"
    before = after = _bytes(text)
    size = len(before)
    if gap is not None:
        before, after = _bytes(text[: gap.start]), _bytes(text[gap.end :])
        size = len(before) + gap.lost + len(after)
    room = max(limit, least(key, notes)) - _size(last)
    head, tail = _ends(before, after, room - _size(marker(size, key)))
    errors = _errors(text, head, tail, gap, room // 8) if room >= _ROOM_FOR_ERRORS else ""
    if errors:
        head, tail = _ends(before, after, room - _size(marker(size, key, errors)))
    omitted = size - _size(head) - _size(tail)
    return f"{head}{marker(omitted, key, errors)}{tail}{last}"


def _behind(text: str, notes: str) -> str:
    return "" if not notes else notes if text.endswith("\n") else f"\n{notes}"


def _bytes(text: str) -> bytes:
    return text.encode(errors="replace")


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(_bytes(text))


def _ends(before: bytes, after: bytes, room: int) -> tuple[str, str]:
    """The beginning of one and the end of the other, half the room each, at character borders."""
    half = max(0, room) // 2
    head = before[: max(0, room) - half]
    tail = after[max(0, len(after) - half) :]
    return head.decode(errors="ignore"), tail.decode(errors="ignore")


def _errors(text: str, head: str, tail: str, gap: Gap | None, room: int) -> str:
    """The error-like lines between head and tail: as many complete ones as fit, at most 40."""
    start, end = len(head), len(text) - len(tail)
    found = (
        [error_lines(text, start, end)]
        if gap is None
        else [error_lines(text, start, gap.start), error_lines(text, gap.end, end)]
    )
    kept: list[str] = []
    for line in islice(chain(*found), _ERRORS):
        room -= _size(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join(kept)


def error_lines(text: str, start: int, end: int) -> Iterator[str]:
    """Numbered lines between two places that look like errors, at most 40."""
    number = text.count("\n", 0, start) + 1
    found = 0
    for at in range(start, end, _BLOCK):
        block = text[at : min(at + _BLOCK, end)]
        if not any(hint in block for hint in _HINTS):
            number += block.count("\n")
            continue
        for line in block.split("\n"):
            if _ERROR_LINE.search(line[:2_000]) and not _NOT_AN_ERROR.search(line[:2_000]):
                yield f"{number:>6}│{line.strip()[:_ERROR_LENGTH]}"
                found += 1
                if found >= _ERRORS:
                    return
            number += 1
        number -= 1  # the block's last line continues in the next block
