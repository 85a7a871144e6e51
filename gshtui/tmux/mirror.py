"""Live copies of panes: output marks a pane dirty, and visible dirty panes are captured at most at the frame rate.

So a firehose costs only what frames cost: after a burst, its output is held back until the next capture. In chained
mode the panes are polled instead, as often as is cheap. Called by the terminal tabs; knows no widget.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from gshtui.system.tasks import cancel_and_wait, keep_on, start_job
from gshtui.tmux import frames
from gshtui.tmux.client_process import TmuxQuestion
from gshtui.tmux.frames import Frame as Frame
from gshtui.tmux.frames import MirroredPane, OnFrame, View
from gshtui.tmux.panes import BRIEF
from gshtui.tmux.quoting import quoted, resizing
from gshtui.tmux.tmux_connection import Mode, OnMode
from gshtui.tmux.tmux_errors import TmuxError
from gshtui.tmux.watcher import PaneChange

if TYPE_CHECKING:
    from gshtui.tmux.server import TmuxServer

_BURST = 4096
"""With more bytes of output than this in one frame, the rest is held back."""
_GATHER = 0.004
"""Seconds between a sign of output and the capture, so that output written together appears together."""
_ECHO = 0.02
"""Seconds between a key and the capture that shows what it did, at most: its echo mostly comes at once, and is shown
at once; what follows it within this time, `_GATHER` seconds later."""
_SHARE = 6
"""In chained mode captures may take a sixth of the time between them."""
_IDLE_AFTER, _IDLE_EVERY = 2.0, 0.5


class Watch(msgspec.Struct):
    """A tab's hold on a mirrored pane."""

    _mirror: Mirror
    _picture: MirroredPane
    _view: View

    def resize(self, width: int, height: int) -> None:
        """Set the tab's size; the pane gets it, unless a person is attached or another tab set a size later."""
        if (width, height) != (self._view.width, self._view.height):
            self._view.width, self._view.height = width, height
            self._mirror.request_size(self._view)
            self._mirror.mark_dirty(self._picture)

    def set_visible(self, shown: bool) -> None:
        """Whether the tab can be seen. What cannot be seen is not captured."""
        if shown != self._view.visible:
            self._view.visible = shown
            self._view.needs_frame = True
            if shown:
                self._mirror.request_size(self._view)
                self._picture.applied = (0, 0)  # who was there meanwhile may have left another size
            self._mirror.mark_dirty(self._picture)

    def capture_soon(self) -> None:
        """Note that a key was sent, and show its effect soon, whatever the frame rate."""
        self._mirror.capture_soon(self._picture)

    async def read_history(self, start: int, end: int) -> list[str]:
        """Self-contained lines of the history; -1 is the one above the screen. Expensive: only for scrolling."""
        return frames.rows(await self._mirror.server.capture(self._picture.pane, start=start, end=end))

    def close(self) -> None:
        self._mirror.remove_view(self._picture, self._view)


