"""The front matter of a Markdown file: YAML between two lines of `---`, and the body below.

Pure. Values are texts or lists of texts, as written, never numbers, dates or objects. Tags, anchors and aliases are
refused with line and reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, cast

import msgspec

if TYPE_CHECKING:
    from yaml import MarkedYAMLError
    from yaml.events import Event

_FENCE = "---"
_MOST_LINES = 200
_DEEPEST = 8
"""Deepest nesting of lists and mappings; the parser's time grows with its square."""
# A line that means the same in YAML as it says, unless its value contains one of `_SIGNS`.
_PLAIN_LINE = re.compile(r"([A-Za-z][A-Za-z_-]{0,60}): +([A-Za-z0-9][ -~]*)")
_SIGNS = (": ", " #")
_SAID = {
    "mapping values are not allowed here": "a value that contains `: ` must be in quotes",
    "found unexpected end of stream": "the quote is not closed",
}
"""The parser's most common complaints, in our words."""


class FrontMatterError(ValueError):
    """There is none, or it is invalid. One sentence without its full stop, with the line."""


class FrontMatter(msgspec.Struct):
    """The keys with their values, and the body. `line`: the line of each key."""

    fields: dict[str, str | list[str]] = msgspec.field(default_factory=dict[str, "str | list[str]"])
    line: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    body: str = ""

    def text(self, key: str) -> str:
        """The value as one text; empty if the key is missing."""
        value = self.fields.get(key, "")
        return value if isinstance(value, str) else " ".join(value)


def has_front_matter(text: str) -> bool:
    """Whether the first line opens front matter."""
    return text.removeprefix("\ufeff").partition("\n")[0].rstrip() == _FENCE


def parse(text: str) -> FrontMatter:
    """Raises `FrontMatterError`."""
    if not has_front_matter(text):
        raise FrontMatterError("its first line is not `---`, so it has no front matter")
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    end = next((at for at, line in enumerate(lines[1:_MOST_LINES], 1) if line.rstrip() == _FENCE), 0)
    if not end:
        raise FrontMatterError(f"its front matter is not closed by `---` within {_MOST_LINES} lines")
    found = FrontMatter(body="\n".join(lines[end + 1 :]).strip("\n"))
    for key, line, value in _plain_pairs(lines[1:end]) or _pairs("\n".join(lines[1:end])):
        if key in found.fields:
            raise FrontMatterError(f"line {line}: {key} is given twice")
        found.fields[key] = value
        found.line[key] = line
    return found


def _plain_pairs(lines: Iterable[str]) -> list[tuple[str, int, str | list[str]]]:
    """Key, line and value, if every line is plain; otherwise empty. Saves loading the YAML parser, which is large."""
    found: list[tuple[str, int, str | list[str]]] = []
    for number, line in enumerate(lines, 2):
        match = _PLAIN_LINE.fullmatch(line.rstrip(" "))
        if match is None or match[2].endswith(":") or any(sign in match[2] for sign in _SIGNS):
            return []
        found.append((match[1], number, match[2]))
    return found


def _pairs(head: str) -> Iterator[tuple[str, int, str | list[str]]]:
    """Key, line and value, in order. A nested mapping becomes a list of its keys and values."""
    from yaml import events

    depth, key, line = 0, "", 0
    inner: list[str] | None = None
    for event in _events(head):
        at = _line(event)
        if isinstance(event, events.CollectionStartEvent):
            depth += 1
            if depth == 1 and not isinstance(event, events.MappingStartEvent):
                raise FrontMatterError(f"line {at} is not of the form `key: value`")
            if depth == 2:
                if not key:
                    raise FrontMatterError(f"line {at} is not of the form `key: value`")
                inner = []
            elif depth > _DEEPEST:
                raise FrontMatterError(f"line {at}: lists and mappings are nested too deep")
        elif isinstance(event, events.CollectionEndEvent):
            depth -= 1
            if depth == 1 and inner is not None:
                yield key, line, inner
                key, inner = "", None
        elif isinstance(event, events.ScalarEvent):
            value = str(event.value).strip()
            if inner is not None:
                inner.append(value)
            elif depth == 0 or (not key and not value):
                raise FrontMatterError(f"line {at} is not of the form `key: value`")
            elif key:
                yield key, line, value
                key = ""
            else:
                key, line = value, at


def _events(head: str) -> Iterator[Event]:
    """The parser's events, without those irrelevant to front matter."""
    import yaml
    from yaml import events

    documents = 0
    try:
        parsed = cast("Iterator[Event]", yaml.parse(head, Loader=yaml.SafeLoader))  # pyright: ignore[reportUnknownMemberType]
        for event in parsed:
            tag, anchor = getattr(event, "tag", None), getattr(event, "anchor", None)
            if tag or anchor:
                sign = "!" if tag else "*" if isinstance(event, events.AliasEvent) else "&"
                raise FrontMatterError(f"line {_line(event)}: a value that starts with {sign} must be in quotes")
            documents += isinstance(event, events.DocumentStartEvent)
            if documents > 1:
                raise FrontMatterError(f"line {_line(event)}: a second document starts here")
            yield event
    except yaml.MarkedYAMLError as error:
        raise FrontMatterError(_reason(error)) from error
    except yaml.YAMLError as error:  # of a character
        raise FrontMatterError("it contains a character that YAML does not allow") from error


def _line(event: Event) -> int:
    """The line in the file, whose first line is the fence."""
    return event.start_mark.line + 2


def _reason(error: MarkedYAMLError) -> str:
    problem = str(error.problem)
    begun = error.context_mark if error.context_mark is not None else error.problem_mark
    line = begun.line + 2 if begun is not None else 1
    if problem == "could not find expected ':'":
        return f"line {line} is not of the form `key: value`"
    return f"line {line}: {_SAID.get(problem, problem)}"
