"""Every command of a window's hub in every projection of its declaration, and the table of commands of calls.

One test for each projection, over all commands: language, help, completion, palette, tools, command line, access.
"""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import ValidationError

from gshtui.cli import form_projection
from gshtui.cli.by_hand import MODULES
from gshtui.commands.catalogue import Catalogue
from gshtui.commands.completion import complete
from gshtui.commands.declaration import Access, Caller, Invocation, Parameters, UsageError
from gshtui.commands.help_command import explain
from gshtui.commands.language import parse, read_line, validate
from gshtui.commands.line_formatter import format_line
from gshtui.commands.registry import AnyCommand, may_run, words_of
from gshtui.commands.schema import tool_schema
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import ALL_PARTS
from gshtui.ui.window.palette_entries import command_entries
from tests.kit.configuration import made_project
from tests.kit.running_hub import running_hub

AGENT, PERSON = Caller("main", is_agent=True), Caller()
SEED: dict[str, tuple[str, ...]] = {
    "cat": ("path", "paths"),
    "ls": ("path", "long", "all"),
    "cd": ("to",),
    "pwd": (),
    "write": ("to", "content"),
    "append": ("to", "content"),
    "mkdir": ("path",),
    "rm": ("path", "recursive"),
    "head": ("path", "n"),
    "tail": ("path", "n"),
    "grep": ("pattern", "in", "ignore_case"),
    "talk": ("to", "message"),
    "say": ("message",),
    "wall": ("message", "to"),
    "who": ("call",),
    "join": ("call",),
    "leave": (),
    "calls": (),
    "topic": ("set",),
    "invite": ("agent", "call"),
    "create": ("call",),
    "context": ("agent", "section", "self"),
    "think": ("content",),
    "status": ("set",),
    "remember": ("agent", "key", "value"),
    "forget": ("agent", "key"),
    "memory": ("agent", "list", "search", "show"),
    "history": ("n", "agent"),
    "env": ("name", "value"),
    "echo": ("message",),
    "help": ("command",),
    "exit": (),
    "vim": ("path",),
    "exec": ("cmd", "dir"),
}
"""The commands of calls, with the parameters by which people and agents know them."""
FOR_PEOPLE = frozenset({"join", "leave", "create", "invite", "topic", "vim", "exec", "exit"})
FOR_AGENTS_FIRST = frozenset({"think", "pipe"})
TOOLS = frozenset(
    {
        *("cat", "ls", "head", "tail", "grep", "cd", "pwd", "write", "append", "mkdir", "rm", "diff", "pipe"),
        *("say", "talk", "wall", "calls", "history", "context", "think", "remember", "forget", "memory"),
    }
)


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[Hub]:
    """With the record, the guard, the providers and the fleet: what offers commands."""
    project = made_project(tmp_path / "project")
    parts = frozenset(ALL_PARTS - {"socket", "shell"})
    async with running_hub(project, parts=parts, visiting=True) as hub:
        yield hub


def all_of(hub: Hub) -> list[AnyCommand]:
    found = list(hub.registry)
    assert len(found) > 80, "the table is whole"
    return found


def names_of(parameters: type[Parameters]) -> set[str]:
    fields = parameters.model_fields
    return {*fields, *(field.alias or name for name, field in fields.items()), *parameters.FORMER_NAMES}


async def test_every_projection(hub: Hub) -> None:
    commands, wrong = all_of(hub), list[str]()
    window = SimpleNamespace(bridge=SimpleNamespace(commands=Catalogue(hub.registry)), write=print, run_command=print)
    palette = {entry.id for entry in command_entries(cast("Any", window))}
    groups, forms = form_projection.forms(commands)
    shell = {word for form in [*groups, *forms] for word in form.name.split()}
    offered = {tool.name for tool in hub.registry.tools()}
    agents_help = {entry["name"] for entry in cast("Any", (await hub.run("help", AGENT)).data)}
    for command in commands:
        name = command.name
        said = explain(command)
        checks = {
            "help explains it": name in said and all(f"`{one}`" in said for one in command.parameters.model_fields),
            "completion finds it": any(
                one.value.strip() == name
                for one in await complete(hub.registry, hub.invocation(PERSON), name, len(name))
            ),
            "the palette has it": f"command:{name}" in palette,
            "the line is known": parses(hub, name),
            "its line is written as it is read": format_line(read_line(hub.registry, name)) == name,
            "a tool has a schema, and only a tool is one": (name in offered)
            == (command.tool and command.access is not Access.HUMAN_ONLY)
            and (not command.tool or tool_schema(command).get("type") == "object"),
            "agents see what they may run": (name in agents_help) == may_run(command, AGENT),
            "the shell has it": command.parameters.SHELL is None
            or bool({name, *command.aliases} & (shell | set(MODULES))),
        }
        wrong += [f"{name}: {what}" for what, holds in checks.items() if not holds]
    assert wrong == []


