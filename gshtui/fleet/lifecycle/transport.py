"""Sends messages to agents through their terminals: pastes one block and presses Enter once the program seems ready.

The fallback where there is no better transport; it never retries a message. Also follows what becomes of messages.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import InterruptRequested, PromptSubmitted
from gshtui.bus.events.fleet_events import MessageSubmitted, MessageTyped
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.letter import Letter
from gshtui.fleet.core.agent_programs import Programs, from_session_error, is_known
from gshtui.fleet.core.agent_terminals import AgentTerminals
from gshtui.fleet.core.fleet_context import (
    FleetContext,
    fleet_errors,
    from_store_error,
    is_away,
    is_over,
    out_of_reach,
    where_it_asks,
)
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.lifecycle.agent_buses import AgentBuses
from gshtui.programs.pane.pane_view import PASSES, SessionError
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.ids import new_id
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.sanitise import one_line
from gshtui.tmux.readiness import wait_ready
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError

DEFER_WITHIN, DEFER_EVERY = 60.0, 0.5
"""Seconds that a message waits for a program that works, and between two attempts."""
COLLECTED_WITHIN, COLLECTED_EVERY = 15.0, 0.02
"""Seconds that a caller who leaves waits for its message to be delivered, and between looks."""
_LOOK = 0.25
"""Seconds between two looks at a turn that is waited for."""
READY_WITHIN = 30.0
"""Seconds that a program may take until it takes words."""
READY_IDLE = 1.0
"""Seconds without a change on its screen after which it is taken for ready."""


class TerminalTransport:
    """Types. Two messages to one agent never mix."""

    def __init__(
        self,
        bus: Bus,
        terminals: AgentTerminals,
        programs: Programs,
        buses: AgentBuses | None = None,
    ) -> None:
        """`buses`: reaches our own agents."""
        self._bus = bus
        self._programs = programs
        self._buses = buses or AgentBuses(bus)
        self._terminals = terminals

    async def send(self, row: AgentRow, text: str, *, sender: str, defer_if_busy: bool) -> str:
        """Give it to one of ours that listens, else type it. Raises `FleetError`."""
        message = new_id()
        if row.speaks_events:
            if not self._buses.connected(row.id):
                raise FleetError("busy", f"{row.name} ({row.id}) is not connected.", hint="Try again in a moment.")
            source = f"agent {sender}" if sender != "person" else sender
            self._bus.publish(PromptSubmitted(prompt=message, agent=row.id, text=text, source=source))
            return message
        if is_away(row):
            raise out_of_reach(row, "Nothing was typed. Send it again once it is back.")
        server = self._terminals.server(row.socket)
        try:
            if defer_if_busy and not is_known(row):
                await wait_ready(server, row.pane, pattern=None, idle_seconds=READY_IDLE, timeout=READY_WITHIN)
        except TmuxError as error:
            raise FleetError("tmux", error.message, hint=error.hint) from error
        typed = MessageTyped(message=message, agent=row.id, sender=sender, text=text)
        await self._tell_program(server, row, text, defer_if_busy, lambda: self._bus.publish(typed))
        self._bus.publish(MessageSubmitted(message=message, agent=row.id, sender=sender, text=text))
        return message

    async def _tell_program(
        self, server: TmuxServer, row: AgentRow, text: str, defer: bool, typed: Callable[[], None]
    ) -> None:
        """Type to a program that is known: never over a draft, into a question, or, where that can wait, into work.

        `typed`: called once the text is in its input.
        """
        session = await self._programs.session(server, row)
        until = time.monotonic() + DEFER_WITHIN

        def told(state: str) -> None:
            if state == "typed":
                typed()

        try:
            if row.status == "starting":
                await session.start()
            while True:
                try:
                    await session.send(text, told=told, even_busy=not defer)
                    return
                except SessionError as error:
                    if not defer or error.kind not in PASSES or time.monotonic() > until:
                        raise
                await asyncio.sleep(DEFER_EVERY)
        except SessionError as error:
            raise from_session_error(error) from error

    async def interrupt(self, row: AgentRow) -> None:
        """Interrupt it: by an event if it is ours, else by its own keys. Raises `FleetError`."""
        if row.speaks_events:
            async with self._buses.reach(row) as bus:
                bus.publish(InterruptRequested(agent=row.id))
            return
        if is_away(row):
            raise out_of_reach(row, "Nothing was pressed. Interrupt it again once it is back.")
        try:
            await (await self._programs.session(self._terminals.server(row.socket), row)).interrupt()
        except SessionError as error:
            raise from_session_error(error) from error


class SentMessages:
    """What becomes of messages sent to agents, and of the turns that handle them. Raises only `FleetError`."""

    def __init__(self, context: FleetContext, refresh: Callable[[], Awaitable[object]]) -> None:
        """`refresh`: looks at the agents now, where nothing follows them."""
        self._context = context
        self._refresh = refresh
        self._told_questions: dict[str, str] = {}
        """Id → what an agent asks, where that was told to whoever waits for it."""

    async def is_queued(self, message: str) -> bool:
        """Whether a message is still waiting; one that was typed at once was never stored."""
        try:
            return (await self._context.store.mail.find(message)).state == "queued"
        except StoreError as error:
            if error.kind == "unknown":
                return False
            raise from_store_error(error) from error

    async def collected(self, message: str) -> None:
        """Wait until a message that an agent can take now has been delivered, for a caller that then leaves."""
        until = time.monotonic() + COLLECTED_WITHIN
        try:
            while (letter := await self._context.store.mail.find(message)).state in ("queued", "typed"):
                if time.monotonic() > until:
                    hint = "It stays queued and is delivered later; `mail drop` withdraws it."
                    raise FleetError("busy", f"{letter.recipient_name} was not ready for the message.", hint=hint)
                await asyncio.sleep(COLLECTED_EVERY)
        except StoreError as error:
            if error.kind != "unknown":  # one that was typed at once was never stored
                raise from_store_error(error) from error
            return
        if letter.state in ("held", "dropped"):
            kind = "ended" if letter.state == "dropped" else "tmux"
            raise FleetError(kind, letter.why, hint="`mail ls` shows it.")

    async def answer_to(self, message: str, timeout: float) -> Letter:
        """Wait until the turn that handles a message is over; the message, with its answer.

        It is not answered if it was dropped or is held, or if its agent ended without a word. Raises `TimeoutError`:
        the turn is not over within `timeout` seconds.
        """
        async with time_limit(timeout):
            while True:
                if (letter := await self.handled(message)) is not None:
                    return letter
                await asyncio.sleep(_LOOK)

    async def handled(self, message: str) -> Letter | None:
        """The message, if the turn that handles it is over, or never will be; `None` while it goes on."""
        letter = await self.letter(message)
        if letter.answered or letter.state in ("dropped", "held"):
            return letter
        row = self._context.rows.get(letter.recipient)
        if row is None or is_over(row):
            return await self.letter(message)  # its end may have answered it in this very moment
        if self._context.options.visiting:
            await self._refresh()
            self._tell_question(row.id)
        return None

    def _tell_question(self, id: str) -> None:
        """Tell whoever waits for an agent that it waits for a person itself, once a question."""
        row = self._context.rows.get(id)
        asks = row.doing if row is not None and row.status == "waiting" else ""
        if row is not None and asks and asks != self._told_questions.get(id):
            text = f"{row.name} ({id}) waits for an answer: {one_line(asks, 80)}"
            self._context.bus.publish(Noticed(level="warning", text=text, hint=where_it_asks(row), about=id))
        self._told_questions[id] = asks

    async def letter(self, message: str) -> Letter:
        """A message that was sent, as it is on record now."""
        with fleet_errors():
            return await self._context.store.mail.find(message)
