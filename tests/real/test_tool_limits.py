"""Real tools at every limit from 1 byte to none: what is sent is within it, says what is missing, and counts right."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gshtui.agents.commands import record_commands
from gshtui.agents.toolbox import Toolbox, WorkDirs
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested
from gshtui.bus.events.context_events import OutputTruncated
from gshtui.bus.messages import ToolCall, ToolResult
from gshtui.commands.registry import Registry
from gshtui.guard.approval.gate import Gate
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.ids import new_id
from gshtui.text.truncation import least
from gshtui.tools.commands import commands
from gshtui.tools.files.workspace import ToolConfig
from tests.kit.endings import closing_async
from tests.kit.markers import MARKER, cut_of
from tests.kit.scripted_provider import Recorder
from tests.kit.storms import combined, examples, some

LIMITS = (0, 1, 100, 700, 5_000, 30_000, 100_000)
KEY = "0" * 32


def size(text: str) -> int:
    return len(text.encode(errors="replace"))


class Bench:
    """The real tools as an agent calls them, with a limit of its own beside the one of the settings."""

    def __init__(self, folder: Path, setting: int = 30_000) -> None:
        self.folder = folder
        self.kept: dict[str, str] = {}
        self.bus = Bus()
        self.recorder = Recorder(self.bus)
        self.gate = Gate(self.bus, respondent="person", auto_approve=frozenset({"bash"}))
        self.bus.subscribe(self._allow, ApprovalRequested, name="person")
        output = record_commands.output_command(self._output, self._folders, setting)
        registry = Registry([*commands(ToolConfig(os.environ, max_output_bytes=setting)), output])
        self.toolbox = Toolbox(self.bus, registry, self.gate, "main", WorkDirs(folder, folder), self._keep, setting)

    async def _allow(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, ApprovalRequested):
                self.bus.publish(ApprovalAnswered(approval=event.approval, decision="once"))

    async def _folders(self, key: str) -> list[str]:
        return [str(self.folder)] if key in self.kept else []

    async def _keep(self, session: str, call: str, text: str) -> str:
        key = f"{len(self.kept):032x}"
        self.kept[key] = text
        return key

    async def _output(self, key: str) -> str:
        if key not in self.kept:
            raise StoreError("unknown", f"There is no output {key}.")
        return self.kept[key]

    async def call(self, tool: str, limit: int, **arguments: Any) -> ToolResult:
        self.toolbox.max_output_bytes = limit
        (result,), _ = await self.toolbox.run([ToolCall(new_id(), tool, arguments)], "s1", "m1")
        return result

    async def close(self) -> None:
        await self.gate.close()
        await self.bus.close()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    here = Bench(tmp_path)
    yield here
    await here.close()


def within(result: ToolResult, limit: int, notes: str = "") -> None:
    assert not limit or size(result.content) <= max(limit, least(KEY, notes)), result.content[-300:]


@pytest.mark.parametrize(("setting", "limit"), combined([0, 30_000], LIMITS))
async def test_bash(tmp_path: Path, limit: int, setting: int) -> None:
    async with closing_async(Bench(tmp_path, setting)) as bench:
        assert (await bench.call("bash", limit, command="echo hi")).content == "hi"
        assert (await bench.call("bash", limit, command="true")).content == "(no output)"
        for command, notes in (
            ("seq 1 20000", ""),
            ("head -c 115000 /dev/zero | tr '\\0' x", ""),
            ("for i in $(seq 3000); do printf 'é\\r\\n%s' $i; done; exit 3", "[exit code: 3]"),
            ("printf 'one line\\n%.0s' $(seq 12); exit 1", "[exit code: 1]"),
        ):
            whole = await bench.call("bash", 0, command=command)
            assert not whole.output
            result = await bench.call("bash", limit, command=command)
            within(result, limit, notes)
            assert result.content.endswith(notes)
            if not result.output:
                assert result.content == whole.content
                continue
            printed = bench.kept[result.output]
            head, omitted, tail = cut_of(result.content)
            tail = tail.removesuffix(notes)
            tail = tail if printed.endswith("\n") or not notes else tail.removesuffix("\n")
            assert size(head) + omitted + size(tail) == size(printed) == result.bytes
            assert printed.startswith(head)
            assert printed.endswith(tail)
            assert f"`output key={result.output}`" in result.content
            assert limit
            assert size(whole.content) > limit
            assert size(result.content) < size(whole.content)


async def test_a_limit_of_an_agent_lifts_that_of_the_settings(bench: Bench) -> None:
    text = "x" * 115_000
    command = "head -c 115000 /dev/zero | tr '\\0' x"
    assert (await bench.call("bash", 0, command=command)).content == text
    assert (await bench.call("bash", 200_000, command=command)).content == text
    assert size((await bench.call("bash", 100_000, command=command)).content) > 99_990


async def test_the_event_says_what_is_sent(bench: Bench) -> None:
    result = await bench.call("bash", 5_000, command="seq 1 20000")
    await bench.bus.drained()
    (event,) = bench.recorder.of(OutputTruncated)
    assert (event.original_bytes, event.kept_bytes) == (108_894, size(result.content))
    assert event.original_bytes == result.bytes


async def test_no_key_is_named_where_output_is_not_offered(bench: Bench) -> None:
    bench.toolbox.says_key = False
    result = await bench.call("bash", 5_000, command="seq 1 20000")
    assert result.output
    assert "output key" not in result.content
    head, omitted, tail = cut_of(result.content)
    assert size(head) + omitted + size(tail) == 108_894


async def test_colours_and_binary_are_counted_as_what_can_be_read(bench: Bench) -> None:
    result = await bench.call("bash", 5_000, command="for i in $(seq 5000); do printf '\\033[31mred\\033[0m\\n'; done")
    head, omitted, tail = cut_of(result.content)
    assert size(head) + omitted + size(tail) == result.bytes == 20_000
    binary = await bench.call("bash", 30_000, command="head -c 9000 /dev/urandom")
    assert binary.content.startswith("[binary output: ")
    assert not binary.output
    assert not MARKER.search(binary.content)


@pytest.mark.parametrize("limit", LIMITS)
async def test_read_and_grep_give_pages_with_true_numbers(bench: Bench, limit: int) -> None:
    lines = [f"line {n} of many, with a word é to find" for n in range(1, 5_001)]
    (bench.folder / "many.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    page = await bench.call("read", limit, path="many.txt")
    within(page, limit)
    if not page.output:
        head, said, tail = re.split(r"^(\[lines .*\])$", page.content, flags=re.MULTILINE)
        first, last = (int(number.replace(",", "")) for number in re.findall(r"[\d,]+", said)[:2])
        numbered = [f"{n:>6}│{line}" for n, line in enumerate(lines, 1)]
        if "left out" in said:
            assert head.strip("\n") == "\n".join(numbered[: first - 1])
            assert tail.strip("\n") == "\n".join(numbered[last:])
            assert f"start_line={first}]" in said
        else:
            assert limit == 1 or head.strip("\n") == "\n".join(numbered[:last])
            assert f"of 5,000; continue with start_line={last + 1}]" in said
        assert limit > 50_000 or size(page.content) > limit * 0.8 - 300
    found = await bench.call("grep", limit, pattern="to find", path="many.txt", context_lines=0)
    within(found, limit)
    if not found.output:
        shown = [row for row in found.content.split("\n") if ":" in row and "to find" in row]
        said = re.search(r"\[stopped at ([\d,]+) matches; ", found.content)
        assert said is not None
        assert int(said[1].replace(",", "")) == len(shown) >= 1
        assert len(shown) == 1_000 or size(found.content) > limit // 2


@pytest.mark.parametrize("limit", some(LIMITS, 2))
async def test_one_line_of_ten_megabytes(bench: Bench, limit: int) -> None:
    (bench.folder / "one.txt").write_bytes(b"x" * 10_000_000)
    page = await bench.call("read", limit, path="one.txt")
    within(page, limit)
    assert "a line of 10,000,000 bytes⟩" in page.content
    result = await bench.call("bash", limit, command="cat one.txt")
    within(result, limit)
    if limit:
        head, omitted, tail = cut_of(result.content)
        assert size(head) + omitted + size(tail) == 10_000_000
        piece = await bench.call("output", limit, key=result.output)
        within(piece, limit)
        head, omitted, tail = cut_of(piece.content)
        assert omitted + size(head) + size(tail.rpartition("\n[")[0]) == 10_000_000
    else:
        assert result.content == "x" * 10_000_000


@pytest.mark.parametrize("limit", LIMITS)
async def test_glob_and_folders(bench: Bench, limit: int) -> None:
    for number in range(300):
        (bench.folder / f"a-file-with-a-long-name-{number:04}.txt").touch()
    for tool, arguments in (("glob", {"pattern": "*.txt"}), ("read", {"path": "."})):
        result = await bench.call(tool, limit, **arguments)
        within(result, limit)
        if result.output:
            head, omitted, tail = cut_of(result.content)
            assert size(head) + omitted + size(tail) == size(bench.kept[result.output]) == result.bytes


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(count=st.integers(0, 3_000), limit=st.integers(1, 40_000), end=st.sampled_from(("\n", "", "é", "\r\n")))
async def test_whatever_the_size_and_the_limit(bench: Bench, count: int, limit: int, end: str) -> None:
    text = "".join(f"{n} ü\n" for n in range(count)) + end
    (bench.folder / "printed").write_bytes(text.encode())
    result = await bench.call("bash", limit, command="cat printed")
    within(result, limit)
    readable = text.replace("\r\n", "\n")
    if not result.output:
        assert result.content == (readable.rstrip("\n") or "(no output)")
        return
    head, omitted, tail = cut_of(result.content)
    assert size(head) + omitted + size(tail) == size(readable)
