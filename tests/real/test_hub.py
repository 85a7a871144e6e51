"""The hub with its real parts and the offline provider: order, isolation of failing parts, sharing, resuming."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.events.agent_events import (
    MessageAppended,
    ModelChanged,
    PromptBegun,
    PromptSubmitted,
    PromptWithdrawn,
    ToolFinished,
    TurnFinished,
)
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested
from gshtui.bus.events.hub_events import HubStarted, Noticed, PartFailed, PartStarted
from gshtui.bus.events.session_events import SessionChangeRequested, SessionFollowed, SessionOpened
from gshtui.commands.declaration import Caller, CommandError, UsageError
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.providers.port import Provider
from gshtui.settings.loader import load
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.tables.agent_table import AgentTable
from gshtui.store.tables.mail_table import MailTable
from gshtui.store.tables.session_table import SessionTable
from gshtui.system.ids import new_id
from tests.kit.scripted_provider import Recorder


class Opened:
    """A started hub and what it published."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.recorder = Recorder(hub.bus)

    async def ask(self, text: str, timeout: float = 60) -> TurnFinished:
        """Send a prompt and wait for the end of its turn."""
        waiting = self.hub.bus.wait_for(TurnFinished, timeout=timeout)
        self.hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text=text))
        finished = await waiting
        await self.hub.bus.drained()
        return finished

    @property
    def session(self) -> str:
        return self.recorder.of(SessionOpened)[-1].session


Open = Callable[..., Awaitable[Opened]]


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Open]:
    hubs: list[Hub] = []

    async def make(folder: str = "project", **options: Any) -> Opened:
        cwd = tmp_path / folder
        cwd.mkdir(exist_ok=True)
        hub = build_hub(HubOptions(cwd=cwd, loaded=load(cwd), **options))
        hubs.append(hub)
        here = Opened(hub)
        await hub.start()
        await hub.bus.drained()
        return here

    yield make
    for hub in hubs:
        await hub.stop()


async def test_every_part_starts_in_order(opened: Open) -> None:
    here = await opened()
    assert here.hub.failed == {}
    parts = ["store", "guard", "socket", "providers", "agents", "fleet", "shell"]
    assert [e.part for e in here.recorder.of(PartStarted)] == parts
    assert len(here.recorder.of(HubStarted)) == 1
    (model,) = here.recorder.of(ModelChanged)
    assert model.provider == "offline"
    assert "no model" in model.label


async def test_a_turn_with_a_tool_is_recorded_and_resumed(opened: Open, tmp_path: Path) -> None:
    here = await opened()
    (tmp_path / "project" / "notes.txt").write_text("the answer is 42\n")
    finished = await here.ask("read notes.txt")
    assert finished.stop == "end"
    assert "the answer is 42" in finished.text
    await here.hub.stop()
    again = await opened(session="latest")
    assert again.session == here.session
    assert [e.resumed for e in again.recorder.of(SessionOpened)] == [True]
    stored = await again.hub.messages(again.session)
    assert [s.message.role for s in stored] == ["user", "assistant", "tool", "assistant"]
    assert (await again.ask("what failed?")).text == "Nothing failed in this conversation."


async def test_writing_needs_an_answer(opened: Open, tmp_path: Path) -> None:
    here = await opened()

    async def allow() -> None:
        asked = await here.hub.bus.wait_for(ApprovalRequested, timeout=60)
        assert asked.diff
        here.hub.bus.publish(ApprovalAnswered(approval=asked.approval, decision="once"))

    allowing = asyncio.create_task(allow())
    await asyncio.sleep(0)
    await here.ask("write hello.txt: hello there")
    await allowing
    assert (tmp_path / "project" / "hello.txt").read_text() == "hello there\n"
    (result,) = here.recorder.of(ToolFinished)
    assert "+hello there" in result.diff


async def test_what_a_command_does_is_told_and_kept(opened: Open) -> None:
    here = await opened()
    await here.ask("run ls")
    assert [told.reads for told in here.recorder.of(ToolFinished)] == [True]
    stored = await here.hub.messages(here.session)
    assert [result.reads for s in stored for result in s.message.results] == [True]


async def test_a_damaged_folder_costs_the_record_not_the_window(opened: Open, monkeypatch: Any, tmp_path: Path) -> None:
    blocked = tmp_path / "not-a-folder"
    blocked.write_text("in the way")
    monkeypatch.setenv("XDG_DATA_HOME", str(blocked))
    here = await opened()
    assert "store" in here.hub.failed
    (failed,) = [e for e in here.recorder.of(PartFailed) if e.part == "store"]
    assert failed.why
    assert {e.part for e in here.recorder.of(PartFailed) if not e.needs} == {"store"}
    assert {e.part for e in here.recorder.of(PartFailed) if e.needs == "store"} == {"socket", "fleet", "shell"}
    (tmp_path / "project" / "a.txt").write_text("still here\n")
    assert "still here" in (await here.ask("read a.txt")).text


