"""Vi's keys in an input: asks the state machine in `vi_keys`, changes the text, and names the mode in the frame."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace
from textual import events

from gshtui.ui.kit.textual.edit_history import join_undo_steps, undo_steps
from gshtui.ui.kit.widgets.folding_area import FoldingArea
from gshtui.ui.prompt.vi_keys import Buffer, Register, Step, ViState, press

_NAMED = frozenset(("ctrl+r", "left", "right", "backspace", "enter"))
"""Keys without a character that mean something in normal mode; enter only after `r`."""


class ViEditing:
    """The editing of one input, which begins in insert mode."""

    def __init__(self, area: FoldingArea, edited: Callable[[], None]) -> None:
        """`edited`: called after each change that a key of normal mode has made."""
        self.state = ViState()
        self._area = area
        self._edited = edited
        self._begun = undo_steps(area)
        """Steps of undo when insert mode began."""
        self._show()

    def begin(self) -> None:
        """Insert mode, for a new text; what was copied and changed last is kept."""
        self.state = replace(self.state, mode="insert", pending=(), insertion=None)
        self._begun = undo_steps(self._area)
        self._show()

    @property
    def types(self) -> bool:
        """Whether letters go into the text."""
        return self.state.mode == "insert"

    def takes(self, event: events.Key) -> bool:
        """Handle a key; False: it means nothing here, and the input or the window may have it."""
        key = self._key(event)
        if not key:
            return False
        before = self._buffer()
        self._apply(before, press(self.state, before, key))
        return True

    def _key(self, event: events.Key) -> str:
        """The machine's name of a key that it takes now, or nothing."""
        state = self.state
        if state.mode == "insert":
            return "escape" if event.key == "escape" else ""
        if event.key == "escape":
            return "escape" if state.pending else ""
        if event.key == "enter" and state.pending != ("r",):
            return ""
        if event.key in _NAMED:
            return event.key
        return event.character or "" if event.is_printable else ""

    def _buffer(self) -> Buffer:
        area = self._area
        row, column = area.cursor_location
        lines = area.text.split("\n")
        return Buffer(area.text, sum(len(line) + 1 for line in lines[:row]) + column)

    def _apply(self, before: Buffer, step: Step) -> None:
        area, after = self._area, step.buffer
        was, steps = self.state.mode, undo_steps(area)
        register = step.state.register
        if register != self.state.register:  # a folded text is copied whole
            register = Register(area.folds.expand(register.text), register.lines)
        self.state = replace(step.state, register=register)
        if step.effect:
            (area.undo if step.effect == "undo" else area.redo)()
            here = self._buffer()
            self._move(min(here.at, len(here.text)))
        elif after.text != before.text:
            self._replace(before.text, after.text)
            self._move(after.at)
        else:
            self._move(after.at)
        if was != "insert" == self.state.mode:
            self._begun = steps
        elif was == "insert" != self.state.mode:  # as vi has it, with what the command that began it deleted
            join_undo_steps(area, self._begun)
        if after.text != before.text or step.effect:
            self._edited()
        self._show()

    def _replace(self, old: str, new: str) -> None:
        """Change the part that differs, as one step of undo; of a folded text, all goes or nothing."""
        area = self._area
        start, most = 0, min(len(old), len(new))
        while start < most and old[start] == new[start]:
            start += 1
        same = 0
        while same < most - start and old[len(old) - 1 - same] == new[len(new) - 1 - same]:
            same += 1
        begin, end = _location(old, start), _location(old, len(old) - same)
        if begin != end:
            begin, end = area.folds.around(area.document, begin, end)
        area.history.checkpoint()
        area.type_over(new[start : len(new) - same], begin, end)
        area.history.checkpoint()

    def _move(self, at: int) -> None:
        text = self._area.text
        self._area.move_cursor(_location(text, min(at, len(text))))

    def _show(self) -> None:
        """The mode in the frame, with the keys of a command that is not complete."""
        pending = "".join(self.state.pending)
        self._area.border_subtitle = f"{pending}  {self.state.mode.upper()}".strip()


def _location(text: str, at: int) -> tuple[int, int]:
    """The row and column of an index."""
    return text.count("\n", 0, at), at - (text.rfind("\n", 0, at) + 1)
