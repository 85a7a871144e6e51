"""`search_context` among a million commands against a linear scan of the same as JSON lines; half a million log lines.

Also the redactor on a megabyte. Real store, real command; each query is asked several times, in changing order.
"""

import asyncio
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gshtui.bus.shell_data import ShellRecord
from gshtui.commands.declaration import Caller, Invocation
from gshtui.commands.language import validate
from gshtui.context.retrieval.search_commands import commands
from gshtui.guard.secrets.redaction import Redactor
from gshtui.settings import paths
from gshtui.store.log.log_reader import LogQuery, find_records
from gshtui.store.record.store import Store
from tests.bench.figures import Report, median, p95
from tests.bench.place import Place
from tests.kit.endings import closing_async
from tests.kit.record import no_sync

ROWS = 1_000_000
LOG_LINES = 500_000
TIMES_FASTER = 50
QUERIES: tuple[dict[str, Any], ...] = (
    {"query": "docker"},
    {"query": "needle"},
    {"query": "no such words"},
    {"query": "ocker compose"},
    {"exit_code": -1},
    {"exit_code": 137},
    {"query": "build", "exit_code": -1},
    {"query": "test", "cwd": "/home/ada/project-7"},
    {"cwd": "/home/ada/project-3/src"},
    {"query": '".*('},
    {},
)
_WORDS = (
    "git status",
    "cargo build --release",
    "npm test",
    "docker compose up",
    "ls -la",
    "make deploy",
    "vim src/main.rs",
)


def run(report: Report, place: Place) -> None:
    """Fill, ask, compare."""
    asyncio.run(_history(report, place))
    _log(report, place.home.state / "logs")
    _redaction(report)


async def _history(report: Report, place: Place) -> None:
    lines = place.home.state / "history.jsonl"
    async with closing_async(await Store.open(paths.data_dir() / "gsh.db")) as store:
        with lines.open("w") as file:
            for batch in _batches():
                await store.shells.import_records(batch)
                file.writelines(
                    json.dumps({"command": r.command, "cwd": r.cwd, "exit_code": r.exit}) + "\n" for r in batch
                )
        command = commands(store, place.home.state, no_sync)[0]
        invocation = Invocation(Caller("main", is_agent=True), Path("/"), Path("/"))
        asked: list[float] = []
        for seed in range(5):
            for query in random.Random(seed).sample(QUERIES, len(QUERIES)):
                parameters = validate(command, {"source": "shell_history", **query})
                began = time.perf_counter()
                await command.handler(invocation, parameters)
                asked.append(time.perf_counter() - began)
        scanned = [_scan(lines, query) for query in QUERIES]
        slow, quick = p95(scanned), p95(asked)
        report.add(
            f"search_context, {ROWS:,} commands, p95", quick * 1000, "ms", note=f"median {median(asked) * 1000:.2f}"
        )
        report.add("a linear scan of the same, p95", slow * 1000, "ms")
        report.add("times faster", slow / quick, "x", limit=TIMES_FASTER, at_least=True)


def _batches() -> Iterator[list[ShellRecord]]:
    chance, began = random.Random(7), time.time() - ROWS
    for start in range(0, ROWS, 20_000):
        yield [
            ShellRecord(
                shell="bench",
                number=number,
                command=f"{chance.choice(_WORDS)} {'needle' if number % 100_003 == 0 else f'target-{number}'}",
                cwd=f"/home/ada/project-{number % 40}" + ("/src" if number % 3 else ""),
                at=began + number,
                duration=0.1,
                exit=chance.choice((0, 0, 0, 0, 1, 2)) if number % 5_000 else 137,
                state="done",
            )
            for number in range(start + 1, start + 20_001)
        ]


def _scan(lines: Path, query: dict[str, Any]) -> float:
    """What reading the lines from the first to the last takes: as long, whatever is asked."""
    words, cwd, code = query.get("query", "").lower(), query.get("cwd", ""), query.get("exit_code")
    began = time.perf_counter()
    found: list[dict[str, Any]] = []
    with lines.open() as file:
        for line in file:
            row = json.loads(line)
            failed = row["exit_code"] != 0 if code == -1 else code in (None, row["exit_code"])
            if failed and row["cwd"].startswith(cwd) and words in row["command"].lower():
                found.append(row)
    del found[:-20]
    return time.perf_counter() - began


def _log(report: Report, folder: Path) -> None:
    folder.mkdir()
    line = '{"at": %d, "time": "t", "type": "%s", "agent": "main", "command": "make target-%d", "output": "%s"}\n'
    with (folder / "2026-01-01-1-a.jsonl").open("w") as file:
        for number in range(LOG_LINES):
            file.write(line % (number, ("bash_exec", "tool_call")[number % 2], number, "o" * 120))
    for name, wanted in (
        ("found at once", LogQuery("make", type="bash_exec")),
        ("found in the middle", LogQuery(f"target-{LOG_LINES // 2} ")),
        ("found nowhere", LogQuery("no such words")),
    ):
        took: list[float] = []
        for _ in range(5):
            began = time.perf_counter()
            find_records(folder, wanted, 20)
            took.append(time.perf_counter() - began)
        report.add(f"log of {LOG_LINES:,} lines, {name}", median(took) * 1000, "ms", limit=1_000.0)


def _redaction(report: Report) -> None:
    row = (
        "2026-01-01 12:00:00 INFO request=42 path=/api/v1/items?id=7 commit=3f786850e387550fdab836ed7e6dc881de23001b\n"
    )
    text = (row * 12_000)[:1_000_000]
    redactor = Redactor({"SHOP_PASSWORD": "swordfish-nine"})
    took: list[float] = []
    for _ in range(5):
        began = time.perf_counter()
        redactor.redact(text)
        took.append(time.perf_counter() - began)
    report.add("redacting a megabyte of log", median(took) * 1000, "ms", limit=50.0)
