"""Native agents that run in this process, for terminals: each has a hub of its own here, on the host's record.

Its pane is drawn here, too: the process in its terminal (`agent_terminal.py`) hands over its environment, prints what
is drawn, and says what is typed. The agent ends with it, as a process does with its terminal. When this process is
about to end, its agents stop between turns, and go on in the next one.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from gshtui.bus.event import Event
from gshtui.bus.events.session_events import SessionOpened
from gshtui.client.window_protocol import Surroundings
from gshtui.fleet.native.spec import Spec, SpecError, read_spec, spec_path
from gshtui.headless.agents.agent_pane.pane_screen import DrawingTurns, PaneScreen
from gshtui.hub.faces.face_host import FaceHost
from gshtui.hub.faces.face_outbox import FaceOutbox
from gshtui.hub.faces.native_run import NativeRun
from gshtui.hub.hub import Hub
from gshtui.settings.loader import load
from gshtui.shell.hub_listener import HubConnection
from gshtui.shell.line_stream import BadLine
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.caller_environment import Inherited, working_for
from gshtui.system.tasks import report, start_job
from gshtui.text.sanitise import CleanText

if TYPE_CHECKING:
    from gshtui.headless.agents.agent_pane.agent_pane import AgentPane


class PaneKept(msgspec.Struct, frozen=True, kw_only=True):
    """What the terminal keeps for whoever goes on with the agent."""

    session: str = ""
    """The conversation that it has; empty: the one that it was started with."""
    draft: str = ""
    """What is typed and not sent."""


class PaneOpening(Surroundings, frozen=True, kw_only=True):
    """Which agent it is, and where."""

    agent: str
    spec: str
    """The file that it was started with."""
    output: Literal["pane", "lines", "json"] = "pane"
    """A drawn pane, its lines alone, or the agent's events."""
    size: tuple[int, int] = (100, 40)
    """Columns and rows."""
    kept: PaneKept = PaneKept()
    again: bool = False
    """Its pane was drawn before."""
    lost: bool = False
    """The hub that ran it has ended without a word."""
    cut: bool = False
    """Its turn was cut, or may have been, as the process that ran it ended."""


_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_MATCHES_WITHIN = 2.0
"""Seconds for the record to say which process is in an agent's terminal."""
_LOOK_EVERY = 0.05
_encoder = msgspec.json.Encoder()


