"""What scripts for Claude Code and Codex read of a turn: the same turn on the real loop, in each form."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kit.resident import beside
from tests.kit.warm_program import run_gsh
from tests.real.test_cli_prompt import project

pytestmark = pytest.mark.usefixtures("beside")
__all__ = ["beside", "project"]


def lines(project: Path, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    ran = run_gsh(*arguments, cwd=project)
    return ran.code, [json.loads(line) for line in ran.out.splitlines()]


def test_one_object_as_claude_prints_it(project: Path) -> None:
    code, (line,) = lines(project, "-p", "read README.md", "--output-format", "json", "--max-turns", "9")
    assert code == 0
    assert (line["type"], line["subtype"], line["is_error"]) == ("result", "success", False)
    assert "hello from the readme" in line["result"] and line["session_id"] and line["num_turns"] == 2
    assert line["usage"]["input_tokens"] > 0 and line["usage"]["output_tokens"] > 0
    assert {"duration_ms", "duration_api_ms", "total_cost_usd", "permission_denials"} <= set(line)
    code, (again,) = lines(project, "--resume", line["session_id"], "-p", "hi", "--output-format", "json")
    assert (code, again["session_id"]) == (0, line["session_id"])


def test_lines_as_claude_prints_them(project: Path) -> None:
    code, found = lines(project, "-p", "run touch x", "--output-format", "stream-json", "--verbose")
    assert code == 4
    assert [line["type"] for line in found] == ["system", "assistant", "user", "assistant", "result"]
    assert {line["session_id"] for line in found} == {found[0]["session_id"]}
    use = found[1]["message"]["content"][0]
    assert (use["type"], use["name"], use["input"]) == ("tool_use", "Bash", {"command": "touch x"})
    result = found[2]["message"]["content"][0]
    assert (result["tool_use_id"], result["is_error"]) == (use["id"], True)
    assert found[3]["message"]["content"][0]["type"] == "text"
    denied = {"tool_name": "Bash", "tool_use_id": use["id"], "tool_input": {"command": "touch x"}}
    assert found[4]["permission_denials"] == [denied]


def test_lines_as_codex_prints_them(project: Path) -> None:
    code, found = lines(project, "exec", "--json", "--yes", "run echo out; false")
    kinds = [line["type"] for line in found]
    assert kinds[:2] == ["thread.started", "turn.started"] and kinds[-1] == "turn.completed" and code == 0
    begun, ended = (line["item"] for line in found if line.get("item", {}).get("type") == "command_execution")
    assert (begun["status"], begun["exit_code"]) == ("in_progress", None)
    assert (ended["id"], ended["status"], ended["exit_code"]) == (begun["id"], "failed", 1)
    assert "out" in ended["aggregated_output"]
    said = [line["item"] for line in found if line.get("item", {}).get("type") == "agent_message"]
    assert said and said[-1]["text"]
    assert found[-1]["usage"]["input_tokens"] > 0
    names = [line["item"]["id"] for line in found if line["type"] == "item.completed"]
    assert len(names) == len(set(names))


def test_a_turn_that_fails_says_so_in_each_form(project: Path) -> None:
    wrong = ("--model", "no-such-model", "hi")
    for output in ("json", "stream-json"):
        code, found = lines(project, "-p", *wrong, "--output-format", output)
        assert code != 0 and found[-1]["is_error"] and found[-1]["subtype"] == "error_during_execution"
        assert "no-such-model" in found[-1]["result"] and found[-1]["errors"]
    code, found = lines(project, "exec", "--json", *wrong)
    assert code != 0 and found[-1]["type"] == "turn.failed" and "no-such-model" in found[-1]["error"]["message"]
