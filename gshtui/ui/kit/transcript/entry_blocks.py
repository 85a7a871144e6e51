"""Blocks: the parts of an entry that are laid out, drawn and copied one by one; the blocks of prompts and notices; and
the bounded cache of drawn lines.

The splitter splits answers, `tool_blocks.py` tool calls. No block is larger than a chunk.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial

from rich.segment import Segment
from rich.style import Style

from gshtui.text.markdown_table import marked_parts
from gshtui.text.sanitise import plain
from gshtui.ui.kit.drawing.page import Page
from gshtui.ui.kit.drawing.styled_lines import StyledLine, wrapped
from gshtui.ui.kit.transcript.entries import CutEntry, NoticeEntry, PromptEntry
from gshtui.ui.kit.transcript.markdown_renderer import chunk_lines
from gshtui.ui.kit.transcript.markdown_splitter import LINE_LIMIT, ROWS, SIZE_LIMIT, MarkdownChunk

Draw = Callable[[Page], list[StyledLine]]


class EntryBlock:
    """One part of an entry. `draw` makes its lines, which are kept here until the cache evicts them."""

    __slots__ = ("chunk", "copied", "draw", "exact", "gap", "goes_on", "height", "lines", "page", "toggles")

    def __init__(
        self,
        draw: Draw,
        copied: str,
        *,
        gap: int = 0,
        goes_on: bool = False,
        toggles: bool = False,
        chunk: MarkdownChunk | None = None,
    ) -> None:
        self.draw = draw
        self.copied = copied
        """Its source, as copied."""
        self.gap = gap
        """Empty rows above it; the height includes them."""
        self.goes_on = goes_on
        """Part of the previous block, for cursor and copy."""
        self.toggles = toggles
        """Opens and closes its entry."""
        self.chunk = chunk
        self.height = 0
        self.exact = 0
        """The width for which the height is exact; 0: the height is an estimate."""
        self.lines: list[StyledLine] | None = None
        self.page: Page | None = None

    def estimate(self, width: int) -> int:
        """Estimates its rows from its length alone."""
        return self.gap + rows_of(self.copied, width)

    def row(self, row: int) -> StyledLine | None:
        """The line at a row, once drawn; none for the gap above."""
        at = row - self.gap
        return self.lines[at] if self.lines is not None and 0 <= at < len(self.lines) else None


def rows_of(text: str, width: int) -> int:
    """Estimates the rows of a text."""
    return text.count("\n") + 1 + len(text) // max(1, width)


def chunk_block(chunk: MarkdownChunk, *, muted: bool = False) -> EntryBlock:
    """The block for a piece of Markdown."""
    if muted:
        return EntryBlock(partial(_muted, chunk), chunk.text, goes_on=chunk.goes_on, chunk=chunk)
    return EntryBlock(partial(chunk_lines, chunk), chunk.text, gap=chunk.gap, goes_on=chunk.goes_on, chunk=chunk)


def _muted(chunk: MarkdownChunk, page: Page) -> list[StyledLine]:
    bar = Segment("│ ", page.palette.rule)
    lines = [StyledLine(()) for _ in range(chunk.gap)] + chunk_lines(chunk, page.narrower(2), page.palette.muted)
    return [line.behind(bar) for line in lines]


def pieces(text: str) -> Iterator[str]:
    """A text split into pieces of bounded size, at line ends if possible."""
    rows: list[str] = []
    size = 0
    for line in text.split("\n"):
        for at in range(0, len(line) or 1, LINE_LIMIT):
            rows.append(line[at : at + LINE_LIMIT])
            size += len(rows[-1])
            if len(rows) >= ROWS or size > SIZE_LIMIT:
                yield "\n".join(rows)
                rows, size = [], 0
    if rows:
        yield "\n".join(rows)


def prompt_blocks(prompt: PromptEntry) -> list[EntryBlock]:
    """A prompt, word for word, on its panel."""
    made = [
        EntryBlock(partial(_prompt, piece, bool(at)), piece, goes_on=bool(at))
        for at, piece in enumerate(pieces(prompt.text))
    ]
    if prompt.attachments:
        names = "\n".join(prompt.attachments)
        made.append(EntryBlock(partial(_attachments, prompt.attachments), names, goes_on=True))
    return made


def _prompt(text: str, later: bool, page: Page) -> list[StyledLine]:
    palette = page.palette
    inner = page.narrower(3)
    lines = wrapped([Segment(plain(text).expandtabs(4), palette.prompt)], inner.width)
    out: list[StyledLine] = []
    for number, line in enumerate(lines):
        lead = Segment("▌  " if number or later else "▌❯ ", palette.prompt_bar)
        out.append(line.behind(lead).filled(page.width, palette.prompt_fill))
    return out


def _attachments(names: tuple[str, ...], page: Page) -> list[StyledLine]:
    palette = page.palette
    out: list[StyledLine] = []
    for name in names:
        for line in wrapped([Segment(f"+ {plain(name)}", palette.prompt_fill)], page.narrower(3).width):
            lead = Segment("▌  ", palette.prompt_bar)
            out.append(line.behind(lead).filled(page.width, palette.prompt_fill))
    return out


def cut_blocks(cut: CutEntry) -> list[EntryBlock]:
    """The line across the conversation where its context was cut."""
    return [EntryBlock(partial(_cut, cut.text), cut.text)]


def _cut(text: str, page: Page) -> list[StyledLine]:
    palette = page.palette
    out: list[StyledLine] = []
    for number, line in enumerate(wrapped([Segment(plain(text), palette.muted)], max(1, page.width - 8))):
        lead = Segment("   " if number else "── ", palette.rule)
        keys = [Segment(" · enter for details", palette.faint)] if not number else []
        keys = keys if line.cells + len(lead.text) + sum(len(each.text) for each in keys) + 4 <= page.width else []
        line = StyledLine((*line.behind(lead).segments, *keys, Segment(" ", palette.rule)), margin=len(lead.text))
        rule = "" if number else "─" * (page.width - line.cells)
        out.append(StyledLine((*line.segments, Segment(rule, palette.rule)), margin=line.margin))
    return out


_SIGNS = {"quiet": "·", "info": "i", "warning": "!", "error": "✗"}


def notice_blocks(notice: NoticeEntry) -> list[EntryBlock]:
    """A notice: what happened, and what to do about it."""
    copied = f"{notice.text}\n{notice.hint}" if notice.hint else notice.text
    return [EntryBlock(partial(_notice, notice), copied)]


def _notice(notice: NoticeEntry, page: Page) -> list[StyledLine]:
    palette = page.palette
    sign = {"quiet": palette.faint, "info": palette.marker, "warning": palette.warning, "error": palette.error}
    words = {"quiet": palette.faint, "info": palette.muted, "warning": palette.warning, "error": palette.error}
    inner = page.narrower(2)
    lines = wrapped(_with_names(notice.text, words[notice.level], palette.inline_code), inner.width)
    lead = [Segment(f"{_SIGNS[notice.level]} ", sign[notice.level]), Segment("  ", palette.text)]
    out = [line.behind(lead[bool(number)]) for number, line in enumerate(lines)]
    if notice.hint:
        hint = wrapped(_with_names(notice.hint, palette.muted, palette.inline_code), page.narrower(4).width)
        leads = [Segment("  → ", palette.muted), Segment("    ", palette.text)]
        out += [line.behind(leads[bool(number)]) for number, line in enumerate(hint)]
    return out


def _with_names(text: str, words: Style, names: Style) -> list[Segment]:
    """Our own words, with the names in them as in an answer."""
    return [Segment(part, names if is_name else words) for part, is_name in marked_parts(plain(text))]


CACHED_LINES = 1_500
"""Maximum number of lines kept; a screen has 50."""


class BlockCache:
    """The drawn blocks, least recently used first."""

    def __init__(self) -> None:
        self._blocks: OrderedDict[int, EntryBlock] = OrderedDict()
        self.lines = 0
        """Lines kept now."""

    def draw(self, block: EntryBlock, page: Page) -> None:
        """Make sure the block's lines are drawn for the page."""
        key = id(block)
        if block.lines is not None and block.page is page:
            self._blocks.move_to_end(key)
            return
        self.drop(block)
        block.lines = _drawn(block, page)
        block.page = page
        self._blocks[key] = block
        self.lines += len(block.lines)
        while self.lines > CACHED_LINES and len(self._blocks) > 1:
            _, oldest = self._blocks.popitem(last=False)
            self._forget(oldest)

    def drop(self, block: EntryBlock) -> None:
        """Drop the block's lines."""
        if self._blocks.pop(id(block), None) is not None:
            self._forget(block)

    def _forget(self, block: EntryBlock) -> None:
        self.lines -= len(block.lines or ())
        block.lines = None


def _drawn(block: EntryBlock, page: Page) -> list[StyledLine]:
    """The block's lines; as plain text with a note if a parser or lexer fails on it."""
    try:
        return block.draw(page)
    except Exception as error:
        why = f"(shown unformatted: {type(error).__name__})"
        lines = wrapped([Segment(plain(block.copied).expandtabs(4), page.palette.text)], page.width)
        return [*lines, *wrapped([Segment(why, page.palette.faint)], page.width)]
