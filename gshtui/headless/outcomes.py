"""Writes a command's outcome to stdout, as text for people or data for scripts, and chooses its exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gshtui.headless import exits, streams

if TYPE_CHECKING:
    from gshtui.commands.declaration import CommandError, Outcome


def write_outcome(outcome: Outcome, *, as_json: bool, text: str = "", lines: bool = False, named: bool = False) -> int:
    """Write the outcome; returns the exit code.

    Args:
        as_json: write its data, not its text.
        text: replaces the outcome's own text.
        lines: write each item of the data as a line.
        named: commands that the outcome's own text names are written as they are typed at a shell.
    """
    from gshtui.text.truncation import shorten
    from gshtui.text.verbatim import bare, outside_fences

    if outcome.parts and not as_json:
        for part in outcome.parts:
            if not part.shown:
                write_outcome(part, as_json=False, text=part.plain if text else "", named=named)
        return outcome_code(outcome)
    if as_json and lines:
        for each in outcome.data:
            streams.result_json(each)
    elif as_json:
        streams.result_json(outcome.data if outcome.data is not None or not outcome.text else outcome.text)
    elif outcome.is_piece:
        streams.write_all(streams.STDOUT, streams.shown(text, streams.STDOUT))
    elif text:
        streams.result(text)
        if outcome.aside:
            streams.complain(outcome.aside)
    elif outcome.aside:
        streams.complain(outcome.aside)
    else:
        said = bare(shorten(outcome.full, 0, notes=outcome.notes) if outcome.cut else outcome.text)
        streams.result(outside_fences(streams.as_typed_here, said) if named and said == outcome.text else said)
    return outcome_code(outcome)


def error_code(error: CommandError) -> int:
    """The exit code for this error."""
    from gshtui.commands.declaration import Unconfirmed, UsageError

    if isinstance(error, Unconfirmed):
        return exits.DENIED
    if error.data == {"kind": "unreachable"}:
        return exits.UNREACHABLE
    return exits.USAGE if isinstance(error, UsageError) else exits.ERROR


def outcome_code(outcome: Outcome) -> int:
    """The exit code for this outcome."""
    if outcome.timed_out:
        return exits.TIMED_OUT
    if outcome.is_denied:
        return exits.DENIED
    return exits.ERROR if outcome.is_error else exits.DONE
