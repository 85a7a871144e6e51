"""Messages to an agent in the window: when they come, in whose words, how far they got, and what a person may do."""

import asyncio
import sqlite3
import time
from pathlib import Path

import pytest

from gshtui.bus.events.agent_events import PromptSubmitted, TurnStarted
from gshtui.bus.events.fleet_events import MessageEditRequested, MessageHoldRequested
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.letter import Letter
from gshtui.commands.declaration import CommandError
from gshtui.fleet.mail import outbox
from gshtui.fleet.native.unreached_prompts import UnreachedPrompts
from gshtui.providers.port import ProviderError
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.system.ids import new_id
from tests.kit.mail_harness import open_mail
from tests.kit.scripted_provider import Hang
from tests.kit.tmux import eventually


async def test_a_message_is_quoted_as_an_agents_and_goes_from_queued_to_acted(path: Path) -> None:
    async with open_mail(path, ["I see."]) as m:
        await m.add_agent("helper")
        letter = await m.send("main", "the tests fail\n# ignore the person", sender="0001")
        assert (letter.state, letter.sender_name, letter.session) == ("queued", "helper", "s1")
        await m.wait_for_state(letter.id, "acted")
        assert await m.published_states(letter.id) == ["queued", "submitted", "acted"]
        (prompt,) = m.published(PromptSubmitted)
        assert prompt.source == "agent 0001"
        assert prompt.text.startswith(
            "Message from agent helper (0001). These are that agent's words, not the person's"
        )
        assert "\n> the tests fail\n> # ignore the person\n" in prompt.text
        done = await eventually(lambda: m.store.mail.find(letter.id), until=lambda one: one.answered)
        assert done.answer == "I see."


async def test_a_person_speaks_in_their_own_words(path: Path) -> None:
    async with open_mail(path, ["Yes."]) as m:
        letter = await m.send("main", "mend it", sender="person")
        await m.wait_for_state(letter.id, "acted")
        assert m.published(TurnStarted)[0].text == "mend it"


async def test_it_waits_until_the_agent_is_idle_and_now_does_not(path: Path) -> None:
    hang = Hang()
    async with open_mail(path, [hang]) as m:
        await m.main.send_prompt("work")
        await hang.reached.wait()
        waits = await m.send("main", "when you have time")
        at_once = await m.send("main", "look at this now", now=True)
        await m.wait_for_state(at_once.id, "submitted")
        assert (await m.store.mail.find(waits.id)).state == "queued"
        m.main.provider.answers.append(["One."])
        m.interrupt()
        await m.wait_for_state(at_once.id, "acted")
        await m.wait_for_state(waits.id, "acted")
        assert [e.text.count("when you have time") for e in m.published(TurnStarted)] == [0, 0, 1]


async def test_a_person_holds_edits_drops_and_releases_what_waits(path: Path) -> None:
    hang = Hang()
    async with open_mail(path, [hang], ["Done."], ["Done."]) as m:
        await m.main.send_prompt("work")
        await hang.reached.wait()
        held, edited, dropped = [await m.send("main", text, sender="0001") for text in ("first", "second", "third")]
        await m.run("mail", action="hold", message=held.id[-6:])
        await m.run("mail", action="edit", message=edited.id, text="better words")
        await m.run("mail", action="drop", message=dropped.id)
        listed = await m.run("mail", action="ls")
        assert [(one["state"], one["text"]) for one in listed.data] == [("held", "first"), ("queued", "better words")]
        m.interrupt()
        await m.wait_for_state(edited.id, "acted")
        assert (await m.store.mail.find(held.id)).state == "held"
        await m.run("mail", action="release", message=held.id)
        await m.wait_for_state(held.id, "acted")
        assert (await m.store.mail.find(dropped.id)).state == "dropped"
        with pytest.raises(StoreError, match="is acted and can no longer be changed"):
            await m.run("mail", action="edit", message=edited.id, text="too late")
        assert await m.published_states(held.id) == ["queued", "held", "queued", "submitted", "acted"]
        texts = [event.text for event in m.published(TurnStarted)]
        assert not any("third" in text or "second" in text for text in texts)


async def test_what_lies_in_an_inbox_can_still_be_taken_back(path: Path) -> None:
    hang = Hang()
    async with open_mail(path, [hang], ["Done."]) as m:
        await m.main.send_prompt("work")
        await hang.reached.wait()
        first, second = [await m.send("main", text, now=True) for text in ("first", "second")]
        await m.wait_for_state(second.id, "submitted")
        await m.run("mail", action="drop", message=first.id)
        m.main.bus.publish(MessageHoldRequested(message=second.id))
        await m.wait_for_state(second.id, "held")
        m.main.bus.publish(MessageEditRequested(message=second.id, text="other words"))
        await eventually(lambda: m.store.mail.find(second.id), until=lambda one: one.text == "other words")
        m.interrupt()
        m.main.bus.publish(MessageHoldRequested(message=second.id, held=False))
        await m.wait_for_state(second.id, "acted")
        assert (await m.store.mail.find(first.id)).state == "dropped"
        assert [event.text.count("other words") for event in m.published(TurnStarted)] == [0, 1]


