"""The window's actions on MCP servers: their tab, and adding one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gshtui.ui.kit.feature import Feature
from gshtui.ui.kit.row_actions import RowActions
from gshtui.ui.kit.widgets.tabs import PaneTabs
from gshtui.ui.kit.workbench_port import WorkbenchPort

if TYPE_CHECKING:
    from gshtui.mcp_client.mcp_calls import ServerRow
    from gshtui.ui.servers.servers_tab import ServersTab


class ServersFeature(Feature):
    """Servers of tools."""

    KEYS = ("app.servers",)
    OPENS = {"servers": "app.servers"}

    def __init__(self, window: WorkbenchPort) -> None:
        super().__init__(window)
        self._tabs: PaneTabs[ServersTab] = PaneTabs(window.deck, "servers")
        self.rows: RowActions[ServerRow] = RowActions(window, ("servers",), ())

    def press(self, key: str) -> None:
        self.window.bring(self._open(), group="servers")

    async def _open(self) -> None:
        from gshtui.ui.servers.servers_tab import ServersTab

        async def load() -> Sequence[ServerRow] | None:
            from gshtui.mcp_client.mcp_calls import ListServers

            found = await self.window.result_of(ListServers())
            return None if found is None else found.rows

        self.window.show_centre()
        await self._tabs.open("mcp", "MCP servers", lambda: ServersTab(load, self._perform))

    def _perform(self, key: str, row: ServerRow | None) -> None:
        if key == "servers.add":
            self._add()
        elif key == "servers.import":
            from gshtui.mcp_client.mcp_calls import ImportServers

            self.window.perform(ImportServers())
        elif row is not None and key == "servers.menu":
            self.rows.show_menu(f"MCP server {row.definition.name}", row)
        elif row is not None:
            words = f"That does not apply to {row.definition.name} now. Press space for the available actions."
            self.rows.perform(key, row, lambda: self.window.notify(words, markup=False, timeout=4))

    def _add(self) -> None:
        from gshtui.ui.kit.widgets.dialogs import InputScreen

        def add(words: str | None) -> None:
            if words and words.strip():
                self.window.run_command(f"/mcp add {words.strip()}")

        hint = "name, options, and command or address: git uvx mcp-server-git"
        self.window.push_screen(InputScreen("Add an MCP server", hint=hint), add)