class Mirror:
    """Mirrors panes of one server.

    Attributes:
        cost_ms: milliseconds that a round of captures took lately.
    """

    def __init__(self, server: TmuxServer, *, fps: float = 20) -> None:
        self.server = server
        self.cost_ms = 0.0
        self._period = 1 / fps
        self._pictures: dict[str, MirroredPane] = {}
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._last = 0.0
        self._size_requests = 0
        self._was_connected = False
        self._resizing: asyncio.Task[None] | None = None
        self._ends: list[Callable[[], None]] = []

    @property
    def mode(self) -> Mode:
        """How the server is reached."""
        return self.server.connection.mode

    def on_mode_change(self, callback: OnMode) -> Callable[[], None]:
        """Call `callback` with (mode, why) at every change; returns a function that ends this."""
        return self.server.connection.on_mode_change(callback)

    def watch(self, pane: str, on_frame: OnFrame, *, width: int, height: int) -> Watch:
        """Mirror a pane into a tab of this size; `on_frame` gets every new frame while the tab is visible."""
        picture = self._pictures.get(pane)
        if picture is None:
            picture = self._pictures[pane] = MirroredPane(pane)
            picture.unlisten = self._listen(picture)
        view = View(on_frame, width, height)
        picture.views.append(view)
        self.request_size(view)
        if self._task is None:
            self._ends = [
                self.server.connection.on_mode_change(self._on_mode),
                self.server.connection.on_notification(self._on_notification),
            ]
            self._task = keep_on(self._run, "the mirror of terminals")
        self.mark_dirty(picture)
        return Watch(self, picture, view)

    async def close(self) -> None:
        for picture in self._pictures.values():
            picture.unlisten()
        self._pictures.clear()
        for end in self._ends:
            end()
        if self._timer is not None:
            self._timer.cancel()
        tasks, self._task, self._resizing = (self._task, self._resizing), None, None
        await cancel_and_wait(*tasks)

    # -- for a `Watch` ---------------------------------------------------------------------------------------------

    def request_size(self, view: View) -> None:
        """This view's size is the latest request."""
        self._size_requests += 1
        view.requested = self._size_requests

    def mark_dirty(self, picture: MirroredPane) -> None:
        """The pane may look different now."""
        picture.dirty = True
        if picture.visible:
            soon = self._now() + _GATHER
            if picture.frame is None:
                picture.urgent_at = soon  # an empty tab waits for nobody
            self._schedule(picture.urgent_at or max(soon, self._last + self._period))

    def capture_soon(self, picture: MirroredPane) -> None:
        """See `Watch.capture_soon`."""
        picture.dirty = picture.awaited = True
        picture.urgent_at = picture.echo_until = self._now() + _ECHO
        self._schedule(picture.urgent_at)

    def remove_view(self, picture: MirroredPane, view: View) -> None:
        """See `Watch.close`."""
        if view in picture.views:
            picture.views.remove(view)
        if not picture.views and self._pictures.get(picture.pane) is picture:
            del self._pictures[picture.pane]
            picture.unlisten()

    # -- when ------------------------------------------------------------------------------------------------------

    def _listen(self, picture: MirroredPane) -> Callable[[], None]:
        connection = self.server.connection

        def on_output(said: bytes) -> None:
            picture.burst += len(said)
            if said and (picture.burst > _BURST or not picture.visible):  # nothing: somebody else wants it
                connection.pause_output(picture.pane)
                picture.written.forget()
            elif picture.add_output(said):
                picture.awaited, picture.urgent_at = False, 0.0
                picture.send_frame(True)
            self.mark_dirty(picture)
            if said and picture.visible and self._now() < picture.echo_until:
                soon = self._now() + (0.0 if picture.awaited else _GATHER)
                picture.awaited = False
                picture.urgent_at = min(soon, picture.urgent_at or soon)
                self._schedule(picture.urgent_at)

        def on_change(change: PaneChange) -> None:
            if "gone" in change.what:
                picture.send_frame(picture.mark_gone())
                return
            if "attached" in change.what and not change.info.attached:
                picture.applied = (0, 0)  # the person left their size behind
            if change.what - {"activity"}:
                self.mark_dirty(picture)

        ends = (connection.on_output(picture.pane, on_output), self.server.watcher.watch(picture.pane, on_change))

        def unlisten() -> None:
            for end in ends:
                end()

        return unlisten

    def _on_notification(self, kind: str, rest: str) -> None:
        if kind == "%client-detached":  # another window is gone, or a person, and has left a size behind
            for picture in self._pictures.values():
                picture.applied = (0, 0)
                self.mark_dirty(picture)

    def _on_mode(self, mode: Mode, why: str) -> None:
        for picture in self._pictures.values():
            picture.written.forget()
            self.mark_dirty(picture)
        if mode == "control":
            if self._was_connected:
                self._resizing = start_job(self._resize_if_alone(), "the sizes after a lost client")
            self._was_connected = True

    async def _resize_if_alone(self) -> None:
        """After a lost client: nobody told us who came and went meanwhile, and what size they left behind.

        A window that is there now may have set a size of its own, so it keeps it.
        """
        try:
            (clients,) = await self.server.connection.ask(["list-clients -F '#{client_session}'"])
        except TmuxError:
            return
        if len(clients.text()) <= 1:
            for picture in self._pictures.values():
                picture.applied = (0, 0)
                self.mark_dirty(picture)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _schedule(self, at: float) -> None:
        loop = asyncio.get_running_loop()
        timer = self._timer
        if timer is not None and not timer.cancelled() and timer.when() > loop.time():
            if timer.when() <= at:
                return
            timer.cancel()
        self._timer = loop.call_at(at, self._wake.set)

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            now = self._now()
            regular = now >= self._last + self._period - 0.001
            due = [
                picture
                for picture in self._pictures.values()
                if picture.visible
                and (picture.dirty or self.mode == "chained")
                and (regular or 0.0 < picture.urgent_at <= now + 0.001)
            ]
            if regular:
                self._last = now
            if due:
                try:
                    await self._capture(due)
                except TmuxError:
                    pass  # the connection changes its mode and reports it; the last good frames stay
            self._plan()

    def _plan(self) -> None:
        """When to look again, if nothing happens before."""
        if self.mode == "chained":
            visible = [picture for picture in self._pictures.values() if picture.visible]
            if visible:
                quiet = self._now() - max(picture.changed_at for picture in visible) > _IDLE_AFTER
                every = max(self._period, _SHARE * self.cost_ms / 1e3, _IDLE_EVERY if quiet else 0.0)
                self._schedule(self._last + every)
        for picture in self._pictures.values():
            if picture.dirty and picture.visible:
                self._schedule(picture.urgent_at or max(self._now(), self._last + self._period))

    # -- what ------------------------------------------------------------------------------------------------------

    async def _capture(self, due: list[MirroredPane]) -> None:
        await self.server.version()
        connection = self.server.connection
        connection.start()
        questions: list[str | TmuxQuestion] = []
        asked: list[MirroredPane] = []
        for picture in due:
            picture.dirty, picture.urgent_at, picture.burst = False, 0.0, 0
            connection.resume_output(picture.pane)  # before the capture, so that nothing between the two is missed
            picture.dirty = False
            picture.asked = picture.written.heard
            info = self.server.watcher.info(picture.pane)
            if info is None:
                self.server.watcher.check_now()
                continue
            if (size := picture.size()) and size != picture.applied:
                picture.applied = size
                # Whatever size was seen last: it may have changed since, and to ask for the same one costs nothing.
                questions.append(resizing(info.target, *size))
                asked.append(picture)
            flags = "-peN" if connection.may_control else "-pe"
            questions.append(TmuxQuestion(f"capture-pane {flags} -t {quoted(picture.pane)}", info.target, BRIEF))
            asked.append(picture)
        if not questions:
            return
        began = time.perf_counter()
        replies = await connection.ask(questions)
        spent = 1e3 * (time.perf_counter() - began)
        self.cost_ms = spent if not self.cost_ms else 0.8 * self.cost_ms + 0.2 * spent
        now = self._now()
        for picture, question, reply in zip(asked, questions, replies, strict=True):
            if isinstance(question, str):
                continue
            info = self.server.watcher.info(picture.pane)
            new = not reply.error and info is not None and picture.add_capture(reply.lines, reply.about, info)
            if new:
                picture.changed_at = now
            elif reply.error or not reply.about.startswith(picture.pane):
                self.server.watcher.check_now()
            picture.send_frame(new)
