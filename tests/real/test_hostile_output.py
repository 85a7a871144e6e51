"""The whole window in a pty, fed with text that would drive a terminal: what it writes is what its driver writes."""

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gshtui.guard.approval.answer_keys import PAUSE, READ
from tests.kit.command import command, environment, run_gsh
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say, Spent, Think
from tests.kit.pty_child import WarmPtyChild

MARK = "31337"
"""Stands in each sequence that is fed in, and in nothing that the driver writes."""
SEQUENCES = (
    *(f"\x1b]2;{MARK}\x07", f"\x1b]52;c;{MARK}\x1b\\", f"\x1b]8;;http://x/\x1b[{MARK}m\x1b\\", f"\x1b[{MARK}m"),
    *(f"\x1b[{MARK};1H", f"\x1b[?{MARK}h", "\x1b[2J\x1b[3J", "\x1bc", f"\x1bP{MARK}q\x1b\\", f"\x1b_G{MARK}\x1b\\"),
    *(f"\x9b{MARK}m", f"\x9d52;c;{MARK}\x9c", "\x90q\x9c", "\x0e\x0f\x05\x07\b\b", "a\rb\x0b\x0c", "\x7f\x00"),
    *(
        "\u202egnp.exe\u2066",
        "\u2028line\u2029",
        f"\x1b[{MARK}",
        f"\x1b]0;{MARK}",
        "\ud83d\x1b",
        "[/] [@click=app.quit]",
    ),
)
TEXT = " ".join(f"w{number} {text}" for number, text in enumerate(SEQUENCES)).encode("utf-8", "replace").decode()
COMMANDS = (
    *("/python", "/who", "/approvals", "/session ls", f"/say {TEXT}", f"/search {TEXT}", f"/read {TEXT}"),
    *(f"/agents {TEXT}", "/context", "/timeline", "/todo", "/memory", "/usage", "/calls", f"/help {TEXT}", "/whatif"),
)
"""What shows the conversation's texts in other places, or gets them from the person."""
FENCED = TEXT.replace("\n", " ")
UNASKED = TEXT.replace("\x00", "")
"""No program can be given a zero byte, so such a call is refused and never asked about."""
ANSWER = (
    f"# {TEXT}\n\n{TEXT}\n\n- {TEXT}\n\n```python\n{FENCED}\n```\n\n| {TEXT} | b |\n|-|-|\n| {TEXT} | c |\n\n"
    f"[a {TEXT} link](http://x/{FENCED}) and <http://x/{FENCED}> `{FENCED}` **{TEXT}**\n\n$ {TEXT}\n"
)
ALLOWED = re.compile(
    # colours, places, modes, questions; the pointer's shape, the title
    r"\x1b\[(?:[0-9;:]*m|(?:[0-9]+;[0-9]+)?H|[?>=<]?[0-9;]*(?:\$?[hlpcun]|q|t|J|K))"
    r"|\x1b[=>78]|\x1b\]22;[a-z]+\x07|\x1b\]2;[^\x00-\x1f\x7f-\x9f]*\x07|\x1bP\+q[0-9a-f;]*\x1b\\|\x1b_Gi=[^\x00-\x1f\x7f-\x9f]*\x1b\\|\r|\n"
)
OBEYED = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def foreign(output: bytes) -> list[str]:
    """Whatever a terminal would obey in the output and the driver does not write."""
    text = output.decode("utf-8", "replace")
    found = [match.group() for match in ALLOWED.finditer(text) if MARK in match.group()]
    rest = re.sub(r"\x1b\[?[0-9;]*\Z", "", ALLOWED.sub("", text))  # it may be ended in the middle of one
    return found + [rest[max(0, m.start() - 20) : m.end() + 30] for m in OBEYED.finditer(rest)]


@pytest.fixture
def folder(home: Home) -> Path:
    """A project whose names and files are hostile."""
    made = home.path / "pro\x1b]2;31337\x07ject\u202e"
    made.mkdir()
    (made / "notes.txt").write_text(TEXT)
    (made / f"name-\x1b[{MARK}m-\u202ex").write_text("x")
    return made


