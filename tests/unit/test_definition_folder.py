"""A folder of definitions: what is read of it, in which order, and what is said of the rest."""

from pathlib import Path

from gshtui.settings.paths import definition_entries


def test_entries_come_by_name_and_no_more_than_the_limit(tmp_path: Path) -> None:
    for name in ("c.toml", "a.toml", "b.toml", "notes.txt"):
        (tmp_path / name).write_text("")
    problems: list[str] = []
    found = definition_entries(tmp_path, lambda file: file.suffix == ".toml", 2, problems)
    assert [file.name for file in found] == ["a.toml", "b.toml"]
    assert problems == [f"{tmp_path} has 3 entries; only the first 2 are read."]


def test_a_folder_that_is_missing_or_a_file_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    problems: list[str] = []
    for folder in (tmp_path / "missing", tmp_path / "file"):
        assert definition_entries(folder, lambda _file: True, 10, problems) == []
    assert problems == []


def test_a_folder_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "loop"
    folder.symlink_to(folder)
    problems: list[str] = []
    assert definition_entries(folder, lambda _file: True, 10, problems) == []
    assert len(problems) == 1 and problems[0].startswith(f"Cannot read {folder}: ")
