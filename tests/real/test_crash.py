"""kill -9 in mid-turn: what was acknowledged is there, the conversation opens again and its pairing is valid."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from gshtui.bus.events.agent_events import MessageAppended, PromptSubmitted, TurnFinished
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalSettled
from gshtui.bus.events.session_events import SessionOpened
from gshtui.context.log.conversation_log import missing_results
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load
from gshtui.system.ids import new_id
from tests.kit.pairing import paired
from tests.kit.running_hub import started_hub
from tests.kit.scripted_provider import Recorder
from tests.kit.warm_program import WarmProcess, shared

SCRIPT = "tests.real.crash_script"


def begin(cwd: Path, *prompts: str) -> WarmProcess:
    """The script in a process of its own, in this test's home."""
    return WarmProcess(shared(SCRIPT).start(*prompts, call=f"{SCRIPT}:main", cwd=cwd))


def said(process: WarmProcess, until: str) -> list[list[str]]:
    """The script's words up to and with the first line that begins so."""
    lines: list[list[str]] = []
    for line in map(bytes.decode, process.stdout):
        lines.append(line.split())
        if line.startswith(until):
            return lines
    raise AssertionError(f"it ended before {until!r}: {lines}")


@pytest.fixture
def no_survivors() -> Iterator[None]:
    yield
    for process in psutil.process_iter(["cmdline"]):
        if "86399.25" in (process.info["cmdline"] or ()):
            process.kill()


async def test_kill_in_the_middle_of_a_tool(tmp_path: Path, no_survivors: None) -> None:
    process = begin(tmp_path, "run sleep 86399.25")
    words = said(process, "running")
    process.close()
    session = next(w[1] for w in words if w[0] == "session")
    acknowledged = [w[2] for w in words if w[0] == "appended"]
    assert len(acknowledged) == 2

    hub = build_hub(HubOptions(cwd=tmp_path, loaded=load(tmp_path), session="latest"))
    recorder = Recorder(hub.bus)
    async with started_hub(hub):
        waiting = hub.bus.wait_for(TurnFinished, timeout=60)
        hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text="what failed?"))
        finished = await waiting
        await hub.bus.drained()
        (opened,) = recorder.of(SessionOpened)
        assert (opened.session, opened.writable, opened.resumed) == (session, True, True)
        messages = [stored.message for stored in await hub.messages(session)]
        assert [m.id for m in messages][:2] == acknowledged
        assert [m.role for m in messages] == ["user", "assistant", "tool", "user", "assistant"]
        assert messages[2].results[0].status == "lost"
        assert missing_results(messages) is None
        assert len(paired(messages)) == len(messages)
        assert "sleep 86399.25" in finished.text
        assert hub.store is not None
        assert await hub.store.check() == []


async def test_kill_while_a_question_is_open(tmp_path: Path) -> None:
    """It is not granted by the end of the window, nor by an answer to it that comes later."""
    process = begin(tmp_path, "--asks", "run touch made")
    words = said(process, "asked")
    process.close()
    hub = build_hub(HubOptions(cwd=tmp_path, loaded=load(tmp_path), session="latest"))
    recorder = Recorder(hub.bus)
    async with started_hub(hub):
        hub.bus.publish(ApprovalAnswered(approval=words[-1][1], decision="once"))
        waiting = hub.bus.wait_for(TurnFinished, timeout=60)
        hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text="what failed?"))
        await waiting
        await hub.bus.drained()
        (opened,) = recorder.of(SessionOpened)
        messages = [stored.message for stored in await hub.messages(opened.session)]
        assert messages[2].results[0].status == "lost" and missing_results(messages) is None
        assert not recorder.of(ApprovalSettled) and hub.open_approvals().waiting == ()
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("after", [3, 9, 17])
async def test_kill_between_acknowledgements(tmp_path: Path, after: int) -> None:
    process = begin(tmp_path, *["run true"] * 8)
    words: list[list[str]] = []
    for line in map(bytes.decode, process.stdout):
        words.append(line.split())
        if sum(w[0] == "appended" for w in words) >= after:
            break
    process.kill()
    rest = process.stdout.read().decode()
    process.close()
    whole = [line.split() for line in rest.splitlines() if line.count(" ") == 2]
    acknowledged = [w[2] for w in [*words, *whole] if w[0] == "appended"]

    hub = build_hub(HubOptions(cwd=tmp_path, loaded=load(tmp_path), session="latest"))
    recorder = Recorder(hub.bus)
    async with started_hub(hub):
        (opened,) = recorder.of(SessionOpened) or await _opened(hub, recorder)
        stored = [s.message.id for s in await hub.messages(opened.session)]
        assert set(acknowledged) <= set(stored)
        assert [i for i in stored if i in acknowledged] == acknowledged
    assert (
        recorder.of(MessageAppended) == [] or missing_results([e.message for e in recorder.of(MessageAppended)]) is None
    )


async def _opened(hub: Hub, recorder: Recorder) -> list[SessionOpened]:
    await hub.bus.drained()
    return recorder.of(SessionOpened)
