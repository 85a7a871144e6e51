"""A hub for tests of the window: a real bus, commands that answer what they are told to, nothing behind it.

It has what `gshtui.hub.faces.window_hub.WindowHub` reads of a hub; `said` holds every event that the window published.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, TypeVar, cast

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import HubStarted
from gshtui.client.window_calls import WindowCalls
from gshtui.client.window_protocol import OpenRequest
from gshtui.commands import execution
from gshtui.commands.declaration import Caller, Invocation, Outcome, Question, Returns, UnknownCommand
from gshtui.commands.evaluation import Ask
from gshtui.commands.registry import Registry
from gshtui.context.commands import context_commands, view_calls, view_commands
from gshtui.fleet.commands import agent_commands as fleet_commands
from gshtui.fleet.commands.worktree_commands import TearDown
from gshtui.fleet.commands.worktree_commands import commands as worktree_commands
from gshtui.hub.faces.window_hub import WindowHub
from gshtui.settings.model import Settings
from gshtui.settings.settings_tables import Ui
from gshtui.store.sessions.session_calls import ListSessions
from gshtui.tools import commands as tool_commands
from gshtui.tools.files.workspace import ToolConfig
from gshtui.tools.git import hunk_commands
from gshtui.tools.git.worktree_setup import no_consent
from tests.kit.own_contexts import router_without_programs
from tests.kit.recorded_contexts import RecordedContexts

if TYPE_CHECKING:
    from gshtui.bus.agent_data import AgentRow
    from gshtui.bus.shell_data import Ran
    from gshtui.bus.shell_rows import Filter, Span
    from gshtui.tmux.panes import PaneInfo
    from gshtui.tmux.server import TmuxServer


Answer = Outcome
"""What a command came to."""


class ShellRows(Protocol):
    """The rows of the shell log in the record. Each method raises `gshtui.store.engine.store_errors.StoreError`."""

    async def rows(self, wanted: Filter, start: int, limit: int) -> Span: ...
    async def output(self, key: str) -> str: ...


class SentPrompts(Protocol):
    """The prompts of a folder in the record. Each method raises `gshtui.store.engine.store_errors.StoreError`."""

    async def find_all(self, cwd: str | None, limit: int = 1_000) -> list[str]: ...
    async def add(self, cwd: str, text: str) -> None: ...


class UserCommands(Protocol):
    """The running input-line commands."""

    def stop(self) -> bool:
        """Stop the newest; returns whether there was one."""
        ...


class UserCommandRecord(Protocol):
    """The commands run from input lines."""

    async def between(self, session: str, after: float, before: float) -> Sequence[Ran]: ...


class ShellLogPort(Protocol):
    """The log of shell commands."""

    @property
    def by_hand(self) -> UserCommands: ...
    @property
    def runs(self) -> UserCommandRecord: ...
    async def add_note(self, text: str, cwd: str = "") -> None: ...


class TerminalServers(Protocol):
    """tmux servers by socket (`gshtui.fleet.core.agent_terminals.AgentTerminals`)."""

    def server(self, socket: str) -> TmuxServer: ...


class TerminalFleet(Protocol):
    """Agents in terminals (`fleet/lifecycle/fleet.py`), watched directly because their screens are streams."""

    @property
    def terminals(self) -> TerminalServers: ...
    def get(self, id: str) -> AgentRow | None: ...


class SharedShellPort(Protocol):
    """The shell that people and agents share (`gshtui.fleet.terminal_tools.shared_shell.SharedShell`)."""

    @property
    def server(self) -> TmuxServer: ...
    @property
    def session(self) -> str: ...
    async def open(self, cwd: Path) -> PaneInfo:
        """Its pane, created if missing. Raises `gshtui.tmux.tmux_errors.TmuxError`."""
        ...

    async def rests(self, pane: str) -> bool:
        """Whether its shell waits at its prompt. Raises `gshtui.tmux.tmux_errors.TmuxError`."""
        ...


T = TypeVar("T")

OPENS = {
    "model": "models",
    "session": "sessions",
    "resume": "sessions",
    "spawn": "spawn",
    "context": "inspect",
    "calls": "calls",
    "mcp": "servers",
    "workflow": "workflows",
    "rewind": "rewind",
}
"""What bare names open, as the commands declare it."""


@cache
def declared_keys() -> Registry:
    """Commands of agents, worktrees and contexts, for the keys that they declare; none of them can be run."""
    nothing: Any = None
    return Registry(
        [
            *fleet_commands.commands(nothing),
            *worktree_commands(nothing, TearDown((), no_consent, Path())),
            *tool_commands.commands(ToolConfig(os.environ)),
            *hunk_commands.commands(1),
            *context_commands.commands(nothing, None),
        ]
    )


LOOKING = (
    ListSessions,
    view_calls.CompareContexts,
    view_calls.ForecastContext,
    view_calls.ReadContext,
    view_calls.ReadIterations,
    view_calls.ReadReceipts,
    view_calls.ReadRequest,
    view_calls.ReadText,
    view_commands.CarryParameters,
)
"""What panes look up by themselves, as events come in."""


class FakeRegistry(Registry):
    """No commands to iterate over, until a test registers some; by name it has those that can be called."""

    def __init__(self, known: Registry) -> None:
        super().__init__()
        self.known = known

    def __contains__(self, name: object) -> bool:
        return name in self.known


class FakeStore(Protocol):
    """The parts of a record that a window reads by itself (`tests.kit.recorded_shell.FakeRecord`)."""

    @property
    def shells(self) -> ShellRows: ...
    @property
    def prompts(self) -> SentPrompts: ...


class HubOptions(TypedDict, total=False):
    """Fields of a `FakeHub` that a window under test hands on."""

    fails: Exception | None
    gate: asyncio.Event | None
    theme: str
    diff_columns: Literal["auto", "one"]
    keybindings: dict[str, str]
    store: FakeStore | None
    service: RecordedContexts | None
    stored: list[Any]
    linked: set[str]
    reading: asyncio.Event | None
    shell_log: ShellLogPort | None
    values: Mapping[str, Returns[Any]]
    questions: Mapping[Any, Question | Exception]
    results: Mapping[Any, Any]
    commands: Registry | None


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
    diff_columns: Literal["auto", "one"] = "auto"
    keybindings: dict[str, str] = field(default_factory=dict)
    store: FakeStore | None = None
    stored: list[Any] = field(default_factory=list[Any])
    """The messages of every conversation."""
    reading: asyncio.Event | None = None
    """Reading messages waits for it."""
    linked: set[str] = field(default_factory=set[str])
    """The agents in processes of their own whose events arrive here."""
    service: RecordedContexts | None = None
    """What answers about contexts."""
    shell_log: ShellLogPort | None = None
    values: Mapping[str, Returns[Any]] = field(default_factory=dict[str, Returns[Any]])
    """Line → the value that it comes down to."""
    questions: Mapping[Any, Question | Exception] = field(default_factory=dict[Any, Question | Exception])
    """Value → what is asked about it."""
    results: Mapping[Any, Any] = field(default_factory=dict[Any, Any])
    """Value → what a call gives or raises, or what running it comes to (an `Answer`)."""
    kept: set[str] = field(default_factory=set[str])
    """The prompts that its record has."""
    commands: Registry | None = None
    """Real commands, for whatever they know; by default those about contexts, on `service`."""

    def __post_init__(self) -> None:
        self.bus = Bus()
        self.fleet: TerminalFleet | None = None
        self.shared_shell: SharedShellPort | None = None
        ui = Ui.model_construct(
            theme=self.theme,
            fps=60,
            notifications=["badge", "bell", "desktop"],
            editor="",
            diff_columns=self.diff_columns,
        )
        self.settings = Settings.model_construct(ui=ui, keybindings=self.keybindings)
        self.fronts: list[tuple[Any, str]] = []
        """Every line and value that was run, and the agent of the tab in front."""
        self.ran: list[Any] = []
        """Every line and value that does something or is shown, in order: what panes look up is not in it."""
        if self.service is not None:
            self.service.publish = self.bus.publish
        if self.commands is None:
            made = (
                context_commands.commands(router_without_programs(self.service), None)
                if self.service is not None
                else ()
            )
            self.commands = Registry(made)
        self.registry: Registry = FakeRegistry(self.commands)
        self.said: list[Event] = []
        self.stopped = False
        self.bus.subscribe(self.said.extend, name="test")

    @property
    def shell_rows(self) -> ShellRows | None:
        return self.store.shells if self.store is not None else None

    @property
    def sent_prompts(self) -> SentPrompts | None:
        return self.store.prompts if self.store is not None else None

    async def start(self) -> None:
        if self.gate is not None:
            await self.gate.wait()
        if self.fails is not None:
            raise self.fails
        self.bus.publish(HubStarted(cwd=str(self.opening.cwd), project=str(self.opening.cwd), branch="main"))

    async def known_prompts(self, prompts: Sequence[str]) -> list[str]:
        return [prompt for prompt in prompts if prompt in self.kept]

    async def keep_prompts(self) -> None:
        """They are kept by themselves."""

    def cease(self) -> None:
        """Nothing starts here."""

    async def stop(self) -> None:
        self.stopped = True
        await self.bus.close()

    def split_line(self, line: str) -> list[str]:
        return [line]

    async def run(self, line: str | Returns[Any], *, ask: Ask | None = None, front: str = "") -> Any:
        self.ran.append(line)
        self.fronts.append((line, front))
        if not isinstance(line, str):
            if self._knows(line):
                return await execution.run_value(self._commands, line, self._invocation())
            answer = _of(self.results, line, Answer())
        else:
            answer = self.answers.get(line, Answer())
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def call(self, parameters: Returns[Any], *, front: str = "") -> Any:
        if parameters.COMMAND == "model":
            self.fronts.append((parameters, front))
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

    async def question(self, parameters: Returns[Any], *, front: str = "") -> Question | None:
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
        own = None if self.commands is None else self.commands.for_row(key, row)
        return declared_keys().for_row(key, row) if own is None else own

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

    def invocation(self, caller: Caller, output: Callable[[str], None] | None = None) -> Invocation:
        return Invocation(caller, self.opening.cwd, self.opening.cwd, agent=self.opening.agent)

    async def messages(self, session: str, *, before: int | None = None, limit: int = 200) -> Sequence[Any]:
        if self.reading is not None:
            await self.reading.wait()
        return [one for one in self.stored if before is None or one.seq < before][-limit:]

    async def newer_messages(self, session: str, after: int, limit: int = 1_000) -> Sequence[Any]:
        return [one for one in self.stored if one.seq > after][:limit]

    async def last_turn(self, session: str) -> None:
        """No turn is in the record."""

    def connected(self, agent: str) -> bool:
        return agent in self.linked

    def intents(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.said if isinstance(event, kind)]


def door_of(hub: FakeHub) -> WindowCalls:
    """What a window has of this hub."""
    return WindowHub(cast("Any", hub))
