"""Read, detect, write, verify with real programs: prompts, stillness, ends; and only what came after the marker."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from gshtui.tmux.marker import take_marker, text_since
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.readiness import wait_ready
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError
from tests.kit.tmux import eventually, tmux, wait_for_text

__all__ = ["tmux"]

ENV = {"PATH": os.environ["PATH"], "HOME": "/tmp", "PYTHON_BASIC_REPL": "1"}
PROMPT = r"^>>> $"


async def python(tmux: TmuxServer, height: int = 12) -> PaneInfo:
    argv = [sys.executable, "-q", "-i", "-c", "import sys; from time import sleep"]
    pane = await tmux.spawn("gsh-agent-0001", argv, cwd=Path("/tmp"), env=ENV, height=height)
    ready = await wait_ready(tmux, pane.pane, pattern=PROMPT, idle_seconds=None, timeout=30)
    assert ready.reason == "pattern"
    return pane


async def turn(tmux: TmuxServer, pane: PaneInfo, line: str) -> str:
    """What a line of Python answers, with the line itself and the next prompt."""
    before = await take_marker(tmux, pane.pane)
    await tmux.send_text(pane.pane, line, enter=True)
    ready = await wait_ready(tmux, pane.pane, pattern=PROMPT, idle_seconds=None, timeout=30, since=before)
    assert ready.reason == "pattern", ready
    return ready.text


async def test_a_turn_reads_its_own_answer_only(tmux: TmuxServer) -> None:
    pane = await python(tmux)
    assert await turn(tmux, pane, "1+1") == "1+1\n2\n>>>"
    assert await turn(tmux, pane, "2+2") == "2+2\n4\n>>>"


async def test_an_answer_longer_than_the_screen_is_read_whole(tmux: TmuxServer) -> None:
    pane = await python(tmux)
    text = await turn(tmux, pane, "for i in range(300): print(i)\n")
    assert [line for line in text.split("\n") if line.isdigit()] == [str(number) for number in range(300)]


async def test_an_answer_that_outgrows_what_tmux_keeps_is_read_as_far_as_it_is_kept(tmux: TmuxServer) -> None:
    pane = await python(tmux)
    text = await turn(tmux, pane, "print('\\n'.join(map(str, range(30000))))")
    numbers = [line for line in text.split("\n") if line.isdigit()]
    assert numbers[-1] == "29999"
    assert len(numbers) > 4000


async def test_after_a_clear_all_that_is_there_is_new(tmux: TmuxServer) -> None:
    pane = await python(tmux)
    await turn(tmux, pane, "'before'")
    text = await turn(tmux, pane, "print('\\x1b[2J\\x1b[3J\\x1b[Hcleared')")
    assert text.splitlines()[0] == "cleared"
    assert "before" not in text


async def test_a_change_of_size_loses_nothing(tmux: TmuxServer) -> None:
    pane = await python(tmux)
    await turn(tmux, pane, "'before'")
    before = await take_marker(tmux, pane.pane)
    await tmux.resize(pane.pane, 70, 30)
    await tmux.send_text(pane.pane, "'after'", enter=True)
    await wait_ready(tmux, pane.pane, pattern=PROMPT, idle_seconds=None, timeout=30, since=before)
    text = await text_since(tmux, before)
    assert "'after'" in text
    assert "before" not in text


async def test_a_prompt_of_an_earlier_turn_is_not_taken_for_this_one(tmux: TmuxServer) -> None:
    pane = await python(tmux)
    before = await take_marker(tmux, pane.pane)
    ready = await wait_ready(tmux, pane.pane, pattern=PROMPT, idle_seconds=None, timeout=0.3, since=before)
    assert ready.reason == "timeout"
    assert ready.text == ""
    await tmux.send_text(pane.pane, "sleep(0.4); print('slow')", enter=True)
    ready = await wait_ready(tmux, pane.pane, pattern=PROMPT, idle_seconds=None, timeout=30, since=before)
    assert ready.reason == "pattern"
    assert "\nslow\n" in ready.text


async def test_stillness_counts_from_the_last_change(tmux: TmuxServer) -> None:
    pane = await python(tmux)
    before = await take_marker(tmux, pane.pane)
    await tmux.send_text(pane.pane, "for i in range(6): sleep(0.1); print('tick', i, flush=True)\n\n", enter=True)
    await wait_for_text(tmux, pane.pane, "tick 0")
    ready = await wait_ready(tmux, pane.pane, pattern=None, idle_seconds=0.6, timeout=30, since=before)
    assert ready.reason == "idle"
    assert "tick 5" in ready.text


async def test_whichever_is_first(tmux: TmuxServer) -> None:
    pane = await python(tmux)
    ready = await wait_ready(tmux, pane.pane, pattern="never", idle_seconds=0.2, timeout=30)
    assert ready.reason == "idle"
    ready = await wait_ready(tmux, pane.pane, pattern="never", idle_seconds=5, timeout=0.2)
    assert ready.reason == "timeout"
    ready = await wait_ready(tmux, pane.pane, pattern=PROMPT, idle_seconds=5, timeout=30)
    assert ready.reason == "pattern"


@pytest.mark.parametrize("mode", ["control", "chained"])
async def test_a_program_that_ends_is_never_ready(tmux: TmuxServer, mode: str) -> None:
    await tmux.version()
    tmux.connection.may_control = mode == "control"
    pane = await python(tmux)
    before = await take_marker(tmux, pane.pane)
    await tmux.send_text(pane.pane, "print('>>> '); sys.exit(3)", enter=True)
    ready = await wait_ready(tmux, pane.pane, pattern="no such prompt", idle_seconds=None, timeout=30, since=before)
    assert ready.reason == "dead"
    assert ">>>" in ready.text
    await tmux.kill_pane(pane.pane)
    with pytest.raises(TmuxError) as raised:
        await wait_ready(tmux, pane.pane, pattern=PROMPT, idle_seconds=None, timeout=30)
    assert raised.value.kind == "no_such_pane"


async def test_a_pane_that_is_closed_meanwhile_ends_the_wait(tmux: TmuxServer) -> None:
    await tmux.spawn("gsh-agent-0002", ["cat"], cwd=Path("/tmp"), env=ENV)
    pane = await python(tmux)
    waiting = asyncio.create_task(wait_ready(tmux, pane.pane, pattern="never", idle_seconds=None, timeout=30))
    await tmux.kill_pane(pane.pane)
    assert (await waiting).reason == "dead"


FULL_SCREEN = """
import sys
put = sys.stdout.write
put("\\x1b[?1049h\\x1b[2J\\x1b[H")
said = []
def draw(busy=False):
    put("\\x1b[2J\\x1b[H" + "".join(line + "\\r\\n" for line in said[-5:]))
    put("\\x1b[10;1H> \\x1b[11;1H" + ("working" if busy else "ready"))
    sys.stdout.flush()
