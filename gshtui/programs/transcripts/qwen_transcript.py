"""Qwen Code's transcripts: `projects/<folder>/chats/<session>.jsonl`, a tree of records linked by `parentUuid`.

The program goes on from the last record, with the records on its way up to the root; what `chat_compression` notes is
sent in place of everything before it. Each request is noted besides (`ui_telemetry`), also those of its helpers. Never
writes. Called by `reconstruction`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
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

PROGRAM = "qwen"
_EVENT, _FAILED = "event.name", "qwen-code.api_error"
TIMED = True
RESPONSE = "qwen-code.api_response"
"""The event that notes what one request used."""


def find(wanted: TranscriptQuery, environ: Mapping[str, str], home: Path) -> Path | None:
    """The transcript of a conversation: by its id, else the folder's newest since the agent began."""
    projects = root(environ, home) / "projects"
    if id := safe_name(wanted.id):
        named = [folder / f"{id}.jsonl" for folder in _folders(projects, wanted.cwd)]
        known = next((path for path in named if path.is_file()), None)
        return known or next(projects.glob(f"*/chats/{id}.jsonl"), None)
    paths = [path for folder in _folders(projects, wanted.cwd) for path in folder.glob("*.jsonl")]
    return next(iter(newest_file(paths, wanted.since)), None)


def sessions_since(cwd: str, since: float, environ: Mapping[str, str], home: Path) -> set[str]:
    """The ids of a folder's conversations that were written since then (epoch seconds)."""
    projects = root(environ, home) / "projects"
    paths = [path for folder in _folders(projects, cwd) for path in folder.glob("*.jsonl")]
    return {path.stem for path in newest_file(paths, since)}


def root(environ: Mapping[str, str], home: Path) -> Path:
    """The folder of what the program writes while it runs."""
    named = environ.get("QWEN_RUNTIME_DIR", "").strip() or environ.get("QWEN_HOME", "").strip()
    return Path(named or home / ".qwen").expanduser()


def _folders(projects: Path, cwd: str) -> Iterator[Path]:
    for folder in dict.fromkeys((cwd, os.path.realpath(cwd))):
        if folder:
            yield projects / re.sub(r"[^A-Za-z0-9]", "-", folder) / "chats"


def read(path: Path, most: int = MOST_BYTES) -> ProgramTranscript:
    """The transcript, of a long one only the last `most` bytes. Raises `OSError`."""
    book = TranscriptBuilder(path, PROGRAM)
    lost: list[str] = []
    for record in _way(list(read_records(path, lost, most))):
        _note(book, record)
        _note_end(book, record)
    book.transcript.notes += lost
    return book.transcript


def _way(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records from the root to the last one; those of one id are parts of one message."""
    by_id: dict[str, list[dict[str, Any]]] = {}
    for record in found:
        if id := string(record.get("uuid")):
            by_id.setdefault(id, []).append(record)
    way: dict[str, list[dict[str, Any]]] = {}
    at = next(reversed(by_id), "")
    while at in by_id and at not in way:
        way[at] = by_id[at]
        at = string(by_id[at][0].get("parentUuid"))
    return [record for records in reversed(way.values()) for record in records]


def _note(book: TranscriptBuilder, record: dict[str, Any]) -> None:
    id, at = string(record.get("uuid")), seconds(record.get("timestamp"))
    kind, message = record.get("type"), obj(record.get("message"))
    if kind == "system" and record.get("subtype") == "chat_compression":
        kept = seq(obj(record.get("systemPayload")).get("compressedHistory"))
        if kept:
            book.clear()
        for place, content in enumerate(map(obj, kept)):
            role = "assistant" if content.get("role") == "model" else "user"
            _content(book, content, role, at, id, "carried" if place else "summary")
    elif kind == "system" and (event := obj(obj(record.get("systemPayload")).get("uiEvent"))).get(_EVENT) == _FAILED:
        book.note_stop("error", string(event.get("error_message")))
    elif kind == "assistant":
        book.add_request(id, at, string(record.get("model")), usage_of(record.get("usageMetadata")))
        _content(book, message, "assistant", at, id, "text")
    elif kind in ("user", "tool_result"):
        told = kind != "user" or record.get("subtype")  # of what the program told its model nobody said a word
        _content(book, message, "user", at, id, "carried" if told else "text")


def _note_end(book: TranscriptBuilder, record: dict[str, Any]) -> None:
    """An answer is written down whole, so one without a call is the last; and one all calls of which its person has
    refused."""
    found = book.transcript
    match record.get("type"):
        case "tool_result":
            refused = obj(record.get("toolCallResult")).get("status") == "cancelled"
            found.ended = (True if found.ended is None else found.ended) if refused else False
        case "assistant":
            parts = objects(obj(record.get("message")).get("parts"))
            said = any(string(part.get("text")) and part.get("thought") is not True for part in parts)
            found.ended = True if said and not any(part.get("functionCall") for part in parts) else None
        case "user":
            found.ended = None
        case _:
            pass


def _content(
    book: TranscriptBuilder, content: dict[str, Any], role: str, at: float, id: str, words_are: BlockKind
) -> None:
    said: list[str] = []

    def tell() -> None:
        book.add_text(role, "\n".join(said), at, id, kind=words_are if role == "user" else "text")
        said.clear()

    for part in objects(content.get("parts")):
        if call := obj(part.get("functionCall")):
            tell()
            book.add_call(string(call.get("id")), string(call.get("name")), call.get("args") or {}, at, id)
        elif answer := obj(part.get("functionResponse")):
            tell()
            given = obj(answer.get("response"))
            text = string(given.get("output")) or string(given.get("error")) or (plain_json(given) if given else "")
            book.add_result(string(answer.get("id")), text, at, id)
        elif part.get("inlineData") or part.get("fileData"):
            tell()
            book.add_picture("image", "image", at, id, role)
        elif part.get("thought") is True:
            tell()
            book.add_thinking(string(part.get("text")), at, id)
        elif text := string(part.get("text")):
            said.append(text)
    tell()


def usage_of(value: object) -> Usage | None:
    """What one request used, as its record says; `None` where it says nothing."""
    given = obj(value)
    if not given:
        return None
    names = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount")
    return _counted(*(number(given.get(name)) for name in (*names, "cachedContentTokenCount")))


def event_usage(event: Mapping[str, Any]) -> Usage:
    """What one request used, as the event says that notes it."""
    names = ("input_token_count", "output_token_count", "thoughts_token_count", "total_token_count")
    return _counted(*(number(event.get(name)) for name in (*names, "cached_content_token_count")))


def _counted(sent: int, said: int, thoughts: int, total: int, cached: int) -> Usage:
    # What was said includes the thoughts with some providers and not with others; the total always does.
    return Usage(input=max(0, sent - cached), output=max(said, total - sent), cache_read=cached, reasoning=thoughts)
