"""What the parts of the fleet share: the bus, the record, the options, the terminals, and the agents' rows in memory.
The rows are kept in sync with the record that all hubs share; writes that can wait are batched.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import msgspec

from gshtui.bus.agent_data import ENDED_STATUSES, AgentRow, SpawnRequest
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import AgentAdded
from gshtui.bus.events.fleet_events import AgentChanged, AgentRemoved
from gshtui.fleet.core.accounts import Accounts
from gshtui.fleet.core.agent_terminals import AgentTerminals
from gshtui.fleet.core.ports import FleetError, FleetOptions, Launcher, MessageTransport
from gshtui.guard.people import people_names
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import start_job

WRITE_EVERY = 0.25
"""Seconds for which changes of figures and statuses are batched before they are written."""


class AgentRows:
    """Agents by id. `load` first; `flush` last."""

    def __init__(self, bus: Bus, store: Store, host: AgentRows | None = None) -> None:
        """`host`: those of the fleet in this process that looks after all agents, where this one does not."""
        self._host = host
        self._bus = bus
        self._store = store
        self._rows: dict[str, AgentRow] = {}
        self._revision = -1
        self._pending: dict[str, dict[str, Any]] = {}
        self._under_way: list[tuple[str, dict[str, Any]]] = []
        """What is being written at this moment."""
        self._reads: list[dict[str, dict[str, Any]]] = []
        """For each read of the record that is under way: what it may come too early to see, by agent."""
        self._writing: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self.between: set[str] = set() if host is None else host.between
        """Agents that are being restarted here: that their terminal is gone says nothing."""
        self._started = set[str]()
        """With a host: the agents that were started here, which it leaves to this fleet."""

    def all(self) -> list[AgentRow]:
        """Every row, ordered by number."""
        return sorted(self._rows.values(), key=lambda row: (len(row.id), row.id))

    def get(self, id: str) -> AgentRow | None:
        return self._rows.get(id)

    async def load(self, *, force: bool = False) -> None:
        """Load what other processes changed. Raises `StoreError`."""
        revision = await self._store.agents.revision()
        if revision == self._revision and not force:
            return
        ours: dict[str, dict[str, Any]] = {}
        for id, fields in (*self._under_way, *self._pending.items()):
            ours.setdefault(id, {}).update(fields)
        self._reads.append(ours)
        try:
            fresh = {row.id: row for row in await self._store.agents.find_all()}
        finally:
            self._reads = [each for each in self._reads if each is not ours]
        self._revision = revision
        for id in [id for id in self._rows if id not in fresh]:
            self.drop(id)
        for id, row in fresh.items():
            self._store_row(msgspec.structs.replace(row, **ours.get(id, {})))

    async def is_stale(self) -> bool:
        """Whether the record has other rows than those in memory. Raises `StoreError`."""
        return await self._store.agents.revision() != self._revision

    async def add(self, row: AgentRow, request: SpawnRequest) -> AgentRow:
        """Add a new row to the record. Raises `StoreError`."""
        row = await self._store.agents.add(row, request, await asyncio.to_thread(people_names))
        if self._host is not None:
            self._started.add(row.id)
            self.between.add(row.id)
        self._store_row(row)
        return row

    def is_ours(self, row: AgentRow) -> bool:
        """Whether this fleet looks after the agent, and no other one of this process or of another."""
        if self._host is not None:
            return row.id in self._started
        return row.owner == os.getpid() and row.id not in self.between

    async def release(self) -> None:
        """Leave the agents of this fleet to whoever looks after them next. Raises `StoreError`."""
        if self._host is None:
            await self._store.agents.release()
        self.between -= self._started
        self._started.clear()

    async def change(self, id: str, **fields: object) -> AgentRow:
        """Change a row; the change is in the record when this returns. Raises `StoreError`."""
        update = self._store.agents.update
        if "name" in fields:
            update = partial(update, people=await asyncio.to_thread(people_names))
        row = await self._change(id, fields, update)
        assert row is not None
        return row

    async def change_unchanged(self, seen: AgentRow, **fields: object) -> AgentRow | None:
        """The same, unless it was restarted or taken over since it was seen; then `None`. Raises `StoreError`."""

        async def update(_id: str, **changes: object) -> AgentRow | None:
            return await self._store.agents.update_unchanged(seen, **changes)

        return await self._change(seen.id, fields, update)

    async def _change(
        self, id: str, fields: dict[str, Any], update: Callable[..., Awaitable[AgentRow | None]]
    ) -> AgentRow | None:
        waiting = self._pending.pop(id, {})
        try:
            with self._writes(id, waiting):
                row = await update(id, **(waiting | fields))
        except BaseException:
            self._pending[id] = waiting | self._pending.get(id, {})
            raise
        if row is not None:
            self._note(id, fields)
            self._store_row(msgspec.structs.replace(row, **self._pending.get(id, {})))
        return row

    @contextlib.asynccontextmanager
    async def taken(self, row: AgentRow) -> AsyncGenerator[None]:
        """Have no hub judge an agent by its terminal while that is exchanged. Raises `StoreError`."""
        ours = row.owner == os.getpid()
        self.between.add(row.id)
        try:
            if not ours:
                await self._store.agents.acquire(row.id)
            yield
        finally:
            self.between.discard(row.id)
            if not ours:
                await self._store.agents.release(row.id)

    def change_soon(self, id: str, fields: dict[str, Any]) -> None:
        """Change a row in memory at once, and in the record soon."""
        row = self._rows.get(id)
        if row is None or not fields:
            return
        self._pending.setdefault(id, {}).update(fields)
        self._note(id, fields)
        self._store_row(msgspec.structs.replace(row, **fields))
        if self._writing is None:
            self._writing = start_job(self._write_soon(), "the record of agents")

    @contextlib.contextmanager
    def _writes(self, id: str, fields: dict[str, Any]) -> Generator[None]:
        entry = (id, fields)
        self._under_way.append(entry)
        try:
            yield
        finally:
            self._under_way = [each for each in self._under_way if each is not entry]

    def _note(self, id: str, fields: dict[str, Any]) -> None:
        """Have no read that began before this take it back."""
        for ours in self._reads:
            ours.setdefault(id, {}).update(fields)

    def drop(self, id: str) -> None:
        """Forget a row that is no longer on the roster."""
        if self._rows.pop(id, None) is not None:
            self._pending.pop(id, None)
            self._bus.publish(AgentRemoved(agent=id))
            self._wake_waiters()

    async def flush(self) -> None:
        """Write all waiting changes. Raises `StoreError`."""
        while self._pending:
            id, fields = self._pending.popitem()
            try:
                with self._writes(id, fields):
                    await self._store.agents.update(id, **fields)
            except StoreError as error:
                if error.kind != "unknown":
                    self._pending[id] = fields | self._pending.get(id, {})
                    raise

    async def wait(self, id: str, matches: Callable[[AgentRow], bool], timeout: float) -> AgentRow:
        """Wait until the row matches; returns it. Raises `TimeoutError`: it did not match within `timeout` seconds;
        `KeyError`: it is not on the roster, or was removed from it.
        """
        async with time_limit(timeout):
            while not matches(row := self._rows[id]):
                changed = self._changed
                await changed.wait()
            return row

    def _store_row(self, row: AgentRow) -> None:
        old = self._rows.get(row.id)
        if old == row:
            return
        self._rows[row.id] = row
        if old is None:
            self._bus.publish(
                AgentAdded(
                    agent=row.id,
                    name=row.name,
                    kind=row.kind,
                    runtime=row.runtime,
                    session=row.session,
                    parent=row.parent,
                    cwd=row.cwd,
                )
            )
        self._bus.publish(AgentChanged(agent=row.id, row=row, at=time.time()))
        self._wake_waiters()

    def _wake_waiters(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _write_soon(self) -> None:
        try:
            await asyncio.sleep(WRITE_EVERY)
            await self.flush()
        except StoreError:
            await asyncio.sleep(4 * WRITE_EVERY)  # busy or full: it stays in memory, and the next change tries again
        finally:
            self._writing = None


@dataclass(frozen=True)
class FleetContext:
    """What every part of the fleet gets; created by `Fleet`."""

    bus: Bus
    store: Store
    rows: AgentRows
    terminals: AgentTerminals
    launcher: Launcher
    make_transport: Callable[[], MessageTransport]
    options: FleetOptions
    accounts: Accounts = field(default_factory=Accounts)

    @cached_property
    def transport(self) -> MessageTransport:
        """Delivers messages; created when the first one is sent."""
        return self.make_transport()

    async def row(self, wanted: str) -> AgentRow:
        """The agent of this id (leading zeros may be missing) or name. Raises `FleetError`: there is none (`unknown`),
        or the record cannot be read (`store`).
        """
        with fleet_errors():
            found = await self.store.agents.find(wanted)
            await self.rows.load()
        row = self.rows.get(found.id)
        return row if row is not None else found


def is_over(row: AgentRow) -> bool:
    """Whether, as far as is known, nothing of the agent is running any more."""
    return bool(row.ended) and row.status in ENDED_STATUSES


def where_it_asks(row: AgentRow) -> str:
    """The command that shows what an agent waits for: a question with its choices, or else the terminal that asks."""
    if row.question is not None or row.speaks_events:
        return f"`agent answer {row.id}` shows the question."
    return f"`agent attach {row.id}` shows its terminal."


def is_recoverable(row: AgentRow) -> bool:
    """Whether it is lost, or was and could not be recovered."""
    return row.status == "lost" or (row.status == "failed" and row.failures > 0)


def is_away(row: AgentRow) -> bool:
    """Whether the machine that it is on cannot be reached now; nothing else is known of it meanwhile."""
    return bool(row.host) and row.status == "lost" and not row.ended


def out_of_reach(row: AgentRow, hint: str = "") -> FleetError:
    """The error for what needs an agent whose machine cannot be reached."""
    hint = hint or f"It is tried again by itself; `host doctor {row.host}` tries now."
    return FleetError("lost", f"{row.name} ({row.id}) is out of reach: {row.doing}.", hint=hint)


def from_store_error(error: StoreError) -> FleetError:
    return FleetError("unknown" if error.kind == "unknown" else "store", error.message, hint=error.hint)


@contextlib.contextmanager
def fleet_errors() -> Generator[None]:
    """Raise the block's errors of the record as the fleet's."""
    try:
        yield
    except StoreError as error:
        raise from_store_error(error) from error
