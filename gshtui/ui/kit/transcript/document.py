"""The laid-out conversation: entries in order, their heights, mapping between rows and blocks, selected text.

Owns the order and the sums; `viewport.py` owns the visible part. A change costs O(log n), whatever the length.
Copied text has no decoration: no bars, gutters or wraps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from textual.geometry import Offset
from textual.selection import Selection

from gshtui.text.sanitise import plain
from gshtui.ui.kit.drawing.page import Page
from gshtui.ui.kit.drawing.styled_lines import StyledLine
from gshtui.ui.kit.transcript.call_results import FAILED, result_rows
from gshtui.ui.kit.transcript.entries import (
    AnswerEntry,
    Entry,
    NoticeEntry,
    PromptEntry,
    ToolEntry,
    ToolGroup,
    calls_of,
    group_of,
    has_looked,
    has_passed,
    is_asked,
    joined,
    only_looks,
)
from gshtui.ui.kit.transcript.entry_blocks import BlockCache, EntryBlock
from gshtui.ui.kit.transcript.sheet import RowHeights, Sheet

SLICE = 0.008
"""Seconds of a frame for splitting one entry into blocks; the rest follows in later frames."""


class RowPosition(msgspec.Struct, frozen=True):
    """A row of a block of an entry: a position that stays valid when anything else changes."""

    sheet: Sheet
    block: int = 0
    row: int = 0


class TranscriptDocument:
    """The entries. Rows are counted from 0 at the top of the first one."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.cache = BlockCache()
        self.sheets: list[Sheet] = []
        self.busy: dict[str, Sheet] = {}
        """Entries with source that must still be split."""
        self._heights = RowHeights()
        self._by_id: dict[str, Sheet] = {}
        self._first = 0
        self._turn: list[Sheet] = []
        """The calls of the turn at the end."""
        self._asked = ""

    @property
    def height(self) -> int:
        """Total number of rows."""
        return self._heights.total

    def get(self, id: str) -> Sheet | None:
        return self._by_id.get(id)

    def index(self, sheet: Sheet) -> int:
        """The entry's index in `sheets`."""
        return sheet.order - self._first

    def has(self, sheet: Sheet) -> bool:
        return self._by_id.get(sheet.entry.id) is sheet

    def put(self, entry: Entry, *, fold: bool = True) -> Sheet:
        """Append the entry, or replace the one with its id; a call that only looks joins its like before it.
        `fold`: results of calls before it may go, since nobody reads them.
        """
        sheet = self._by_id.get(entry.id)
        if sheet is not None:
            self._forget(sheet, changed=joined(sheet.entry, entry) or entry)
        else:
            last = self.sheets[-1] if self.sheets else None
            if last is not None and (group := joined(last.entry, entry)) is not None:
                sheet = self._by_id[entry.id] = last
                self._forget(last, changed=group)
            else:
                sheet = self._append(entry, fold)
        if fold:
            self._join_looked()
        if fold and isinstance(entry, ToolEntry):
            self._fold_turn()
        return self._by_id[entry.id]

    def _append(self, entry: Entry, fold: bool) -> Sheet:
        if isinstance(entry, PromptEntry):
            self._turn = []
        elif fold and isinstance(entry, ToolEntry) and not entry.by_person:
            while self._join_passed(entry):
                pass
        sheet = Sheet(entry, width=self.page.width)
        sheet.gap = _gap(self.sheets[-1] if self.sheets else None, sheet)
        sheet.order = self._first + len(self.sheets)
        self.sheets.append(sheet)
        self._by_id[entry.id] = sheet
        self._heights.append(sheet.height)
        if isinstance(entry, ToolEntry) and not entry.by_person:
            self._turn.append(sheet)
        return sheet

    def _join_passed(self, coming: ToolEntry) -> bool:
        """Make the last two calls of the turn one row, where there are many of them; whether it was done."""
        if self.sheets[-2:] != self._turn[-2:] or not passes(_calls(self._turn), coming):
            return False
        return self._join(*self._turn[-2:])

    def _join_looked(self) -> None:
        """Make neighbouring calls of the turn that only looked one row, but for a command that has just printed."""
        for before, last in zip(self._turn[-2::-1], self._turn[:0:-1], strict=True):
            printed = last is self.sheets[-1] and not only_looks(_each_call(last)[-1])
            if not printed and last.order == before.order + 1 and has_looked(before.entry) and has_looked(last.entry):
                self._join(before, last)

    def _join(self, before: Sheet, last: Sheet) -> bool:
        """Make two neighbouring calls one row, unless a person reads one of them; whether it was done."""
        if before.opened or last.opened:
            return False
        group = group_of(_each_call(before, last))
        self._take_out(last)
        self._by_id |= {call.id: before for call in group.calls}
        self._forget(before, changed=group)
        return True

    def fold_asked(self, call: str) -> None:
        """What this call wants to change is shown by its question now: here it is one row. Empty: none is."""
        self._asked = call
        self._fold_turn()

    def _fold_turn(self) -> None:
        for sheet, shown in zip(self._turn, unfolded(_calls(self._turn), self.page.result_lines), strict=True):
            brief = not shown or is_asked(sheet.entry, self._asked)
            if sheet.brief != brief:
                sheet.brief = brief
                self._forget(sheet)

    def space_after(self, sheet: Sheet) -> tuple[Sheet, int] | None:
        """Set the gap below a changed entry; the entry below and how far it was lowered, or `None`."""
        at = self.index(sheet) + 1
        if at >= len(self.sheets):
            return None
        below = self.sheets[at]
        lowered = _gap(sheet, below) - below.gap
        if not lowered:
            return None
        below.gap += lowered
        self._heights.put(at, below.height)
        return below, lowered

    def prepend(self, entries: Iterable[Entry]) -> list[Sheet]:
        """Prepend entries; those already here are skipped."""
        older = TranscriptDocument(self.page)
        for entry in entries:
            if entry.id not in self._by_id:
                older.put(entry)
        new = older.sheets
        if not self.sheets:
            self._turn = older._turn
        elif new:
            self.sheets[0].gap = _gap(new[-1], self.sheets[0])
            self._heights.put(0, self.sheets[0].height)
        self._by_id |= older._by_id
        self.sheets = new + self.sheets
        self._first -= len(new)
        for order, sheet in enumerate(new, self._first):
            sheet.order = order
        self._heights = RowHeights([*older._heights.values, *self._heights.values])
        return new

    def clear(self) -> None:
        """Remove all entries."""
        self.cache = BlockCache()
        self.sheets = []
        self.busy.clear()
        self._heights = RowHeights()
        self._by_id.clear()
        self._first = 0
        self._turn = []

    def remove(self, id: str) -> Sheet | None:
        """Remove the entry."""
        sheet = self._by_id.pop(id, None)
        if sheet is None:
            return None
        if isinstance(sheet.entry, ToolGroup) and (left := [one for one in sheet.entry.calls if one.id != id]):
            self._by_id |= {one.id: sheet for one in left}
            self._forget(sheet, changed=group_of(tuple(left)))
            return sheet
        self._take_out(sheet)
        return sheet

    def _take_out(self, sheet: Sheet) -> None:
        at = self.index(sheet)
        self._drop_lines(sheet)
        self.busy.pop(sheet.entry.id, None)
        self._turn = [one for one in self._turn if one is not sheet]
        heights = self._heights.values
        del self.sheets[at]
        del heights[at]
        for order, other in enumerate(self.sheets[at:], self._first + at):
            other.order = order
        if at < len(self.sheets):
            self.sheets[at].gap = _gap(self.sheets[at - 1] if at else None, self.sheets[at])
            heights[at] = self.sheets[at].height
        self._heights = RowHeights(heights)

    def toggle(self, sheet: Sheet, opened: bool) -> None:
        """Open or fold an entry."""
        sheet.opened = opened
        self._forget(sheet)

    def lay_out(self, sheet: Sheet, seconds: float = SLICE) -> None:
        """Split more of an entry's source into blocks."""
        if not sheet.built:
            return
        sheet.lay_out(self.page, seconds)
        self._note(sheet)

    def refresh_header(self, sheet: Sheet) -> None:
        """Redraw a live thought's line."""
        if sheet.built and sheet.blocks:
            self.cache.drop(sheet.blocks[0])
            sheet.refresh_header(self.page)
            self._note(sheet)

    def built(self, sheet: Sheet) -> Sheet:
        """The entry with its blocks, or as many as fit in the time slice."""
        if not sheet.built:
            sheet.build(self.page, SLICE)
            self._note(sheet)
        return sheet

    def exact(self, sheet: Sheet, at: int) -> EntryBlock:
        """The block, drawn for this page, its height exact."""
        block = sheet.blocks[at]
        self.cache.draw(block, self.page)
        height = block.gap + len(block.lines or ())
        if block.exact != self.page.width or block.height != height or sheet.heights[at] != height:
            block.exact, block.height = self.page.width, height
            sheet.heights.put(at, height)
            self._heights.put(self.index(sheet), sheet.height)
        return block

    def top(self, place: RowPosition) -> int:
        """The absolute row of a position."""
        before = self._heights.before(self.index(place.sheet))
        return before + (place.sheet.heights.before(place.block) if place.sheet.built else 0) + place.row

    def top_of(self, sheet: Sheet, block: int = 0) -> int:
        """The absolute row where a block begins."""
        return self.top(RowPosition(sheet, block))

    def locate(self, row: int) -> RowPosition | None:
        """The position of a row; `None`: the document is empty."""
        if not self.sheets:
            return None
        at, within = self._heights.find(max(0, row))
        sheet = self.built(self.sheets[at])
        block, rest = sheet.heights.find(within)
        return RowPosition(sheet, block, min(rest, max(0, sheet.heights[block] - 1)))

    def before(self, sheet: Sheet, block: int) -> tuple[Sheet, int] | None:
        """The previous block; lays its entry out."""
        if block > 0:
            return sheet, block - 1
        at = self.index(sheet)
        if at == 0:
            return None
        other = self.built(self.sheets[at - 1])
        return other, len(other.blocks) - 1

    def after(self, sheet: Sheet, block: int) -> tuple[Sheet, int] | None:
        """The next block; lays its entry out."""
        if block + 1 < len(sheet.blocks):
            return sheet, block + 1
        at = self.index(sheet)
        if at + 1 >= len(self.sheets):
            return None
        return self.built(self.sheets[at + 1]), 0

    def _forget(self, sheet: Sheet, changed: Entry | None = None) -> None:
        was = tuple(sheet.blocks)
        if changed is not None:
            sheet.become(changed)
        else:
            sheet.forget()
        if not sheet.built:
            for block in was:
                self.cache.drop(block)
        self._note(sheet)

    def _note(self, sheet: Sheet) -> None:
        self._heights.put(self.index(sheet), sheet.height)
        if sheet.busy:
            self.busy[sheet.entry.id] = sheet
        else:
            self.busy.pop(sheet.entry.id, None)

    def _drop_lines(self, sheet: Sheet) -> None:
        for block in sheet.blocks:
            self.cache.drop(block)


