"""Compares the roster with what really runs, at the start, on each change and every few seconds, and corrects rows.
It catches up on native agents that had no hub meanwhile by reading the journals that they write themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.agent_reducer import apply_event
from gshtui.bus.events.agent_events import AgentStatusChanged
from gshtui.bus.events.hub_events import Noticed
from gshtui.fleet.core import agent_terminals
from gshtui.fleet.core.agent_programs import Programs
from gshtui.fleet.core.fleet_context import FleetContext, is_away, is_over
from gshtui.fleet.keeper.keeper import running_keeper
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.files.folder_watch import until_calm_look
from gshtui.system.processes.process_identity import start_of
from gshtui.system.processes.process_watch import ProcessWatch
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import attempt, cancel_and_wait, keep_on

_PAGE = 1_000
"""Events that are read at once."""
_FIGURES = ("provider", "model", "window", "context", "tokens", "cost", "report", "needs_you", "options")


class JournalReader:
    """Remembers how far each journal was read."""

    def __init__(self, context: FleetContext, connected: Callable[[str], bool]) -> None:
        """`connected`: whether an agent's own hub talks to this hub now."""
        self._context = context
        self._connected = connected
        self._read: dict[str, tuple[int, AgentRow]] = {}

    async def update_row(self, row: AgentRow) -> None:
        """Bring the row up to what its journal says. Raises `StoreError`."""
        if not row.speaks_events or not row.session or self._connected(row.id):
            self._read.pop(row.id, None)
            return
        blank = msgspec.structs.replace(row, tokens=0, cost=None, context=0, needs_you=False)
        after, told = self._read.get(row.id, (0, blank))
        while page := await self._context.store.journal.read(row.session, after=after, limit=_PAGE):
            for position, event in page:
                after = position
                if getattr(event, "agent", "") == row.id:
                    told = apply_event(told, event)
        self._read[row.id] = (after, told)
        now = self._context.rows.get(row.id)
        if now is not None and after:
            self._context.rows.change_soon(row.id, _news(now, told))


def _news(row: AgentRow, told: AgentRow) -> dict[str, Any]:
    fields = {name: getattr(told, name) for name in _FIGURES if getattr(told, name) != getattr(row, name)}
    if told.status_at > row.status_at:
        fields |= {"status": told.status, "status_at": told.status_at, "doing": told.doing, "status_source": "journal"}
    return fields


_APART = 2.0
"""Seconds from one look to the next that only a change of the record causes."""
LOOK_EVERY = 2.0
"""Seconds between two looks while agents are at work."""
IDLE_LOOK_EVERY = 5.0
"""Seconds between two looks at the record alone, while none is."""
_NOTICED_WITHIN, _GONE_LOOK_EVERY = 10.0, 0.2
"""Seconds within which another process notices that one of its agents has ended, and between two looks for that."""
OnRow = Callable[[AgentRow], Awaitable[None]]


def _seems_gone(row: AgentRow) -> bool:
    """Whether its process has ended, and the process that looks after it has yet to notice."""
    other = row.owner not in (0, os.getpid()) and not row.host
    return other and bool(row.pid) and not is_over(row) and row.status != "lost" and start_of(row.pid) is None


