"""Which part of a row is selected with the mouse, in characters."""

from __future__ import annotations

from textual.selection import Selection


def selected_span(selection: Selection, row: int, length: int) -> tuple[int, int] | None:
    """First character and the one after the last that are selected of a row of `length` characters."""
    span = selection.get_span(row)
    if span is None:
        return None
    start, end = span
    end = length if end == -1 else min(end, length)
    return (start, end) if start < end else None
