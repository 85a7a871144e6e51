"""Calls of tools as models know them from other programs, put into the names of ours; no schema mentions them.

Owns which name stands for which. Judges nothing: the guard, the hooks and the tool see only what comes out of here.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from gshtui.bus.messages import ToolCall
from gshtui.system.json_types import is_array, is_object

_TOOLS: Mapping[str, str] = {
    "view": "read",
    "read_file": "read",
    "list": "read",
    "list_dir": "read",
    "list_directory": "read",
    "multiedit": "edit",
    "replace": "edit",
    "str_replace": "edit",
    "search_replace": "edit",
    "write_file": "write",
    "write_to_file": "write",
    "create_file": "write",
    "shell": "bash",
    "local_shell": "bash",
    "shell_command": "bash",
    "exec_command": "bash",
    "run_shell_command": "bash",
    "run_command": "bash",
    "execute_command": "bash",
    "search": "grep",
    "search_files": "grep",
    "search_file_content": "grep",
    "grep_search": "grep",
    "find_files": "glob",
    "file_search": "glob",
    "task": "spawn_agent",
    "agent": "spawn_agent",
    "skill": "skills",
    "todowrite": "todo",
    "todo_write": "todo",
    "update_plan": "todo",
}
_PATH = ("file_path", "filepath", "absolute_path", "target_file", "file", "filename", "dir_path", "directory", "folder")
_FIELDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "read": {"path": _PATH, "start_line": ("offset", "start", "from"), "end_line": ("end", "to")},
    "edit": {
        "path": _PATH,
        "old_text": ("old_string", "old_str", "old", "search"),
        "new_text": ("new_string", "new_str", "new", "replacement", "replace"),
        "replace_all": ("allow_multiple", "all"),
    },
    "write": {"path": _PATH, "content": ("file_text", "contents", "text", "data")},
    "bash": {
        "command": ("cmd", "command_line", "script"),
        "timeout_ms": ("timeout",),
        "working_dir": ("workdir", "cwd", "dir_path", "directory"),
    },
    "grep": {
        "pattern": ("query", "regex"),
        "path": (*_PATH, "dir"),
        "file_pattern": ("glob", "include", "include_pattern"),
        "context_lines": ("-C", "context", "-A", "-B"),
        "ignore_case": ("-i", "case_insensitive"),
    },
    "glob": {"pattern": ("glob", "query", "glob_pattern"), "path": (*_PATH, "dir")},
    "todo": {"tasks": ("todos", "plan")},
}
_TELLING_NOTHING: Mapping[str, frozenset[str]] = {
    "read": frozenset({"encoding"}),
    "edit": frozenset({"instruction", "explanation"}),
    "write": frozenset({"explanation"}),
    "bash": frozenset(
        {
            "description",
            "justification",
            "dangerouslyDisableSandbox",
            "with_escalated_permissions",
            "sandbox_permissions",
            "yield_time_ms",
            "max_output_tokens",
            "login",
            "requires_approval",
        }
    ),
    "grep": frozenset({"-n", "output_mode", "head_limit", "max_results", "explanation"}),
    "glob": frozenset({"respect_git_ignore", "explanation"}),
    "todo": frozenset({"explanation"}),
}
"""What a call goes without: it explains, asks for what the person alone decides, or for less of the same."""
_TYPES = {"python": "py", "rust": "rs", "markdown": "md", "ruby": "rb", "typescript": "ts", "javascript": "js"}
"""ripgrep's names of kinds of files that are not their ending."""
HINTS = {
    "apply_patch": "Send an `edit` (path, old_text, new_text) for each change, and `write` (path, content) a new file."
}
"""What to do in place of a call that stands for several of ours, by its tool."""
_EDITOR = {"view": "read", "create": "write", "str_replace": "edit"}
"""The commands of Anthropic's text editor, which is one tool."""
_STATES = {"pending": "open", "in_progress": "active", "completed": "done", "cancelled": "dropped"}
_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z])")


def our_tool(name: str) -> str:
    """Our name for a tool that a definition of another program names; its own in small letters where we have none."""
    server, sign, tool = name.removeprefix("mcp__").partition("__")
    if sign and name.startswith("mcp__"):
        return f"{server}__{tool}"
    plain = name.partition("(")[0].strip().lower()
    return _TOOLS.get(plain, plain)


def our_call(call: ToolCall, is_tool: Callable[[str], bool]) -> ToolCall:
    """The call under our names; itself where it is none that is known here. `is_tool`: whether the agent has a tool of
    this name; none that it has is taken for another.
    """
    if call.broken:
        return call
    name, arguments = call.name, call.arguments
    if not is_tool(name):
        name, arguments = _tool(name, arguments)
        if not is_tool(name):
            return call
    if name in _FIELDS:
        arguments = _arguments(name, arguments)
    return msgspec.structs.replace(call, name=name, arguments=arguments)


