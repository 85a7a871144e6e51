"""A person's terminal over SSH: the editor of lines, programs that get the screen, and what is longer than any line."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import asyncssh
import psutil
import pytest

from gshtui.features.ssh.person_terminal import LONGEST_LINE, LONGEST_TYPED, MOST_UNREAD
from tests.kit.door import Visitor, at_terminal, door_for, visit
from tests.kit.pty_child import PtyChild
from tests.kit.tmux import eventually


async def test_vim_opens_in_the_person_s_terminal_and_the_shell_is_back_afterwards(tmp_path: Path) -> None:
    async with door_for(tmp_path, bo="all") as door:
        await asyncio.to_thread(_edit, door.terminal("bo"))
        assert (tmp_path / "x.py").read_text() == "print('hello')\n"


def _edit(child: PtyChild) -> None:
    try:
        child.read_until(lambda: b":lobby" in child.output)
        child.write(b"vim path=/shared/project/x.py\r")
        child.read_until(lambda: b"x.py" in child.output and b"~" in child.output)
        child.output = b""
        child.resize(70, 20)
        child.read_until(lambda: b"\x1b[20;" in child.output and b"All" in child.output)
        child.write(b":set lines? columns?\r")
        child.read_until(lambda: b"columns=70" in child.output)
        assert b"lines=20" in child.output
        child.write(b"\riprint('hello')\x1b:wq\r")
        child.read_until(lambda: child.output.rstrip().endswith(b":lobby>"))
        child.output = b""
        child.write(b"who\r")
        child.read_until(lambda: b"(you)" in child.output)
        child.write(b"vim path=/shared/project/../x\r")
        child.read_until(lambda: b"has .. in it" in child.output)
        child.write(b"exit\r")
        assert child.wait() == 0
    finally:
        child.close()


async def test_what_a_terminal_sends_besides_letters_is_not_typed_and_a_paste_is_not_sent(tmp_path: Path) -> None:
    async with (
        door_for(tmp_path, amy="talk", bo="talk") as door,
        at_terminal(door, "amy") as amy,
        visit(door, "bo") as bo,
    ):
        amy.process.stdin.write("\x1b[<64;10;12M\x1b]11;rgb:1/1/1\x07\x1b[1;1:3A\x1b[97;1:3u\x1b[200~say one\r")
        amy.process.stdin.write("two\x1b[201~ می\u200cخو c\u00a0d\x1b[Dx\n")
        assert "one two می\u200cخو c\u00a0xd" in await bo.until("xd")


async def test_exec_is_somebody_s_who_may_do_anything_and_needs_no_terminal(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    async with door_for(tmp_path, amy="talk", bo="all") as door, visit(door, "bo") as bo, visit(door, "amy") as amy:
        said = await bo.run('exec cmd="pwd; exit 3" dir=/shared/project/sub')
        assert str(tmp_path / "sub") in said and "It ended with 3." in said
        assert "needs a terminal" in await bo.run("vim path=/shared/project/x.py")
        for line in ("exec cmd=id", "vim path=x", "workbench"):
            assert "You may not" in await amy.run(line)


async def test_the_whole_window_opens_for_who_may_do_anything(tmp_path: Path) -> None:
    async with door_for(tmp_path, amy="talk", bo="all") as door:
        await asyncio.to_thread(_workbench, door.terminal("bo", "workbench", columns=120))
        with contextlib.closing(door.terminal("amy", "workbench")) as guest:
            await asyncio.to_thread(guest.wait)
            assert b"You may not open the workbench" in guest.output


def _workbench(child: PtyChild) -> None:
    try:
        child.read_until(lambda: b"\x1b[?1049h" in child.output and b"main" in child.output)
        child.write(b"\x11")
        assert child.wait() == 0
        assert b"\x1b[?1049l" in child.output
    finally:
        child.close()


async def test_a_program_ends_with_the_connection(tmp_path: Path) -> None:
    async with door_for(tmp_path, bo="all") as door, visit(door, "bo") as other:
        async with at_terminal(door, "bo") as bo:
            number = await _sleeper(bo)
            bo.process.channel.get_connection().abort()
        await eventually(lambda: _exists(number), until=lambda there: not there)
        assert "bo" in await other.run("who")


async def _exists(number: int) -> bool:
    return psutil.pid_exists(number)


async def test_ctrl_c_goes_to_the_program_and_a_killed_one_leaves_a_usable_screen(tmp_path: Path) -> None:
    async with door_for(tmp_path, bo="all") as door, at_terminal(door, "bo") as bo:
        number = await _sleeper(bo)
        bo.process.stdin.write("\x03")
        assert "It ended with 130." in await bo.until("lobby> ")
        assert not psutil.pid_exists(number)
        os.kill(await _sleeper(bo), signal.SIGKILL)
        assert "\x1b[?25h" in await bo.until("It ended with 137.")


async def _sleeper(bo: Visitor) -> int:
    """Run a program that sleeps; returns its pid."""
    bo.process.stdin.write("exec cmd=\"trap '' HUP; echo pid $$.; exec sleep 1000\"\n")
    await bo.until("\npid ")
    return int((await bo.until("."))[:-1])


@pytest.mark.parametrize("has_terminal", [False, True])
async def test_a_line_of_ten_megabytes_is_refused_and_the_next_one_runs(tmp_path: Path, has_terminal: bool) -> None:
    async with door_for(tmp_path, amy="talk") as door, door.connect("amy") as connection:  # noqa: SIM117
        async with connection.create_process(
            term_type="xterm" if has_terminal else None, stderr=asyncssh.STDOUT
        ) as process:
            amy = Visitor(process)
            if has_terminal:
                await amy.until(":lobby> ")
            process.stdin.write("say " + "x" * 10_000_000 + "\necho done\n")
            said = await amy.until("was not run")
            assert f"longer than {LONGEST_TYPED if has_terminal else LONGEST_LINE:,}" in said
            await amy.until("done\r\n" if has_terminal else "done\n")


async def test_messages_appear_above_what_is_being_typed(tmp_path: Path) -> None:
    async with (
        door_for(tmp_path, amy="talk", bo="talk") as door,
        visit(door, "bo") as bo,
        at_terminal(door, "amy") as amy,
    ):
        amy.process.stdin.write("say half a")
        await amy.until("half a")
        await bo.run("say over there")
        seen = await amy.until("half a")
        assert "\x1b[J" in seen and "over there" in seen and ":lobby> " in seen, "the line is drawn anew"
        amy.process.stdin.write(" line\n")
        assert "half a line" in await bo.until("line")


async def test_others_see_that_somebody_types_until_it_is_said(tmp_path: Path) -> None:
    async with (
        door_for(tmp_path, amy="talk", bo="talk") as door,
        at_terminal(door, "bo") as bo,
        at_terminal(door, "amy") as amy,
    ):
        amy.process.stdin.write("say h")
        assert "amy types)> " in await bo.until("types)> ")
        amy.process.stdin.write("i\n")
        await bo.until("hi")
        assert "types" not in await bo.until("lobby> ")


async def test_who_does_not_read_is_let_go_and_delays_nobody(tmp_path: Path) -> None:
    """Their half of the connection stays open, so that only the server can see to it."""
    async with (
        door_for(tmp_path, amy="talk", bo="all") as door,
        visit(door, "bo") as bo,
        door.connect("amy") as connection,
        connection.create_process(window=64 * 1024, stderr=asyncssh.STDOUT) as process,
    ):
        amy = Visitor(process, has_terminal=False)
        await amy.run("pwd")
        process.channel.pause_reading()
        text = "x" * 49_000
        for number in range(MOST_UNREAD // len(text) + 10):
            assert "Said in lobby" in await bo.run(f"say {text}{number}")
        process.channel.resume_reading()
        async with asyncio.timeout(30):
            assert len(await process.stdout.read()) < MOST_UNREAD
        assert "bo" in await bo.run("who")
