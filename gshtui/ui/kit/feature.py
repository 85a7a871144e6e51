"""A feature of the window: it acts on its keys and on the requests of its widgets.

The window holds its features and hands them keys, messages and
events. A feature imports its dialogs and tabs when it first shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from gshtui.ui.kit.bridge import EventConsumer
from gshtui.ui.kit.widget_messages import FeatureMessage
from gshtui.ui.kit.workbench_port import WorkbenchPort

M = TypeVar("M", bound=FeatureMessage)


class FeatureRoute(msgspec.Struct, Generic[M], frozen=True):
    """A kind of widget message that a feature handles, and its handler."""

    kind: type[M]
    handle: Callable[[M], object]

    def handle_message(self, message: FeatureMessage) -> None:
        """Handle the message, if it is of this kind."""
        if isinstance(message, self.kind):
            self.handle(message)


class Feature:
    """One feature. It does nothing until asked."""

    KEYS: ClassVar[tuple[str, ...]] = ()
    """Rows of the key table that it handles wherever the focus is."""
    OPENS: ClassVar[dict[str, str]] = {}
    """What a command's bare name opens here (`Command.opens`), with the key that opens it too."""
    PALETTE: ClassVar[tuple[str, ...]] = ()
    """Keys of its panes that the palette also offers, for the agent in front."""
    WORDS: ClassVar[dict[str, str]] = {}
    """Lines that the window itself handles, with the equivalent key."""

    def __init__(self, window: WorkbenchPort) -> None:
        self.window = window

    def run_work(self, work: Coroutine[Any, Any, None], group: str, *, exclusive: bool = False) -> None:
        """Run this in a worker; what it raises does not end the window."""
        self.window.run_worker(work, group=group, exit_on_error=False, exclusive=exclusive)

    def warn(self, words: str) -> None:
        """Notify the person of what did not work."""
        self.window.notify(words, severity="warning", markup=False)

    def press(self, key: str) -> None:
        """Run the action of a key of `KEYS` or `PALETTE`."""
        raise KeyError(key)

    def routes(self) -> Sequence[FeatureRoute[Any]]:
        """The messages that it handles."""
        return ()

    def watchers(self) -> Sequence[EventConsumer]:
        """Its event consumers besides the widgets on the screen."""
        return ()

    async def end(self) -> None:
        """The window is closing."""
