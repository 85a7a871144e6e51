"""Truncate at capture: what of a long output a model is sent. Head and tail, cut on character borders, and a marker.

Lines of the middle that look like errors are kept too, and the marker says how to read the whole, which goes to the
store. Pure; called where a tool's output is captured, and for people's long words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_BLOCK = 1 << 20
_ERRORS = 40
_ERROR_LENGTH = 200
_HINTS = ("rror", "RROR", "ail", "FAIL", "atal", "FATAL", "xception", "raceback", "anic", "egmentation", "denied")
_ERROR_LINE = re.compile(
    r"\b(?:\w*(?:Error|Exception|Failure)|errors?|ERRORS?|fail(?:ed|ures?|s)?|FAIL(?:ED|URES?)?|fatal|FATAL|Traceback"
    r"|panic(?:ked)?|PANIC|Segmentation fault|[Pp]ermission denied|Failed|Fatal|E   )\b"
)
_NOT_AN_ERROR = re.compile(r"\b(?:0|no) (?:errors?|failures?|failed)\b", re.IGNORECASE)


def shorten(text: str, limit: int, key: str = "") -> str:
    """The text, or its head and tail with a marker in between that says how many bytes are left out.

    Args:
        text: any text.
        limit: bytes of UTF-8 to keep of it, error-like lines of the middle included; 0: no limit.
        key: under which the whole is kept; the marker says how to read it.
    """
    data = text.encode(errors="replace")
    if not limit or len(data) <= limit:
        return text
    errors = _errors(data, limit)
    room = limit - len(errors.encode(errors="replace"))
    half = room // 2
    head = data[: room - half].decode(errors="ignore") if errors else data[:half].decode(errors="ignore")
    tail = data[len(data) - half :].decode(errors="ignore")
    omitted = len(data) - len(head.encode()) - len(tail.encode())
    marker = f"… ({omitted:,} bytes omitted) …"
    if errors:
        marker = f"… ({omitted:,} bytes omitted; lines in them that look like errors:) …\n{errors}\n…"
    return f"{head}\n\n{marker}{_whole(key)}\n\n{tail}"


def _whole(key: str) -> str:
    return f"\n[the whole output: `output key={key}`]" if key else ""


def with_key(text: str, key: str) -> str:
    """A text that its tool has shortened itself, with a last line that says how to read the whole."""
    return f"{text.rstrip()}{_whole(key)}" if key else text


def _errors(data: bytes, limit: int) -> str:
    """The error-like lines of what would be cut out, an eighth of the limit at the most."""
    half = limit // 2
    text = data.decode(errors="replace")
    start, end = len(data[:half].decode(errors="ignore")), len(text) - len(data[-half:].decode(errors="ignore"))
    lines = "\n".join(error_lines(text, start, end)) if end - start > _ERROR_LENGTH // 4 else ""
    kept = lines.encode(errors="replace")[: limit // 8].decode(errors="ignore")
    return kept if len(kept) == len(lines) else kept[: kept.rfind("\n")] if "\n" in kept else ""


def error_lines(text: str, start: int, end: int) -> Iterator[str]:
    """Lines between two places that look like errors, with their numbers, at most 40 of them."""
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
        number -= 1  # the block's last line goes on in the next one
