"""Other rooms' expected errors as command errors: the same sentence and hint, with the kind of error as data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
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


@contextmanager
def command_errors(*kinds: type[ExpectedError]) -> Generator[None]:
    """Raise the block's errors of these classes as command errors."""
    try:
        yield
    except kinds as error:
        raise command_error(error) from error


def raising_command_errors(
    run: Callable[[Invocation, A], Awaitable[R]], kind: type[ExpectedError]
) -> Callable[[Invocation, A], Awaitable[R]]:
    """The handler, with errors of this class as command errors."""

    @wraps(run)
    async def guarded(invocation: Invocation, parameters: A) -> R:
        with command_errors(kind):
            return await run(invocation, parameters)

    return guarded
