"""How each way of installing is updated, from the note that the installer leaves; and that it is asked first."""

from pathlib import Path

import pytest

from gshtui.cli.root import run
from gshtui.headless.program.own_update import Installation, described

PIP = ("py", "-P", "-m", "pip", "install", "--upgrade")


@pytest.mark.parametrize(
    ("url", "prefix", "commands"),
    [
        ("", "/home/u/.local/share/uv/tools/gsh-tui", [("uv", "tool", "upgrade", "gsh-tui")]),
        ("", "/home/u/.local/share/pipx/venvs/gsh-tui", [("pipx", "upgrade", "gsh-tui")]),
        ("", "/venv", [(*PIP, "gsh-tui")]),
        ("https://h/r.git", "/venv", [(*PIP, "--force-reinstall", "--no-deps", "https://h/r.git")]),
        ("https://h/x-1-py3-none-any.whl", "/venv", []),
        ("file:///tmp/x.whl", "/venv", []),
    ],
)
def test_ways(url: str, prefix: str, commands: list[tuple[str, ...]]) -> None:
    found = described({"url": url} if url else None, prefix, "py")
    assert list(found.commands) == commands
    assert found.commands or found.again


def test_a_clone_is_pulled_and_set_up(tmp_path: Path) -> None:
    clone = tmp_path / "a b"
    (clone / ".git").mkdir(parents=True)
    (clone / ".ci").mkdir()
    (clone / ".ci" / "setup").touch()
    found = described({"url": clone.as_uri(), "dir_info": {"editable": True}}, "/venv", "py")
    assert found.commands == (("git", "-C", str(clone), "pull", "--ff-only"), (str(clone / ".ci" / "setup"),))


def test_nothing_runs_unasked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ran = tmp_path / "ran"
    here = Installation("a test", (("touch", str(ran)), ("false",), ("touch", str(tmp_path / "after"))))
    monkeypatch.setattr("gshtui.headless.program.own_update.installation", lambda: here)
    monkeypatch.setattr("gshtui.headless.streams.is_terminal", lambda number: False)
    assert run(["update"]) == 4
    assert not ran.exists() and "touch" in capfd.readouterr().err
    assert run(["update", "--yes"]) == 1, "it ends at what fails"
    assert ran.exists() and not (tmp_path / "after").exists()
