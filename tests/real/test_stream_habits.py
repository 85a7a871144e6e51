"""What servers do with their streams beyond their APIs' own pages: each habit, with every adapter.

Habits of the wire are tried on an ordinary answer with words and a call, whose meaning must stay what it was. Those of
chat completions' calls, of errors within an answer and of reasoning in the text have tables of their own.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest

from gshtui.bus.messages import Text, Thinking
from gshtui.providers.port import Completed, Provider, ProviderError, TextPart
from gshtui.providers.wire.answer_builder import LONGEST
from tests.kit.loopback.apis import SPEECHES
from tests.kit.loopback.script import Answer, Call, Say, Step
from tests.kit.loopback.server import Loopback
from tests.kit.loopback.speech import Frame
from tests.kit.providers import APIS, ReceivedStream, make_provider, make_request, receive_stream
from tests.kit.storms import combined

EVERY = pytest.mark.parametrize("api", APIS)
Habit = Callable[[list[bytes]], Iterable[bytes]]
WORDS = "Größe: 3 \u2028 of 4 😀. "
ANSWER: Answer = [
    Say(WORDS),
    Call("read", {"path": "ä b.py", "deep": {"n": [1, None]}}, id="call_a"),
    Call("grep", {"pattern": "x"}, id="call_b"),
]


class HabitualSpeech:
    """An API's speech, with a habit; `frames` is what is sent at a time."""

    def __init__(self, api: str, habit: Habit, content_type: str | None = None) -> None:
        self._speech = SPEECHES[api]()
        self._habit = habit
        self.content_type = self._speech.content_type if content_type is None else content_type

    def __getattr__(self, name: str) -> Any:
        return getattr(self._speech, name)

    def frames(self, answer: Answer, model: str, chunk: int) -> Iterator[Frame]:
        frames = [frame.data for frame in self._speech.frames(answer, model, chunk)]
        yield from (Frame(data, delta=True) for data in self._habit(frames) if data)


@contextlib.asynccontextmanager
async def server_with(
    api: str, habit: Habit, *answers: Answer, content_type: str | None = None, **options: Any
) -> AsyncIterator[tuple[Provider, Loopback]]:
    async with Loopback(
        cast("Any", HabitualSpeech(api, habit, content_type)), script=answers or [ANSWER], **options
    ) as server:
        provider = make_provider(api, server.url)
        try:
            yield provider, server
        finally:
            await provider.close()


async def heard(api: str, habit: Habit, *answers: Answer, content_type: str | None = None) -> ReceivedStream:
    async with server_with(api, habit, *answers, content_type=content_type) as (provider, server):
        received = await receive_stream(provider, make_request(api))
        assert len(server.chats) == 1
        return received


def calls_of(completed: Completed) -> list[tuple[str, Any]]:
    return [(call.name, call.broken or call.arguments) for call in completed.message.calls]


def is_ordinary(received: ReceivedStream) -> None:
    assert "".join(b.text for b in received.completed.message.blocks if isinstance(b, Text)) == WORDS
    assert received.text == WORDS
    assert calls_of(received.completed) == [(step.name, step.arguments) for step in ANSWER if isinstance(step, Call)]
    assert received.completed.stop == "tool_use"
    assert len({call.id for call in received.completed.message.calls}) == 2


def between(extra: bytes) -> Habit:
    return lambda frames: [part for frame in frames for part in (extra, frame)]


def lines(frames: list[bytes]) -> list[bytes]:
    return [line for line in b"".join(frames).split(b"\n") if line]


