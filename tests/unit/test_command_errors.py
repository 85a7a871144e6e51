"""Other rooms' errors as command errors."""

import pytest

from gshtui.commands.declaration import CommandError, UsageError
from gshtui.commands.execution import command_error, command_errors
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.expected_error import ExpectedError


def test_a_command_error_has_the_sentence_the_hint_and_the_kind() -> None:
    error = command_error(StoreError("busy", "Another process is writing.", hint="Try again."))
    assert (error.message, error.hint, error.data) == ("Another process is writing.", "Try again.", {"kind": "busy"})
    assert command_error(ExpectedError("It is gone.")).data is None


def test_a_command_error_stays_what_it_is() -> None:
    wrong = UsageError("No name given.")
    assert command_error(wrong) is wrong


def test_only_errors_of_the_named_class_are_translated() -> None:
    with pytest.raises(CommandError, match="The record is closed"), command_errors(StoreError):
        raise StoreError("closed", "The record is closed.")
    with pytest.raises(KeyError), command_errors(StoreError):
        raise KeyError("a fault")
