"""The folders that one hub serves: each with its caller's settings and variables, all on one record."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gshtui.bus.events.hub_events import HubStopped
from gshtui.hub.composition import build_hub
from gshtui.hub.faces import workspaces
from gshtui.hub.faces.workspaces import Workspaces
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load
from gshtui.store.sessions.session_calls import ListSessions


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Hub]:
    hub = build_hub(HubOptions(tmp_path, load(tmp_path), respondent="nobody", parts=frozenset({"store"})))
    await hub.start()
    yield hub
    await hub.stop()


async def test_who_opens_a_folder_with_the_same_shares_it(host: Hub, tmp_path: Path) -> None:
    open_folders = Workspaces(host)
    at_prompt = {"HOME": "/h", "SHLVL": "1"}
    async with (
        open_folders.use(load(tmp_path, environ=at_prompt)) as first,
        open_folders.use(load(tmp_path, environ=at_prompt | {"SHLVL": "2"})) as second,
        open_folders.use(load(tmp_path, environ=at_prompt | {"PATH": "/other"})) as other,
        open_folders.use(load(tmp_path, environ=at_prompt | {"GSH_AGENT__MODE": "plan"})) as stricter,
        open_folders.use(load(tmp_path.parent, environ=at_prompt)) as elsewhere,
    ):
        assert first is second
        assert len({id(hub) for hub in (first, other, stricter, elsewhere)}) == 4
        assert (first.environ["HOME"], other.environ["PATH"]) == ("/h", "/other")
        assert (first.settings.agent.mode, stricter.settings.agent.mode) == (host.settings.agent.mode, "plan")
        assert {id(hub.store) for hub in (first, other, stricter, elsewhere)} == {id(host.store)}
    await open_folders.close()
    assert (await host.call(ListSessions())).sessions == [], "the record is still open"


async def test_one_that_nobody_uses_ends_and_one_in_use_does_not(
    host: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspaces, "UNUSED_FOR", 0.0)
    open_folders = Workspaces(host)
    loaded = load(tmp_path)
    ended = asyncio.Event()
    async with open_folders.use(loaded) as hub:
        hub.bus.subscribe(lambda _: ended.set(), HubStopped, name="test")
        async with open_folders.use(loaded) as shared:
            assert shared is hub
        async with open_folders.use(loaded) as shared:
            assert shared is hub, "it is still in use, so it did not end"
    await ended.wait()
    async with open_folders.use(loaded) as again:
        assert again is not hub
    await open_folders.close()
