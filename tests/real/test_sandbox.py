"""The sandbox of commands that nobody is asked about: real bubblewrap, every known way out tried, and no trace left."""

import asyncio
import contextlib
import os
import platform
import shutil
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from msgspec.structs import replace

from gshtui.commands.declaration import Caller, CommandError, Outcome
from gshtui.guard.sandbox.escapes import attempts
from gshtui.guard.sandbox.sandbox import ProjectSandbox, find_bubblewrap, unsuitable
from gshtui.guard.sandbox.sandboxes import Sandboxes, SelfTestRecord
from gshtui.guard.sandbox.self_test import try_escapes
from gshtui.guard.sandbox.system_call_filter import system_call_filter
from gshtui.settings.settings_tables import Sandbox as SandboxSettings
from gshtui.tools.files.workspace import ToolConfig
from tests.kit.command import environment, start_gsh
from tests.kit.home import Home
from tests.kit.tmux import eventually, short_folder
from tests.kit.tool_harness import ToolHarness

HARMLESS = (
    "write outside the project",
    "read what is hidden",
    "see other processes",
    "connect to a socket that is a file",
    "send to a socket that is a file",
    "replace git's hooks",
    "reach the network",
    "move .git away",
    "leave a program that lends its owner's rights",
)
"""Attempts that may succeed on the machine of the tests, in this order."""


@pytest.fixture
def program() -> str:
    """Bubblewrap, which `.ci/setup` installs."""
    found = find_bubblewrap()
    assert found, "bubblewrap is not installed"
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    (made / ".git" / "hooks").mkdir(parents=True)
    (made / "readme.txt").write_text("A project.\n", "utf-8")
    return Path(os.path.realpath(made))


@pytest.fixture
def harness(project: Path, own: Path) -> ToolHarness:
    return ToolHarness(project, ToolConfig(os.environ, sandboxes=Sandboxes(SandboxSettings(), (own,))))


async def in_sandbox(harness: ToolHarness, command: str, **more: Any) -> Outcome:
    bash = harness.commands["bash"]
    invocation = replace(harness.invocation(), sandboxed=True)
    return await bash.handler(invocation, bash.parameters(command=command, **more))


class Weakened(ProjectSandbox, frozen=True):
    """A sandbox without some of its options."""

    without: tuple[str, ...] = ()

    def options(self) -> list[str]:
        kept = list(ProjectSandbox.options(self))
        at = next(n for n in range(len(kept)) if tuple(kept[n : n + len(self.without)]) == self.without)
        del kept[at : at + len(self.without)]
        return kept


def weakened(*without: str) -> Callable[[ProjectSandbox], ProjectSandbox]:
    """The same sandbox without these neighbouring options; `PROJECT` stands for its project."""

    def make(sandbox: ProjectSandbox) -> ProjectSandbox:
        words = tuple(word.replace("PROJECT", str(sandbox.project)) for word in without)
        return Weakened(sandbox.program, sandbox.project, sandbox.kept, hidden=sandbox.hidden, without=words)

    return make


async def test_no_known_way_leads_out(program: str, own: Path) -> None:
    assert await try_escapes(program, own) == ""
    assert list(own.iterdir()) == [], "what was made for it is removed"


