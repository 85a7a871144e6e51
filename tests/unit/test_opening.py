"""What opens the window, and with what."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gshtui.cli import window
from gshtui.cli.by_hand import command_words
from gshtui.cli.entry import main
from gshtui.cli.opening import Opening
from gshtui.settings import paths
from gshtui.system import face_mark
from gshtui.ui.window import first_frame, window_run
from tests.kit.home import Home

Open = Callable[..., Opening | None]


@pytest.fixture(name="opened")
def _opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Open:
    """What a command line opens; `None`: it is refused, or another command's."""
    seen: list[Opening] = []

    def note(opening: Opening) -> int:
        seen.append(opening)
        return 0

    monkeypatch.setattr(window, "open_terminal", note)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Opening | None:
        seen.clear()
        main(list(arguments))
        return seen[0] if seen else None

    return run


@pytest.mark.parametrize(
    ("arguments", "wanted"),
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
        ([".", "-c"], (".", "latest", "", "", "")),
        (["-m", "sonnet", ".", "--agent", "tess", "--new"], (".", "new", "tess", "", "sonnet")),
    ],
)
def test_the_window(arguments: list[str], wanted: tuple[str, ...], opened: Open) -> None:
    found = opened(*arguments)
    assert found is not None
    assert (found.cwd, found.session, found.agent, found.provider, found.model) == wanted
    assert not found.lines and not found.alone


def test_the_face_for_screen_readers(opened: Open) -> None:
    found = opened("--screen-reader", "-c")
    assert found is not None and found.lines and found.session == "latest"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["nosuch"],
        ["--continue", "--new"],
        ["--continue", ".", "--new"],
        ["--resume"],
        ["--model="],
        ["--mode", "loud"],
        ["--model", "a", ".", "--model", "b"],
        ["--continue=yes"],
        ["--model", "x", "agent", "ls"],
        ["--json"],
        ["-"],
        [""],
        [".", "."],
        ["what does this do? " * 20],
    ],
)
def test_not_the_window(arguments: list[str], opened: Open) -> None:
    assert opened(*arguments) is None


def test_a_command_wins_over_a_folder_of_its_name(tmp_path: Path, opened: Open) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert opened("agent") is None
    assert opened("file") is None
    found = opened("./agent")
    assert found is not None and found.cwd == "./agent"


def test_every_command_is_loaded_from_the_module_that_the_list_names() -> None:
    import click

    from gshtui.cli.root import root

    with click.Context(root) as context:
        found = {name: root.get_command(context, name) for name in command_words()}
    assert {name: command.name for name, command in found.items() if command} == {name: name for name in found}


@pytest.mark.parametrize("used", [False, True])
def test_it_is_the_first_start_until_a_model_was_connected_or_refused(
    used: bool, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = paths.data_dir(create=True) / "gsh.db"
    if used:
        paths.set_up_file().touch()
    seen: list[bool] = []

    def run(*_: object, is_first: bool, **__: object) -> int:
        seen.append(is_first)
        return 0

    monkeypatch.setenv("GSH_HUB__KEEP", "auto")
    monkeypatch.setattr(first_frame, "paint", lambda *_: None)
    monkeypatch.setattr(face_mark, "mark_face", lambda: None)
    monkeypatch.setattr(window, "_dial", lambda _: record.touch())
    monkeypatch.setattr(window_run, "run", run)
    assert window.open_window(Opening()) == 0
    assert seen == [not used]
