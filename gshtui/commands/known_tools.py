"""Which commands are tools, generated from their declarations by `python -m tests.kit.shell_forms`.

A request to a model lists all tools: this way without creating them. A test checks that they match.
"""

from __future__ import annotations

# fmt: off

TOOLS = {
    # name: family, whether each request describes it
    "append": ("files", False),
    "bash": ("run", True),
    "calls": ("calls", False),
    "cat": ("files", False),
    "cd": ("files", False),
    "code": ("files", False),
    "compact": ("context", False),
    "context": ("context", False),
    "diff": ("language", False),
    "edit": ("files", True),
    "find_tool": ("workbench", True),
    "forget": ("memory", False),
    "git_commit": ("run", False),
    "git_worktree": ("run", False),
    "glob": ("files", True),
    "grep": ("files", True),
    "head": ("files", False),
    "history": ("calls", False),
    "ls": ("files", False),
    "memory": ("memory", False),
    "mkdir": ("files", False),
    "output": ("run", True),
    "pin": ("context", False),
    "pipe": ("language", False),
    "prune": ("context", False),
    "pwd": ("files", False),
    "python": ("run", False),
    "read": ("files", True),
    "remember": ("memory", True),
    "report": ("agents", False),
    "restore": ("context", False),
    "rm": ("files", False),
    "say": ("agents", True),
    "search_context": ("context", True),
    "session": ("session", False),
    "skills": ("agents", True),
    "spawn_agent": ("agents", True),
    "tail": ("files", False),
    "talk": ("agents", True),
    "terminal": ("run", False),
    "think": ("memory", False),
    "timeline": ("context", False),
    "tmux": ("run", False),
    "todo": ("agents", True),
    "undo": ("context", False),
    "usage": ("usage", False),
    "wall": ("agents", False),
    "write": ("files", True),
}
NO_TOOLS = frozenset((
    "?", "agent", "agents", "approvals", "brief", "carry", "clear", "clear_context", "config", "cost", "create",
    "echo", "effort", "env", "exec", "exit", "file", "fork", "guard", "help", "hook", "hooks", "host", "hub",
    "hunk", "info", "init", "interrupt", "invite", "join", "leave", "logs", "mail", "mcp", "mode", "model", "new",
    "note", "people", "permissions", "personas", "plan", "plugins", "profiles", "program_hooks", "prompt",
    "prompts", "provider", "quit", "redo", "resume", "review", "rewind", "search", "spawn", "status", "topic",
    "tune", "unpin", "vim", "whatif", "who", "workflow", "workflows", "worktree",
))
