"""A native agent in the hub, its terminal's process, and a window's relay: real processes and a real record."""

import asyncio
from pathlib import Path

import msgspec
import psutil
import pytest

from gshtui.bus.events.agent_events import (
    AgentAdded,
    AgentStatusChanged,
    InterruptRequested,
    MessageAppended,
    ModelChanged,
    ModelChangeRequested,
    PromptWithdrawn,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
)
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ApprovalSettled
from gshtui.bus.events.session_events import SessionOpened
from gshtui.fleet.native.spec import write_spec
from gshtui.settings import paths
from gshtui.store.record.store import Store
from tests.kit.endings import closing_async
from tests.kit.native_agents import (
    AGENT,
    DEADLINE,
    agent_process,
    hub_process,
    kill,
    prepare_spec,
    relay_window,
    wait_for_exit,
)
from tests.kit.resident import keeper_pid, resident
from tests.kit.warm_program import run_gsh

__all__ = ["resident"]
pytestmark = pytest.mark.usefixtures("resident")


async def test_from_spawn_to_report(tmp_path: Path) -> None:
    """Status events, words and a tool over the link; a question relayed, answered, and the report."""
    async with relay_window(tmp_path) as hub:
        _, file = prepare_spec(tmp_path, "run command echo over-there", hub=hub.relay.socket, background=True)
        with agent_process(file, tmp_path) as process:
            begun = await hub.heard.wait_for(AgentStatusChanged, agent=AGENT)
            assert begun.status in ("starting", "thinking"), "the later one may stand for both"
            asked = await hub.heard.wait_for(ApprovalRequested, agent=AGENT)
            assert "echo over-there" in asked.detail or "echo over-there" in asked.subject
            await hub.heard.wait_for(AgentStatusChanged, agent=AGENT, status="waiting")
            hub.bus.publish(ApprovalAnswered(approval=asked.approval, decision="once"))
            turn = await hub.heard.wait_for(TurnFinished, agent=AGENT)
            code, _, err = await wait_for_exit(process)
        assert (code, err) == (0, "")
        assert "over-there" in turn.text
        statuses = [event.status for event in hub.heard.of(AgentStatusChanged, agent=AGENT)]
        assert "idle" not in statuses[: statuses.index("thinking")], "whoever waits for idle waits for its answer"
        settled = await hub.heard.wait_for(ApprovalSettled, approval=asked.approval)
        assert settled.decision == "once"
        assert (await hub.heard.wait_for(ToolFinished, agent=AGENT)).status == "ok"
        assert await hub.heard.wait_for(AgentStatusChanged, agent=AGENT, status="done")
        opened = await hub.heard.wait_for(SessionOpened, agent=AGENT)
        said = "".join(delta.text for delta in hub.heard.of(TextDelta, agent=AGENT))
        assert said == turn.text
        appended = [event.message.id for event in hub.heard.of(MessageAppended, agent=AGENT)]
        assert len(appended) == len(set(appended)) == 4
    async with closing_async(await Store.open(paths.data_dir() / "gsh.db")) as store:
        kept = await store.messages.read(opened.session)
        assert [one.message.id for one in kept] == appended
        assert await store.sessions.latest(str(tmp_path)) is None, "an agent's conversation is not the folder's latest"
        assert not (await store.sessions.find(opened.session)).held_by
        assert await store.check() == []


async def test_the_person_speaks_to_it_and_stops_it(tmp_path: Path) -> None:
    """An agent that a person started stays: prompts, an interrupt and another model go over the link."""
    async with relay_window(tmp_path) as hub:
        _, file = prepare_spec(tmp_path, hub=hub.relay.socket)
        with agent_process(file, tmp_path) as process:
            await hub.heard.wait_for(AgentStatusChanged, agent=AGENT, status="idle")
            hub.send_prompt("run command sleep 300")
            asked = await hub.heard.wait_for(ApprovalRequested)
            hub.bus.publish(ApprovalAnswered(approval=asked.approval, decision="once"))
            await hub.heard.wait_for(AgentStatusChanged, agent=AGENT, status="tool")
            hub.bus.publish(InterruptRequested(agent=AGENT))
            assert (await hub.heard.wait_for(TurnFinished)).stop == "interrupted"
            hub.bus.publish(ModelChangeRequested(agent=AGENT, provider="offline", model="offline"))
            assert (await hub.heard.wait_for(ModelChanged, number=2)).provider == "offline"
            hub.send_prompt("what failed?")
            assert (await hub.heard.wait_for(TurnFinished, number=2)).stop == "end"
            assert process.poll() is None
            process.terminate()
            code, _, err = await wait_for_exit(process)
        assert (code, err) == (128 + 15, "")
        last = hub.heard.of(AgentStatusChanged, agent=AGENT)[-1]
        assert (last.status, last.doing) == ("failed", "ended by SIGTERM")