@pytest.mark.parametrize(
    ("without", "escape"),
    [
        (("--ro-bind", "/dev/null", "PROJECT/secret"), "read what is hidden"),
        (("--ro-bind", "PROJECT/.git", "PROJECT/.git"), "replace git's hooks"),
        (("--proc", "/proc"), "see other processes"),
        (("--disable-userns",), "open a namespace"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_without_one_of_its_options_the_way_out_is_found(
    program: str, own: Path, without: Sequence[str], escape: str
) -> None:
    assert escape in await try_escapes(program, own, make=weakened(*without))


@pytest.mark.parametrize(
    "escape",
    [
        "connect to a socket that is a file",
        "send to a socket that is a file",
        "type into the terminal",
        "go around the filter by io_uring",
        "reach into other processes",
        "leave a program that lends its owner's rights",
    ],
)
async def test_without_its_filter_of_system_calls_the_way_out_is_found(
    program: str, own: Path, monkeypatch: pytest.MonkeyPatch, escape: str
) -> None:
    allow_all = (6).to_bytes(2, "little") + bytes(2) + (0x7FFF0000).to_bytes(4, "little")
    monkeypatch.setattr("gshtui.guard.sandbox.sandbox.system_call_filter", lambda *_, **__: allow_all)
    assert escape in await try_escapes(program, own)


def test_an_architecture_whose_calls_are_not_known_has_no_sandbox(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert system_call_filter("sparc64") is None
    monkeypatch.setattr(platform, "machine", lambda: "sparc64")
    assert "sparc64" in unsuitable(project)


def test_a_project_that_contains_the_home_has_none(home: Home) -> None:
    assert "home folder" in unsuitable(Path(os.path.realpath(home.path)))
    assert "home folder" in unsuitable(Path("/"))


async def test_commands_work_in_the_project_and_nowhere_else(harness: ToolHarness, project: Path, own: Path) -> None:
    done = await in_sandbox(harness, "echo made >new.txt && cat new.txt readme.txt && echo x >/tmp/x && cat /tmp/x")
    assert (done.data["exit_code"], done.data["output"]) == (0, "made\nA project.\nx\n"), done.text
    assert "sandbox" not in done.text, "where all went well there is nothing to explain"
    assert (project / "new.txt").read_text("utf-8") == "made\n"
    (project / "tidy.sh").write_text("rm -rf .git; mkdir .git/x; mv .git gone", "utf-8")
    for line in (f"echo x >{own}/x", "echo x >/etc/x", "sh tidy.sh"):
        refused = await in_sandbox(harness, line)
        assert refused.data["exit_code"], line
        assert "ran in the sandbox: no network" in refused.text
    assert own.is_dir()
    assert (project / ".git" / "hooks").is_dir()
    assert not (project / ".git" / "x").exists()


async def test_a_command_sees_neither_our_environment_nor_keys(
    harness: ToolHarness, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-canary-0123456789abcdef")
    (project / "look.sh").write_text("env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'", "utf-8")
    seen = await in_sandbox(harness, "sh look.sh")
    assert "canary" not in seen.text
    assert "PATH=" in seen.text


async def test_what_other_programs_would_obey_is_taken_out_or_stays_as_it_was(
    harness: ToolHarness, project: Path, own: Path
) -> None:
    (project / "CLAUDE.md").write_text("Be kind.\n", "utf-8")
    (project / "elsewhere").mkdir()
    done = await in_sandbox(
        harness,
        "echo 'rm -rf ~' >.envrc; mkdir .vscode; echo '{}' >.vscode/tasks.json; ln -s elsewhere .claude;"
        " echo obey >>CLAUDE.md; rm -f CLAUDE.md; mv CLAUDE.md x; true",
    )
    assert "not left in the project" in done.text
    assert (project / "CLAUDE.md").read_text("utf-8") == "Be kind.\n"
    assert sorted(path.name for path in project.iterdir()) == [".git", "CLAUDE.md", "elsewhere", "readme.txt"]
    (kept,) = (own / "taken-out").iterdir()
    assert (kept / ".envrc").read_text("utf-8") == "rm -rf ~\n"
    assert (kept / ".vscode" / "tasks.json").exists()


async def test_everything_that_it_starts_ends_with_it(harness: ToolHarness) -> None:
    mark = f"{time.time_ns()}"
    await in_sandbox(
        harness, f"setsid sleep {mark} >/dev/null 2>&1 & (sleep {mark} >/dev/null 2>&1 & disown) ; echo ok"
    )
    late = await in_sandbox(harness, f"sleep {mark} & sleep {mark}", timeout_ms=300)
    assert late.timed_out
    assert "timed out" in late.text
    await eventually(lambda: sleepers(mark), until=lambda found: not found)


async def sleepers(mark: str) -> list[int]:
    """Processes with this word in their command line."""
    return [each.pid for each in psutil.process_iter(["cmdline"]) if mark in (each.info["cmdline"] or [])]


async def test_everything_ends_with_the_process_that_started_it(project: Path, own: Path) -> None:
    mark = f"{time.time_ns()}"
    script = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom gshtui.guard.sandbox.sandbox import *\n"
        "async def main():\n"
        " made = ProjectSandbox(find_bubblewrap(), Path(sys.argv[1]), Path(sys.argv[2]))\n"
        " inside = made.command(['sh', '-c', f'setsid sleep {sys.argv[3]} & sleep {sys.argv[3]}'], made.project, {})\n"
        " await (await asyncio.create_subprocess_exec(*inside.argv, env={}, pass_fds=inside.descriptors)).wait()\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", script, str(project), str(own), mark), env=environment(), start_new_session=True
    )
    await eventually(lambda: sleepers(mark), until=lambda found: len(found) >= 3)
    parent.kill()
    await parent.wait()
    await eventually(lambda: sleepers(mark), until=lambda found: not found)


async def test_a_secret_is_not_for_a_command_that_nobody_was_asked_about(harness: ToolHarness, project: Path) -> None:
    (project / ".env").write_text("KEY=1\n", "utf-8")
    assert (await harness.assess("bash", command="make all")).sandbox
    assert not (await harness.assess("bash", command="cat .env")).sandbox
    assert not (await harness.assess("bash", command="wc -c <~/.ssh/id_rsa")).sandbox
    assert not (await harness.assess("bash", command="make", working_dir="/")).sandbox


async def test_where_it_does_not_hold_nothing_is_said_to_be_sandboxed(
    project: Path, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def harness(**settings: Any) -> ToolHarness:
        return ToolHarness(project, ToolConfig(os.environ, sandboxes=Sandboxes(SandboxSettings(**settings), (own,))))

    assert not (await harness(enabled=False).assess("bash", command="make all")).sandbox
    false = tmp_path / "bin" / "bwrap"
    false.parent.mkdir()
    false.write_text("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n", "utf-8")
    false.chmod(0o755)
    monkeypatch.setenv("PATH", f"{false.parent}:{os.environ['PATH']}")
    broken = harness()
    assert not (await broken.assess("bash", command="make all")).sandbox
    with pytest.raises(CommandError, match="cannot run there: it does not start: bwrap: No permissions"):
        await in_sandbox(broken, "touch ran")
    false.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n', "utf-8")
    assert "a command in it can write outside the project" in await try_escapes(str(false), own)
    assert not (project / "ran").exists()
    shutil.rmtree(false.parent)


async def test_the_network_is_there_where_the_settings_allow_it(program: str, own: Path) -> None:
    assert await try_escapes(program, own, make=lambda sandbox: replace(sandbox, network=True)) == ""


async def test_other_folders_can_be_written_where_the_settings_name_them(
    project: Path, own: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    settings = SandboxSettings(writable_paths=[".", str(tmp_path / "out"), "not-there"])
    harness = ToolHarness(project, ToolConfig(os.environ, sandboxes=Sandboxes(settings, (own,))))
    done = await in_sandbox(harness, f"echo x >{tmp_path}/out/x; echo y >{tmp_path}/y; true")
    assert (tmp_path / "out" / "x").exists(), done.text
    assert not (tmp_path / "y").exists()


@pytest.mark.parametrize("named", ["~", "/", "~/.."])
async def test_no_setting_makes_the_home_writable(project: Path, own: Path, named: str) -> None:
    found = await Sandboxes(SandboxSettings(writable_paths=[".", named]), (own,)).sandbox(project)
    assert isinstance(found, str) and "contains the home folder" in found


async def test_a_link_in_the_project_makes_no_other_folder_writable(project: Path, own: Path, tmp_path: Path) -> None:
    """`./build` may be written by default, and a link of that name is made by a repository, or by a command before."""
    (tmp_path / "elsewhere").mkdir()
    (project / "build").symlink_to(tmp_path / "elsewhere")
    for paths in ([".", "./build"], ["./build"], ["build/../build"], [f"{project}/build"]):
        harness = ToolHarness(
            project, ToolConfig(os.environ, sandboxes=Sandboxes(SandboxSettings(writable_paths=paths), (own,)))
        )
        done = await in_sandbox(harness, "echo x >build/x")
        assert done.data["exit_code"], paths
        assert not list((tmp_path / "elsewhere").iterdir())


async def test_without_the_project_among_them_only_the_folders_of_the_settings_can_be_written(
    project: Path, own: Path
) -> None:
    harness = ToolHarness(
        project,
        ToolConfig(os.environ, sandboxes=Sandboxes(SandboxSettings(writable_paths=["./build", ".git"]), (own,))),
    )
    (project / "tidy.sh").write_text("echo x >.git/y", "utf-8")
    done = await in_sandbox(harness, "echo x >build/x && cat readme.txt && ! echo y >y && ! sh tidy.sh")
    assert done.data["exit_code"] == 0, done.text
    assert "A project." in done.text
    assert (project / "build" / "x").exists()
    assert not (project / "y").exists()
    none = ToolHarness(project, ToolConfig(os.environ, sandboxes=Sandboxes(SandboxSettings(writable_paths=[]), (own,))))
    done = await in_sandbox(none, "echo x >/tmp/x && ! echo y >build/y && exit 3")
    assert done.data["exit_code"] == 3
    assert "writes only to /tmp" in done.text


async def test_limits_are_those_of_the_settings(project: Path, own: Path) -> None:
    settings = SandboxSettings(max_file_mb=1, max_memory_mb=256, max_processes=64)
    harness = ToolHarness(project, ToolConfig(os.environ, sandboxes=Sandboxes(settings, (own,))))
    done = await in_sandbox(harness, "ulimit -f; ulimit -d; ulimit -u; df -B1 --output=size /tmp /dev/shm | tail -2")
    assert [int(line) for line in done.data["output"].split()] == [1024, 256 * 1024, 64, 64 << 20, 64 << 20]
    done = await in_sandbox(harness, "head -c 2000000 /dev/zero >big")
    assert done.data["exit_code"] == 153
    assert (project / "big").stat().st_size == 1 << 20


async def test_a_repository_made_by_a_command_is_taken_out(tmp_path: Path, own: Path) -> None:
    """Its configuration names programs, which the next prompt of a shell there would run."""
    bare = Path(os.path.realpath(tmp_path)) / "bare"
    bare.mkdir()
    harness = ToolHarness(bare, ToolConfig(os.environ, sandboxes=Sandboxes(SandboxSettings(), (own,))))
    (bare / "start.sh").write_text("mkdir .git; echo x >.git/config", "utf-8")
    done = await in_sandbox(harness, "sh start.sh")
    assert "not left in the project" in done.text
    assert not (bare / ".git").exists()


async def test_what_is_told_by_a_storm_of_commands_stays_apart(harness: ToolHarness) -> None:
    lines = await asyncio.gather(*(in_sandbox(harness, f"echo {n} >/tmp/n; sleep 0.05; cat /tmp/n") for n in range(20)))
    assert [done.data["output"] for done in lines] == [f"{n}\n" for n in range(20)]


async def test_outside_of_it_what_is_tried_succeeds(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attempt that fails everywhere would prove nothing."""
    (tmp_path / "outside").write_text("x", "utf-8")
    (project / ".git" / "hooks" / "pre-commit").write_text("x", "utf-8")
    monkeypatch.chdir(project)
    with contextlib.ExitStack() as closing:
        folder = closing.enter_context(short_folder())
        way = closing.enter_context(socket.socket(socket.AF_UNIX))
        letters = closing.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        port = closing.enter_context(socket.create_server(("127.0.0.1", 0)))
        way.bind(str(folder / "s"))
        way.listen()
        letters.bind(str(folder / "d"))
        outside = str(tmp_path / "outside")
        tried = attempts(outside, outside, str(folder / "s"), str(folder / "d"), port.getsockname()[1])
        assert [name for name in HARMLESS if tried[name]()] == list(HARMLESS)


async def test_it_is_tried_once_and_again_after_anything_changed(
    project: Path, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    async def count(program: str, base: Path) -> str:
        tried.append(program)
        return await try_escapes(program, base)

    monkeypatch.setattr("gshtui.guard.sandbox.sandboxes.try_escapes", count)

    async def made() -> ProjectSandbox | str:
        return await Sandboxes(SandboxSettings(), (own,)).sandbox(project)

    for _ in range(3):
        assert isinstance(await made(), ProjectSandbox)
    assert len(tried) == 1
    assert (own / "sandbox-tried").stat().st_mode & 0o777 == 0o600
    (own / "sandbox-tried").write_text("held by nobody\n", "utf-8")
    assert isinstance(await made(), ProjectSandbox)
    assert len(tried) == 2
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert not SelfTestRecord(own / "sandbox-tried", find_bubblewrap()).holds()
    monkeypatch.undo()
    other = tmp_path / "bwrap"
    other.write_text("#!/bin/sh\nexit 1\n", "utf-8")
    other.chmod(0o755)
    record = SelfTestRecord(own / "sandbox-tried", str(other))
    assert not record.holds(), "it is another program"
    record.keep()
    assert record.holds()
    other.write_text("#!/bin/sh\nexit 2\n", "utf-8")
    assert not record.holds()


async def test_that_it_does_not_hold_is_said_with_the_rule_and_never_remembered(
    project: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_program: str, _base: Path) -> str:
        return "a command in it can write outside the project"

    monkeypatch.setattr("gshtui.guard.sandbox.sandboxes.try_escapes", broken)
    harness = ToolHarness(project, ToolConfig(os.environ, sandboxes=Sandboxes(SandboxSettings(), (own,))))
    assessment = await harness.assess("bash", command="make all > log")
    assert not assessment.sandbox
    assert assessment.why.endswith("; there is no sandbox: a command in it can write outside the project")
    assert not (own / "sandbox-tried").exists()


async def test_a_person_may_ask_for_it(harness: ToolHarness, project: Path, own: Path) -> None:
    bash = harness.commands["bash"]
    invocation = replace(harness.invocation(), caller=Caller("person", is_agent=False))
    done = await bash.handler(invocation, bash.parameters(command=f"echo x >{own}/x", sandbox=True))
    assert done.data["sandboxed"]
    assert not (own / "x").exists()
    bare = ToolHarness(project, ToolConfig(os.environ)).commands["bash"]
    with pytest.raises(CommandError, match="may run in the sandbox only, and cannot run there: there is none here"):
        await bare.handler(invocation, bare.parameters(command="touch ran", sandbox=True))
    assert not (project / "ran").exists()


async def test_everything_ends_with_a_program_of_ours_that_is_killed(project: Path, home: Home) -> None:
    """The very process that talks to the agent, as a window does: `kill -9` leaves it no time for anything."""
    mark = f"{time.time_ns()}"
    (project / "hold.sh").write_text(f"setsid sleep {mark} & (sleep {mark} &) ; sleep {mark}", "utf-8")
    with start_gsh("prompt", "--yes", "--provider", "offline", "run sh hold.sh", cwd=project) as ours:
        await eventually(lambda: sleepers(mark), until=lambda found: len(found) >= 3)
        ours.kill()
    await eventually(lambda: sleepers(mark), until=lambda found: not found)


async def test_a_link_to_what_other_programs_obey_stays_and_so_does_what_it_leads_to(
    harness: ToolHarness, project: Path, own: Path
) -> None:
    (project / ".git").rename(project / "gitdir")
    (project / ".git").symlink_to("gitdir")
    (project / "AGENTS.md").write_text("Be kind.\n", "utf-8")
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    (project / ".vscode").symlink_to("editor")
    (project / "try.sh").write_text(
        "echo x >gitdir/hooks/pre-commit; mv gitdir other; rm -f .git CLAUDE.md .vscode; echo evil >CLAUDE.md;"
        " mkdir .git; echo obey >>AGENTS.md; mkdir editor; echo '{}' >editor/tasks.json",
        "utf-8",
    )
    done = await in_sandbox(harness, "sh try.sh")
    assert "not left in the project" in done.text
    links = {name: str((project / name).readlink()) for name in (".git", "CLAUDE.md", ".vscode")}
    assert links == {".git": "gitdir", "CLAUDE.md": "AGENTS.md", ".vscode": "editor"}
    assert (project / "CLAUDE.md").read_text("utf-8") == "Be kind.\n"
    assert list((project / "gitdir" / "hooks").iterdir()) == []
    (kept,) = (own / "taken-out").iterdir()
    assert (kept / "CLAUDE.md").read_text("utf-8") == "evil\n"
    assert (kept / "editor" / "tasks.json").exists()
    assert not (project / "editor").exists()


async def test_the_whole_network_is_there_where_the_settings_allow_it(project: Path, own: Path) -> None:
    harness = ToolHarness(
        project, ToolConfig(os.environ, sandboxes=Sandboxes(SandboxSettings(allow_network=True), (own,)))
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        line = f"python3 -c \"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 5)\""
        done = await in_sandbox(harness, line)
        assert done.data["exit_code"] == 0, done.text
        server.settimeout(5)
        server.accept()[0].close()
