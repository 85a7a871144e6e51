"""Cline's transcripts: `sessions/<id>/<id>.json` says what a conversation is and whether its turn goes on, and
`<id>.messages.json` beside it what was said.

The messages are written when a turn is over, and what its status is just after them. One process of Cline's own serves
the ones in all terminals, so nothing there names a terminal. Never writes. Called by `transcript_readers`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from gshtui.programs.transcripts.program_transcript import (
    MOST_BYTES,
    ProgramTranscript,
    TranscriptBuilder,
    TranscriptQuery,
    newest_file,
    read_whole_file,
    safe_name,
    seconds,
)
from gshtui.system.json_types import obj, objects, string

PROGRAM = "cline"
TIMED = True
_GOES_ON = ("running", "pending", "stopping")
"""Statuses of a turn under way; `pending`: it asks for permission."""
_TITLED = "> "
SERVES = "--cline-hub-daemon"
"""A word of the command line of the process that serves all terminals."""


class ClineSession(msgspec.Struct, frozen=True):
    """One conversation."""

    id: str
    title: str
    began: float
    """Epoch seconds."""
    pid: int
    """The process that runs it: the one in its terminal, or the one that serves all terminals."""


def find(wanted: TranscriptQuery, environ: Mapping[str, str], home: Path) -> Path | None:
    """The transcript of a conversation: by its id, else the folder's newest since the agent began."""
    if id := safe_name(wanted.id):
        named = _root(environ, home) / id / f"{id}.json"
        return named if named.is_file() else None
    return next((path for path, _ in _of_folder(wanted.cwd, wanted.since, environ, home)), None)


def sessions_since(cwd: str, since: float, environ: Mapping[str, str], home: Path) -> list[ClineSession]:
    """The folder's conversations that were changed since then (epoch seconds), the newest first."""
    return [
        ClineSession(
            path.stem,
            string(obj(facts.get("metadata")).get("title")),
            seconds(facts.get("started_at")),
            pid if isinstance(pid := facts.get("pid"), int) else 0,
        )
        for path, facts in _of_folder(cwd, since, environ, home)
    ]


def title_shown(terminal_title: str) -> str:
    """The conversation's title in the terminal's; empty before the first prompt."""
    return terminal_title.removeprefix(_TITLED).strip() if terminal_title.startswith(_TITLED) else ""


def _root(environ: Mapping[str, str], home: Path) -> Path:
    named, data, own = (
        environ.get(name, "").strip() for name in ("CLINE_SESSION_DATA_DIR", "CLINE_DATA_DIR", "CLINE_DIR")
    )
    return Path(named or Path(data or Path(own or home / ".cline") / "data") / "sessions").expanduser()


def _of_folder(cwd: str, since: float, environ: Mapping[str, str], home: Path) -> list[tuple[Path, dict[str, Any]]]:
    """What is said of the conversations that people have in a folder; those of helpers are none."""
    folders = {cwd, os.path.realpath(cwd)}
    paths = [
        path for path in newest_file(_root(environ, home).glob("*/*.json"), since) if path.stem == path.parent.name
    ]
    said = [(path, _facts(path)) for path in paths]
    return [
        (path, facts)
        for path, facts in said
        if facts.get("cwd") in folders and facts.get("interactive") is True and not facts.get("parent_session_id")
    ]


def _facts(path: Path) -> dict[str, Any]:
    try:
        return read_whole_file(path) or {}
    except OSError:
        return {}


def read(path: Path, most: int = MOST_BYTES) -> ProgramTranscript:
    """The whole transcript, whatever `most` is: it is one piece of JSON. Raises `OSError`."""
    book = TranscriptBuilder(path, PROGRAM)
    at = path.stat().st_mtime
    facts = read_whole_file(path) or {}
    said = read_whole_file(path.with_name(f"{path.stem}.messages.json")) or {}
    for message in objects(said.get("messages")):
        _note(book, message)
    found = book.transcript
    if status := string(facts.get("status")):
        found.ended = status not in _GOES_ON
        found.ended_at = at if found.ended else 0.0
    return found


def _said(words: str) -> str | None:
    """What the person typed, of what was sent for it; `None`: nothing marks it."""
    start, end = words.find("<user_input"), words.rfind("</user_input>")
    at = words.find(">", start)
    return words[at + 1 : end] if 0 <= start < at < end else None


def _note(book: TranscriptBuilder, message: dict[str, Any]) -> None:
    id, role, at = string(message.get("id")), string(message.get("role")), seconds(message.get("ts"))
    if role == "assistant":
        book.add_request(id, at, string(obj(message.get("modelInfo")).get("id")), None)
    for part in objects(message.get("content")):
        match part.get("type"):
            case "text" if role == "user":
                words = string(part.get("text"))
                said = _said(words)
                book.add_text(role, words if said is None else said, at, id, kind="carried" if said is None else "text")
            case "text":
                book.add_text(role, string(part.get("text")), at, id)
            case "thinking":
                book.add_thinking(string(part.get("thinking")), at, id)
            case "tool_use":
                book.add_call(string(part.get("id")), string(part.get("name")), part.get("input") or {}, at, id)
            case "tool_result":
                book.add_result(string(part.get("tool_use_id")), _result(part.get("content")), at, id)
            case "image":
                book.add_picture("image", "image", at, id, role)
            case _:
                pass


def _result(content: object) -> str:
    return string(content) or "\n".join(string(part.get("text")) for part in objects(content))
