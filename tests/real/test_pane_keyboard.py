"""What is typed, pasted and pressed arrives as it should, on real tmux, and nothing else happens."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.quoting import command
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError
from tests.kit.tmux import attached_person, eventually, screen_text, tmux, wait_for_text

__all__ = ["tmux"]

ENV = {"PATH": os.environ["PATH"], "HOME": "/tmp"}
RAW = """
import os, sys, tty
tty.setraw(0)
os.write(1, sys.argv[2].encode().decode("unicode_escape").encode() + b"READY")
with open(sys.argv[1], "wb", buffering=0) as file:
    while True:
        data = os.read(0, 65536)
        file.write(data)
        if b"\\x04" in data:
            break
os.write(1, b"\\r\\nEND")
"""


async def raw(tmux: TmuxServer, written: Path, first: str = "") -> PaneInfo:
    """A program that writes every byte of its terminal's input to a file, until C-d."""
    argv = [sys.executable, "-c", RAW, str(written), first]
    pane = await tmux.spawn("gsh-agent-0001", argv, cwd=Path("/tmp"), env=ENV)
    await wait_for_text(tmux, pane.pane, "READY")
    return pane


async def received(tmux: TmuxServer, pane: PaneInfo, written: Path) -> bytes:
    """All that the program got before C-d."""
    await tmux.send_keys(pane.pane, "C-d")
    await eventually(lambda: tmux.pane(pane.pane), until=lambda info: info.dead)
    return written.read_bytes().removesuffix(b"\x04")


async def test_a_paste_of_200_kb_arrives_byte_for_byte(tmux: TmuxServer, tmp_path: Path) -> None:
    text = "".join(f"line {number} é ✓ ; #(x) $HOME \\ \" ' `y` %1 ~\t.\n" for number in range(4500))
    assert len(text.encode()) > 200_000
    got = tmp_path / "got"
    line = f"stty -echo; echo READY; cat > {got}"
    pane = await tmux.spawn("gsh-agent-0001", ["sh", "-c", line], cwd=tmp_path, env=ENV)
    await wait_for_text(tmux, pane.pane, "READY")
    await tmux.send_text(pane.pane, text)
    await tmux.send_keys(pane.pane, "C-d")
    await eventually(lambda: tmux.pane(pane.pane), until=lambda info: info.dead)
    assert got.read_text() == text
    (buffers,) = await tmux.connection.ask(["list-buffers"])
    assert buffers.lines == ()


async def test_a_paste_is_bracketed_where_asked_for_and_cannot_leave_the_bracket(
    tmux: TmuxServer, tmp_path: Path
) -> None:
    pane = await raw(tmux, tmp_path / "got", "\\x1b[?2004h")
    await tmux.send_text(pane.pane, "one\r\ntwo\x1b[201~\rrm -rf /\x03\x04;")
    assert await received(tmux, pane, tmp_path / "got") == b"\x1b[200~one\ntwo[201~\nrm -rf /;\x1b[201~"


async def test_a_paste_is_plain_where_brackets_are_unknown(tmux: TmuxServer, tmp_path: Path) -> None:
    pane = await raw(tmux, tmp_path / "got")
    await tmux.send_text(pane.pane, "-x #{pane_id};", enter=True, enter_delay=0.01)
    assert await received(tmux, pane, tmp_path / "got") == b"-x #{pane_id};\r"


async def test_what_is_typed_is_exact_control_bytes_too(tmux: TmuxServer, tmp_path: Path) -> None:
    pane = await raw(tmux, tmp_path / "got")
    every = bytes(byte for byte in range(256) if byte != 4)
    await tmux.type_bytes(pane.pane, every * 8)
    await tmux.type_bytes(pane.pane, "Enter C-c ; é -l $HOME #(x) ~".encode())
    expected = every * 8 + "Enter C-c ; é -l $HOME #(x) ~".encode()
    assert await received(tmux, pane, tmp_path / "got") == expected


