"""Pages and plain renderings of Markdown, for tests of the transcript's pure parts: no terminal, no thread."""

from collections.abc import Iterable

from textual.color import Color

from gshtui.ui.kit.drawing.highlighter import Highlighter
from gshtui.ui.kit.drawing.page import Page, make_palette
from gshtui.ui.kit.drawing.styled_lines import StyledLine
from gshtui.ui.kit.drawing.themes import GSH_DARK
from gshtui.ui.kit.transcript.markdown_renderer import chunk_lines
from gshtui.ui.kit.transcript.markdown_splitter import MarkdownChunk, MarkdownSplitter


def make_page(width: int = 60, *languages: str) -> Page:
    """A page in our dark theme, with these languages loaded."""
    code = Highlighter()
    for language in languages:
        code.load(language)
    return Page(width, make_palette(GSH_DARK.to_color_system().generate(), Color.parse("#0e1516")), code)


def parse_chunks(text: str) -> list[MarkdownChunk]:
    splitter = MarkdownSplitter()
    return splitter.feed(text) + splitter.finish()


def draw_chunks(made: Iterable[MarkdownChunk], on: Page) -> list[StyledLine]:
    """The lines of chunks, with the empty ones between them."""
    lines: list[StyledLine] = []
    for chunk in made:
        lines += [StyledLine(())] * chunk.gap + chunk_lines(chunk, on)
    return lines


def shown_lines(text: str, width: int = 60, *languages: str) -> list[str]:
    """The words of a Markdown text's lines, without blanks at their ends."""
    return [line.text.rstrip() for line in draw_chunks(parse_chunks(text), make_page(width, *languages))]
