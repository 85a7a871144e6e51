"""Removes secrets from text before it is saved: tokens by shape, values by name, and those in the environment."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from gshtui.guard.secrets.secret_names import FAMILIES, TAIL, is_secret_name
from gshtui.text.secret_shapes import MARK, without_tokens

_NOT = r"(?!\[redacted\])"
_PLAIN = r"(?!(?:true|false|yes|no|none|null|nil|undefined|required|optional|\d{1,9})(?![^\s,;&)}\]]))"
"""A value that says nothing."""
_REFERENCE = r"(?![$`<{(%*\[])"
"""The name of a secret's place, not the secret."""
_QUOTED = r"\\?\"[^\"\\\n]{1,4096}+|\\?'[^'\\\n]{1,4096}+"
_BARE = rf"{_PLAIN}(?![a-z_.]{{1,64}}+[,()\[\]])[^\s\"'&;|<>,)}}\]\\]{{1,4096}}+"
_LIKELY = r"(?=[A-Za-z0-9+/=_.~-]{0,200}\d)[A-Za-z0-9+/=_.~-]{12,4096}+(?![\w(.])"
"""Does not look like a word: used where an ordinary word may also appear."""
_SIGN = (
    r"(?:=(?![=\s])"  # KEY=value
    r"|[ \t]{0,8}:?[=:][ \t]{0,8}(?=\\?[\"'])"  # key = "value", "key": "value"
    rf"|[ \t]{{0,8}}[=:][ \t]{{1,8}}(?={_LIKELY}))"  # key: value, in a file of settings
)
ASSIGNED = tuple(
    (literal, re.compile(rf"{name}{TAIL}\\?[\"']?{_SIGN}(?P<value>{_REFERENCE}(?:{_QUOTED}|{_BARE}))"))
    for literal, name in FAMILIES.items()
)
"""(literal, pattern) for text in lower case; the group `value` is what goes, perhaps with a quote before it."""

_VALUE = rf"(?P<value>{_NOT}(?![$<{{`])[^\s\"'\\]{{4,4096}}+)"
_ARGUMENT = r"(?:=|[ \t]{1,8})(?P<value>(?![-$`<\[{])(?:\"[^\"\n]{1,4096}+|'[^'\n]{1,4096}+|[^\s\"'&;|<>]{1,4096}+))"
_WORD = "pass(?:word|wd|phrase)?|token|secret(?:[-_]key)?|(?:api|access|private)[-_]?key"
STANDING = (
    ("--", re.compile(rf"--(?:[a-z]{{1,20}}+[-_])??(?:{_WORD}){_ARGUMENT}")),
    ("sshpass -p", re.compile(rf"sshpass -p ?{_VALUE}")),
    ("bearer ", re.compile(rf"bearer {{1,8}}(?P<value>{_NOT}(?=[a-z._~+/-]{{0,64}}\d)[a-z0-9._~+/=-]{{8,}}+)")),
    (
        "authorization",
        re.compile(
            rf"authorization\\?[\"']?[:=] {{0,8}}\\?[\"']?(?:(?:basic|bearer|token|digest|apikey) {{1,8}}+)?+{_VALUE}"
        ),
    ),
    ("x-api-key", re.compile(rf"x-api-key\\?[\"']?: {{0,8}}\\?[\"']?{_VALUE}")),
    ("x-goog-api-key", re.compile(rf"x-goog-api-key\\?[\"']?: {{0,8}}\\?[\"']?{_VALUE}")),
    ("cookie:", re.compile(rf"cookie: {{0,8}}(?P<value>{_NOT}[^\n\"'\\]{{4,4096}}+)")),
    ("://", re.compile(rf"://[^\s/:@\"'<>]{{0,256}}+:(?P<value>{_NOT}(?![$<{{])[^\s/\"'<>]{{1,256}})@")),
    ("://", re.compile(r"://(?P<value>(?=[a-z_-]{0,64}\d)[a-z0-9_-]{20,256}+)@")),
)
"""As `ASSIGNED`."""

_LOGIN = rf"(?P<value>{_NOT}[^\s\"'&;|<>$]{{1,1024}}+)"
PROGRAMS = (
    ("curl ", re.compile(r"curl [^\n|;&]*+"), re.compile(rf" (?:-u|--user)[ =]?[\"']?[^\s:\"']{{1,128}}+:{_LOGIN}")),
    ("mysql", re.compile(r"mysql[^\n|;&]*+"), re.compile(rf" -p{_LOGIN}")),
    ("docker login", re.compile(r"docker login[^\n|;&]*+"), re.compile(rf" -p[ =]?{_LOGIN}")),
)
"""(literal, the program's part of a line, what is secret in it), for text in lower case."""


_ROUNDS = 8
"""Most passes over the text while each finds something: one secret may hide another."""
_LEAST = 8
"""Fewest characters of a variable's value to search for: shorter ones occur in ordinary text."""
_TO_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_NAMED = (*STANDING, *ASSIGNED)


_VARIABLE = re.compile(
    r"(?<![A-Za-z0-9_$.])(?P<name>[A-Z][A-Z0-9_]{2,80}+)=(?P<quote>[\"']?)(?P<value>[^\s\"'$`<({\[\\][^\s\"']{7,4096}+)"
)
"""A variable as a shell or a file of variables sets it."""


def _without_value(match: re.Match[str]) -> str:
    value = match["value"]
    if not is_secret_name(match["name"]) or value.isdigit() or value.startswith(("/", "~/", "./")):
        return match[0]
    return f"{match['name']}={match['quote']}{MARK}"


class Redactor:
    """Takes secrets out of text. Immutable, and safe to use from any thread."""

    def __init__(
        self, environ: Mapping[str, str] | None = None, names: Iterable[str] = (), keys: Mapping[str, str] | None = None
    ) -> None:
        """Remove the values of these variables, where they are secret or named. `keys`: secrets in no variable."""
        self._values = _values({**(environ or {}), **(keys or {})}, frozenset((*names, *(keys or ()))))

    def redact(self, text: str) -> str:
        """The text with `[redacted]` in place of each secret. Never raises."""
        for _ in range(_ROUNDS):
            found = self._once(text)
            if found == text:
                break
            text = found
        return text

    def redact_certain(self, text: str) -> str:
        """The text without what is a secret beyond doubt. Never raises.

        For what an agent works on: a program's own words, such as `token = "word"` in its tests, stay as they are.
        """
        for _ in range(_ROUNDS):
            found = self._without_values(text)
            if "=" in found:
                found = _VARIABLE.sub(_without_value, found)
            if found == text:
                break
            text = found
        return text

    def _once(self, text: str) -> str:
        return _without_named(self._without_values(text))

    def _without_values(self, text: str) -> str:
        for value in self._values:
            if value in text:
                text = text.replace(value, MARK)
        return without_tokens(text)


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
