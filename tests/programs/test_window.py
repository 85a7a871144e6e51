"""The real window beside real programs: what one asks is shown above the input, and answered there by one key."""

import asyncio
import contextlib
import json
import os
import re
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from gshtui.guard.approval.answer_keys import CHANGED, TOO_SOON, UNREAD
from gshtui.tmux.server import TmuxServer
from tests.kit.configuration import made_project
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback
from tests.kit.prompt_driven_model import follow_prompts
from tests.kit.real_programs import FOLDER, Program
from tests.kit.record_questions import calls
from tests.kit.record_questions import made_project as write_notes
from tests.kit.source import ROOT
from tests.kit.tmux import end_server, eventually, private_server, screen_text, short_folder

WITHIN = 90.0
"""Seconds for anything to be seen."""
_PAUSE = 1.5
_HEAD = 20
"""Characters of a choice by which it is found again; a longer one may be broken into rows."""
REFUSALS = ("No", "Reject", "Deny")


async def gsh_tui(folder: Path, *words: str) -> str:
    """What a command prints; fails where it does."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gshtui", *words, cwd=folder, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0, f"{words}: {process.returncode}"
    return printed.decode()


def digit_of(screen: str, label: str) -> str:
    """The digit in front of this choice in the window's panel; empty: it is not there."""
    match = re.search(rf"\b(\d) {re.escape(label[:_HEAD])}", screen)
    return match.group(1) if match else ""


@pytest.mark.programs("claude", "codex", "opencode", "gemini", "vibe")
async def test_a_question_is_answered_in_the_window_by_one_digit(
    program: Program, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made_project(tmp_path / "project")
    async with opened(program, home, folder, program.choose(), monkeypatch, (80, 24)) as (outer, pane):
        await answered_twice(outer, pane, program, folder, folder / "made.txt")


@pytest.mark.programs("claude")
async def test_an_edit_asked_about_in_a_small_window_is_read_whole_in_a_larger_one(
    program: Program, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tab was in front in the small one, and is behind when it is read."""
    folder = made_project(tmp_path / "project")
    write_notes(folder)
    tool = program.setup.tool
    choose = follow_prompts(tool.name, tool.argument, calls(program.name, folder), **tool.more)
    async with opened(program, home, folder, choose, monkeypatch, (49, 14)) as (outer, pane):
        await gsh_tui(folder, "agent", "spawn", "--cli", program.name, "--name", "it")
        await outer.send_keys(pane, "M-2")
        await shows(outer, pane, "○ it")
        await outer.send_keys(pane, "Down", "Enter")
        await shows(outer, pane, "▌it", "Message it")
        await gsh_tui(folder, "agent", "send", "it", "do:small")
        await shows(outer, pane, "◆ it")
        await outer.send_keys(pane, "C-PPage")
        await shows(outer, pane, "▌Chat")
        await outer.resize(pane, 120, 35)
        await outer.send_keys(pane, "C-g")
        labels = await choices_of(folder)
        seen = await shows(outer, pane, "5 - line 5 of the no", "5 + line five of the", *labels, "┏")
        await press(outer, pane, digit_of(seen, labels[0]), labels[0])
        await eventually(
            lambda: asyncio.to_thread((folder / "notes.txt").read_text),
            until=lambda text: "five" in text,
            within=WITHIN,
        )


@contextlib.asynccontextmanager
async def opened(
    program: Program, home: Home, folder: Path, choose: Any, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> AsyncGenerator[tuple[TmuxServer, str]]:
    """The window in a terminal of this size, with this model behind the program: the terminal's server and pane."""
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PATH", f"{FOLDER / 'bin'}:{os.environ['PATH']}")
    with short_folder() as sockets:
        monkeypatch.setenv("TMUX_TMPDIR", str(sockets))
        try:
            async with (
                private_server() as outer,
                loopback(program.api, choose=choose, strict=False, pace=40, chunk=20) as provider,
            ):
                for name, value in program.prepare(home.path, folder, provider.url).items():
                    monkeypatch.setenv(name, value)
                argv = [sys.executable, "-m", "gshtui"]
                width, height = size
                window = await outer.spawn("desk", argv, cwd=folder, env=dict(os.environ), width=width, height=height)
                await shows(outer, window.pane, "Ask")
                yield outer, window.pane
                await outer.send_keys(window.pane, "C-q")
        finally:
            end_server(sockets / f"tmux-{os.getuid()}" / "gsh")


async def answered_twice(outer: TmuxServer, pane: str, program: Program, folder: Path, made: Path) -> None:
    """Refuse the first question in the window, and allow the second."""
    await gsh_tui(folder, "agent", "spawn", "--cli", program.name, "--name", "it", "do:touch")
    for refuses in (True, False):
        labels = await choices_of(folder)
        label = next(one for one in reversed(labels) if one.startswith(REFUSALS)) if refuses else labels[0]
        await shows(outer, pane, "◆ it")  # its row, which in a narrow window has a colon behind its name
        await outer.send_keys(pane, "C-g")
        seen = await shows(outer, pane, *labels, "touch made.txt", "┏")  # with the frame, the keys are the panel's
        assert await choices_of(folder) == labels, "it still asks that"
        await press(outer, pane, digit_of(seen, label), label)
        if refuses:
            await gsh_tui(folder, "agent", "wait", "it", "--status", "idle", "--timeout", "60")
            assert not made.exists()
            await gsh_tui(folder, "agent", "send", "it", "do:touch")
        else:
            await eventually(lambda: asyncio.to_thread(made.exists), within=WITHIN)
        await hides(outer, pane, labels[0])


async def press(outer: TmuxServer, pane: str, digit: str, label: str) -> None:
    """Press the digit of this choice; again where the window says that this was too soon after it got the keys, that
    the program has asked anew meanwhile, or that a row was out of sight, which it shows then.
    """

    def refused(seen: str) -> bool:
        return any(words in seen for words in (TOO_SOON.partition(";")[0], CHANGED, UNREAD.partition(";")[0]))

    await outer.send_keys(pane, digit)
    seen = await eventually(
        lambda: screen_text(outer, pane),
        until=lambda seen: refused(seen) or not digit_of(seen, label),
        within=WITHIN,
    )
    while refused(seen):
        if digit_of(seen, label):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_PAUSE):  # of the person; what is pressed before it is over counts as before
                    await hides(outer, pane, label)
                    return
        if CHANGED in seen or not digit_of(seen, label):
            await outer.send_keys(pane, "C-g")
        await outer.send_keys(pane, digit)
        seen = await screen_text(outer, pane)


async def shows(outer: TmuxServer, pane: str, *texts: str) -> str:
    """Wait until the window shows all of these."""
    return await eventually(
        lambda: screen_text(outer, pane),
        until=lambda seen: all(text[:_HEAD] in seen for text in texts),
        within=WITHIN,
    )


async def hides(outer: TmuxServer, pane: str, label: str) -> None:
    """Wait until the window offers this choice no more."""
    await eventually(lambda: screen_text(outer, pane), until=lambda seen: not digit_of(seen, label), within=WITHIN)


async def choices_of(folder: Path) -> list[str]:
    """The choices of what the agent asks, once they are known."""

    async def look() -> list[str]:
        (row,) = [one for one in json.loads(await gsh_tui(folder, "agent", "ls", "--json")) if one["name"] == "it"]
        return [one["label"] for one in (row["question"] or {}).get("choices", [])]

    return await eventually(look, within=WITHIN)
