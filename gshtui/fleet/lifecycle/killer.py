"""Kills agents, with a grace period in which a kill can be undone.

A killed agent is interrupted, and the processes it started are stopped (SIGSTOP). Its program itself keeps running,
because tmux continues any stopped program of its own. When the grace period is over, or the program has
ended, everything is ended. Called by the fleet.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

import msgspec

from gshtui.bus.agent_data import AT_WORK, AgentRow
from gshtui.bus.agent_reducer import needs_person
from gshtui.bus.events.fleet_events import AgentKilled, AgentRestored
from gshtui.bus.events.hub_events import Noticed
from gshtui.fleet.core.agent_programs import is_known
from gshtui.fleet.core.agent_terminals import ended_changes
from gshtui.fleet.core.fleet_context import FleetContext, is_away, is_over, out_of_reach
from gshtui.fleet.core.ports import FleetError
from gshtui.programs.codex.app_server_launch import socket_of
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.processes import process_tree
from gshtui.system.processes.process_watch import ProcessWatch
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import start_job
from gshtui.text.sanitise import one_line
from gshtui.tmux.tmux_errors import TmuxError

STILL_EVERY, _STILL_RARELY = 0.5, 2.0
"""Seconds until the first look for processes that a killed agent has started since, and most between two: one that was
interrupted starts things at once or not at all, and nothing tells of them."""
END_GRACE = 3.0
"""Seconds that a program has to end by itself."""


class _Wait(msgspec.Struct):
    """A killed agent's grace period."""

    stirred: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    """It was called off, or the agent's program has ended."""
    called_off: bool = False
    task: asyncio.Task[None] | None = None


