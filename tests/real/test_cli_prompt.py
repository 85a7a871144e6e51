"""`gsh-tui prompt` as a process: the offline provider behind the real loop, the real store, real tools."""

import os
import pty
import signal
import sqlite3
import subprocess
import threading
from pathlib import Path

import pytest

from gshtui.fleet.keeper.keeper import running_keeper
from gshtui.settings.paths import data_dir
from tests.kit.command import DEADLINE, command, environment
from tests.kit.configuration import made_project, user_file
from tests.kit.home import Home
from tests.kit.resident import beside, events_until
from tests.kit.warm_program import run_gsh, start_gsh

pytestmark = pytest.mark.usefixtures("beside")
__all__ = ["beside"]
SLEEP = "run sleep 300"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = made_project(tmp_path / "project")
    (folder / "README.md").write_text("hello from the readme\n", encoding="utf-8")
    return folder


def test_text_to_stdout_and_nothing_else(project: Path) -> None:
    ran = run_gsh("prompt", "read", "README.md", cwd=project)
    assert (ran.code, ran.err) == (0, "")
    assert "hello from the readme" in ran.out
    assert ran.out.endswith("\n")
    assert not ran.out.endswith("\n\n")


def test_json_is_an_event_a_line_and_the_last_one_is_the_turns_end(project: Path) -> None:
    ran = run_gsh("prompt", "--json", "read README.md", cwd=project)
    assert (ran.code, ran.err) == (0, "")
    events = ran.lines
    kinds = [event["type"] for event in events]
    assert {"PromptSubmitted", "TurnStarted", "ToolStarted", "ToolFinished", "TextDelta", "UsageReported"} <= set(kinds)
    assert kinds.count("TurnFinished") == 1
    last = events[-1]
    assert last["type"] == "TurnFinished"
    assert "hello from the readme" in last["text"]
    assert (last["stop"], last["exit"]) == ("end", 0)
    assert set(last["usage"]) == {"input", "output", "cache_read", "cache_write", "reasoning"}
    assert run_gsh("session", "show", last["session"], "--json", cwd=project).json["session"]["messages"] == 4


def test_what_needs_approval_is_refused_with_code_4(project: Path) -> None:
    ran = run_gsh("prompt", "write made.txt: words", cwd=project)
    assert ran.code == 4
    assert "nobody is there to ask" in ran.err
    assert "--yes" in ran.err
    assert not (project / "made.txt").exists()


def test_yes_lets_run_what_stays_inside_the_project(project: Path, tmp_path: Path) -> None:
    ran = run_gsh("prompt", "--yes", "write made.txt: words", cwd=project)
    assert (ran.code, ran.err) == (0, "")
    assert "words" in (project / "made.txt").read_text(encoding="utf-8")
    outside = tmp_path / "outside.txt"
    ran = run_gsh("prompt", "-y", f"write {outside}: words", cwd=project)
    assert ran.code == 4
    assert not outside.exists()


def test_yes_runs_what_the_sandbox_contains_and_nothing_that_names_a_secret(project: Path) -> None:
    ran = run_gsh("run", "--json", "--as", "main", "--yes", 'bash "echo x > made; test -w /usr || exit 3"', cwd=project)
    assert (ran.code, ran.json["exit_code"], ran.json["sandboxed"]) == (1, 3, True)
    assert (project / "made").exists()
    for line in ("cat .env", "wc -c .env", "touch ~/.ssh/x"):
        ran = run_gsh("run", "--as", "main", "--yes", f'bash "{line}"', cwd=project)
        assert ran.code == 4, (line, ran)


def test_without_a_sandbox_yes_is_as_wide_as_the_policy_and_says_what_stopped_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSH_SANDBOX__ENABLED", "false")
    ran = run_gsh("run", "--json", "--as", "main", "--yes", 'bash "cat README.md | wc -l"', cwd=project)
    assert (ran.code, ran.json["exit_code"]) == (0, 0)
    for line, named in (
        ("ls; touch made", "`touch made`: `touch` changes things (rule change)"),
        ("python3 -c 1", "`python3 -c` is not known to be harmless (rule program)"),
        ("echo x > made", "it redirects input or output (rule redirection)"),
        ("cat .env", "no shell line may print, copy or send them"),
    ):
        ran = run_gsh("run", "--as", "main", "--yes", f'bash "{line}"', cwd=project)
        assert ran.code == 4 and named in ran.err, (line, ran)
    assert not (project / "made").exists()


