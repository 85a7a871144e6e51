"""Snapshots of the window, from which the next start paints its first frame before anything has happened.

Owns the folder of snapshots; refuses to keep what a conversation says: the bodies of panes are left blank. `ui_state`
takes one after the first frame, after a change of the layout, and at the end.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from gshtui.settings.paths import state_dir
from gshtui.system import private_files
from gshtui.ui.window.first_frame import FORMAT, snapshot_name
from gshtui.ui.window.workbench_screen import FrameScreen

KEPT = 40
"""Snapshots; those that were used longest ago go."""


def capture_frame(screen: FrameScreen, blank: Iterable[Widget], console: Console) -> bytes:
    """The screen as bytes for a terminal of its size, with the insides of some widgets left blank."""
    regions = [(widget.content_region, widget.background_colors[1].rich_color) for widget in blank if widget.display]
    lines: list[str] = []
    for y, strip in enumerate(screen.drawn()):
        for region, colour in regions:
            if region.y <= y < region.bottom:
                strip = _blanked(strip, region, colour)
        lines.append(strip.render(console))
    width, height = screen.size
    return FORMAT + f"{width}x{height}\n".encode() + "\x1b[0m\r\n".join(lines).encode("utf-8", "replace")


def _blanked(strip: Strip, region: Region, colour: object) -> Strip:
    from rich.color import Color
    from rich.style import Style

    assert isinstance(colour, Color)
    space = Strip([Segment(" " * region.width, Style(bgcolor=colour))], region.width)
    return Strip.join([strip.crop(0, region.x), space, strip.crop(region.right, strip.cell_length)])


def save_frame(cwd: str, size: tuple[int, int], data: bytes, folder: Path | None = None) -> None:
    """Keep a snapshot for this folder and size.

    Raises:
        OSError: it cannot be written.
    """
    frames = (folder or state_dir()) / "frames"
    private_files.make_folder(frames)
    private_files.write_whole(frames / snapshot_name(cwd, *size), data)
    for old in sorted(frames.glob("*.frame"), key=_used, reverse=True)[KEPT:]:
        with contextlib.suppress(OSError):
            old.unlink()


def forget_frames(folder: Path | None = None) -> None:
    """Throw all snapshots away: they show another theme or layout than the window has now."""
    for old in ((folder or state_dir()) / "frames").glob("*.frame"):
        with contextlib.suppress(OSError):
            old.unlink()


def _used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