class Killer:
    """Keeps killed agents stopped, and ends them after their grace period."""

    def __init__(self, context: FleetContext, on_ended: Callable[[AgentRow], Awaitable[None]]) -> None:
        self._context = context
        self._on_ended = on_ended
        self._waiting: dict[str, _Wait] = {}

    async def unsaved(self, row: AgentRow) -> list[str]:
        """What killing the agent now would lose, one sentence per item."""
        if is_over(row):
            return await self._context.launcher.unsaved(row)
        found: list[str] = []
        if row.status in AT_WORK:
            found.append("Its question is not answered." if row.status == "waiting" else "Its turn is not finished.")
        server = str(socket_of(row.argv) or "")
        below = [] if row.place else await asyncio.to_thread(process_tree.below, row.pid, row.pid_started, server)
        # With tools elsewhere, all it has is ssh.
        found += [f"It is running a command: {one_line(line, 120)}." for line in below[:3]]
        return found + await self._context.launcher.unsaved(row)

    async def kill(self, row: AgentRow, *, now: bool) -> AgentRow:
        """Kill it; with `now`, at once and permanently. Raises `FleetError`."""
        if row.killed and not now:
            return row
        if is_away(row):
            raise out_of_reach(row, f"Nothing was ended. Kill it once {row.host} is reached again.")
        grace = self._context.options.grace
        if not now:
            now = not await self._stand(row)
        row = await self._context.rows.change(
            row.id, killed=True, killed_at=row.killed_at or time.time(), needs_you=False, doing="killed"
        )
        self._context.bus.publish(AgentKilled(agent=row.id, until=0.0 if now else row.killed_at + grace))
        if now:
            return await self.end(row)
        self.watch(row)
        return row

    def watch(self, row: AgentRow) -> None:
        """End a killed agent after its grace period, or with its program; until then, stop every process it starts."""
        if row.id not in self._waiting:
            wait = self._waiting[row.id] = _Wait()
            wait.task = start_job(self._later(row, wait), f"the end of {row.id}")

    async def undo(self, row: AgentRow) -> AgentRow:
        """Let a killed agent continue. Raises `FleetError` if it is too late."""
        if not row.killed:
            raise FleetError("invalid", f"{row.name} ({row.id}) was not killed.")
        await self._call_off(row.id)
        row = self._context.rows.get(row.id) or row  # its end may have been under way
        if is_over(row):
            hint = f"`agent restart {row.id}` restarts it."
            raise FleetError("ended", f"{row.name} ({row.id}) has already ended.", hint=hint)
        if row.host:
            try:
                await self._signal_there(row, stop=False)
            except FleetError:
                self.watch(row)
                raise
        else:
            await asyncio.to_thread(process_tree.continue_below, row.pid, row.pid_started)
        row = self._context.rows.get(row.id) or row  # what was seen of it meanwhile
        asks = needs_person(msgspec.structs.replace(row, killed=False))
        row = await self._context.rows.change(row.id, killed=False, killed_at=0.0, doing="", needs_you=asks)
        self._context.bus.publish(AgentRestored(agent=row.id))
        return row

    async def end(self, row: AgentRow) -> AgentRow:
        """End all of the agent's processes permanently. Raises `FleetError` if one cannot be ended."""
        async with self._context.rows.taken(row):  # its terminal is gone before all that it started has ended
            await self.clear(row)
            row = await self._context.rows.change(row.id, **ended_changes(row, None, time.time()), pane="")
        await self._on_ended(row)
        return row

    async def clear(self, row: AgentRow) -> None:
        """Close the agent's terminal and end everything in it; the row stays unchanged. Raises `FleetError`."""
        await self._call_off(row.id)
        try:
            server = self._context.terminals.server(row.socket)
            if row.pane and (await server.pane(row.pane)).pid == row.pid:
                await server.kill_pane(row.pane, grace=END_GRACE)
        except TmuxError as error:
            if error.kind not in ("gone", "no_such_pane"):
                raise FleetError("tmux", error.message, hint=error.hint) from error
        if not await asyncio.to_thread(process_tree.end, row.pid, row.pid_started, END_GRACE):
            raise FleetError("failed", f"Could not end process {row.pid} of {row.name} ({row.id}).")

    async def stop(self) -> None:
        """End all killed agents at once, because after this hub nobody would."""
        waiting = list(self._waiting)
        for id in waiting:
            await self._call_off(id)
        rows = [row for id in waiting if (row := self._context.rows.get(id)) is not None and not is_over(row)]
        await asyncio.gather(*(self.end(row) for row in rows), return_exceptions=True)

    async def _stand(self, row: AgentRow) -> bool:
        """Interrupt its work. Returns whether anything is left that could continue."""
        await self._stop_below(row)
        if not is_known(row):
            return False  # nothing is known that would interrupt this program without ending it
        try:
            await self._context.transport.interrupt(row)
        except FleetError:
            return False
        return True

    async def _stop_below(self, row: AgentRow) -> None:
        """Stop what its program started."""
        if row.host:
            with contextlib.suppress(FleetError):  # out of reach for now: it is looked for again
                await self._signal_there(row, stop=True)
        else:
            await asyncio.to_thread(process_tree.stop_below, row.pid, row.pid_started)

    async def _signal_there(self, row: AgentRow, *, stop: bool) -> None:
        """The same on another machine, or let it go on. Raises `FleetError`."""
        try:
            await self._context.terminals.server(row.socket).signal_below(row.pane, row.pid, stop=stop)
        except TmuxError as error:
            if error.kind not in ("gone", "no_such_pane"):
                raise FleetError("tmux", error.message, hint=error.hint) from error

    async def _later(self, row: AgentRow, wait: _Wait) -> None:
        program = ProcessWatch(wait.stirred.set)
        try:
            grace, pause = self._context.options.grace, STILL_EVERY
            # What is left of it is counted without the clock of the day, which may be set.
            until = time.monotonic() + min(max(row.killed_at + grace - time.time(), 0.0), grace)
            told = not row.host and program.watch([row.pid])
            while (left := until - time.monotonic()) > 0:
                if not row.host and not process_tree.runs(row.pid, row.pid_started):
                    break  # nothing is left that could continue
                await self._stop_below(row)
                with contextlib.suppress(TimeoutError):
                    async with time_limit(min(pause, left)):
                        await wait.stirred.wait()
                if wait.called_off:
                    return
                wait.stirred.clear()
                pause = min(2 * pause, _STILL_RARELY) if told or row.host else STILL_EVERY
            await self.end(row)  # it is still listed: nobody else begins to watch it meanwhile
        except (FleetError, StoreError) as error:
            text = f"{row.name} ({row.id}) was killed, but has not ended: {error.message}"
            self._context.bus.publish(Noticed(level="error", text=text, hint=error.hint, about=row.id))
        else:
            self._context.bus.publish(AgentKilled(agent=row.id))
        finally:
            program.close()
            if self._waiting.get(row.id) is wait:
                del self._waiting[row.id]

    async def _call_off(self, id: str) -> None:
        """Stop waiting for its end, unless that has come; after this, its processes are no longer stopped."""
        wait = self._waiting.get(id)
        if wait is not None and wait.task is not asyncio.current_task():
            del self._waiting[id]
            wait.called_off = True
            wait.stirred.set()
            if wait.task is not None:
                await asyncio.wait([wait.task])  # not cancelled: a look that is under way would still stop it
