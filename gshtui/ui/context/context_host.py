"""What the parts of the context feature need of each other and of the window: ports, and a request to act on a row.

Which commands fit a row is declared with them (`Action.where`); `ContextFeature` performs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec
from textual.widget import Widget

from gshtui.bus.context_data import Block, Iteration
from gshtui.bus.events.context_events import ContextCut
from gshtui.ui.kit.widget_messages import FeatureMessage
from gshtui.ui.kit.workbench_port import WorkbenchPort

if TYPE_CHECKING:
    from gshtui.commands.declaration import Returns
    from gshtui.ui.kit.widgets.dialogs import PickerChoice


class ContextRow(msgspec.Struct, frozen=True):
    """An agent's context, and the place of the cursor in it."""

    agent: str
    at: str = ""
    """Id of a request; empty: the next one."""
    cut: str = ""
    """Id of a cut that an undo would take back; empty: none."""
    block: Block | None = None


class ContextWanted(FeatureMessage):
    """The action of a key is wanted for a row, or the pane's menu."""

    def __init__(self, key: str, row: ContextRow) -> None:
        super().__init__()
        self.key = key
        self.row = row


R = TypeVar("R")


class ContextHost(WorkbenchPort, Protocol):
    """The window as this feature needs it."""

    def agent_names(self) -> Mapping[str, str]:
        """Every agent the window knows: id → name."""
        ...

    def show_cut(self, cut: ContextCut) -> None:
        """Show the size of a context since this cut, wherever else it stands."""
        ...

    def show_restored(self, agent: str, iterations: Sequence[Iteration]) -> None:
        """Show the totals of an agent's earlier requests in the header and the agents list."""
        ...

    async def mount_above_input(self, panel: Widget) -> None:
        """Put a panel between the conversation and the input."""
        ...

    async def model_choices(self) -> list[PickerChoice]:
        """The models to choose from."""
        ...


class ContextViews(Protocol):
    """The feature, as its dialogs see it."""

    async def call(self, parameters: Returns[R]) -> R:
        """Call a command about contexts; returns its typed result. Raises `NotReady`, `CommandError`."""
        ...

    def name_of(self, agent: str) -> str:
        """An agent's name, with its id if that differs."""
        ...

    async def open_inspector(self, agent: str, at: str = "", section: str = "") -> None:
        """Bring an agent's inspector to the front, at this request and with this section."""
        ...

    async def compare(self, agent: str, other: str, iteration: str) -> None:
        """Compare what an agent's inspector shows with a request of this or another agent."""
        ...
