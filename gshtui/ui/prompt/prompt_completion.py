"""Completion at the cursor: the port for sources of candidates, the asker, the list above the input line, and their
use for the word at an area's cursor.

The asker drops answers to an older text and cancels unneeded ones; a slow source comes later than the others, and a
failing one costs only its own candidates. The list can be clicked but never has the focus, and a change repaints only
its own lines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Protocol

import msgspec
from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from gshtui.system.tasks import report_unexpected, start_job
from gshtui.ui.kit.keys.key_bar import shown_keys
from gshtui.ui.kit.widgets.fitted_text import fit, fit_left
from gshtui.ui.kit.widgets.folding_area import FoldingArea
from gshtui.ui.kit.widgets.list_rows import ListColumns, ListRow, Role, list_columns

SLOW = 2.0
"""Seconds after which the others' candidates are shown without those of a slow source."""


class CompletionItem(msgspec.Struct, frozen=True):
    """A candidate for the text from column `start` to the cursor."""

    insert: str
    start: int
    label: str = ""
    """The label; empty: `insert`."""
    detail: str = ""
    kind: str = ""
    marked: tuple[int, ...] = ()
    """Indices of the label's matched letters."""
    ends_word: bool = True
    """Whether a space follows when it is chosen."""
    group: str = ""
    """The heading above the first of its group; empty: none."""
    key: str = ""
    """The id of the key that does the same."""
    runs: bool = False
    """A command that needs no more: choosing it by enter runs it."""
    usage: str = ""
    """How a command that needs more is written; shown once it is chosen."""

    @property
    def shown(self) -> str:
        """The label."""
        return self.label or self.insert


class CompletionSource(Protocol):
    """A source of candidates at the cursor."""

    def start(self, before: str, row: int) -> int | None:
        """Column of the text to replace; `None`: this source has nothing here.

        Called at every keystroke: cheap, and without I/O.

        Args:
            before: the cursor's line up to the cursor.
            row: the line's number, from 0.
        """
        ...

    async def candidates(self, before: str, start: int) -> Sequence[CompletionItem]:
        """The matching candidates, best first. Cancelled when the person types on."""
        ...


