"""Markdown as lines for a terminal: sanitised text, in colours of our own out of the terminal's sixteen.

The parser is imported at the first use, which takes up to 0.3 s.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING, LiteralString, Protocol

from gshtui.text import cells
from gshtui.text.sanitise import CleanText, clean_text, plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.segment import Segment
    from rich.style import Style

_FOREGROUND: tuple[LiteralString, ...] = ("", "31", "32", "33", "34", "35", "36")


_LEAST_COLUMN = 6
"""Cells that a column of a table needs, with the space between columns; with fewer its words vanish."""


class Colouring(Protocol):
    """Sanitises text and puts it into colours."""

    def __call__(self, text: str, *codes: LiteralString) -> CleanText: ...


def load_parser() -> None:
    _console()
    _markdown()("**loaded**")


def markdown_lines(source: str, width: int, colouring: Colouring, *, paragraph_width: int = 0) -> list[CleanText]:
    """The source laid out, without empty lines around it.

    Args:
        width: cells that no line exceeds.
        colouring: puts text into colours.
        paragraph_width: cells to which words are wrapped, if that is less.
    """
    found: list[CleanText] = []
    for line in _segments(source, min(width, paragraph_width or width)):
        text = "".join(segment.text for segment in line)
        # The layout may count fewer cells for rare characters than terminals take.
        fits = cells.width(text.rstrip()) <= width
        found += [_drawn(line, colouring)] if fits else cells.rows(plain(text), width)
    return found


def _drawn(line: Sequence[Segment], colouring: Colouring) -> CleanText:
    parts: list[tuple[str, tuple[LiteralString, ...]]] = []
    for text, style, control in line:
        if control or not text:
            continue
        shown, codes = plain(text).replace("\n", " "), _codes(style)
        if parts and parts[-1][1] == codes:
            shown = parts.pop()[0] + shown
        parts.append((shown, codes))
    if parts:
        parts[-1] = (parts[-1][0].rstrip(), parts[-1][1])
    return clean_text(*(colouring(text, *codes) for text, codes in parts))


def _codes(style: Style | None) -> tuple[LiteralString, ...]:
    """The codes of our own colours for a style of the layout."""
    if style is None:
        return ()
    flags: tuple[tuple[bool | None, LiteralString], ...] = (
        (style.bold, "1"),
        (style.dim, "2"),
        (style.italic, "3"),
        (style.underline, "4"),
        (style.strike, "9"),
    )
    codes: list[LiteralString] = [code for on, code in flags if on]
    if style.color is not None and style.color.number is not None and 0 < style.color.number < 7:
        codes.append(_FOREGROUND[style.color.number])
    return tuple(codes)


def _segments(source: str, width: int) -> list[list[Segment]]:
    console = _console()
    laid_out = _markdown()(source)
    lines = console.render_lines(laid_out, console.options.update(width=width), pad=False)
    while lines and not "".join(segment.text for segment in lines[0]).strip():
        del lines[0]
    while lines and not "".join(segment.text for segment in lines[-1]).strip():
        del lines[-1]
    return lines


@cache
def _markdown() -> Callable[[str], Markdown]:
    """The layout, with headings at the left, and with rows instead of columns that would be too narrow to read."""
    from markdown_it import MarkdownIt
    from rich.console import ConsoleOptions, RenderResult
    from rich.markdown import Heading, Markdown, TableElement
    from rich.rule import Rule
    from rich.text import Text

    class LeftHeading(Heading):
        LEVEL_ALIGN = {"h1": "left"}

    class FittingTable(TableElement):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            head = [cell.content.copy() for cell in self.header.row.cells] if self.header and self.header.row else []
            if len(head) * _LEAST_COLUMN <= options.max_width:
                yield from super().__rich_console__(console, options)
                return
            for name in head:
                name.stylize("markdown.table.header")
            for number, row in enumerate(self.body.rows if self.body else ()):
                yield Text() if not number else Rule(characters="─", style="markdown.table.border")
                for name, cell in zip_longest(head, row.cells):
                    words = cell.content if cell is not None else Text()
                    yield Text.assemble(name or Text(), (": ", "markdown.table.header"), words)
            if not (self.body and self.body.rows):
                yield Text(" ").join(head)

    class TerminalMarkdown(Markdown):
        elements = {**Markdown.elements, "heading_open": LeftHeading, "table_open": FittingTable}

    parser = MarkdownIt().enable("strikethrough").enable("table")
    empty = TerminalMarkdown("", hyperlinks=False, justify="left")

    def laid_out(source: str) -> Markdown:
        made = copy(empty)  # a new one would make a parser, which takes longer than to parse a block
        made.parsed = parser.parse(source)
        for token in made.parsed:
            for part in token.children or ():
                part.content = plain(part.content)  # a character reference may stand for a control character
        return made

    return laid_out


@cache
def _console() -> Console:
    """Lays out; writes nowhere."""
    from rich.console import Console
    from rich.theme import Theme

    words = {
        "markdown.h1": "bold underline",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.h4": "bold",
        "markdown.h5": "bold",
        "markdown.h6": "bold",
        "markdown.code": "cyan",
        "markdown.block_quote": "dim",
        "markdown.item.number": "cyan",
        "markdown.item.bullet": "cyan",
        "markdown.link": "blue underline",
        "markdown.link_url": "dim",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
        "markdown.hr": "dim",
    }
    return Console(file=io.StringIO(), force_terminal=True, color_system="standard", theme=Theme(words), width=80)
