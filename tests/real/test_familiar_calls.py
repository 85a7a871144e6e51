"""The calls that models know from other programs, as those programs' tools get them, on our real tools: none costs a
turn.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gshtui.agents.toolbox import Toolbox, WorkDirs
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import ToolStarted
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested
from gshtui.bus.messages import ToolCall, ToolResult
from gshtui.commands.registry import Registry
from gshtui.commands.schema import tool_schema
from gshtui.guard.approval.gate import Gate
from gshtui.tools.commands import commands
from gshtui.tools.familiar_calls import our_call
from gshtui.tools.files.workspace import ToolConfig

TEXT = "one\ntwo\nthree\nfour\nfive\n"
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n one\n-two\n+2\n three\n*** End Patch"
ADD = "*** Begin Patch\n*** Add File: new.py\n+x = 1\n+y = 2\n*** End Patch\n"
MANY = "*** Begin Patch\n*** Update File: a.py\n@@\n-two\n+2\n@@\n-four\n+4\n*** End Patch"
READ = ("3│three", "one")
"""What an answer has, and what it has not."""

CALLS: list[tuple[str, str, dict[str, Any], tuple[str, str]]] = [
    ("claude", "Read", {"file_path": "a.py"}, ("1│one", "six")),
    ("claude", "Read", {"file_path": "a.py", "offset": 3, "limit": 2}, READ),
    ("claude", "Read", {"file_path": "a.py", "offset": "3", "limit": "1"}, ("3│three", "four")),
    ("claude", "Edit", {"file_path": "a.py", "old_string": "two", "new_string": "2"}, ("a.py", "")),
    ("claude", "Edit", {"file_path": "a.py", "old_string": "e", "new_string": "E", "replace_all": True}, ("a.py", "")),
    ("claude", "Write", {"file_path": "b.py", "content": "x\n"}, ("b.py", "")),
    ("claude", "Bash", {"command": "echo $((6*7))", "description": "Count", "timeout": 60_000}, ("42", "")),
    (
        "claude",
        "Bash",
        {"command": "echo hi", "run_in_background": False, "dangerouslyDisableSandbox": True},
        ("hi", ""),
    ),
    ("claude", "Grep", {"pattern": "thr", "output_mode": "content", "-n": True, "-C": 0}, ("3:three", "two")),
    ("claude", "Grep", {"pattern": "THR", "-i": True, "-A": 1, "-B": 0, "glob": "*.py", "head_limit": 5}, ("four", "")),
    ("claude", "Grep", {"pattern": "thr", "type": "py", "output_mode": "files_with_matches"}, ("a.py", "")),
    ("claude", "Grep", {"pattern": "thr", "path": ".", "multiline": False, "offset": 0}, ("a.py", "")),
    ("claude", "Glob", {"pattern": "*.py", "path": "."}, ("a.py", "")),
    ("codex", "shell", {"command": ["bash", "-lc", "echo $((6*7))"], "workdir": "d", "timeout_ms": 9_000}, ("42", "")),
    ("codex", "shell", {"command": ["echo", "a  b"], "justification": "because"}, ("a  b", "")),
    (
        "codex",
        "exec_command",
        {"cmd": "pwd", "workdir": "d", "yield_time_ms": 1_000, "max_output_tokens": 9},
        ("/d", ""),
    ),
    ("codex", "apply_patch", {"input": PATCH}, ("a.py", "")),
    ("codex", "apply_patch", {"input": ADD}, ("new.py", "")),
    ("opencode", "read", {"filePath": "a.py", "offset": 3, "limit": 1}, ("3│three", "four")),
    ("opencode", "edit", {"filePath": "a.py", "oldString": "two", "newString": "2", "replaceAll": False}, ("a.py", "")),
    ("opencode", "write", {"filePath": "b.py", "content": "x\n"}, ("b.py", "")),
    ("opencode", "bash", {"command": "pwd", "description": "Where", "workdir": "d", "timeout": 9_000}, ("/d", "")),
    ("opencode", "grep", {"pattern": "thr", "include": "*.py"}, ("a.py", "")),
    ("opencode", "list", {"path": "."}, ("a.py", "")),
    ("opencode", "apply_patch", {"patchText": PATCH}, ("a.py", "")),
    ("gemini", "read_file", {"absolute_path": "a.py", "offset": 3, "limit": 1}, ("3│three", "four")),
    (
        "gemini",
        "replace",
        {"file_path": "a.py", "old_string": "two", "new_string": "2", "instruction": "i"},
        ("a.py", ""),
    ),
    (
        "gemini",
        "replace",
        {"file_path": "a.py", "old_string": "e", "new_string": "E", "expected_replacements": 4},
        ("a.py", ""),
    ),
    ("gemini", "run_shell_command", {"command": "pwd", "dir_path": "d", "is_background": False}, ("/d", "")),
    ("gemini", "search_file_content", {"pattern": "thr", "dir_path": "."}, ("a.py", "")),
    ("anthropic", "str_replace_based_edit_tool", {"command": "view", "path": "a.py", "view_range": [3, -1]}, READ),
    (
        "anthropic",
        "str_replace_editor",
        {"command": "str_replace", "path": "a.py", "old_str": "two", "new_str": "2"},
        ("a.py", ""),
    ),
    ("anthropic", "str_replace_editor", {"command": "create", "path": "b.py", "file_text": "x\n"}, ("b.py", "")),
    ("ours", "read", {"path": "a.py", "start_line": 3}, READ),
    ("ours", "read", {"path": "a.py", "file_path": "a.py", "start_line": 3}, READ),
    ("ours", "bash", {"cmd": "sleep 0; echo hi", "timeout": 60}, ("hi", "")),
]


class Bench:
    """The real tools as an agent calls them; a person allows everything."""

    def __init__(self, folder: Path) -> None:
        self.bus = Bus()
        self.started: list[ToolStarted] = []
        self.gate = Gate(self.bus, respondent="person", auto_approve=frozenset({"bash", "edit", "write"}))
        self.bus.subscribe(self._see, ApprovalRequested, ToolStarted, name="person")
        self.registry = Registry(commands(ToolConfig(os.environ)))
        self.toolbox = Toolbox(
            self.bus, self.registry, self.gate, "main", WorkDirs(folder, folder), self._keep, max_output_bytes=30_000
        )

    async def _see(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, ApprovalRequested):
                self.bus.publish(ApprovalAnswered(approval=event.approval, decision="once"))
            elif isinstance(event, ToolStarted):
                self.started.append(event)

    async def _keep(self, session: str, call: str, text: str) -> str:
        return "0" * 32

    async def call(self, tool: str, arguments: dict[str, Any]) -> ToolResult:
        (result,), _ = await self.toolbox.run([ToolCall("c1", tool, arguments)], "s1", "m1")
        return result

    async def close(self) -> None:
        await self.gate.close()
        await self.bus.close()


async def test_calls_of_other_programs_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    faults: list[str] = []
    (tmp_path / "d").mkdir()
    for program, tool, arguments, (has, lacks) in CALLS:
        (tmp_path / "a.py").write_text(TEXT)
        (tmp_path / "b.py").unlink(missing_ok=True)
        bench = Bench(tmp_path)
        await bench.call("read", {"path": "a.py"})
        result = await bench.call(tool, arguments)
        if result.status != "ok" or has not in result.content or (lacks and lacks in result.content):
            faults.append(f"{program} {tool} {arguments}: {result.status}: {result.content[:200]}")
        assert result.name == tool, "a result bears the name of its call"
        await bench.close()
        known = bench.registry.get(bench.started[-1].tool).parameters.model_fields
        assert set(bench.started[-1].arguments) <= set(known), "the guard and hooks know nothing but our names"
    assert not faults, "\n".join(faults)
    assert (tmp_path / "new.py").read_text() == "x = 1\ny = 2\n"


async def test_what_it_did_is_what_the_call_says(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TEXT)
    bench = Bench(tmp_path)
    await bench.call("Read", {"file_path": "a.py"})
    await bench.call("apply_patch", {"input": PATCH})
    await bench.call("Edit", {"file_path": "a.py", "old_string": "e", "new_string": "E", "replace_all": True})
    assert (tmp_path / "a.py").read_text() == "onE\n2\nthrEE\nfour\nfivE\n"
    result = await bench.call("apply_patch", {"input": MANY})
    assert result.status == "error" and "an `edit`" in result.content
    await bench.close()


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read", {"path": "a.py", "nonsense": True}),
        ("read", {"path": "a.py", "file_path": "b.py"}),
        ("bash", {"command": "echo hi", "run_in_background": True}),
        ("grep", {"pattern": "a", "multiline": True}),
        ("write", {"file_path": "a.py"}),
    ],
)
async def test_what_asks_for_more_is_refused(tool: str, arguments: dict[str, Any], tmp_path: Path) -> None:
    """A name that would change what is done is never dropped."""
    (tmp_path / "a.py").write_text(TEXT)
    bench = Bench(tmp_path)
    assert (await bench.call(tool, arguments)).status == "error"
    await bench.close()


def test_a_tool_of_that_name_is_that_tool() -> None:
    call = ToolCall("1", "Read", {"file_path": "a"})
    assert our_call(call, lambda _: True) == call
    assert our_call(call, lambda name: name == "read").name == "read"
    other = ToolCall("1", "frobnicate", {"file_path": "a"})
    assert our_call(other, lambda _: False) == other


def test_no_schema_mentions_them() -> None:
    for command in Registry(commands(ToolConfig(os.environ))).tools():
        assert not {"file_path", "old_string", "cmd", "offset", "limit"} & set(tool_schema(command)["properties"])
