"""The common form of all programs' transcripts, and bounded reading of other programs' files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from gshtui.bus.context_data import BlockKind
from gshtui.bus.messages import Usage
from gshtui.system.json_types import is_array, is_object, obj, parse_foreign_json, string

MOST_BYTES = 96_000_000
"""Bytes read from a file's end; a longer transcript loses its beginning, and says so."""
LONGEST_LINE = 24_000_000
_MOST_COUNTED = 10**12
_LATEST = 1e11
"""Epoch seconds that no clock shows."""
_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")


def safe_name(id: str) -> str:
    """The id, when it can be part of a file's name and of a pattern; empty otherwise."""
    return id if _SAFE_ID.match(id) and ".." not in id else ""


def read_records(path: Path, lost: list[str], most: int = MOST_BYTES) -> Iterator[dict[str, Any]]:
    """The JSON objects in the last `most` bytes of a file of lines, in order.

    `lost` gets a sentence when something could not be read.
    """
    torn = 0
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            file.seek(size - most)
            file.readline(LONGEST_LINE)
            lost.append(f"Only its last {most // 1_000_000} MB were read.")
        while line := file.readline(LONGEST_LINE):
            if not line.endswith(b"\n") and len(line) >= LONGEST_LINE:
                torn += 1
                while line and not line.endswith(b"\n"):
                    line = file.readline(LONGEST_LINE)
                continue
            if not line.strip():
                continue
            try:
                record = parse_foreign_json(line)
            except ValueError:
                # The last line may just be being written; only what has an end was torn for good.
                torn += line.endswith(b"\n")
                continue
            if is_object(record):
                yield record
    if torn:
        lost.append(f"{torn} of its lines could not be read.")


def read_json(path: Path) -> Any:
    """The JSON value in a file; `None` if it is not one, or too large. Raises `OSError`."""
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        return None
    try:
        return parse_foreign_json(data)
    except ValueError:
        return None


