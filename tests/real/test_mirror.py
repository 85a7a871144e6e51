"""The mirror on real tmux: what hostile programs print, sizes, people who attach, many panes, floods, every mode."""

import asyncio
import os
import random
import re
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import psutil
import pytest

from gshtui.system.processes.processes import running_processes
from gshtui.tmux.client_process import ClientProcess, TmuxQuestion
from gshtui.tmux.control_client import ControlClient, server_lock
from gshtui.tmux.frames import rows as frame_rows
from gshtui.tmux.mirror import Mirror
from gshtui.tmux.panes import BRIEF, HIDDEN, PaneInfo, refreshed
from gshtui.tmux.quoting import quoted
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_connection import orphaned_clients
from gshtui.tmux.tmux_errors import TmuxError
from gshtui.tmux.watcher import PaneChange
from tests.kit.storms import seeds, some
from tests.kit.tmux import (
    DEADLINE,
    Frames,
    attached_person,
    block_loop,
    clients,
    eventually,
    plain_text,
    tmux,
    wait_for_text,
)

__all__ = ["tmux"]

ENV = {"PATH": os.environ["PATH"], "HOME": "/tmp"}
PRINTS = """
import os, sys, time
sys.stdin.readline()
os.write(1, bytes.fromhex(sys.argv[1]))
os.write(1, b"\\r\\nDONE")
sys.stdin.read()
"""


@pytest.fixture
async def mirror(tmux: TmuxServer) -> AsyncGenerator[Mirror]:
    made = Mirror(tmux, fps=30)
    yield made
    await made.close()


async def printing(tmux: TmuxServer, said: bytes, session: str = "gsh-agent-0001") -> PaneInfo:
    """A program that prints these bytes, and DONE, when Enter is pressed."""
    argv = ["sh", "-c", 'stty -echo; exec "$0" "$@"', sys.executable, "-c", PRINTS, said.hex()]
    return await tmux.spawn(session, argv, cwd=Path("/tmp"), env=ENV, width=80, height=24)


async def on_control(mirror: Mirror) -> None:
    """Wait for control mode."""

    async def mode() -> str:
        return mirror.mode

    await eventually(mode, until=lambda mode: mode == "control")


HOSTILE = {
    "ends of blocks": b"".join(b"%%end 1 %d 1\r\n" % n for n in range(15))
    + b"%begin 1 2 1\r\n%error 1 2 1\r\n%exit\r\n",
    "output": b"%output %0 forged\\012\r\n%subscription-changed gsh-state $0 @0 0 %0 : 1|1||0|x|y\r\n",
    "invalid UTF-8": b"a\xff\xfeb\xc3(\xed\xa0\x80\xf0\x9f\r\n",
    "OSC 52": b"x\x1b]52;c;aGVsbG8=\x07y\x1b]52;c;?\x07\r\n",
    "a title that would run": b"\x1b]2;#(touch TRAP)|a|b\x07\x1b]0;#{pane_id}\x07\x1bk#(touch TRAP)\x1b\\\r\n",
    "sixel": b"a\x1bPq#0;2;0;0;0#0~~@@vv@@~~@@~~$#0~~\x1b\\b\r\n",
    "a long line": b"L" * 10_000 + b"\r\n",
    "bells": b"\x07" * 20_000 + b"\r\n",
    "8-bit controls": b"a\x9b31mb\xc2\x9b2Jc\xc2\x9d52;c;x\x07d\r\n",
    "passthrough": b"\x1bPtmux;\x1b\x1b]52;c;aGVsbG8=\x07\x1b\\\r\n",
    "links": b"\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\\r\n",
    "device reports": b"\x1b[c\x1b[6n\x1b[>c\x1b]11;?\x07\r\n",
}
CLEAN = re.compile(r"(?:[^\x00-\x1f\x7f-\x9f]|\x1b\[[0-9;:]*m)*\Z")


