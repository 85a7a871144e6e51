"""A terminal in a tab: mirrored while it is on the screen, typed into, read, and used with the mouse.

Decides what keys do, and holds the parts: the picture, its reader and painter, the connection, the mouse. Does not
know whose terminal it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Offset, Region
from textual.reactive import reactive
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from gshtui.ui.kit.drawing.highlights import StyledRange, overlay_styles, selected_span
from gshtui.ui.kit.drawing.page import ThemePalette
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.textual.kept_lines import KeptLines
from gshtui.ui.kit.textual.typed_app import app_of, copy_text
from gshtui.ui.terminal.terminal_connection import TerminalChanged, TerminalConnection
from gshtui.ui.terminal.terminal_input import MouseKind
from gshtui.ui.terminal.terminal_picture import TerminalPicture
from gshtui.ui.terminal.terminal_reader import ScrollbackReader
from gshtui.ui.terminal.terminal_rows import RowParser
from gshtui.ui.terminal.terminals import Terminal

if TYPE_CHECKING:
    from gshtui.tmux.panes import PaneInfo


_WHEEL = 3
"""Rows per turn of the wheel."""


class TerminalMouse:
    """Sends mouse events to the program, or uses them for reading.

    Args:
        typing: whether every key goes to the program.
    """

    def __init__(
        self,
        widget: Widget,
        picture: TerminalPicture,
        reader: ScrollbackReader,
        connection: TerminalConnection,
        typing: Callable[[], bool],
    ) -> None:
        self._widget = widget
        self._picture = picture
        self._reader = reader
        self._connection = connection
        self._typing = typing

    @property
    def captured(self) -> bool:
        """Send a mouse event to the program."""
        info = self._picture.info
        return self._typing() and info is not None and info.mouse and not info.dead

    def press(self, event: events.MouseDown) -> None:
        """A button was pressed."""
        if self.captured:
            self._widget.capture_mouse()
            self._send("down", event)
        elif event.button == 1 and self._picture.frame is not None:
            self._reader.hold()  # what is selected must not run away

    def release(self, event: events.MouseUp) -> None:
        """A button was released."""
        self._widget.release_mouse()
        if self.captured:
            self._send("up", event)
        else:
            self._widget.call_after_refresh(self._reader.go_on_if_read)

    def move(self, event: events.MouseMove) -> None:
        """The mouse moved."""
        if self.captured:
            self._send("move", event)

    def turn(self, event: events.MouseEvent, direction: int) -> None:
        """The wheel turned. A full-screen program has no scrollback: it gets the wheel, or arrow keys."""
        info = self._picture.info
        reads = info is None or info.dead or self._picture.past is not None or not (info.alternate or self.captured)
        if info is None or reads:
            self._reader.scroll(_WHEEL * direction)
        elif info.mouse:
            self._send("wheel_up" if direction < 0 else "wheel_down", event)
        else:
            self._connection.press_arrow("Up" if direction < 0 else "Down", _WHEEL)
        event.stop()
        event.prevent_default()

    def _send(self, kind: MouseKind, event: events.MouseEvent) -> None:
        self._connection.mouse(kind, event)
        event.stop()
        event.prevent_default()


class TerminalView(KeptLines):
    """See the module."""

    can_focus = True
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("terminal.leave", "leave"),
        bind("terminal.type", "type"),
        bind("terminal.copy", "copy"),
        bind("terminal.next", "found(1)"),
        bind("terminal.previous", "found(-1)"),
        bind("terminal.up", "rows(-1)"),
        bind("terminal.down", "rows(1)"),
        bind("terminal.page_up", "pages(-1)"),
        bind("terminal.page_down", "pages(1)"),
        bind("terminal.home", "home"),
        bind("terminal.end", "end"),
        bind("terminal.back", "back"),
    ]

    typing: reactive[bool] = reactive(False)
    """Whether every key goes to the program."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self.picture = TerminalPicture()
        self.connection = TerminalConnection(terminal, self, self.picture, self.action_leave)
        self.reader = ScrollbackReader(self, self.picture, self.connection)
        self._painter = TerminalPainter(self, self.picture, self.reader, lambda: self.typing)
        self._mouse = TerminalMouse(self, self.picture, self.reader, self.connection, lambda: self.typing)

    @property
    def takes_every_key(self) -> bool:
        """While this has the focus, the window handles no keys."""
        return self.typing

    # The connection

    def connect(self, terminal: Terminal) -> None:
        """Switch to another terminal: the agent was restarted."""
        self.connection.connect(terminal)
        self.typing = False
        self.reader.let_go()
        self.picture.forget()
        self.on_resize()

    def on_resize(self) -> None:
        self.picture.height = self.size.height
        self.reader.draw_all()
        self.connection.fit()

    def on_show(self) -> None:
        self.connection.show(True)

    def on_hide(self) -> None:
        self.connection.show(False)

    async def on_unmount(self) -> None:
        await self.connection.close()

    # Typing

    def action_type(self) -> None:
        """From now on every key goes to the program."""
        if not self.picture.runs:
            self.notify("This terminal has ended.", timeout=4, markup=False)
            return
        self.reader.let_go()
        self.typing = True

    def action_leave(self) -> None:
        self.typing = False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if self.typing or action == "leave":
            return self.typing and action == "leave"
        if action == "type":
            return self.picture.runs
        if action == "found":
            return self.reader.search is not None
        return self.picture.past is not None if action == "back" else super().check_action(action, parameters)

    def watch_typing(self) -> None:
        self.set_class(self.typing, "-typing")
        self.refresh_bindings()
        self.on_focus()

    def on_blur(self) -> None:
        # Resume typing when the window comes back from the background.
        if app_of(self).app_focus:
            self.typing = False
        self.on_focus()

    def on_focus(self) -> None:
        self.refresh()
        self.post_message(TerminalChanged())

    def take_key(self, key: events.Key) -> bool:
        """Send a letter to the program; no letter does anything else while its keys go there."""
        return self.typing and self.connection.type(key)

    async def on_key(self, event: events.Key) -> None:
        if self.typing:
            event.stop()
            event.prevent_default()
            self.connection.press(event)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        if self.typing:
            self.connection.paste(event.text)
        else:
            self.notify("Press enter first, then paste into the terminal.", timeout=4, markup=False)

    # Reading

    def action_rows(self, rows: int) -> None:
        self.reader.scroll(rows)

    def action_pages(self, pages: int) -> None:
        self.reader.scroll(pages * max(1, self.size.height - 2))

    def action_home(self) -> None:
        self.reader.scroll(-self.picture.total)

    def action_end(self) -> None:
        """Show the live screen."""
        self.reader.let_go()

    def action_back(self) -> None:
        self.reader.let_go()

    def action_found(self, step: int) -> None:
        self.reader.find_more(step)

    def action_copy(self) -> None:
        """Copy the selection, or else the visible text."""
        text = self.screen.get_selected_text() or self.seen()
        if text.strip():
            copy_text(self, text)

    def seen(self) -> str:
        """The text on the screen."""
        return self._painter.seen()

    # Mouse

    @property
    def allow_select(self) -> bool:
        return not self._mouse.captured

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._mouse.press(event)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._mouse.release(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._mouse.move(event)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._mouse.turn(event, -1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._mouse.turn(event, 1)

    # Selecting

    def selection_updated(self, selection: Selection | None) -> None:
        if selection is not None:
            self.reader.hold()
        self.refresh()
        if selection is None:
            self.reader.go_on_if_read()

    def text_select_all(self) -> None:
        """Select the row under the mouse, on a double click."""
        y = app_of(self).mouse_position.y - self.region.y
        line = self.picture.line(y)
        if line is not None and line.strip():
            number = self.selection_row(y)
            end = len(self._painter.words(line).rstrip())
            self.screen.selections = {self: Selection(Offset(0, number), Offset(end, number))}

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return self._painter.selected(selection), "\n"

    def selection_row(self, y: int) -> int:
        return self.picture.number(y)

    # Drawing

    @property
    def top(self) -> int:
        return self.picture.top

    def scroll_rows(self, rows: int) -> None:
        self.reader.scroll(rows)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        self._painter.restyle()
        return super().render_lines(crop)

    def row_strip(self, y: int) -> Strip:
        return self._painter.strip(y)


class TerminalPainter:
    """Draws the rows of a picture.

    Args:
        widget: the widget drawn: it knows the selection, and whether it has the focus.
        typing: whether every key goes to the program.
    """

    def __init__(
        self, widget: Widget, picture: TerminalPicture, reader: ScrollbackReader, typing: Callable[[], bool]
    ) -> None:
        self._widget = widget
        self._picture = picture
        self._reader = reader
        self._typing = typing
        self._width = 0
        self._theme = ThemePalette(widget)
        self._rows = RowParser(self._theme.palette.programs)

    def restyle(self) -> None:
        """Adopt the widget's width, and its theme and background colours if they changed."""
        widget = self._widget
        self._width = widget.size.width
        if self._theme.renew():
            self._rows = RowParser(self._theme.palette.programs)

    def words(self, line: str) -> str:
        """The text of a line as drawn."""
        return self._rows.row(line).text

    def seen(self) -> str:
        """The text on the screen."""
        lines = [self._picture.line(y) for y in range(self._picture.height)]
        return "\n".join([self.words(line or "").rstrip() for line in lines]).rstrip("\n")

    def selected(self, selection: Selection) -> str:
        """The selected text."""
        first = selection.start.y if selection.start is not None else None
        last = selection.end.y if selection.end is not None else None
        words: list[str] = []
        for number, line in self._picture.numbered(first, last):
            text = self.words(line)
            span = selected_span(selection, number, len(text))
            words.append(text[slice(*span)].rstrip() if span else "")
        return "\n".join(words)

    def strip(self, y: int) -> Strip:
        """A row of the tab."""
        line, width, palette = self._picture.line(y), self._width, self._theme.palette
        if line is None:
            sign = Segment("⋯" if self._picture.missing(y) else " ", palette.faint)
            return Strip([sign], 1).adjust_cell_length(width, palette.text)
        row = self._rows.row(line)
        ranges = self._ranges(row.text, y)
        segments = overlay_styles(row.segments, ranges) if ranges else list(row.segments)
        strip = Strip(segments, row.cells).adjust_cell_length(width, palette.text)
        info = self._picture.info
        return self._with_cursor(strip, info) if info is not None and self._picture.cursor(y) else strip

    def _ranges(self, text: str, y: int) -> list[StyledRange]:
        """Styles over parts of a row, in order: the selection, or else the matches."""
        selection = self._widget.text_selection
        if selection is not None:
            span = selected_span(selection, self._picture.number(y), len(text))
            if span is not None:
                return [(*span, self._theme.palette.selection)]
        return self._reader.ranges(text, y, self._theme.palette)

    def _with_cursor(self, strip: Strip, info: PaneInfo) -> Strip:
        typing = self._typing()
        if not (typing or self._widget.has_focus):
            return strip
        style = Style(reverse=True) if typing else Style(underline=True)
        if not info.cursor_visible or info.dead or not 0 <= info.cursor_x < self._width:
            return strip
        before, under = strip.crop(0, info.cursor_x), strip.crop(info.cursor_x, info.cursor_x + 1)
        if not under.text.strip(" ") and strip.cell_length > info.cursor_x + 1:
            # The right half of a wide character belongs to its left half.
            under = Strip([Segment(" ", self._theme.palette.text)], 1)
        marked = Strip([Segment(text, look + style if look else style) for text, look, _ in under], under.cell_length)
        return Strip.join([before, marked, strip.crop(info.cursor_x + 1, self._width)])
