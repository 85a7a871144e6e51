"""Feeds a transcript: puts, streams, removes and prepends entries; and decides when to draw the next frame.

`FramePacer` owns the pace: adding text costs an append, and a frame does as much as its time slice allows and leaves
the rest to the next, so that no amount of text stalls the window. `TranscriptFeed` does not draw.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from itertools import takewhile

from textual.widget import Widget

from gshtui.ui.kit.transcript.cursor_parts import folding_in_turn
from gshtui.ui.kit.transcript.document import TranscriptDocument
from gshtui.ui.kit.transcript.entries import (
    FOLDING,
    AnswerEntry,
    Entry,
    NoticeEntry,
    Operation,
    OutcomeEntry,
    Prepend,
    Put,
    Remove,
    Stream,
    ThoughtEntry,
    ToolEntry,
)
from gshtui.ui.kit.transcript.markdown_renderer import parser_loading
from gshtui.ui.kit.transcript.sheet import Sheet
from gshtui.ui.kit.transcript.transcript_search import TranscriptFinder
from gshtui.ui.kit.transcript.viewport import BlockCursor, Viewport

FRAME = 1 / 30
"""Seconds between two frames of a stream."""
_SHARE = 11
"""The pause between two drawings, in times of what this thread worked since the one before (drawing it included): so
a stream leaves most of a core free, in a large window on a slow machine too."""
_LONGEST = 0.125
_BUDGET = 0.012
"""Seconds of a frame spent on splitting source."""


class FramePacer:
    """Spaces out the frames of a widget.

    Args:
        widget: what is drawn.
        draw: draws one frame; it may split source until the given time (`time.perf_counter`).
    """

    def __init__(self, widget: Widget, draw: Callable[[float], None]) -> None:
        self.scheduled = False
        """A frame will be drawn soon."""
        self._widget = widget
        self._draw = draw
        self._not_before = 0.0
        self._worked = 0.0  # seconds of this thread's work, at the last frame

    def schedule(self) -> None:
        """Draw a frame as soon as the pace allows."""
        widget = self._widget
        if self.scheduled or not widget.is_attached:
            return
        self.scheduled = True
        wait = self._not_before - time.perf_counter()
        if wait <= 0:
            widget.call_next(self._frame)
        else:
            # Not by a timer of Textual's: that is a task, made and ended for every frame.
            asyncio.get_running_loop().call_later(wait, widget.call_next, self._frame)

    def go_on(self) -> None:
        """Draw a frame at once, after giving the window its turn."""
        self._not_before = 0.0
        self.schedule()

    def _frame(self) -> None:
        self.scheduled = False
        now, worked = time.perf_counter(), time.thread_time()
        self._not_before = now + min(_LONGEST, max(FRAME, (worked - self._worked) * _SHARE))
        self._worked = worked
        self._draw(now + _BUDGET)


class TranscriptFeed:
    """Carries out operations on entries.

    Args:
        finder: the search, which must know about entries added above and about a new conversation.
        schedule: called if there is something to draw.
    """

    def __init__(
        self,
        document: TranscriptDocument,
        viewport: Viewport,
        cursor: BlockCursor,
        finder: TranscriptFinder,
        schedule: Callable[[], None],
    ) -> None:
        self._document = document
        self._viewport = viewport
        self._cursor = cursor
        self._finder = finder
        self._schedule = schedule
        self._all_open = False
        self._streaming: dict[str, Sheet] = {}
        self._held: list[Operation] = []
        """The first Markdown, and what is behind it, until its parser is loaded: drawing would wait for that."""

    def apply(self, operations: Iterable[Operation]) -> None:
        """Carry out the operations of a conversation's reducer."""
        for operation in operations:
            if self._held or (parser_loading.under_way and _is_markdown(operation)):
                self._held.append(operation)
                self._schedule()
            else:
                self._carry_out(operation)

    def _carry_out(self, operation: Operation) -> None:
        if isinstance(operation, Stream):
            self.stream(operation.id, operation.text)
        elif isinstance(operation, Put):
            self.put(operation.entry)
        elif isinstance(operation, Remove):
            self.remove(operation.id)
        elif isinstance(operation, Prepend):
            self.prepend(operation.entries)
        else:
            self.clear()

    def _release(self) -> None:
        """Carry out what was held, unless the parser is still being loaded."""
        if parser_loading.under_way:
            self._schedule()
            return
        held, self._held = self._held, []
        for operation in held:
            self._carry_out(operation)

    def put(self, entry: Entry) -> None:
        """Show an entry at the end, or replace the one with its id."""
        new = self._document.get(entry.id) is None
        sheet = self._document.put(entry, fold=self._viewport.following)
        if not new and (moved := self._document.space_after(sheet)) is not None:
            self._viewport.lowered(*moved)
        if new and self._all_open and isinstance(entry, FOLDING) and not sheet.opened:
            self._document.toggle(sheet, True)
        if new and not self._viewport.following:
            self._viewport.unseen += 1
        if sheet.live and not isinstance(entry, ToolEntry):
            self._streaming[entry.id] = sheet
        self._schedule()

    def show(self, outcome: OutcomeEntry) -> None:
        """Show an outcome at the end: all of it, or from its first line on where it is longer than the screen."""
        self.put(outcome)
        sheet = self._document.get(outcome.id)
        if sheet is not None and self._viewport.height:
            self._document.built(sheet)
            self._viewport.show(sheet, 0, sheet.gap)
            self._viewport.unseen = 0

    def last_outcomes(self) -> list[OutcomeEntry]:
        """The outcomes behind all that a record has, in order."""
        entries = (sheet.entry for sheet in reversed(self._document.sheets))
        tail = takewhile(lambda entry: isinstance(entry, OutcomeEntry | NoticeEntry), entries)
        return [entry for entry in tail if isinstance(entry, OutcomeEntry)][::-1]

    def stream(self, id: str, text: str) -> None:
        """Add text to a live entry. Cheap: it is split and drawn with the next frame."""
        sheet = self._document.get(id)
        if sheet is None:
            return
        sheet.stream(text)
        self._streaming[id] = sheet
        viewport = self._viewport
        if not viewport.unseen and not viewport.following:
            viewport.unseen = 1
        self._schedule()

    def remove(self, id: str) -> None:
        """Remove the entry."""
        self._streaming.pop(id, None)
        self._document.remove(id)
        self._schedule()

    def prepend(self, entries: Iterable[Entry]) -> None:
        """Show older entries before all others; the visible part stays in place."""
        document, viewport = self._document, self._viewport
        viewport.settle()
        if document.sheets and not viewport.following:
            viewport.hold()
        first = document.sheets[0] if document.sheets else None
        gap = first.gap if first is not None else 0
        sheets = document.prepend(entries)
        if first is not None:
            viewport.lowered(first, first.gap - gap)
        self._schedule()
        self._finder.add_older(sheets)

    def clear(self) -> None:
        """Remove all entries."""
        self._streaming.clear()
        self._document.clear()
        self._viewport.clear()
        self._cursor.place(None)
        self._finder.end()
        self._schedule()

    def toggle_all(self) -> None:
        """Open all thoughts and calls, including future ones, or fold them all."""
        self._all_open = not self._all_open
        self._viewport.hold()
        for sheet in self._document.sheets:
            if isinstance(sheet.entry, FOLDING) and sheet.opened != self._all_open:
                self._document.toggle(sheet, self._all_open)

    def toggle_turn(self, sheet: Sheet) -> None:
        """Open all thoughts and calls of the entry's turn, or fold them if all are open."""
        found = folding_in_turn(self._document, sheet)
        opened = not all(each.opened for each in found)
        self._viewport.hold()
        for each in found:
            if each.opened != opened:
                self._document.toggle(each, opened)

    def cut(self, deadline: float) -> None:
        """Split the source so far into blocks, until a time of `time.perf_counter`."""
        if self._held:
            self._release()
        document = self._document
        for id, sheet in list(self._streaming.items()):
            if isinstance(sheet.entry, ThoughtEntry) and not sheet.opened:
                document.refresh_header(sheet)
            else:
                document.lay_out(sheet, max(0.001, deadline - time.perf_counter()))
            if not sheet.busy:
                del self._streaming[id]
        for sheet in list(document.busy.values()):
            if time.perf_counter() > deadline:
                break
            document.lay_out(sheet, max(0.001, deadline - time.perf_counter()))


def _is_markdown(operation: Operation) -> bool:
    return isinstance(operation, Stream) or (isinstance(operation, Put) and isinstance(operation.entry, AnswerEntry))
