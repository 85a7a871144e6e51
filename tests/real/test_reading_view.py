"""Lines that only read, in a sandbox of their own: where a changed link leads, and that honest readers go on."""

import asyncio
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gshtui.commands.declaration import CommandError, Outcome
from gshtui.guard.policy import shell_policy
from gshtui.guard.sandbox.reading_view import reading_view
from gshtui.guard.sandbox.sandbox import find_bubblewrap, is_suitable_to_read
from gshtui.guard.sandbox.sandbox_refusal import hidden_in
from gshtui.guard.sandbox.sandboxes import Sandboxes, SelfTestRecord
from gshtui.settings.settings_tables import Sandbox as SandboxSettings
from gshtui.tools.files.workspace import ToolConfig
from tests.kit.home import Home
from tests.kit.tool_harness import ToolHarness


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Our own folder, in which it is written that the sandbox holds."""
    made = tmp_path / "state"
    made.mkdir()
    SelfTestRecord(made / "sandbox-tried", find_bubblewrap()).keep()
    return made


@pytest.fixture
def project(tmp_path: Path, home: Home) -> Path:
    made = Path(os.path.realpath(tmp_path)) / "project"
    made.mkdir()
    (made / "readme.txt").write_text("A project.\n", "utf-8")
    return made


@pytest.fixture
def harness(project: Path, own: Path) -> ToolHarness:
    return made(project, own)


def made(project: Path, own: Path, **settings: Any) -> ToolHarness:
    return ToolHarness(project, ToolConfig(os.environ, sandboxes=Sandboxes(SandboxSettings(**settings), (own,))))


def git(folder: Path, *words: str) -> str:
    person = ("-c", "user.name=P", "-c", "user.email=p@example.org")
    return subprocess.run(
        ["git", *person, *words], cwd=folder, check=True, capture_output=True, text=True, timeout=30
    ).stdout


@pytest.fixture
def repository(project: Path) -> Path:
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "First.")
    return project


async def same(harness: ToolHarness, line: str, folder: str = "") -> Outcome:
    """What a line says in its sandbox, which is what it says without."""
    inside = await harness.run("bash", command=line, working_dir=folder)
    bare = ToolHarness(harness.project)
    outside = await bare.run("bash", command=line, working_dir=folder)
    assert inside.data["sandboxed"], line
    assert not outside.data["sandboxed"], line
    assert (inside.text, inside.data["exit_code"]) == (outside.text, outside.data["exit_code"]), line
    return inside


def swap(monkeypatch: pytest.MonkeyPatch, change: Callable[[], None]) -> None:
    """Change something between the policy's look and the run."""
    judge = shell_policy.judge

    def judged(command: str, folder: Path, project: Path) -> shell_policy.Judgement:
        found = judge(command, folder, project)
        change()
        return found

    monkeypatch.setattr(shell_policy, "judge", judged)


