"""Secrets taken out of text before it is kept: tokens by their shape, values by their name, those of the environment.

Owns the order of the steps; refuses to touch what is no secret: hashes, paths, prose about tokens. Takes time in
proportion to the text, whatever it holds; doing it twice changes nothing. Called by history, log and inspector.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from gshtui.guard.secret_names import ASSIGNED, MARK, PROGRAMS, STANDING, is_secret_name
from gshtui.guard.secret_shapes import ANY, SHAPES

_ROUNDS = 8
"""Times that the text is looked through as long as that finds something: a secret may hide behind another one."""
_LEAST = 8
"""Characters that a variable's value needs to be looked for: a shorter one stands in ordinary text."""
_KEY_BEGIN, _KEY_END = "-----BEGIN ", "-----END "
_KEY_HEAD = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = re.compile(r"(?:[A-Za-z0-9+/=:,. \t\r\n-]|\\[nr])*+")
_KEY_LONGEST = 64 * 1024
_TO_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_NAMED = (*STANDING, *ASSIGNED)


class Redactor:
    """Takes secrets out of text. Immutable, and safe to use from any thread."""

    def __init__(self, environ: Mapping[str, str] | None = None, names: Iterable[str] = ()) -> None:
        """`environ`: its secret variables' values are taken out wherever they stand; `names`: further variables."""
        self._values = _values(environ or {}, frozenset(names))

    def redact(self, text: str) -> str:
        """The text with `[redacted]` in place of each secret. Never raises."""
        for _ in range(_ROUNDS):
            found = self._once(text)
            if found == text:
                break
            text = found
        return text

    def _once(self, text: str) -> str:
        for value in self._values:
            if value in text:
                text = text.replace(value, MARK)
        if _KEY_BEGIN in text:
            text = _without_keys(text)
        if there := set(ANY.findall(text)):
            for literal, pattern in SHAPES:
                if literal in there:
                    text = pattern.sub(MARK, text)
        return _without_named(text)


def _values(environ: Mapping[str, str], names: frozenset[str]) -> tuple[str, ...]:
    """The values to look for, the longest first, also as URLs and JSON write them."""
    found: set[str] = set()
    for name, value in environ.items():
        if not (name in names or is_secret_name(name)):
            continue
        value = value.strip()
        if len(value) < _LEAST or value.startswith(("/", "~/", "./")) or value.isdigit():
            continue
        found |= {value, quote(value, safe=""), json.dumps(value)[1:-1]}
    return tuple(
        sorted((value for value in found if value not in MARK and MARK not in value), key=lambda v: (-len(v), v))
    )


def _without_keys(text: str) -> str:
    """Private keys, from their first line to their last; one that has no end, as far as it looks like one."""
    parts: list[str] = []
    at = 0
    while (head := _KEY_HEAD.search(text, at)) is not None:
        parts.append(text[at : head.start()])
        end = text.find(_KEY_END, head.end(), head.end() + _KEY_LONGEST)
        if end >= 0 and (close := text.find("-----", end + len(_KEY_END), end + 80)) >= 0:
            at = close + 5
        else:
            body = _KEY_BODY.match(text, head.end())
            at = body.end() if body else head.end()
        parts.append(MARK)
    parts.append(text[at:])
    return "".join(parts)


def _without_named(text: str) -> str:
    """Values after names, flags and headers. The names are looked for in lower case, where places stay the same."""
    low = _lower(text)
    spans: list[tuple[int, int]] = []
    for literal, pattern in _NAMED:
        if literal in low:
            spans += [match.span("value") for match in pattern.finditer(low)]
    for literal, part, pattern in PROGRAMS:
        if literal in low:
            for line in part.finditer(low):
                spans += [match.span("value") for match in pattern.finditer(low, *line.span())]
    if not spans:
        return text
    parts: list[str] = []
    at = 0
    for start, end in _joined(spans):
        while start < end and text[start] in "\\\"'":
            start += 1
        if start >= end or text[start:end] == MARK:
            continue
        parts += [text[at:start], MARK]
        at = end
    parts.append(text[at:])
    return "".join(parts)


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _lower(text: str) -> str:
    low = text.lower()
    return low if len(low) == len(text) else text.translate(_TO_LOWER)
