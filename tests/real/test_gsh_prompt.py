"""`gsh` in a real terminal: questions for approval are answered by keys that were meant for them, and by no others."""

import asyncio
import os
import random
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.kit.command import DEADLINE
from tests.kit.intent_oracle import WORDS
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Say
from tests.kit.pty_child import PtyChild, WarmPtyChild
from tests.kit.storms import seeds

ANSWERS = b"\r\nAnswer: "


@pytest.fixture
def asked(project: Path) -> Generator[PtyChild]:
    """`gsh run touch x`, not yet started."""
    child = WarmPtyChild(["gsh", "run touch x"], project)
    yield child
    child.close()


def until(child: PtyChild, words: bytes) -> None:
    child.read_until(lambda: words in child.output)


def test_a_key_answers_once_the_answers_are_shown(asked: PtyChild, project: Path) -> None:
    asked.go()
    until(asked, ANSWERS)
    asked.write(b"1")
    assert asked.wait() == 0
    assert b"allowed once" in asked.output and (project / "x").exists()


@pytest.mark.parametrize("number", seeds(6))
def test_what_was_typed_before_the_answers_were_shown_is_none(asked: PtyChild, project: Path, number: int) -> None:
    """Type-ahead, and words that are typed while the question comes up; then a reason in one burst."""
    chance = random.Random(number)
    asked.go("".join(chance.choice(WORDS) + "\n" for _ in range(5)).encode() + b"1")
    until(asked, b"touch x")
    asked.write(b"".join(chance.choice((b"1", b"2", b"y", b"5", b"1\r")) for _ in range(3)))
    until(asked, ANSWERS)
    assert b"allowed" not in asked.output.rpartition(ANSWERS)[2]
    asked.write(b"5try 1 another way\r")
    assert asked.wait() == 4
    assert b"denied" in asked.output and b"try 1 another way" in asked.output
    assert not (project / "x").exists()


def test_letters_and_pastes_are_no_answer(asked: PtyChild, project: Path) -> None:
    asked.go()
    until(asked, ANSWERS)
    asked.write(b"\x1b[A11yes")
    asked.write(b"y1")
    asked.write(b"\x03")
    assert asked.wait() == 130
    assert not (project / "x").exists()


async def test_a_question_loads_no_more_than_it_needs(project: Path) -> None:
    """Whatever is loaded before the first word of an answer, a person waits for."""
    code = "import sys; from gshtui.cli.entry import main; main(['gsh', 'why?']); print(*sys.modules)"
    async with loopback("anthropic", [[Say("Because it was")]]) as server:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", code),
            cwd=project,
            env=os.environ | variables("anthropic", server.url),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        said, told = await asyncio.wait_for(process.communicate(), DEADLINE)
    assert process.returncode == 0, told.decode()
    answer, modules = said.decode().splitlines()
    loaded = set(modules.split())
    assert answer == "Because it was"
    assert not loaded & {
        "textual",
        "rich",
        "anthropic",
        "openai",
        "google",
        "mcp",
        "regex",
        "aiohttp",
        "PIL",
        "tree_sitter",
    }
    assert not [name for name in loaded if name.startswith("gshtui.ui")]
