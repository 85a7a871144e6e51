"""Every command of a window's hub in every projection of its declaration, and the table of commands of calls.

One test for each projection, over all commands: language, help, completion, palette, tools, command line, access.
"""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gshtui.cli import form_projection
from gshtui.cli.by_hand import MODULES
from gshtui.commands.catalogue import Catalogue
from gshtui.commands.completion import complete
from gshtui.commands.declaration import Access, Caller, Invocation, Parameters, Question, UsageError, typed_fields
from gshtui.commands.help_command import explain
from gshtui.commands.language import parse, read_line, validate
from gshtui.commands.registry import AnyCommand, may_run, words_of
from gshtui.commands.schema import tool_schema
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import ALL_PARTS
from gshtui.ui.window.palette import command_entries
from tests.kit.configuration import made_project
from tests.kit.line_formatter import format_line
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
            "help explains it": name in said
            and all(f"`{one}`" in said for one in (() if command.words else typed_fields(command.parameters)))
            and all(f"`{one.name}`" in said for one in command.words.values()),
            "completion finds it": any(
                one.value.strip() == name
                for one in await complete(hub.registry, hub.invocation(PERSON), name, len(name))
            ),
            "the palette has it": f"command:{name}" in palette,
            "the line is known": parses(hub, name),
            "its line is written as it is read": format_line(read_line(hub.registry, name)) == (command.bare or name),
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
            of = command.words.get(word, command).parameters
            if not said.text.startswith(f"**{command.name} {own}**") or not shown <= set(typed_fields(of)):
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


async def test_no_word_takes_the_parameters_of_another(hub: Hub) -> None:
    tried = 0
    for command in hub.registry:
        words = {one.name for one in command.words.values()}
        every = {name for one in command.words.values() for name in one.parameters.model_fields}
        for word in words:
            fields = hub.registry.get(word).parameters
            for name in every - set(typed_fields(fields)) - set(fields.FORMER_NAMES):
                tried += 1
                with pytest.raises(UsageError, match=f"there is no parameter '{name}'"):
                    validate(hub.registry.get(word), {name: "nonsense"})
    assert tried > 100