class AskedAgents(FaceHost):
    """Handles connections of the kind `pane`.

    Attributes:
        comes_again: whether another process like this one follows it.
    """

    def __init__(self, host: Hub) -> None:
        super().__init__(host)
        self.comes_again = False
        host.hosted = self._run_of
        self._panes: dict[HubConnection, _Pane] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._closing = False
        self._latest: dict[str, asyncio.Task[Any] | None] = {}
        """Who serves an agent, or did so last."""
        self._turns = DrawingTurns()

    @property
    def open(self) -> bool:
        """Whether there are agents."""
        return bool(self._serving)

    @property
    def works(self) -> bool:
        """Whether a turn is in progress."""
        return any(pane.run is not None and pane.run.working for pane in self._panes.values())

    def asked(self, connection: HubConnection, fields: dict[str, Any]) -> None:
        """Start an agent, or handle what its pane says."""
        pane = self._panes.get(connection)
        if pane is not None:
            pane.handle_message(fields)
            return
        opening = self.opening(PaneOpening, fields)
        pane = self._panes[connection] = _Pane(connection, opening, self.inherited(opening), self._turns)
        task = start_job(self._serve(connection, pane), "an agent")
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    def disconnected(self, connection: HubConnection) -> None:
        """Its terminal is gone, and so is the agent."""
        if (pane := self._panes.pop(connection, None)) is not None:
            pane.hang_up()

    async def rest(self) -> None:
        """Wait until no turn is in progress."""
        while working := [pane for pane in self._panes.values() if pane.run is not None and pane.run.working]:
            await working[0].turned()

    async def close(self) -> None:
        """Stop all agents, to go on elsewhere, and wait until they have recorded what they have."""
        self._closing = True
        for pane in self._panes.values():
            if pane.run is not None:
                pane.run.detach()
        while self._serving:
            await asyncio.wait(self._serving)

    async def _serve(self, connection: HubConnection, pane: _Pane) -> None:
        try:
            spec = await self._spec_of(connection, pane.opening)
        except Exception as error:  # of this opening alone
            report("the opening of an agent's pane", error)
            spec = "it cannot be opened"
        try:
            if isinstance(spec, str):
                pane.send(declined=spec)
            elif self._closing:
                pane.send(declined="the hub is about to end")
            elif self._run_of(pane.opening.agent) is not None:
                pane.send(declined="it runs already")
            elif connection in self._panes:
                before = self._latest.get(spec.agent)  # whose terminal is gone, and which is about to end
                self._latest[spec.agent] = asyncio.current_task()
                with working_for(pane.opening.environ, inherited=pane.inherited):
                    await pane.serve(spec, self.host, before)
                if pane.end is None:
                    pane.send(detached=self.comes_again, cut=pane.cut)
                else:
                    pane.send(ended=pane.end)
        finally:
            pane.outbox.close()

    def _run_of(self, agent: str) -> NativeRun | None:
        """An agent that runs here."""
        runs = (pane.run for pane in self._panes.values() if pane.opening.agent == agent)
        return next((run for run in runs if run is not None), None)

    async def _spec_of(self, connection: HubConnection, opening: PaneOpening) -> Spec | str:
        """What the agent was started with, or why it is not to run here."""
        if why := await self.stranger(connection, "an agent asks for another one", opening.agent):
            return why
        data = self.host.settings.general.session_dir
        try:
            spec = await asyncio.to_thread(lambda: _spec(spec_path(data, opening.agent), opening.spec))
        except SpecError as error:
            return error.message
        if not await self._is_in_its_terminal(connection, opening.agent):
            return "the record names another process as the agent's"
        loaded = await asyncio.to_thread(load, Path(opening.cwd), environ=opening.environ)
        if why := self.difference(opening, loaded):
            return why
        session = await self._session_of(opening)
        return msgspec.structs.replace(spec, session=session) if session else spec

    async def _is_in_its_terminal(self, connection: HubConnection, agent: str) -> bool:
        """Whether the process is the one that the fleet has started for the agent, if it has started it."""
        until = time.monotonic() + _MATCHES_WITHIN
        while self.host.store is not None:
            try:
                row = await self.host.store.agents.find(agent)
            except StoreError as error:
                return error.kind == "unknown"
            if not (row.ended or row.killed) and row.pid in (0, connection.peer.pid):
                return True
            if time.monotonic() > until:
                return False
            await asyncio.sleep(_LOOK_EVERY)
        return False

    async def _session_of(self, opening: PaneOpening) -> str:
        """The conversation that the agent goes on with, if it is one of its own; empty: none."""
        if not opening.kept.session or self.host.store is None:
            return ""
        try:
            found = await self.host.store.sessions.find(opening.kept.session)
        except StoreError:
            return ""
        return found.id if found.agent == opening.agent else ""


