"""What of the conversation is on the screen: held at the end, or at the place where the reader is.

Owns the reader's place: whatever is added, corrected or removed around it, the row at the top stays the row at the
top. Refuses to know a terminal. Called by the transcript, before each drawing.
"""

from __future__ import annotations

from dataclasses import dataclass

from gshtui.ui.kit.lines import Line
from gshtui.ui.kit.transcript.document import Document, Place
from gshtui.ui.kit.transcript.sheet import Sheet


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the screen. `line` is none where it is empty."""

    sheet: Sheet
    block: int
    at: int
    """The row within the block."""
    line: Line | None


class Viewport:
    """A window of `height` rows onto a document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.height = 0
        self.rows: list[Row] = []
        """What is shown, from the top."""
        self.top = 0
        """Row of the document that is at the top."""
        self._place: Place | None = None

    @property
    def following(self) -> bool:
        """Whether it stays at the end as the conversation grows."""
        return self._place is None

    def follow(self) -> None:
        """Go to the end and stay there."""
        self._place = None

    def hold(self) -> None:
        """Stay where it is, also when more comes."""
        if self._place is None and self.rows:
            first = self.rows[0]
            self._place = Place(first.sheet, first.block, first.at)

    def lowered(self, sheet: Sheet, rows: int) -> None:
        """The first block of an entry has got so many empty rows above it."""
        place = self._place
        if place is not None and place.sheet is sheet and place.block == 0:
            self._place = Place(sheet, 0, place.row + rows)

    def show(self, sheet: Sheet, block: int, row: int = 0, *, at: int = 0) -> None:
        """Put a row of a block on row `at` of the screen."""
        document = self.document
        document.built(sheet)
        block = min(block, len(sheet.blocks) - 1)
        document.exact(sheet, block)
        self._place = self._moved(Place(sheet, block, min(row, max(0, sheet.heights[block] - 1))), -at)

    def jump(self, row: int) -> None:
        """Go to a row of the document, as far as that is known."""
        self._place = self.document.locate(row)

    def scroll(self, rows: int) -> None:
        """Move by so many rows, exactly: what is estimated in between is drawn first."""
        self.hold()
        if self._place is not None and self.document.has(self._place.sheet):
            self._place = self._moved(self._place, rows)

    def settle(self) -> None:
        """Work out what is shown, with exact heights, and with the place kept."""
        place = self._place
        if place is not None and not self.document.has(place.sheet):
            self._place = place = self.document.locate(self.top)
        if place is None:
            self._settle_end()
            return
        self.document.built(place.sheet)
        self._fill(place)
        if len(self.rows) < self.height:
            self._place = None
            self._settle_end()
            return
        self.top = self.document.top(Place(self.rows[0].sheet, self.rows[0].block, self.rows[0].at))
        if self.top + self.height >= self.document.height:
            self._place = None

    def row_of(self, sheet: Sheet, block: int) -> int | None:
        """The row of the screen where a block's first shown row is; `None` when it is not shown."""
        for at, row in enumerate(self.rows):
            if row.sheet is sheet and row.block == block:
                return at
        return None

    def _settle_end(self) -> None:
        document = self.document
        if not document.sheets:
            self.rows, self.top = [], 0
            return
        sheet = document.built(document.sheets[-1])
        at: tuple[Sheet, int] | None = (sheet, len(sheet.blocks) - 1)
        rows = 0
        place = Place(sheet, 0, 0)
        while at is not None and rows < self.height:
            block = document.exact(*at)
            rows += block.height
            place = Place(at[0], at[1], max(0, rows - self.height))
            at = document.before(*at)
        self._fill(place)
        self.top = max(0, document.height - self.height)

    def _fill(self, place: Place) -> None:
        """Collect the rows from a place downwards."""
        document = self.document
        rows: list[Row] = []
        sheet, number = place.sheet, min(place.block, len(place.sheet.blocks) - 1)
        row: int = place.row
        at: tuple[Sheet, int] | None = (sheet, number)
        while at is not None and len(rows) < self.height:
            sheet, number = at
            block = document.exact(sheet, number)
            row = min(row, max(0, block.height - 1))
            last = min(block.height, row + self.height - len(rows))
            rows += [Row(sheet, number, index, block.row(index)) for index in range(row, last)]
            row = 0
            at = document.after(sheet, number)
        self.rows = rows

    def _moved(self, place: Place, rows: int) -> Place:
        document = self.document
        sheet = document.built(place.sheet)
        number = min(place.block, len(sheet.blocks) - 1)
        document.exact(sheet, number)
        row = place.row + rows
        while row < 0:
            at = document.before(sheet, number)
            if at is None:
                return Place(sheet, number, 0)
            sheet, number = at
            row += document.exact(sheet, number).height
        while row >= (height := document.exact(sheet, number).height):
            at = document.after(sheet, number)
            if at is None:
                return Place(sheet, number, max(0, height - 1))
            row -= height
            sheet, number = at
        return Place(sheet, number, row)
