"""Gemini CLI's transcripts: `tmp/<project>/chats/session-<time>-<id>.json`, or `.jsonl` in newer versions.

The older form is one object; the newer one has one record per line: `$set` changes facts about the conversation,
`$rewindTo` removes messages, a repeated message replaces the earlier one. A process that goes on with a conversation
begins a new file of the same id first, and notes `$set` with the id in the old one once it has read that. Never writes.
Called by `reconstruction`.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from gshtui.bus.context_data import BlockKind
from gshtui.bus.messages import Usage
from gshtui.programs.transcripts.program_transcript import (
    MOST_BYTES,
    ProgramTranscript,
    TranscriptBuilder,
    TranscriptQuery,
    newest_file,
    number,
    plain_json,
    read_json,
    read_records,
    read_whole_file,
    safe_name,
    seconds,
)
from gshtui.system.json_types import obj, objects, seq, string

PROGRAM = "gemini"
_UNANSWERED = "unanswered"
"""Key of a prompt that is sent no more."""
TIMED = True
_LOOKED_AT = 60
_CLEARED_WITHIN = 10.0
"""Seconds within which a new conversation begins after the command for it."""
_CLEAR = "/clear"
_GOES_ELSEWHERE = ("/resume", "/chat", "/restore")
"""Commands after which it may be in any conversation."""
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OURS = ("<session_context>", "This is the Gemini CLI. We are setting up the context")


def find(wanted: TranscriptQuery, environ: Mapping[str, str], home: Path) -> Path | None:
    """The transcript of a conversation: by its id, else the folder's newest since the agent began."""
    root = Path(environ.get("GEMINI_CLI_HOME", "").strip() or home).expanduser() / ".gemini"
    if id := safe_name(wanted.id):
        named = newest_file((root / "tmp").glob(f"*/chats/session-*-{id[:8]}.json*"))
        own = [path for path in named if _session(path) == id]
        # One that was ended before it had read its conversation has left a newer file, in which nobody said anything.
        said = (path for path in own if len(own) > 1 and any(entry.kind == "text" for entry in read(path).entries))
        return next(said, next(iter(own), None))
    folders = [root / "tmp" / name / "chats" for name in _projects(root, wanted.cwd)]
    paths = newest_file([path for folder in folders for path in folder.glob("session-*.json*")], wanted.since)
    return next(iter(paths[:_LOOKED_AT]), None)


def sessions_since(cwd: str, since: float, environ: Mapping[str, str], home: Path) -> set[str]:
    """The ids of a folder's conversations that were written since then (epoch seconds)."""
    root = Path(environ.get("GEMINI_CLI_HOME", "").strip() or home).expanduser() / ".gemini"
    folders = [root / "tmp" / name / "chats" for name in _projects(root, cwd)]
    paths = newest_file([path for folder in folders for path in folder.glob("session-*.json*")], since)
    return {_session(path) for path in paths[:_LOOKED_AT]} - {""}


def cleared_into(cwd: str, started: str, since: float, environ: Mapping[str, str], home: Path) -> str:
    """The conversation that a process began when it was cleared last; empty: none, or more than one may be it.

    Its log says when that was, below the id of the conversation that it was started in.
    """
    root = Path(environ.get("GEMINI_CLI_HOME", "").strip() or home).expanduser() / ".gemini"
    for folder in (root / "tmp" / name for name in _projects(root, cwd)):
        logged = [each for each in _logged(folder) if each.get("sessionId") == started]
        own = [(seconds(each.get("timestamp")), string(each.get("message")).strip()) for each in logged]
        moves = [(at, text) for at, text in own if at >= since and text.startswith((_CLEAR, *_GOES_ELSEWHERE))]
        if moves and moves[-1][1] == _CLEAR:
            at = moves[-1][0]
            chats = newest_file(folder.glob("chats/session-*.jsonl"))[:_LOOKED_AT]
            begun = {_session(path) for path in chats if 0 <= _began(path) - at < _CLEARED_WITHIN}
            return begun.pop() if len(begun) == 1 else ""
    return ""


def _logged(folder: Path) -> Sequence[Mapping[str, Any]]:
    """What was entered in a project, in order."""
    try:
        return objects(read_json(folder / "logs.json"))
    except OSError:
        return []


def _began(path: Path) -> float:
    """When a conversation began; 0: unknown."""
    try:
        return next((seconds(record.get("startTime")) for record in read_records(path, [])), 0.0)
    except OSError:
        return 0.0


def has_loaded_since(cwd: str, id: str, since: float, environ: Mapping[str, str], home: Path) -> bool:
    """Whether a process that began then (epoch seconds) has read the conversation that it was started with.

    `id`: the conversation's, or another word for it; empty: it is a copy, whose id is not known. Raises `OSError`: a
    file cannot be read.
    """
    root = Path(environ.get("GEMINI_CLI_HOME", "").strip() or home).expanduser() / ".gemini"
    folders = [root / "tmp" / name / "chats" for name in _projects(root, cwd)]
    paths = newest_file([path for folder in folders for path in folder.glob("session-*.jsonl")], since)
    for path in paths[:_LOOKED_AT]:
        if path.stat().st_mtime < since:
            continue
        own = id if _UUID.fullmatch(id) else _session(path)
        if own and _session(path) == own and f'\n{{"$set":{{"sessionId":"{own}"'.encode() in path.read_bytes():
            return True
    return False


