"""Other rooms' expected errors as command errors: the same sentence and hint, with the kind of error as data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import TypeVar

from gshtui.commands.declaration import CommandError, Invocation
from gshtui.system.expected_error import ExpectedError

A = TypeVar("A")
R = TypeVar("R")


def command_error(error: ExpectedError) -> CommandError:
    """The command error for another room's error. Scripts get its kind, if it has one, as `{"kind": …}`."""
    kind = getattr(error, "kind", None)
    return CommandError(error.message, hint=error.hint, data=None if kind is None else {"kind": kind})


def raising_command_errors(
    run: Callable[[Invocation, A], Awaitable[R]], kind: type[ExpectedError]
) -> Callable[[Invocation, A], Awaitable[R]]:
    """The handler, with errors of this class as command errors."""

    @wraps(run)
    async def guarded(invocation: Invocation, parameters: A) -> R:
        try:
            return await run(invocation, parameters)
        except kind as error:
            raise command_error(error) from error

    return guarded
