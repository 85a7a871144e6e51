"""The one error of the Agent Client Protocol's client: what an agent program did wrong, in one sentence."""

from __future__ import annotations

from typing import Literal

from gshtui.system.expected_error import ExpectedError

AcpKind = Literal["missing", "version", "garbage", "ended", "timeout", "refused", "login"]


NO_SDK = "The Agent Client Protocol needs the Python package agent-client-protocol, which is not installed here."
"""It has no version yet for some Pythons."""


class AcpError(ExpectedError):
    """A program that should speak the protocol did not do what was needed."""

    def __init__(self, kind: AcpKind, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint)
        self.kind: AcpKind = kind
