"""An agent over ACP in its own process: the SDK's own agent behind it, and a hub's relay in front of it."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gshtui.bus.agent_data import AgentRow, ProgramOption, ProgramValue
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import (
    AgentStatusChanged,
    ContextAssembled,
    InterruptRequested,
    MessageAppended,
    ProgramOptionRequested,
    ProgramSessionChanged,
    QuestionAnswered,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    UsageReported,
)
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested
from gshtui.bus.events.context_events import TasksChanged
from gshtui.bus.events.hub_events import Noticed
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.lifecycle.agent_buses import AgentBuses
from gshtui.fleet.lifecycle.answerer import OwnQuestions
from gshtui.fleet.lifecycle.program_options import ProgramOptions
from gshtui.fleet.native.spec import read_spec, write_spec
from gshtui.hub.composition import build_hub
from gshtui.hub.faces.native_run import AgentOutcome, NativeRun
from gshtui.hub.hub_options import KEEPER_PARTS, HubOptions
from gshtui.programs.acp import acp_connection
from gshtui.programs.acp.acp_connection import AcpConnection, AcpError
from gshtui.settings import paths
from gshtui.settings.loader import load
from gshtui.store.record.store import Store
from gshtui.system.processes import process_identity
from tests.kit.native_agents import AGENT, RelayWindow, agent_process, kill, prepare_spec, relay_window, wait_for_exit
from tests.kit.resident import resident_hub
from tests.kit.running_hub import started_hub
from tests.kit.tmux import eventually
from tests.kit.warm_program import ACP, shared

CHILD = (sys.executable, "-m", "tests.kit.acp_agent_child")
FORKED = "tests.kit.acp_agent_child"
pytestmark = pytest.mark.timeout(180)


@pytest.fixture(autouse=True)
def resident(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The hub that runs the agents."""
    with resident_hub(monkeypatch, ACP):
        yield


class Quiet:
    """A client that nothing is told."""

    def take_update(self, update: Any) -> None: ...

    async def answer_request(self, method: str, params: Any) -> None:
        return None

    def note(self, text: str) -> None: ...

    async def caught_up(self) -> None: ...


@dataclass
class Running:
    """An agent over ACP that runs."""

    window: RelayWindow
    process: Any
    folder: Path
    spec: Path

    async def turn(self, text: str, number: int = 1) -> TurnFinished:
        """Send a prompt, and wait for the end of this many turns."""
        self.window.send_prompt(text)
        return await self.window.heard.wait_for(TurnFinished, number=number)

    async def question(self) -> AgentStatusChanged:
        """The first question of the program."""
        asked = await self.window.heard.wait_for(AgentStatusChanged, status="waiting")
        assert asked.question is not None
        return asked


@contextlib.asynccontextmanager
async def running(folder: Path, *arguments: str, **request: Any) -> AsyncGenerator[Running]:
    """The agent, connected, with the example's options."""
    folder.joinpath("notes.txt").write_text("one\n", "utf-8")
    async with relay_window(folder) as window:
        # One that is killed is a process from its start: a fork would not be ended with what asked for it.
        child = CHILD if "--stubborn" in arguments else shared(FORKED, rooms=()).argv(f"{FORKED}:main")
        _, file = prepare_spec(folder, hub=window.relay.socket, acp=(*child, *arguments), **request)
        with agent_process(file, folder, ACP) as process:
            yield Running(window, process, folder, file)


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))


