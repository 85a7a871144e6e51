"""A checkpoint of a tree of 20,000 files, a fork of 10,000 messages, and a suggestion at the prompt.

The floor of a checkpoint is `git status` on the same tree.
"""

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from gshtui.bus.shell_data import ShellRecord
from gshtui.settings import paths
from gshtui.shell.log.shell_log import best_command
from gshtui.store.record.store import Store
from gshtui.tools.git.shadow_repository import ShadowRepository
from tests.bench.figures import Report, median
from tests.bench.place import Place
from tests.kit.record import numbered_prompt

FILES, MESSAGES, COMMANDS = 20_000, 10_000, 10_000
ROUNDS = 15
CHANGED = (0, 20, 200)
"""Files, each in another folder."""


def run(report: Report, place: Place) -> None:
    """All three."""
    asyncio.run(_checkpoints(report, place.project))
    asyncio.run(_record(report))


async def _took(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000


async def _checkpoints(report: Report, project: Path) -> None:
    for number in range(FILES):
        file = project / f"d{number // 100}" / f"{number}.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{number}\n" * 10)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    subprocess.run(["git", "-C", str(project), "add", "."], check=True)
    shadow = ShadowRepository(project)
    report.add("the first checkpoint", await _took(shadow.record_files), "ms")
    status = ["git", "-C", str(project), "status", "--porcelain"]
    taken: dict[int, list[float]] = {count: [] for count in CHANGED}
    floor: list[float] = []
    for number in range(ROUNDS):
        floor.append(await _took(lambda: asyncio.to_thread(subprocess.run, status, capture_output=True)))
        for count, times in taken.items():
            for place in range(count):
                (project / f"d{place}" / f"{place * 100}.txt").write_text(f"changed {count} {number}\n")
            times.append(await _took(shadow.record_files))
    report.add("git status", median(floor), "ms", note="the floor")
    for count, times in taken.items():
        limit = 100.0 if count <= 20 else None
        report.add(
            f"a later checkpoint, {count} files changed",
            median(times),
            "ms",
            limit=limit,
            note=f"{min(times):.0f} at best",
        )


async def _record(report: Report) -> None:
    store = await Store.open(paths.data_dir() / "gsh.db")
    session = (await store.sessions.create(cwd="/p", agent="main")).id
    for start in range(0, MESSAGES, 500):
        await asyncio.gather(
            *(store.messages.append(session, numbered_prompt(number)) for number in range(start, start + 500))
        )
    forks = [
        await _took(lambda: store.sessions.fork(session, cwd="/p", agent="main", title="", parent=""))
        for _ in range(ROUNDS)
    ]
    report.add("a fork of 10,000 messages", median(forks), "ms", limit=50.0)
    words = ("git", "make", "docker", "ls", "cd")
    await store.shells.add_all(
        [
            ShellRecord(
                shell="s",
                number=at,
                command=f"{words[at % 5]} option-{at % 700}",
                cwd=f"/p/{at % 9}",
                at=time.time() - COMMANDS + at,
                exit=at % 4,
                state="done",
            )
            for at in range(1, COMMANDS)
        ]
    )

    async def suggest(typed: str) -> None:
        runs = await store.shells.runs_with_prefix(typed, "/p/3", 60)
        assert best_command(typed, "/p/3", "", runs, time.time())

    for typed in ("g", "git", "docker option-6"):
        taken = [await _took(lambda typed=typed: suggest(typed)) for _ in range(ROUNDS)]
        report.add(f"a suggestion for {typed!r} among 10,000 commands", median(taken), "ms", limit=20.0)
    await store.close()
