"""The roster: every agent of this hub by name. It makes them, hands them conversations, and stops them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gshtui.agents.agent import Agent
from gshtui.agents.sessions import Sessions
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent import AgentAdded
from gshtui.bus.events.hub import Noticed
from gshtui.bus.events.session import SessionChangeRequested
from gshtui.store.errors import StoreError
from gshtui.system.tasks import end_all


class Roster:
    """Agents by name, in the order in which they were added."""

    def __init__(self, bus: Bus, sessions: Sessions, cwd: str) -> None:
        self._bus = bus
        self._sessions = sessions
        self._cwd = cwd
        self._agents: dict[str, Agent] = {}
        self._subscription = bus.subscribe(self._listen, SessionChangeRequested, name="roster")

    def __iter__(self) -> Iterator[Agent]:
        return iter(tuple(self._agents.values()))

    def get(self, name: str) -> Agent | None:
        """The agent of this name."""
        return self._agents.get(name)

    async def add(self, name: str, make: Callable[[], Agent], session: str) -> Agent:
        """Add an agent, give it a conversation and start it.

        Raises:
            StoreError: there is no such conversation.
        """
        agent = make()
        self._agents[name] = agent
        self._bus.publish(AgentAdded(agent=name, name=name, cwd=self._cwd))
        await self.open(agent, session)
        agent.start()
        return agent

    async def open(self, agent: Agent, session: str) -> None:
        """Give the agent another conversation. Raises `StoreError`."""
        mind = agent.mind
        opened = await self._sessions.open(
            session,
            agent=agent.name,
            cwd=self._cwd,
            provider=mind.provider.name if mind else "",
            model=mind.model if mind else "",
        )
        agent.converse(opened.conversation)

    async def stop(self) -> None:
        """Stop every agent, then let go of their conversations."""
        self._subscription.unsubscribe()
        await end_all("the end of agents", *(agent.stop for agent in self))
        await self._sessions.close_all()

    async def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, SessionChangeRequested) and (agent := self._agents.get(event.agent)) is not None:
                await self._change(agent, event.session)

    async def _change(self, agent: Agent, session: str) -> None:
        if agent.working:
            hint = "`escape` interrupts it; then try again."
            self._bus.publish(Noticed(level="warning", text=f"{agent.name} is at work.", hint=hint, about=agent.name))
            return
        try:
            await self.open(agent, session)
        except StoreError as error:
            self._bus.publish(Noticed(level="error", text=error.message, hint=error.hint, about=agent.name))
