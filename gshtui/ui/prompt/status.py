"""The line under the input: a spinner while the agent or a command of the person works, how long, what waits, and the
keys that matter now.

It owns its clock, which runs only while something goes on. Fed by the bridge.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, cast

from rich.cells import cell_len
from textual.content import Content
from textual.signal import Signal
from textual.timer import Timer
from textual.widgets import Static

from gshtui.bus.event import Event
from gshtui.guard.sanitise import one_line
from gshtui.ui.kit.cells import fit
from gshtui.ui.kit.keys import key_of
from gshtui.ui.kit.surroundings import app_of
from gshtui.ui.prompt.status_state import CONSUMED, StatusState, doing, elapsed, reduce, waits

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
TICK = 0.125
MAPPED = (("prompt.submit", "send"), ("prompt.newline", "newline"))
"""Rows of the key table. Of a row's keys the first is named, which every terminal tells from the others."""
SIGNS = (("/", "commands"), ("@", "files"), ("!", "shell"))
SEARCHING = (("enter", "take it"), ("ctrl+r", "the next one"), ("esc", "back"))
EDITING = (("enter", "keep the change"), ("esc", "leave it as it was"), ("empty", "withdraw it"))


class PromptStatus(Static):
    """One line. `agent` is whose turns it shows."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = CONSUMED

    def __init__(self, agent: str = "main", clock: Callable[[], float] = time.time) -> None:
        super().__init__(id="prompt-status", markup=False)
        self.state = StatusState(agent)
        self.editing = False
        self.searching = False
        self._clock = clock
        self._frame = 0
        self._timer: Timer | None = None
        self._named: tuple[tuple[str, str], ...] = ()
        """The keys that the line names now, as they are mapped."""

    def on_mount(self) -> None:
        self._timer = self.set_interval(TICK, self._tick, pause=True)
        signal = cast("Signal[Any]", self.screen.bindings_updated_signal)  # pyright: ignore[reportUnknownMemberType]
        signal.subscribe(self, self._remapped)
        self.draw()

    def _remapped(self, _: object) -> None:
        if self._named != self._keys():
            self.draw()

    def _keys(self) -> tuple[tuple[str, str], ...]:
        return tuple((key_of(self, id), what) for id, what in MAPPED)

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        before = self.state
        for event in events:
            self.state = reduce(self.state, event)
        if self.state is not before:
            self.draw()
            if self._timer is not None:
                (self._timer.resume if self.state.busy or self.state.running else self._timer.pause)()

    def on_resize(self) -> None:
        self.draw()

    def _tick(self) -> None:
        # Where motion is not wanted the spinner stands still, and only the seconds count on.
        self._frame += 1
        if app_of(self).animation_level != "none" or self._frame % 8 == 0:
            self.draw()

    def draw(self) -> None:
        """Say how things stand now."""
        width = self.size.width
        if not self.is_mounted or width <= 0:
            return
        writing = self.editing or self.searching
        if writing or not (self.state.busy or self.state.running):
            line = self._idle(width)
        else:
            line = self._busy(width) if self.state.busy else self._by_hand(width)
        self.update(line, layout=False)  # it is one line, whatever it says

    def _busy(self, width: int) -> Content:
        waiting = waits(self.state, key_of(self, "approval.focus"))
        return self._going_on(doing(self.state), self.state.since, waiting, width, "esc to interrupt")

    def _by_hand(self, width: int) -> Content:
        """A command of the person, the newest one."""
        newest = self.state.running[-1]
        more = len(self.state.running) - 1
        waiting = [*([f"{more} more"] if more else []), *waits(self.state, key_of(self, "approval.focus"))]
        what = f"Running: {one_line(newest.command)}"
        return self._going_on(what, newest.since, [*waiting, "esc to stop"], width)

    def _going_on(self, what: str, since: float, beside: list[str], width: int, spare: str = "") -> Content:
        """What goes on, shortened so that all of `beside` fits; `spare` is said only where there is room left."""
        moving = app_of(self).animation_level != "none"
        spinner = FRAMES[self._frame % len(FRAMES)] if moving else "●"
        rest = [elapsed(self._clock() - since), *beside]
        needed = sum(cell_len(part) + 3 for part in rest)
        line = Content.assemble((f"{spinner} ", "$primary"), (fit(what, max(12, width - 2 - needed)), "$foreground"))
        return _joined(line, [*rest, spare] if spare else rest, width)

    def _idle(self, width: int) -> Content:
        waiting = waits(self.state, key_of(self, "approval.focus"))
        if self.searching:
            return _hints(SEARCHING, width, "Searching what was sent")
        if self.editing:
            return _hints(EDITING, width, "Changing a waiting prompt")
        if self.state.ended:
            return _joined(Content.styled(f"✗ {fit(self.state.ended, width - 2)}", "$error"), waiting, width)
        if waiting:
            return _joined(Content.styled(f"◆ {waiting[0]}", "$warning"), waiting[1:], width)
        self._named = self._keys()
        return _hints((*self._named, *SIGNS), width)


def _joined(line: Content, parts: Sequence[str], width: int) -> Content:
    """The line with as many parts behind it as there is room for."""
    for part in parts:
        if line.cell_length + 3 + cell_len(part) <= width:
            line = Content.assemble(line, f" · {part}")
    return line


def _hints(hints: Sequence[tuple[str, str]], width: int, title: str = "") -> Content:
    line = Content.styled(title, "$warning") if title else Content()
    for key, what in hints:
        gap = 2 if line.cell_length else 0
        if line.cell_length + gap + len(key) + 1 + len(what) > width:
            break
        line = Content.assemble(line, "  "[:gap], (key, "$text-accent"), f" {what}")
    return line
