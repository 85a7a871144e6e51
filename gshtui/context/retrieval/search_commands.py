"""The command `search_context` (an agent's tool, and a person's `search`), which only reads.

Defines its parameters and scope: a person searches every folder, an agent its project; another folder needs approval.
Nothing in a query is syntax: quotes, brackets and dots stand for themselves. Declared for the hub and for an agent in
its own process.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import msgspec
from pydantic import Field

from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.commands.declaration import (
    Action,
    Assessment,
    Command,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Returns,
    UsageError,
    synonyms,
)
from gshtui.commands.registry import AnyCommand
from gshtui.commands.schema import PLAIN, RARE
from gshtui.commands.shell_form import ShellForm, ShellOption
from gshtui.commands.timespec import parse_time
from gshtui.context.retrieval import result_text
from gshtui.context.retrieval.log_commands import log_query, of_scope, project_scope
from gshtui.context.retrieval.result_text import FoundConversation
from gshtui.context.retrieval.shell_summary import SyncShells
from gshtui.store.log import log_reader
from gshtui.store.log.log_records import RecordType
from gshtui.store.record.store import Store
from gshtui.store.tables.command_history import HistoryQuery
from gshtui.text.markdown_table import fenced
from gshtui.text.sanitise import one_line

Source = Literal["shell_history", "sessions", "logs"]
_NOTES = 10_000
"""Most notes to search, the newest."""
MOST = 50
"""Results of one search."""


class FoundPast(msgspec.Struct, frozen=True):
    """The matches in one of the sources."""

    source: Source
    query: str
    commands: list[ShellRecord] = msgspec.field(default_factory=list[ShellRecord])
    printed: dict[int, str] = msgspec.field(default_factory=dict[int, str])
    """For those found by their output: a line of it, by the command's id."""
    notes: list[ShellNote] = msgspec.field(default_factory=list[ShellNote])
    conversations: list[FoundConversation] = msgspec.field(default_factory=list[FoundConversation])
    records: list[log_reader.Record] = msgspec.field(default_factory=list[log_reader.Record])
    limit: int = 0


