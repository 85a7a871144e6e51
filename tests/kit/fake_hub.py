"""A hub for tests of the window: a real bus, commands that answer what they are told to, nothing behind it.

It keeps the contract of `gshtui.ui.kit.hub_port.HubPort`; `said` holds every intent that the window published.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.hub import HubStarted
from gshtui.ui.kit.hub_port import OpenRequest


@dataclass(frozen=True)
class Answer:
    """What a command came to."""

    data: Any = None
    text: str = ""
    is_error: bool = False
    intent: Event | None = None
    shown: bool = False


class FakeRegistry(list[Any]):
    """Commands to iterate over."""


@dataclass
class FakeHub:
    """See the module. `answers`: line → what it comes to, or what it raises."""

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

    def __post_init__(self) -> None:
        self.bus = Bus()
        self.registry = FakeRegistry()
        self.fleet: Any = None
        self.shared_shell: Any = None
        self.shell_log: Any = self.log_of_shells
        self.contexts: Any = self.service
        ui = SimpleNamespace(theme=self.theme, fps=60, notifications=["badge", "bell", "desktop"], editor="")
        self.settings = SimpleNamespace(ui=ui, keybindings=self.keybindings)
        self.ran: list[str] = []
        self.said: list[Event] = []
        self.stopped = False
        self.bus.subscribe(self.said.extend, name="test")

    async def start(self) -> None:
        if self.gate is not None:
            await self.gate.wait()
        if self.fails is not None:
            raise self.fails
        self.bus.publish(HubStarted(cwd=str(self.opening.cwd), project=str(self.opening.cwd), branch="main"))

    async def stop(self) -> None:
        self.stopped = True
        await self.bus.close()

    async def run(self, line: str) -> Answer:
        self.ran.append(line)
        answer = self.answers.get(line, Answer())
        if isinstance(answer, Exception):
            raise answer
        return answer

    def invocation(self, caller: Any, output: Callable[[str], None] | None) -> Any:
        return SimpleNamespace(caller=caller)

    async def messages(self, session: str, *, before: int | None = None, limit: int = 200) -> Sequence[Any]:
        return ()

    def intents(self, kind: type[Event]) -> list[Event]:
        """The events of a type, in order."""
        return [event for event in self.said if isinstance(event, kind)]
