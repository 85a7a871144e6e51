"""What the sandbox costs a command, and what a bomb in it costs everybody else."""

import asyncio
import os
import resource
import time
from collections.abc import Coroutine
from pathlib import Path

from gshtui.guard.sandbox.nested_files import NestedFiles
from gshtui.guard.sandbox.sandbox import ProjectSandbox, find_bubblewrap
from gshtui.guard.sandbox.sandbox_run import SandboxRun
from gshtui.guard.sandbox.sandbox_watch import SandboxLimits
from gshtui.guard.sandbox.sandboxes import Sandboxes, SelfTestRecord
from gshtui.settings.settings_tables import Sandbox as SandboxSettings
from gshtui.text.host_rules import HostRules
from tests.bench.figures import Report, median, p95
from tests.bench.place import Place

COMMANDS = 60
FILES, FOLDERS = 20_000, 2_000
TICK = 0.01
BOMBS = {
    "processes": "while :; do while :; do :; done & done 2>/dev/null",
    "memory": "python3 -c 'x = []\nwhile 1: x.append(bytearray(1 << 24))'",
    "disk": "while :; do head -c 1000000000 /dev/zero >/tmp/fill 2>/dev/null; done",
}


def run(report: Report, place: Place) -> None:
    """Commands bare, in the sandbox, with hosts; the first one of a process; then bombs."""
    project = Path(os.path.realpath(place.project))
    asyncio.run(_run(report, project, project.parent / "kept"))


async def _run(report: Report, project: Path, kept: Path) -> None:
    kept.mkdir()
    inside = ProjectSandbox(find_bubblewrap(), project, kept)
    hosts = ProjectSandbox(find_bubblewrap(), project, kept, hosts=HostRules.parse(["pypi.org"]))
    SelfTestRecord(kept / "sandbox-tried", find_bubblewrap()).keep()
    reading = Sandboxes(SandboxSettings(), (kept,))
    bare, cost, hosted = list[float](), list[float](), list[float]()
    read, busy_read = list[float](), list[float]()
    busy, busy_hosted = list[float](), list[float]()
    for _ in range(COMMANDS):
        began = _busy()
        bare.append(await _bare(project))
        between = _busy()
        cost.append(await _in(inside, "true") - bare[-1])
        after = _busy()
        hosted.append(await _in(hosts, "true") - bare[-1])
        busy.append((after - between) - (between - began))
        last = _busy()
        busy_hosted.append((last - after) - (between - began))
        started = time.perf_counter()
        view = await reading.reading_sandbox(project, [project], ["bash", "git"])
        assert view is not None
        await _in(view, "true")
        read.append((time.perf_counter() - started) * 1000 - bare[-1])
        busy_read.append((_busy() - last) - (between - began))
    (kept / "sandbox-tried").unlink()
    report.add("a command in the sandbox: median", median(cost), "ms", limit=30, note="more than bare")
    report.add("a command in the sandbox: p95", p95(cost), "ms", limit=30)
    report.add("with hosts: median", median(hosted), "ms", limit=30)
    report.add("with hosts: p95", p95(hosted), "ms", limit=30)
    report.add("processor time of it: p95", p95(busy), "ms", limit=30, note="also on a busy machine")
    report.add("processor time with hosts: p95", p95(busy_hosted), "ms", limit=30)
    report.add("a line that only reads: median", median(read), "ms", limit=30, note="with its view, more than bare")
    report.add("a line that only reads: p95", p95(read), "ms", limit=30)
    report.add("processor time of it: p95", p95(busy_read), "ms", limit=30)
    await _in_a_large_tree(report, project, kept)
    for note in ("tried", "remembered"):
        began = time.perf_counter()
        await Sandboxes(SandboxSettings(), (kept,)).sandbox(project)
        report.add(f"the first command: {note}", (time.perf_counter() - began) * 1000, "ms")
    for name, line in BOMBS.items():
        limits = SandboxLimits(processes=256, memory=512)
        lags = await _lags(_in(ProjectSandbox(find_bubblewrap(), project, kept, limits=limits), line, 6.0))
        report.add(f"lag of a loop beside a bomb of {name}: p99", sorted(lags)[len(lags) * 99 // 100], "ms", limit=100)


async def _in_a_large_tree(report: Report, project: Path, kept: Path) -> None:
    """What is looked after in subfolders, before and after each command."""
    tree = project.parent / "tree"
    for number in range(FOLDERS):
        folder = tree / str(number % 20) / str(number % 400) / str(number)
        folder.mkdir(parents=True)
        for file in range(FILES // FOLDERS):
            (folder / f"{file}.txt").touch()
    inside = ProjectSandbox(find_bubblewrap(), tree, kept, nested=(NestedFiles(tree),))
    began = _busy()
    await asyncio.to_thread(inside.absent)
    report.add(f"first look at {FILES:,} files", _busy() - began, "ms", note="processor time, once a hub")
    cost, busy = list[float](), list[float]()
    for _ in range(COMMANDS):
        began = _busy()
        bare = await _bare(tree)
        between, started = _busy(), time.perf_counter()
        before = await asyncio.to_thread(inside.absent)
        await _in(inside, "echo x >0/0/0/new.txt")
        await asyncio.to_thread(inside.take_out, before)
        cost.append((time.perf_counter() - started) * 1000 - bare)
        busy.append((_busy() - between) - (between - began))
    report.add(f"a command among {FILES:,} files: median", median(cost), "ms", limit=30)
    report.add(f"a command among {FILES:,} files: p95", p95(cost), "ms", limit=30)
    report.add("processor time of it: p95", p95(busy), "ms", limit=30)


def _busy() -> float:
    """Milliseconds of a processor that this process and its children have used."""
    used = (resource.getrusage(resource.RUSAGE_CHILDREN), resource.getrusage(resource.RUSAGE_SELF))
    return sum(one.ru_utime + one.ru_stime for one in used) * 1000


async def _bare(folder: Path) -> float:
    began = time.perf_counter()
    child = await asyncio.create_subprocess_exec("bash", "-c", "true", cwd=folder, start_new_session=True)
    await child.wait()
    return (time.perf_counter() - began) * 1000


async def _in(sandbox: ProjectSandbox, line: str, within: float = 10.0) -> float:
    began = time.perf_counter()
    environ = {"PATH": os.environ["PATH"]}
    reads = sandbox.view is not None
    words = ["bash", "-c", line]
    async with SandboxRun(sandbox, words, sandbox.project, environ, watched=not reads, asked=reads) as run:
        child = await asyncio.create_subprocess_exec(
            *run.argv, env={}, pass_fds=run.descriptors, start_new_session=True, stderr=asyncio.subprocess.DEVNULL
        )
        run.started(child.pid)
        try:
            await asyncio.wait_for(child.wait(), within)
        except TimeoutError:
            child.kill()
            await child.wait()
    return (time.perf_counter() - began) * 1000


async def _lags(bomb: Coroutine[None, None, float]) -> list[float]:
    """How late this loop is, in milliseconds, while the bomb goes off."""
    going = asyncio.create_task(bomb)
    lags: list[float] = []
    while not going.done():
        began = time.perf_counter()
        await asyncio.sleep(TICK)
        lags.append((time.perf_counter() - began - TICK) * 1000)
    await going
    return lags
