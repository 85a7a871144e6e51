"""A diff drawn as lines: numbers, signs, the colours of the language, marks on the words that differ; in one column, or
in two where there is room.

The one renderer of changes: of a call in the conversation, of a question, of a tab of changes. Draws only what it is
asked for, so that a large diff costs what is seen of it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from gshtui.text.diff_rows import (
    DiffRow,
    SideBySide,
    change_at,
    change_starts,
    changed_words,
    partner_in,
    side_by_side,
)
from gshtui.text.sanitise import literal
from gshtui.ui.kit.drawing.contrast import readable
from gshtui.ui.kit.drawing.highlights import StyledRange, overlay_styles
from gshtui.ui.kit.drawing.page import Page
from gshtui.ui.kit.drawing.styled_lines import StyledLine, line_breaks, visible, wrapped

SIDE_BY_SIDE = 132
"""Cells from which a change is in two columns: a window of 140, less its frame and margins."""
SIDE_BY_SIDE_WHOLE = 106
"""Cells from which it is where each line fits into its half: nothing wraps that one column would hold."""
_BETWEEN = " │ "
_SIGNS = {"added": "+", "removed": "-", "same": " "}
_WINDOW = 120
"""Rows around a row that are coloured at once, so that a text over several lines is known as one."""
_LANGUAGES = {
    "yml": "yaml",
    "htm": "html",
    "h": "c",
    "hpp": "cpp",
    "cc": "cpp",
    "hh": "cpp",
    "mjs": "js",
    "cjs": "js",
    "pyi": "py",
    "kt": "kotlin",
    "markdown": "md",
    "jsonl": "json",
    "tcss": "css",
    "zshrc": "bash",
    "bashrc": "bash",
    "makefile": "make",
    "dockerfile": "docker",
    "cmakelists.txt": "cmake",
    "lock": "",
    "txt": "",
    "log": "",
    "csv": "",
}
"""Languages by the end of a file's name, where that is not a name of the language."""


def language_of(path: str) -> str:
    """The language of a file by its name; empty: plain text."""
    name = path.rpartition("/")[2].lower()
    if name in _LANGUAGES:
        return _LANGUAGES[name]
    stem, _, end = name.rpartition(".")
    return _LANGUAGES.get(end, end) if stem or name.startswith(".") else ""