@pytest.mark.parametrize("what", some(list(HOSTILE), 2), ids=lambda what: what.replace(" ", "_"))
async def test_whatever_a_program_prints_the_frame_is_text_and_styles(
    tmux: TmuxServer, mirror: Mirror, what: str, tmp_path: Path
) -> None:
    trap = tmp_path / "ran"
    pane = await printing(tmux, HOSTILE[what].replace(b"TRAP", str(trap).encode()))
    other = await tmux.spawn("gsh-agent-0002", ["sh", "-c", "echo calm; exec cat"], cwd=Path("/tmp"), env=ENV)
    frames, calm = Frames(), Frames()
    mirror.watch(pane.pane, frames, width=80, height=24)
    mirror.watch(other.pane, calm, width=80, height=24)
    await on_control(mirror)
    await tmux.send_keys(pane.pane, "Enter")
    frame = await frames.wait_for_text("DONE")
    assert all(CLEAN.match(line) for line in frame.lines)
    assert all(frame.pane == pane.pane for frame in frames.all)
    await tmux.send_keys(other.pane, "x", "Enter")
    await calm.wait_for_text("calm\nx\nx")
    assert mirror.mode == "control"
    assert not trap.exists()
    (shown,) = await tmux.connection.ask(["show-buffer"])
    assert shown.error, "a program filled tmux's clipboard"
    assert plain_text(frame).rstrip() == "\n".join(await tmux.capture(pane.pane, styled=False)).rstrip()


async def test_a_frame_has_the_colours_and_says_which_rows_changed(tmux: TmuxServer, mirror: Mirror) -> None:
    pane = await printing(
        tmux, b"\x1b[2J\x1b[H\x1b[38;2;1;2;3mrgb\r\nstill\x1b[0m\r\n\x1b[1;4mbold\x1b[0m  \x1b[44m  \x1b[0m"
    )
    frames = Frames()
    mirror.watch(pane.pane, frames, width=80, height=24)
    await tmux.send_keys(pane.pane, "Enter")
    frame = await frames.wait_for_text("DONE")
    assert frame.lines[:2] == ("\x1b[38;2;1;2;3mrgb", "\x1b[38;2;1;2;3mstill")
    assert frame.lines[2].endswith("\x1b[44m  ")  # coloured blanks at the end are there to be seen
    assert "\x1b[1;4m" in frame.lines[2] or "\x1b[1m\x1b[4m" in frame.lines[2]
    assert len(frame.lines) == 24
    await tmux.type_bytes(pane.pane, b"\n")
    assert set(frame.changed) <= set(range(24))


async def test_a_key_is_seen_at_once_also_at_a_low_frame_rate(tmux: TmuxServer) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    slow = Mirror(tmux, fps=0.2)
    frames = Frames()
    watch = slow.watch(pane.pane, frames, width=80, height=24)
    await frames.wait_for(lambda frame: frame.info.width == 80)
    await tmux.type_bytes(pane.pane, b"k")
    watch.capture_soon()
    await frames.wait_for(lambda frame: plain_text(frame).startswith("k"), within=20)
    await slow.close()


ECHOES = """
import os, tty
tty.setraw(0)
os.write(1, b"READY\\r\\n$ ")
while True:
    os.write(1, os.read(0, 4096))
"""
WRITTEN = (
    *("a", "k", "word", " ", "  ", "жс", "é", "7", "-", "\\", "x" * 70, "\r\n", "\r\n$ ", "\b \b", "\b\x1b[K", "表"),
    *("\x1b[31m", "\x1b[0m", "\x1b[44mx", "\x1b[7mq\x1b[0m", "\x0e", "\x0f", "\x1b(0", "\x1b(B", "\x1b[4h", "\x1b[4l"),
    *("\x1b[3D", "\x1b[1;5H", "\x1b[2J", "\x1b[?7l", "\x1b[?7h", "\x1b[2;9r", "\x1b[r", "\x1b[?25l"),
)


