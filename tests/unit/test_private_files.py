"""Private files and folders: their rights under any umask, links, and writes that are whole or not at all."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from gshtui.system.files import private_files


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    try:
        yield request.param
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_every_folder_on_the_way_is_private(tmp_path: Path, umask: int) -> None:
    folder = tmp_path / "a" / "b" / "c"
    private_files.make_folder(folder)
    private_files.make_folder(folder)
    assert [mode(path) for path in (folder, folder.parent, folder.parent.parent)] == [0o700] * 3


def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OSError):
            private_files.make_folder(path)


def test_files_are_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    os.close(private_files.open_file(tmp_path / "opened", os.O_WRONLY | os.O_APPEND))
    os.close(private_files.make_file(tmp_path / "made"))
    private_files.write_whole(tmp_path / "written", b"x", sync=True)
    private_files.write_whole(tmp_path / "shared", b"x", mode=0o644)
    assert [mode(tmp_path / name) for name in ("opened", "made", "written", "shared")] == [0o600] * 3 + [0o644]


def test_an_old_open_file_is_narrowed(tmp_path: Path) -> None:
    file = tmp_path / "old"
    file.touch(mode=0o644)
    os.close(private_files.open_file(file, os.O_WRONLY))
    assert mode(file) == 0o600


def test_links_are_not_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("theirs")
    link.symlink_to(target)
    with pytest.raises(OSError):
        private_files.open_file(link, os.O_WRONLY)
    with pytest.raises(FileExistsError):
        private_files.make_file(link)
    private_files.write_whole(link, b"ours")  # replaces the link, not what it points to
    assert (target.read_text(), link.read_text(), link.is_symlink()) == ("theirs", "ours", False)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "file"
    private_files.write_whole(file, b"old")
    with pytest.raises(TypeError):
        private_files.write_whole(file, "no bytes")  # type: ignore[arg-type]
    assert (file.read_bytes(), [path.name for path in tmp_path.iterdir()]) == (b"old", ["file"])
