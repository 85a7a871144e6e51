"""Real repositories: their worktrees, what a hostile one tries, and the project that a folder belongs to."""

import subprocess
from pathlib import Path

import pytest

from gshtui.commands.declaration import CommandError, Effect
from gshtui.settings.git_info import find_project
from gshtui.tools.git.git import git
from tests.kit.home import Home
from tests.kit.tool_harness import ToolHarness

WHO = ("-c", "user.name=A", "-c", "user.email=a@example.org")


def run_git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *WHO, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def tools(tmp_path: Path, home: Home) -> ToolHarness:
    project = tmp_path / "project"
    project.mkdir()
    run_git(project, "init", "-q", "-b", "main")
    (project / "a.txt").write_text("a\n")
    run_git(project, "add", "a.txt")
    run_git(project, "commit", "-q", "-m", "one")
    return ToolHarness(project)


async def test_a_worktree_from_making_to_removing(tools: ToolHarness, tmp_path: Path) -> None:
    made = await tools.run("git_worktree", action="create", branch="feat/x")
    place = tmp_path / "project-feat-x"
    assert made.data == {"path": str(place), "branch": "feat/x", "new_branch": True}
    assert (place / "a.txt").read_text() == "a\n"
    listed = await tools.run("git_worktree", action="list")
    assert [(tree["path"], tree["branch"], tree["main"]) for tree in listed.data] == [
        (str(tools.project), "main", True),
        (str(place), "feat/x", False),
    ]
    with pytest.raises(CommandError, match="already checked out"):
        await tools.run("git_worktree", action="create", branch="feat/x", path="../elsewhere")
    removed = await tools.run("git_worktree", action="remove", branch="feat/x")
    assert "The branch feat/x is kept" in removed.text
    assert not place.exists()
    again = await tools.run("git_worktree", action="create", branch="feat/x", path="../elsewhere")
    assert again.data["new_branch"] is False


async def test_work_that_is_nowhere_else_is_not_removed(tools: ToolHarness, tmp_path: Path) -> None:
    await tools.run("git_worktree", action="create", branch="x")
    place = tmp_path / "project-x"
    (place / "new.txt").write_text("new")
    with pytest.raises(CommandError, match=r"uncommitted file \(new\.txt\)"):
        await tools.run("git_worktree", action="remove", path=str(place))
    run_git(place, "add", "new.txt")
    run_git(place, "commit", "-q", "-m", "two")
    with pytest.raises(CommandError, match="1 commit that is not on any other branch"):
        await tools.run("git_worktree", action="remove", path=str(place))
    assert place.exists()
    run_git(tools.project, "branch", "backup", "x")
    await tools.run("git_worktree", action="remove", path=str(place))
    await tools.run("git_worktree", action="create", branch="y")
    (tmp_path / "project-y" / "new.txt").write_text("new")
    await tools.run("git_worktree", action="remove", branch="y", force=True)
    assert not (tmp_path / "project-y").exists()


async def test_a_worktree_whose_folder_is_gone_is_forgotten(tools: ToolHarness, tmp_path: Path) -> None:
    await tools.run("git_worktree", action="create", branch="x")
    (tmp_path / "project-x").rename(tmp_path / "moved")
    assert (await tools.run("git_worktree", action="list")).data[1]["gone"]
    await tools.run("git_worktree", action="remove", branch="x")
    assert len((await tools.run("git_worktree", action="list")).data) == 1


async def test_what_cannot_be_done(tools: ToolHarness, tmp_path: Path) -> None:
    for branch in ("", "-b", "a b", "../x", "HEAD"):
        with pytest.raises(CommandError, match="branch"):
            await tools.run("git_worktree", action="create", branch=branch)
    with pytest.raises(CommandError, match="main working tree"):
        await tools.run("git_worktree", action="remove", branch="main")
    with pytest.raises(CommandError, match="There is no worktree nope"):
        await tools.run("git_worktree", action="remove", branch="nope")
    with pytest.raises(CommandError, match="path or a branch"):
        await tools.run("git_worktree", action="remove")
    with pytest.raises(CommandError, match="not empty"):
        await tools.run("git_worktree", action="create", branch="x", path=".")
    await tools.run("git_worktree", action="create", branch="x")
    with pytest.raises(CommandError, match="your current folder"):
        await tools.run_in(tmp_path / "project-x", "git_worktree", action="remove", branch="x")
    (tmp_path / "plain").mkdir()
    for action, branch in (("list", {}), ("create", {"branch": "x"})):
        with pytest.raises(CommandError, match=r"not a git repository|not in a git repository"):
            await tools.run_in(tmp_path / "plain", "git_worktree", action=action, **branch)


