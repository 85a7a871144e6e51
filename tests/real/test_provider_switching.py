"""A conversation goes on with another provider, and with the first one again: every API's rules hold each time."""

from __future__ import annotations

import itertools

import pytest

from gshtui.bus.messages import Image, Message, Thinking, ToolCall, ToolResult
from gshtui.providers.port import Provider, ProviderError
from tests.kit.loopback.apis import loopback
from tests.kit.loopback.script import Answer, Call, Say, Think
from tests.kit.providers import APIS, asking, conversation, hear, make, said

WORK: Answer = [
    Think("I need two files."),
    Say("Looking."),
    Call("read", {"path": "a.py"}),
    Call("grep", {"pattern": "x"}),
]
MORE: Answer = [Think("One more."), Call("read", {"path": "b.py"})]
DONE: Answer = [Say("Both are fine.")]


async def turn(provider: Provider, api: str, log: list[Message], prompt: str) -> None:
    """One turn as the loop runs it: prompt, answer, results, until no calls are left."""
    log.append(said("user", prompt))
    while True:
        message = (await hear(provider, asking(api, *log))).whole.message
        log.append(message)
        if not message.calls:
            return
        results = [ToolResult(c.id, c.name, f"content of {c.arguments}") for c in message.calls]
        log.append(said("tool", *reversed(results)))  # they finish in any order


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(APIS, 2)))
async def test_a_conversation_changes_providers_and_comes_back(first: str, second: str) -> None:
    log: list[Message] = []
    async with (
        conversation(first, [WORK, MORE, DONE] * 2) as (one, one_server),
        conversation(second, [WORK, MORE, DONE]) as (two, two_server),
    ):
        await turn(one, first, log, "Look at it")
        await turn(two, second, log, "Look again")
        await turn(one, first, log, "And once more")
    assert one_server.refused == []
    assert two_server.refused == []
    assert [len(server.chats) for server in (one_server, two_server)] == [6, 3]
    assert len(log) == 3 * 6


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(APIS, 2)))
async def test_a_provider_takes_over_in_mid_turn(first: str, second: str) -> None:
    """The first one asked for tools, then failed for good; the second gets the results."""
    async with conversation(first, [WORK]) as (one, _):
        asked = (await hear(one, asking(first, said("user", "Look at it")))).whole.message
    results = said("tool", *[ToolResult(c.id, c.name, "x", status="error") for c in asked.calls])
    async with conversation(second, [DONE]) as (two, server):
        effort = {"effort": "high"} if second == "anthropic" else {}
        model = {"model": "claude-haiku-4-5"} if second == "anthropic" else {}
        request = asking(second, said("user", "Look at it"), asked, results, **effort, **model)
        assert (await hear(two, request)).text == "Both are fine."
    assert server.refused == []


ODD: dict[str, list[Message]] = {
    "two prompts in a row, one empty": [said("user", "one"), said("user", " \n"), said("user", "two")],
    "an answer of nothing": [said("user", "one"), said("assistant"), said("user", "two")],
    "an answer of empty words": [said("user", "one"), said("assistant", "", "  "), said("user", "two")],
    "begins with an answer": [said("assistant", "as I said"), said("user", "go on")],
    "ends with an answer": [said("user", "one"), said("assistant", "half of it")],
    "only thinking, unsigned": [said("user", "one"), said("assistant", Thinking("hm")), said("user", "two")],
    "a call without a result": [said("user", "one"), said("assistant", ToolCall("a", "read")), said("user", "two")],
    "a call without a result at the end": [said("user", "one"), said("assistant", ToolCall("a", "read"))],
    "a result without a call": [said("user", "one"), said("tool", ToolResult("z", "read", "old")), said("user", "two")],
    "a result twice": [
        said("user", "one"),
        said("assistant", ToolCall("a", "read")),
        said("tool", ToolResult("a", "read", "x"), ToolResult("a", "read", "y")),
    ],
    "an empty result": [
        said("user", "one"),
        said("assistant", ToolCall("a", "read")),
        said("tool", ToolResult("a", "read", "")),
    ],
    "ids that no API takes": [
        said("user", "one"),
        said("assistant", ToolCall("call|1/ü " + "x" * 90, "no such tool!"), ToolCall("", "read")),
        said("tool", ToolResult("", "read", "b"), ToolResult("call|1/ü " + "x" * 90, "no such tool!", "a", "error")),
    ],
    "the same id in two turns": [
        said("user", "one"),
        *[said("assistant", ToolCall("a", "read")), said("tool", ToolResult("a", "read", "1"))] * 2,
    ],
    "broken arguments": [
        said("user", "one"),
        said("assistant", ToolCall("a", "read", {}, broken='{"path": ')),
        said("tool", ToolResult("a", "read", "not run", "error")),
    ],
    "an interruption between calls and results": [
        said("user", "one"),
        said("assistant", "on it", ToolCall("a", "read"), ToolCall("b", "grep")),
        said("user", "stop"),
        said("tool", ToolResult("b", "grep", "cancelled", "cancelled")),
    ],
    "a picture alone": [said("user", Image("image/png", "aGVsbG8="))],
    "nothing at all": [said("user", "")],
}


@pytest.mark.parametrize("api", APIS)
async def test_whatever_the_log_holds_the_request_is_valid(api: str) -> None:
    async with loopback(api, [DONE], repeat=True) as server:
        provider = make(api, server.url)
        wrong: dict[str, str] = {}
        for name, log in ODD.items():
            try:
                await hear(provider, asking(api, *log))
            except ProviderError as error:
                wrong[name] = error.message
        await provider.close()
    assert wrong == {}
    assert server.refused == []


async def test_what_is_signed_goes_back_unchanged_and_only_to_its_own() -> None:
    for api in ("anthropic", "openai", "gemini"):
        async with conversation(api, [WORK, DONE]) as (provider, server):
            log: list[Message] = []
            await turn(provider, api, log, "Look")
            sent = str(server.chats[1].body)
            signed = [block.opaque for block in log[1].blocks if hasattr(block, "opaque") and block.opaque]
            assert signed and all(set(opaque) == {api} for opaque in signed)
            words = {"anthropic": "signature", "openai": "encrypted_content", "gemini": "thoughtSignature"}
            assert words[api] in sent or "thought_signature" in sent
        assert server.refused == []
