"""What a sandboxed command may use: bombs cost only themselves, and the limit that ended them is named."""

import asyncio
import os
import re
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from gshtui.commands.declaration import Outcome
from gshtui.guard.sandbox import sandbox_watch
from gshtui.guard.sandbox.sandbox_watch import SandboxLimits
from tests.kit.command import command, environment
from tests.kit.storms import some
from tests.kit.tmux import eventually
from tests.real.test_host_proxy import project
from tests.real.test_sandbox import in_sandbox, sleepers
from tests.real.test_sandbox_refusals import tools

__all__ = ["project"]


def limits(done: Outcome) -> list[str]:
    return [each["subject"] for each in done.data["refused"] if each["kind"] == "limit"]


async def test_a_fork_bomb_ends_with_its_sandbox(project: Path) -> None:
    """Also of root, whose processes the kernel does not limit."""
    mark = f"{time.time_ns()}"
    (project / "bomb.sh").write_text(f"while :; do sleep {mark} & done 2>/dev/null", "utf-8")
    done = await in_sandbox(tools(project, max_processes=200), "sh bomb.sh", timeout_ms=20_000)
    if os.geteuid() == 0:
        assert limits(done) == ["sandbox.max_processes"], done.text
        assert "`[sandbox] max_processes` raises it" in done.text
    await eventually(lambda: sleepers(mark), until=lambda found: not found)


async def test_the_memory_of_all_processes_together_is_limited(project: Path) -> None:
    hold = "python3 -c 'import threading; x = bytearray(60 << 20); threading.Event().wait(20)'"
    done = await in_sandbox(tools(project, max_memory_mb=150), f"{hold} & {hold} & {hold} & wait", timeout_ms=20_000)
    assert limits(done) == ["sandbox.max_memory_mb"], done.text
    alone = await in_sandbox(tools(project, max_memory_mb=100), "python3 -c 'bytearray(200 << 20)'")
    assert alone.data["exit_code"] == 1
    assert "MemoryError" in alone.text


async def test_temporary_files_are_memory(project: Path) -> None:
    fill = "for at in /tmp /var/tmp /dev/shm /run; do head -c 90000000 /dev/zero >$at/fill; du -b $at/fill; done"
    done = await in_sandbox(tools(project, max_memory_mb=100), fill, timeout_ms=20_000)
    assert [line.split()[0] for line in done.data["output"].splitlines() if "\t" in line] == [str(25 << 20)] * 4
    assert "No space left" in done.text, "each takes a quarter"


async def test_a_disk_is_not_filled(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = sandbox_watch.free_space(project)
    found = iter([free, free])
    monkeypatch.setattr(sandbox_watch, "free_space", lambda _: next(found, (0, 0)))
    done = await in_sandbox(tools(project), "sleep 20", timeout_ms=20_000)
    assert limits(done) == ["sandbox.writable_paths"]
    assert "of the disk were left" in done.text


FILLS = {
    "allocated": "import os\nfor i in range(99): os.posix_fallocate(os.open(f'f{i}', 0o102), 0, 8 << 20)",
    "written": "for i in range(999):\n  open(f'f{i}', 'wb').write(b'x' * (1 << 20))",
    "one file": "f = open('f0', 'wb')\nfor i in range(999): f.write(b'x' * (1 << 20))",
    "many files": "for i in range(10**7): open(f'f{i}', 'w').close()",
    "folders": "import os\nfor i in range(10**7): os.mkdir(f'f{i}')",
}


@pytest.mark.parametrize("how", some(list(FILLS), 2))
def test_a_small_disk_keeps_room_however_it_is_filled(project: Path, how: str) -> None:
    """In a mount namespace of its own, with a disk of 128 MB and 20,000 files in place of the project."""
    (project.parent / "fill.py").write_text(FILLS[how], "utf-8")
    inner = (
        f"mount -t tmpfs -o size=128m,nr_inodes=20000 none {project} && cd {project} && cp ../fill.py . && "
        f"{shlex.join(command(['sandbox', '--', 'python3', 'fill.py']))}; echo code $?;"
        " stat -f -c 'free %a %S %d' ."
    )
    ran = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", inner],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=50,
    )
    free = ran.stdout.rpartition("free ")[2].split()
    assert len(free) == 3, ran.stderr
    assert int(free[0]) * int(free[1]) >= 32 << 20 and int(free[2]) >= 5_000, ran.stdout + ran.stderr
    if how in ("allocated", "written", "many files"):  # of one file, the kernel refused that it becomes larger
        assert re.search(r"what it wrote stays, [0-9,]+ MB: f\d+, .* and [0-9,]+ more", ran.stderr), ran.stderr
    assert "code 0" not in ran.stdout


async def test_what_stays_below_its_limits_is_let_be(project: Path) -> None:
    settings = {"max_processes": 64, "max_memory_mb": 512}
    line = "for n in 1 2 3 4 5 6 7 8; do sleep 0.5 & done; wait; echo ok"
    done = await asyncio.gather(*(in_sandbox(tools(project, **settings), line) for _ in range(4)))
    assert [each.data["output"] for each in done] == ["ok\n"] * 4
    assert [each.data["refused"] for each in done] == [[]] * 4


@pytest.mark.parametrize(
    ("release", "counted"), [("6.18.44-fc", True), ("5.14.0-362.el9", True), ("5.4.0-200-generic", False), ("x", False)]
)
def test_an_older_kernel_is_not_told_to_count_the_processes_of_all_of_a_users_programs(
    release: str, counted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.release", lambda: release)
    assert ("ulimit -p" in SandboxLimits().shell_words()) is counted
