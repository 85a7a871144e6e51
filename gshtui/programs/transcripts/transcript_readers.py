"""The readers of other programs' transcripts by program, and what is asked of a transcript besides its context.

A program's conversation is found by its id, or else by its folder and the agent's start. Functions block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from gshtui.programs.transcripts.program_transcript import (
    MOST_BYTES,
    ProgramTranscript,
    TranscriptEntry,
    TranscriptQuery,
    TurnStop,
)

_PROGRAMS = ("aider", "claude", "cline", "codex", "gemini", "opencode", "qwen", "vibe")


class _Readers(Mapping[str, ModuleType]):
    """A module for each program, loaded when it is first asked for."""

    def __getitem__(self, program: str) -> ModuleType:
        if program not in _PROGRAMS:
            raise KeyError(program)
        return import_module(f"gshtui.programs.transcripts.{program}_transcript")

    def __contains__(self, program: object) -> bool:
        return program in _PROGRAMS

    def __iter__(self) -> Iterator[str]:
        return iter(_PROGRAMS)

    def __len__(self) -> int:
        return len(_PROGRAMS)


READERS: Mapping[str, ModuleType] = _Readers()
"""Modules with `find` and `read`, by program; `TIMED`: what it says has a time of its own, not that of its prompt."""
ConversationState = Literal["absent", "empty", "said", "unknown"]
"""absent: there is no transcript. empty: there is one, but nobody has said anything in it."""


def home_of(environ: Mapping[str, str]) -> Path:
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


def transcript_file(wanted: TranscriptQuery, environ: Mapping[str, str]) -> Path | None:
    """The file that holds exactly this conversation; `None` where there is none."""
    reader = READERS.get(wanted.program)
    if reader is None or not wanted.id:
        return None
    try:
        found = reader.find(wanted, environ, home_of(environ))
    except OSError:
        return None
    return found if isinstance(found, Path) else None


def _is_said(entry: TranscriptEntry) -> bool:
    """Whether a person said this; programs add messages of their own at the start."""
    return entry.role == "user" and entry.kind == "text"


class TurnText(msgspec.Struct, frozen=True):
    """The last turn of a conversation."""

    message: str
    """The id of the prompt that began it."""
    at: float
    """When that was, in epoch seconds; 0: unknown."""
    prompt: str
    """What was asked."""
    said: tuple[str, ...]
    """Everything that the program has said in it so far, in order."""
    answer: str
    """What it said last, after its last tool call."""
    over: bool
    """It is finished: so its transcript says, or else nothing but the answer has come since."""
    written: float = 0.0
    """When the newest of it was written down, in epoch seconds."""
    final: bool = False
    """That it is over, the transcript says itself."""
    timed: bool = False
    """That time is the one of what was said, and not that of its prompt."""
    file: Path | None = None
    """The transcript, where it is one file."""
    helped: bool = False
    """Helpers that the program has started are at work."""
    stop: TurnStop = "end"
    """How it ended, where it did, as its transcript says."""
    error: str = ""
    """Why its model failed, if so."""

    def answers(self, text: str) -> bool:
        """Whether this text is what was asked, however its white space was changed on the way."""
        wanted = "".join(text.split())
        return bool(wanted) and wanted in "".join(self.prompt.split())


_TAILS = (1_000_000, 16_000_000, MOST_BYTES)
"""Bytes at a transcript's end in which its last turn is looked for, one after the other."""
_KEPT = 64
"""Conversations whose last turn is remembered."""


class LastTurns:
    """The last turns of conversations. Reads no more of a transcript than that takes, and again only what changed.

    Calls may come from several threads; each one blocks.
    """

    def __init__(self) -> None:
        self._known: dict[TranscriptQuery, tuple[Any, tuple[int, ...], TurnText | None]] = {}

    def find(self, wanted: TranscriptQuery, environ: Mapping[str, str]) -> TurnText | None:
        """The last turn of exactly this conversation; `None` where it has none, or cannot be read."""
        reader = READERS.get(wanted.program)
        if reader is None or not wanted.id:
            return None
        place, stamp, turn = self._known.get(wanted, (None, (), None))
        now = stamp_of(place)
        if now and now == stamp:
            return turn
        try:
            if not now:  # it was moved, or never seen
                place = reader.find(wanted, environ, home_of(environ))
                now = stamp_of(place)
            turn = None if place is None else _last_turn(reader, place)
            if turn is not None and isinstance(place, Path):
                turn = replace(turn, file=place)
        except OSError:
            return None
        self._known.pop(wanted, None)
        self._known[wanted] = (place, now, turn)
        for old in list(self._known)[:-_KEPT]:
            self._known.pop(old, None)
        return turn


def _last_turn(reader: ModuleType, place: object) -> TurnText | None:
    for most in _TAILS:
        turn = turn_of(reader.read(place, most), timed=reader.TIMED)
        if turn is not None or (isinstance(place, Path) and place.stat().st_size <= most):
            return turn
    return None


def stamp_of(place: object) -> tuple[int, ...]:
    """What changes when the transcript at a place does; empty where there is none."""
    from gshtui.programs.transcripts import aider_transcript, opencode_transcript

    paths: list[Path] = [place] if isinstance(place, Path) else []
    if isinstance(place, aider_transcript.AiderChat):
        paths = [place.path]
    if isinstance(place, opencode_transcript.OpenCodeFiles):
        log = place.path.with_name(place.path.name + "-wal")
        messages = place.path / "message" / place.session
        paths = [place.path, log] if place.database else [messages, *sorted(messages.glob("*.json"))[-2:]]
    stamp: list[int] = []
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        stamp += [status.st_ino, status.st_size, status.st_mtime_ns]
    return tuple(stamp)


def turn_of(found: ProgramTranscript, *, timed: bool = False) -> TurnText | None:
    """The last turn of a transcript, of a reader that is `timed`; `None` where nobody has said anything."""
    begun = next((at for at in reversed(range(len(found.entries))) if _is_said(found.entries[at])), None)
    if begun is None:
        return None
    said: list[str] = []
    answer: list[str] = []
    over = False
    for entry in found.entries[begun + 1 :]:
        if entry.role == "assistant" and entry.kind == "text":
            said.append(entry.text.strip("\n"))
            answer = [*(answer if over else ()), said[-1]]  # what it said before it went to work is not its answer
            over = True
        elif entry.kind in ("tool_call", "tool_result"):
            over = False
    first = found.entries[begun]
    written = max(found.ended_at, *(entry.at for entry in found.entries[begun:]))
    over = over if found.ended is None else found.ended
    final = found.ended is True
    text = "\n\n".join(answer)
    return TurnText(
        first.message,
        first.at,
        first.text,
        tuple(said),
        text,
        over,
        written,
        final,
        timed,
        helped=found.helped,
        stop=found.stop,
        error=found.error,
    )
