"""Agents' terminals in the window: one tab per agent, or one full screen.

Neither draws nor knows tmux.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gshtui.bus.agent_data import AgentRow
from gshtui.ui.kit.bridge import NotReady
from gshtui.ui.kit.feature import Feature, FeatureRoute
from gshtui.ui.kit.tabs import PaneTabs
from gshtui.ui.kit.widget_messages import OpenTerminal
from gshtui.ui.kit.workbench_port import WorkbenchPort
from gshtui.ui.terminal.terminals import TerminalError, TerminalRegistry

if TYPE_CHECKING:
    from gshtui.ui.terminal.terminal_pane import TerminalPane


class TerminalFeature(Feature):
    """Terminals in tabs."""

    KEYS = ("terminal.shared",)

    def __init__(self, window: WorkbenchPort) -> None:
        super().__init__(window)
        self.terminals = TerminalRegistry(window.bridge.running, window.bridge.opening.cwd)
        self._tabs: PaneTabs[TerminalPane] = PaneTabs(window.deck, "terminal")

    def routes(self) -> Sequence[FeatureRoute[Any]]:
        return (
            FeatureRoute(
                OpenTerminal,
                lambda message: self.window.run_worker(self._show(message), exit_on_error=False, group="terminals"),
            ),
        )

    def press(self, key: str) -> None:
        self.window.post_message(OpenTerminal(OpenTerminal.SHARED))

    async def _show(self, message: OpenTerminal) -> None:
        from gshtui.tmux.tmux_errors import TmuxError

        try:
            await self._open(message.agent, attach=message.attach)
        except (NotReady, TerminalError, TmuxError) as error:
            self.window.notify(str(error), severity="error", markup=False)

    async def _open(self, agent: str, *, attach: bool) -> None:
        """Bring an agent's tab to the front, creating it if needed; `attach`: then show it full screen."""
        from gshtui.ui.terminal.terminal_pane import TerminalPane  # not needed for the first screen

        shared = agent == OpenTerminal.SHARED
        row = await self.terminals.shared() if shared else await self.terminals.row(agent)
        if shared and (opened := self._tabs.find_tab(row.id)) is not None:
            opened.show_row(row)  # it may have been started anew
        title = terminal_tab_title(row)
        pane = await self._tabs.open(row.id, title, lambda: TerminalPane(self.terminals, row, self.window.clock))
        if attach:
            await pane.visit()

    async def end(self) -> None:
        """Stop mirroring."""
        await self.terminals.close()


def terminal_tab_title(row: AgentRow) -> str:
    """Its name in the line of tabs."""
    from gshtui.text.sanitise import one_line  # not before the first letter

    return one_line(row.name or row.id, 24)