HOSTILE = (
    "--upload-pack=touch owned",
    "-c",
    "--output=owned",
    "ext::sh -c touch% owned",
    "a\nb",
    "x\x1b]2;t\x07",
    "@{-1}",
    "x..y",
)


@pytest.mark.parametrize("word", HOSTILE)
async def test_no_argument_is_an_option_of_git_or_a_place_elsewhere(
    tools: ToolHarness, tmp_path: Path, word: str
) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    for arguments in (
        {"action": "create", "branch": word},
        {"action": "create", "branch": "x", "base": word},
        {"action": "diff", "branch": "main", "base": word},
        {"action": "merge", "branch": word, "base": word},
        {"action": "remove", "branch": word},
        {"action": "remove", "path": word},
        {"action": "status", "path": word},
    ):
        with pytest.raises(CommandError) as error:
            await tools.run("git_worktree", **arguments)
        assert "\x1b" not in str(error.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert not list(tmp_path.rglob("owned"))
    assert run_git(tools.project, "branch", "--format=%(refname:short)").split() == ["main"]


async def test_the_question_names_the_real_folder(tools: ToolHarness, tmp_path: Path) -> None:
    listing = await tools.assess("git_worktree", action="list")
    assert (listing.effect, listing.inside) == (Effect.READ, True)
    making = await tools.assess("git_worktree", action="create", branch="x")
    assert making.effect is Effect.WRITE
    assert str(tmp_path / "project-x") in making.subject
    assert not making.inside


async def test_a_hostile_repository_runs_nothing(tools: ToolHarness, tmp_path: Path) -> None:
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/owned\ncat\n")
    evil.chmod(0o755)
    for name in ("post-checkout", "pre-commit", "post-index-change"):
        hook = tools.project / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(evil.read_text())
        hook.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "filter.evil.smudge",
        "filter.evil.clean",
        "core.editor",
        "filter.e=f.smudge",  # as an option of git, this would be another setting
        "filter.e=f.clean",
        "diff.evil.command",
        "diff.evil.textconv",
        "merge.evil.driver",
        "hook.a=b.command",  # since git 2.54
    ):
        run_git(tools.project, "config", key, str(evil))
    for event in ("post-checkout", "post-index-change", "reference-transaction"):
        run_git(tools.project, "config", "--add", "hook.a=b.event", event)
    run_git(tools.project, "config", "extensions.worktreeConfig", "true")
    run_git(tools.project, "config", "--worktree", "filter.own.clean", str(evil))
    (tools.project / ".git/info").mkdir(exist_ok=True)
    (tools.project / ".git/info/attributes").write_text(
        "* filter=e=f diff=evil merge=evil\na.txt filter=evil\nb filter=own\n"
    )
    (tools.project / "b").write_text("b\n")
    (tools.project / "c").write_text("c\n")
    assert (await git(tools.project, "add", "--all", "--", ":/")).code == 0
    assert (await git(tools.project, "reset", "--quiet", "--mixed")).code == 0
    await tools.run("git_worktree", action="create", branch="x")
    (tmp_path / "project-x" / "a.txt").write_text("bb\n")
    for action in ("status", "diff", "patch"):
        await tools.run("git_worktree", action=action, branch="x")
    inside = ToolHarness(tmp_path / "project-x")
    await inside.run("git_commit", message="b", all=True)
    await tools.run("git_worktree", action="merge", branch="x")
    assert (tools.project / "a.txt").read_text() == "bb\n"
    (tmp_path / "project-x" / "a.txt").write_text("c\n")
    with pytest.raises(CommandError, match="uncommitted"):
        await tools.run("git_worktree", action="remove", branch="x")
    await tools.run("git_worktree", action="remove", branch="x", force=True)
    assert not (tmp_path / "owned").exists()


