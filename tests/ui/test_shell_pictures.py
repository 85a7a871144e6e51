"""The shell log in pictures: in front, filtered, a command with its output; small and large.

`pytest --snapshot-update` writes them anew; look at them (`rsvg-convert`) before you commit them.
"""

from gshtui.ui.shell.shell_pane import ShellPane
from tests.kit import recorded, recorded_shell
from tests.kit.recorded_shell import FakeRecord
from tests.kit.snapshots import Snap, screens, snap
from tests.kit.window import Window
from tests.ui.test_pictures import settled

__all__ = ["snap"]


async def shown(snap: Snap, size: tuple[int, int], theme: str, record: FakeRecord, *keys: str) -> None:
    """The log in front, in a window of this size and theme, after these keys."""
    app = Window(store=record, theme=theme)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        app.feed(*recorded.STARTED)
        await settled(pilot)
        await pilot.press("alt+3")
        await settled(pilot)
        if record.rows:
            app.feed(*recorded_shell.SHELLS)
        for key in keys:
            await settled(pilot)
            await pilot.press(key)
        await settled(pilot)
        pane = app.bench.panes["shell"]
        assert isinstance(pane, ShellPane)
        await pane.filtered()
        await settled(pilot)
        snap(app)


@screens(light=True)
async def test_the_log_alone(snap: Snap, size: tuple[int, int], theme: str) -> None:
    zoom = ("z",) if size[0] > 100 else ()
    await shown(snap, size, theme, FakeRecord(), *zoom, "up", "up", "up", "up", "up", "up")


@screens()
async def test_the_log_beside_the_chat(snap: Snap, size: tuple[int, int], theme: str) -> None:
    await shown(snap, size, theme, FakeRecord(), *(("alt+1",) if size[0] > 100 else ()))


@screens()
async def test_filtered(snap: Snap, size: tuple[int, int], theme: str) -> None:
    await shown(snap, size, theme, FakeRecord(), "f", "slash", "t", "e", "s", "t")


@screens()
async def test_a_command_with_its_output(snap: Snap, size: tuple[int, int], theme: str) -> None:
    await shown(snap, size, theme, FakeRecord(), "home", "down", "down", "down", "down", "down", "enter")


@screens()
async def test_nothing_yet(snap: Snap, size: tuple[int, int], theme: str) -> None:
    await shown(snap, size, theme, FakeRecord([]))
