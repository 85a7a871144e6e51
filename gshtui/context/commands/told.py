"""How the context commands answer: what goes wrong is said as every command says it, and agents are given short JSON.

Called by the handlers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, TypeVar

from gshtui.commands.declaration import CommandError, Invocation, Outcome
from gshtui.context.commands import plain
from gshtui.context.ports import RecordError
from gshtui.context.views import ContextError

S = TypeVar("S")
P = TypeVar("P")
Handler = Callable[[S, Invocation, P], Awaitable[Outcome]]


def telling(handler: Handler[S, P]) -> Handler[S, P]:
    """The handler, with its errors and its audience taken care of."""

    @wraps(handler)
    async def told(self: S, invocation: Invocation, parameters: P) -> Outcome:
        try:
            outcome = await handler(self, invocation, parameters)
        except ContextError as error:
            raise CommandError(_sentence(error.message), hint=error.hint) from error
        except RecordError as error:
            raise CommandError(str(error)) from error
        return for_agents(outcome) if invocation.caller.is_agent else outcome

    return told


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", ":")) else f"{text}."


def for_agents(outcome: Outcome) -> Outcome:
    """The outcome with its data as the text: without what stands at its usual value, to be short."""
    return Outcome(outcome.data, plain.short(_lean(outcome.data)), outcome.is_error, timed_out=outcome.timed_out)


def _lean(data: Any) -> Any:
    if isinstance(data, dict):
        told = {name: _lean(value) for name, value in data.items()}  # pyright: ignore[reportUnknownVariableType]
        return {name: value for name, value in told.items() if value not in ("", None, [], {}) and value is not False}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(data, list):
        return [_lean(value) for value in data]  # pyright: ignore[reportUnknownVariableType]
    return data
