"""An agent's own pane in a real tmux: readable, typed into, answered in, interrupted, and safe from what it shows."""

from pathlib import Path

import pytest

from gshtui.bus.events.agent_events import AgentStatusChanged, TurnFinished, TurnStarted
from gshtui.bus.events.approval_events import ApprovalRequested, ApprovalSettled
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.server import TmuxServer
from tests.kit.command import command, environment
from tests.kit.native_agents import AGENT, prepare_spec, relay_window, shown
from tests.kit.resident import resident
from tests.kit.tmux import eventually, tmux

__all__ = ["resident", "tmux"]
pytestmark = [pytest.mark.tmux, pytest.mark.usefixtures("resident")]


async def start(tmux: TmuxServer, file: Path, folder: Path) -> PaneInfo:
    """The agent in its terminal."""
    argv = command(["agent", "run", "--spec", str(file)])
    return await tmux.spawn("gsh-agent-0012", argv, cwd=folder, env=environment(), width=80, height=24)


async def test_a_person_prompts_answers_and_leaves_in_the_pane(tmux: TmuxServer, tmp_path: Path) -> None:
    """Without any window: a typed prompt, a question and a typed yes, a slash command, the end."""
    _, file = prepare_spec(tmp_path)
    pane = (await start(tmux, file, tmp_path)).pane
    await shown(tmux, pane, "idle", "no window is connected", "›")
    await tmux.type_bytes(pane, b"run echo $((40+2))-in-the-pane")
    await tmux.send_keys(pane, "Enter")
    text = await shown(tmux, pane, "wants to run a command", "1 allow once")
    assert "echo $((40+2))-in-the-pane" in text
    await tmux.type_bytes(pane, b"1")
    await tmux.send_keys(pane, "Enter")
    text = await shown(tmux, pane, "42-in-the-pane", "allowed once", "── done")
    assert text.count("42-in-the-pane") >= 1
    await tmux.type_bytes(pane, b"/who")
    await tmux.send_keys(pane, "Enter")
    await shown(tmux, pane, "(you)")
    await tmux.send_keys(pane, "C-d")

    async def over() -> PaneInfo | None:
        info = await tmux.pane(pane)
        return info if info.dead and info.exit_status is not None else None

    ended = await eventually(over)
    assert ended is not None and ended.exit_status == 0


async def test_a_paste_is_no_answer(tmux: TmuxServer, tmp_path: Path) -> None:
    """What another program sends as a message cannot be a yes, nor can what was typed before the question came."""
    async with relay_window(tmp_path) as hub:
        _, file = prepare_spec(tmp_path, "run command echo hi", hub=hub.relay.socket)
        pane = (await start(tmux, file, tmp_path)).pane
        await hub.heard.wait_for(ApprovalRequested)
        await shown(tmux, pane, "1 allow once")
        await tmux.send_text(pane, "1", enter=True)
        await shown(tmux, pane, "Not taken as an answer", "1 allow once")
        assert hub.heard.of(ApprovalSettled) == []
        await tmux.type_bytes(pane, b"5 not 1 today")
        await tmux.send_keys(pane, "Enter")
        settled = await hub.heard.wait_for(ApprovalSettled)
        assert (settled.decision, settled.reason) == ("deny", "not 1 today")
        assert "not 1 today" in (await hub.heard.wait_for(TurnFinished)).text


async def test_what_is_typed_when_the_question_comes_up_is_no_answer(tmux: TmuxServer, tmp_path: Path) -> None:
    """Nor is a letter; a reason on a line of its own denies, whatever it says."""
    async with relay_window(tmp_path) as hub:
        _, file = prepare_spec(tmp_path, "run command echo hi", hub=hub.relay.socket)
        pane = (await start(tmux, file, tmp_path)).pane
        await hub.heard.wait_for(ApprovalRequested)
        await tmux.type_bytes(pane, b"1\r1\r2\r")
        await shown(tmux, pane, "Not taken as an answer", "1 allow once")
        await tmux.type_bytes(pane, b"y\r")
        await shown(tmux, pane, "That is not an answer here")
        assert hub.heard.of(ApprovalSettled) == []
        await shown(tmux, pane, "1 allow once")
        await tmux.type_bytes(pane, b"5")
        await tmux.send_keys(pane, "Enter")
        await tmux.type_bytes(pane, b"1")
        await tmux.send_keys(pane, "Enter")
        settled = await hub.heard.wait_for(ApprovalSettled)
        assert settled.decision == "deny"


async def test_a_paste_of_many_lines_is_one_prompt(tmux: TmuxServer, tmp_path: Path) -> None:
    async with relay_window(tmp_path) as hub:
        _, file = prepare_spec(tmp_path, hub=hub.relay.socket)
        pane = (await start(tmux, file, tmp_path)).pane
        await hub.heard.wait_for(AgentStatusChanged, status="idle")
        words = "\n".join(f"line {number} é漢" for number in range(2_000))
        await tmux.send_text(pane, words, enter=True)
        assert (await hub.heard.wait_for(TurnStarted)).text == words


async def test_ctrl_c_interrupts_and_the_agent_stays(tmux: TmuxServer, tmp_path: Path) -> None:
    async with relay_window(tmp_path) as hub:
        _, file = prepare_spec(tmp_path, "run command sleep 300", hub=hub.relay.socket)
        pane = (await start(tmux, file, tmp_path)).pane
        await shown(tmux, pane, "1 allow once")
        await tmux.type_bytes(pane, b"1")
        await tmux.send_keys(pane, "Enter")
        await hub.heard.wait_for(AgentStatusChanged, status="tool")
        await tmux.send_keys(pane, "C-c")
        assert (await hub.heard.wait_for(TurnFinished)).stop == "interrupted"
        await shown(tmux, pane, "stopped: interrupted", "idle")
        assert not (await tmux.pane(pane)).dead


async def test_what_it_reads_cannot_steer_the_terminal(tmux: TmuxServer, tmp_path: Path) -> None:
    """A file full of escapes: no title, no cleared screen, no bell; the words are there."""
    evil = "before\x1b]0;stolen title\x07\x1b[2J\x1b[H\x9b2J\x07\x1b]52;c;aGk=\x07 after\n"
    (tmp_path / "evil.txt").write_text(evil, encoding="utf-8")
    async with relay_window(tmp_path) as hub:
        _, file = prepare_spec(tmp_path, "read evil.txt", hub=hub.relay.socket)
        info = await start(tmux, file, tmp_path)
        await hub.heard.wait_for(TurnFinished)
        await shown(tmux, info.pane, "agent-0012 · 0012", "before", "after", "── done")
        now = await tmux.pane(info.pane)
        assert now.title == info.title
        assert not now.bell


async def test_killed_from_outside_it_ends_in_order(tmux: TmuxServer, tmp_path: Path) -> None:
    async with relay_window(tmp_path) as hub:
        _, file = prepare_spec(tmp_path, "run command sleep 300", hub=hub.relay.socket)
        pane = (await start(tmux, file, tmp_path)).pane
        await hub.heard.wait_for(ApprovalRequested)
        await tmux.kill_pane(pane)
        assert (await hub.heard.wait_for(TurnFinished)).stop == "interrupted"
        last = await hub.heard.wait_for(AgentStatusChanged, agent=AGENT, status="failed")
        assert "SIGHUP" in last.doing or "SIGTERM" in last.doing
