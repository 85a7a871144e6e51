"""Retries a request, but only before anything of the answer was to be seen, with growing waits: a few times, or for
about a minute where the provider has too much to do.

Knows no API. Never repeats what a person has already seen (a call that was cut off before its end is not), and never
waits longer than a person would. Called by the adapters' `stream`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import msgspec

from gshtui.providers.port import CallPart, Delta, ErrorKind, ProviderError, Request, Retrying
from gshtui.providers.wire.provider_errors import duration

Attempt = Callable[[Request], AsyncGenerator[Delta, None]]
Relieve = Callable[[ProviderError, Request], Request | None]
"""The request without the part that the provider rejected, if the error names one."""
_RELIEVED = 4
"""Parts that are left out of one request, one after the other."""
Sleep = Callable[[float], Awaitable[None]]
_PASSING: frozenset[ErrorKind] = frozenset({"overloaded", "rate_limit"})
"""The provider is there, and will answer later."""


class Backoff(msgspec.Struct, frozen=True):
    """How often and how long. Seconds."""

    attempts: int = 4
    patient: int = 10
    """Attempts where the provider has too much to do."""
    base: float = 0.5
    ceiling: float = 15.0
    total: float = 180.0
    """All waits of one request together."""
    longest_retry_after: float = 120.0
    """A provider that asks for more is not waited for."""
    sleep: Sleep = asyncio.sleep
    jitter: Callable[[], float] = random.random
    """A number from 0 up to 1."""

    def most(self, error: ProviderError) -> int:
        """How many attempts such an error is worth."""
        return self.patient if error.kind in _PASSING else self.attempts

    def wait(self, attempt: int, error: ProviderError) -> float:
        """Before the attempt after this one; at least what the provider asked for."""
        grown = min(self.ceiling, self.base * 2 ** (attempt - 1))
        spread = grown * (0.5 + self.jitter() / 2)
        return max(spread, error.retry_after or 0.0)


def _final(error: ProviderError, attempt: int, *, started: bool) -> ProviderError:
    """The error for the caller, with the number of attempts, and whether part of the answer arrived."""
    hint = error.hint
    if started:
        hint = f"The part that arrived is kept. {hint}".rstrip()
    elif attempt > 1:
        hint = f"Tried {attempt} times. {hint}".rstrip()
    return ProviderError(
        error.kind,
        error.message,
        hint=hint,
        retryable=error.retryable,
        retry_after=error.retry_after,
        started=started,
    )


async def retried(
    attempt: Attempt, request: Request, backoff: Backoff, relieve: Relieve = lambda error, request: None
) -> AsyncGenerator[Delta, None]:
    """The deltas of the first attempt that shows anything. Raises `ProviderError`."""
    waited = 0.0
    number = 1
    relieved = 0
    while True:
        started = False
        try:
            async with aclosing(attempt(request)) as deltas:
                async for delta in deltas:
                    started = started or not isinstance(delta, CallPart)
                    yield delta
            return
        except ProviderError as error:
            if started:
                raise _final(error, number, started=True) from error
            if relieved < _RELIEVED and (lighter := relieve(error, request)) is not None:
                relieved += 1
                request = lighter
                yield Retrying(number, 0.0, error, number + 1)
                continue
            # A hang already took minutes: whether to try that again is for a person to say.
            if not error.retryable or error.kind == "timeout" or number >= backoff.most(error):
                raise _final(error, number, started=False) from error
            if (error.retry_after or 0.0) > backoff.longest_retry_after:
                raise _asks_too_long(error) from error
            wait = backoff.wait(number, error)
            if waited + wait > backoff.total:
                raise _final(error, number, started=False) from error
            waited += wait
            yield Retrying(number, wait, error, backoff.most(error))
        await backoff.sleep(wait)
        number += 1


def _asks_too_long(error: ProviderError) -> ProviderError:
    wait = error.retry_after or 0.0
    return ProviderError(
        error.kind,
        error.message,
        hint=f"The provider asks you to wait: try again in {duration(wait)}, or switch to another model with `/model`.",
        retryable=True,
        retry_after=wait,
    )