def test_the_policy_is_asked_without_running_anything(project: Path) -> None:
    assert run_gsh("guard", "check", "git status | head -3", cwd=project).out.startswith("allow: ")
    one = run_gsh("guard", "check", "--json", "ls; touch made", cwd=project).json
    assert (one["verdict"], one["rule"], [part["verdict"] for part in one["parts"]]) == (
        "ask",
        "change",
        ["allow", "ask"],
    )
    lines = b'{"command": "ls"}\n\nnonsense\n[1]\n{"command": "rm -rf /"}\n' + b"[" * 100_000 + b"\n"
    ran = run_gsh("guard", "check", "-", stdin=lines, cwd=project)
    assert ran.code == 0
    assert [answer["verdict"] for answer in ran.lines] == ["allow", "deny", "deny", "deny", "deny"]
    assert not (project / "made").exists()


def test_standard_input_is_put_behind_the_words(project: Path) -> None:
    ran = run_gsh("prompt", "--json", "look at this:", stdin=b"caf\xc3\xa9 \xff\x00 end\n", cwd=project)
    (submitted,) = [event for event in ran.lines if event["type"] == "PromptSubmitted"]
    assert submitted["text"] == "look at this:\n\ncafé \ufffd\ufffd end"
    assert run_gsh("prompt", stdin=b"read README.md\n", cwd=project).code == 0
    empty = run_gsh("prompt", stdin=b"", cwd=project)
    assert (empty.code, empty.out) == (2, "")


def test_too_much_standard_input_is_not_sent_and_the_ways_are_said(project: Path) -> None:
    ran = run_gsh("prompt", "--json", stdin=b"read README.md\n" + b"x" * (5 * 1024 * 1024), cwd=project)
    assert (ran.code, ran.out) == (2, "")
    assert "longer than 4 MB, so nothing was sent. --batches" in ran.err


def test_of_4_gb_nothing_is_sent_and_little_is_read(project: Path) -> None:
    huge = project / "big.log"
    with huge.open("xb") as file:
        file.truncate(4 << 30)  # sparse: it takes no room
    for options, limit in ((), "4 MB"), (("--batches",), "64 MB"):
        with huge.open("rb") as file:
            ran = run_gsh("prompt", *options, "read this", stdin=file.fileno(), cwd=project)
            assert (ran.code, ran.out) == (2, "")
            assert f"longer than {limit}, so nothing was sent." in ran.err
            assert os.lseek(file.fileno(), 0, os.SEEK_CUR) <= 80 * 1024 * 1024
    ran = run_gsh("prompt", "--json", "see @big.log", cwd=project)
    assert ran.code == 0 and ran.lines[-1]["usage"]["input"] < 10_000
    ran = run_gsh("prompt", "read big.log 1-3", cwd=project)
    assert ran.code == 0 and "4,294,967,296 bytes" in ran.out


def test_a_conversation_is_printed_and_goes_on_and_one_that_is_not_kept_leaves_nothing(
    project: Path, home: Home
) -> None:
    first = run_gsh("prompt", "--json", "read README.md", cwd=project).lines[-1]["session"]
    ran = run_gsh("prompt", "--session", first[:10], "--print", "what can you do?", cwd=project)
    assert ran.code == 0 and ran.out.startswith(f"conversation  {first}"), ran.err
    assert 0 < ran.out.index("read README.md") < ran.out.index("ANTHROPIC_API_KEY")
    assert run_gsh("prompt", "--print", "x", cwd=project).code == 2
    passing = run_gsh(
        "prompt",
        "--json",
        "--set",
        "agents.committer.sessions=off",
        "--agent",
        "committer",
        "read README.md",
        cwd=project,
    ).lines[-1]["session"]
    with sqlite3.connect(home.data / "gsh" / "gsh.db") as record:
        kept = [str(row[0]) for row in record.execute("SELECT id FROM sessions")]
        left = record.execute("SELECT count(*) FROM journal WHERE session = ?", (passing,)).fetchone()[0]
    assert kept == [first] and left == 0


