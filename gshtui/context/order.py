"""An order for a cut: who wants it, why, and how far it may go. Plain data, made by whoever asks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Order:
    """Who wants a cut, and why."""

    by: str = "person"
    why: str = ""
    focus: str = ""
    request: str = ""
    """Id that the answer names."""
    forced: bool = False
    """Everything that can go goes: nothing else makes room."""
    dry: bool = False
    """Only tell what it would do: nothing is asked, written or published."""

    @property
    def automatic(self) -> bool:
        """Nobody asked for it."""
        return self.by in ("threshold", "overflow", "strategy")
