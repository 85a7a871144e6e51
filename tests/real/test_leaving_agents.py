"""An agent in a terminal of its own that is ended starts nothing more, in any state; what it was sent is there again.

Ended as its pane ends it, as `agent kill` does, and as a person does there. Counted at the model's server.
"""

import itertools
import random
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gshtui.bus.events.agent_events import (
    PromptEditRequested,
    PromptQueued,
    PromptSubmitted,
    ToolFinished,
    ToolOutput,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested
from gshtui.bus.events.session_events import SessionOpened
from gshtui.fleet.native.spec import write_spec
from gshtui.hub.composition import build_hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Answer, Call, Fault, Say
from tests.kit.loopback.server import Asked, Loopback
from tests.kit.native_agents import (
    AGENT,
    EventLog,
    RelayWindow,
    agent_process,
    prepare_spec,
    relay_window,
    wait_for_exit,
)
from tests.kit.record import latest_session, texts_apart, texts_of
from tests.kit.resident import resident
from tests.kit.storms import FULL
from tests.kit.warm_program import WarmProcess

__all__ = ["resident"]
pytestmark = pytest.mark.usefixtures("resident")

FIRST: dict[str, Answer] = {
    "first byte": [Fault.hang()],
    "streaming": [Say("word " * 40), Fault.hang_after(3)],
    "retrying": [Fault.status(503, retry_after=60)],
    "tool": [Call("bash", {"command": "echo begun; sleep 60"})],
    "between": [Call("bash", {"command": "true"})],
    "asked": [Call("bash", {"command": "touch RAN_NOW"})],
    "answered": [Call("bash", {"command": "touch RAN_NOW"})],
    "ended": [Say("well")],
}
"""What the model answers to the prompt in hand, by the state that the turn is to be in."""
NAMES = ("Q1", "Q2", "Q3")
ENDS = {"pane closed": signal.SIGHUP, "agent kill": signal.SIGTERM, "ctrl+c": signal.SIGINT, "kill -9": signal.SIGKILL}


def _answer(state: str) -> Callable[[Asked], Answer]:
    def choose(asked: Asked) -> Answer:
        last = str(asked.body["messages"][-1])
        if "tool_result" in last:
            return [Fault.hang()] if state == "between" else [Say("done")]
        if waiting := next((name for name in NAMES if name in last), ""):
            return [Call("bash", {"command": f"touch RAN_{waiting}"})]
        return FIRST[state] if "NOW" in last else [Say("hello")]

    return choose


async def _reach(state: str, hub: RelayWindow, server: Loopback) -> None:
    """Until the turn is in this state, as far as it can be seen from here."""
    kinds: dict[str, Any] = {"tool": ToolOutput, "between": ToolFinished, "ended": TurnFinished}
    waits: dict[str, Callable[[], Awaitable[Any]]] = {
        "first byte": server.asked.wait,
        "streaming": server.sent.wait,
        "retrying": server.asked.wait,
    }
    if state in waits:
        await waits[state]()
    elif state in kinds:
        await hub.heard.wait_for(kinds[state])
    else:
        asked = await hub.heard.wait_for(ApprovalRequested)
        if state == "answered":
            hub.bus.publish(ApprovalAnswered(approval=asked.approval, decision="once"))


async def _end(process: WarmProcess, end: str) -> None:
    process.send_signal(ENDS[end])
    await wait_for_exit(process)


ROUNDS = list(itertools.product(range(4), ENDS))
EACH = 4 if FULL else 1


@pytest.mark.timeout(200)
@pytest.mark.parametrize("part", range(len(ROUNDS) // EACH if FULL else 1))
@pytest.mark.parametrize("state", FIRST)
async def test_an_agent_whose_process_ends_sends_nothing_more_and_its_prompts_wait(
    state: str, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = random.Random(f"agents {state}").sample(ROUNDS, len(ROUNDS))[part * EACH : (part + 1) * EACH]
    for number, end in rounds:
        folder = tmp_path / f"{number}-{end.replace(' ', '')}"
        folder.mkdir()
        await _leave(state, number, end, folder, monkeypatch)


async def _leave(state: str, number: int, end: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    what, typed = (state, number, end), ["NOW", *NAMES[:number]]
    mode = "ask" if state in ("asked", "answered") else "yolo"
    async with loopback("anthropic", choose=_answer(state)) as server, relay_window(folder) as hub:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        spec, file = prepare_spec(folder, hub=hub.relay.socket, provider="anthropic", mode=mode)
        with agent_process(file, folder) as process:
            session = (await hub.heard.wait_for(SessionOpened)).session
            hub.send_prompt("NOW")
            await hub.heard.wait_for(TurnStarted)
            if state != "ended":
                for name in NAMES[:number]:
                    hub.send_prompt(name)
                    await hub.heard.wait_for(PromptQueued, text=name)
            await _reach(state, hub, server)
            asked = len(server.chats)
            if state == "ended":
                typed = ["NOW"]
            await _end(process, end)
        ran = sorted(path.name for path in folder.glob("RAN_Q*"))
        assert not ran, what
        assert len(server.chats) == asked or state in ("answered", "between"), what
        before = len(server.chats)
        sent, waits = texts_apart(session)
        assert [*sent, *waits] == typed, what
        file = write_spec(msgspec.structs.replace(spec, session=session))
        with agent_process(file, folder) as process:
            await hub.heard.wait_for(SessionOpened, number=2)
            held = [text for text in typed if text not in sent]
            for text in held:
                await hub.heard.wait_for(PromptQueued, text=text, held=True)
            await hub.bus.drained()
            await _end(process, "agent kill")
        assert len(server.chats) == before, what
        assert texts_apart(session) == (sent, waits), what


async def test_prompts_for_an_agent_that_is_not_connected_outlive_a_window_that_is_killed(tmp_path: Path) -> None:
    """They are held in the record while the window waits for the agent, and nowhere once that has them."""
    prepare_spec(tmp_path, mode="yolo")
    parts = frozenset({"store", "guard", "socket"})
    hub = build_hub(HubOptions(cwd=tmp_path, loaded=load(tmp_path), parts=parts))
    await hub.start()
    assert hub.store is not None and hub.relay is not None

    async def kept() -> list[tuple[str, str]]:
        assert hub.store is not None and hub.relay is not None and hub.relay.unreached is not None
        await hub.bus.drained()
        await hub.relay.unreached.written()
        return [(letter.text, letter.state) for letter in await hub.store.mail.find_all(recipient=AGENT)]

    try:
        for name in NAMES:
            hub.bus.publish(PromptSubmitted(prompt=f"p{name}", agent=AGENT, text=name))
        hub.bus.publish(PromptEditRequested(prompt="pQ1", agent=AGENT, text="Q1 changed"))
        hub.bus.publish(PromptEditRequested(prompt="pQ3", agent=AGENT, text=""))
        assert await kept() == [("Q1 changed", "held"), ("Q2", "held"), ("Q3", "acted")]  # as `kill -9` leaves them
        _, file = prepare_spec(tmp_path, hub=hub.relay.socket, mode="yolo")
        begun = EventLog(hub.bus)
        with agent_process(file, tmp_path) as process:
            for text in ("Q1 changed", "Q2"):
                await begun.wait_for(TurnStarted, text=text)
            assert await kept() == [("Q1 changed", "acted"), ("Q2", "acted"), ("Q3", "acted")]
            await _end(process, "agent kill")
    finally:
        await hub.stop()


@pytest.mark.parametrize("number", (1, 3))
async def test_prompts_for_an_agent_that_is_not_connected_are_in_its_mail_when_the_window_closes(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window is closed while the agent still starts; its process finds them, once and in order, and answers."""
    async with loopback("anthropic", choose=lambda _: [Say("well")]) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        _, file = prepare_spec(tmp_path, provider="anthropic", mode="yolo")
        parts = frozenset({"store", "guard", "socket"})
        hub = build_hub(HubOptions(cwd=tmp_path, loaded=load(tmp_path), parts=parts))
        await hub.start()
        for name in NAMES[:number]:
            hub.bus.publish(PromptSubmitted(prompt=f"p{name}", agent=AGENT, text=name))
        hub.bus.publish(PromptEditRequested(prompt="pQ1", agent=AGENT, text="Q1 changed"))
        await hub.stop()
        asked = ["Q1 changed", *NAMES[1:number]]
        with agent_process(file, tmp_path) as process:
            for place, text in enumerate(asked):
                while len(server.chats) <= place:
                    server.asked.clear()
                    await server.asked.wait()
                assert text in str(server.chats[place].body["messages"][-1])
            await _end(process, "agent kill")
        assert texts_of(latest_session()) == asked
