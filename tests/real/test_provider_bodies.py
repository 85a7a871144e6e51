"""The body that each provider says it sends is, byte for byte, what its API receives."""

import base64
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gshtui.bus.messages import Document, Image, Message, Text, Thinking, ToolCall, ToolResult
from gshtui.context.assembly.system_section import system_sections
from gshtui.providers.adapters.ollama import Ollama
from gshtui.providers.offline import OfflineProvider
from gshtui.providers.port import Request
from gshtui.providers.wire.request_hash import encodings, hash_of, text_of, was_sent
from tests.kit.loopback.script import Call, Fault, Say, Think
from tests.kit.loopback.speech import sign
from tests.kit.providers import (
    APIS,
    GREP,
    READ,
    make_message,
    make_provider,
    make_request,
    provider_with_loopback,
    receive_stream,
)

EVERY = pytest.mark.parametrize("api", APIS)
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256))).decode()
PDF = base64.b64encode(b"%PDF-1.7\n%%EOF").decode()
NOTE = base64.b64encode(b"a note").decode()


def everything(api: str) -> tuple[Message, ...]:
    """Messages with every kind of block, and with what is hard to write."""
    thought = Thinking(
        "I think.",
        {
            "anthropic": {"signature": sign("anthropic", "I think.")},
            "openai": {"id": "rs_1", "encrypted": sign("openai", "I think.")},
            "ollama": True,
        },
    )
    deep: dict[str, Any] = {"snake_case": {"camelCase": [1, 2.5, None, True]}, "é": "\ud800", "": {}}
    signed = {"gemini": {"signature": sign("gemini", "read")}} if api == "gemini" else {}
    return (
        make_message(
            "user", "Grüße 🎉\0\u2028", Image("image/png", PNG, "a.png"), Document("application/pdf", PDF, "ü.pdf")
        ),
        make_message(
            "assistant",
            thought,
            Text("I look.", {"openai": {"phase": "commentary"}}),
            ToolCall("call_1", "read", deep, opaque=signed),
            ToolCall("call_2", "git worktree", broken='{"half'),
        ),
        make_message(
            "tool", ToolResult("call_1", "read", "content"), ToolResult("call_2", "git worktree", "no", "error")
        ),
        make_message("user", Document("text/plain", NOTE, "n.txt"), Image("image/svg+xml", PNG), "go on"),
    )


@EVERY
@pytest.mark.parametrize(
    "options",
    [{}, {"max_output": 500}, {"temperature": 0.5, "effort": "low"}, {"tools": ()}, {"effort": "high"}],
    ids=["plain", "short", "tempered", "no tools", "hard"],
)
async def test_the_body_is_what_goes_over_the_wire(api: str, options: dict[str, Any]) -> None:
    async with provider_with_loopback(api, [[Say("well")]] * 2) as (provider, server):
        if api == "ollama":
            assert isinstance(provider, Ollama)
            await provider.learn(make_request(api).model)
        for request in (
            make_request(api, *everything(api), **options),
            replace(make_request(api, **options), system=()),
        ):
            body = provider.body(request)
            heard = await receive_stream(provider, request)
            received = server.chats[-1]
            assert received.body == body
            assert received.raw in encodings(body)
            assert heard.completed.sent == hash_of(received.raw)
            assert was_sent(body, heard.completed.sent)
            assert json.loads(text_of(body)) == body
            assert "secret" not in text_of(body)
        assert server.refused == []
        assert not was_sent(
            provider.body(make_request(api, make_message("user", "other"), **options)), heard.completed.sent
        )
        assert not was_sent(body, "")


@EVERY
async def test_asking_for_the_body_changes_nothing_and_needs_no_key(api: str) -> None:
    async with provider_with_loopback(api, [[Say("well")]], key="") as (provider, server):
        request = make_request(api, *everything(api))
        first = json.dumps(provider.body(request))
        assert json.dumps(provider.body(request)) == first
        assert server.requests == []


async def test_a_request_that_was_sent_again_without_signatures_is_not_taken_for_the_first() -> None:
    script = [[Think("hm"), Say("x")], [Fault.unsigned()], [Say("well")]]
    async with provider_with_loopback("anthropic", script) as (provider, server):
        first = await receive_stream(provider, make_request("anthropic"))
        more = (make_message("user", "Hello"), first.completed.message, make_message("user", "on"))
        request = make_request("anthropic", *more)
        heard = await receive_stream(provider, request)
        assert heard.completed.sent == hash_of(server.chats[-1].raw)
        assert was_sent(provider.body(request), heard.completed.sent)  # it knows what was refused
    assert not was_sent(make_provider("anthropic", server.url).body(request), heard.completed.sent)


async def test_offline_shows_what_it_reads_and_sends_nothing() -> None:
    provider = OfflineProvider()
    request = Request("offline", ("You are.",), (make_message("user", "run ls"),), (READ,))
    body = provider.body(request)
    assert body["system"] == ["You are."]
    assert body["messages"][0]["blocks"] == [{"type": "text", "text": "run ls"}]
    assert [tool["name"] for tool in body["tools"]] == ["read"]
    assert json.loads(text_of(body)) == body
    assert (await receive_stream(provider, request)).completed.sent == ""


