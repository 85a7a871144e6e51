"""The base of every expected failure: one clear sentence, and what to do about it."""

from __future__ import annotations

import errno
import os


class ExpectedError(Exception):
    """A failure that can be expected: a file, a program, a network, a request that cannot be met.

    Args:
        message: one clear sentence.
        hint: what to do about it; may be empty.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        if message.endswith("..") and not message.endswith("..."):  # it ends with words of others, that end with one
            message = message[:-1]
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


class ProgramMissing(ExpectedError, FileNotFoundError):
    """A program that is not there to be started. `name`: as it was called."""

    def __init__(self, name: str) -> None:
        program = os.path.basename(name)  # noqa: PTH119 - a name
        super().__init__(f"{program} is not installed.", "Install it with your package manager.")
        self.errno, self.strerror, self.filename = errno.ENOENT, f"{program} is not installed", name
