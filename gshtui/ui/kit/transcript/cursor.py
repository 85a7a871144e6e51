"""The block cursor: which block it is on, and how it moves over the document.

Owns the place of the cursor; refuses to draw it or to read keys. A block and the blocks that go on it are one to the
cursor. Called by the transcript.
"""

from __future__ import annotations

from gshtui.ui.kit.transcript.document import Document
from gshtui.ui.kit.transcript.sheet import Sheet
from gshtui.ui.kit.transcript.viewport import Row, Viewport


class Cursor:
    """On a block, or nowhere."""

    def __init__(self, document: Document, viewport: Viewport) -> None:
        self._document = document
        self._viewport = viewport
        self.sheet: Sheet | None = None
        self.block = 0

    def on(self, row: Row) -> bool:
        """Whether the row belongs to its block, empty rows above it left out."""
        if row.sheet is not self.sheet or row.line is None:
            return False
        first, last = self.group()
        return first <= row.block <= last

    def place(self, sheet: Sheet | None, block: int = 0) -> None:
        """Go to a block, or nowhere."""
        self.sheet, self.block = sheet, block

    def group(self) -> tuple[int, int]:
        """The first and the last block that are one with its block."""
        assert self.sheet is not None
        blocks = self.sheet.blocks
        first = min(self.block, max(0, len(blocks) - 1))
        while first > 0 and blocks[first].goes_on:
            first -= 1
        last = first
        while last + 1 < len(blocks) and blocks[last + 1].goes_on:
            last += 1
        return first, last

    def ready(self) -> bool:
        """Whether it is on a block; if not, it goes to the last one on the screen."""
        if self.sheet is not None and self._document.has(self.sheet):
            self._document.built(self.sheet)
            return True
        rows = [row for row in self._viewport.rows if row.line is not None]
        if not rows:
            self.sheet = None
            return False
        self.place(rows[-1].sheet, rows[-1].block)
        return True

    def visible(self) -> bool:
        """Whether any of its rows is on the screen."""
        return any(self.on(row) for row in self._viewport.rows)

    def move(self, direction: int) -> None:
        """To the block after or before, and that into view; a block larger than the screen is scrolled through."""
        if not self.ready() or self.sheet is None:
            return
        if not self.visible():
            rows = [row for row in self._viewport.rows if row.line is not None]
            if rows:
                edge = rows[0 if direction > 0 else -1]
                self.place(edge.sheet, edge.block)
            return
        hidden = self._hidden(direction)
        if hidden:
            self._viewport.scroll(direction * min(hidden, max(1, self._viewport.height - 2)))
            return
        first, last = self.group()
        step = self._document.after(self.sheet, last) if direction > 0 else self._document.before(self.sheet, first)
        if step is None:
            self._viewport.scroll(direction * self._viewport.height)
            return
        self.place(*step)
        self.place(self.sheet, self.group()[0])
        self.show()

    def show(self, *, context: int = 0) -> None:
        """Its block into view, moving as little as possible; `context`: rows to leave above it when it has to move."""
        if self.sheet is None:
            return
        document, viewport = self._document, self._viewport
        first, last = self.group()
        height = 0
        for block in range(first, last + 1):
            height += document.exact(self.sheet, block).height
            if height > viewport.height:
                break
        gap = self.sheet.blocks[first].gap
        top = viewport.row_of(self.sheet, first)
        bottom = viewport.row_of(self.sheet, last)
        if top is not None and bottom is not None and not self._hidden(1) and not self._hidden(-1):
            return
        below = document.top_of(self.sheet, first) > viewport.top
        if height > viewport.height or not below or context:
            viewport.show(
                self.sheet, first, gap, at=min(context or 1, viewport.height // 2) if viewport.height > 3 else 0
            )
        else:
            viewport.show(self.sheet, last, self.sheet.heights[last] - 1, at=viewport.height - 1)

    def text(self) -> str:
        """The source of its block."""
        if self.sheet is None:
            return ""
        first, last = self.group()
        return "\n".join(block.copied for block in self.sheet.blocks[first : last + 1])

    def _hidden(self, direction: int) -> int:
        """Rows of its block that lie below (above) the screen."""
        assert self.sheet is not None
        rows = [row for row in self._viewport.rows if self.on(row)]
        if not rows:
            return 0
        first, last = self.group()
        heights = self.sheet.heights
        if direction > 0:
            edge = rows[-1]
            return heights.before(last + 1) - heights.before(edge.block) - edge.at - 1
        edge = rows[0]
        return heights.before(edge.block) + edge.at - heights.before(first) - self.sheet.blocks[first].gap
