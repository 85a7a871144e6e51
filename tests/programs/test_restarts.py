"""An agent that is started again: under its own conversation's id, whether anything was said in it or not."""

from __future__ import annotations

import pytest

from tests.programs.stage import Stage


@pytest.mark.programs("claude", "gemini")
async def test_one_that_was_never_spoken_to_is_started_again(stage: Stage) -> None:
    first = await stage.status("idle")
    assert first.external_id
    await stage.fleet.restart(stage.id)
    again = await stage.started_anew(first)
    assert again.external_id == first.external_id or stage.program.name == "gemini"  # which may have noted it already
    await stage.say("Do you remember?")
    await stage.hears("Do you remember?")
    await stage.shows(r"I am here\.")  # its turn is over, and with it the conversation is on its disk
    spoken = await stage.status("idle")
    await stage.fleet.restart(stage.id)
    await stage.started_anew(spoken)
    await stage.shows(r"Do you remember\?")
    await stage.say("And now?")
    await stage.hears("And now?")
    last = stage.provider.chats[-1]
    assert "Do you remember?" in last.raw.decode(), "its conversation went on"


@pytest.mark.programs("claude")
async def test_one_that_was_lost_before_it_was_spoken_to_is_recovered(stage: Stage) -> None:
    first = await stage.status("idle")
    await stage.server.kill_server()
    await stage.until(stage.look, lambda row: row.status == "lost")
    back, troubles = await stage.fleet.recover_all()
    assert ([row.id for row in back], troubles) == ([stage.id], [])
    assert (await stage.started_anew(first)).external_id == first.external_id
