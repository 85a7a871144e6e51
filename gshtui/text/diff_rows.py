"""A unified diff as rows: read, counted, shortened, paired for two columns; and the words that differ in a pair.

Pure; makes no diffs and draws none. Both faces of a change use these rows: the window (`ui/kit/drawing/diff_lines.py`)
and an agent's own pane (`headless/agents/agent_pane/pane_lines.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)")
_NO_FILE = "/dev/null"
_WORD = re.compile(r"\w+|\s+|.")
_MOST_WORDS = 200
"""Words of a line up to which all differences are looked for; in longer ones, only where they begin and end."""
_ALIKE = 0.35
"""Share of equal words from which on two lines are versions of one another."""
_CHANGED = ("added", "removed")


class DiffRow(msgspec.Struct, frozen=True):
    """One line of a diff. `number`: of the line in the new file, or of a removed one in the old; 0: none."""

    kind: Literal["file", "hunk", "same", "added", "removed", "note"]
    text: str
    number: int = 0
    before: int = 0
    """Of a line that is the same, its number in the old file."""

    @property
    def changed(self) -> bool:
        return self.kind in _CHANGED


class SideBySide(NamedTuple):
    """One row of two columns: indexes of the rows on the left and on the right. Equal: the row is on both sides."""

    left: int | None
    right: int | None


def diff_rows(diff: str) -> Iterator[DiffRow]:
    """The rows of a unified diff; an unknown line becomes a note. Only names of files are put differently."""
    old = new = 0
    old_left = new_left = 0  # lines of the hunk: what looks like a header among them is not one
    was = ""
    inside = False
    for line in diff.removesuffix("\n").split("\n"):
        sign, text = line[:1], line[1:]
        found = _HUNK.match(line)
        if found is not None and old_left <= 0 and new_left <= 0:
            old, new, inside = int(found[1]), int(found[3]), True
            old_left, new_left = (int(found[at] or 1) for at in (2, 4))
            yield DiffRow("hunk", found[5].strip(), new)
        elif line.startswith(("--- ", "+++ ")) and old_left <= 0 and new_left <= 0:
            inside, name = False, line[4:].split("\t")[0]
            if sign == "-":
                was = name.removeprefix("a/")
                continue
            path = name.removeprefix("b/")
            yield DiffRow("file", was if path == _NO_FILE else path)
            if was not in (path, _NO_FILE, "") and path != _NO_FILE:
                yield DiffRow("note", f"was {was}")
        elif inside and sign == "+":
            yield DiffRow("added", text, new)
            new, new_left = new + 1, new_left - 1
        elif inside and sign == "-":
            yield DiffRow("removed", text, old)
            old, old_left = old + 1, old_left - 1
        elif inside and sign in (" ", ""):
            yield DiffRow("same", text, new, old)
            old, new, old_left, new_left = old + 1, new + 1, old_left - 1, new_left - 1
        else:
            yield DiffRow("note", line)


def diff_counts(diff: str) -> tuple[int, int]:
    """Lines added and removed."""
    kinds = [row.kind for row in diff_rows(diff)]
    return kinds.count("added"), kinds.count("removed")


def diff_path(diff: str) -> str:
    """The path of the first file in a diff, for its language; empty: it names none."""
    return next((row.text for row in diff_rows(diff[:4_000]) if row.kind == "file"), "")


def compact_rows(diff: str) -> list[DiffRow]:
    """The rows of a diff of one file: each change with one line around it."""
    rows = [row for row in diff_rows(diff) if row.kind != "file"]
    found: list[DiffRow] = []
    last = -1
    for at, row in enumerate(rows):
        near = any(other.changed for other in rows[max(0, at - 1) : at + 2])
        if row.kind == "hunk" or not (near or row.kind == "note"):
            continue
        if found and at > last + 1:
            found.append(DiffRow("hunk", ""))
        found.append(row)
        last = at
    return found


def first_rows(rows: Sequence[DiffRow], most: int, *, split: bool) -> tuple[list[DiffRow], int]:
    """The rows of a diff that fit into `most` rows, and how many changed ones are left. What was and what replaces it
    are not parted: a cut that did would show a replacement as a removal. What would leave out a single change is shown
    whole. `split`: the rows are drawn in two columns.
    """
    kept: set[int] = set()
    rest: list[set[int]] = []
    used = 0
    for pair in side_by_side(rows):
        members = {at for at in pair if at is not None}
        used += 1 if split else len(members)
        if used <= most and not rest:
            kept |= members
        else:
            rest.append(members)
    missing = [sum(rows[at].changed for at in members) for members in rest]
    if sum(map(bool, missing)) <= 1:
        return list(rows), 0
    return [rows[at] for at in sorted(kept)], sum(missing)


def without_names(rows: Sequence[DiffRow], subject: str) -> list[DiffRow]:
    """The rows of a diff of one file, without its name where that is said already, and without its first mark."""
    files = [row.text for row in rows if row.kind == "file"]
    found = [row for row in rows if row.kind != "file"] if files == [subject] else list(rows)
    first = next((at for at, row in enumerate(found) if row.kind not in ("file", "note")), -1)
    return [row for at, row in enumerate(found) if at != first or row.kind != "hunk"]


def change_starts(rows: Sequence[DiffRow]) -> list[int]:
    """The first row of each change: of each run of removed and added rows."""
    return [at for at, row in enumerate(rows) if row.changed and not (at and rows[at - 1].changed)]


def change_at(rows: Sequence[DiffRow], at: int) -> tuple[range, range]:
    """The removed and the added rows of the change that a row belongs to; both empty if it belongs to none."""
    if not rows[at].changed:
        return range(0), range(0)
    first = at
    while rows[at].kind == "added" and first > 0 and rows[first - 1].kind == "added":
        first -= 1
    while first > 0 and rows[first - 1].kind == "removed":
        first -= 1
    middle = first
    while middle < len(rows) and rows[middle].kind == "removed":
        middle += 1
    last = middle
    while last < len(rows) and rows[last].kind == "added":
        last += 1
    return range(first, middle), range(middle, last)


def partner_in(change: tuple[range, range], at: int) -> int | None:
    """The row of a change that replaces this one, or that it replaces; `None`: none."""
    mine, others = change if at in change[0] else change[::-1]
    place = at - mine.start
    return others[place] if at in mine and place < len(others) else None


def side_by_side(rows: Sequence[DiffRow]) -> list[SideBySide]:
    """The rows in two columns: what was on the left, what is on the right."""
    found: list[SideBySide] = []
    at = 0
    while at < len(rows):
        if not rows[at].changed:
            found.append(SideBySide(at, at))
            at += 1
            continue
        removed, added = change_at(rows, at)
        for place in range(max(len(removed), len(added))):
            left = removed[place] if place < len(removed) else None
            found.append(SideBySide(left, added[place] if place < len(added) else None))
        at = added.stop
    return found


def changed_words(before: str, after: str) -> tuple[list[range], list[range]]:
    """The characters that differ between two versions of a line, in each; none where the lines are not alike."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    if len(old) > _MOST_WORDS or len(new) > _MOST_WORDS:
        spans = [_middle(old, new)]
    else:
        from difflib import SequenceMatcher  # with the first change that is drawn

        matcher = SequenceMatcher(None, old, new, autojunk=False)
        spans = [span[1:] for span in matcher.get_opcodes() if span[0] != "equal"]
    kept = sum(map(len, old)) - sum(len(word) for start, end, _, _ in spans for word in old[start:end])
    if kept < _ALIKE * max(len(before.strip()), len(after.strip()), 1):
        return [], []
    return _ranges(old, [span[:2] for span in spans]), _ranges(new, [span[2:] for span in spans])


def _middle(old: Sequence[str], new: Sequence[str]) -> tuple[int, int, int, int]:
    """The words between the beginning and the end that both have."""
    most = min(len(old), len(new))
    first = next((at for at in range(most) if old[at] != new[at]), most)
    last = next((at for at in range(most - first) if old[-1 - at] != new[-1 - at]), most - first)
    return first, len(old) - last, first, len(new) - last


def _ranges(words: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[range]:
    """Ranges of characters for spans of words; two with nothing but a blank between them are one."""
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    found: list[range] = []
    for first, last in spans:
        if first == last:
            continue
        start, end = starts[first], starts[last]
        if found and "".join(words)[found[-1].stop : start].strip() == "":
            start = found.pop().start
        found.append(range(start, end))
    return found
