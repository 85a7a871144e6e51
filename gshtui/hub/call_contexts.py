"""The conversations of one of our agents: its own, and one in each call, so that no call knows what another said.

Which one a prompt belongs to is on the prompt. A call's conversation is found again after a restart, and is another one
for a new call of the same name.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from gshtui.agents.agent import Agent, LocalRoster
from gshtui.agents.conversation import Conversation
from gshtui.store.engine.store_errors import SessionHeld, StoreError
from gshtui.store.record.store import Store

IN_CALL = "call "
"""Begins the parent of a conversation that an agent has in a call."""


class CallContexts:
    """Those of one agent, in its own hub. `name`: what people call it."""

    def __init__(self, store: Store, roster: LocalRoster, agent: Agent, name: str, cwd: str) -> None:
        self._store = store
        self._roster = roster
        self._agent = agent
        self._name = name
        self._cwd = cwd
        self._own = agent.session
        self._opened = agent.session

    @asynccontextmanager
    async def attend(self, call: str) -> AsyncGenerator[Conversation]:
        """Open the conversation of a call (empty: its own), which stays open, for all to see. Raises `StoreError`."""
        if self._agent.session != self._opened:  # a person gave it another one
            self._own = self._agent.session
        wanted = await self._session(call) if call else self._own
        if wanted != self._agent.session or self._agent.conversation is None:
            await self._roster.open(self._agent, wanted)
            with suppress(StoreError):  # for those who look at it in the record: no hub need be listening
                await self._store.agents.update(self._agent.name, session=wanted)
        self._opened = wanted
        if self._agent.conversation is None:
            raise StoreError("held", "This conversation is open for writing in another process.")
        yield self._agent.conversation

    @asynccontextmanager
    async def attend_beside(self, call: str) -> AsyncGenerator[Conversation]:
        """Open the conversation of a call for one turn; people go on seeing its own. Raises `StoreError`."""
        session = await self._session(call) if call else self._agent.home
        if session == self._agent.home:  # a person may have opened that of a call in its place
            assert self._agent.conversation is not None
            yield self._agent.conversation
            return
        async with AsyncExitStack() as stack:
            try:
                conversation = await stack.enter_async_context(self._roster.open_beside(self._agent, session))
            except SessionHeld:  # in another window, whose agent is in this call too
                session = await self._session(call, anew=True)
                conversation = await stack.enter_async_context(self._roster.open_beside(self._agent, session))
            yield conversation

    async def _session(self, call: str, *, anew: bool = False) -> str:
        await self._store.calls.enter(self._agent.name, call)
        info = await self._store.calls.find(call)
        parent = f"{IN_CALL}{info.name} {info.created:.3f}"
        found = None if anew else await self._store.sessions.latest_of(self._agent.name, parent)
        if found is None:
            title = f"{self._name} in {info.name}"
            found = await self._store.sessions.create(cwd=self._cwd, agent=self._agent.name, title=title, parent=parent)
        return found.id
