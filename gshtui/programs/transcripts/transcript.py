"""A transcript as all readers give it: what was said in order, and which part of it each request sent. Plain data.

It owns the structs and the notebook that a reader fills; it reads no file. Called by the readers and `reconstruct`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from gshtui.bus.context import BlockKind
from gshtui.bus.messages import Usage

LONGEST = 2_000_000
"""Characters that one piece of a transcript may have; what is longer is shortened, and says so."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Whose transcript is looked for. `id` is the conversation's id in that program; `since` in epoch seconds."""

    program: str
    id: str
    cwd: str
    since: float


@dataclass(frozen=True, slots=True)
class Entry:
    """One piece of the conversation: words, a thought, a call, a result."""

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
    """The program sends a placeholder in its place."""


@dataclass(frozen=True, slots=True)
class Mark:
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


@dataclass(slots=True)
class Transcript:
    """What a reader found. `start`: the first entry that is still sent."""

    path: Path
    program: str
    model: str = ""
    window: int = 0
    """Tokens, where the transcript says it."""
    entries: list[Entry] = field(default_factory=list[Entry])
    marks: list[Mark] = field(default_factory=list[Mark])
    start: int = 0
    notes: list[str] = field(default_factory=list[str])


class Notebook:
    """Writes a transcript down while a reader goes through its records."""

    def __init__(self, path: Path, program: str) -> None:
        self.transcript = Transcript(path, program)
        self._turn = 0
        self._compacted = False
        self._tools: dict[str, tuple[str, str]] = {}
        self._marks: dict[str, int] = {}

    def words(self, role: str, text: str, at: float, message: str, *, kind: BlockKind = "text") -> None:
        """What somebody said; a person's words begin a turn."""
        if not text.strip():
            return
        if role == "user" and kind == "text":
            self._turn += 1
        source = {"user": "you", "assistant": self.transcript.program}.get(role, role)
        self._add(Entry(kind, role, "summary" if kind == "summary" else source, text, at, message, self._turn))

    def thought(self, text: str, at: float, message: str) -> None:
        """A piece of reasoning that can be read."""
        if text.strip():
            self._add(Entry("thinking", "assistant", "thinking", text, at, message, self._turn))

    def call(self, id: str, name: str, arguments: Any, at: float, message: str) -> None:
        """A tool call, with its arguments as they were written or as plain data."""
        source, path = subject_of(name, arguments)
        self._tools[id] = (source, path)
        text = f"{name} {arguments if isinstance(arguments, str) else plain_json(arguments)}"
        self._add(Entry("tool_call", "assistant", source, text, at, message, self._turn, id, path))

    def result(self, id: str, text: str, at: float, message: str, *, pruned: bool = False) -> None:
        """The answer to a tool call."""
        source, path = self._tools.get(id, ("tool", ""))
        self._add(Entry("tool_result", "tool", source, text, at, message, self._turn, id, path, pruned))

    def picture(self, kind: BlockKind, what: str, at: float, message: str, role: str = "user") -> None:
        """Something that is no text; its bytes are not kept."""
        self._add(Entry(kind, role, what, f"[{what}]", at, message, self._turn))

    def begin_again(self) -> None:
        """The program made a summary: what came before is not sent any more."""
        self.transcript.start = len(self.transcript.entries)
        self._compacted = True

    def request(self, id: str, at: float, model: str, usage: Usage | None, error: str = "") -> None:
        """A request was made with what is there now. Said again with the same id, it only knows more."""
        found = self.transcript
        found.model = model or found.model
        known = self._marks.get(id)
        if known is not None:
            mark = found.marks[known]
            found.marks[known] = Mark(
                mark.id, mark.at, model or mark.model, usage or mark.usage, mark.start, mark.end, mark.turn,
                mark.compacted, error or mark.error,
            )  # fmt: skip
            return
        self._marks[id] = len(found.marks)
        found.marks.append(
            Mark(id, at, model, usage, found.start, len(found.entries), self._turn, self._compacted, error)
        )
        self._compacted = False

    def _add(self, entry: Entry) -> None:
        if len(entry.text) > LONGEST:
            half = LONGEST // 2
            cut = f"\n… ({len(entry.text) - LONGEST:,} characters left out)\n"
            shorter = entry.text[:half] + cut + entry.text[-half:]
            entry = Entry(
                entry.kind, entry.role, entry.source, shorter, entry.at, entry.message, entry.turn, entry.call,
                entry.path, entry.pruned,
            )  # fmt: skip
        self.transcript.entries.append(entry)


_PATHS = ("file_path", "filePath", "notebook_path", "absolute_path", "path", "file", "dir_path")
_SUBJECTS = (*_PATHS, "command", "cmd", "pattern", "query", "url", "description", "prompt", "name")


def subject_of(tool: str, arguments: Any) -> tuple[str, str]:
    """What a call is about, for people, and the file that it names."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return f"{tool} {first_line(arguments)}".strip(), ""
    given = mapping(arguments)
    path = next((str(given[name]) for name in _PATHS if isinstance(given.get(name), str)), "")
    for name in _SUBJECTS:
        value = given.get(name)
        if isinstance(value, list) and value:
            words = [str(word) for word in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            shell = len(words) == 3 and words[1] in ("-c", "-lc")
            return f"{tool} {first_line(words[2] if shell else ' '.join(words))}".strip(), path
        if isinstance(value, str) and value:
            return f"{tool} {first_line(value)}".strip(), path
    return tool, path


def first_line(text: str, longest: int = 80) -> str:
    """The first line, shortened."""
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= longest else line[: longest - 1] + "…"


def mapping(value: Any) -> dict[str, Any]:
    """The value, when it is a JSON object; an empty one otherwise."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def sequence(value: Any) -> list[Any]:
    """The value, when it is a JSON array; an empty one otherwise."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def words_of(value: Any) -> str:
    """The value, when it is text; empty otherwise."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> int:
    """The value, when it is a count; 0 otherwise."""
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else 0


def seconds(value: Any) -> float:
    """A time as epoch seconds, from ISO 8601, milliseconds or seconds; 0 when it is none of them."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value / 1000 if value > 1e11 else float(value)
    try:
        return datetime.fromisoformat(words_of(value)).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def plain_json(value: Any) -> str:
    """Plain data as text, as models are shown it."""
    return json.dumps(value, ensure_ascii=False, default=str)
