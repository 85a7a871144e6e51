"""A real hub that runs while a test looks at it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load
from tests.kit.native_agents import EventLog


@asynccontextmanager
async def started_hub(hub: Hub) -> AsyncGenerator[Hub]:
    """The hub, started; it is stopped in the end."""
    await hub.start()
    try:
        yield hub
    finally:
        await hub.stop()


@asynccontextmanager
async def running_hub(cwd: Path, **options: Any) -> AsyncGenerator[Hub]:
    """The hub of a folder with its settings. `options`: of `HubOptions`."""
    async with started_hub(build_hub(HubOptions(cwd=cwd, loaded=load(cwd), **options))) as hub:
        yield hub


@asynccontextmanager
async def heard_hub(cwd: Path, **options: Any) -> AsyncGenerator[tuple[Hub, EventLog]]:
    """The same with all of its events; each of its parts has started."""
    hub = build_hub(HubOptions(cwd=cwd, loaded=load(cwd), **options))
    heard = EventLog(hub.bus)
    async with started_hub(hub):
        assert hub.failed == {}
        yield hub, heard
