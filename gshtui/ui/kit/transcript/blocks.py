"""Blocks: the parts of an entry that are laid out, drawn and copied one by one, and how entries are cut into them.

Owns the block and the plain kinds of entry (prompt, notice); answers are cut by the splitter, tools in `tool.py`.
Refuses to draw more than a screenful or two at once: no block is larger than a chunk. Called by `sheet.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from rich.segment import Segment

from gshtui.guard.sanitise import plain
from gshtui.ui.kit.lines import Line
from gshtui.ui.kit.page import Page
from gshtui.ui.kit.transcript.chunk import LINE_LIMIT, ROWS, SIZE_LIMIT, Chunk
from gshtui.ui.kit.transcript.entries import Notice, Prompt
from gshtui.ui.kit.transcript.markdown import chunk_lines
from gshtui.ui.kit.wrap import wrapped

Draw = Callable[[Page], list[Line]]


class Block:
    """One part of an entry. `draw` makes its lines; what it made is kept here until the cache lets it go."""

    __slots__ = ("chunk", "copied", "draw", "exact", "gap", "goes_on", "height", "lines", "page", "toggles")

    def __init__(
        self,
        draw: Draw,
        copied: str,
        *,
        gap: int = 0,
        goes_on: bool = False,
        toggles: bool = False,
        chunk: Chunk | None = None,
    ) -> None:
        self.draw = draw
        self.copied = copied
        """Its source, as it is copied."""
        self.gap = gap
        """Empty rows above it; the height includes them."""
        self.goes_on = goes_on
        """Part of the block before, for cursor and copy."""
        self.toggles = toggles
        """Opens and closes its entry."""
        self.chunk = chunk
        self.height = 0
        self.exact = 0
        """The width for which the height is exact; 0: it is an estimate."""
        self.lines: list[Line] | None = None
        self.page: Page | None = None

    def estimate(self, width: int) -> int:
        """About how many rows it has, from its length alone."""
        return self.gap + rows_of(self.copied, width)

    def row(self, row: int) -> Line | None:
        """The line at a row, once it is drawn; none for the gap above it."""
        at = row - self.gap
        return self.lines[at] if self.lines is not None and 0 <= at < len(self.lines) else None


def rows_of(text: str, width: int) -> int:
    """About how many rows a text takes."""
    return text.count("\n") + 1 + len(text) // max(1, width)


def chunk_block(chunk: Chunk, *, muted: bool = False) -> Block:
    """The block of a piece of Markdown."""
    if muted:
        return Block(partial(_muted, chunk), chunk.text, goes_on=chunk.goes_on, chunk=chunk)
    return Block(partial(chunk_lines, chunk), chunk.text, gap=chunk.gap, goes_on=chunk.goes_on, chunk=chunk)


def _muted(chunk: Chunk, page: Page) -> list[Line]:
    bar = Segment("│ ", page.palette.rule)
    lines = [Line(()) for _ in range(chunk.gap)] + chunk_lines(chunk, page.narrower(2), page.palette.muted)
    return [line.behind(bar) for line in lines]


def pieces(text: str) -> Iterator[str]:
    """A text cut into pieces of a bounded size, at the ends of lines where it can be."""
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


def prompt_blocks(prompt: Prompt) -> list[Block]:
    """A prompt, word for word, on its panel."""
    made = [
        Block(partial(_prompt, piece, bool(at)), piece, goes_on=bool(at))
        for at, piece in enumerate(pieces(prompt.text))
    ]
    if prompt.attachments:
        names = "\n".join(prompt.attachments)
        made.append(Block(partial(_attachments, prompt.attachments), names, goes_on=True))
    return made


def _prompt(text: str, later: bool, page: Page) -> list[Line]:
    palette = page.palette
    inner = page.narrower(3)
    lines = wrapped([Segment(plain(text).expandtabs(4), palette.prompt)], inner.width)
    out: list[Line] = []
    for number, line in enumerate(lines):
        lead = Segment("▌  " if number or later else "▌❯ ", palette.prompt_bar)
        out.append(line.behind(lead).filled(page.width, palette.prompt_fill))
    return out


def _attachments(names: tuple[str, ...], page: Page) -> list[Line]:
    palette = page.palette
    out: list[Line] = []
    for name in names:
        for line in wrapped([Segment(f"+ {plain(name)}", palette.prompt_fill)], page.narrower(3).width):
            lead = Segment("▌  ", palette.prompt_bar)
            out.append(line.behind(lead).filled(page.width, palette.prompt_fill))
    return out


_SIGNS = {"quiet": "·", "info": "i", "warning": "!", "error": "✗"}


def notice_blocks(notice: Notice) -> list[Block]:
    """What happened, and what to do about it."""
    copied = f"{notice.text}\n{notice.hint}" if notice.hint else notice.text
    return [Block(partial(_notice, notice), copied)]


def _notice(notice: Notice, page: Page) -> list[Line]:
    palette = page.palette
    sign = {"quiet": palette.faint, "info": palette.marker, "warning": palette.warning, "error": palette.error}
    words = {"quiet": palette.faint, "info": palette.muted, "warning": palette.warning, "error": palette.error}
    inner = page.narrower(2)
    lines = wrapped([Segment(plain(notice.text), words[notice.level])], inner.width)
    lead = [Segment(f"{_SIGNS[notice.level]} ", sign[notice.level]), Segment("  ", palette.text)]
    out = [line.behind(lead[bool(number)]) for number, line in enumerate(lines)]
    if notice.hint:
        hint = wrapped([Segment(plain(notice.hint), palette.muted)], page.narrower(4).width)
        leads = [Segment("  → ", palette.muted), Segment("    ", palette.text)]
        out += [line.behind(leads[bool(number)]) for number, line in enumerate(hint)]
    return out