async def test_keys_by_name_are_keys(tmux: TmuxServer, tmp_path: Path) -> None:
    pane = await raw(tmux, tmp_path / "got")
    await tmux.send_keys(
        pane.pane, "Up", "Ctrl+C", "Tab", "shift+tab", "Escape", "Enter", "F5", "a", ";", "-", "BSpace"
    )
    assert await received(tmux, pane, tmp_path / "got") == b"\x1b[A\x03\t\x1b[Z\x1b\r\x1b[15~a;-\x7f"


async def test_one_wrong_key_and_none_is_pressed(tmux: TmuxServer, tmp_path: Path) -> None:
    pane = await raw(tmux, tmp_path / "got")
    with pytest.raises(TmuxError) as raised:
        await tmux.send_keys(pane.pane, "a", "Entr")
    assert raised.value.kind == "refused"
    assert await received(tmux, pane, tmp_path / "got") == b""


async def test_over_the_control_client_as_over_forks(tmux: TmuxServer, tmp_path: Path) -> None:
    pane = await raw(tmux, tmp_path / "got")
    tmux.connection.start()

    async def mode() -> str:
        await asyncio.sleep(0)
        return tmux.connection.mode

    await eventually(mode, until=lambda mode: mode == "control")
    await tmux.send_keys(pane.pane, "C-a", ";")
    await tmux.type_bytes(pane.pane, b"x;\n%end 1 2 1\n")
    await tmux.send_text(pane.pane, "pasted;")
    assert await received(tmux, pane, tmp_path / "got") == b"\x01;x;\n%end 1 2 1\npasted;"


async def test_nothing_is_typed_where_the_program_has_ended(tmux: TmuxServer) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["true"], cwd=Path("/tmp"), env=ENV)
    await eventually(lambda: tmux.pane(pane.pane), until=lambda info: info.dead)
    for call in (tmux.send_text(pane.pane, "x"), tmux.send_keys(pane.pane, "x"), tmux.type_bytes(pane.pane, b"x")):
        with pytest.raises(TmuxError) as raised:
            await call
        assert raised.value.kind == "refused"


async def test_an_agent_that_types_is_heard_while_a_person_reads_the_past(tmux: TmuxServer, tmp_path: Path) -> None:
    """In tmux's copy mode keys would move a cursor there instead of reaching the program."""
    pane = await raw(tmux, tmp_path / "got")
    async with attached_person(tmux, "gsh-agent-0001") as terminal:
        os.write(terminal, b"\x02[")
        await eventually(lambda: tmux.pane(pane.pane), until=lambda info: info.in_mode)
        await tmux.send_keys(pane.pane, "q", "Up", "Enter")
        await tmux.send_text(pane.pane, "text")
        assert not (await tmux.pane(pane.pane)).in_mode
    assert await received(tmux, pane, tmp_path / "got") == b"q\x1b[A\rtext"


async def test_nothing_is_lost_or_typed_twice_while_somebody_enters_copy_mode_again_and_again(
    tmux: TmuxServer, tmp_path: Path
) -> None:
    pane = await raw(tmux, tmp_path / "got")
    tmux.connection.start()

    async def mode() -> str:
        return tmux.connection.mode

    await eventually(mode, until=lambda mode: mode == "control")
    looks = command("copy-mode", "-t", pane.pane)
    for number in range(40):
        typing = tmux.type_bytes(pane.pane, f"{number} ".encode())
        await asyncio.gather(tmux.connection.ask([looks]), typing)
    expected = "".join(f"{number} " for number in range(40)).encode()
    assert await received(tmux, pane, tmp_path / "got") == expected


async def test_twenty_five_pastes_at_once_are_never_crossed(tmux: TmuxServer) -> None:
    panes = [await tmux.spawn(f"gsh-agent-{number:04}", ["cat"], cwd=Path("/tmp"), env=ENV) for number in range(25)]
    await asyncio.gather(
        *(tmux.send_text(pane.pane, f"for {number} only", enter=True) for number, pane in enumerate(panes))
    )
    for number, pane in enumerate(panes):
        await wait_for_text(tmux, pane.pane, f"for {number} only\nfor {number} only")
        assert set((await screen_text(tmux, pane.pane)).split("\n")) == {f"for {number} only"}
