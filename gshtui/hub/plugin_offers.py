"""The commands and tools of approved plugins, for a hub's registry, and the notice that a new plugin waits.

A plugin that is wrong is reported and left out; nothing of it can replace a command of ours.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, cast

from gshtui.bus.bus import Bus
from gshtui.bus.events.hub_events import Noticed
from gshtui.commands.declaration import Access, Command
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.hub.provision import Provision
from gshtui.settings import plugins
from gshtui.settings.contract import PluginKind
from gshtui.settings.plugins import LoadedContribution, PluginError
from gshtui.text.sanitise import one_line

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")


async def add_plugins(registry: Registry, bus: Bus, things: Provision) -> None:
    """Add the commands and tools of approved plugins, and what these work on. Raises nothing."""
    try:
        found = await asyncio.to_thread(_load)
    except PluginError as error:
        bus.publish(Noticed(level="warning", text=error.message, hint=error.hint, about="plugins"))
        return

    def refuse(one: LoadedContribution, error: ValueError) -> None:
        text = (
            one.problem or f"The plugin {one.plugin.name} brings {one_line(one.name, 40)}, which is not used: {error}."
        )
        bus.publish(Noticed(level="warning", text=text, about="plugins"))

    for kind, one in found:
        try:
            if kind == "things":
                things.add_later(one.name, partial(_same, made_by(one)), partial(refuse, one))
                continue
            for command in commands_of(one, things, as_tools=kind == "tools"):
                registry.add(command)
        except ValueError as error:
            refuse(one, error)


async def announce_plugins(bus: Bus) -> None:
    """Say once of each plugin that it waits for approval. Raises nothing."""
    try:
        fresh = await asyncio.to_thread(plugins.announced)
    except PluginError:
        return  # said when the hub started
    if fresh:
        names = ", ".join(one.name for one in fresh)
        text = f"Installed, but not loaded without your approval: {names}."
        hint = "`/plugins` shows what it brings, `/plugins approve NAME` loads it."
        bus.publish(Noticed(level="info", text=text, hint=hint, about="plugins"))


def _same(maker: Callable[..., object]) -> Callable[..., object]:
    return maker


def made_by(one: LoadedContribution) -> Callable[..., object]:
    """The maker that an entry point gives. Raises `ValueError`: it is none."""
    if one.problem or not callable(one.found):
        raise ValueError(one.problem or "it is no function")
    return one.found


def commands_of(one: LoadedContribution, things: Provision, *, as_tools: bool) -> list[AnyCommand]:
    """The commands that an entry point gives: one, several, or a function that makes them, of what its parameters name.
    `as_tools`: agents get them as tools. Raises `ValueError`: they are none, or their names cannot be used.
    """
    if one.problem:
        raise ValueError(one.problem)
    given: Any = one.found
    if callable(given) and not isinstance(given, Command):
        try:
            given = things.call(given)
        except Exception as error:  # whatever it does, the rest works
            raise ValueError(f"it failed with {one_line(f'{type(error).__name__}: {error}', 160)}") from error
    if isinstance(given, Command):
        given = [given]
    found = list(cast("Iterable[Any]", given)) if _iterable(given) else []
    if not found or not all(isinstance(command, Command) for command in found):
        raise ValueError("it is no command")
    commands = cast("list[AnyCommand]", found)
    for command in commands:
        if not all(_NAME.fullmatch(name) for name in (command.name, *command.aliases)):
            raise ValueError(f"{one_line(command.name, 40)!r} cannot be a command's name")
        if command.does or command.acts:  # else what a person allowed our tools would be allowed to it, too
            raise ValueError(f"{command.name} declares `does` or `acts`, which only tools of gsh-tui may")
        if as_tools and (not command.tool or command.access is Access.HUMAN_ONLY):
            raise ValueError(f"{command.name} is not declared as a tool")
    return commands


def _iterable(given: Any) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, str | bytes)


def _load() -> list[tuple[PluginKind, LoadedContribution]]:
    kinds: tuple[PluginKind, ...] = ("things", "commands", "tools")
    return [(kind, one) for kind in kinds for one in plugins.load_contributions(kind)]