@pytest.mark.parametrize("seed", seeds(3))
async def test_text_that_is_shown_before_a_capture_is_what_tmux_shows(tmux: TmuxServer, seed: int) -> None:
    chance = random.Random(seed)
    pane = await tmux.spawn("gsh-agent-0001", [sys.executable, "-c", ECHOES], cwd=Path("/tmp"), env=ENV)
    mirror, frames, heard = Mirror(tmux, fps=50), Frames(), list[bytes]()
    watch = mirror.watch(pane.pane, frames, width=80, height=24)
    await frames.wait_for_text("READY\n$")
    await on_control(mirror)
    tmux.connection.on_output(pane.pane, heard.append)

    async def told() -> bytes:
        return re.sub(rb"\\([0-7]{3})", lambda octal: bytes((int(octal[1], 8),)), b"".join(heard))

    before_captures = 0
    storm = (chance.choice(WRITTEN[:9] if chance.random() < 0.7 else WRITTEN) for _ in range(60))
    for text in (piece.encode() for piece in (*WRITTEN[:6], *storm)):
        heard.clear()
        count = len(frames.all)
        watch.capture_soon()
        await tmux.type_bytes(pane.pane, text)
        await eventually(told, until=lambda found, text=text: found.endswith(text))
        shown = frames.all[-1] if len(frames.all) > count and len(heard) == 1 else None
        info = tmux.watcher.info(pane.pane)
        assert info is not None
        question = TmuxQuestion(f"capture-pane -peN -t {quoted(pane.pane)}", info.target, BRIEF)
        (reply,) = await tmux.connection.ask([question])
        now, rows = refreshed(reply.about, info), tuple(frame_rows(reply.lines))
        assert now is not None
        if shown is not None and shown.typed:  # what came in parts is whole with the next frame
            before_captures += 1
            assert (shown.lines, shown.info.cursor_x, shown.info.cursor_y) == (rows, now.cursor_x, now.cursor_y), text
        place = now.cursor_x, now.cursor_y
        await frames.wait_for(
            lambda frame, rows=rows, place=place: (
                frame.lines == rows and (frame.info.cursor_x, frame.info.cursor_y) == place
            )
        )
    assert before_captures >= 5, "all but the first of what is typed at first"
    await mirror.close()


async def test_what_cannot_be_seen_is_not_captured_and_is_there_when_shown(tmux: TmuxServer, mirror: Mirror) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    frames = Frames()
    watch = mirror.watch(pane.pane, frames, width=80, height=24)
    await frames.wait_for(lambda frame: frame.info.width == 80)
    watch.set_visible(False)
    count = len(frames.all)
    await tmux.send_keys(pane.pane, "h", "i", "Enter")
    await wait_for_text(tmux, pane.pane, "hi\nhi")
    assert len(frames.all) == count
    watch.set_visible(True)
    frame = await frames.wait_for_text("hi\nhi")
    assert frame.changed == tuple(range(24))  # the tab may have forgotten what it drew


@pytest.mark.parametrize("seen", ["not", "hidden", "shown"])
async def test_the_next_output_is_told_once_and_again_when_asked_again(
    tmux: TmuxServer, mirror: Mirror, seen: str
) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV, width=80, height=24)
    tmux.watcher.watch(pane.pane, lambda _: None)
    if seen != "not":
        mirror.watch(pane.pane, Frames(), width=80, height=24).set_visible(seen == "shown")
    await on_control(mirror)
    told = list[int]()

    async def count() -> int:
        return len(told)

    for times in range(1, 4):
        tmux.watcher.next_output(pane.pane, lambda: told.append(1))
        await tmux.send_keys(pane.pane, "x", "Enter")
        assert await eventually(count, until=lambda number, times=times: number >= times) == times
        await wait_for_text(tmux, pane.pane, "\n".join(["x", "x"] * times))  # what follows is told to nobody
        assert await count() == times
    tmux.watcher.next_output(pane.pane, lambda: told.append(1))()
    await tmux.send_keys(pane.pane, "y", "Enter")
    await wait_for_text(tmux, pane.pane, "y\ny")
    assert await count() == 3, "it was called off"


async def test_history_is_read_on_request(tmux: TmuxServer, mirror: Mirror) -> None:
    pane = await tmux.spawn(
        "gsh-agent-0001", ["sh", "-c", "printf '\\033[31m'; seq 100; exec cat"], cwd=Path("/tmp"), env=ENV, height=10
    )
    frames = Frames()
    watch = mirror.watch(pane.pane, frames, width=160, height=10)
    frame = await frames.wait_for_text("100")
    assert frame.info.history == 91
    assert await watch.read_history(-3, -1) == ["\x1b[31m89", "\x1b[31m90", "\x1b[31m91"]


