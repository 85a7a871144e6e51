"""Terminal tabs on a real tmux: what a program prints is shown, what is typed arrives, and nothing else does."""

from __future__ import annotations

from pathlib import Path

from gshtui.tmux.server import TmuxServer
from tests.kit.terminal_window import TerminalWindow, Yard, shows, until
from tests.kit.tmux import tmux

__all__ = ["tmux"]


async def test_a_shell_is_shown_and_typed_into(tmux: TmuxServer, tmp_path: Path) -> None:
    yard = Yard(tmux, tmp_path)
    await yard.spawn("sh", "-i")
    app = TerminalWindow(yard)
    async with app.run_test(size=(120, 40)) as pilot:
        view = await app.open(pilot)
        await shows(pilot, view, "$")
        await pilot.press("enter")
        assert view.typing
        await pilot.press(*"echo hi-$((40+2))", "enter")
        await shows(pilot, view, "hi-42")
        await pilot.press("ctrl+right_square_bracket")
        assert not view.typing
        await until(pilot, lambda: view.info is not None and (view.info.width, view.info.height) == view.size)
