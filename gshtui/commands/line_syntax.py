"""The syntax tree of the command language, and where in a line an error is.

`line = pipeline (";" pipeline)*`, `pipeline = command ("|" command)*`; a new line separates like `;`. Frozen and plain:
`line_parser` makes it, `language` binds it to commands, `evaluation` runs it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import msgspec

from gshtui.text.cells import head, width

_SHOWN = 72
"""Most cells of a line in a picture."""
_BEFORE = 30
"""Cells that a picture keeps in front of the error where the line is longer."""


class SourceSpan(msgspec.Struct, frozen=True):
    """A part of the source: offsets of its first character and behind its last."""

    start: int
    end: int


NOWHERE = SourceSpan(0, 0)


@dataclass(frozen=True, slots=True)
class TextNode:
    """Text as it was written, without its quotes."""

    text: str
    quoted: bool = field(default=False, compare=False)
    raw: bool = field(default=False, compare=False)
    """It is the verbatim rest of the line."""
    span: SourceSpan = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class VariableNode:
    """`$name`, or `${name.field[0]}`: a variable, and the fields and indexes that lead into its data."""

    name: str
    path: tuple[str | int, ...] = ()
    span: SourceSpan = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Substitution:
    """`$(…)`: the result of a line; or `<(…)`: the same to read, where a command takes a path."""

    script: Script
    readable: bool = False
    span: SourceSpan = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Joined:
    """Adjacent parts, or a double-quoted text with interpolations: always text."""

    parts: tuple[TextNode | VariableNode | Substitution, ...]
    span: SourceSpan = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Array:
    """`[a, b]`."""

    items: tuple[Node, ...]
    span: SourceSpan = field(default=NOWHERE, compare=False)


Node = TextNode | VariableNode | Substitution | Joined | Array


@dataclass(frozen=True, slots=True)
class Argument:
    """One value of a command; `name` is empty where it is given by its position."""

    name: str
    value: Node
    span: SourceSpan = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Stage:
    """A command with its arguments."""

    name: str
    arguments: tuple[Argument, ...] = ()
    span: SourceSpan = field(default=NOWHERE, compare=False)
    """Its name."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands, each of which gets the result of the one before it."""

    stages: tuple[Stage, ...]
    span: SourceSpan = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Script:
    """Pipelines, run one after the other."""

    pipelines: tuple[Pipeline, ...]
    source: str = field(default="", compare=False)
    """What it was parsed from; spans are offsets into it."""

    def source_of(self, span: SourceSpan) -> str:
        """The text of a part."""
        return self.source[span.start : span.end]

    @property
    def only_stage(self) -> Stage | None:
        """Its command, if it is a single one; its arguments may still contain other lines."""
        if len(self.pipelines) == 1 and len(self.pipelines[0].stages) == 1:
            return self.pipelines[0].stages[0]
        return None


def substitutions(node: Node) -> list[Substitution]:
    """The lines inside a value, from left to right, without those inside of them."""
    match node:
        case Substitution():
            return [node]
        case Joined(parts):
            return [part for part in parts if isinstance(part, Substitution)]
        case Array(items):
            return [found for item in items for found in substitutions(item)]
        case _:
            return []


class LinePosition(msgspec.Struct, frozen=True):
    """Where in a line something is wrong.

    Attributes:
        line: number of the line, from 1.
        column: number of the character in it, from 1.
        picture: the line, and below it carets under what is wrong.
        short: it is found without: there is one line, and no long one.
    """

    line: int
    column: int
    picture: str
    short: bool = False

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


def position(source: str, span: SourceSpan) -> LinePosition:
    """The position of a part of the source. Takes time linear in the source."""
    start = min(span.start, len(source))
    first = source.rfind("\n", 0, start) + 1
    last = source.find("\n", start)
    line = source[first : len(source) if last < 0 else last].rstrip("\r")
    at = start - first
    left = max(0, at - _BEFORE) if width(line[: at + _SHOWN]) > _SHOWN else 0
    lead = "…" if left else ""
    shown = "".join(char if char.isprintable() else "·" for char in line[left : left + 2 * _SHOWN])
    fits = head(shown, _SHOWN)
    tail = "…" if len(fits) < len(line) - left else ""
    before = width(fits[: at - left]) + len(lead)
    marked = max(1, width(fits[at - left : max(span.end, start + 1) - first - left]))
    picture = f"{lead}{fits}{tail}\n{' ' * before}{'^' * marked}"
    return LinePosition(source.count("\n", 0, start) + 1, at + 1, picture, line == source and fits == line)


_PLAIN = re.compile(r"[^\s|;$\\'\"\[\]()<>&=,]+")
QUOTED = str.maketrans({"\\": "\\\\", '"': '\\"', "$": "\\$"})
"""What stands in double quotes for characters that mean something there."""


def quote(text: str) -> str:
    """The text as one word of the language, which interpolates nothing."""
    if _PLAIN.fullmatch(text) and text != "--help":
        return text
    return f"'{text}'" if "'" not in text else f'"{text.translate(QUOTED)}"'
