"""What a client over ACP may choose in its session: our agent's mode, its model, and how hard that thinks.

The same choices as the commands `mode`, `model` and `effort` make. Raises `ExpectedError` with words for the client.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, TypeVar

from acp.schema import SessionConfigOptionBoolean, SessionConfigOptionSelect, SessionConfigSelectOption

from gshtui.bus.agent_data import GuardMode
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import ModelChanged
from gshtui.bus.events.approval_events import AgentModeChanged, ModeChangeRequested
from gshtui.commands.declaration import CommandError
from gshtui.guard.modes import MODES, mode_named
from gshtui.hub.hub import Hub
from gshtui.providers.model_command import ChangeEffort, ChangeModel, ListModels
from gshtui.system.expected_error import ExpectedError
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.sanitise import one_line

_LISTS_WITHIN, _SETS_WITHIN = 3.0, 10.0
"""Seconds for the list of models, some of which may be on a server that does not answer, and for taking a value."""
_MODELS = 200
_DEFAULT = "default"
_EFFORTS = {_DEFAULT: "As its provider decides", "low": "Low", "medium": "Medium", "high": "High"}
E = TypeVar("E", bound=Event)


class SessionOptions:
    """See the module."""

    def __init__(self, hub: Hub, agent: str) -> None:
        self._hub = hub
        self._agent = agent
        self._models: dict[str, str] = {}

    @property
    def mode(self) -> GuardMode:
        return self._hub.gate.modes.mode_of(self._agent) if self._hub.gate is not None else "plan"

    async def now(
        self, changed: ModelChanged | None = None
    ) -> list[SessionConfigOptionSelect | SessionConfigOptionBoolean]:
        """The choices as they are now. `changed`: the model that has just come into use."""
        modes = {mode: mode.capitalize() for mode in MODES}
        found: list[SessionConfigOptionSelect | SessionConfigOptionBoolean] = [
            _select("mode", "Mode", "mode", self.mode, modes)
        ]
        if (used := changed or self._hub.agent_states.in_use(self._agent)) is None:
            return found
        name = f"{used.provider}/{used.model}"
        models = {name: used.label or used.model} | await self._usable()
        found.append(_select("model", "Model", "model", name, models))
        agent = self._hub.local_agent(self._agent)
        handle = agent.model_handle if agent is not None else None
        if handle is not None and handle.provider.capabilities(handle.model).effort:
            found.append(_select("effort", "Effort", "thought_level", used.effort or _DEFAULT, _EFFORTS))
        return found

    async def choose(self, id: str, value: str) -> None:
        """Choose a value of one of them, and wait until the agent has taken it."""
        match id:
            case "mode" if (mode := mode_named(value)) is not None:
                if self.mode != mode:
                    heard = self._next(AgentModeChanged)
                    self._hub.bus.publish(ModeChangeRequested(agent=self._agent, mode=mode))
                    await _taken(heard, value)
            case "model" | "effort":
                provider, _, model = value.partition("/")
                heard = self._next(ModelChanged)
                try:
                    if id == "model":
                        await self._hub.call(ChangeModel(name=model, provider=provider))
                    else:
                        await self._hub.call(ChangeEffort.model_validate({"level": value}))
                except BaseException:
                    heard.cancel()
                    raise
                await _taken(heard, value)
            case _:
                raise ExpectedError(f"{one_line(id, 40)} cannot be {one_line(value, 60)} here.")
        await self._hub.bus.drained()

    async def _usable(self) -> dict[str, str]:
        """The models that can be chosen, by what chooses them; asked for once."""
        if not self._models:
            with contextlib.suppress(CommandError, TimeoutError):
                async with time_limit(_LISTS_WITHIN):
                    listed = (await self._hub.call(ListModels())).models
                    usable = [one for one in listed if one.usable is not False]
                    self._models = {f"{one.provider}/{one.model}": one.label for one in usable[:_MODELS]}
        return self._models

    def _next(self, kind: type[E]) -> asyncio.Future[E]:
        """The next such event about the agent."""
        return self._hub.bus.wait_for(
            kind, lambda event: getattr(event, "agent", "") == self._agent, timeout=_SETS_WITHIN
        )


def _select(id: str, name: str, category: str, value: str, values: Mapping[str, str]) -> SessionConfigOptionSelect:
    offers = [SessionConfigSelectOption(value=one, name=words or one) for one, words in values.items()]
    kind: Any = category
    return SessionConfigOptionSelect(
        id=id, name=name, type="select", category=kind, current_value=value, options=offers
    )


async def _taken(heard: asyncio.Future[Any], value: str) -> None:
    try:
        await heard
    except TimeoutError:
        raise ExpectedError(f"The agent has not taken {one_line(value, 60)} yet.") from None
