"""Whatever a log holds, each translation makes a request that keeps every rule of its API. Pure: no SDK, no network."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.bus.messages import Block, Document, Image, Message, Text, Thinking, ToolCall, ToolResult
from gshtui.providers.adapters import anthropic, gemini, ollama, openai_chat, openai_responses
from gshtui.providers.catalog import Catalog
from gshtui.providers.port import Request, ToolSpec
from gshtui.providers.wire import wire_history
from gshtui.providers.wire.wire_text import Joiner, ToolNames, data, text
from tests.kit.loopback.apis import SPEECHES
from tests.kit.loopback.speech import sign, well_formed
from tests.kit.providers import APIS, MODELS

CATALOG = Catalog.load()
WORDS = st.text(st.characters(codec=None), max_size=12)  # lone surrogates too
IDS = st.sampled_from(["a", "b", "", "call|1", "x" * 70, "ü\ud800"])
NAMES = st.sampled_from(["read", "grep", "git worktree", "git/worktree", "", "9", "n" * 80])
ARGUMENTS = st.dictionaries(WORDS, st.none() | st.integers(-5, 5) | WORDS | st.lists(WORDS, max_size=2), max_size=2)


def thought(words: str) -> Thinking:
    """Signed by everyone; each must look at its own only, and none at words that were changed."""
    opaque = {
        "anthropic": {"signature": sign("anthropic", text(words))},
        "openai": {"id": "rs_1", "encrypted": sign("openai", text(words))},
        "ollama": True,
    }
    return Thinking(words, opaque)


ANSWERS: st.SearchStrategy[Block] = st.one_of(
    WORDS.map(Text),
    WORDS.map(Thinking),
    WORDS.map(thought),
    st.builds(ToolCall, IDS, NAMES, ARGUMENTS, st.sampled_from(["", "{"])),
)
PICTURES = st.sampled_from([("image/png", "aGk="), ("image/svg+xml", "aGk="), ("image/png", "!"), ("image/png", "")])
PAPERS = st.sampled_from(
    [("application/pdf", "aGk="), ("application/zip", "aGk="), ("text/plain", ""), ("text/x", "aGk=")]
)
QUESTIONS: st.SearchStrategy[Block] = st.one_of(
    WORDS.map(Text), PICTURES.map(lambda p: Image(*p)), PAPERS.map(lambda p: Document(*p, "n\ud800.x"))
)
RESULTS: st.SearchStrategy[Block] = st.builds(ToolResult, IDS, NAMES, WORDS, st.sampled_from(["ok", "error", "lost"]))
MESSAGES = st.one_of(
    st.builds(Message, st.just("1"), st.just("user"), st.lists(QUESTIONS, max_size=3).map(tuple)),
    st.builds(Message, st.just("2"), st.just("assistant"), st.lists(ANSWERS, max_size=4).map(tuple)),
    st.builds(Message, st.just("3"), st.just("tool"), st.lists(RESULTS, max_size=3).map(tuple)),
)
TOOLS = tuple(ToolSpec(name, "\ud800", {"type": "object"}) for name in ("read", "git worktree", "git_worktree"))


def fresh_history() -> wire_history.WireHistory:
    """One that has seen no request."""
    return wire_history.WireHistory("anthropic", anthropic.rendered_turn)


def body(api: str, request: Request) -> tuple[str, Any]:
    """Path and body as they go out."""
    names = wire_history.tool_names(request)
    model = CATALOG.find(request.model)
    assert model is not None
    match api:
        case "anthropic":
            return "", anthropic.request_body(request, model, fresh_history().wired(request, model.capabilities))
        case "openai":
            return "", openai_responses.request_body(request, model, names)
        case "openai-chat":
            return "", openai_chat.request_body(request, model, names)
        case "gemini":
            path = f"/v1/models/{request.model}:streamGenerateContent"
            return path, gemini.request_body(request, model, names)
        case _:
            return "", ollama.request_body(request, model.capabilities, names)


@pytest.mark.parametrize("api", APIS)
@given(st.lists(MESSAGES, max_size=7), st.sampled_from([(), ("",), ("be\ud800", "", "brief")]))
def test_every_request_keeps_every_rule(api: str, messages: list[Message], system: tuple[str, ...]) -> None:
    request = Request(MODELS[api].split(":")[0], system, tuple(messages), TOOLS)
    path, sent = body(api, request)
    sent = json.loads(json.dumps(sent))
    well_formed(sent)
    SPEECHES[api]().check(path, {"anthropic-version": "x"}, sent)


SAID = st.builds(Message, st.just("4"), st.just("user"), WORDS.map(lambda words: (Text(f"I say {words}"),)))
ANSWERED = st.builds(
    Message,
    st.just("5"),
    st.just("assistant"),
    st.lists(ANSWERS, max_size=2).map(lambda blocks: (Text("So it is."), *blocks)),
)


@given(
    st.lists(MESSAGES | SAID | ANSWERED | ANSWERED, max_size=14),
    st.lists(st.tuples(st.integers(0, 14), st.integers(0, 3), st.sampled_from([0, 0, 0, 2])), max_size=8),
)
def test_a_request_made_from_where_the_last_one_ended_is_the_one_made_anew(
    messages: list[Message], requests: list[tuple[int, int, int]]
) -> None:
    """Whatever came before: shorter, longer and other conversations, and other tools."""
    model = CATALOG.find("claude-sonnet-5-5")
    assert model is not None
    history = fresh_history()
    for upto, tools, without in requests:
        request = Request(model.name, (), tuple(messages[without:upto]), TOOLS[:tools])
        made = anthropic.request_body(request, model, history.wired(request, model.capabilities))
        anew = anthropic.request_body(request, model, fresh_history().wired(request, model.capabilities))
        bare = wire_history.turns(request.messages, "anthropic", model.capabilities)
        names = wire_history.tool_names(request)
        assert made == anew
        assert [[block.get("text", block.get("id")) for block in turn["content"]] for turn in made["messages"]] == [
            [block.get("text", block.get("id")) for block in anthropic.rendered_turn(turn, names)["content"]]
            for turn in bare
        ]


@given(st.lists(MESSAGES, max_size=7))
def test_no_words_of_a_person_and_no_result_are_lost(messages: list[Message]) -> None:
    abilities = CATALOG.find("claude-sonnet-5-5")
    assert abilities is not None
    sent = wire_history.turns(messages, "anthropic", abilities.capabilities)
    words = [block.text for turn in sent if turn.role == "user" for block in turn.blocks if isinstance(block, Text)]
    for message in messages:
        for block in message.blocks:
            if isinstance(block, Text) and message.role == "user" and text(block.text).strip():
                assert text(block.text) in words


@given(st.lists(WORDS))
def test_pieces_add_up_however_they_are_cut(pieces: list[str]) -> None:
    joiner = Joiner()
    shown = "".join(joiner.feed(piece) for piece in pieces) + joiner.rest()
    assert shown == text("".join(pieces))
    shown.encode()


@given(st.lists(NAMES | WORDS, unique=True))
def test_tool_names_are_valid_distinct_and_come_back(names: list[str]) -> None:
    wire = ToolNames(names)
    sent = [wire.to_wire(name) for name in names]
    assert len(set(sent)) == len(names)
    assert [wire.from_wire(name) for name in sent] == names
    assert all(name.isascii() and len(name) <= 64 for name in sent)


@given(st.recursive(WORDS | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(WORDS, inner), max_leaves=8))
def test_cleaned_data_can_be_encoded(value: Any) -> None:
    json.dumps(data(value), ensure_ascii=False).encode()
