"""The log on a real disk: redacted, private, bounded, whole after torn lines and a full disk, and quick to search."""

import asyncio
import errno
import json
import os
import stat
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from gshtui.bus.bus import Bus
from gshtui.bus.context_data import Budget, Item, Receipt
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import ToolFinished, ToolStarted, TurnFinished, TurnStarted, UsageReported
from gshtui.bus.events.approval_events import ApprovalSettled
from gshtui.bus.events.context_events import BudgetReached, ContextCut, CutFailed, OutputTruncated
from gshtui.bus.events.hub_events import Noticed, PartFailed
from gshtui.bus.messages import Usage
from gshtui.context.retrieval.result_text import log_lines
from gshtui.guard.secrets.redaction import Redactor
from gshtui.store.log import log_writer
from gshtui.store.log.log_reader import LogFollower, LogQuery, find_records
from gshtui.store.log.log_records import Recorder, RecordType
from gshtui.store.log.log_writer import LogFile, LogKeeper, tidy
from gshtui.text.truncation import shorten
from tests.kit.markers import cut_of
from tests.kit.steps import steps

NOW = 1_795_262_400.0
AGENT: dict[str, Any] = {"agent": "main", "session": "s"}


def called(tool: str, content: str, arguments: dict[str, Any], status: str = "ok") -> tuple[Event, Event]:
    started = ToolStarted(**AGENT, message="m", call="c", tool=tool, arguments=arguments, subject="it")
    finished = ToolFinished(**AGENT, call="c", tool=tool, status=status, content=content, duration=1.5, bytes=7)  # type: ignore[arg-type]
    return started, finished


EVERYTHING: list[Event] = [
    TurnStarted(**AGENT, turn="t", prompt="p", text="deploy with password=hunter2"),
    ToolStarted(**AGENT, message="m", call="c", tool="bash", arguments={"command": "make"}, subject="make"),
    ApprovalSettled(approval="a", agent="main", call="c", decision="once", by="rule rules.toml:3"),
    *called("bash", "FAIL auth\n[exit code: 3]", {"command": "make test"}, "error"),
    *called("read", "text", {"path": "a.py"}),
    OutputTruncated(**AGENT, call="c", tool="read", original_bytes=80_000, kept_bytes=30_000, output="k"),
    ContextCut(
        **AGENT,
        receipt=Receipt(
            "compact", "main", "s", id="c1", tokens_before=900, tokens_after=300, summary="It went well. " * 10
        ),
    ),
    ContextCut(
        **AGENT, receipt=Receipt("prune", "main", "s", tokens_before=9, items=(Item("b", "bash ls", "dropped"),))
    ),
    UsageReported(**AGENT, turn="t", iteration=1, provider="p", model="m", usage=Usage(5, 6), cost=0.1),
    TurnFinished(**AGENT, turn="t", stop="error", error="It broke.", error_kind="server"),
    CutFailed(**AGENT, kind="compact", why="no answer"),
    PartFailed(part="socket", why="taken"),
    Noticed(level="warning", text="beware"),
    BudgetReached(agent="main", budget=Budget("day", "dollars", 1.0, 1.0)),
]


def records(*events: Event) -> list[dict[str, Any]]:
    recorder = Recorder()
    return [record for event in events if (record := recorder.record(event)) is not None]


def written(folder: Path, *made: dict[str, Any]) -> LogFile:
    file = LogFile(folder, Redactor().redact)
    for number, record in enumerate(made):
        file.add({"at": NOW + number, **record})
    assert file.write()
    return file


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().splitlines()]


def test_every_kind_of_record_with_the_fields_of_its_kind() -> None:
    made = records(*EVERYTHING)
    assert {record["type"] for record in made} == set(get_args(RecordType))
    by_type = {record["type"]: record for record in reversed(made)}
    decided = {"tool": "bash", "subject": "make", "decision": "once", "by": "rule rules.toml:3", "call": "c"}
    assert by_type["approval"] | decided == by_type["approval"]
    approval = {"at": NOW, **by_type["approval"]}
    assert "bash: make -> once by rule rules.toml:3" in log_lines(approval, "", "limit", whole=False)[0]
    assert by_type["bash_exec"] | {"command": "make test", "exit_code": 3, "duration_ms": 1500} == by_type["bash_exec"]
    assert (
        by_type["tool_call"] | {"tool": "read", "arguments": '{"path": "a.py"}', "status": "ok"} == by_type["tool_call"]
    )
    sizes = {"tool": "read", "original_bytes": 80_000, "truncated_bytes": 30_000}
    assert by_type["truncation"] | sizes == by_type["truncation"]
    tokens = {"original_tokens": 900, "summary_tokens": 35, "messages_before": 0, "messages_after": 0}
    assert by_type["compaction"] | tokens == by_type["compaction"]
    assert by_type["prune"]["sources"] == ["bash ls"]
    assert by_type["compaction"]["tokens_after"] == 300
    assert next(record["message"] for record in made if record["type"] == "error") == "It broke."
    assert [record["message"] for record in made if record["type"] == "warning"] == [
        "beware",
        "1 of the budget of 1 dollars (day) are used.",
    ]


