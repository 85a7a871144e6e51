"""What the mouse does in a terminal tab: it goes to the program if the person types there and the program asked for it;
else it scrolls and selects.

Owns that decision; `terminal_input` encodes, `terminal_reader` scrolls.
"""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.widget import Widget

from gshtui.ui.terminal.terminal_connection import TerminalConnection
from gshtui.ui.terminal.terminal_input import MouseKind
from gshtui.ui.terminal.terminal_picture import TerminalPicture
from gshtui.ui.terminal.terminal_reader import ScrollbackReader

_WHEEL = 3
"""Rows per turn of the wheel."""


class TerminalMouse:
    """Sends mouse events to the program, or uses them for reading.

    Args:
        typing: whether every key goes to the program.
    """

    def __init__(
        self,
        widget: Widget,
        picture: TerminalPicture,
        reader: ScrollbackReader,
        connection: TerminalConnection,
        typing: Callable[[], bool],
    ) -> None:
        self._widget = widget
        self._picture = picture
        self._reader = reader
        self._connection = connection
        self._typing = typing

    @property
    def captured(self) -> bool:
        """Send a mouse event to the program."""
        info = self._picture.info
        return self._typing() and info is not None and info.mouse and not info.dead

    def press(self, event: events.MouseDown) -> None:
        """A button was pressed."""
        if self.captured:
            self._widget.capture_mouse()
            self._send("down", event)
        elif event.button == 1 and self._picture.frame is not None:
            self._reader.hold()  # what is selected must not run away

    def release(self, event: events.MouseUp) -> None:
        """A button was released."""
        self._widget.release_mouse()
        if self.captured:
            self._send("up", event)
        else:
            self._widget.call_after_refresh(self._reader.go_on_if_read)

    def move(self, event: events.MouseMove) -> None:
        """The mouse moved."""
        if self.captured:
            self._send("move", event)

    def turn(self, event: events.MouseEvent, direction: int) -> None:
        """The wheel turned. A full-screen program has no scrollback: it gets the wheel, or arrow keys."""
        info = self._picture.info
        reads = info is None or info.dead or self._picture.past is not None or not (info.alternate or self.captured)
        if info is None or reads:
            self._reader.scroll(_WHEEL * direction)
        elif info.mouse:
            self._send("wheel_up" if direction < 0 else "wheel_down", event)
        else:
            self._connection.press_arrow("Up" if direction < 0 else "Down", _WHEEL)
        event.stop()
        event.prevent_default()

    def _send(self, kind: MouseKind, event: events.MouseEvent) -> None:
        self._connection.mouse(kind, event)
        event.stop()
        event.prevent_default()
