"""The whole of it: a hub with its fleet, native agents in a real tmux, questions, reports, nested agents."""

import asyncio
import sys
from pathlib import Path
from typing import cast

import pytest

from gshtui.bus.agent_data import SpawnRequest
from gshtui.bus.events.agent_events import AgentStatusChanged, PromptSubmitted, TurnFinished, TurnStarted
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ApprovalSettled
from gshtui.bus.events.fleet_events import AgentEnded, AgentSpawned, AgentSpawnRequested
from gshtui.bus.events.server_events import ToolServerChanged
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.letter import Letter
from gshtui.commands import execution
from gshtui.commands.declaration import Caller, CommandError, UsageError
from gshtui.fleet.core.agent_calls import AnswerAgent
from gshtui.hub.hub_options import ALL_PARTS
from gshtui.system.ids import new_id
from tests.kit.command import ROOT
from tests.kit.fleet_harness import echo_program
from tests.kit.mcp_turns import configure
from tests.kit.resident import resident
from tests.kit.running_hub import heard_hub, running_hub
from tests.kit.warm_program import run_gsh

__all__ = ["resident"]
pytestmark = pytest.mark.tmux
SCREENS = ROOT / "tests" / "fixtures" / "screens" / "claude" / "2.1.197"
SILENT = (sys.executable, "-m", "tests.kit.fake_agent", "--screens", str(SCREENS), "--work", "0.5", "--mute")
"""A program that reports nothing."""


async def test_spawned_asked_answered_reported(folder: Path, request: pytest.FixtureRequest) -> None:
    configure("[mcp.servers.kit]\ncommand = 'no-such-program'\n")
    request.getfixturevalue("resident")  # a hub that runs would begin anew with them
    async with heard_hub(folder) as (hub, heard):
        asked = "run command echo from-the-pane"
        wanted = SpawnRequest(prompt=asked, provider="offline", background=True, name="Worker")
        hub.bus.publish(AgentSpawnRequested(request=wanted, spawn="w1"))
        row = (await heard.wait_for(AgentSpawned, spawn="w1")).row
        assert (row.kind, row.runtime, row.name) == ("native", "tmux", "worker")
        await heard.wait_for(AgentStatusChanged, agent=row.id, source="event")
        asked = await heard.wait_for(ApprovalRequested, agent=row.id)
        await heard.wait_for(ToolServerChanged, agent=row.id, server="kit", state="failed")
        await hub.bus.drained()
        assert hub.agent_states.servers("kit") == [("worker", "failed")]
        hub.bus.publish(ApprovalAnswered(approval=asked.approval, decision="once"))
        ended = await heard.wait_for(AgentEnded, agent=row.id)
        assert (ended.status, ended.exit_status) == ("done", 0)
        assert "from-the-pane" in ended.report
        await heard.wait_for(ToolServerChanged, agent=row.id, server="kit", state="off")


@pytest.mark.usefixtures("resident")
async def test_a_typed_command_answers_our_own_agent_and_no_agent_does(folder: Path) -> None:
    async with heard_hub(folder) as (hub, heard):
        lines = "run touch one\nrun touch two\nrun touch three"
        hub.bus.publish(AgentSpawnRequested(request=SpawnRequest(prompt=lines, provider="offline", background=True)))
        row = (await heard.wait_for(AgentSpawned)).row
        first = await heard.wait_for(ApprovalRequested, agent=row.id)
        shown = await hub.run(f"agent answer {row.id}")
        assert "asks: bash touch one" in shown.text and "1  allow once" in shown.text and "always" not in shown.text
        assert shown.data["question"]["id"] == first.approval
        with pytest.raises(UsageError, match="for people only"):
            await hub.run(f"agent answer {row.id} 1", Caller(row.id, is_agent=True))
        with pytest.raises(CommandError, match="asks something else now"):
            await hub.call(AnswerAgent(agent=row.id, choice="1", question="another"))
        with pytest.raises(CommandError, match="goes with a denial only"):
            await hub.run(f"agent answer target={row.id} text=1 reason=because")
        for given in (
            {"choice": "deny"},
            {"choice": "1", "question": first.approval},
            {"choice": "1", "yes": True},
            {},
        ):
            call = AnswerAgent.model_validate({"agent": row.id, **given})
            assert await execution.question(hub.registry, call, hub.invocation(Caller())) is None
        unread = AnswerAgent(agent=row.id, choice="yes")
        read = await execution.question(hub.registry, unread, hub.invocation(Caller()))
        assert read is not None and "asks: bash touch one" in read.quoted and "allow once" in read.title
        answered = await hub.call(cast("AnswerAgent", read.agreed))
        assert answered.choice is not None and answered.choice.label == "allow once"
        await heard.wait_for(ApprovalRequested, agent=row.id, number=2)
        await hub.bus.drained()
        await hub.run(f"agent answer target={row.id} text=deny reason='not two'")
        assert heard.of(ApprovalSettled, agent=row.id)[-1].reason == "not two"
        await heard.wait_for(ApprovalRequested, agent=row.id, number=3)
        ran = await asyncio.to_thread(run_gsh, "agent", "answer", row.id, "1", cwd=folder)
        assert (ran.code, ran.out) == (0, f"Answered agent ({row.id}): allow once.\n"), "wherever a person is"
        await heard.wait_for(AgentEnded, agent=row.id)
        with pytest.raises(CommandError, match="has ended"):
            await hub.run(f"agent answer {row.id} 1")
    assert not (folder / "two").exists() and (folder / "three").exists()