BAD = b'data: {"choices": [{"delta": {"content": "los\n\n'
HABITS: dict[str, Habit] = {
    "byte by byte": lambda frames: [bytes([byte]) for byte in b"".join(frames)],
    "all at once": lambda frames: [b"".join(frames)],
    "line ends of Windows": lambda frames: [b"".join(frames).replace(b"\n", b"\r\n")],
    "line ends of Windows, cut between": lambda frames: [
        part for line in b"".join(frames).split(b"\n") for part in (line + b"\r", b"\n")
    ],
    "a byte order mark": lambda frames: [b"\xef\xbb", b"\xbf", *frames],
    "blank lines first": lambda frames: [b"\n\n\n", *frames],
    "more blank lines": between(b"\n"),
    "the last event has no end": lambda frames: [b"".join(frames).rstrip(b"\n")],
    "a long run of blanks": between(b"\n" * 5_000),
}
EVENT_HABITS: dict[str, Habit] = {
    "comments keep it alive": between(b": ping\n\n"),
    "comments in the middle of events": lambda frames: [b": OPENROUTER PROCESSING\n" + frame for frame in frames],
    "fields that nobody needs": lambda frames: [b"id: 7\nretry: 10\nfoo\n" + frame for frame in frames],
    "no blank after the colon": lambda frames: [frame.replace(b"data: ", b"data:") for frame in frames],
    "no blank lines between events": lambda frames: [b"\n".join(lines(frames)) + b"\n\n"],
    "old line ends": lambda frames: [b"".join(frames).replace(b"\n", b"\r") + b"\n"],
    "events without data": between(b"event: ping\n\n"),
    "a ping as an event": between(b'event: ping\ndata: {"type": "ping"}\n\n'),
    "empty data": between(b"data:\n\n"),
    "data that is no object": between(b'data: 17\n\ndata: null\n\ndata: "x"\n\n'),
    "empty objects": between(b"data: {}\n\n"),
    "events of a type that nobody knows": between(b'event: weather\ndata: {"type": "weather.report", "sun": true}\n\n'),
    "a chunk that is cut off": lambda frames: [BAD, *frames],
    "bytes that are no text": lambda frames: [b"data: \xff\xfe{\n\n", *frames],
    "nested too deeply": lambda frames: [b"data: " + b"[" * 100_000 + b"\n\n", *frames],
    "an end that is said twice": lambda frames: [*frames, b"data: [DONE]\n\n", b"data: [DONE]\n\n"],
    "an end that is not said": lambda frames: [frame for frame in frames if b"[DONE]" not in frame],
    "something behind the end": lambda frames: [*frames, b": bye\n\n"],
}


@EVERY
@pytest.mark.parametrize("habit", HABITS)
async def test_a_habit_of_the_wire_changes_nothing(api: str, habit: str) -> None:
    is_ordinary(await heard(api, HABITS[habit]))


@pytest.mark.parametrize("api", [api for api in APIS if api != "ollama"])
@pytest.mark.parametrize("habit", EVENT_HABITS)
async def test_a_habit_of_events_changes_nothing(api: str, habit: str) -> None:
    is_ordinary(await heard(api, EVENT_HABITS[habit]))


@EVERY
@pytest.mark.parametrize("kind", ["", "text/plain", "application/json", "application/octet-stream", "nonsense"])
async def test_what_a_stream_is_called_changes_nothing(api: str, kind: str) -> None:
    is_ordinary(await heard(api, lambda frames: frames, content_type=kind))


WHOLE: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": "Yes.",
                    "reasoning_content": "Hm.",
                    "tool_calls": [
                        {"id": "c", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}
                    ],
                },
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5},
    },
    "openai": {
        "object": "response",
        "status": "completed",
        "output": [
            {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"},
            {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Yes."}]},
            {"type": "function_call", "id": "f", "call_id": "c", "name": "read", "arguments": '{"path": "a"}'},
        ],
        "usage": {"input_tokens": 10, "output_tokens": 5},
    },
    "anthropic": {
        "type": "message",
        "role": "assistant",
        "stop_reason": "tool_use",
        "content": [
            {"type": "text", "text": "Yes."},
            {"type": "tool_use", "id": "c", "name": "read", "input": {"path": "a"}},
        ],
        "usage": {"input_tokens": 10, "output_tokens": 5},
    },
    "gemini": {
        "candidates": [
            {
                "finishReason": "STOP",
                "content": {
                    "role": "model",
                    "parts": [{"text": "Yes."}, {"functionCall": {"name": "read", "args": {"path": "a"}}}],
                },
            }
        ],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5},
    },
    "ollama": {
        "message": {
            "role": "assistant",
            "content": "Yes.",
            "tool_calls": [{"function": {"name": "read", "arguments": {"path": "a"}}}],
        },
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 10,
        "eval_count": 5,
    },
}


