"""The `help` command: all commands by family, or one command with its parameters. Written from the declarations."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from gshtui.commands.declaration import Command, Invocation, Outcome, Parameters
from gshtui.commands.language import usage
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.commands.schema import tool_schema


class HelpParameters(Parameters):
    """Parameters of `help`."""

    command: str = Field("", description="The command to explain; empty lists all.")


def describe(command: AnyCommand) -> dict[str, Any]:
    """A command as plain data, for scripts and the reference."""
    return {
        "name": command.name,
        "summary": command.summary,
        "description": f"{command.description} {command.details}".strip(),
        "family": command.family or command.name,
        "aliases": list(command.aliases),
        "access": command.access.value,
        "effect": command.effect.value,
        "positions": list(command.positions),
        "parameters": tool_schema(command),
    }


def explain(command: AnyCommand) -> str:
    """A command as Markdown."""
    lines = [f"**{command.name}** — {command.summary}", "", f"`{usage(command).removeprefix('Usage: ')}`", ""]
    if command.description:
        lines += [f"{command.description} {command.details}".strip(), ""]
    for name, field in command.parameters.model_fields.items():
        default = "" if field.is_required() else f" (default `{field.default!r}`)"
        lines.append(f"- `{name}`: {field.description or ''}{default}")
    if command.aliases:
        lines += ["", f"Also called: {', '.join(command.aliases)}"]
    lines += ["", f"Access: {command.access.value} · effect: {command.effect.value}"]
    return "\n".join(lines)


def _overview(commands: list[AnyCommand]) -> str:
    families: dict[str, list[AnyCommand]] = {}
    for command in commands:
        families.setdefault(command.family or "general", []).append(command)
    lines: list[str] = []
    for family in sorted(families):
        lines += [f"**{family}**", ""]
        lines += [f"- `/{c.name}` — {c.summary}" for c in sorted(families[family], key=lambda c: c.name)]
        lines.append("")
    return "\n".join([*lines, "`help <command>` explains a command."])


def commands(registry: Registry) -> list[AnyCommand]:
    """The help family, about the commands of this registry."""

    async def run(invocation: Invocation, parameters: HelpParameters) -> Outcome:
        if parameters.command:
            command = registry.get(parameters.command.removeprefix("/"))
            return Outcome(describe(command), explain(command))
        visible = registry.visible(invocation.caller)
        return Outcome([describe(command) for command in visible], _overview(visible))

    async def names(_invocation: Invocation, _parameter: str, prefix: str) -> list[str]:
        return [name for name in registry.names() if name.startswith(prefix)]

    return [
        Command(
            "help",
            "List the commands, or explain one",
            HelpParameters,
            run,
            positions=("command",),
            aliases=("?",),
            family="workbench",
            complete=names,
        )
    ]
