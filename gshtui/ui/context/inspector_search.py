"""A search in an inspector: where the words stand, block by block, also in what is folded, and the way between them.

Owns the hits; texts are handed in; refuses to read or to scroll. Called by the inspector's tab.
"""

from __future__ import annotations

from typing import NamedTuple

from gshtui.bus.context import SECTIONS, Block
from gshtui.ui.context.text_rows import displayed

MOST = 10_000


class Hit(NamedTuple):
    """One place. `block` is `None` in the request as it is sent; `offset` -1: in the block's source."""

    block: Block | None
    offset: int


class Search:
    """One search, in the order in which things are sent."""

    def __init__(self, words: str) -> None:
        self.needle = words.casefold()
        self.hits: list[Hit] = []
        self.at = -1
        self.done = False

    def look(self, block: Block | None, text: str, source: str = "") -> None:
        """Look through one text."""
        if not self.needle or len(self.hits) >= MOST:
            return
        if source and self.needle in source.casefold():
            self.hits.append(Hit(block, -1))
        shown = displayed(text)
        folded = shown.casefold()
        if len(folded) != len(shown):
            folded = shown.lower() if len(shown.lower()) == len(shown) else shown
        at = folded.find(self.needle)
        while at >= 0 and len(self.hits) < MOST:
            self.hits.append(Hit(block, at))
            at = folded.find(self.needle, at + len(self.needle))

    def go(self, step: int) -> Hit | None:
        """The next place, or the one before, round the ends."""
        if not self.hits:
            return None
        self.at = (self.at + step) % len(self.hits) if self.at >= 0 else 0 if step > 0 else len(self.hits) - 1
        return self.hits[self.at]


def ordered(blocks: tuple[Block, ...]) -> list[Block]:
    """The blocks by section, as an inspector lists them."""
    return [block for name in SECTIONS for block in blocks if block.section == name]
