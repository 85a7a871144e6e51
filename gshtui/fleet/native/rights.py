"""What a native agent may use: the hub's commands, narrowed by every limit above it. Pure.

It refuses to widen: each limit only takes tools away. A person's commands, typed in its pane, are not narrowed. Called
by the studio and the hub's relay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gshtui.commands.declaration import Effect
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.fleet.native.spec import Limit


def narrowed(registry: Registry, limits: Sequence[Limit]) -> Registry:
    """A registry for the agent's tools: those that every limit allows."""
    return Registry(command for command in registry if not command.tool or allowed(command, limits))


def allowed(command: AnyCommand, limits: Sequence[Limit]) -> bool:
    """Whether every limit allows this tool."""
    reads = command.effect is Effect.READ
    return all(limit.allows(command.name, reads=reads) for limit in limits)


def unknown_tools(registry: Registry, limits: Iterable[Limit]) -> list[str]:
    """Names in the limits that are no tools here: words of a persona or a request that were misspelt."""
    known = {command.name for command in registry.tools()}
    return sorted({tool for limit in limits for tool in limit.tools if tool not in known})
