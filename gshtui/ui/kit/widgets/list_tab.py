"""A tab with a list of rows, and all about the row under the cursor: beside it where there is room, else below it.

Owns the cursor and the layout; what is listed, and what is said of a row, is the subclass's.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from gshtui.system.tasks import report_unexpected
from gshtui.ui.kit.widgets.list_rows import ListRow, list_lines
from gshtui.ui.kit.widgets.tabs import TabPane

Row = TypeVar("Row")
_WIDE = 100
"""From this width in columns, the rows are beside what is said of them."""
_LIST = 44


class ListTab(TabPane, Generic[Row]):
    """See the module.

    Args:
        empty: what is said while there is no row.
    """

    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, empty: str) -> None:
        super().__init__(classes="list-tab")
        self.rows: Sequence[Row] = ()
        self._empty = empty
        self._title = Static("", markup=False, classes="tab-title")
        self.listed = self.front = OptionList(markup=False, compact=True, classes="list-rows")
        self._text = Static("", markup=False)
        self.details = VerticalScroll(self._text, classes="list-details")
        self._shown: tuple[str, Content] = ("", Content())

    @abstractmethod
    async def load(self) -> Sequence[Row] | None:
        """The rows as they are now; `None`: they cannot be read, and those that are shown stay."""

    @abstractmethod
    def name_of(self, row: Row) -> str:
        """What tells a row from all others."""

    @abstractmethod
    def row_of(self, row: Row) -> ListRow:
        """A row of the list."""

    @abstractmethod
    def details_of(self, row: Row) -> Content:
        """All about a row."""

    @abstractmethod
    def heading(self) -> Content:
        """The line above."""

    @property
    def chosen(self) -> Row | None:
        """The row under the cursor; `None`: there is none."""
        at = self.listed.highlighted
        return self.rows[at] if at is not None and at < len(self.rows) else None

    def compose(self) -> ComposeResult:
        yield self._title
        with Vertical(classes="list-body"):
            yield self.listed
            yield self.details

    def on_mount(self) -> None:
        self.reload()

    def on_resize(self, _event: events.Resize) -> None:
        wide = self.size.width >= _WIDE
        self.set_class(wide, "-wide")
        self.listed.styles.width = _LIST if wide else "1fr"
        for at, line in enumerate(self.lines()):
            self.listed.replace_option_prompt_at_index(at, line)
        self.draw()

    def reload(self) -> None:
        """Read the rows again, and show them."""
        self.run_worker(self._load, exit_on_error=False, exclusive=True, group="list")

    async def _load(self) -> None:
        try:
            found = await self.load()
        except Exception as error:  # whatever it is, show it and keep the tab
            report_unexpected("the rows of a tab", error)
            self._title.update(Content.styled(f"Can't show this: {error}", "$error"))
            return
        if found is not None:
            self.put_rows(found)

    def put_rows(self, rows: Sequence[Row]) -> None:
        """Show these rows; the cursor stays on its row."""
        before = self.chosen
        kept = self.name_of(before) if before is not None else ""
        self.rows = rows
        lines = self.lines()
        with self.listed.prevent(OptionList.OptionHighlighted):
            if len(lines) == self.listed.option_count:
                for at, line in enumerate(lines):
                    self.listed.replace_option_prompt_at_index(at, line)
            else:
                self.listed.clear_options()
                self.listed.add_options([Option(line) for line in lines])
            names = [self.name_of(row) for row in rows]
            self.listed.highlighted = names.index(kept) if kept in names else self.first_row() if rows else None
        self.draw()

    def lines(self) -> list[Content]:
        """The rows, as they are drawn."""
        return list_lines([self.row_of(row) for row in self.rows], self.room)

    def first_row(self) -> int:
        """The row where the cursor begins."""
        return 0

    @property
    def room(self) -> int:
        """Cells of a row."""
        return max(16, (_LIST if self.has_class("-wide") else self.size.width or 80) - 3)

    def draw(self) -> None:
        """Show the line above, and what there is to say of the row under the cursor."""
        if not self.is_attached:
            return
        self._title.update(self.heading())
        row = self.chosen
        name = "" if row is None else self.name_of(row)
        said = Content.styled(self._empty, "$foreground-muted") if row is None else self.details_of(row)
        if (name, said) == self._shown:
            return
        follows = name == self._shown[0] and self.details.max_scroll_y > 0 and self.details.is_vertical_scroll_end
        moved = name != self._shown[0]
        self._shown = (name, said)
        self._text.update(said)
        if moved:
            self.details.scroll_home(animate=False)
        elif follows:
            self.details.scroll_end(animate=False)

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self.draw()

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_details()

    def action_details(self) -> None:
        """Go to what is said of the row, to scroll it, or back to the rows."""
        (self.listed if self.details.has_focus else self.details).focus()
