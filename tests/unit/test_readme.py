"""What the README says exists: its keys, its commands and options, its configuration, its files."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from gshtui.cli.entry import COMMANDS
from gshtui.cli.opening import read_opening
from gshtui.cli.root import root
from gshtui.settings.load import load
from gshtui.ui.bindings import KEYS
from tests.kit.home import Home
from tests.kit.source import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
EXIT_CODES = {0, 1, 2, 3, 4, 124, 130}


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    """Every use of `gsh-tui` in blocks and in the text, without what is piped into it."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    lines += re.findall(r"`(gsh-tui [^`…]+?)…?`", re.sub(r"```.*?```", "", README, flags=re.DOTALL))
    return sorted({line[line.index("gsh-tui ") :] for line in lines if re.search(r"(^|\| )gsh-tui ", line)})


@pytest.mark.parametrize("line", commands())
def test_every_command_is_one(line: str) -> None:
    arguments = shlex.split(line)[1:]
    if read_opening(arguments, COMMANDS) is not None:
        return
    command: click.Command = root
    context = click.Context(root)
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        found = command.get_command(context, arguments.pop(0))
        assert found is not None, line
        command = found
    if "--help" not in arguments and not isinstance(command, click.Group):
        command.make_context("gsh-tui", arguments)


def test_every_key_is_in_the_table() -> None:
    table = README[README.index("| key | does |") : README.index("Panes are resized")]
    cells = [row.split("|")[1] for row in table.splitlines()[2:] if row.startswith("|")]
    named = {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}
    assert len(named) > 20
    bound = {key for row in KEYS.values() for key in row.keys.split(",")}
    assert named - bound - {"up"} == set()


def test_the_configuration_is_right(home: Home) -> None:
    file = home.config / "gsh" / "config.toml"
    file.parent.mkdir()
    file.write_text(blocks("toml")[0])
    loaded = load(home.path)
    assert [str(problem) for problem in loaded.problems] == []
    assert loaded.settings.context.max_iterations == 40
    assert loaded.settings.providers["work"].base_url == "https://models.example.com/v1"


def test_every_exit_code_is_there() -> None:
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)} == EXIT_CODES


def test_every_file_that_is_linked_is_there() -> None:
    linked = [target for target in re.findall(r"\]\(([^)]+)\)", README) if "://" not in target]
    assert linked
    missing = [target for target in linked if not Path(ROOT / target).exists()]
    assert missing == []
