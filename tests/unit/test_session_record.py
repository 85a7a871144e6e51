"""What a program keeps up to date about its session counts only if it is exactly that process's, and whole."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.agent_data import AgentRow
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.session import listed_session, session_record
from gshtui.programs.session.live_sources import FinishedTurn, live_sources
from gshtui.programs.session.session_record import SessionRecord
from gshtui.programs.status.evidence import Evidence, Rank
from gshtui.programs.transcripts.transcript_readers import TurnText
from gshtui.system.processes.process_identity import start_of
from tests.kit.tmux import eventually

AT = 1_795_858_735_037


def note(home: Path, of: int, **more: Any) -> Path:
    """The record of a process, as Claude Code writes it."""
    path = home / ".claude" / "sessions" / f"{of}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    known = {"pid": of, "procStart": start_of(of), "version": "2.1.332", "sessionId": "one", "statusUpdatedAt": AT}
    path.write_text(json.dumps(known | more), "utf-8")
    return path


async def evidence(home: Path, pid: int, **environ: str) -> Evidence | None:
    """What a fresh reader finds."""
    record = SessionRecord("claude", pid, {"HOME": str(home), **environ})
    await record.start(lambda: None)
    found = record.evidence
    await record.stop()
    return found


@pytest.mark.parametrize(
    ("fields", "status", "doing"),
    [
        ({"status": "busy"}, "thinking", ""),
        ({"status": "waiting", "waitingFor": "permission prompt"}, "waiting", "asks for permission"),
        ({"status": "waiting", "waitingFor": "a new word"}, "waiting", "a new word"),
        ({"status": "idle"}, "idle", ""),
        ({"status": "shell"}, "idle", "a command runs in the background"),
    ],
)
async def test_a_status_is_evidence_of_the_rank_of_a_record(
    tmp_path: Path, fields: dict[str, str], status: str, doing: str
) -> None:
    note(tmp_path, os.getpid(), **fields)
    found = await evidence(tmp_path, os.getpid())
    assert found is not None
    assert (found.rank, found.status, found.doing, found.at) == (Rank.RECORD, status, doing, AT / 1000)
    assert found.vague is (doing == "asks for permission")


@pytest.mark.parametrize("fields", [{"procStart": "1"}, {"pid": 1}, {"status": "a new word"}, {"status": 7}])
async def test_a_record_of_another_process_or_of_no_known_status_says_nothing(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    note(tmp_path, os.getpid(), **({"status": "idle"} | fields))
    assert await evidence(tmp_path, os.getpid()) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"pid": ' + "[" * 9000, "x" * 70_000, '{"status": "idle"}'])
async def test_what_is_no_record_says_nothing(tmp_path: Path, text: str) -> None:
    note(tmp_path, os.getpid()).write_text(text, "utf-8")
    assert await evidence(tmp_path, os.getpid()) is None


async def test_its_folder_may_be_elsewhere(tmp_path: Path) -> None:
    note(tmp_path, os.getpid(), status="idle")
    assert await evidence(tmp_path / "none", os.getpid(), CLAUDE_CONFIG_DIR=str(tmp_path / ".claude")) is not None
    assert await evidence(tmp_path / "none", os.getpid()) is None


async def test_a_change_is_told_and_a_record_that_is_half_written_changes_nothing(tmp_path: Path) -> None:
    path = note(tmp_path, os.getpid(), status="busy")
    record, told = SessionRecord("claude", os.getpid(), {"HOME": str(tmp_path)}), list[str]()
    await record.start(lambda: told.append(record.evidence.status if record.evidence else ""))

    async def statuses() -> list[str]:
        return told

    path.write_text('{"pid": ', "utf-8")
    await record.refresh(quiet=True)
    assert told == ["thinking"]
    note(tmp_path, os.getpid(), status="idle", sessionId="two")
    await eventually(statuses, until=lambda told: told[-1] == "idle")
    assert (record.conversation, record.version) == ("two", "2.1.332")
    path.unlink()
    await eventually(statuses, until=lambda told: told[-1] == "")
    await record.stop()


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process below this one, which runs until its input is closed."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


async def test_a_program_below_a_wrapper_is_found_and_its_record_ends_with_it(
    tmp_path: Path, child: subprocess.Popen[bytes]
) -> None:
    note(tmp_path, child.pid, status="waiting")
    record = SessionRecord("claude", os.getpid(), {"HOME": str(tmp_path)})
    await record.start(lambda: None)
    assert record.evidence is not None
    child.terminate()
    await asyncio.to_thread(child.wait)
    await record.refresh(quiet=True)
    assert record.evidence is None
    await record.stop()


async def test_a_finished_turn_is_evidence_and_one_under_way_is_none() -> None:
    turns = [TurnText("1", 5.0, "go", ("Wait.",), "", over=False, written=6.0)]

    async def last_turn() -> TurnText | None:
        return turns[-1]

    source = FinishedTurn(last_turn)
    await source.start(lambda: None)
    await source.refresh(quiet=True)
    assert source.evidence is None
    turns.append(TurnText("1", 5.0, "go", ("Done.",), "Done.", over=True, written=9.0))
    await source.refresh(quiet=False)
    assert source.evidence is None, "it is not read while its screen shows work"
    await source.refresh(quiet=True)
    found = source.evidence
    assert found is not None
    assert (found.rank, found.status, found.at) == (Rank.TRANSCRIPT, "idle", 9.0)


async def test_the_end_of_a_turn_is_read_as_it_is_written_down(tmp_path: Path) -> None:
    """Not only at the next look at a screen, which shows no work any more."""
    file, heard = tmp_path / "talk.jsonl", asyncio.Event()
    file.write_text("go\n")

    async def last_turn() -> TurnText | None:
        over = "done" in file.read_text()
        return TurnText("1", 5.0, "go", ("Done.",), "Done.", over, written=9.0, file=file)

    source = FinishedTurn(last_turn)
    await source.start(heard.set)
    try:
        await source.refresh(quiet=True)
        assert source.evidence is None
        heard.clear()
        file.write_text("go\ndone\n")
        await asyncio.wait_for(heard.wait(), 30)
        assert source.evidence is not None
    finally:
        await source.stop()


def test_a_program_elsewhere_has_no_files_here() -> None:
    async def last_turn() -> None:
        return None

    claude = profiles.load(Path("/nonexistent")).get("claude")
    here = AgentRow(id="0001", name="it", kind="cli", pid=os.getpid(), created=time.time())
    away = AgentRow(id="0001", name="it", kind="cli", pid=os.getpid(), socket="ssh://box/gsh")
    assert [type(each) for each in live_sources(claude, here, {}, last_turn)] == [SessionRecord, FinishedTurn]
    assert live_sources(claude, away, {}, last_turn) == []


def listing(folder: Path, printed: str) -> Path:
    """A program that prints this, and notes each time that it is asked."""
    program = folder / "claude"
    (folder / "printed").write_text(printed, "utf-8")
    program.write_text(f'#!/bin/sh\necho "$@" >> {folder}/asked\ncat {folder}/printed\n', "utf-8")
    program.chmod(0o700)
    return program


async def test_where_there_is_no_record_the_program_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listed_session, "_FIRST", 0.0)
    monkeypatch.setattr(listed_session, "_EVERY", 0.0)
    pid, home = os.getpid(), tmp_path / "home"
    told = [
        {"pid": 1, "status": "busy"},
        {"pid": pid, "status": "waiting", "waitingFor": "input needed", "sessionId": "x"},
    ]
    program = listing(tmp_path, json.dumps(told))
    row = AgentRow(id="0001", name="it", pid=pid, argv=(str(program),), version="2.1.332")
    profile, environ = (
        profiles.load(Path("/nonexistent")).get("claude"),
        {"HOME": str(home), "PATH": os.environ["PATH"]},
    )

    async def no_turn() -> TurnText | None:
        return None

    record, asked, *_ = live_sources(profile, row, environ, no_turn)
    changed = asyncio.Event()
    for source in (record, asked):
        await source.start(changed.set)
    await asked.refresh(quiet=True)
    await changed.wait()
    found = asked.evidence
    assert found is not None and (found.rank, found.source, found.status) == (Rank.RECORD, "listing", "waiting")
    assert (found.doing, found.vague, asked.conversation) == ("asks a question", True, "x")
    assert "agents --json: waiting" in found.why
    (tmp_path / "printed").write_text("no list", "utf-8")
    for _ in range(6):
        await asked.refresh(quiet=True)
        await asyncio.gather(*(each for each in asyncio.all_tasks() if each.get_name() == listed_session.ASKS))
    assert (tmp_path / "asked").read_text("utf-8") == "agents --json\n" * 4, "it is given up"
    note(home, pid, status="busy")
    monkeypatch.setattr(session_record, "_FAMILY_EVERY", 0.0)
    await record.refresh(quiet=True)
    assert asked.evidence is None and asked.conversation == "", "what it keeps itself counts instead"
    for source in (record, asked):
        await source.stop()


@pytest.mark.parametrize("version", ["", "2.1.100", "2.1.196", "none"])
async def test_a_version_that_may_not_list_them_is_not_asked(version: str, tmp_path: Path) -> None:
    assert not listed_session.lists_sessions(version)
    assert listed_session.lists_sessions("2.1.197") and listed_session.lists_sessions("3.0")
