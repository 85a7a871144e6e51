"""The hook of other programs: one line for each event, into the one file that is ours, and never a failure."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gshtui.programs import report_hook


def reported(data: object, spool: Path | str) -> None:
    """Run the hook as a program runs it: by its path, with nothing but the standard library. It says nothing."""
    ran = subprocess.run(
        [sys.executable, "-I", "-S", report_hook.__file__, "claude"],
        input=data if isinstance(data, bytes) else json.dumps(data).encode(),
        capture_output=True,
        env={**os.environ, "GSH_HOOK_SPOOL": str(spool)},
        check=False,
        timeout=20,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_an_event_is_one_line_of_what_matters(tmp_path: Path) -> None:
    spool = tmp_path / "0001.jsonl"
    spool.touch(0o600)
    event = {"hook_event_name": "PreToolUse", "session_id": "s1", "tool_name": "Bash", "cwd": "/src"}
    reported({**event, "tool_input": {"command": "make test\n", "description": "Runs the tests"}}, spool)
    reported({"type": "agent-turn-complete", "last_assistant_message": "Done."}, spool)
    first, second = [json.loads(line) for line in spool.read_text().splitlines()]
    assert first.pop("at") > 0 and first == {
        "program": "claude",
        "event": "PreToolUse",
        "conversation": "s1",
        "tool": "Bash",
        "subject": "make test\n",
    }
    assert (second["event"], second["answer"], second["text"]) == ("agent-turn-complete", "Done.", "Done.")


def test_the_time_is_that_of_its_start_however_late_it_comes_to_write(tmp_path: Path) -> None:
    spool = tmp_path / "0001.jsonl"
    spool.touch(0o600)
    argv = [sys.executable, "-I", "-S", report_hook.__file__, "claude"]
    environment = {**os.environ, "GSH_HOOK_SPOOL": str(spool)}
    hook = subprocess.Popen(argv, stdin=subprocess.PIPE, env=environment)
    began = time.time()
    reported({"hook_event_name": "Stop"}, spool)
    hook.communicate(b'{"hook_event_name": "PreToolUse"}', timeout=20)
    later, sooner = [json.loads(line) for line in spool.read_text().splitlines()]
    assert sooner["event"] == "PreToolUse" and sooner["at"] <= began + 0.01 <= later["at"] + 0.02


def test_texts_are_cut_and_an_answer_says_so() -> None:
    written = report_hook.line({"prompt": "p" * 9_000, "last_assistant_message": "a" * 9_000}, "codex", 1.0)
    known = json.loads(written)
    assert written.endswith(b"\n") and written.count(b"\n") == 1
    assert len(known["prompt"]) == len(known["text"]) == 400
    assert known["answer"] == "a" * 8_000 + "…"


@pytest.mark.parametrize("data", [b"", b"no json", b"[1, 2]", b"\xff\xfe", b"[" * 100_000, {"tool_input": "none"}])
def test_what_is_no_event_is_no_failure(tmp_path: Path, data: object) -> None:
    spool = tmp_path / "0001.jsonl"
    spool.touch(0o600)
    reported(data, spool)


def test_nothing_is_written_through_a_link_into_a_full_file_or_to_a_place_that_nobody_made(tmp_path: Path) -> None:
    other, link = tmp_path / "other", tmp_path / "link"
    other.touch()
    link.symlink_to(other)
    full = tmp_path / "full"
    with full.open("wb") as file:
        file.truncate(8_000_000)
    for place in (link, full, tmp_path / "missing", "", "relative"):
        reported({"hook_event_name": "Stop"}, place)
    assert other.stat().st_size == 0 and full.stat().st_size == 8_000_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "link", "other"]
