"""What is drawn is kept, up to a number of lines; what was not looked at for longest goes first.

Owns the bound on the transcript's memory; refuses to draw. A block's lines are good for one page (width and theme) and
are made again for another. Called by `document.py`.
"""

from __future__ import annotations

from collections import OrderedDict

from rich.segment import Segment

from gshtui.guard.sanitise import plain
from gshtui.ui.kit.lines import Line
from gshtui.ui.kit.page import Page
from gshtui.ui.kit.transcript.blocks import Block
from gshtui.ui.kit.wrap import wrapped

LINES = 1_500
"""Lines that are kept; a screen has 50."""


class Cache:
    """The drawn blocks, by age of use."""

    def __init__(self, lines: int = LINES) -> None:
        self._limit = lines
        self._blocks: OrderedDict[int, Block] = OrderedDict()
        self.lines = 0
        """Lines that are kept now."""

    def draw(self, block: Block, page: Page) -> None:
        """Have the block's lines ready for the page."""
        key = id(block)
        if block.lines is not None and block.page is page:
            self._blocks.move_to_end(key)
            return
        self.drop(block)
        block.lines = _drawn(block, page)
        block.page = page
        self._blocks[key] = block
        self.lines += len(block.lines)
        while self.lines > self._limit and len(self._blocks) > 1:
            _, oldest = self._blocks.popitem(last=False)
            self._forget(oldest)

    def drop(self, block: Block) -> None:
        """Forget the block's lines."""
        if self._blocks.pop(id(block), None) is not None:
            self._forget(block)

    def _forget(self, block: Block) -> None:
        self.lines -= len(block.lines or ())
        block.lines = None


def _drawn(block: Block, page: Page) -> list[Line]:
    """The block's lines; as plain words, and saying so, where its text is more than a parser or lexer can take."""
    try:
        return block.draw(page)
    except Exception as error:
        why = f"(shown as it is: {type(error).__name__})"
        lines = wrapped([Segment(plain(block.copied).expandtabs(4), page.palette.text)], page.width)
        return [*lines, *wrapped([Segment(why, page.palette.faint)], page.width)]
