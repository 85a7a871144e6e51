"""The undo history of a text area in steps that are chosen, where Textual makes one of a pause or some letters.

Owns the look into Textual's stack of steps; refuses to change a text.
"""

from __future__ import annotations

from textual.widgets import TextArea


def undo_steps(area: TextArea) -> int:
    """How many steps can be undone now."""
    return len(area.history._undo_stack)  # pyright: ignore[reportPrivateUsage]


def join_undo_steps(area: TextArea, since: int) -> None:
    """Make one step of all that were added since there were so many."""
    area.history.checkpoint()
    steps = area.history._undo_stack  # pyright: ignore[reportPrivateUsage]
    if len(steps) - since < 2:
        return
    joined = [steps.pop() for _ in range(len(steps) - since)]
    steps.append([edit for step in reversed(joined) for edit in step])