def test_the_conversation_goes_on(project: Path) -> None:
    first = run_gsh("prompt", "--json", "read README.md", cwd=project).lines[-1]["session"]
    again = run_gsh("prompt", "--json", "--session", "latest", "read README.md", cwd=project).lines
    assert again[-1]["session"] == first
    assert next(event["messages"] for event in again if event["type"] == "SessionOpened") == 4
    unknown = run_gsh("prompt", "--session", "nosuch", "hi", cwd=project)
    assert unknown.code == 1
    assert "nosuch" in unknown.err


def test_the_time_is_up(project: Path) -> None:
    ran = run_gsh("prompt", "--json", "--yes", "--timeout", "3", SLEEP, cwd=project)
    assert ran.code == 124
    last = ran.lines[-1]
    assert (last["type"], last["stop"], last["exit"]) == ("TurnFinished", "timeout", 124)
    calls = [event["call"] for event in ran.lines if event["type"] == "ToolStarted"]
    ended = [event["call"] for event in ran.lines if event["type"] == "ToolFinished"]
    assert calls == ended, "every call has its result, whenever the time was up"


def test_the_time_is_up_while_nobody_writes_to_standard_input(project: Path) -> None:
    reading, writing = os.pipe()
    try:
        ran = run_gsh("prompt", "--timeout", "0.3", "hi", stdin=reading, cwd=project)
    finally:
        os.close(reading)
        os.close(writing)
    assert (ran.code, ran.out) == (124, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_keeps_everything(project: Path, number: signal.Signals) -> None:
    with start_gsh("prompt", "--json", "--yes", SLEEP, cwd=project) as process:
        events_until(process, "ToolStarted")
        process.send_signal(number)
        last = events_until(process, "TurnFinished")
        out, err = process.communicate(timeout=DEADLINE)
    assert (process.returncode, out) == (130, b"")
    assert (last["stop"], last["exit"]) == ("interrupted", 130)
    assert b"Traceback" not in err
    shown = run_gsh("session", "show", last["session"], "--json", cwd=project).json
    assert [entry["message"]["role"] for entry in shown["messages"]] == ["user", "assistant", "tool"]
    assert shown["session"]["held_by"] == ""


def test_a_reader_that_goes_away_stops_the_turn(project: Path) -> None:
    with start_gsh("prompt", "--json", "--yes", SLEEP, cwd=project) as process:
        session = events_until(process, "ToolStarted")["session"]
        assert process.stdout is not None
        process.stdout.close()
        # The next event finds nobody there: here it is that of the tool, which this ends.
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE) in (1, 130)
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()
    assert run_gsh("session", "show", session, "--json", cwd=project).json["session"]["messages"] == 3


def test_a_reader_of_the_first_line_gets_it(project: Path) -> None:
    with start_gsh("prompt", "--json", "read README.md", cwd=project) as process:
        events_until(process, "PartStarted")
        assert process.stdout is not None
        process.stdout.close()
        code = process.wait(DEADLINE)
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert code in (0, 1)


def test_a_conversation_that_is_open_elsewhere_says_where(project: Path) -> None:
    with start_gsh("prompt", "--json", "--yes", SLEEP, cwd=project) as process:
        session = events_until(process, "ToolStarted")["session"]
        second = run_gsh("prompt", "--session", session, "hello", cwd=project)
        assert second.code == 1
        keeper = running_keeper(data_dir())
        holder = process if keeper is None else keeper.process
        assert f"process {holder.pid}" in second.err
        listed = run_gsh("session", "ls", "--json", cwd=project).json
        assert [entry["id"] for entry in listed] == [session]
        assert listed[0]["held_by"]


@pytest.mark.parametrize(
    ("arguments", "env", "said"),
    [
        (("--provider", "nosuch"), {}, "nosuch"),
        (("--provider", "anthropic"), {}, "ANTHROPIC_API_KEY"),
        (("--provider", "ollama"), {"OLLAMA_HOST": "127.0.0.1:9"}, "127.0.0.1:9"),
        (("--provider", "openai"), {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "http://127.0.0.1:9"}, "127.0.0.1:9"),
    ],
)
def test_a_provider_out_of_reach_is_code_3(
    project: Path, arguments: tuple[str, ...], env: dict[str, str], said: str
) -> None:
    ran = run_gsh("prompt", "--json", *arguments, "hello", cwd=project, env=env)
    assert ran.code == 3
    assert said in ran.err
    assert (ran.lines[-1]["type"], ran.lines[-1]["exit"]) == ("TurnFinished", 3)