@pytest.mark.usefixtures("resident")
async def test_an_agent_starts_an_agent(folder: Path) -> None:
    """The window's agent starts one, which starts another: each is asked about, and reports come back up."""
    async with heard_hub(folder) as (hub, heard):
        hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text="spawn spawn files *.md"))
        for number in (1, 2):
            asked = await heard.wait_for(ApprovalRequested, number=number)
            assert asked.tool == "spawn_agent"
            hub.bus.publish(ApprovalAnswered(approval=asked.approval, decision="once"))
        child = (await heard.wait_for(AgentSpawned)).row
        grandchild = (await heard.wait_for(AgentSpawned, number=2)).row
        assert [(row.parent, row.depth) for row in (child, grandchild)] == [("main", 1), (child.id, 2)]
        turn = await heard.wait_for(TurnFinished, agent="main")
        assert "spawn_agent" in turn.text
        for row in (child, grandchild):
            assert (await heard.wait_for(AgentEnded, agent=row.id)).status == "done"


@pytest.mark.usefixtures("resident")
async def test_the_window_is_closed_and_the_next_one_answers(folder: Path) -> None:
    async with heard_hub(folder) as (hub, heard):
        request = SpawnRequest(prompt="run command echo later", provider="offline", background=True)
        hub.bus.publish(AgentSpawnRequested(request=request))
        row = (await heard.wait_for(AgentSpawned)).row
        await heard.wait_for(ApprovalRequested, agent=row.id)
    async with heard_hub(folder) as (hub, heard):
        asked = await heard.wait_for(ApprovalRequested, agent=row.id)
        hub.bus.publish(ApprovalAnswered(approval=asked.approval, decision="once"))
        ended = await heard.wait_for(AgentEnded, agent=row.id)
        assert ended.status == "done"
        assert "later" in ended.report


@pytest.mark.usefixtures("resident")
async def test_with_no_window_open_a_message_reaches_an_agent_of_ours(folder: Path) -> None:
    """A command sends and leaves; the agent takes the message out of the record."""
    visiting = ALL_PARTS - {"agents", "socket"}
    async with running_hub(folder, parts=visiting) as hub:
        assert hub.fleet is not None and hub.store is not None
        row = await hub.fleet.spawn(SpawnRequest(prompt="files *.md", provider="offline", name="Loner"))
        await hub.fleet.wait(row.id, ["idle"], 20)
        assert (await hub.store.sessions.find(row.session)).title == "files *.md", "its task, not its name again"
        outcome = await hub.run(f"agent send target={row.id} text='find Zanzibar'")
        assert outcome.text == "Sent to loner (0001)."
        letter = await hub.store.mail.find(outcome.data["message"])
        while letter.state != "acted" or not letter.answered:
            letter = await hub.store.mail.find(letter.id)
        assert "Zanzibar" in letter.answer
        now = await hub.fleet.find(row.id)
        texts = [stored.message.text for stored in await hub.store.messages.read(now.session)]
        assert texts.count("find Zanzibar") == 1


async def test_what_was_meant_for_a_cleared_conversation_comes_into_the_new_one(folder: Path) -> None:
    """`/clear` puts the conversation aside, not the agents: a report and a message that waited find the next one."""
    async with heard_hub(folder) as (hub, heard):
        assert hub.fleet is not None and hub.store is not None
        before = (await heard.wait_for(SessionOpened, agent="main")).session
        request = SpawnRequest(cli=echo_program(), parent="main", background=True, name="scout")
        row = await hub.fleet.spawn(request)
        assert row.parent_session == before
        waits = Letter(id=new_id(), sender=row.id, recipient="main", session=before, text="half way", state="held")
        await hub.store.mail.add(waits)
        await hub.run("clear")
        after = await heard.wait_for(SessionOpened, agent="main", number=2)
        assert (after.follows, after.session != before) == (before, True)
        await hub.run(f"mail release message={waits.id}")
        told = await heard.wait_for(PromptSubmitted, agent="main", source=f"agent {row.id}")
        assert "half way" in told.text
        await hub.fleet.send(row.id, "end", defer_if_busy=False)
        report = await heard.wait_for(PromptSubmitted, agent="main", source=f"agent {row.id}", number=2)
        assert "scout (0001) has finished" in report.text
        turn = await heard.wait_for(TurnStarted, agent="main", prompt=report.prompt)
        assert turn.session == after.session


async def test_a_talk_to_a_program_without_hooks_ends_with_what_its_screen_shows(folder: Path) -> None:
    """Nothing but its screen says that its turn is over; whoever talks to it has the answer then."""
    async with heard_hub(folder) as (hub, heard):
        assert hub.fleet is not None and hub.store is not None
        row = await hub.fleet.spawn(SpawnRequest(cli=SILENT, profile="claude", name="silent"))
        await hub.fleet.wait(row.id, ["idle"], 20)
        for number in (1, 2):
            said = await hub.run(f"talk to={row.id} text='question {number}' timeout_s=15")
            assert not said.timed_out
            assert f"Answer number {number}." in said.data["answer"]
            assert f"Answer number {number - 1}." not in said.data["answer"]
        ended = heard.of(TurnFinished, agent=row.id)
        assert [event.text.strip("● \n") for event in ended] == ["Answer number 1.", "Answer number 2."]
        sources = {event.source for event in heard.of(AgentStatusChanged, agent=row.id)}
        assert "hook" not in sources and sources & {"screen", "title"}
        await hub.fleet.kill(row.id, now=True)
