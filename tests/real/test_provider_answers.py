"""Every provider's SDK against a loopback that speaks its API: what a whole answer becomes."""

import base64

import pytest

from gshtui.bus.messages import Document, Image, Text, Thinking, ToolCall, ToolResult, Usage
from gshtui.providers.candidates import candidates
from gshtui.providers.candidates import make_provider as make_candidate
from gshtui.providers.catalog import Catalog
from gshtui.providers.port import ProviderError, ToolSpec
from gshtui.settings.model import Settings
from tests.kit.loopback.script import Call, Ends, Fault, Say, Spent, Strange, Think
from tests.kit.providers import APIS, make_message, make_request, provider_with_loopback, receive_stream

EVERY = pytest.mark.parametrize("api", APIS)
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 32).decode()
PDF = base64.b64encode(b"%PDF-1.7\n%%EOF").decode()


@EVERY
async def test_words_stream_in_pieces_and_add_up(api: str) -> None:
    text = "Grüße, 世界 🎉 – **bold**\n\n| a | b |\n"
    async with provider_with_loopback(api, [[Say(text)]]) as (provider, server):
        heard = await receive_stream(provider, make_request(api))
    assert heard.text == text
    assert len(heard.deltas) > 3
    assert heard.completed.stop == "end"
    assert [b.text for b in heard.completed.message.blocks if isinstance(b, Text)] == [text]
    assert heard.completed.message.role == "assistant"
    assert heard.completed.message.model
    assert server.refused == []


@EVERY
async def test_thinking_comes_before_words_and_is_told_apart(api: str) -> None:
    async with provider_with_loopback(api, [[Think("Let me see. Two and two"), Say("Four.")]]) as (provider, _):
        heard = await receive_stream(provider, make_request(api))
    assert heard.thinking == "Let me see. Two and two"
    assert heard.text == "Four."
    kinds = [type(block) for block in heard.completed.message.blocks]
    assert kinds == [Thinking, Text]


@EVERY
async def test_parallel_calls_keep_their_order_and_arguments(api: str) -> None:
    calls = [
        Call("read", {"path": "ä.py", "deep": {"a": [1, 2.5, None, True]}}),
        Call("grep", {"pattern": "x|y"}),
        Call("read"),
    ]
    async with provider_with_loopback(api, [[Say("Looking."), *calls]]) as (provider, _):
        heard = await receive_stream(provider, make_request(api))
    whole = heard.completed
    assert whole.stop == "tool_use"
    assert [(c.name, c.arguments) for c in whole.message.calls] == [(c.name, c.arguments) for c in calls]
    assert heard.tool_names == ["read", "grep", "read"]
    ids = [call.id for call in whole.message.calls]
    assert len(set(ids)) == 3 and all(ids)
    assert not any(call.broken for call in whole.message.calls)


@EVERY
async def test_usage_leaves_the_cache_out_of_input(api: str) -> None:
    spent = Spent(input=120, output=40, cache_read=1000, cache_write=300, reasoning=15)
    async with provider_with_loopback(api, [[Say("ok"), spent]]) as (provider, _):
        whole = (await receive_stream(provider, make_request(api))).completed
    expected = {
        "anthropic": Usage(120, 40, 1000, 300, 15),
        "openai": Usage(120, 40, 1000, 300, 15),
        "openai-chat": Usage(420, 40, 1000, 0, 15),  # these APIs do not tell cache writes apart
        "gemini": Usage(420, 40, 1000, 0, 15),
        "ollama": Usage(120, 40),
    }
    assert whole.usage == expected[api]
    assert whole.message.usage == whole.usage


@EVERY
async def test_images_and_documents_go_along(api: str) -> None:
    note = Document("text/plain", base64.b64encode("Straße".encode()).decode(), "notes.txt")
    question = make_message(
        "user", "What is this?", Image("image/png", PNG, "a.png"), Document("application/pdf", PDF, "b.pdf"), note
    )
    async with provider_with_loopback(api, [[Say("A picture.")]]) as (provider, server):
        await receive_stream(provider, make_request(api, question))
        sent = str(server.chats[-1].body)
    assert server.refused == []
    assert "Straße" in sent
    assert PNG in sent or PNG.replace("+", "-").replace("/", "_") in sent
    if api == "ollama":
        assert "b.pdf was left out" in sent
    else:
        assert PDF in sent


