"""What the tools that programs ask about call their arguments, and the files that a patch among them changes. Pure.

A model may give others beside them, which the program ignores: a call that has any that are not known here is not read.
"""

from __future__ import annotations

import re
from typing import Any, Literal, cast

import msgspec

from gshtui.system.json_types import is_object, parse_foreign_json

_GIVEN = re.compile(
    r"(?:apply_patch <<(['\"])(\w+)\1\n)?(\*{3} Begin Patch\n.*\n\*{3} End Patch)\n?(\2\n?)?", re.DOTALL
)
_FILE = re.compile(r"\*\*\* (Add|Update) File: (\S.*)")
_MOVED = "*** Move to: "


class PatchedFile(msgspec.Struct):
    """One file. `parts`: what is replaced by what; of a new file, its text by nothing before. `lines`: those with a
    sign. `headed`: it says behind which line a part is, which the part then begins with.
    """

    kind: Literal["Add", "Update"]
    path: str
    moved: str = ""
    parts: list[tuple[str, str]] = msgspec.field(default_factory=list[tuple[str, str]])
    lines: list[str] = msgspec.field(default_factory=list[str])
    headed: bool = False


def patch_in(command: str) -> str:
    """The patch that a command or an argument is, and nothing else; empty: it is none."""
    found = _GIVEN.fullmatch(command)
    return found.group(3) if found is not None and bool(found.group(2)) == bool(found.group(4)) else ""


def patched_files(patch: str) -> list[PatchedFile]:
    """The files of a patch; none where a line of it is not understood."""
    files, is_open = list[PatchedFile](), False
    for line in patch.split("\n")[1:-1]:
        if (found := _FILE.fullmatch(line)) is not None:
            files.append(PatchedFile(cast("Literal['Add', 'Update']", found.group(1)), found.group(2)))
            is_open = files[-1].kind == "Add"
            files[-1].parts += [("", "")] if is_open else []
        elif not files:
            return []
        elif line.startswith(_MOVED) and not files[-1].parts:
            files[-1].moved = line.removeprefix(_MOVED)
        elif line.startswith("@@") and files[-1].kind == "Update":
            heading = f"{words}\n" if (words := line[2:].removeprefix(" ")) else ""
            files[-1].parts.append((heading, heading))
            files[-1].headed |= bool(heading)
            is_open = True
        elif not (is_open and _took(files[-1], line)):
            return []
    return files


def _took(file: PatchedFile, line: str) -> bool:
    """Whether a line belongs to the last part of a file, which then has it."""
    sign, words = line[:1] or " ", f"{line[1:]}\n"
    if sign not in ("+" if file.kind == "Add" else " +-"):
        return False
    old, new = file.parts[-1]
    file.parts[-1] = old + words * (sign != "+"), new + words * (sign != "-")
    file.lines += [line] * (sign != " ")
    return True


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
