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
