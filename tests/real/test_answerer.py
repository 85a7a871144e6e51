"""Answers to a program's questions by keys, on real tmux: no key is ever pressed on another one."""

import asyncio
import json
import os
import random
import sys
from pathlib import Path

import pytest

from gshtui.bus.agent_data import AgentRow, OpenQuestion, SpawnRequest
from gshtui.fleet.core.ports import FleetError
from gshtui.programs.pane.pane_view import PaneView, SessionError
from gshtui.programs.pane.pane_writer import PaneWriter
from gshtui.programs.profiles.profile_files import read
from gshtui.settings import paths
from gshtui.store.record.store import Store
from gshtui.system.processes.process_tree import start_time
from gshtui.tmux.server import TmuxServer
from tests.kit.asking_program import PROFILE
from tests.kit.fleet_harness import FleetHarness, wait_for_status, wait_for_text
from tests.kit.home import Home
from tests.kit.source import ROOT
from tests.kit.storms import FULL
from tests.kit.tmux import eventually, tmux
from tests.kit.warm_program import run_gsh
from tests.real.test_fleet import harness
from tests.real.test_profile_guide import EXAMPLE, MINNOW

__all__ = ["harness", "tmux"]
pytestmark = pytest.mark.tmux
ANSWERS, LEAST = (50, 5) if FULL else (20, 2)
"""Questions that are answered at least; and how many answers have to be given, and refused, before it is enough."""


def known(question: OpenQuestion) -> str:
    """A question as the program itself calls it."""
    return "|".join((question.detail, *(one.label for one in question.choices)))


async def asking(tmux: TmuxServer, folder: Path, *words: str) -> tuple[PaneView, Path]:
    """The program on a terminal, and the log of the keys that it got."""
    profile, log = folder / "asking.toml", folder / "log"
    profile.write_text(PROFILE, "utf-8")
    log.touch()
    argv = [sys.executable, "-m", "tests.kit.asking_program", str(log), *words]
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    pane = await tmux.spawn("gsh-agent-0001", argv, cwd=ROOT, env=environ, width=80, height=24)
    return PaneView(tmux, pane.pane, "asking", read(profile)), log


async def asked(view: PaneView) -> OpenQuestion:
    """Wait for a question with choices."""
    seen = await eventually(
        view.read_screen,
        until=lambda seen: seen.reading.read is not None and bool(seen.reading.read.question.choices),
    )
    assert seen.reading.read is not None
    return seen.reading.read.question


def pressed(log: Path) -> list[tuple[str, str]]:
    """Each key that the program got, and the question that it was pressed on."""
    return [tuple(json.loads(line)) for line in log.read_text("utf-8").splitlines()]


async def logged(log: Path, number: int) -> list[tuple[str, str]]:
    """What was pressed, once the program has told of so many keys."""

    async def look() -> list[tuple[str, str]]:
        return pressed(log)

    return await eventually(look, until=lambda keys: len(keys) >= number)


@pytest.mark.parametrize("seed", range(1, 4) if FULL else [3])
async def test_a_key_is_never_pressed_on_another_question(tmux: TmuxServer, tmp_path: Path, seed: int) -> None:
    view, log = await asking(tmux, tmp_path, str(seed))
    writer, dice = PaneWriter(view), random.Random(seed)
    intended: list[tuple[str, str]] = []
    refused = rounds = 0
    while rounds < ANSWERS or min(refused, len(intended)) < LEAST:
        rounds += 1
        question = await asked(view)
        place = dice.randrange(len(question.choices))
        choice = question.choices[place].key
        for _ in range(dice.choice((0, 0, 3, 40))):
            await asyncio.sleep(0)
            if dice.random() < 0.2:
                await view.read_screen()
        try:
            await writer.answer(question.id, choice)
        except SessionError as error:
            given = "was given" in error.message
            refused += not given
        else:
            given = True
        if given:
            intended.append((known(question), str(place + 1)))
    keys = await logged(log, len(intended))
    assert [key for _, key in keys] == [key for _, key in intended]
    for (shown, _), (wanted, _) in zip(keys, intended, strict=True):
        # What stays of the question and its choices is as it was seen; there may be a further choice below.
        assert f"{shown}|".startswith(f"{wanted}|"), f"answered {shown!r} in place of {wanted!r}"
    await tmux.send_keys(view.pane, "q")


async def test_a_key_that_a_program_ignores_is_pressed_again_on_the_same_question(
    tmux: TmuxServer, tmp_path: Path
) -> None:
    view, log = await asking(tmux, tmp_path, "1", "1")
    question = await asked(view)
    after = await PaneWriter(view).answer(question.id, question.choices[-1].key)
    assert after is not None
    assert pressed(log) == [(known(question), str(len(question.choices)))] * 2


async def test_a_key_that_is_ignored_for_good_is_told(tmux: TmuxServer, tmp_path: Path) -> None:
    view, log = await asking(tmux, tmp_path, "1", "99")
    question = await asked(view)
    with pytest.raises(SessionError, match="still asks the same"):
        await PaneWriter(view).answer(question.id, question.choices[1].key)
    assert pressed(log) == [(known(question), "2")] * 3


