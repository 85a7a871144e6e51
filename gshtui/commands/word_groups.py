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
    (_REST, ("config", "settings", "setup", "theme", "keys", "notices", "hub", "find_tool", "quit")),
)
_TITLES = {
    **dict.fromkeys(("session", "conversation", "prompts"), _TALK),
    **dict.fromkeys(("agents", "calls", "usage"), _AGENTS),
    **dict.fromkeys(("context", "memory"), _CONTEXT),
    **dict.fromkeys(("files", "run", "shell", "language", "approvals"), _SHELL),
    "workbench": _REST,
}
"""Family of a command → the group that lists it, if none names it."""


def grouped(words: Collection[str], groups: Groups = WORD_GROUPS) -> list[tuple[str, Sequence[str]]]:
    """These words by group, each once: those that a group names, then those whose family belongs to it, then others."""
    rest = set(words) - {word for _, named in groups for word in named}
    found: list[tuple[str, Sequence[str]]] = []
    for title, named in groups:
        later = sorted(word for word in rest if _title_of(word) == title)
        rest -= {*later}
        found.append((title, [*(word for word in named if word in words), *later]))
    return [(title, named) for title, named in (*found, ("Others", sorted(rest))) if named]


def _title_of(word: str) -> str:
    """The group of a command's family; empty: it is none of our commands."""
    from gshtui.commands.known_tools import NO_TOOLS, TOOLS  # only help needs them

    return _TITLES.get(TOOLS[word][0] if word in TOOLS else NO_TOOLS.get(word, ""), "")
