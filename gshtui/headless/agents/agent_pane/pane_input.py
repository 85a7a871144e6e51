"""The input line of an agent's own pane: turns a terminal's key bytes into edits and actions. Pure, no terminal.

It distinguishes typed from pasted text, and knows which question was on the screen when a line was begun. The pane
feeds it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from gshtui.guard.approval.answer_keys import AnswerKeys
from gshtui.text.terminal_sequences import TerminalReader, is_letter, terminal_decoder

MAX_INPUT = 1_000_000
"""Most characters the line can hold."""
_MOVES = {
    "\x1b[D": "left",
    "\x1bOD": "left",
    "\x02": "left",
    "\x1b[C": "right",
    "\x1bOC": "right",
    "\x06": "right",
    "\x1b[H": "home",
    "\x1bOH": "home",
    "\x1b[1~": "home",
    "\x01": "home",
    "\x1b[F": "end",
    "\x1bOF": "end",
    "\x1b[4~": "end",
    "\x05": "end",
    "\x1b[A": "older",
    "\x1bOA": "older",
    "\x10": "older",
    "\x1b[B": "newer",
    "\x1bOB": "newer",
    "\x0e": "newer",
    "\x7f": "erase",
    "\x08": "erase",
    "\x1b[3~": "delete",
    "\x17": "word",
    "\x15": "clear",
    "\x0b": "rest",
}


class InputAction(msgspec.Struct, frozen=True):
    """What the person wants: `submit` the text, `interrupt` (ctrl+c), `leave` (ctrl+d) or `redraw` (ctrl+l)."""

    kind: Literal["submit", "interrupt", "leave", "redraw"]
    text: str = ""
    pasted: bool = False
    """Some of the text was pasted, not typed."""
    about: str = ""
    """The question that the text may answer: it was readable when the first character was typed."""


class InputLine:
    """The line and its cursor."""

    def __init__(self, keys: AnswerKeys | None = None, text: str = "") -> None:
        """`keys`: which question is on the screen, and when it can be answered. `text`: no answer, as if pasted."""
        self.text, self.cursor = text, len(text)
        self.keys = keys or AnswerKeys()
        self._now = 0.0
        self._decode = terminal_decoder()
        self._reader = TerminalReader()
        self._pasted = bool(text)
        self._about = ""
        self._seen = ""
        """The question that a line started by the current key may answer."""
        self._history: list[str] = []
        self._at = 0

    @property
    def about(self) -> str:
        """The question that the line may answer; empty if there is none, or if the line is empty."""
        return self._about if self.text and not self._pasted else ""

    def feed(self, data: bytes, at: float = 0.0) -> list[InputAction]:
        """Apply bytes from the terminal; returns the actions among them. `at`: the time, in seconds of any clock."""
        tokens = self._reader.tick(at)
        self._now = at
        tokens += self._reader.feed(self._decode(data), at)
        wishes: list[InputAction] = []
        for token in tokens:
            if token.kind == "paste":
                self._begin_key()
                self._insert(token.text, pasted=True)
            elif token.kind in ("text", "sequence"):
                for key in _runs(token.text) if token.kind == "text" else (token.text,):
                    if (wish := self._key(key)) is not None:
                        wishes.append(wish)
        return wishes

    def _begin_key(self) -> None:
        if self.text:
            self.keys.continue_line(self._now)
            self._seen = ""
        else:
            self._seen = self.keys.begin_line(self._now)

    def _key(self, key: str) -> InputAction | None:
        self._begin_key()
        if key == "\r":
            return self._submit()
        if key == "\n":
            self._insert("\n")
        elif key == "\x03":
            if self.text:
                self._set("")
                return None
            return InputAction("interrupt")
        elif key == "\x04":
            return None if self.text else InputAction("leave")
        elif key == "\x0c":
            return InputAction("redraw")
        elif (move := _MOVES.get(key)) is not None:
            self._move(move)
        elif is_letter(key[0]):
            self._insert(key)
        return None

    def _submit(self) -> InputAction | None:
        text = self.text
        wish = InputAction("submit", text, self._pasted, self._about)
        self._set("")
        if not text.strip():
            return InputAction("submit") if self.keys.in_reason or self.keys.in_rule else None
        if not self._history or self._history[-1] != text:
            self._history.append(text)
        self._at = len(self._history)
        return wish

    def _insert(self, text: str, *, pasted: bool = False) -> None:
        text = text.replace("\r\n", "\n").replace("\r", "\n")[: MAX_INPUT - len(self.text)]
        if not text:
            return
        if not self.text:
            self._about, self._pasted = "" if pasted else self._seen, False
        self._pasted |= pasted
        self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
        self.cursor += len(text)

    def _set(self, text: str) -> None:
        self.text, self.cursor = text, len(text)
        self._pasted, self._about = bool(text), ""

    def _move(self, move: str) -> None:
        text, at = self.text, self.cursor
        match move:
            case "left":
                self.cursor = max(0, at - 1)
            case "right":
                self.cursor = min(len(text), at + 1)
            case "home":
                self.cursor = 0
            case "end":
                self.cursor = len(text)
            case "erase":
                self._cut(max(0, at - 1), at)
            case "delete":
                self._cut(at, at + 1)
            case "word":
                before = text[:at].rstrip()
                self._cut(len(before) - len(before.rsplit(None, 1)[-1]) if before else at, at)
            case "rest":
                self._cut(at, len(text))
            case "clear":
                self._cut(0, at)
            case _:
                self._recall(-1 if move == "older" else 1)

    def _cut(self, start: int, end: int) -> None:
        self.text, self.cursor = self.text[:start] + self.text[end:], start

    def _recall(self, step: int) -> None:
        at = max(0, min(len(self._history), self._at + step))
        if at != self._at:
            self._at = at
            self._set(self._history[at] if at < len(self._history) else "")


def _runs(text: str) -> list[str]:
    """The keys one by one, but for letters after the first of a line, which are of one run."""
    runs: list[str] = []
    for at, key in enumerate(text):
        if at > 1 and is_letter(key) and is_letter(text[at - 1]) and is_letter(text[at - 2]):
            runs[-1] += key
        else:
            runs.append(key)
    return runs