class DiffPainter:
    """Draws rows for a page.

    Args:
        path_at: the path of the file that a row belongs to.
    """

    def __init__(self, rows: Sequence[DiffRow], page: Page, path_at: Callable[[int], str]) -> None:
        self._rows = rows
        self._page = page
        self._path_at = path_at
        self._digits = len(str(max((row.number for row in rows), default=0)))
        self._tokens: dict[int, list[tuple[str, str]]] = {}
        self._styles: dict[tuple[str, str], Style] = {}
        self._change = range(0), range(0)  # the last one looked for: the rows of one are drawn one after the other

    def lines(self, at: int, width: int, *, before: bool = False) -> list[StyledLine]:
        """A row as lines of at most `width` cells; wrapped ones align behind the signs. `before`: show the number that
        the line had.
        """
        row, palette = self._rows[at], self._page.palette
        if row.kind in ("file", "hunk", "note"):
            text = literal(row.text).expandtabs(4)
            words = f"{' ' * self._digits} ⋯ {text}".rstrip() if row.kind == "hunk" else text
            return wrapped([Segment(words, palette.strong if row.kind == "file" else palette.faint)], width)
        look = self._style(row.kind, "")
        number = row.before if before and row.before else row.number
        lead = f"{number or '':>{self._digits}} "
        runs = [Segment(text, self._style(row.kind, kind)) for kind, text in self._coloured(at)]
        if marks := self._marks(at):
            runs = overlay_styles(runs, marks)
        lines: list[StyledLine] = []
        for place, line in enumerate(wrapped(runs or [Segment("", look)], max(1, width - len(lead) - 2), hard=True)):
            sign, margin = (f"{_SIGNS[row.kind]} ", lead) if not place else ("  ", " " * len(lead))
            line = line.behind(Segment(sign, self._style(row.kind, "sign"))).behind(Segment(margin, palette.faint))
            lines.append(line.filled(width, look) if row.changed else line)
        return lines

    def height(self, at: int, width: int) -> int:
        """The number of `lines`, without drawing them."""
        row = self._rows[at]
        text = literal(row.text).expandtabs(4)
        if row.kind == "hunk":
            text = f"{' ' * self._digits} ⋯ {text}".rstrip()
        own = row.kind in _SIGNS
        room = max(1, width - self._digits - 3) if own else width
        return sum(1 for _ in line_breaks(visible(text), max(1, room), hard=own))

    def side_height(self, pair: SideBySide, width: int) -> int:
        """The number of `side_lines`, without drawing them."""
        if pair.left == pair.right and pair.left is not None and self._rows[pair.left].kind != "same":
            return self.height(pair.left, width)
        return max(self.height(at, half_of(width)) for at in pair if at is not None)

    def side_lines(self, pair: SideBySide, width: int) -> list[StyledLine]:
        """A row of two columns as lines of `width` cells."""
        if pair.left == pair.right and pair.left is not None and self._rows[pair.left].kind != "same":
            return self.lines(pair.left, width)
        half = half_of(width)
        left_at, right_at = pair
        sides = (
            self.lines(left_at, half, before=True) if left_at is not None else [],
            self.lines(right_at, half) if right_at is not None else [],
        )
        between = Segment(_BETWEEN, self._page.palette.rule)
        absent = StyledLine((Segment(" " * half, self._page.palette.code),))
        """Beside a line that only the other side has; an empty line of the file has no shade."""
        lines: list[StyledLine] = []
        for number in range(max(map(len, sides))):
            left, right = (side[number] if number < len(side) else StyledLine(()) if side else absent for side in sides)
            left = left.filled(half, self._page.palette.text)
            lines.append(StyledLine((*left.segments, between, *right.segments)))
        return lines

    def _coloured(self, at: int) -> list[tuple[str, str]]:
        """The row's tokens, kind and text."""
        if at not in self._tokens:
            self._colour(at)
        return self._tokens[at]

    def _colour(self, at: int) -> None:
        """Colour the rows around a row: what was and what is, each as one text."""
        rows, first = self._rows, at
        while first > 0 and at - first < _WINDOW and rows[first - 1].kind in _SIGNS:
            first -= 1
        last = at + 1
        while last < len(rows) and last - at < _WINDOW and rows[last].kind in _SIGNS:
            last += 1
        language = language_of(self._path_at(at))
        for hidden in ("added", "removed"):
            side = [n for n in range(first, last) if rows[n].kind != hidden]
            code = "\n".join(literal(rows[n].text).expandtabs(4) for n in side)
            lines = self._page.code.lines(code, language)
            if len(lines) == len(side):
                self._tokens.update(zip(side, lines, strict=True))
        if at not in self._tokens:  # a symbol that ends a line: one row is not one line
            self._tokens[at] = [("text", literal(rows[at].text).expandtabs(4))]

    def _marks(self, at: int) -> list[StyledRange]:
        """The words that differ from the version on the other side."""
        row, palette = self._rows[at], self._page.palette
        if not row.changed:
            return []
        if at not in self._change[0] and at not in self._change[1]:
            self._change = change_at(self._rows, at)
        other = partner_in(self._change, at)
        if other is None:
            return []
        removed, added = (at, other) if row.kind == "removed" else (other, at)
        texts = [literal(self._rows[n].text).expandtabs(4) for n in (removed, added)]
        ranges = changed_words(*texts)[row.kind == "added"]
        look = palette.added_word if row.kind == "added" else palette.removed_word
        return [(each.start, each.stop, look) for each in ranges]

    def _style(self, row: str, kind: str) -> Style:
        found = self._styles.get((row, kind))
        if found is None:
            found = self._styles[row, kind] = self._made(row, kind)
        return found

    def _made(self, row: str, kind: str) -> Style:
        palette = self._page.palette
        if row == "same":
            token = palette.tokens.get(kind, palette.muted) if kind not in ("", "sign", "text") else palette.muted
            return Style(color=token.color, bgcolor=palette.text.bgcolor, dim=token.dim, italic=token.italic)
        base = palette.added if row == "added" else palette.removed
        if kind in ("", "sign") or base.bgcolor is None:  # the terminal's own colours have no shades behind a text
            return base
        token = palette.text if kind == "text" else palette.tokens.get(kind, palette.text)
        word = palette.added_word if row == "added" else palette.removed_word
        behind = [Color.from_rich_color(each) for each in (base.bgcolor, word.bgcolor)]
        words = readable(Color.from_rich_color(token.color), behind).rich_color
        return Style(color=words, bgcolor=base.bgcolor, bold=token.bold, italic=token.italic)


