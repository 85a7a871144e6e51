"""Prints what `gshtui.commands.printed_outcome` makes of an outcome or an error, and chooses the exit code.

Imports nothing of a command, so that a process which only prints stays small.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from gshtui.headless import exits, streams

if TYPE_CHECKING:
    from gshtui.commands.declaration import CommandError, Outcome


_WIDE = 100
"""Columns of a terminal that tells none."""
_OF_OTHERS = ("files", "run", "shell", "language")
"""Families of tools that print what is not ours."""


def print_outcome(said: Mapping[str, Any], name: str = "") -> int:
    """Print text for people or data for scripts on stdout, and what is wrong on stderr; returns the exit code.

    Args:
        name: the words that called the command; what it names of ours is then written as it is typed at a shell.
    """
    if "failed" in said:
        streams.complain(said["failed"], streams.ANYWAY if said["unconfirmed"] else "")
        if "position" in said:
            streams.point_at(*said["position"])
    elif "parts" in said:
        for part in said["parts"]:
            print_outcome(part, name)
    elif "words" in said:
        streams.write_all(streams.STDOUT, streams.shown(said["words"], streams.STDOUT))
    elif said.get("lines"):
        for each in said["data"]:
            streams.result_json(each)
    elif "data" in said:
        streams.result_json(said["data"])
    else:
        text, aloud = said["text"], streams.LINE_FACE.get()
        if said["own"]:
            text = aloud_text(text, name) if aloud else _as_typed_here(text, name)
        # Read aloud, a line has no width: all of it is printed.
        if said.get("fits") and streams.is_terminal(streams.STDOUT) and not aloud:
            from gshtui.text.cells import cut

            room = os.get_terminal_size(streams.STDOUT).columns or _WIDE
            text = "\n".join(cut(line, room) for line in text.split("\n"))
        streams.result(text, own=False)
        if said["aside"]:
            streams.complain(said["aside"])
    return _exit_code(said)


def error_code(error: CommandError) -> int:
    from gshtui.commands.printed_outcome import failed

    return _exit_code(failed(error))


def outcome_code(outcome: Outcome) -> int:
    from gshtui.commands.printed_outcome import ended

    return _exit_code(ended(outcome))


def _exit_code(said: Mapping[str, Any]) -> int:
    if "failed" in said:
        if said["unconfirmed"]:
            return exits.DENIED
        if said["unreachable"]:
            return exits.UNREACHABLE
        return exits.USAGE if said["usage"] else exits.ERROR
    if said["timed_out"]:
        return exits.TIMED_OUT
    if said["denied"]:
        return exits.DENIED
    return exits.ERROR if said["is_error"] else exits.DONE


def _as_typed_here(text: str, name: str) -> str:
    """Our own words to a person; what a tool tells is often somebody else's text."""
    from gshtui.commands.known_tools import NO_TOOLS
    from gshtui.text.markdown_table import outside_fences

    return outside_fences(streams.as_typed_here, text) if name.partition(" ")[0] in NO_TOOLS else text


def aloud_text(text: str, name: str) -> str:
    """A text as it is read aloud; what a tool prints is often a file's or a program's, and stays as it is."""
    from gshtui.commands.known_tools import TOOLS
    from gshtui.text.markdown_table import bare, outside_fences
    from gshtui.text.plain_reading import heard, unruled

    if name in TOOLS and TOOLS[name][0] in _OF_OTHERS:
        return unruled(bare(text))
    return heard(outside_fences(_line_as_typed_here, text), partial(streams.broken_at_words, terminal=streams.STDOUT))


def _line_as_typed_here(line: str) -> str:
    """A line with our commands as they are typed; not with others' words, nor where a list has the names of things."""
    return line if line.startswith("- `") or "\\`" in line else streams.as_typed_here(line)
