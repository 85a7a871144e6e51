"""The words of `gsh-tui` as its help lists them: the ten that most people need, then the others by subject. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

WORD_GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Start here", ("login", "prompt", "agent", "session", "rewind", "usage", "config", "doctor", "update", "search")),
    ("Conversations", ("fork", "redo", "replay", "logs")),
    ("Agents", ("worktree", "workflow", "profiles", "host", "prompts")),
    ("Context", ("context", "timeline", "compact", "prune")),
    ("Shell and tools", ("gsh", "run", "shell", "note", "python", "code", "sandbox", "guard")),
    ("Integrations", ("mcp", "acp", "hook", "plugins", "serve", "people")),
    ("Installation", ("models", "logout", "hub", "completion", "report", "uninstall", "help", "version")),
)
"""Titles, each with its words in order."""


def grouped(words: Collection[str]) -> list[tuple[str, Sequence[str]]]:
    """These words by group, each once; those of no group come last."""
    known = {word for _, named in WORD_GROUPS for word in named}
    groups: list[tuple[str, Sequence[str]]] = [
        (title, [word for word in named if word in words]) for title, named in WORD_GROUPS
    ]
    groups.append(("Others", sorted(set(words) - known)))
    return [(title, named) for title, named in groups if named]
