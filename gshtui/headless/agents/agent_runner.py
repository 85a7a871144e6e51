"""`gsh-tui agent run --spec FILE`: the process in the terminal of a native agent, and its pane.

The agent itself runs in the hub's process where that takes it, and here else (`hub/faces/native_run.py`). This process
hands over its environment, shows the agent, passes on what the person types and the signals of its terminal, and ends
with the agent's exit status. It goes on with the agent after the hub has crashed or was replaced.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.events.session_events import SessionOpened
from gshtui.client.agent_link import AgentLink, LinkEnd
from gshtui.client.hub_dial import dial, pane_opening
from gshtui.client.linked_bus import LinkedBus
from gshtui.client.pane_protocol import INTENTS, PaneOpening
from gshtui.client.window_protocol import HubLost
from gshtui.fleet.keeper.keeper import running_keeper
from gshtui.fleet.native.outcome import FAILED
from gshtui.fleet.native.spec import Spec, SpecError, read_spec, spec_path
from gshtui.headless.agents.agent_pane.agent_pane import AgentPane
from gshtui.headless.runner import collect_later
from gshtui.headless.streams import complain
from gshtui.system.caller_environment import AGENT
from gshtui.system.processes.processes import kill_calls
from gshtui.system.tasks import end_all

if TYPE_CHECKING:
    from gshtui.hub.faces.native_run import NativeRun

_COMES_WITHIN = 30.0
"""Seconds for a hub to come that is started in place of one that crashed."""
_LOOK_EVERY = 0.05
_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def run_agent(spec_file: Path, *, as_json: bool = False) -> int:
    """Be the agent of this spec until its work is done; gives the exit status.

    `as_json`: its events go to standard output, one a line, in place of the pane.
    """
    try:
        spec = read_spec(spec_file)
    except SpecError as error:
        complain(error.message, error.hint)
        return FAILED
    return asyncio.run(_live(spec, as_json, is_in_place=_is_in_place(spec, spec_file)))


def _is_in_place(spec: Spec, file: Path) -> bool:
    """Whether a hub finds the same spec."""
    with contextlib.suppress(SpecError, OSError):
        return file.samefile(spec_path(Path(spec.data), spec.agent))
    return False


async def _live(spec: Spec, as_json: bool, *, is_in_place: bool) -> int:
    collect_later(asyncio.get_running_loop())
    return await AgentTerminal(spec, as_json=as_json).live(hosted=is_in_place)


class AgentDoor(Protocol):
    """An agent, here or in another process."""

    def take_event(self, event: Event) -> None: ...
    async def run_line(self, line: str) -> str: ...
    def typed(self, something: bool) -> None: ...
    def leave(self) -> None: ...
    def end_by_signal(self, number: int) -> None: ...


class AgentTerminal:
    """See the module's text. Made inside a running loop."""

    def __init__(self, spec: Spec, *, as_json: bool = False) -> None:
        self._spec = spec
        self.bus = LinkedBus(self._publish, self._drained)
        self._link: AgentLink | None = None
        self._had_link = False
        self._run: NativeRun | None = None
        self._waiting: list[Event] = []
        """What the person did while nobody was there to be told."""
        self._signal = 0
        """The first signal to end, 0: none came."""
        self._pane: AgentPane | None = None
        self.bus.subscribe(self._note_session, SessionOpened, name="conversation")
        if as_json:
            self.bus.subscribe(_print, name="standard output")
        else:
            self._pane = AgentPane(spec, self.bus, self._run_line, leave=self._leave, typed=self._typed)

    async def live(self, *, hosted: bool) -> int:
        """From the first word to the last; gives the exit status. `hosted`: the agent may run in the hub's process."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._end_by_signal, number)
        if self._pane is not None:
            self._pane.open()
        try:
            return await (self._live_there() if hosted else self._live_here())
        finally:
            pane = [self._pane.close] if self._pane is not None else []
            await end_all("the end of the agent's terminal", self.bus.drained, *pane, self.bus.close)

    async def _live_there(self) -> int:
        """Run the agent in the hub's process as long as there is one that takes it."""
        end = LinkEnd(comes_again=False, cut=False)
        while not self._signal and await self._connect(end):
            assert self._link is not None
            end = await self._link.live()
            self._link = None
            if end.exit is not None:
                return end.exit
            if end.comes_again is None:
                text = "The hub has ended. The agent goes on from what is in its conversation."
                self.bus.arrive(Noticed(level="warning", text=text, about=self._spec.agent))
        return 128 + self._signal if self._signal else await self._live_here(cut=end.cut)

    async def _connect(self, before: LinkEnd) -> bool:
        """Have a hub take the agent; whether one does. In place of one that is gone, another is started."""
        spec = self._spec
        data = Path(spec.data)
        try:
            place = {"session": spec.session, "cwd": str(Path.cwd())}
            opening = pane_opening(spec.agent, **place, cut=before.cut, environ=os.environ)
            if before.comes_again is False:
                connection = await asyncio.to_thread(dial, opening, lambda: _is_starting(data))
            else:
                connection = await asyncio.to_thread(_connected_to_new, opening, data)
        except (TimeoutError, OSError):
            return False
        if connection is None:
            return False
        self._link = await AgentLink.over(connection, self.bus.arrive, self._connected)
        self._had_link = True
        self._begin(self._link)
        return True

    async def _live_here(self, *, cut: bool = False) -> int:
        """Run the agent in this process."""
        from gshtui.hub.faces.native_run import NativeRun

        spec = await asyncio.to_thread(self._newest_spec)
        run = self._run = NativeRun(spec, self._connected, cut=cut)
        run.bus.subscribe(self._arrive, name="pane")
        self._begin(run)
        end = await run.live()
        return FAILED if end is None else end.exit

    def _newest_spec(self) -> Spec:
        """What it was started with, with what a hub has recorded since, as its mode. Blocks for a moment."""
        spec = self._spec
        if not self._had_link:
            return spec
        try:
            return replace(read_spec(spec_path(Path(spec.data), spec.agent)), session=spec.session)
        except SpecError:
            return spec if spec.mode == "plan" else replace(spec, mode="ask")

    @property
    def _door(self) -> AgentDoor | None:
        return self._link or self._run

    def _publish(self, event: Event) -> bool:
        if self._door is not None:
            self._door.take_event(event)
        elif isinstance(event, INTENTS):
            self._waiting.append(event)
        else:
            return False
        return True

    def _begin(self, door: AgentDoor) -> None:
        """Pass on what came before there was anybody to tell."""
        for event in self._waiting:
            door.take_event(event)
        self._waiting.clear()
        if self._signal:
            door.end_by_signal(self._signal)

    async def _drained(self) -> None:
        if self._run is not None:
            await self._run.bus.drained()

    def _arrive(self, batch: Sequence[Event]) -> None:
        for event in batch:
            self.bus.arrive(event)

    def _note_session(self, batch: Sequence[Event]) -> None:
        """Remember with which conversation another process is to go on."""
        for event in batch:
            if isinstance(event, SessionOpened) and event.agent == self._spec.agent and event.writable:
                self._spec = replace(self._spec, session=event.session)

    def _connected(self, yes: bool) -> None:
        if self._pane is not None:
            self._pane.connected(yes)

    async def _run_line(self, line: str) -> str:
        from gshtui.commands.declaration import CommandError

        if self._door is None:
            raise CommandError("The agent is still starting; try again in a moment.")
        try:
            return await self._door.run_line(line)
        except HubLost as error:
            raise CommandError(str(error)) from error

    def _typed(self, something: bool) -> None:
        if self._door is not None:
            self._door.typed(something)

    def _leave(self) -> None:
        if self._door is not None:
            self._door.leave()
        else:
            self._end_by_signal(signal.SIGHUP)

    def _end_by_signal(self, number: int) -> None:
        if self._signal:
            kill_calls()
            os._exit(128 + number)  # asked twice: it does not end by itself
        self._signal = number
        if self._door is not None:
            self._door.end_by_signal(number)


