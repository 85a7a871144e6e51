"""An agent over ACP without any window: its questions are answered in its own pane."""

import sys
from pathlib import Path

import pytest

from gshtui.tmux.server import TmuxServer
from tests.kit.command import command, environment
from tests.kit.native_agents import prepare_spec, shown
from tests.kit.tmux import tmux

__all__ = ["tmux"]
pytestmark = [pytest.mark.tmux, pytest.mark.timeout(180)]
CHILD = (sys.executable, "-m", "tests.kit.acp_agent_child")


async def test_a_question_is_answered_in_the_pane(tmux: TmuxServer, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("one\n", "utf-8")
    _, file = prepare_spec(tmp_path, acp=CHILD)
    argv = command(["agent", "run", "--spec", str(file)])
    env = environment() | {"PYTHONPATH": str(Path(__file__).parents[2])}
    pane = (await tmux.spawn("gsh-agent-0012", argv, cwd=tmp_path, env=env, width=80, height=30)).pane
    await shown(tmux, pane, "idle", "›")
    await tmux.type_bytes(pane, b"do:edit it")
    await tmux.send_keys(pane, "Enter")
    text = await shown(
        tmux, pane, "asks · ", "edit Edit notes.txt", "1 Do it", "2 Do it, and all the like", "4 Leave it"
    )
    assert "two" in text and "4 deny" not in text
    await tmux.type_bytes(pane, b"1")
    await tmux.send_keys(pane, "Enter")
    await shown(tmux, pane, "The answer was yes.", "── done")
    assert (tmp_path / "notes.txt").read_text("utf-8") == "two\n"
