"""The journal: what is recorded, in which order, under which conversation, and what comes back."""

import sqlite3
from typing import Any

import msgspec
import pytest

from gshtui.bus.event import Event, Unknown
from gshtui.bus.events.agent_events import (
    AgentStatusChanged,
    MessageAppended,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.hub_events import HubStarted, Noticed, SettingChanged
from gshtui.bus.messages import Image, Message, Text
from gshtui.store.engine import journal_queue
from tests.kit.home import Home
from tests.kit.record import numbered_prompt, open_record


def _turn(session: str, number: int, **fields: Any) -> TurnStarted:
    return TurnStarted(at=float(number), agent="main", session=session, turn=f"t{number}", prompt="p", **fields)


async def test_events_come_back_as_they_were_in_order_and_by_conversation(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    async with open_record(path) as store:
        one, two = [(await store.sessions.create(cwd="/p", agent="main")).id for _ in range(2)]
        recorded: list[Event] = [
            _turn(one, 1),
            ToolStarted(at=2.0, agent="main", session=one, message="m", call="c", tool="bash", arguments={"a": [1]}),
            ToolFinished(at=3.0, agent="main", session=one, call="c", tool="bash", status="ok", content="out"),
            TurnFinished(at=4.0, agent="main", session=one, turn="t1", stop="end", text="done", cost=0.25),
        ]
        for event in recorded:
            store.journal.record(event)
            store.journal.record(_turn(two, 9))
        store.journal.record(TextDelta(agent="main", session=one, message="m", text="x"))
        store.journal.record(ThinkingDelta(agent="main", session=one, message="m", text="x"))
        store.journal.record(ToolOutput(agent="main", session=one, call="c", text="x"))
    async with open_record(path) as store:
        found = await store.journal.read(one)
        assert [event for _, event in found] == recorded
        assert [place for place, _ in found] == sorted(place for place, _ in found)
        assert [event for _, event in await store.journal.read(one, after=found[1][0], limit=1)] == recorded[2:3]
        assert len(await store.journal.read(two)) == 4


async def test_what_names_only_its_agent_belongs_to_where_the_agent_is(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    async with open_record(path) as store:
        info = await store.sessions.create(cwd="/p", agent="main")
        store.journal.record(AgentStatusChanged(at=1.0, agent="main", status="starting"))
        store.journal.record(_turn(info.id, 2))
        store.journal.record(AgentStatusChanged(at=3.0, agent="main", status="thinking"))
        store.journal.record(AgentStatusChanged(at=4.0, agent="other", status="idle"))
        store.journal.record(HubStarted(at=5.0, cwd="/p"))
    async with open_record(path) as store:
        assert [event.at for _, event in await store.journal.read(info.id)] == [2.0, 3.0]
        assert [event.at for _, event in await store.journal.read("")] == [1.0, 4.0, 5.0]


async def test_a_message_is_kept_once_and_comes_back_in_its_event(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    message = Message("m", "user", (Text("look"), Image("image/png", "QUJD" * 50_000)))
    async with open_record(path) as store:
        info = await store.sessions.create(cwd="/p", agent="main")
        await store.messages.append(info.id, message)
        event = MessageAppended(at=1.0, agent="main", session=info.id, message=message)
        store.journal.record(event)
        store.journal.record(msgspec.structs.replace(event, message=numbered_prompt(2)))  # one that is not in the log
    async with open_record(path) as store:
        (_, first), (_, second) = await store.journal.read(info.id)
        assert first == event
        assert isinstance(second, MessageAppended)
        assert (second.message.id, second.message.blocks) == ("m2", ())
    with sqlite3.connect(path) as raw:
        assert raw.execute("SELECT max(length(data)) FROM journal").fetchone()[0] < 1_000
    raw.close()


async def test_odd_events_are_recorded_and_a_broken_entry_costs_one_entry(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    async with open_record(path) as store:
        odd = {"half": "\udc80", "nan": float("nan"), "big": 2**70}
        store.journal.record(
            ToolStarted(at=1.0, agent="a", session="s", message="m", call="c", tool="t", arguments=odd)
        )
        store.journal.record(_turn("s", 2))
        store.journal.record(Unknown(at=3.0, name="OfTomorrow", fields={"session": "s", "new": 1}))
        store.journal.record(Noticed(at=float("nan"), text="\ud800"))
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE journal SET data = '{\"type\": 7}' WHERE type = 'TurnStarted'")
    raw.close()
    async with open_record(path) as store:
        (_, first), (_, unknown) = await store.journal.read("s")
        assert isinstance(first, ToolStarted)
        assert first.arguments == {"half": "\ufffd", "nan": "nan", "big": 2**70}
        ((_, noticed),) = await store.journal.read("")
        assert isinstance(unknown, Unknown)
        assert unknown.fields["new"] == 1
        assert isinstance(noticed, Noticed)
        assert noticed.text == "\ufffd"


async def test_an_event_too_long_for_any_reader_leaves_a_note(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    async with open_record(path) as store:
        store.journal.record(SettingChanged(at=1.0, key="theme", value="x" * 5_000_000))
    async with open_record(path) as store:
        ((_, note),) = await store.journal.read("")
        assert isinstance(note, Noticed)
        assert "SettingChanged" in note.text


async def test_what_belongs_to_no_conversation_is_not_kept_for_ever(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_queue, "LOOSE_KEPT", 10)
    path = home.data / "gsh" / "gsh.db"
    async with open_record(path) as store:
        info = await store.sessions.create(cwd="/p", agent="main")
        for number in range(30):
            store.journal.record(HubStarted(at=float(number), cwd="/p"))
            store.journal.record(_turn(info.id, number))
        await store.sessions.create(cwd="/p", agent="main")
        await store.sessions.create(cwd="/p", agent="main")
        assert [event.at for _, event in await store.journal.read("")] == [float(number) for number in range(20, 30)]
        assert len(await store.journal.read(info.id)) == 30


async def test_ten_thousand_events_are_all_there(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    async with open_record(path) as store:
        for number in range(10_000):
            store.journal.record(_turn("s", number))
    async with open_record(path) as store:
        found = await store.journal.read("s", limit=20_000)
        assert [event.at for _, event in found] == [float(number) for number in range(10_000)]


async def test_the_last_turn_is_known_with_its_end(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    async with open_record(path) as store:
        session = (await store.sessions.create(cwd="/p", agent="main")).id
        assert await store.journal.last_turn(session) is None
    failed = TurnFinished(at=2.0, agent="main", session=session, turn="t1", stop="error", error="no room")
    for event in (_turn(session, 1), failed, _turn(session, 2)):
        async with open_record(path) as store:
            store.journal.record(event)
        async with open_record(path) as store:
            assert await store.journal.last_turn(session) == event
