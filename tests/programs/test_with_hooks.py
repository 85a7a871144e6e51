"""Real programs whose hooks are installed, in a large terminal: status, answer, question and restart, all in one day.

The other tests run them without hooks.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gshtui.programs import hooks
from gshtui.programs import profile as profiles
from tests.kit.home import Home
from tests.kit.real_programs import Program
from tests.kit.tmux import end_server, short_folder
from tests.programs.stage import Stage, on_stage
from tests.programs.test_own_choices import answer, asked

HELLO = "Hello. I am here."


@pytest.fixture
async def hooked(program: Program, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    """The program with its hooks installed."""
    hooks.apply_plan(hooks.plan(profiles.load().get(program.name)))
    with short_folder() as sockets:
        monkeypatch.setenv("TMUX_TMPDIR", str(sockets))
        try:
            async with on_stage(program, home, tmp_path / "project", (200, 50), monkeypatch.setenv) as made:
                yield made
        finally:
            end_server(sockets / f"tmux-{os.getuid()}" / "gsh")


@pytest.mark.programs("claude", "codex", "opencode", "gemini")
async def test_a_day_with_hooks(hooked: Stage) -> None:
    await at_rest(hooked)
    sent = await hooked.command("agent", action="send", target=hooked.id, text="Good day to you", wait=True, timeout=90)
    assert not sent.timed_out, await hooked.account()
    assert sent.data["answer"].strip() == HELLO
    assert sent.data["source"] in ("report", "transcript")
    await hooked.say("do:touch")
    question = await asked(hooked)
    assert "touch made.txt" in question.detail
    assert hooked.row.needs_you
    await answer(hooked, question, question.choices[0].label)
    spoken = await hooked.status("idle")
    assert (hooked.folder / "made.txt").exists()
    assert not hooked.row.needs_you
    assert hooked.row.question is None
    assert (await hooked.fleet.restart(hooked.id)).how == "resumed its conversation"
    await hooked.until(hooked.look, lambda row: row.pid not in (0, spoken.pid) and row.pane)
    await at_rest(hooked)
    await hooked.shows("Good day to you")  # Gemini takes input before it has its conversation, and forgets it then
    await hooked.say("And now?")
    await hooked.hears("And now?")
    asks = [chat.raw.decode() for chat in hooked.provider.chats]
    assert any("Good day to you" in text for text in asks if "And now?" in text), "its conversation went on"
    await hooked.status("idle")


async def at_rest(stage: Stage) -> None:
    """Wait until it rests; Codex asks first whether hooks that are new may run."""
    row = await stage.status("idle", "waiting")
    if row.status == "waiting":
        question = await asked(stage)
        assert "ooks" in question.subject, await stage.account()
        await answer(stage, question, next(one.label for one in question.choices if "rust" in one.label))
        await stage.status("idle")