draw()
for line in sys.stdin:
    draw(busy=True)
    said.append("you: " + line.strip())
    said.append("it: " + line.strip().upper())
    draw()
"""


async def test_on_the_alternate_screen_the_rows_that_came_are_read(tmux: TmuxServer) -> None:
    argv = ["sh", "-c", 'stty -echo; exec "$0" -c "$1"', sys.executable, FULL_SCREEN]
    pane = await tmux.spawn("gsh-agent-0001", argv, cwd=Path("/tmp"), env=ENV, width=60, height=12)
    ready = await wait_ready(tmux, pane.pane, pattern="^ready", idle_seconds=None, timeout=30)
    assert ready.reason == "pattern"
    for word in ("one", "two", "three"):
        before = await take_marker(tmux, pane.pane)
        # The prompt stays in its place: it alone proves nothing.
        still = await wait_ready(tmux, pane.pane, pattern="^ready", idle_seconds=None, timeout=0.1, since=before)
        assert still.reason == "timeout"
        await tmux.send_text(pane.pane, word, enter=True)
        await wait_for_text(tmux, pane.pane, f"it: {word.upper()}")
        ready = await wait_ready(tmux, pane.pane, pattern="^ready", idle_seconds=None, timeout=30, since=before)
        assert ready.reason == "pattern"
        assert ready.text.split("\n") == [f"you: {word}", f"it: {word.upper()}"]


async def test_a_flood_is_waited_for_at_the_cost_of_a_look_now_and_then(tmux: TmuxServer) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["yes", "flood"], cwd=Path("/tmp"), env=ENV)
    ready = await wait_ready(tmux, pane.pane, pattern="never", idle_seconds=3, timeout=0.6)
    assert ready.reason == "timeout"
    assert "flood" in ready.text
    assert not (await eventually(lambda: tmux.pane(pane.pane))).dead


@pytest.mark.parametrize("pattern", ["([a-z]*)*!", "(a|aa)+!", "(?:.*a){12}!"])
async def test_a_pattern_that_could_take_for_ever_does_not(tmux: TmuxServer, pattern: str) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["printf", "a" * 200], cwd=Path("/tmp"), env=ENV)
    ready = await wait_ready(tmux, pane.pane, pattern=pattern, idle_seconds=None, timeout=30)
    assert ready.reason == "dead"


@pytest.mark.parametrize("pattern", ["(", "(?=a)b", "x" * 1000])
async def test_patterns_that_are_wrong_are_refused(tmux: TmuxServer, pattern: str) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    with pytest.raises(TmuxError) as raised:
        await wait_ready(tmux, pane.pane, pattern=pattern, idle_seconds=None, timeout=1)
    assert raised.value.kind == "refused"
