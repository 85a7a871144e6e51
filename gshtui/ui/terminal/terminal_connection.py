"""A tab's connection to a terminal: receives frames at the tab's size, sends keys and mouse events.

Owns the mirror's subscription and the keyboard; others decide when a key or the mouse is for the program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events
from textual.message import Message
from textual.timer import Timer

from gshtui.ui.kit.textual.kept_lines import KeptLines
from gshtui.ui.kit.textual.letter_echo import write_letter
from gshtui.ui.kit.textual.painting import rows_now
from gshtui.ui.terminal.terminal_input import Keyboard, MouseKind, key_name, key_text, mouse_bytes
from gshtui.ui.terminal.terminal_picture import TerminalPicture
from gshtui.ui.terminal.terminals import Terminal, TerminalWatch

if TYPE_CHECKING:
    from gshtui.tmux.frames import Frame

_SETTLE = 0.05
"""Seconds a new tab size must last before the program gets it."""
_QUESTION = 20
"""Least rows of a terminal whose program asks something: on fewer, programs leave out choices, which then nobody can
choose. A lower tab shows the used end."""
_FEW = 3
"""Rows at most that are written before Textual's next frame, as what a key has done mostly is."""


class TerminalChanged(Message):
    """The lines around the terminal may need an update."""


class TerminalConnection:
    """Shows a terminal's frames in a widget, and types into it.

    Args:
        unheard: called when the program has ended or does not receive its keys.
    """

    def __init__(
        self, terminal: Terminal, widget: KeptLines, picture: TerminalPicture, unheard: Callable[[], None]
    ) -> None:
        self.failed = ""
        """Why the last request to the terminal failed; empty: it did not."""
        self._terminal = terminal
        self._widget = widget
        self._picture = picture
        self._unheard = unheard
        self._watch: TerminalWatch | None = None
        self._keyboard = self._new_keyboard()
        self._resizing: Timer | None = None
        self._shown = True
        self._asks = False
        self._facts: tuple[object, ...] = ()

    def connect(self, terminal: Terminal) -> None:
        """Switch to another terminal, to show it and type into it."""
        self._stop_watching()
        self._widget.run_worker(self._keyboard.close(), exit_on_error=False)
        self.failed = ""
        self._terminal = terminal
        self._keyboard = self._new_keyboard()

    async def close(self) -> None:
        """Stop receiving frames and sending keys."""
        self._stop_watching()
        await self._keyboard.close()

    def show(self, shown: bool) -> None:
        """Whether the tab is visible; an invisible one is not polled."""
        self._shown = shown
        if self._watch is not None:
            self._watch.set_visible(shown)
        if self._asks and not shown:  # it is read elsewhere now
            self._widget.run_worker(self._terminal.make_readable(), exit_on_error=False)

    def fail(self, why: str) -> None:
        """Report why something failed; empty: all is well again."""
        self.failed = why
        self._widget.post_message(TerminalChanged())

    async def history(self, start: int, end: int) -> list[str]:
        """Lines of the scrollback, as from `TerminalWatch.read_history`."""
        return await self._watch.read_history(start, end) if self._watch is not None else []

    # The size

    def fit(self) -> None:
        """The tab was resized; the terminal follows once the size is stable. The first time, start watching."""
        if not self._widget.size:
            return
        if self._watch is None:
            self._watch = self._terminal.watch(self._on_frame, *self._wanted())
            self._watch.set_visible(self._shown)
        elif self._resizing is not None:
            self._resizing.reset()
        else:
            self.fit_soon()

    def fit_soon(self) -> None:
        """Resize the terminal to the tab shortly."""
        if self._resizing is None:
            self._resizing = self._widget.set_timer(_SETTLE, self._resize)

    def leave_room(self, asks: bool) -> None:
        """Whether its program asks something, and so needs room for the choices, whatever the size of the tab."""
        if asks != self._asks:
            self._asks = asks
            self.fit()

    def _wanted(self) -> tuple[int, int]:
        """The size that the terminal is to have: that of the rows that are shown of it."""
        width, height = self._widget.text_size
        return width, max(height, _QUESTION) if self._asks else height

    def _resize(self) -> None:
        self._resizing = None
        # While it is held still a line of words may be below it for a moment; the program need not know.
        if self._watch is not None and self._widget.size and self._picture.past is None:
            self._watch.resize(*self._wanted())

    # Frames

    def _on_frame(self, frame: Frame) -> None:
        """Draw the changes, unless the picture is paused."""
        widget, picture = self._widget, self._picture
        if not widget.is_attached:
            return
        ahead = self._write_ahead(frame)
        rows = picture.show(frame)
        if picture.past is None:
            widget.set_row_count(picture.total)
            if rows is None:
                widget.refresh()
            elif rows:
                widget.refresh_rows(rows)
                if not ahead and len(rows) <= _FEW:
                    rows_now(widget, rows)
        facts = picture.facts
        if facts == self._facts:
            return
        if facts[:1] != self._facts[:1]:  # the first frame, or its end
            if frame.info.dead:
                self._unheard()
            widget.refresh_bindings()
        self._facts = facts
        widget.post_message(TerminalChanged())

    def _write_ahead(self, frame: Frame) -> bool:
        """Write a letter before anything else is done with its frame, where that is possible; whether it was."""
        before = self._picture.frame
        if not frame.typed or before is None or before.seq != frame.seq - 1 or self._picture.past is not None:
            return False
        info = before.info
        return write_letter(self._widget, info.cursor_x, info.cursor_y - self._picture.first, frame.typed)

    def _stop_watching(self) -> None:
        if self._watch is not None:
            self._watch.close()
        self._watch = None

    # Keys and the mouse

    def type(self, event: events.Key) -> bool:
        """Send the text that a key types to the program; False: it types none."""
        text = key_text(event.key, event.character)
        if text:
            self._keyboard.text(text)
        return bool(text)

    def press(self, event: events.Key) -> None:
        """Send a key to the program, if terminals have a code for it."""
        if not self.type(event) and (name := key_name(event.key)):
            self._keyboard.key(name)

    def press_arrow(self, name: str, times: int) -> None:
        """Send an arrow key, for a program without wheel support."""
        for _ in range(times):
            self._keyboard.key(name)

    def paste(self, text: str) -> None:
        """Paste text from the clipboard."""
        self._keyboard.paste(text)

    def mouse(self, kind: MouseKind, event: events.MouseEvent) -> None:
        """Send a mouse event over the tab, if the program wants it."""
        info = self._picture.info
        if info is not None:
            modifiers = {"shift": event.shift, "alt": event.meta, "ctrl": event.ctrl}
            row = event.y + self._picture.first
            if data := mouse_bytes(info, kind, event.x, row, button=event.button, **modifiers):
                self._keyboard.mouse(data, motion=kind == "move")

    def _new_keyboard(self) -> Keyboard:
        return Keyboard(self._terminal, self._poke, self._sent, self._not_sent)

    def _poke(self) -> None:
        if self._watch is not None:
            self._watch.capture_soon()

    def _sent(self) -> None:
        if self.failed:
            self.fail("")

    def _not_sent(self, why: str) -> None:
        self._unheard()
        self.fail(why)
