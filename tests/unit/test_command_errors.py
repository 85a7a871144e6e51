"""Other rooms' errors as command errors."""

from pathlib import Path

import pytest

from gshtui.commands.command_errors import command_error, raising_command_errors
from gshtui.commands.declaration import Caller, CommandError, Invocation
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.expected_error import ExpectedError


def test_a_command_error_has_the_sentence_the_hint_and_the_kind() -> None:
    error = command_error(StoreError("busy", "Another process is writing.", hint="Try again."))
    assert (error.message, error.hint, error.data) == ("Another process is writing.", "Try again.", {"kind": "busy"})
    assert command_error(ExpectedError("It is gone.")).data is None


async def test_only_errors_of_the_named_class_are_translated() -> None:
    async def run(_invocation: Invocation, error: Exception) -> None:
        raise error

    guarded = raising_command_errors(run, StoreError)
    invocation = Invocation(Caller(), Path("/"), Path("/"))
    with pytest.raises(CommandError, match="The record is closed"):
        await guarded(invocation, StoreError("closed", "The record is closed."))
    with pytest.raises(KeyError):
        await guarded(invocation, KeyError("a fault"))
