"""Every provider against a loopback that fails: before the answer, in its middle, without end."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from gshtui.bus.messages import Thinking, ToolResult
from gshtui.providers.candidates import warm
from gshtui.providers.port import Completed, ProviderError, TextPart
from gshtui.providers.wire.provider_errors import ErrorOrigin, from_status
from gshtui.providers.wire.sdk_connection import Deadlines
from tests.kit.loopback.apis import loopback
from tests.kit.loopback.script import Call, Fault, Say, Step, Think
from tests.kit.providers import (
    APIS,
    MODELS,
    RecordedWaits,
    make_message,
    make_provider,
    make_request,
    provider_with_loopback,
    receive_stream,
)

EVERY = pytest.mark.parametrize("api", APIS)
LONG = Say("one two three four five six seven eight nine ten")
SHORT = Deadlines(connect=2, silent=0.2)


async def failure(api: str, *answers: Sequence[Step], **options: Any) -> tuple[ProviderError, RecordedWaits, int]:
    """What the stream raises, what it waited, and how often it asked."""
    waits = RecordedWaits()
    async with provider_with_loopback(api, answers, waits=waits, **options) as (provider, server):
        with pytest.raises(ProviderError) as caught:
            await receive_stream(provider, make_request(api))
        asked = len(server.requests) if api == "ollama" and not server.chats else len(server.chats)
    error = caught.value
    assert error.message and "\n" not in error.message
    assert error.hint.endswith((".", "`"))
    return error, waits, asked


@EVERY
async def test_too_many_requests_are_waited_out_as_the_provider_asks(api: str) -> None:
    waits = RecordedWaits()
    script = [[Fault.status(429, retry_after=7)], [Fault.status(429)], [Say("at last")]]
    async with provider_with_loopback(api, script, waits=waits) as (provider, server):
        heard = await receive_stream(provider, make_request(api))
        assert len(server.chats) == 3
    assert heard.text == "at last"
    assert [(r.attempt, r.error.kind) for r in heard.retries] == [(1, "rate_limit"), (2, "rate_limit")]
    assert waits.seconds == [7.0, 1.0]
    assert [r.wait for r in heard.retries] == waits.seconds


@EVERY
@pytest.mark.parametrize(
    ("status", "kind", "times"), [(500, "server", 4), (529, "overloaded", 10), (503, "overloaded", 10)]
)
async def test_trouble_at_the_provider_is_tried_again(api: str, status: int, kind: str, times: int) -> None:
    error, waits, asked = await failure(api, *([Fault.status(status)] for _ in range(12)))
    assert (error.kind, error.retryable, error.started) == (kind, True, False)
    assert asked == times
    assert waits.seconds[:3] == [0.5, 1.0, 2.0]
    assert f"Tried {times} times" in error.hint


@pytest.mark.parametrize(
    ("status", "said", "quoted"),
    [
        (529, "Overloaded", False),
        (503, "Service Unavailable", False),
        (429, "Too many requests.", False),
        (500, "Internal server error", False),
        (401, "Unauthorized", False),
        (429, "Slow down", True),
        (503, "The engine is being moved", True),
    ],
)
def test_a_server_that_only_names_its_status_is_not_quoted(status: int, said: str, quoted: bool) -> None:
    error = from_status(ErrorOrigin("Anthropic"), status, message=said)
    assert (": " in error.message) == quoted
    assert said in error.message or not quoted


@EVERY
async def test_a_long_wait_is_told_and_not_waited(api: str) -> None:
    error, waits, asked = await failure(api, [Fault.status(429, retry_after=3600)])
    assert (error.kind, error.retry_after, asked, waits.seconds) == ("rate_limit", 3600, 1, [])
    assert "60 minutes" in error.hint


@EVERY
async def test_a_used_up_quota_is_not_tried_again(api: str) -> None:
    error, waits, asked = await failure(api, [Fault.quota()])
    assert (error.kind, error.retryable, asked, waits.seconds) == ("quota", False, 1, [])
    assert "billing" in error.hint


@pytest.mark.parametrize("api", [api for api in APIS if api != "ollama"])
async def test_a_wrong_key_names_its_variable(api: str) -> None:
    error, asked = await _wrong_key(api)
    assert (error.kind, asked) == ("auth", 1)
    assert "_API_KEY" in error.hint
    assert "secret-1" not in error.message + error.hint


async def _wrong_key(api: str) -> tuple[ProviderError, int]:
    async with loopback(api, [], key="right") as server:
        provider = make_provider(api, server.url, key="secret-1")
        with pytest.raises(ProviderError) as caught:
            await receive_stream(provider, make_request(api))
        await provider.close()
        return caught.value, len(server.chats)


@EVERY
async def test_an_unknown_model_says_what_to_run(api: str) -> None:
    error, _, asked = await failure(api, models=["another"])
    assert (error.kind, error.retryable, asked) == ("unknown_model", False, 1)
    assert MODELS[api] in error.message
    assert ("ollama pull" if api == "ollama" else "model list") in error.hint


@EVERY
async def test_a_conversation_that_is_too_long_is_told_apart(api: str) -> None:
    error, _, asked = await failure(api, [Fault.context()])
    assert (error.kind, error.retryable, asked) == ("context", False, 1)
    assert "too long" in error.message


@EVERY
async def test_a_web_page_in_place_of_an_answer_is_garbage(api: str) -> None:
    error, _, asked = await failure(api, [Fault.garbage()])
    assert (error.kind, asked) == ("garbage", 1)
    assert "127.0.0.1" in error.hint  # the address is what is wrong most often
    assert "<h1>" not in error.message


@EVERY
async def test_nothing_at_all_is_tried_again(api: str) -> None:
    async with provider_with_loopback(api, [[Fault.half_after(0), LONG], [Say("now")]]) as (provider, _):
        heard = await receive_stream(provider, make_request(api))
    assert heard.text == "now"
    assert [r.error.kind for r in heard.retries] == ["truncated"]


@EVERY
@pytest.mark.parametrize(
    ("fault", "kinds"),
    [
        (Fault.half_after(3), {"truncated"}),
        (Fault.cut_after(3), {"network"}),
        (Fault.error_after(3), {"overloaded", "server"}),
        (Fault.garbage_after(3), {"garbage", "truncated"}),
    ],
    ids=["half", "cut", "error", "noise"],
)
async def test_a_failure_in_mid_answer_is_never_repeated(api: str, fault: Fault, kinds: set[str]) -> None:
    seen: list[object] = []
    waits = RecordedWaits()
    async with provider_with_loopback(api, [[fault, LONG], [Say("again")]], waits=waits) as (provider, server):
        with pytest.raises(ProviderError) as caught:
            async for delta in provider.stream(make_request(api)):
                seen.append(delta)
        assert len(server.chats) == 1
    error = caught.value
    assert error.kind in kinds
    assert error.started
    assert waits.seconds == []
    assert "".join(d.text for d in seen if isinstance(d, TextPart)).startswith("one two three")
    assert not any(isinstance(delta, Completed) for delta in seen)
    assert "kept" in error.hint


@EVERY
async def test_a_provider_that_never_begins_is_given_up(api: str) -> None:
    error, waits, asked = await failure(api, [Fault.hang()], deadlines=SHORT)
    assert (error.kind, error.started, asked, waits.seconds) == ("timeout", False, 1, [])
    assert error.message.endswith("stopped answering (no answer for 0.2 s)")


@EVERY
async def test_a_provider_that_stops_in_the_middle_is_given_up(api: str) -> None:
    error, _, _ = await failure(api, [Fault.hang_after(2), LONG], deadlines=SHORT)
    assert (error.kind, error.started) == ("timeout", True)
    assert error.message.endswith("stopped answering (no data for 0.2 s)")


@EVERY
async def test_giving_up_closes_the_connection(api: str) -> None:
    async with provider_with_loopback(api, [[Fault.hang_after(2), LONG]], deadlines=SHORT) as (provider, server):
        with pytest.raises(ProviderError):
            await receive_stream(provider, make_request(api))
        async with asyncio.timeout(30):
            await server.disconnected.wait()


@EVERY
@pytest.mark.parametrize("after", [-1, 2])
async def test_cancelling_closes_the_connection(api: str, after: int) -> None:
    async with provider_with_loopback(api, [[Fault("hang", after=after), LONG]]) as (provider, server):
        task = asyncio.create_task(receive_stream(provider, make_request(api)))
        async with asyncio.timeout(30):
            if after > 0:
                await server.sent.wait()
            await server.asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await server.disconnected.wait()


@EVERY
async def test_leaving_the_stream_closes_the_connection(api: str) -> None:
    async with provider_with_loopback(api, [[Fault.hang_after(2), LONG]]) as (provider, server):
        stream = provider.stream(make_request(api))
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
        async with asyncio.timeout(30):
            await server.disconnected.wait()


@EVERY
async def test_cancelling_a_wait_for_the_next_try_ends_it(api: str) -> None:
    waiting = asyncio.Event()

    async def for_ever(_: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    async with provider_with_loopback(api, [[Fault.status(500)]], waits=for_ever) as (provider, _):  # type: ignore[arg-type]
        task = asyncio.create_task(receive_stream(provider, make_request(api)))
        async with asyncio.timeout(30):
            await waiting.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task


@EVERY
async def test_nobody_there_is_a_network_failure(api: str) -> None:
    async with provider_with_loopback(api, []) as (_, server):
        url = server.url
    waits = RecordedWaits()
    provider = make_provider(api, url, waits=waits)
    with pytest.raises(ProviderError) as caught:
        await receive_stream(provider, make_request(api))
    await provider.close()
    assert (caught.value.kind, len(waits.seconds)) == ("network", 3)
    assert caught.value.hint


@pytest.mark.parametrize("api", ["anthropic", "openai", "gemini"])
async def test_no_key_is_said_before_anything_is_sent(api: str) -> None:
    async with provider_with_loopback(api, [], key="") as (provider, server):
        if api == "openai":
            provider = make_provider(api, "", key="")
            provider._client.place = type(provider._client.place)(name="openai")  # type: ignore[attr-defined]
        with pytest.raises(ProviderError) as caught:
            await receive_stream(provider, make_request(api))
        assert server.requests == []
    assert caught.value.kind == "missing"
    assert "API_KEY" in caught.value.message


async def test_broken_json_of_gemini_is_garbage() -> None:
    error, _, _ = await failure("gemini", [Call("read", raw='{"functionCall": ')])
    assert error.kind == "garbage"


@pytest.mark.parametrize("api", ["anthropic", "openai", "gemini"])
async def test_what_the_provider_no_longer_accepts_is_left_out_once(api: str) -> None:
    first: list[Step] = [Think("so it is"), Say("Yes."), Call("read", {"path": "a"})]
    async with provider_with_loopback(api, [first, [Fault.unsigned()], [Say("fine")]]) as (provider, server):
        message = (await receive_stream(provider, make_request(api))).completed.message
        results = make_message("tool", ToolResult(message.calls[0].id, "read", "x"))
        heard = await receive_stream(provider, make_request(api, make_message("user", "Hello"), message, results))
        signed, bare = (str(asked.body) for asked in server.chats[1:])
    assert heard.text == "fine"
    assert [r.error.kind for r in heard.retries] == ["bad_request"]
    assert any(isinstance(block, Thinking) for block in message.blocks)
    assert bare != signed
    assert server.refused == []


@EVERY
async def test_a_redirect_is_not_followed_with_the_key(api: str) -> None:
    async with loopback(api, [[Say("stolen")]]) as elsewhere:
        away = {"location": elsewhere.url}
        error, _, asked = await failure(api, [Fault("status", status_code=307, headers=away)])
        assert elsewhere.requests == []
    assert (error.kind, asked) == ("bad_request", 1)
    assert "base_url" in error.hint


@pytest.mark.parametrize("api", ["anthropic", "openai", "openai-chat", "gemini"])
async def test_a_provider_can_be_made_ready_before_it_is_asked(api: str) -> None:
    async with provider_with_loopback(api, []) as (provider, server):
        await warm(provider)
        assert server.requests == []
    keyless = make_provider("anthropic", "http://127.0.0.1:1", key="")
    await warm(keyless)  # says nothing: the first request will