@pytest.mark.parametrize(
    ("line", "same"),
    [
        ("agent action=show target=12", "agent show 12"),
        ("agent list all=true", "agent ls everywhere=true"),
        ("agent all=true", "agent ls everywhere=true"),
        ("agent rename 12 text=north", "agent rename 12 north"),
        ("agent wait 12 status=idle,done", "agent wait 12 statuses=[idle, done]"),
        ("agent send 12 --now look at it", "agent send agent=12 now=true text='look at it'"),
        ("guard git status --short", "guard check command='git status --short'"),
        ("guard log command=git", "guard log git"),
        (
            "mcp add kit --env A=b,c --env D=e --outside uvx kit --x",
            "mcp add kit outside=true env=['A=b,c', 'D=e'] argv=[uvx, kit, --x]",
        ),
        ("mcp add kit -- uvx kit", "mcp add kit uvx kit"),
        ("config untrust", "config action=untrust"),
        ("mode edit fix", "mode change mode=edit agent=fix"),
        ("mode", "mode show"),
        ("model sonnet effort=high", "model use name=sonnet effort=high"),
        ("model update ~/api.json", "model update source='~/api.json'"),
        ("workflow", "workflow ls"),
        ("workflow create-git-commit --amend x", "workflow run name=create-git-commit args='--amend x'"),
        ("workflow runs --all", "workflow runs everywhere=true"),
        ('guard action=check command="rm -rf /"', "guard check rm -rf /"),
        ('guard command="rm -rf /" action=check', "guard check rm -rf /"),
        ("guard action=log since=today", "guard log since=today"),
        ("guard --action log --since today git status", "guard log since=today query='git status'"),
        ("workflow action=run fix --amend", "workflow run name=fix args=--amend"),
        ("agent action=send 12 look at it", "agent send 12 'look at it'"),
        ("agent target=12 action=show", "agent show 12"),
        ('agent "kill" 12', "agent kill 12"),
        ("agent option 12 model gpt 5", "agent option 12 option=model value='gpt 5'"),
        ("workflow fix --name foo", "workflow run name=fix args='--name foo'"),
        ("workflow run fix name=foo level=high", "workflow run name=fix args='name=foo level=high'"),
        ("workflow fix --name", "workflow run name=fix args='--name'"),
        ("workflow run fix --args x", "workflow run name=fix args='--args x'"),
        ("workflow fix --args", "workflow run name=fix args='--args'"),
        ("workflow fix action=runs", "workflow run name=fix args='action=runs'"),
        ("agent send 3 agent=4 is stuck", "agent send 3 text='agent=4 is stuck'"),
        ("agent send 3 'stuck' agent=4", """agent send 3 text="'stuck' agent=4\""""),
        ("agent send 3 target=4 is stuck", "agent send 3 text='target=4 is stuck'"),
        ("agent action=send --help", "help 'agent send'"),
        ("agent rename 3 --agent x", "agent rename 3 name='--agent x'"),
        ("agent spawn cli=claude a task", "spawn cli=claude a task"),
        ("agent new a task", "spawn a task"),
        ("agent action=spawn claude", "spawn claude"),
    ],
)
async def test_what_a_group_was_told_by_name_it_is_told_by_its_word(hub: Hub, line: str, same: str) -> None:
    given, wanted = parse(hub.registry, line), parse(hub.registry, same)
    assert given.parameters == wanted.parameters and given.command.parameters is wanted.command.parameters


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("agent ls branch=x", "agent ls: there is no parameter 'branch'"),
        ("agent klil 12", "`agent` has no action 'klil'. Did you mean kill?"),
        ("agent foo", ", spawn."),
        ("agent kill", "agent kill: agent is missing"),
        ("agent kill 12 name=x", "agent kill: there is no parameter 'name'"),
        ("worktree", "`worktree` is incomplete"),
        ("guard action=lgo since=today", "`guard` has no action 'lgo'. Did you mean log?"),
        ("agent 3 action=show", "`show` must be the first word after `agent`. Write `agent show …`."),
        ("agent send agent=3 agent=4 is stuck", "agent send: agent is given twice"),
        ("workflow runs all", "workflow runs: unexpected 'all'. Write `--all`."),
        ("agent install X remove", "agent install: unexpected 'remove'. Write `--remove`."),
        ("mode bogus", "mode must be plan, ask, edit, auto, yolo or next, not 'bogus'. Usage"),
        ("mode agent=3", "mode is missing. Usage: mode <mode> [<agent>] or mode show|change …"),
        ("workflow action=run args=x", "workflow run: name is missing. Usage: workflow run <name> [<args>]"),
        ("approvals keep 1 seen=x", "approvals keep: there is no parameter 'seen'"),
        ("mcp add kit --nothing uvx", "mcp add: there is no option --nothing"),
    ],
)
async def test_what_a_word_does_not_take_is_refused_in_a_sentence(hub: Hub, line: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        await hub.run(line)
    assert message in str(caught.value)
    assert caught.value.drawn == str(caught.value), "a short line needs no picture of itself"
    with pytest.raises(UsageError) as caught:
        await hub.run(f"echo {'words ' * 20}; {line}")
    assert "^" in caught.value.drawn


@pytest.mark.parametrize(
    ("line", "opened"),
    [
        ("spawn", "spawn"),
        ("/agent spawn", "spawn"),
        ("agent spawn a task", ""),
        ("model", "models"),
        ("model list", ""),
        ("workflow", "workflows"),
        ("workflow run", "workflows"),
        ("workflow run create-git-commit", ""),
        ("mcp rm", "servers"),
        ("mcp ls", ""),
        ("session resume", "sessions"),
        ("session resume 7", ""),
        ("session show", ""),
        ("model use", "models"),
        ("model use sonnet", ""),
        ("model sonnet", ""),
        ("model no-such", ""),
        ("nothing of ours", ""),
    ],
)
def test_a_word_that_lacks_what_it_needs_opens_its_list(hub: Hub, line: str, opened: str) -> None:
    assert hub.opens(line) == opened


async def test_a_group_without_a_word_is_refused_in_the_same_sentence_where_questions_are_asked(hub: Hub) -> None:
    async def agree(_: Question) -> bool:
        return True

    assert hub.bound("worktree") is None and hub.bound("agent") is not None
    for line in ("worktree", "echo x; worktree"):
        with pytest.raises(UsageError, match="`worktree` is incomplete"):
            await hub.run(line, ask=agree)


async def test_a_group_is_offered_behind_a_pipe_if_one_of_its_words_takes_what_comes(hub: Hub) -> None:
    async def offered(line: str) -> set[str]:
        found = await complete(hub.registry, hub.invocation(PERSON), line, len(line))
        return {one.value for one in found}

    assert "agent" in await offered("read path=x | ag") and "worktree" not in await offered("read path=x | work")
    for words in (await offered("read path=x | agent "), await offered("read path=x | agent send")):
        assert "send" in words and "kill" not in words
    assert await offered("read path=x | agent kill") == set()
    assert "all=" not in await offered("agent action=send") and "now=" in await offered("agent action=send ")


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
