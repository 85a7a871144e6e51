"""The first frame in a real terminal: no key is lost, no flicker, and the terminal is always put back."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gshtui.settings.paths import state_dir
from gshtui.ui.window import first_frame, frame_snapshots
from tests.kit.pty_child import ROOT, PtyChild, frame_child
from tests.kit.storms import combined

ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


@pytest.fixture
def children() -> Iterator[list[PtyChild]]:
    started: list[PtyChild] = []
    yield started
    for child in started:
        child.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "aurora"
    made.mkdir()
    return made


def ran(children: list[PtyChild], child: PtyChild) -> PtyChild:
    children.append(child)
    return child


def test_keys_typed_before_it_is_ready_are_in_the_input_in_order(children: list[PtyChild], folder: Path) -> None:
    said = folder / "said"
    child = ran(children, frame_child(folder, "app", str(said)))
    child.go(b"typed at once, ")
    child.read_until(lambda: ENTER in child.output)
    for word in (b"while ", b"it ", b"was ", b"starting, "):
        child.write(word)
    child.write("größer, ".encode())
    child.write(b"and then done!")
    assert child.wait() == 0
    assert said.read_text() == "typed at once, while it was starting, größer, and then done!"


def test_the_window_takes_over_without_a_flicker_and_puts_the_terminal_back(
    children: list[PtyChild], folder: Path
) -> None:
    child = ran(children, frame_child(folder, "app", str(folder / "said")))
    child.go(b"!")
    assert child.wait() == 0
    assert child.output.count(ENTER) == 1
    assert b"\x1b[2J" not in child.output and b"\x1b[J" not in child.output
    assert child.output.count(LEAVE) == 1
    assert b"\x1b[?25h" in child.output.partition(LEAVE)[2]
    assert child.attributes() == child.before


def test_the_second_start_paints_what_the_first_one_showed(children: list[PtyChild], folder: Path) -> None:
    first = ran(children, frame_child(folder, "app", str(folder / "said")))
    first.go()
    # The cursor stands on the first letter of the input's hint.
    first.read_until(lambda: b"sk for anything" in first.output and b"palette" in first.output)
    first.write(b"\x11")
    assert first.wait() == 0
    kept, _ = first_frame.snapshot(str(folder), 100, 30)
    assert b"sk for anything" in kept and b"aurora" in kept
    second = ran(children, frame_child(folder, "wait", str(folder / "there")))
    second.go()
    written = kept.replace(b"\n", b"\r\n")  # as the terminal's line discipline does
    second.read_until(lambda: (folder / "there").exists() and written in second.output)
    third = ran(children, frame_child(folder, "wait", str(folder / "there"), first_frame.LOADING))
    third.go()
    third.read_until(lambda: written in third.output and first_frame.LOADING.encode() in third.output)


def test_what_was_being_typed_is_not_in_the_snapshot(children: list[PtyChild], folder: Path) -> None:
    child = ran(children, frame_child(folder, "app", str(folder / "said")))
    child.go(b"secret words!")
    assert child.wait() == 0
    assert b"secret" not in first_frame.snapshot(str(folder), 100, 30)[0]


def test_a_start_that_fails_puts_the_terminal_back(children: list[PtyChild], folder: Path) -> None:
    child = ran(children, frame_child(folder, "fail"))
    child.go()
    assert child.wait() == 1
    assert child.output.count(ENTER) == child.output.count(LEAVE) == 1
    assert child.attributes() == child.before


def test_a_fault_in_the_window_is_reported_on_a_terminal_that_is_put_back(
    children: list[PtyChild], folder: Path
) -> None:
    child = ran(children, frame_child(folder, "break"))
    child.go()
    assert child.wait() == 3
    assert b"Traceback" not in child.output and b"locals" not in child.output
    assert child.output.partition(LEAVE)[2].endswith(b"reported: a fault in the window\r\n")
    assert child.attributes() == child.before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_start_that_is_killed_puts_the_terminal_back(
    children: list[PtyChild], folder: Path, number: signal.Signals
) -> None:
    child = ran(children, frame_child(folder, "wait", str(folder / "there")))
    child.go()
    child.read_until((folder / "there").exists)
    os.kill(child.pid, number)
    assert child.wait() == -number
    assert child.output.endswith(LEAVE + b"\x1b[?25h")
    assert child.attributes() == child.before


STARTS = """\
import os, sys, termios
from gshtui.cli import entry

def starts(*_):
    print("echo", bool(termios.tcgetattr(0)[3] & termios.ECHO), flush=True)
    exec(sys.argv[1])
    return 0