async def test_the_pane_has_the_size_of_the_tab_that_was_looked_at_last(tmux: TmuxServer, mirror: Mirror) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    small, large = Frames(), Frames()
    first = mirror.watch(pane.pane, small, width=60, height=15)
    await small.wait_for(lambda frame: (frame.info.width, len(frame.lines)) == (60, 15))
    second = mirror.watch(pane.pane, large, width=120, height=40)
    for frames in (small, large):
        await frames.wait_for(lambda frame: (frame.info.width, len(frame.lines)) == (120, 40))
    first.resize(61, 16)
    await large.wait_for(lambda frame: (frame.info.width, len(frame.lines)) == (61, 16))
    second.close()
    first.set_visible(False)
    first.set_visible(True)
    await small.wait_for(lambda frame: (frame.info.width, len(frame.lines)) == (61, 16))


async def test_two_windows_with_different_sizes_do_not_fight(tmux: TmuxServer, mirror: Mirror) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    other_server = TmuxServer(socket_path=tmux.socket_path)
    other = Mirror(other_server, fps=30)
    mine, theirs = Frames(), Frames()
    mirror.watch(pane.pane, mine, width=60, height=15)
    await mine.wait_for(lambda frame: frame.info.width == 60)
    other.watch(pane.pane, theirs, width=100, height=30)
    for frames in (mine, theirs):
        await frames.wait_for(lambda frame: frame.info.width == 100)
    settled = len(mine.all), len(theirs.all)
    # Both go on seeing it, and nobody takes the size back.
    for letter in "abcdef":
        await tmux.send_keys(pane.pane, letter, "Enter")
        for frames in (mine, theirs):
            await frames.wait_for_text(f"{letter}\n{letter}")
    since = mine.all[settled[0] :] + theirs.all[settled[1] :]
    assert {frame.info.width for frame in since} == {100}
    await other.close()
    await other_server.close()


async def test_a_window_that_is_gone_leaves_no_size_behind(tmux: TmuxServer, mirror: Mirror) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    other_server = TmuxServer(socket_path=tmux.socket_path)
    other = Mirror(other_server, fps=30)
    mine, theirs = Frames(), Frames()
    mirror.watch(pane.pane, mine, width=116, height=41)
    await mine.wait_for(lambda frame: frame.info.width == 116)
    other.watch(pane.pane, theirs, width=80, height=14)
    for frames in (mine, theirs):
        await frames.wait_for(lambda frame: (frame.info.width, len(frame.lines)) == (80, 14))
    await on_control(other)  # who goes before they were there is told to nobody
    await other.close()
    await other_server.close()
    await mine.wait_for(lambda frame: (frame.info.width, len(frame.lines)) == (116, 41))


async def test_a_size_that_somebody_left_while_we_were_cut_off_is_put_right(tmux: TmuxServer, mirror: Mirror) -> None:
    """Who comes and goes while our client is lost is told to nobody."""
    pane = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    frames = Frames()
    mirror.watch(pane.pane, frames, width=116, height=41)
    await frames.wait_for(lambda frame: frame.info.width == 116)
    await on_control(mirror)
    (own,) = await tmux.connection.ask(["display-message -p '#{client_pid}'"])

    async def mode() -> str:
        return mirror.mode

    async with server_lock(("-S", str(tmux.socket_path))):
        psutil.Process(int(own.text()[0])).kill()
        await eventually(mode, until=lambda mode: mode != "control")
        await tmux.send_text(pane.pane, "cut off", enter=True)
        await frames.wait_for_text("cut off\ncut off")
        await tmux.resize(pane.pane, 80, 14)
        await frames.wait_for(lambda frame: frame.info.width == 80)
    await frames.wait_for(lambda frame: (frame.info.width, len(frame.lines)) == (116, 41))


