"""What opens the window and what is left to the command-line library."""

from pathlib import Path

import pytest

from gshtui.cli.by_hand import command_words
from gshtui.cli.entry import is_command
from gshtui.cli.opening import read_opening


@pytest.mark.parametrize(
    ("arguments", "opened"),
    [
        ([], ("", "", "", "", "")),
        (["--continue"], ("", "latest", "", "", "")),
        (["-c"], ("", "latest", "", "", "")),
        (["--new"], ("", "new", "", "", "")),
        (["--resume", "01ab"], ("", "01ab", "", "", "")),
        (["-r", "01ab", "-m", "sonnet"], ("", "01ab", "", "", "sonnet")),
        (["--resume=01ab", "--agent", "tess"], ("", "01ab", "tess", "", "")),
        (["--mode", "plan"], ("", "", "", "", "")),
        (["--model=sonnet", "--provider", "anthropic"], ("", "", "", "anthropic", "sonnet")),
    ],
)
def test_the_window(arguments: list[str], opened: tuple[str, ...]) -> None:
    found = read_opening(arguments, is_command)
    assert found is not None
    assert (found.cwd, found.session, found.agent, found.provider, found.model) == opened
    assert not found.lines and not found.alone


def test_the_face_for_screen_readers() -> None:
    found = read_opening(["--screen-reader", "-c"], is_command)
    assert found is not None and found.lines and found.session == "latest"
    assert read_opening(["--screen-reader", "--screen-reader"], is_command) is None


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["prompt", "hi"],
        ["nosuch"],
        ["--continue", "--new"],
        ["--resume"],
        ["--resume", "--new"],
        ["--model="],
        ["--mode", "loud"],
        ["--model", "a", "--model", "b"],
        ["--continue=yes"],
        ["--model", "x", "prompt", "hi"],
        ["-"],
        ["--"],
        [""],
    ],
)
def test_not_the_window(arguments: list[str]) -> None:
    assert read_opening(arguments, is_command) is None


def test_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "file").write_text("", encoding="utf-8")
    opening = read_opening(["./run", "-c"], is_command)
    assert opening is not None
    assert (opening.cwd, opening.session) == (str(tmp_path / "run"), "latest")
    assert read_opening(["run"], is_command) is None, "the command wins over the folder"
    assert read_opening(["file"], is_command) is None
    assert read_opening([".", "."], is_command) is None


def test_every_command_is_loaded_from_the_module_that_the_list_names() -> None:
    import click

    from gshtui.cli.root import root

    with click.Context(root) as context:
        found = {name: root.get_command(context, name) for name in command_words()}
    assert {name: command.name for name, command in found.items() if command} == {name: name for name in found}
