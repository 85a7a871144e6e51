"""Which line of a changes tab shows which row of its document: in one column or two, with comments between the rows.

Pure. One column without comments, which nearly every tab is, costs nothing a row. Draws nothing: a comment's lines are
given.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gshtui.text.diff_rows import DiffRow, SideBySide, side_by_side
from gshtui.ui.kit.drawing.styled_lines import StyledLine


class ShownComment(NamedTuple):
    """A comment as it is shown: its number, the row of the document that it stands below, and its lines."""

    number: int
    row: int
    lines: Sequence[StyledLine]


class _CommentLine(NamedTuple):
    comment: int
    line: StyledLine


class DiffLayout:
    """Lines, counted from 0, and the document's rows that they show."""

    def __init__(
        self, rows: Sequence[DiffRow] = (), comments: Sequence[ShownComment] = (), *, columns: bool = False
    ) -> None:
        self.split = columns
        """Whether what was and what is are side by side."""
        self._rows = len(rows)
        self._shown: list[SideBySide | _CommentLine] = []
        """Empty: each line is the row of its number."""
        self._starts: list[int] = []
        """The document's row where each line begins; of a comment's, the row above it."""
        if columns or comments:
            pairs = side_by_side(rows) if columns else [SideBySide(at, at) for at in range(len(rows))]
            below: dict[int, list[ShownComment]] = {}
            for comment in comments:
                below.setdefault(comment.row, []).append(comment)
            self._place(pairs, below)

    def _place(self, pairs: Sequence[SideBySide], below: Mapping[int, Sequence[ShownComment]]) -> None:
        for pair in pairs:
            start = next(at for at in pair if at is not None)
            self._shown.append(pair)
            self._starts.append(start)
            here = [one for at in sorted({at for at in pair if at is not None}) for one in below.get(at, ())]
            lines = [_CommentLine(one.number, line) for one in here for line in one.lines]
            self._shown += lines
            self._starts += [start] * len(lines)

    @property
    def count(self) -> int:
        """All lines."""
        return len(self._shown) or self._rows

    def row_at(self, y: int) -> int:
        """The row where a line begins; a comment's line counts as the row above it."""
        return self._starts[max(0, min(y, len(self._starts) - 1))] if self._shown else y

    def y_of(self, row: int) -> int:
        """The line of a row."""
        return bisect_left(self._starts, row) if self._shown else row

    def sides(self, y: int) -> SideBySide:
        """The rows that a line shows, on the left and on the right: none on a comment's."""
        if not self._shown:
            return SideBySide(y, y)
        shown = self._shown[y]
        return SideBySide(None, None) if isinstance(shown, _CommentLine) else shown

    def comment_at(self, y: int) -> int | None:
        """The number of the comment that a line is of; `None`: it is a row's."""
        shown = self._shown[y] if 0 <= y < len(self._shown) else None
        return shown.comment if isinstance(shown, _CommentLine) else None

    def comment_line(self, y: int) -> StyledLine | None:
        """A comment's line, drawn; `None`: it is a row's."""
        shown = self._shown[y] if self._shown else None
        return shown.line if isinstance(shown, _CommentLine) else None

    def rows_between(self, first: int, last: int) -> list[int]:
        """The rows that these lines show, in order; of a single line that was changed, what is there now."""
        rows = [at for y in range(first, last + 1) for at in self.sides(y) if at is not None]
        return rows[-1:] if first == last else sorted(set(rows))