def _is_starting(data: Path) -> bool:
    keeper = running_keeper(data)
    return keeper is not None and not keeper.ready


def _connected_to_new(opening: PaneOpening, data: Path) -> socket | None:
    """A connection to a hub that is started; `None`: it declines. Blocks. Raises `OSError`, `TimeoutError`.

    Another process starts it, so that it is not below this one: who kills the agent ends what is.
    """
    environ = {name: value for name, value in os.environ.items() if name != AGENT}
    until, declined_by = time.monotonic() + _COMES_WITHIN, None
    while time.monotonic() < until:
        # It starts none as long as the one before is not quite gone.
        with contextlib.suppress(subprocess.SubprocessError):
            subprocess.run(
                [sys.executable, "-m", "gshtui", "hub", "start"],
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_COMES_WITHIN,
                check=False,
            )
        keeper = running_keeper(data)
        if (connected := dial(opening)) is not None:
            return connected
        if keeper is not None and keeper.ready:
            if keeper.process == declined_by:
                return None
            declined_by = keeper.process  # unless it is about to be gone
        time.sleep(_LOOK_EVERY)
    return None


def _print(batch: Sequence[Event]) -> None:
    with contextlib.suppress(OSError):  # nobody reads: the work goes on
        sys.stdout.buffer.write(b"".join(wire.encode(event) for event in batch))
        sys.stdout.buffer.flush()
