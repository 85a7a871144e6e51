"""Search results as text: in the form that agents know, and as lines for people.

Sanitises everything that a program, a model or a shell wrote. Called by the commands of this folder.

Searches past conversations by their titles and messages, with excerpts.

Groups messages by conversation; leaves out the conversation that asks, which contains the question itself. Called by
`search_context`.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.store.tables.session_table import SessionInfo
from gshtui.text import units
from gshtui.text.sanitise import one_line, plain

EXCERPTS = 3
"""Most excerpts of one conversation."""
_TITLES = 2_000
"""Most conversations whose titles are searched, last used first."""


class FoundConversation(msgspec.Struct, frozen=True):
    """One conversation with its matches; without excerpts, only its title matches."""

    info: SessionInfo
    excerpts: tuple[str, ...] = ()


async def find_conversations(
    store: Store, query: str, *, cwd: str, after: float | None, before: float | None, limit: int, current: str = ""
) -> list[FoundConversation]:
    """Matching conversations, best first; without a query, the latest. Raises `StoreError`.

    Args:
        cwd: held in this folder or below; empty: in any.
        after: with a message (or, by title alone, used) not before this moment; `before`: earlier than this one.
        current: the conversation that asks.
    """
    recent = {info.id: info for info in await store.sessions.find_all(limit=_TITLES)}

    def fits(info: SessionInfo, at: float) -> bool:
        inside = not cwd or info.cwd == cwd.rstrip("/") or info.cwd.startswith(f"{cwd.rstrip('/')}/")
        soon = (after is None or at >= after) and (before is None or at < before)
        return inside and soon and info.id != current

    excerpts: dict[str, list[str]] = {}
    infos: dict[str, SessionInfo] = {}
    if query.strip():
        for hit in await store.messages.search(query, limit=min(limit * 20, 1_000)):
            info = infos.get(hit.session) or recent.get(hit.session) or await _session(store, hit.session)
            if info is not None and fits(info, hit.at):
                infos[hit.session] = info
                excerpts.setdefault(hit.session, []).append(hit.excerpt)
    needle = " ".join(query.lower().split())
    for info in recent.values():
        if len(infos) >= limit:
            break
        if info.id not in infos and needle in " ".join(info.title.lower().split()) and fits(info, info.updated):
            infos[info.id] = info
    return [
        FoundConversation(info, tuple(excerpts.get(info.id, ())[:EXCERPTS])) for info in list(infos.values())[:limit]
    ]


async def _session(store: Store, id: str) -> SessionInfo | None:
    try:
        return await store.sessions.find(id)
    except StoreError:
        return None


_COMMAND, _EXCERPT, _OUTPUT = 400, 240, 600
"""Characters shown of each."""
_NOTHING: Mapping[int, str] = MappingProxyType({})


def when(at: float, form: str = "%Y-%m-%d %H:%M") -> str:
    """A moment in local time."""
    try:
        return datetime.datetime.fromtimestamp(at).strftime(form)
    except (OverflowError, OSError, ValueError):
        return "at an unknown time"


def history_for_agents(found: Sequence[ShellRecord | ShellNote], printed: Mapping[int, str] = _NOTHING) -> str:
    """`$ command (in folder) → exit N (time)`, a line each; notes as `note_line` has them. `printed`: a line of the
    output of some commands, by their ids, which is shown below them.
    """
    lines: list[str] = []
    for row in found:
        lines.append(f"{note_line(row) if isinstance(row, ShellNote) else command_line(row)} ({when(row.at)})")
        lines += _printed(row, printed)
    return _headed(f"# Shell History ({_results(found)})", lines)


def history_for_people(found: Sequence[ShellRecord | ShellNote], printed: Mapping[int, str] = _NOTHING) -> str:
    """Time, end, duration, command and folder in columns; for a note its kind and text. `printed`: as for agents."""
    if not found:
        return "No command fits."
    rows = [
        (when(row.at), row.kind, "-", one_line(row.text, _COMMAND), one_line(row.cwd))
        if isinstance(row, ShellNote)
        else (when(row.at), _end(row), _took(row), one_line(row.command, _COMMAND), one_line(row.cwd))
        for row in found
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(3)]
    lines: list[str] = []
    for row, (time, end, took, command, cwd) in zip(found, rows, strict=True):
        lines.append(f"{time:{widths[0]}}  {end:>{widths[1]}}  {took:>{widths[2]}}  {command}  (in {cwd})")
        lines += _printed(row, printed)
    return "\n".join(lines)


def _printed(row: ShellRecord | ShellNote, printed: Mapping[int, str]) -> list[str]:
    line = printed.get(row.id, "") if isinstance(row, ShellRecord) else ""
    return [f"  printed: {one_line(plain(line), _EXCERPT)}"] if line else []


def command_line(record: ShellRecord) -> str:
    """`$ command (in folder) → exit N`, also used by the ambient summary."""
    ran = f" by {one_line(record.agent, 40)}" if record.agent else ""
    return f"$ {one_line(record.command, _COMMAND)} (in {one_line(record.cwd)}){ran} → {_end(record)}"


def note_line(note: ShellNote) -> str:
    """A note between commands: a remark as typed, a change of folder, or changed files."""
    match note.kind:
        case "folder":
            return f"→ now in {one_line(note.text)}"
        case "file":
            return f"~ changed: {one_line(note.text, _COMMAND)} (in {one_line(note.cwd)})"
        case "note":
            return f"# {one_line(note.text.removeprefix('#').strip(), _COMMAND)} (in {one_line(note.cwd)})"


def conversations(found: Sequence[FoundConversation], query: str) -> str:
    """A heading and its excerpts for each conversation."""
    about = f': "{one_line(query, 80)}"' if query.strip() else ""
    lines: list[str] = []
    for one in found:
        info = one.info
        lines += ["", f"## {one_line(info.title) or 'Without a title'} ({when(info.updated)})"]
        lines.append(f"Session: {info.id} | {info.messages} messages | cwd: {one_line(info.cwd)}")
        lines += [f"  > {one_line(excerpt, _EXCERPT)}" for excerpt in one.excerpts]
    return _headed(f"# Session Search{about} ({_results(found)})", lines[1:])


def logs(records: Sequence[dict[str, Any]], query: str, limit: str) -> str:
    """A line for each record, and its output below it: whole if there is one record, else shortened. `query`: what was
    looked for, which a shortened output shows. `limit`: the parameter by which a single record is asked for.
    """
    lines: list[str] = []
    for record in records:
        lines += ["", *log_lines(record, query, limit, whole=len(records) == 1)]
    return _headed(f"# Log Search ({_results(records)})", lines[1:])


def log_lines(record: dict[str, Any], query: str, limit: str, *, whole: bool) -> list[str]:
    """One record: what happened, and the result. The arguments are those of `logs`."""
    time = when(float(record.get("at") or 0.0), "%Y-%m-%d %H:%M:%S")
    agent = one_line(_word(record, "agent"), 40)
    by = f"{agent} " if agent else ""
    lines = [f"[{time}] {by}{_said(record)}"]
    output = plain(_word(record, "output"))
    if output.strip() and record.get("type") in ("bash_exec", "tool_call"):
        words = " ".join(output.split())
        if len(words) <= _OUTPUT:
            lines.append(f"  output: {words}")
        elif whole:
            lines += ["  output:", *(f"    {line}" for line in output.strip("\n").split("\n"))]
        else:
            rest = f"[{len(words):,} characters; {limit}=1 shows all of one record]"
            lines.append(f"  output: {_excerpt(words, query)} {rest}")
    return lines


def _excerpt(words: str, query: str) -> str:
    """The end of a long output, where failures are, and the place that fits the query before it."""
    low, needle = words.lower(), " ".join(query.lower().split())
    at = low.rfind(needle) if needle else -1
    if at < 0:
        at = max((low.rfind(word) for word in needle.split()), default=-1)
    half = _OUTPUT // 2
    if at < 0 or at >= len(words) - _OUTPUT:
        return f"… {words[-_OUTPUT:]}"
    start = max(0, at - half // 3)
    piece = f"{'… ' if start else ''}{words[start : start + half]}"
    return f"{piece} … {words[-half:]}"


def _size(record: dict[str, Any], *names: str) -> str:
    """The first of these counts of tokens that the record has."""
    count = next((record[name] for name in names if isinstance(record.get(name), int)), None)
    return units.tokens(count) if count is not None else "?"


def _said(record: dict[str, Any]) -> str:
    took = f" ({record.get('duration_ms', 0)}ms)"
    match record.get("type"):
        case "bash_exec":
            code = record.get("exit_code")
            end = "OK" if code == 0 else f"exit {code}" if isinstance(code, int) else _word(record, "status")
            return f"bash: `{one_line(_word(record, 'command'), _COMMAND)}` -> {end}{took}"
        case "tool_call":
            subject = one_line(_word(record, "subject") or _word(record, "arguments"), _COMMAND)
            return f"{one_line(_word(record, 'tool'), 60)}: {subject} -> {_word(record, 'status')}{took}"
        case "approval":
            about = f"{one_line(_word(record, 'tool'), 60)}: {one_line(_word(record, 'subject'), _COMMAND)}"
            why = f" ({one_line(_word(record, 'reason'), _COMMAND)})" if _word(record, "reason") else ""
            return f"approval: {about} -> {_word(record, 'decision')} by {one_line(_word(record, 'by'), 80)}{why}"
        case "prompt":
            return f"prompt: {one_line(_word(record, 'text'), _COMMAND)}"
        case "truncation":
            return (
                f"truncation: {one_line(_word(record, 'tool'), 60)}: {record.get('original_bytes')} bytes"
                f" → {record.get('truncated_bytes')}"
            )
        case "prune":
            return (
                f"prune: {record.get('outputs')} outputs, {_size(record, 'original_tokens')}"
                f" → {_size(record, 'kept_tokens')} tokens"
            )
        case "compaction":
            return (
                f"compaction: {_size(record, 'original_tokens')}"
                f" → {_size(record, 'tokens_after', 'summary_tokens')} tokens,"
                f" {record.get('messages_before')} → {record.get('messages_after')} messages"
            )
        case "usage":
            sent = sum(int(record.get(name) or 0) for name in ("input", "cache_read", "cache_write"))
            return f"usage: {one_line(_word(record, 'model'), 60)}: {sent} tokens sent, {record.get('output')} answered"
        case "error" | "warning" as type:
            where = one_line(_word(record, "where"), 60)
            return f"{type}: {where + ': ' if where else ''}{one_line(_word(record, 'message'), _COMMAND)}"
        case other:
            return one_line(str(other), 60)


def _word(record: dict[str, Any], name: str) -> str:
    value = record.get(name)
    return "" if value is None else str(value)


def _end(record: ShellRecord) -> str:
    if record.exit is not None:
        return f"exit {record.exit}"
    return "running" if record.state == "running" else "end unknown"


def _took(record: ShellRecord) -> str:
    return "-" if record.duration is None else units.duration(record.duration)


def _results(found: Sequence[object]) -> str:
    return "1 result" if len(found) == 1 else f"{len(found)} results"


def _headed(head: str, lines: Sequence[str]) -> str:
    return "\n".join([head, "", *(lines or ["Nothing was found; try other words or fewer filters."])])
