"""`gsh-tui run`, `session` and `agent` as processes, on the real store."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from gshtui.guard.sandbox.sandbox import find_bubblewrap
from tests.kit.command import DEADLINE
from tests.kit.resident import events_until
from tests.kit.warm_program import run_gsh, start_gsh
from tests.real.test_cli_prompt import SLEEP, project

__all__ = ["project"]


@pytest.fixture
def session(project: Path) -> str:
    return run_gsh("prompt", "--json", "read README.md", cwd=project).lines[-1]["session"]


def test_a_line_of_the_language(project: Path) -> None:
    ran = run_gsh("run", "read README.md", cwd=project)
    assert (ran.code, ran.err) == (0, "")
    assert "hello from the readme" in ran.out
    assert run_gsh("run", "--json", "read path=README.md", cwd=project).json["text"] == "hello from the readme"
    assert run_gsh("run", "bash", "echo", "a b", cwd=project).out == "a b\n"
    assert {entry["name"] for entry in run_gsh("run", "--json", "help", cwd=project).json} >= {"read", "bash", "config"}


def test_several_commands_in_a_line_print_what_each_prints_by_itself(project: Path) -> None:
    (project / "a.txt").write_text("A\nB\n")
    lines = ("echo a", "cat a.txt", "ls", "pwd")
    alone = "".join(run_gsh("run", line, cwd=project).out for line in lines)
    assert run_gsh("run", "; ".join(lines), cwd=project).out == alone
    assert "```" not in alone


def test_a_person_has_a_line_run_in_the_sandbox(project: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    ran = run_gsh("run", f"bash command='touch inside; touch {outside}' sandbox=true", cwd=project)
    if find_bubblewrap():
        assert ran.code == 0 and (project / "inside").exists()
    else:
        assert (ran.code, ran.out) == (1, "") and "cannot run there" in ran.err
    assert not outside.exists()


def test_the_exit_code_of_a_command_that_failed(project: Path) -> None:
    assert run_gsh("run", "bash exit 7", cwd=project).code == 1


def test_with_an_agents_rights(project: Path) -> None:
    assert run_gsh("run", "--as", "main", "read README.md", cwd=project).code == 0
    refused = run_gsh("run", "--as", "main", "write made.txt words", cwd=project)
    assert refused.code == 4
    assert "nobody is there to ask" in refused.err
    assert not (project / "made.txt").exists()
    assert run_gsh("run", "--yes", "--as", "main", "write made.txt words", cwd=project).code == 0
    assert (project / "made.txt").exists()
    assert run_gsh("run", "--as", "main", "config set agent.max_steps 1000", cwd=project).code in (2, 4)
    assert run_gsh("run", "--as", "main", "quit", cwd=project).code == 2


def test_agents_are_peers_and_get_data_where_people_get_a_rendering(project: Path) -> None:
    lines = b"create hr\njoin hr\nsay hello\nremember agent=main key=parser value=winnow\nleave\nmemory agent=main\n"
    assert run_gsh("run", stdin=lines, cwd=project).code == 0
    for line, part in (
        ("who", {"call": "lobby"}),
        ("calls", {"name": "hr", "members": None}),
        ("ls /calls", {"path": "/calls"}),
        ("memory", {"agent": "main", "of": 1}),
        ("history call=lobby", None),
        ("status set='reading the parser'", {"doing": "reading the parser"}),
    ):
        said = run_gsh("run", "--as", "main", line, cwd=project)
        assert said.code == 0, (line, said.err)
        data: Any = json.loads(said.out)
        found: Any = data[-1] if isinstance(data, list) and data else data
        for name, value in (part or {}).items():
            assert found.get(name) == value, (line, data)
        assert not run_gsh("run", line, cwd=project).out.startswith(("{", "[")), line
    tools = run_gsh("run", "--as", "main", "find_tool 'who is in the call'", cwd=project).out
    assert "who: Who is here, or in a call" in tools
    assert "status: " in run_gsh("run", "--as", "main", "find_tool 'set my status'", cwd=project).out


def test_a_message_is_written_to_an_agent_as_it_is_said(project: Path) -> None:
    """`write to=NAME message=…` is a message, whoever writes it; without a message it is a file."""
    for by in ((), ("--as", "main")):
        said = run_gsh("run", *by, "write to=nobody message='What do you think?'", cwd=project)
        assert said.code == 1 and "There is no agent 'nobody'" in said.err
    assert not (project / "nobody").exists()
    mixed = run_gsh("run", "write to=nobody message=hello content=x", cwd=project)
    assert mixed.code == 2 and "no parameter 'content'" in mixed.err
    assert run_gsh("run", "write to=note.txt content='a message=b'", cwd=project).code == 0
    assert (project / "note.txt").read_text() == "a message=b"


def test_the_time_is_up_and_an_interrupt(project: Path) -> None:
    assert run_gsh("run", "--timeout", "0.5", "bash sleep 300", cwd=project).code == 124
    mark = project / "started"
    with start_gsh("run", f"bash touch {mark} && echo here && sleep 300", cwd=project) as process:
        while not mark.exists():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    assert b"Traceback" not in err


def test_sessions_are_listed_shown_renamed_found_and_removed(project: Path, session: str) -> None:
    assert [entry["id"] for entry in run_gsh("session", "ls", "--json", cwd=project).json] == [session]
    assert session in run_gsh("session", "ls", cwd=project).out
    assert "hello from the readme" in run_gsh("session", "show", session, cwd=project).out
    assert run_gsh("session", "show", cwd=project).code == 0
    assert run_gsh("session", "rename", session, "a new", "title", "--json", cwd=project).json["title"] == "a new title"
    assert session in json.dumps(run_gsh("session", "search", "readme", "--json", cwd=project).json)
    assert run_gsh("session", "resume", session[:8], "--json", cwd=project).json["session"] == session
    assert run_gsh("session", "rm", session, "--json", cwd=project).json == {"removed": [session]}
    assert run_gsh("session", "ls", "--json", cwd=project).json == []
    gone = run_gsh("session", "show", session, cwd=project)
    assert (gone.code, gone.out) == (1, "")


def test_exports(project: Path, session: str) -> None:
    lines = run_gsh("session", "export", session, "--format", "jsonl", cwd=project).lines
    assert len(lines) >= 4
    markdown = run_gsh("session", "export", cwd=project).out
    assert "hello from the readme" in markdown
    written = run_gsh("session", "export", session, "-o", "with 'quotes' = and spaces.jsonl", "--json", cwd=project)
    assert Path(written.json["file"]).read_text(encoding="utf-8").count("\n") == len(lines)
    assert run_gsh("session", "export", session, "-o", "README.md", cwd=project).code == 1


def test_all_of_it_works_while_a_conversation_is_open(project: Path) -> None:
    with start_gsh("prompt", "--json", "--yes", SLEEP, cwd=project) as process:
        session = events_until(process, "ToolStarted")["session"]
        assert run_gsh("session", "show", session, cwd=project).code == 0
        assert run_gsh("session", "export", session, cwd=project).code == 0
        refused = run_gsh("session", "rm", session, cwd=project)
        assert refused.code == 1
        assert "is open in gsh-tui prompt. Nothing was changed." in refused.err
        (agent,) = run_gsh("agent", "ls", "--json", cwd=project).json
        assert (agent["name"], agent["session"], agent["status"]) == ("main", session, "tool")
        assert agent["status_source"] == "journal"
        assert {"id", "kind", "runtime", "status_age_s", "pane", "parent", "cwd", "tokens", "cost"} <= set(agent)
        assert run_gsh("agent", "show", "main", "--json", cwd=project).json["session"] == session
    assert run_gsh("agent", "ls", "--json", cwd=project).json == []
    assert run_gsh("agent", "show", "main", cwd=project).code == 1
