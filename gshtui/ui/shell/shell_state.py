"""The state of the shell log: the number of rows, and the pages that have been viewed.

A pure reducer over events and the record's answers; no widgets, and no requests of its own: the pane requests
missing pages. Called by the shell log pane.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import HubStarted
from gshtui.bus.events.shell_events import FilesChanged, ShellFolderChanged, ShellNoted, ShellRecorded
from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.bus.shell_rows import Filter, Row, Span, files_note, place

CONSUMED: tuple[type[Event], ...] = (FilesChanged, HubStarted, ShellFolderChanged, ShellNoted, ShellRecorded)
PAGE = 200
"""Rows per request."""
PAGES = 40
"""How many pages are kept; beyond that, those farthest from the reader are dropped."""


class PageRequest(msgspec.Struct, frozen=True):
    """What was known when the record was queried."""

    total: int
    stale: int


class LogState(msgspec.Struct, frozen=True):
    """The log as far as known."""

    filter: Filter = Filter()
    total: int = 0
    pages: dict[int, tuple[Row, ...]] = {}
    """By page number: the rows starting at `PAGE` times the number."""
    project: str = ""
    stale: int = 0
    """Counts changes that the rows here do not show in the right place: the record must be queried again."""

    def row(self, at: int) -> Row | None:
        """A row by number; `None`: its page is missing."""
        page = self.pages.get(at // PAGE)
        within = at % PAGE
        return page[within] if page is not None and within < len(page) else None

    def number_of(self, row: Row) -> int | None:
        """The number of a row, if its page is loaded."""
        for number, page in self.pages.items():
            for within, other in enumerate(page):
                if _same(row, other):
                    return number * PAGE + within
        return None

    def missing(self, first: int, last: int) -> list[int]:
        """Missing pages for the rows from `first` to `last`, lower ones first."""
        if not self.total:
            return []
        first, last = max(0, first), min(last, self.total - 1)
        return [number for number in range(last // PAGE, first // PAGE - 1, -1) if not self._whole(number)]

    def _whole(self, number: int) -> bool:
        return len(self.pages.get(number, ())) >= min(PAGE, self.total - number * PAGE)

    @property
    def last(self) -> Row | None:
        """The newest row, if its page is loaded."""
        return self.row(self.total - 1) if self.total else None

    @property
    def last_command(self) -> ShellRecord | None:
        """The newest command of the newest page."""
        page = self.pages[max(self.pages)] if self.pages else ()
        return next((row for row in reversed(page) if isinstance(row, ShellRecord)), None)

    def running(self) -> bool:
        """Whether one of the newest commands is still running."""
        pages = [self.pages[number] for number in sorted(self.pages)[-2:]]
        return any(isinstance(row, ShellRecord) and row.state == "running" for page in pages for row in page)


def reduce(state: LogState, event: Event) -> LogState:
    """The state after an event."""
    match event:
        case ShellRecorded(record=record) if record.command:
            return _with_record(state, record)
        case ShellNoted():
            return _with_row(state, ShellNote("note", event.text, event.at, event.shell, event.cwd))
        case ShellFolderChanged(new=new) if new:
            return _with_row(state, ShellNote("folder", new, event.at, event.shell, new))
        case FilesChanged():
            return _with_files(state, files_note(event, state.project))
        case HubStarted():
            return _out_of_place(replace(state, project=event.project or event.cwd))
        case _:
            return state


def with_span(state: LogState, span: Span, asked: PageRequest) -> LogState:
    """The state with rows from the record.

    If the record's row count differs from the one known when it was queried, all pages are dropped: their rows may
    have other numbers now.
    """
    stale = state.stale - asked.stale
    moved = asked.stale or span.total != asked.total
    if moved and state.total != asked.total:
        stale += 1  # rows have come since that nobody can place
    pages = {} if moved else dict(state.pages)
    for at in range(0, len(span.rows), PAGE):
        number = (span.start + at) // PAGE
        known = state.pages.get(number, ())
        rows = span.rows[at : at + PAGE]
        pages[number] = _newest(rows, known) + (() if moved else known[len(rows) :])
    total = span.total if moved else state.total
    return replace(state, total=total, pages=_near(pages, span.start // PAGE), stale=stale)


def _newest(rows: tuple[Row, ...], known: tuple[Row, ...]) -> tuple[Row, ...]:
    """The rows, updated with commands that have ended since."""
    ended = {(row.shell, row.number): row for row in known if isinstance(row, ShellRecord) and row.state != "running"}
    return tuple(
        ended.get((row.shell, row.number), row) if isinstance(row, ShellRecord) and row.state == "running" else row
        for row in rows
    )


def with_filter(state: LogState, filter: Filter) -> LogState:
    """An empty state for another filter; the record must be queried."""
    return state if filter == state.filter else LogState(filter, project=state.project, stale=state.stale + 1)


def _same(one: Row, other: Row) -> bool:
    if isinstance(one, ShellRecord) and isinstance(other, ShellRecord):
        return one.number == other.number and one.shell == other.shell
    return type(one) is type(other) and one.at == other.at and one.shell == other.shell


def _near(pages: dict[int, tuple[Row, ...]], number: int) -> dict[int, tuple[Row, ...]]:
    if len(pages) <= PAGES:
        return pages
    newest = max(pages)  # where the next row comes
    kept = sorted(pages, key=lambda other: (other != newest, abs(other - number)))[:PAGES]
    return {other: pages[other] for other in kept}


def _out_of_place(state: LogState) -> LogState:
    return replace(state, stale=state.stale + 1)


def _with_files(state: LogState, note: ShellNote) -> LogState:
    """With changed files; the same ones again renew the newest row."""
    last = state.last
    if not isinstance(last, ShellNote) or state.stale or replace(last, id=note.id, at=note.at) != note:
        return _with_row(state, note)
    number = (state.total - 1) // PAGE
    page = (*state.pages[number][:-1], replace(last, at=max(last.at, note.at)))
    return replace(state, pages={**state.pages, number: page})


def _with_record(state: LogState, record: ShellRecord) -> LogState:
    last = state.last
    if last is not None and place(record) <= place(last) and (found := _found(state, record)) is not None:
        number, within = found
        page = state.pages[number]
        if not state.filter.admits(record):
            return _out_of_place(state)
        return replace(state, pages={**state.pages, number: (*page[:within], record, *page[within + 1 :])})
    return _with_row(state, record)


def _found(state: LogState, record: ShellRecord) -> tuple[int, int] | None:
    """The position of the same command's record."""
    for number in sorted(state.pages, reverse=True):
        page = state.pages[number]
        if page and place(page[0]) > place(record):
            continue
        for within in range(len(page) - 1, -1, -1):
            row = page[within]
            if isinstance(row, ShellRecord) and row.number == record.number and row.shell == record.shell:
                return number, within
        if page and place(page[0]) < place(record):
            return None
    return None


def _with_row(state: LogState, row: Row) -> LogState:
    if not state.filter.admits(row):
        return state
    last = state.last
    if state.stale or (state.total and (last is None or place(row) < place(last))):
        return _out_of_place(state)  # an older one, or nobody knows behind what it comes
    number = state.total // PAGE
    page = state.pages.get(number, ())
    return replace(state, total=state.total + 1, pages=_near({**state.pages, number: (*page, row)}, number))