async def test_nothing_of_a_hostile_text_reaches_the_terminal(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = [
        [Think(TEXT), Say(ANSWER), Call("read", {"path": "notes.txt"}), Spent(900, 20)],
        [Say(TEXT), Call("glob", {"pattern": "*"}), Call(f"no{TEXT}", {TEXT: TEXT}), Spent(900, 20)],
        [
            Say("Changed."),
            Call("write", {"path": "new.txt", "content": TEXT.replace("\x00", "")}),
            Call("todo", {"action": "add", "task": TEXT}),
            Call("remember", {"key": "k", "content": TEXT}),
            Call("python", {"code": f"w0 = {TEXT!r}\nprint(w0)\n[{{'a': w0, w0: 1}}]"}),
            Spent(900, 20),
        ],
        [Say("Now a question."), Call("bash", {"command": f"printf '{UNASKED}'"}), Spent(900, 20)],
        [Say(f"{ANSWER}\n\nall said"), Spent(900, 20)],
    ]
    async with loopback("anthropic", script) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        output = await asyncio.to_thread(drive, folder)
    for said in ("w0", "31337", "all said", "Said in lobby", "Python 3.", "tasks 0/1"):  # it was shown, as what it is
        assert said.encode() in output, said
    assert not foreign(output)


async def test_nothing_of_it_is_printed_by_a_turn_without_a_window(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by what `gsh-tui prompt` streams, and not by what it asks."""
    script = [
        [Think(TEXT), Say(ANSWER), Call("read", {"path": "notes.txt"}), Spent(900, 20)],
        [Say(TEXT), Call(f"no{TEXT}", {TEXT: TEXT}), Call("bash", {"command": f"printf '{UNASKED}'"}), Spent(900, 20)],
        [Say(f"{ANSWER}\n\nall said"), Spent(900, 20)],
    ]
    async with loopback("anthropic", script) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        prompted = await asyncio.to_thread(printed, folder, "prompt", f"go {UNASKED}", answer=b"4\r")
    assert b"all said" in prompted and MARK.encode() in prompted
    assert not foreign(prompted)


@pytest.mark.parametrize(
    "line",
    [
        ["run", "ls"],
        ["run", "cat notes.txt"],
        ["run", "grep pattern=w0"],
        ["run", f"echo message={json.dumps(TEXT)}"],
        ["run", f"read {UNASKED}"],
        ["config", "path"],
        ["guard", "check", UNASKED],
    ],
    ids=["ls", "cat", "grep", "echo", "read", "path", "check"],
)
def test_no_command_prints_what_a_terminal_obeys(home: Home, folder: Path, line: list[str]) -> None:
    output = printed(folder, *line)
    assert output.strip() and not foreign(output)


@pytest.mark.parametrize("flags", [[], ["--json"]], ids=["text", "json"])
async def test_nothing_goes_into_a_pipe_that_a_terminal_behind_it_obeys(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str]
) -> None:
    """`gsh-tui prompt … | tee log`; what is only not seen stays, and a file gets all of it."""
    controls = "".join(map(chr, (*range(1, 9), *range(11, 32), *range(127, 160))))
    answer = f"{controls} {TEXT} \u200b\u0627\u200f é"
    words, kept = ["prompt", *flags, "go"], home.path / "out"

    def into_a_file() -> None:
        with kept.open("wb") as file:
            subprocess.run(command(words), cwd=folder, env=environment(), stdout=file, timeout=30, check=True)

    async with loopback("anthropic", [[Say(answer)]] * 2) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        piped = await asyncio.to_thread(run_gsh, *words, cwd=folder)
        await asyncio.to_thread(into_a_file)
    assert piped.code == 0, piped.err
    assert not re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", piped.out + piped.err)
    assert "app.quit" in piped.out and "\u200b\u0627\u200f é" in piped.out
    if flags:
        assert piped.lines[-1]["text"].strip() == answer.strip()  # data is the same, however it is written
    else:
        assert kept.read_bytes().decode().rstrip("\n") == answer


def printed(folder: Path, *words: str, answer: bytes = b"") -> bytes:
    """What a command writes to its terminal until it ends; `answer`: what is typed once it asks about `printf`."""
    with contextlib.closing(WarmPtyChild(words, folder, columns=110, rows=40)) as child:
        child.go()
        if answer:
            child.read_until(lambda: b"printf" in child.output)
            counts = time.monotonic() + READ + PAUSE
            child.read_until(lambda: time.monotonic() > counts)  # no key counts before
            child.write(answer)
        child.wait()
        return child.output


def drive(folder: Path) -> bytes:
    """Ask, answer, look into the panes, leave; all that was written."""
    child = WarmPtyChild(["--mode", "edit"], folder, columns=110, rows=40)

    def shows(text: str, since: int = 0) -> Callable[[], bool]:
        return lambda: text.encode() in child.output[since:]

    def pressed(keys: bytes) -> None:
        before = len(child.output)
        child.write(keys)
        child.read_until(lambda: len(child.output) > before)

    def rest(seconds: float) -> None:
        end = time.monotonic() + seconds
        child.read_until(lambda: time.monotonic() > end)

    try:
        child.go()
        child.read_until(shows("\x1b[?2004h"))
        child.write(b"\x1b[200~go " + TEXT.encode() + b"\x1b[201~\r")
        since = 0
        # The block of Python runs, the command does not.
        for answer, outcome in ((b"1", "Now a question."), (b"4", "all said")):
            child.read_until(shows("ctrl+g", since))
            since = len(child.output)
            child.write(b"\x07")
            while not shows(outcome, since)():
                rest(READ + PAUSE)  # no key counts before
                child.write(answer)
                rest(1.5)
        child.read_until(shows("all said"))
        for command in COMMANDS:
            pressed(b"\x1b[200~" + command.encode() + b"\x1b[201~")
            pressed(b"\r")
            if command.startswith("/say"):
                child.read_until(shows("Said in lobby"))  # before what the others answer moves it out of sight
        child.write(b"!printf '" + UNASKED.encode("unicode_escape").replace(b"'", b"") + b"'\r")
        for pane in (b"\x1b1", b"\x1b2", b"\x1b3", b"\x1b4", b"\x1b5", b"\x1b[18~"):
            pressed(pane)
        pressed(b"\x1b")
        os.kill(child.pid, signal.SIGTERM)
        child.wait()
        return child.output
    finally:
        child.close()
