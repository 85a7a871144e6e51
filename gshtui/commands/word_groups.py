"""The words of `gsh-tui` and the commands after a slash, as help lists them: the ten that most people need, then the
others by subject. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

Groups = tuple[tuple[str, tuple[str, ...]], ...]
"""Titles, each with its words in order."""
FIRST = "Start here"
_TALK, _AGENTS, _CONTEXT, _SHELL = "Conversations", "Agents", "Context", "Shell and tools"
_OTHERS, _REST = "Integrations", "Installation"

WORD_GROUPS: Groups = (
    (FIRST, ("login", "prompt", "agent", "session", "rewind", "usage", "config", "doctor", "update", "search")),
    (_TALK, ("fork", "redo", "replay", "logs")),
    (_AGENTS, ("worktree", "workflow", "profiles", "host", "prompts")),
    (_CONTEXT, ("context", "timeline", "compact", "prune")),
    (_SHELL, ("gsh", "run", "shell", "note", "python", "code", "sandbox", "guard")),
    (_OTHERS, ("mcp", "acp", "hook", "plugins", "serve", "people")),
    (_REST, ("models", "logout", "hub", "completion", "report", "uninstall", "help", "version")),
)

SLASH_GROUPS: Groups = (
    (FIRST, ("model", "spawn", "resume", "review", "clear", "compact", "rewind", "mode", "init", "help")),
    (_TALK, ("session", "fork", "redo", "file", "queue", "plan", "todo", "prompt", "prompts", "effort", "interrupt")),
    (
        _AGENTS,
        (
            *("agents", "agent", "info", "status", "usage", "worktree", "workflow", "personas", "skills", "profiles"),
            *("host", "talk", "say", "mail", "report", "calls", "create", "join", "leave", "invite", "who", "people"),
            *("topic", "history", "wall", "spawn_agent"),
        ),
    ),
    (
        _CONTEXT,
        (
            *("context", "timeline", "tune", "prune", "undo", "restore", "pin", "unpin", "carry", "whatif"),
            *("clear_context", "search_context", "memory", "remember", "forget", "think"),
        ),
    ),
    (
        _SHELL,
        (
            *("diff", "note", "terminal", "tmux", "python", "code", "approvals", "guard", "logs", "bash", "output"),
            *("read", "write", "edit", "glob", "grep", "ls", "cat", "head", "tail", "append", "mkdir", "rm", "cd"),
            *("pwd", "vim", "hunk", "git_commit", "git_worktree", "echo", "env", "exec", "pipe", "brief"),
        ),
    ),
    (_OTHERS, ("mcp", "hook", "program_hooks", "plugins", "provider")),
    (_REST, ("config", "hub", "find_tool", "quit")),
)


def grouped(words: Collection[str], groups: Groups = WORD_GROUPS) -> list[tuple[str, Sequence[str]]]:
    """These words by group, each once; those of no group come last."""
    known = {word for _, named in groups for word in named}
    found: list[tuple[str, Sequence[str]]] = [
        (title, [word for word in named if word in words]) for title, named in groups
    ]
    found.append(("Others", sorted(set(words) - known)))
    return [(title, named) for title, named in found if named]
