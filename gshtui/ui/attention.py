"""Telling a person who looks elsewhere: badge, bell, desktop notification; and short words on the screen.

Owns the sequences that are written to the terminal for it, all text made harmless before; refuses markup. Fed by the
bridge like a pane.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar

from textual.app import App

from gshtui.bus.event import Event
from gshtui.bus.events.agent import TurnFinished
from gshtui.bus.events.approval import ApprovalRequested

PUSH_TITLE, POP_TITLE = "\x1b[22;2t", "\x1b[23;2t"


class Attention:
    """Watches for what ends, or asks, while the terminal has no focus."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = (ApprovalRequested, TurnFinished)

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self.ways: Sequence[str] = ("badge", "bell")
        """`badge`, `bell`, `desktop`, as configured."""
        self._badged = False

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        for event in events:
            if self._app.app_focus:
                continue
            if isinstance(event, ApprovalRequested):
                self.call(f"{event.agent} asks: {event.tool} {event.subject}")
            elif isinstance(event, TurnFinished):
                self.call(f"{event.agent} {ended(event)}")

    def call(self, text: str) -> None:
        """Draw attention to this, in the ways that are configured."""
        from gshtui.guard.sanitise import one_line

        words = one_line(text, 120)
        if "bell" in self.ways:
            self._app.bell()
        if "desktop" in self.ways:
            self._write(desktop(words))
        if "badge" in self.ways:
            self._write(("" if self._badged else PUSH_TITLE) + f"\x1b]2;● gsh-tui: {words}\x07")
            self._badged = True

    def seen(self) -> None:
        """The person looks again: take the badge away."""
        if self._badged:
            self._badged = False
            self._write(POP_TITLE)

    def _write(self, sequence: str) -> None:
        driver = self._app._driver  # pyright: ignore[reportPrivateUsage]  # the one door to the terminal's own sequences
        if driver is not None and not driver.is_headless:
            driver.write(sequence)
            driver.flush()


def ended(event: TurnFinished) -> str:
    """How a turn ended, in two words."""
    if event.stop == "end":
        return "is done"
    return "was interrupted" if event.stop == "interrupted" else f"stopped: {event.error or event.stop}"


def desktop(text: str) -> str:
    """The sequence for a desktop notification; which one depends on the terminal."""
    if os.environ.get("TERM", "").startswith(("rxvt", "foot")) or "VTE_VERSION" in os.environ:
        return f"\x1b]777;notify;gsh-tui;{text}\x1b\\"
    return f"\x1b]9;gsh-tui: {text}\x07"
