"""MCP servers whose tools agents use."""

from __future__ import annotations

from collections.abc import Hashable

from gshtui.bus.event import Event


class ToolServerChanged(Event, frozen=True, kw_only=True):
    """A server has another state, or what is known of it is different; `mcp show NAME` has it whole."""

    server: str
    state: str = ""
    """off, starting, ready, waiting or failed; empty: it was added, removed or configured anew."""
    agent: str = ""
    """The agent whose own hub started it; empty: this hub."""

    def merge_key(self) -> Hashable | None:
        return ("ToolServerChanged", self.server, self.agent)
