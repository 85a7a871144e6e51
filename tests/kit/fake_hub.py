"""A hub for tests of the window: a real bus, commands that answer what they are told to, nothing behind it.

It keeps the contract of `gshtui.ui.kit.hub_port.HubPort`; `said` holds every intent that the window published.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import HubStarted
from gshtui.commands import execution
from gshtui.commands.declaration import Caller, Invocation, Question, Returns, UnknownCommand, View
from gshtui.commands.registry import Registry
from gshtui.context.commands import context_commands, view_calls, view_commands
from gshtui.fleet import commands as fleet_commands
from gshtui.store.session_calls import ListSessions
from gshtui.tools import commands as tool_commands
from gshtui.tools.workspace import ToolConfig
from gshtui.ui.kit.hub_port import OpenRequest
from tests.kit.our_contexts import ours_alone


@dataclass(frozen=True)
class Answer:
    """What a command came to."""

    data: Any = None
    text: str = ""
    is_error: bool = False
    intent: Event | None = None
    shown: bool = False
    view: View | None = None


T = TypeVar("T")

OPENS = {"model": "models", "session": "sessions", "resume": "sessions", "spawn": "spawn", "context": "inspect"}
"""What bare names open, as the commands declare it."""


@cache
def declared_keys() -> Registry:
    """Commands of agents and worktrees, for the keys that they declare; none of them can be run."""
    return Registry([*fleet_commands.commands(cast("Any", None)), *tool_commands.commands(ToolConfig())])


LOOKING = (
    ListSessions, view_calls.CompareContexts, view_calls.ForecastContext, view_calls.ReadContext,
    view_calls.ReadIterations, view_calls.ReadReceipts, view_calls.ReadRequest, view_calls.ReadText,
    view_commands.CarryParameters,
)  # fmt: skip
"""What panes look up by themselves, as events come in."""


class FakeRegistry(list[Any]):
    """Commands to iterate over; by name it has those that can be called."""

    known: Registry

    def __contains__(self, name: object) -> bool:
        return name in self.known


def _of(told: Mapping[Any, T], parameters: Returns[Any], default: T) -> T:
    """What is told of parameters; those with lists have no hash."""
    return next((value for key, value in told.items() if key == parameters), default)


@dataclass
class FakeHub:
    """See the module. `answers`: line, or the words of a value → what it comes to, or what it raises."""

    opening: OpenRequest
    answers: dict[str, Answer | Exception] = field(default_factory=dict)
    fails: Exception | None = None
    """What `start` raises."""
    gate: asyncio.Event | None = None
    """`start` waits for it."""
    theme: str = "gsh-dark"
    keybindings: dict[str, str] = field(default_factory=dict)
    store: Any = None
    service: Any = None
    """What answers about contexts (`tests.kit.recorded_contexts`)."""

    log_of_shells: Any = None
    values: Mapping[str, Returns[Any]] = field(default_factory=dict[str, Returns[Any]])
    """Line → the value that it comes down to."""
    questions: Mapping[Any, Question | Exception] = field(default_factory=dict[Any, Question | Exception])
    """Value → what is asked about it."""
    results: Mapping[Any, Any] = field(default_factory=dict[Any, Any])
    """Value → what a call gives or raises, or what running it comes to (an `Answer`)."""
    commands: Registry | None = None
    """Real commands, for whatever they know; by default those about contexts, on `service`."""

    def __post_init__(self) -> None:
        self.bus = Bus()
        self.registry: Any = FakeRegistry()
        self.fleet: Any = None
        self.shared_shell: Any = None
        self.shell_log: Any = self.log_of_shells
        ui = SimpleNamespace(theme=self.theme, fps=60, notifications=["badge", "bell", "desktop"], editor="")
        self.settings: Any = SimpleNamespace(ui=ui, keybindings=self.keybindings)
        self.ran: list[Any] = []
        """Every line and value that does something or is shown, in order: what panes look up is not in it."""
        if self.service is not None:
            self.service.publish = self.bus.publish
        if self.commands is None:
            made = context_commands.commands(ours_alone(self.service), None) if self.service is not None else ()
            self.commands = Registry(made)
        self.registry.known = self.commands
        self.said: list[Event] = []
        self.stopped = False
        self.bus.subscribe(self.said.extend, name="test")

    @property
    def shell_rows(self) -> Any:
        return self.store.shells if self.store is not None else None

    @property
    def sent_prompts(self) -> Any:
        return self.store.prompts if self.store is not None else None

    async def start(self) -> None:
        if self.gate is not None:
            await self.gate.wait()
        if self.fails is not None:
            raise self.fails
        self.bus.publish(HubStarted(cwd=str(self.opening.cwd), project=str(self.opening.cwd), branch="main"))

    async def stop(self) -> None:
        self.stopped = True
        await self.bus.close()

    async def run(self, line: str | Returns[Any]) -> Any:
        self.ran.append(line)
        if not isinstance(line, str):
            if self._knows(line):
                return await execution.run_value(self._commands, line, self._invocation())
            answer = _of(self.results, line, Answer())
        else:
            answer = self.answers.get(line, Answer())
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def call(self, parameters: Returns[Any]) -> Any:
        if not isinstance(parameters, LOOKING):
            self.ran.append(parameters)
        if self._knows(parameters):
            return await execution.call(self._commands, parameters, self._invocation())
        missing = UnknownCommand(f"There is no command {parameters.COMMAND!r}.")
        result = _of(self.results, parameters, self.answers.get(parameters.words(), missing))
        if isinstance(result, Answer):
            return result.data
        if isinstance(result, Exception):
            raise result
        return result

    async def question(self, parameters: Returns[Any]) -> Question | None:
        if self._knows(parameters):
            return await execution.question(self._commands, parameters, self._invocation())
        question = _of(self.questions, parameters, None)
        if isinstance(question, Exception):
            raise question
        return question

    def bound(self, line: str) -> Returns[Any] | None:
        words = line.removeprefix("/").split()
        if words and words[0] in self._commands:
            return execution.bound(self._commands, line)
        return self.values.get(line)

    def for_row(self, key: str, row: object) -> Returns[object] | None:
        return declared_keys().for_row(key, row)

    def opens(self, line: str) -> str:
        return OPENS.get(line.removeprefix("/").strip(), "")

    @property
    def _commands(self) -> Registry:
        assert self.commands is not None
        return self.commands

    def _knows(self, parameters: Returns[Any]) -> bool:
        return parameters.COMMAND in self._commands

    def _invocation(self) -> Invocation:
        return Invocation(Caller(), self.opening.cwd, self.opening.cwd, agent=self.opening.agent)

    def invocation(self, caller: Any, output: Callable[[str], None] | None) -> Any:
        return SimpleNamespace(caller=caller)

    async def messages(self, session: str, *, before: int | None = None, limit: int = 200) -> Sequence[Any]:
        return ()

    def intents(self, kind: type[Event]) -> list[Event]:
        """The events of a type, in order."""
        return [event for event in self.said if isinstance(event, kind)]
