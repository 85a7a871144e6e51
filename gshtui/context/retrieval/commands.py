"""The commands `search_context` (an agent's tool, and a person's `search`) and `logs`. Both only read.

Owns their parameters. Nothing in a query is syntax: quotes, brackets and dots stand for themselves. Declared for the
hub and for an agent in its own process.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Literal

import msgspec
from pydantic import Field

from gshtui.commands.declaration import Command, CommandError, Invocation, Outcome, Parameters, UsageError
from gshtui.commands.moment import FORMS, moment
from gshtui.commands.registry import AnyCommand
from gshtui.commands.schema import PLAIN
from gshtui.commands.verbatim import fenced
from gshtui.context.retrieval import conversations, wording
from gshtui.store.errors import StoreError
from gshtui.store.log import reading
from gshtui.store.log.records import RecordType
from gshtui.store.store import Store

Source = Literal["shell_history", "sessions", "logs"]
MOST = 50
"""Results of one search."""
_SINCE = f"Only from then on, {FORMS}."


class SearchParameters(Parameters):
    """What to look for, and where. Filters of other sources are refused."""

    source: Source = Field(
        description="Commands of shells, past conversations, or the log of agents' doings.", json_schema_extra=PLAIN
    )
    query: str = Field(default="", description="Text to find, in capitals or not; no syntax. Empty: the newest.")
    cwd: str = Field(default="", description="Folder it was in or below (shell_history, sessions)")
    exit_code: int | None = Field(default=None, description="-1: any failure (shell_history)")
    event_type: RecordType | Literal[""] = Field(default="", description="Kind of record (logs)")
    agent: str = Field(default="", description="Who did it (shell_history, logs)")
    since: str = Field(default="", description=_SINCE)
    until: str = Field(default="", description="Only before that moment.")
    last_n: int = Field(default=20, ge=1, le=MOST, description="Results at most.", json_schema_extra=PLAIN)


class LogsParameters(Parameters):
    """Which records."""

    query: str = Field(default="", description="Text to find, in capitals or not; no syntax. Empty: the newest.")
    type: RecordType | Literal[""] = Field(default="", description="Kind of record; empty: all.")
    agent: str = Field(default="", description="Only of this agent.")
    since: str = Field(default="", description=_SINCE)
    until: str = Field(default="", description="Only before that moment.")
    limit: int = Field(default=50, ge=1, le=10_000, description="Records at most.")


def commands(store: Store, logs: Path) -> list[AnyCommand]:
    """The commands, on this record and this folder of logs."""

    async def search(invocation: Invocation, parameters: SearchParameters) -> Outcome:
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
                    return await _logs(invocation, logs, wanted, p.last_n)
        except StoreError as error:
            raise CommandError(error.message, hint=error.hint, data={"kind": error.kind}) from error

    async def look(invocation: Invocation, parameters: LogsParameters) -> Outcome:
        p = parameters
        return await _logs(invocation, logs, _wanted(p.query, p.type, p.agent, p.since, p.until), p.limit)

    return [
        Command(
            "search_context",
            "Find what was before: shell commands, past conversations, the log",
            SearchParameters,
            search,
            positions=("source", "query"),
            description=(
                "Search what happened before: `shell_history` (commands that people and agents ran, with folder and"
                " exit code), `sessions` (past conversations), `logs` (commands and tool calls of agents with their"
                " output, prompts, errors). Newest or best first."
            ),
            aliases=("search",),
            family="context",
            tool=True,
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


def _check(parameters: SearchParameters) -> None:
    """Refuse a filter that would be ignored. Raises `UsageError`."""
    source = parameters.source
    given = {
        "cwd": bool(parameters.cwd) and source == "logs",
        "exit_code": parameters.exit_code is not None and source != "shell_history",
        "event_type": bool(parameters.event_type) and source != "logs",
        "agent": bool(parameters.agent) and source == "sessions",
    }
    if wrong := [name for name, is_wrong in given.items() if is_wrong]:
        raise UsageError(f"{wrong[0]} is no filter of {source}.", hint="Leave it out, or search another source.")


def _folder(invocation: Invocation, cwd: str) -> str:
    if not cwd:
        return ""
    path = Path(cwd).expanduser() if cwd.startswith("~") else Path(cwd)
    # As the shell wrote it: a folder that is gone, or a link, is still where the command ran.
    return str(path if path.is_absolute() else (invocation.cwd / path).resolve())


async def _history(store: Store, invocation: Invocation, parameters: SearchParameters) -> Outcome:
    now = time.time()
    code = parameters.exit_code
    if code is not None and not -1 <= code <= 255:
        raise UsageError(f"{code} is no exit code.", hint="Give 0 to 255, or -1 for any failure.")
    found = await store.history(
        query=parameters.query,
        cwd=_folder(invocation, parameters.cwd),
        exit=None if code == -1 else code,
        failed=code == -1,
        after=moment(parameters.since, now),
        before=moment(parameters.until, now),
        agent=parameters.agent or None,
        limit=parameters.last_n,
    )
    say = wording.history_for_agents if invocation.caller.is_agent else wording.history_for_people
    return Outcome(msgspec.to_builtins(found), _shown(invocation, say(found)))


async def _sessions(store: Store, invocation: Invocation, parameters: SearchParameters) -> Outcome:
    now = time.time()
    found = await conversations.find(
        store,
        parameters.query,
        cwd=_folder(invocation, parameters.cwd),
        after=moment(parameters.since, now),
        before=moment(parameters.until, now),
        limit=parameters.last_n,
        current=invocation.session if invocation.caller.is_agent else "",
    )
    data = [
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
    return Outcome(data, _shown(invocation, wording.conversations(found, parameters.query)))


async def _logs(invocation: Invocation, folder: Path, wanted: reading.Wanted, limit: int) -> Outcome:
    found = await asyncio.to_thread(reading.find, folder, wanted, limit)
    return Outcome(found, _shown(invocation, wording.logs(found)))


def _wanted(query: str, type: str, agent: str, since: str, until: str) -> reading.Wanted:
    now = time.time()
    return reading.Wanted(query, type, agent, moment(since, now), moment(until, now))


def _shown(invocation: Invocation, text: str) -> str:
    """For people as it is, columns and all; agents read it plain."""
    return text if invocation.caller.is_agent else fenced(text)
