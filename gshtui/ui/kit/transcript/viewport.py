"""The visible part of the conversation, and the block cursor in it.

Owns the reader's position: whatever is added, corrected or removed around it, the row at the top stays at the top.
The cursor treats a block and its continuations as one. Knows no terminal.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

import msgspec

from gshtui.ui.kit.drawing.styled_lines import StyledLine
from gshtui.ui.kit.transcript.document import RowPosition, TranscriptDocument
from gshtui.ui.kit.transcript.entries import FOLDING, OutcomeEntry, PromptEntry
from gshtui.ui.kit.transcript.sheet import Sheet

GUTTER = 2
"""Cells at the left reserved for the cursor."""
_ROOMY = 6
"""Rows from which on one of them may say which prompt is answered here."""


class ScreenRow(msgspec.Struct, frozen=True):
    """One row of the screen. `line` is `None` if the row is empty."""

    sheet: Sheet
    block: int
    at: int
    """The row within the block."""
    line: StyledLine | None


class Viewport:
    """A window of `height` rows onto a document."""

    def __init__(self, document: TranscriptDocument) -> None:
        self.document = document
        self.height = 0
        self.rows: list[ScreenRow] = []
        """The visible rows, from the top."""
        self.top = 0
        """The document row at the top."""
        self.unseen = 0
        """Entries added below while the reader was further up."""
        self.heading: Sheet | None = None
        """The prompt whose answer is read, while it is above the view: it covers the first row."""
        self.shift = 0
        """What a row's number for selections is above its number in the document."""
        self._place: RowPosition | None = None

    @property
    def following(self) -> bool:
        """Whether it stays at the end as the conversation grows."""
        return self._place is None

    @property
    def below(self) -> int:
        """Rows below those in sight, as far as known, where there is a row to say so: the last one, which it takes."""
        more = self.document.height - self.top - self.height
        return more + 1 if more > 0 and not self.following and self.height >= _ROOMY // 2 else 0

    @property
    def in_sight(self) -> list[ScreenRow]:
        """The visible rows without those that the heading and the way to the end cover."""
        return self.rows[self.heading is not None : self.height - 1 if self.below else None]

    def follow(self) -> None:
        """Go to the end and follow new entries."""
        self._place = None

    def hold(self) -> None:
        """Stay in place when entries are added."""
        if self._place is None and self.rows:
            first = self.rows[0]
            self._place = RowPosition(first.sheet, first.block, first.at)

    def lowered(self, sheet: Sheet, rows: int) -> None:
        """The first block of an entry now has this many empty rows above it."""
        place = self._place
        if place is not None and place.sheet is sheet and place.block == 0:
            self._place = RowPosition(sheet, 0, place.row + rows)

    def show(self, sheet: Sheet, block: int, row: int = 0, *, at: int = 0) -> None:
        """Put a row of a block on row `at` of the screen."""
        document = self.document
        document.built(sheet)
        block = min(block, len(sheet.blocks) - 1)
        document.exact(sheet, block)
        self._place = self._moved(RowPosition(sheet, block, min(row, max(0, sheet.heights[block] - 1))), -at)

    def jump(self, row: int) -> None:
        """Go to a row of the document, as far as known."""
        self._place = self.document.locate(row)

    def scroll(self, rows: int) -> None:
        """Move by exactly this many rows: estimated blocks in between are drawn first."""
        self.hold()
        if self._place is not None and self.document.has(self._place.sheet):
            self._place = self._moved(self._place, rows)

    def settle(self) -> None:
        """Determine the visible rows with exact heights, keeping the position."""
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
        self.top = self.document.top(RowPosition(self.rows[0].sheet, self.rows[0].block, self.rows[0].at))
        if self.top + self.height >= self.document.height:
            self._place = None

    def update(self) -> set[int] | None:
        """Settle after a change, and return the screen rows that differ; `None`: all may.

        Rows keep their selection numbers when something is added above them.
        """
        before, top, heading, below = self.rows, self.top, self.heading, self.below
        self.settle()
        self.heading = None if self.following else self._prompt_above()
        if before and self.document.has(before[0].sheet) and before[0].block < len(before[0].sheet.blocks):
            first = before[0]
            self.shift += top - self.document.top(RowPosition(first.sheet, first.block, first.at))
        if self.following:
            self.unseen = 0
        now = self.rows
        if not before or not now:
            return None
        rows = range(max(len(before), len(now)))
        covered = {0} if self.heading is not heading else set[int]()
        covered |= {self.height - 1} if self.below or below else set[int]()
        return covered | {at for at in rows if not _alike(_at(before, at), _at(now, at))}

    def _prompt_above(self) -> Sheet | None:
        """The prompt of the turn at the top of the view, if its first row is above it; none of a command's answer."""
        if not self.rows or self.height < _ROOMY:
            return None
        first, sheets = self.rows[0], self.document.sheets
        if isinstance(first.sheet.entry, OutcomeEntry):
            return None
        own = first.block == 0 and first.at <= first.sheet.gap
        for at in range(self.document.index(first.sheet), -1, -1):
            if isinstance(sheets[at].entry, PromptEntry):
                return None if own and sheets[at] is first.sheet else sheets[at]
        return None

    def clear(self) -> None:
        """Reset: the document was cleared."""
        self.rows, self.top, self.unseen, self.heading = [], 0, 0, None
        self._place = None

    def number(self, y: int) -> int:
        """The selection number of a screen row."""
        return self.top + y + self.shift

    def row_of(self, sheet: Sheet, block: int) -> int | None:
        """The screen row of a block's first visible row; `None`: not visible."""
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
        place = RowPosition(sheet, 0, 0)
        while at is not None and rows < self.height:
            block = document.exact(*at)
            rows += block.height
            place = RowPosition(at[0], at[1], max(0, rows - self.height))
            at = document.before(*at)
        self._fill(place)
        self.top = max(0, document.height - self.height)

    def _fill(self, place: RowPosition) -> None:
        """Collect the rows from a position downwards."""
        document = self.document
        rows: list[ScreenRow] = []
        sheet, number = place.sheet, min(place.block, len(place.sheet.blocks) - 1)
        row: int = place.row
        at: tuple[Sheet, int] | None = (sheet, number)
        while at is not None and len(rows) < self.height:
            sheet, number = at
            block = document.exact(sheet, number)
            row = min(row, max(0, block.height - 1))
            last = min(block.height, row + self.height - len(rows))
            rows += [ScreenRow(sheet, number, index, block.row(index)) for index in range(row, last)]
            row = 0
            at = document.after(sheet, number)
        self.rows = rows

    def _moved(self, place: RowPosition, rows: int) -> RowPosition:
        document = self.document
        sheet = document.built(place.sheet)
        number = min(place.block, len(sheet.blocks) - 1)
        document.exact(sheet, number)
        row = place.row + rows
        while row < 0:
            at = document.before(sheet, number)
            if at is None:
                return RowPosition(sheet, number, 0)
            sheet, number = at
            row += document.exact(sheet, number).height
        while row >= (height := document.exact(sheet, number).height):
            at = document.after(sheet, number)
            if at is None:
                return RowPosition(sheet, number, max(0, height - 1))
            row -= height
            sheet, number = at
        return RowPosition(sheet, number, row)


