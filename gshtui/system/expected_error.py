"""The base of every expected failure: one clear sentence, and what to do about it."""

from __future__ import annotations


class ExpectedError(Exception):
    """A failure that can be expected: a file, a program, a network, a request that cannot be met.

    Args:
        message: one clear sentence.
        hint: what to do about it; may be empty.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()
