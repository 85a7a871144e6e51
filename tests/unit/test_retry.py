"""When a request is sent again, on scripted attempts: no network, no waits."""

from collections.abc import AsyncGenerator

import pytest

from gshtui.providers.port import Delta, ProviderError, Request, Retrying, TextPart
from gshtui.providers.wire.retry import Backoff, retried

ASKED = Request("m", (), ())


class Attempts:
    """Each attempt is what it says before it fails, and how."""

    def __init__(self, *attempts: tuple[list[str], ProviderError | None]) -> None:
        self.left = list(attempts)
        self.waited: list[float] = []

    async def __call__(self, request: Request) -> AsyncGenerator[Delta, None]:
        words, error = self.left.pop(0)
        for word in words:
            yield TextPart(word)
        if error is not None:
            raise error

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)

    async def run(self, **options: float) -> list[Delta]:
        backoff = Backoff(sleep=self.sleep, jitter=lambda: 0.0, **options)  # type: ignore[arg-type]
        return [delta async for delta in retried(self, ASKED, backoff)]


def wrong(kind: str = "server", *, retryable: bool = True, retry_after: float | None = None) -> ProviderError:
    return ProviderError(kind, "It failed", retryable=retryable, retry_after=retry_after)  # type: ignore[arg-type]


async def test_waits_grow_and_end_with_the_answer() -> None:
    attempts = Attempts(([], wrong()), ([], wrong()), (["a", "b"], None))
    deltas = await attempts.run()
    assert [d.text for d in deltas if isinstance(d, TextPart)] == ["a", "b"]
    assert [d.attempt for d in deltas if isinstance(d, Retrying)] == [1, 2]
    assert attempts.waited == [0.25, 0.5]


@pytest.mark.parametrize("error", [wrong(retryable=False), wrong("timeout"), wrong(retry_after=121)])
async def test_what_is_not_tried_again(error: ProviderError) -> None:
    attempts = Attempts(([], error), (["never"], None))
    with pytest.raises(ProviderError) as caught:
        await attempts.run()
    assert (caught.value.kind, attempts.waited, len(attempts.left)) == (error.kind, [], 1)


async def test_nothing_is_repeated_once_something_was_delivered() -> None:
    attempts = Attempts((["a"], wrong("network")), (["never"], None))
    with pytest.raises(ProviderError) as caught:
        await attempts.run()
    assert caught.value.started
    assert len(attempts.left) == 1


@pytest.mark.parametrize("kind", ["overloaded", "rate_limit"])
async def test_a_provider_that_has_too_much_to_do_is_waited_for_about_a_minute(kind: str) -> None:
    attempts = Attempts(*[([], wrong(kind))] * 10)
    with pytest.raises(ProviderError, match="It failed") as caught:
        await attempts.run()
    assert "Tried 10 times" in caught.value.hint
    assert 30 < sum(attempts.waited) < 60 < 2 * sum(attempts.waited) < 90, "half of it is by chance"


async def test_all_waits_together_have_a_limit() -> None:
    attempts = Attempts(*[([], wrong(retry_after=100))] * 4)
    with pytest.raises(ProviderError):
        await attempts.run()
    assert attempts.waited == [100]


async def test_lighter_requests_are_tried_without_a_wait_a_few_times() -> None:
    light = Request("light", (), ())
    seen: list[str] = []

    async def attempt(request: Request) -> AsyncGenerator[Delta, None]:
        seen.append(request.model)
        raise wrong("bad_request", retryable=False)
        yield TextPart("")

    with pytest.raises(ProviderError):
        async for _ in retried(attempt, ASKED, Backoff(), lambda error, request: light):
            pass
    assert seen == ["m", "light", "light", "light", "light"]