async def test_a_person_who_attaches_keeps_their_size_and_the_tab_gets_it_back(
    tmux: TmuxServer, mirror: Mirror
) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    frames = Frames()
    watch = mirror.watch(pane.pane, frames, width=60, height=15)
    await frames.wait_for(lambda frame: frame.info.width == 60)
    async with attached_person(tmux, "gsh-agent-0001", columns=100, rows=30) as terminal:
        await frames.wait_for(lambda frame: (frame.info.width, frame.info.height) == (100, 30))
        watch.resize(70, 20)
        # We type while they do; all of it arrives, and theirs is the size.
        os.write(terminal, b"from the person\r")
        await frames.wait_for_text("from the person\nfrom the person")
        await tmux.send_text(pane.pane, "from the agent", enter=True)
        frame = await frames.wait_for_text("from the agent\nfrom the agent")
        assert frame.info.width == 100
        await frames.wait_for(lambda frame: frame.info.attached == 1)
        await tmux.resize(pane.pane, 50, 10)
        assert (await tmux.pane(pane.pane)).width == 100
    await frames.wait_for(lambda frame: (frame.info.width, frame.info.height, frame.info.attached) == (70, 20, 0))


async def test_fifty_panes_are_all_seen_and_a_flood_among_them_holds_nobody_up(
    tmux: TmuxServer, mirror: Mirror
) -> None:
    async def spawned(number: int) -> PaneInfo:
        argv = ["yes", "flood"] if number == 0 else ["sh", "-c", f"echo I am {number}; exec cat"]
        return await tmux.spawn(f"gsh-agent-{number:04}", argv, cwd=Path("/tmp"), env=ENV)

    panes = [await spawned(number) for number in range(50)]
    seen = [Frames() for _ in panes]
    for pane, frames in zip(panes, seen, strict=True):
        mirror.watch(pane.pane, frames, width=80, height=24)
    await seen[0].wait_for_text("flood\nflood")
    for number in range(1, 50):
        await seen[number].wait_for_text(f"I am {number}\n")
    for number in (7, 23, 49):
        await tmux.send_text(panes[number].pane, f"word for {number}", enter=True)
        frame = await seen[number].wait_for_text(f"word for {number}\nword for {number}")
        assert frame.pane == panes[number].pane
    assert mirror.mode == "control"
    assert len({info.pane for info in await tmux.panes()}) == 50


async def test_a_program_is_never_slowed_down_by_nobody_looking(
    tmux: TmuxServer, mirror: Mirror, tmp_path: Path
) -> None:
    """Output that is held back is thrown away, not dammed up."""
    flood = await tmux.spawn(
        "gsh-agent-0001",
        ["sh", "-c", f"yes | head -c 3000000; touch {tmp_path}/through; exec cat"],
        cwd=tmp_path,
        env=ENV,
    )
    calm = await tmux.spawn("gsh-agent-0002", ["cat"], cwd=tmp_path, env=ENV)
    frames = Frames()
    hidden = mirror.watch(flood.pane, Frames(), width=80, height=24)
    hidden.set_visible(False)
    mirror.watch(calm.pane, frames, width=80, height=24)
    await on_control(mirror)

    async def through() -> bool:
        await asyncio.sleep(0)
        return (tmp_path / "through").exists()

    await eventually(through)


async def test_what_changes_is_told(tmux: TmuxServer) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["sh"], cwd=Path("/tmp"), env=ENV)
    seen: list[PaneChange] = []
    told = asyncio.Event()

    def on_change(change: PaneChange) -> None:
        seen.append(change)
        told.set()

    async def until(what: str) -> PaneChange:
        async with asyncio.timeout(DEADLINE):
            while not (found := [change for change in seen if what in change.what]):
                told.clear()
                await told.wait()
        return found[-1]

    tmux.watcher.watch(pane.pane, on_change)
    await until("first")
    await tmux.send_text(pane.pane, "printf '\\033]2;a|b#{x}\\007'", enter=True)
    assert (await until("title")).info.title == "a|b#{x}"
    for _ in range(2):  # each bell is told, not only the first
        seen.clear()
        await tmux.send_text(pane.pane, "printf '\\a'", enter=True)
        await until("bell")
    await tmux.send_text(pane.pane, "exec cat", enter=True)
    assert (await until("command")).info.command == "cat"
    await tmux.send_keys(pane.pane, "C-c")
    assert (await until("dead")).info.dead
    await tmux.kill_pane(pane.pane)
    assert (await until("gone")).info.session == "gsh-agent-0001"


async def test_a_pane_that_goes_leaves_its_last_picture(tmux: TmuxServer, mirror: Mirror) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["sh", "-c", "echo farewell; exec cat"], cwd=Path("/tmp"), env=ENV)
    frames = Frames()
    mirror.watch(pane.pane, frames, width=80, height=24)
    await frames.wait_for_text("farewell")
    await tmux.kill_pane(pane.pane)
    frame = await frames.wait_for(lambda frame: frame.gone)
    assert frame.info.dead
    assert "farewell" in plain_text(frame)


