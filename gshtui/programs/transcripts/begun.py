"""Whether a program has a conversation of this id: its transcript is there, with something said in it.

A program writes none before the first turn, and refuses to go on with what it has not written. Never writes, never
guesses: of a program whose transcripts are not known it says nothing. Called by `launch`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from gshtui.programs.transcripts import claude, gemini
from gshtui.programs.transcripts.transcript import Entry, Wanted

_READERS: Mapping[str, Any] = {"claude": claude, "gemini": gemini}
"""Programs that take ids of ours: they alone can be started anew under the same one."""


Begun = Literal["absent", "empty", "said", "unknown"]
"""absent: there is no transcript. empty: there is one, and nobody has said anything in it."""


def begun(program: str, id: str, environ: Mapping[str, str], cwd: str = "") -> Begun:
    """How far the conversation came. Blocks for a moment.

    Args:
        program: whose transcripts they are, by the name of its profile or the kind of its hooks.
        environ: what the program inherits; it says where its files are.
    """
    reader = _READERS.get(program)
    if reader is None or not id:
        return "unknown"
    home = Path(environ.get("HOME", "") or "~").expanduser()
    try:
        path = reader.find(Wanted(program, id, cwd, 0.0), environ, home)
        if path is None:
            return "absent"
        return "said" if any(map(_said, reader.read(path).entries)) else "empty"
    except OSError:
        return "unknown"


def _said(entry: Entry) -> bool:
    """Whether a person said this; programs put words of their own in front."""
    return entry.role == "user" and entry.kind == "text"