class _Pane:
    """An agent here, and its terminal at the other end of the connection.

    Attributes:
        end: the agent's exit status; `None`: it has not ended.
        cut: its turn was cut when it stopped here.
    """

    def __init__(
        self, connection: HubConnection, opening: PaneOpening, inherited: Inherited, turns: DrawingTurns
    ) -> None:
        self.opening = opening
        self.inherited = inherited
        self.outbox = FaceOutbox(connection)
        self._turns = turns
        self.run: NativeRun | None = None
        self.end: int | None = None
        self.cut = False
        self._session = opening.kept.session
        self._taken = 0
        """Bytes of keys."""
        self._screen = PaneScreen(self._show, opening.size, is_terminal=opening.output == "pane")
        self._pane: AgentPane | None = None

    def send(self, **fields: object) -> None:
        """Send one line."""
        self.outbox.put(_encoder.encode(fields) + b"\n")

    async def serve(self, spec: Spec, host: Hub, before: asyncio.Task[Any] | None) -> None:
        """Be the agent until its end, once the one before has given its conversation free."""
        run = self.run = NativeRun(
            spec, self._connected, host, again=bool(self.opening.kept.session), cut=self.opening.cut
        )
        self.send(begins=True)
        run.bus.subscribe(self._note_session, SessionOpened, name="conversation")
        if self.opening.output == "json":
            run.bus.subscribe(self._pass_on, name="standard output")
        else:
            self._open_pane(spec, run)
        try:
            if before is not None and not before.done():
                await asyncio.wait([before])
            end = await run.live()
        finally:
            if self._pane is not None:
                self._pane.close()
            self.run, self.cut = None, run.was_cut
        self.end = None if end is None else end.exit

    def handle_message(self, fields: dict[str, Any]) -> None:
        """What the terminal's process says. Raises `BadLine`."""
        run, pane = self.run, self._pane
        if run is None:
            return  # it is on its way to its end
        match fields:
            case {"keys": str() as keys, "at": float() as at} if pane is not None:
                with working_for(self.opening.environ, inherited=self.inherited):
                    pane.type(keys.encode("latin-1", "replace"), at)
                self._taken += len(keys)
                self._keep()
            case {"size": [int() as columns, int() as rows]}:
                self._screen.resize((columns, rows))
            case {"drawn": int() as number, "at": float() as at}:
                self._screen.note_seen(number, at)
            case {"signal": int() as number} if number in _ENDING:
                run.end_by_signal(number)
            case _:
                raise BadLine("a terminal sends keys, its size, what it has drawn, and how its agent is to end")

    def hang_up(self) -> None:
        """There is no terminal any more."""
        if self.run is not None:
            self.run.end_by_signal(signal.SIGHUP)

    async def turned(self) -> None:
        """Wait for the end of a turn, or of all."""
        if self.run is not None:
            await self.run.turned()

    def _open_pane(self, spec: Spec, run: NativeRun) -> None:
        from gshtui.headless.agents.agent_pane.agent_pane import HUB_LOST, AgentPane  # a hub begins without one

        opening = self.opening
        self._pane = AgentPane(
            spec,
            run.bus,
            self._screen,
            run.run_line,
            intend=run.take_event,
            leave=run.leave,
            typed=run.typed,
            draft=opening.kept.draft,
            goes_on=opening.again,
            turns=self._turns,
        )
        self._pane.open()
        if opening.lost:
            self._pane.show_notice(HUB_LOST)

    def _connected(self, linked: bool) -> None:
        if self._pane is not None:
            self._pane.connected(linked)

    def _show(self, text: CleanText) -> None:
        self.send(show=text, clear=self._screen.clear)

    def _note_session(self, batch: Sequence[Event]) -> None:
        """Remember with which conversation another process is to go on."""
        for event in batch:
            if isinstance(event, SessionOpened) and event.agent == self.opening.agent and event.writable:
                self._session = event.session
        self._keep()

    def _keep(self) -> None:
        """Have the terminal keep what another hub would need."""
        draft = "" if self._pane is None else self._pane.draft
        self.send(keep=PaneKept(session=self._session, draft=draft), taken=self._taken)

    def _pass_on(self, batch: Sequence[Event]) -> None:
        self.outbox.put(*batch)


def _spec(file: Path, theirs: str) -> Spec:
    """The spec of an agent, if it is also the one that its terminal was started with. Raises `SpecError`."""
    spec = read_spec(file)
    try:
        if file.samefile(theirs):
            return spec
    except OSError:
        pass
    raise SpecError("it was started with another spec")
