"""Opens conversations: which one, who may write to it, and following it if that is another process.
`session_lookup` finds the current conversation of an agent in any process.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from gshtui.agents.conversation import Conversation, MemoryRecord, StoreRecord
from gshtui.agents.ports import Record
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import MessageAppended
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.events.session_events import SessionClosed, SessionFollowed, SessionOpened
from gshtui.store.engine.store_errors import SessionHeld, StoreError
from gshtui.store.record.store import Store
from gshtui.store.tables.hold_table import SessionHold
from gshtui.store.tables.session_table import SessionInfo
from gshtui.system.ids import new_id
from gshtui.system.tasks import keep_on, start_job

if TYPE_CHECKING:
    from gshtui.context.tasks.task_list import SessionLookup

SessionOf = Callable[[str], str]
"""The conversation of an agent of this process, or empty."""


def session_lookup(store: Store, here: SessionOf, cwd: str) -> SessionLookup:
    """The look-up. `here(agent)`: the conversation of an agent of this process, else empty. It raises `StoreError`."""

    async def session_of(agent: str) -> str:
        if session := here(agent):
            return session
        if agent:
            try:
                row = await store.agents.find(agent)
            except StoreError as error:
                if error.kind not in ("unknown", "ambiguous"):
                    raise
            else:
                return row.session
        for info in await store.sessions.find_all(cwd=cwd, limit=100):
            if info.agent == agent:
                return info.id
        return ""

    return session_of


_FOLLOW_EVERY = 1.0
"""Seconds between two looks at a conversation that is written elsewhere."""


class OpenedSession(msgspec.Struct, frozen=True):
    """An opened conversation. `conversation` is `None` if it is read-only."""

    info: SessionInfo
    conversation: Conversation | None


class OpenSessions:
    """The conversations that are open in this hub, one an agent."""

    def __init__(
        self, bus: Bus, store: Store | None, where: str, keeps: Callable[[str], bool] = lambda agent: True
    ) -> None:
        """
        Args:
            where: tells other windows where this one is.
            keeps: whether what an agent begins here is kept once it is closed.
        """
        self._bus = bus
        self._store = store
        self._where = where
        self._record: Record = StoreRecord(store) if store is not None else MemoryRecord()
        self._holds: dict[str, SessionHold] = {}
        self._followers: dict[str, asyncio.Task[None]] = {}
        self._open: dict[str, str] = {}
        self._conversations: dict[str, Conversation] = {}
        """Those that are written here, by agent."""
        self._keeps = keeps
        self._swept = False
        self._passing: set[str] = set()
        """The conversations that were begun here and are deleted when they are closed."""
        self._read_to: dict[str, int] = {}
        """How far each followed conversation has been published."""

    @property
    def record(self) -> Record:
        return self._record

    def reads_along(self, session: str) -> bool:
        """Whether another process writes the conversation, and journals its events."""
        return any(self._open.get(agent) == session for agent in self._followers)

    async def open(
        self, wanted: str, *, agent: str, cwd: str, provider: str = "", model: str = "", or_new: bool = False
    ) -> OpenedSession:
        """Open a conversation for an agent, replacing its current one.

        Args:
            wanted: `new`, `latest` (in this folder; a new one if there is none), an id, a part of one, or a number
                in the folder's list.
            agent: the agent that gets it.
            cwd: the folder; part of a new conversation.
            provider: for a new conversation's entry.
            model: likewise.
            or_new: where it is gone, or open elsewhere, begin a new one.

        Raises `StoreError`: there is no such conversation, or the store failed. The current one stays open.
        """
        new = partial(self.open, "new", agent=agent, cwd=cwd, provider=provider, model=model)
        try:
            info, fresh = await self._find(wanted, agent, cwd, provider, model)
        except StoreError:
            if or_new:
                return await new()
            raise
        held_by = ""
        put_aside = self._open.get(agent, "") if fresh and agent in self._holds else ""
        if self._store is not None and self._open.get(agent) != info.id:
            try:
                hold = await self._store.holds.acquire(info.id, self._where)
            except SessionHeld as held:
                if or_new:
                    where = held.where or "another window"
                    text = f"this shell's conversation is open in {where}, so this starts a new one."
                    self._bus.publish(Noticed(level="warning", text=text, about=agent))
                    return await new()
                held_by = f"{held.where} (process {held.pid})"
            else:
                await self.close(agent)
                self._holds[agent] = hold
        if held_by:
            await self.close(agent)
        if fresh and not self._keeps(agent):
            self._passing.add(info.id)
            if self._store is not None:
                await self._store.sessions.set_passing(info.id)
        self._open[agent] = info.id
        conversation = None if held_by else Conversation(self._bus, self._record, info.id, agent, fresh=fresh)
        if conversation is not None:
            self._conversations[agent] = conversation
            conversation.titled = conversation.titled or bool(info.title)
        self._bus.publish(
            SessionOpened(
                session=info.id,
                agent=agent,
                title=info.title,
                cwd=info.cwd,
                messages=info.messages,
                resumed=not fresh,
                writable=not held_by,
                held_by=held_by,
                follows=put_aside,
            )
        )
        if held_by:
            self._follow(agent, info)
        if self._store is not None and not self._swept:
            self._swept = True
            start_job(self._sweep(self._store), "the removal of conversations that are not kept")
        return OpenedSession(info, conversation)

    @staticmethod
    async def _sweep(store: Store) -> None:
        """Delete what processes that died left of conversations that were not to be kept."""
        with contextlib.suppress(StoreError):  # the next process tries again
            await store.sessions.drop_abandoned()

    @contextlib.asynccontextmanager
    async def open_beside(self, session: str, agent: str) -> AsyncGenerator[Conversation]:
        """A conversation for one turn, while the agent's own stays open. Raises `StoreError`, such as `held`."""
        hold = None if self._store is None else await self._store.holds.acquire(session, self._where)
        conversation = Conversation(self._bus, self._record, session, agent, fresh=False)
        try:
            yield conversation
        finally:
            await conversation.close()
            if hold is not None:
                await hold.release()

    async def close(self, agent: str) -> None:
        if (session := self._open.pop(agent, None)) is None:
            return
        if (follower := self._followers.pop(agent, None)) is not None:
            follower.cancel()
        if (conversation := self._conversations.pop(agent, None)) is not None:
            await conversation.close()
        if (hold := self._holds.pop(agent, None)) is not None:
            await hold.release()
        self._bus.publish(SessionClosed(session=session, agent=agent))
        if session in self._passing and self._store is not None:
            self._passing.discard(session)
            await self._bus.drained()
            try:
                await self._store.sessions.update(session)  # with it all is written that was said of it so far
                await self._store.sessions.delete(session)
            except StoreError as error:
                words = f"A conversation that is not to be kept is still there: {error}"
                hint = f"`gsh-tui session rm {session}` removes it."
                self._bus.publish(Noticed(level="warning", text=words, hint=hint, about=agent))

    async def close_all(self) -> None:
        for agent in list(self._open):
            await self.close(agent)

    async def _find(self, wanted: str, agent: str, cwd: str, provider: str, model: str) -> tuple[SessionInfo, bool]:
        if self._store is None:
            info = SessionInfo(
                id=new_id(),
                title="",
                cwd=cwd,
                agent=agent,
                provider=provider,
                model=model,
                created=0.0,
                updated=0.0,
                messages=0,
            )
            return info, True
        if wanted == "latest":
            latest = await self._store.sessions.latest(cwd)
            if latest is not None:
                return latest, False
        elif wanted != "new":
            return await self._store.sessions.find(wanted, cwd), False
        return await self._store.sessions.create(cwd=cwd, agent=agent, provider=provider, model=model), True

    def _follow(self, agent: str, info: SessionInfo) -> None:
        self._bus.publish(
            Noticed(
                level="warning",
                text=f"This conversation is open for writing in {self._held(info)}; here you can only follow it.",
                hint="`/clear` starts a new one.",
                about=agent,
            )
        )
        self._read_to[info.id] = info.messages
        self._followers[agent] = keep_on(
            partial(self._read_along, agent, info), f"the reading along of {info.title or 'a conversation'}"
        )

    @staticmethod
    def _held(info: SessionInfo) -> str:
        return info.held_by or "another window"

    async def _read_along(self, agent: str, info: SessionInfo) -> None:
        assert self._store is not None
        known = self._read_to[info.id]
        while True:
            await asyncio.sleep(_FOLLOW_EVERY)
            try:
                fresh = await self._store.messages.read_after(info.id, known, 1_000)
            except StoreError:
                continue  # busy for the moment, or being deleted; the next look tells
            for stored in fresh:
                self._bus.publish(MessageAppended(agent=agent, session=info.id, message=stored.message))
            if fresh:
                known = self._read_to[info.id] = fresh[-1].seq
                self._bus.publish(SessionFollowed(session=info.id, messages=known))
