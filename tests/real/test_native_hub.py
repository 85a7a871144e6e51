"""Agents in the resident hub and a window's hub: journal, wishes to start others, prompts, what they may ask for."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.events.agent_events import (
    AgentAdded,
    AgentStatusChanged,
    InterruptRequested,
    MessageAppended,
    PromptSubmitted,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ModeChangeRequested
from gshtui.bus.events.fleet_events import AgentEnded, AgentSpawned, AgentSpawnFailed, AgentSpawnRequested
from gshtui.bus.events.hub_events import PartStarted
from gshtui.bus.events.session_events import SessionOpened
from gshtui.hub.hub import Hub
from tests.kit.native_agents import AGENT, EventLog, agent_process, prepare_spec, relay_window, wait_for_exit
from tests.kit.resident import resident
from tests.kit.running_hub import heard_hub

__all__ = ["resident"]
pytestmark = pytest.mark.usefixtures("resident")
PARTS = frozenset({"store", "guard", "socket", "providers", "agents"})


@contextlib.asynccontextmanager
async def hub_of(folder: Path) -> AsyncIterator[tuple[Hub, EventLog, str]]:
    """A hub without a fleet, what is heard on its bus, and its socket."""
    async with heard_hub(folder, parts=PARTS) as (hub, heard):
        yield hub, heard, hub.socket


async def test_what_an_agent_says_is_in_the_journal_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words")
    async with hub_of(tmp_path) as (hub, heard, socket):
        assert heard.of(PartStarted, part="socket")
        _, file = prepare_spec(tmp_path, "read a.txt", hub=socket, background=True)
        with agent_process(file, tmp_path) as process:
            turn = await heard.wait_for(TurnFinished, agent=AGENT)
            assert (await wait_for_exit(process))[0] == 0
        assert hub.store is not None
        events = [event for _, event in await hub.store.journal.read(turn.session)]
        assert len([event for event in events if isinstance(event, TurnFinished)]) == 1
        assert len([event for event in events if isinstance(event, TurnStarted)]) == 1
        assert (await hub.store.sessions.find(turn.session)).title == "read a.txt", "its task, not its name again"
        state = hub.agent_states.get(AGENT)
        assert state is not None
        assert state.row.runtime == "tmux"
        assert heard.of(AgentStatusChanged, agent=AGENT)[-1].status == "done"


async def test_a_prompt_that_comes_before_its_agent_waits_for_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words")
    async with relay_window(tmp_path) as hub:
        _, file = prepare_spec(tmp_path, hub=hub.relay.socket)
        hub.send_prompt("read a.txt")
        hub.bus.publish(PromptSubmitted(prompt="p2", agent="main", text="not for it"))
        with agent_process(file, tmp_path):
            assert "words" in (await hub.heard.wait_for(TurnFinished)).text
        assert [event.text for event in hub.heard.of(TurnStarted)] == ["read a.txt"]


@pytest.mark.parametrize("answer", ["once", "deny"])
async def test_an_agents_wish_for_another_is_asked_about_here(tmp_path: Path, answer: Any) -> None:
    """The person sees the whole wish; what is started is a child of the asking agent, whatever that one said."""
    async with relay_window(tmp_path) as hub:
        _, file = prepare_spec(tmp_path, "spawn look around", hub=hub.relay.socket, background=True)
        with agent_process(file, tmp_path) as process:
            asked = await hub.heard.wait_for(ApprovalRequested)
            assert (asked.agent, asked.tool) == (AGENT, "spawn_agent")
            assert "look around" in asked.detail
            assert hub.heard.of(AgentSpawnRequested) == []
            hub.bus.publish(ApprovalAnswered(approval=asked.approval, decision=answer))
            if answer == "once":
                wish = await hub.heard.wait_for(AgentSpawnRequested)
                assert (wish.request.parent, wish.request.depth) == (AGENT, 1)
                row = AgentRow(id="0013", name="child", parent=AGENT)
                hub.bus.publish(AgentSpawned(agent="0013", row=row, spawn=wish.spawn))
                hub.bus.publish(AgentEnded(agent="0099", status="done", report="somebody else's"))
                hub.bus.publish(AgentEnded(agent="0013", status="done", report="all is well"))
                assert "all is well" in (await hub.heard.wait_for(TurnFinished)).text
            else:
                assert "denied" in (await hub.heard.wait_for(TurnFinished)).text
                assert hub.heard.of(AgentSpawnRequested) == []
            await wait_for_exit(process)


@pytest.mark.parametrize("answers", [True, False], ids=["a window elsewhere", "a turn of the same folder"])
async def test_no_hub_answers_or_directs_an_agent_whose_folder_nobody_looks_at_there(
    tmp_path: Path, answers: bool
) -> None:
    """Whoever has a hub in this process may know the question's id."""
    (elsewhere := tmp_path / "elsewhere").mkdir()
    async with (
        relay_window(tmp_path) as hub,
        relay_window(elsewhere if answers else tmp_path, answers=answers, circle=hub.relay.circle) as other,
    ):
        _, file = prepare_spec(tmp_path, "run command touch made", hub=hub.relay.socket, background=True)
        with agent_process(file, tmp_path) as process:
            asked = await hub.heard.wait_for(ApprovalRequested)
            other.bus.publish(ModeChangeRequested(agent=AGENT, mode="yolo"))
            other.bus.publish(InterruptRequested(agent=AGENT))
            other.bus.publish(ApprovalAnswered(approval=asked.approval, decision="once"))
            await other.bus.drained()  # so that what it could send is sent before the answer
            hub.bus.publish(ApprovalAnswered(approval=asked.approval, decision="deny"))
            assert "denied" in (await hub.heard.wait_for(TurnFinished)).text
            await wait_for_exit(process)
        assert not (tmp_path / "made").exists() and not other.heard.of(ApprovalRequested)


