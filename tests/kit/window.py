"""A window on a fake hub, for tests that need no agent: the real screen, panes and input, and events that are fed.

`Window.feed` hands events to the panes as the bridge does; nothing here clicks or waits for a time.
"""

import contextlib
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any, TypeVar, Unpack

from textual.app import App
from textual.pilot import Pilot
from textual.widget import Widget

from gshtui.bus.event import Event
from gshtui.client.window_calls import WindowCalls
from gshtui.client.window_protocol import OpenRequest
from gshtui.ui.conversation.conversation_pane import ConversationPane
from gshtui.ui.window.app import Workbench
from gshtui.ui.window.main_area import MainArea, PromptArea
from tests.kit.fake_hub import Answer, FakeHub, HubOptions, door_of

R = TypeVar("R")
NOW = 1_800_000_000.0
"""The pinned clock of these windows, seconds since the epoch."""


class WindowOptions(HubOptions, total=False):
    """What a `Window` takes by name."""

    answers: Mapping[str, Answer | Exception] | None
    branch: str
    session: str


class Window(Workbench):
    """The workbench with a fake hub and a clock that stands still."""

    def __init__(
        self,
        cwd: Path = Path("/src/aurora"),
        *,
        answers: Mapping[str, Answer | Exception] | None = None,
        branch: str = "main",
        session: str = "",
        **hub: Unpack[HubOptions],
    ) -> None:
        self.hub: FakeHub | None = None

        async def make(opening: OpenRequest) -> WindowCalls:
            self.hub = FakeHub(opening, answers=dict(answers or {}), **hub)
            return door_of(self.hub)

        super().__init__(OpenRequest(cwd, session), make, branch=branch)

    def make_centre(self) -> MainArea:
        area = PromptArea(self.front, project=self.bridge.opening.cwd, keep_drafts=False)

        def chat() -> Widget:
            return ConversationPane(self.bridge.messages, agent=self.front)

        return MainArea(chat, area)

    def clock(self) -> float:
        return NOW

    def feed(self, *events: Event) -> None:
        """Give events to whoever wants them, at once."""
        self.bridge.feed(list(events))


async def settled(pilot: Pilot[Any]) -> None:
    """Wait until messages and workers rest, those too that were started by what others brought."""
    await pilot.pause()
    while True:
        await pilot.app.workers.wait_for_complete()  # pyright: ignore[reportUnknownMemberType]
        await pilot.pause()
        if all(worker.is_finished for worker in pilot.app.workers):  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            return


@contextlib.asynccontextmanager
async def at_rest(app: App[R], size: tuple[int, int] = (80, 24)) -> AsyncGenerator[Pilot[R]]:
    """The app in a terminal of this size (columns, rows), settled."""
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        yield pilot
