"""MCP servers whose tools agents use."""

from __future__ import annotations

from collections.abc import Hashable

from gshtui.bus.event import Event


class ToolServerChanged(Event, frozen=True, kw_only=True):
    """A server of this hub has another state, or what is known of it is different; `mcp show NAME` has it whole."""

    server: str
    state: str = ""
    """off, starting, ready, waiting or failed; empty: it was added, removed or configured anew."""

    def merge_key(self) -> Hashable | None:
        return ("ToolServerChanged", self.server)