def _tool(name: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The tool of ours that one of another program stands for, and its arguments; the same where it stands for none."""
    plain = name.lower()
    if plain == "apply_patch":
        return _patched(given)
    if plain in ("str_replace_editor", "str_replace_based_edit_tool"):
        rest = {key: value for key, value in given.items() if key != "command"}
        return _EDITOR.get(str(given.get("command")), name), rest
    return (plain if plain in _FIELDS else _TOOLS.get(plain, name)), given


def _arguments(tool: str, given: dict[str, Any]) -> dict[str, Any]:
    fields = _FIELDS[tool]
    ours = {other: field for field, others in fields.items() for other in others}
    silent = _TELLING_NOTHING[tool]
    found: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for name, value in given.items():
        plain = name if name.startswith("-") else _CAPITAL.sub(r"_\1", name).lower()
        field = ours.get(plain, plain)
        if plain in silent or name in silent:
            continue
        if plain != field and (field in given or field in found):
            # Two names for one thing: the same value twice is one, else the wider context (`-A`, `-B`).
            both = given.get(field, found.get(field))
            if field == "context_lines" and isinstance(value, int) and isinstance(both, int):
                found[field] = max(value, both)
                continue
            if value == both:
                continue
            field = name
        (found if field in fields or plain != field else rest)[field] = value
    found = {**found, **rest}
    match tool:
        case "read":
            _take_range(found)
        case "bash":
            _take_line(found, given)
        case "edit":
            _take_times(found)
        case "grep":
            _take_kind(found)
        case "todo":
            _take_tasks(found)
        case _:
            pass
    return found


def _take_range(found: dict[str, Any]) -> None:
    """`limit` lines from the first on, or `view_range`."""
    limit, span = found.pop("limit", None), found.pop("view_range", None)
    if is_array(span) and len(pair := span) == 2:
        found["start_line"], last = pair
        found["end_line"] = 0 if last == -1 else last
    start = _number(found.get("start_line", 1))
    if start == 0:
        found["start_line"] = start = 1
    if limit is None:
        return
    lines = _number(limit)
    if lines is None or start is None or start < 0:
        found["limit"] = limit  # refused with its name
    elif lines > 0 and "end_line" not in found:
        found["end_line"] = start + lines - 1


def _take_line(found: dict[str, Any], given: dict[str, Any]) -> None:
    """A command as a list of words; a time limit that can only be seconds; a background that is not asked for."""
    command = found.get("command")
    if is_array(command):
        words = [str(word) for word in command]
        shell = len(words) == 3 and words[0].rpartition("/")[2] in ("bash", "sh") and words[1] in ("-c", "-lc")
        found["command"] = words[2] if shell else shlex.join(words)
    seconds = _number(given.get("timeout"))
    if seconds is not None and 0 < seconds < 1_000 and found.get("timeout_ms") == given["timeout"]:
        found["timeout_ms"] = seconds * 1_000
    for name in ("run_in_background", "is_background", "tty"):
        if found.get(name) is False:
            del found[name]


def _take_times(found: dict[str, Any]) -> None:
    """How many places are expected: one, or all."""
    times = found.pop("expected_replacements", None)
    if (_number(times) or 0) > 1:
        found.setdefault("replace_all", True)


def _take_kind(found: dict[str, Any]) -> None:
    """A kind of files as ripgrep names it; what is not asked for."""
    kind = found.get("type")
    if isinstance(kind, str) and kind.isalnum() and not found.get("file_pattern"):
        found["file_pattern"] = f"*.{_TYPES.get(kind, kind)}"
        del found["type"]
    for name in ("multiline", "offset", "case_sensitive"):
        if found.get(name) in (False, 0, None):
            found.pop(name, None)
    if found.get("case_sensitive") is True:
        del found["case_sensitive"]


def _take_tasks(found: dict[str, Any]) -> None:
    """A whole list, each task with its text and state."""
    tasks = found.get("tasks")
    if not is_array(tasks):
        return
    found.setdefault("action", "write")
    found["tasks"] = [_task(one) for one in tasks]


def _task(given: object) -> object:
    if not is_object(given):
        return given
    task = dict(given)
    for name, ours in (("content", "text"), ("step", "text"), ("status", "state")):
        if name in task:
            task.setdefault(ours, task.pop(name))
    for name in ("activeForm", "active_form", "priority"):
        task.pop(name, None)
    task["state"] = _STATES.get(str(task.get("state")), task.get("state", "open"))
    return task


def _number(value: object) -> int | None:
    try:
        return int(value) if isinstance(value, int | str) and not isinstance(value, bool) else None
    except ValueError:
        return None


def _patched(given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The edit or new file that a patch in Codex's form is; the patch itself where it is more than one of them."""
    text = next((str(given[name]) for name in ("input", "patch", "patchText", "patch_text") if name in given), "")
    lines = [line for line in text.strip().split("\n") if line not in ("*** Begin Patch", "*** End Patch")]
    heads = [line for line in lines if line.startswith("*** ")]
    kind, _, path = heads[0].removeprefix("*** ").partition(": ") if len(heads) == 1 else ("", "", "")
    body = lines[1:]
    if kind == "Add File" and all(line.startswith("+") for line in body):
        return "write", {"path": path, "content": "".join(f"{line[1:]}\n" for line in body)}
    if kind == "Update File" and sum(line.startswith("@@") for line in body) <= 1:
        # What stands behind `@@` only helps to find the place; `edit` wants the old text to occur once.
        changed = [line or " " for line in body if not line.startswith("@@")]
        if changed and all(line[0] in " -+" for line in changed):
            old, new = ("\n".join(line[1:] for line in changed if line[0] != sign) for sign in "+-")
            return "edit", {"path": path, "old_text": old, "new_text": new}
    return "apply_patch", given
