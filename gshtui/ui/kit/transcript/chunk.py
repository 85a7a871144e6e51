"""A chunk: a piece of Markdown source that can be parsed and drawn without the rest of its text.

Owns the shape and its bounds; refuses to parse. Made by the splitter, drawn by the Markdown renderer. The bounds keep
the cost of one chunk to some milliseconds, whatever a model or a file says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LINE_LIMIT = 4_000
"""Characters of one source line; a longer one goes on in the next chunk."""
SIZE_LIMIT = 6_000
"""Characters of a chunk."""
ROWS = 64
"""Source lines of a chunk."""
CELLS = 1_000
"""Cells of a table's chunk."""
LIST_ROWS = 12
"""Source lines of a list after which the next item may begin a chunk: items look the same apart as together."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Source of one or more whole blocks, or a bounded part of a very long one."""

    kind: Literal["markdown", "code"]
    text: str
    """Sanitised source, without a newline at its end; of code the lines between the fences."""
    language: str = ""
    gap: int = 0
    """Empty lines before it."""
    goes_on: bool = False
    """It continues the chunk before: no label, and one block for cursor and copy."""
    head: str = ""
    """A table's header lines, when this is a later part of the table."""
    number: int = 0
    """Number of the first item, when this is a later part of an ordered list; 0: what the source says."""
