"""Other rooms' expected errors as command errors: the same sentence and hint, with the kind of error as data."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeVar

from gshtui.commands.declaration import CommandError
from gshtui.system.expected_error import ExpectedError

A = TypeVar("A")
R = TypeVar("R")


def command_error(error: ExpectedError) -> CommandError:
    """The error as a command's. Scripts get its kind, if it has one, as `{"kind": …}`."""
    if isinstance(error, CommandError):
        return error
    kind = getattr(error, "kind", None)
    return CommandError(error.message, hint=error.hint, data=None if kind is None else {"kind": kind})


@contextmanager
def command_errors(*kinds: type[ExpectedError]) -> Generator[None]:
    """Raise the block's errors of these classes as command errors."""
    try:
        yield
    except kinds as error:
        raise command_error(error) from error
