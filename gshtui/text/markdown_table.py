"""Markdown tables for people. Pure; the caller makes text that others chose harmless, and free of `|`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = ()) -> str:
    """A row a line, without padding. `right`: the columns that are set to the right."""
    names = "".join(f" {name} |" if name else " |" for name in head)
    rule = ["---:" if column in right else "---" for column in range(len(head))]
    return "\n".join([f"|{names}", *(f"| {' | '.join(row)} |" for row in (rule, *rows))])


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Two columns without names: what, and its value."""
    return table(("", ""), rows)