def test_an_output_that_was_cut_is_cut_further_with_the_numbers_of_the_original() -> None:
    text = "".join(f"line {n}\n" for n in range(20_000))
    sent = shorten(text, 30_000, "0" * 32)
    started, finished = called("bash", sent, {"command": "seq"}, "ok")
    (record,) = records(started, msgspec.structs.replace(finished, output="0" * 32, bytes=len(text)))
    head, omitted, tail = cut_of(record["output"])
    assert len(record["output"].encode()) <= 4_000
    assert len(head) + omitted + len(tail) == len(text) == record["bytes"]


async def test_what_happens_is_written_redacted_and_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    bus = Bus()
    keeper = LogKeeper(bus, folder, Redactor().redact, carried=lambda agent: agent == "0001", every=0.01)
    for event in EVERYTHING:
        bus.publish(event)
    bus.publish(TurnStarted(agent="0001", session="z", turn="t", prompt="p", text="in its own process"))
    await keeper.close()
    await bus.close()
    found = lines(folder)
    assert len(found) == len(records(*EVERYTHING))
    assert "hunter2" not in json.dumps(found) and "[redacted]" in json.dumps(found)
    [path] = folder.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_what_has_just_happened_is_written_for_who_reads_it_next(tmp_path: Path) -> None:
    bus = Bus()
    keeper = LogKeeper(bus, tmp_path, Redactor().redact, every=60)
    for _ in range(3):
        for event in EVERYTHING:
            bus.publish(event)
        await asyncio.gather(keeper.flush(), keeper.flush())
    assert len(lines(tmp_path)) == 3 * len(records(*EVERYTHING))
    bus.publish(EVERYTHING[0])
    await keeper.close()
    await bus.close()
    assert len(lines(tmp_path)) == 3 * len(records(*EVERYTHING)) + len(records(EVERYTHING[0]))