@EVERY
async def test_events_of_tomorrow_are_passed_over(api: str) -> None:
    async with provider_with_loopback(api, [[Strange(), Say("still "), Strange(), Say("here")]]) as (provider, _):
        heard = await receive_stream(provider, make_request(api))
    assert heard.text == "still here"


@EVERY
async def test_an_answer_cut_off_by_its_limit_says_so(api: str) -> None:
    async with provider_with_loopback(api, [[Say("Once upon"), Ends("max_tokens")]]) as (provider, _):
        whole = (await receive_stream(provider, make_request(api, max_output=64))).completed
    assert whole.stop == "max_tokens"
    assert whole.message.text == "Once upon"


@pytest.mark.parametrize("api", [api for api in APIS if api != "ollama"])
async def test_a_refusal_is_told_apart(api: str) -> None:
    async with provider_with_loopback(api, [[Say("I would rather not."), Ends("refusal")]]) as (provider, _):
        assert (await receive_stream(provider, make_request(api))).completed.stop == "refusal"


@pytest.mark.parametrize("api", [api for api in APIS if api != "ollama"])
async def test_a_refusal_without_a_word_says_so(api: str) -> None:
    async with provider_with_loopback(api, [[Ends("refusal")]]) as (provider, _):
        with pytest.raises(ProviderError) as caught:
            await receive_stream(provider, make_request(api))
    assert caught.value.kind == "refusal"


@EVERY
async def test_a_limit_reached_before_the_first_word_says_so(api: str) -> None:
    async with provider_with_loopback(api, [[Ends("max_tokens")]]) as (provider, _):
        with pytest.raises(ProviderError) as caught:
            await receive_stream(provider, make_request(api))
    assert (caught.value.kind, "max_tokens" in caught.value.hint) == ("truncated", True)


@pytest.mark.parametrize("api", [api for api in APIS if api != "gemini"])  # its arguments are data, not text
async def test_a_call_with_broken_arguments_is_marked_and_goes_back_as_a_valid_one(api: str) -> None:
    async with provider_with_loopback(api, [[Fault.broken_json()], [Say("sorry")]], chunk=5) as (provider, server):
        message = (await receive_stream(provider, make_request(api))).completed.message
        call = message.calls[0]
        assert call.broken == '{"path": "a.py", '
        assert call.arguments == {}
        again = (
            make_message("user", "Go"),
            message,
            make_message("tool", ToolResult(call.id, "read", "not run", "error")),
        )
        assert (await receive_stream(provider, make_request(api, *again))).text == "sorry"
    assert server.refused == []


@pytest.mark.parametrize("api", ["anthropic", "openai", "openai-chat"])
@pytest.mark.parametrize("raw", ["", '{"path": ', "[1]", "NaN", '{"n": 1e999}', '{"n": ' + "9" * 40 + "}"])
async def test_a_call_cut_off_by_the_limit_is_never_whole(api: str, raw: str) -> None:
    async with provider_with_loopback(api, [[Call("read", raw=raw), Ends("max_tokens")]]) as (provider, _):
        whole = (await receive_stream(provider, make_request(api))).completed
    assert whole.stop == "max_tokens"
    assert whole.message.calls[0].broken
    assert whole.message.calls[0].arguments == {}


@EVERY
async def test_an_empty_answer_is_an_answer_with_nothing_in_it(api: str) -> None:
    async with provider_with_loopback(api, [[Fault.empty()]]) as (provider, _):
        whole = (await receive_stream(provider, make_request(api))).completed
    assert whole.message.blocks == ()
    assert whole.stop == "end"


@EVERY
async def test_halves_of_a_character_are_joined_and_lone_ones_replaced(api: str) -> None:
    async with provider_with_loopback(
        api, [[Say("a\ud83c\udf89b\ud800c"), Call("read", {"path": "\udfff.py"})]], chunk=2
    ) as (
        provider,
        _,
    ):
        heard = await receive_stream(provider, make_request(api))
    assert heard.text == "a🎉b\ufffdc"
    assert heard.completed.message.text == "a🎉b\ufffdc"
    assert heard.completed.message.calls[0].arguments == {"path": "\ufffd.py"}


@EVERY
async def test_lone_surrogates_in_the_conversation_do_no_harm(api: str) -> None:
    call = ToolCall("call 1/ü", "read", {"path": "\ud800"})
    history = (
        make_message("user", "odd \udcff bytes"),
        make_message("assistant", "hm \ud800", call),
        make_message("tool", ToolResult(call.id, "read", "\udc80\udc81")),
    )
    async with provider_with_loopback(api, [[Say("ok")]]) as (provider, server):
        assert (await receive_stream(provider, make_request(api, *history))).text == "ok"
    assert server.refused == []


