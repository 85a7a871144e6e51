"""The front matter of a SKILL.md: a few keys between two lines of `---`, read strictly.

Pure. It knows the part of YAML that skills use (text, quoted text, `>` and `|` blocks, lists) and refuses the rest by
naming line and reason; nothing in it is ever more than text. Called by `shelf`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_FENCE = "---"
_KEY = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9_-]*):(?:[ \t]++(?P<value>.*+))?$")
_MOST_LINES = 200


class FrontMatterError(ValueError):
    """It is none, or not to be understood. One sentence without its full stop, with the line."""


@dataclass(slots=True)
class FrontMatter:
    """The keys and their text, and what stands behind it. `line` is that of each key."""

    fields: dict[str, str] = field(default_factory=dict[str, str])
    line: dict[str, int] = field(default_factory=dict[str, int])
    body: str = ""


def parse(text: str) -> FrontMatter:
    """Raises `FrontMatterError`."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        raise FrontMatterError("its first line is not `---`, so it has no front matter")
    end = next((at for at, line in enumerate(lines[1:_MOST_LINES], 1) if line.rstrip() == _FENCE), 0)
    if not end:
        raise FrontMatterError(f"its front matter is not closed by `---` within {_MOST_LINES} lines")
    found = FrontMatter(body="\n".join(lines[end + 1 :]).strip("\n"))
    at = 1
    while at < end:
        line = lines[at]
        if not line.strip() or line.lstrip().startswith("#"):
            at += 1
            continue
        match = _KEY.match(line.rstrip())
        if match is None:
            raise FrontMatterError(f"line {at + 1} is no `key: value`")
        key = match["key"]
        if key in found.fields:
            raise FrontMatterError(f"line {at + 1}: {key} is given twice")
        more: list[str] = []
        while at + 1 + len(more) < end and _belongs(lines[at + 1 + len(more)]):
            more.append(lines[at + 1 + len(more)])
        found.line[key] = at + 1
        found.fields[key] = _value((match["value"] or "").strip(), more, at + 1)
        at += 1 + len(more)
    return found


def _belongs(line: str) -> bool:
    """Whether a line goes on with the value above it."""
    return not line.strip() or line.startswith((" ", "\t", "- "))


def _value(first: str, more: list[str], line: int) -> str:
    rest = [text.strip() for text in more]
    while rest and not rest[-1]:
        rest.pop()
    if first in (">", ">-", ">+"):
        return " ".join(filter(None, rest))
    if first in ("|", "|-", "|+"):
        return "\n".join(rest)
    if first[:1] in ("'", '"'):
        return _quoted(" ".join([first, *rest]), line)
    if first[:1] in ("{", "&", "*", "!", "%", "@", "`"):
        raise FrontMatterError(f"line {line}: a value may not begin with {first[0]}; put it in quotes")
    if re.search(r":\s", first) or first.endswith(":"):
        raise FrontMatterError(f"line {line}: a value with `: ` in it must be in quotes")
    return " ".join([*filter(None, [_uncommented(first)]), *filter(None, rest)])


def _uncommented(value: str) -> str:
    return re.split(r"\s#", value, maxsplit=1)[0].rstrip()


def _quoted(value: str, line: int) -> str:
    mark = value[0]
    inner, closed, after = "", False, ""
    at = 1
    while at < len(value):
        character = value[at]
        if mark == "'" and value[at : at + 2] == "''":
            inner, at = inner + "'", at + 2
            continue
        if mark == '"' and character == "\\" and at + 1 < len(value):
            inner, at = inner + {"n": "\n", "t": "\t"}.get(value[at + 1], value[at + 1]), at + 2
            continue
        if character == mark:
            closed, after = True, value[at + 1 :].strip()
            break
        inner, at = inner + character, at + 1
    if not closed:
        raise FrontMatterError(f"line {line}: the quote is not closed")
    if after and not after.startswith("#"):
        raise FrontMatterError(f"line {line}: something stands behind the closing quote")
    return inner
