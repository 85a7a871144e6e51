"""Calls on a real record: who is in them, what is said, whom it is put to, and that a crash says nothing twice."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gshtui.bus.agent_data import GuardMode
from gshtui.bus.bus import Bus
from gshtui.bus.call_data import LOBBY, CallAsk, CallMember, CallMessage, CallWindow, Pin, Principal
from gshtui.bus.event import Event
from gshtui.bus.events.call_events import CallChanged, CallMessageAdded, CallRemoved, PresenceReported
from gshtui.calls.call_delivery import Recipient
from gshtui.calls.call_letter import unknown_words
from gshtui.calls.call_service import CallService
from gshtui.commands.declaration import Caller, CommandError
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.store.tables.call_table import PIN_BYTES
from gshtui.system.expected_error import ExpectedError
from tests.kit.endings import closing_async
from tests.kit.mail_harness import MailHarness, open_mail
from tests.kit.tmux import eventually

AMY = Principal("person", "amy")
BO = Principal("bo", "bo")


class NoPost:
    """Nobody can be asked anything."""

    async def find(self, wanted: str, sender: str, *, starts: bool) -> Recipient:
        raise CommandError(f"There is no agent {wanted!r}.")

    async def everyone(self) -> list[Recipient]:
        return []

    async def depth(self, sender: str) -> int:
        return 1

    def mode_of(self, agent: str) -> GuardMode:
        return "ask"

    async def post(self, ask: CallAsk, message: CallMessage, recipient: Recipient, text: str) -> None:
        raise CommandError("There is no post.")


async def call_of(m: MailHarness, *agents: str) -> None:
    await m.calls.create("audio", AMY, topic="JACK")
    await m.calls.join("audio", AMY)
    for agent in agents:
        await m.calls.invite(agent, "audio", AMY)


async def texts(m: MailHarness, call: str = "audio") -> list[str]:
    return [f"{one.author_name}: {one.text}" for one in await m.store.calls.messages(call) if one.role != "system"]


async def published(m: MailHarness, kind: type[Event]) -> list[Any]:
    await m.main.bus.drained()
    return m.published(kind)


async def test_create_join_leave_and_what_cannot_be(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db") as m:
        await call_of(m)
        with pytest.raises(StoreError, match="already"):
            await m.calls.create("audio", AMY)
        for bad in ("", "a b", "../x", "x" * 41, "12", "-x", "ä"):
            with pytest.raises(ExpectedError, match="cannot be a call's name"):
                await m.calls.create(bad, AMY)
        assert (await m.calls.find("", AMY)).name == "audio"
        left = await m.calls.leave("", AMY)
        assert left.name == "audio" and (await m.calls.find("", AMY)).name == LOBBY
        with pytest.raises(CommandError, match="leaves the lobby"):
            await m.calls.leave("", AMY)
        with pytest.raises(CommandError, match="not in the call"):
            await m.calls.post_message(AMY, "audio", "hello")
        with pytest.raises(StoreError, match="no call 'nothing'"):
            await m.calls.join("nothing", AMY)
        with pytest.raises(ExpectedError, match="lobby always exists"):
            await m.calls.remove(LOBBY, AMY)
        await m.calls.remove("audio", AMY)
        assert await m.store.calls.names() == [LOBBY]


@pytest.mark.parametrize(
    ("call", "line", "failed", "told"),
    [
        ("audio", "context agent=claude", False, "amy ran `context agent=claude`."),
        ("audio", "/bash command='exit 3'", True, "amy ran `bash command='exit 3'`, which failed."),
        ("audio", "remember key=k value=hidden-key", False, "amy ran `remember key=k value=***`."),
        ("audio", "ls one\x1b]0;owned\x07\ntwo", False, "amy ran `ls one␛]0;owned␇ two`."),
        ("audio", "say hello", False, ""),
        ("audio", "history n=5", False, ""),
        ("audio", "/", False, ""),
        (LOBBY, "context", False, ""),
        ("board", "context", False, ""),
    ],
)
async def test_a_call_is_told_what_was_run_there(call: str, line: str, failed: bool, told: str, tmp_path: Path) -> None:
    """Not the lobby, none that the person is not in, and nothing that says something there by itself."""
    async with open_mail(tmp_path / "gsh.db") as m:
        m.calls.redact = lambda text: text.replace("hidden-key", "***")
        await call_of(m)
        await m.calls.create("board", BO)
        before = await m.calls.history(call, BO, limit=50)
        assert await m.calls.note_run(call, line, AMY, failed=failed) == bool(told)
        after = await m.calls.history(call, BO, limit=50)
        assert [one.text for one in after[len(before) :]] == ([told] if told else [])
        assert all(one.role == "system" for one in after[len(before) :])


async def test_the_lobby_lists_who_is_in_no_other_call(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db") as m:

        async def members() -> dict[str, list[str]]:
            return {call.name: [one.member for one in call.members] for call in await m.calls.all()}

        assert await members() == {LOBBY: ["main"]}
        await call_of(m, "main")
        assert await members() == {LOBBY: [], "audio": ["person", "main"]}
        assert (await m.calls.find(LOBBY, AMY)).member("main") is not None, "it can be asked there, too"
        await m.calls.dismiss("main", "audio", AMY)
        assert await members() == {LOBBY: ["main"], "audio": ["person"]}


async def test_where_calls_are_not_shown_nobody_is_asked_at_the_start_who_could_be_in_them(tmp_path: Path) -> None:
    class Untouched(NoPost):
        async def everyone(self) -> list[Recipient]:
            raise AssertionError("every agent was looked at")

    store, bus, heard = await Store.open(tmp_path / "gsh.db"), Bus(), list[Event]()
    bus.subscribe(heard.extend, CallChanged, name="what is shown")
    calls = CallService(bus, store, Untouched(), "bo")
    try:
        assert [one.name for one in await store.calls.find_all()] == [LOBBY]
        await calls.start(shown=False)
        await bus.drained()
        assert not heard
    finally:
        await calls.stop()
        await bus.close()
        await store.close()


async def test_what_an_agent_is_asked_it_answers_in_the_call(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db", ["Use JACK."]) as m:
        await call_of(m, "main")
        asked = await m.calls.post_message(AMY, "", "@main how?")
        await eventually(lambda: texts(m), until=lambda found: len(found) == 2)
        answer = (await m.store.calls.messages("audio"))[-1]
        assert answer.text == "Use JACK." and answer.in_reply_to == asked.seq and answer.author_name == "main"
        await eventually(
            lambda: published(m, CallChanged),
            until=lambda found: bool(found) and found[-1].data.messages == answer.seq + 1,
        )
        added = [one.message.text for one in m.published(CallMessageAdded)]
        assert added.count("Use JACK.") == 1


async def test_a_lone_agent_is_asked_and_one_of_several_only_by_name(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db", ["Yes."]) as m:
        await call_of(m, "main")
        assert [ask.member for ask in (await m.calls.post_message(AMY, "", "ready?")).asks] == ["main"]
        two = await m.add_agent("two", kind="native")
        await m.calls.invite("two", "audio", AMY)
        assert (await m.calls.post_message(AMY, "", "and now?")).asks == ()
        assert [ask.member for ask in (await m.calls.post_message(AMY, "", "@two?")).asks] == [two.id]
        everyone = await m.calls.post_message(AMY, "", "@all?")
        assert {ask.member for ask in everyone.asks} == {"main", two.id} and everyone.unknown == ()
        wrong = await m.calls.post_message(AMY, "", "@Nobody, @two and @src/a.py, not @README.md or @cache(1)")
        assert wrong.unknown == ("Nobody",) and [ask.member for ask in wrong.asks] == [two.id]
        assert unknown_words(wrong) == "There is no @Nobody in the call audio. `who` lists its members."


async def test_two_agents_that_answer_each_other_are_stopped_and_it_is_said(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db") as m:
        one, two = await m.add_agent("one", kind="native"), await m.add_agent("two", kind="native")
        await call_of(m, "one", "two")
        message = await m.calls.post_message(AMY, "", "@one begin")
        for turn in range(20):
            if not message.asks or message.asks[0].refused:
                break
            letter = await m.store.mail.find(message.asks[0].letter)
            other = "two" if turn % 2 == 0 else "one"
            answered = await m.store.mail.change(letter.id, answered=True, answer=f"@{other} your turn")
            await m.calls.post_answer(answered)
            message = next(x for x in await m.store.calls.messages("audio") if x.id == letter.id)
        assert message.depth == 7, "as many as the mail lets follow each other"
        last = (await m.store.calls.messages("audio"))[-1]
        assert last.role == "system" and "was not asked" in last.text and "in a row" in last.text
        assert {one.id, two.id} == {ask.member for x in await m.store.calls.messages("audio") for ask in x.asks}


async def test_a_killed_process_left_a_message_that_was_put_to_nobody(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db", start=False) as m:
        row = await m.add_agent("one", kind="native")
        await call_of(m, "one")
        left = CallMessage(
            call="audio",
            id="left",
            author="person",
            author_name="amy",
            text="@one?",
            at=1.0,
            asks=(CallAsk(row.id, "letter1"),),
        )
        await m.store.calls.add_message(left)
        await asyncio.gather(m.calls.delivery.dispatch(), m.calls.delivery.dispatch())
        await m.calls.delivery.dispatch()
        letters = await m.store.mail.find_all(recipient=row.id)
        assert [letter.id for letter in letters] == ["letter1"]
        assert "amy says to you:\n\n@one?" in letters[0].text


async def test_an_answer_that_nobody_said_is_said_at_the_next_start_and_once(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db", start=False) as m:
        await m.add_agent("one", kind="native")
        await call_of(m, "one")
        message = await m.calls.post_message(AMY, "", "@one?")
        await m.store.mail.change(message.asks[0].letter, answered=True, state="acted", answer="Here.")
        await m.calls.start()
        await m.calls.stop()
        again = CallService(m.main.bus, m.store, NoPost(), "amy")
        await again.start()
        await again.stop()
        assert await texts(m) == ["amy: @one?", "one: Here."]


async def test_a_member_is_told_what_it_missed_and_only_that(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db", start=False) as m:
        await m.add_agent("one", kind="native")
        await call_of(m, "one")
        await m.store.calls.add_member("audio", CallMember(member="person2", name="bo"))
        bo = Principal("person2", "bo")
        await m.calls.post_message(bo, "audio", "earlier words", alone=False)
        first = await m.calls.post_message(AMY, "", "@one first")
        second = await m.calls.post_message(AMY, "", "@one second")
        one, two = [(await m.store.mail.find(x.asks[0].letter)).text for x in (first, second)]
        assert "> [1] bo: earlier words" in one and "earlier words" not in two
        assert "> [2] amy: @one first" not in two, "it was sent that"


async def test_a_window_of_a_call_counts(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db", start=False) as m:
        await m.add_agent("one", kind="native")
        await call_of(m, "one")
        for number in range(10):
            await m.calls.post_message(AMY, "", f"number {number}", alone=False)
        await m.calls.set_window("audio", CallWindow("last", last=2), AMY)
        asked = await m.calls.post_message(AMY, "", "@one?")
        text = (await m.store.mail.find(asked.asks[0].letter)).text
        assert "number 8" in text and "number 9" in text and "number 7" not in text
        assert "earlier messages are left out" in text


async def test_a_branch_has_what_was_said_until_then(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db", start=False) as m:
        await m.add_agent("one", kind="native")
        await call_of(m, "one")
        for number in range(4):
            await m.calls.post_message(AMY, "", f"number {number}", alone=False)
        await m.calls.pin("audio", "goals.md", "ship", AMY)
        cut = next(x.seq for x in await m.store.calls.messages("audio") if x.text == "number 1")
        branch = await m.calls.create("other", AMY, branch_of="audio", at=cut)
        assert branch.branched_at == cut and branch.topic == "JACK"
        assert (await texts(m, "other"))[-1] == "amy: number 1"
        assert [pin.name for pin in await m.store.calls.pins("other")] == ["goals.md"]
        await m.calls.post_message(AMY, "other", "on", alone=False)
        assert "amy: on" not in await texts(m)
        with pytest.raises(StoreError, match="no message 99"):
            await m.calls.create("third", AMY, branch_of="audio", at=99)


async def test_pinned_documents_have_a_limit_and_are_in_the_section(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db", start=False) as m:
        row = await m.add_agent("one", kind="native")
        await call_of(m, "one")
        await m.calls.pin("audio", "goals.md", "ship it", AMY)
        await m.calls.instruct("audio", "Answer in French.", AMY)
        section = await m.calls.section(row.id)
        assert [passage.section for passage in section.passages] == ["call", "call"]
        assert "Answer in French." in section.passages[0].text and "ship it" in section.passages[1].text
        assert section.passages[1].path == "/calls/audio/context/pinned/goals.md"
        with pytest.raises(StoreError, match="at most"):
            await m.calls.pin("audio", "big", "x" * (PIN_BYTES + 1), AMY)
        with pytest.raises(StoreError, match="together"):
            for number in range(6):
                await m.store.calls.put_pin(Pin("audio", f"p{number}", "x" * PIN_BYTES))
        assert (await m.calls.section("nobody")).passages == ()


async def test_storm_of_four_processes_numbers_every_message_once(tmp_path: Path) -> None:
    path = tmp_path / "gsh.db"
    async with open_mail(path, start=False) as m:
        await call_of(m)
        stores = [await Store.open(path) for _ in range(4)]
        try:

            async def talk(number: int, store: Store) -> None:
                for at in range(25):
                    await store.calls.add_message(
                        CallMessage(call="audio", id=f"{number}-{at}", author=f"p{number}", text=f"{number} {at}")
                    )

            await asyncio.gather(*(talk(number, store) for number, store in enumerate(stores)))
            await asyncio.gather(*(talk(number, store) for number, store in enumerate(stores)))  # again: nothing new
        finally:
            for store in stores:
                await store.close()
        found = await m.store.calls.messages("audio", limit=1_000)
        assert [one.seq for one in found] == list(range(len(found)))
        mine = [one.text for one in found if one.author == "p2"]
        assert mine == [f"2 {at}" for at in range(25)], "in the order in which each spoke"
        assert (await m.store.calls.find("audio")).messages == len(found)


async def test_what_another_process_says_is_published_here_once_and_in_order(tmp_path: Path) -> None:
    path = tmp_path / "gsh.db"
    async with open_mail(path) as m:
        await call_of(m)
        async with closing_async(await Store.open(path)) as other:
            for number in range(30):
                await other.calls.add_message(CallMessage(call="audio", id=f"x{number}", author="bo", text=str(number)))
            await eventually(
                lambda: published(m, CallMessageAdded),
                until=lambda found: len([one for one in found if one.message.author == "bo"]) == 30,
            )
            heard = [one.message.text for one in m.published(CallMessageAdded) if one.message.author == "bo"]
            assert heard == [str(number) for number in range(30)]
            await other.calls.remove("audio")
            await eventually(lambda: published(m, CallRemoved), until=bool)


@pytest.mark.parametrize("fails", ["set_doing", "add_member", "settle", "message"])
async def test_a_message_in_the_record_is_told_as_said_whatever_fails_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    async def busy(*_: object) -> None:
        raise StoreError("busy", "Another process is writing to the record.")

    async with open_mail(tmp_path / "gsh.db") as m:
        one = await m.add_agent("one", kind="native")
        await call_of(m, "one")
        await m.calls.note_typing(AMY)
        with monkeypatch.context() as broken:
            broken.setattr(m.store.calls, fails, busy)
            said = await m.calls.post_message(AMY, "", "@one well?")
        assert await texts(m) == ["amy: @one well?"]
        assert (await m.store.mail.find(said.asks[0].letter)).recipient == one.id, "and it is put to whom it asks"


async def test_who_knows_the_agents_is_not_asked_where_their_record_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def busy(*_: object) -> None:
        raise StoreError("busy", "Another process is writing to the record.")

    async with open_mail(tmp_path / "gsh.db") as m:
        await m.add_agent("one", kind="native")
        monkeypatch.setattr(m.store.agents, "find_all", busy)
        assert await m.calls.agent_names() == []
        assert (await m.calls.principal(Caller("one", is_agent=True))).name == "one"
        assert (await m.calls.find("", AMY)).name == LOBBY


async def test_who_types_is_known_to_other_processes_until_they_have_spoken(tmp_path: Path) -> None:
    path = tmp_path / "gsh.db"
    async with open_mail(path) as m:
        await call_of(m)
        other = await Store.open(path)
        bo = Principal("bo", "bo", mode="ask")
        elsewhere = CallService(m.main.bus, other, NoPost(), "bo")
        try:
            await elsewhere.join("audio", bo)
            await elsewhere.set_doing(bo, "at the desk")
            await elsewhere.note_typing(bo)
            await elsewhere.note_typing(bo)

            async def doing() -> list[str]:
                await m.main.bus.drained()
                heard = m.published(CallChanged)
                return [one.doing for one in heard[-1].data.members if one.member == "bo"] if heard else []

            await eventually(doing, until=lambda found: found == ["typing"])
            reported = [(one.call, one.member, one.doing) for one in m.published(PresenceReported)]
            assert ("audio", "bo", "typing") in reported
            await elsewhere.post_message(bo, "audio", "hello")
            await eventually(doing, until=lambda found: found == ["at the desk"])
            await m.calls.pin("audio", "goals.md", "x", AMY)
            await eventually(
                lambda: published(m, CallChanged), until=lambda found: found[-1].data.pinned == ("goals.md",)
            )
        finally:
            await other.close()


async def test_agents_say_in_their_call_and_ask_only_with_a_question(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db", start=False) as m:
        one = await m.add_agent("one", kind="native")
        await m.add_agent("two", kind="native")
        await call_of(m, "one", "two")
        quiet = await m.assess("say", one.id, message="I found it")
        asking = await m.assess("say", one.id, message="@two look")
        assert quiet.effect.value == "read" and asking.effect.value == "execute" and "two" in asking.subject
        wall = await m.assess("wall", one.id, message="listen")
        assert wall.effect.value == "execute"
        said = await m.run("say", one.id, text="I found it")
        assert said.data["agent"] == "one" and said.data["role"] == "assistant"
        outside = await m.add_agent("out", kind="native")
        with pytest.raises(CommandError, match="not in the call"):
            await m.run("say", outside.id, message="hello", call="audio")


async def test_an_agent_asks_before_it_reads_a_call_that_it_is_not_in(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db", start=False) as m:
        one = await m.add_agent("one", kind="native")
        out = await m.add_agent("out", kind="native")
        await call_of(m, "one")
        for command, arguments in (
            ("history", {"call": "audio"}),
            ("calls show", {"call": "audio"}),
            ("calls search", {"call": "audio", "text": "x"}),
        ):
            assert (await m.assess(command, one.id, **arguments)).inside, command
            asking = await m.assess(command, out.id, **arguments)
            assert not asking.inside and "audio" in asking.subject and "not in" in asking.why, command
        assert (await m.assess("history", out.id)).inside, "the lobby is everybody's"
        assert (await m.assess("calls", out.id)).effect.value == "read"


async def test_a_shell_cannot_be_in_a_call(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db", start=False) as m:
        await m.add_agent("sh", kind="cli", profile="shell", argv=("bash",))
        await m.calls.create("audio", AMY)
        with pytest.raises(CommandError, match="would run what is said"):
            await m.calls.invite("sh", "audio", AMY)
        assert all(one.name != "sh" for one in (await m.calls.find(LOBBY, AMY)).members)


async def test_talk_to_a_member_is_said_in_the_call(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db", ["Forty-two."]) as m:
        await call_of(m, "main")
        answer = await m.run("talk", to="main", message="what is it?", timeout_s=8)
        assert "Forty-two." in answer.text
        assert await eventually(lambda: texts(m), until=lambda found: len(found) == 2) == [
            "amy: what is it?",
            "main: Forty-two.",
        ]


async def test_history_counts_what_was_seen(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db", start=False) as m:
        await call_of(m)
        for number in range(3):
            await m.store.calls.add_message(
                CallMessage(call="audio", id=f"b{number}", author="bo", text=f"50% {number}")
            )
        before = next(x for x in (await m.run("calls")).data if x["name"] == "audio")["unread"]
        shown = await m.run("history", n=2)
        after = next(x for x in (await m.run("calls")).data if x["name"] == "audio")["unread"]
        assert before == 3 and after == 0 and [x["text"] for x in shown.data] == ["50% 1", "50% 2"]
        assert [x["text"] for x in (await m.run("calls search", call="audio", text="50% 1")).data] == ["50% 1"]
        assert msgspec.json.encode(shown.data)


async def test_no_other_program_is_asked_without_a_person_and_a_guests_limit_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by a guest nor by what an agent answers; and what that asks for is no more than the agent could do."""
    async with open_mail(tmp_path / "gsh.db", start=False) as m:
        one = await m.add_agent("one", kind="native")
        two = await m.add_agent("two", kind="native")
        claude = await m.add_agent("claude", kind="cli", profile="claude")
        await call_of(m, "one", "two", "claude")
        guest = Principal("bo", "bo", mode="ask")
        await m.calls.join("audio", guest)

        asked = await m.calls.post_message(guest, "audio", "@claude remove it all")
        assert "rights of its own" in asked.asks[0].refused
        allowed = await m.calls.post_message(AMY, "audio", "@claude look")
        assert [(ask.member, ask.refused) for ask in allowed.asks] == [(claude.id, "")]
        by_tool = await m.run("say", one.id, text="@claude look", call="audio")
        assert by_tool.data["asked"] == [{"member": claude.id}]  # the guard has asked about the call

        begun = await m.calls.post_message(guest, "audio", "@one have claude and two remove it all")
        letter = await m.store.mail.find(begun.asks[0].letter)
        assert letter.limit == "ask"
        monkeypatch.setattr(type(m.service.outbox), "mode_of", lambda *_: "yolo")  # once its turn is over
        answered = await m.store.mail.change(letter.id, answered=True, answer="@claude @two remove it all")
        await m.calls.post_answer(answered)
        said = next(x for x in await m.store.calls.messages("audio") if x.id == letter.id)
        refused = {ask.member: bool(ask.refused) for ask in said.asks}
        assert (refused, said.mode) == ({claude.id: True, two.id: False}, "ask")
