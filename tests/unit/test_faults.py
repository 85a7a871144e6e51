"""The primitives of isolation: files of faults, supervised tasks, ends of many steps, and what the house keeps to."""

import asyncio
import errno
import os
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.bus import Bus
from gshtui.bus.events.hub_events import FaultReported
from gshtui.bus.loop_faults import LoopFaults, in_words
from gshtui.commands.declaration import CommandError
from gshtui.settings.paths import FolderError
from gshtui.store.log.log_records import Recorder
from gshtui.system import faults, tasks
from gshtui.system.expected_error import ProgramMissing
from gshtui.system.faults import Breaker, FaultLog
from tests.kit import scripted_provider

pytestmark = pytest.mark.faults


def fail(text: str = "broken") -> None:
    raise ValueError(text)


def caught(text: str = "broken") -> ValueError:
    try:
        fail(text)
    except ValueError as error:
        return error
    raise AssertionError


# Files


def test_a_fault_is_a_private_file_once_and_counted(tmp_path: Path) -> None:
    log = FaultLog(lambda: tmp_path)
    found = [log.record("the pane", caught(), "at a key") for _ in range(100)]
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    text = file.read_text()
    assert "the pane failed at a key" in text
    assert "ValueError: broken" in text and "Traceback" in text
    assert [fault.count for fault in found if fault.message] == [1, 10, 100]
    assert {fault.file for fault in found} == {str(file)}


OUTSIDE: dict[str, tuple[Exception, str]] = {
    "of ours": (CommandError("The tree is gone.", hint="Plant one."), "The walk failed: The tree is gone."),
    "of ours, in the words of others": (
        CommandError("git failed: it is late.."),
        "The walk failed: git failed: it is late.",
    ),
    "a missing program": (ProgramMissing("/opt/bin/fd"), "The walk failed: fd is not installed."),
    "a full disk": (OSError(errno.ENOSPC, "No space left", "/data/x"), "The walk failed: No space left (/data/x)."),
    "too many files": (OSError(errno.EMFILE, "Too many open files", "/a"), "The walk failed: Too many files are open"),
    "too many files for a library": (
        ImportError("/lib/x.so: cannot open shared object file: Too many open files"),
        "The walk failed: Too many files are open",
    ),
    "no memory": (MemoryError(), "The walk failed: There is not enough memory."),
    "no thread": (RuntimeError("can't start new thread"), "The walk failed: No more processes or threads can be"),
    "a folder": (
        FolderError("/x is not a folder; move it away."),
        "The walk failed: /x is not a folder; move it away.",
    ),
    "in a group": (
        ExceptionGroup("two", [ProgramMissing("fd"), ProgramMissing("fd")]),
        "The walk failed: fd is not installed.",
    ),
}


@pytest.mark.parametrize("kind", OUTSIDE)
async def test_what_fails_outside_of_the_program_is_said_once_in_its_own_words_without_a_file(
    kind: str, tmp_path: Path
) -> None:
    error, sentence = OUTSIDE[kind]
    bus = Bus()
    bus.faults = FaultLog(lambda: tmp_path)
    told: list[FaultReported] = []
    bus.subscribe(lambda batch: told.extend(e for e in batch if isinstance(e, FaultReported)), FaultReported, name="t")
    fault, *_ = [bus.report("the walk", error, hint="It goes on.") for _ in range(3)]
    assert fault.failure("The walk").startswith(sentence)
    assert (fault.kind, list(tmp_path.iterdir())) == ("missing", [])
    await bus.drained()
    assert [" ".join(in_words(event)).replace("the walk", "The walk") for event in told] == [
        f"{fault.failure('The walk')} {fault.hint or 'It goes on.'}"
    ]


def test_a_fault_of_ours_within_a_group_is_one(tmp_path: Path) -> None:
    log = FaultLog(lambda: tmp_path)
    fault = log.record("the walk", ExceptionGroup("two", [ProgramMissing("fd"), caught()]))
    assert fault.failure("The walk").startswith("The walk failed inside gsh-tui: ")
    assert (fault.kind, len(list(tmp_path.iterdir()))) == ("bug", 1)


def test_there_are_not_more_files_than_anybody_reads(tmp_path: Path) -> None:
    log = FaultLog(lambda: tmp_path)
    for number in range(faults.FILES + 20):
        log.record(f"part {number}", caught(str(number)))
    written = list(tmp_path.iterdir())
    assert len(written) == faults.FILES
    everything = "".join(file.read_text() for file in written)
    assert all(f"ValueError: {number}\n" in everything for number in range(faults.FILES + 20))


def test_a_disk_that_takes_nothing_is_said(tmp_path: Path) -> None:
    def folder() -> Path:
        raise OSError(28, "No space left on device")

    fault = FaultLog(folder).record("the pane", caught())
    assert (fault.file, fault.trouble) == ("", "No space left on device")
    assert "could not be written: No space left on device" in fault.details


def test_a_link_in_the_place_of_a_report_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults.time, "strftime", lambda _: "now")
    monkeypatch.setattr(faults.time, "monotonic_ns", lambda: 0)
    (tmp_path / f"crash-now-000000-{os.getpid()}.log").symlink_to(tmp_path / "elsewhere")
    fault = FaultLog(lambda: tmp_path).record("the pane", caught())
    assert fault.file.endswith("-1.log")
    assert not (tmp_path / "elsewhere").exists()


def test_an_error_whose_text_raises_is_written_all_the_same(tmp_path: Path) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    fault = FaultLog(lambda: tmp_path).record("the pane", Mute())
    assert "Mute" in fault.why
    assert fault.file


