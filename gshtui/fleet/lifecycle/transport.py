"""Sends messages to agents through their terminals: pastes one block and presses Enter once the program seems ready.

The fallback where there is no better transport; it never retries a message.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import InterruptRequested, PromptSubmitted
from gshtui.bus.events.fleet_events import MessageSubmitted, MessageTyped
from gshtui.fleet.core.agent_programs import Programs, from_session_error, is_known
from gshtui.fleet.core.agent_terminals import AgentTerminals
from gshtui.fleet.core.fleet_context import is_away, out_of_reach
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.lifecycle.agent_buses import AgentBuses
from gshtui.programs.pane.pane_view import PASSES, SessionError
from gshtui.system.ids import new_id
from gshtui.tmux.readiness import wait_ready
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError

DEFER_WITHIN, DEFER_EVERY = 60.0, 0.5
"""Seconds that a message waits for a program that works, and between two attempts."""
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