async def test_a_pane_that_never_was_is_said_to_be_gone(tmux: TmuxServer, mirror: Mirror) -> None:
    await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    frames = Frames()
    mirror.watch("%99", frames, width=80, height=24)
    frame = await frames.wait_for(lambda frame: frame.gone)
    assert frame.lines == ()


# -- the modes ---------------------------------------------------------------------------------------------------------


def control_client(server: TmuxServer) -> psutil.Process:
    """The control client, a child of ours."""
    (found,) = [client for client, words in clients(server) if "-C" in words]
    return found


async def test_the_ladder_falls_when_the_client_ends_and_climbs_again(tmux: TmuxServer, mirror: Mirror) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    steps: list[tuple[str, str]] = []
    mirror.on_mode_change(lambda mode, why: steps.append((mode, why)))
    frames = Frames()
    mirror.watch(pane.pane, frames, width=80, height=24)
    await on_control(mirror)
    first = control_client(tmux)
    first.kill()
    await tmux.send_text(pane.pane, "after the fall", enter=True)
    await frames.wait_for_text("after the fall\nafter the fall")
    await eventually(
        lambda: told_steps(steps), until=lambda told: [mode for mode, _ in told][-2:] == ["chained", "control"]
    )
    assert control_client(tmux).pid != first.pid
    assert "ended" in steps[-2][1]
    await tmux.send_text(pane.pane, "after the climb", enter=True)
    await frames.wait_for_text("after the climb\nafter the climb")
    assert mirror.cost_ms > 0

    async def hidden() -> list[str]:
        names = (await tmux.connection.ask(["list-sessions -F '#{session_name}'"]))[0].text()
        return [name for name in names if name.startswith("gsh-hub-")]

    await eventually(hidden, until=lambda names: len(names) == 1)


