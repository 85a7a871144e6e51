"""One question as shown: its scrollable lines, and the clickable answers below.

Nothing is left out, shortened or hidden, because people must approve what they read. A diff costs only what is visible
of it; a click answers the question that was shown when the mouse button went down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, get_args

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style
from textual.widgets import Static

from gshtui.guard.answer_keys import OPEN, Offer, worded
from gshtui.guard.question_text import LineKind, QuestionLine


def wrapped_question(question: Sequence[QuestionLine], width: int) -> list[QuestionLine]:
    """The lines wrapped to a width in cells: no part of a command may lie outside the window.

    A row ends behind a blank where one is near, otherwise at any character; none is left out.
    """
    found: list[QuestionLine] = []
    for kind, text in question:
        shown = text.expandtabs(4)
        if cell_len(shown) <= width:
            found.append(QuestionLine(kind, shown))
        else:
            found += [QuestionLine(kind, piece) for piece in _rows(shown, max(2, width))]
    return found


def _rows(text: str, width: int) -> list[str]:
    rows: list[str] = []
    while cell_len(text) > width:
        row = chop_cells(text, width)[0]
        blank = row.rstrip(" ").rfind(" ") + 1 if text[len(row) : len(row) + 1] != " " else 0
        row = row[:blank] if cell_len(row[:blank]) > width // 2 and row[:blank].strip() else row
        rows.append(row)
        text = text[len(row) :]
    return [*rows, text]


class Answers(Static):
    """One line of answers; more in a very narrow window."""

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

    def offer(self, question: str, offered: Sequence[Offer], width: int) -> int:
        """Show the possible answers; returns the rows they take.

        A program's own answers are never shortened: where they do not fit on one line, each has its own.
        """
        whole = [(offer, offer.words[0]) for offer in offered]
        own = any(offer.choice == OPEN for offer in offered)
        below = own and sum(cell_len(words) + 5 for _, words in whole) - 2 > width
        line, rows = Content(), 1
        for offer, words in whole if own else worded(offered, width):
            line = Content.assemble(line, ("\n" if below else "  ") if len(line) else "")
            start = len(line)
            line = Content.assemble(line, (offer.key, "bold $primary"), f" {words}" if words else "")
            line = line.stylize(Style.from_meta({"@click": f"give({offer.choice!r}, {question!r})"}), start)
            rows += below and -(-(cell_len(words) + 2) // max(1, width))
        self.update(line)
        return rows - 1 if below else max(1, -(-line.cell_length // max(1, width)))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._down = event.time

    def action_give(self, choice: str, question: str) -> None:
        """The person clicked an answer."""
        self.post_message(self.Clicked(choice, question, self._down))


KINDS: tuple[str, ...] = get_args(LineKind)


class QuestionView(ScrollView, can_focus=False):
    """The lines of a question. `rows`: how many it needs."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"question--{kind}" for kind in KINDS}

    def __init__(self, scrolled: Callable[[], None] = lambda: None) -> None:
        super().__init__(id="question")
        self._scrolled = scrolled
        self._lines: Sequence[QuestionLine] = ()
        self._wrapped: list[QuestionLine] = []
        self._width = 0

    def ask(self, lines: Sequence[QuestionLine]) -> None:
        """Show another question, from its beginning."""
        self._lines = lines
        self._width = 0
        self.scroll_to(0, 0, animate=False)

    def fit(self, width: int, most: int) -> int:
        """Wrap the lines to the width; returns the rows to show, at most `most`."""
        if width != self._width and width > 0:
            self._width = width
            self._wrapped = wrapped_question(self._lines, width - 1)  # a column for the scroll bar
            self.virtual_size = Size(width - 1, len(self._wrapped))
            self.refresh()
        rows = max(1, min(len(self._wrapped), most))
        if self.styles.height is None or self.styles.height.value != rows:
            self.styles.height = rows
        return rows

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Report how many rows are still below."""
        super().watch_scroll_y(old_value, new_value)
        self._scrolled()

    @property
    def hidden(self) -> int:
        """Rows below the visible part."""
        height = self.styles.height
        rows = int(height.value) if height is not None else self.size.height
        return max(0, len(self._wrapped) - rows - self.scroll_offset.y)

    def render_line(self, y: int) -> Strip:
        """One row."""
        at = y + self.scroll_offset.y
        if at >= len(self._wrapped):
            return Strip.blank(self.size.width, self.rich_style)
        kind, text = self._wrapped[at]
        style = self.get_component_rich_style(f"question--{kind}")
        return Strip([Segment(text, style)]).adjust_cell_length(self.size.width, style)
