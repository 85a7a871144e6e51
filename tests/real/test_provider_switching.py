"""A conversation goes on with another provider, and with the first one again: every API's rules hold each time."""

import itertools
from typing import Any

import pytest

from gshtui.bus.messages import Image, Message, Text, Thinking, ToolCall, ToolResult
from gshtui.providers.port import Provider, ProviderError
from tests.kit.loopback.apis import loopback
from tests.kit.loopback.script import Answer, Call, Say, Think
from tests.kit.providers import APIS, make_message, make_provider, make_request, provider_with_loopback, receive_stream

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
    log.append(make_message("user", prompt))
    while True:
        message = (await receive_stream(provider, make_request(api, *log))).completed.message
        log.append(message)
        if not message.calls:
            return
        results = [ToolResult(c.id, c.name, f"content of {c.arguments}") for c in message.calls]
        log.append(make_message("tool", *reversed(results)))  # they finish in any order


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(APIS, 2)))
async def test_a_conversation_changes_providers_and_comes_back(first: str, second: str) -> None:
    log: list[Message] = []
    async with (
        provider_with_loopback(first, [WORK, MORE, DONE] * 2) as (one, one_server),
        provider_with_loopback(second, [WORK, MORE, DONE]) as (two, two_server),
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
    async with provider_with_loopback(first, [WORK]) as (one, _):
        asked = (await receive_stream(one, make_request(first, make_message("user", "Look at it")))).completed.message
    results = make_message("tool", *[ToolResult(c.id, c.name, "x", status="error") for c in asked.calls])
    async with provider_with_loopback(second, [DONE]) as (two, server):
        more: dict[str, Any] = {"effort": "high", "model": "claude-haiku-4-5"} if second == "anthropic" else {}
        request = make_request(second, make_message("user", "Look at it"), asked, results, **more)
        assert (await receive_stream(two, request)).text == "Both are fine."
    assert server.refused == []


ODD: dict[str, list[Message]] = {
    "two prompts in a row, one empty": [
        make_message("user", "one"),
        make_message("user", " \n"),
        make_message("user", "two"),
    ],
    "an answer of nothing": [make_message("user", "one"), make_message("assistant"), make_message("user", "two")],
    "an answer of empty words": [
        make_message("user", "one"),
        make_message("assistant", "", "  "),
        make_message("user", "two"),
    ],
    "begins with an answer": [make_message("assistant", "as I said"), make_message("user", "go on")],
    "ends with an answer": [make_message("user", "one"), make_message("assistant", "half of it")],
    "only thinking, unsigned": [
        make_message("user", "one"),
        make_message("assistant", Thinking("hm")),
        make_message("user", "two"),
    ],
    "a call without a result": [
        make_message("user", "one"),
        make_message("assistant", ToolCall("a", "read")),
        make_message("user", "two"),
    ],
    "a call without a result at the end": [
        make_message("user", "one"),
        make_message("assistant", ToolCall("a", "read")),
    ],
    "a result without a call": [
        make_message("user", "one"),
        make_message("tool", ToolResult("z", "read", "old")),
        make_message("user", "two"),
    ],
    "a result twice": [
        make_message("user", "one"),
        make_message("assistant", ToolCall("a", "read")),
        make_message("tool", ToolResult("a", "read", "x"), ToolResult("a", "read", "y")),
    ],
    "an empty result": [
        make_message("user", "one"),
        make_message("assistant", ToolCall("a", "read")),
        make_message("tool", ToolResult("a", "read", "")),
    ],
    "ids that no API takes": [
        make_message("user", "one"),
        make_message("assistant", ToolCall("call|1/ü " + "x" * 90, "no such tool!"), ToolCall("", "read")),
        make_message(
            "tool", ToolResult("", "read", "b"), ToolResult("call|1/ü " + "x" * 90, "no such tool!", "a", "error")
        ),
    ],
    "the same id in two turns": [
        make_message("user", "one"),
        *[make_message("assistant", ToolCall("a", "read")), make_message("tool", ToolResult("a", "read", "1"))] * 2,
    ],
    "broken arguments": [
        make_message("user", "one"),
        make_message("assistant", ToolCall("a", "read", {}, broken='{"path": ')),
        make_message("tool", ToolResult("a", "read", "not run", "error")),
    ],
    "an interruption between calls and results": [
        make_message("user", "one"),
        make_message("assistant", "on it", ToolCall("a", "read"), ToolCall("b", "grep")),
        make_message("user", "stop"),
        make_message("tool", ToolResult("b", "grep", "cancelled", "cancelled")),
    ],
    "a picture alone": [make_message("user", Image("image/png", "aGVsbG8="))],
    "nothing at all": [make_message("user", "")],
}


@pytest.mark.parametrize("api", APIS)
async def test_whatever_the_log_holds_the_request_is_valid(api: str) -> None:
    async with loopback(api, [DONE], repeat=True) as server:
        provider = make_provider(api, server.url)
        wrong: dict[str, str] = {}
        for name, log in ODD.items():
            try:
                await receive_stream(provider, make_request(api, *log))
            except ProviderError as error:
                wrong[name] = error.message
        await provider.close()
    assert wrong == {}
    assert server.refused == []


async def test_what_is_signed_goes_back_unchanged_and_only_to_its_own() -> None:
    for api in ("anthropic", "openai", "gemini"):
        async with provider_with_loopback(api, [WORK, DONE]) as (provider, server):
            log: list[Message] = []
            await turn(provider, api, log, "Look")
            sent = str(server.chats[1].body)
            signed = [
                block.opaque
                for block in log[1].blocks
                if isinstance(block, Text | Thinking | ToolCall) and block.opaque
            ]
            assert signed and all(set(opaque) == {api} for opaque in signed)
            words = {"anthropic": "signature", "openai": "encrypted_content", "gemini": "thoughtSignature"}
            assert words[api] in sent or "thought_signature" in sent
        assert server.refused == []
