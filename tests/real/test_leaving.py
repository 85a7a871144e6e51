"""Whoever leaves starts nothing: in every state of a turn, with every way to end it, and what waited is there again.

Counted where the requests leave, and at the model's server. The next hub in the same conversation starts nothing until
a person says so; its record and its queue together have everything that was typed, once and in order.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from acp.schema import TextContentBlock

from gshtui.agents import toolbox
from gshtui.bus.events.agent_events import (
    PromptQueued,
    PromptSubmitted,
    PromptWithdrawn,
    ProviderRetried,
    QueueReleaseRequested,
    ToolFinished,
    ToolOutput,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested
from gshtui.bus.events.context_events import CutRequested
from gshtui.commands.declaration import CommandError
from gshtui.features.acp.acp_session import AcpSession
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.providers.wire.http_client import WatchedClient
from gshtui.settings import paths
from gshtui.settings.loader import load
from gshtui.system.expected_error import ExpectedError
from gshtui.system.ids import new_id
from gshtui.system.tasks import start_job
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Answer, Call, Fault, Say
from tests.kit.loopback.server import Asked, Loopback
from tests.kit.pty_child import PtyChild, window_of
from tests.kit.record import latest_session, texts_of
from tests.kit.resident import beside
from tests.kit.running_hub import started_hub
from tests.kit.scripted_provider import Recorder
from tests.kit.storms import FULL
from tests.kit.warm_program import run_gsh, shared

__all__ = ["beside"]
PARTS = frozenset({"store", "guard", "providers", "agents"})
WITHIN = 60.0
FIRST: dict[str, Answer] = {
    "first byte": [Fault.hang()],
    "streaming": [Say("word " * 40), Fault.hang_after(3)],
    "retrying": [Fault.status(503, retry_after=60)],
    "tool": [Call("bash", {"command": "echo begun; sleep 60"})],
    "asked": [Call("bash", {"command": "touch RAN_NOW"})],
    "answered": [Call("bash", {"command": "touch RAN_NOW"})],
    "between": [Call("bash", {"command": "true"})],
}
"""What the model answers to the prompt in hand, by the state that the turn is to be in."""


def _answer(state: str) -> Callable[[Asked], Answer]:
    def choose(asked: Asked) -> Answer:
        last = str(asked.body["messages"][-1])
        if "tool_result" in last:
            return [Fault.hang()] if state == "between" else [Say("done")]
        if waiting := next((name for name in ("Q1", "Q2", "Q3") if name in last), ""):
            return [Call("bash", {"command": f"touch RAN_{waiting}"})]
        if "NOW" in last:
            return FIRST.get(state, [Say("well")])
        return [Say("hello")] if "BEFORE" in last else [Fault.hang()]

    return choose


@dataclass
class Leaving:
    """A hub whose turn is in some state, and what was typed into it."""

    hub: Hub
    server: Loopback
    folder: Path
    recorder: Recorder
    typed: list[str] = field(default_factory=list[str])

    def send(self, text: str) -> None:
        self.typed.append(text)
        self.hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text=text))

    def queue(self, number: int) -> None:
        for name in ("Q1", "Q2", "Q3")[:number]:
            self.send(name)


@asynccontextmanager
async def _hub(folder: Path, session: str, mode: Any) -> AsyncIterator[tuple[Hub, Recorder]]:
    hub = build_hub(HubOptions(cwd=folder, loaded=load(folder), session=session, mode=mode, parts=PARTS))
    recorder = Recorder(hub.bus)
    async with started_hub(hub):
        assert hub.failed == {}
        yield hub, recorder


async def _idle(one: Leaving, number: int) -> None:
    one.queue(number)


async def _first_byte(one: Leaving, number: int) -> None:
    one.send("NOW")
    await one.server.asked.wait()
    one.queue(number)


async def _streaming(one: Leaving, number: int) -> None:
    one.send("NOW")
    one.queue(number)
    await one.server.sent.wait()


def _at(kind: Any) -> Callable[[Leaving, int], Awaitable[None]]:
    async def reach(one: Leaving, number: int) -> None:
        reached = one.hub.bus.wait_for(kind, timeout=WITHIN)
        one.send("NOW")
        one.queue(number)
        await reached

    return reach


async def _answered(one: Leaving, number: int) -> None:
    asked = one.hub.bus.wait_for(ApprovalRequested, timeout=WITHIN)
    one.send("NOW")
    one.queue(number)
    one.hub.bus.publish(ApprovalAnswered(approval=(await asked).approval, decision="once"))


async def _compacting(one: Leaving, number: int) -> None:
    before = one.hub.bus.wait_for(TurnFinished, timeout=WITHIN)
    one.send(f"BEFORE {'words ' * 2_000}")
    await before
    one.server.asked.clear()
    one.hub.bus.publish(CutRequested(agent="main", kind="compact", by="person"))
    await one.server.asked.wait()
    one.queue(number)


async def _side_question(one: Leaving, number: int) -> None:
    async def ask() -> None:
        with pytest.raises(ExpectedError):
            await one.hub.small_model.ask("what is this?")

    start_job(ask(), "a side question")
    await one.server.asked.wait()
    one.queue(number)


STATES: dict[str, Callable[[Leaving, int], Awaitable[None]]] = {
    "idle": _idle,
    "first byte": _first_byte,
    "streaming": _streaming,
    "begun": _at(TurnStarted),
    "retrying": _at(ProviderRetried),
    "tool": _at(ToolOutput),
    "between": _at(ToolFinished),
    "asked": _at(ApprovalRequested),
    "answered": _answered,
    "ended": _at(TurnFinished),
    "compacting": _compacting,
    "side question": _side_question,
}


async def _stop(one: Leaving, chance: random.Random) -> None:
    await one.hub.stop()


async def _cease(one: Leaving, chance: random.Random) -> None:
    """As a window does: its own parts take a while before the hub's."""
    one.hub.cease()
    await _turns_of_the_loop(chance.randrange(40))