def test_a_file_for_each_day_and_part_and_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_writer, "FILE_MOST", 40_000)
    file = LogFile(tmp_path, str)
    for number in range(1_200):
        file.add({"at": NOW + 86_400 * (number // 600), "type": "prompt", "text": "x" * 100})
    assert file.write()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert {name[:10] for name in names} == {"2026-11-21", "2026-11-22"} and len(names) >= 4
    assert len(lines(tmp_path)) == 1_200
    for age, path in enumerate(sorted(tmp_path.iterdir())):
        os.utime(path, (NOW - age * 7_200, NOW - age * 7_200))
    monkeypatch.setattr(log_writer, "FOLDER_MOST", 100_000)
    tidy(tmp_path, now=NOW)
    left = list(tmp_path.iterdir())
    assert names[0] in {path.name for path in left}, "the newest stays"
    assert sum(path.stat().st_size for path in left) <= 100_000


def test_a_clock_that_goes_backwards_costs_no_record(tmp_path: Path) -> None:
    file = LogFile(tmp_path, str)
    for number in range(10):
        file.add({"at": NOW - number * 40_000, "type": "prompt", "text": f"number {number}"})
    assert file.write()
    assert len(lines(tmp_path)) == 10
    assert len(find_records(tmp_path, LogQuery("number"), 50)) == 10
    # Of one file, what was written last is the newest, whatever the clock said.
    assert [r["text"] for r in find_records(tmp_path, LogQuery(after=NOW - 50_000), 50)] == ["number 1", "number 0"]


def test_a_full_disk_loses_nothing_that_fits_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, {"type": "prompt", "text": "before"})
    whole = os.write

    begun: list[int] = []

    def torn(descriptor: int, data: Any) -> int:
        if not begun:
            begun.append(1)
            return whole(descriptor, bytes(data)[:20])
        raise OSError(errno.ENOSPC, "No space left on device")

    def refused(_descriptor: int, _size: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as full:
        full.setattr(os, "write", torn)
        full.setattr(os, "ftruncate", refused)
        file.add({"at": NOW, "type": "prompt", "text": "while it was full"})
        assert not file.write()
        assert file.waiting == 1
    assert file.write()
    assert sorted(r["text"] for r in find_records(tmp_path, LogQuery(), 9)) == ["before", "while it was full"]


def test_what_does_not_fit_is_counted_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_writer, "KEPT_BACK", 5)
    blocked = tmp_path / "logs"
    blocked.write_text("a file stands where the folder should be")
    file = LogFile(blocked, str)
    for number in range(8):
        file.add({"at": NOW + number, "type": "prompt", "text": f"number {number}"})
    assert not file.write() and file.waiting == 5
    blocked.unlink()
    assert file.write()
    found = find_records(blocked, LogQuery(), 9)
    assert {r["text"] for r in found if "text" in r} == {f"number {n}" for n in range(3, 8)}
    assert [r["message"] for r in found if r["type"] == "error"] == [
        "3 records were lost while the log could not be written."
    ]


def test_torn_and_foreign_lines_are_passed_over(tmp_path: Path) -> None:
    written(tmp_path, {"type": "prompt", "text": "sound"})
    [path] = tmp_path.iterdir()
    with path.open("ab") as file:
        file.write(b'\n\n{"at": 1, "type": "prompt", "te\n[]\n\xff\xfe\x00\n{"type": 5, "at": 1}\n{"type": "x"}\n')
        file.write(b'{"at": %d, "type": "prompt", "text": "also sound"}\n{"at": 2, "type": "pro' % (NOW + 5))
    (tmp_path / "other.jsonl").write_bytes(b"")
    assert [r["text"] for r in find_records(tmp_path, LogQuery(), 9)] == ["also sound", "sound"]
    assert find_records(tmp_path / "missing", LogQuery(), 9) == []


HOSTILE = [
    "(",
    ".*",
    "[a-z]+",
    '"quoted"',
    "it's",
    "\\",
    "a\\nb",
    "%",
    "_",
    "NEAR(x)",
    "-x",
    "*",
    "{}",
    '":"',
    "ÄÖ",
    "漢字",
]


@pytest.mark.parametrize("query", HOSTILE)
def test_queries_are_plain_text(tmp_path: Path, query: str) -> None:
    written(tmp_path, {"type": "bash_exec", "command": f"echo <{query}> x"}, {"type": "prompt", "text": "x"})
    assert [r["command"] for r in find_records(tmp_path, LogQuery(query), 9)] == [f"echo <{query}> x"]


def test_what_fits(tmp_path: Path) -> None:
    written(
        tmp_path,
        {"type": "bash_exec", "agent": "main", "command": "Cargo Build", "output": "error: no such\ncrate"},
        {"type": "error", "agent": "main", "message": "the build failed"},
        {"type": "bash_exec", "agent": "0001", "command": "ls", "exit_code": 0},
    )

    def found(**wanted: Any) -> list[float]:
        return [r["at"] - NOW for r in find_records(tmp_path, LogQuery(**wanted), 9)]

    assert found() == [2, 1, 0]
    assert found(query="BUILD") == [1, 0]
    assert found(query="such crate") == [0], "across a line's end"
    assert found(query="failed build") == [1], "all words, where the whole stands nowhere"
    assert found(query="bash_exec nosuch") == []
    assert found(type="bash_exec", agent="main") == [0]
    assert found(after=NOW + 1, before=NOW + 2) == [1]
    assert find_records(tmp_path, LogQuery(), 1)[0]["at"] == NOW + 2


def test_files_of_many_processes_are_one_log(tmp_path: Path) -> None:
    files = [LogFile(tmp_path, str) for _ in range(5)]
    for number in range(50):
        files[number % 5].add({"at": NOW + number, "type": "prompt", "text": f"{number}"})
    assert all(file.write() for file in files)
    assert [r["text"] for r in find_records(tmp_path, LogQuery(), 50)] == [f"{n}" for n in range(49, -1, -1)]


def test_half_a_million_lines_stay_quick(tmp_path: Path) -> None:
    line = b'{"at": %d, "time": "t", "type": "%s", "agent": "main", "command": "make target-%d", "output": "%s"}\n'
    with (tmp_path / "2026-11-21-1-a.jsonl").open("wb") as file:
        for start in range(0, 500_000, 10_000):
            kinds = (b"bash_exec", b"tool_call")
            file.write(b"".join(line % (NOW + n, kinds[n % 2], n, b"o" * 80) for n in range(start, start + 10_000)))

    def work(wanted: LogQuery, count: int) -> int:
        return steps(lambda: check(wanted, count))

    def check(wanted: LogQuery, count: int) -> None:
        assert len(find_records(tmp_path, wanted, 20)) == count

    # Blocks of bytes are searched, and only lines that match are decoded; the newest come at once.
    assert work(LogQuery("nothing has this"), 0) < 20_000
    assert work(LogQuery("make", type="bash_exec"), 20) < 10_000
    assert work(LogQuery("target-250001"), 1) < 10_000


async def test_following_gives_what_comes_whole_and_in_order(tmp_path: Path) -> None:
    file = written(tmp_path, {"type": "prompt", "text": "before"})
    follower = await asyncio.to_thread(LogFollower, tmp_path)
    assert follower.added() == []
    file.add({"at": NOW + 9, "type": "prompt", "text": "second"})
    other = written(tmp_path, {"type": "prompt", "text": "first"})
    assert file.write()
    assert [r["text"] for r in follower.added()] == ["first", "second"]
    path = next(path for path in tmp_path.iterdir())
    with path.open("ab") as raw:
        raw.write(b'{"at": 5, "type": "prompt", ')
        raw.flush()
        assert follower.added() == []
        raw.write(b'"text": "torn at first"}\n')
    assert [r["text"] for r in follower.added()] == ["torn at first"]
    other.close()