def test_the_limit_of_iterations(project: Path) -> None:
    ran = run_gsh("prompt", "--json", "--max-iterations", "1", "read README.md", cwd=project)
    assert (ran.code, ran.lines[-1]["stop"]) == (1, "max_iterations")
    ran = run_gsh("prompt", "--json", "--set", "context.max_iterations=1", "read README.md", cwd=project)
    assert ran.lines[-1]["stop"] == "max_iterations"


def test_problems_of_the_configuration_go_to_stderr_and_stop_nothing(home: Home, project: Path) -> None:
    user_file(home, "[agent]\nmax_step = 1\n")
    for arguments in (("prompt", "read README.md"), ("session", "list"), ("run", "config")):
        ran = run_gsh(*arguments, cwd=project)
        assert ran.code == 0
        assert ran.err.count("Did you mean `agent.max_steps`?") == 1, arguments


@pytest.mark.parametrize("beside", ["alone"], indirect=True)
def test_without_a_record_the_turn_runs_and_says_so(home: Home, project: Path) -> None:
    (home.data / "gsh").write_text("in the way", encoding="utf-8")
    ran = run_gsh("prompt", "read README.md", cwd=project)
    assert ran.code == 0
    assert "hello from the readme" in ran.out
    assert "will not be saved" in ran.err
    assert "Traceback" not in ran.err


def test_a_terminal_gets_progress_and_no_escapes(project: Path) -> None:
    (project / "evil.txt").write_text("\x1b]0;title\x07 \x1b[2J \x9b31m words\n", encoding="utf-8")
    leader, follower = pty.openpty()
    shown: list[bytes] = []

    def read() -> None:
        try:
            while data := os.read(leader, 65_536):
                shown.append(data)
        except OSError:  # the other end is closed
            return

    reader = threading.Thread(target=read)
    try:
        with subprocess.Popen(
            command(["prompt", "read evil.txt"]),
            stdin=subprocess.DEVNULL,
            stdout=follower,
            stderr=follower,
            cwd=project,
            env=environment(),
        ) as process:
            os.close(follower)
            reader.start()
            assert process.wait(DEADLINE) == 0
        reader.join(DEADLINE)
    finally:
        os.close(leader)
    text = b"".join(shown).decode()
    assert "words" in text
    assert "read evil.txt" in text, "progress"
    ours = text.replace("\x1b[2m", "").replace("\x1b[0m", "")
    assert all(char.isprintable() or char in "\r\n\t" for char in ours)


def test_the_second_interrupt_does_not_ask(project: Path) -> None:
    """A reader that holds the pipe open without reading: the turn ends, but its output cannot be written."""
    (project / "long.txt").write_text("a line of words\n" * 2_000, encoding="utf-8")
    lines = "\n".join([*["read long.txt 1-2000"] * 20, SLEEP])
    with start_gsh("prompt", "--json", "--yes", lines, cwd=project) as process:
        while events_until(process, "ToolStarted")["tool"] != "bash":
            pass
        # What is still to come is one line with all results: far more than a pipe holds.
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert b"interrupted" in process.stderr.readline()
        assert process.poll() is None, "it waits for its reader"
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE) == 130


def test_a_hostile_file_pattern_takes_no_time_and_a_hostile_search_ends_at_the_deadline(project: Path) -> None:
    for name in ("a" * 200, "a" * 150 + "!"):
        (project / name).write_text(f"{name}\n", encoding="utf-8")
    ran = run_gsh("prompt", "--json", "--timeout", "20", "files *a*a*a*a*a*a*a*b", cwd=project)
    assert (ran.code, ran.lines[-1]["stop"]) == (0, "end")
    os.mkfifo(project / "endless")
    ran = run_gsh("prompt", "--json", "--timeout", "1", "find (a|aa)+$ in endless", cwd=project)
    assert (ran.code, ran.lines[-1]["stop"]) == (124, "timeout")