async def test_without_any_window_it_works_and_its_question_waits(tmp_path: Path) -> None:
    """The question is asked of the window that comes later; what was said meanwhile comes with it, each once."""
    (tmp_path / "a.txt").write_text("words")
    _, file = prepare_spec(tmp_path, "read a.txt\nrun command echo late", hub="", background=True)
    with agent_process(file, tmp_path) as process:
        store = await Store.open(paths.data_dir() / "gsh.db")
        await _asked(store)
        assert process.poll() is None
        async with relay_window(tmp_path) as hub:
            asked = await hub.heard.wait_for(ApprovalRequested)
            hub.bus.publish(ApprovalAnswered(approval=asked.approval, decision="once"))
            assert "late" in (await hub.heard.wait_for(TurnFinished)).text
            assert (await wait_for_exit(process))[0] == 0
            messages = [event.message.id for event in hub.heard.of(MessageAppended)]
            assert len(messages) == len(set(messages)) == 4
            starts = [event.call for event in hub.heard.of(ToolStarted)]
            assert len(starts) == len(set(starts)) == 2
        await store.close()


async def _asked(store: Store) -> None:
    """Wait until the journal says that a question was asked."""
    async with asyncio.timeout(DEADLINE):
        while True:
            for info in await store.sessions.find_all(empty=True):
                if any(isinstance(event, ApprovalRequested) for _, event in await store.journal.read(info.id)):
                    return
            await asyncio.sleep(0)


async def test_a_face_that_does_not_answer_hears_no_agents_of_others(tmp_path: Path) -> None:
    """A command without a person is a hub too; an agent that it did not start waits for a window."""
    async with relay_window(tmp_path, answers=False) as headless:
        _, file = prepare_spec(tmp_path, "run command echo hi", background=True)
        with agent_process(file, tmp_path) as process:
            async with relay_window(tmp_path) as hub:
                asked = await hub.heard.wait_for(ApprovalRequested)
                hub.bus.publish(ApprovalAnswered(approval=asked.approval, decision="deny", reason="not now"))
                assert "not now" in (await hub.heard.wait_for(TurnFinished)).text
                await wait_for_exit(process)
        assert headless.heard.events == []


