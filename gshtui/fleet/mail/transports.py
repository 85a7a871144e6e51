"""How a message reaches its agent: as a prompt in a native agent's inbox, or typed into another program.

Each transport first says whether it can deliver now, and types nothing unless it is sure. A message that may have been
typed raises `DeliveryUnsure` and is never retried automatically. Called by `delivery`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from typing import Literal

import msgspec

from gshtui.bus.agent_data import AT_WORK, ENDED_STATUSES, AgentRow
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import PromptSubmitted
from gshtui.bus.letter import PERSON, Letter
from gshtui.fleet.core.agent_programs import Programs, is_known
from gshtui.fleet.core.agent_terminals import AgentTerminals
from gshtui.fleet.mail.inbox import framed_letter
from gshtui.programs.pane.pane_view import PASSES, SessionError
from gshtui.programs.pane.pane_writer import Whereabouts
from gshtui.programs.session.cli_session import CliSession
from gshtui.programs.status.status import ANIMATED
from gshtui.programs.transcripts.transcript_readers import READERS
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.tmux.readiness import wait_ready
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError

RouteState = Literal["now", "later", "elsewhere", "gone"]
"""later: it is busy, or not linked. elsewhere: another process delivers it. gone: it will never read it."""
STILL, STILL_WITHIN = 1.0, 30.0
"""Seconds without screen changes after which an unknown program counts as ready, and how long to wait for that."""
_RECORD_EVERY, _UNSURE_FOR = 0.5, 3.0
"""Seconds between two looks at a program's own record, and how long it may take to show what the screen does not."""
_EARLIER = 2.0
"""Seconds by which a program's clock may be behind ours: some round the time."""
_NOW = "Wait until it is idle, or send it with `--now`."
TypedCallback = Callable[[Literal["typed", "submitted"]], None]


class NotDeliverable(Exception):
    """Nothing was typed; the message can be retried later. `trouble` says what prevented it."""

    def __init__(self, trouble: SessionError) -> None:
        super().__init__(str(trouble))
        self.trouble = trouble


class DeliveryUnsure(Exception):
    """It may have been typed. The text is a sentence for the person who decides."""


class RecipientGone(Exception):
    """The agent will never read it."""


class Route(msgspec.Struct):
    """The current route to one recipient. `inbox`: it is a native agent, which takes prompts."""

    standing: RouteState
    row: AgentRow | None = None
    inbox: bool = False
    why: str = ""


class BusyAgents(msgspec.Struct):
    """Which agents are working, according to their own reports."""

    working: set[str] = msgspec.field(default_factory=set[str])
    resting: set[str] = msgspec.field(default_factory=set[str])
    said: dict[str, tuple[str, bool]] = msgspec.field(default_factory=dict[str, tuple[str, bool]])
    """Agent → the status that it had last, and whether that is sure: the record has it a moment later."""

    def note(self, agent: str, *, works: bool) -> None:
        """An agent has said so."""
        (self.working if works else self.resting).add(agent)
        (self.resting if works else self.working).discard(agent)


