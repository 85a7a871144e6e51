"""The frame of every side pane: a title line to drag or double-click, a scrolling body, an empty state.

Knows nothing about the content. The base of the panes, which fill it with `show`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message

from gshtui.ui.kit.keys.bound_keys import with_keys
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.textual.pane_body import PaneBody
from gshtui.ui.kit.widgets.draggable_edges import Drag


class Pane(VerticalScroll):
    """A side pane. `number`: its key's digit; `pane`: its name in the layout; `empty`: the text of its empty state,
    with keys by their ids in braces.
    """

    BINDINGS = [
        bind("pane.zoom", "zoom"),
        bind("pane.hide", "hide"),
        bind("pane.narrower", "resize(-2, 0)"),
        bind("pane.wider", "resize(2, 0)"),
        bind("pane.shorter", "resize(0, -1)"),
        bind("pane.taller", "resize(0, 1)"),
    ]

    class Zoomed(Message):
        """Requests to fill the screen with the pane, or to stop that."""

        def __init__(self, pane: str) -> None:
            super().__init__()
            self.pane = pane

    class Hidden(Message):
        """Requests to hide the pane."""

        def __init__(self, pane: str) -> None:
            super().__init__()
            self.pane = pane

    class Resized(Message):
        """Requests to resize the pane by some columns and rows."""

        def __init__(self, pane: str, columns: int, rows: int) -> None:
            super().__init__()
            self.pane = pane
            self.columns = columns
            self.rows = rows

    def __init__(self, pane: str, title: str, number: int, empty: str) -> None:
        super().__init__(id=pane, classes="pane")
        self.pane = pane
        self._title = title
        self._number = number
        self._empty = Content(empty)
        self._shown: Content | None = Content()
        self.told = False
        """Whether it is known what there is to show: until then, it does not say that there is nothing."""
        self._body = PaneBody(Content(), classes="pane-body -empty")
        self._drag = Drag(self, pane)
        self._extra: str | None = None
        self.changed: Callable[[], None] | None = None
        """Called when what the pane has to show may have changed."""
        self.label("")

    def compose(self) -> ComposeResult:
        self._empty = Content(with_keys(self, self._empty.plain))
        if self._body.has_class("-empty"):
            self._shown = None
            self.show(None)
        yield self._body

    def show(self, content: Content | None) -> None:
        """Show this content; `None`: the empty state."""
        self.told = self.told or content is not None
        shown = content if content is not None else self._empty if self.told else Content()
        before, self._shown = self._shown, shown
        if before is not None and shown.is_same(before):
            return
        self._body.set_class(content is None, "-empty")
        self._body.put(shown, layout=before is None or not self._as_high(before, shown))

    def mark_known(self) -> None:
        """It is known now what there is to show."""
        self.told = True
        if self._body.has_class("-empty"):
            self.show(None)
        self._tell()

    def show_lines(self, lines: Sequence[Content]) -> None:
        """Show pre-wrapped lines; only changed lines are redrawn."""
        self._shown, self.told = None, True
        self._body.remove_class("-empty")
        self._body.put_lines(lines)

    def _as_high(self, one: Content, other: Content) -> bool:
        """Whether both certainly have the same height, so that no new layout is needed."""
        lines, others = one.plain.split("\n"), other.plain.split("\n")
        wide = max(map(cell_len, (*lines, *others)))
        return len(lines) == len(others) and wide <= self._body.size.width

    def label(self, extra: str) -> None:
        """The text beside the name in the title line."""
        if extra == self._extra:
            return
        self._extra = extra
        words = f" {self._number} {self._title} "
        self.border_title = Content(f"{words}· {extra} " if extra else words)

    def summary(self, width: int) -> Content:
        """The pane in a few words, of at most about `width` cells, for where it is not on the screen itself.

        Empty: it has nothing to tell.
        """
        return Content()

    def _summed(self, words: Content) -> Content:
        name = Content.assemble((f"{self._number} ", "$primary"), (self._title.lower(), "$foreground-muted"))
        return Content.assemble(name, " ", words)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show, so that it has no place until it is opened."""
        return False

    def _tell(self) -> None:
        if self.changed is not None and self.is_mounted:
            self.changed()

    @property
    def columns(self) -> int:
        """Width of the body in cells, the same with and without a scrollbar; a guess before the first layout."""
        return self.scrollable_content_region.width or 30

    @property
    def rows(self) -> int:
        """Height of the body in cells; a guess before the first layout."""
        return self.scrollable_content_region.height or 8

    def action_zoom(self) -> None:
        self.post_message(self.Zoomed(self.pane))

    def action_hide(self) -> None:
        self.post_message(self.Hidden(self.pane))

    def action_resize(self, columns: int, rows: int) -> None:
        self.post_message(self.Resized(self.pane, columns, rows))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.y == 0:
            self._drag.press(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._drag.move(event)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._drag.release(event)

    def on_click(self, event: events.Click) -> None:
        if event.y == 0 and event.chain == 2:
            self.action_zoom()
