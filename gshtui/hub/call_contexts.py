"""The conversations of a native agent: one of its own, and one in each call, so that no call knows what another said.

Which one a prompt belongs to is on the prompt. A call's conversation is found again after a restart, and is another one
for a new call of the same name.
"""

from __future__ import annotations

from gshtui.agents.agent import Agent, LocalRoster
from gshtui.fleet.native.spec import Spec
from gshtui.store.store import Store

IN_CALL = "call "
"""Begins the parent of a conversation that an agent has in a call."""


class CallContexts:
    """Those of one agent, in its own process."""

    def __init__(self, store: Store, roster: LocalRoster, agent: Agent, spec: Spec) -> None:
        self._store = store
        self._roster = roster
        self._agent = agent
        self._spec = spec
        self._own = agent.session
        self._opened = agent.session

    async def attend(self, call: str) -> None:
        """Open the conversation of a call; empty: its own. Raises `StoreError`."""
        if call:
            await self._store.calls.enter(self._agent.name, call)
        if self._agent.session != self._opened:  # a person gave it another one
            self._own = self._agent.session
        wanted = await self._session(call) if call else self._own
        if wanted != self._agent.session:
            await self._roster.open(self._agent, wanted)
        self._opened = wanted

    async def _session(self, call: str) -> str:
        info = await self._store.calls.find(call)
        parent = f"{IN_CALL}{info.name} {info.created:.3f}"
        found = await self._store.sessions.latest_of(self._agent.name, parent)
        if found is None:
            title = f"{self._spec.name or self._agent.name} in {info.name}"
            found = await self._store.sessions.create(
                cwd=self._spec.cwd, agent=self._agent.name, title=title, parent=parent
            )
        return found.id
