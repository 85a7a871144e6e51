"""The commands `session` (list, show, resume, archive, remove, export, search, summarise and rename conversations) and
`resume`.

An open conversation cannot be archived or removed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from pydantic import Field

from gshtui.bus.events.session_events import SessionChangeRequested
from gshtui.commands.declaration import (
    Access,
    Action,
    Assessment,
    Command,
    CommandError,
    Effect,
    Incomplete,
    Invocation,
    Offered,
    Outcome,
    Parameters,
    Question,
    Returns,
    UsageError,
)
from gshtui.commands.group import group
from gshtui.commands.line_parser import ACTION
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.store.sessions import session_calls as calls
from gshtui.store.sessions import session_export
from gshtui.store.sessions.session_listing import LabelModel, details_text, hits_text, sessions_text, single_line
from gshtui.store.sessions.session_summary import AskModel, summarised
from gshtui.store.tables.message_table import StoredMessage
from gshtui.store.tables.session_table import SessionInfo
from gshtui.system.files import private_files

if TYPE_CHECKING:
    from gshtui.store.sessions.session_html import Redact

_FORMATS: dict[str, session_export.Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".html": "html",
    ".htm": "html",
}
_SHOWN_IDS = 50
_MOST = 100_000
_NAMED = 10
"""Conversations that a question about their removal lists."""
A = TypeVar("A", bound=Parameters)
R = TypeVar("R")


class ResumeParameters(Parameters):
    """Which conversation to go on with."""

    target: str = Field(default="latest", description="An id, or its beginning or end; `latest`: this folder's.")


def commands(
    store: Store,
    redactor: Callable[[], Redact] | None = None,
    ask: AskModel | None = None,
    label: LabelModel | None = None,
) -> list[Command[Any]]:
    """The session family, on this store.

    Args:
        store: the record.
        redactor: gives what takes secrets out of an export, and out of what is summarised.
        ask: asks the small model; `None`: there is none.
        label: how a model is called; `None`: by its id.
    """
    family = _Sessions(store, redactor, ask, label or str)

    async def resume(invocation: Invocation, parameters: ResumeParameters) -> Outcome:
        return await family.resume.handle(invocation, calls.ResumeSession(session=parameters.target))

    return [
        group(
            "session",
            "Conversations: list, show, resume, remove, export, search, summarise, rename",
            *family.actions,
            family="session",
            shell=calls.SESSION_GROUP,
            assess=family.assess,
            complete=family.complete,
            opens="sessions",
            description="Look at earlier conversations of this folder: `ls`, `show ID`, `search WORDS`.",
            tool=True,
        ),
        Command(
            "resume",
            "Continue an earlier conversation",
            ResumeParameters,
            resume,
            access=Access.HUMAN_ONLY,
            positions=("target",),
            family="session",
            opens="sessions",
            complete=family.complete,
        ),
    ]


def _action(
    parameters: type[A],
    run: Callable[[Invocation, A], Awaitable[R]],
    render: Callable[[Invocation, R], Outcome],
    *,
    asks: Callable[[Invocation, A], Awaitable[Question | None]] | None = None,
    access: Access = Access.HUMAN_ONLY,
) -> Action[A, R]:
    effect = Effect.READ if access is Access.SHARED else Effect.WRITE
    return Action(parameters, run, render, asks, access=access, effect=effect)


class _Sessions:
    """The handlers and renderings."""

    def __init__(
        self, store: Store, redactor: Callable[[], Redact] | None, ask: AskModel | None, label: LabelModel
    ) -> None:
        self._store = store
        self._label = label
        self._redactor = redactor
        self._ask = ask
        shared = Access.SHARED
        self.resume = _action(calls.ResumeSession, self._resume, _render_resumed)
        self.actions = (
            _action(calls.ListSessions, self._ls, _render_list, access=shared),
            _action(calls.ShowSession, self._show, _render_shown, access=shared),
            self.resume,
            _action(calls.RemoveSessions, self._rm, _render_removed, asks=self._ask_removal),
            _action(calls.ArchiveSessions, self._archive, _render_archived),
            _action(calls.UnarchiveSessions, self._unarchive, _render_archived),
            _action(calls.ExportSession, self._export, _render_export),
            _action(calls.SearchSessions, self._search, _render_hits, access=shared),
            _action(calls.SummariseSession, self._summarise, _render_summary),
            _action(calls.RenameSession, self._rename, _render_renamed),
        )

    async def assess(self, invocation: Invocation, given: Returns[object]) -> Assessment:
        looking = isinstance(given, calls.ListSessions | calls.ShowSession | calls.SearchSessions)
        inside = looking and not getattr(given, "all", False)
        named = getattr(given, "session", "") or getattr(given, "query", "")
        if isinstance(given, calls.ShowSession):
            try:
                cwd = (await self._wanted(invocation, given.session)).cwd
                inside = Path(cwd).is_relative_to(invocation.project)
            except StoreError:
                inside = True  # there is nothing to see; the run says so
        return Assessment(
            Effect.READ if looking else Effect.WRITE, f"session {given.WORD} {named}".rstrip(), inside=inside
        )

    async def complete(self, invocation: Invocation, parameter: str, prefix: str) -> Sequence[str]:
        if parameter not in ("session", "sessions", "target"):
            return []
        archived = {"archive": False, "unarchive": True}.get(invocation.given.get(ACTION, ""))
        try:
            found = await self._store.sessions.find_all(limit=_SHOWN_IDS, archived=archived)
        except StoreError:
            return []
        here = str(invocation.cwd)
        return [Offered(info.id, _about(info, here, archived)) for info in found if info.id.startswith(prefix)]

    async def _ls(self, invocation: Invocation, parameters: calls.ListSessions) -> calls.SessionList:
        agent, provider, model, cost = parameters.agent, parameters.provider, parameters.model, parameters.cost
        find = partial(
            self._store.sessions.find_all,
            cwd=None if parameters.all else str(invocation.cwd),
            agent=agent,
            provider=provider,
            model=model,
            cost=cost,
        )
        found = await find(limit=parameters.limit + 1, archived=parameters.archived)
        numbered = not (parameters.all or parameters.archived or agent or provider or model or cost)
        more = len(found) > parameters.limit
        archived = not found and not parameters.archived and bool(await find(limit=1, archived=True))
        called = await self._called(found)
        return calls.SessionList(found[: parameters.limit], parameters.all, numbered, more, archived, called)

    async def _called(self, found: Sequence[SessionInfo]) -> dict[str, str]:
        """How their agents and models are called, by id."""
        names = {row.id: row.name for row in await self._store.agents.find_all()}
        return names | {info.model: self._label(info.model) for info in found}

    async def _show(self, invocation: Invocation, parameters: calls.ShowSession) -> calls.ShownSession:
        info = await self._wanted(invocation, parameters.session)
        limit = None if parameters.all else parameters.limit
        messages = await self._store.messages.read(info.id, limit=limit)
        return calls.ShownSession(info, messages, await self._called([info]))

    async def _resume(self, invocation: Invocation, parameters: calls.ResumeSession) -> SessionInfo:
        return await self._wanted(invocation, parameters.session, other=True)

    async def _rm(self, invocation: Invocation, parameters: calls.RemoveSessions) -> calls.RemovedSessions:
        found = await self._unwanted(invocation, parameters)
        if invocation.session in {info.id for info in found}:
            raise CommandError("This conversation is open here.", hint="Start a new one first, then remove this one.")
        _check_free(found)
        for info in found:
            await self._store.sessions.delete(info.id)
        return calls.RemovedSessions(found)

    async def _archive(self, invocation: Invocation, parameters: calls.ArchiveSessions) -> calls.ArchivedSessions:
        return await self._set_archived(invocation, parameters.sessions, True)

    async def _unarchive(self, invocation: Invocation, parameters: calls.UnarchiveSessions) -> calls.ArchivedSessions:
        return await self._set_archived(invocation, parameters.sessions, False)

    async def _set_archived(
        self, invocation: Invocation, names: tuple[str, ...], archived: bool
    ) -> calls.ArchivedSessions:
        if not names:
            raise Incomplete(
                "Name a conversation.", hint="`session ls` lists them, with archived=true the archived ones."
            )
        found = [await self._store.sessions.find(name, str(invocation.cwd), archived=not archived) for name in names]
        for info in found:
            if info.archived == archived:
                words = "is archived already" if archived else "is not archived"
                raise CommandError(f"{single_line(info.title) or info.id} {words}.", hint="Nothing was changed.")
        _check_free(found if archived else ())
        for info in found:
            await self._store.sessions.archive(info.id, archived)
        return calls.ArchivedSessions([await self._store.sessions.find(info.id) for info in found])

    async def _ask_removal(self, invocation: Invocation, parameters: calls.RemoveSessions) -> Question | None:
        found = await self._unwanted(invocation, parameters)
        if not found:
            return None
        what = f"{len(found)} conversations" if len(found) > 1 else "this conversation"
        exactly = calls.RemoveSessions(sessions=tuple(info.id for info in found))
        details = sessions_text(found[:_NAMED], folders=False)
        more = f"\nand {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        return Question(exactly, f"Permanently remove {what}?", details + more, yes="Remove")

    async def _unwanted(self, invocation: Invocation, parameters: calls.RemoveSessions) -> list[SessionInfo]:
        if parameters.keep is None and not parameters.sessions:
            raise Incomplete(
                "The conversation to remove is missing.",
                hint="`session ls` lists them; `keep=N` (`--keep N`) keeps the newest N.",
            )
        if parameters.keep is not None and parameters.sessions:
            raise UsageError("Name conversations or say how many to keep, not both.")
        if parameters.keep is None:
            named = [await self._wanted(invocation, name) for name in parameters.sessions]
            return list({info.id: info for info in named}.values())
        found = await self._store.sessions.find_all(cwd=str(invocation.cwd), limit=_MOST, archived=False)
        return [info for info in found[parameters.keep :] if not info.held_by and info.id != invocation.session]

    async def _export(self, invocation: Invocation, parameters: calls.ExportSession) -> calls.SessionExport:
        info = await self._wanted(invocation, parameters.session)
        form = parameters.format or _FORMATS.get(Path(parameters.out).suffix, "markdown")
        redact = None if self._redactor is None else await asyncio.to_thread(self._redactor)
        if not parameters.out:
            text = "".join([line async for line in session_export.lines(self._store, info.id, form, redact)])
            return calls.SessionExport(info, form, text)
        target = invocation.cwd / Path(parameters.out).expanduser()
        size = await _write(session_export.lines(self._store, info.id, form, redact), target)
        return calls.SessionExport(info, form, file=str(target), bytes=size)

    async def _search(self, invocation: Invocation, parameters: calls.SearchSessions) -> calls.SessionHits:
        if not parameters.query:
            raise UsageError("Give the words to search for.", hint="For example: session search flaky test")
        cwd = None if parameters.all else str(invocation.cwd)
        hits = await self._store.messages.search(parameters.query, cwd=cwd, limit=parameters.limit)
        return calls.SessionHits(hits, parameters.all)

    async def _summarise(self, invocation: Invocation, parameters: calls.SummariseSession) -> calls.SessionSummary:
        info = await self._wanted(invocation, parameters.session)
        if self._ask is None:
            raise CommandError("No model is connected that could summarise it.")
        redact = str if self._redactor is None else await asyncio.to_thread(self._redactor)
        messages = (message async for _, message in session_export.all_messages(self._store, info.id))
        text = await summarised(info, messages, self._ask, words=parameters.length, redact=redact)
        return calls.SessionSummary(info, text)

    async def _rename(self, invocation: Invocation, parameters: calls.RenameSession) -> SessionInfo:
        if not parameters.session or not parameters.title.strip():
            hint = "For example: session rename ID New title"
            raise UsageError("The conversation or its new title is missing.", hint=hint)
        info = await self._store.sessions.find(parameters.session, str(invocation.cwd))
        await self._store.sessions.update(info.id, title=parameters.title)
        return await self._store.sessions.find(info.id)

    async def _wanted(self, invocation: Invocation, name: str, *, other: bool = False) -> SessionInfo:
        """The named conversation, or else the current one (unless `other`), or else the folder's latest."""
        name = name or ("" if other else invocation.session)
        return await self._store.sessions.find(name or "latest", str(invocation.cwd))


