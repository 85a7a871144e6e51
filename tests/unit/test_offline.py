"""The grammar of the provider without a model: which words become which call."""

from typing import Any

import pytest

from gshtui.bus.messages import Message, Text, ToolCall
from gshtui.bus.shell_data import ShellRecord
from gshtui.providers.offline import GRAMMAR, answer
from gshtui.providers.port import Request, ToolSpec
from gshtui.shell.log.user_commands import UnreportedCommands

OFFERED = ("bash", "read", "grep", "glob", "write", "edit", "git_worktree", "spawn_agent", "search_context")


def answered(text: str, offered: tuple[str, ...] = OFFERED) -> Any:
    tools = tuple(ToolSpec(name, name, {}) for name in offered)
    blocks = answer(Request("offline", (), (Message("m", "user", (Text(text),)),), tools))
    return [(block.name, block.arguments) if isinstance(block, ToolCall) else block for block in blocks]


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("run ls -la", "bash", {"command": "ls -la"}),
        ("$ false", "bash", {"command": "false"}),
        ("read 'a b.py' 3-9", "read", {"path": "a b.py", "start_line": 3, "end_line": 9}),
        ("read @a.py 3-9", "read", {"path": "a.py", "start_line": 3, "end_line": 9}),
        ("find x+y in src", "grep", {"pattern": r"x\+y", "path": "src"}),
        ("files **/*.py", "glob", {"pattern": "**/*.py"}),
        ("list the files", "glob", {"pattern": "**/*"}),
        ("Show me all files.", "glob", {"pattern": "**/*"}),
        ("write n.txt: one", "write", {"path": "n.txt", "content": "one\n"}),
        ("edit n.txt: one => two", "edit", {"path": "n.txt", "old_text": "one", "new_text": "two"}),
        ("spawn look around", "spawn_agent", {"prompt": "look around"}),
        ("what did I run?", "search_context", {"source": "shell_history"}),
        ("What did I run before", "search_context", {"source": "shell_history"}),
        ("what did I run in ~/src?", "search_context", {"source": "shell_history", "cwd": "~/src"}),
        (
            "what failed in the last build?",
            "search_context",
            {"source": "shell_history", "query": "build", "exit_code": -1},
        ),
        ("what did we decide about auth?", "search_context", {"source": "sessions", "query": "auth"}),
    ],
)
def test_words_become_calls(text: str, tool: str, arguments: dict[str, Any]) -> None:
    assert answered(text) == [(tool, arguments)]


def test_lines_are_calls_and_what_is_not_understood_is_said() -> None:
    assert [name for name, _ in answered("read a\nread b")] == ["read", "read"]
    (unknown,) = answered("think hard")
    rows = unknown.text.splitlines()
    assert "No model is connected" in rows[0] and len([row for row in rows if row]) == 3
    assert max(map(len, rows)) <= 90, "three rows where the window has 80 columns: the marks are not shown"
    for question in ("what can you do?", "What can you do", "help"):
        (abilities,) = answered(question)
        assert GRAMMAR in abilities.text


def test_what_it_names_as_a_request_is_one() -> None:
    (unknown,) = answered("think hard")
    named = [part for part in unknown.text.split("`")[1::2] if not part.startswith("export")]
    assert len(named) == 5
    assert all("No model is connected" not in str(answered(request)) for request in named)


def test_a_tool_that_is_not_offered_is_named() -> None:
    (missing,) = answered("what did I run?", ("bash",))
    assert missing.text == "That needs the tool `search_context`, which is not available here."


def test_what_failed_are_calls_and_the_commands_of_the_person() -> None:
    def failed(*news: tuple[str, int]) -> Any:
        runs = UnreportedCommands()
        for number, (command, status) in enumerate(news):
            runs.add("s", ShellRecord(number=number, command=command, cwd="~", exit=status), ["no"])
        told = [Message("m", "user", (Text(side.text),)) for side in runs.reports("s", 0).along]
        [said] = answer(Request("offline", (), (*told, Message("n", "user", (Text("what failed?"),))), ()))
        return said.text if isinstance(said, Text) else said

    assert failed() == failed(("true", 0)) == "Nothing failed in this conversation."
    assert failed(("false (in x)", 1), ("true", 0)) == "1 failed in this conversation:\n\n- `! false (in x)`: exit 1."
