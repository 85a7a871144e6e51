"""One question as shown: its scrollable lines, and the clickable answers below.

Nothing is left out, shortened or hidden, because people must approve what they read. A diff costs only what is visible
of it; a click answers the question that was shown when the mouse button went down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, get_args

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style
from textual.widgets import Static

from gshtui.guard.approval.answer_keys import OPEN, Offer, rows_of, worded
from gshtui.guard.approval.question_text import LineKind, QuestionLine, QuestionParts

if TYPE_CHECKING:
    from gshtui.ui.approvals.question_change import QuestionChange


def wrapped_question(question: Sequence[QuestionLine], width: int) -> list[QuestionLine]:
    """The lines wrapped to a width in cells: no part of a command may lie outside the window.

    A row ends behind a blank where one is near, otherwise at any character; none is left out.
    """
    from gshtui.ui.kit.drawing.styled_lines import kept_rows  # not before the first letter

    found: list[QuestionLine] = []
    for kind, text in question:
        shown = text.expandtabs(4)
        if cell_len(shown) <= width:
            found.append(QuestionLine(kind, shown))
        else:
            found += [QuestionLine(kind, piece) for piece in kept_rows(shown, max(2, width))]
    return found


class Answers(Static):
    """The answers, one of them marked: on one line where all their words fit, else one below the other; those of a
    program share rows where the question needs them.
    """

    class Clicked(Message):
        """The person clicked an answer to this question; `at`: when the mouse button went down."""

        def __init__(self, choice: str, question: str, at: float) -> None:
            super().__init__()
            self.choice = choice
            self.question = question
            self.at = at

    def __init__(self) -> None:
        super().__init__(id="answers", markup=False)
        self._down = 0.0
        self._question: str = ""
        self._offered: Sequence[Offer] = ()
        self._marked: int = 0
        self._marks = False

    @property
    def marked(self) -> str:
        """The marked choice; empty: there is nothing to answer."""
        return self._offered[self._marked].choice if self._offered else ""

    def show(self, shown: bool) -> None:
        """Show or hide the answers; those that come back have the first one marked."""
        self.display = shown
        self._marked = self._marked if shown else 0

    def mark(self, step: int) -> None:
        """Mark the next answer, or the previous one."""
        self._marked = max(0, min(len(self._offered) - 1, self._marked + step))

    def offer(
        self, question: str, offered: Sequence[Offer], width: int, *, low: bool, marks: bool, tiny: bool = False
    ) -> int:
        """Show the possible answers; returns the rows they take.

        A program's own answers are never shortened. A number stands for the same answer in every question.

        Args:
            offered: those that can't be given say why.
            low: there is no room for a list.
            marks: `enter` gives the marked answer now.
            tiny: there is room for one row alone; where no words fit, the keys have none.
        """
        if question != self._question:
            self._question, self._marked = question, 0
        self._offered = [offer for offer in offered if not offer.why]
        self._marks = marks
        self._marked = max(0, min(len(self._offered) - 1, self._marked))
        own = any(offer.choice == OPEN for offer in offered)
        line = worded(offered, width - 2 * len(offered) + low * (len(offered) - 1))
        if own:
            rows = self._own(width, low=low)
        elif low and not tiny and not all(words for _, words in line):
            rows = _packed([self._row(offer, offer.words[2]) for offer in offered], width)
        elif low or all(offer.why or words in offer.words[:2] for offer, words in line):
            rows = [Content(" " if low else "  ").join(self._row(offer, words) for offer, words in line)]
        else:
            rows = [self._row(offer, words) for offer, words in rows_of(offered, width)]
        self.update(Content("\n").join(rows))
        return sum(len(row.wrap(max(1, width))) for row in rows)

    def _own(self, width: int, *, low: bool) -> list[Content]:
        """A program's own answers: what each is said to do in a column of its own, where that fits. `low`: as many in a
        row as fit.
        """
        low = low and not any(offer.words[1].startswith("[") for offer in self._offered)  # boxes are ticked one by one
        rows = [self._row(offer, offer.words[1]) for offer in self._offered]
        more = [offer.words[0].removeprefix(offer.words[1]).removeprefix(" · ") for offer in self._offered]
        column = max((row.cell_length for row, words in zip(rows, more, strict=True) if words), default=0) + 2
        fits = not low and all(column + cell_len(words) <= width for words in more if words)
        answers = [
            Content.assemble(row, " " * (column - row.cell_length) if fits else " · ", (words, "not bold $text-muted"))
            if words
            else row
            for row, words in zip(rows, more, strict=True)
        ]
        # One that needs rows of its own leaves no row to the last one alone.
        return _packed(sorted(answers, key=lambda one: one.cell_length > width), width) if low else answers

    def rename_question(self, before: str, question: str) -> None:
        """The same question goes by another id: the mark stays where it is."""
        self._question = question if self._question == before else self._question

    def _row(self, offer: Offer, words: str) -> Content:
        marked = self._marks and offer.choice == self.marked
        answer = self._answer(offer, words)
        return Content.assemble(
            ("▸ " if marked else "  ", "bold $primary"), answer.stylize("bold") if marked else answer
        )

    def _answer(self, offer: Offer, words: str) -> Content:
        style = "$text-muted" if offer.why else "bold $text-accent"
        answer = Content.assemble(
            (offer.key, style), (f" {words}" if words else "", "$text-muted" if offer.why else "")
        )
        return answer.stylize(Style.from_meta({"@click": f"give({offer.choice!r}, {self._question!r})"}))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._down = event.time

    def action_give(self, choice: str, question: str) -> None:
        """The person clicked an answer."""
        self.post_message(self.Clicked(choice, question, self._down))


def _packed(answers: Sequence[Content], width: int) -> list[Content]:
    """As many in a row as fit."""
    packed = [*answers[:1]]
    for answer in answers[1:]:
        if packed[-1].cell_length + 1 + answer.cell_length <= width:
            packed[-1] += Content(" ") + answer
        else:
            packed.append(answer)
    return packed


KINDS: tuple[str, ...] = get_args(LineKind)
_ROOM_ABOVE = 6
"""Rows from which on the line above a change is shown with it."""


class QuestionView(ScrollView, can_focus=False):
    """A question: its lines, with the change in between drawn as everywhere."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"question--{kind}" for kind in KINDS}

    def __init__(self, scrolled: Callable[[], None] = lambda: None) -> None:
        super().__init__(id="question")
        self._scrolled = scrolled
        self._parts = QuestionParts([], "", "", [])
        self._change: QuestionChange | None = None
        self._head: list[QuestionLine] = []
        self._tail: list[QuestionLine] = []
        self._edits: list[int] = []
        """The rows where changes begin that a program has drawn itself."""
        self._fresh: bool = False
        self._fitted = (0, False, True, 0)
        self._unread = set[str]()
        """What must be seen and has not been on the screen yet."""

    def ask(self, parts: QuestionParts, path: str) -> None:
        """Show another question, from its beginning, or from its change if there is nothing else to read."""
        self._parts = parts
        if parts.diff and self._change is None:
            from gshtui.ui.approvals.question_change import QuestionChange  # its renderer is not in the first frame

            self._change = QuestionChange(self, self.refresh)
        if self._change is not None:
            self._change.show(parts.diff, path)
        self._fitted, self._fresh = (0, False, True, 0), True
        self.scroll_to(0, 0, animate=False)

    def fit(self, width: int, most: int, *, named: bool = False, tail: bool = True) -> int:
        """Lay it out for the width; returns the rows to show, at most `most`.

        Args:
            named: the title names the subject whole, so it needs no row.
            tail: what is said besides is shown here, too.
        """
        if (width, named, tail, most) != self._fitted and width > 0:
            self._fitted = width, named, tail, most
            inner = width - 1  # a column for the scroll bar
            head = [line for line in self._parts.without_repeats if not (named and line.kind == "subject")]
            self._head = wrapped_question(head, inner)
            edited = [line.kind in ("add", "remove") for line in self._head]
            self._edits = [at for at, (was, now) in enumerate(pairwise((False, *edited))) if now and not was]
            self._tail = wrapped_question(self._parts.tail, inner) if tail else []
            if self._change is not None:
                for around in (None, 2, 1, 0):  # rather what an answer allows than what stays as it is
                    self._change.fit(inner, around, named=named)
                    if self._height <= most:
                        break
            self.virtual_size = Size(inner, self._height)
            self._unread = set(self._decisive) if self._fresh else self._unread
            self.refresh()
        rows = max(1, min(self._height, most))
        if self.styles.height is None or self.styles.height.value != rows:
            self.styles.height = rows
        if self._fresh:
            self._fresh = False
            self._go_to_change(rows)
        return rows

    def _go_to_change(self, rows: int) -> None:
        """Begin where lines change, if not all is seen from the beginning and there are no other words to read, or all
        of them are still to be seen.
        """
        changes = self._change_rows
        if not changes or (not self._edits and any(line.kind != "subject" for line in self._head)):
            return
        if len(self._head) + self._lines_of_change > rows and changes[0] > 1:
            self.call_after_refresh(self.call_after_refresh, self._begin_at_change)  # it may come up only now

    def _begin_at_change(self) -> None:
        if changes := self._change_rows:
            self._unread = set(self._decisive)  # nobody has seen what was there for a moment
            self.scroll_to(y=changes[0] - (self.size.height >= _ROOM_ABOVE), animate=False)
            self.refresh()

    def show_change(self, step: int) -> None:
        """Go to the next change, or the previous one."""
        top = self.scroll_offset.y + 1  # a line above a change stays in sight
        found = [at for at in self._change_rows if (at > top if step > 0 else at < top)]
        if found:
            self.scroll_to(y=max(0, (found[0] if step > 0 else found[-1]) - 1), animate=False)

    @property
    def has_changes(self) -> bool:
        """Whether lines change in it, by a diff of ours or as a program has drawn them."""
        return bool(self._parts.diff) or any(line.kind in ("add", "remove") for line in self._parts.above_change)

    @property
    def _change_rows(self) -> list[int]:
        """The rows where changes begin."""
        drawn = self._change.changes if self._change is not None else []
        return [*self._edits, *(len(self._head) + at for at in drawn)]

    @property
    def _lines_of_change(self) -> int:
        return self._change.height if self._change is not None else 0

    @property
    def _height(self) -> int:
        return len(self._head) + self._lines_of_change + len(self._tail)

    @property
    def _decisive(self) -> dict[str, int]:
        """The rows that must have been on the screen before an answer counts: of the first change, and the last of all
        that is decided; with what stands above the change of a program, whose words it may be. What the asking program
        says besides is none of it.
        """
        last = max(0, len(self._head) + self._lines_of_change - 1)
        above = {"start": 0, "above": max(0, self._edits[0] - 1)} if self._edits else {}
        return above | {"change": min(self._change_rows, default=last), "end": last}

    @property
    def unread(self) -> bool:
        """Whether what an answer would decide has not been on the screen to its end."""
        return bool(self._unread)

    def forget(self) -> None:
        """Nothing of it has been on the screen as it is now."""
        self._unread = set(self._decisive)
        self.refresh()

    def show_unread(self) -> None:
        """Show the next page of what has not been seen."""
        top, rows = self.scroll_offset.y, max(1, self.size.height - 1)
        first = min((row for what, row in self._decisive.items() if what in self._unread), default=top)
        self.scroll_to(y=top + rows if first >= top else max(0, first - 1), animate=False)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self._change is not None and self.is_mounted:
            self._change.restyle()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Report how many rows are still hidden."""
        super().watch_scroll_y(old_value, new_value)
        self._scrolled()

    @property
    def says_nothing(self) -> bool:
        """Whether its one row is empty, since the title says all."""
        return not self._height

    @property
    def above(self) -> int:
        """Rows above the visible part."""
        return self.scroll_offset.y

    @property
    def hidden(self) -> int:
        """Rows below the visible part."""
        height = self.styles.height
        rows = int(height.value) if height is not None else self.size.height
        return max(0, self._height - rows - self.scroll_offset.y)

    def render_line(self, y: int) -> Strip:
        """One row."""
        at = y + self.scroll_offset.y
        if self._unread:
            self._unread -= {what for what, row in self._decisive.items() if row == at}
            if not self._unread:
                self.call_later(self._scrolled)
        head, change = len(self._head), self._lines_of_change
        if at >= self._height:
            return Strip.blank(self.size.width, self.rich_style)
        if self._change is not None and head <= at < head + change:
            return self._change.strip(at - head, self.size.width)
        kind, text = self._head[at] if at < head else self._tail[at - head - change]
        style = self.get_component_rich_style(f"question--{kind}")
        return Strip([Segment(text, style)]).adjust_cell_length(self.size.width, style)
