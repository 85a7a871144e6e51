"""The one error of this package, and its translation from tmux's own messages.

Callers of `gshtui.tmux` only need to catch `TmuxError`.
"""

from __future__ import annotations

import re
from typing import Literal

from gshtui.hosts.host_errors import HostError
from gshtui.system.expected_error import ExpectedError

Kind = Literal["missing", "old", "gone", "timeout", "refused", "no_such_pane", "name_taken", "unreachable"]

_GONE = ("no server running", "error connecting to", "server exited", "lost server", "no current client")
_TOO_LONG = "file name too long"
_NO_PANE = (
    "can't find pane",
    "can't find window",
    "can't find session",
    "no such pane",
    "pane has exited",
    "no current target",
)
_NAME_TAKEN = re.compile(r"duplicate session: (\S+)")


class TmuxError(ExpectedError):
    """tmux could not do it.

    Args:
        kind: `missing` or `old`: the program; `gone`: no server runs; `timeout`: it did not answer, and whether it
            acted is not known; `no_such_pane`: that pane does not exist (any more); `name_taken`: a session of that
            name exists already; `unreachable`: the other machine that it is on; `refused`: everything else.
        message: one clear sentence.
        hint: what to do about it.
    """

    def __init__(self, kind: Kind, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.kind: Kind = kind


def program_missing() -> TmuxError:
    return TmuxError(
        "missing", "tmux is not installed.", "Install tmux 3.0 or newer (apt install tmux, brew install tmux)."
    )


def server_gone() -> TmuxError:
    """No server runs on the socket."""
    return TmuxError(
        "gone", "The agents' tmux server is not running.", "Everything that ran on it has ended; start it again."
    )


def from_host(error: HostError) -> TmuxError:
    """The machine that the server is on could not be used."""
    return TmuxError("timeout" if error.kind == "timeout" else "unreachable", error.message, error.hint)


def connection_lost(host: str) -> TmuxError:
    """The connection to the machine that the server is on broke."""
    return TmuxError("unreachable", f"The connection to {host} broke.", "It is tried again by itself.")


def timed_out(seconds: float) -> TmuxError:
    return TmuxError(
        "timeout",
        f"tmux did not answer within {seconds:g} s.",
        "The tmux server may be stopped or overloaded; check it from another terminal.",
    )


def no_such_pane(pane: str) -> TmuxError:
    return TmuxError("no_such_pane", f"There is no pane {pane}; its terminal was closed.")


def from_reply(text: str) -> TmuxError:
    line = " ".join(text.split()) or "tmux failed without an error message."
    lower = line.lower()
    if _TOO_LONG in lower:
        hint = "Set TMUX_TMPDIR to a folder with a shorter path: a socket's has room for about 100 characters."
        return TmuxError("refused", "tmux cannot use its socket: the path is too long.", hint)
    if any(words in lower for words in _GONE):
        return server_gone()
    if any(words in lower for words in _NO_PANE):
        return TmuxError("no_such_pane", f"tmux says: {line[:200]}.", "The terminal was closed.")
    if taken := _NAME_TAKEN.search(line):
        hint = "Choose another name, or end that session."
        return TmuxError("name_taken", f"There is already a session named {taken[1][:200]}.", hint)
    return TmuxError("refused", f"tmux refused: {line[:300]}")
