"""Shows what agents say in a call while they say it: whole lines above the prompt, every word where no line is typed.

What was shown in this way is not shown again once it is said.
"""

from __future__ import annotations

import msgspec

from gshtui.calls.answer_drafts import DraftPiece
from gshtui.features.ssh.person_terminal import PersonTerminal
from gshtui.text.sanitise import CleanText, Sanitiser, clean_text, coloured, one_line

_LONGEST = 200_000
"""Characters of an answer that are compared with what is said in the end."""


class _Answer(msgspec.Struct):
    name: str
    said: str = ""
    """The text of its newest message."""
    sanitiser: Sanitiser = msgspec.field(default_factory=Sanitiser)
    began: bool = False
    """Its name is before it."""


class StreamedAnswers:
    """The answers that grow, in one terminal."""

    def __init__(self, terminal: PersonTerminal) -> None:
        self._terminal = terminal
        self._answers: dict[str, _Answer] = {}
        self._unfinished = ""
        """The letter whose line is not complete on the screen."""

    def add(self, piece: DraftPiece) -> None:
        answer = self._answers.setdefault(piece.head.letter, _Answer(piece.head.name))
        if piece.anew:
            self._show(piece.head.letter, answer, answer.sanitiser.finish())
            self.end_line()
            answer.said, answer.sanitiser, answer.began = "", Sanitiser(), False
        answer.said = (answer.said + piece.text)[:_LONGEST]
        lines = answer.sanitiser.feed(piece.text)
        if not self._terminal.waits:
            lines = clean_text(lines, answer.sanitiser.flush())
        self._show(piece.head.letter, answer, lines)

    def end(self, letter: str, text: str) -> bool:
        """It is said; show what of it was not shown yet, and return whether all of it is now."""
        answer = self._answers.pop(letter, None)
        if answer is None or not answer.began:
            return False
        text, said = text.strip(), answer.said.lstrip()
        begins_so = text.startswith(said) or text == said.rstrip()
        rest = answer.sanitiser.feed(text[len(said) :]) if begins_so else clean_text()
        self._show(letter, answer, clean_text(rest, answer.sanitiser.finish()))
        self.end_line()
        return begins_so

    def end_line(self) -> None:
        """Something else is printed next."""
        if self._unfinished:
            self._unfinished = ""
            self._terminal.interject(clean_text("\n"))

    def clear(self) -> None:
        """Show nothing more of those so far: the person is in another call."""
        self.end_line()
        self._answers.clear()

    def _show(self, letter: str, answer: _Answer, text: CleanText) -> None:
        if not text.strip() and not answer.began:
            return
        if not text:
            return
        if self._unfinished not in ("", letter):
            self.end_line()
        if not answer.began:
            answer.began = True
            name = one_line(answer.name, 40)
            text = clean_text(coloured(name, "36") if self._terminal.has_colours else name, "> ", text)
        ends = text.endswith("\n")
        if self._terminal.waits and not ends:
            text, ends = clean_text(text, "\n"), True
        self._unfinished = "" if ends else letter
        self._terminal.interject(text)
