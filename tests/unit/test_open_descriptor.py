"""No descriptor is left open of what turns out to be a folder."""

import os
from pathlib import Path

import pytest

from gshtui.settings import trust
from gshtui.settings.toml_file import read_toml
from gshtui.system.files.private_files import open_reader


def open_here() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_a_folder_in_place_of_a_file_leaves_nothing_open(tmp_path: Path) -> None:
    before = open_here()
    with pytest.raises(IsADirectoryError):
        open_reader(os.open(tmp_path, os.O_RDONLY))
    assert read_toml(tmp_path, "user").problems
    trust.file_state(tmp_path, tmp_path / ".git")
    (tmp_path / ".git").mkdir()
    trust.trust(tmp_path, None, {"x": "y"})
    trust.file_state(tmp_path, tmp_path / ".git")
    assert open_here() == before
