"""When a block may not run: it failed before and is unchanged, or too many failed in a row with nothing looked at.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field

MOST = 3
"""Blocks that may fail in a row before something else must be looked at."""


@dataclass(slots=True)
class RetryRule:
    """What failed of one agent in one conversation since something last went well."""

    _failed: dict[str, str] = field(default_factory=dict[str, str])
    """Block → the error that it ended with."""

    def objection(self, code: str) -> str:
        """Why this block does not run, as a sentence or two; empty: nothing is against it."""
        if (error := self._failed.get(code.strip())) is not None:
            return f"This very block failed already, with {error}. Change it before you run it again."
        if len(self._failed) >= MOST:
            last = list(self._failed.values())[-1]
            return (
                f"{len(self._failed)} blocks failed in a row, the last with {last}, and nothing else was looked at in "
                "between. Look at what they work on with another tool, or ask the person, before you try again."
            )
        return ""

    def note_failure(self, code: str, error: str) -> None:
        """A block failed."""
        self._failed[code.strip()] = error

    def note_progress(self) -> None:
        """A block ran to its end, another tool gave an answer, or a person said something."""
        self._failed.clear()
