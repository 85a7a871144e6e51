"""The command `plugins`: what installed packages and plugins of Claude Code bring, and whether they may. For people."""

from __future__ import annotations

import asyncio
from typing import ClassVar, TypeVar

import msgspec
from pydantic import Field

from gshtui.commands.declaration import (
    Access,
    Action,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Question,
    Returns,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellGroup
from gshtui.settings import plugins
from gshtui.settings.plugins import Plugin, PluginError
from gshtui.text import markdown_table
from gshtui.text.sanitise import one_line

T = TypeVar("T")
_AT_NEXT_START = "from the next start on"


class PluginListing(msgspec.Struct, frozen=True):
    """The installed plugins."""

    enabled: bool
    plugins: tuple[Plugin, ...]


class PluginChange(msgspec.Struct, frozen=True):
    """What holds from the next start on."""

    said: str


class ListPlugins(Parameters, Returns[PluginListing]):
    """List the installed packages and the plugins of Claude Code, and what each brings."""

    COMMAND: ClassVar[str] = "plugins"
    WORD: ClassVar[str] = "ls"
    SHELL = ShellForm(summary="List the plugins and what each brings.", parts=frozenset())


class ApprovePlugin(Parameters, Returns[PluginChange]):
    """Let a plugin be loaded. An update of it is asked about again."""

    COMMAND: ClassVar[str] = "plugins"
    WORD: ClassVar[str] = "approve"
    SHELL = ShellForm(
        places=("name",),
        summary="Let a plugin be loaded.",
        parts=frozenset(),
        yes="Approve it without asking.",
        needs_answer=True,
    )
    name: str = Field(description="Its name, or the folder of a plugin or marketplace of Claude Code.")


class RevokePlugin(Parameters, Returns[PluginChange]):
    """Load a plugin no more."""

    COMMAND: ClassVar[str] = "plugins"
    WORD: ClassVar[str] = "revoke"
    SHELL = ShellForm(places=("name",), summary="Load a plugin no more.", parts=frozenset(), rights=True)
    name: str = Field(description="Its name, or the folder of a plugin of Claude Code.")


class SwitchPluginsOn(Parameters, Returns[PluginChange]):
    """Load the approved plugins."""

    COMMAND: ClassVar[str] = "plugins"
    WORD: ClassVar[str] = "on"
    SHELL = ShellForm(summary="Load the approved plugins.", parts=frozenset(), rights=True)


class SwitchPluginsOff(Parameters, Returns[PluginChange]):
    """Load no plugin, whatever is approved."""

    COMMAND: ClassVar[str] = "plugins"
    WORD: ClassVar[str] = "off"
    SHELL = ShellForm(summary="Load no plugin, whatever is approved.", parts=frozenset(), rights=True)


_GROUP = ShellGroup(
    "Packages and plugins of Claude Code that extend gsh-tui.",
    "Packages that bring commands, tools, providers, personas or programs, and plugins of Claude Code;"
    " used only once you approve them.",
)


def commands() -> list[AnyCommand]:
    return [
        group(
            "plugins",
            "Plugins (packages, and those of Claude Code): list, approve, revoke",
            Action(ListPlugins, _list, _render_list),
            Action(ApprovePlugin, _approve, _render_change, _ask_approval, effect=Effect.WRITE),
            Action(RevokePlugin, _revoke, _render_change, effect=Effect.WRITE),
            Action(SwitchPluginsOn, _switch_on, _render_change, effect=Effect.WRITE),
            Action(SwitchPluginsOff, _switch_off, _render_change, effect=Effect.WRITE),
            family="language",
            shell=_GROUP,
            access=Access.HUMAN_ONLY,
            complete=_complete,
        )
    ]


async def _list(invocation: Invocation, _wanted: ListPlugins) -> PluginListing:
    return await asyncio.to_thread(
        lambda: PluginListing(plugins.read_approvals().enabled, tuple(plugins.find_plugins(invocation.project)))
    )


async def _approve(invocation: Invocation, wanted: ApprovePlugin) -> PluginChange:
    key = plugins.plugin_key(wanted.name, invocation.cwd)
    found = await asyncio.to_thread(lambda: plugins.approve(key, invocation.project))
    return PluginChange("\n\n".join(map(_approved, found)))


def _approved(plugin: Plugin) -> str:
    used = "used" if plugin.is_claude else "loaded"
    return f"{_named(plugin)} is {used} {_AT_NEXT_START}. It brings:\n\n{_brought(plugin)}"


def _named(plugin: Plugin) -> str:
    return f"{plugin.name} {plugin.version}".strip()


async def _ask_approval(invocation: Invocation, wanted: ApprovePlugin) -> Question | None:
    """What it brings, and what it may do then. Raises `ExpectedError`."""
    key = plugins.plugin_key(wanted.name, invocation.cwd)
    found = await asyncio.to_thread(lambda: plugins.named_plugins(key, invocation.project))
    asked = [one for one in found if one.state != "approved"]
    if not asked:
        return None
    plugin = asked[0]
    if plugin.is_claude:
        several = len(asked) > 1
        return Question(
            wanted,
            f"Use these {len(asked)} plugins?" if several else f"Use the plugin {_named(plugin)}?",
            "Agents are given these texts. You are asked before servers and hooks first run, and again about a plugin"
            " if any file of it changes.",
            yes="Use",
            quoted="\n".join(f"{_named(one)}\n{_brought(one)}" for one in asked),
        )
    source = f" It runs from {plugin.place}, whose changes are not noticed." if plugin.place else ""
    return Question(
        wanted,
        f"Load the plugin {_named(plugin)}?",
        f"Its code may do whatever you may, and read your keys.{source}",
        yes="Load",
        quoted=_brought(plugin),
    )


def _brought(plugin: Plugin) -> str:
    """What it brings, line by line."""
    return "\n".join(f"{one.kind}: {one.name} ({one.value})" for one in plugin.contributions)


async def _revoke(invocation: Invocation, wanted: RevokePlugin) -> PluginChange:
    await asyncio.to_thread(lambda: plugins.revoke(plugins.plugin_key(wanted.name, invocation.cwd)))
    return PluginChange(f"{one_line(wanted.name, 60)} is loaded no more {_AT_NEXT_START}.")


async def _switch_on(_invocation: Invocation, _wanted: SwitchPluginsOn) -> PluginChange:
    await asyncio.to_thread(lambda: plugins.switch(on=True))
    return PluginChange(f"The approved plugins are loaded {_AT_NEXT_START}.")


async def _switch_off(_invocation: Invocation, _wanted: SwitchPluginsOff) -> PluginChange:
    await asyncio.to_thread(lambda: plugins.switch(on=False))
    return PluginChange(f"No plugin is loaded {_AT_NEXT_START}.")


async def _complete(invocation: Invocation, parameter: str, prefix: str) -> list[str]:
    if parameter == "action":
        return [word for word in ("ls", "approve", "revoke", "on", "off") if word.startswith(prefix)]
    try:
        found = await asyncio.to_thread(plugins.find_plugins, invocation.project)
    except PluginError:
        return []
    return [one.name for one in found if parameter == "name" and one.name.startswith(prefix)]


def _render_list(_invocation: Invocation, found: PluginListing) -> Outcome:
    data = {"enabled": found.enabled, "plugins": [msgspec.to_builtins(one) for one in found.plugins]}
    if not found.plugins:
        return Outcome(data, "No installed package and no plugin of Claude Code brings anything for gsh-tui.")
    rows = [
        (
            one.name,
            one.version,
            one.state,
            ", ".join(f"{brought.kind}: {brought.name}" for brought in one.contributions).replace("|", "/"),
        )
        for one in found.plugins
    ]
    text = markdown_table.table(("plugin", "version", "state", "brings"), rows)
    if not found.enabled:
        text += "\n\nAll plugins are switched off; `plugins on` loads the approved ones again."
    elif any(one.state != "approved" for one in found.plugins):
        text += "\n\n`plugins approve NAME` shows what one brings and lets it be loaded."
    return Outcome(data, text, plain=markdown_table.bare_columns(text))


def _render_change(_invocation: Invocation, changed: PluginChange) -> Outcome:
    return Outcome({"said": changed.said}, changed.said)
