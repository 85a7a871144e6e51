"""Answers to a program's questions by keys, on real tmux: no key is ever pressed on another one."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from pathlib import Path

import pytest

from gshtui.bus.agent_data import OpenQuestion
from gshtui.programs.pane_view import PaneView, SessionError
from gshtui.programs.pane_writer import PaneWriter
from gshtui.programs.profile import read
from gshtui.tmux.server import TmuxServer
from tests.kit.asking_program import PROFILE
from tests.kit.source import ROOT
from tests.kit.tmux import eventually, tmux

__all__ = ["tmux"]
pytestmark = pytest.mark.tmux
ANSWERS = 80


def known(question: OpenQuestion) -> str:
    """A question as the program itself calls it."""
    return "|".join((question.detail, *(one.label for one in question.choices)))


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_key_is_never_pressed_on_another_question(tmux: TmuxServer, tmp_path: Path, seed: int) -> None:
    profile, log = tmp_path / "asking.toml", tmp_path / "log"
    profile.write_text(PROFILE, "utf-8")
    log.touch()
    argv = [sys.executable, "-m", "tests.kit.asking_program", str(log), str(seed)]
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    pane = await tmux.spawn("gsh-agent-0001", argv, cwd=ROOT, env=environ, width=80, height=24)
    view = PaneView(tmux, pane.pane, "asking", read(profile))
    writer, dice = PaneWriter(view), random.Random(seed)
    intended: list[tuple[str, str]] = []
    refused = 0
    for _ in range(ANSWERS):
        seen = await eventually(
            view.read_screen,
            until=lambda seen: seen.reading.read is not None and bool(seen.reading.read.question.choices),
        )
        assert seen.reading.read is not None
        question = seen.reading.read.question
        choice = dice.choice(question.choices).key
        for _ in range(dice.choice((0, 0, 3, 40))):
            await asyncio.sleep(0)
            if dice.random() < 0.2:
                await view.read_screen()
        try:
            await writer.answer(question.id, choice)
        except SessionError as error:
            pressed = "was given" in error.message
            refused += not pressed
        else:
            pressed = True
        if pressed:
            intended.append((known(question), choice))
    keys = [tuple(json.loads(line)) for line in log.read_text("utf-8").splitlines()]
    assert keys == intended
    assert len(intended) > ANSWERS / 10, "the storm was too wild to answer anything"
    assert refused > ANSWERS / 10, "the storm was no storm"
    await tmux.send_keys(pane.pane, "q")
