"""Git's configuration is found where git finds it, however a repository is put together."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gshtui.guard.policy.git_policy import programs_run
from gshtui.guard.policy.shell_policy import ENVIRONMENT, judge

HEADING = '[filter "x"]\n'


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository whose one file goes through a filter, if one is configured."""
    folder = Path(os.path.realpath(tmp_path)) / "top"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / ".gitattributes").write_text("a filter=x\n")
    (folder / "a").write_text("one\n")
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=P", "-c", "user.email=p@example.org", "commit", "-qm", "First.")
    (folder / "a").write_text("two\n")
    return folder


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, timeout=30)


def evil(folder: Path) -> str:
    return f'{HEADING}\tclean = "touch {folder}/RAN; cat"\n'


def append(config: Path, text: str) -> None:
    with config.open("a") as file:
        file.write(text)


def runs(top: Path, folder: Path) -> bool:
    """Whether git, as a reader is run, starts the filter there."""
    environ = {**os.environ, **ENVIRONMENT}
    (top / "a").write_text("three\n")
    subprocess.run(["git", "diff"], cwd=folder, capture_output=True, timeout=30, check=False, env=environ)
    return (top / "RAN").exists()


def comments(top: Path) -> Path:
    append(top / ".git/config", f"#{'x' * 99}\n" * 2_500 + evil(top))
    return top


def many_comments(top: Path) -> Path:
    append(top / ".git/config", f"#{'x' * 99}\n" * 25_000 + evil(top))
    return top


def common_folder(top: Path) -> Path:
    subprocess.run(["cp", "-r", top / ".git", top / "other"], check=True)
    append(top / "other/config", evil(top))
    (top / ".git/commondir").write_text("../other")
    return top


def common_of_worktree(top: Path) -> Path:
    side = top.parent / "side"
    git(top, "worktree", "add", "-q", str(side))
    git(top, "config", "extensions.worktreeConfig", "true")
    (top / ".git/worktrees/side/config.worktree").write_text(evil(side))
    return side


def moved(top: Path, name: bytes, line: bytes) -> Path:
    real = top / os.fsdecode(name)
    (top / ".git").rename(real)
    append(real / "config", evil(top))
    (top / ".git").write_bytes(b"gitdir: " + line)
    return top


def blank(top: Path) -> Path:
    git(top, "init", "-q", str(top / "other"))
    (top / "other/.git").rename(top / "real")
    return moved(top, b"real ", b"real \n")


def blanks_before(top: Path) -> Path:
    return moved(top, b" real", b" real\r\n")


def not_utf8(top: Path) -> Path:
    return moved(top, b"r\xff", b"r\xff\n")


def line_inside(top: Path) -> Path:
    return moved(top, b"re\nal", b"re\nal\n\n")


def behind_a_link(top: Path) -> Path:
    (top / "d/e").mkdir(parents=True)
    (top / "link").symlink_to("d/e")
    git(top, "init", "-q", str(top / "plain"))
    (top / "plain/.git").rename(top / "real")
    return moved(top, b"d/real", b"link/../real")


def a_link_itself(top: Path) -> Path:
    (top / ".git").rename(top / "real")
    append(top / "real/config", evil(top))
    (top / ".git").symlink_to("real")
    return top


def above(top: Path) -> Path:
    append(top / ".git/config", evil(top))
    (top / "part/deep").mkdir(parents=True)
    return top / "part/deep"


def above_an_empty_one(top: Path) -> Path:
    part = above(top)
    (part / ".git").mkdir()
    return part


def above_one_with_a_link_for_a_head(top: Path) -> Path:
    part = above(top)
    git(part, "init", "-q")
    (part / ".git/HEAD").rename(part / ".git/main")
    (part / ".git/HEAD").symlink_to("main")
    return part


def above_one_of_a_strange_head(top: Path) -> Path:
    part = above(top)
    git(part, "init", "-q")
    (part / ".git/HEAD").write_text("ref: heads/main\n")
    return part


DISGUISES = [
    *(comments, many_comments, common_folder, common_of_worktree, blank, blanks_before, not_utf8, line_inside),
    *(behind_a_link, a_link_itself, above, above_an_empty_one, above_one_with_a_link_for_a_head),
    above_one_of_a_strange_head,
]


@pytest.mark.parametrize("disguise", DISGUISES, ids=lambda disguise: disguise.__name__)
def test_what_git_would_run_is_asked_about(top: Path, disguise: Callable[[Path], Path]) -> None:
    folder = disguise(top)
    for line in ("git status", "git diff"):
        judged = judge(line, folder, folder)
        assert (judged.verdict, judged.rule, judged.reads) == ("ask", "git", False), line
    assert runs(folder if disguise is common_of_worktree else top, folder), "otherwise there is nothing to ask about"


@pytest.mark.parametrize("disguise", DISGUISES[:11], ids=lambda disguise: disguise.__name__)
def test_a_repository_that_runs_nothing_needs_no_question_for_its_shape(
    top: Path, disguise: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.evil", lambda _top: "[core]\n\tquotePath = true\n")
    folder = disguise(top)
    assert bool(programs_run(folder)) is (disguise is many_comments)


@pytest.mark.parametrize("name", ["config", "HEAD", "commondir", "config.worktree"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "dangling", "empty"])
def test_a_strange_file_of_gits_is_asked_about_and_not_waited_for(top: Path, name: str, kind: str) -> None:
    file = top / ".git" / name
    file.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "dangling":
        file.symlink_to("nowhere")
    else:
        file.write_bytes(b"")
    harmless = kind == "empty" and name.startswith("config")
    assert judge("git status", top, top).verdict == ("allow" if harmless else "ask")


@pytest.mark.parametrize("line", ["", "gitdir:real", "gitdir: ", "gitdir: \n", "gitdir: a\0b", "gitdir: nowhere", "x"])
def test_a_file_that_names_no_repository_is_asked_about(top: Path, line: str) -> None:
    part = top / "part"
    part.mkdir()
    (part / ".git").write_text(line)
    assert judge("git status", part, part).rule == "git"


def test_a_folder_in_no_repository_needs_no_question(tmp_path: Path) -> None:
    assert programs_run(Path(os.path.realpath(tmp_path))) == ""


def test_a_folder_that_git_passes_by_needs_no_question(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert programs_run(Path(os.path.realpath(tmp_path))) == ""


def test_a_project_that_is_a_bare_repository_is_asked_about(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", str(tmp_path / "bare"))
    assert "bare repository" in programs_run(tmp_path / "bare")


def test_a_submodule_in_an_index_of_two_parts_is_seen(top: Path) -> None:
    inner = top / "vendor"
    git(top, "init", "-q", str(inner))
    git(inner, "-c", "user.name=P", "-c", "user.email=p@example.org", "commit", "-q", "--allow-empty", "-m", "x")
    git(top, "add", "vendor")
    git(top, "update-index", "--split-index")
    assert list((top / ".git").glob("sharedindex.*"))
    assert programs_run(top) == ""
    git(inner, "config", "filter.x.clean", "cat")
    assert "vendor" in programs_run(top)
