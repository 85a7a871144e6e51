"""An answer as it streams into an agent's own pane, laid out as Markdown: whole blocks as lines, the open one as rows.

Works block by block, each of a bounded size, so that a drawing costs the same however long the answer is. Until the
parser is loaded, nothing is laid out; what is drawn meanwhile is the source. All text is sanitised, and all colours
are our own, of the terminal's sixteen.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from gshtui.text import cells
from gshtui.text.sanitise import plain
from gshtui.ui.kit.highlighter import Highlighter
from gshtui.ui.kit.transcript.markdown_splitter import MarkdownChunk, MarkdownSplitter

if TYPE_CHECKING:
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.segment import Segment
    from rich.style import Style

_WIDEST = 120
"""Cells of a line of words in a very wide pane."""
_TOKENS = {
    "comment": "2", "keyword": "35", "string": "32", "number": "36", "type": "33", "name": "34", "builtin": "36",
    "added": "32", "removed": "31",
}  # fmt: skip
"""Kinds of the highlighter's tokens → codes of their colours."""
_TAB = 4


def load_layout() -> None:
    """Import the Markdown parser, which takes up to 0.3 s."""
    _console()
    _markdown()("**loaded**")


class AnswerLayout:
    """What all answers of a pane are laid out with: the width, the parser, and the languages of code.

    Args:
        width: gives the cells of a line.
    """

    def __init__(self, width: Callable[[], int]) -> None:
        self.width = width
        self.highlighter = Highlighter()
        self.is_loaded = False

    @property
    def complete(self) -> bool:
        """Whether nothing has to be loaded for what was laid out so far."""
        return self.is_loaded and not self.highlighter.wanted

    def load(self) -> None:
        """Import the parser, and the languages that code was in; takes up to half a second, so call it in a thread."""
        load_layout()
        self.is_loaded = True
        while self.highlighter.wanted:
            self.highlighter.load(self.highlighter.wanted.pop())


class MarkdownLines:
    """One answer.

    Args:
        style: gives text in the colours of some codes.
    """

    def __init__(self, style: Callable[..., str], layout: AnswerLayout) -> None:
        self._style = style
        self._layout = layout
        self._splitter = MarkdownSplitter()
        self._waiting: list[MarkdownChunk] = []
        self._changed = True
        self._rows: tuple[tuple[int, int, int], list[str]] = ((0, 0, 0), [])

    def feed(self, text: str) -> list[str]:
        """Take more of the source; returns the lines of the blocks that are now whole."""
        self._waiting += self._splitter.feed(text)
        self._changed = True
        return self._laid_out() if self._layout.is_loaded else []

    def finish(self) -> list[str]:
        """The rest, at the end of the answer."""
        self._waiting += self._splitter.finish()
        self._changed = True
        if not self._layout.is_loaded:
            load_layout()
        return self._laid_out()

    def rows(self, most: int) -> list[str]:
        """The last `most` rows of what is not whole yet."""
        width = max(10, self._layout.width())
        key = (width, most, len(self._layout.highlighter.wanted))
        if self._changed or key != self._rows[0]:
            self._changed = False
            open_chunks = [*self._waiting, *self._splitter.tail()]
            found: list[str] = []
            for chunk in open_chunks:
                found += (
                    self._lines(_end_of(chunk, most, width))
                    if self._layout.is_loaded
                    else _source_rows(chunk, most, width)
                )
            self._rows = (key, found[-most:])
        return self._rows[1]

    def _laid_out(self) -> list[str]:
        chunks, self._waiting = self._waiting, []
        return [line for chunk in chunks for line in self._lines(chunk)]

    def _lines(self, chunk: MarkdownChunk) -> list[str]:
        """A chunk's lines, each fitting the width."""
        width = max(10, self._layout.width())
        found = [""] * chunk.gap
        if chunk.kind == "code":
            if chunk.language and not chunk.goes_on:
                found.append(self._style(f"  {chunk.language}", "2"))
            return found + self._code(chunk, width)
        source = f"{chunk.head}\n{chunk.text}" if chunk.head else chunk.text
        for line in _segments(source, min(width, _WIDEST)):
            text = "".join(segment.text for segment in line)
            # The layout may count fewer cells for rare characters than terminals take.
            found += [self._drawn(line)] if cells.width(text.rstrip()) <= width else cells.rows(plain(text), width)
        return found

    def _code(self, chunk: MarkdownChunk, width: int) -> list[str]:
        found: list[str] = []
        for tokens in self._layout.highlighter.lines(chunk.text.expandtabs(_TAB), chunk.language):
            text = "".join(part for _, part in tokens)
            if cells.width(text) > width - 4:
                found += [f"    {row}" for row in cells.rows(plain(text), width - 4)]
                continue
            coloured = "".join(
                self._style(plain(part), _TOKENS[kind]) if kind in _TOKENS else plain(part) for kind, part in tokens
            )
            found.append(f"    {coloured}".rstrip())
        return found

    def _drawn(self, line: Sequence[Segment]) -> str:
        parts: list[tuple[str, tuple[str, ...]]] = []
        for text, style, control in line:
            if control or not text:
                continue
            shown, codes = plain(text).replace("\n", " "), _codes(style)
            if parts and parts[-1][1] == codes:
                shown = parts.pop()[0] + shown
            parts.append((shown, codes))
        if parts:
            parts[-1] = (parts[-1][0].rstrip(), parts[-1][1])
        return "".join(self._style(text, *codes) for text, codes in parts)


