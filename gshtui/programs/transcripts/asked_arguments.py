"""What the tools that programs ask about call their arguments.

A model may give others beside them, which the program ignores: a call that has any that are not known here is not read.
"""

from __future__ import annotations

from typing import Any

from gshtui.system.json_types import is_object, parse_foreign_json

_RUN = {"command": "command", "description": "about", "justification": "about"}
_EDIT = {"file_path": "path", "old_string": "old", "new_string": "new", "replace_all": "all"}
_WRITE = {"file_path": "path", "content": "content"}
_TOOLS = {
    "claude": {
        "Bash": _RUN,
        "Edit": _EDIT,
        "Write": _WRITE,
        "ExitPlanMode": {"plan": "plan"},
        "AskUserQuestion": {"questions": "questions"},
    },
    "codex": {"exec_command": {"cmd": "command", "justification": "about"}, "shell_command": _RUN},
    "gemini": {
        "run_shell_command": _RUN,
        "replace": {"file_path": "path", "old_string": "old", "new_string": "new", "allow_multiple": "all"},
        "write_file": _WRITE,
    },
    "opencode": {
        "bash": _RUN,
        "edit": {"filePath": "path", "oldString": "old", "newString": "new", "replaceAll": "all"},
        "write": {"filePath": "path", "content": "content"},
    },
    "qwen": {"run_shell_command": _RUN, "edit": _EDIT, "write_file": _WRITE, "exit_plan_mode": {"plan": "plan"}},
    "vibe": {"bash": _RUN, "edit": _EDIT, "write_file": _WRITE},
}
_TYPES = {"all": bool, "questions": list}
_BESIDE = {
    *("description", "instruction", "justification", "timeout", "timeout_ms", "yield_time_ms", "max_output_tokens"),
    *("run_in_background", "is_background", "wait_for_previous", "login", "tty", "directory", "dir_path", "workdir"),
    *("dangerouslyDisableSandbox", "sandbox_permissions", "prefix_rule"),
}
"""Those that change neither what is run nor what is written."""


def arguments_of(program: str, tool: str, text: str) -> dict[str, Any] | None:
    """A call's arguments by what they are: command, path, old, new, all, content, plan, questions, about. `None`: it
    cannot be read.
    """
    names = _TOOLS.get(program, {}).get(tool)
    try:
        given = parse_foreign_json(text.encode())
    except ValueError:
        return None
    if names is None or not is_object(given) or not given.keys() <= names.keys() | _BESIDE:
        return None
    found = {role: given[name] for name, role in names.items() if name in given}
    return found if all(isinstance(value, _TYPES.get(role, str)) for role, value in found.items()) else None