def test_a_breaker_leaves_alone_and_tries_again() -> None:
    now = [0.0]
    breaker = Breaker(limit=3, within=10, rest=30, clock=lambda: now[0])
    assert [breaker.failed("x") for _ in range(3)] == [False, False, True]
    assert breaker.paused("x") and not breaker.paused("y")
    now[0] = 31
    assert not breaker.paused("x")
    assert breaker.failed("x"), "one attempt after the rest"
    assert breaker.resume()
    assert not breaker.paused("x")
    breaker.failed("x")
    breaker.succeeded("x")
    assert [breaker.failed("x") for _ in range(2)] == [False, False]


def test_failures_that_are_far_apart_pause_nothing() -> None:
    now = [0.0]
    breaker = Breaker(limit=3, within=10, clock=lambda: now[0])
    for _ in range(20):
        assert not breaker.failed("x")
        now[0] += 6


# Tasks


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    monkeypatch.setattr(tasks, "FIRST_PAUSE", 0.0)
    return []


def listen(heard: list[dict[str, Any]]) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.append(context))


async def test_a_duty_is_begun_again_until_it_returns(heard: list[dict[str, Any]]) -> None:
    listen(heard)
    runs: list[int] = []

    async def duty() -> None:
        runs.append(1)
        if len(runs) < 4:
            fail()

    await tasks.keep_on(duty, "the duty")
    assert len(runs) == 4
    assert [context["part"] for context in heard] == ["the duty"] * 3


async def test_a_duty_survives_the_cancelling_of_what_it_waits_for_and_ends_when_it_is_cancelled(
    heard: list[dict[str, Any]],
) -> None:
    listen(heard)
    waits: list[asyncio.Future[None]] = []
    began = asyncio.Event()

    async def duty() -> None:
        waits.append(asyncio.get_running_loop().create_future())
        began.set()
        await waits[-1]

    task = tasks.keep_on(duty, "the duty")
    await began.wait()
    began.clear()
    waits[0].cancel()
    await began.wait()
    assert len(waits) == 2 and len(heard) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_job_that_fails_is_reported_and_one_that_never_began_is_closed(heard: list[dict[str, Any]]) -> None:
    listen(heard)

    async def job() -> int:
        fail()
        return 1

    assert await tasks.start_job(job(), "the job") is None
    assert heard[0]["part"] == "the job"
    unbegun = tasks.start_job(job(), "another")
    unbegun.cancel()
    with pytest.raises(asyncio.CancelledError):
        await unbegun


async def test_cancelled_tasks_are_waited_for_and_their_faults_are_reported(heard: list[dict[str, Any]]) -> None:
    listen(heard)
    ended = list[str]()

    async def work(name: str, error: BaseException | None = None) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(name)
            if error is not None:
                raise error

    names = {"one": None, "faulty": ValueError("broken"), "on purpose": OSError("gone")}
    running = [asyncio.ensure_future(work(name, error)) for name, error in names.items()]
    await asyncio.sleep(0)  # each of them waits now
    await tasks.cancel_and_wait(None, *running, asyncio.current_task())
    assert ended == list(names)
    assert [str(context["exception"]) for context in heard] == ["broken"]
    await tasks.cancel_and_wait(*running)  # they have ended
    await tasks.cancel_and_wait(None)


async def test_whoever_is_cancelled_while_it_waits_for_a_cancelled_task_is_cancelled() -> None:
    ending, may_end = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ending.set()
            await may_end.wait()

    task = asyncio.ensure_future(slow())
    await asyncio.sleep(0)
    stopping = asyncio.ensure_future(tasks.cancel_and_wait(task))
    await ending.wait()
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert not task.done(), "it is not torn out of its own ending"
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_task_that_does_not_end_is_given_up() -> None:
    may_end = asyncio.Event()

    async def deaf() -> None:
        while not may_end.is_set():
            try:
                await may_end.wait()
            except asyncio.CancelledError:
                continue

    task = asyncio.ensure_future(deaf())
    await asyncio.sleep(0)
    await tasks.cancel_and_wait(task, within=0.01)
    assert not task.done()
    may_end.set()
    await task


async def test_an_end_goes_on_through_faults(heard: list[dict[str, Any]]) -> None:
    listen(heard)
    done: list[str] = []

    async def waits() -> None:
        done.append("waits")

    await tasks.end_all("the end", lambda: done.append("one"), fail, waits, fail, lambda: done.append("last"))
    assert done == ["one", "waits", "last"]
    assert len(heard) == 2


async def test_what_escapes_a_loop_is_an_event_and_a_record(tmp_path: Path) -> None:
    bus = Bus()
    recorder = scripted_provider.Recorder(bus)
    before: list[Any] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: before.append(context))
    escaping = LoopFaults(bus)
    escaping.install()
    await tasks.start_job(_failing(), "the mail")
    await tasks.start_job(_failing(), "the mail")
    await bus.drained()
    (event,) = recorder.of(FaultReported)
    assert (event.part, event.why, event.count) == ("the mail", "ValueError: broken", 1)
    assert Path(event.file).exists()
    assert Recorder().record(event) == {
        "type": "error",
        "where": "the mail",
        "kind": "fault",
        "message": "ValueError: broken",
        "file": event.file,
        "count": 1,
    }
    escaping.remove()
    await tasks.start_job(_failing(), "the mail")
    assert len(before) == 1
    await bus.close()


async def _failing() -> None:
    fail()