async def test_help_explains_each_word_of_each_family(hub: Hub) -> None:
    wrong, found = list[str](), 0
    for command in all_of(hub):
        for word, own in words_of(command).items():
            said = await hub.run(f"help {command.name} {word}")
            found += 1
            shown = set(re.findall(r"^- `(\w+)`:", said.text, re.MULTILINE))
            if not said.text.startswith(f"**{command.name} {own}**") or not shown <= set(
                command.parameters.model_fields
            ):
                wrong.append(f"{command.name} {word}")
        for word, other in command.elsewhere.items():
            assert (await hub.run(f"help {command.name} {word}")).text == explain(hub.registry.get(other))
    assert wrong == [] and found > 120
    assert {"worktree finish", "agent send", "guard check"} <= {
        f"{command.name} {word}" for command in all_of(hub) for word in words_of(command)
    }
    said = (await hub.run("help worktree finish")).text
    assert "`into`" in said and "NAME is an agent, a branch" in said
    with pytest.raises(UsageError, match="no command 'worktree finsh'"):
        await hub.run("help worktree finsh")
    with pytest.raises(UsageError, match="has no commands of its own"):
        await hub.run("help read finish")


def parses(hub: Hub, name: str) -> bool:
    """The bare line is one of the language, or lacks only what the command requires."""
    try:
        parse(hub.registry, name)
    except UsageError as error:
        return "is missing" in error.message
    return True


async def test_what_is_for_people_is_refused_to_agents_in_any_line(hub: Hub) -> None:
    for command in all_of(hub):
        if command.access is Access.HUMAN_ONLY:
            for line in (command.name, f"echo $({command.name})", f"echo x | {command.name}"):
                with pytest.raises(UsageError):
                    await hub.run(line, AGENT)


async def test_the_commands_of_calls_have_their_parameters_and_access(hub: Hub) -> None:
    for name, parameters in SEED.items():
        command = hub.registry.get(name)
        assert set(parameters) <= names_of(command.parameters), name
        assert may_run(command, PERSON)
        assert may_run(command, AGENT) is (name not in FOR_PEOPLE), name
        assert not (command.tool and name in FOR_PEOPLE)
    assert all(hub.registry.get(name).access is Access.AGENT_PRIMARY for name in FOR_AGENTS_FIRST)


async def test_agents_have_those_that_they_need_as_tools(hub: Hub) -> None:
    offered = {command.name for command in hub.registry.tools()}
    assert sorted(TOOLS - offered) == []
    assert sorted(FOR_PEOPLE & offered) == []


async def test_no_action_ignores_the_parameters_of_another(hub: Hub) -> None:
    """In every family: what only other actions have is refused, by name."""
    tried = 0
    for command in hub.registry:
        fields = command.parameters.model_fields
        others = {name for one in command.actions for name in one.parameters.model_fields}
        texts = [name for name in others & set(fields) - set(command.positions) if fields[name].annotation is str]
        for action in command.actions if command.bind and "action" in fields else ():
            for name in set(texts) - set(action.parameters.model_fields):
                given = {"action": action.parameters.WORD, name: "nonsense"}
                try:
                    bound = command.bind(command.parameters.model_validate(given)) if command.bind else None
                except (UsageError, ValidationError):  # the action wants more, or has another word in a line
                    continue
                if type(bound) is action.parameters:
                    tried += 1
                    with pytest.raises(UsageError, match=f"has no parameter '{name}'"):
                        validate(command, given)
    assert tried > 20


@pytest.mark.parametrize(
    ("line", "below"),
    [("glob *.py", "*.py"), ("grep x", "**"), ("grep x file_pattern=*.md", "*.md"), ("read x", "")],
)
async def test_a_search_tells_the_guard_what_it_looks_into(hub: Hub, tmp_path: Path, line: str, below: str) -> None:
    parsed = parse(hub.registry, line)
    assert parsed.command.assess is not None
    assert (await parsed.command.assess(Invocation(AGENT, tmp_path, tmp_path), parsed.parameters)).below == below


async def test_a_former_name_still_works(hub: Hub) -> None:
    for line, field in (("say text=hello", "message"), ("talk to=main text=hello", "message")):
        assert getattr(parse(hub.registry, line).parameters, field) == "hello"
