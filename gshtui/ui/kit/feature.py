"""A feature of the window: what it does when one of its keys is pressed or one of its widgets asks for something.

The window holds its features and hands them keys, messages and
events. A feature's dialogs and tabs are imported when they are first shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from gshtui.ui.kit.bridge import EventConsumer
from gshtui.ui.kit.widget_messages import FeatureMessage
from gshtui.ui.kit.workbench_port import WorkbenchPort

M = TypeVar("M", bound=FeatureMessage)


@dataclass(frozen=True, slots=True)
class FeatureRoute(Generic[M]):
    """Which messages of its widgets a feature handles, and how."""

    kind: type[M]
    handle: Callable[[M], object]

    def handle_message(self, message: FeatureMessage) -> None:
        """Handle it, if it is of this kind."""
        if isinstance(message, self.kind):
            self.handle(message)


class Feature:
    """One feature. It does nothing until it is asked to."""

    KEYS: ClassVar[tuple[str, ...]] = ()
    """Rows of the key table that it answers wherever the focus is."""
    OPENS: ClassVar[dict[str, str]] = {}
    """What the bare name of a command opens here (`Command.opens`), with the key that opens it, too."""
    PALETTE: ClassVar[tuple[str, ...]] = ()
    """Keys of its panes that the palette offers, too, for the agent in front."""
    WORDS: ClassVar[dict[str, str]] = {}
    """Lines that are the window's own, with the key that does the same."""

    def __init__(self, window: WorkbenchPort) -> None:
        self.window = window

    def press(self, key: str) -> None:
        """Do what a key of `KEYS` or `PALETTE` does."""
        raise KeyError(key)

    def routes(self) -> Sequence[FeatureRoute[Any]]:
        """The messages that it handles."""
        return ()

    def watchers(self) -> Sequence[EventConsumer]:
        """What of it wants events, beside the widgets on the screen."""
        return ()

    async def end(self) -> None:
        """The window goes."""