@EVERY
async def test_tools_with_odd_names_get_their_own_names_back(api: str) -> None:
    odd = tuple(ToolSpec(name, "", {"type": "object"}) for name in ("git worktree", "git/worktree", "1st", "x" * 90))
    async with provider_with_loopback(api, [[Say("ok")], [Call("git_worktree_2", {"a": 1})]]) as (provider, server):
        await receive_stream(provider, make_request(api, tools=odd))
        whole = (await receive_stream(provider, make_request(api, tools=odd))).completed
    assert server.refused == []
    assert whole.message.calls[0].name == "git/worktree"


async def test_a_short_answer_is_asked_for_as_short_and_without_thinking() -> None:
    async with provider_with_loopback("anthropic", [[Say("ok")]]) as (provider, server):
        await receive_stream(provider, make_request("anthropic", effort="low", max_output=16))
        body = server.chats[-1].body
    assert server.refused == []
    assert (body["max_tokens"], "thinking" in body) == (16, False)


@EVERY
async def test_effort_temperature_and_limit_are_sent_where_they_are_taken(api: str) -> None:
    async with provider_with_loopback(api, [[Say("ok")]]) as (provider, server):
        await receive_stream(provider, make_request(api, effort="low", temperature=0.2, max_output=2000))
        body = server.chats[-1].body
    assert server.refused == []
    match api:
        case "anthropic":
            assert (body["output_config"], body["max_tokens"]) == ({"effort": "low"}, 2000)
            assert "temperature" not in body
        case "openai":
            assert (body["reasoning"]["effort"], body["max_output_tokens"]) == ("low", 2000)
        case "openai-chat":
            assert (body["temperature"], body["max_tokens"]) == (0.2, 2000)
        case "gemini":
            assert "low" in str(body["generationConfig"]).lower()
        case _:
            assert body["options"] == {"num_ctx": 16384, "num_predict": 2000, "temperature": 0.2}


async def test_anthropic_breakpoints_stand_behind_what_stays_the_same() -> None:
    turns = [
        make_message("user", "one"),
        make_message("assistant", "1"),
        make_message("user", "two"),
        make_message("assistant", "2"),
        make_message("user", "three"),
    ]
    async with provider_with_loopback("anthropic", [[Say("ok")]]) as (provider, server):
        await receive_stream(provider, make_request("anthropic", *turns))
        body = server.chats[-1].body
    assert [("cache_control" in block) for block in body["system"]] == [True, True]
    marked = ["cache_control" in message["content"][-1] for message in body["messages"]]
    assert marked == [False, False, True, False, True]
    assert "cache_control" not in str(body["tools"])


async def test_ollama_tells_what_its_models_can_do() -> None:
    async with provider_with_loopback("ollama", [[Say("ok")]]) as (provider, server):
        assert not provider.capabilities("qwen3:8b").known
        await receive_stream(provider, make_request("ollama"))
        abilities = provider.capabilities("qwen3:8b")
    assert (abilities.known, abilities.window, abilities.images, abilities.tools) == (True, 16384, True, True)
    assert server.chats[-1].body["options"]["num_ctx"] == 16384


async def test_claude_gets_the_token_and_the_headers_that_the_environment_names() -> None:
    """A gateway's token counts as a key, and what is no header is left out."""
    async with provider_with_loopback("anthropic", [[Say("ok")]]) as (_, server):
        environ = {
            "ANTHROPIC_AUTH_TOKEN": "of-the-gateway",
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_CUSTOM_HEADERS": "X-Team: tools\nnonsense\nnot a name: x\nX-Pläce: y\nx-empty:",
        }
        another = {"type": "anthropic", "base_url": "https://llm.example", "api_key_env": "OTHER_KEY"}
        found = candidates(Settings.model_validate({"providers": {"other": another}}), environ)
        assert found["other"].headers == (), "they may hold the gateway's token"
        provider = make_candidate(found["anthropic"], Catalog.load())
        assert (await receive_stream(provider, make_request("anthropic"))).text == "ok"
        await provider.close()
        (headers,) = [request.headers for request in server.requests]
    assert headers["authorization"] == "Bearer of-the-gateway" and headers["x-team"] == "tools"
    assert "x-empty" in headers and not [name for name in headers if "not" in name or "x-p" in name]
