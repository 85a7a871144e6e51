"""Comments on lines of a worktree's changes: where they are in a document, the message they make, and their file.

A comment belongs to the text of its lines, so it stays with them when the changes are loaded again; one whose lines
are gone is kept and sent with what it was about. Each change of the file reads it first under a lock, so that two
windows on one worktree lose none.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec

from gshtui.settings.paths import state_dir
from gshtui.system.files import private_files
from gshtui.system.files.file_lock import blocking_lock
from gshtui.system.files.private_files import open_reader
from gshtui.system.struct_types import learned
from gshtui.text.diff_rows import DiffRow

if TYPE_CHECKING:
    from gshtui.ui.changes.diff_document import DiffDocument

_SIGNS = {"added": "+", "removed": "-", "same": " "}
_LARGEST = 4 << 20


class LineComment(msgspec.Struct, frozen=True):
    """What a person says about lines of a file."""

    path: str
    rows: tuple[DiffRow, ...]
    text: str

    @property
    def place(self) -> str:
        """`src/lexer.py:4-5`; lines that are gone are counted as they were in the base."""
        now = [row.number for row in self.rows if row.kind != "removed"]
        first, last = (now[0], now[-1]) if now else (self.rows[0].number, self.rows[-1].number)
        return f"{self.path}:{first}{f'-{last}' if last != first else ''}{'' if now else ' (removed)'}"


def commented_rows(document: DiffDocument, first: int, last: int) -> tuple[str, tuple[DiffRow, ...]]:
    """The lines in a range of a document's rows that can be commented on, and their file: the first row's.

    Returns:
        The path and the rows; no rows: there is no line of a file.
    """
    file = document.file_at(first)
    rows = [
        document.rows[at]
        for at in range(first, min(last + 1, len(document.rows)))
        if document.rows[at].kind in _SIGNS and document.file_at(at) == file
    ]
    return (document.files[file].path if file >= 0 else "", tuple(rows))


def rows_of(document: DiffDocument, comment: LineComment) -> list[int]:
    """Where a comment's lines are in a document, nearest to where they were; empty: they are gone."""
    file = next((at for at, one in enumerate(document.files) if one.path == comment.path), -1)
    if file < 0 or not comment.rows:
        return []
    start = document.files[file].row
    end = document.files[file + 1].row if file + 1 < len(document.files) else len(document.rows)
    first = comment.rows[0]
    alike = [at for at in range(start, end) if _same(document.rows[at], first)]
    for at in sorted(alike, key=lambda at: abs(document.rows[at].number - first.number)):
        found = [at]
        for wanted in comment.rows[1:]:
            later = next((n for n in range(found[-1] + 1, end) if _same(document.rows[n], wanted)), None)
            if later is None:
                break
            found.append(later)
        if len(found) == len(comment.rows) and found[-1] - at < 4 * len(found) + 8:
            return found
    return []


def _same(row: DiffRow, other: DiffRow) -> bool:
    return row.kind == other.kind and row.text == other.text


def message(comments: Sequence[LineComment], document: DiffDocument) -> str:
    """All comments as one prompt, in the order of the files."""
    order = {file.path: at for at, file in enumerate(document.files)}
    sorted_ones = sorted(comments, key=lambda one: (order.get(one.path, len(order)), one.path, one.rows[0].number))
    where = f" on {document.branch}" if document.branch else ""
    parts = [f"Comments on your changes{where}, line by line:"]
    for number, one in enumerate(sorted_ones, 1):
        gone = "" if rows_of(document, one) else ", which has changed since the comment was written"
        quoted = "\n".join(_SIGNS[row.kind] + row.text for row in one.rows)
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", quoted)), default=0))
        parts.append(f"{number}. {one.place}{gone}\n\n{fence}diff\n{quoted}\n{fence}\n\n{one.text}")
    return "\n\n".join(parts)


class CommentFile:
    """The comments on one worktree that have not been sent yet. Each method raises `OSError`."""

    def __init__(self, worktree: str, folder: Path | None = None) -> None:
        self._worktree = worktree
        self._folder = folder

    def read(self) -> tuple[LineComment, ...]:
        """What is stored; a broken file is set aside and counts as none."""
        path = self._path()
        try:
            with open_reader(private_files.open_existing(path)) as file:
                raw = file.read(_LARGEST)
        except FileNotFoundError:
            return ()
        try:
            found = msgspec.convert(json.loads(raw), learned(tuple[LineComment, ...]))
            return tuple(one for one in found if one.rows and all(row.kind in _SIGNS for row in one.rows))
        except (ValueError, RecursionError, msgspec.ValidationError):
            path.replace(path.with_suffix(".corrupt"))
            return ()

    def change(self, how: Callable[[tuple[LineComment, ...]], Sequence[LineComment]]) -> tuple[LineComment, ...]:
        """Change what is stored, and return it."""
        path = self._path()
        private_files.make_folder(path.parent)
        with blocking_lock(path.with_suffix(".lock")):
            kept = tuple(how(self.read()))
            if kept:
                data = cast("object", msgspec.to_builtins(kept))
                private_files.write_whole(path, json.dumps(data).encode(), sync=True)
            else:
                path.unlink(missing_ok=True)
        return kept

    def _path(self) -> Path:
        import hashlib  # OpenSSL takes a while to load, and this runs in a thread

        key = hashlib.sha256(os.fsencode(self._worktree)).hexdigest()[:16]
        return (self._folder or state_dir() / "comments") / f"{key}.json"
