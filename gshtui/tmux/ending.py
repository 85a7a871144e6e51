"""The end of a pane: closed, and every process that it started verified to be gone.

Owns the order of things: look who is there, hang up, wait, insist, look again. Called by `server`.
"""

from __future__ import annotations

import asyncio

from gshtui.tmux import processes
from gshtui.tmux.errors import TmuxError
from gshtui.tmux.ladder import Ladder
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.quoting import command


async def end(ladder: Ladder, info: PaneInfo, grace: float) -> None:
    """End a pane and all that it started, within `grace` seconds and a little. Raises `TmuxError`."""
    (told,) = await ladder.ask([command("display-message", "-p", "#{socket_path},#{pid},")])
    mark = told.text()[0]
    family = await asyncio.to_thread(processes.family, info.pid, info.pane, mark)
    async with ladder.turn():
        (reply,) = await ladder.ask([command("kill-pane", "-t", info.pane)])
    reply.text()
    left = await asyncio.to_thread(processes.end, family, grace)
    # What was started between the look and the hang-up.
    late = await asyncio.to_thread(processes.family, info.pid, info.pane, mark)
    left += await asyncio.to_thread(processes.end, late, 0.0)
    if left := processes.living(left):
        names = ", ".join(processes.named(process) for process in left[:5])
        raise TmuxError("refused", f"The terminal was closed, but these processes could not be ended: {names}.")