def _about(info: SessionInfo, here: str, archived: bool | None) -> str:
    """What a conversation is, for the list in which its id is chosen."""
    marks = ("archived" if info.archived and archived is None else "", "" if info.cwd == here else Path(info.cwd).name)
    return single_line(" · ".join(filter(None, (info.title or "(no title)", *marks))))


def _check_free(sessions: Iterable[SessionInfo]) -> None:
    """Refuse a change of several of which one is open, before anything is changed."""
    for info in sessions:
        if info.held_by:
            words = f"{single_line(info.title) or info.id} is open in {single_line(info.held_by)}."
            raise CommandError(words, hint="Nothing was changed. Close it there first.")


def _render_list(_invocation: Invocation, found: calls.SessionList) -> Outcome:
    shown = partial(
        sessions_text, found.sessions, folders=found.everywhere, numbered=found.numbered, called=found.called
    )
    end = f"\n(the newest {len(found.sessions)}; `session ls limit=N` (`--limit N`) lists more)" if found.more else ""
    text = shown(headed=True) + end
    if not found.sessions:
        text = "No conversations yet." if found.numbered or found.everywhere else "No conversation matches."
        if found.archived:
            text = "Only archived ones: `session ls archived=true` (`--archived`) lists them."
        text += "" if found.everywhere else " `session ls all=true` (`--all`) lists those of other folders."
    aloud = shown(aloud=True) + end if found.sessions else ""
    return Outcome([_data(info) for info in found.sessions], text, aloud=aloud)


