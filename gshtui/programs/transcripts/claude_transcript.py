"""Claude Code's transcripts: `projects/<folder>/<session>.jsonl`, a tree of records linked by `parentUuid`.

The program sends the path from the last record up to the root; a `compact_boundary` is a new root. Parallel tool calls
create side branches that belong to the path. Never writes. Called by `reconstruction`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
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
    read_records,
    safe_name,
    seconds,
)
from gshtui.system.json_types import obj, objects, seq, string

PROGRAM = "claude"
TIMED = True
_SLUG_LENGTH = 200
_INTERRUPTED = "[Request interrupted by user"
"""How the message begins that stands where a person has stopped a turn."""


def find(wanted: TranscriptQuery, environ: Mapping[str, str], home: Path) -> Path | None:
    """The transcript of a conversation: by its id, else the folder's newest since the agent began."""
    projects = root(environ, home) / "projects"
    folders = [projects / slug(cwd) for cwd in {wanted.cwd, os.path.realpath(wanted.cwd)} if cwd]
    if id := safe_name(wanted.id):
        named = [folder / f"{id}.jsonl" for folder in folders]
        return next((path for path in named if path.is_file()), None) or next(projects.glob(f"*/{id}.jsonl"), None)
    paths = [path for folder in folders for path in folder.glob("*.jsonl") if not path.name.startswith("agent-")]
    return next(iter(newest_file(paths, wanted.since)), None)


def root(environ: Mapping[str, str], home: Path) -> Path:
    return Path(environ.get("CLAUDE_CONFIG_DIR", "").strip() or home / ".claude").expanduser()


def slug(cwd: str) -> str:
    """The name of a folder's transcripts' folder."""
    return re.sub(r"[^A-Za-z0-9]", "-", cwd)[:_SLUG_LENGTH]


def read(path: Path, most: int = MOST_BYTES) -> ProgramTranscript:
    """The transcript, of a long one only the last `most` bytes. Raises `OSError`."""
    lost: list[str] = []
    found = [record for record in read_records(path, lost, most) if not record.get("isSidechain")]
    book = TranscriptBuilder(path, PROGRAM)
    for record in _way(found):
        _note(book, record)
    book.transcript.notes += lost
    return book.transcript


def _way(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records from the first root to the last one, each after the one that it follows.

    They may stand in another order: a prompt is sometimes written after the beginning of its answer.
    """
    by_id = {string(record.get("uuid")): record for record in found if record.get("uuid")}
    spoken = [record for record in found if record.get("type") in ("user", "assistant")]
    if not spoken or "parentUuid" not in spoken[-1]:
        return found
    way: set[str] = set()
    at = _leaf(spoken[-1], found)
    while at and at not in way and at in by_id:
        way.add(at)
        at = _parent(by_id[at])
    answers = {_message_id(by_id[id]) for id in way} - {""}
    calls = {call for id in way for call in _ids(by_id[id], "tool_use", "id")}
    beside = [record for record in spoken if string(record.get("uuid")) not in way]
    for record in beside:
        if record.get("type") == "assistant" and _message_id(record) in answers:
            way.add(string(record.get("uuid")))
            calls |= set(_ids(record, "tool_use", "id"))
    answered = {call for id in way for call in _ids(by_id[id], "tool_result", "tool_use_id")}
    for record in beside:
        given = set(_ids(record, "tool_result", "tool_use_id"))
        if given and given <= calls and not given & answered:
            answered |= given
            way.add(string(record.get("uuid")))
    ordered: dict[str, dict[str, Any]] = {}
    for record in found:
        line: dict[str, dict[str, Any]] = {}
        at = string(record.get("uuid"))
        while at in way and at not in ordered and at not in line:
            line[at] = by_id[at]
            at = _parent(by_id[at])
        ordered |= dict(reversed(line.items()))
    return list(ordered.values())


def _leaf(last: dict[str, Any], found: list[dict[str, Any]]) -> str:
    """The id of the record at the end of the way on which this one is."""
    children = {_parent(record): string(record.get("uuid")) for record in found if record.get("uuid")}
    at, seen = string(last.get("uuid")), set[str]()
    while at in children and at not in seen:
        seen.add(at)
        at = children[at]
    return at


def _parent(record: dict[str, Any]) -> str:
    return string(record.get("parentUuid")) or string(record.get("logicalParentUuid"))


def _message_id(record: dict[str, Any]) -> str:
    return string(obj(record.get("message")).get("id"))


def _ids(record: dict[str, Any], kind: str, key: str) -> list[str]:
    parts = objects(obj(record.get("message")).get("content"))
    return [string(part.get(key)) for part in parts if part.get("type") == kind]


def _note(book: TranscriptBuilder, record: dict[str, Any]) -> None:
    kind, at = record.get("type"), seconds(record.get("timestamp"))
    if kind == "system" and record.get("subtype") == "compact_boundary":
        book.clear()
        return
    if kind not in ("user", "assistant"):
        return
    message = obj(record.get("message"))
    id = string(record.get("uuid")) or string(message.get("id")) or str(len(book.transcript.entries))
    role = str(kind)
    if role == "assistant":
        model = string(message.get("model"))
        if model != "<synthetic>":
            error = string(record.get("error")) if record.get("isApiErrorMessage") else ""
            book.add_request(string(message.get("id")) or id, at, model, usage_of(message.get("usage")), error)
    content = message.get("content")
    summary = bool(record.get("isCompactSummary"))
    words_are: BlockKind = "summary" if summary else "carried" if record.get("isMeta") else "text"
    text = content if isinstance(content, str) else "".join(string(part.get("text")) for part in objects(content))
    interrupted = role == "user" and text.startswith(_INTERRUPTED)
    if interrupted:
        words_are = "carried"
    if isinstance(content, str):
        book.add_text(role, content, at, id, kind=words_are)
    for part in seq(content):
        _part(book, obj(part), role, at, id, words_are)
    if interrupted:
        book.note_stop("interrupted")
    elif record.get("isApiErrorMessage"):
        book.note_stop("error", text)


def _part(book: TranscriptBuilder, part: dict[str, Any], role: str, at: float, id: str, words_are: BlockKind) -> None:
    match part.get("type"):
        case "text":
            book.add_text(role, string(part.get("text")), at, id, kind=words_are if role == "user" else "text")
        case "thinking":
            book.add_thinking(string(part.get("thinking")), at, id)
        case "tool_use" | "server_tool_use":
            book.add_call(string(part.get("id")), string(part.get("name")), part.get("input"), at, id)
        case "tool_result":
            book.add_result(string(part.get("tool_use_id")), _result(part.get("content")), at, id)
        case "image" | "document":
            book.add_picture("image" if part["type"] == "image" else "document", str(part["type"]), at, id, role)
        case _:
            pass


def _result(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = objects(content)
    return "\n".join(
        string(part.get("text")) if part.get("type") == "text" else f"[{part.get('type') or plain_json(part)}]"
        for part in parts
    )


def usage_of(value: object) -> Usage | None:
    """What one request used, as its record says; `None` where it says nothing."""
    given = obj(value)
    if not given:
        return None
    return Usage(
        input=number(given.get("input_tokens")),
        output=number(given.get("output_tokens")),
        cache_read=number(given.get("cache_read_input_tokens")),
        cache_write=number(given.get("cache_creation_input_tokens")),
    )