class Completer:
    """Asks the sources while a person types; `show` gets only the candidates for the newest text."""

    def __init__(self, show: Callable[[Sequence[CompletionItem]], None], failed: Callable[[str], None]) -> None:
        self.sources: list[CompletionSource] = []
        self._show = show
        self._failed = failed
        self._task: asyncio.Task[None] | None = None
        self._shown = False
        self._complained: set[str] = set()

    def update(self, before: str, row: int) -> bool:
        """The text before the cursor changed; returns whether any source has candidates here."""
        asked = [(source, at) for source in self.sources if (at := source.start(before, row)) is not None]
        self.cancel()
        if not asked:
            return False
        self._shown = False
        self._task = start_job(self._ask(asked, before), "the completion")
        return True

    @property
    def pending(self) -> bool:
        """Whether candidates for the newest text are pending: those shown are older."""
        return self._task is not None and not self._task.done() and not self._shown

    async def listed(self) -> None:
        """Wait for the candidates for the newest text; slow sources are not waited for."""
        if self.pending and self._task is not None:
            await asyncio.wait([self._task], timeout=SLOW)

    async def first(self, before: str) -> CompletionItem | None:
        """The first candidate for this text, on the first line."""
        asked = [(source, at) for source in self.sources if (at := source.start(before, 0)) is not None]
        answers = [await self._one(source, before, at) for source, at in asked]
        return next((candidate for answer in answers for candidate in answer), None)

    def cancel(self) -> None:
        """Cancel the pending request."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _ask(self, asked: list[tuple[CompletionSource, int]], before: str) -> None:
        answers: dict[int, Sequence[CompletionItem]] = {}

        async def answer(number: int, source: CompletionSource, at: int) -> None:
            answers[number] = await self._one(source, before, at)
            if self._shown and answers[number]:
                show()

        def show() -> None:
            self._shown = True
            self._show([candidate for number in sorted(answers) for candidate in answers[number]])

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(answer(number, *one)) for number, one in enumerate(asked)]
            await asyncio.wait(tasks, timeout=SLOW)
            show()

    async def _one(self, source: CompletionSource, before: str, at: int) -> Sequence[CompletionItem]:
        try:
            return await source.candidates(before, at)
        except Exception as error:
            report_unexpected("the completion", error)
            self._complain(f"{type(source).__name__}: {error}")
            return ()

    def _complain(self, why: str) -> None:
        """Report each complaint once: it would come again at every keystroke."""
        if why not in self._complained:
            self._complained.add(why)
            self._failed(f"Completion failed: {why}")


POPUP_ROWS = 8
"""Rows of the list, or a third of the window where that is more, but no more than `_MOST_ROWS`."""
_MOST_ROWS = 16
_NAMES = 60
"""The most cells of the column of names: paths and resources are long."""


class CompletionPopup(Widget, can_focus=False):
    """The candidates, with one marked. Hidden while there are none."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "completion--plain",
        "completion--match",
        "completion--detail",
        "completion--chosen",
        "completion--chosen-match",
        "completion--chosen-detail",
    }

    class Chosen(Message):
        """The person clicked a candidate."""

        def __init__(self, candidate: CompletionItem) -> None:
            super().__init__()
            self.candidate = candidate

    def __init__(self) -> None:
        super().__init__(id="completions")
        self.candidates: Sequence[CompletionItem] = ()
        self.index = 0
        self.moved = False
        """Whether the person chose by key, instead of taking the first."""
        self.changed: Callable[[], object] = lambda: None
        """Called when it shows others, or another is marked."""
        self._note = ""
        self._lines: list[int] = []
        """For each line the index of its candidate; of a heading, -1 less that of the first below it."""
        self._columns: ListColumns | None = None
        """`None`: the candidates are not yet measured."""
        self._top = 0
        self.display = False

    @property
    def is_open(self) -> bool:
        """Whether it shows candidates."""
        return bool(self.candidates)

    @property
    def chosen(self) -> CompletionItem | None:
        """The marked candidate."""
        return self.candidates[self.index] if self.candidates else None

    def show(self, candidates: Sequence[CompletionItem]) -> None:
        """Show these from the first; none hides the list."""
        self.candidates = candidates
        self._lines = []
        for at, candidate in enumerate(candidates):
            if candidate.group and (not at or candidate.group != candidates[at - 1].group):
                self._lines.append(-1 - at)
            self._lines.append(at)
        self._columns = None
        self.index = self._top = 0
        self.moved = False
        self._lay_out()
        self.changed()

    def note(self, text: str) -> None:
        """Say this below the candidates; it cannot be chosen."""
        if text != self._note:
            self._note = text
            self._lay_out()

    def _lay_out(self) -> None:
        rows = min(self._rows, max(1, self.screen.size.height - 4))
        self.display = bool(rows)
        if rows:
            around = self.parent.size.width if isinstance(self.parent, Widget) else 0
            width = max(12, around or self.screen.size.width)  # as the input's, over nothing else
            if (self.styles.width, self.styles.height) != (width, rows):
                self.styles.width, self.styles.height = width, rows
                self.styles.offset = (0, -rows)
            self.refresh()

    @property
    def _rows(self) -> int:
        most = min(max(POPUP_ROWS, self.screen.size.height // 3), _MOST_ROWS)
        return min(most, len(self._lines) + bool(self._note))

    @property
    def _listed(self) -> int:
        """The rows with candidates. A last one has what is said below them, and the place in a list that is longer."""
        height = self.size.height
        foot = bool(self._note) or len(self._lines) > height
        return height - foot if height > 1 or not self._lines else height

    def close(self) -> None:
        """Hide the list."""
        self.note("")
        if self.candidates:
            self.show(())

    def move(self, by: int) -> None:
        """Mark another candidate, wrapping around."""
        self.index = (self.index + by) % len(self.candidates)
        rows = max(1, self._listed)
        line = self._lines.index(self.index)
        first = line - 1 if line and self._lines[line - 1] < 0 else line  # with its heading
        self._top = max(line - rows + 1, min(self._top, first))
        self.moved = True
        self.refresh()
        self.changed()

    def move_page(self, step: int) -> None:
        """Mark a candidate a page further, or the first or last one."""
        wanted = self.index + step * max(1, self._listed - 1)
        self.move(max(0, min(len(self.candidates) - 1, wanted)) - self.index)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Rows shown."""
        return self._rows

    def render_line(self, y: int) -> Strip:
        """One candidate: label with matched letters, detail, and a mark if chosen."""
        at = self._top + y
        style = self.get_component_rich_style
        if y == self._listed:
            place = f" {self.index + 1} of {len(self.candidates)} " if len(self._lines) > y else ""
            room = self.size.width - len(place)
            line = Strip([Segment(f"   {fit(self._note, room - 4)}", style("completion--detail"))])
            line = line.adjust_cell_length(room, style("completion--plain"))
            return Strip([*line, Segment(place, style("completion--detail"))])
        if at >= len(self._lines):
            return Strip.blank(self.size.width, style("completion--plain"))
        chosen = self._lines[at] == self.index
        line = Strip([Segment(text, style(_look(role, chosen=chosen))) for text, role in self._pieces(at)])
        return line.adjust_cell_length(self.size.width, style("completion--chosen" if chosen else "completion--plain"))

    def _pieces(self, at: int) -> list[tuple[str, Role]]:
        """A line from left to right: a heading, or a candidate with a mark if it is chosen."""
        number, room = self._lines[at], self.size.width - 1
        if number < 0:
            return [(fit(f" {self.candidates[-1 - number].group}", room), "detail")]
        if self._columns is None or self._columns.room != room:
            self._columns = list_columns([self._row(one) for one in self.candidates], room, most=_NAMES)
        return self._columns.pieces(self._row(self.candidates[number], " ▸ " if number == self.index else "   "))

    def _row(self, candidate: CompletionItem, mark: str = "   ") -> ListRow:
        name, cut = candidate.shown, 0
        if candidate.kind == "file":  # the end of a path says more than its beginning
            name, cut = fit_left(name, max(1, self.size.width - 4))
        key = shown_keys(self.screen, candidate.key).partition(", ")[0] if candidate.key else ""
        marked = frozenset(at - cut for at in candidate.marked)
        return ListRow(name, candidate.detail, key=key, mark=mark, marked=marked)

    def on_click(self, event: events.Click) -> None:
        """Choose the clicked candidate."""
        event.stop()
        at = self._top + event.y
        if at < len(self._lines) and self._lines[at] >= 0 and event.y < self._listed:
            self.post_message(self.Chosen(self.candidates[self._lines[at]]))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Mark the next candidate."""
        event.stop()
        self.move(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Mark the previous candidate."""
        event.stop()
        self.move(-1)


def _look(role: Role, *, chosen: bool) -> str:
    """The component class of a piece of a row."""
    look = {"mark": "", "name": "", "key": "", "match": "-match"}.get(role, "-detail")
    return f"completion--chosen{look}" if chosen else f"completion-{look or '-plain'}"


class WordCompletion:
    """Completes the word at an area's cursor: asks for candidates while it is typed, shows them, inserts one."""

    def __init__(
        self,
        area: FoldingArea,
        popup: CompletionPopup,
        sources: Iterable[CompletionSource],
        failed: Callable[[str], None],
    ) -> None:
        self._area = area
        self._popup = popup
        self._completer = Completer(self._offer, failed)
        self._completer.sources.extend(sources)
        self._take_first = False
        self._typed = False
        self._left = False
        """The list of the word at the cursor was closed."""

    def add_source(self, source: CompletionSource) -> None:
        """Also ask this source from now on, for what was typed before it was there too."""
        self._completer.sources.append(source)
        if self._typed and not self._popup.is_open:
            self.update()

    def update(self) -> None:
        """The text before the cursor changed: look for candidates."""
        self._take_first, self._typed, self._left = False, True, False
        row, column = self._area.cursor_location
        if not self._completer.sources or not self._completer.update(self._area.document[row][:column], row):
            self._popup.close()

    def tell_news(self, source: CompletionSource, note: str) -> None:
        """A source knows more than when it answered. `note`: why it does not know all; empty: it does."""
        row, column = self._area.cursor_location
        if self._left or not self._typed or source.start(self._area.document[row][:column], row) is None:
            return
        if not self._popup.moved and not (note and self._popup.is_open):
            self.update()
        self._popup.note(note)

    def _offer(self, candidates: Sequence[CompletionItem]) -> None:
        self._popup.show(candidates)
        if self._take_first and candidates:
            self.insert(candidates[0])
        self._take_first = False

    async def meant_by(self, begun: str) -> str:
        """What enter makes of a command that was begun, with a blank where it wants more; empty: there is none."""
        found = await self._completer.first(begun)
        return "" if found is None else f"/{found.insert.lstrip('/')}{'' if found.runs else ' '}"

    def cancel(self) -> None:
        """Candidates are not needed any more."""
        self._completer.cancel()

    def close(self) -> None:
        """Close the list and cancel pending candidates."""
        self._left = True
        self.cancel()
        self._popup.close()

    def close_before_word(self) -> None:
        """A list belongs to a word: close it if the cursor has moved in front of the word."""
        chosen = self._popup.chosen
        if chosen is not None and self._area.cursor_location[1] < chosen.start:
            self.close()

    @property
    def wants_enter(self) -> bool:
        """Whether enter is for the list: a candidate was chosen by key, it would change a word that was begun, or a
        slash alone asks for a command.
        """
        chosen = self._popup.chosen
        if chosen is None or self._completer.pending:
            return False
        row, column = self._area.cursor_location
        word = self._area.document[row][chosen.start : column]
        return self._popup.moved or word not in ("", chosen.insert) or self._area.text == "/"

    @property
    def wants_to_run(self) -> bool:
        """Whether enter runs the marked command instead of only writing it."""
        chosen = self._popup.chosen
        at_end = self._area.cursor_location == self._area.document.end
        return chosen is not None and chosen.runs and at_end and self.wants_enter

    @property
    def stands_whole(self) -> bool:
        """Whether the marked command is what is written, so that enter runs it as well."""
        chosen = self._popup.chosen
        return chosen is not None and chosen.runs and self._area.text == f"/{chosen.insert}"

    @property
    def pending(self) -> bool:
        """Whether candidates for the newest text are pending."""
        return self._completer.pending

    async def listed(self) -> None:
        """See `Completer.listed`."""
        await self._completer.listed()

    def complete(self) -> None:
        """Insert the marked candidate, the first one as soon as it is known, or look for some."""
        if self._completer.pending:
            self._take_first = True  # what is shown belongs to what was written before
        elif self._popup.is_open:
            self.insert(self._popup.chosen)
        else:
            self.update()

    def insert(self, candidate: CompletionItem | None) -> None:
        """Replace the word at the cursor with the candidate."""
        if candidate is None:
            return
        row, column = self._area.cursor_location
        space = " " if candidate.ends_word and self._area.document[row][column : column + 1] != " " else ""
        self.close()
        self._area.type_over(candidate.insert + space, (row, candidate.start), (row, column))
        if candidate.ends_word:
            self.close()
        self._popup.note(candidate.usage)
