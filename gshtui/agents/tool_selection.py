"""The tools that an agent's requests describe: the usual ones, and those that its conversation has found. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec
from msgspec.structs import replace

from gshtui.bus.messages import Message
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.commands.schema import lean_schema, tool_description
from gshtui.commands.tool_search import FIND_TOOL, found_tools, index_of
from gshtui.providers.port import ToolSpec

EVERY = "*"
"""Stands for all tools in the setting that names tools to describe always."""


class ToolSelection(msgspec.Struct, frozen=True):
    """The tools of one request."""

    specs: tuple[ToolSpec, ...] = ()
    findable: frozenset[str] = frozenset()
    """Tools that it does not describe, but that `find_tool` finds and that a call by name runs."""


class ToolSelector:
    """Selects among the tools of one agent, and describes each once."""

    def __init__(self, registry: Registry, always: Collection[str] = ()) -> None:
        """`always`: names of tools to describe in every request besides the usual ones."""
        self._registry = registry
        self._always = frozenset(always)
        self._specs: dict[str, tuple[AnyCommand, ToolSpec]] = {}
        """By name; with the command, which another one can replace."""

    def select(self, messages: Iterable[Message]) -> ToolSelection:
        """The tools for the next request of a conversation.

        The order is stable: the usual ones by name, then those that its calls found, in that order.
        """
        registry = self._registry
        tools = [tool for tool in registry.listed_tools() if tool.name != FIND_TOOL]
        rare = {tool.name: tool for tool in tools if not (tool.always_offered or tool.name in self._always)}
        if not rare or FIND_TOOL not in registry or EVERY in self._always:
            return ToolSelection(tuple(self._spec(registry.get(tool.name)) for tool in tools))
        found = [name for name in found_tools(registry, messages) if name in rare]
        search = self._spec(registry.get(FIND_TOOL))
        # Its index keeps the names that were found, so that the request begins the same.
        search = replace(search, description=f"{search.description} More tools: {index_of(rare.values())}.")
        usual = [search, *(self._spec(registry.get(tool.name)) for tool in tools if tool.name not in rare)]
        specs = [*sorted(usual, key=lambda spec: spec.name), *(self._spec(registry.get(name)) for name in found)]
        return ToolSelection(tuple(specs), frozenset(rare) - set(found))

    def _spec(self, tool: AnyCommand) -> ToolSpec:
        known = self._specs.get(tool.name)
        if known is None or known[0] is not tool:
            known = (tool, ToolSpec(tool.name, tool_description(tool), lean_schema(tool)))
            self._specs[tool.name] = known
        return known[1]
