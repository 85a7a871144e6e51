"""The readers of other programs' transcripts by program, and what is asked of a transcript besides its context.

A program's conversation is found by its id, or else by its folder and the agent's start. Functions block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gshtui.programs.transcripts import (
    claude_transcript,
    codex_transcript,
    gemini_transcript,
    opencode_transcript,
    vibe_transcript,
)
from gshtui.programs.transcripts.program_transcript import ProgramTranscript, TranscriptEntry, TranscriptQuery

READERS: Mapping[str, Any] = {
    "claude": claude_transcript,
    "codex": codex_transcript,
    "gemini": gemini_transcript,
    "opencode": opencode_transcript,
    "vibe": vibe_transcript,
}
"""A module each, with `find` and `read`."""
ConversationState = Literal["absent", "empty", "said", "unknown"]
"""absent: there is no transcript. empty: there is one, but nobody has said anything in it."""


def home_of(environ: Mapping[str, str]) -> Path:
    """The home folder of a program with this environment."""
    return Path(environ.get("HOME", "") or "~").expanduser()


def conversation_state(wanted: TranscriptQuery, environ: Mapping[str, str]) -> ConversationState:
    """How far a conversation got; without an id: whether the folder has any since the agent began."""
    reader = READERS.get(wanted.program)
    if reader is None:
        return "unknown"
    try:
        path = reader.find(wanted, environ, home_of(environ))
        if path is None:
            return "absent"
        return "said" if any(map(_is_said, reader.read(path).entries)) else "empty"
    except OSError:
        return "unknown"


def _is_said(entry: TranscriptEntry) -> bool:
    """Whether a person said this; programs add messages of their own at the start."""
    return entry.role == "user" and entry.kind == "text"


@dataclass(frozen=True, slots=True)
class TurnText:
    """The last turn of a conversation."""

    message: str
    """The id of the prompt that began it."""
    at: float
    """When that was, in epoch seconds; 0: unknown."""
    answer: str
    """What the program said last in it, so far."""
    over: bool
    """Nothing but that has come since."""


def last_turn(wanted: TranscriptQuery, environ: Mapping[str, str]) -> TurnText | None:
    """The last turn of exactly this conversation; `None` where it has none, or cannot be read."""
    reader = READERS.get(wanted.program)
    if reader is None or not wanted.id:
        return None
    try:
        path = reader.find(wanted, environ, home_of(environ))
        return None if path is None else turn_of(reader.read(path))
    except OSError:
        return None


def turn_of(found: ProgramTranscript) -> TurnText | None:
    """The last turn of a transcript; `None` where nobody has said anything."""
    begun = next((at for at in reversed(range(len(found.entries))) if _is_said(found.entries[at])), None)
    if begun is None:
        return None
    answer: list[str] = []
    over = True
    for entry in reversed(found.entries[begun + 1 :]):
        if entry.role == "assistant" and entry.kind == "text":
            answer.append(entry.text.strip("\n"))
        elif answer and entry.kind in ("tool_call", "tool_result"):
            break  # what it said before it went to work is not its answer
        elif not answer and entry.kind in ("tool_call", "tool_result"):
            over = False
    first = found.entries[begun]
    return TurnText(first.message, first.at, "\n\n".join(reversed(answer)), over and bool(answer))
