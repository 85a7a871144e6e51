"""The `help` command: all commands by group, one command with its parameters, or one word of a family such as
`worktree finish`. Written from the declarations."""

from __future__ import annotations

import inspect
from typing import Any

from pydantic import Field

from gshtui.commands.declaration import AnyAction, Command, Invocation, Outcome, Parameters, UsageError, typed_fields
from gshtui.commands.language import usage, usage_words
from gshtui.commands.registry import AnyCommand, Registry, own_words, words_of
from gshtui.commands.schema import tool_schema
from gshtui.commands.shell_form import ShellForm
from gshtui.commands.word_groups import SLASH_GROUPS, grouped
from gshtui.text.markdown_table import bare_columns, facts
from gshtui.text.plain_name import similar_names


class HelpParameters(Parameters):
    """Parameters of `help`."""

    command: str = Field("", description="The command to explain, such as `agent` or `agent send`; empty lists all.")


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
        "words": own_words(command),
        "parameters": tool_schema(command),
    }


def explain(command: AnyCommand) -> str:
    lines = [f"**{command.name}** — {command.summary}", "", f"`{usage(command).removeprefix('Usage: ')}`", ""]
    if command.description:
        lines += [f"{command.description} {command.details}".strip(), ""]
    if command.words:
        words = [one for word, one in command.words.items() if one.name.endswith(f" {word}")]
        lines += [f"- `{one.name}` — {one.summary}" for one in words]
        lines += ["", f"`help {command.name} WORD` explains one."]
    else:
        lines += [_parameter(command, name, command.parameters) for name in typed_fields(command.parameters)]
    if command.aliases:
        lines += ["", f"Also called: {', '.join(command.aliases)}"]
    lines += ["", f"Access: {command.access.value} · effect: {command.effect.value}"]
    return "\n".join(lines)


def _parameter(command: AnyCommand, name: str, said_by: type[Parameters]) -> str:
    """One parameter of a line as Markdown. `said_by`: where it is described, if there is such a field."""
    field = command.parameters.model_fields[name]
    own = said_by.model_fields[name].description if name in said_by.model_fields else ""
    words = own or field.description or ""
    default = "" if field.is_required() else f" (default `{field.default!r}`)"
    return f"- `{name}`: {words}{default}"


def _describe_word(command: AnyCommand, word: str) -> Outcome:
    """What one word of a family does, with those parameters of the line that it has. Raises `UsageError`."""
    known = words_of(command)
    word = known.get(word, word)
    if word not in known:
        own = [one for one in known if one]
        if not own:
            raise UsageError(
                f"`{command.name}` has no commands of its own.", hint=f"`help {command.name}` explains it."
            )
        near = similar_names(word, own, most=2)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"It has {', '.join(own)}."
        raise UsageError(f"There is no command '{command.name} {word}'.", hint=hint)
    if command.words:
        own = command.words[word]
        text = f"{explain(own)}\n\n`help {command.name}` lists what else it does."
        return Outcome(describe(own), text, plain=bare_columns(text))
    action = next((one for one in command.actions if word == one.parameters.WORD), None)
    names = [name for name in command.parameters.model_fields if _belongs(command, name, action)]
    summary, said = _said(action) if action is not None else (command.summary, "")
    access, effect = (action or command).access.value, (action or command).effect.value
    named = f"{command.name} {word}"
    said_by: type[Parameters] = action.parameters if action is not None else command.parameters
    lines = [f"**{named}** — {summary}", "", f"`{' '.join([named, *usage_words(command, names)])}`", ""]
    lines += [said, ""] if said else []
    lines += [_parameter(command, name, said_by) for name in names]
    lines += ["", f"Access: {access} · effect: {effect}", "", f"`help {command.name}` lists what else it does."]
    whole = describe(command)
    schema = whole["parameters"]
    kept = {name: one for name, one in schema.get("properties", {}).items() if name in names}
    own = {"name": named, "summary": summary, "description": said, "access": access, "effect": effect}
    text = "\n".join(lines)
    return Outcome({**whole, **own, "parameters": {**schema, "properties": kept}}, text, plain=bare_columns(text))


def _belongs(command: AnyCommand, name: str, action: AnyAction | None) -> bool:
    """Whether a parameter of a family's line is one of this action's: under its name, or, in a position, under one
    that the line alone uses."""
    if name == command.positions[0]:
        return False
    if action is None or name in action.parameters.model_fields:
        return True
    return name in command.positions and not any(name in one.parameters.model_fields for one in command.actions)


def _said(action: AnyAction) -> tuple[str, str]:
    """An action's summary, and all that its declaration says besides."""
    summary, _, rest = inspect.cleandoc(action.parameters.__doc__ or "").partition("\n\n")
    shell = action.parameters.SHELL
    if isinstance(shell, ShellForm) and shell.help:
        summary, _, rest = shell.help.partition("\n\n")
    return " ".join(summary.split()), rest.replace("\b\n", "").strip()


def _by_group(commands: list[AnyCommand]) -> list[tuple[str, list[AnyCommand]]]:
    by_name = {command.name: command for command in commands}
    return [(title, [by_name[name] for name in names]) for title, names in grouped(by_name, SLASH_GROUPS)]


def _overview(commands: list[AnyCommand]) -> str:
    rows: list[tuple[str, str]] = []
    for title, members in _by_group(commands):
        rows += [("", "")] if rows else []
        rows += [(f"**{title}**", ""), *((f"`/{command.name}`", command.summary) for command in members)]
    return f"{facts(rows)}\n\n`help <command>` explains a command."


def _plain_overview(commands: list[AnyCommand]) -> str:
    """The overview for a terminal, with the names as they are typed after `gsh-tui run`."""
    width = max((len(command.name) for command in commands), default=0)
    lines: list[str] = []
    for title, members in _by_group(commands):
        lines += [title, *(f"  {command.name:{width}}  {command.summary}" for command in members), ""]
    return "\n".join([*lines, "help <command> explains a command."])


def commands(registry: Registry) -> list[AnyCommand]:
    """The help family, about the commands of this registry."""

    async def run(invocation: Invocation, parameters: HelpParameters) -> Outcome:
        if parameters.command.strip():
            name, *words = parameters.command.removeprefix("/").split()
            command = registry.get(name)
            if words and (other := command.elsewhere.get(words[0])):
                command, words = registry.get(other), words[1:]
            if words:
                return _describe_word(command, " ".join(words))
            text = explain(command)
            return Outcome(describe(command), text, plain=bare_columns(text))
        visible = registry.visible(invocation.caller)
        data = [describe(command) for command in visible]
        return Outcome(data, _overview(visible), plain=_plain_overview(visible))

    async def names(_invocation: Invocation, _parameter: str, prefix: str) -> list[str]:
        return [name for name in registry.names() if name.startswith(prefix)]

    return [
        Command(
            "help",
            "List the commands, or explain one",
            HelpParameters,
            run,
            guests=True,
            positions=("command",),
            aliases=("?",),
            family="workbench",
            complete=names,
        )
    ]