def read_whole_file(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file; `None` if it is not one, or too large. Raises `OSError`."""
    found = read_json(path)
    return found if is_object(found) else None


def newest_file(paths: Iterator[Path] | list[Path], since: float = 0.0) -> list[Path]:
    """Regular files that were changed since then, the newest first."""
    found: list[tuple[float, Path]] = []
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        if status.st_mtime >= since - 2 and path.is_file():
            found.append((status.st_mtime, path))
    return [path for _, path in sorted(found, reverse=True)]


LONGEST = 2_000_000
"""Most characters of one piece of a transcript; a longer one is shortened, and says so."""


class TranscriptQuery(msgspec.Struct, frozen=True):
    """The agent whose transcript to find. `id` is the conversation's id in that program; `since`: epoch seconds."""

    program: str
    id: str
    cwd: str
    since: float


class TranscriptEntry(msgspec.Struct, frozen=True):
    """One piece of the conversation: text, a thought, a call or a result."""

    kind: BlockKind
    role: str
    source: str
    text: str
    at: float
    message: str
    turn: int
    call: str = ""
    path: str = ""
    pruned: bool = False
    """The program sends it no more, or a placeholder in its place."""


class RequestMark(msgspec.Struct, frozen=True):
    """One request: it sent the entries from `start` up to `end`, as far as the transcript knows."""

    id: str
    at: float
    model: str
    usage: Usage | None
    start: int
    end: int
    turn: int
    compacted: bool = False
    """The first one after the program made a summary."""
    error: str = ""


TurnStop = Literal["end", "interrupted", "error"]
_GOES_ON = ("text", "thinking", "tool_call")


class ProgramTranscript(msgspec.Struct):
    """What a reader found. `start`: the first entry that is still sent."""

    path: Path
    program: str
    model: str = ""
    window: int = 0
    """Tokens, if the transcript contains them."""
    entries: list[TranscriptEntry] = msgspec.field(default_factory=list[TranscriptEntry])
    marks: list[RequestMark] = msgspec.field(default_factory=list[RequestMark])
    start: int = 0
    notes: list[str] = msgspec.field(default_factory=list[str])
    ended: bool | None = None
    """Whether it says that its last turn is over; `None`: it says neither."""
    ended_at: float = 0.0
    """When that was, in epoch seconds; 0: when the last of it was said."""
    helped: bool = False
    """Helpers that it has started are at work, whether its turn is over or not."""
    plan: str = ""
    """The plan that its last turn has proposed, where that is no call."""
    stop: TurnStop = "end"
    """How its last turn ends, if nothing follows."""
    error: str = ""
    """Why its model failed, if so."""


class TranscriptBuilder:
    """Writes a transcript down while a reader goes through its records."""

    def __init__(self, path: Path, program: str) -> None:
        self.transcript = ProgramTranscript(path, program)
        self._turn = 0
        self._compacted = False
        self._tools: dict[str, tuple[str, str]] = {}
        self._marks: dict[str, int] = {}

    def add_text(
        self, role: str, text: str, at: float, message: str, *, kind: BlockKind = "text", pruned: bool = False
    ) -> None:
        """A message; a person's message starts a turn."""
        if not text.strip():
            return
        if role == "user" and kind == "text":
            self._turn += 1
        source = {"user": "you", "assistant": self.transcript.program}.get(role, role)
        source = "summary" if kind == "summary" else source
        self._add(TranscriptEntry(kind, role, source, text, at, message, self._turn, pruned=pruned))

    def add_thinking(self, text: str, at: float, message: str) -> None:
        """A piece of reasoning that can be read."""
        if text.strip():
            self._add(TranscriptEntry("thinking", "assistant", "thinking", text, at, message, self._turn))

    def add_call(self, id: str, name: str, arguments: object, at: float, message: str) -> None:
        """A tool call, with its arguments as they were written or as plain data."""
        source, path = subject_of(name, arguments)
        self._tools[id] = (source, path)
        text = f"{name} {arguments if isinstance(arguments, str) else plain_json(arguments)}"
        self._add(TranscriptEntry("tool_call", "assistant", source, text, at, message, self._turn, id, path))

    def add_result(self, id: str, text: str, at: float, message: str, *, pruned: bool = False) -> None:
        """The answer to a tool call."""
        source, path = self._tools.get(id, ("tool", ""))
        self._add(TranscriptEntry("tool_result", "tool", source, text, at, message, self._turn, id, path, pruned))

    def add_picture(self, kind: BlockKind, what: str, at: float, message: str, role: str = "user") -> None:
        """Content that is not text; its bytes are not kept."""
        self._add(TranscriptEntry(kind, role, what, f"[{what}]", at, message, self._turn))

    def note_stop(self, stop: TurnStop, error: str = "") -> None:
        """Note that the turn ends here, unless more of it follows: by its person, or since its model failed."""
        self.transcript.stop, self.transcript.error = stop, error

    def clear(self) -> None:
        """Note a summary: nothing before it is sent any more."""
        self.transcript.start = len(self.transcript.entries)
        self._compacted = True

    def add_request(self, id: str, at: float, model: str, usage: Usage | None, error: str = "") -> None:
        """Note a request with everything so far. Calling it again with the same id only adds details."""
        found = self.transcript
        found.model = model or found.model
        known = self._marks.get(id)
        if known is not None:
            mark = found.marks[known]
            found.marks[known] = RequestMark(
                mark.id,
                mark.at,
                model or mark.model,
                usage or mark.usage,
                mark.start,
                mark.end,
                mark.turn,
                mark.compacted,
                error or mark.error,
            )
            return
        self._marks[id] = len(found.marks)
        found.marks.append(
            RequestMark(id, at, model, usage, found.start, len(found.entries), self._turn, self._compacted, error)
        )
        self._compacted = False

    def _add(self, entry: TranscriptEntry) -> None:
        if len(entry.text) > LONGEST:
            half = LONGEST // 2
            cut = f"\n… ({len(entry.text) - LONGEST:,} characters left out)\n"
            shorter = entry.text[:half] + cut + entry.text[-half:]
            entry = TranscriptEntry(
                entry.kind,
                entry.role,
                entry.source,
                shorter,
                entry.at,
                entry.message,
                entry.turn,
                entry.call,
                entry.path,
                entry.pruned,
            )
        self.transcript.entries.append(entry)
        if entry.kind in _GOES_ON:
            self.note_stop("end")


_PATHS = ("file_path", "filePath", "notebook_path", "absolute_path", "path", "file", "dir_path")
_SUBJECTS = (*_PATHS, "command", "cmd", "pattern", "query", "url", "description", "prompt", "name")


def subject_of(tool: str, arguments: object) -> tuple[str, str]:
    """What a call is about, for people, and the file that it names."""
    if isinstance(arguments, str):
        try:
            arguments = parse_foreign_json(arguments)
        except ValueError:
            return f"{tool} {first_line(arguments)}".strip(), ""
    given = obj(arguments)
    path = next((str(given[name]) for name in _PATHS if isinstance(given.get(name), str)), "")
    for name in _SUBJECTS:
        value = given.get(name)
        if is_array(value) and value:
            words = [str(word) for word in value]
            shell = len(words) == 3 and words[1] in ("-c", "-lc")
            return f"{tool} {first_line(words[2] if shell else ' '.join(words))}".strip(), path
        if isinstance(value, str) and value:
            return f"{tool} {first_line(value)}".strip(), path
    return tool, path


def first_line(text: str) -> str:
    """The first line, shortened to 80 characters."""
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= 80 else line[:79] + "…"


def number(value: object) -> int:
    """The value, when it is a count; 0 otherwise."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _MOST_COUNTED:
        return int(value)
    return 0


def seconds(value: object) -> float:
    """A time as epoch seconds, from ISO 8601, milliseconds or seconds; 0 if it is none of these."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        at = value / 1000 if value > 1e11 else float(value)
    else:
        try:
            at = datetime.fromisoformat(string(value)).timestamp()
        except (ValueError, OverflowError):
            return 0.0
    return at if 0 <= at < _LATEST else 0.0


def plain_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
