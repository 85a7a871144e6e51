"""The terminal tabs of the window: opened once an agent, brought to the front, closed; and the whole screen for one.

Owns which agents have a tab; refuses to draw and to know tmux. Called by the app for what the sidebar, the palette and
keys ask for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from gshtui.bus.agent_data import AgentRow
from gshtui.ui.kit.tabs import Deck
from gshtui.ui.kit.widget_messages import OpenTerminal
from gshtui.ui.terminal.terminals import TerminalRegistry

if TYPE_CHECKING:
    from gshtui.ui.terminal.terminal_pane import TerminalPane


class TerminalTabs:
    """Tabs in a deck.

    Args:
        clock: seconds since the epoch.
    """

    def __init__(self, deck: Deck, terminals: TerminalRegistry, clock: Callable[[], float]) -> None:
        self.terminals = terminals
        self._deck = deck
        self._clock = clock
        self._panes: dict[str, TerminalPane] = {}

    async def open(self, agent: str, *, attach: bool = False) -> None:
        """Bring an agent's tab to the front, made if there is none; `attach`: then give it the whole screen.

        Raises:
            TerminalError: there is no such terminal.
            gshtui.ui.kit.bridge.NotReady: there is no hub.
            gshtui.tmux.tmux_errors.TmuxError: the shared shell could not be started.
        """
        shared = agent == OpenTerminal.SHARED
        row = await self.terminals.shared() if shared else await self.terminals.row(agent)
        tab = terminal_tab(row.id)
        if tab not in self._panes:
            from gshtui.ui.terminal.terminal_pane import TerminalPane  # what no first screen needs

            self._panes[tab] = TerminalPane(self.terminals, row, self._clock)
            await self._deck.open(tab, terminal_tab_title(row), self._panes[tab])
        elif shared:
            self._panes[tab].show_row(row)  # it may have been started anew
        self._deck.show(tab)
        self.focus(tab)
        if attach:
            await self._panes[tab].visit()

    async def close(self, agent: str) -> None:
        """Take an agent's tab away; the agent goes on."""
        tab = terminal_tab(agent)
        if self._panes.pop(tab, None) is not None:
            await self._deck.close(tab)

    def focus(self, tab: str) -> bool:
        """Go to the terminal of a tab; False: it is none of a terminal."""
        pane = self._panes.get(tab)
        if pane is not None:
            pane.view.focus()
        return pane is not None

    async def end(self) -> None:
        """The window goes: stop mirroring."""
        await self.terminals.close()


def terminal_tab(agent: str) -> str:
    """The tab's name, which is a widget's id too."""
    return f"terminal-{re.sub(r'[^a-zA-Z0-9_-]', '_', agent)}"


def terminal_tab_title(row: AgentRow) -> str:
    """What the line of tabs calls it."""
    from gshtui.text.sanitise import one_line  # not before the first letter

    return one_line(row.name or row.id, 24)
