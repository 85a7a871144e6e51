"""The small model beside the agents: it summarises a call for those who missed it, and shortens long output for people.

`[agent] small_model` names it; without, the model of the agents. It counts against the budgets of the hub's own agent,
and never gets tools. Without any model it says so; the offline grammar is not asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from gshtui.providers.port import ProviderError
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.expected_error import ExpectedError

if TYPE_CHECKING:
    from gshtui.agents.agent import Agent
    from gshtui.agents.loop import TurnLimit
    from gshtui.agents.model_pool import ModelPool
    from gshtui.agents.ports import ModelHandle
    from gshtui.agents.side_question import SideQuestions
    from gshtui.agents.telemetry import Telemetry
    from gshtui.bus.bus import Bus
    from gshtui.guard.approval.gate import Gate
    from gshtui.settings.model import Settings
    from gshtui.store.record.store import Store

NO_MODEL = "No model is connected that could do this."
_HINT = "Set a key such as ANTHROPIC_API_KEY, or `[agent] small_model`."


class ModelSurroundings(Protocol):
    """What is needed of a hub. Its parts are `None` before they start, or where they do not run."""

    @property
    def bus(self) -> Bus: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def environ(self) -> Mapping[str, str]: ...
    @property
    def store(self) -> Store | None: ...
    @property
    def models(self) -> ModelPool | None: ...
    @property
    def gate(self) -> Gate | None: ...
    @property
    def telemetry(self) -> Telemetry | None: ...
    def local_agent(self, name: str) -> Agent | None: ...
    def session_of(self, name: str) -> str: ...


class SmallModel:
    """`ask` asks it; budgets count where the hub has a guard."""

    def __init__(self, hub: ModelSurroundings, agent: str) -> None:
        """`agent`: the hub's own, to whose usage its requests count."""
        self._hub = hub
        self._agent = agent
        self._own: ModelPool | None = None
        """Where the hub has no providers of its own."""
        self._asked: SideQuestions | None = None
        self._ceased = False

    async def ask(self, prompt: str, agent: str = "", tokens: int = 0) -> str:
        """The answer to one question.

        Args:
            agent: by the model of this agent; empty: the small model.
            tokens: most tokens of the answer; 0: the model's maximum.

        Raises `ExpectedError`: there is no model, a budget is used up, or it did not answer.
        """
        hub = self._hub
        local = hub.local_agent(agent) if agent else None
        if local is not None and local.model_handle is not None:
            handle = local.model_handle
        else:
            handle = await self._chosen(agent)
        if handle.provider.name == "offline":
            raise ExpectedError(NO_MODEL, _HINT)
        session = hub.session_of(self._agent)
        return (await self._questions().ask(hub.bus, self._agent, session, handle, self._limit(), prompt, tokens)).text

    async def check(self, provider: str) -> str:
        """Ask a provider's own model for one word; returns the model's name. Raises `ExpectedError`: it cannot be used,
        a budget is used up, or it did not answer.
        """
        handle = await self._by_name(provider, "")
        if handle.provider.name == "offline":
            raise ExpectedError(NO_MODEL, _HINT)
        hub, session = self._hub, self._hub.session_of(self._agent)
        limit, question = self._limit(), "Answer with the word: yes"
        await self._questions().ask(hub.bus, self._agent, session, handle, limit, question, 16)
        return handle.model

    def cease(self) -> None:
        """Ask nothing from now on, and give up what is being asked."""
        self._ceased = True
        if self._asked is not None:
            self._asked.cease()

    async def close(self) -> None:
        """Close its own connections."""
        if self._own is not None:
            await self._own.close()

    def _questions(self) -> SideQuestions:
        from gshtui.agents.side_question import SideQuestions  # few hubs ask any

        if self._asked is None:
            self._asked = SideQuestions()
            if self._ceased:
                self._asked.cease()
        return self._asked

    async def _chosen(self, agent: str) -> ModelHandle:
        provider, model = "", self._hub.settings.agent.small_model
        if agent and self._hub.store is not None:
            try:
                row = await self._hub.store.agents.find(agent)
            except StoreError as error:
                raise ExpectedError(f"There is no agent {agent[:40]!r} whose model could be asked.") from error
            if row.kind != "native" or not row.model:
                raise ExpectedError(f"{row.name} has no model of ours that could be asked.", "Name another agent.")
            provider, model = row.provider, row.model
        return await self._by_name(provider, model)

    async def _by_name(self, provider: str, model: str) -> ModelHandle:
        pool = self._hub.models
        if pool is None:
            from gshtui.agents.model_pool import ModelPool

            pool = self._own = self._own or ModelPool(self._hub.settings, self._hub.environ)
        try:
            return await pool.choose(provider, model)
        except ProviderError as error:
            raise ExpectedError(error.message, error.hint) from error

    def _limit(self) -> TurnLimit:
        from gshtui.agents.loop import unlimited

        hub = self._hub
        if hub.telemetry is None or hub.gate is None:
            return unlimited
        return hub.telemetry.limit(self._agent, hub.store, hub.gate, hub.session_of)
