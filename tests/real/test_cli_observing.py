"""`gsh-tui usage`, `logs`, `search` and tasks as processes, on what real turns left behind."""

import signal
from pathlib import Path

import pytest

from tests.kit.command import DEADLINE
from tests.kit.home import Home
from tests.kit.warm_program import run_gsh, start_gsh


@pytest.fixture
def session(project: Path) -> str:
    return run_gsh("prompt", "--yes", "--json", "run echo password=hunter2", cwd=project).lines[-1]["session"]


def test_usage(project: Path, session: str) -> None:
    found = run_gsh("usage", "--by", "session", "--json", cwd=project).json
    assert [row["key"] for row in found["rows"]] == [session]
    assert found["total"]["requests"] == 2 and found["total"]["tokens"] > 100 and found["total"]["estimate"] > 100
    assert run_gsh("usage", "--by", "model", "--since", "1h", "--session", session, cwd=project).out.startswith(
        "model "
    )
    head, row = run_gsh("usage", "--by", "project", "--format", "csv", cwd=project).out.splitlines()
    assert head.startswith("project,requests,tokens,input,") and row.startswith(
        f"{project},{found['total']['requests']},"
    )
    assert run_gsh("usage", "--by", "session", "--format", "json", cwd=project).json == found
    assert run_gsh("usage", "--agent", "nobody", cwd=project).out == "No usage was recorded.\n"
    ran = run_gsh("usage", "--since", "whenever", cwd=project)
    assert (ran.code, "is not a time" in ran.err, ran.out) == (2, True, "")
    assert run_gsh("usage", "--session", "nosuch", cwd=project).code == 1


def test_logs(project: Path, session: str, home: Home) -> None:
    ran = run_gsh("logs", cwd=project)
    assert (ran.code, ran.err) == (0, "")
    assert "bash: `echo password=[redacted]` -> OK" in ran.out and "hunter2" not in ran.out
    [record] = run_gsh("logs", "--json", "--type", "bash_exec", "echo", cwd=project).lines
    assert (record["exit_code"], record["session"]) == (0, session)
    nothing = run_gsh("logs", "nosuchword", cwd=project)
    assert (nothing.code, nothing.out) == (0, "") and "no matching records" in nothing.err
    assert run_gsh("logs", "--json", "nosuchword", cwd=project).out == ""
    assert [path.stat().st_mode & 0o777 for path in (home.state / "gsh" / "logs").glob("*.jsonl")] == [0o600]


def test_logs_of_an_empty_folder_say_so(project: Path) -> None:
    ran = run_gsh("logs", cwd=project)
    assert (ran.code, ran.out) == (0, "") and "is empty" in ran.err


def test_following_ends_with_an_interrupt_and_gives_whole_lines(project: Path, session: str) -> None:
    with start_gsh("logs", "--follow", "--json", "--type", "bash_exec", cwd=project) as process:
        assert process.stdout is not None
        assert b"password=[redacted]" in process.stdout.readline()
        run_gsh("prompt", "--yes", "run echo later", cwd=project)
        assert b'"command": "echo later"' in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE) == 130


def test_search(project: Path, session: str) -> None:
    assert run_gsh("search", "sessions", "echo", "--json", cwd=project).json[0]["session"] == session
    assert run_gsh("search", "logs", "echo", "-n", "1", "--json", cwd=project).json[0]["type"] in (
        "bash_exec",
        "prompt",
    )
    ran = run_gsh("search", "history", "nosuchword", "--exit-code", "-1", cwd=project)
    assert (ran.code, ran.out) == (0, "No command fits.\n")
    assert run_gsh("search", "logs", "x", "--exit-code", "1", cwd=project).code == 2
    assert run_gsh("search", "nowhere", cwd=project).code == 2
    as_agent = run_gsh("run", "--as", "main", "search_context source=shell_history query=nosuchword", cwd=project)
    assert as_agent.out.startswith("# Shell History (0 results)\n"), "reading what was needs no approval"


def test_tasks_of_a_conversation_without_a_window(project: Path, session: str) -> None:
    assert run_gsh("run", "todo agent=main add write the tests", cwd=project).out == "- ☐ 1. write the tests\n"
    assert run_gsh("run", "--json", "todo agent=main done 1", cwd=project).json["tasks"][0]["state"] == "done"
    assert run_gsh("run", "todo agent=nobody", cwd=project).code == 1


def test_a_budget_stops_a_turn_with_4(project: Path, session: str) -> None:
    ran = run_gsh("prompt", "--yes", "run echo x", cwd=project, env={"GSH_BUDGET__DAY_TOKENS": "10"})
    assert ran.code == 4 and "The budget is used up" in ran.err
    assert run_gsh("prompt", "--yes", "run echo x", cwd=project, env={"GSH_BUDGET__DAY_TOKENS": "900000"}).code == 0


def test_no_records_are_no_lines(project: Path, session: str) -> None:
    ran = run_gsh("logs", "--limit", "0", cwd=project)
    assert (ran.code, ran.out) == (0, "") and "is empty" in ran.err
