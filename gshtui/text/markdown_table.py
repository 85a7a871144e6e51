"""Markdown of ours for people: tables, text to show as it is, and marks in short texts for places that draw none. Pure.

The caller sanitises others' text, and keeps it from being read by `cell` or `fenced`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from gshtui.text import cells

_MARK = re.compile(r"\*\*([^*\n]+)\*\*|`([^`\n]+)`")

_OPENING = re.compile(r"^\s*(?:(?:#{1,6}|>|[-*]) +)+")


def unmarked(text: str) -> str:
    """The words without their marks."""
    return _MARK.sub(lambda found: found[1] or found[2], text)


def unmarked_line(line: str) -> str:
    """A line of an answer without its marks, also of a heading, a quote or an item."""
    return unmarked(_OPENING.sub("", line))


def marked_parts(text: str) -> Iterator[tuple[str, bool]]:
    """The parts of a text in order, without their marks, and whether each is a name."""
    at = 0
    for found in _MARK.finditer(text):
        if found.start() > at:
            yield text[at : found.start()], False
        yield found[1] or found[2], found[2] is not None
        at = found.end()
    if at < len(text):
        yield text[at:], False


_OPENS = re.compile(r"(`{3,})[^`]*")
_FENCE = re.compile(r"(`{3,})\n(.*)\n\1", re.DOTALL)


def fenced(text: str) -> str:
    """The text as a Markdown block in which nothing is markup."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def outside_fences(change: Callable[[str], str], text: str) -> str:
    """The text with each line outside of its fenced blocks changed. A block that is not closed goes on to the end."""
    parts: list[str] = []
    fence = ""
    for line in text.split("\n"):
        opens = _OPENS.fullmatch(line) if not fence else None
        parts.append(line if fence or opens else change(line))
        fence = opens[1] if opens else "" if line == fence else fence
    return "\n".join(parts)


def bare(text: str) -> str:
    """The text passed to `fenced`; any other text unchanged."""
    found = _FENCE.fullmatch(text)
    return found[2] if found else text


_MARKS = re.compile(r"[\\`*_|\[\]<>&~#]")
_MARKED = re.compile(r"\\([\\`*_|\[\]<>&~#])|`|\*\*")
_CELL = re.compile(r"(?:[^|\\]|\\.?)*+")


def cell(text: str) -> str:
    """Somebody else's text on one line, of which nothing is markup: every face shows exactly it."""
    return _MARKS.sub(r"\\\g<0>", text)


def split_row(line: str) -> list[str]:
    """The cells of a row, as they are written."""
    return [found[0].strip() for found in _CELL.finditer(line[1:-1]) if found[0]]


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = ()) -> str:
    """One line per row, without padding. `right`: the right-aligned columns."""
    names = "".join(f" {name} |" if name else " |" for name in head)
    rule = ["---:" if column in right else "---" for column in range(len(head))]
    return "\n".join([f"|{names}", *(f"| {' | '.join(row)} |" for row in (rule, *rows))])


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Two unnamed columns: names and values."""
    return table(("", ""), rows)


def padded(text: str) -> str:
    """The text with its tables in columns of equal width, for a face that shows Markdown as it is written."""
    return _with_columns(text, lambda text: text)


def _with_columns(text: str, read: Callable[[str], str]) -> str:
    """`read`: what becomes of a cell, and of a line outside of tables."""
    lines: list[str] = []
    block: list[list[str]] = []
    for line in [*text.split("\n"), ""]:
        if line.startswith("| ") and line.endswith("|"):
            block.append([read(one) for one in split_row(line)])
            continue
        lines += _columns(block)
        block = []
        lines.append(read(line))
    return "\n".join(lines[:-1])


def bare_columns(text: str) -> str:
    """The text as `padded`, without the marks of code and of bold: what a table's shell form prints."""
    return _with_columns(text, without_marks)


def without_marks(text: str) -> str:
    """As it reads without the marks of code and of bold; what `cell` kept is as it was."""
    return _MARKED.sub(lambda found: found[1] or "", text)


def _columns(block: list[list[str]]) -> list[str]:
    rules = [row for row in block if all(cell and not cell.strip("-:") for cell in row)]
    right = {at for rule in rules[:1] for at, cell in enumerate(rule) if cell.endswith("-:")}
    rows = [row for row in block if row not in rules]
    if rows and not any(rows[0]):
        del rows[0]  # the heading of a table that has none
    many = max((len(row) for row in rows), default=0)
    widths = [max(cells.width(row[at]) if at < len(row) else 0 for row in rows) for at in range(many)]
    filled = [
        [
            gap + cell if at in right else cell + gap
            for at, cell in enumerate(row)
            for gap in [" " * (widths[at] - cells.width(cell))]
        ]
        for row in rows
    ]
    return ["  ".join(row).rstrip() for row in filled]
