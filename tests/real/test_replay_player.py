"""A conversation of the record on the real screen again: at any place the same, and also from a damaged record."""

import asyncio
import json
import random
import re
import sqlite3
from pathlib import Path

import pytest

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import MessageAppended, TurnFinished, TurnStarted
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.messages import Message, Text
from gshtui.commands.declaration import CommandError
from gshtui.features.replay.replay_hub import ReplayHub
from gshtui.features.replay.replay_player import LONGEST_PAUSE, ReplayPlayer, read_recording
from gshtui.features.replay.window.replay_window import TOUR, ReplayBar, ReplayWindow, tour
from gshtui.settings.loader import load
from gshtui.store.sessions.session_calls import RenameSession
from tests.kit.home import Home
from tests.kit.record import open_record
from tests.kit.warm_program import run_gsh

TURNS = 4


def _message(number: int, role: str, text: str, at: float) -> Message:
    return Message(f"m{number}{role[0]}", role, (Text(text),), at=at, turn=f"t{number}")  # type: ignore[arg-type]


async def _recorded(path: Path, cwd: Path) -> str:
    """A conversation of some turns, an hour apart."""
    async with open_record(path) as store:
        session = (await store.sessions.create(cwd=str(cwd), agent="main", title="Old times")).id
        for number in range(TURNS):
            at = 1_000.0 + 3_600 * number
            prompt = _message(number, "user", f"question {number}", at)
            answer = _message(number, "assistant", f"answer {number}", at + 2)
            events: list[Event] = [
                TurnStarted(
                    at=at, agent="main", session=session, turn=f"t{number}", prompt=prompt.id, text=f"question {number}"
                ),
                MessageAppended(at=at, agent="main", session=session, message=prompt),
                MessageAppended(at=at + 2, agent="main", session=session, message=answer),
                TurnFinished(at=at + 2, agent="main", session=session, turn=f"t{number}", stop="end"),
            ]
            for message in (prompt, answer):
                await store.messages.append(session, message)
            for event in events:
                store.journal.record(event)
    return session


async def test_wherever_one_goes_the_same_has_been_told(home: Home, tmp_path: Path) -> None:
    path = home.data / "gsh" / "gsh.db"
    session = await _recorded(path, tmp_path)
    async with open_record(path) as store:
        found = await read_recording(store, session)
    assert len(found.events) == 4 * TURNS
    assert found.length <= LONGEST_PAUSE * 2 * TURNS  # an hour of silence is short
    bus, told = Bus(), list[Event]()
    bus.subscribe(told.extend, name="test")
    player = ReplayPlayer(bus, found)
    dice = random.Random(1)
    for _ in range(60):
        if dice.random() < 0.3:
            player.seek_prompt(dice.choice((-1, 1)))
        else:
            player.seek(dice.uniform(-3, found.length + 3))
        await bus.drained()
        opened = max((at for at, event in enumerate(told) if isinstance(event, SessionOpened)), default=-1)
        assert told[opened + 1 :] == list(found.events[: player.position])
        assert all(at <= player.time for at in found.times[: player.position])
        assert all(at > player.time for at in found.times[player.position :]) or player.time == 0
        played, left = found.events[: player.position], found.events[player.position :]
        assert max((one.at for one in played), default=1_000.0) <= player.now
        assert player.now <= min((one.at for one in left), default=player.now)
    await bus.close()


async def test_it_plays_by_itself_and_pauses(home: Home, tmp_path: Path) -> None:
    path = home.data / "gsh" / "gsh.db"
    session = await _recorded(path, tmp_path)
    async with open_record(path) as store:
        found = await read_recording(store, session)
    bus = Bus()
    player = ReplayPlayer(bus, found, 50.0)
    ended = asyncio.Event()
    player.changed = lambda: ended.set() if not player.playing and player.position == len(found.events) else None
    player.start()
    async with asyncio.timeout(30):
        await ended.wait()
    player.toggle()  # from the end it begins again
    assert player.playing and player.position <= 3
    player.toggle()
    assert not player.playing
    for _ in range(9):
        player.change_speed(-1)
    assert player.speed == 0.25
    await player.close()
    await bus.close()