class MailTransports:
    """Both ways, and which one a message goes."""

    def __init__(
        self,
        bus: Bus,
        store: Store,
        terminals: AgentTerminals,
        programs: Programs,
        here: Callable[[str], str],
        connected: Callable[[str], bool],
        visiting: bool = False,
        hosted: bool = False,
    ) -> None:
        """
        Args:
            here: name of an agent that lives in this window → its conversation.
            connected: whether an agent's own hub listens to this hub's bus.
            visiting: nobody connects to this process, which leaves at once.
            hosted: another mail service of this process reaches the agents in terminals.
        """
        self.busy = BusyAgents()
        self._bus = bus
        self._store = store
        self._terminals = terminals
        self._programs = programs
        self._here = here
        self._connected = connected
        self._visiting = visiting
        self.near: tuple[int, ...] = () if hosted else (0, os.getpid())
        """Processes whose agents are reached from here."""
        self._started: set[tuple[str, int]] = set()

    async def route(self, letter: Letter) -> Route:
        """The way that this message would go now. Raises `StoreError`."""
        try:
            row = await self._store.agents.find(letter.recipient)
        except StoreError as error:
            if error.kind != "unknown":
                raise
            row = None
        if row is None:
            return self._to_window(letter)
        if row.owner not in self.near and not (row.speaks_events and self._connected(row.id)):
            return Route("elsewhere", row)
        if row.killed or (row.ended and row.status in ("done", "failed")):
            return Route("gone", row, why=f"{row.name} ({row.id}) has ended.")
        if row.status in ENDED_STATUSES:
            return Route("later", row)  # lost: it may be recovered
        if row.speaks_events:
            return self._to_native(letter, row)
        status, sure = self._status_of(row)
        return Route("later" if letter.defer and sure and status in AT_WORK else "now", row)

    def _status_of(self, row: AgentRow) -> tuple[str, bool]:
        """The last status of a program, and whether it is sure."""
        status = row.status, not row.status_source.endswith("?")
        return self.busy.said.get(row.id, status) if row.owner == os.getpid() else status

    def _to_window(self, letter: Letter) -> Route:
        session = self._here(letter.recipient)
        if not session or (letter.session and letter.session != session):
            return Route("elsewhere")
        busy = letter.defer and letter.recipient in self.busy.working
        return Route("later" if busy else "now", inbox=True)

    def _to_native(self, letter: Letter, row: AgentRow) -> Route:
        if self._visiting:
            return Route("elsewhere", row, inbox=True)  # without a hub it takes its messages out of the record itself
        if not self._connected(row.id):
            return Route("later", row, inbox=True)
        # One that was started for a single task ends when it rests; its own inbox is where a message can wait.
        for_one_task = row.background or bool(row.parent)
        works = row.id in self.busy.working or (row.id not in self.busy.resting and row.status in ("thinking", "tool"))
        return Route("later" if letter.defer and works and not for_one_task else "now", row, inbox=True)

    async def ready(self, letter: Letter, route: Route) -> SessionError | None:
        """What prevents typing into a program's terminal now; `None` if nothing does. Changes nothing."""
        if route.row is None or route.inbox:
            return None
        if letter.defer and self._status_of(route.row)[0] == "quiet" and is_known(route.row):
            return SessionError(
                "quiet", f"{route.row.name} seems to rest, but nothing shows that its turn is over.", _NOW
            )
        session = await self._programs.session(self._terminals.server(route.row.socket), route.row)
        try:
            trouble = await session.obstacle(even_busy=not letter.defer)
        except SessionError as error:
            return error
        # That it has ended the attempt will say; one that starts is waited for.
        starts = letter.defer and route.row.status == "starting" and trouble is not None and trouble.kind == "busy"
        return None if trouble is None or trouble.kind == "ended" or starts else trouble

    async def take_back(self, letter: Letter, route: Route) -> Literal["taken_back", "accepted", "unknown"]:
        """What became of a message whose deliverer was killed; what it left in the input is removed."""
        row = route.row
        if row is None or route.inbox or row.speaks_events or not row.pane or row.status in ENDED_STATUSES:
            return "unknown"
        try:
            session = await self._programs.session(self._terminals.server(row.socket), row)
            text = framed_letter(letter, replies=False, as_code=session.takes_code)
            fate = await session.writer.take_back(text)
        except SessionError:
            return "unknown"
        return "accepted" if fate == "unknown" and await self._is_on_record(row, text, letter.created) else fate

    async def whereabouts(self, letter: Letter, row: AgentRow) -> Whereabouts:
        """Where a message is that was typed into a program and not seen to be taken. Raises `SessionError`."""
        session = await self._programs.session(self._terminals.server(row.socket), row)
        return await session.writer.whereabouts(framed_letter(letter, replies=False, as_code=session.takes_code))

    async def is_taken(self, letter: Letter, row: AgentRow) -> bool:
        """Whether the program has such a message, by its transcript or, where it keeps none, by its screen."""
        text = framed_letter(letter, replies=False)
        if row.profile in READERS:
            return await self._is_on_record(row, text, letter.created)
        session = await self._programs.session(self._terminals.server(row.socket), row)
        try:
            return await session.writer.was_said(text)
        except SessionError:
            return False

    async def is_shell(self, route: Route) -> bool:
        """Whether it is typed at a shell's prompt."""
        return not route.inbox and route.row is not None and (await self._programs.profile(route.row)).shell

    async def taken_up(self, letter: Letter, route: Route, since: float, within: float) -> bool:
        """Whether the program's transcript has the message as a prompt, within so many seconds. `since`: when it was
        typed, in epoch seconds.
        """
        row = route.row
        if row is None or route.inbox or row.profile not in READERS:
            return False
        text = framed_letter(letter, replies=False)
        until = time.monotonic() + within
        while not await self._is_on_record(row, text, since):
            if time.monotonic() > until:
                return False
            await asyncio.sleep(_RECORD_EVERY)
        return True

    async def _is_on_record(self, row: AgentRow, text: str, since: float) -> bool:
        """Whether the program has written down that it was asked this since then (epoch seconds)."""
        if row.profile not in READERS:
            return False
        now = await self._store.agents.find(row.id)  # its conversation may be known by now
        turn = await self._programs.last_turn(now) if now.pid == row.pid else None
        return turn is not None and turn.at >= since - _EARLIER and turn.answers(text)

    async def deliver(self, letter: Letter, route: Route, told: TypedCallback) -> None:
        """Deliver it. Raises `NotDeliverable`, `DeliveryUnsure`, `RecipientGone`."""
        if route.inbox:
            source = letter.sender if letter.sender == PERSON else f"agent {letter.sender}"
            text = framed_letter(letter, replies=True)
            self._bus.publish(
                PromptSubmitted(
                    prompt=letter.id,
                    agent=letter.recipient,
                    text=text,
                    source=source,
                    mode=letter.limit,
                    call=letter.call,
                )
            )
            told("submitted")
            return
        assert route.row is not None
        await self._type(letter, route.row, told)

    async def _type(self, letter: Letter, row: AgentRow, told: TypedCallback) -> None:
        server = self._terminals.server(row.socket)
        session = await self._programs.session(server, row)
        text, began = framed_letter(letter, replies=False, as_code=session.takes_code), time.time()
        try:
            if letter.defer and row.status == "starting" and (row.id, row.pid) not in self._started:
                await session.start()
                self._started.add((row.id, row.pid))
            if letter.defer and not is_known(row) and row.doing != ANIMATED:
                await self._still(server, row)
            await self._send(session, text, told, even_busy=not letter.defer)
        except SessionError as error:
            if error.kind == "ended":
                raise RecipientGone(error.message) from error
            if error.kind in PASSES:
                raise NotDeliverable(error) from error
            if error.kind == "unsure" and await self.taken_up(letter, Route("now", row), began, _UNSURE_FOR):
                told("submitted")
                return
            raise DeliveryUnsure(str(error)) from error

    async def _send(self, session: CliSession, text: str, told: TypedCallback, *, even_busy: bool) -> None:
        """Send it; once more if it was not taken and is certainly out of the input again. Raises `SessionError`."""
        try:
            await session.send(text, told=told, even_busy=even_busy)
        except SessionError as error:
            if error.kind != "untaken":
                raise
            await session.send(text, told=told, even_busy=even_busy)

    async def _still(self, server: TmuxServer, row: AgentRow) -> None:
        """Wait until the screen of a program of which nothing is known has stood still for a moment."""
        try:
            ready = await wait_ready(server, row.pane, pattern=None, idle_seconds=STILL, timeout=STILL_WITHIN)
        except TmuxError as error:
            raise SessionError("terminal", error.message, error.hint) from error
        if ready.reason == "timeout":
            raise SessionError("busy", f"{row.name} is still printing.")
