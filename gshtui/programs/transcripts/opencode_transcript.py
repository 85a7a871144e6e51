"""OpenCode's transcripts: the tables `session message part` of `opencode.db`, or the JSON files of older versions.

The program sends everything since the last summary; a tool output that OpenCode has cleared is a placeholder. The
database is opened read-only. Never writes. Called by `reconstruction`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from gshtui.bus.messages import Usage
from gshtui.programs.transcripts.program_transcript import (
    MOST_BYTES,
    ProgramTranscript,
    TranscriptBuilder,
    TranscriptQuery,
    newest_file,
    number,
    plain_json,
    read_whole_file,
    safe_name,
    seconds,
)
from gshtui.system.json_types import obj, parse_foreign_json, seq, string

PROGRAM = "opencode"
TIMED = True
_REFUSED = "The user rejected permission"
"""How the result of a call begins with which a refusal ends a turn."""
_CLEARED = "[Old tool result content cleared]"
_MOST = 20_000
"""Messages that are read of one conversation: the newest."""
_BYTES = 20_000
"""Bytes that a message takes with its parts, about."""


class OpenCodeFiles(msgspec.Struct, frozen=True):
    """Where a conversation is: in this database or, when `database` is false, under this folder."""

    path: Path
    session: str
    database: bool


class _Message(msgspec.Struct):
    info: dict[str, Any]
    parts: list[dict[str, Any]] = msgspec.field(default_factory=list[dict[str, Any]])


def find(wanted: TranscriptQuery, environ: Mapping[str, str], home: Path) -> OpenCodeFiles | None:
    """Where the conversation is: by its id, else the folder's newest since the agent began."""
    root = _root(environ, home)
    id = safe_name(wanted.id)
    folders = {wanted.cwd, os.path.realpath(wanted.cwd)}
    database = root / "opencode.db"
    if database.is_file():
        try:
            session = _in_database(database, id, folders, wanted.since)
        except sqlite3.Error:
            session = ""
        if session:
            return OpenCodeFiles(database, session, True)
    sessions = root / "storage" / "session"
    for path in newest_file(sessions.glob(f"*/{id}.json" if id else "*/ses_*.json"), 0.0 if id else wanted.since):
        info = _object(path)
        if id or (info.get("directory") in folders and not info.get("parentID")):
            return OpenCodeFiles(root / "storage", string(info.get("id")) or path.stem, False)
    return None


def _root(environ: Mapping[str, str], home: Path) -> Path:
    return Path(environ.get("XDG_DATA_HOME", "").strip() or home / ".local" / "share") / "opencode"


def sessions_since(cwd: str, since: float, environ: Mapping[str, str], home: Path) -> dict[str, str]:
    """The folder's conversations that were changed since then (epoch seconds), with their titles. Raises `Error`: the
    database cannot be read.
    """
    database = _root(environ, home) / "opencode.db"
    if not database.is_file():
        return {}
    with closing(_opened(database)) as connection:
        rows = connection.execute(
            "SELECT id, title FROM session WHERE directory IN (?, ?) AND parent_id IS NULL AND time_updated >= ?",
            (cwd, os.path.realpath(cwd), since * 1000),
        ).fetchall()
    return {str(id): str(title) for id, title in rows}


_LOG_READ = 8_000_000
"""Bytes that are read of the end of OpenCode's log."""


def logged_sessions(environ: Mapping[str, str], home: Path) -> dict[str, tuple[float, set[str]]]:
    """OpenCode's runs by its log: when each first wrote to it (epoch seconds), and the conversations it worked on.
    Raises `OSError`: the log cannot be read.
    """
    path = _root(environ, home) / "log" / "opencode.log"
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _LOG_READ))
        lines = file.read(_LOG_READ).decode(errors="replace").split("\n")
    runs: dict[str, tuple[float, set[str]]] = {}
    for line in lines:
        words: dict[str, str] = {}
        for word in line.split(" "):
            name, _, value = word.partition("=")
            words.setdefault(name, value)
        run, at = words.get("run", ""), seconds(words.get("timestamp", ""))
        if run and at:
            ids = {words.get("id", ""), words.get("session.id", "")}
            runs.setdefault(run, (at, set()))[1].update(id for id in ids if id.startswith("ses_"))
    return runs


_TITLED = "OC | "
_CUT = "..."


def title_shown(terminal_title: str) -> str:
    """The conversation's title in the terminal's; empty where there is none, or only the one it has at first."""
    return terminal_title.removeprefix(_TITLED).strip() if terminal_title.startswith(_TITLED) else ""


def is_shown_as(title: str, shown: str) -> bool:
    """Whether the terminal's title is this conversation's, which may have been cut."""
    title = title.strip()
    return title == shown or (shown.endswith(_CUT) and title.startswith(shown.removesuffix(_CUT)))


def _in_database(path: Path, id: str, folders: set[str], since: float) -> str:
    with closing(_opened(path)) as connection:
        if id:
            found = connection.execute("SELECT id FROM session WHERE id = ?", (id,)).fetchone()
        else:
            places = ", ".join("?" for _ in folders)
            found = connection.execute(
                f"SELECT id FROM session WHERE directory IN ({places}) AND parent_id IS NULL AND time_updated >= ?"
                " ORDER BY time_updated DESC LIMIT 1",
                (*folders, (since - 2) * 1000),
            ).fetchone()
    return str(found[0]) if found else ""


def _opened(path: Path) -> sqlite3.Connection:
    # Without a log nobody writes; opened as immutable, SQLite makes no file beside it.
    mode = "mode=ro" if path.with_name(path.name + "-wal").exists() else "mode=ro&immutable=1"
    return sqlite3.connect(f"file:{quote(os.fsencode(path))}?{mode}", uri=True, timeout=2.0)