def _calls(sheets: Iterable[Sheet]) -> list[ToolEntry]:
    return [sheet.entry for sheet in sheets if isinstance(sheet.entry, ToolEntry)]


def _each_call(*sheets: Sheet) -> tuple[ToolEntry, ...]:
    """Their calls, those of groups singly."""
    return tuple(call for entry in _calls(sheets) for call in calls_of(entry))


_REMARK = 160
"""Most characters of what an agent says of its next calls; they follow it without an empty row."""


def _gap(before: Sheet | None, sheet: Sheet) -> int:
    """Empty rows between two entries: notices are close together, an agent's calls, and its remark with its calls."""
    if before is None:
        return 0
    first, second = before.entry, sheet.entry
    if isinstance(first, ToolEntry) and isinstance(second, ToolEntry):
        return int(first.by_person)
    if isinstance(first, AnswerEntry) and isinstance(second, ToolEntry) and not second.by_person:
        return int("\n" in first.text or len(first.text) > _REMARK)
    return int(not (isinstance(first, NoticeEntry) and isinstance(second, NoticeEntry)))


_MOST_ROWS = 20_000


def selected_text(document: TranscriptDocument, selection: Selection, shift: int, gutter: int) -> str:
    """The selected text.

    Args:
        document: where the selection is.
        selection: rows as the transcript numbered them, characters with the gutter.
        shift: what to subtract from those numbers to get rows of the document.
        gutter: characters before each line.
    """
    if selection.start is None and selection.end is None:
        return plain("\n\n".join(sheet.text for sheet in document.sheets))
    start = selection.start or Offset(0, shift)
    first = start.y - shift
    last = document.height - 1 if selection.end is None else selection.end.y - shift
    place = document.locate(first)
    out: list[str] = []
    for number in range(min(_MOST_ROWS, last - first + 1)):
        if place is None:
            break
        line = document.exact(place.sheet, place.block).row(place.row)
        begin = start.x - gutter if number == 0 else 0
        end = selection.end.x - gutter if selection.end is not None and first + number == last else None
        words = _selected_words(line, begin, end)
        if number:
            out.append(line.join if line is not None else "\n")
        out.append(words)
        place = _next_row(document, place)
    return "".join(out)


