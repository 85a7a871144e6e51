"""`gsh-tui context timeline compact prune`: a line of the command, and the JSON that scripts are promised (DESIGN §13).

It works from the record, whether or not a window is open on it. Called by `cli`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gshtui.headless import streams
from gshtui.headless.line import LineOptions, run_line

if TYPE_CHECKING:
    from gshtui.commands.declaration import Outcome

CONTEXT_PARTS = frozenset({"store", "providers"})


def show(agent: str, named: Mapping[str, str], *, request: bool, as_json: bool) -> int:
    """What an agent's model is sent; gives the exit code."""
    words = {"agent": agent, **named}
    if as_json:
        words |= {"texts": "true"} if named["diff"] else {"texts": "true", "request": "true"}
    elif request:
        words["request"] = "true"
    return line("context", words, as_json=as_json)


def line(command: str, named: Mapping[str, str], *, as_json: bool) -> int:
    """Run a context command; gives the exit code."""
    from gshtui.commands.lexer import quote

    words = [command, *(f"{name}={quote(value)}" for name, value in named.items() if value)]
    options = LineOptions(" ".join(words), json=as_json, parts=CONTEXT_PARTS, write=_write if as_json else None)
    return run_line(options)


def _write(outcome: Outcome) -> None:
    data: Any = outcome.data
    streams.result_json(data)