def _at(rows: Sequence[ScreenRow], at: int) -> ScreenRow | None:
    return rows[at] if at < len(rows) else None


def _alike(one: ScreenRow | None, other: ScreenRow | None) -> bool:
    if one is None or other is None or one.line is None or other.line is None:
        return one is other or (one is not None and other is not None and one.line is other.line)
    return one.line.same(other.line)


class BlockCursor:
    """The block cursor: on a block, or nowhere."""

    def __init__(self, document: TranscriptDocument, viewport: Viewport) -> None:
        self._document = document
        self._viewport = viewport
        self.sheet: Sheet | None = None
        self.block = 0
        self.standing = False
        """Whether the reader has gone to a prompt: it is marked without the focus, too, until something else moves."""

    def on(self, row: ScreenRow) -> bool:
        """Whether the row belongs to its block, not counting empty rows above."""
        if row.sheet is not self.sheet or row.line is None:
            return False
        first, last = self.group()
        return first <= row.block <= last

    def place(self, sheet: Sheet | None, block: int = 0) -> None:
        """Go to a block, or nowhere."""
        self.sheet, self.block, self.standing = sheet, block, False

    def go_home(self) -> None:
        """Go to the very first block, shown at the top."""
        sheets = self._document.sheets
        if sheets:
            self.place(sheets[0])
            self._viewport.show(sheets[0], 0)

    def go_end(self) -> None:
        """Clear the cursor: the viewport goes to the end, and follows new entries."""
        self._viewport.follow()
        self.place(None)

    def go_to_prompt(self, direction: int, *, from_cursor: bool) -> None:
        """Go to the next (-1: the previous) prompt; behind the last one is the end, before the first the beginning.
        `from_cursor`: count from the cursor, where it is visible; else from the top of the screen.
        """
        sheets = self._document.sheets
        here = self.sheet
        if here is not None and self._document.has(here) and (self.standing or (from_cursor and self.visible())):
            at = self._document.index(here)
        elif self._viewport.rows and not (direction < 0 and self._viewport.following):
            first = self._viewport.rows[0]
            # The entry at the top is passed only where its first row is there to be seen.
            at = self._document.index(first.sheet)
            at += direction < 0 and (first.block > 0 or first.at > first.sheet.gap)
        else:
            at = len(sheets)
        found = range(at + 1, len(sheets)) if direction > 0 else range(at - 1, -1, -1)
        prompt = next((sheets[n] for n in found if isinstance(sheets[n].entry, PromptEntry)), None)
        if prompt is not None:
            self.go_to(prompt)
        elif direction > 0:
            self.go_end()
        else:
            self.go_home()

    def go_to(self, prompt: Sheet) -> None:
        """Go to a prompt, at the top."""
        self.place(prompt)
        self.standing = True
        self._viewport.show(prompt, 0, prompt.gap)

    def toggle(self) -> bool:
        """Open or fold its entry, whose first line stays in place; False: the entry cannot be opened."""
        sheet = self.sheet if self.ready() else None
        if sheet is None or not isinstance(sheet.entry, FOLDING):
            return False
        rows = self._viewport.rows
        at = next((y for y, row in enumerate(rows) if row.sheet is sheet and row.line is not None), 0)
        self._document.toggle(sheet, not sheet.opened)
        self.place(sheet)
        self._document.built(sheet)
        self._viewport.show(sheet, 0, sheet.gap, at=at)
        return True

    @contextmanager
    def in_place(self) -> Generator[None]:
        """Its block, where it is visible, stays on its screen row while entries are opened and folded around it."""
        rows = self.shown() if self.sheet is not None else []
        yield
        if rows and self.sheet is not None:
            folds = isinstance(self.sheet.entry, FOLDING)
            self.place(self._document.built(self.sheet), 0 if folds else self.block)
            first, _ = self.group()
            self._viewport.show(self.sheet, first, self.sheet.blocks[first].gap, at=rows[0])

    def shown(self) -> list[int]:
        """The screen rows of its block."""
        return [y for y, row in enumerate(self._viewport.rows) if self.on(row)]

    def group(self) -> tuple[int, int]:
        """The first and last blocks that form one with its block."""
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
        """Whether it is on a block; if not, it moves to the last visible one."""
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
        """Whether any of its rows is visible."""
        return any(self.on(row) for row in self._viewport.in_sight)

    def move(self, direction: int) -> None:
        """Go to the next or previous block, into view; a block larger than the screen is scrolled through."""
        if not self.ready() or self.sheet is None:
            return
        if not self.visible():
            rows = [row for row in self._viewport.in_sight if row.line is not None]
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
        """Scroll its block into view, moving as little as possible; `context`: rows to leave above if it moves."""
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
        if self.visible() and not self._hidden(1) and not self._hidden(-1):
            return
        below = document.top_of(self.sheet, first) > viewport.top
        last_row = viewport.height - (2 if viewport.height >= _ROOMY // 2 else 1)
        if height > last_row or not below or context:
            viewport.show(
                self.sheet, first, gap, at=min(context or 1, viewport.height // 2) if viewport.height > 3 else 0
            )
        else:
            viewport.show(self.sheet, last, self.sheet.heights[last] - 1, at=last_row)

    def text(self) -> str:
        """The source of its block."""
        if self.sheet is None:
            return ""
        first, last = self.group()
        return "\n".join(block.copied for block in self.sheet.blocks[first : last + 1])

    def _hidden(self, direction: int) -> int:
        """Rows of its block below (above) those in sight."""
        assert self.sheet is not None
        rows = [row for row in self._viewport.in_sight if self.on(row)]
        if not rows:
            return 0
        first, last = self.group()
        heights = self.sheet.heights
        if direction > 0:
            edge = rows[-1]
            return heights.before(last + 1) - heights.before(edge.block) - edge.at - 1
        edge = rows[0]
        return heights.before(edge.block) + edge.at - heights.before(first) - self.sheet.blocks[first].gap
