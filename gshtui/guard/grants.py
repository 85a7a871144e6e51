"""Where patterns that a person allowed for good are kept: in a keeper of the hub's choice, or for this process only.

The keeper is the store; this room knows it only by what it needs of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Grant(Protocol):
    """One kept pattern."""

    @property
    def tool(self) -> str:
        """The tool that it is about."""
        ...

    @property
    def pattern(self) -> str:
        """What is allowed."""
        ...


class Keeper(Protocol):
    """Keeps grants by project."""

    async def grants(self, project: str) -> Sequence[Grant]:
        """All grants of a project."""
        ...

    async def add_grant(self, project: str, tool: str, pattern: str) -> None:
        """Keep one more."""
        ...


class ProjectGrants:
    """The grants of one project, read again at each question: another window may have given or taken one."""

    def __init__(self, keeper: Keeper, project: str) -> None:
        self._keeper = keeper
        self._project = project

    async def allowed(self, tool: str, pattern: str) -> bool:
        """Whether the pattern was allowed in this project."""
        kept = await self._keeper.grants(self._project)
        return any(grant.tool == tool and grant.pattern == pattern for grant in kept)

    async def allow(self, tool: str, pattern: str) -> None:
        """Keep the pattern as allowed in this project."""
        await self._keeper.add_grant(self._project, tool, pattern)


class NoGrants:
    """Grants of this process alone, for when there is no store."""

    def __init__(self) -> None:
        self._kept: set[tuple[str, str]] = set()

    async def allowed(self, tool: str, pattern: str) -> bool:
        """Whether the pattern was allowed since the start."""
        return (tool, pattern) in self._kept

    async def allow(self, tool: str, pattern: str) -> None:
        """Allow the pattern until the end of the process."""
        self._kept.add((tool, pattern))
