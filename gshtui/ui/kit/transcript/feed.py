"""The feeding of the transcript: entries put, streamed, removed, prepended, and one drawing a frame for all of them.

Owns the pace: taking text costs an append, and a frame does as much as its slice of time allows and leaves the rest to
the next, so that no amount of text stalls the window. Refuses to draw. The transcript is built on it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable

from gshtui.ui.kit.transcript.canvas import TranscriptCanvas
from gshtui.ui.kit.transcript.document import TranscriptDocument
from gshtui.ui.kit.transcript.entries import Entry, Operation, Prepend, Put, Remove, Stream, ThoughtEntry, ToolEntry
from gshtui.ui.kit.transcript.sheet import Sheet
from gshtui.ui.kit.transcript.viewport import Viewport

FRAME = 1 / 30
"""Seconds between two drawings of a stream."""
_SHARE = 11
"""The pause between two drawings, in times of what this thread worked since the one before (drawing it included): so
a stream leaves most of a core free, in a large window on a slow machine too."""
_LONGEST = 0.125
_BUDGET = 0.012
"""Seconds of a frame that go into cutting source."""


class TranscriptFeed(TranscriptCanvas):
    """Takes operations on entries."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.all_open = False
        """Whether thoughts and calls that come are shown open."""
        self._streaming: dict[str, Sheet] = {}
        self._scheduled = False
        self._not_before = 0.0
        self._worked = 0.0  # seconds of this thread's work, at the last frame

    @property
    def drawing(self) -> bool:
        """Whether something that was put in is still to be drawn."""
        return self._scheduled or bool(self.document.busy)

    def apply(self, operations: Iterable[Operation]) -> None:
        """Carry out what the reducer of a conversation says."""
        for operation in operations:
            if isinstance(operation, Stream):
                self.stream(operation.id, operation.text)
            elif isinstance(operation, Put):
                self.put(operation.entry)
            elif isinstance(operation, Remove):
                self.remove_entry(operation.id)
            elif isinstance(operation, Prepend):
                self.prepend(operation.entries)
            else:
                self.clear()

    def put(self, entry: Entry) -> None:
        """Show an entry at the end, or in place of the one with its id."""
        new = self.document.get(entry.id) is None
        sheet = self.document.put(entry)
        if new and self.all_open and isinstance(entry, (ToolEntry, ThoughtEntry)):
            self.document.toggle(sheet, True)
        if new and not self.viewport.following:
            self.unseen += 1
        if sheet.live and not isinstance(entry, ToolEntry):
            self._streaming[entry.id] = sheet
        self._schedule()

    def stream(self, id: str, text: str) -> None:
        """More text of a live entry. Cheap: it is cut and drawn with the next frame."""
        sheet = self.document.get(id)
        if sheet is None:
            return
        sheet.stream(text)
        self._streaming[id] = sheet
        if not self.unseen and not self.viewport.following:
            self.unseen = 1
        if not self._scheduled:
            self._schedule()

    def remove_entry(self, id: str) -> None:
        """Show the entry no longer."""
        self._streaming.pop(id, None)
        self.document.remove(id)
        self._schedule()

    def prepend(self, entries: Iterable[Entry]) -> list[Sheet]:
        """Show older entries before all others; what the reader sees stays where it is."""
        self.viewport.settle()
        if self.document.sheets and not self.viewport.following:
            self.viewport.hold()
        first = self.document.sheets[0] if self.document.sheets else None
        gap = first.gap if first is not None else 0
        sheets = self.document.prepend(entries)
        if first is not None:
            self.viewport.lowered(first, first.gap - gap)
        self._schedule()
        return sheets

    def clear(self) -> None:
        """Show nothing."""
        self.document = TranscriptDocument(self.document.page)
        height = self.viewport.height
        self.viewport = Viewport(self.document)
        self.viewport.height = height
        self._streaming.clear()
        self.unseen = 0
        self.forget()
        self._schedule(whole=True)

    def forget(self) -> None:
        """The document is another one: let go of all that points into the old one."""

    def sync(self, *, whole: bool = False) -> None:
        super().sync(whole=whole)
        if self.document.busy:
            # Nothing new has to be waited for; only the window must get its turn.
            self._not_before = 0.0
            self._schedule()

    def _schedule(self, *, whole: bool = False) -> None:
        if whole:
            self.refresh()
        if self._scheduled or not self.is_attached:
            return
        self._scheduled = True
        wait = self._not_before - time.perf_counter()
        if wait <= 0:
            self.call_next(self._frame)
        else:
            # Not by a timer of Textual's: that is a task, made and ended for every frame.
            asyncio.get_running_loop().call_later(wait, self.call_next, self._frame)

    def _frame(self) -> None:
        self._scheduled = False
        now, worked = time.perf_counter(), time.thread_time()
        self._not_before = now + min(_LONGEST, max(FRAME, (worked - self._worked) * _SHARE))
        self._worked = worked
        self._cut(now + _BUDGET)
        self.sync()

    def _cut(self, deadline: float) -> None:
        document = self.document
        for id, sheet in list(self._streaming.items()):
            if isinstance(sheet.entry, ThoughtEntry) and not sheet.opened:
                document.refresh_header(sheet)
            else:
                document.work(sheet, max(0.001, deadline - time.perf_counter()))
            if not sheet.busy:
                del self._streaming[id]
        for sheet in list(document.busy.values()):
            if time.perf_counter() > deadline:
                break
            document.work(sheet, max(0.001, deadline - time.perf_counter()))
