"""The mode of a running program is changed by its own key, until its screen shows the wanted one, or is refused."""

import sys

import pytest

from gshtui.bus.agent_data import AgentRow, ProgramMode
from gshtui.fleet.core.agent_programs import Programs
from gshtui.fleet.core.fleet_context import is_over
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.lifecycle.program_options import change_mode, next_of
from gshtui.programs.profiles import profile_files as profiles
from gshtui.tmux.server import TmuxServer
from tests.kit.home import Home
from tests.kit.tmux import screen_text, tmux, wait_for_text

__all__ = ["tmux"]
pytestmark = pytest.mark.tmux
PROGRAM = r"""
import os, sys, tty
tty.setraw(0)
modes, at, asks = ["? for shortcuts", "⏵⏵ accept edits on (shift+tab to cycle)", "⏸ plan mode on"], 0, False
while True:
    rows = ["─" * 60, "❯ ", "─" * 60, f"  {modes[at]}"]
    if asks:
        rows = ["─" * 60, " Do you want to proceed?", " ❯ 1. Yes", "   2. No", "", " Esc to cancel"]
    sys.stdout.write("\x1b[H\x1b[2J" + "\r\n".join(rows))
    sys.stdout.flush()
    data = os.read(0, 100)
    if data == b"\x1b[Z":
        assert not asks, "a key went into its question"
        at = (at + 1) % len(modes)
    asks = asks or data == b"?"
"""
"""Shift+tab goes through three modes of Claude Code's, `?` has it ask."""


@pytest.fixture
async def row(home: Home, tmux: TmuxServer) -> AgentRow:
    info = await tmux.spawn("gsh-agent-0001", [sys.executable, "-c", PROGRAM], cwd=home.path, env={})
    await wait_for_text(tmux, info.pane, "for shortcuts")
    argv = ("claude",)
    return AgentRow(id="0001", name="it", kind="cli", profile="claude", argv=argv, pane=info.pane, pid=info.pid)


async def test_it_is_changed_until_the_screen_shows_it(row: AgentRow, tmux: TmuxServer) -> None:
    programs = Programs()
    assert await change_mode(programs, tmux, row, "plan") == ProgramMode("plan mode", "plan")
    assert "plan mode on" in await screen_text(tmux, row.pane)
    assert await change_mode(programs, tmux, row, "plan") == ProgramMode("plan mode", "plan")
    assert (await change_mode(programs, tmux, row, "ask")).like == "ask"
    with pytest.raises(FleetError, match="does not come to that mode by its key"):
        await change_mode(programs, tmux, row, "auto")
    assert "for shortcuts" in await screen_text(tmux, row.pane), "it is in the one that it was in"


async def test_no_key_goes_into_a_question(row: AgentRow, tmux: TmuxServer) -> None:
    await tmux.type_bytes(row.pane, b"?")
    await wait_for_text(tmux, row.pane, "Do you want to proceed")
    with pytest.raises(FleetError, match="waits for an answer"):
        await change_mode(Programs(), tmux, row, "plan")
    assert not is_over(row)
    assert "Do you want to proceed" in await screen_text(tmux, row.pane)


@pytest.mark.parametrize(
    ("profile", "why"),
    [
        ("codex", "is not connected to its server, so it"),
        ("aider", "Aider has no modes: it edits files unasked"),
        ("goose", "is not known"),
        ("shell", "runs what is typed"),
        ("vibe", "no mode like plan"),
    ],
)
async def test_what_cannot_be_changed_is_refused(home: Home, tmux: TmuxServer, profile: str, why: str) -> None:
    row = AgentRow(id="0001", name="it", kind="cli", profile=profile, argv=(profile,))
    with pytest.raises(FleetError, match=why):
        await change_mode(Programs(), tmux, row, "plan")


def test_the_next_one_is_never_the_one_in_which_nothing_asks() -> None:
    claude, row = profiles.load().get("claude"), AgentRow(id="1", name="it", kind="cli", held_to="ask")
    found = [next_of(claude, row)]
    for mode in ("plan", "edit", "auto"):
        found.append(
            next_of(claude, AgentRow(id="1", name="it", kind="cli", program_mode=ProgramMode("its own", mode)))
        )
    assert found == ["edit", "ask", "auto", "plan"]