async def test_a_program_that_has_not_read_its_key_gets_no_second_one(tmux: TmuxServer, tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    view, log = await asking(tmux, tmp_path, "1", "0", str(go_on))
    question = await asked(view)
    with pytest.raises(SessionError, match="still asks the same"):
        await PaneWriter(view).answer(question.id, question.choices[0].key)
    assert pressed(log) == []
    go_on.touch()
    after = await eventually(lambda: asked(view), until=lambda now: now.id != question.id)
    assert pressed(log) == [(known(question), "1")]
    assert after.id == (await asked(view)).id, "nothing was pressed on the next question"


async def test_a_list_without_numbers_is_answered_by_its_mark(tmux: TmuxServer, tmp_path: Path) -> None:
    view, log = await asking(tmux, tmp_path, "3", "0", "0", "list")
    dice = random.Random(3)
    for _ in range(8):
        question = await asked(view)
        place = dice.randrange(len(question.choices))
        before = len(pressed(log))
        after = await PaneWriter(view).answer(question.id, question.choices[place].key)
        assert after is not None and after.id != question.id
        assert pressed(log)[before:] == [(known(question), question.choices[place].label)]
    await tmux.send_keys(view.pane, "q")


async def test_a_mark_that_goes_elsewhere_chooses_nothing(tmux: TmuxServer, tmp_path: Path) -> None:
    view, log = await asking(tmux, tmp_path, "5", "0", "0", "astray")
    question = await asked(view)
    while len(question.choices) < 4:
        await tmux.send_keys(view.pane, "Enter")
        was = question
        question = await eventually(lambda: asked(view), until=lambda now, was=was: now.id != was.id)
    chosen = len(pressed(log))
    with pytest.raises(SessionError) as refused:
        await PaneWriter(view).answer(question.id, question.choices[3].key)
    assert "nothing was chosen" in refused.value.hint
    assert len(pressed(log)) == chosen


async def test_a_question_that_goes_after_a_press_is_answered(tmux: TmuxServer, tmp_path: Path) -> None:
    """A press is taken for lost and the question goes while the next one is about to be pressed: no word says that
    nothing was pressed."""
    view, log = await asking(tmux, tmp_path, "1", "0")
    question, real, presses = await asked(view), tmux.press_where_shown, list[str]()

    async def press(pane: str, key: str, shown: object) -> bool:
        presses.append(key)
        if len(presses) == 1:
            return True  # it is only on its way
        await real(pane, presses[0], rows)
        await eventually(
            view.read_screen, until=lambda now: now.reading.read is None or now.reading.read.question.id != question.id
        )
        return False

    seen = await view.read_screen()
    assert seen.reading.read is not None
    rows = seen.reading.read.rows
    tmux.press_where_shown = press
    await PaneWriter(view).answer(question.id, question.choices[0].key)
    assert len(pressed(log)) == 1


async def test_a_command_that_an_agents_program_started_answers_nothing(home: Home, tmp_path: Path) -> None:
    """Told by the processes above it: this test's own is the agent's."""
    store = await Store.open(paths.data_dir() / "gsh.db")
    pid = os.getpid()
    rows = [
        await store.agents.add(AgentRow(id="", name=name, kind="cli", status="waiting", pid=each), SpawnRequest())
        for name, each in (("asks", 0), ("helper", pid))
    ]
    await store.agents.update(rows[1].id, pid_started=start_time(pid))
    ran = await asyncio.to_thread(run_gsh, "agent", "answer", "asks", "1", cwd=tmp_path)
    assert ran.code == 1 and "Only a person answers" in ran.err and "helper (0002)" in ran.err
    await store.agents.update(rows[1].id, pid_started=start_time(pid) + 1)
    ran = await asyncio.to_thread(run_gsh, "agent", "answer", "asks", "1", cwd=tmp_path)
    assert "Only a person" not in ran.err, "another process of the same number"
    await store.close()


async def test_an_edit_without_its_change_is_denied_from_elsewhere_and_not_allowed(
    harness: FleetHarness, home: Home
) -> None:
    folder = home.config / "gsh" / "profiles"
    folder.mkdir(parents=True)
    (folder / "minnow.toml").write_text(EXAMPLE.replace("[question]\n", "[question]\nedits = '^Remove '\n"), "utf-8")
    async with harness.start_hub() as fleet:
        row = await fleet.spawn(SpawnRequest(cli=MINNOW, name="fish", profile="minnow"))
        await wait_for_status(fleet, row.id, "idle")
        await fleet.send(row.id, "ask")
        await wait_for_status(fleet, row.id, "waiting")
        question = await eventually(lambda: fleet.question(row.id))
        assert question.unseen == "Its change is not on its screen" and question.uncounted == {"1"}
        for id in (question.id, ""):
            with pytest.raises(FleetError, match=r"not on its screen.*Nothing was pressed") as refused:
                await fleet.answer(row.id, "1", question=id)
            assert f"agent attach {row.id}" in refused.value.hint
        assert await fleet.question(row.id) == question
        await fleet.answer(row.id, "4", question=question.id)
        await wait_for_text(harness, row, "answered 2")