entry._window = entry._command = starts
entry.main(sys.argv[2:])
"""


@pytest.mark.parametrize(
    ("ends", "arguments"),
    combined(
        ["", "raise SystemExit(3)", "raise KeyboardInterrupt", *(f"os.kill(os.getpid(), {one})" for one in (3, 15))],
        [[], ["-c"], ["--model", "opus"]],
    ),
)
def test_what_is_typed_while_a_window_loads_is_not_echoed(
    children: list[PtyChild], folder: Path, arguments: list[str], ends: str
) -> None:
    child = ran(children, PtyChild([sys.executable, "-c", STARTS, ends, *arguments], folder))
    child.go()
    child.wait()
    assert b"echo False" in child.output
    assert child.attributes() == child.before


STOPS = """\
import os, signal, sys, termios

def shown(*words):
    print(*words, bool(termios.tcgetattr(0)[3] & termios.ECHO), flush=True)

signal.signal(signal.SIGTTOU, signal.SIG_IGN)
child = os.fork()
if not child:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.executable, [sys.executable, "-c", *sys.argv[1:]])
stopped = os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1])
shown("stopped", stopped)
os.kill(child, signal.SIGCONT)
os.waitpid(child, 0)
shown("ended")
"""


def test_ctrl_z_while_a_window_loads_leaves_the_shell_its_echo(children: list[PtyChild], folder: Path) -> None:
    stops = f"os.kill(os.getpid(), {signal.SIGTSTP:d}); print('again', bool(termios.tcgetattr(0)[3] & termios.ECHO))"
    child = ran(children, PtyChild([sys.executable, "-c", STOPS, STARTS, stops], folder))
    child.go()
    child.wait()
    shown = [line.strip() for line in child.output.decode().splitlines()]
    assert shown[-4:] == ["echo False", "stopped True True", "again False", "ended True"]


@pytest.mark.parametrize("arguments", [["--help"], ["prompt", "hi"], ["--model", "opus", "prompt"], ["-p"]])
def test_what_opens_no_window_leaves_the_terminal_alone(
    children: list[PtyChild], folder: Path, arguments: list[str]
) -> None:
    child = ran(children, PtyChild([sys.executable, "-c", STARTS, "", *arguments], folder))
    child.go()
    child.wait()
    assert b"echo True" in child.output


@pytest.mark.parametrize("keys", [b"\x03", b"\x1c\x1a\x03"])
def test_ctrl_c_alone_while_it_starts_interrupts_and_puts_the_terminal_back(
    children: list[PtyChild], folder: Path, keys: bytes
) -> None:
    child = ran(children, frame_child(folder, "wait", str(folder / "there")))
    child.go()
    child.read_until((folder / "there").exists)
    child.write(keys)
    child.wait()
    assert LEAVE in child.output
    assert child.attributes() == child.before


@pytest.mark.parametrize(("name", "value"), [("TERM", "dumb"), ("TEXTUAL_DRIVER", "some:Driver")])
def test_no_frame_where_none_can_be_shown(
    children: list[PtyChild], folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    child = ran(children, frame_child(folder, "none"))
    child.go()
    assert child.wait() == 0
    assert b"nothing" in child.output and ENTER not in child.output


def test_no_frame_without_a_terminal(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.kit.frame_child", "none"], cwd=ROOT, capture_output=True, timeout=20, check=True
    )
    assert (done.stdout, done.stderr) == (b"nothing\n", b"")


def test_it_knows_the_state_folder_as_the_rest_does(monkeypatch: pytest.MonkeyPatch) -> None:
    assert first_frame.state_folder() == str(state_dir())
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert first_frame.state_folder() == str(state_dir())
    monkeypatch.delenv("XDG_STATE_HOME")
    assert first_frame.state_folder() == str(state_dir())


def test_a_snapshot_of_another_size_folder_or_format_is_none() -> None:
    frame_snapshots.save_frame("/src/a", (80, 24), first_frame.FORMAT + b"80x24\nframe")
    assert first_frame.snapshot("/src/a", 80, 24)[0] == b"frame"
    assert first_frame.snapshot("/src/b", 80, 24)[0] == b""
    assert first_frame.snapshot("/src/a", 81, 24)[0] == b""
    frame_snapshots.save_frame("/src/a", (80, 24), b"something else\nframe")
    assert first_frame.snapshot("/src/a", 80, 24)[0] == b""


def test_a_snapshot_that_is_a_link_is_none(tmp_path: Path) -> None:
    frame_snapshots.save_frame("/src/a", (80, 24), first_frame.FORMAT + b"80x24\nframe")
    kept = next((state_dir() / "frames").iterdir())
    target = tmp_path / "elsewhere"
    kept.rename(target)
    kept.symlink_to(target)
    assert first_frame.snapshot("/src/a", 80, 24)[0] == b""


def test_only_so_many_snapshots_are_kept() -> None:
    for number in range(frame_snapshots.KEPT + 5):
        frame_snapshots.save_frame(f"/src/{number}", (80, 24), b"x")
    assert len(list((state_dir() / "frames").iterdir())) == frame_snapshots.KEPT
    frame_snapshots.forget_frames()
    assert list((state_dir() / "frames").iterdir()) == []