async def test_a_filter_for_another_branch_alone_runs_in_no_new_worktree(tools: ToolHarness, tmp_path: Path) -> None:
    (tmp_path / "more").write_text(f'[filter "evil"]\nsmudge = "touch {tmp_path}/owned; cat"\n')
    run_git(tools.project, "config", "includeIf.onbranch:feat/**.path", str(tmp_path / "more"))
    (tools.project / ".git/info").mkdir(exist_ok=True)
    (tools.project / ".git/info/attributes").write_text("* filter=evil\n")
    with pytest.raises(CommandError, match="on a condition"):
        await tools.run("git_worktree", action="create", branch="feat/x")
    assert not (tmp_path / "owned").exists()
    assert (await git(tools.project, "status", "--porcelain")).code == 0


def with_submodule(tools: ToolHarness, tmp_path: Path, evil: Path) -> None:
    """Put one in, whose own settings name a filter, and whose file is changed."""
    run_git(tmp_path, "init", "-q", "-b", "main", "library")
    library = tmp_path / "library"
    (library / "b.txt").write_text("b\n")
    run_git(library, "add", ".")
    run_git(library, "commit", "-q", "-m", "one")
    run_git(tools.project, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "sub")
    sub = tools.project / "sub"
    run_git(sub, "config", "filter.evil.clean", str(evil))
    (tools.project / ".git/modules/sub/info").mkdir(exist_ok=True)
    (tools.project / ".git/modules/sub/info/attributes").write_text("* filter=evil\n")
    run_git(tools.project, "config", "-f", ".gitmodules", "submodule.sub.ignore", "none")
    run_git(tools.project, "add", ".gitmodules")
    run_git(tools.project, "commit", "-q", "-m", "with a submodule")
    (sub / "b.txt").write_text("c\n")


@pytest.mark.parametrize("call", [{"action": "status"}, {"action": "diff"}, {"action": "patch", "file": "x.diff"}])
async def test_a_submodule_runs_nothing(tools: ToolHarness, tmp_path: Path, call: dict[str, str]) -> None:
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/owned\ncat\n")
    evil.chmod(0o755)
    run_git(tools.project, "branch", "base")
    with_submodule(tools, tmp_path, evil)
    (tmp_path / "owned").unlink(missing_ok=True)
    await tools.run("git_worktree", base="base", **call)
    assert not (tmp_path / "owned").exists()


async def test_a_submodule_that_moved_is_still_added(tools: ToolHarness, tmp_path: Path) -> None:
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/owned\ncat\n")
    evil.chmod(0o755)
    with_submodule(tools, tmp_path, evil)
    run_git(tools.project / "sub", "-c", "filter.evil.clean=", "commit", "-q", "-a", "-m", "two")
    (tools.project / "sub/b.txt").write_text("d\n")
    (tools.project / "new.txt").write_text("new")
    (tmp_path / "owned").unlink(missing_ok=True)
    await git(tools.project, "add", "--all", "--", ":/")
    assert run_git(tools.project, "diff", "--cached", "--name-only", "--ignore-submodules=none") == "new.txt\nsub"
    assert not (tmp_path / "owned").exists()


