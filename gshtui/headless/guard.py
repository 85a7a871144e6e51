"""`gsh-tui guard check -`: questions as JSON lines on standard input, each answered with one on standard output.

A line that is no question is answered as denied, and never ends the run. Called by `cli`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from gshtui.headless import exits, streams
from gshtui.headless.surroundings import here

_LONGEST = 8 * 1024 * 1024
"""Bytes of a line; the rest of a longer one is passed over."""


def check_lines() -> int:
    """Answer until the input ends; gives the exit code."""
    from gshtui.guard.commands import checked
    from gshtui.settings.paths import project_root

    cwd = here()
    project = project_root(cwd)
    while raw := sys.stdin.buffer.readline(_LONGEST):
        piece = raw
        while len(piece) == _LONGEST and not piece.endswith(b"\n"):
            piece, raw = sys.stdin.buffer.readline(_LONGEST), b"too long"
        if raw.strip():
            answer = json.dumps(checked(_value(raw), cwd, project), ensure_ascii=True)
            streams.write_all(streams.STDOUT, answer.encode() + b"\n")
    return exits.DONE


def _value(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None
