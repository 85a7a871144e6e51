"""The mounts of a hub's virtual file system: each part contributes those whose files it knows, when it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gshtui.bus.agent_data import AgentRow
from gshtui.hub import hub_sources
from gshtui.hub.hub import Hub
from gshtui.vfs import Mount, as_file_error

if TYPE_CHECKING:
    from gshtui.context.commands.context_mount import ContextMount
    from gshtui.context.commands.context_router import ContextRouter
    from gshtui.fleet.commands.agents_mount import PersonHere
    from gshtui.store.record.store import Store


def mount_record(hub: Hub, store: Store) -> None:
    """`/memory` and `/agents`."""

    def memory() -> Mount:
        from gshtui.agents.memory.memory_mount import MemoryMount

        return MemoryMount(store.memory, hub.offers.things.get(hub_sources.memory_owners))

    def agents() -> Mount:
        from gshtui.context.commands.context_router import ContextAccess
        from gshtui.fleet.commands.agents_mount import AgentsMount

        access = ContextAccess(store.agents.find)
        return AgentsMount(
            lambda: agent_rows(hub, store), lambda: _people(hub, store), access, lambda: _contexts(hub, store)
        )

    hub.files.mount("memory", memory)
    hub.files.mount("agents", agents)


def mount_calls(hub: Hub, store: Store) -> None:
    """`/calls`, where there are some."""

    def calls() -> Mount:
        from gshtui.calls.call_mount import CallMount
        from gshtui.vfs import FileError

        make = hub.make_calls
        if make is None:
            raise FileError("missing", "No calls here.")
        return CallMount(make, store.calls)

    hub.files.mount("calls", calls)


def mount_contexts(hub: Hub, store: Store, contexts: ContextRouter) -> None:
    """`/context`."""
    hub.files.mount("context", lambda: _context_mount(hub, store, contexts))


def _contexts(hub: Hub, store: Store) -> ContextMount | None:
    return None if hub.contexts is None else _context_mount(hub, store, hub.contexts)


def _context_mount(hub: Hub, store: Store, contexts: ContextRouter) -> ContextMount:
    from gshtui.context.commands.context_mount import ContextMount
    from gshtui.context.commands.context_router import ContextAccess

    async def names() -> list[str]:
        return [row.name for row in await agent_rows(hub, store)]

    return ContextMount(contexts, ContextAccess(store.agents.find), names)


async def _people(hub: Hub, store: Store) -> list[PersonHere]:
    """Who sits here, and those who came in from elsewhere. Raises `FileError`."""
    from gshtui.bus.letter import PERSON
    from gshtui.calls.call_service import person_name
    from gshtui.fleet.commands.agents_mount import PersonHere
    from gshtui.store.engine.store_errors import StoreError

    try:
        names = {PERSON: "", **await store.calls.people()} | {PERSON: person_name(hub.settings.general.name)}
        seen = await store.calls.presences()
    except StoreError as error:
        raise as_file_error(error) from error
    found: list[PersonHere] = []
    for member, name in names.items():
        last = seen.get(member)
        found.append(PersonHere(name) if last is None else PersonHere(name, last.call, last.at, last.doing))
    return found


async def agent_rows(hub: Hub, store: Store) -> list[AgentRow]:
    """The agents of this hub's folder: those of this process, the one that a line is for, and those in terminals.
    Raises `FileError`: the record cannot be read.
    """
    from gshtui.bus.agent_reducer import local_row
    from gshtui.fleet.core.agent_states import window_agents
    from gshtui.fleet.core.ports import FleetError
    from gshtui.store.engine.store_errors import StoreError

    cwd = str(hub.options.cwd)
    rows: dict[str, AgentRow] = {}
    if hub.options.native is None:
        nobody = msgspec.structs.replace(local_row(hub.options.agent, 0.0), status="offline", status_source="record")
        rows[hub.options.agent] = nobody
    try:
        await hub.look_at_agents()
        rows |= {state.row.id: state.row for state in await window_agents(store, cwd)}
        rows |= {state.row.id: state.row for state in hub.agent_states.local()}
        known = await store.agents.find_all()
    except (StoreError, FleetError) as error:
        raise as_file_error(error) from error
    rows |= {row.id: row for row in known if row.home == cwd and not row.archived}
    if hub.fleet is not None and hub.options.visiting:
        rows |= {row.id: row for row in hub.fleet.rows(everywhere=False)}
    return list(rows.values())
