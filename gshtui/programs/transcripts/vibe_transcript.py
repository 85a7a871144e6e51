"""Vibe's transcripts: `logs/session/unified/<id>/`, whose file CURRENT names the generation that is valid now.

A generation's manifest names the chunks of its checkpoint (the messages that are sent) and of its projection (the same
for people, with times); beside it stands what the conversation has used so far. A generation is written when a turn is
over, and the one before is kept. Never writes. Called by `transcript_readers` and `request_usage`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from gshtui.bus.messages import Usage
from gshtui.programs.transcripts.program_transcript import (
    MOST_BYTES,
    ProgramTranscript,
    TranscriptBuilder,
    TranscriptQuery,
    newest_file,
    number,
    read_json,
    read_whole_file,
    safe_name,
    seconds,
)
from gshtui.system.json_types import obj, objects, seq, string

PROGRAM = "vibe"
TIMED = False
KEPT = "unified"
"""The folder of the conversations, beside the one of the locks."""
_LOOKED_AT = 60


def find(wanted: TranscriptQuery, environ: Mapping[str, str], home: Path) -> Path | None:
    """The transcript of a conversation: by its id, else the folder's newest since the agent began."""
    root = Path(environ.get("VIBE_HOME", "").strip() or home / ".vibe").expanduser() / "logs" / "session" / KEPT
    if id := safe_name(wanted.id):
        named = root / id / "CURRENT"
        return named if named.is_file() else None
    folders = {wanted.cwd, os.path.realpath(wanted.cwd)}
    paths = newest_file(root.glob("*/CURRENT"), wanted.since)[:_LOOKED_AT]
    return next((path for path in paths if _folder_of(path) in folders and not is_helpers(path.parent)), None)


def is_helpers(folder: Path) -> bool:
    """Whether a conversation's folder belongs to a helper that another conversation has started."""
    return bool(string(_facts(folder).get("parent_session_id")))


def _folder_of(path: Path) -> str:
    return string(obj(_facts(path.parent).get("environment")).get("working_directory"))


def _facts(folder: Path) -> dict[str, Any]:
    try:
        return read_whole_file(folder / "meta.json") or {}
    except OSError:
        return {}


def read(path: Path, most: int = MOST_BYTES) -> ProgramTranscript:
    """The whole transcript, whatever `most` is: it is in pieces that say nothing alone. Raises `OSError`."""
    book = TranscriptBuilder(path, PROGRAM)
    generation = safe_name(string((read_whole_file(path) or {}).get("generation")))
    manifest = (read_whole_file(path.parent / "generations" / generation / "manifest.json") if generation else {}) or {}
    shown = [obj(entry) for entry in _chunks(path.parent, manifest.get("projection_state"))]
    times = {string(entry.get("id")): seconds(entry.get("createdAt")) for entry in shown}
    model = string(obj(_facts(path.parent).get("config")).get("model_name"))
    at = 0.0
    for place, item in enumerate(_chunks(path.parent, manifest.get("checkpoint"))):
        message = obj(obj(item).get("message"))
        parts = objects(message.get("content"))
        id = next((string(obj(part.get("_meta")).get("vibe_client_message_id")) for part in parts), "")
        at = times.get(id) or at
        _note(book, message, parts, at, id or f"message {place}", model)
    return book.transcript


class UsageSoFar(msgspec.Struct, frozen=True):
    """What a conversation had used when a turn was over."""

    turn: str
    began: float
    """When the conversation began, in epoch seconds."""
    at: float
    """When the turn was over, in epoch seconds."""
    model: str
    used: Usage
    context: int
    """Tokens of its last request and the answer."""


def usage_so_far(path: Path) -> list[UsageSoFar]:
    """That of each generation that is kept, oldest first. Raises `OSError`."""
    valid = safe_name(string((read_whole_file(path) or {}).get("generation")))
    model = string(obj(_facts(path.parent).get("config")).get("model_name"))
    found: list[UsageSoFar] = []
    for file in sorted((path.parent / "generations").glob("*/projection-state.json")):
        if file.parent.name > valid:
            break  # it is being written
        snapshot = obj((read_whole_file(file) or {}).get("snapshot"))
        session, turn = obj(snapshot.get("session")), obj(snapshot.get("latestTurn"))
        if used := obj(session.get("tokenUsage")):
            cached = number(used.get("cachedInputTokens"))
            usage = Usage(
                max(0, number(used.get("inputTokens")) - cached), number(used.get("outputTokens")), cache_read=cached
            )
            began, at = seconds(session.get("createdAt")), seconds(turn.get("completedAt") or session.get("updatedAt"))
            context = number(obj(session.get("contextUsage")).get("totalTokens"))
            found.append(UsageSoFar(string(turn.get("id")), began, at, model, usage, context))
    return found


def _chunks(folder: Path, part: object) -> list[Any]:
    """The items of one part of a generation, in order."""
    names = [safe_name(string(name)) for name in seq(obj(part).get("chunks"))]
    return [item for name in names if name for item in seq(read_json(folder / "chunks" / f"{name}.json"))]


def _note(
    book: TranscriptBuilder, message: dict[str, Any], parts: list[dict[str, Any]], at: float, id: str, model: str
) -> None:
    role = string(message.get("role"))
    if role == "tool":
        text = "\n".join(string(part.get("text")) for part in parts)
        book.add_result(string(message.get("tool_call_id")), text, at, id)
        return
    if role == "assistant":
        book.add_request(id, at, model, None)
    for part in parts:
        match part.get("type"):
            case "text" if role == "system":
                book.add_text("system", string(part.get("text")), at, id, kind="system")
            case "text":
                book.add_text(role or "user", string(part.get("text")), at, id)
            case "reasoning" | "thinking":
                book.add_thinking(string(part.get("text")), at, id)
            case "tool_call":
                given = obj(part.get("arguments"))
                arguments = given.get("value") if "value" in given else string(given.get("raw"))
                book.add_call(string(part.get("id")), string(part.get("name")), arguments, at, id)
            case "image":
                book.add_picture("image", "image", at, id, role or "user")
            case _:
                pass
