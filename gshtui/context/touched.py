"""Which files were touched: kept by us from the calls, since every summariser is weak at it. Pure.

Owns the list and its order; refuses to guess from text. Called when a compaction is made.
"""

from __future__ import annotations

from collections.abc import Iterable

from gshtui.bus.messages import ToolCall, ToolResult
from gshtui.context.blocks import path_of
from gshtui.context.log import Entry

_VERBS = {"read": "read", "write": "written", "edit": "edited", "grep": "searched", "glob": "listed"}
_CHANGES = ("written", "edited")
MOST = 200
"""Files that are listed; those that were only read go first when there are more."""


def touched_files(entries: Iterable[Entry]) -> tuple[str, ...]:
    """A line for each file that a call which went well names, with what was done to it; the newest last."""
    done: dict[str, dict[str, None]] = {}
    calls: dict[str, ToolCall] = {}
    for entry in entries:
        for part in entry.message.blocks:
            if isinstance(part, ToolCall):
                calls[part.id] = part
            elif isinstance(part, ToolResult) and part.status == "ok" and (call := calls.get(part.call_id)) is not None:
                _note(done, call)
    while len(done) > MOST:
        done.pop(next((path for path, how in done.items() if not any(v in how for v in _CHANGES)), next(iter(done))))
    return tuple(f"{path} ({', '.join(how)})" for path, how in done.items())


def _note(done: dict[str, dict[str, None]], call: ToolCall) -> None:
    verb = _VERBS.get(call.name)
    path = path_of(call)
    if verb is None or not path or verb in ("searched", "listed"):
        return
    how = done.pop(path, {})
    how[verb] = None
    done[path] = how
