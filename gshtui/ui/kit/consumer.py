"""What a pane implements to be fed by the bridge: the events it wants, and one call a frame with those that came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

from gshtui.bus.event import Event


@runtime_checkable
class EventConsumer(Protocol):
    """A pane that shows what happens. Its view model is a pure reducer; `consume` applies it and refreshes."""

    CONSUMES: ClassVar[tuple[type[Event], ...]]

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame, in order, at least one. Must not block: slice long work over frames."""
        ...