async def told_steps(steps: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """What was told, after giving others their turn."""
    await asyncio.sleep(0)
    return steps


async def test_the_lower_rung_alone_shows_everything(
    tmux: TmuxServer, mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    await tmux.version()
    tmux.connection.may_control = False
    pane = await tmux.spawn(
        "gsh-agent-0001", ["sh", "-c", "printf '%%end 1 2 1\\n'; exec cat"], cwd=Path("/tmp"), env=ENV
    )
    frames = Frames()
    watch = mirror.watch(pane.pane, frames, width=70, height=20)
    await frames.wait_for(lambda frame: frame.info.width == 70 and "%end 1 2 1" in plain_text(frame))
    assert mirror.mode == "chained"
    await tmux.send_text(pane.pane, "seen", enter=True)
    watch.capture_soon()
    await frames.wait_for_text("seen\nseen")
    await tmux.kill_pane(pane.pane)
    assert (await frames.wait_for(lambda frame: frame.gone)).info.dead
    assert "older" in tmux.connection.why


async def test_a_server_that_is_killed_is_said_to_be_gone_and_is_found_again(tmux: TmuxServer, mirror: Mirror) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["sh", "-c", "echo before; exec cat"], cwd=Path("/tmp"), env=ENV)
    frames = Frames()
    mirror.watch(pane.pane, frames, width=80, height=24)
    await frames.wait_for_text("before")
    await on_control(mirror)
    (told,) = await tmux.connection.ask(["display-message -p '#{pid}'"])
    psutil.Process(int(told.text()[0])).kill()
    frame = await frames.wait_for(lambda frame: frame.gone)
    assert "before" in plain_text(frame)
    steps: list[tuple[str, str]] = []
    mirror.on_mode_change(lambda mode, why: steps.append((mode, why)))
    assert not await tmux.running()
    with pytest.raises(TmuxError) as raised:
        await tmux.capture(pane.pane)
    assert raised.value.kind == "gone"
    again = await tmux.spawn("gsh-agent-0001", ["sh", "-c", "echo reborn; exec cat"], cwd=Path("/tmp"), env=ENV)
    reborn = Frames()
    mirror.watch(again.pane, reborn, width=80, height=24)
    await reborn.wait_for_text("reborn")
    await on_control(mirror)


async def test_a_stopped_server_makes_the_ladder_fall_and_a_running_one_climb(tmux: TmuxServer, mirror: Mirror) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    frames = Frames()
    mirror.watch(pane.pane, frames, width=80, height=24)
    await frames.wait_for(lambda frame: frame.info.width == 80)
    await on_control(mirror)
    (told,) = await tmux.connection.ask(["display-message -p '#{pid}'"])
    process = psutil.Process(int(told.text()[0]))
    process.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(TmuxError) as raised:
            await tmux.connection.ask(["list-sessions"], deadline=0.2)
        assert raised.value.kind == "timeout"
        assert mirror.mode != "control"
    finally:
        process.send_signal(signal.SIGCONT)
    await on_control(mirror)
    await tmux.send_text(pane.pane, "awake", enter=True)
    await frames.wait_for_text("awake\nawake")


async def test_what_was_typed_into_a_stopped_server_is_never_typed_twice(tmux: TmuxServer, mirror: Mirror) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    frames = Frames()
    mirror.watch(pane.pane, frames, width=80, height=24)
    await on_control(mirror)
    (told,) = await tmux.connection.ask(["display-message -p '#{pid}'"])
    process = psutil.Process(int(told.text()[0]))
    process.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(TmuxError):
            await tmux.connection.ask([f'send-keys -t "{pane.pane}" once Enter'], deadline=0.2, once=True)
    finally:
        process.send_signal(signal.SIGCONT)
    await tmux.send_text(pane.pane, "then", enter=True)
    await frames.wait_for_text("then\nthen")
    assert frames.text.count("once") in (0, 2)


@pytest.mark.parametrize("program", [("cat",), ("yes",)], ids=["quiet", "flood"])
async def test_what_a_killed_hub_leaves_is_cleared_away_by_the_next(
    tmux: TmuxServer, program: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """tmux 3.3 never ends a control client that it had output for when its reader was killed."""
    # However busy the machine: a client that is given up in the end is left to whoever listens next, and nobody does.
    monkeypatch.setattr("gshtui.tmux.control_client._CLOSE_WITHIN", DEADLINE)
    pane = await tmux.spawn("gsh-agent-0001", program, cwd=Path("/tmp"), env=ENV)
    script = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from gshtui.tmux.mirror import Mirror\nfrom gshtui.tmux.server import TmuxServer\n"
        "async def main():\n"
        "    mirror = Mirror(TmuxServer(socket_path=Path(sys.argv[1])))\n"
        "    mirror.on_mode_change(lambda mode, why: print(mode, flush=True))\n"
        "    mirror.watch(sys.argv[2], lambda frame: None, width=80, height=24)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    below: list[psutil.Process] = []
    for _ in range(3):
        hub = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", script, str(tmux.socket_path), pane.pane), stdout=asyncio.subprocess.PIPE
        )
        assert hub.stdout is not None
        async with asyncio.timeout(DEADLINE):
            while (await hub.stdout.readline()).strip() != b"control":
                pass
        below += psutil.Process(hub.pid).children()
        hub.kill()
        await hub.wait()
    assert len(below) >= 3

    async def sessions() -> tuple[str, ...]:
        return (await tmux.connection.ask(["list-sessions -F '#{session_name}'"]))[0].text()

    async def left() -> list[psutil.Process]:
        return running_processes(below)

    mirror = Mirror(tmux)
    mirror.watch(pane.pane, lambda frame: None, width=80, height=24)
    await on_control(mirror)
    assert await eventually(left, until=lambda left: not left) == []
    assert len(await eventually(sessions, until=lambda names: len(names) == 2)) == 2
    assert not (await tmux.pane(pane.pane)).dead
    await mirror.close()
    await tmux.connection.close()
    assert await eventually(sessions, until=lambda names: len(names) == 1) == ("gsh-agent-0001",)
    assert not (await tmux.pane(pane.pane)).dead


async def test_a_hub_that_stands_still_while_it_closes_does_not_take_the_server_along(
    tmux: TmuxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """tmux 3.3 crashes when it looks for subscriptions of a client whose session is gone and that is behind."""
    pane = await tmux.spawn("gsh-agent-0001", ["yes"], cwd=Path("/tmp"), env=ENV)
    client = await ControlClient.connect(("-S", str(tmux.socket_path)), lambda line: None)
    client.subscribe("title", "#{pane_title}")
    await client.ask([f"link-window -d -s {pane.pane} -t ={client.session}:"])
    write = ClientProcess.write
    stood: list[bytes] = []

    def stand_still(process: ClientProcess, data: bytes) -> None:
        ends = b"kill-session" in data
        if ends:
            block_loop(1.0)  # behind, by what fits into the pipe
        write(process, data)
        if ends:
            stood.append(data)
            block_loop(2.2)  # tmux looks each second

    monkeypatch.setattr(ClientProcess, "write", stand_still)
    await client.close()
    assert len(stood) == 1
    assert not (await tmux.pane(pane.pane)).dead


async def test_a_client_whose_hub_lives_is_nobody_to_end(tmux: TmuxServer, mirror: Mirror) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    mirror.watch(pane.pane, lambda frame: None, width=80, height=24)
    await on_control(mirror)
    listing = "list-clients -F '#{client_pid} #{client_session}'"
    (clients,) = await tmux.connection.ask([listing])
    pid, _, session = clients.text()[0].partition(" ")
    assert orphaned_clients(clients.text()) == []
    moved = f"{pid} {session.replace(str(os.getpid()), '1')}"
    assert [process.pid for process in orphaned_clients([moved])] == [int(pid)]
    # A pid that another program has by now, and lines of people's own clients.
    assert orphaned_clients([f"{os.getpid()} {HIDDEN}1-abc", f"{pid} work", f"999999999 {HIDDEN}1-abc", ""]) == []


async def test_a_session_that_a_person_ends_is_ended_although_we_look(tmux: TmuxServer, mirror: Mirror) -> None:
    """We see its window through a session of our own, which would keep it."""
    pane = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    frames = Frames()
    mirror.watch(pane.pane, frames, width=80, height=24)
    await frames.wait_for(lambda frame: frame.info.width == 80)
    await on_control(mirror)
    process = psutil.Process(pane.pid)
    await tmux.connection.ask(["kill-session -t =gsh-agent-0001"])
    await frames.wait_for(lambda frame: frame.gone)

    async def ended() -> bool:
        await asyncio.sleep(0)
        return not running_processes([process])

    await eventually(ended)


async def test_the_server_survives_hubs_and_clients_that_come_and_go(tmux: TmuxServer) -> None:
    """tmux 3.3 crashes when a client goes while a control client is leaving a session made to end with it."""
    pane = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    for _ in range(6):
        server = TmuxServer(socket_path=tmux.socket_path)
        mirror = Mirror(server)
        mirror.watch(pane.pane, lambda frame: None, width=80, height=24)
        await on_control(mirror)
        (told,) = await server.connection.ask(["display-message -p '#{pid}'"])
        process = psutil.Process(int(told.text()[0]))
        process.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(TmuxError):
                await server.connection.ask(["list-sessions"], deadline=0.05)
            closing = asyncio.gather(mirror.close(), server.close())
        finally:
            process.send_signal(signal.SIGCONT)
        await asyncio.gather(closing, tmux.panes(), tmux.running())
    assert (await tmux.pane(pane.pane)).pid == pane.pid


async def test_the_server_survives_hubs_that_come_while_sessions_come_and_go(tmux: TmuxServer) -> None:
    """tmux 3.3 ends when a session is made or ended in the instant in which a control client introduces itself."""
    keep = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)

    async def agents(first: int) -> None:
        server = TmuxServer(socket_path=tmux.socket_path)
        for number in range(first, first + 12):
            pane = await server.spawn(f"gsh-agent-{number:04}", ["cat"], cwd=Path("/tmp"), env=ENV)
            await server.kill_pane(pane.pane)
        await server.close()

    async def hubs() -> None:
        for _ in range(12):
            control = await ControlClient.connect(("-S", str(tmux.socket_path)), lambda note: None)
            await control.close()

    await asyncio.gather(agents(100), agents(200), hubs(), hubs())
    assert (await tmux.pane(keep.pane)).pid == keep.pid
    assert len(await tmux.panes()) == 1
