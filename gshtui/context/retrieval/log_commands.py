"""The command `logs`: what agents did, according to the observability log. Only reads, and needs no record.

A person sees the log of every folder, an agent only that of its project's conversations. Nothing in a query is
syntax. In the shell it reads the oldest first and can follow; a line of the command language gives the newest first.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import msgspec
from pydantic import Field

from gshtui.commands.declaration import Action, Command, Invocation, Outcome, Parameters, Returns
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellOption
from gshtui.commands.timespec import FORMS, parse_time
from gshtui.store.log import log_reader
from gshtui.store.log.log_records import Record, RecordType
from gshtui.text.markdown_table import fenced

if TYPE_CHECKING:
    from gshtui.settings.model import Settings
    from gshtui.store.record.store import Store

FlushLog = Callable[[], Awaitable[None]]
"""Writes what happened here until now to the log."""
SINCE = f"Only since then: {FORMS}."
_SESSIONS = 10_000
"""Most conversations to search, last used first."""
_EVERY = 0.3
"""Seconds between two checks of the followed files."""


class FoundRecords(msgspec.Struct, frozen=True):
    """Matching records, newest first."""

    records: list[Record]
    query: str = ""


class ReadRecords(msgspec.Struct, frozen=True):
    """Matching records, oldest first, in reading order."""

    records: list[Record]
    nothing: str = ""
    query: str = ""
    more: bool = False
    """Whether others come after these."""
    """Why there are none; empty if more may come."""


class FindLogs(Parameters, Returns[FoundRecords]):
    """Which records."""

    COMMAND: ClassVar[str] = "logs"
    query: str = Field(default="", description="Text to find, ignoring case; no syntax. Empty: the newest.")
    type: RecordType | Literal[""] = Field(default="", description="Kind of record; empty: all.")
    agent: str = Field(default="", description="Only this agent.")
    since: str = Field(default="", description=SINCE)
    until: str = Field(default="", description="Only before that time.")
    limit: int = Field(default=50, ge=1, le=10_000, description="Maximum number of records.")


class ReadLog(Parameters, Returns[ReadRecords]):
    """Show what agents did, oldest first: commands and tools with their results, prompts, cuts, usage, errors.

    QUERY is plain text; case does not matter. With --json each record is a line. The log contains no secrets.
    """

    COMMAND: ClassVar[str] = "logs"
    SHELL = ShellForm(
        summary="Show the log of what agents did.",
        parts=frozenset(),
        json_lines=True,
    )
    query: Annotated[str, ShellOption(words=-1)] = ""
    follow: Annotated[bool, ShellOption("--follow -f", alone=True)] = Field(
        default=False, description="Keep printing new records until interrupted."
    )
    type: RecordType | Literal[""] = Field(default="", description="Only records of this kind.")
    agent: Annotated[str, ShellOption(metavar="NAME", kind="agent")] = Field(
        default="", description="Only this agent's records."
    )
    since: Annotated[str, ShellOption(metavar="WHEN")] = Field(
        default="", description="Only records since: 2h, 7d, today, 2026-11-21 …"
    )
    until: Annotated[str, ShellOption(metavar="WHEN")] = Field(default="", description="Only records before this time.")
    limit: Annotated[int, ShellOption("--limit -n")] = Field(
        default=50, ge=0, le=1_000_000, description="Maximum number of records; the newest are shown."
    )


async def _nothing_new() -> None:
    """The default: nothing is logged here."""


def commands(settings: Settings, store: Callable[[], Store | None], flush: FlushLog = _nothing_new) -> list[AnyCommand]:
    logs = settings.general.log_dir

    async def wanted(invocation: Invocation, given: FindLogs | ReadLog) -> log_reader.LogQuery:
        await flush()
        query = log_query(given.query, given.type, given.agent, given.since, given.until)
        return await of_scope(store(), project_scope(invocation), query)

    async def find(invocation: Invocation, given: FindLogs) -> FoundRecords:
        query = await wanted(invocation, given)
        return FoundRecords(await asyncio.to_thread(log_reader.find_records, logs, query, given.limit), given.query)

    async def read(invocation: Invocation, given: ReadLog) -> ReadRecords:
        query = await wanted(invocation, given)
        found = await asyncio.to_thread(log_reader.find_records, logs, query, given.limit)
        return ReadRecords(found[::-1], "" if found else _nothing(logs, query), given.query)

    async def follow(invocation: Invocation, given: ReadLog) -> AsyncGenerator[ReadRecords]:
        query = await wanted(invocation, given)
        follower = await asyncio.to_thread(log_reader.LogFollower, logs)
        found = await asyncio.to_thread(log_reader.find_records, logs, query, given.limit)
        yield ReadRecords(found[::-1], query=given.query, more=True)
        words = query.query.split()
        while True:
            added = await asyncio.to_thread(follower.added)
            fitting = [record for record in added if log_reader.fits(record, query, words)]
            yield ReadRecords(fitting, query=given.query, more=True)
            await asyncio.sleep(_EVERY)

    def streams(invocation: Invocation, given: ReadLog) -> AsyncIterator[ReadRecords] | None:
        return follow(invocation, given) if given.follow else None

    found = Action(FindLogs, find, _render_found)
    return [
        Command(
            "logs",
            "Show what agents did: the log of commands, tool calls and errors",
            FindLogs,
            found.handle,
            positions=("query",),
            family="context",
            actions=(found, Action(ReadLog, read, _render_read, streams=streams)),
        )
    ]


def log_query(query: str, type: str, agent: str, since: str, until: str) -> log_reader.LogQuery:
    """These conditions, their times as seconds. Raises `UsageError`."""
    now = time.time()
    return log_reader.LogQuery(query, type, agent, parse_time(since, now), parse_time(until, now))


def project_scope(invocation: Invocation) -> str:
    """The folder in or below which an agent may see events; empty: anywhere, as for a person."""
    return str(invocation.project) if invocation.caller.is_agent and invocation.project != Path("/") else ""


async def of_scope(store: Store | None, scope: str, query: log_reader.LogQuery) -> log_reader.LogQuery:
    """Only of conversations that were held in this folder or below; of none without a record. Raises `StoreError`."""
    if not scope:
        return query
    held = [] if store is None else await store.sessions.find_all(limit=_SESSIONS, empty=True)
    below = frozenset(info.id for info in held if Path(info.cwd).is_relative_to(scope))
    return msgspec.structs.replace(query, sessions=below)


def _nothing(folder: Path, query: log_reader.LogQuery) -> str:
    if query.query or query.type or query.agent or query.after is not None or query.before is not None:
        return "no matching records; try other words or fewer filters."
    return f"the log in {folder} is empty: no agent has done anything yet."


def _render_found(invocation: Invocation, found: FoundRecords) -> Outcome:
    from gshtui.context.retrieval import result_text  # it knows the record's rows, which a log needs not

    text = result_text.logs(found.records, found.query, "limit")
    return Outcome(found.records, text if invocation.caller.is_agent else fenced(text))


def _render_read(_invocation: Invocation, found: ReadRecords) -> Outcome:
    if not found.records:
        return Outcome([], aside=found.nothing)
    from gshtui.context.retrieval import result_text

    whole = len(found.records) == 1 and not found.more
    shown = (result_text.log_lines(record, found.query, "--limit", whole=whole) for record in found.records)
    text = "\n".join(line for lines in shown for line in lines)
    return Outcome(found.records, fenced(text), plain=text)
