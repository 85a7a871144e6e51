"""Textual's Linux driver, taking over a terminal that the first frame has already been painted on.

Owns the hand-over: the alternate screen is entered once, nothing is cleared in between, no key is lost, and at the end
the terminal is what it was before the first frame. Chosen by the app when there is a first frame.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS, SYNC_END, SYNC_START

from gshtui.ui.kit.textual.terminal_input import ReadingDriver

if TYPE_CHECKING:
    from textual.app import App
    from textual.message import Message

ENTER_ALTERNATE = "\x1b[?1049h"


class PaintedFrame(Protocol):
    """A frame that is on the terminal before the driver starts."""

    attributes: list[Any]
    """The terminal's attributes as they were before the frame (`termios.tcgetattr`)."""

    def handed_over(self) -> None:
        """From now on the driver puts the terminal back."""
        ...


def free_alt_digits() -> None:
    """Let alt with a digit be a key.

    Textual takes those bytes for the letters that one terminal of one system makes of them (alt+1: `¡`), so the keys
    of the panes would type letters everywhere else. Who wants such a letter still types it: it arrives as itself.
    """
    for digit in "0123456789":
        ANSI_SEQUENCES_KEYS.pop(f"\x1b{digit}", None)  # type: ignore[attr-defined]


class WorkbenchDriver(ReadingDriver):
    """The driver of the real window."""

    first_frame: PaintedFrame | None = None
    """The frame that is on the terminal; set by the app before it starts the driver, and taken once."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)  # pyright: ignore[reportUnknownMemberType]
        self._lock = Lock()
        self._marked = ""
        """What was written of a frame whose end has not come yet."""
        self._held: list[Message] | None = []
        """What was typed before there was an input to take it; `None` once there is one."""

    def process_message(self, message: Message) -> None:
        with self._lock:  # this is the thread that reads; `release` is called in the loop's
            if self._held is not None and isinstance(message, (events.Key, events.Paste)):
                self._held.append(message)
                return
        super().process_message(message)

    def release(self) -> None:
        """The input has the focus: hand it what was typed so far, in order, and everything from now on."""
        with self._lock:
            held, self._held = self._held or [], None
            for message in held:
                super().process_message(message)

    def start_application_mode(self) -> None:
        frame, type(self).first_frame = type(self).first_frame, None
        self._painted = frame is not None
        super().start_application_mode()
        self._painted = False
        if frame is not None:
            # The driver found the terminal as the first frame had set it; what it puts back at the end is what was
            # there before.
            self.attrs_before = list[Any](frame.attributes)
            frame.handed_over()

    def write(self, data: str) -> None:
        # Entering the alternate screen again would clear it in some terminals, and be seen as a flicker.
        if self._painted and data == ENTER_ALTERNATE:
            return
        # A frame between its marks is one write: each one more would wake the thread that writes once more.
        if data == SYNC_START:
            self._marked = data
        elif not self._marked:
            super().write(data)
        else:
            self._marked += data
            if data == SYNC_END:
                data, self._marked = self._marked, ""
                super().write(data)
