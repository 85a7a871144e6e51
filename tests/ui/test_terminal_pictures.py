"""Terminal tabs in pictures: live, typed into, read back, searched, ended; small and large.

`pytest --snapshot-update` writes them anew; look at them (`rsvg-convert`) before you commit them.
"""

from textual.pilot import Pilot

from gshtui.ui.kit.widget_messages import OpenTerminal
from gshtui.ui.terminal.terminal_view import TerminalView
from tests.kit.fake_terminal import SHELL, WORKING, FakeTerminalWindow
from tests.kit.snapshots import Snap, screens, snap
from tests.kit.terminal_agents import wait_until
from tests.kit.window import settled

__all__ = ["snap"]
PAST = tuple(f"\x1b[2m{number:5}\x1b[0m  \x1b[3{number % 7 + 1}mpassed\x1b[0m test_parser" for number in range(2_000))


async def opened(app: FakeTerminalWindow, pilot: Pilot[int], size: tuple[int, int]) -> TerminalView:
    """The tab, with a coding agent in it where there is room for one, else a shell."""
    await wait_until(pilot, lambda: app.hub is not None)
    app.post_message(OpenTerminal("0001"))
    await wait_until(pilot, lambda: app.terminal.sizes)
    await settled(pilot)
    view = app.screen.query_one(TerminalView)
    await wait_until(pilot, lambda: app.terminal.sizes[-1] == tuple(view.text_size))
    rows = WORKING if size[1] > 40 else SHELL
    y = len(rows) - (3 if rows is WORKING else 1)
    app.terminal.show(rows, cursor_x=22, cursor_y=y)
    await settled(pilot)
    return view


@screens(light=True)
async def test_live(snap: Snap, size: tuple[int, int], theme: str) -> None:
    app = FakeTerminalWindow(theme=theme, past=PAST)
    async with app.run_test(size=size) as pilot:
        await opened(app, pilot, size)
        snap(app)


@screens()
async def test_typed_into(snap: Snap, size: tuple[int, int], theme: str) -> None:
    app = FakeTerminalWindow(theme=theme, past=PAST)
    async with app.run_test(size=size) as pilot:
        await opened(app, pilot, size)
        await pilot.press("enter")
        await settled(pilot)
        snap(app)


@screens()
async def test_searched(snap: Snap, size: tuple[int, int], theme: str) -> None:
    app = FakeTerminalWindow(theme=theme, past=PAST)
    async with app.run_test(size=size) as pilot:
        view = await opened(app, pilot, size)
        await pilot.press("slash", *"1990")
        await wait_until(pilot, lambda: view.reader.search is not None and view.reader.search.here is not None)
        await settled(pilot)
        snap(app)


@screens()
async def test_ended(snap: Snap, size: tuple[int, int], theme: str) -> None:
    app = FakeTerminalWindow(theme=theme)
    async with app.run_test(size=size) as pilot:
        await opened(app, pilot, size)
        app.terminal.show(SHELL, dead=True, exit_status=2)
        await settled(pilot)
        snap(app)