async def _late(one: Leaving, chance: random.Random) -> None:
    """A key was on its way when the person left."""
    one.hub.cease()
    await _turns_of_the_loop(chance.randrange(10))
    one.send("LATE")
    await _turns_of_the_loop(chance.randrange(10))


ENDS = {"stop": _stop, "cease": _cease, "late": _late}


async def _turns_of_the_loop(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


async def _leave(
    state: str, number: int, end: str, seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch, started: Started
) -> None:
    """One ending: nothing leaves and nothing runs from its moment on, and all is there again."""
    folder.mkdir()
    what, chance, before = (state, number, end, seed), random.Random(seed), started.requests
    mode = "ask" if state in ("asked", "answered") else "yolo"
    async with loopback("anthropic", choose=_answer(state)) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        async with _hub(folder, "new", mode) as (hub, recorder):
            session = hub.session_of("main")
            one = Leaving(hub, server, folder, recorder)
            await STATES[state](one, number)
            if seed:
                await _turns_of_the_loop(chance.randrange(30))
            left = started.both
            await ENDS[end](one, chance)
        assert started.both == left, what
        assert texts_of(session) == one.typed, what
        async with _hub(folder, session, mode) as (hub, recorder):
            await hub.bus.drained()
            held = [event.text for event in recorder.of(PromptQueued) if event.held]
            assert texts_of(session) == one.typed, what
            assert one.typed[len(one.typed) - len(held) :] == held, what
            agent = hub.local_agent("main")
            assert agent is not None
            assert not agent.answering, what
            assert started.both == left, what
            assert len(server.chats) <= left[0] - before, what
            if held and chance.random() < 0.3:
                server.choose = lambda _: [Say("well")]
                await _released(hub, held)
                assert texts_of(session) == one.typed, what


async def _released(hub: Hub, held: list[str]) -> None:
    """What was held runs, in its order, once the person says so."""
    recorder = Recorder(hub.bus)
    last = hub.bus.wait_for(TurnStarted, lambda event: event.text == held[-1], timeout=WITHIN)
    hub.bus.publish(QueueReleaseRequested(agent="main"))
    await last
    await hub.bus.drained()
    assert [event.text for event in recorder.of(TurnStarted)] == held


class Started:
    """Counts what starts, at the moment that it does: requests that leave, and tools."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.requests = 0
        self.tools = 0
        send, run = WatchedClient.send, toolbox.run_parsed

        async def counted_send(client: WatchedClient, *arguments: Any, **named: Any) -> Any:
            self.requests += 1
            return await send(client, *arguments, **named)

        async def counted_run(*arguments: Any, **named: Any) -> Any:
            self.tools += 1
            return await run(*arguments, **named)

        monkeypatch.setattr(WatchedClient, "send", counted_send)
        monkeypatch.setattr(toolbox, "run_parsed", counted_run)

    @property
    def both(self) -> tuple[int, int]:
        return self.requests, self.tools


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    return Started(monkeypatch)


ROUNDS = [(*each, seed) for seed in range(4) for each in itertools.product(range(4), ENDS)]
EACH = 6 if FULL else 3
"""Endings in a test."""


@pytest.mark.timeout(200)
@pytest.mark.parametrize("part", range(len(ROUNDS) // EACH if FULL else 1))
@pytest.mark.parametrize("state", STATES)
async def test_whoever_leaves_starts_nothing_and_loses_nothing(
    state: str, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: Started
) -> None:
    rounds = random.Random(state).sample(ROUNDS, len(ROUNDS))[part * EACH : (part + 1) * EACH]
    for number, end, seed in rounds:
        await _leave(state, number, end, seed, tmp_path / f"{number}-{end}-{seed}", monkeypatch, started)


KILLED = {
    "begun": "yolo",
    "first byte": "yolo",
    "tool": "yolo",
    "between": "yolo",
    "asked": "ask",
    "answered": "ask",
    "retrying": "yolo",
    "compacting": "yolo",
}
"""The states in which the process is killed, with the mode of each."""


async def die(state: str, number: str, folder: str) -> None:
    """Reach the state in this process, write down what was typed and seen as waiting, and be killed."""
    async with loopback("anthropic", choose=_answer(state)) as server:
        os.environ |= variables("anthropic", server.url)
        async with _hub(Path(folder), "new", KILLED[state]) as (hub, recorder):
            one = Leaving(hub, server, Path(folder), recorder)
            waits = [
                hub.bus.wait_for(PromptQueued, lambda event, name=name: event.text == name, timeout=WITHIN)
                for name in ("Q1", "Q2", "Q3")[: int(number)][-1:]  # what was said before is written before
            ]
            await STATES[state](one, int(number))
            await asyncio.gather(*waits)
            (Path(folder) / "typed").write_text("\n".join((hub.session_of("main"), *one.typed)))
            os.kill(os.getpid(), signal.SIGKILL)


def die_here(words: list[str]) -> int:
    asyncio.run(die(*words))
    return 0


@pytest.mark.parametrize("number", (0, 2, 3) if FULL else (2,))
@pytest.mark.parametrize("state", KILLED)
async def test_what_waited_is_there_once_after_kill_9(
    state: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: Started
) -> None:
    words = (state, str(number), str(tmp_path))
    child = shared(__name__).start(*words, call=f"{__name__}:die_here")
    assert (await asyncio.to_thread(child.finish)).code == -signal.SIGKILL
    session, *typed = (tmp_path / "typed").read_text().split("\n")
    async with loopback("anthropic", choose=_answer("ended")) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        async with _hub(tmp_path, session, KILLED[state]) as (hub, recorder):
            await hub.bus.drained()
            held = [event.text for event in recorder.of(PromptQueued) if event.held]
            assert held == typed[len(typed) - number :]
            assert texts_of(session) == typed
            assert (started.both, len(server.chats)) == ((0, 0), 0)


def _leave_window(child: PtyChild, keys: bytes) -> None:
    """Leave the window by these keys; one that is the hub itself asks first."""
    again = 0.0

    def has_left() -> bool:
        nonlocal again
        if b"stop the hub?" in child.output and time.monotonic() > again:
            again = time.monotonic() + 2  # an answer that comes too early does not count
            child.write(b"y")
        return b"\x1b[?1049l" in child.output

    child.write(keys)
    child.read_until(has_left)
    assert child.wait() == 0


def _ctrl_q(child: PtyChild) -> None:
    _leave_window(child, b"\x11")


def _quit(child: PtyChild) -> None:
    _leave_window(child, b"/quit\r")


def _signal(number: signal.Signals) -> Callable[[PtyChild], None]:
    def end(child: PtyChild) -> None:
        os.kill(child.pid, number)
        assert child.wait() == -number

    return end


def _hang_up(child: PtyChild) -> None:
    assert child.hang_up() == -signal.SIGHUP


WINDOW_ENDS = {
    "ctrl+q": _ctrl_q,
    "kill -9": _signal(signal.SIGKILL),
    "/quit": _quit,
    "SIGTERM": _signal(signal.SIGTERM),
    "SIGHUP": _signal(signal.SIGHUP),
    "closed terminal": _hang_up,
}


def _fill_queue(folder: Path, mode: str, end: Callable[[PtyChild], None]) -> None:
    child = window_of(folder, "--mode", mode)
    try:
        child.read_until(lambda: b"\x1b[?2004h" in child.output)
        child.write(b"NOW\r")
        child.read_until(lambda: b"word word" in child.output)
        for number in range(1, 4):
            child.write(f"Q{number}\r".encode())
            child.read_until(lambda number=number: f"{number} queued".encode() in child.output)
        if end is not _quit:  # the input has that command
            child.write(b"half a th")
            child.read_until(lambda: b"half a th" in child.output)
        if end is WINDOW_ENDS["kill -9"]:  # the draft is written a moment after its last letter
            child.read_until(lambda: any("half a th" in file.read_text() for file in _drafts()))
        end(child)
    finally:
        child.close()


def _drafts() -> list[Path]:
    return list((paths.state_dir() / "drafts").glob("*.json"))


def _come_back(folder: Path, server: Loopback, draft: bytes) -> None:
    child = window_of(folder, "-c")
    try:
        child.read_until(lambda: b"3 held" in child.output and draft in child.output)
        child.write(b"\x15/queue send\r")
        child.read_until(lambda: len(server.chats) >= 4)
        _ctrl_q(child)
    finally:
        child.close()


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("beside")
@pytest.mark.parametrize("way", list(WINDOW_ENDS) if FULL else list(WINDOW_ENDS)[:2])
async def test_a_window_that_ends_sends_nothing_more_and_its_queue_is_in_the_next(
    way: str, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSH_HUB__CLOSING", "stop")  # where a resident hub would go on with the turn
    folder = home.path / "project"
    folder.mkdir()
    async with loopback("anthropic", choose=_answer("streaming")) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        await asyncio.to_thread(_fill_queue, folder, "yolo", WINDOW_ENDS[way])
        assert len(server.chats) == 1
        assert not list(folder.glob("RAN*"))
        assert texts_of(latest_session()) == ["NOW", "Q1", "Q2", "Q3"]
        server.choose = lambda _: [Say("well said")]
        await asyncio.to_thread(_come_back, folder, server, b"" if way == "/quit" else b"half a th")
        asked = [str(each.body["messages"][-1]) for each in server.chats[1:]]
        assert [name in text for name, text in zip(("Q1", "Q2", "Q3"), asked, strict=True)] == [True] * 3
        assert texts_of(latest_session()) == ["NOW", "Q1", "Q2", "Q3"]


async def test_the_queue_is_listed_and_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback("anthropic", choose=_answer("streaming")) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        async with _hub(tmp_path, "new", "yolo") as (hub, recorder):
            session = hub.session_of("main")
            assert (await hub.run("queue")).text == "No prompts wait."
            with pytest.raises(CommandError, match="No prompts wait"):
                await hub.run("queue send")
            one = Leaving(hub, server, tmp_path, recorder)
            queued = hub.bus.wait_for(PromptQueued, lambda event: event.text == "Q2", timeout=WITHIN)
            one.send("NOW")
            one.queue(2)
            await queued
            await server.sent.wait()
            assert (await hub.run("queue list")).text == "1. Q1\n2. Q2"
        there = f"No prompts wait here, but 2 in {session} (`gsh-tui --resume {session}` opens it)."
        ran = await asyncio.to_thread(run_gsh, "run", "queue", cwd=tmp_path)
        assert (ran.code, ran.out.strip()) == (0, there)
        async with _hub(tmp_path, "new", "yolo") as (hub, recorder):
            assert (await hub.run("queue")).text == there
            with pytest.raises(CommandError, match="No prompts wait here, but 2 in"):
                await hub.run("queue send")
        async with _hub(tmp_path, session, "yolo") as (hub, recorder):
            assert (await hub.run("queue")).text == "1. Q1\n2. Q2"
            gone = hub.bus.wait_for(PromptWithdrawn, lambda event: event.text == "Q2", timeout=WITHIN)
            await hub.run("queue drop")
            await gone
        assert texts_of(session) == ["NOW"]
        assert len(server.chats) == 1


async def _left_waiting(folder: Path, server: Loopback) -> str:
    """A conversation that was left with two prompts in its queue."""
    async with _hub(folder, "new", "yolo") as (hub, recorder):
        one = Leaving(hub, server, folder, recorder)
        one.send("NOW")
        one.queue(2)
        await server.sent.wait()
        return hub.session_of("main")


async def test_a_prompt_without_a_window_leaves_alone_what_waits_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with loopback("anthropic", choose=_answer("streaming")) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        session = await _left_waiting(tmp_path, server)
        server.choose = lambda _: [Say("well said")]
        ran = await asyncio.to_thread(run_gsh, "prompt", "--session", session, "MORE", cwd=tmp_path)
        assert (ran.code, ran.out.strip()) == (0, "well said")
        assert "2 prompts wait here, unsent" in ran.err and "/queue send" in ran.err
        assert texts_of(session) == ["NOW", "MORE", "Q1", "Q2"]
        assert len(server.chats) == 2


async def test_a_client_over_acp_is_told_of_what_waits_and_starts_none_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    class Client:
        async def session_update(self, session_id: str, update: Any) -> None:
            told.append(str(getattr(getattr(update, "content", None), "text", "")))

        async def request_permission(self, session_id: str, tool_call: Any, options: Any) -> Any:
            raise ConnectionError

    async with loopback("anthropic", choose=_answer("streaming")) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        session = await _left_waiting(tmp_path, server)
        async with _hub(tmp_path, session, "ask") as (hub, _):
            acp = AcpSession(hub, Client())
            await acp.replay()
            assert told[-1].startswith("2 prompts wait in this conversation, unsent")
            server.choose = lambda _: [Say("well said")]
            await acp.prompt([TextContentBlock(type="text", text="MORE")])
            assert texts_of(session) == ["NOW", "MORE", "Q1", "Q2"]
            assert len(server.chats) == 2
            await acp.prompt([TextContentBlock(type="text", text="/queue drop")])
            await acp.close()
        assert texts_of(session) == ["NOW", "MORE"]


async def test_a_budgets_pause_holds_what_is_queued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (paths.config_dir(create=True) / "config.toml").write_text("[budget]\nagent_tokens = 1\n")
    async with loopback("anthropic", choose=_answer("ended")) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        async with _hub(tmp_path, "new", "yolo") as (hub, recorder):
            one = Leaving(hub, server, tmp_path, recorder)
            used = hub.bus.wait_for(TurnFinished, timeout=WITHIN)
            one.send("BEFORE")
            await used
            asked = hub.bus.wait_for(ApprovalRequested, timeout=WITHIN)
            paused = hub.bus.wait_for(TurnFinished, timeout=WITHIN)
            one.send("NOW")
            one.queue(2)
            question = await asked
            hub.bus.publish(ApprovalAnswered(approval=question.approval, decision="deny"))
            assert (await paused).stop == "max_iterations"
            await hub.bus.drained()
            assert [event.text for event in recorder.of(PromptQueued) if event.held] == ["Q1", "Q2"]
            assert len(server.chats) == 1
            assert texts_of(hub.session_of("main")) == ["BEFORE", "NOW", "Q1", "Q2"]
