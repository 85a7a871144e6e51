"""The record of everything: what the rest of the house calls.

Owns nothing but the connection and the writer; refuses to answer before what it answers for is committed. Every
coroutine raises `StoreError` and no other error. Called by the hub, the agents' loop and the faces' commands.

Acknowledged means: in the file, and safe from the death of this process. With `synchronous="full"` each commit is
also safe from a power cut; with "normal" every finished turn is, and the file stays sound in any case.

The class is wider than the house's rule of twenty methods: it is the whole contract, and each method is a line or two.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from gshtui.bus.event import Event
from gshtui.bus.messages import Message
from gshtui.store import grants, journal, messages, outputs, sessions
from gshtui.store import prompt_history as prompts
from gshtui.store.agents import AgentTable
from gshtui.store.database import Database, Notice, Synchronous
from gshtui.store.errors import StoreError
from gshtui.store.grants import Grant
from gshtui.store.integrity import IntegrityChecker
from gshtui.store.iterations import IterationTables
from gshtui.store.mail import MailTable
from gshtui.store.messages import SearchHit, StoredMessage
from gshtui.store.sessions import SessionInfo
from gshtui.store.shells import ShellTables
from gshtui.store.usage import UsageTable
from gshtui.store.writer import RETRY_EVERY, RecordWriter

CLOSE_DEADLINE = 10.0
"""Seconds to write what is queued when the store closes."""
_IN_THREAD = 64 * 1024
"""Characters of an output from which packing it is left to another thread."""


def _silent(text: str, hint: str) -> None:
    """The default for notices: nobody is told."""


class SessionHold:
    """The right to write to a conversation, until `release`."""

    def __init__(self, session: str, token: str, give_back: Callable[[str], Awaitable[None]]) -> None:
        self.session = session
        self._token = token
        self._give_back = give_back

    async def release(self) -> None:
        """Let others write to it. Doing so twice is fine."""
        await self._give_back(self._token)


class Store(AgentTable, MailTable, IterationTables, ShellTables, UsageTable):
    """The record. Made by `open`; always `close` it."""

    def __init__(self, database: Database, on_notice: Notice, retry_every: float) -> None:
        self.path = database.path
        self._database = database
        self._on_notice = on_notice
        self._writer = RecordWriter(database, on_notice, retry_every=retry_every)
        self._checker = IntegrityChecker(database, self._writer, on_notice)
        self._scribe = journal.JournalEncoder()
        self._held: set[str] = set()
        self._chains = {}

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        on_notice: Notice = _silent,
        synchronous: Synchronous = "normal",
        retry_every: float = RETRY_EVERY,
    ) -> Store:
        """Open the record, making, migrating or recovering it as needed.

        Args:
            path: the file; its folder is made when it is missing.
            on_notice: takes what a person should be told (a sentence, and what to do), in this loop.
            synchronous: what a commit waits for, see the module's text.
            retry_every: seconds between attempts to write what a full disk refused.

        Raises:
            StoreError: it cannot be opened, not even for reading.
        """
        database = Database(path, synchronous, on_notice)
        await database.ready()
        store = cls(database, on_notice, retry_every)
        store._checker.start()
        return store

    @property
    def readonly(self) -> bool:
        """Nothing can be written, for as long as this store is open."""
        return self._database.opened.readonly

    async def close(self) -> None:
        """Write what is queued, give back what is held, end the thread. Never raises."""
        for token in tuple(self._held):
            with contextlib.suppress(StoreError, TimeoutError):
                async with asyncio.timeout(CLOSE_DEADLINE):
                    await self._give_back(token)
        await self._writer.close(CLOSE_DEADLINE)
        await self._checker.stop()
        with contextlib.suppress(sqlite3.Error, ValueError):
            await self._database.close()

    # Conversations

    async def create_session(
        self, *, cwd: str, agent: str, provider: str = "", model: str = "", title: str = "", parent: str = ""
    ) -> SessionInfo:
        """A new conversation, empty. It takes its title from its first prompt unless it has one."""
        fields = {"cwd": cwd, "agent": agent, "provider": provider, "model": model, "title": title, "parent": parent}
        return await self._writer.submit(lambda connection: sessions.create_session(connection, **fields))

    async def session(self, id_or_prefix: str) -> SessionInfo:
        """The conversation of this id, or the only one whose id begins or ends with this.

        Raises:
            StoreError: `unknown` or `ambiguous`.
        """
        return await self._database.run(lambda connection: sessions.find_session(connection, id_or_prefix))

    async def sessions(self, *, cwd: str | None = None, limit: int = 100, empty: bool = False) -> list[SessionInfo]:
        """Conversations (of one folder), last used first; those without a message only when `empty`."""
        return await self._database.run(partial(sessions.list_sessions, cwd=cwd, limit=limit, empty=empty))

    async def latest_session(self, cwd: str) -> SessionInfo | None:
        """The folder's last used conversation that is nobody's child; `None` when it has none."""
        return await self._database.run(lambda connection: sessions.latest_session(connection, cwd))

    async def update_session(
        self, id: str, *, title: str | None = None, provider: str | None = None, model: str | None = None
    ) -> None:
        """Change what is given. Raises `StoreError` (`unknown`)."""
        changes = {"title": title, "provider": provider, "model": model}
        await self._writer.submit(lambda connection: sessions.update_session(connection, id, changes))

    async def delete_session(self, id: str) -> None:
        """Remove a conversation and all that belongs to it alone, from the file too.

        What was typed stays in the input history. Raises `StoreError` (`unknown`, `held`).
        """
        await self._writer.submit(lambda connection: sessions.delete_session(connection, id))
        await self._writer.submit(messages.forget_removed)

    # The log

    async def append(self, session: str, message: Message) -> int:
        """Add a message to the conversation's log; one whose id is there already is not added again.

        Returns:
            Its place in the log, counted from 1.
        """
        return await self._writer.submit(lambda connection: messages.append_message(connection, session, message))

    async def messages(
        self, session: str, *, before: int | None = None, limit: int | None = None
    ) -> list[StoredMessage]:
        """The newest `limit` messages whose place is below `before`, oldest first; without limits all of them."""
        page, unreadable = await self._database.run(
            partial(messages.page_of, session=session, before=before, limit=limit)
        )
        if unreadable:
            self._on_notice(
                f"{unreadable} messages of the conversation {session} could not be read.", "`gsh-tui doctor` says more."
            )
        return page

    async def messages_after(self, session: str, after: int, limit: int) -> list[StoredMessage]:
        """The oldest `limit` messages whose place is above `after`: what another window has added."""
        return await self._database.run(partial(messages.page_after, session=session, after=after, limit=limit))

    async def save_partial(self, session: str, message: Message) -> None:
        """Keep an answer as far as it has come; `append` of the same id removes it."""
        await self._writer.submit(lambda connection: messages.save_partial(connection, session, message))

    async def partials(self, session: str) -> list[Message]:
        """Answers that were cut off by a crash, in the order in which they began."""
        return await self._database.run(lambda connection: messages.partials(connection, session))

    # Full outputs

    async def put_output(self, session: str, call: str, text: str) -> str:
        """Keep a call's whole output. Returns its key; the same text has the same."""
        if len(text) < _IN_THREAD:
            kept = outputs.prepared(text)
        else:
            kept = await asyncio.to_thread(outputs.prepared, text)
        await self._writer.submit(lambda connection: outputs.put(connection, session, call, kept))
        return kept.key

    async def output(self, key: str) -> str:
        """A whole output. Raises `StoreError` (`unknown`, or `corrupt` when it is damaged)."""
        data, packed = await self._database.run(lambda connection: outputs.get(connection, key))
        return await asyncio.to_thread(outputs.text_of, key, data, packed)

    async def output_folders(self, key: str) -> list[str]:
        """The folders of the conversations and shell commands that the output of this key comes from."""
        return await self._database.run(lambda connection: outputs.folders(connection, key))

    async def outputs(self, session: str) -> list[tuple[str, str]]:
        """(call, key) of each output that the conversation keeps, in order."""
        return await self._database.run(lambda connection: outputs.of_session(connection, session))

    # Search, journal

    async def search_messages(self, query: str, *, cwd: str | None = None, limit: int = 20) -> list[SearchHit]:
        """Messages that hold all words of the query, the best first. Nothing in it is syntax."""
        return await self._database.run(partial(messages.find_words, query=query, cwd=cwd, limit=limit))

    def record(self, event: Event) -> None:
        """Journal an event; deltas are left out. Returns at once; waits in memory while nothing can be written."""
        if entry := self._scribe.entry(event):
            self._writer.record(entry)

    async def events(self, session: str, *, after: int = 0, limit: int = 1_000) -> list[tuple[int, Event]]:
        """(place, event) of a conversation behind the place `after`, in the order in which they were recorded."""
        return await self._database.run(partial(journal.read, session=session, after=after, limit=limit))

    # Who writes, what is allowed, what was typed

    async def hold(self, session: str, where: str) -> SessionHold:
        """Take the conversation for writing; `where` says in a person's words where it is open.

        Raises:
            SessionHeld: a living process has it.
        """
        token = await self._writer.submit(lambda connection: sessions.take_hold(connection, session, where))
        self._held.add(token)
        return SessionHold(session, token, self._give_back)

    async def _give_back(self, token: str) -> None:
        if token in self._held:
            await self._writer.submit(lambda connection: sessions.give_back_hold(connection, token))
            self._held.discard(token)

    async def grants(self, project: str) -> list[Grant]:
        """What is always allowed in a project, oldest first."""
        return await self._database.run(lambda connection: grants.listed(connection, project))

    async def add_grant(self, project: str, tool: str, pattern: str) -> None:
        """Allow a pattern from now on."""
        await self._writer.submit(lambda connection: grants.add(connection, project, tool, pattern))

    async def remove_grant(self, project: str, tool: str, pattern: str) -> bool:
        """Allow it no more. Returns whether it was allowed."""
        return await self._writer.submit(lambda connection: grants.remove(connection, project, tool, pattern))

    async def add_prompt(self, cwd: str, text: str) -> None:
        """Remember what was typed."""
        await self._writer.submit(lambda connection: prompts.add(connection, cwd, text))

    async def prompts(self, cwd: str | None, limit: int = 1_000) -> list[str]:
        """What was typed in a folder (in any, for `None`), each text once, newest first."""
        return await self._database.run(lambda connection: prompts.listed(connection, cwd, limit))

    async def check(self) -> list[str]:
        """Everything that is wrong with the file, a sentence each; nothing when it is sound. Reads all of it."""
        return await self._checker.full()