class DiffBody:
    """All rows of one file's diff, laid out for a page; each drawn when it is first seen."""

    def __init__(self, rows: Sequence[DiffRow], page: Page, path: str) -> None:
        self._painter = DiffPainter(rows, page, lambda _: path)
        self._width = page.width
        self._pairs = side_by_side(rows) if is_split(rows, page) else []
        self._starts = [0]
        for at in range(len(self._pairs) or len(rows)):
            self._starts.append(self._starts[-1] + self._height(at))
        self._lines: dict[int, list[StyledLine]] = {}
        wanted = change_starts(rows)
        if self._pairs:
            firsts = [min(at for at in pair if at is not None) for pair in self._pairs]
            wanted = [bisect_left(firsts, at) for at in wanted]
        self.changes = [self._starts[at] for at in wanted]
        """The line where each change begins."""

    @property
    def height(self) -> int:
        """All lines."""
        return self._starts[-1]

    def line(self, y: int) -> StyledLine:
        """A line, from 0 at the top."""
        at = bisect_right(self._starts, y) - 1
        if at not in self._lines:
            pairs, width = self._pairs, self._width
            painter = self._painter
            self._lines[at] = painter.side_lines(pairs[at], width) if pairs else painter.lines(at, width)
        return self._lines[at][y - self._starts[at]]

    def _height(self, at: int) -> int:
        if self._pairs:
            return self._painter.side_height(self._pairs[at], self._width)
        return self._painter.height(at, self._width)


def half_of(width: int) -> int:
    """Cells of one of two columns."""
    return (width - len(_BETWEEN)) // 2


def has_two_columns(width: int, longest: int) -> bool:
    """Whether a change is in two columns where it has this many cells; `longest`: of its lines, with their numbers."""
    return width >= SIDE_BY_SIDE or (width >= SIDE_BY_SIDE_WHOLE and longest <= half_of(width))


def is_split(rows: Sequence[DiffRow], page: Page) -> bool:
    """Whether these rows are in two columns on the page; one would be empty for a file that is new or gone."""
    sides = {row.kind for row in rows if row.kind in _SIGNS}
    if not page.two_columns or page.width < SIDE_BY_SIDE_WHOLE or sides in ({"added"}, {"removed"}):
        return False
    longest = 0
    if page.width < SIDE_BY_SIDE:
        lines = (visible(literal(row.text).expandtabs(4)) for row in rows if row.kind in _SIGNS)
        longest = max(map(cell_len, lines), default=0) + _margin(rows)
    return has_two_columns(page.width, longest)


def _margin(rows: Sequence[DiffRow]) -> int:
    """Cells before the text of a line: its number, as wide as the widest, and its sign."""
    return len(str(max((row.number for row in rows), default=0))) + 3


def diff_lines(rows: Sequence[DiffRow], page: Page, path: str = "") -> list[StyledLine]:
    """Rows of one file as lines, in two columns where the page is wide enough."""
    painter = DiffPainter(rows, page, lambda _: path)
    if is_split(rows, page):
        return [line for pair in side_by_side(rows) for line in painter.side_lines(pair, page.width)]
    return [line for at in range(len(rows)) for line in painter.lines(at, page.width)]
