"""The window's own agent in calls: a conversation of its own in each, beside the one that the person sees."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gshtui.bus.events.agent_events import PromptSubmitted, PromptWithdrawn, TurnFinished, TurnStarted
from gshtui.bus.events.context_events import ContextCut, CutRequested
from gshtui.bus.events.session_events import SessionOpened
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load
from gshtui.system.ids import new_id
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Say
from tests.kit.loopback.server import Loopback
from tests.kit.scripted_provider import Recorder


@asynccontextmanager
async def window(folder: Path) -> AsyncIterator[Hub]:
    folder.mkdir(exist_ok=True)
    hub = build_hub(HubOptions(cwd=folder, loaded=load(folder)))
    await hub.start()
    await hub.bus.drained()
    try:
        yield hub
    finally:
        await hub.stop()


async def ask(hub: Hub, text: str) -> str:
    waiting = hub.bus.wait_for(TurnFinished, timeout=60)
    hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text=text))
    await waiting
    await hub.bus.drained()
    return hub.session_of("main")


async def say(hub: Hub, call: str, text: str) -> None:
    await hub.run(f"join {call}")
    await hub.run(f"talk to=main message='{text}' timeout_s=20")


def last(server: Loopback) -> str:
    return str(server.requests[-1].body)


async def test_no_call_knows_what_another_said_and_the_chat_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSH_HUB__KEEP", "alone")
    async with loopback("anthropic", [[Say("Understood.")]], repeat=True) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        async with window(tmp_path / "one") as hub:
            own = await ask(hub, "the word of the chat is drum")
            heard = Recorder(hub.bus)
            for call, word in (("alpha", "oboe"), ("beta", "viola")):
                await hub.run(f"create {call}")
                await hub.run(f"join {call}")
                await hub.run("invite main")
                await say(hub, call, f"the word of {call} is {word}")
            assert "viola" in last(server) and "oboe" not in last(server) and "drum" not in last(server)
            await say(hub, "alpha", "which word?")
            assert "oboe" in last(server) and "viola" not in last(server)
            assert await ask(hub, "and here?") == own
            assert "drum" in last(server) and "oboe" not in last(server)
            assert heard.of(SessionOpened) == [], "the person goes on seeing the chat"
            assert {one.session for one in heard.of(TurnFinished)} > {own}
            assert len([one for one in heard.of(TurnFinished) if one.session == own]) == 1

        async with window(tmp_path / "two") as other:
            await say(other, "alpha", "which word, window two?")
            assert "oboe" in last(server) and "viola" not in last(server), "both are the same agent there"


async def test_a_cut_requested_while_it_answers_in_a_call_is_of_the_chat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSH_HUB__KEEP", "alone")
    async with loopback("anthropic", [[Say("Understood.")]], repeat=True) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        async with window(tmp_path / "one") as hub:
            own = await ask(hub, "the word of the chat is drum")
            for line in ("create alpha", "join alpha", "invite main"):
                await hub.run(line)
            heard = Recorder(hub.bus)
            begun = hub.bus.wait_for(TurnStarted, timeout=60)
            cut = hub.bus.wait_for(ContextCut, timeout=60)
            answered = asyncio.create_task(say(hub, "alpha", "the word of alpha is oboe"))
            assert (await begun).session != own
            hub.bus.publish(CutRequested(agent="main", kind="clear", by="person"))
            assert (await cut).session == own
            await answered
            await hub.bus.drained()
            assert len(heard.of(ContextCut)) == 1


async def test_a_prompt_of_a_call_that_is_gone_is_answered_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSH_HUB__KEEP", "alone")
    async with window(tmp_path / "one") as hub:
        await ask(hub, "what failed?")
        gone = hub.bus.wait_for(PromptWithdrawn, timeout=60)
        hub.bus.publish(PromptSubmitted(prompt="p1", agent="main", text="what failed?", call="nowhere"))
        assert (await gone).prompt == "p1"
        await ask(hub, "what failed?")
        said = [one.message for one in await hub.messages(hub.session_of("main"))]
        assert [one.role for one in said] == ["user", "assistant"] * 2
