"""The commands `session` (list, show, resume, remove, export, search and rename conversations) and `resume`.

Owns their handlers and their lists as text; refuses to remove a conversation that is open.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from pydantic import Field

from gshtui.bus.events.session_events import SessionChangeRequested
from gshtui.commands.declaration import (
    Access,
    Assessment,
    Command,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    UsageError,
    synonyms,
)
from gshtui.commands.schema import FOR_PEOPLE
from gshtui.store import session_export
from gshtui.store.encoding import visible
from gshtui.store.message_table import SearchHit
from gshtui.store.session_table import SessionInfo
from gshtui.store.store import Store
from gshtui.store.store_errors import StoreError
from gshtui.system import private_files

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"))


def sessions_text(found: Sequence[SessionInfo], *, folders: bool) -> str:
    """A line for each: id, age, messages, title, and where it is open; with its folder when several are shown."""
    rows = [
        (info.id, age(info.updated), str(info.messages), _title(info) + (f"  {one_line(info.cwd)}" if folders else ""))
        for info in found
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    return "\n".join(
        f"{name:<{widths[0]}}  {when:>{widths[1]}}  {count:>{widths[2]}}  {title}" for name, when, count, title in rows
    )


def hits_text(hits: Sequence[SearchHit]) -> str:
    """Two lines for each: where it is, and the words around it."""
    return "\n".join(
        f"{hit.session} #{hit.seq} {hit.role}, {age(hit.at)}: {one_line(hit.title)}\n    {one_line(hit.excerpt)}"
        for hit in hits
    )


def age(at: float) -> str:
    """How long ago, in its largest unit; a dash for a time that was never noted."""
    if at <= 0:
        return "-"
    seconds = max(time.time() - at, 0.0)
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return "now"


def one_line(text: str) -> str:
    """The text on one line, control characters written out."""
    return visible(" ".join(text.split()))


def _title(info: SessionInfo) -> str:
    title = one_line(info.title) or "(no title)"
    return f"{title}  [open in {one_line(info.held_by)}]" if info.held_by else title


Action = Literal["ls", "show", "resume", "rm", "export", "search", "rename"]
SYNONYMS = {"list": "ls", "remove": "rm", "delete": "rm"}
_LOOKING = frozenset({"ls", "show", "search"})
_SHOWN_IDS = 50


class SessionParameters(Parameters):
    """What to do with which conversation."""

    action: Annotated[Action, synonyms(SYNONYMS)] = Field(
        default="ls", description="Agents may use ls, show and search."
    )
    target: str = Field(
        default="",
        description="An id, or its beginning or end; the words to look for (search). Empty: the current one.",
    )
    text: str = Field(default="", description="The new title (rename), more words (search), more ids (rm).")
    format: Literal["", "jsonl", "markdown"] = Field(
        default="",
        description="Of an export; empty: as the file's name says, else Markdown.",
        json_schema_extra=FOR_PEOPLE,
    )
    out: str = Field(default="", description="File for the export; empty: print it.", json_schema_extra=FOR_PEOPLE)
    all: bool = Field(default=False, description="ls, search: in every folder. show: all messages.")
    limit: int = Field(default=20, ge=1, le=10_000, description="Entries at most.")


class ResumeParameters(Parameters):
    """Which conversation to go on with."""

    target: str = Field(default="latest", description="An id, or its beginning or end; `latest`: of this folder.")


Do = Callable[[Store, Invocation, SessionParameters], Awaitable[Outcome]]


def commands(store: Store) -> list[Command[Any]]:
    """The session family, on this store."""

    async def run(invocation: Invocation, parameters: SessionParameters) -> Outcome:
        if invocation.caller.is_agent and parameters.action not in _LOOKING:
            hint = "Agents can use ls, show and search."
            raise UsageError(f"Only a person can use `session {parameters.action}`.", hint=hint)
        try:
            return await _ACTIONS[parameters.action](store, invocation, parameters)
        except StoreError as error:
            raise CommandError(error.message, hint=error.hint, data={"kind": error.kind}) from error

    async def resume(invocation: Invocation, parameters: ResumeParameters) -> Outcome:
        return await run(invocation, SessionParameters(action="resume", target=parameters.target))

    async def assess(invocation: Invocation, parameters: SessionParameters) -> Assessment:
        looking = parameters.action in _LOOKING
        inside = looking and not (parameters.all and parameters.action != "show")
        if parameters.action == "show":
            try:
                cwd = (await _wanted(store, invocation, parameters.target)).cwd
                inside = Path(cwd).is_relative_to(invocation.project)
            except StoreError:
                inside = True  # there is nothing to see; the run says so
        subject = " ".join(part for part in ("session", parameters.action, parameters.target) if part)
        return Assessment(Effect.READ if looking else Effect.WRITE, subject, inside=inside)

    async def complete(_invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        if parameter != "target":
            return []
        try:
            found = await store.sessions.find_all(limit=_SHOWN_IDS)
        except StoreError:
            return []
        return [info.id for info in found if info.id.startswith(prefix)]

    return [
        Command(
            "session",
            "Conversations: list, show, resume, remove, export, search, rename",
            SessionParameters,
            run,
            effect=Effect.WRITE,
            positions=("action", "target", "text"),
            description="Look at earlier conversations of this folder: `ls`, `show ID`, `search WORDS`.",
            family="session",
            opens="sessions",
            tool=True,
            assess=assess,
            complete=complete,
        ),
        Command(
            "resume",
            "Go on with an earlier conversation",
            ResumeParameters,
            resume,
            access=Access.HUMAN_ONLY,
            positions=("target",),
            family="session",
            opens="sessions",
            complete=complete,
        ),
    ]


async def _ls(store: Store, invocation: Invocation, parameters: SessionParameters) -> Outcome:
    cwd = None if parameters.all else str(invocation.cwd)
    found = await store.sessions.find_all(cwd=cwd, limit=parameters.limit)
    text = sessions_text(found, folders=parameters.all)
    if not found:
        text = "There are no conversations yet."
        text += "" if parameters.all else " Those of other folders: `session ls all=true`."
    return Outcome([_data(info) for info in found], text)


async def _show(store: Store, invocation: Invocation, parameters: SessionParameters) -> Outcome:
    info = await _wanted(store, invocation, parameters.target)
    found = await store.messages.read(info.id, limit=None if parameters.all else parameters.limit)
    data = {"session": _data(info), "messages": msgspec.to_builtins(found)}
    head = sessions_text([info], folders=True)
    left_out = info.messages - len(found)
    note = f"({left_out} earlier messages; `session show {info.id} all=true` shows them too)" if left_out > 0 else ""
    said = [session_export.message_markdown(stored.message) for stored in found]
    return Outcome(data, "\n".join(part for part in (head, note, *said) if part))


async def _resume(store: Store, invocation: Invocation, parameters: SessionParameters) -> Outcome:
    info = await _wanted(store, invocation, parameters.target, other=True)
    open_in = f" It is open in {one_line(info.held_by)}." if info.held_by else ""
    text = f"The conversation {info.id}, {one_line(info.title) or 'without a title'}.{open_in}"
    change = SessionChangeRequested(agent=invocation.agent, session=info.id)
    return Outcome({"session": info.id, "held_by": info.held_by, "cwd": info.cwd}, text, intent=change)


async def _rm(store: Store, invocation: Invocation, parameters: SessionParameters) -> Outcome:
    if not parameters.target:
        raise UsageError("Name the conversation to remove.", hint="`session ls` lists them.")
    names = (parameters.target, *parameters.text.split())
    found = {info.id: info for name in names if (info := await _wanted(store, invocation, name))}
    if invocation.session in found:
        raise CommandError("This conversation is open here.", hint="Start a new one first, then remove this one.")
    for session in found:
        await store.sessions.delete(session)
    titles = ", ".join(one_line(info.title) or info.id for info in found.values())
    return Outcome({"removed": list(found)}, f"Removed: {titles}.")


async def _export(store: Store, invocation: Invocation, parameters: SessionParameters) -> Outcome:
    info = await _wanted(store, invocation, parameters.target)
    form = parameters.format or ("jsonl" if parameters.out.endswith((".jsonl", ".ndjson")) else "markdown")
    if not parameters.out:
        text = "".join([line async for line in session_export.lines(store, info.id, form)])
        return Outcome({"session": info.id, "format": form, "text": text}, text)
    target = invocation.cwd / Path(parameters.out).expanduser()
    size = await _write(store, info.id, form, target)
    data = {"session": info.id, "format": form, "file": str(target), "bytes": size}
    return Outcome(data, f"{info.messages} messages are in {one_line(str(target))} ({size:,} bytes).")


async def _write(store: Store, session: str, form: session_export.Format, target: Path) -> int:
    """Write a file that did not exist, readable for its owner alone; half of one is not left behind."""
    try:
        descriptor = await asyncio.to_thread(private_files.make_file, target)
    except FileExistsError as error:
        raise CommandError(f"{target} exists already.", hint="Choose another name.") from error
    except OSError as error:
        raise CommandError(f"{target} cannot be written: {error.strerror}.") from error
    done = False
    try:
        with os.fdopen(descriptor, "wb") as file:
            async for line in session_export.lines(store, session, form):
                await asyncio.to_thread(file.write, line.encode())
            size = file.tell()
        done = True
        return size
    except OSError as error:
        raise CommandError(f"{target} could not be written whole: {error.strerror}.") from error
    finally:
        if not done:
            target.unlink(missing_ok=True)


async def _search(store: Store, invocation: Invocation, parameters: SessionParameters) -> Outcome:
    query = f"{parameters.target} {parameters.text}".strip()
    if not query:
        raise UsageError("Name the words to look for.", hint="For example: session search flaky test")
    cwd = None if parameters.all else str(invocation.cwd)
    hits = await store.messages.search(query, cwd=cwd, limit=parameters.limit)
    nothing = "Nothing was found." + ("" if parameters.all else " In every folder: add all=true before the words.")
    return Outcome(msgspec.to_builtins(hits), hits_text(hits) if hits else nothing)


async def _rename(store: Store, invocation: Invocation, parameters: SessionParameters) -> Outcome:
    if not parameters.target or not parameters.text.strip():
        raise UsageError("Name the conversation and its new title.", hint="For example: session rename ID New title")
    info = await store.sessions.find(parameters.target)
    await store.sessions.update(info.id, title=parameters.text)
    info = await store.sessions.find(info.id)
    return Outcome(_data(info), f"{info.id} is called {one_line(info.title)} now.")


_ACTIONS: dict[str, Do] = {
    "ls": _ls,
    "show": _show,
    "resume": _resume,
    "rm": _rm,
    "export": _export,
    "search": _search,
    "rename": _rename,
}


async def _wanted(store: Store, invocation: Invocation, name: str, *, other: bool = False) -> SessionInfo:
    """The conversation that is named, else the current one (unless `other`), else the folder's latest."""
    name = name or ("" if other else invocation.session)
    if name and name != "latest":
        return await store.sessions.find(name)
    if info := await store.sessions.latest(str(invocation.cwd)):
        return info
    raise StoreError("unknown", "This folder has no conversation yet.", hint="`session ls all=true` lists all.")


def _data(info: SessionInfo) -> dict[str, Any]:
    return msgspec.to_builtins(info)
