"""Worktrees to choose from, for their changes.

Owns how a worktree is described; gets them as the data of `git_worktree action=list`. Opened by the app; the answer is
a folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from gshtui.ui.kit.picker import Choice, Picker


class WorktreesScreen(Picker):
    """Choose a worktree; the answer is its folder."""

    def __init__(self, choices: Sequence[Choice]) -> None:
        super().__init__(
            "Changes of a worktree",
            choices,
            empty="This folder is in no git repository.",
            hint="enter shows what it holds against its base · escape closes",
        )


def listed(data: Any) -> list[Choice]:
    """Worktrees in the data of `git_worktree action=list` whose folder is there; last the main one, without base."""
    rows = [cast("dict[str, Any]", one) for one in cast("list[Any]", data or []) if isinstance(one, dict)]
    return [
        Choice(str(one.get("path", "")), _name(one), str(one.get("path", "")))
        for one in sorted(rows, key=lambda one: bool(one.get("main")))
        if not one.get("gone") and one.get("path")
    ]


def _name(one: dict[str, Any]) -> str:
    name = str(one.get("branch") or "") or str(one.get("commit") or "")[:8]
    return f"{name} (main tree)" if one.get("main") else name