@pytest.mark.parametrize(
    "place", ["home/.ssh/id_rsa", "home/.netrc", "home/letters.txt", "other/.env", "state/notes.db"]
)
async def test_a_link_that_was_changed_after_the_look_leads_nowhere(
    harness: ToolHarness, project: Path, tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    target = home.path / place.removeprefix("home/") if place.startswith("home/") else tmp_path / place
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("a canary\n", "utf-8")
    file = project / "notes.txt"
    file.write_text("notes\n", "utf-8")

    def change() -> None:
        file.unlink()
        file.symlink_to(target)

    swap(monkeypatch, change)
    done = await harness.run("bash", command="cat notes.txt; cat readme.txt; true")
    assert "canary" not in done.text
    assert "A project." in done.text
    file.unlink()
    file.write_text("notes\n", "utf-8")
    told = await harness.run("bash", command="cat notes.txt")
    assert "canary" not in told.text
    if place != "home/.netrc":
        assert f"[the sandbox: cannot see notes.txt: a line that only reads this project does not see {target}" in (
            told.text
        )


async def test_without_that_sandbox_the_same_link_is_followed(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the test above would prove nothing."""
    (tmp_path / "canary").write_text("a canary\n", "utf-8")
    (project / "notes.txt").write_text("notes\n", "utf-8")

    def change() -> None:
        (project / "notes.txt").unlink()
        (project / "notes.txt").symlink_to(tmp_path / "canary")

    swap(monkeypatch, change)
    assert "canary" in (await ToolHarness(project).run("bash", command="cat notes.txt")).text


async def test_a_worktree_whose_git_is_a_file_is_read_as_ever(repository: Path, own: Path, tmp_path: Path) -> None:
    tree = Path(os.path.realpath(tmp_path)) / "tree"
    git(repository, "worktree", "add", "-q", "-b", "side", str(tree))
    (tree / "readme.txt").write_text("Changed.\n", "utf-8")
    (tree / "new.txt").write_text("New.\n", "utf-8")
    harness = made(tree, own)
    for line in ("git status", "git log --stat", "git diff", "git branch -a", "git worktree list", "git show HEAD"):
        assert (await same(harness, line)).text.strip(), line


async def test_a_part_of_a_repository_is_read_as_ever(repository: Path, own: Path) -> None:
    part = repository / "part"
    part.mkdir()
    (part / "x.txt").write_text("x\n", "utf-8")
    (repository / "readme.txt").write_text("Changed.\n", "utf-8")
    harness = made(part, own)
    for line in ("git status --short", "git log --oneline", "git diff --stat", "ls -l"):
        await same(harness, line)


async def test_a_clone_that_borrows_objects_is_read_as_ever(repository: Path, own: Path, tmp_path: Path) -> None:
    clone = Path(os.path.realpath(tmp_path)) / "clone"
    git(repository, "clone", "-qs", str(repository), str(clone))
    assert "First." in (await same(made(clone, own), "git log && git status")).text


async def test_the_persons_own_settings_of_git_are_seen(
    repository: Path, own: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    dotfiles = home.path / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "gitconfig").write_text(
        "[include]\n\tpath = dotfiles/more\n[core]\n\texcludesFile = ~/dotfiles/ignored\n", "utf-8"
    )
    (dotfiles / "more").write_text("[status]\n\tshort = true\n", "utf-8")
    (dotfiles / "ignored").write_text("*.log\n", "utf-8")
    (home.path / ".gitconfig").symlink_to(dotfiles / "gitconfig")
    (repository / "a.log").write_text("a\n", "utf-8")
    (repository / "b.txt").write_text("b\n", "utf-8")
    assert (await same(made(repository, own), "git status")).data["output"] == "?? b.txt\n"


async def test_outputs_and_exit_codes_stay_as_they_are(harness: ToolHarness, project: Path) -> None:
    (project / "big.txt").write_text("".join(f"line {n}\n" for n in range(400_000)), "utf-8")
    assert (await same(harness, "cat big.txt")).bytes > 4_000_000
    for line, code in (
        ("grep nothing readme.txt", 1),
        ("test -e nosuch", 1),
        ("cat nosuch", 1),
        ("sort big.txt | uniq -c | head -n 3", 0),
        ("cat big.txt | head -n 1", 0),
        ("rg project . 2>/dev/null; ls nosuch; true", 0),
        ("ls -l; find . -name '*.txt' | sort; date +%Y; uname -a; pwd; wc -l big.txt", 0),
    ):
        assert (await same(harness, line)).data["exit_code"] == code, line


async def test_a_time_limit_ends_it(harness: ToolHarness) -> None:
    done = await harness.run("bash", command="sleep 60", timeout_ms=300)
    assert done.timed_out


async def test_what_describes_the_machine_is_not_asked_in_a_sandbox(harness: ToolHarness) -> None:
    for line in ("ps aux", "id", "df -h", "which git", "hostname -I", "type ls", "uptime", "uptime && ps"):
        assert not (await harness.run("bash", command=line)).data["sandboxed"], line
    for line in ("ls && ps", "id -u; cat readme.txt"):  # what else the line runs stays inside
        assert (await harness.run("bash", command=line)).data["sandboxed"], line


async def test_a_program_in_the_home_works(
    harness: ToolHarness, project: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home.path / "tools").mkdir()
    (home.path / "tools" / "words").write_text("said at home\n", "utf-8")
    tool = home.path / "tools" / "rg"
    tool.write_text(f"#!/bin/sh\ncat {home.path}/tools/words\n", "utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    assert "said at home" in (await same(harness, "rg x")).text


async def test_the_first_reader_of_all_runs_in_its_sandbox_too(project: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    harness = made(project, fresh)
    assert (await harness.assess("bash", command="cat readme.txt", call="one")).reads
    assert (await harness.run("bash", command="cat readme.txt", call="one")).data["sandboxed"]
    assert SelfTestRecord(fresh / "sandbox-tried", find_bubblewrap()).holds()


async def test_the_sandbox_is_tried_once_for_all_readers(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    began, begin = asyncio.Event(), asyncio.Event()

    async def holds(program: str, _base: Path) -> str:
        tried.append(program)
        began.set()
        await begin.wait()
        return ""

    monkeypatch.setattr("gshtui.guard.sandbox.sandboxes.try_escapes", holds)
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    harness = made(project, fresh)
    first = asyncio.ensure_future(harness.run("bash", command="cat readme.txt"))
    second = asyncio.ensure_future(harness.run("bash", command="ls"))
    await began.wait()
    assert not first.done() and not second.done()
    begin.set()
    assert all(done.data["sandboxed"] for done in await asyncio.gather(first, second))
    assert (await made(project, fresh).run("bash", command="ls")).data["sandboxed"]
    assert len(tried) == 1, "what held is remembered"


async def test_where_no_sandbox_holds_or_it_is_off_readers_run_as_the_policy_allows(
    project: Path, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    async def escaped(program: str, _base: Path) -> str:
        tried.append(program)
        return "a command in it can write outside"

    monkeypatch.setattr("gshtui.guard.sandbox.sandboxes.try_escapes", escaped)
    off = made(project, own, enabled=False)
    assert not (await off.run("bash", command="cat readme.txt")).data["sandboxed"]
    (tmp_path / "fresh").mkdir()
    fresh = made(project, tmp_path / "fresh")
    await fresh.assess("bash", command="cat readme.txt")
    await fresh.run("bash", command="id")
    assert not tried, "neither a question nor what describes the machine waits for a self-test"
    for _ in range(2):
        done = await fresh.run("bash", command="cat readme.txt")
        assert (done.text, done.data["sandboxed"]) == ("A project.", False)
    assert len(tried) == 1


async def test_a_person_reads_as_they_are(harness: ToolHarness) -> None:
    from msgspec.structs import replace

    from gshtui.commands.declaration import Caller

    bash = harness.commands["bash"]
    invocation = replace(harness.invocation(), caller=Caller("person", is_agent=False))
    assert not (await bash.handler(invocation, bash.parameters(command="cat readme.txt"))).data["sandboxed"]


async def test_where_it_held_and_does_not_start_nothing_runs_before_a_person_is_asked(
    project: Path, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "bin" / "bwrap"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions' >&2\nexit 1\n", "utf-8")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{broken.parent}:{os.environ['PATH']}")
    SelfTestRecord(own / "sandbox-tried", str(broken)).keep()
    harness = made(project, own)
    for call in ("one", "two"):
        assert (await harness.assess("bash", command="cat readme.txt", call=call)).reads
    for call, said in (("one", "did not start: bwrap: No permissions"), ("two", "did not start"), ("", "not start")):
        with pytest.raises(CommandError, match=said):
            await harness.run("bash", command="cat readme.txt", call=call)
    asked = await harness.assess("bash", command="cat readme.txt", call="three")
    assert (asked.inside, asked.reads) == (False, False)
    assert "did not start" in asked.why
    allowed = await harness.run("bash", command="cat readme.txt", call="three")
    assert (allowed.text, allowed.data["sandboxed"]) == ("A project.", False)
    assert (await harness.assess("bash", command="id")).reads, "it needs no sandbox"


def test_a_project_of_another_user_or_one_with_tmp_is_read_without(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_suitable_to_read(project)
    assert not is_suitable_to_read(Path("/"))
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert not is_suitable_to_read(project)


def test_the_view_of_a_folder_leaves_out_what_lies_beside_it(home: Home) -> None:
    view = reading_view(Path("/work/one/project"), [Path("/work/one/project")], ["bash", "cat"])
    assert Path("/home") in view.apart or not Path("/home").is_dir()
    assert Path("/work") in view.apart or not Path("/work").is_dir()
    assert Path("/") not in reading_view(Path("/"), [Path("/")], ["cat"]).apart
    assert Path("/usr") not in reading_view(Path("/usr/src/x"), [], ["cat"]).apart


def test_a_file_that_only_looks_like_a_link_to_a_repository_shows_nothing(project: Path, home: Home) -> None:
    (home.path / "letters").mkdir()
    (home.path / "letters" / "x").write_text("x", "utf-8")
    (project / ".git").write_text(f"gitdir: {home.path}/letters\n", "utf-8")
    assert home.path / "letters" not in reading_view(project, [project], ["git"]).shown
    (project / ".git").write_bytes(b"gitdir: \0\xff\n")
    reading_view(project, [project], ["git"])


def test_what_is_really_missing_is_not_called_hidden(project: Path) -> None:
    said = "cat: gone: No such file or directory\nls: cannot access 'readme.txt': No such file or directory\n"
    assert [each.subject for each in hidden_in(said, project)] == ["readme.txt"]
