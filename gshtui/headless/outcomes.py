"""What a command came to, on stdout: its text for people or its data for scripts; and its exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gshtui.headless import exits, streams

if TYPE_CHECKING:
    from gshtui.commands.declaration import Outcome


def write_outcome(outcome: Outcome, *, as_json: bool, text: str = "") -> int:
    """Write it; gives the exit code. `text`: in place of the outcome's own."""
    from gshtui.text.truncation import shorten
    from gshtui.text.verbatim import bare

    if as_json:
        streams.result_json(outcome.data if outcome.data is not None or not outcome.text else outcome.text)
    elif text:
        streams.result(text)
    else:
        streams.result(bare(shorten(outcome.full, 0, notes=outcome.notes) if outcome.cut else outcome.text))
    return outcome_code(outcome)


def outcome_code(outcome: Outcome) -> int:
    """The exit code."""
    if outcome.timed_out:
        return exits.TIMED_OUT
    return exits.ERROR if outcome.is_error else exits.DONE
