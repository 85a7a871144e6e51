"""Our tools and their parameters by the names that hooks of Claude Code know, and back."""

from __future__ import annotations

from typing import Any

_CLAUDE_NAMES = {
    "bash": "Bash",
    "edit": "Edit",
    "write": "Write",
    "read": "Read",
    "glob": "Glob",
    "grep": "Grep",
    "todo": "TodoWrite",
    "spawn_agent": "Task",
    "skills": "Skill",
    "python": "Python",
}
_CLAUDE_KEYS = {
    "edit": {"path": "file_path", "old_text": "old_string", "new_text": "new_string"},
    "write": {"path": "file_path"},
    "read": {"path": "file_path"},
    "grep": {"file_pattern": "glob"},
}
"""The parameters that are called differently there."""


def claude_name(tool: str) -> str:
    """A tool's name as hooks of Claude Code know it: `Bash`, `mcp__server__tool`."""
    server, sign, name = tool.partition("__")
    return _CLAUDE_NAMES.get(tool, f"mcp__{server}__{name}" if sign else tool)


def their_arguments(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """A call's arguments under the names that hooks know."""
    keys = _CLAUDE_KEYS.get(tool, {})
    return {keys.get(name, name): value for name, value in arguments.items()}


def our_arguments(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments that a hook has changed, under our own names."""
    keys = {theirs: ours for ours, theirs in _CLAUDE_KEYS.get(tool, {}).items()}
    return {keys.get(name, name): value for name, value in arguments.items()}