# The prefix that a provider's cache can hold


def prefix(body: dict[str, Any]) -> list[Any]:
    """What a cache compares, in the order in which the API puts it together."""
    system: Any = body.get("system") or body.get("instructions") or body.get("systemInstruction", {}).get("parts", "")
    turns: Any = body.get("messages") or body.get("input") or body.get("contents")
    parts: list[Any] = [body.get("tools"), *(system if isinstance(system, list) else [system]), *turns]
    return [json.loads(json.dumps(part).replace(', "cache_control": {"type": "ephemeral"}', "")) for part in parts]


def common(one: list[Any], other: list[Any]) -> int:
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


TALK = (make_message("user", "Hello"), make_message("assistant", "Hi."), make_message("user", "Do it"))
MORE = (*TALK, make_message("assistant", ToolCall("c", "read", {})), make_message("tool", ToolResult("c", "read", "x")))


@EVERY
async def test_the_next_request_begins_with_all_of_this_one(api: str) -> None:
    async with provider_with_loopback(api, []) as (provider, _):
        before = prefix(provider.body(make_request(api, *TALK)))
        after = prefix(provider.body(make_request(api, *MORE)))
        assert common(before, after) == len(before)


@EVERY
async def test_a_new_day_or_branch_leaves_tools_and_the_stable_system_alone(api: str) -> None:
    async with provider_with_loopback(api, []) as (provider, _):
        bodies: list[dict[str, Any]] = []
        for branch, day in (("main", 20), ("topic", 21)):
            system = system_sections("main", Path("/p"), branch, date(2026, 11, day), "Skills: none")
            bodies.append(provider.body(replace(make_request(api, *TALK), system=system)))
        one, two = (json.dumps(body, ensure_ascii=False) for body in bodies)
        assert one != two
        assert prefix(bodies[0])[0] == prefix(bodies[1])[0]
        differs = next(at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b)
        for stable in ("You are main", "Skills: none"):
            at = one.find(stable)
            assert at >= 0
            if one.find("Do it") > at:  # bodies that name the conversation first are put together otherwise
                assert at < differs


@pytest.mark.parametrize("turns", [1, 2, 5, 30])
@pytest.mark.parametrize("blocks", [1, 25])
async def test_claude_gets_four_breakpoints_at_most_and_finds_the_last_ones_again(turns: int, blocks: int) -> None:
    """A look-up goes back twenty blocks at most: each new mark is near enough to one that was written."""
    messages: list[Message] = []
    async with provider_with_loopback("anthropic", []) as (provider, _):
        written: set[int] = set()
        for turn in range(turns):
            calls = tuple(ToolCall(f"c{turn}-{n}", "read", {}) for n in range(blocks))
            results = tuple(ToolResult(call.id, call.name, "x") for call in calls)
            prompt = make_message("user", *(f"prompt {turn}.{n}" for n in range(blocks)))
            for more in (
                (prompt,),
                (make_message("assistant", *calls), make_message("tool", *results)),
                (make_message("assistant", "done"),),
            ):
                messages += more
                if messages[-1].role == "assistant":
                    continue
                body = provider.body(make_request("anthropic", *messages))
                marks = marked(body)
                assert len(marks) <= 4
                assert marks[-1] == len(cached_blocks(body)) - 1
                if written:
                    near = {at for mark in marks for at in range(max(mark - 19, 0), mark + 1)}
                    assert max(near & written) >= max(written)
                written |= set(marks)


def cached_blocks(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Every block in the order in which Claude's cache sees them."""
    return [*body.get("tools", []), *body.get("system", []), *(b for m in body["messages"] for b in m["content"])]


def marked(body: dict[str, Any]) -> list[int]:
    return [at for at, block in enumerate(cached_blocks(body)) if "cache_control" in block]


@EVERY
async def test_tools_go_out_in_the_order_in_which_they_are_given(api: str) -> None:
    async with provider_with_loopback(api, []) as (provider, _):
        orders = [
            json.dumps(provider.body(make_request(api, tools=tools))["tools"]) for tools in ((READ, GREP), (GREP, READ))
        ]
        assert orders[0] != orders[1]
        assert json.loads(orders[0]) != []


async def test_a_call_in_an_answer_is_the_same_in_the_next_body() -> None:
    """What a model said is sent again as it was, or the cache ends there."""
    for api in APIS:
        async with provider_with_loopback(api, [[Say("I look."), Call("read", {"path": "a"})], [Say("ok")]]) as (
            provider,
            server,
        ):
            first = await receive_stream(provider, make_request(api))
            answer = first.completed.message
            results = tuple(ToolResult(call.id, call.name, "x") for call in answer.calls)
            request = make_request(api, make_message("user", "Hello"), answer, make_message("tool", *results))
            await receive_stream(provider, request)
            bodies = [prefix(chat.body) for chat in server.chats]
            assert common(bodies[0], bodies[1]) == len(bodies[0])
