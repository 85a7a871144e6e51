"""An agent that is started again: with its own conversation, whether anything was said in it or not, and saying which.

Without hooks, and with several agents of one program in one folder.
"""

import asyncio

import pytest

from tests.kit.tmux import kill_server
from tests.programs.stage import Stage


@pytest.mark.programs("claude", "codex", "opencode", "gemini", "vibe", "qwen")
async def test_one_that_was_never_spoken_to_is_started_again(stage: Stage) -> None:
    first = await stage.status("idle")
    assert (await stage.fleet.restart(stage.id)).how == "had no conversation yet; started anew"
    again = await stage.started_anew(first)
    assert again.external_id == first.external_id or stage.program.name != "claude"  # others may have noted it already
    await stage.say("Do you remember?")
    await stage.hears("Do you remember?")
    await stage.shows(r"I am here\.")  # its turn is over, and with it the conversation is on its disk
    spoken = await stage.status("idle")
    back = await stage.fleet.restart(stage.id)
    assert back.how == "resumed its conversation"
    assert back.row.external_id
    await stage.started_anew(spoken)
    await stage.say("And now?")
    await stage.hears("Do you remember?", "And now?")  # its conversation went on


@pytest.mark.programs("claude", "codex", "vibe")
async def test_one_that_was_lost_before_it_was_spoken_to_is_recovered(stage: Stage) -> None:
    first = await stage.status("idle")
    await stage.bound()
    await kill_server(stage.server)
    await stage.until(stage.look, lambda row: row.status == "lost")
    (plan,) = await stage.fleet.plan_recovery()
    assert (plan.how, plan.why) == ("had no conversation yet; started anew", "")
    done = await stage.fleet.recover_all()
    assert [(one.row.id, one.how) for one in done.back] == [(stage.id, plan.how)], done.lost
    again = await stage.started_anew(first)
    assert again.external_id == first.external_id or stage.program.name != "claude"


@pytest.mark.programs("claude", "codex", "opencode", "vibe")
async def test_two_in_one_folder_keep_their_own_conversations(stage: Stage) -> None:
    await stage.status("idle")  # OpenCode hangs where two of it make its database at once
    other = await stage.beside()
    await other.status("idle")
    for one, words in ((stage, "I am the first one"), (other, "I am the second one")):
        for text in ("Good day to you", words):  # the same at first, so that both get the same title
            await one.say(text)
            await one.shows(rf"(?s){text}.*I am here\.")
            await one.status("idle")
        await one.bound()
    assert stage.row.external_id != other.row.external_id
    for one, own, others in ((stage, "first", "second"), (other, "second", "first")):
        said = await one.until(one.written, lambda text, own=own: f"I am the {own} one" in text)
        assert f"I am the {others} one" not in said
    await kill_server(stage.server)
    await asyncio.gather(*(one.until(one.look, lambda row: row.status == "lost") for one in (stage, other)))
    plans = await stage.fleet.plan_recovery()
    assert {plan.conversation for plan in plans} == {stage.row.external_id, other.row.external_id}
    done = await stage.fleet.recover_all()
    assert ([one.how for one in done.back], done.lost) == (["resumed its conversation"] * 2, [])
    for one, words in ((stage, "I am the first one"), (other, "I am the second one")):
        await one.shows(words)


@pytest.mark.programs("claude", "codex", "copilot", "gemini", "qwen")
async def test_one_that_began_a_conversation_of_its_own_goes_on_with_that(stage: Stage) -> None:
    await begins_another(stage, "/clear")


@pytest.mark.hooked
@pytest.mark.programs("pi")
async def test_one_whose_hooks_tell_its_conversation_goes_on_with_that(stage: Stage) -> None:
    await begins_another(stage, "/new")
    await stage.until(stage.look, lambda row: row.status_source == "hook")


async def begins_another(stage: Stage, command: str) -> None:
    """Its person has it begin a conversation, which no message of ours tells of."""
    await stage.status("idle")
    await stage.say("I am the first one")
    await stage.shows(r"I am here\.")
    await stage.status("idle")
    first = await stage.bound()
    await stage.person(text=command)
    await stage.until(stage.screen, lambda seen: "I am the first one" not in seen)
    await stage.status("idle")
    await stage.say("I am the second one")
    await stage.shows(r"(?s)I am the second one.*I am here\.")
    rested = await stage.status("idle")
    row = await stage.until(stage.look, lambda row: row.external_id not in ("", first))
    assert (await stage.fleet.restart(stage.id)).how == "resumed its conversation"
    again = await stage.started_anew(rested)
    assert again.external_id == row.external_id
    await stage.say("And now?")
    await stage.hears("I am the second one", "And now?")
    assert not stage.heard("I am the first one", "And now?")
