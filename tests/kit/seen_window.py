"""A window whose terminal is looked at, and what the terminal would show if all were written now."""

from typing import Any, cast

from textual._compositor import CompositorUpdate
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

from gshtui.ui.kit.textual.compositor import PieceCompositor, PiecesUpdate
from tests.kit.cells import Cells
from tests.kit.window import Window


class Seen(Window):
    """A window whose terminal is looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.terminal = Cells()
        self.written: list[str] = []
        """Of updates in pieces, since it was emptied last."""

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        super()._display(screen, renderable)
        if isinstance(renderable, CompositorUpdate):
            data = renderable.render_segments(self.console)
            self.terminal.write(data)
            if isinstance(renderable, PiecesUpdate):
                self.written.append(data)


def whole(app: App[Any]) -> Cells:
    """The terminal if all of the screen were written now."""
    compositor = app.screen._compositor
    fresh = Cells()
    dirty = compositor._dirty_regions.copy()
    fresh.write(
        super(PieceCompositor, cast(PieceCompositor, compositor)).render_full_update().render_segments(app.console)
    )
    compositor._dirty_regions.update(dirty)
    return fresh


async def rested(pilot: Pilot[int]) -> None:
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    while pilot.app.screen._dirty_widgets or pilot.app.screen._compositor._dirty_regions:
        await pilot.pause()
