"""A terminal behind a window under test: what the window writes lands in cells, and its size changes under the window.

`watched(app)` gives an app such a terminal before `run_test`. As a real one, it takes a new size at once, loses what is
outside, and tells the window about it; what the window still writes for the old size falls where a terminal puts it.
"""

import re
from typing import Any

from rich.cells import cell_len
from textual import events
from textual._compositor import Compositor
from textual.app import App
from textual.drivers.headless_driver import HeadlessDriver
from textual.geometry import Size
from textual.pilot import Pilot
from textual.widget import Widget

_PART = re.compile(
    r"\x1b\[(\d+);(\d+)H|\x1b\[([\d;]*)m|\x1b\][^\x1b\x07]*(?:\x1b\\|\x07)|\x1b\[[?>]?[\d;]*[$ ]?[a-zA-Z]|(\n)"
    r"|([^\x1b\n]+)|\x1b([78])"
)
Cell = tuple[str, str]
"""A character (empty: the right half of the one before) and its colours, as they were written."""
_ROUNDS = 2_000
"""Times that a window is looked at until it should have come to rest."""
BLANK: Cell = (" ", "")


class ScreenCells:
    """The cells of a terminal of some size, without autowrap, as the window sets it."""

    def __init__(self, width: int, height: int) -> None:
        self.rows: list[list[Cell]] = [[BLANK] * width for _ in range(height)]
        self.width, self.height = width, height
        self._row = self._column = 0
        self._look = ""
        self._saved = 0, 0, ""

    def resize(self, width: int, height: int) -> None:
        """Take another size: what is outside is lost, what comes in is blank."""
        self.rows = [(row + [BLANK] * width)[:width] for row in self.rows[:height]]
        self.rows += [[BLANK] * width for _ in range(height - len(self.rows))]
        self.width, self.height = width, height

    def write(self, data: str) -> None:
        """Take what a program writes; anything that is not understood is an error."""
        at = 0
        while at < len(data):
            part = _PART.match(data, at)
            assert part is not None, f"not understood: {data[at : at + 40]!r}"
            at = part.end()
            if part[1]:
                self._row = min(self.height, int(part[1])) - 1
                self._column = min(self.width, int(part[2])) - 1
            elif part[3] is not None:
                self._look = "" if part[3] in ("", "0") else part[3]
            elif part[4]:
                self._row += 1
                if self._row == self.height:
                    self._row -= 1
                    self.rows = [*self.rows[1:], [BLANK] * self.width]
            elif part[5]:
                self._put(part[5])
            elif part[6] == "7":
                self._saved = self._row, self._column, self._look
            elif part[6]:
                self._row, self._column, self._look = self._saved

    @property
    def text(self) -> str:
        return "\n".join("".join(character for character, _ in row) for row in self.rows)

    def _put(self, text: str) -> None:
        row, look, width = self.rows[self._row], self._look, self.width
        for character in text:
            cells = 1 if character.isascii() else cell_len(character)
            if self._column + cells > width:
                self._column = width - cells
            for offset in range(cells):
                row[self._column + offset] = (character if not offset else "", look)
            self._column += cells


class TerminalDriver(HeadlessDriver):
    """Writes to a `Screenful`, by the way that the real driver is written to."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)  # pyright: ignore[reportUnknownMemberType]
        self.screenful = ScreenCells(*self._get_terminal_size())

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        self.screenful.write(data)

    def resize(self, width: int, height: int) -> None:
        """The person drags the edge of the terminal."""
        self._size = (width, height)
        self.screenful.resize(width, height)
        size = Size(width, height)
        self._app.post_message(events.Resize(size, size))


def watch_output(app: App[Any]) -> None:
    """Have the app write to a `TerminalDriver` once it runs."""

    def build(headless: bool, inline: bool, mouse: bool, size: tuple[int, int] | None) -> TerminalDriver:
        driver = TerminalDriver(app, debug=False, mouse=mouse, size=size)
        app._driver = driver
        return driver

    app._build_driver = build


def terminal_of(app: App[Any]) -> TerminalDriver:
    assert isinstance(app._driver, TerminalDriver)
    return app._driver


def draw_fresh(app: App[Any]) -> ScreenCells:
    """The terminal if it were empty and all of the screen were drawn now, by Textual's own compositor."""
    compositor = app.screen._compositor
    drawn = ScreenCells(app.size.width, app.size.height)
    dirty = compositor._dirty_regions.copy()
    drawn.write(Compositor.render_full_update(compositor).render_segments(app.console))
    compositor._dirty_regions.update(dirty)
    return drawn


async def wait_until_idle(pilot: Pilot[Any]) -> None:
    """Wait until the window knows its size, and has drawn and done all there is to do."""
    app = pilot.app
    for _ in range(_ROUNDS):
        await pilot.pause()
        await app.workers.wait_for_complete()
        await pilot.pause()
        screen = app.screen
        knows = app._resize_timer is None and app._resize_event is None
        fits = screen.size == app.size == Size(*terminal_of(app)._get_terminal_size())
        waits = screen._dirty_widgets or screen._compositor._dirty_regions or screen._layout_required
        if not app.is_running or (knows and fits and not waits and not screen._repaint_required):
            return
    state = (knows, fits, waits, screen._repaint_required)
    raise AssertionError(f"the window does not come to rest: {app.size}, {screen.size}, {screen!r}, {state}")


def redraw_all(app: App[Any]) -> None:
    """Have everything on the screen laid out and drawn as if it came up now."""
    for screen in (*app._background_screens, app.screen):
        for widget in screen.walk_children(Widget, with_self=True):
            widget._clear_arrangement_cache()
            widget._styles_cache.clear()
            widget.refresh(layout=True)


def differences(one: ScreenCells, other: ScreenCells) -> list[tuple[int, str, str]]:
    """Rows that are not alike, as texts, for a failure to show."""
    assert (one.width, one.height) == (other.width, other.height)
    pairs = enumerate(zip(one.rows, other.rows, strict=True))
    return [
        (y, "".join(cell[0] for cell in row), "".join(cell[0] for cell in twin))
        for y, (row, twin) in pairs
        if row != twin
    ]
