"""The face for screen readers: a prompt, a question and its answer, commands and shell lines, and no control sequence
but those of the input's own line. Opened by an option, or by the settings."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.kit.command import command
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say
from tests.kit.pty_child import PtyChild

_MOVES = re.compile(rb"\x1b\[[0-9;?]*[A-HJKSTfhlmnru]|[\x0e\x0f\x08]")


def converse(child: PtyChild) -> None:
    """What a person types, each once what it belongs to was said."""

    def says(words: bytes, after: int = 0) -> None:
        child.read_until(lambda: words in child.output[after:])

    def type(line: bytes) -> int:
        before = len(child.output)
        child.write(line)
        return before

    child.go()
    says(b"main> ")
    says(b"deny with reason\r\n? ", type(b"make a file\n"))
    at = type(b"1")
    says(b"allowed once", at)
    says(b"It is made.\r\nmain> ", at)
    at = type(b"/mode loud\n")
    says(b"There is no such mode", at)
    says(b"There was something\r\nDone.\r\nmain> ", type(b"!echo There was something\n"))
    says(b"Start here", type(b"/help\n"))
    says(b"No other agents here.", type(b"\n"))
    type(b"/quit\n")
    assert child.wait() == 0


async def test_a_whole_exchange_in_plain_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [[Say("I do it."), Call("bash", {"command": "touch made.txt"})], [Say("It is made.")]]
    async with loopback("anthropic", answers) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        child = PtyChild(command(["--screen-reader"]), tmp_path)
        try:
            await asyncio.to_thread(converse, child)
        finally:
            child.close()
    assert (tmp_path / "made.txt").exists()
    assert _MOVES.findall(child.output) == []


def test_the_setting_opens_it(tmp_path: Path, home: Home) -> None:
    config = home.config / "gsh" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[ui]\nscreen_reader = true\n", encoding="utf-8")
    child = PtyChild(command([]), tmp_path)
    try:
        child.go()
        child.read_until(lambda: b"main> " in child.output)
        child.write(b"\x04")
        assert child.wait() == 0
    finally:
        child.close()
