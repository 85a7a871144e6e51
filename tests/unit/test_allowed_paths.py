"""The list of the only paths that an agent reaches: real ones by what they lead to, virtual ones by their steps."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from gshtui.commands.declaration import Caller, CommandError, Invocation
from gshtui.tools.files.file_paths import FilePaths
from gshtui.vfs import FileSystem, ReadOnlyMount


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name in ("src/deep/a.py", "docs/x.md", "docs/x.txt", "secret/key"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x", encoding="utf-8")
    (tmp_path / "outside").write_text("x", encoding="utf-8")
    (folder / "src" / "link").symlink_to(folder / "secret")
    (folder / "src" / "away").symlink_to(tmp_path / "outside")
    return folder


def paths(*listed: str) -> FilePaths:
    files = FileSystem()
    for name in ("calls", "memory"):
        files.mount(name, ReadOnlyMount)  # type: ignore[arg-type]  # it is never asked
    return FilePaths(files, {}, [listed])


def here(project: Path) -> Invocation:
    return Invocation(Caller("reader", is_agent=True), project, project)


@pytest.mark.parametrize(
    "path",
    ["src", "src/", "src/deep/a.py", "./src", "src/new.py", "docs/x.md", "/shared/project/src/deep", "/calls/a/.call"],
)
def test_what_is_listed_is_reached(project: Path, path: str) -> None:
    paths("src", "docs/*.md", "/calls").resolve(here(project), path)


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "docs",
        "docs/x.txt",
        "secret/key",
        "src/../secret/key",
        "src/link/key",
        "src/away",
        "../outside",
        "/etc/passwd",
        "~/x",
        "~nobody-at-all/x",
        "srcs",
        "Src",
        "/callsx",
        "/memory/main/a.mem",
        "/shared/project",
        "/shared/project/secret",
        "/",
        "a\u202egpj",
    ],
)
def test_everything_else_is_refused_in_a_sentence(project: Path, path: str) -> None:
    with pytest.raises(CommandError) as refused:
        paths("src", "docs/*.md", "/calls").resolve(here(project), path)
    assert refused.value.message.isprintable() and "\u202e" not in refused.value.message


def test_several_lists_all_count_and_a_person_is_free(project: Path) -> None:
    both = FilePaths(FileSystem(), {}, [["src", "docs"], ["docs"]])
    both.resolve(here(project), "docs/x.txt")
    with pytest.raises(CommandError, match="not among the paths"):
        both.resolve(here(project), "src/deep/a.py")
    both.resolve(replace(here(project), caller=Caller()), "secret/key")
    FilePaths(FileSystem(), {}, [["."]]).resolve(here(project), "secret/key")
