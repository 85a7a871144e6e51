"""What a whole hub's agents share: the shell that the person sees, messages between processes, skills."""

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from gshtui.bus.agent_data import SpawnRequest
from gshtui.bus.events.agent_events import ToolFinished, TurnFinished, TurnStarted
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested
from gshtui.bus.events.fleet_events import MessageActed
from gshtui.commands.declaration import CommandError
from gshtui.hub.hub import Hub
from tests.kit.loopback.apis import loopback
from tests.kit.loopback.script import Answer, Call, Say
from tests.kit.loopback.server import Asked
from tests.kit.native_agents import EventLog
from tests.kit.resident import resident
from tests.kit.running_hub import heard_hub
from tests.kit.tmux import wait_for_text

__all__ = ["resident"]
pytestmark = pytest.mark.tmux


@pytest.fixture
def folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "loopback")
    return folder


@contextlib.asynccontextmanager
async def window(
    folder: Path, monkeypatch: pytest.MonkeyPatch, answer: Callable[[str, int], Answer]
) -> AsyncIterator[tuple[Hub, EventLog]]:
    """A whole hub, whose agents are answered by `answer(who, how many requests of theirs came before)`."""
    asked: dict[str, int] = {}

    def choose(request: Asked) -> Answer:
        who = "helper" if "You are helper" in json.dumps(request.body["system"]) else "main"
        asked[who] = asked.get(who, 0) + 1
        return answer(who, asked[who] - 1)

    async with loopback("anthropic", []) as server:
        server.choose = choose
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        async with heard_hub(folder) as (hub, heard):
            yield hub, heard


@pytest.mark.usefixtures("resident")
async def test_an_agent_in_its_own_terminal_reports_and_is_answered(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(who: str, number: int) -> Answer:
        if who == "main":
            return [Say("Look in the cellar.")]
        first = [[Call("report", {"text": "the key is not under the mat"})]]
        talk = [[Call("talk", {"to": "parent", "text": "where is it?", "timeout_s": 20})]]
        return [*first, *talk, [Say("I know now.")]][number]

    async with window(folder, monkeypatch, answer) as (hub, heard):
        assert hub.fleet is not None
        row = await hub.fleet.spawn(
            SpawnRequest(prompt="find the key", name="helper", parent="main", background=True, provider="anthropic")
        )
        report = await heard.wait_for(TurnStarted, agent="main")
        assert report.text.startswith(f"Report from your agent helper ({row.id}).")
        assert "> the key is not under the mat" in report.text
        question = await heard.wait_for(TurnStarted, agent="main", number=2)
        assert "> where is it?" in question.text
        talked = await heard.wait_for(ToolFinished, agent=row.id, tool="talk")
        assert "> Look in the cellar." in talked.content
        assert (await heard.wait_for(TurnFinished, agent=row.id)).text == "I know now."
        assert (await heard.wait_for(MessageActed, agent="main")).sender == row.id
        assert not heard.of(ApprovalRequested)  # a child may speak to its parent
        assert (await hub.run("mail ls")).data == []


async def test_a_command_in_the_shell_that_the_person_sees(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(who: str, number: int) -> Answer:
        return [[Call("terminal", {"command": "echo from the agent"})], [Say("Done.")]][number]

    async with window(folder, monkeypatch, answer) as (hub, heard):
        await hub.run("say to=main go")
        question = await heard.wait_for(ApprovalRequested, agent="main")
        assert "in the shared shell gsh-main" in question.detail
        assert question.pattern == ""
        assert hub.shared_shell is not None
        assert await hub.shared_shell.find() is None  # a question starts nothing
        hub.bus.publish(ApprovalAnswered(approval=question.approval, decision="once"))
        ran = await heard.wait_for(ToolFinished, agent="main", tool="terminal")
        assert (ran.status, ran.content) == ("ok", "from the agent")
        pane = await hub.shared_shell.find()
        assert pane is not None
        await wait_for_text(hub.shared_shell.server, pane.pane, "from the agent")
        assert (await hub.run("terminal echo of the person")).data["output"] == "of the person"
        assert [one["name"] for one in (await hub.run("tmux panes")).data] == ["the shared shell (gsh-main)"]


async def test_an_agent_is_told_of_skills_and_loads_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(who: str, number: int) -> Answer:
        return [[Call("skills", {"action": "load", "name": "cli-orchestration"})], [Say("Read.")]][number]

    async with window(folder, monkeypatch, answer) as (hub, heard):
        await hub.run("say to=main go")
        loaded = await heard.wait_for(ToolFinished, agent="main", tool="skills")
        assert loaded.status == "ok"
        assert "# Driving programs in terminals" in loaded.content
        assert not heard.of(ApprovalRequested)
        with pytest.raises(CommandError, match="no skill"):
            await hub.run("skills load nothing")
