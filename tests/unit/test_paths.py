"""The folders: where they are, that they are private, and that nobody else's is ever used."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gshtui.settings import paths
from tests.kit.home import Home

ROOT = Path(__file__).parents[2]


def test_folders_are_made_private(home: Home) -> None:
    for make in (paths.data_dir, paths.state_dir, paths.runtime_dir, paths.logs_dir):
        folder = make()
        assert folder.is_dir()
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not paths.config_dir().exists()
    assert paths.config_dir(create=True).stat().st_mode & 0o777 == 0o700


def test_an_old_wide_data_folder_is_tightened_and_the_configuration_is_left(home: Home) -> None:
    for base in (home.data, home.config):
        (base / "gsh").mkdir(mode=0o755)
        (base / "gsh").chmod(0o755)
    assert paths.data_dir().stat().st_mode & 0o777 == 0o700
    assert paths.config_dir(create=True).stat().st_mode & 0o777 == 0o755


def test_relative_variables_are_ignored(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert paths.data_dir(create=False) == home.path / ".local" / "share" / "gsh"


@pytest.mark.parametrize("named", ["", "nowhere", "other"])
def test_without_a_runtime_folder_of_ours_a_private_one_is_made(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / named) if named else "")
    if named == "other":  # as after `su`
        (tmp_path / "other").mkdir()
        monkeypatch.setattr(os, "getuid", lambda: 123456)
        monkeypatch.setattr(Path, "lstat", lambda _: os.stat_result((0o40700, *[0] * 3, 123456, *[0] * 5)))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    folder = paths.runtime_dir()
    assert folder == tmp_path / f"gsh-{os.getuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert paths.runtime_dir() == folder


def test_a_link_in_its_place_is_refused(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"gsh-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(paths.FolderError, match="is a link"):
        paths.runtime_dir()


def test_a_strangers_folder_is_refused(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "gsh-123456").mkdir(mode=0o777)
    monkeypatch.setattr(os, "getuid", lambda: 123456)
    with pytest.raises(paths.FolderError, match="belongs to user"):
        paths.runtime_dir()


def test_a_file_in_the_way_is_one_sentence(home: Home) -> None:
    (home.data / "gsh").write_text("", encoding="utf-8")
    with pytest.raises(paths.FolderError, match="is not a folder"):
        paths.data_dir()
    (home.state / "gsh").symlink_to(home.path / "nowhere" / "x")
    with pytest.raises(paths.FolderError):
        paths.state_dir()


@pytest.mark.parametrize(("inside", "root"), [(".git", "a"), (".gsh", "a"), ("", "a/b/c")])
def test_the_project_is_the_nearest_root_upwards(home: Home, inside: str, root: str) -> None:
    deep = home.path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (home.path / ".gsh").mkdir()
    if inside:
        (home.path / "a" / inside).mkdir()
    assert paths.project_root(deep) == home.path / root


def test_the_paths_cost_nothing_to_import() -> None:
    code = "import sys, gshtui.settings.paths; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert not {"pydantic", "tomllib", "json", "asyncio", "typing_extensions"} & set(done.stdout.split())