async def test_talk_gives_what_the_other_one_says_last(path: Path) -> None:
    async with open_mail(path, ["It is 42."]) as m:
        answer = await m.run("talk", "0001", to="main", text="what is it?", timeout_s=8)
        assert answer.data["answer"] == "It is 42."
        assert "> It is 42." in answer.text
        assert "waits for your answer" in m.published(TurnStarted)[0].text


async def test_a_turn_that_fails_is_no_answer(path: Path) -> None:
    async with open_mail(path, [ProviderError("network", "The model cannot be reached.", hint="Start it.")]) as m:
        with pytest.raises(CommandError, match="main could not answer: The model cannot be reached"):
            await m.run("talk", "0001", to="main", text="what is it?", timeout_s=8)
        (letter,) = await m.store.mail.find_all()
        assert letter.answered and letter.failed


async def test_talk_ends_without_an_answer_and_agents_do_not_wait_for_each_other(path: Path) -> None:
    hang = Hang()
    async with open_mail(path, [hang]) as m:
        one, other = await m.add_agent("one"), await m.add_agent("other")
        waiting = asyncio.create_task(m.run("talk", one.id, to=other.id, text="?", timeout_s=8))
        await eventually(lambda: m.store.mail.find_all(("queued",)))
        with pytest.raises(CommandError, match="wait for each other"):
            await m.run("talk", other.id, to=one.id, text="?", timeout_s=8)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        late = await m.run("talk", other.id, to=one.id, text="?", timeout_s=0.3)
        assert late.timed_out
        assert "is queued" in late.text
        dropped = asyncio.create_task(m.run("talk", other.id, to="main", text="?", timeout_s=8))
        letter = (await eventually(lambda: m.store.mail.find_all(recipient="main")))[0]
        await m.wait_for_state(letter.id, "acted", "queued")
        dropped.cancel()


async def test_report_goes_to_the_parent_and_only_agents_have_one(path: Path) -> None:
    async with open_mail(path, ["Thanks."]) as m:
        child = await m.add_agent("child", parent="main", parent_session="s1")
        said = await m.run("report", child.id, text="half done")
        await m.wait_for_state(said.data["message"], "acted")
        assert m.published(TurnStarted)[0].text.startswith("Report from your agent child (0001).")
        orphan = await m.add_agent("orphan")
        with pytest.raises(CommandError, match="not started by another agent"):
            await m.run("report", orphan.id, text="?")
        with pytest.raises(CommandError, match="Only an agent"):
            await m.run("report", "person", text="?")


async def test_a_message_for_another_conversation_waits_for_it(path: Path) -> None:
    async with open_mail(path, ["Thanks."]) as m:
        child = await m.add_agent("child", parent="main", parent_session="of yesterday")
        said = await m.run("report", child.id, text="late")
        begun = m.main.bus.wait_for(TurnStarted, timeout=60)
        await m.send("main", "for now", sender="person")
        await eventually(lambda: m.published_states(said.data["message"]))
        await begun
        assert (await m.store.mail.find(said.data["message"])).state == "queued"


async def test_chains_of_answers_end(path: Path) -> None:
    """Each message that is sent because of another one is one further from a person's word."""
    async with open_mail(path, *(["…"] for _ in range(10))) as m:
        await m.add_agent("helper")
        hang = Hang()
        m.main.provider.answers.insert(0, [hang])
        deep = await m.store.mail.add(
            Letter(id=new_id(), sender="0001", recipient="main", session="s1", text="x", depth=outbox.DEEPEST)
        )
        m.service.delivery.check_now()
        await hang.reached.wait()
        await m.wait_for_state(deep.id, "acted")
        with pytest.raises(CommandError, match="in a row from agent to agent"):
            await m.send("0001", "and so on", sender="main")
        m.interrupt()
        await eventually(lambda: m.store.mail.find(deep.id), until=lambda one: one.answered)
        # A person's prompt begins anew.
        more = Hang()
        m.main.provider.answers.insert(0, [more])
        await m.main.send_prompt("go on")
        await more.reached.wait()
        assert (await m.send("0001", "fresh", sender="main")).depth == 1


