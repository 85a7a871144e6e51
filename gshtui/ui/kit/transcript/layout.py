"""The blocks of one entry with their heights, and of an answer the source that is still to be cut into them.

Owns the cutting, a slice of time at once: what is frozen stays, only the tail is made again. Refuses to draw (that is
the block's) and to know the entry's place. Made by `sheet.py` when an entry is first looked at.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from rich.segment import Segment

from gshtui.ui.kit.lines import Line
from gshtui.ui.kit.page import Page
from gshtui.ui.kit.transcript.blocks import Block, chunk_block
from gshtui.ui.kit.transcript.chunk import Chunk
from gshtui.ui.kit.transcript.heights import Heights
from gshtui.ui.kit.transcript.splitter import Splitter

_PIECE = 8_192
"""Characters that are cut at a time; some milliseconds at most."""


class Layout:
    """Blocks in order. The first one's gap is the entry's."""

    __slots__ = ("_frozen", "_incoming", "_splitter", "blocks", "gap", "heights", "muted")

    def __init__(self, blocks: Sequence[Block], gap: int, width: int, *, source: str | None, muted: bool) -> None:
        """
        Args:
            blocks: those that are made already and stay.
            gap: empty rows before the entry.
            width: cells, for the estimates.
            source: Markdown that is to be cut into further blocks; none: there are no others.
            muted: draw those others as thoughts.
        """
        self.blocks = list(blocks)
        self.gap = gap
        self.muted = muted
        if self.blocks:
            self.blocks[0].gap += gap
        self.heights = Heights(_first_height(block, width) for block in self.blocks)
        self._frozen = len(self.blocks)  # blocks that will not change any more
        self._splitter = None if source is None else Splitter()
        self._incoming = [source] if source is not None else []

    @property
    def busy(self) -> bool:
        """Whether some of the source is still to be cut."""
        return bool(self._incoming)

    def take(self, text: str) -> None:
        """More source; `work` cuts it."""
        if self._splitter is not None:
            self._incoming.append(text)

    def work(self, page: Page, seconds: float, *, more_comes: bool) -> None:
        """Cut what has come, for at most about so many seconds; `more_comes`: the source is not yet whole."""
        splitter = self._splitter
        if splitter is None:
            return
        deadline = time.perf_counter() + seconds
        text = "".join(self._incoming)
        at = 0
        done: list[Chunk] = []
        while at < len(text):
            done += splitter.feed(text[at : at + _PIECE])
            at += _PIECE
            if time.perf_counter() > deadline:
                break
        rest = text[at:]
        self._incoming = [rest] if rest else []
        tail: list[Chunk] = []
        if rest or more_comes:
            tail = splitter.tail()
        else:
            done += splitter.finish()
            self._splitter = None
        self._replace_tail(done, tail, page.width)
        if rest:
            self._append(Block(partial(_rest, len(rest)), rest, gap=1), page.width)
        if not self.blocks:
            self._append(Block(_waiting if more_comes else _empty, ""), page.width)

    def set_first(self, block: Block, width: int) -> None:
        """Another first block."""
        block.gap += self.gap
        self.blocks[0] = block
        self.heights.put(0, _first_height(block, width))

    def set_gap(self, gap: int) -> None:
        """Other empty rows before the entry."""
        if self.blocks:
            first = self.blocks[0]
            first.gap += gap - self.gap
            first.height = self.heights[0] + gap - self.gap
            self.heights.put(0, first.height)
        self.gap = gap

    def _replace_tail(self, done: Sequence[Chunk], tail: Sequence[Chunk], width: int) -> None:
        chunks = [*done, *tail]
        old, at = self.blocks, self._frozen
        keep = 0
        while keep < len(chunks) and at + keep < len(old) and old[at + keep].chunk == chunks[keep]:
            keep += 1
        while len(self.blocks) > at + keep:
            self.blocks.pop()
            self.heights.pop()
        for chunk in chunks[keep:]:
            self._append(chunk_block(chunk, muted=self.muted), width)
        self._frozen = at + len(done)

    def _append(self, block: Block, width: int) -> None:
        if not self.blocks:
            block.gap = self.gap
        self.blocks.append(block)
        self.heights.append(_first_height(block, width))


def _first_height(block: Block, width: int) -> int:
    block.height = block.estimate(width) if not block.toggles else block.gap + 1
    return block.height


def _rest(characters: int, page: Page) -> list[Line]:
    return [Line([Segment(f"⋯ {characters:,} more characters come in a moment", page.palette.faint)])]


def _waiting(page: Page) -> list[Line]:
    return [Line([Segment("…", page.palette.faint)])]


def _empty(page: Page) -> list[Line]:
    return [Line([Segment("(an empty answer)", page.palette.faint)])]