def read(place: OpenCodeFiles, most: int = MOST_BYTES) -> ProgramTranscript:
    """The transcript, of a long one only the newest messages, about `most` bytes. Raises `OSError`."""
    book = TranscriptBuilder(place.path, PROGRAM)
    newest = _MOST if most >= MOST_BYTES else max(1, most // _BYTES)
    try:
        messages = list(_of_database(place, newest) if place.database else _of_files(place, newest))
    except sqlite3.Error as error:
        raise OSError(0, f"Cannot read OpenCode's database: {error}", str(place.path)) from error
    for message in messages:
        _note(book, message)
    return book.transcript


def _of_database(place: OpenCodeFiles, newest: int) -> Iterator[_Message]:
    with closing(_opened(place.path)) as connection:
        found: dict[str, _Message] = {}
        rows = connection.execute(
            "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created DESC, id DESC LIMIT ?",
            (place.session, newest),
        ).fetchall()
        for id, data in reversed(rows):
            found[str(id)] = _Message(_parsed(data) | {"id": id})
        parts = connection.execute(
            "SELECT message_id, id, data FROM part WHERE session_id = ? ORDER BY id DESC LIMIT ?",
            (place.session, 4 * newest),
        ).fetchall()
        for message, id, data in reversed(parts):
            if str(message) in found:
                found[str(message)].parts.append(_parsed(data) | {"id": id})
    yield from found.values()


def messages_since(place: OpenCodeFiles, updated: int) -> Iterator[tuple[str, int, str, dict[str, Any]]]:
    """The messages of a conversation and its helpers that were changed then or later: conversation, when, id, message.

    Args:
        updated: in OpenCode's own milliseconds.

    Raises:
        sqlite3.Error: the database cannot be read.
    """
    with closing(_opened(place.path)) as connection:
        rows = connection.execute(
            "SELECT session_id, time_updated, id, data FROM message WHERE session_id IN"
            " (SELECT id FROM session WHERE id = ?1 OR parent_id = ?1) AND time_updated >= ?2 ORDER BY time_updated",
            (place.session, updated),
        ).fetchall()
    for session, at, id, data in rows:
        yield str(session), int(at), str(id), _parsed(data)


def _of_files(place: OpenCodeFiles, newest: int) -> Iterator[_Message]:
    session = safe_name(place.session)
    for path in sorted((place.path / "message" / session).glob("*.json"))[-newest:]:
        folder = place.path / "part" / path.stem
        yield _Message(_object(path) | {"id": path.stem}, [_object(part) for part in sorted(folder.glob("*.json"))])


def _object(path: Path) -> dict[str, Any]:
    try:
        return read_whole_file(path) or {}
    except OSError:
        return {}


def _parsed(data: Any) -> dict[str, Any]:
    try:
        return obj(parse_foreign_json(data))
    except (TypeError, ValueError):
        return {}


def _note(book: TranscriptBuilder, message: _Message) -> None:
    info, id = message.info, string(message.info.get("id"))
    times = obj(info.get("time"))
    at = seconds(times.get("created"))
    if info.get("role") == "user":
        if any(part.get("type") == "compaction" for part in message.parts):
            book.clear()
        for part in message.parts:
            if part.get("type") == "text" and not part.get("ignored"):
                book.add_text(
                    "user", string(part.get("text")), at, id, kind="carried" if part.get("synthetic") else "text"
                )
            elif part.get("type") == "file" and part.get("mime") not in ("text/plain", "application/x-directory"):
                book.add_picture("document", string(part.get("filename")) or "file", at, id)
        return
    if info.get("role") != "assistant":
        return
    error = obj(info.get("error"))
    why = string(obj(error.get("data")).get("message")) or string(error.get("name"))
    if not info.get("summary"):
        book.add_request(id, at, string(info.get("modelID")), usage_of(info.get("tokens")), why)
    for part in message.parts:
        _part(book, part, at, id, bool(info.get("summary")))
    if error:
        book.note_stop("interrupted" if error.get("name") == "MessageAbortedError" else "error", why)


def _part(book: TranscriptBuilder, part: dict[str, Any], at: float, id: str, summary: bool) -> None:
    match part.get("type"):
        case "text" if "start" in (times := obj(part.get("time"))) and "end" not in times:
            pass  # it is being written
        case "text":
            book.add_text("assistant", string(part.get("text")), at, id, kind="summary" if summary else "text")
        case "reasoning":
            book.add_thinking(string(part.get("text")), at, id)
        case "tool":
            state = obj(part.get("state"))
            call = string(part.get("callID")) or string(part.get("id"))
            book.add_call(call, string(part.get("tool")), state.get("input") or {}, at, id)
            if state.get("status") == "completed":
                cleared = bool(obj(state.get("time")).get("compacted"))
                said = string(state.get("output")) or plain_json(seq(state.get("output")))
                book.add_result(call, _CLEARED if cleared else said, at, id, pruned=cleared)
            elif state.get("status") == "error":
                why = string(state.get("error"))
                book.add_result(call, why, at, id)
                if why.startswith(_REFUSED):
                    book.note_stop("interrupted")
        case _:
            pass


def usage_of(value: object) -> Usage | None:
    """What one request used, as its record says; `None` where it says nothing."""
    given, cache = obj(value), obj(obj(value).get("cache"))
    if not given:
        return None
    thoughts = number(given.get("reasoning"))
    return Usage(
        input=number(given.get("input")),
        output=number(given.get("output")) + thoughts,
        cache_read=number(cache.get("read")),
        cache_write=number(cache.get("write")),
        reasoning=thoughts,
    )
