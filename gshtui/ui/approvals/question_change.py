"""The change that a question is about, drawn as everywhere; loaded with the first question that has one."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace
from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from gshtui.text.diff_rows import DiffRow, diff_rows, without_names
from gshtui.text.program_words import change_wish
from gshtui.ui.kit.drawing.diff_lines import DiffBody
from gshtui.ui.kit.drawing.highlighter import Highlighter
from gshtui.ui.kit.drawing.language_loader import LanguageLoader
from gshtui.ui.kit.drawing.page import Page, ThemePalette, wants_columns


class QuestionChange:
    """See the module.

    Args:
        widget: what it is drawn in.
        redraw: called when it looks different now.
    """

    def __init__(self, widget: Widget, redraw: Callable[[], object]) -> None:
        self._redraw = redraw
        self._theme = ThemePalette(widget)
        self._widget = widget
        self._page = Page(80, self._theme.palette, Highlighter())
        self._languages = LanguageLoader(widget, self._page.code, self._renew)
        self._whole: list[DiffRow] = []
        self._rows: list[DiffRow] = []
        self._path = ""
        self._titled = ""
        self._body = DiffBody((), self._page, "")

    def show(self, diff: str, subject: str) -> None:
        """Take another change; the question names its subject already."""
        self._whole = list(diff_rows(diff)) if diff else []
        wish, file = change_wish(subject, diff), next((row.text for row in self._whole if row.kind == "file"), "")
        self._path, self._titled = subject, file if wish.endswith(f" {file}") else subject
        self._rows = without_names(self._whole, subject)
        self._renew()

    def fit(self, width: int, around: int | None = None, *, named: bool = False) -> None:
        """Lay it out for the width.

        Args:
            around: the most lines without a change before the first and behind the last one; `None`: all.
            named: the title says whole what is wanted, so the file's name needs no row.
        """
        whole = without_names(self._whole, self._titled if named else self._path)
        self._rows = whole if around is None else _less_around(whole, around)
        self._theme.renew()
        two = wants_columns(self._widget)
        self._page = Page(width, self._theme.palette, self._page.code, two_columns=two)
        self._renew()

    def restyle(self) -> None:
        """Take the colours of the theme, if they are other ones now."""
        if self._theme.renew():
            self._page = replace(self._page, palette=self._theme.palette)
            self._renew()

    @property
    def height(self) -> int:
        """Its lines."""
        return self._body.height

    @property
    def changes(self) -> list[int]:
        """The line where each run of changed lines begins."""
        return self._body.changes

    def strip(self, y: int, width: int) -> Strip:
        """A line, from 0 at the top."""
        line = self._body.line(y)
        self._languages.load_wanted()
        fill = self._page.palette.text
        return Strip(line.segments or (Segment("", fill),)).adjust_cell_length(width, fill)

    def _renew(self) -> None:
        """Draw it again: other rows, another width, other colours or one more language."""
        self._body = DiffBody(self._rows, self._page, self._titled)
        self._redraw()


def _less_around(rows: list[DiffRow], around: int) -> list[DiffRow]:
    changed = [at for at, row in enumerate(rows) if row.changed]
    if not changed:
        return rows
    first, last = max(0, changed[0] - around), changed[-1] + around
    return [row for at, row in enumerate(rows) if first <= at <= last or row.kind != "same"]