@pytest.mark.parametrize("harm", ["none", "journal", "gone"])
async def test_the_window_plays_it_also_from_a_damaged_record(home: Home, tmp_path: Path, harm: str) -> None:
    path = home.data / "gsh" / "gsh.db"
    session = await _recorded(path, tmp_path)
    with sqlite3.connect(path) as connection:
        if harm == "journal":
            connection.execute("UPDATE journal SET data = 'x' || substr(data, 40) WHERE seq % 2")
        elif harm == "gone":
            connection.execute("DELETE FROM journal")
    app = ReplayWindow(tmp_path, session, "main", 50.0)
    async with app.run_test(size=(100, 36)) as pilot:

        async def shown(words: str, *, there: bool = True) -> None:
            async with asyncio.timeout(30):
                while (words in app.export_screenshot().replace("&#160;", " ")) is not there:
                    await pilot.pause()

        await shown("replay 50x")
        bar = app.bench.query_one(ReplayBar)
        await pilot.press("end")
        await shown(f"answer {TURNS - 1}")
        await shown("question 0")
        assert app.clock() == 1_002.0 + 3_600 * (TURNS - 1), "ages are those of then"
        await pilot.press("home")
        await shown("answer 0", there=False)
        assert app.focused is bar
        await pilot.press("right", "right")
        await shown("answer 0")
        await pilot.press("x", "enter")  # nothing is typed anywhere
        assert app.bench.input.disabled
        await pilot.press("end", "[", "e")
    assert app.edited is not None and app.edited.text == f"question {TURNS - 1}"
    async with open_record(path) as store:
        assert len(await store.messages.read(session)) == 2 * TURNS  # nothing was written


async def test_the_tour_is_a_replay(home: Home, tmp_path: Path) -> None:
    recorded = tour()
    assert 40 < recorded.length < 180 and "{" not in "".join(
        event.message.text for event in recorded.events if isinstance(event, MessageAppended)
    )
    texts = "".join(event.message.text for event in recorded.events if isinstance(event, MessageAppended))
    assert "`]` goes to the next prompt, `+` plays faster" in texts and not re.search(r"`[^`]*[a-z]_[a-z][^`]*`", texts)
    app = ReplayWindow(tmp_path, TOUR, "main", 10.0)
    async with app.run_test(size=(100, 36)) as pilot:
        while not app.bench.query(ReplayBar):
            await pilot.pause()
        await pilot.press("end")
        while "That was the tour" not in app.export_screenshot().replace("&#160;", " "):
            await pilot.pause()
        await pilot.press("e")
        await pilot.pause()
        assert app.edited is None and app.is_running


async def test_nothing_is_changed_in_a_replay(home: Home, tmp_path: Path) -> None:
    session = await _recorded(home.data / "gsh" / "gsh.db", tmp_path)
    hub = ReplayHub(tmp_path, load(tmp_path), session, 1.0)
    await hub.start()
    try:
        with pytest.raises(CommandError, match="This is a replay"):
            await hub.run(RenameSession(session=session, title="x"))
        with pytest.raises(CommandError, match="This is a replay"):
            await hub.run("bash command='touch x'")
        assert hub.settings.ui.notifications == []
    finally:
        await hub.stop()
    assert not (tmp_path / "x").exists()


async def test_the_command_says_what_it_would_play(home: Home, tmp_path: Path) -> None:
    session = await _recorded(home.data / "gsh" / "gsh.db", tmp_path)
    ran = await asyncio.to_thread(run_gsh, "replay", session[:8], "--json", cwd=tmp_path)
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert (found["session"], found["events"], found["title"]) == (session, 4 * TURNS, "Old times")
    ran = await asyncio.to_thread(run_gsh, "replay", cwd=tmp_path)
    assert ran.code == 2 and "terminal" in ran.err
    ran = await asyncio.to_thread(run_gsh, "replay", "--json", "nothing", cwd=tmp_path)
    assert ran.code == 1 and "Traceback" not in ran.err
