"""The command `provider`: asks a provider one short question, to see that its key, its address and its model work."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import ClassVar

import msgspec
from pydantic import Field

from gshtui.commands.declaration import (
    Access,
    Action,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Returns,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.system.expected_error import ExpectedError

AskProvider = Callable[[str], Awaitable[str]]
"""The model of a provider that has answered. Raises `ExpectedError`, which says why none has."""


class CheckedProvider(msgspec.Struct, frozen=True):
    """A provider that has answered. `seconds`: until its answer was there."""

    name: str
    model: str
    seconds: float


class CheckProvider(Parameters, Returns[CheckedProvider]):
    """Ask a provider's model one short question, which costs a few tokens."""

    COMMAND: ClassVar[str] = "provider"
    WORD: ClassVar[str] = "check"
    name: str = Field(default="", description="The provider, as in the settings; empty: the one in use")


def commands(ask: AskProvider) -> list[AnyCommand]:

    async def check(_invocation: Invocation, wanted: CheckProvider) -> CheckedProvider:
        begun = time.monotonic()
        try:
            model = await ask(wanted.name)
        except ExpectedError as error:
            said = error.message if error.message.endswith((".", "!", "?")) else f"{error.message}."
            raise CommandError(said, hint=error.hint) from error
        return CheckedProvider(wanted.name, model, time.monotonic() - begun)

    return [
        group(
            "provider",
            "Check that a provider answers",
            Action(
                CheckProvider,
                check,
                _outcome,
                access=Access.HUMAN_ONLY,
                effect=Effect.NETWORK,
                positions=("name",),
            ),
            family="workbench",
            bare="check",
            access=Access.HUMAN_ONLY,
        )
    ]


def _outcome(_invocation: Invocation, done: CheckedProvider) -> Outcome:
    data = {"provider": done.name, "model": done.model, "seconds": round(done.seconds, 2)}
    who = f"{done.name} answers" if done.name else "It answers"
    return Outcome(data, f"{who}: {done.model}, after {done.seconds:.1f} s.")