def _selected_words(line: StyledLine | None, begin: int, end: int | None) -> str:
    if line is None:
        return ""
    text = line.text if end is None else line.text[: max(0, end)]
    return text[max(line.margin, begin) :].rstrip()


def _next_row(document: TranscriptDocument, place: RowPosition) -> RowPosition | None:
    block = document.exact(place.sheet, place.block)
    if place.row + 1 < block.height:
        return RowPosition(place.sheet, place.block, place.row + 1)
    at = document.after(place.sheet, place.block)
    if at is None:
        return None
    document.exact(*at)
    return RowPosition(*at, 0)


TURN_ROWS = 20
SINGLE_ROWS = 9
"""Rows of calls from which on those that have passed are joined."""


def unfolded(calls: Sequence[ToolEntry], most: int) -> list[bool]:
    """Which of a turn's calls show their result. `most`: rows of an output."""
    newest = _newest(calls)
    shown = [call.live or at == newest for at, call in enumerate(calls)]
    rows = sum(1 + result_rows(call, most, brief=not shown[at]) for at, call in enumerate(calls) if not call.diff)
    changed = [at for at, call in enumerate(calls) if call.diff]
    rows += len(changed)
    for at in reversed(changed):
        rows += result_rows(calls[at], most)
        shown[at] = rows <= TURN_ROWS or at == changed[-1] or calls[at].status == "asked"
    return shown


def passes(calls: Sequence[ToolEntry], coming: ToolEntry) -> bool:
    """Whether the last two of a turn's calls become one row, now that another comes: there are many, both passed."""
    if len(calls) < SINGLE_ROWS or not (has_passed(calls[-2]) and has_passed(calls[-1])):
        return False
    return not (only_looks(coming) and _newest(calls) >= len(calls) - 2)


def _newest(calls: Sequence[ToolEntry]) -> int:
    """Which of them has printed something last, unless it is in a group; -1: none."""
    for at in range(len(calls) - 1, -1, -1):
        call = calls[at]
        if isinstance(call, ToolGroup) and not has_looked(call):
            return -1
        quiet = isinstance(call, ToolGroup) or call.diff or (only_looks(call) and call.status not in FAILED)
        if call.output and not quiet:
            return at
    return -1