async def test_a_prompt_is_answered_and_recorded(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        await agent.window.heard.wait_for(AgentStatusChanged, status="idle")
        finished = await agent.turn("good morning")
        assert (finished.stop, finished.text) == ("end", "Hello. I know [good morning]")
        heard = agent.window.heard
        assert "".join(event.text for event in heard.of(TextDelta)) == finished.text
        assert [event.message.role for event in heard.of(MessageAppended)] == ["user", "assistant"]
        told = heard.of(ProgramSessionChanged)[-1]
        assert [(option.id, option.value) for option in told.options] == [("mode", "careful")]
        assert read_spec(agent.spec).external == told.external_id != ""


async def test_its_question_has_its_own_choices_and_the_change_is_written_once_allowed(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        agent.window.send_prompt("do:edit it")
        asked = await agent.question()
        question = asked.question
        assert question is not None
        assert [choice.label for choice in question.choices] == ["Do it", "Do it, and all the like", "Leave it"]
        assert "-one" in question.diff and "+two" in question.diff
        agent.window.bus.publish(QuestionAnswered(agent=AGENT, question="another", choice="1"))
        agent.window.bus.publish(QuestionAnswered(agent=AGENT, question=question.id, choice="7"))
        agent.window.bus.publish(QuestionAnswered(agent=AGENT, question=question.id, choice="1"))
        finished = await agent.window.heard.wait_for(TurnFinished)
        assert finished.text == "The answer was yes."
        assert (tmp_path / "notes.txt").read_text("utf-8") == "two\n"
        (done,) = agent.window.heard.of(ToolFinished)
        assert (done.status, done.tool) == ("ok", "edit") and "+two" in done.diff
        assert agent.window.heard.of(ApprovalRequested) == [], "the same change was asked about twice"
        roles = [event.message.role for event in agent.window.heard.of(MessageAppended)]
        assert roles == ["user", "assistant", "tool", "assistant"]


async def test_a_refused_change_is_not_written(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        agent.window.send_prompt("do:edit it")
        asked = await agent.question()
        assert asked.question is not None
        agent.window.bus.publish(QuestionAnswered(agent=AGENT, question=asked.question.id, choice="4"))
        finished = await agent.window.heard.wait_for(TurnFinished)
        assert finished.text == "The answer was no."
        assert (tmp_path / "notes.txt").read_text("utf-8") == "one\n"
        assert agent.window.heard.of(ToolFinished)[0].status == "denied"


@pytest.mark.parametrize("decision", ["once", "deny"])
async def test_a_write_that_it_did_not_ask_about_is_asked_about_by_the_guard(tmp_path: Path, decision: Any) -> None:
    async with running(tmp_path) as agent:
        agent.window.send_prompt("do:write it")
        asked = await agent.window.heard.wait_for(ApprovalRequested)
        assert (asked.tool, asked.subject) == ("write", "made.txt") and "+made" in asked.diff
        agent.window.bus.publish(ApprovalAnswered(approval=asked.approval, decision=decision))
        finished = await agent.window.heard.wait_for(TurnFinished)
        assert (tmp_path / "made.txt").exists() == (decision == "once")
        assert finished.text.startswith("written" if decision == "once" else "refused")


async def test_plan_mode_refuses_its_writes_and_questions_without_a_person(tmp_path: Path) -> None:
    async with running(tmp_path, mode="plan") as agent:
        assert (await agent.turn("do:edit it")).text == "The answer was no."
        assert (await agent.turn("do:write it", 2)).text.startswith("refused")
        assert not (tmp_path / "made.txt").exists()


async def test_it_reads_the_project_but_asks_about_what_is_outside(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        agent.window.send_prompt("do:read them")
        while not (asked := agent.window.heard.of(ApprovalRequested)) or asked[-1].subject != "/etc/hostname":
            number = len(asked)
            asked.append(await agent.window.heard.wait_for(ApprovalRequested, number=number + 1))
            decision = "deny" if asked[-1].subject == "/etc/hostname" else "once"
            agent.window.bus.publish(ApprovalAnswered(approval=asked[-1].approval, decision=decision))
        finished = await agent.window.heard.wait_for(TurnFinished)
        assert finished.text.startswith("read one refused: The person denied")


async def test_a_command_of_its_runs_through_our_guard(tmp_path: Path) -> None:
    async with running(tmp_path, mode="yolo") as agent:
        finished = await agent.turn("do:run it")
        assert finished.text == "exit 0: out of the shell"
        (done,) = agent.window.heard.of(ToolFinished)
        assert "out of the shell" in done.content


async def test_its_plan_is_the_task_list(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        await agent.turn("do:plan it")
        tasks = agent.window.heard.of(TasksChanged)[-1].tasks
        assert [(task.text, task.state) for task in tasks] == [("Look", "done"), ("Leap", "active")]


async def test_its_mode_can_be_set(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        await agent.window.heard.wait_for(AgentStatusChanged, status="idle")
        agent.window.bus.publish(ProgramOptionRequested(agent=AGENT, option="mode", value="nonsense"))
        agent.window.bus.publish(ProgramOptionRequested(agent=AGENT, option="mode", value="quick"))
        number = 2
        while (await agent.window.heard.wait_for(ProgramSessionChanged, number=number)).options[0].value != "quick":
            number += 1
        assert [event.text for event in agent.window.heard.of(Noticed)] == ["mode cannot be nonsense."]


async def test_an_option_is_set_by_its_name_and_counts_once_the_program_has_taken_it(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        told = await agent.window.heard.wait_for(ProgramSessionChanged)
        await agent.window.heard.wait_for(AgentStatusChanged, status="idle")
        row = AgentRow(id=AGENT, name="helper", kind="acp", options=told.options)
        options = ProgramOptions(AgentBuses(agent.window.bus, agent.window.relay.connected))
        mode = options.find(row, "Mode")
        now = await options.set(row, mode, options.value(mode, "QUICK"))
        assert now[0].value == "quick"
        assert await options.set(replace(row, options=now), now[0], options.value(mode, "quick")) == now
        for wrong in (
            lambda: options.find(row, "colour"),
            lambda: options.value(mode, "nonsense"),
            lambda: options.check(AgentRow(id="1", name="ours")),
        ):
            with pytest.raises(FleetError):
                wrong()
        away = ProgramOptions(AgentBuses(agent.window.bus))
        with pytest.raises(FleetError, match="not connected"):
            await away.set(row, mode, options.value(mode, "quick"))


async def test_an_interrupt_ends_the_turn_and_the_next_prompt_is_answered(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        agent.window.send_prompt("do:wait here")
        await agent.window.heard.wait_for(TextDelta)
        agent.window.bus.publish(InterruptRequested(agent=AGENT))
        finished = await agent.window.heard.wait_for(TurnFinished)
        assert (finished.stop, finished.text) == ("interrupted", "I wait. ")
        assert (await agent.turn("and now?", 2)).text.startswith("Hello.")


async def test_an_interrupt_withdraws_the_question(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        agent.window.send_prompt("do:edit it")
        await agent.question()
        agent.window.bus.publish(InterruptRequested(agent=AGENT))
        finished = await agent.window.heard.wait_for(TurnFinished)
        assert finished.stop == "interrupted"
        assert (tmp_path / "notes.txt").read_text("utf-8") == "one\n"


async def test_one_that_dies_in_mid_edit_costs_the_turn_and_goes_on_with_its_session(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        finished = await agent.turn("do:die now")
        assert finished.stop == "error"
        assert "ended with exit status 7" in finished.error
        assert "the disk of this example is full" in finished.error
        (call,) = agent.window.heard.of(ToolFinished)
        assert call.status == "lost"
        again = await agent.turn("still there?", 2)
        assert again.text == "Hello. I know [do:die now][still there?]", "it does not know its session"


async def test_a_killed_agent_continues_its_session_in_another_process(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        await agent.turn("first")
        kill(agent.process)
        with agent_process(agent.spec, tmp_path, ACP):
            again = await agent.turn("second", 2)
            assert again.text == "Hello. I know [first][second]"
            heard = agent.window.heard
            assert not any("OLD WORDS" in event.text for event in heard.of(TextDelta)), "the past was told again"


async def test_another_version_of_the_protocol_is_one_clear_sentence(tmp_path: Path) -> None:
    async with running(tmp_path, "--version", "7") as agent:
        code, _, _ = await wait_for_exit(agent.process)
        assert code != 0
        (why,) = [event.text for event in agent.window.heard.of(Noticed) if event.level == "error"]
        assert "speaks version 7 of the Agent Client Protocol, but gsh-tui speaks 1." in why


async def test_a_program_that_never_answers_costs_one_clear_sentence_and_is_ended(tmp_path: Path) -> None:
    silent = AcpConnection((*CHILD, "--silent"), tmp_path, os.environ, Quiet())
    with pytest.raises(AcpError, match=r"did not answer initialize within 0\.5 s") as failure:
        await silent.start(within=0.5)
    assert failure.value.kind == "timeout"
    await silent.close()
    assert not silent.alive


async def test_a_program_that_is_not_there_is_one_clear_sentence(tmp_path: Path) -> None:
    missing = AcpConnection(("no-such-program",), tmp_path, os.environ, Quiet())
    with pytest.raises(AcpError, match="The program no-such-program was not found"):
        await missing.start()
    await missing.close()


async def test_where_the_protocols_package_is_missing_one_sentence_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a Python for which it has no version."""
    monkeypatch.setattr(acp_connection, "find_spec", lambda _: None)
    asking = AcpConnection(("true",), tmp_path, os.environ, Quiet())
    with pytest.raises(AcpError, match="needs the Python package agent-client-protocol"):
        await asking.start()
    await asking.close()
    assert not asking.alive


async def test_lines_that_are_no_messages_are_skipped_and_told_once(tmp_path: Path) -> None:
    async with running(tmp_path, "--garbage") as agent:
        assert (await agent.turn("hello")).stop == "end"
        (told,) = [event.text for event in agent.window.heard.of(Noticed)]
        assert told.endswith("no message of the protocol: Welcome to the example!")


async def test_a_message_of_50_megabytes_ends_it_in_one_clear_sentence(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        finished = await agent.turn("do:huge words")
        assert finished.stop == "error"
        assert "sent a message of more than 32 MB" in finished.error


async def test_a_flood_of_updates_is_kept_in_order_and_whole(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        finished = await agent.turn("do:flood me")
        assert finished.stop == "end"
        assert finished.text.split() == [str(number) for number in range(5_000)]


async def test_calls_are_shown_before_they_are_asked_about(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        agent.window.send_prompt("do:edit it")
        await agent.question()
        (started,) = agent.window.heard.of(ToolStarted)
        assert (started.tool, started.subject) == ("edit", "Edit notes.txt")


async def test_what_it_has_used_and_offers_is_known(tmp_path: Path) -> None:
    async with running(tmp_path) as agent:
        await agent.turn("first")
        await agent.turn("second", 2)
        heard = agent.window.heard
        used = heard.of(UsageReported)
        assert [(one.usage.context, one.cost) for one in used] == [(42, 0.25), (42, 0.25)]
        full = heard.of(ContextAssembled)[-1]
        assert (full.tokens, full.window) == (600, 1_000)
        (offered,) = heard.of(ProgramSessionChanged)[-1].commands
        assert (offered.name, offered.about, offered.hint) == ("tidy", "Tidies up.", "what to tidy")
        store = await Store.open(paths.data_dir() / "gsh.db")

        async def recorded() -> float:
            return sum(one.cost for one in await store.usage.sums("agent", agent=read_spec(agent.spec).agent))

        await eventually(recorded, until=lambda cost: cost == 0.5)
        await store.close()
        kill(agent.process)
        with agent_process(agent.spec, tmp_path, ACP):  # another process of it, whose program counts anew
            finished = await agent.turn("third", 3)
        assert finished.cost == 0.25


async def test_one_that_cannot_continue_is_told_what_was_said(tmp_path: Path) -> None:
    async with running(tmp_path, "--forgetful") as agent:
        first = await agent.turn("the word is marble")
        kill(agent.process)
        spec = replace(read_spec(agent.spec), session=first.session)  # as the fleet restarts it
        with agent_process(write_spec(spec), tmp_path, ACP):
            again = await agent.turn("what was the word?", 2)
        assert again.cost == 0.25
        assert again.text.index("The person: the word is marble") < again.text.index("what was the word?")
        recorded = [event.message.text for event in agent.window.heard.of(MessageAppended)]
        assert "what was the word?" in recorded


async def test_a_program_that_ends_by_no_polite_means_ends_with_its_agent(tmp_path: Path) -> None:
    async with running(tmp_path, "--stubborn") as agent:
        await agent.window.heard.wait_for(AgentStatusChanged, status="idle")
        pids = [int(pid) for pid in (tmp_path / ".pids").read_text("utf-8").split()]
        assert all(process_identity.start_of(pid) for pid in pids)
        kill(agent.process)

        async def over() -> bool:
            return not any(process_identity.start_of(pid) for pid in pids)

        await eventually(over)


async def test_in_the_hub_its_question_is_answered_and_its_options_are_set(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("one\n", "utf-8")
    spec, _ = prepare_spec(tmp_path, "do:edit it", acp=CHILD)
    row = AgentRow(id=AGENT, name="helper", kind="acp")
    parts, loaded = KEEPER_PARTS, load(tmp_path)
    host = build_hub(HubOptions(cwd=tmp_path, loaded=loaded, respondent="nobody", parts=parts, keeper=True))
    async with started_hub(host):
        await question_is_answered(NativeRun(spec, lambda linked: None, host), row, tmp_path)


async def question_is_answered(run: NativeRun, row: AgentRow, folder: Path) -> None:
    asks = run.bus.wait_for(AgentStatusChanged, lambda event: event.question is not None, timeout=60)
    living = asyncio.ensure_future(run.live())
    asked = (await asks).question
    await run.bus.drained()
    assert asked is not None and run.question == asked
    own = OwnQuestions(run.bus, lambda: run.approvals)
    with pytest.raises(FleetError, match="not an answer"):
        await own.answer(replace(row, question=asked), "7", asked.id, "")
    rests = run.bus.wait_for(AgentStatusChanged, lambda event: event.status == "idle", timeout=60)
    await own.answer(replace(row, question=asked), "1", asked.id, "")
    await rests
    assert (folder / "notes.txt").read_text("utf-8") == "two\n"
    await run.bus.drained()
    assert run.question is None
    options = ProgramOptions(AgentBuses(Bus(), hosted=lambda agent: run if agent == AGENT else None))
    values = (ProgramValue("careful"), ProgramValue("quick"))
    mode = ProgramOption("mode", "mode", "careful", values, "mode", way="mode")
    assert (await options.set(row, mode, values[1]))[0].value == "quick"
    run.leave()
    assert await living == AgentOutcome("done", 0)
