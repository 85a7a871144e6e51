"""What a server has refused once is not sent to it again: counted at the server."""

import asyncio
import time
from pathlib import Path

import msgspec
import pytest

from gshtui.bus.messages import Message, Thinking, ToolCall, ToolResult
from gshtui.providers.adapters.openai_chat import FIELDS
from gshtui.providers.port import Provider, ProviderError
from gshtui.providers.wire.refusals import Refusals
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Answer, Call, Fault, Say, Think
from tests.kit.loopback.server import Loopback
from tests.kit.providers import (
    MODELS,
    make_message,
    make_provider,
    make_request,
    provider_with_loopback,
    receive_stream,
)
from tests.kit.warm_program import run_gsh

SIGNED = pytest.mark.parametrize("api", ["anthropic", "openai", "gemini"])
THINKS: Answer = [Think("so it is"), Say("Yes."), Call("read", {"path": "a"})]


async def further(provider: Provider, api: str, talk: list[Message], server: Loopback) -> list[int]:
    """Four more requests of a turn, each with the last answer's call answered: how often each was sent."""
    sent: list[int] = []
    for number in range(4):
        before = len(server.chats)
        message = (await receive_stream(provider, make_request(api, *talk))).completed.message
        sent.append(len(server.chats) - before)
        results = [ToolResult(call.id, "read", str(number)) for call in message.calls]
        talk += [message, make_message("tool", *results) if results else make_message("user", "more")]
    return sent


@SIGNED
async def test_what_another_model_has_signed_is_left_out_from_the_first_request_on(api: str) -> None:
    async with provider_with_loopback(api, [THINKS] * 9) as (provider, server):
        first = (await receive_stream(provider, make_request(api))).completed.message
        talk = [
            make_message("user", "Hello"),
            msgspec.structs.replace(first, model="another-model"),
            make_message("tool", ToolResult(first.calls[0].id, "read", "x")),
        ]
        signatures = [
            block.opaque[api] for block in first.blocks if isinstance(block, Thinking | ToolCall) and block.opaque
        ]
        assert signatures
        assert await further(provider, api, talk, server) == [1, 1, 1, 1]
        own = str(server.chats[2].body)
        assert server.refused == []
    plain = str(server.chats[1].body)
    marks = ("signature", "encrypted_content", "thoughtSignature")
    assert sum(own.count(mark) for mark in marks) > sum(plain.count(mark) for mark in marks)  # its own are sent


@SIGNED
async def test_a_refused_signature_is_refused_once(api: str) -> None:
    async with provider_with_loopback(api, [THINKS, [Fault.unsigned()], *[THINKS] * 9]) as (provider, server):
        first = (await receive_stream(provider, make_request(api))).completed.message
        talk = [make_message("user", "Hello"), first, make_message("tool", ToolResult(first.calls[0].id, "read", "x"))]
        assert await further(provider, api, talk, server) == [2, 1, 1, 1]
        assert server.refused == []


@pytest.mark.parametrize(
    ("api", "field", "message", "instead"),
    [
        ("openai-chat", "temperature", "Unsupported value: 'temperature' does not support 0.5 with this model.", ""),
        ("openai-chat", "stream_options", "Unrecognized request argument supplied: stream_options", ""),
        (
            "openai-chat",
            "max_tokens",
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            "max_completion_tokens",
        ),
        ("openai", "parallel_tool_calls", "Unknown parameter: parallel_tool_calls", ""),
        ("anthropic", "thinking", "thinking: Extra inputs are not permitted", ""),
    ],
)
async def test_a_refused_field_is_refused_once(api: str, field: str, message: str, instead: str) -> None:
    refusal: Answer = [Fault.status(400, message=message)]
    async with provider_with_loopback(api, [refusal, *[[Say("fine")]] * 4], strict=False) as (provider, server):
        for sent in (2, 1, 1):
            before = len(server.chats)
            request = make_request(api, temperature=0.5, max_output=2_000)
            assert (await receive_stream(provider, request)).text == "fine"
            assert len(server.chats) - before == sent
            assert provider.body(request) == server.chats[-1].body
    bodies = [chat.body for chat in server.chats]
    assert [field in body for body in bodies] == [True, False, False, False]
    assert all(not instead or body.get(instead) == 2_000 for body in bodies[1:])


@pytest.mark.parametrize("passed", [False, True])
async def test_a_refused_field_is_known_at_the_next_start_for_some_days(
    passed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted for a program as a process of its own, and for a provider made anew; another server is asked anew."""
    api = "openai-chat"
    refusal: Answer = [Fault.status(400, message="Unsupported parameter: 'temperature'.")]
    script: list[Answer] = [refusal, [Say("fine")], *([refusal] if passed else []), *[[Say("fine")]] * 2]
    async with provider_with_loopback(api, script, strict=False) as (provider, server):
        await receive_stream(provider, make_request(api, temperature=0.5))
        if passed:
            later = time.time() + 8 * 86_400
            monkeypatch.setattr("gshtui.providers.wire.refusals.time.time", lambda: later)
        before = len(server.chats)
        again = make_provider(api, server.url)
        assert (await receive_stream(again, make_request(api, temperature=0.5))).text == "fine"
        await again.close()
        assert len(server.chats) - before == (2 if passed else 1)
    assert Refusals("openai-chat http://elsewhere", "", FIELDS).fitted(MODELS[api], {"temperature": 1}) == {
        "temperature": 1
    }


async def test_two_programs_learn_it_once(tmp_path: Path) -> None:
    """Two processes, one after the other."""
    refusal: Answer = [Fault.status(400, message="Unrecognized request argument supplied: stream_options")]
    async with loopback("openai-chat", [refusal, *[[Say("fine")]] * 2], strict=False) as server:
        sent: list[int] = []
        for _ in range(2):
            ran = await asyncio.to_thread(
                run_gsh, "prompt", "hello", cwd=tmp_path, env=variables("openai-chat", server.url)
            )
            assert (ran.code, ran.out.strip()) == (0, "fine"), ran.err
            sent.append(len(server.chats))
        assert ["stream_options" in chat.body for chat in server.chats] == [True, False, False]
        assert sent == [2, 3]


async def test_a_field_that_was_not_it_is_sent_again() -> None:
    api = "openai-chat"
    script: list[Answer] = [
        [Fault.status(400, message="max_tokens and temperature: too much of both")],
        *[[Fault.status(400, message="no")], [Say("fine")]],
    ]
    async with provider_with_loopback(api, script, strict=False) as (provider, server):
        request = make_request(api, temperature=0.5)
        with pytest.raises(ProviderError):
            await receive_stream(provider, request)
        await receive_stream(provider, request)
        assert ["temperature" in chat.body for chat in server.chats] == [True, False, True]


async def test_a_wrong_request_that_names_nothing_is_told_at_once() -> None:
    async with provider_with_loopback("openai-chat", [[Fault.status(400, message="No.")]]) as (provider, server):
        with pytest.raises(Exception, match="No"):
            await receive_stream(provider, make_request("openai-chat", temperature=0.5))
        assert len(server.chats) == 1
