"""The document of a changes tab: files, hunks and lines.

Pure; refuses to draw.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from gshtui.text.diff_rows import DiffRow

if TYPE_CHECKING:
    from gshtui.tools.git.worktree_changes import WorktreeChanges

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)")
_SIGNS = {"added": "+", "removed": "-", "same": " "}
MOST_ROWS = 200_000


class ChangedFile(msgspec.Struct, frozen=True):
    """One file. `row`: its first row in the document."""

    path: str
    status: str = "changed"
    added: int = 0
    removed: int = 0
    row: int = 0
    before: str = ""
    mode: str = ""


class DiffDocument(msgspec.Struct, frozen=True):
    """All changes as one list of rows."""

    title: str = ""
    path: str = ""
    branch: str = ""
    base: str = ""
    added: int = 0
    removed: int = 0
    cut: bool = False
    files: tuple[ChangedFile, ...] = ()
    rows: tuple[DiffRow, ...] = ()
    hunks: tuple[int, ...] = ()
    """The first row of each change, in order."""
    marks: tuple[str, ...] = ()
    """The mark of each change's text (`tools/git/hunks.py`); empty: it has no lines."""
    digits: int = 1
    longest: int = 0
    """Characters in the longest line of a file: a long name makes nothing scroll sideways."""

    def file_at(self, row: int) -> int:
        """Index of a row's file; -1: none."""
        return bisect_right([file.row for file in self.files], row) - 1

    def hunk_at(self, row: int) -> int:
        """Index of a row's change, or of the next one; -1: none."""
        at = bisect_right(self.hunks, row) - 1
        if 0 <= at < len(self.hunks) - 1 and row >= self.end_of(at):
            return at + 1
        return max(0, at) if self.hunks else -1

    def number_of(self, hunk: int) -> int:
        """Which change of its file it is, counted from 1."""
        file = self.file_at(self.hunks[hunk])
        return 1 + hunk - next(at for at, row in enumerate(self.hunks) if self.file_at(row) == file)

    def end_of(self, hunk: int) -> int:
        """The row after a change."""
        start = self.hunks[hunk]
        after = self.hunks[hunk + 1] if hunk + 1 < len(self.hunks) else len(self.rows)
        # A line is left free above each further file.
        return min([after, *(file.row - 1 for file in self.files if start < file.row)])

    def text_of(self, start: int, end: int) -> str:
        """Rows as patch text."""
        return "\n".join(_patch_line(row) for row in self.rows[start:end])


def _patch_line(row: DiffRow) -> str:
    if row.kind == "hunk":
        return f"@@ {row.text}".rstrip()
    return _SIGNS.get(row.kind, "") + row.text


def make_document(changes: WorktreeChanges) -> DiffDocument:
    """The document of a worktree's changes."""
    from gshtui.tools.git.hunks import hunks_of, without_lines  # loaded with the command that fetched them

    files: list[ChangedFile] = []
    rows: list[DiffRow] = []
    hunks: list[int] = []
    marks: list[str] = []
    for patch in changes.files:
        one = patch.shown()
        if rows:
            rows.append(DiffRow("note", ""))
        file = ChangedFile(one.path, one.status, one.added, one.removed, len(rows), one.before, one.mode)
        files.append(file)
        rows.append(DiffRow("file", described(file)))
        parts = hunks_of(patch)
        marks += [hunk.mark for hunk in parts]
        if parts[0].whole:
            hunks.append(len(rows))
            rows.append(DiffRow("note", without_lines(patch)))
        for row in _rows(one.lines):
            if row.kind == "hunk":
                hunks.append(len(rows))
                if row.number <= 1 and not row.text:
                    continue  # it begins with the file: nothing is left out above it
            rows.append(row)
        if len(rows) > MOST_ROWS:
            rows[MOST_ROWS:] = [DiffRow("note", "Too many changes to show. A patch file holds them all.")]
            hunks = [row for row in hunks if row < MOST_ROWS]
            break
    tree = changes.tree
    return DiffDocument(
        title=tree.branch or tree.shown.rpartition("/")[2],
        path=tree.shown,
        branch=tree.branch,
        base=changes.base,
        added=changes.added,
        removed=changes.removed,
        cut=changes.cut,
        files=tuple(files),
        rows=tuple(rows),
        hunks=tuple(hunks),
        marks=tuple(marks[: len(hunks)]),
        digits=len(str(max((row.number for row in rows), default=0))),
        longest=max((len(row.text.expandtabs(4)) for row in rows if row.kind not in ("file", "note")), default=0),
    )


def described(file: ChangedFile) -> str:
    """One line about a file."""
    what = {"added": "  new", "deleted": "  deleted", "renamed": f"  was {file.before}"}.get(file.status, "")
    mode = f"  mode {file.mode}" if file.mode else ""
    return f"{file.path}  +{file.added} −{file.removed}{what}{mode}"


def _rows(lines: Sequence[str]) -> list[DiffRow]:
    rows: list[DiffRow] = []
    old = new = 0
    for line in lines:
        sign, words = line[:1], line[1:]
        if (found := _HUNK.match(line)) is not None:
            old, new = int(found.group(1)), int(found.group(2))
            rows.append(DiffRow("hunk", found.group(3).strip(), new))
        elif sign == "+":
            rows.append(DiffRow("added", words, new))
            new += 1
        elif sign == "-":
            rows.append(DiffRow("removed", words, old))
            old += 1
        elif sign == "\\":
            rows.append(DiffRow("note", words.strip()))
        else:
            rows.append(DiffRow("same", words, new, old))
            old, new = old + 1, new + 1
    return rows
