"""Callbacks for changes of a server's panes: ended, gone, title, bell, activity, program, size, attached.

The control client reports them without polling, activity once a second (`next_output` at once); in chained mode it
polls every two seconds. Used by agents' status, the mirror and notifications; text in the callbacks is untrusted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal, Protocol

import msgspec
from msgspec.structs import replace

from gshtui.system.tasks import cancel_and_wait, keep_on
from gshtui.tmux.panes import PaneInfo, unknown
from gshtui.tmux.tmux_connection import MOVED, STATE, STATE_FIELDS, Mode, TmuxConnection
from gshtui.tmux.tmux_errors import TmuxError

What = Literal[
    "first", "dead", "gone", "title", "bell", "activity", "command", "alternate", "mouse", "size", "attached", "session"
]

_SOON, _LATER, _SELDOM, _POLL, _GIVE_UP = 0.05, 1.0, 5.0, 2.0, 10.0
"""Seconds: from a hint to a look, to one that waits for more, the same for mere activity, and between looks without
hints."""
_HINTS = frozenset(
    {
        *("%sessions-changed", "%session-renamed", "%window-add", "%window-close", "%unlinked-window-close"),
        *(
            "%layout-change",
            "%client-session-changed",
            "%client-detached",
            "%pane-mode-changed",
            "%window-pane-changed",
        ),
    }
)


class PaneChange(msgspec.Struct, frozen=True):
    """A change of a pane. `info` is its current state; for a pane that is gone, its last state, as dead."""

    pane: str
    what: frozenset[What]
    info: PaneInfo


class ChangeSource(Protocol):
    """The part of a server that a watcher needs."""

    @property
    def connection(self) -> TmuxConnection: ...
    async def version(self) -> tuple[int, int]: ...
    async def panes(self) -> list[PaneInfo]: ...


OnChange = Callable[[PaneChange], None]
OnKeys = Callable[[bool], None]


class Watcher:
    """Watches the requested panes."""

    def __init__(self, server: ChangeSource) -> None:
        self._server = server
        self._watched: dict[str, list[OnChange]] = {}
        self._keys: dict[str, list[OnKeys]] = {}
        self._infos: dict[str, PaneInfo] = {}
        self._gone: set[str] = set()
        """Panes already reported as gone."""
        self._unknown: dict[str, float] = {}
        """Ended, but with what status is not known; since when."""
        self._ringing: set[str] = set()
        """Panes whose bell was reported on; tmux reports no further bell until it is off."""
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._ends: list[Callable[[], None]] = []

    def watch(self, pane: str, callback: OnChange) -> Callable[[], None]:
        """Call `callback` with every `PaneChange`, first with the current state; returns a function that ends it."""
        self._watched.setdefault(pane, []).append(callback)
        self._server.connection.watch_pane(pane)
        self._infos.pop(pane, None)
        self._gone.discard(pane)
        if self._task is None:
            self._ends = [
                self._server.connection.on_notification(self._on_notification),
                self._server.connection.on_mode_change(self._on_mode),
            ]
            self._task = keep_on(self._run, "the watch on terminals")
        self._soon(0.0)

        def end() -> None:
            callbacks = self._watched.get(pane, [])
            if callback in callbacks:
                callbacks.remove(callback)
            if not callbacks:
                self._watched.pop(pane, None)

        return end

    def next_output(self, pane: str, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` once, at the first output of the pane from now on; returns a function that calls it off.

        tmux tells of it at once, and of no more until somebody asks again; in chained mode nobody is told.
        """

        def printed(said: bytes) -> None:
            if said:  # nothing: somebody else listens again
                end()
                callback()

        end = self._server.connection.on_output(pane, printed)
        return end

    def watch_keys(self, pane: str, callback: OnKeys) -> Callable[[], None]:
        """Call `callback` when something is typed into the pane from here, with whether Enter is among it.
        Returns a function that ends it. What is typed elsewhere, tmux does not tell."""
        callbacks = self._keys.setdefault(pane, [])
        callbacks.append(callback)

        def end() -> None:
            if callback in callbacks:
                callbacks.remove(callback)
            if not callbacks and self._keys.get(pane) is callbacks:
                del self._keys[pane]

        return end

    def keys_pressed(self, pane: str, *, entered: bool) -> None:
        """Something is typed into the pane."""
        for callback in tuple(self._keys.get(pane, ())):
            callback(entered)

    def info(self, pane: str) -> PaneInfo | None:
        return self._infos.get(pane)

    def check_now(self) -> None:
        """Something may have changed: look now."""
        self._soon(0.0)

    async def close(self) -> None:
        for end in self._ends:
            end()
        self._ends = []
        if self._timer is not None:
            self._timer.cancel()
        task, self._task = self._task, None
        await cancel_and_wait(task)

    # -- when to look ----------------------------------------------------------------------------------------------

    def _on_notification(self, kind: str, rest: str) -> None:
        if kind == "%subscription-changed":
            about, _, value = rest.partition(" : ")
            words = about.split(" ")
            if len(words) > 4 and words[4] in self._watched:
                if words[0] == STATE:
                    if value.startswith("1|"):
                        self._ringing.add(words[4])
                    else:
                        self._ringing.discard(words[4])
                    if not self._renamed(words[4], value):
                        self._soon(_SOON)
                elif words[0] == MOVED:
                    self._moved(words[4], value)
                    self._soon(_SELDOM)
        elif kind in _HINTS:
            self._soon(_SOON)

    def _moved(self, pane: str, at: str) -> None:
        """tmux tells of output once a second; whoever watches the pane hears it before the next look at all panes."""
        before = self._infos.get(pane)
        if before is not None and at.isdecimal() and int(at) != before.activity:
            self._infos[pane] = now = replace(before, activity=int(at))
            self._publish_change(pane, frozenset(("activity",)), now)

    def _renamed(self, pane: str, state: str) -> bool:
        """Whether only the program in front or the title is another one, which tmux has told whole: as a shell's loop
        starts one program after the other."""
        before, parts = self._infos.get(pane), state.split("|")
        if before is None or before.dead or before.bell or len(parts) != STATE_FIELDS:
            return False
        bell, dead, _, _, alternate, program, title = parts
        if (bell, dead, alternate) != ("0", "0", "1" if before.alternate else "0"):
            return False
        now = replace(before, command=program, title=title)
        self._infos[pane] = now
        if what := _different(before, now):
            self._publish_change(pane, frozenset(what), now)
        return True

    def _on_mode(self, mode: Mode, why: str) -> None:
        self._ringing.clear()
        self._soon(_SOON)

    def _soon(self, delay: float) -> None:
        """Look in `delay` seconds, or earlier when that was planned."""
        loop = asyncio.get_running_loop()
        at = loop.time() + delay
        if self._timer is not None and not self._timer.cancelled() and self._timer.when() > loop.time():
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = loop.call_at(at, self._wake.set)

    async def _run(self) -> None:
        connection = self._server.connection
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._server.version()
                connection.start()
                rang = await connection.take_bells() if self._ringing else set[str]()
                for pane in self._compare({info.pane: info for info in await self._server.panes()}, rang):
                    await connection.end_dead_pane(pane)
                    connection.forget_pane(pane)
            except TmuxError as error:
                if error.kind == "gone":
                    self._compare({}, set())
            if connection.mode != "control":
                self._soon(_POLL)
            elif self._awaited() or self._ringing:
                self._soon(_LATER)

    def _awaited(self) -> bool:
        """Whether a program has ended of which it is not known how; for a while one looks again."""
        now = asyncio.get_running_loop().time()
        for pane, info in self._infos.items():
            if not info.dead or info.exit_status is not None:
                self._unknown.pop(pane, None)
            elif now - self._unknown.setdefault(pane, now) < _GIVE_UP:
                return True
        return False

    # -- what is different -----------------------------------------------------------------------------------------

    def _compare(self, found: dict[str, PaneInfo], rang: set[str]) -> list[str]:
        """Report differences; returns the panes that disappeared since the last call."""
        gone: list[str] = []
        for pane in tuple(self._watched):
            before, now = self._infos.get(pane), found.get(pane)
            if now is None:
                if pane not in self._gone:
                    self._gone.add(pane)
                    self._infos.pop(pane, None)
                    gone.append(pane)
                    self._publish_change(pane, frozenset(("gone",)), replace(before or unknown(pane), dead=True))
                continue
            self._gone.discard(pane)
            what: set[What] = {"first"} if before is None else _different(before, now)
            if pane in rang:
                what.add("bell")
            self._infos[pane] = now
            if what:
                self._publish_change(pane, frozenset(what), now)
        return gone

    def _publish_change(self, pane: str, what: frozenset[What], info: PaneInfo) -> None:
        change = PaneChange(pane, what, info)
        for callback in tuple(self._watched.get(pane, ())):
            try:
                callback(change)
            except Exception as error:  # one that fails must not keep the others from being told
                asyncio.get_running_loop().call_exception_handler(
                    {"message": f"a watcher of pane {pane} failed", "exception": error}
                )


def _different(before: PaneInfo, now: PaneInfo) -> set[What]:
    pairs: dict[What, tuple[object, object]] = {
        "dead": ((before.dead, before.exit_status), (now.dead, now.exit_status)),  # the status may come later
        "title": (before.title, now.title),
        "command": (before.command, now.command),
        "activity": (before.activity, now.activity),
        "alternate": (before.alternate, now.alternate),
        "mouse": (before.mouse, now.mouse),
        "size": ((before.width, before.height), (now.width, now.height)),
        "attached": (before.attached, now.attached),
        "session": ((before.session, before.session_id), (now.session, now.session_id)),
    }
    return {what for what, (old, new) in pairs.items() if old != new}
