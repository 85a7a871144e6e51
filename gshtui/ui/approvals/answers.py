"""The answers to a question, each with its key, in as many words as there is room for; a click gives one.

A click is about the question that was shown when the mouse button went down. Used by the approvals inbox.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import Static

from gshtui.guard.answer_keys import Offer, worded


class Answers(Static):
    """One line of answers, more where the window is very narrow."""

    class Clicked(Message):
        """An answer to this question was clicked; `at`: when the mouse button went down."""

        def __init__(self, choice: str, question: str, at: float) -> None:
            super().__init__()
            self.choice = choice
            self.question = question
            self.at = at

    def __init__(self) -> None:
        super().__init__(id="answers", markup=False)
        self._down = 0.0

    def offer(self, question: str, offered: Sequence[Offer], width: int) -> int:
        """Show what can be answered; rows that it takes."""
        line = Content()
        for offer, words in worded(offered, width):
            line = Content.assemble(line, "  " if len(line) else "")
            start = len(line)
            line = Content.assemble(line, (offer.key, "bold $text-accent"), f" {words}" if words else "")
            line = line.stylize(Style.from_meta({"@click": f"give({offer.choice!r}, {question!r})"}), start)
        self.update(line)
        return max(1, -(-line.cell_length // max(1, width)))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._down = event.time

    def action_give(self, choice: str, question: str) -> None:
        """An answer was clicked."""
        self.post_message(self.Clicked(choice, question, self._down))