async def test_a_disk_that_is_full_at_the_start_gives_prompts_back_until_there_is_room(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:

        async def refuses(*_: object, **__: object) -> None:
            raise StoreError("full", "The disk is full.", hint="Free some space.")

        for table, name in (
            (SessionTable, "create"),
            (AgentTable, "delete_old"),
            (AgentTable, "adopt"),
            (MailTable, "delete_old"),
        ):
            full.setattr(table, name, refuses)
        here = await opened()
        assert set(here.hub.failed) == {"agents"}, "agents in terminals are looked after once there is room"
        withdrawn = here.hub.bus.wait_for(PromptWithdrawn, timeout=60)
        here.hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text="run echo one"))
        assert (await withdrawn).text == "run echo one"
        await here.hub.bus.drained()
        assert "The prompt was not sent: The disk is full." in [each.text for each in here.recorder.of(Noticed)]
    assert "two" in (await here.ask("run echo two")).text
    assert not here.hub.failed
    assert here.hub.store is not None
    assert [info.messages for info in await here.hub.store.sessions.find_all()] == [4]


async def test_a_second_place_reads_along(opened: Open) -> None:
    first = await opened()
    await first.ask("what failed?")
    second = await opened(session=first.session)
    (event,) = second.recorder.of(SessionOpened)
    assert not event.writable
    assert str(os.getpid()) in event.held_by
    second.hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text="run command true"))
    refused = await second.hub.bus.wait_for(Noticed, lambda e: "reading only" in e.text, timeout=60)
    assert "/clear" in refused.hint
    following = second.hub.bus.wait_for(SessionFollowed, timeout=60)
    await first.ask("files *.txt")
    await following
    await second.hub.bus.drained()
    assert [e.message.role for e in second.recorder.of(MessageAppended)] == ["user", "assistant", "tool", "assistant"]


async def test_a_conversation_can_be_changed_and_left(opened: Open) -> None:
    here = await opened()
    await here.ask("what failed?")
    first = here.session
    here.hub.bus.publish(SessionChangeRequested(agent="main", session="new"))
    changed = await here.hub.bus.wait_for(SessionOpened, timeout=60)
    assert changed.session != first
    here.hub.bus.publish(SessionChangeRequested(agent="main", session="no-such"))
    told = await here.hub.bus.wait_for(Noticed, timeout=60)
    assert "no-such" in told.text
    other = await opened(session=first)
    assert other.recorder.of(SessionOpened)[0].writable


async def test_three_windows_in_three_folders_and_two_in_one(opened: Open, tmp_path: Path) -> None:
    windows = [await opened(folder) for folder in ("one", "two", "three", "three")]
    turns = await asyncio.gather(*(w.ask(f"find needle-{n}") for n, w in enumerate(windows)))
    assert [t.stop for t in turns] == ["end"] * 4
    assert len({w.session for w in windows}) == 4
    for n, window in enumerate(windows):
        stored = await window.hub.messages(window.session)
        assert stored[0].message.text == f"find needle-{n}"
    with sqlite3.connect(windows[0].hub.settings.general.session_dir / "gsh.db") as db:
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)


async def test_commands_run_and_refuse(opened: Open) -> None:
    here = await opened()
    agents = (await here.hub.run("agents")).data
    assert [(a["id"], a["runtime"], a["model"]) for a in agents] == [("main", "local", "offline")]
    assert "main" in (await here.hub.run("/who")).text
    assert "offline" in (await here.hub.run("info")).text
    names = {c["name"] for c in (await here.hub.run("help")).data}
    wanted = "read write edit glob grep bash git_worktree help model config session agents who clear quit info status"
    assert names >= set(wanted.split())
    with pytest.raises(UsageError):
        await here.hub.run("quit", Caller("main", is_agent=True))
    with pytest.raises(CommandError):
        await here.hub.run("read nothing-here.txt")


async def test_headless_parts_only(opened: Open) -> None:
    here = await opened(parts=frozenset({"store"}))
    assert [e.part for e in here.recorder.of(PartStarted)] == ["store"]
    assert (await here.hub.run("session ls")).data == []


async def test_a_providers_sdk_is_loaded_once_when_a_prompt_is_begun(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: asyncio.Queue[str] = asyncio.Queue()

    async def load_sdk(provider: Provider) -> None:
        loaded.put_nowait(provider.name)

    monkeypatch.setattr("gshtui.agents.model_pool.warm", load_sdk)
    here = await opened(provider="offline")
    here.hub.bus.publish(PromptBegun(agent="someone else"))
    await here.hub.bus.drained()
    assert loaded.empty()
    here.hub.bus.publish(PromptBegun(agent="main"))
    assert await asyncio.wait_for(loaded.get(), 30) == "offline"
    await here.ask("what failed?")
    assert loaded.empty()
