"""Terminal tabs on a real tmux: what a program prints is shown, what is typed arrives, and nothing else does."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from textual import events
from textual.geometry import Offset
from textual.pilot import Pilot

from gshtui.tmux.server import TmuxServer
from gshtui.ui.kit.widget_messages import OpenTerminal
from gshtui.ui.terminal.terminal_pane import TerminalPane
from gshtui.ui.terminal.terminal_view import TerminalView
from tests.kit.terminal_agents import TerminalAgents, TerminalWindow, wait_for_text, wait_until
from tests.kit.tmux import end_server, tmux

__all__ = ["tmux"]

RAW = """
import os, sys, termios, tty
tty.setraw(0)
os.write(1, b"\\x1b[?1049h\\x1b[?1002h\\x1b[?1006h\\x1b[?2004h\\x1b[2J\\x1b[Hready")
seen = b""
while not seen.endswith(b"q"):
    seen += os.read(0, 4096)
    os.write(1, b"\\x1b[2J\\x1b[H" + seen.replace(b"\\x1b", b"^").replace(b"\\r", b"$").replace(b"\\n", b"%") + b"|")
os.write(1, b"\\x1b[?1049l\\x1b[?1002l")
sys.exit(3)
"""
"""A full-screen program that wants mouse and bracketed pastes, and shows the bytes that it gets."""

HOSTILE = (
    "import sys;sys.stdout.write('start\\x1b]52;c;aGVsbG8=\\x07\\x1b]0;#(touch x)\\x07\\x1bPq#0~\\x1b\\\\"
    "\\x1b]8;;http://x.example\\x07link\\x1b]8;;\\x07 \\u202eevil \\x9b31mred%end 1 1 1\\n%output %1 x\\nend');"
    "sys.stdout.flush();sys.stdin.read()"
)


@asynccontextmanager
async def opened(
    server: TmuxServer, home: Path, *argv: str, size: tuple[int, int] = (110, 36)
) -> AsyncGenerator[tuple[Pilot[int], TerminalWindow, TerminalView]]:
    """A window with the tab of an agent that runs this."""
    agents = TerminalAgents(server, home)
    await agents.spawn(*argv)
    app = TerminalWindow(agents)
    async with app.run_test(size=size) as pilot:
        yield pilot, app, await app.open(pilot)


def words(view: TerminalView) -> str:
    """The line below the terminal."""
    pane = view.query_ancestor(TerminalPane)
    return str(pane.query_one(".terminal-status").render())


async def test_a_shell_is_shown_and_typed_into(tmux: TmuxServer, tmp_path: Path) -> None:
    async with opened(tmux, tmp_path, "sh", "-i") as (pilot, _app, view):
        await wait_for_text(pilot, view, "$")
        await pilot.press("enter")
        assert view.typing
        await pilot.press(*"echo hi-$((40+2)); stty size", "enter")
        await wait_until(
            pilot, lambda: (now := view.picture.info) is not None and (now.width, now.height) == view.text_size
        )
        await wait_for_text(pilot, view, "hi-42")
        await pilot.press("up", "enter")
        await wait_for_text(pilot, view, f"{view.text_size.height} {view.text_size.width}")
        await pilot.press("ctrl+right_square_bracket")
        assert not view.typing
        await wait_until(pilot, lambda: "live" in words(view), lambda: words(view))


async def test_every_byte_of_keys_pastes_and_mouse_arrives(tmux: TmuxServer, tmp_path: Path) -> None:
    async with opened(tmux, tmp_path, RAW, size=(200, 50)) as (pilot, app, view):
        await wait_for_text(pilot, view, "ready")
        await wait_until(pilot, lambda: (now := view.picture.info) is not None and now.alternate and now.mouse_sgr)
        await wait_until(pilot, lambda: "full-screen program" in words(view), lambda: words(view))
        await pilot.press("enter", *"aé;", "enter", "ctrl+c", "up", "alt+x", "shift+tab", "escape", "backspace")
        await wait_until(pilot, lambda: view.seen().endswith("|"), view.seen)
        view.post_message(events.Paste("one\r\ntwo\x1b[201~;"))
        await wait_for_text(pilot, view, "^[200~one%two[201~;^[201~")
        at = view.region.offset + Offset(4, 2)
        app.post_message(events.MouseScrollUp(None, at.x, at.y, 0, 0, 0, False, False, False, at.x, at.y))
        await wait_for_text(pilot, view, "^[<64;5;3M")
        await pilot.press("q")
        await wait_until(pilot, lambda: view.picture.info is not None and view.picture.info.dead)
        await wait_until(pilot, lambda: "Exited with status 3" in words(view), lambda: words(view))
        assert not view.typing
        assert app.query_one(TerminalPane).check_action("attach", ()) is False, "there is nothing to attach to"


async def test_nothing_of_a_hostile_program_is_obeyed(tmux: TmuxServer, tmp_path: Path) -> None:
    async with opened(tmux, tmp_path, HOSTILE) as (pilot, app, view):
        seen = await wait_for_text(pilot, view, "start", "link", "%end 1 1 1", "%output %1 x", "end")
        assert "\x1b" not in seen and "\x9b" not in seen and "\u202e" not in seen
        assert app.clipboard == ""
        assert not (tmp_path / "x").exists()


async def test_the_past_is_all_there(tmux: TmuxServer, tmp_path: Path) -> None:
    async with opened(tmux, tmp_path, "sh", "-c", "seq 1 5000; sleep 60") as (pilot, _app, view):
        await wait_for_text(pilot, view, "5000")
        await pilot.press("g")
        await wait_until(pilot, lambda: view.picture.past is not None and view.picture.past.complete)
        assert view.seen().splitlines()[0] == "1"
        past = view.picture.past
        assert past is not None
        numbers = [word for word in past.text(0, past.total) if word]
        assert numbers == [str(number) for number in range(1, 5001)]
        await pilot.press("slash", *"4321", "escape")
        await wait_until(pilot, lambda: view.picture.past is None)


async def test_the_past_of_a_program_that_goes_on(tmux: TmuxServer, tmp_path: Path) -> None:
    program = "stty -echo; seq -f 'line %g' 1 3000; while read more; do seq -f 'line %g' $more; done"
    async with opened(tmux, tmp_path, "sh", "-c", program) as (pilot, app, view):
        await wait_for_text(pilot, view, "line 3000")
        await pilot.press("k")
        await wait_until(pilot, lambda: view.picture.past is not None and len(view.picture.past.lines) > 1_000)
        pane = app.agents.rows["0001"].pane
        await tmux.type_bytes(pane, b"3001 3700\r")
        await wait_until(pilot, lambda: view.picture.frame is not None and "line 3700" in view.picture.frame.lines)
        await pilot.press("g")
        await wait_until(pilot, lambda: view.picture.past is not None and view.picture.past.complete)
        assert view.picture.past is not None
        words = [word for word in view.picture.past.text(0, view.picture.past.total) if word]
        assert words == [f"line {number}" for number in range(1, 3_001)], "not one is missing or there twice"
        await pilot.press("G")
        await wait_for_text(pilot, view, "line 3700")


async def test_a_firehose_is_not_felt_in_the_input(tmux: TmuxServer, tmp_path: Path) -> None:
    async with opened(tmux, tmp_path, "yes", "all work and no play") as (pilot, app, view):
        await wait_for_text(pilot, view, "no play\nall work")
        await pilot.press("escape")
        await pilot.press(*"still here")
        assert app.bench.input.text == "still here"
        first = view.picture.frame.seq if view.picture.frame is not None else 0
        await wait_until(
            pilot, lambda: (now := view.picture.frame) is not None and now.seq > first, lambda: "no frame more"
        )


async def test_an_agent_that_is_ended_by_others(tmux: TmuxServer, tmp_path: Path) -> None:
    async with opened(tmux, tmp_path, "sh", "-c", "echo last words; sleep 60") as (pilot, app, view):
        await wait_for_text(pilot, view, "last words")
        await tmux.kill_pane(app.agents.rows["0001"].pane)
        await wait_until(pilot, lambda: "The terminal was closed" in words(view), lambda: words(view))
        assert "last words" in view.seen()


async def test_a_server_that_is_killed_leaves_the_last_pictures(tmux: TmuxServer, tmp_path: Path) -> None:
    argv = ("sh", "-c", "echo last words; sleep 60")
    async with opened(tmux, tmp_path, *argv, size=(200, 50)) as (pilot, _app, view):
        await wait_for_text(pilot, view, "last words")
        assert tmux.socket_path is not None
        end_server(tmux.socket_path)
        await wait_until(pilot, lambda: "The terminal was closed" in words(view), lambda: words(view))
        assert "last words" in view.seen()
        await pilot.press("enter")
        assert not view.typing


async def test_the_shared_shell_by_its_key(tmux: TmuxServer, tmp_path: Path) -> None:
    agents = TerminalAgents(tmux, tmp_path)
    app = TerminalWindow(agents)
    async with app.run_test(size=(110, 36)) as pilot:
        view = await app.open(pilot, OpenTerminal.SHARED)
        await wait_for_text(pilot, view, "$")
        await pilot.press("alt+1")
        await pilot.press("f9")
        await wait_until(pilot, lambda: app.screen.focused is view)
        assert len(app.screen.query(TerminalPane)) == 1
        await pilot.press("enter", *"exit 4", "enter")
        await wait_until(pilot, lambda: "Exited with status 4" in words(view), lambda: words(view))


async def test_a_large_paste_arrives_whole(tmux: TmuxServer, tmp_path: Path) -> None:
    out = tmp_path / "out"
    async with opened(tmux, tmp_path, "sh", "-c", f"cat > {out}") as (pilot, _app, view):
        text = "".join(f"line {number} with é and 字\n" for number in range(8_000))
        await pilot.press("enter")
        view.post_message(events.Paste(text))
        await wait_until(pilot, lambda: out.exists() and len(out.read_bytes()) == len(text.encode()))
        assert out.read_text() == text
        assert view.connection.failed == ""
