"""The window as its features need it: a feature holds this port, never the app class.

Owns the protocol alone. `gshtui.ui.window.app.Workbench` is it; a feature that needs more extends it where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget

from gshtui.bus.event import Event
from gshtui.ui.kit.bridge import Bridge
from gshtui.ui.kit.widget_messages import Unsent
from gshtui.ui.kit.widgets.tabs import Deck

if TYPE_CHECKING:
    from gshtui.commands.declaration import Returns

R = TypeVar("R")
T = TypeVar("T")


class WorkbenchPort(Protocol):
    """One window on one folder."""

    bridge: Bridge

    @property
    def front(self) -> str:
        """The agent in front."""
        ...

    @property
    def room(self) -> str:
        """The call in which typed lines are; empty: in none."""
        ...

    @property
    def addressed(self) -> str:
        """The one of our own agents that prompts go to, or else the one in front."""
        ...

    @property
    def bench(self) -> Screen[Any]:
        """The main screen; dialogs lie above it."""
        ...

    @property
    def input_line(self) -> Widget:
        """The widget that takes the focus by default."""
        ...

    @property
    def deck(self) -> Deck:
        """The tabs of the centre."""
        ...

    @property
    def session(self) -> str:
        """The conversation in front; empty: unknown so far."""
        ...

    def clock(self) -> float:
        """Seconds since the epoch."""
        ...

    def publish(self, event: Event) -> None:
        """Publish an intent; notify the person if there is no hub."""
        ...

    def perform(
        self, parameters: Returns[object], then: Callable[[], None] | None = None, *, unsent: Unsent | None = None
    ) -> None:
        """Run a command by its parameters: ask what it asks, and show its outcome. `then`: called once it has run or
        failed; not if the person said no.
        """
        ...

    def run_command(self, line: str) -> None:
        """The same with a line of the command language."""
        ...

    async def result_of(self, parameters: Returns[R]) -> R | None:
        """The result of a command that lists something; `None`: unavailable."""
        ...

    def give_back(self, text: str, whose: str | None = None) -> None:
        """Put what was typed and not sent into the input; `whose`: the `Addressee.key` of those for whom it was."""
        ...

    @property
    def is_writing(self) -> bool:
        """Whether something is being written in the input line: then only the person's own key or click brings a tab
        to the front.
        """
        ...

    @property
    def input_text(self) -> str:
        """What is written in the input line."""
        ...

    def write(self, text: str) -> None:
        """Put text into the input line for the person to finish."""
        ...

    def show_outcome(self, line: str, text: str, *, failed: bool = False) -> bool:
        """Show in the conversation what a typed command has answered, in Markdown; False: it is not open yet."""
        ...

    def show_chat(self) -> None:
        """Go to the conversation in front."""
        ...

    def show_centre(self) -> None:
        """End the zoom of a side pane, so that a tab can be seen."""
        ...

    def bring(self, work: Coroutine[Any, Any, bool | None], *, group: str, exclusive: bool = False) -> None:
        """Run what brings something to the front, in a worker: keys typed meanwhile wait, and go there.

        It ends as soon as that is in front, and with False if nothing will be, when they are dropped; what it does
        afterwards is another worker's.
        """
        ...

    # What Textual's app does

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: Literal["information", "warning", "error"] = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None: ...

    async def run_action(self, action: str) -> bool: ...

    def post_message(self, message: Message) -> bool: ...

    def copy_to_clipboard(self, text: str) -> None: ...

    def run_worker(
        self,
        work: Coroutine[Any, Any, None],
        *,
        group: str = "default",
        exit_on_error: bool = True,
        exclusive: bool = False,
    ) -> object: ...

    def push_screen(self, screen: Screen[T], callback: Callable[[T | None], None] | None = None) -> object: ...

    def call_after_refresh(self, callback: Callable[[], Any]) -> bool: ...
