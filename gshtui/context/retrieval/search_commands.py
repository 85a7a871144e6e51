"""The commands `search_context` (an agent's tool, and a person's `search`) and `logs`. Both only read.

Owns their parameters, and whose past is looked at: a person's search is of every folder, an agent's of its project
unless it names another, which is asked about. Nothing in a query is syntax: quotes, brackets and dots stand for
themselves. Declared for the hub and for an agent in its own process.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import msgspec
from pydantic import Field

from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.commands.declaration import (
    Action,
    Assessment,
    Command,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Returns,
    UsageError,
    synonyms,
)
from gshtui.commands.registry import AnyCommand
from gshtui.commands.schema import PLAIN
from gshtui.commands.shell_form import ShellForm, ShellOption
from gshtui.commands.timespec import FORMS, parse_time
from gshtui.context.retrieval import conversation_search, result_text
from gshtui.context.retrieval.conversation_search import FoundConversation
from gshtui.store import log_reader
from gshtui.store.command_history import HistoryQuery
from gshtui.store.log_records import RecordType
from gshtui.store.store import Store
from gshtui.store.store_errors import StoreError
from gshtui.text.sanitise import one_line
from gshtui.text.verbatim import fenced

Source = Literal["shell_history", "sessions", "logs"]
_NOTES = 10_000
"""Notes among which words are looked for: the newest."""
_SESSIONS = 10_000
"""Conversations that are looked at, the last used first."""
MOST = 50
"""Results of one search."""
_SINCE = f"Only since then: {FORMS}."


@dataclass(frozen=True, slots=True)
class FoundPast:
    """What was found, in one of the sources."""

    source: Source
    query: str
    commands: list[ShellRecord] = field(default_factory=list[ShellRecord])
    notes: list[ShellNote] = field(default_factory=list[ShellNote])
    conversations: list[FoundConversation] = field(default_factory=list[FoundConversation])
    records: list[log_reader.Record] = field(default_factory=list[log_reader.Record])
    limit: int = 0


class SearchPast(Parameters, Returns[FoundPast]):
    """Find what was before: SOURCE is shell_history (or history), sessions or logs.

    QUERY is plain text, in capitals or not: nothing in it is syntax. Without it the newest come.
    """

    COMMAND: ClassVar[str] = "search_context"
    SHELL = ShellForm(
        ("source", "query"),
        "search",
        "Find shell commands, past conversations, log records.",
        examples=(
            "gsh-tui search history docker --exit-code -1",
            'gsh-tui search sessions "retry policy" --since 7d',
            "gsh-tui search logs test --event-type bash_exec",
        ),
        parts=frozenset({"store"}),
    )

    source: Annotated[
        Source,
        synonyms({"history": "shell_history"}),
        ShellOption(synonyms=(("history", "shell_history"), ("shell", "shell_history"))),
    ] = Field(
        description="Commands of shells, past conversations, or the log of what agents did.", json_schema_extra=PLAIN
    )
    query: Annotated[str, ShellOption(words=-1)] = Field(
        default="", description="Text to find, ignoring case; no syntax. Empty: the newest."
    )
    cwd: Annotated[str, ShellOption(metavar="FOLDER", kind="folder", help="Only in this folder or below.")] = Field(
        default="",
        description=(
            "Folder where it happened, or a parent of that. Agents see this project; others, such as /, need approval"
        ),
    )
    exit_code: Annotated[int | None, ShellOption(help="Exit code; -1: any failure (shell_history).")] = Field(
        default=None, description="-1: any failure (shell_history)"
    )
    event_type: Annotated[
        RecordType | Literal[""],
        ShellOption(metavar="TYPE", help="Kind of record: bash_exec, tool_call, error … (logs)."),
    ] = Field(default="", description="Kind of record (logs)")
    agent: Annotated[
        str, ShellOption(metavar="NAME", kind="agent", help="Only what this agent did (shell_history, logs).")
    ] = Field(default="", description="Who did it (shell_history, logs)")
    since: Annotated[str, ShellOption(metavar="WHEN", help="Only from then on: 2h, 7d, today, 2026-11-21 …")] = Field(
        default="", description=_SINCE
    )
    until: Annotated[str, ShellOption(metavar="WHEN")] = Field(default="", description="Only before that time.")
    last_n: Annotated[int, ShellOption("--last-n -n")] = Field(
        default=20, ge=1, le=MOST, description="Most results.", json_schema_extra=PLAIN
    )


class LogsParameters(Parameters):
    """Which records."""

    query: str = Field(default="", description="Text to find, ignoring case; no syntax. Empty: the newest.")
    type: RecordType | Literal[""] = Field(default="", description="Kind of record; empty: all.")
    agent: str = Field(default="", description="Only this agent.")
    since: str = Field(default="", description=_SINCE)
    until: str = Field(default="", description="Only before that time.")
    limit: int = Field(default=50, ge=1, le=10_000, description="Most records.")


def commands(store: Store, logs: Path) -> list[AnyCommand]:
    """The commands, on this record and this folder of logs."""

    async def search(invocation: Invocation, parameters: SearchPast) -> FoundPast:
        _check(parameters)
        try:
            match parameters.source:
                case "shell_history":
                    return await _history(store, invocation, parameters)
                case "sessions":
                    return await _sessions(store, invocation, parameters)
                case "logs":
                    p = parameters
                    wanted = _wanted(p.query, p.event_type, p.agent, p.since, p.until)
                    wanted = await _of(store, _scope(invocation, p.cwd), wanted)
                    found = await asyncio.to_thread(log_reader.find_records, logs, wanted, p.last_n)
                    return FoundPast(p.source, p.query, records=found)
        except StoreError as error:
            raise CommandError(error.message, hint=error.hint, data={"kind": error.kind}) from error

    async def look(invocation: Invocation, parameters: LogsParameters) -> Outcome:
        p = parameters
        wanted = await _of(store, _scope(invocation, ""), _wanted(p.query, p.type, p.agent, p.since, p.until))
        found = await asyncio.to_thread(log_reader.find_records, logs, wanted, p.limit)
        return _render(invocation, FoundPast("logs", p.query, records=found))

    async def assess(invocation: Invocation, parameters: SearchPast) -> Assessment:
        scope = _scope(invocation, parameters.cwd)
        subject = one_line(f"{parameters.source} {parameters.query}".strip(), 160)
        if Path(scope or "/").is_relative_to(invocation.project):
            return Assessment(Effect.READ, subject)
        where = one_line(scope or "/", 200)
        why = f"{where} is outside the project (rule project)"
        return Assessment(Effect.READ, subject, inside=False, detail=f"{parameters.source} of {where}", why=why)

    action = Action(SearchPast, FoundPast, search, _render)
    return [
        Command(
            "search_context",
            "Find what was before: shell commands, past conversations, the log",
            SearchPast,
            action.handle,
            positions=("source", "query"),
            description=(
                "Search what happened before: `shell_history` (commands that people and agents ran, with folder and"
                " exit code, and people's notes and changed files), `sessions` (past conversations), `logs` (commands"
                " and tool calls of agents with their output, prompts, errors). Newest or best first."
            ),
            aliases=("search",),
            family="context",
            tool=True,
            assess=assess,
            actions=(action,),
        ),
        Command(
            "logs",
            "What agents did: the observability log",
            LogsParameters,
            look,
            positions=("query",),
            family="context",
        ),
    ]


def _check(parameters: SearchPast) -> None:
    """Refuse a filter that would be ignored. Raises `UsageError`."""
    source = parameters.source
    given = {
        "exit_code": parameters.exit_code is not None and source != "shell_history",
        "event_type": bool(parameters.event_type) and source != "logs",
        "agent": bool(parameters.agent) and source == "sessions",
    }
    if wrong := [name for name, is_wrong in given.items() if is_wrong]:
        raise UsageError(f"{wrong[0]} is no filter of {source}.", hint="Leave it out, or search another source.")


def _scope(invocation: Invocation, cwd: str) -> str:
    """The folder in or below which things happened that are looked at; empty: anywhere."""
    if not cwd:
        return str(invocation.project) if invocation.caller.is_agent and invocation.project != Path("/") else ""
    path = Path(cwd).expanduser() if cwd.startswith("~") else Path(cwd)
    # As the shell wrote it: a folder that is gone, or a link, is still where the command ran; but no `..` in it.
    found = path if path.is_absolute() else (invocation.cwd / path).resolve()
    found = Path(os.path.normpath(found))
    return "" if found == Path("/") else str(found)


async def _of(store: Store, scope: str, wanted: log_reader.LogQuery) -> log_reader.LogQuery:
    """Only of conversations that were held in this folder or below. Raises `StoreError`."""
    if not scope:
        return wanted
    held = await store.sessions.find_all(limit=_SESSIONS, empty=True)
    return msgspec.structs.replace(
        wanted, sessions=frozenset(info.id for info in held if Path(info.cwd).is_relative_to(scope))
    )


async def _history(store: Store, invocation: Invocation, parameters: SearchPast) -> FoundPast:
    now = time.time()
    code = parameters.exit_code
    if code is not None and not -1 <= code <= 255:
        raise UsageError(f"{code} is no exit code.", hint="Give 0 to 255, or -1 for any failure.")
    found = await store.shells.find_all(
        HistoryQuery(
            query=parameters.query,
            cwd=_scope(invocation, parameters.cwd),
            exit=None if code == -1 else code,
            failed=code == -1,
            after=parse_time(parameters.since, now),
            before=parse_time(parameters.until, now),
            agent=parameters.agent or None,
        ),
        limit=parameters.last_n,
    )
    notes = await _notes(store, invocation, parameters, now)
    return FoundPast("shell_history", parameters.query, found, notes, limit=parameters.last_n)


async def _notes(store: Store, invocation: Invocation, parameters: SearchPast, now: float) -> list[ShellNote]:
    """Remarks, changes of folder and of files that fit: they ended in nothing, and nobody but a person made them."""
    if parameters.exit_code is not None or parameters.agent:
        return []
    words, folder = parameters.query.strip().lower(), _scope(invocation, parameters.cwd)
    found = await store.shells.notes(
        after=parse_time(parameters.since, now), before=parse_time(parameters.until, now),
        limit=_NOTES if words or folder else parameters.last_n,
    )  # fmt: skip
    return [
        note for note in found
        if words in note.text.lower() and (not folder or f"{note.cwd}/".startswith(f"{folder.rstrip('/')}/"))
    ]  # fmt: skip


async def _sessions(store: Store, invocation: Invocation, parameters: SearchPast) -> FoundPast:
    now = time.time()
    found = await conversation_search.find_conversations(
        store,
        parameters.query,
        cwd=_scope(invocation, parameters.cwd),
        after=parse_time(parameters.since, now),
        before=parse_time(parameters.until, now),
        limit=parameters.last_n,
        current=invocation.session if invocation.caller.is_agent else "",
    )
    return FoundPast("sessions", parameters.query, conversations=found)


def _render(invocation: Invocation, found: FoundPast) -> Outcome:
    match found.source:
        case "shell_history":
            rows = sorted([*found.commands, *found.notes], key=lambda row: row.at, reverse=True)[: found.limit]
            say = result_text.history_for_agents if invocation.caller.is_agent else result_text.history_for_people
            return Outcome(msgspec.to_builtins(found.commands), _shown(invocation, say(rows)))
        case "sessions":
            text = result_text.conversations(found.conversations, found.query)
            return Outcome(_conversations_json(found.conversations), _shown(invocation, text))
        case "logs":
            return Outcome(found.records, _shown(invocation, result_text.logs(found.records)))


def _conversations_json(found: Sequence[FoundConversation]) -> list[dict[str, object]]:
    return [
        {
            "session": one.info.id,
            "title": one.info.title,
            "cwd": one.info.cwd,
            "updated": one.info.updated,
            "messages": one.info.messages,
            "excerpts": list(one.excerpts),
        }
        for one in found
    ]


def _wanted(query: str, type: str, agent: str, since: str, until: str) -> log_reader.LogQuery:
    now = time.time()
    return log_reader.LogQuery(query, type, agent, parse_time(since, now), parse_time(until, now))


def _shown(invocation: Invocation, text: str) -> str:
    """For people as it is, columns and all; agents read it plain."""
    return text if invocation.caller.is_agent else fenced(text)
