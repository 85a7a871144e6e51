"""An agent as it would begin, to look at a first request that nobody has sent yet.

It is made by the hub that the agent itself would have, is asked nothing, and leaves nothing in the record.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gshtui.bus.bus import Bus
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import ALL_PARTS, HubOptions
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.tasks import end_all

if TYPE_CHECKING:
    from gshtui.agents.agent import Agent

BuildHub = Callable[[HubOptions, Bus], Hub]
"""`composition.build_hub`."""
_PARTS = ALL_PARTS - {"socket"}


@asynccontextmanager
async def as_it_begins(hub: Hub, build: BuildHub, agent: str) -> AsyncGenerator[Agent | None]:
    """The agent without a conversation; `None`: what it begins with is not known on this machine. `agent`: the own
    agent of a window in the hub's folder, or the id of one in a terminal.
    """
    options = await _options(hub, agent)
    if options is None:
        yield None
        return
    bus = Bus()
    visitor = build(options, bus)
    try:
        await visitor.start()
        yield visitor.local_agent(agent)
    finally:
        await end_all("the end of a look at an agent", visitor.stop, bus.close)


async def _options(hub: Hub, agent: str) -> HubOptions | None:
    if agent == hub.options.agent and hub.options.native is None:
        return replace(
            hub.options, session="", parts=_PARTS, respondent="person", visiting=True, keeper=False, looks=True
        )
    if hub.store is None:
        return None
    try:
        row = await hub.store.agents.find(agent)
    except StoreError:
        return None
    if row.kind != "native" or row.place:
        return None  # another program, or one whose tools are on another machine
    return await asyncio.to_thread(_native_options, hub.store.path.parent, row.id)


def _native_options(data: Path, agent: str) -> HubOptions | None:
    from gshtui.fleet.native.spec import SpecError, read_spec, spec_path
    from gshtui.hub.native_agent import NativeAgent
    from gshtui.hub.parts.native_part import native_options
    from gshtui.settings.loader import load

    try:
        spec = read_spec(spec_path(data, agent))
    except SpecError:
        return None
    options = native_options(NativeAgent(spec, lambda: False), load(Path(spec.cwd)))
    return replace(options, visiting=True, looks=True)