@EVERY
@pytest.mark.parametrize("indent", [None, 2])
async def test_a_whole_answer_in_place_of_a_stream_is_read(api: str, indent: int | None) -> None:
    body = json.dumps(WHOLE[api], indent=indent).encode()
    received = await heard(api, lambda _: [body], content_type="application/json")
    assert received.completed.message.text == "Yes."
    assert calls_of(received.completed) == [("read", {"path": "a"})]
    assert (received.completed.usage.input, received.completed.usage.output) == (10, 5)


@pytest.mark.parametrize("api", ["openai-chat", "gemini"])
async def test_a_stream_as_one_list_is_read(api: str) -> None:
    def as_list(frames: list[bytes]) -> list[bytes]:
        return [b"[" + b",\n".join(x[6:].strip() for x in frames if b"[DONE]" not in x) + b"]\n"]

    is_ordinary(await heard(api, as_list))


# Calls of chat completions


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(index: Any = None, call_id: str | None = None, name: str | None = None, arguments: Any = "") -> Any:
    function = {
        **({"name": name} if name is not None else {}),
        "arguments": arguments,
    }
    out: dict[str, Any] = {"type": "function", "function": function}
    if index is not None:
        out["index"] = index
    return {**out, "id": call_id} if call_id is not None else out


A, B = {"path": "a"}, {"path": "b"}
READ_A, READ_B = ("read", A), ("read", B)
FIRST, LAST = '{"path": ', '"a"}'
CALLS: dict[str, tuple[list[Any], list[tuple[str, Any]]]] = {
    "as it is written": ([call(0, "c", "read"), call(0, arguments=FIRST), call(0, arguments=LAST)], [READ_A]),
    "no index": ([call(None, "c", "read"), call(arguments=FIRST), call(arguments=LAST)], [READ_A]),
    "no index, the id in each": (
        [call(None, "c", "read"), call(None, "c", arguments=FIRST), call(None, "c", arguments=LAST)],
        [READ_A],
    ),
    "no index, an empty id in each": (
        [call(None, "c", "read"), call(None, "", arguments=FIRST), call(None, "", arguments=LAST)],
        [READ_A],
    ),
    "no index, no id": ([call(name="read"), call(arguments=FIRST), call(arguments=LAST)], [READ_A]),
    "no index, two in parts": (
        [
            call(None, "c", "read"),
            call(arguments=FIRST),
            call(arguments=LAST),
            call(None, "d", "read"),
            call(arguments='{"path": "b"'),
            call(arguments="}"),
        ],
        [READ_A, READ_B],
    ),
    "no index, no id, two whole": (
        [call(name="read", arguments='{"path": "a"}'), call(name="read", arguments='{"path": "b"}')],
        [READ_A, READ_B],
    ),
    "index 0 for all, no ids": (
        [call(0, name="read", arguments='{"path": "a"}'), call(0, name="read", arguments='{"path": "b"}')],
        [READ_A, READ_B],
    ),
    "another id in each part": (
        [call(0, "c1", "read"), call(0, "c2", arguments=FIRST), call(0, "c3", arguments=LAST)],
        [READ_A],
    ),
    "the name again in each part": (
        [call(0, "c", "read"), call(0, "c", "read", FIRST), call(0, "c", "read", LAST)],
        [READ_A],
    ),
    "the name again, empty": ([call(0, "c", "read"), call(0, "c", "", FIRST), call(0, "c", "", LAST)], [READ_A]),
    "the name in pieces": ([call(0, "c", "re"), call(0, name="ad"), call(0, arguments=FIRST + LAST)], [READ_A]),
    "the name in pieces, no index": ([call(None, "c", "re"), call(name="ad"), call(arguments=FIRST + LAST)], [READ_A]),
    "the name grows": (
        [call(0, "c", "r"), call(0, "c", "rea"), call(0, "c", "read"), call(0, arguments=FIRST + LAST)],
        [READ_A],
    ),
    "arguments before the name": ([call(0, "c", arguments=FIRST), call(0, name="read", arguments=LAST)], [READ_A]),
    "interleaved": (
        [
            call(0, "c", "read"),
            call(1, "d", "read"),
            call(0, arguments=FIRST),
            call(1, arguments='{"path": '),
            call(1, arguments='"b"}'),
            call(0, arguments=LAST),
        ],
        [READ_A, READ_B],
    ),
    "the index is text": ([call("0", "c", "read"), call("0", arguments=FIRST), call("0", arguments=LAST)], [READ_A]),
    "parameters in place of arguments": (
        [{"index": 0, "id": "c", "function": {"name": "read", "parameters": A}}],
        [READ_A],
    ),
    "no function around it": ([{"index": 0, "id": "c", "name": "read", "arguments": A}], [READ_A]),
    "something that is no call": ([None, 7, call(0, "c", "read", FIRST + LAST)], [READ_A]),
}


