"""The kernel's count of a sandbox's processes, as root: a real group where one can be made, and both versions."""

import asyncio
import os
from pathlib import Path

from gshtui.guard.sandbox.sandbox import ProjectSandbox, find_bubblewrap
from gshtui.guard.sandbox.sandbox_run import ControlGroup, SandboxRun, make_group
from gshtui.guard.sandbox.sandbox_watch import SandboxLimits


async def test_a_bomb_gets_no_more_processes_than_its_group_may_have(tmp_path: Path) -> None:
    real = Path(os.path.realpath(tmp_path))
    (real / "project").mkdir()
    sandbox = ProjectSandbox(find_bubblewrap(), real / "project", real / "kept", limits=SandboxLimits(processes=30))
    line = "for n in $(seq 200); do sleep 30 & done 2>/dev/null; ls /proc | grep -c '^[0-9]'; kill $(jobs -p)"
    run = SandboxRun(sandbox, ["bash", "-c", line], real / "project", {"PATH": os.defpath})
    async with run:
        if os.geteuid() != 0 or run.argv[0] != "/bin/sh":
            return  # there is no group for this user, or on this machine
        group = Path(run.argv[3]).parent
        child = await asyncio.create_subprocess_exec(
            *run.argv,
            env={},
            pass_fds=run.descriptors,
            stdout=asyncio.subprocess.PIPE,
        )
        run.started(child.pid)
        await asyncio.wait_for(child.communicate(), 30)
    assert [each.subject for each in run.refusals] == ["sandbox.max_processes"]
    assert not group.exists()


def tree(folder: Path, own: str, *names: str) -> tuple[Path, Path]:
    (folder / "own").write_text(own, "ascii")
    for name in names:
        (folder / "mounts" / name).mkdir(parents=True, exist_ok=True)
    return folder / "own", folder / "mounts"


def test_the_first_version_has_a_hierarchy_for_processes(tmp_path: Path) -> None:
    made = make_group(10, *tree(tmp_path, "9:name=systemd:/\n8:cpu,pids:/a\n0::/\n", "pids/a"))
    assert made is not None
    assert made.folder.parent == tmp_path / "mounts" / "pids" / "a"
    assert (made.folder / "pids.max").read_text("ascii") == "13"


def test_in_the_second_version_it_is_beside_our_own_group_where_that_counts(tmp_path: Path) -> None:
    own, mounts = tree(tmp_path, "0::/user/app/term.scope\n", "user/app/term.scope")
    (mounts / "cgroup.controllers").write_text("cpu pids\n", "ascii")
    assert make_group(10, own, mounts) is None
    (mounts / "user" / "app" / "cgroup.subtree_control").write_text("memory pids\n", "ascii")
    made = make_group(10, own, mounts)
    assert made is not None
    assert made.folder.parent == mounts / "user" / "app"
    (made.folder / "pids.events").write_text("max 0\n", "ascii")
    assert not made.refused()
    (made.folder / "pids.events").write_text("max 2\n", "ascii")
    assert made.refused()


def test_what_a_process_that_is_gone_has_left_is_removed_with_the_next(tmp_path: Path) -> None:
    own, mounts = tree(tmp_path, "8:pids:/\n", "pids/gsh-sandbox-999999999-x", f"pids/gsh-sandbox-{os.getpid()}-x")
    assert make_group(10, own, mounts) is not None
    left = {path.name.split("-")[2] for path in (mounts / "pids").iterdir()}
    assert left == {str(os.getpid())}


def test_where_none_can_be_made_there_is_none(tmp_path: Path) -> None:
    assert make_group(10, tmp_path / "none", tmp_path) is None
    assert make_group(10, *tree(tmp_path, "8:pids:/gone\n")) is None
    assert not ControlGroup(tmp_path).refused()
