"""A tab's connection to a terminal: frames come in at the tab's size, keys and the mouse go out.

Owns the mirror's subscription and the keyboard; refuses to know when a key or the mouse is for the program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events
from textual.message import Message
from textual.timer import Timer

from gshtui.ui.kit.textual.kept_lines import KeptLines
from gshtui.ui.terminal.terminal_input import Keyboard, MouseKind, key_name, key_text, mouse_bytes
from gshtui.ui.terminal.terminal_picture import TerminalPicture
from gshtui.ui.terminal.terminals import Terminal, TerminalWatch

if TYPE_CHECKING:
    from gshtui.tmux.frames import Frame

_SETTLE = 0.05
"""Seconds that a new size of the tab must last before the program gets it."""


class TerminalChanged(Message):
    """What the lines around a terminal say may be different."""


class TerminalConnection:
    """Shows a terminal's frames in a widget, and types into it.

    Args:
        unheard: called when the program has ended or does not get its keys.
    """

    def __init__(
        self, terminal: Terminal, widget: KeptLines, picture: TerminalPicture, unheard: Callable[[], None]
    ) -> None:
        self.failed = ""
        """Why the last thing that was asked of the terminal did not happen; empty when all is well."""
        self._terminal = terminal
        self._widget = widget
        self._picture = picture
        self._unheard = unheard
        self._watch: TerminalWatch | None = None
        self._keyboard = self._new_keyboard()
        self._resizing: Timer | None = None
        self._shown = True
        self._facts: tuple[object, ...] = ()

    def connect(self, terminal: Terminal) -> None:
        """Show another terminal from now on, and type into that one."""
        self._stop_watching()
        self._widget.run_worker(self._keyboard.close(), exit_on_error=False)
        self.failed = ""
        self._terminal = terminal
        self._keyboard = self._new_keyboard()

    async def close(self) -> None:
        """Neither frames come nor keys go any more."""
        self._stop_watching()
        await self._keyboard.close()

    def show(self, shown: bool) -> None:
        """Whether anybody can see the tab; what nobody sees is not looked at."""
        self._shown = shown
        if self._watch is not None:
            self._watch.set_visible(shown)

    def fail(self, why: str) -> None:
        """Say why something did not happen; empty: all is well again."""
        self.failed = why
        self._widget.post_message(TerminalChanged())

    async def history(self, start: int, end: int) -> list[str]:
        """Lines of the past, as `TerminalWatch.read_history` gives them."""
        return await self._watch.read_history(start, end) if self._watch is not None else []

    # The size

    def fit(self) -> None:
        """The tab has another size, which the terminal gets once it has lasted; the first time, begin to watch."""
        size = self._widget.size
        if not size:
            return
        if self._watch is None:
            self._watch = self._terminal.watch(self._on_frame, size.width, size.height)
            self._watch.set_visible(self._shown)
        elif self._resizing is not None:
            self._resizing.reset()
        else:
            self.fit_soon()

    def fit_soon(self) -> None:
        """Have the terminal as large as the tab in a moment."""
        if self._resizing is None:
            self._resizing = self._widget.set_timer(_SETTLE, self._resize)

    def _resize(self) -> None:
        self._resizing = None
        size = self._widget.size
        # While it is held still a line of words may be below it for a moment; the program need not know.
        if self._watch is not None and size and self._picture.past is None:
            self._watch.resize(size.width, size.height)

    # Frames

    def _on_frame(self, frame: Frame) -> None:
        """Draw what is different, unless the picture is held still."""
        widget, picture = self._widget, self._picture
        if not widget.is_attached:
            return
        rows = picture.show(frame)
        if picture.past is None:
            widget.set_row_count(picture.total)
            if rows is None:
                widget.refresh()
            else:
                widget.refresh_rows(rows)
        facts = picture.facts
        if facts == self._facts:
            return
        if facts[:1] != self._facts[:1]:  # the first frame, or its end
            if frame.info.dead:
                self._unheard()
            widget.refresh_bindings()
        self._facts = facts
        widget.post_message(TerminalChanged())

    def _stop_watching(self) -> None:
        if self._watch is not None:
            self._watch.close()
        self._watch = None

    # Keys and the mouse

    def press(self, event: events.Key) -> None:
        """A key for the program, if a terminal has a code for it."""
        if text := key_text(event.key, event.character):
            self._keyboard.text(text)
        elif name := key_name(event.key):
            self._keyboard.key(name)

    def press_arrow(self, name: str, times: int) -> None:
        """An arrow key, where a program knows no wheel."""
        for _ in range(times):
            self._keyboard.key(name)

    def paste(self, text: str) -> None:
        """Text from the clipboard."""
        self._keyboard.paste(text)

    def mouse(self, kind: MouseKind, event: events.MouseEvent) -> None:
        """What the mouse did over the tab, if the program wants to know."""
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