async def test_what_is_missing_is_asked_of_no_remote(tools: ToolHarness, tmp_path: Path) -> None:
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/owned\n")
    evil.chmod(0o755)
    run_git(tools.project, "checkout", "-q", "-b", "work")
    (tools.project / "a.txt").write_text("changed\n")
    run_git(tools.project, "commit", "-q", "-a", "-m", "two")
    for key, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "far"),
        ("remote.far.url", str(tmp_path)),
        ("remote.far.promisor", "true"),
        ("remote.far.uploadpack", str(evil)),
        ("protocol.file.allow", "always"),
    ):
        run_git(tools.project, "config", key, value)
    blob = run_git(tools.project, "rev-parse", "main:a.txt")
    (tools.project / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(CommandError):
        await tools.run("git_worktree", action="diff", base="main")
    assert not (tmp_path / "owned").exists()


async def test_its_places_are_judged_as_those_of_the_other_tools(tools: ToolHarness) -> None:
    for file in (".git/hooks/pre-commit", ".gsh/config.toml"):
        with pytest.raises(CommandError, match="No tool may write"):
            await tools.assess("git_worktree", action="patch", file=file)
        with pytest.raises(CommandError, match="No tool may write"):
            await tools.run("git_worktree", action="patch", file=file)
    assert (await tools.assess("git_worktree", action="patch", file="x.diff")).inside
    obeyed = await tools.assess("git_worktree", action="patch", file="AGENTS.md")
    assert not obeyed.inside
    assert obeyed.why == "AGENTS.md decides what other programs run"
    assert (await tools.assess("git_worktree", action="create", branch="x", path="trees/x")).inside
    for path in (".vscode", ".claude/skills"):
        assert not (await tools.assess("git_worktree", action="create", branch="x", path=path)).inside


async def test_a_loss_of_work_is_asked_about(tools: ToolHarness) -> None:
    await tools.run("git_worktree", action="create", branch="x", path="trees/x")
    assert (await tools.assess("git_worktree", action="remove", branch="x", force=True)).inside
    (tools.project / "trees/x/new.txt").write_text("new")
    asked = await tools.assess("git_worktree", action="remove", branch="x", force=True)
    assert not asked.inside
    assert asked.why == "work is lost with it"


async def test_git_that_does_not_answer(tools: ToolHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    with pytest.raises(CommandError, match="did not answer within"):
        await git(tools.project, "status", timeout=0.3)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandError, match="not installed"):
        await git(tools.project, "status")


async def test_the_project_of_a_folder(tools: ToolHarness, tmp_path: Path) -> None:
    (tools.project / "src/deep").mkdir(parents=True)
    found = find_project(tools.project / "src/deep")
    assert (found.root, found.branch, found.worktree) == (tools.project, "main", False)
    await tools.run("git_worktree", action="create", branch="feat/x")
    linked = find_project(tmp_path / "project-feat-x")
    assert (linked.root, linked.branch, linked.worktree) == (tmp_path / "project-feat-x", "feat/x", True)
    commit = run_git(tools.project, "rev-parse", "HEAD")
    run_git(tools.project, "checkout", "-q", "--detach")
    assert find_project(tools.project).branch == commit[:8]


def test_folders_without_a_project(tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    assert find_project(plain).root == plain
    assert find_project(plain).branch == ""
    (plain / ".git").write_text("gitdir: /nowhere\n")
    assert find_project(plain).git_dir is None
    monkeypatch.setenv("HOME", str(tmp_path))
    run_git(tmp_path, "init", "-q", "-b", "dots")
    (tmp_path / "inside").mkdir()
    assert find_project(tmp_path / "inside").root == tmp_path / "inside"
    assert find_project(tmp_path).branch == "dots"
    assert find_project(tmp_path / "not there").root == tmp_path / "not there"
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/\x1b[2Jevil\n")
    assert find_project(tmp_path).branch == ""


async def test_a_folder_without_a_base_is_compared_with_its_last_commit(tools: ToolHarness, tmp_path: Path) -> None:
    (tools.project / "a.txt").write_text("changed\n")
    (tools.project / "new.txt").write_text("not in the index\n")
    (tools.project / ".gitignore").write_text("*.log\n")
    (tools.project / "noise.log").write_text("ignored\n")
    before = run_git(tools.project, "status", "--porcelain")
    changes = (await tools.run("git_worktree", action="diff", path=str(tools.project))).data
    assert changes["base"] == "HEAD" and changes["commit"] == run_git(tools.project, "rev-parse", "HEAD")
    assert [(file["path"], file["added"], file["removed"]) for file in changes["files"]] == [
        (".gitignore", 1, 0),
        ("a.txt", 1, 1),
        ("new.txt", 1, 0),
    ]
    assert run_git(tools.project, "status", "--porcelain") == before
    with pytest.raises(CommandError, match="no branch nope to compare with"):
        await tools.run("git_worktree", action="diff", path=str(tools.project), base="nope")


async def test_a_repository_without_a_commit_shows_all_its_files(tmp_path: Path, home: Home) -> None:
    run_git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "first.txt").write_text("one\ntwo\n")
    changes = (await ToolHarness(tmp_path).run("git_worktree", action="diff", path=str(tmp_path))).data
    assert [(file["path"], file["added"]) for file in changes["files"]] == [("first.txt", 2)]
    assert changes["base"] == "an empty repository"
