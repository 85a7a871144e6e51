"""Who waits, in the status line of attached terminals: on real tmux, kept short, gone when nobody waits."""

import os
from pathlib import Path

import pytest

from gshtui.tmux.quoting import command
from gshtui.tmux.server import TmuxServer
from tests.kit.tmux import tmux

__all__ = ["tmux"]
pytestmark = pytest.mark.tmux


async def asked(tmux: TmuxServer, *words: str) -> str:
    (reply,) = await tmux.connection.ask([command(*words)])
    return "".join(reply.text())


async def line(tmux: TmuxServer) -> str:
    """The status line as attached terminals show it; empty: they have none."""
    if await asked(tmux, "show-options", "-Av", "-t", "=gsh-agent-0001:", "status") == "off":
        return ""
    shown = await asked(tmux, "show-options", "-gv", "status-format[0]")
    return await asked(tmux, "display-message", "-p", "-t", "=gsh-agent-0001:", shown)


async def test_the_list_is_there_while_somebody_waits(tmux: TmuxServer, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        await tmux.spawn(f"gsh-agent-000{number}", ["cat"], cwd=tmp_path, env={"PATH": os.environ["PATH"]})
    for number in (1, 2, 3):
        await tmux.note_waiting(f"gsh-agent-000{number}", "")
    assert await line(tmux) == ""
    await tmux.note_waiting("gsh-agent-0002", "claude")
    await tmux.note_waiting("gsh-agent-0003", "a-name-that-is-much-too-long-for-it")
    seen = await line(tmux)
    assert "waiting for you: ◆ claude ◆ a-name-that-is-much-…" in seen
    await tmux.note_waiting("gsh-agent-0002", "")
    assert "claude" not in await line(tmux)
    (pane,) = [info for info in await tmux.panes() if info.session == "gsh-agent-0003"]
    await tmux.kill_pane(pane.pane)
    await tmux.note_waiting("gsh-agent-0001", "")
    assert await line(tmux) == ""
