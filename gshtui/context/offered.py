"""Which tools a model with a small window is offered: the most useful ones that leave room for a conversation. Pure.

Owns the order of usefulness; refuses nothing to a model with room for all. Called by the engine.
"""

from __future__ import annotations

from collections.abc import Sequence

from gshtui.context.blocks import tool_text
from gshtui.context.tokens import text_tokens
from gshtui.providers.port import ToolSpec

FIRST = ("bash", "read", "edit", "write", "grep", "glob", "output", "search_context", "todo")
"""These before all others."""
_SHARE = 3
"""All tools together take at most a third of the request."""


def offered(tools: Sequence[ToolSpec], room: int) -> tuple[ToolSpec, ...]:
    """The tools to offer, in their own order.

    Args:
        room: tokens that a request may have.
    """
    sizes = {tool.name: text_tokens(tool_text(tool)) for tool in tools}
    left = room // _SHARE
    if sum(sizes.values()) <= left:
        return tuple(tools)
    order = {name: place for place, name in enumerate(FIRST)}
    kept: set[str] = set()
    for tool in sorted(tools, key=lambda tool: order.get(tool.name, len(order))):
        if sizes[tool.name] <= left:
            kept.add(tool.name)
            left -= sizes[tool.name]
    return tuple(tool for tool in tools if tool.name in kept)


class Offer:
    """What one agent's models are offered, worked out once for each, with a word on it where it is not all."""

    def __init__(self) -> None:
        self._known: tuple[tuple[ToolSpec, ...], int] | None = None
        self._tools: tuple[ToolSpec, ...] = ()
        self._told: set[str] = set()

    def of(self, tools: tuple[ToolSpec, ...], room: int) -> tuple[ToolSpec, ...]:
        """The tools for a request of `room` tokens."""
        if self._known != (tools, room):
            self._known, self._tools = (tools, room), offered(tools, room)
        return self._tools

    def word(self, model: str, window: int, tools: tuple[ToolSpec, ...]) -> str:
        """What a person is told about it, once a model; empty where there is nothing to tell."""
        kept = self._tools
        if len(kept) == len(tools) or model in self._told:
            return ""
        self._told.add(model)
        names = ", ".join(tool.name for tool in kept)
        return f"The window of {model} is {window:,} tokens, so it gets {len(kept)} of {len(tools)} tools: {names}."
