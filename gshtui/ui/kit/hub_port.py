"""The hub as the window needs it: a small port, so that the window starts before the hub is even imported.

Owns the protocol and the options of an opening; refuses to import the hub. Implemented by `gshtui.hub.hub.Hub`, used by
`bridge.py`; a test hands in another one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event

if TYPE_CHECKING:
    from gshtui.commands.declaration import Question, Returns, View

R = TypeVar("R")


class OpenRequest(msgspec.Struct, frozen=True):
    """What the command line asked the window to open."""

    cwd: Path
    session: str = ""
    """An id, a prefix of one, or `latest`; empty: a new one, and the last one is offered."""
    agent: str = "main"
    provider: str = ""
    model: str = ""


class Result(Protocol):
    """What a command came to (`gshtui.commands.declaration.Outcome`)."""

    @property
    def data(self) -> Any: ...
    @property
    def text(self) -> str: ...
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
    def message(self) -> Any: ...


class HubPort(Protocol):
    """Everything but the interfaces."""

    @property
    def bus(self) -> Bus: ...
    @property
    def settings(self) -> Any: ...
    @property
    def registry(self) -> Any: ...
    @property
    def store(self) -> Any: ...

    """The record, or `None` where it did not start."""

    @property
    def fleet(self) -> Any: ...

    """Agents in terminals (`terminals.TerminalFleet`), or `None` where that part did not start."""

    @property
    def shell_log(self) -> Any: ...

    """What runs in shells (`note`, `runs.between`, `by_hand.stop`), or `None` where that part did not start."""

    @property
    def shared_shell(self) -> Any: ...

    """The shell that people and agents share (`terminals.SharedShellPort`), or `None` while there is none."""

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    async def run(self, line: str | Returns[Any]) -> Result: ...
    async def call(self, parameters: Returns[R]) -> R: ...
    async def question(self, parameters: Returns[Any]) -> Question | None: ...
    def bound(self, line: str) -> Returns[Any] | None: ...
    def opens(self, line: str) -> str: ...
    def for_row(self, key: str, row: object) -> Returns[object] | None: ...
    def invocation(self, caller: Any, output: Callable[[str], None] | None) -> Any: ...
    async def messages(self, session: str, *, before: int | None = None, limit: int = 200) -> Sequence[Stored]: ...


MakeHub = Callable[[OpenRequest], Awaitable[HubPort]]
"""Makes the hub inside the running loop; it is not yet started."""
