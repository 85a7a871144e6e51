"""The inspectors of the window: one tab an agent, opened, moved to a request or a section, and closed.

Owns which agents have one; refuses to draw and to read.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from gshtui.ui.kit.tabs import Deck

if TYPE_CHECKING:
    from gshtui.ui.context.inspector_pane import InspectorPane


class InspectorTabs:
    """Tabs in a deck.

    Args:
        source: gives the context service (`context_port.ContextService`).
        clock: seconds since the epoch.
    """

    def __init__(self, deck: Deck, source: Callable[[], Awaitable[Any]], clock: Callable[[], float]) -> None:
        self._deck = deck
        self._source = source
        self._clock = clock
        self._panes: dict[str, InspectorPane] = {}

    async def open(self, agent: str, name: str, *, at: str = "", section: str = "") -> InspectorPane:
        """Bring an agent's inspector to the front, made if there is none, at this iteration and with this section."""
        from gshtui.text.sanitise import one_line
        from gshtui.ui.context.inspector_pane import InspectorPane  # what no first screen needs

        tab = inspector_tab(agent)
        if tab not in self._panes:
            self._panes[tab] = InspectorPane(agent, name, self._source, self._clock, at, section)
            await self._deck.open(tab, f"◫ {one_line(name, 20)}", self._panes[tab])
        else:
            self._panes[tab].show_at(at, section)
        self._deck.show(tab)
        self.focus(tab)
        return self._panes[tab]

    async def close(self, agent: str) -> None:
        """Take an agent's inspector away."""
        tab = inspector_tab(agent)
        if self._panes.pop(tab, None) is not None:
            await self._deck.close(tab)

    def focus(self, tab: str) -> bool:
        """Go to the inspector of a tab; False: it is none."""
        pane = self._panes.get(tab)
        if pane is not None:
            pane.view.focus()
        return pane is not None

    def of(self, agent: str) -> InspectorPane | None:
        """The inspector of an agent, where it has one."""
        return self._panes.get(inspector_tab(agent))


def inspector_tab(agent: str) -> str:
    """The tab's name, which is a widget's id too."""
    return f"inspector-{re.sub(r'[^a-zA-Z0-9_-]', lambda match: f'_{ord(match.group()):x}', agent)}"