def _render_shown(_invocation: Invocation, shown: calls.ShownSession) -> Outcome:
    info = shown.session
    data = {"session": _data(info), "messages": msgspec.to_builtins(shown.messages)}
    head = details_text(info, shown.called)
    left_out = info.messages - len(shown.messages)
    hint = f"`session show {info.id} all=true` (`--all`) shows them too"
    note = f"({left_out} earlier messages; {hint})" if left_out > 0 else ""
    said = [_numbered(stored) for stored in shown.messages]
    text = "\n".join(part for part in (head, note, *said) if part)
    return Outcome(data, text, plain=text)


def _numbered(stored: StoredMessage) -> str:
    """A message with its number in its heading, by which `fork` knows it."""
    head, _, rest = session_export.message_markdown(stored.message).partition("\n")
    return f"{head} · {stored.seq}\n{rest}"


def _render_resumed(invocation: Invocation, info: SessionInfo) -> Outcome:
    open_in = f" It is open in {single_line(info.held_by)}." if info.held_by else ""
    text = f"The conversation {info.id}, {single_line(info.title) or 'without a title'}.{open_in}"
    change = SessionChangeRequested(agent=invocation.agent, session=info.id)
    return Outcome({"session": info.id, "held_by": info.held_by, "cwd": info.cwd}, text, intent=change)