class SearchPast(Parameters, Returns[FoundPast]):
    """Search the past: SOURCE is shell_history (or history), sessions or logs.

    QUERY is plain text without any syntax; case does not matter. Without it, the newest entries are listed.
    """

    COMMAND: ClassVar[str] = "search_context"
    SHELL = ShellForm(
        name="search",
        summary="Search shell commands, past conversations and log records.",
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
    query: Annotated[str, ShellOption(words=-1)] = Field(default="", description="Text, no syntax. Empty: the newest.")
    cwd: Annotated[str, ShellOption(metavar="FOLDER", kind="folder", help="Only in this folder and below.")] = Field(
        default="",
        description="Folder, with all below; outside this project it needs approval",
    )
    exit_code: Annotated[int | None, ShellOption(help="Only this exit code; -1: any failure (shell_history).")] = Field(
        default=None, description="-1: any failure (shell_history)"
    )
    event_type: Annotated[
        RecordType | Literal[""],
        ShellOption(metavar="TYPE", help="Only this kind of record: bash_exec, tool_call, error … (logs)."),
    ] = Field(default="", description="Kind of record (logs)", json_schema_extra=RARE)
    agent: Annotated[
        str,
        ShellOption(metavar="NAME", kind="agent", help="Only this agent's commands or records (shell_history, logs)."),
    ] = Field(default="", description="Who did it (shell_history, logs)", json_schema_extra=RARE)
    since: Annotated[str, ShellOption(metavar="WHEN", help="Only since: 2h, 7d, today, 2026-11-21 …")] = Field(
        default="", description="As 2h, 7d, today or 2026-11-21T14:30"
    )
    until: Annotated[str, ShellOption(metavar="WHEN")] = Field(
        default="", description="Only before that time.", json_schema_extra=RARE
    )
    last_n: Annotated[int, ShellOption("--last-n -n")] = Field(
        default=20, ge=1, le=MOST, description="Maximum number of results.", json_schema_extra=PLAIN
    )


async def _nothing() -> None:
    """The default: nothing waits to be written."""


def commands(store: Store, logs: Path, sync_shells: SyncShells, flush_log: SyncShells = _nothing) -> list[AnyCommand]:
    """The command, on this record and this folder of logs.

    Args:
        sync_shells: stores what shells have reported until now.
        flush_log: writes what happened here until now.
    """

    async def search(invocation: Invocation, parameters: SearchPast) -> FoundPast:
        _check(parameters)
        match parameters.source:
            case "shell_history":
                await sync_shells()
                return await _history(store, invocation, parameters)
            case "sessions":
                return await _sessions(store, invocation, parameters)
            case "logs":
                p = parameters
                wanted = log_query(p.query, p.event_type, p.agent, p.since, p.until)
                wanted = await of_scope(store, _scope(invocation, p.cwd), wanted)
                await flush_log()
                found = await asyncio.to_thread(log_reader.find_records, logs, wanted, p.last_n)
                return FoundPast(p.source, p.query, records=found)

    async def assess(invocation: Invocation, parameters: SearchPast) -> Assessment:
        scope = _scope(invocation, parameters.cwd)
        subject = one_line(f"{parameters.source} {parameters.query}".strip(), 160)
        if Path(scope or "/").is_relative_to(invocation.project):
            return Assessment(Effect.READ, subject)
        where = one_line(scope or "/", 200)
        why = f"{where} is outside the project (rule project)"
        return Assessment(Effect.READ, subject, inside=False, detail=f"{parameters.source} of {where}", why=why)

    action = Action(SearchPast, search, _render)
    return [
        Command(
            "search_context",
            "Search shell commands, past conversations and the log",
            SearchPast,
            action.handle,
            positions=("source", "query"),
            description=(
                "Search what happened before: `shell_history` (commands of people and agents, what they printed, notes,"
                " changed files),"
                " `sessions` (past conversations), `logs` (agents' calls with their output, prompts, errors)."
            ),
            aliases=("search",),
            family="context",
            tool=True,
            does="recall",
            always_offered=True,
            assess=assess,
            actions=(action,),
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
        raise UsageError(
            f"{wrong[0]} is not a filter for {source}.", hint="Leave it out, or search a different source."
        )


def _scope(invocation: Invocation, cwd: str) -> str:
    """The folder to search with everything below it; empty: anywhere."""
    if not cwd:
        return project_scope(invocation)
    path = Path(cwd).expanduser() if cwd.startswith("~") else Path(cwd)
    # As the shell wrote it: the command ran there even if the folder is now gone or a link; but without `..`.
    found = path if path.is_absolute() else (invocation.cwd / path).resolve()
    found = Path(os.path.normpath(found))
    return "" if found == Path("/") else str(found)


async def _history(store: Store, invocation: Invocation, parameters: SearchPast) -> FoundPast:
    now = time.time()
    code = parameters.exit_code
    if code is not None and not -1 <= code <= 255:
        raise UsageError(f"{code} is not an exit code.", hint="Use 0 to 255, or -1 for any failure.")
    wanted = HistoryQuery(
        query=parameters.query,
        cwd=_scope(invocation, parameters.cwd),
        exit=None if code == -1 else code,
        failed=code == -1,
        after=parse_time(parameters.since, now),
        before=parse_time(parameters.until, now),
        agent=parameters.agent or None,
    )
    found = await store.shells.find_all(wanted, limit=parameters.last_n)
    printed: dict[int, str] = {}
    if parameters.query.strip():
        by_output = await store.shells.find_printed(
            wanted, limit=parameters.last_n, known={record.id for record in found}
        )
        printed = {record.id: line for record, line in by_output}
        found += [record for record, _ in by_output]
    notes = await _notes(store, invocation, parameters, now)
    return FoundPast("shell_history", parameters.query, found, printed, notes, limit=parameters.last_n)


async def _notes(store: Store, invocation: Invocation, parameters: SearchPast, now: float) -> list[ShellNote]:
    """Matching remarks, changes of folder and of files: they have no exit code, and only people make them."""
    if parameters.exit_code is not None or parameters.agent:
        return []
    words, folder = parameters.query.strip().lower(), _scope(invocation, parameters.cwd)
    found = await store.shells.notes(
        after=parse_time(parameters.since, now),
        before=parse_time(parameters.until, now),
        limit=_NOTES if words or folder else parameters.last_n,
    )
    return [
        note
        for note in found
        if words in note.text.lower() and (not folder or f"{note.cwd}/".startswith(f"{folder.rstrip('/')}/"))
    ]


async def _sessions(store: Store, invocation: Invocation, parameters: SearchPast) -> FoundPast:
    now = time.time()
    found = await result_text.find_conversations(
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
            shown = [row for row in rows if isinstance(row, ShellRecord)]
            data = [_command_json(record, found.printed.get(record.id, "")) for record in shown]
            return Outcome(data, _shown(invocation, say(rows, found.printed)))
        case "sessions":
            text = result_text.conversations(found.conversations, found.query)
            return Outcome(_conversations_json(found.conversations), _shown(invocation, text))
        case "logs":
            return Outcome(found.records, _shown(invocation, result_text.logs(found.records, found.query, "last_n")))


def _command_json(record: ShellRecord, printed: str) -> dict[str, object]:
    return {**msgspec.to_builtins(record), **({"printed": printed} if printed else {})}


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


def _shown(invocation: Invocation, text: str) -> str:
    """For people unchanged, with its columns; for agents as plain text."""
    return text if invocation.caller.is_agent else fenced(text)