class Reconciler:
    """Looks; `start` and `stop` bracket its own looking."""

    def __init__(
        self,
        context: FleetContext,
        catch_up: JournalReader,
        programs: Programs,
        *,
        on_ended: OnRow,
        on_killed: Callable[[AgentRow], None],
    ) -> None:
        self._context = context
        self._catch_up = catch_up
        self._programs = programs
        self._on_ended = on_ended
        self._on_killed = on_killed
        self.on_look: Callable[[list[AgentRow]], Awaitable[None]] | None = None
        """Told after each look which agents of this hub are alive, within reach and not killed."""
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._asked = False
        self._looked = 0.0
        self._processes: ProcessWatch | None = None
        self._unwatch: Callable[[], None] = lambda: None
        self._looking = asyncio.Lock()

    def start(self) -> None:
        """Go on looking until `stop`."""
        self._processes = ProcessWatch(self.check_now)
        self._unwatch = self._context.store.changes.on_change(self._wake.set)
        self._task = keep_on(self._watch, "the watch on agents")

    async def stop(self) -> None:
        """Look no more."""
        self._unwatch()
        if self._processes is not None:
            self._processes.close()
        await cancel_and_wait(self._task)

    def check_now(self) -> None:
        """Something has changed: look now."""
        self._asked = True
        self._wake.set()

    async def find_lost(self) -> list[AgentRow]:
        """One look. Returns the rows that turned out to be lost. Raises `StoreError`."""
        async with self._looking:
            rows, options = self._context.rows, self._context.options
            before = {row.id for row in rows.all() if not is_over(row)}
            # That a hub has died is written nowhere; reading the rows again finds it out.
            others = any(row.owner not in (0, os.getpid()) for row in rows.all())
            await rows.load(force=others)
            if not options.visiting:
                await self._adopt()
            mine = [row for row in rows.all() if self._is_mine(row)]
            for row in mine:
                if is_over(row) and row.id in before:
                    # another process ended it; who waits for that is here
                    await attempt(f"the end of {row.id}", self._on_ended(row), StoreError)
            for row in mine:
                if row.killed and not is_over(row) and not is_away(row) and not options.visiting:
                    self._on_killed(row)
            alive = [row for row in mine if not is_over(row)]
            seen = await self._context.terminals.probe(alive) if alive else {}
            for row in alive:
                await attempt(f"the journal of {row.id}", self._catch_up.update_row(row), StoreError)
            lost: list[AgentRow] = []
            for agent in alive:
                probe = self._record_probe(agent, seen[agent.id])
                if (row := await attempt(f"the watch on {agent.id}", probe, StoreError)) is not None:
                    lost.append(row)
            left = [row for before in alive if (row := rows.get(before.id)) is not None and not is_over(row)]
            if options.visiting:
                await self._glance(left)
            elif self.on_look is not None:
                await self.on_look([row for row in left if not row.killed and row.status != "lost"])
            return lost

    async def find_all_lost(self) -> list[AgentRow]:
        """As `find_lost`, also of agents that another process looks after.

        What ended them may be about to end that process, too (they all live in one tmux server): it has some time to
        write it down, or to leave that to this one. Raises `StoreError`.
        """
        until, lost = time.monotonic() + _NOTICED_WITHIN, list[AgentRow]()
        while True:
            lost += await self.find_lost()
            if time.monotonic() > until or not any(map(_seems_gone, self._context.rows.all())):
                return lost
            await asyncio.sleep(_GONE_LOOK_EVERY)

    async def _adopt(self) -> None:
        """Take over the agents that nobody looks after; a window takes its folder's over from the keeper, too.

        To take one over costs its status, its screen and its transcript being read anew, here and again in the keeper:
        what ends soon leaves that to the keeper, where one runs.
        """
        rows, options = self._context.rows, self._context.options
        if options.hosted:
            return
        home = None if options.everywhere else str(options.home)
        near = [row for row in rows.all() if home is None or row.home == home]
        others = {row.owner for row in near} - {0, os.getpid()}
        asked = not options.everywhere and (others or (options.brief and near))
        keeper = running_keeper(options.data) if asked else None
        if options.brief and keeper is not None:
            return
        over = keeper.process if keeper is not None and keeper.process.pid in others else None
        if over is not None or any(not row.owner for row in near):
            await self._context.store.agents.adopt(home, over)
            await rows.load()

    async def _glance(self, rows: list[AgentRow]) -> None:
        """Read the status of unsupervised programs from their screens."""
        for row in rows:
            if row.kind == "cli" and row.pane and not row.killed:
                server = self._context.terminals.server(row.socket)
                fields = await self._programs.glance(server, row)
                if fields:
                    self._context.rows.change_soon(row.id, fields | {"status_at": time.time()})
                id = await self._programs.conversation(server, row, self._context.rows.all())
                if id and id != row.external_id:
                    self._context.rows.change_soon(row.id, {"external_id": id})

    def _is_mine(self, row: AgentRow) -> bool:
        """Whether this process is the one that writes about the row."""
        options = self._context.options
        if self._context.rows.is_ours(row):
            return True
        if row.id in self._context.rows.between:
            return False
        return options.visiting and not row.owner

    async def _record_probe(self, before: AgentRow, seen: agent_terminals.PaneProbe) -> AgentRow | None:
        """Write down what was seen of one row; the row, when it is lost by that."""
        context = self._context
        row = context.rows.get(before.id)
        if row is None or not self._is_mine(row) or row.pid != before.pid or row.pane != before.pane or is_over(row):
            return None  # it was restarted or ended while its terminal was looked at
        if not (fields := agent_terminals.probed_changes(row, seen, time.time())):
            return None
        row = await context.rows.change_unchanged(row, **fields)
        if row is None:
            return None  # by another process
        status = (
            "lost"
            if row.status == "lost"
            else "failed"
            if row.status == "failed"
            else "done"
            if is_over(row)
            else "quiet"
            if row.status == "quiet"
            else "idle"
        )
        source = "process?" if status == "quiet" else "process"
        context.bus.publish(AgentStatusChanged(agent=row.id, status=status, source=source, doing=row.doing))
        if is_over(row):
            await self._on_ended(row)
        return row if row.status == "lost" else None

    async def _watch(self) -> None:
        failed = False
        while True:
            timed_out = not await self._woken(IDLE_LOOK_EVERY if failed else self._pause())
            try:
                if not (timed_out or self._asked) and not await self._news():
                    continue
                self._asked = False
                self._looked = time.monotonic()
                self.tell_lost(await self.find_lost())
                failed = False
            except StoreError:
                failed = True  # the record says by itself that it cannot be read; what is known stays

    async def _woken(self, within: float) -> bool:
        """Whether something was told within so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with time_limit(within):
                await self._wake.wait()
        woken = self._wake.is_set()
        self._wake.clear()
        return woken

    async def _news(self) -> bool:
        """Whether a row was changed. Looks that only this causes are some time apart."""
        if not await self._context.rows.is_stale():
            return False
        while not self._asked and (left := self._looked + _APART - time.monotonic()) > 0:
            await self._woken(left)
        return True

    def _pause(self) -> float:
        """Seconds until the next look, if nothing is told before by terminals, processes and changes of the record."""
        rows = [row for row in self._context.rows.all() if not is_over(row)]
        told = self._context.store.changes.works and self._processes is not None
        if not told:
            return LOOK_EVERY if rows else IDLE_LOOK_EVERY
        me = os.getpid()
        changing = any(
            row.owner == me and (row.kind != "cli" or row.status_source == "spawn" or row.status == "lost")
            for row in rows
        )
        pids = {row.pid for row in rows if row.owner == me and row.pid and not row.host}
        pids |= {row.owner for row in rows} - {0, me}
        assert self._processes is not None
        return LOOK_EVERY if not self._processes.watch(pids) or changing else until_calm_look()

    def tell_lost(self, lost: list[AgentRow]) -> None:
        """Say who is gone, once for all of them."""
        away = [row for row in lost if is_away(row)]
        for host in sorted({row.host for row in away}):
            here = [row for row in away if row.host == host]
            text = f"Out of reach: {', '.join(f'{row.name} ({row.id})' for row in here[:6])}; {here[0].doing}."
            hint = f"It is tried again by itself; `host doctor {host}` tries now."
            self._context.bus.publish(Noticed(level="warning", text=text, hint=hint, about="agents"))
        lost = [row for row in lost if row not in away]
        if not lost:
            return
        names = ", ".join(f"{row.name} ({row.id})" for row in lost[:6]) + (" …" if len(lost) > 6 else "")
        text = f"Lost: {names}; {lost[0].doing}." if len(lost) == 1 else f"{len(lost)} agents are lost: {names}."
        which = lost[0].id if len(lost) == 1 else "all"
        hint = f"`agent recover {which}` restores {'it' if len(lost) == 1 else 'them, one at a time'}."
        self._context.bus.publish(Noticed(level="warning", text=text, hint=hint, about="agents"))
