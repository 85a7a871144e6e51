"""Pages and plain renderings of Markdown, for tests of the transcript's pure parts: no terminal, no thread."""

from __future__ import annotations

from collections.abc import Iterable

from textual.color import Color

from gshtui.ui.kit.code import Highlighter
from gshtui.ui.kit.lines import Line
from gshtui.ui.kit.page import Page
from gshtui.ui.kit.palette import palette
from gshtui.ui.kit.themes import GSH_DARK
from gshtui.ui.kit.transcript.chunk import Chunk
from gshtui.ui.kit.transcript.markdown import chunk_lines
from gshtui.ui.kit.transcript.splitter import Splitter


def page(width: int = 60, *languages: str) -> Page:
    """A page in our dark theme, with these languages loaded."""
    code = Highlighter()
    for language in languages:
        code.load(language)
    return Page(width, palette(GSH_DARK.to_color_system().generate(), Color.parse("#0e1516")), code)


def chunks(text: str) -> list[Chunk]:
    """The chunks of a text that is given at once."""
    splitter = Splitter()
    return splitter.feed(text) + splitter.finish()


def drawn(made: Iterable[Chunk], on: Page) -> list[Line]:
    """The lines of chunks, with the empty ones between them."""
    lines: list[Line] = []
    for chunk in made:
        lines += [Line(())] * chunk.gap + chunk_lines(chunk, on)
    return lines


def shown(text: str, width: int = 60, *languages: str) -> list[str]:
    """The words of a Markdown text's lines, without blanks at their ends."""
    return [line.text.rstrip() for line in drawn(chunks(text), page(width, *languages))]
