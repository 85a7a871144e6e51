"""The inspectors of the window: one tab an agent, opened, moved to a request or a section."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gshtui.ui.kit.tabs import Deck, PaneTabs

if TYPE_CHECKING:
    from gshtui.ui.context.inspector_loader import CommandCaller
    from gshtui.ui.context.inspector_pane import InspectorPane


class InspectorTabs:
    """Tabs in a deck.

    Args:
        hub: where commands are called.
        clock: seconds since the epoch.
    """

    def __init__(self, deck: Deck, hub: CommandCaller, clock: Callable[[], float]) -> None:
        self._hub = hub
        self._clock = clock
        self._tabs: PaneTabs[InspectorPane] = PaneTabs(deck, "inspector")

    async def open(self, agent: str, name: str, *, at: str = "", section: str = "") -> InspectorPane:
        """Bring an agent's inspector to the front, made if there is none, at this iteration and with this section."""
        from gshtui.text.sanitise import one_line
        from gshtui.ui.context.inspector_pane import InspectorPane  # not needed for the first screen

        opened = self._tabs.find_tab(agent)
        if opened is not None:
            opened.show_at(at, section)
        return await self._tabs.open(
            agent,
            f"◫ {one_line(name, 20)}",
            lambda: InspectorPane(agent, name, self._hub, self._clock, at, section),
        )

    def find(self, agent: str) -> InspectorPane | None:
        """The inspector of an agent, where it has one."""
        return self._tabs.find_tab(agent)
