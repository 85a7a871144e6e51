"""The one error of this package, and how tmux's own words become it.

Owns `TmuxError` and the reading of tmux's error lines. Whoever calls `gshtui.tmux` catches this and nothing else.
"""

from __future__ import annotations

from typing import Literal

from gshtui.system.expected_error import ExpectedError

Kind = Literal["missing", "old", "gone", "timeout", "refused", "no_such_pane"]

_GONE = ("no server running", "error connecting to", "server exited", "lost server", "no current client")
_NO_PANE = (
    "can't find pane",
    "can't find window",
    "can't find session",
    "no such pane",
    "pane has exited",
    "no current target",
)


class TmuxError(ExpectedError):
    """tmux could not do it.

    Args:
        kind: `missing` or `old`: the program; `gone`: no server runs; `timeout`: it did not answer, and whether it
            acted is not known; `no_such_pane`: that pane does not exist (any more); `refused`: everything else.
        message: one clear sentence.
        hint: what to do about it.
    """

    def __init__(self, kind: Kind, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.kind: Kind = kind


def program_missing() -> TmuxError:
    """There is no tmux on the PATH."""
    return TmuxError(
        "missing", "tmux is not installed.", "Install tmux 3.0 or newer (apt install tmux, brew install tmux)."
    )


def server_gone() -> TmuxError:
    """No server runs on the socket."""
    return TmuxError("gone", "The agents' tmux server is not running.", "What ran on it has ended; start it again.")


def timed_out(seconds: float) -> TmuxError:
    """tmux did not answer in time."""
    return TmuxError(
        "timeout",
        f"tmux did not answer within {seconds:g} s.",
        "The tmux server may be stopped or overloaded; look at it with a terminal of your own.",
    )


def no_such_pane(pane: str) -> TmuxError:
    """The pane is not there."""
    return TmuxError("no_such_pane", f"There is no pane {pane}; its terminal was closed.")


def from_reply(text: str) -> TmuxError:
    """The error that tmux's own words mean."""
    line = " ".join(text.split()) or "tmux failed without saying why."
    lower = line.lower()
    if any(words in lower for words in _GONE):
        return server_gone()
    if any(words in lower for words in _NO_PANE):
        return TmuxError("no_such_pane", f"tmux says: {line[:200]}.", "The terminal was closed.")
    return TmuxError("refused", f"tmux refused: {line[:300]}")
