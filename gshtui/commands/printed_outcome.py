"""What a process prints of a command's outcome or error, as plain data, so that it can be printed elsewhere.

`gshtui.headless.outcomes` prints it.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from gshtui.commands.declaration import CommandError, Outcome, Unconfirmed, UsageError
from gshtui.text.markdown_table import bare
from gshtui.text.truncation import shorten


def printed(outcome: Outcome, *, as_json: bool, lines: bool = False) -> dict[str, Any]:
    """A command's. `lines`: each item of the data is a line."""
    end = ended(outcome)
    if outcome.is_piece and not as_json:
        return end | {"words": outcome.plain}
    if as_json and lines:
        return end | {"data": list(outcome.data), "lines": True}
    if as_json:
        return end | {"data": outcome.data if outcome.data is not None or not outcome.text else outcome.text}
    text = outcome.plain
    if not text and not outcome.aside:
        text = shorten(outcome.full, 0, notes=outcome.notes) if outcome.cut else outcome.text
        text = text if outcome.is_value else bare(text)
    own = outcome.is_ours and text == outcome.text
    return end | {"text": text, "fits": outcome.fits, "aside": outcome.aside, "own": own}


def line_printed(outcome: Outcome, *, as_json: bool, plain: bool, aloud: bool = False) -> dict[str, Any]:
    """That of a line, which may have several parts. `plain`: as people read it; else as agents do. `aloud`: to hear."""
    if outcome.parts and not as_json:
        parts = [
            line_printed(part, as_json=False, plain=plain, aloud=aloud) for part in outcome.parts if not part.shown
        ]
        return ended(outcome) | {"parts": parts}
    if aloud and not outcome.cut and outcome.is_ours:
        return ended(outcome) | {"text": outcome.aloud or outcome.text, "fits": False, "aside": "", "own": True}
    return printed(outcome if plain or aloud else replace(outcome, plain=""), as_json=as_json) | {"own": False}


def failed(error: CommandError) -> dict[str, Any]:
    unconfirmed, unreachable = isinstance(error, Unconfirmed), error.data == {"kind": "unreachable"}
    payload: dict[str, Any] = {"failed": error.message if unconfirmed else str(error), "unconfirmed": unconfirmed}
    payload |= {"usage": isinstance(error, UsageError), "unreachable": unreachable}
    if error.position is not None:
        payload["position"] = [str(error.position), error.position.picture]
    return payload


def ended(outcome: Outcome) -> dict[str, Any]:
    """What decides the exit code."""
    return {"is_error": outcome.is_error, "timed_out": outcome.timed_out, "denied": outcome.is_denied}