def _render_archived(_invocation: Invocation, done: calls.ArchivedSessions) -> Outcome:
    data = [_data(info) for info in done.sessions]
    titles = ", ".join(single_line(info.title) or info.id for info in done.sessions)
    if not done.sessions[0].archived:
        return Outcome(data, f"Back in the list: {titles}.")
    back = f"takes {'them' if len(data) > 1 else 'it'} back."
    exactly = " ".join(["session unarchive", *(info.id for info in done.sessions)])
    said = f"Archived. `session unarchive` {back}"
    return Outcome(data, said, plain=f"Archived: {titles}.", aside=f"`{exactly}` {back}")


def _render_removed(_invocation: Invocation, gone: calls.RemovedSessions) -> Outcome:
    titles = ", ".join(single_line(info.title) or info.id for info in gone.sessions)
    said = f"Removed: {titles}." if gone.sessions else "There was nothing to remove."
    return Outcome({"removed": [info.id for info in gone.sessions]}, said)


def _render_export(_invocation: Invocation, made: calls.SessionExport) -> Outcome:
    info = made.session
    data: dict[str, Any] = {"session": info.id, "format": made.format}
    if not made.file:
        return Outcome(data | {"text": made.text}, made.text, is_value=True)
    said = f"Wrote {info.messages} messages to {single_line(made.file)} ({made.bytes:,} bytes)."
    return Outcome(data | {"file": made.file, "bytes": made.bytes}, said)


def _render_summary(_invocation: Invocation, made: calls.SessionSummary) -> Outcome:
    data = {"session": made.session.id, "summary": made.text}
    return Outcome(data, made.text or "Nothing was said there yet.", plain=made.text)


def _render_hits(_invocation: Invocation, found: calls.SessionHits) -> Outcome:
    everywhere = " To search every folder, put all=true (`--all`) before the words."
    nothing = "Nothing found." + ("" if found.everywhere else everywhere)
    text = hits_text(found.hits)
    return Outcome(msgspec.to_builtins(found.hits), text or nothing, plain=text)


def _render_renamed(_invocation: Invocation, info: SessionInfo) -> Outcome:
    return Outcome(_data(info), f"{info.id} is now called {single_line(info.title)}.")


async def _write(lines: AsyncIterator[str], target: Path) -> int:
    """Write a new file, readable only by its owner; never leave half of one behind."""
    try:
        descriptor = await asyncio.to_thread(private_files.make_file, target)
    except FileExistsError as error:
        raise CommandError(f"{target} already exists.", hint="Choose another name.") from error
    except OSError as error:
        raise CommandError(f"Can't write {target}: {error.strerror}.") from error
    done = False
    try:
        with os.fdopen(descriptor, "wb") as file:
            async for line in lines:
                await asyncio.to_thread(file.write, line.encode())
            size = file.tell()
        done = True
        return size
    except OSError as error:
        raise CommandError(f"Could not write all of {target}: {error.strerror}.") from error
    finally:
        if not done:
            target.unlink(missing_ok=True)


def _data(info: SessionInfo) -> dict[str, Any]:
    return msgspec.to_builtins(info)