def chat(*chunks: Any, done: bool = True) -> Habit:
    """In place of the answer: these chunks."""
    sent = [f"data: {json.dumps(one)}\n\n".encode() for one in chunks]
    return lambda _: [*sent, b"data: [DONE]\n\n"] if done else sent


@pytest.mark.parametrize(("shape", "finish"), combined(list(CALLS), ["tool_calls", "stop", "function_call", "never"]))
async def test_calls_of_compatible_servers(shape: str, finish: str) -> None:
    pieces, wanted = CALLS[shape]
    chunks = [chunk(role="assistant", content=None, tool_calls=[piece]) for piece in pieces]
    ends = [] if finish == "never" else [chunk(finish)]
    completed = (await heard("openai-chat", chat(chunk(content="Look: "), *chunks, *ends))).completed
    assert calls_of(completed) == wanted
    assert completed.stop == "tool_use"
    assert completed.message.text == "Look: "
    ids = [call.id for call in completed.message.calls]
    assert all(ids) and len(set(ids)) == len(ids)


# Calls, with every adapter


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call as a server sends it, whatever the API; `...`: left out."""

    arguments: Any
    name: Any = "read"
    id: Any = "c"
    index: Any = 0


def named(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not ...}


def chat_call(one: RawCall) -> list[Any]:
    function = named(name=one.name, arguments=one.arguments)
    return [chunk(tool_calls=[named(index=one.index, id=one.id, type="function", function=function)])]


def responses_call(one: RawCall) -> list[Any]:
    item = named(type="function_call", id=one.id, call_id=one.id, name=one.name, arguments=one.arguments)
    about = named(output_index=one.index, item_id=one.id)
    return [
        {"type": "response.output_item.added", **about, "item": {**item, "arguments": ""}},
        {"type": "response.output_item.done", **about, "item": item},
    ]


def anthropic_call(one: RawCall) -> list[Any]:
    """A text of arguments comes in a delta; anything else is in the block from the start."""
    is_text = isinstance(one.arguments, str)
    block = named(type="tool_use", id=one.id, name=one.name, input={} if is_text else one.arguments)
    delta = {"type": "input_json_delta", "partial_json": one.arguments}
    about = named(index=one.index)
    return [
        {"type": "content_block_start", **about, "content_block": block},
        *([{"type": "content_block_delta", **about, "delta": delta}] if is_text else []),
        {"type": "content_block_stop", **about},
    ]


def gemini_call(one: RawCall) -> list[Any]:
    part = {"functionCall": named(id=one.id, name=one.name, args=one.arguments)}
    return [{"candidates": [{"content": {"role": "model", "parts": [part]}}]}]


def ollama_call(one: RawCall) -> list[Any]:
    function = named(index=one.index, name=one.name, arguments=one.arguments)
    return [{"message": {"role": "assistant", "content": "", "tool_calls": [named(id=one.id, function=function)]}}]


ENDS: dict[str, list[Any]] = {
    "openai-chat": [chunk("tool_calls")],
    "openai": [{"type": "response.completed", "response": {"status": "completed", "output": [], "usage": None}}],
    "anthropic": [
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ],
    "gemini": [{"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": []}}]}],
    "ollama": [{"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}],
}
BEGINS = {
    "anthropic": [{"type": "message_start", "message": {"role": "assistant", "usage": {"input_tokens": 3}}}],
    "openai": [{"type": "response.created", "response": {"status": "in_progress"}}],
}
WRITERS: dict[str, Callable[[RawCall], list[Any]]] = {
    "openai-chat": chat_call,
    "openai": responses_call,
    "anthropic": anthropic_call,
    "gemini": gemini_call,
    "ollama": ollama_call,
}
RAW: dict[str, tuple[list[RawCall], list[tuple[str, Any]]]] = {
    "arguments are text": ([RawCall('{"path": "a"}')], [READ_A]),
    "arguments are an object": ([RawCall(A)], [READ_A]),
    "arguments are null": ([RawCall(None)], [("read", {})]),
    "arguments are the word null": ([RawCall("null")], [("read", {})]),
    "arguments are empty": ([RawCall("")], [("read", {})]),
    "arguments are left out": ([RawCall(...)], [("read", {})]),
    "arguments are encoded twice": ([RawCall(json.dumps(json.dumps(A)))], [READ_A]),
    "no id": ([RawCall(A, id=...)], [READ_A]),
    "an empty id": ([RawCall(A, id="")], [READ_A]),
    "a null id": ([RawCall(A, id=None)], [READ_A]),
    "an id that is a number": ([RawCall(A, id=7)], [READ_A]),
    "no index": ([RawCall(A, index=...)], [READ_A]),
    "no index, two": ([RawCall(A, index=...), RawCall(B, id="d", index=...)], [READ_A, READ_B]),
    "no ids, two": ([RawCall(A, id=...), RawCall(B, id=..., index=1)], [READ_A, READ_B]),
    "one id for both": ([RawCall(A), RawCall(B, index=1)], [READ_A, READ_B]),
    "index 0 for both": ([RawCall(A), RawCall(B, id="d")], [READ_A, READ_B]),
    "an index that is text": ([RawCall(A, index="0")], [READ_A]),
    "the same call twice": ([RawCall(A), RawCall(A, id="d", index=1)], [READ_A, READ_A]),
    "blanks around the name": ([RawCall(A, name=" read\n")], [READ_A]),
    "a call without a name beside another": (
        [RawCall(A), RawCall(B, name=..., id="d", index=1)],
        [READ_A, ("", json.dumps(B))],
    ),
}


def stream_of(api: str, pieces: list[Any]) -> Habit:
    lines = [json.dumps(piece).encode() for piece in pieces]
    if api == "ollama":
        return lambda _: [line + b"\n" for line in lines]
    kinds = [f"event: {piece['type']}\n".encode() if "type" in piece else b"" for piece in pieces]
    frames = [kind + b"data: " + line + b"\n\n" for kind, line in zip(kinds, lines, strict=True)]
    return lambda _: [*frames, *([b"data: [DONE]\n\n"] if api == "openai-chat" else [])]


@EVERY
@pytest.mark.parametrize("shape", RAW)
async def test_a_habit_of_calls_changes_nothing(api: str, shape: str) -> None:
    calls, wanted = RAW[shape]
    pieces = [*BEGINS.get(api, []), *(piece for one in calls for piece in WRITERS[api](one)), *ENDS[api]]
    completed = (await heard(api, stream_of(api, pieces))).completed
    assert calls_of(completed) == wanted
    assert completed.stop == "tool_use"
    ids = [call.id for call in completed.message.calls]
    assert all(ids) and len(set(ids)) == len(ids)


THOUGHT = "Hm, so. "
SHAPES: dict[str, tuple[list[Any], str, str]] = {
    "no reason": ([chunk(content="Yes.")], "", "Yes."),
    "an unknown reason": ([chunk(content="Yes."), chunk("eos")], "", "Yes."),
    "parts": (
        [chunk(content=[{"type": "text", "text": "Ye"}, {"type": "text", "text": "s."}]), chunk("stop")],
        "",
        "Yes.",
    ),
    "parts that are text": ([chunk(content=["Ye", "s."]), chunk("stop")], "", "Yes."),
    "thinking parts": (
        [
            chunk(
                content=[
                    {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]},
                    {"type": "text", "text": "Yes."},
                ]
            ),
            chunk("stop"),
        ],
        THOUGHT,
        "Yes.",
    ),
    "reasoning": ([chunk(reasoning=THOUGHT), chunk(content="Yes."), chunk("stop")], THOUGHT, "Yes."),
    "reasoning_content": (
        [chunk(reasoning_content=THOUGHT, content=""), chunk(content="Yes."), chunk("stop")],
        THOUGHT,
        "Yes.",
    ),
    "reasoning twice": (
        [chunk(reasoning=THOUGHT, reasoning_content=THOUGHT), chunk(content="Yes."), chunk("stop")],
        THOUGHT,
        "Yes.",
    ),
    "reasoning_details": (
        [chunk(reasoning_details=[{"type": "reasoning.text", "text": THOUGHT}]), chunk(content="Yes."), chunk("stop")],
        THOUGHT,
        "Yes.",
    ),
    "reasoning and its details": (
        [chunk(reasoning=THOUGHT, reasoning_details=[{"text": THOUGHT}]), chunk(content="Yes."), chunk("stop")],
        THOUGHT,
        "Yes.",
    ),
    "the role in each": (
        [chunk(role="assistant", content="Ye"), chunk(role="assistant", content="s."), chunk("stop", role="assistant")],
        "",
        "Yes.",
    ),
    "no choices": ([{"choices": []}, {"choices": None}, {}, chunk(content="Yes."), chunk("stop")], "", "Yes."),
    "no delta": (
        [{"choices": [{"index": 0}, None]}, {"choices": [{"delta": None}]}, chunk(content="Yes."), chunk("stop")],
        "",
        "Yes.",
    ),
    "content null at the end": ([chunk(content="Yes."), chunk("stop", content=None, tool_calls=None)], "", "Yes."),
    "calls as an empty list": ([chunk(content="Yes.", tool_calls=[]), chunk("stop", tool_calls=[])], "", "Yes."),
    "a second choice": (
        [chunk(content="Yes."), {"choices": [{"index": 1, "delta": {"content": "No."}}]}, chunk("stop")],
        "",
        "Yes.",
    ),
    "usage null": ([{**chunk(content="Yes."), "usage": None}, {**chunk("stop"), "usage": {}}], "", "Yes."),
    "usage of odd types": (
        [
            chunk(content="Yes."),
            {**chunk("stop"), "usage": {"prompt_tokens": "7", "completion_tokens": None, "prompt_tokens_details": 3}},
        ],
        "",
        "Yes.",
    ),
    "old completions": ([{"choices": [{"text": "Yes.", "index": 0, "finish_reason": "stop"}]}], "", "Yes."),
    "a refusal as text": ([chunk(refusal="Yes."), chunk("stop")], "", "Yes."),
    "the message in place of its delta": (
        [{"choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}]}],
        "",
        "Yes.",
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_words_of_compatible_servers(shape: str) -> None:
    chunks, thinking, text = SHAPES[shape]
    received = await heard("openai-chat", chat(*chunks))
    assert (received.thinking, received.text, received.completed.stop) == (thinking, text, "end")
    assert received.completed.message.text == text


# Reasoning in the text


REASONED = [
    ("<think>Hm, so. </think>\n\nYes.", "Hm, so. ", "Yes."),
    ("\n<think>\nHm < 3, </thin>, so.\n</think>Yes.", "Hm < 3, </thin>, so.\n", "Yes."),
    ("<thinking>Hm</thinking> Yes.", "Hm", "Yes."),
    ("[THINK]Hm[/THINK]Yes.", "Hm", "Yes."),
    ("<think></think>Yes.", "", "Yes."),
    ("The tag <think> begins, </think> ends.", "", "The tag <think> begins, </think> ends."),
    ("<thin ice>", "", "<thin ice>"),
    ("<thi", "", "<thi"),
    ("<think>Hm", "Hm", ""),
    ("<think>a</think><think>b</think>Yes.", "ab", "Yes."),
]


@EVERY
@pytest.mark.parametrize(("case", "size"), combined(REASONED, [1, 3, 7, 1000]))
async def test_reasoning_between_tags_is_reasoning(api: str, case: tuple[str, str, str], size: int) -> None:
    said, thinking, text = case
    async with Loopback(SPEECHES[api](), script=[[Say(said), Call("read", A)]], chunk=size) as server:
        provider = make_provider(api, server.url)
        received = await receive_stream(provider, make_request(api))
        await provider.close()
    blocks = received.completed.message.blocks
    assert "".join(b.text for b in blocks if isinstance(b, Thinking)) == thinking
    assert "".join(b.text for b in blocks if isinstance(b, Text)) == text
    assert received.thinking == thinking
    assert text.startswith(received.text)
    assert calls_of(received.completed) == [READ_A]


# Errors within an answer of status 200

ERRORS: list[tuple[Any, str, bool]] = [
    ({"code": 402, "message": "Insufficient credits"}, "quota", False),
    ({"code": "402", "message": "Insufficient credits"}, "quota", False),
    ({"code": 429, "message": "Slow down"}, "rate_limit", True),
    ({"type": "rate_limit_error", "message": "Slow down"}, "rate_limit", True),
    ({"code": 503, "message": "No instances"}, "overloaded", True),
    ({"type": "overloaded_error", "message": "Overloaded"}, "overloaded", True),
    ({"code": 502, "message": "Upstream"}, "server", True),
    ({"code": "server_error", "message": "Oops"}, "server", True),
    ({"code": 401, "message": "No"}, "auth", False),
    ({"code": 403, "message": "Moderated"}, "auth", False),
    ({"code": 400, "status": "INVALID_ARGUMENT", "message": "Bad"}, "bad_request", False),
    ({"status": "RESOURCE_EXHAUSTED", "message": "Later"}, "rate_limit", True),
    ({"code": "context_length_exceeded", "message": "Too long"}, "context", False),
    ({"code": "insufficient_quota", "message": "Pay"}, "quota", False),
    ({"message": "Something broke"}, "server", True),
    ({"message": {"code": 402, "message": "Insufficient credits"}}, "quota", False),
    ({"code": None, "message": None}, "server", True),
    ("rate limit exceeded", "rate_limit", True),
    ("Something broke", "server", True),
]


def failing(api: str, error: Any, form: int) -> Habit:
    """An error as the API has it (0), or as others put it into the same stream (1, 2)."""
    if api == "ollama":
        return lambda _: [json.dumps({"error": error}).encode() + b"\n"]
    named: Any = {"type": "error", "error": error}
    if form == 0 and api == "openai":
        response = {"status": "failed", "error": error, "output": [], "usage": None}
        named = {"type": "response.failed", "response": response}
    data = json.dumps(named if form == 0 and api in ("openai", "anthropic") else {"error": error}).encode()
    return lambda _: [(b"event: error\n" if form == 1 else b"") + b"data: " + data + b"\n\n"]


@pytest.mark.parametrize(("form", "api"), combined([0, 1, 2], APIS))
async def test_an_error_within_an_answer_is_what_it_is(api: str, form: int) -> None:
    for error, kind, again in ERRORS:
        attempts = {"rate_limit": 10, "overloaded": 10}.get(kind, 4) if again else 1
        async with server_with(api, failing(api, error, form), *[[Say("x")]] * 10) as (provider, server):
            with pytest.raises(ProviderError) as failed:
                await receive_stream(provider, make_request(api))
            assert (failed.value.kind, failed.value.retryable) == (kind, again), error
            assert len(server.chats) == attempts, error
        message = error.get("message") if isinstance(error, dict) else error
        named = message in ("Overloaded", "Bad", "Too long")  # which our own sentence says
        assert named or not isinstance(message, str) or message in failed.value.message


@EVERY
async def test_an_error_behind_some_words_keeps_them(api: str) -> None:
    def habit(frames: list[bytes]) -> list[bytes]:
        return [*frames[: len(frames) // 2], *failing(api, {"code": 402, "message": "Insufficient credits"}, 2)([])]

    async with server_with(api, habit, [Say("one two three four five six seven")]) as (provider, server):
        with pytest.raises(ProviderError) as failed:
            await receive_stream(provider, make_request(api))
        assert len(server.chats) == 1
    assert (failed.value.kind, failed.value.started) == ("quota", True)


# What ends before its end


@EVERY
async def test_a_call_that_is_cut_off_before_anything_was_seen_is_tried_again(api: str) -> None:
    """At every place between two frames of a call without words."""
    call: list[Step] = [Call("read", {"path": "a" * 20})]
    frames = [frame.data for frame in SPEECHES[api]().frames(call, "m", 8)]
    ends = next(
        at
        for at, frame in enumerate(frames)
        if b'"done": true' in frame
        or b'finish_reason": "' in frame
        or b"completed" in frame
        or b"message_delta" in frame
        or b"STOP" in frame
    )
    for at in range(1, ends):
        times: list[int] = []

        def habit(frames: list[bytes], at: int = at, times: list[int] = times) -> list[bytes]:
            times.append(1)
            return frames[:at] if len(times) == 1 else frames

        async with server_with(api, habit, call, call) as (provider, server):
            received = await receive_stream(provider, make_request(api))
            assert len(server.chats) == 2
        assert calls_of(received.completed) == [("read", {"path": "a" * 20})]
        assert [r.error.kind for r in received.retries] == ["truncated"]


@EVERY
async def test_an_answer_without_an_end_is_ended_and_others_have_their_turn(api: str) -> None:
    """A server that repeats one piece as fast as it is taken."""

    def endless(frames: list[bytes]) -> Iterator[bytes]:
        piece = next(frame for frame in frames if len(frame) > 5_000)
        yield from frames[: frames.index(piece) + 1]
        while True:
            yield piece * 20

    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with server_with(api, endless, [Say("x" * 20_000)], chunk=10_000) as (provider, _):
        beside = asyncio.create_task(others())
        said = 0
        with pytest.raises(ProviderError) as failed:
            async for delta in provider.stream(make_request(api)):
                said += len(delta.text) if isinstance(delta, TextPart) else 0
        beside.cancel()
        most = provider.capabilities(make_request(api).model).max_output
    assert said <= max(LONGEST, 32 * most)
    assert (failed.value.kind, failed.value.started) == ("garbage", True)
    assert "did not stop" in failed.value.message
    assert turns > 20


@EVERY
async def test_a_long_answer_is_read_no_more_often_than_a_screen_is_drawn(api: str) -> None:
    """Its tokens come one by one, and are all there; those that came close together are read at once."""
    text, read_at, turns = "".join(f"{number} " for number in range(400)), set[int](), 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    said = ""
    async with server_with(api, list[bytes], [Say(text)], chunk=4, pace=1_000.0) as (provider, _):
        beside = asyncio.create_task(others())
        async for delta in provider.stream(make_request(api)):
            if isinstance(delta, TextPart):
                said += delta.text
                read_at.add(turns)
        beside.cancel()
    assert said == text
    assert len(read_at) < 80
