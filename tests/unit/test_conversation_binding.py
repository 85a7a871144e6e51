"""Which conversation a process is in: by the files that it really holds open, and by what programs note of it."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from gshtui.programs.transcripts.conversation_binding import BindingQuery, bound_conversation

CWD = "/home/ada/shop"
FIRST, SECOND = "01a205ae-4312-73e1-b0c8-442737224224", "01a205b0-0000-73e1-b0c8-442737224224"
HOLD = "import sys; kept = [open(name) for name in sys.argv[1:]]; print('held', flush=True); sys.stdin.read()"


@contextmanager
def holding(*files: Path, words: Sequence[str] = ()) -> Iterator[int]:
    """A shell with these words on its command line, whose child holds these files open; the shell's pid."""
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    child = [sys.executable, "-c", HOLD, *map(str, files)]
    argv = ["sh", "-c", f'shift {len(words)}; "$@"; exit', "sh", *words, *child]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            assert process.stdout.readline() == b"held\n"
            yield process.pid
        finally:
            process.stdin.close()


@contextmanager
def running(program: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of this name, at least one tick of the clock by which processes' starts are told after another."""
    argv = [program, "-c", "print(1, flush=True); input()"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdout.readline()
            tick = 2 / os.sysconf("SC_CLK_TCK")
            while time.time() - psutil.Process(process.pid).create_time() < tick:
                pass  # the next one is not to begin in the same
            yield process
        finally:
            process.stdin.close()


def bound(home: Path, program: str, pid: int, *, title: str = "", taken: Sequence[str] = (), alone: bool = True) -> str:
    return bound_conversation(BindingQuery(program, pid, CWD, title, taken, alone), {}, home)


def test_codex_holds_a_lock_before_anything_is_said_and_its_helpers_hold_others(tmp_path: Path) -> None:
    root = tmp_path / ".codex"
    locks = [root / "thread-writer-locks" / f"{id}.lock" for id in (FIRST, SECOND)]
    with holding(locks[0]) as pid:
        assert bound(tmp_path, "codex", pid) == FIRST
        assert bound(tmp_path, "codex", pid, taken=[FIRST]) == "", "it is another agent's"
    helpers = root / "sessions" / "2026" / f"rollout-2026-11-22T10-44-00-{SECOND}.jsonl"
    helpers.parent.mkdir(parents=True)
    source = {"subagent": {"thread_spawn": {"parent_thread_id": FIRST}}}
    helpers.write_text(json.dumps({"type": "session_meta", "payload": {"id": SECOND, "source": source}}) + "\n")
    with holding(*locks, helpers) as pid:
        assert bound(tmp_path, "codex", pid) == FIRST
    rollouts = [helpers.with_name(f"rollout-2026-11-22T10-4{n}-00-{id}.jsonl") for n, id in enumerate((FIRST, SECOND))]
    for age, file in enumerate(reversed(rollouts)):
        file.write_text(json.dumps({"type": "session_meta", "payload": {"source": "cli"}}) + "\n")
        os.utime(file, (1_795_000_000 - age, 1_795_000_000 - age))
    with holding(*rollouts) as pid:
        assert bound(tmp_path, "codex", pid) == SECOND, "the one that it writes now"


def test_vibe_holds_a_lock_and_its_helpers_hold_others(tmp_path: Path) -> None:
    session = tmp_path / ".vibe" / "logs" / "session"
    (session / "unified" / SECOND).mkdir(parents=True)
    (session / "unified" / SECOND / "meta.json").write_text(json.dumps({"parent_session_id": FIRST}))
    with holding(*(session / "active" / f"{id}.lock" for id in (FIRST, SECOND))) as pid:
        assert bound(tmp_path, "vibe", pid) == FIRST


def test_copilot_holds_a_file_of_the_conversation_that_it_is_in(tmp_path: Path) -> None:
    holds = [tmp_path / ".copilot" / "session-state" / id / "inuse.7.hold" for id in (FIRST, SECOND)]
    for hold in holds:
        with holding(hold) as pid:  # the one before is let go when another begins
            assert bound(tmp_path, "copilot", pid) == hold.parent.name


@pytest.mark.parametrize("program", ["claude", "qwen"])
def test_some_note_the_conversation_of_each_process(tmp_path: Path, program: str) -> None:
    with holding() as pid:
        noted = tmp_path / f".{program}" / "sessions" / f"{pid}.json"
        noted.parent.mkdir(parents=True)
        noted.write_text(json.dumps({"sessionId": FIRST, "startedAt": time.time() * 1000}))
        assert bound(tmp_path, program, pid) == FIRST
        noted.write_text(json.dumps({"sessionId": FIRST, "startedAt": (time.time() - 600) * 1000}))
        assert bound(tmp_path, program, pid) == "", "an earlier process had this number"


def test_opencode_is_known_by_the_title_that_it_shows(tmp_path: Path) -> None:
    database = tmp_path / ".local" / "share" / "opencode" / "opencode.db"
    database.parent.mkdir(parents=True)
    with closing(sqlite3.connect(database)) as made, made:
        made.execute("CREATE TABLE session (id, parent_id, directory, title, time_updated)")

    def add(id: str, title: str, parent: str | None = None, *, age: float = -1.0, folder: str = CWD) -> None:
        with closing(sqlite3.connect(database)) as open, open:
            row = (id, parent, folder, title, (time.time() - age) * 1000)
            open.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?)", row)

    with holding() as pid:
        add("ses_before", "New session - 2026-11-22T10:00:00Z", age=600)
        add("ses_elsewhere", "New session - 2026-11-22T10:00:00Z", folder="/tmp")
        assert bound(tmp_path, "opencode", pid, title="OpenCode") == "", "nobody has said anything yet"
        add("ses_one", "New session - 2026-11-22T10:44:00Z")
        assert bound(tmp_path, "opencode", pid, title="OpenCode") == "ses_one"
        assert bound(tmp_path, "opencode", pid, title="OpenCode", alone=False) == "", "it may be another one's"
        add("ses_two", "A parser for dates, times and time zones with tests")
        add("ses_helper", "A parser for dates, times and time zones with tests", "ses_two")
        assert bound(tmp_path, "opencode", pid, title="OpenCode") == ""
        shown = "OC | A parser for dates, times and time ..."
        assert bound(tmp_path, "opencode", pid, title=shown, alone=False) == "ses_two"
        add("ses_three", "A parser for dates, times and time zones with tests")
        assert bound(tmp_path, "opencode", pid, title=shown) == "", "two have the same title"
        assert bound(tmp_path, "opencode", pid, title=shown, taken=["ses_three"]) == "ses_two"


def test_cline_is_known_by_the_title_that_it_shows(tmp_path: Path) -> None:
    def add(id: str, title: str, *, age: float = -1.0, **more: object) -> None:
        at = datetime.fromtimestamp(time.time() - age, UTC).isoformat()
        facts = {"started_at": at, "cwd": CWD, "interactive": True, "metadata": {"title": title}, **more}
        file = tmp_path / ".cline" / "data" / "sessions" / id / f"{id}.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(facts))

    with holding() as pid:
        add("before", "Count the files", age=600)
        add("elsewhere", "Count the files", cwd="/tmp")
        add("helpers", "Count the files", parent_session_id="one")
        add("script", "Count the files", interactive=False)
        assert bound(tmp_path, "cline", pid, title="> Count the files") == ""
        add("one", "Count the files")
        assert bound(tmp_path, "cline", pid, title="> Count the files", alone=False) == "one"
        assert bound(tmp_path, "cline", pid, title="> Count the...") == "one"
        assert bound(tmp_path, "cline", pid, title="Cline") == "", "nobody has said anything since /clear"
        add("two", "Count the files")
        assert bound(tmp_path, "cline", pid, title="> Count the files") == "", "two have the same title"
        assert bound(tmp_path, "cline", pid, title="> Count the files", taken=["two"]) == "one"
        with holding() as other, holding(words=["--cline-hub-daemon"]) as serving:
            add("theirs", "List the files", pid=other)
            assert bound(tmp_path, "cline", pid, title="> List the files") == "", "another terminal's process runs it"
            assert bound(tmp_path, "cline", other, title="> List the files") == "theirs"
            add("served", "List the files", pid=serving)
            assert bound(tmp_path, "cline", pid, title="> List the files") == "served"
            assert bound(tmp_path, "cline", other, title="> List the files", taken=["served"]) == "theirs"
    with holding(words=["--id", "before"]) as pid:
        assert bound(tmp_path, "cline", pid, title="> Count the files", taken=["one", "two"]) == "before"


def test_opencodes_of_the_same_title_are_told_apart_by_its_log(tmp_path: Path) -> None:
    share = tmp_path / ".local" / "share" / "opencode"
    (share / "log").mkdir(parents=True)
    program = tmp_path / "opencode"
    program.symlink_to(sys.executable)
    with closing(sqlite3.connect(share / "opencode.db")) as made, made:
        made.execute("CREATE TABLE session (id, parent_id, directory, title, time_updated)")
        rows = [(id, None, CWD, "Good day", (time.time() + 60) * 1000) for id in ("ses_one", "ses_two")]
        made.executemany("INSERT INTO session VALUES (?, ?, ?, ?, ?)", rows)

    def log(*lines: tuple[float, str, str]) -> None:
        text = [
            f"timestamp={datetime.fromtimestamp(at, UTC).isoformat()} level=INFO run={run} {words}"
            for at, run, words in lines
        ]
        (share / "log" / "opencode.log").write_text("\n".join(text))

    def both() -> tuple[str, ...]:
        return tuple(bound(tmp_path, "opencode", each.pid, title="OC | Good day") for each in (first, second))

    with running(program) as first, running(program) as second:
        one, two = (psutil.Process(each.pid).create_time() for each in (first, second))
        assert one < two
        assert both() == ("", ""), "there is no log"
        made_one, made_two = "message=created id=ses_one slug=x", "message=loop session.id=ses_two step=0"
        between, after = (one + two) / 2, two + 1
        log(
            (one - 9, "z", "id=ses_two"),
            (between, "a", "x"),
            (after, "b", "x"),
            (after, "b", made_two),
            (after, "a", made_one),
        )
        assert both() == ("ses_one", "ses_two")
        log((after, "a", "x"), (after + 1, "b", "x"), (after + 2, "b", made_two), (after + 2, "a", made_one))
        assert both() == ("", ""), "either may have written first"


def test_aider_has_begun_the_only_chat_of_its_folder_since_it_started(tmp_path: Path) -> None:
    history = tmp_path / ".aider.chat.history.md"

    def begin(age: float = 0.0) -> None:
        at = datetime.fromtimestamp(time.time() - age).strftime("%Y-%m-%d %H:%M:%S")
        with history.open("a") as file:
            file.write(f"\n# aider chat started at {at}\n\n")

    def found(pid: int) -> str:
        return bound_conversation(BindingQuery("aider", pid, str(tmp_path)), {}, tmp_path)

    begin(600)
    with holding() as pid:
        assert found(pid) == "", "it has not begun one yet"
        begin()
        first = found(pid)
        assert first
        other = tmp_path / "bin" / "aider"
        other.parent.mkdir()
        other.symlink_to(sys.executable)
        with subprocess.Popen([other, "-c", "input()"], stdin=subprocess.PIPE, cwd=tmp_path):
            assert found(pid) == "", "another one writes below the same heading"
        assert found(pid) == first
        begin(-5)
        assert found(pid) == "", "another one was begun since"


def test_a_gemini_that_was_cleared_is_in_the_one_that_began_just_after_that(tmp_path: Path) -> None:
    project = tmp_path / ".gemini" / "tmp" / "shop"
    (project / "chats").mkdir(parents=True)
    (tmp_path / ".gemini" / "projects.json").write_text(json.dumps({"projects": {CWD: "shop"}}))
    now = time.time()

    def chat(id: str, after: float) -> None:
        began = datetime.fromtimestamp(now + after, UTC).isoformat().replace("+00:00", "Z")
        (project / "chats" / f"session-{after:g}-{id[:8]}.jsonl").write_text(
            json.dumps({"sessionId": id, "startTime": began}) + "\n"
        )

    def log(*said: tuple[str, float]) -> None:
        entries = [
            {"sessionId": FIRST, "message": text, "timestamp": datetime.fromtimestamp(now + after, UTC).isoformat()}
            for text, after in said
        ]
        (project / "logs.json").write_text(json.dumps(entries))

    argv = [sys.executable, "-c", "print(1, flush=True); input()", "--session-id", FIRST]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        chat(FIRST, 1)
        assert bound(tmp_path, "gemini", process.pid) == FIRST
        chat(SECOND, 20.3)
        assert bound(tmp_path, "gemini", process.pid) == "", "somebody else's may be either"
        log(("/clear", -3600), ("Good day", 1))
        assert bound(tmp_path, "gemini", process.pid) == "", "an earlier process of that conversation was cleared"
        log(("Good day", 1), ("/clear", 20), ("And now?", 30))
        assert bound(tmp_path, "gemini", process.pid) == SECOND
        assert bound(tmp_path, "gemini", process.pid, taken=[SECOND]) == ""
        log(("/clear", 20), ("/resume", 40))
        assert bound(tmp_path, "gemini", process.pid) == ""
        chat("01a205b1-0000-73e1-b0c8-442737224224", 24)
        log(("/clear", 20))
        assert bound(tmp_path, "gemini", process.pid) == "", "two began just then"
        process.stdin.close()


@pytest.mark.parametrize("program", ["aider", "claude", "codex", "copilot", "gemini", "opencode", "qwen", "vibe"])
def test_where_nothing_is_known_nothing_is_said(tmp_path: Path, program: str) -> None:
    assert bound(tmp_path, program, os.getpid()) == ""
    assert bound(tmp_path, program, 0) == ""
    assert bound(tmp_path, program, 2**22 + 1) == ""