def _projects(root: Path, cwd: str) -> Iterator[str]:
    """The names that a folder's project may have."""
    try:
        registry = obj((read_whole_file(root / "projects.json") or {}).get("projects"))
    except OSError:
        registry = {}
    for folder in dict.fromkeys((cwd, os.path.realpath(cwd))):
        if name := safe_name(string(registry.get(folder))):
            yield name
        yield hashlib.sha256(folder.encode(errors="replace")).hexdigest()


def _session(path: Path) -> str:
    try:
        if path.suffix == ".json":
            return string((read_whole_file(path) or {}).get("sessionId"))
        return next((id for record in islice(read_records(path, []), 5) if (id := string(record.get("sessionId")))), "")
    except OSError:
        return ""


def read(path: Path, most: int = MOST_BYTES) -> ProgramTranscript:
    """The transcript, of a long one only the last `most` bytes. Raises `OSError`."""
    book = TranscriptBuilder(path, PROGRAM)
    messages: list[Any]
    if path.suffix == ".json":
        found = read_whole_file(path)
        if found is None:
            book.transcript.notes.append("It is not valid JSON.")
        messages = seq((found or {}).get("messages"))
    else:
        messages = _replayed(read_records(path, book.transcript.notes, most))
    for number_, message in enumerate(messages):
        _note(book, obj(message), number_)
    return book.transcript


def _replayed(found: Iterator[dict[str, Any]]) -> list[Any]:
    """The messages that result from a file of lines, with the prompts that got no answer.

    Where its model fails, it writes all messages anew without the prompt, and the error behind them.
    """
    messages: dict[str, Any] = {}
    unanswered: dict[str, Any] = {}
    for record in found:
        if id := string(record.get("$rewindTo")):
            names = list(messages)
            for name in names[names.index(id) if id in messages else 0 :]:
                del messages[name]
        elif "$set" in record:
            batch = objects(obj(record["$set"]).get("messages"))
            if batch:
                last = obj(next(reversed(messages.values()), None))
                unanswered = last | {_UNANSWERED: True} if last.get("type") == "user" else {}
                messages = {string(message.get("id")) or str(n): message for n, message in enumerate(batch)}
        elif id := string(record.get("id")):
            asked = string(unanswered.get("id"))
            if record.get("type") == "error" and asked and asked not in messages:
                messages[asked] = unanswered
            messages[id] = record
    return list(messages.values())


def _note(book: TranscriptBuilder, message: dict[str, Any], place: int) -> None:
    id, at = string(message.get("id")) or f"message {place}", seconds(message.get("timestamp"))
    text = _text(message.get("content"))
    match message.get("type"):
        case "user":
            # After a turn that was called off both are one message, and it takes a conversation of that alone for none.
            kind: BlockKind = "carried" if text.lstrip().startswith(_OURS) else "text"
            book.add_text("user", text, at, id, kind=kind, pruned=_UNANSWERED in message)
        case "gemini":
            book.add_request(id, at, string(message.get("model")), usage_of(message.get("tokens")))
            for thought in objects(message.get("thoughts")):
                words = [string(thought.get("subject")), string(thought.get("description"))]
                book.add_thinking("\n".join(word for word in words if word), at, id)
            book.add_text("assistant", text, at, id)
            for call in objects(message.get("toolCalls")):
                _call(book, call, at, id)
        case "error":
            book.note_stop("error", text)
        case _:
            pass  # what the program told its user is not sent


def _call(book: TranscriptBuilder, call: dict[str, Any], at: float, message: str) -> None:
    id = string(call.get("id")) or f"{message}/{len(book.transcript.entries)}"
    at = seconds(call.get("timestamp")) or at
    book.add_call(id, string(call.get("name")), call.get("args") or {}, at, message)
    if "result" not in call:
        return
    pieces: list[str] = []
    for part in objects(call.get("result")):
        answer = obj(obj(part.get("functionResponse")).get("response"))
        said = string(answer.get("output")) or string(answer.get("error")) or string(part.get("text"))
        pieces.append(said or (plain_json(answer) if answer else ""))
    book.add_result(id, "\n".join(piece for piece in pieces if piece), at, message)


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = [obj(part) for part in (seq(content) or [content])]
    return "".join(string(part.get("text")) for part in parts)


def usage_of(value: object) -> Usage | None:
    """What one request used, as its record says; `None` where it says nothing."""
    given = obj(value)
    if not given:
        return None
    cached, thoughts = number(given.get("cached")), number(given.get("thoughts"))
    return Usage(
        input=max(0, number(given.get("input")) + number(given.get("tool")) - cached),
        output=number(given.get("output")) + thoughts,
        cache_read=cached,
        reasoning=thoughts,
    )
