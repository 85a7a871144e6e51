"""`gsh-tui NAME …`: the forms of declared commands are those that are written, and their help has every field."""

from __future__ import annotations

import importlib
from pathlib import Path

import click
import pytest

from gshtui.cli.command_form import CommandForm
from gshtui.cli.declared import BY_HAND, command, named
from gshtui.cli.declared_forms import COMMANDS, GROUPS
from gshtui.commands.declaration import option_of
from tests.kit import shell_forms


async def test_the_written_forms_are_those_of_the_declarations(tmp_path: Path) -> None:
    declared = await shell_forms.declared(tmp_path)
    assert declared == shell_forms.WRITTEN.read_text(encoding="utf-8"), "run `python -m tests.kit.shell_forms`"


@pytest.mark.parametrize("form", COMMANDS, ids=lambda form: form.name)
def test_the_help_of_each_command_has_every_field(form: CommandForm) -> None:
    made = command(form)
    with click.Context(made, info_name=form.name, max_content_width=200, terminal_width=200) as context:
        said = made.get_help(context)
    parameters = getattr(importlib.import_module(form.module), form.parameters)
    fields = parameters.model_fields
    hidden = {name for name, field in fields.items() if option_of(field).absent or option_of(field).fixed}
    assert {value.field for value in form.values} == set(fields) - hidden - {"yes"}
    for value in form.values:
        assert (value.metavar or value.name.split()[0]).lower() in said.lower(), value.field
        assert value.is_argument or value.help, f"{value.field} has no help"
    assert "--json" in said and ("--yes" in said) == bool(form.yes)


def test_each_command_is_found_by_its_words() -> None:
    for form in COMMANDS:
        first, _, word = form.name.partition(" ")
        found = named(first)
        if isinstance(found, click.Group):
            found = found.get_command(click.Context(found), word)
        assert found is not None and found.name == form.name.rpartition(" ")[2]
    assert {group for group, _ in BY_HAND} <= {form.name for form in GROUPS}
