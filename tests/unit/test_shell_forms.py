"""`gsh-tui NAME …`: the forms of declared commands are those that are written, and their help has every field."""

import importlib
from pathlib import Path

import click
import pytest

from gshtui.cli import by_hand
from gshtui.cli.declared import CommandWithWords, command, named, values
from gshtui.cli.declared_forms import COMMANDS, CommandForm
from gshtui.cli.root import root, run
from gshtui.commands.declaration import option_of, typed_fields
from gshtui.headless import streams
from tests.kit import shell_forms
from tests.kit.cases import each_case


async def test_the_written_forms_and_tools_are_those_of_the_declarations(tmp_path: Path) -> None:
    declared = await shell_forms.declared(tmp_path)
    for path, text in declared.items():
        assert text == path.read_text(encoding="utf-8"), "run `python -m tests.kit.shell_forms`"


def test_a_hint_names_commands_as_the_shell_has_them() -> None:
    said = "`agent ls`, `agent undo 12`, `session ls all=true`, `agents`, `mcp add NAME …`; `read` and `x y` are none"
    assert streams.as_typed_here(said) == (
        "`gsh-tui agent ls`, `gsh-tui run 'agent undo 12'`, `gsh-tui run 'session ls all=true'`, `gsh-tui run agents`,"
        " `gsh-tui mcp add NAME …`; `read` and `x y` are none"
    )
    assert streams.as_typed_here("`spawn` or `fork 12`") == "`gsh-tui agent spawn` or `gsh-tui fork 12`"
    assert streams.as_typed_here("`gsh-tui doctor` and an odd `") == "`gsh-tui doctor` and an odd `"
    assert streams.as_typed_here("the first `gsh`") == "the first `gsh`", "a program of its own"


def test_commas_separate_values_except_where_they_may_be_in_one() -> None:
    (form,) = [one for one in COMMANDS if one.name == "agent spawn"]
    words = ["--tool", "read,grep", "--tool", "glob", "--env", "A=1,2", "--env", "B=3"]
    given = command(form).make_context("spawn", words).params
    found = values(form, given)
    assert found["tools"] == ("read", "grep", "glob")
    assert found["env"] == ("A=1,2", "B=3")


def test_the_help_of_each_command_has_every_field() -> None:
    with each_case() as case:
        for form in COMMANDS:
            with case(form.name):
                has_every_field(form)


def has_every_field(form: CommandForm) -> None:
    made = command(form)
    with click.Context(made, info_name=form.name, max_content_width=200, terminal_width=200) as context:
        said = made.get_help(context)
    parameters = getattr(importlib.import_module(form.module), form.parameters)
    fields = typed_fields(parameters)
    hidden = {name for name, field in fields.items() if option_of(field).absent or option_of(field).fixed}
    assert {value.field for value in form.values} == set(fields) - hidden - {"yes"}
    for value in form.values:
        shown = value.metavar or ("|".join(value.choices) if value.is_argument else "") or value.name.split()[0]
        assert shown.lower() in said.lower(), value.field
        assert value.is_argument or value.help, f"{value.field} has no help"
    assert "--json" in said and ("--yes" in said) == bool(form.yes)


CHANGING = frozenset(
    (
        "accept",
        "add",
        "allow",
        "approve",
        "archive",
        "cancel",
        "compact",
        "enable",
        "finish",
        "import",
        "install",
        "kill",
        "off",
        "on",
        "prune",
        "refuse",
        "remove",
        "rename",
        "restart",
        "revoke",
        "rm",
        "send",
        "set",
        "spawn",
        "start",
        "stop",
        "trust",
        "unarchive",
        "uninstall",
        "unset",
    )
)
CONSENTING = frozenset({"accept", "approve", "import", "install", "trust"})


def test_yes_is_taken_wherever_something_changes() -> None:
    changing = [form for form in COMMANDS if form.name.split()[-1] in CHANGING]
    assert len(changing) > 30
    assert [form.name for form in changing if not form.yes] == []


def test_consent_is_never_taken_for_granted_where_nobody_is_asked() -> None:
    consenting = [form for form in COMMANDS if form.name.split()[-1] in CONSENTING]
    assert len(consenting) >= 7
    for form in consenting:
        shell = getattr(importlib.import_module(form.module), form.parameters).SHELL
        assert shell.needs_answer, form.name


def test_each_command_is_found_by_its_words() -> None:
    for form in COMMANDS:
        first, _, word = form.name.partition(" ")
        found = named(first)
        if isinstance(found, click.Group) and word:
            found = found.get_command(click.Context(found), word)
        assert found is not None and found.name == form.name.rpartition(" ")[2]


def test_help_finds_each_command_by_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    for words in sorted(leaves(root)):
        assert run(["help", *words.split()]) == 0
        assert capsys.readouterr().out.startswith(f"Usage: gsh-tui {words} "), words
    assert run(["help", "agent", "list"]) == 0
    assert capsys.readouterr().out.startswith("Usage: gsh-tui agent ls "), "a synonym"
    assert run(["help", "worktree", "finsh"]) == 2
    assert "no command 'worktree finsh'. Did you mean finish?" in capsys.readouterr().err
    assert run(["help", "prompt", "more"]) == 2


BY_HAND = {
    "version",
    "login",
    "logout",
    "update",
    "uninstall",
    "prompt",
    "gsh",
    "replay",
    "report",
    "run",
    "shell",
    "completion",
    "doctor",
    "sandbox",
    "help",
    "agent run",
    "hub run",
    "acp",
    "serve",
    "workflow run",
    "workflow resume",
    "mcp serve",
    "config edit",
}


def leaves(group: click.Group, above: str = "") -> list[str]:
    """The words of every command below a group."""
    context = click.Context(group)
    found: list[str] = []
    for name in group.list_commands(context):
        one = group.get_command(context, name)
        assert one is not None
        words = f"{above} {name}".strip()
        is_ours = words not in BY_HAND and isinstance(one, click.Group)
        found += leaves(one, words) if is_ours and isinstance(one, click.Group) else [words]
        found += [words] if isinstance(one, CommandWithWords) else []
    return found


def test_what_is_written_by_hand_is_a_closed_list() -> None:
    """Another word is a declared command with a form, or it is named here, and there with the reason."""
    assert set(by_hand.MODULES) == BY_HAND
    assert set(leaves(root)) == BY_HAND | {form.name for form in COMMANDS}