def _codes(style: Style | None) -> tuple[str, ...]:
    """The codes of our own colours for a style of the layout."""
    if style is None:
        return ()
    flags = ((style.bold, "1"), (style.dim, "2"), (style.italic, "3"), (style.underline, "4"), (style.strike, "9"))
    codes = [code for on, code in flags if on]
    if style.color is not None and style.color.number is not None and 0 < style.color.number < 7:
        codes.append(str(30 + style.color.number))
    return tuple(codes)


def _end_of(chunk: MarkdownChunk, most: int, width: int) -> MarkdownChunk:
    """The part of a long block that can be seen."""
    lines = chunk.text.split("\n")
    if chunk.kind == "code" and len(lines) > most:
        return MarkdownChunk("code", "\n".join(lines[-most:]), chunk.language, goes_on=True)
    room = 2 * most * width
    if chunk.kind == "code" or len(chunk.text) <= room:
        return chunk
    cut = chunk.text[-room:]
    return MarkdownChunk("markdown", cut[cut.find("\n" if "\n" in cut else " ") + 1 :], head=chunk.head)


def _source_rows(chunk: MarkdownChunk, most: int, width: int) -> list[str]:
    """The end of a block's source."""
    return [row for line in chunk.text.split("\n")[-most:] for row in cells.rows(line.expandtabs(_TAB), width)]


def _segments(source: str, width: int) -> list[list[Segment]]:
    """The source laid out in this width, without empty lines around it."""
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
    """The layout, with headings at the left."""
    from rich.markdown import Heading, Markdown

    class LeftHeading(Heading):
        LEVEL_ALIGN = {"h1": "left"}

    class PaneMarkdown(Markdown):
        elements = {**Markdown.elements, "heading_open": LeftHeading}

        def __init__(self, source: str) -> None:
            super().__init__(source, hyperlinks=False, justify="left")
            for token in self.parsed:
                for part in token.children or ():
                    part.content = plain(part.content)  # a character reference may stand for a control character

    return PaneMarkdown


@cache
def _console() -> Console:
    """Lays out; writes nowhere."""
    from rich.console import Console
    from rich.theme import Theme

    words = {
        "markdown.h1": "bold underline", "markdown.h2": "bold", "markdown.h3": "bold", "markdown.h4": "bold",
        "markdown.h5": "bold", "markdown.h6": "bold", "markdown.code": "cyan", "markdown.block_quote": "dim",
        "markdown.item.number": "cyan", "markdown.item.bullet": "cyan", "markdown.link": "blue underline",
        "markdown.link_url": "dim", "markdown.table.border": "dim", "markdown.table.header": "bold",
        "markdown.hr": "dim",
    }  # fmt: skip
    return Console(file=io.StringIO(), force_terminal=True, color_system="standard", theme=Theme(words), width=80)
