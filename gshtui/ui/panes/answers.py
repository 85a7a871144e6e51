"""The answers to a question, each with its key, in as many words as there is room for; a click gives one.

It knows no question. Used by the approvals inbox.
"""

from __future__ import annotations

from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import Static

ANSWERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("1", "once", ("allow once", "allow once", "yes", "")),
    ("2", "session", ("this exact call for the session", "for this session", "session", "")),
    ("3", "always", ("always this pattern", "always", "always", "")),
    ("4", "deny", ("deny", "deny", "no", "")),
    ("5", "reason", ("deny with a reason", "deny, why", "why", "")),
)
"""Key, answer, and its words from the longest to none: the first that fit are shown."""


class Answers(Static):
    """One line of answers, more where the window is very narrow."""

    class Clicked(Message):
        """An answer was clicked."""

        def __init__(self, answer: str) -> None:
            super().__init__()
            self.answer = answer

    def __init__(self) -> None:
        super().__init__(id="answers", markup=False)

    def offer(self, with_pattern: bool, width: int) -> int:
        """Show what can be answered; rows that it takes."""
        offered = [row for row in ANSWERS if with_pattern or row[1] != "always"]
        parts: list[tuple[str, str, str]] = []
        for size in range(4):
            parts = [(key, words[size], answer) for key, answer, words in offered]
            if sum(len(key) + len(word) + 3 for key, word, _ in parts) - 2 <= width:
                break
        line = Content()
        for key, word, answer in parts:
            line = Content.assemble(line, "  " if len(line) else "")
            start = len(line)
            line = Content.assemble(line, (key, "bold $text-accent"), f" {word}" if word else "")
            line = line.stylize(Style.from_meta({"@click": f"give({answer!r})"}), start)
        self.update(line)
        return max(1, -(-line.cell_length // max(1, width)))

    def action_give(self, answer: str) -> None:
        """An answer was clicked."""
        self.post_message(self.Clicked(answer))
