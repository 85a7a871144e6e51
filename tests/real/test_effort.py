"""The reasoning effort: said once, sent to each provider as its API takes it, and kept with the conversation."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.events.agent_events import ModelChanged, PromptSubmitted, TurnFinished
from gshtui.bus.events.hub_events import Noticed
from gshtui.commands.declaration import UsageError
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.providers.adapters.openai_responses import OpenAIResponses
from gshtui.settings.loader import load
from gshtui.system.ids import new_id
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Say
from tests.kit.scripted_provider import Recorder

PARTS = frozenset({"store", "guard", "providers", "agents"})
THINKERS = {
    "anthropic": ("claude-sonnet-5-5", {"output_config": {"effort": "high"}}),
    "openai": ("gpt-5", {"reasoning": {"summary": "auto", "effort": "high"}}),
    "openai-chat": ("gpt-5", {"reasoning_effort": "high"}),
    "gemini": ("gemini-3.8-flash", {"thinkingLevel": "HIGH"}),
    "ollama": ("gpt-oss", {"think": "high"}),
}
"""A model of each API that takes an effort, and what its body says of it."""


@asynccontextmanager
async def hub_with(tmp_path: Path, api: str, model: str, session: str = "new") -> AsyncIterator[Hub]:
    hub = build_hub(
        HubOptions(
            cwd=tmp_path,
            loaded=load(tmp_path),
            provider=api.removesuffix("-chat"),
            model=model,
            respondent="policy",
            parts=PARTS,
            session=session,
        )
    )
    await hub.start()
    await hub.bus.drained()
    try:
        assert hub.failed == {}
        yield hub
    finally:
        await hub.stop()


async def ask(hub: Hub) -> None:
    waiting = hub.bus.wait_for(TurnFinished, timeout=60)
    hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text="Think."))
    assert (await waiting).stop == "end"
    await hub.bus.drained()


def contains(body: Any, wanted: dict[str, Any]) -> bool:
    """Whether some object of the body has these entries."""
    if isinstance(body, list):
        return any(contains(part, wanted) for part in body)
    if not isinstance(body, dict):
        return False
    return wanted.items() <= body.items() or any(contains(part, wanted) for part in body.values())


@pytest.mark.parametrize("api", THINKERS)
async def test_it_is_sent_and_kept_with_the_conversation(
    api: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, wanted = THINKERS[api]
    if api == "openai":  # by its address alone a server is taken for one that speaks the older API
        monkeypatch.setattr("gshtui.providers.candidates._openai", OpenAIResponses)
    async with loopback(api, [[Say("one")], [Say("two")], [Say("three")], [Say("four")]], models=[model]) as server:
        for name, value in variables(api, server.url).items():
            monkeypatch.setenv(name, value)
        async with hub_with(tmp_path, api, model) as hub:
            await ask(hub)
            said = await hub.run("effort high")
            assert "high effort" in said.text
            await hub.bus.drained()
            await ask(hub)
            session = hub.session_of("main")
        async with hub_with(tmp_path, api, model, session) as hub:
            assert (await hub.run("effort")).data["effort"] == "high"
            await ask(hub)
            await hub.run("model effort=default")
            await hub.bus.drained()
            await ask(hub)
        assert server.refused == []
    assert [contains(chat.body, wanted) for chat in server.chats] == [False, True, True, False]


async def test_a_model_that_takes_none_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback("openai-chat", [[Say("one")]], models=["gpt-4o", "gpt-5"]) as server:
        for name, value in variables("openai-chat", server.url).items():
            monkeypatch.setenv(name, value)
        async with hub_with(tmp_path, "openai-chat", "gpt-4o") as hub:
            recorder = Recorder(hub.bus)
            for line in ("effort low", "effort next", "model gpt-4o effort=low"):
                with pytest.raises(UsageError, match="takes no reasoning effort"):
                    await hub.run(line)
            await hub.run("model gpt-5 effort=low")
            await hub.bus.drained()
            assert recorder.of(ModelChanged)[-1].effort == "low"
            assert (await hub.run("effort next")).data["effort"] == "medium"
            await hub.bus.drained()
            await hub.run("model gpt-4o")
            await hub.bus.drained()
            assert recorder.of(ModelChanged)[-1].effort == ""
            assert any("“medium” is not sent" in notice.text for notice in recorder.of(Noticed))
            await ask(hub)
    assert "reasoning_effort" not in server.chats[0].body