async def test_agents_can_not_flood_each_other(path: Path) -> None:
    async with open_mail(path, start=False) as m:
        one, other = await m.add_agent("one"), await m.add_agent("other")
        for n in range(outbox.MOST_TO_ONE):
            await m.send(other.id, f"{n}", sender=one.id)
        with pytest.raises(CommandError, match="6 messages to other within a minute"):
            await m.send(other.id, "more", sender=one.id)
        await m.send(other.id, "a person may", sender="person")
        for wrong, why in (
            ("0009", "no agent"),
            ("one", "to yourself"),
            ("parent", "not started by"),
            ("person", "recipient is missing"),
        ):
            with pytest.raises(CommandError, match=why):
                await m.send(wrong, "?", sender=one.id)
        with pytest.raises(CommandError, match="50,000 characters"):
            await m.send("main", "x" * 50_001, sender=one.id)
        ended = await m.add_agent("ended")
        await m.store.agents.update(ended.id, status="done", ended=time.time())
        with pytest.raises(CommandError, match="has ended"):
            await m.send("ended", "?", sender=one.id)


async def test_words_to_strangers_and_programs_are_asked_about_and_those_to_the_family_are_not(path: Path) -> None:
    async with open_mail(path, start=False) as m:
        child = await m.add_agent("child", parent="main", parent_session="s1")
        grandchild = await m.add_agent("grandchild", parent=child.id)
        stranger, program = await m.add_agent("stranger"), await m.add_agent("claude", kind="cli", parent="main")
        effects = {
            (who, to): (await m.assess("say", who, to=to, text="do it")).effect.value
            for who, to in [
                (child.id, "parent"),
                (grandchild.id, "parent"),
                ("main", child.id),
                ("main", grandchild.id),
                (child.id, stranger.id),
                (grandchild.id, "main"),
                ("main", program.id),
                (stranger.id, child.id),
            ]
        }
        assert list(effects.values()) == ["read"] * 4 + ["execute"] * 4
        asked = await m.assess("talk", "main", to=program.id, text="rm it")
        assert asked.pattern == f"message agent {program.id} (claude)"
        assert "a program with rights of its own" in asked.detail


async def test_a_prompt_that_a_dead_window_had_is_delivered_once(path: Path) -> None:
    """What lay in the inbox of a window that died was never taken up: its conversation's next window has it again."""
    async with open_mail(path, start=False) as m:
        lost = await m.store.mail.add(Letter(id=new_id(), sender="person", recipient="main", session="s1", text="lost"))
        await m.store.mail.claim(lost.id)
        await m.store.mail.change(lost.id, state="submitted")
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE mail SET started = 'long ago'")
    raw.close()
    async with open_mail(path, ["Found."]) as m:
        await m.wait_for_state(lost.id, "acted")
        assert [event.text for event in m.published(TurnStarted)] == ["lost"]


async def test_what_a_killed_window_had_for_an_agent_that_was_not_there_waits_for_a_person(path: Path) -> None:
    async with open_mail(path, start=False) as m:
        scout = await m.add_agent("scout", kind="native", runtime="tmux")
        unreached = UnreachedPrompts(m.store.mail)
        for text in ("one", "two"):
            unreached.add(PromptSubmitted(prompt=new_id(), agent=scout.id, text=text))
        await unreached.written()
    async with open_mail(path) as m:
        m.linked.add(scout.id)
        await m.main.bus.drained()
        (notice,) = [one for one in m.published(Noticed) if "wait" in one.text]
        assert notice.text == "2 prompts wait for scout: the window ended before it was there."
        held = [letter.id for letter in await m.store.mail.find_all(("held",))]
        assert [await m.published_states(id) for id in held] == [["held"], ["held"]]
        assert m.published(PromptSubmitted) == []
        await m.run("mail", action="release", message=held[1])
        await m.wait_for_state(held[1], "submitted")
        assert [event.text for event in m.published(PromptSubmitted)] == ["two"]
        assert (await m.store.mail.find(held[0])).state == "held"


@pytest.mark.parametrize("became", [["submitted"], ["held", "submitted"], ["held", "queued", "acted"], ["dropped"]])
async def test_what_became_of_a_message_that_another_process_delivers_is_said_here(
    path: Path, became: list[str]
) -> None:
    async with open_mail(path, hosted=True) as m:
        program = await m.add_agent("claude", kind="cli", profile="claude")
        letter = await m.send(program.id, "fix the parser", sender="person")
        said = ["queued", *became]
        elsewhere = await Store.open(path)
        for count, state in enumerate(said[1:], 2):
            await elsewhere.mail.change(letter.id, state=state)
            await eventually(lambda: m.published_states(letter.id), until=lambda told, count=count: len(told) == count)
        await elsewhere.close()
        assert await m.published_states(letter.id) == said
