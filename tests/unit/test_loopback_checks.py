"""The loopbacks are as strict as the real APIs: a gate that lets everything through would prove nothing."""

import asyncio
import copy
import json
from typing import Any

import pytest

from tests.kit.loopback.apis import SPEECHES, loopback
from tests.kit.loopback.script import Call, Fault, Say, parse
from tests.kit.loopback.speech import Refused, sign, well_formed

TOOL_USE = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
HI = {"type": "text", "text": "hi"}


def anthropic(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"model": "claude-sonnet-5-5", "max_tokens": 9, "stream": True, "messages": list(messages), **fields}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


VERSION = {"anthropic-version": "2026-10-21"}
WRONG_ANTHROPIC: list[dict[str, Any]] = [
    anthropic(),
    anthropic(assistant(HI)),
    anthropic(user(HI), user(HI)),
    anthropic(user(HI), assistant(HI)),
    anthropic(user()),
    anthropic(user({"type": "text", "text": " "})),
    anthropic(user(HI), assistant(TOOL_USE), user(HI)),
    anthropic(user(HI), assistant(TOOL_USE), user(HI, RESULT)),
    anthropic(user(HI), assistant(TOOL_USE), user(RESULT, RESULT)),
    anthropic(user(RESULT)),
    anthropic(user(HI), assistant({**TOOL_USE, "id": "a|b"}), user({**RESULT, "tool_use_id": "a|b"})),
    anthropic(user(HI), assistant(TOOL_USE, TOOL_USE), user(RESULT)),
    anthropic(user(HI), assistant({"type": "thinking", "thinking": "x", "signature": "forged"}), user(HI)),
    anthropic(user(HI), temperature=0.2),
    anthropic(user(HI), top=1),
    anthropic(user(HI), thinking={"type": "enabled", "budget_tokens": 2000}),
    anthropic(user(*[{**HI, "cache_control": {"type": "ephemeral"}}] * 5)),
    anthropic(user(HI), tools=[{"name": "a b", "input_schema": {"type": "object"}}]),
]


@pytest.mark.parametrize("body", WRONG_ANTHROPIC)
def test_anthropic_refuses(body: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        SPEECHES["anthropic"]().check("/v1/messages", VERSION, copy.deepcopy(body))


def test_anthropic_takes_a_right_one() -> None:
    thought = {"type": "thinking", "thinking": "x", "signature": sign("anthropic", "x")}
    SPEECHES["anthropic"]().check("", VERSION, anthropic(user(HI), assistant(thought, TOOL_USE), user(RESULT, HI)))


CALL = {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "x"}
ASK = {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}
REASONED = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": sign("openai", "")}


@pytest.mark.parametrize(
    "items",
    [
        [],
        [ASK, CALL],
        [ASK, OUTPUT],
        [ASK, CALL, OUTPUT, OUTPUT],
        [ASK, {**CALL, "call_id": "x" * 65}, {**OUTPUT, "call_id": "x" * 65}],
        [ASK, {**CALL, "arguments": "[]"}, OUTPUT],
        [ASK, REASONED, ASK],
        [ASK, {**REASONED, "encrypted_content": "forged"}, CALL, OUTPUT],
        [{"role": "user", "content": []}],
        [ASK, {"role": "assistant", "content": ""}],
    ],
)
def test_openai_refuses(items: list[dict[str, Any]]) -> None:
    with pytest.raises(Refused):
        body = {"model": "gpt-6.1-sol", "stream": True, "store": False, "input": items}
        SPEECHES["openai"]().check("", {}, body)


def test_openai_takes_a_right_one() -> None:
    body = {"model": "gpt-6.1-sol", "stream": True, "store": False, "input": [ASK, REASONED, CALL, OUTPUT, ASK]}
    SPEECHES["openai"]().check("", {}, body)
    with pytest.raises(Refused):
        SPEECHES["openai"]().check("", {}, {**body, "model": "gpt-4o", "include": []})


FUNCTION = {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}
ANSWER = {"role": "assistant", "content": None, "tool_calls": [FUNCTION]}
TOOL = {"role": "tool", "tool_call_id": "a", "content": "x"}
QUESTION = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    "messages",
    [
        [QUESTION, ANSWER],
        [QUESTION, ANSWER, QUESTION],
        [QUESTION, TOOL],
        [QUESTION, ANSWER, TOOL, TOOL],
        [QUESTION, {"role": "assistant", "content": None}, QUESTION],
        [{"role": "user", "content": ""}],
        [QUESTION, {**ANSWER, "tool_calls": [{**FUNCTION, "id": "x" * 41}]}, {**TOOL, "tool_call_id": "x" * 41}],
    ],
)
def test_chat_refuses(messages: list[dict[str, Any]]) -> None:
    with pytest.raises(Refused):
        SPEECHES["openai-chat"]().check("", {}, {"model": "m", "stream": True, "messages": messages})


PART = {"text": "hi"}
CALLED = {"functionCall": {"name": "read", "args": {}}, "thoughtSignature": sign("gemini", "read")}
ANSWERED = {"functionResponse": {"name": "read", "response": {}}}


def content(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


@pytest.mark.parametrize(
    "contents",
    [
        [],
        [content("model", PART)],
        [content("user", PART), content("user", PART)],
        [content("user")],
        [content("user", {"text": "a", "functionCall": {"name": "read"}})],
        [content("user", PART), content("model", CALLED), content("user", PART)],
        [content("user", PART), content("model", CALLED), content("user", ANSWERED, ANSWERED)],
        [content("user", PART), content("model", {"functionCall": {"name": "read"}}), content("user", ANSWERED)],
        [content("user", PART), content("model", {**CALLED, "thoughtSignature": "eA=="}), content("user", ANSWERED)],
    ],
)
def test_gemini_refuses(contents: list[dict[str, Any]]) -> None:
    with pytest.raises(Refused):
        SPEECHES["gemini"]().check("/v1/models/gemini-3.8-flash:streamGenerateContent", {}, {"contents": contents})


def test_lone_surrogates_are_refused_everywhere() -> None:
    with pytest.raises(Refused):
        well_formed({"a": [{"b": "x\ud800"}]})


def test_scripts_can_be_written_as_json() -> None:
    script = parse(
        [
            [{"say": "ab", "times": 2}, {"call": "read", "arguments": {"path": "x"}}],
            {"fault": "status", "status": 429, "retry_after": 1},
        ]
    )
    assert script == [[Say("abab"), Call("read", {"path": "x"})], [Fault.status(429, retry_after=1)]]
    with pytest.raises(ValueError, match="not a step"):
        parse([{"sing": "la"}])


@pytest.mark.timeout(30)
async def test_a_server_ends_just_as_an_answer_has_been_sent() -> None:
    """Also with a client that keeps the connection open, as a running agent does."""
    sent = asyncio.Event()
    async with loopback("anthropic", strict=False, finished=lambda *_: sent.set()) as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        body = json.dumps(anthropic(user(HI))).encode()
        writer.write(b"POST /v1/messages HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        await sent.wait()
    writer.close()
