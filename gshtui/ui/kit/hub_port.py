"""The hub as the window needs it: a small port, so that the window can start before the hub is imported.

Owns the protocol and the opening's options; does not import the hub. Implemented by `gshtui.hub.hub.Hub`, used by
`bridge.py`; tests pass their own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from gshtui.bus.agent_data import GuardMode
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event

if TYPE_CHECKING:
    from gshtui.bus.agent_data import AgentRow
    from gshtui.bus.messages import Message
    from gshtui.bus.shell_data import Ran
    from gshtui.bus.shell_rows import Filter, Span
    from gshtui.commands.declaration import Caller, Invocation, Question, Returns, View
    from gshtui.commands.evaluation import Ask
    from gshtui.commands.registry import Registry
    from gshtui.settings.model import Settings
    from gshtui.tmux.panes import PaneInfo
    from gshtui.tmux.server import TmuxServer

R = TypeVar("R")


class OpenRequest(msgspec.Struct, frozen=True):
    """What the command line asked to open."""

    cwd: Path
    session: str = ""
    """An id, a prefix of one, or `latest`; empty: a new conversation, with the last one offered."""
    agent: str = "main"
    provider: str = ""
    model: str = ""
    mode: GuardMode | None = None
    """The mode in which the agents begin; `None`: as the settings say."""
    pane: str = ""
    """The pane to show and go to; empty: the input."""


class Result(Protocol):
    """The outcome of a command (`gshtui.commands.declaration.Outcome`)."""

    @property
    def text(self) -> str: ...
    @property
    def full(self) -> str: ...
    @property
    def is_error(self) -> bool: ...
    @property
    def intent(self) -> Event | None: ...
    @property
    def shown(self) -> bool: ...
    @property
    def view(self) -> View | None: ...


class Stored(Protocol):
    """A message with its place in the log (`gshtui.store`'s `StoredMessage`)."""

    @property
    def seq(self) -> int: ...
    @property
    def message(self) -> Message: ...


class ShellRows(Protocol):
    """The rows of the shell log in the record. Each method raises `gshtui.store.store_errors.StoreError`."""

    async def rows(self, wanted: Filter, start: int, limit: int) -> Span: ...
    async def output(self, key: str) -> str: ...


class SentPrompts(Protocol):
    """The prompts of a folder in the record. Each method raises `gshtui.store.store_errors.StoreError`."""

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
    """tmux servers by socket (`gshtui.fleet.agent_terminals.AgentTerminals`)."""

    def server(self, socket: str) -> TmuxServer: ...


class TerminalFleet(Protocol):
    """Agents in terminals (`gshtui.fleet.fleet.Fleet`), watched directly because their screens are streams."""

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


class HubPort(Protocol):
    """Everything except the interfaces. A part that is `None` did not start."""

    @property
    def bus(self) -> Bus: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def registry(self) -> Registry: ...
    @property
    def shell_rows(self) -> ShellRows | None: ...
    @property
    def sent_prompts(self) -> SentPrompts | None: ...
    @property
    def fleet(self) -> TerminalFleet | None: ...
    @property
    def shell_log(self) -> ShellLogPort | None: ...
    @property
    def shared_shell(self) -> SharedShellPort | None: ...

    async def start(self) -> None: ...
    def cease(self) -> None: ...
    async def stop(self) -> None: ...
    async def run(self, line: str | Returns[object], *, ask: Ask | None = None, front: str = "") -> Result: ...
    def split_line(self, line: str) -> list[str]: ...
    async def call(self, parameters: Returns[R]) -> R: ...
    async def question(self, parameters: Returns[object], *, front: str = "") -> Question | None: ...
    def bound(self, line: str) -> Returns[object] | None: ...
    def opens(self, line: str) -> str: ...
    def for_row(self, key: str, row: object) -> Returns[object] | None: ...
    def invocation(self, caller: Caller, output: Callable[[str], None] | None = None) -> Invocation: ...
    async def messages(self, session: str, *, before: int | None = None, limit: int = 200) -> Sequence[Stored]: ...
    async def newer_messages(self, session: str, after: int, limit: int = 1_000) -> Sequence[Stored]: ...
    def connected(self, name: str) -> bool:
        """Whether an agent's own process is linked to this hub: its events arrive here, and prompts reach it."""
        ...


MakeHub = Callable[[OpenRequest], Awaitable[HubPort]]
"""Creates the hub inside the running loop, without starting it."""
