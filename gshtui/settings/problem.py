"""What loading found: where each value came from, and what was wrong, in words and with its place.

Plain data; nothing here reads a file. Made by the layers, shown by `config show`, `doctor` and the faces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Layer = Literal["default", "user", "project", "environment", "flag"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from. `where`: the file, the variable or the flag; `line` counts from 1, 0: no line."""

    layer: Layer
    where: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = f"{self.where}:{self.line}" if self.line else self.where
        return f"{self.layer} ({place})" if place else self.layer


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with the configuration, and what was done about it."""

    text: str
    """One sentence: what is wrong."""
    hint: str = ""
    """What to do."""
    origin: Origin = Origin("default")
    key: str = ""
    level: Literal["warning", "info"] = "warning"
    """`info`: nothing is wrong, but something is not used, and the person may want to know."""

    def __str__(self) -> str:
        place = f"{self.origin.where}:{self.origin.line}" if self.origin.line else self.origin.where
        return " ".join(part for part in (f"{place}:" if place else "", self.text, self.hint) if part)