async def test_the_window_is_killed_in_the_middle_of_a_turn(tmp_path: Path) -> None:
    """The agent goes on, its next question waits, and the folder's next window gets it with all that came since."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    started, go_on = tmp_path / "started", tmp_path / "go-on"
    lines = f"run touch {started}; until [ -e {go_on} ]; do sleep 0.02; done\nrun command echo after-the-kill"
    async with hub_process(tmp_path, "once") as first:
        _, file = prepare_spec(tmp_path, lines, hub=first.socket, background=True)
        with agent_process(file, tmp_path) as process:
            await first.wait_for(AgentStatusChanged, status="tool")
            await first.kill()
            go_on.touch()
            async with relay_window(elsewhere) as stranger, relay_window(tmp_path) as second:
                asked = await second.heard.wait_for(ApprovalRequested)
                assert "after-the-kill" in asked.subject
                # The state comes before the events that no hub had: who it is, in which conversation, on what.
                order = [type(event) for event in second.heard.events]
                assert order.index(AgentAdded) < order.index(SessionOpened) < order.index(ApprovalRequested)
                assert second.heard.of(ToolFinished)[0].status == "ok"
                second.bus.publish(ApprovalAnswered(approval=asked.approval, decision="once"))
                turn = await second.heard.wait_for(TurnFinished)
                assert "after-the-kill" in turn.text
                assert (await wait_for_exit(process))[0] == 0
                await second.heard.wait_for(AgentStatusChanged, status="done")
                assert stranger.heard.events == []
    async with closing_async(await Store.open(paths.data_dir() / "gsh.db")) as store:
        assert (await store.messages.read(turn.session))[-1].message.text == turn.text


async def test_a_question_open_when_the_window_is_killed_is_not_granted(tmp_path: Path) -> None:
    """Its end is no answer: the agent waits, and asks the next window, which decides."""
    made = tmp_path / "made"
    async with hub_process(tmp_path) as first:
        _, file = prepare_spec(tmp_path, f"run touch {made}", hub=first.socket, background=True)
        with agent_process(file, tmp_path) as process:
            await first.wait_for(ApprovalRequested)
            await first.kill()
            async with relay_window(tmp_path) as second:
                again = await second.heard.wait_for(ApprovalRequested)
                assert not made.exists() and not second.heard.of(ApprovalSettled)
                second.bus.publish(ApprovalAnswered(approval=again.approval, decision="deny", reason="not now"))
                assert "not now" in (await second.heard.wait_for(TurnFinished)).text
                assert (await wait_for_exit(process))[0] == 0
    assert not made.exists()


async def test_the_agent_is_killed(tmp_path: Path) -> None:
    """The record is sound; its question is withdrawn; started again it goes on and is not asked the same twice."""
    async with relay_window(tmp_path) as hub:
        spec, file = prepare_spec(tmp_path, "run command echo hi", hub=hub.relay.socket)
        with agent_process(file, tmp_path) as process:
            asked = await hub.heard.wait_for(ApprovalRequested)
            kill(process)
            settled = await hub.heard.wait_for(ApprovalSettled, approval=asked.approval)
            assert settled.decision == "withdrawn"
        session = (await hub.heard.wait_for(SessionOpened)).session
        cut = await hub.heard.wait_for(TurnFinished)
        assert cut.stop == "interrupted"
        store = await Store.open(paths.data_dir() / "gsh.db")
        assert await store.check() == []
        write_spec(msgspec.structs.replace(spec, session=session))
        with agent_process(file, tmp_path):
            await hub.heard.wait_for(SessionOpened, number=2)
            await hub.heard.wait_for(AgentStatusChanged, status="idle", agent=AGENT)
            hub.send_prompt("what failed?")
            turn = await hub.heard.wait_for(TurnFinished, number=2)
            assert "interrupted" in turn.text
        messages = [one.message for one in await store.messages.read(session)]
        await store.close()
    assert [message.text for message in messages if message.role == "user"] == ["run command echo hi", "what failed?"]
    assert messages[2].results[0].status == "cancelled"


async def test_a_spec_that_is_no_good_says_so(tmp_path: Path) -> None:
    _, file = prepare_spec(tmp_path)
    file.chmod(0o666)
    ran = run_gsh("agent", "run", "--spec", str(file))
    assert (ran.code, ran.out) == (1, "")
    assert "not a file that only you can access" in ran.err and "Traceback" not in ran.err
    file.chmod(0o600)
    file.write_text("{}")
    assert "is not valid" in run_gsh("agent", "run", "--spec", str(file)).err
    assert "Cannot read" in run_gsh("agent", "run", "--spec", str(tmp_path / "none")).err


async def test_a_folder_that_is_gone_and_a_model_that_is_not_there(tmp_path: Path) -> None:
    async with relay_window(tmp_path) as hub:
        gone = tmp_path / "gone"
        gone.mkdir()
        _, file = prepare_spec(gone, "read a", hub=hub.relay.socket)
        gone.rmdir()
        with agent_process(file, tmp_path) as process:
            assert (await wait_for_exit(process))[0] == 1
        assert "no longer exists" in (await hub.heard.wait_for(AgentStatusChanged, status="failed")).doing
        spec, file = prepare_spec(tmp_path, "read a", hub=hub.relay.socket, agent="0013")
        wrong = msgspec.structs.replace(spec.request, provider="anthropic")
        file = write_spec(msgspec.structs.replace(spec, request=wrong))
        with agent_process(file, tmp_path) as process:
            assert (await wait_for_exit(process))[0] == 3
        failed = await hub.heard.wait_for(AgentStatusChanged, status="failed", agent="0013")
        assert "ANTHROPIC_API_KEY" in failed.doing


async def test_a_full_disk_is_survived(tmp_path: Path) -> None:
    """It says so, stays, and works again when there is room."""
    hub_process = psutil.Process(keeper_pid())
    async with relay_window(tmp_path) as hub:
        _, file = prepare_spec(tmp_path, hub=hub.relay.socket)
        with agent_process(file, tmp_path) as process:
            await hub.heard.wait_for(AgentStatusChanged, status="idle")
            hub_process.rlimit(psutil.RLIMIT_FSIZE, (4096, psutil.RLIM_INFINITY))
            hub.send_prompt("what failed?")
            unsent = await hub.heard.wait_for(PromptWithdrawn)
            assert "full" in unsent.why
            assert process.poll() is None
            hub_process.rlimit(psutil.RLIMIT_FSIZE, (psutil.RLIM_INFINITY, psutil.RLIM_INFINITY))
            hub.send_prompt("what failed?")
            assert (await hub.heard.wait_for(TurnFinished)).stop == "end"
            process.terminate()
            _, _, err = await wait_for_exit(process)
        assert "Traceback" not in err
