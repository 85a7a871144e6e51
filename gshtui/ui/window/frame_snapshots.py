"""Snapshots of the window, from which the next start paints its first frame.

Owns the folder of snapshots. Never stores a conversation's text: the bodies of panes are left blank. `ui_state` takes
one after the first frame, after a layout change, and at the end.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable
from pathlib import Path

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from gshtui.settings.paths import state_dir
from gshtui.system.files import private_files
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widgets.tabs import TabBar
from gshtui.ui.window.first_frame import FORMAT, snapshot_name
from gshtui.ui.window.header import HeaderState
from gshtui.ui.window.main_area import SessionOffer
from gshtui.ui.window.pane_layout import arrange
from gshtui.ui.window.workbench_screen import WorkbenchScreen

KEPT = 40
"""Maximum number of snapshots; the least recently used are deleted."""


def is_plain(screen: WorkbenchScreen) -> bool:
    """Whether the window stands as it will at its next start: nothing typed, nothing above the panes."""
    layout, size = screen.layout_now, screen.size
    unusual = screen.banner.display or screen.strip.display or screen.query_one(SessionOffer).display
    filled = arrange(layout, *size) != arrange(layout.at_start(), *size)
    return app_of(screen).screen is screen and not (unusual or filled or screen.input.text)


def capture_frame(screen: WorkbenchScreen, console: Console) -> bytes:
    """The screen as bytes for a terminal of its size, as it is before there is a conversation."""
    blank = [screen.deck.body, *(pane for pane in screen.panes.values() if screen.on_screen(pane))]
    with _as_at_first(screen):
        return _bytes(screen, blank, console)


def place_fields(screen: WorkbenchScreen, console: Console) -> str:
    """Where the input line is and how it looks, as `first_frame` reads it: row, column, width, text, cursor."""
    region = screen.input.content_region
    strip = screen.drawn()[region.y].crop(region.x, region.right)
    cells = [segment for segment in strip if segment.text]
    if not cells:
        return ""
    text = cells[-1].style or Style()
    if not console.no_color:  # a blank cell has no colour of letters
        text = Style(color=screen.input.rich_style.color) + text
    looks = [_look(text, console), _look(cells[0].style, console)]
    return " ".join([str(region.y), str(region.x), str(region.width), *looks])


def _look(style: Style | None, console: Console) -> str:
    """The parameters of the sequence that sets a style; `-`: it has none."""
    drawn = Strip([Segment("x", style)]).render(console)
    before = drawn.partition("x")[0]
    return before.removeprefix("\x1b[").removesuffix("m") or "-"


@contextlib.contextmanager
def _as_at_first(screen: WorkbenchScreen) -> Generator[None]:
    """For the block, the lines that tell of the conversation say what they say before there is one."""
    header, bar = screen.header, screen.deck.bar
    state, note = header.state, bar.note
    header.state = HeaderState(state.project, state.branch, state.front)
    bar.set_reactive(TabBar.note, "")
    header.refresh()
    bar.refresh()
    screen.address()
    try:
        yield
    finally:
        header.state = state
        screen.address()
        bar.set_reactive(TabBar.note, note)
        header.refresh()
        bar.refresh()


def _bytes(screen: WorkbenchScreen, blank: Iterable[Widget], console: Console) -> bytes:
    """With the insides of some widgets left blank."""
    regions = [(widget.content_region, widget.background_colors[1].rich_color) for widget in blank if widget.display]
    lines: list[str] = []
    for y, strip in enumerate(screen.drawn()):
        for region, colour in regions:
            if region.y <= y < region.bottom:
                strip = _blanked(strip, region, colour)
        lines.append(strip.render(console))
    width, height = screen.size
    first = f"{width}x{height} {place_fields(screen, console)}".rstrip()
    return FORMAT + f"{first}\n".encode() + "\x1b[0m\r\n".join(lines).encode("utf-8", "replace")


def _blanked(strip: Strip, region: Region, colour: object) -> Strip:
    from rich.color import Color

    assert isinstance(colour, Color)
    space = Strip([Segment(" " * region.width, Style(bgcolor=colour))], region.width)
    return Strip.join([strip.crop(0, region.x), space, strip.crop(region.right, strip.cell_length)])


def save_frame(cwd: str, size: tuple[int, int], data: bytes) -> None:
    """Store a snapshot for this folder and size. Raises `OSError`: it cannot be written."""
    frames = state_dir() / "frames"
    private_files.make_folder(frames)
    private_files.write_whole(frames / snapshot_name(cwd, *size), data)
    for old in sorted(frames.glob("*.frame"), key=_used, reverse=True)[KEPT:]:
        with contextlib.suppress(OSError):
            old.unlink()


def forget_frames() -> None:
    """Delete all snapshots: they show an outdated theme or layout."""
    for old in (state_dir() / "frames").glob("*.frame"):
        with contextlib.suppress(OSError):
            old.unlink()


def _used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