async def test_what_cannot_be_started_is_told_to_the_agent(tmp_path: Path) -> None:
    async with relay_window(tmp_path) as hub:
        _, file = prepare_spec(tmp_path, "spawn look", hub=hub.relay.socket, background=True)
        with agent_process(file, tmp_path) as process:
            asked = await hub.heard.wait_for(ApprovalRequested)
            hub.bus.publish(ApprovalAnswered(approval=asked.approval, decision="once"))
            wish = await hub.heard.wait_for(AgentSpawnRequested)
            hub.bus.publish(AgentSpawnFailed(why="tmux is not installed.", hint="Install it.", spawn=wish.spawn))
            assert "tmux is not installed" in (await hub.heard.wait_for(TurnFinished)).text
            await wait_for_exit(process)


async def test_an_agent_without_the_tool_cannot_wish(tmp_path: Path) -> None:
    """The explorer is not offered the tool; one that asks all the same over its socket is told no."""
    async with relay_window(tmp_path) as hub:
        _, file = prepare_spec(tmp_path, "spawn look", hub=hub.relay.socket, persona="explore", background=True)
        with agent_process(file, tmp_path) as process:
            assert "not available here" in (await hub.heard.wait_for(TurnFinished)).text
            await wait_for_exit(process)
        _, file = prepare_spec(
            tmp_path, "run command echo hi", hub=hub.relay.socket, persona="explore", agent="0013", background=True
        )
        with agent_process(file, tmp_path) as process:
            assert "not available here" in (await hub.heard.wait_for(TurnFinished, agent="0013")).text
            await wait_for_exit(process)
        assert hub.heard.of(ApprovalRequested) == []


async def test_a_new_window_has_the_agents_of_its_folder_with_their_state(tmp_path: Path) -> None:
    """The first window is closed; the second hears who is there, in which conversation, and can go on with it."""
    (tmp_path / "a.txt").write_text("words")
    async with relay_window(tmp_path) as first:
        _, file = prepare_spec(tmp_path, "read a.txt", hub=first.relay.socket)
        stack = contextlib.ExitStack()
        stack.enter_context(agent_process(file, tmp_path))
        await first.heard.wait_for(TurnFinished)
        session = (await first.heard.wait_for(SessionOpened)).session
    with stack:
        async with relay_window(tmp_path) as second:
            added = await second.heard.wait_for(AgentAdded)
            assert (added.agent, added.name, added.runtime) == (AGENT, f"agent-{AGENT}", "tmux")
            opened = await second.heard.wait_for(SessionOpened)
            assert (opened.session, opened.resumed) == (session, True)
            second.send_prompt("what failed?")
            assert (await second.heard.wait_for(TurnFinished)).stop == "end"
            texts = [event.message.text for event in second.heard.of(MessageAppended)]
            assert texts[0] == "what failed?", "what the first window had is not told again"
    await asyncio.sleep(0)
