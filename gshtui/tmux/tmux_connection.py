"""How commands reach the server: the current mode, the reason for it, and what a call costs.

`control` is one long-lived client that also reports what happens; `chained` forks for each call; `none`: no server
answers. It falls back and recovers by itself. Used by the mirror, the watcher and every call of `server`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Literal

from gshtui.hosts.host_link import HostLink
from gshtui.system.processes.processes import end_processes
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, keep_on
from gshtui.tmux.client_process import DEADLINE, REMOTE_DEADLINE, OneShotTransport, Reply, TmuxQuestion
from gshtui.tmux.control_client import ControlClient, server_lock
from gshtui.tmux.panes import HIDDEN
from gshtui.tmux.quoting import command, quoted
from gshtui.tmux.tmux_errors import TmuxError

if TYPE_CHECKING:
    import psutil

Mode = Literal["control", "chained", "none"]
OnMode = Callable[[Mode, str], None]
OnNote = Callable[[str, str], None]
OnOutput = Callable[[bytes], None]

_FIRST, _LONGEST = 0.5, 8.0
"""Seconds between attempts to start a control client."""
STATE = "gsh-state"
MOVED = "gsh-moved"
_TOLD = (
    *("window_bell_flag", "pane_dead", "pane_dead_status", "pane_dead_signal", "alternate_on"),
    *("pane_current_command", "pane_title"),
)
STATE_FIELDS = len(_TOLD)
_STATE = "|".join(f"#{{{name}}}" for name in _TOLD)
_MOVED = "#{window_activity}"


class TmuxConnection:
    """The way to one server."""

    def __init__(self, address: Sequence[str], forked: OneShotTransport) -> None:
        self._address = tuple(address)
        self._forked = forked
        self.link: HostLink | None = forked.link
        """The machine that the server is on; `None`: this one."""
        self.may_control = False
        """Whether this tmux can do what the control mode needs."""
        self.mode: Mode = "chained"
        self.why = ""
        """One sentence on why the mode is not `control`."""
        self.cost_ms = 0.0
        """Milliseconds of a call, smoothed."""
        self._control: ControlClient | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._nudged = asyncio.Event()
        self._broken: set[str] = set()
        """Hidden sessions on another machine whose client we lost: they may still be there."""
        self._wanted: dict[str, None] = {}
        self._paused: set[str] = set()
        self._outputs: dict[str, list[OnOutput]] = {}
        self._on_mode_change: list[OnMode] = []
        self._on_note: list[OnNote] = []

    # -- commands --------------------------------------------------------------------------------------------------

    async def ask(
        self, questions: Sequence[str | TmuxQuestion], *, deadline: float = DEADLINE, once: bool = False
    ) -> list[Reply]:
        """Run command lines; returns a reply for each.

        `once`: never retry, since they may have run although no answer arrived. These are sent at once.
        Raises `TmuxError`: gone, timeout, missing. A command that fails reports that in its own reply.
        """
        began = time.perf_counter()
        if self.link is not None:
            deadline = max(deadline, REMOTE_DEADLINE)
        control = self._control
        replies: list[Reply] | None = None
        if control is not None:
            try:
                replies = await control.ask(questions, deadline=deadline, at_once=once)
            except TmuxError:
                if once:
                    raise
        if replies is None:
            replies = await self._forked.ask(questions, deadline=deadline)
            if self.mode == "none":
                self.retry_now()
        spent = 1e3 * (time.perf_counter() - began)
        self.cost_ms = spent if not self.cost_ms else 0.8 * self.cost_ms + 0.2 * spent
        return replies

    def server_lock(self) -> AbstractAsyncContextManager[bool]:
        """Held while a session is created or ended; see `control_client.server_lock`."""
        return server_lock(self._address, self.link)

    # -- the control client ----------------------------------------------------------------------------------------

    @property
    def host(self) -> str:
        """The name of the machine that the server is on; empty: this one."""
        return "" if self.link is None else self.link.name

    def start(self) -> None:
        """Start the control client, and start it again after each failure."""
        if self._keeper is None:
            self._keeper = keep_on(self._keep_connected, "the connection to tmux")

    def retry_now(self) -> None:
        """Something changed (a server was started): try now to start the control client."""
        self._nudged.set()

    async def close(self) -> None:
        keeper, self._keeper = self._keeper, None
        await cancel_and_wait(keeper)

    def on_mode_change(self, callback: OnMode) -> Callable[[], None]:
        """Call with (mode, why) at every change; gives what ends that."""
        return _subscribed(self._on_mode_change, callback)

    def on_notification(self, callback: OnNote) -> Callable[[], None]:
        """Call `callback` with (kind, rest) of every notification except output."""
        return _subscribed(self._on_note, callback)

    def on_output(self, pane: str, callback: OnOutput) -> Callable[[], None]:
        """Call with every piece of output of a pane, as tmux writes it: controls as `\\033`. Without anyone to call, it
        is held back; `b""`: that has ended."""
        self.watch_pane(pane)
        self.resume_output(pane)
        return _subscribed(self._outputs.setdefault(pane, []), callback)

    def watch_pane(self, pane: str) -> None:
        """Have notifications for this pane."""
        if pane not in self._wanted:
            self._wanted[pane] = None
            self._link_pane(pane)

    def forget_pane(self, pane: str) -> None:
        self._wanted.pop(pane, None)
        self._paused.discard(pane)
        if not self._outputs.get(pane):
            self._outputs.pop(pane, None)

    def pause_output(self, pane: str) -> None:
        """Hold back a pane's output: it costs nothing then, and the program is not slowed down."""
        if pane not in self._paused and self._control is not None:
            self._paused.add(pane)
            self._control.run_unanswered(f"refresh-client -A {quoted(f'{pane}:pause')}")

    def resume_output(self, pane: str) -> bool:
        """Resume a pane's output from now on; listeners are notified, since there may have been some meanwhile."""
        if pane not in self._paused:
            return False
        self._paused.discard(pane)
        if self._control is not None:
            self._control.run_unanswered(f"refresh-client -A {quoted(f'{pane}:continue')}")
        for callback in tuple(self._outputs.get(pane, ())):
            callback(b"")
        return True

    async def take_bells(self) -> set[str]:
        """The panes whose bell rang since the last call."""
        if self._control is None:
            return set()
        hidden = f"={self._control.session}:"
        listed, _ = await self.ask(
            [
                command("list-panes", "-s", "-t", hidden, "-F", "#{window_bell_flag} #{pane_id}"),
                command("kill-session", "-C", "-t", hidden),  # which ends nothing: -C quiets
            ]
        )
        return {line[2:] for line in listed.lines if line.startswith("1 ")}

    # -- keeping it ------------------------------------------------------------------------------------------------

    async def _keep_connected(self) -> None:
        wait = _FIRST
        try:
            while True:
                self._nudged.clear()
                if await self._connect_control():
                    wait = _FIRST
                    assert self._control is not None
                    await self._control.lost.wait()
                    lost, self._control = self._control, None
                    self._paused.clear()
                    if self.link is not None:
                        self._broken.add(lost.session)
                    self.notify_mode("chained", "The control client ended.")
                    await lost.close()
                    continue
                with contextlib.suppress(TimeoutError):
                    async with time_limit(wait):
                        await self._nudged.wait()
                wait = min(2 * wait, _LONGEST)
        finally:
            if self._control is not None:
                last, self._control = self._control, None
                await last.close()

    async def _connect_control(self) -> bool:
        if not self.may_control:
            self.notify_mode("chained", "This tmux is older than 3.2.")
            return False
        try:
            # Asked first in a way that can be given up: a server that stands still while a control client comes and is
            # dropped again ends when it goes on (tmux 3.3a), with everything on it.
            await self._forked.ask(["display-message -p ''"])
            control = await ControlClient.connect(self._address, self._on_notification, self.link)
            for name, what in ((STATE, _STATE), (MOVED, _MOVED)):
                control.subscribe(name, what)
        except TmuxError as error:
            self.notify_mode("chained" if error.kind == "refused" else "none", error.message)
            return False
        self._control = control
        self._paused.clear()
        if self.link is None:
            await self._end_orphans(control)
        else:
            await self._end_broken(control, self.link)
        for pane in self._wanted:
            self._link_pane(pane)
        self.notify_mode("control", "")
        return True

    async def _end_orphans(self, control: ControlClient) -> None:
        """End what killed hubs left behind: their clients, then their hidden sessions.

        A client ends by itself when its hub is gone, except when the server had output for it at that moment: tmux
        (3.3a) then waits for ever to deliver it. If the session of such a client ends first, the server crashes at its
        next look for subscriptions, with everything on it.
        """
        clients = command("list-clients", "-F", "#{client_pid} #{client_session}")
        sessions = command("list-sessions", "-F", "#{session_attached} #{session_name}")
        with contextlib.suppress(TmuxError):
            listed, present = await control.ask([clients, sessions])
            orphans = orphaned_clients(listed.lines)
            if not orphans and not _unattended(present.lines):
                return
            async with self.server_lock() as ours:
                if ours:
                    await asyncio.to_thread(end_processes, orphans, force=True)
                    (present,) = await control.ask([sessions])
                    names = _unattended(present.lines)
                    await control.ask([command("kill-session", "-t", f"={name}:") for name in names])

    async def _end_broken(self, control: ControlClient, link: HostLink) -> None:
        """End what broken connections to another machine left there: our own clients, then sessions without any.

        A client there does not know that its connection broke before that machine's network does. A session whose
        client is still listed is not ended, for the reason above; it ends by itself.
        """
        from gshtui.tmux.remote_server import RemoteServer  # only where there is another machine

        clients = command("list-clients", "-F", "#{client_pid} #{client_session}")
        sessions = command("list-sessions", "-F", "#{session_name}")
        with contextlib.suppress(TmuxError):
            (listed,) = await control.ask([clients], deadline=REMOTE_DEADLINE)
            pids = [pid for pid, _, name in (line.partition(" ") for line in listed.lines) if name in self._broken]
            if pids:
                await RemoteServer(link, self._address).end_clients(pids)
            async with self.server_lock() as ours:
                if ours:
                    listed, present = await control.ask([clients, sessions], deadline=REMOTE_DEADLINE)
                    attended = {line.partition(" ")[2] for line in listed.lines}
                    left = {name for name in present.lines if name.startswith(HIDDEN)} - attended
                    ends = [command("kill-session", "-t", f"={name}:") for name in left]
                    await control.ask(ends, deadline=REMOTE_DEADLINE)
                    self._broken &= set(present.lines) - left

    async def end_dead_pane(self, pane: str) -> None:
        """Handle the end of a pane's own session: end the pane if only our client still shows it."""
        control = self._control
        if control is not None:
            (listed,) = await self.ask([command("list-panes", "-s", "-t", f"={control.session}:", "-F", "#{pane_id}")])
            if pane in listed.lines:
                async with self.server_lock():
                    await self.ask([command("kill-pane", "-t", pane)])

    def _link_pane(self, pane: str) -> None:
        if self._control is not None:
            self._control.run_unanswered(f"link-window -d -s {quoted(pane)} -t ={self._control.session}:")

    def notify_mode(self, mode: Mode, why: str) -> None:
        if (mode, why) != (self.mode, self.why):
            self.mode, self.why = mode, why
            for callback in tuple(self._on_mode_change):
                callback(mode, why)

    def _on_notification(self, line: bytes) -> None:
        """A notification. Output is by far the most frequent."""
        if line.startswith(b"%output "):
            behind = line.index(b" ", 8)
            pane = line[8:behind].decode()
            if callbacks := self._outputs.get(pane):
                said = line[behind + 1 :]
                for callback in tuple(callbacks):
                    callback(said)
            else:
                self.pause_output(pane)
            return
        kind, _, rest = line.decode("utf-8", "replace").partition(" ")
        for callback in tuple(self._on_note):
            callback(kind, rest)


def orphaned_clients(listed: Iterable[str]) -> list[psutil.Process]:
    """Control clients whose hub is gone. `listed`: lines of a client's pid and its session, whose name has the pid of
    the hub that started the client.
    """
    import psutil  # not needed for the first screen

    orphans: list[psutil.Process] = []
    for line in listed:
        pid, _, session = line.partition(" ")
        hub = session.removeprefix(HIDDEN).partition("-")[0]
        if session.startswith(HIDDEN) and hub.isdecimal() and pid.isdecimal():
            with contextlib.suppress(psutil.Error):
                client = psutil.Process(int(pid))
                if client.name().startswith("tmux") and client.ppid() != int(hub):
                    orphans.append(client)
    return orphans


def _unattended(listed: Iterable[str]) -> list[str]:
    return [line[2:] for line in listed if line.startswith(f"0 {HIDDEN}")]


def _subscribed(callbacks: list[Callable[..., None]], callback: Callable[..., None]) -> Callable[[], None]:
    callbacks.append(callback)

    def end() -> None:
        if callback in callbacks:
            callbacks.remove(callback)

    return end
