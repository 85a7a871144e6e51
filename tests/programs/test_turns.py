"""A turn with each real program: what is sent arrives whole, and the status follows what the program does."""

from __future__ import annotations

import pytest

from tests.kit.prompt_driven_model import END
from tests.programs.stage import Stage

LONG = "\n".join(f"{number:03}: the quick brown fox jumps over the lazy dog, again" for number in range(90))
TEXTS = {
    "plain": "Good day, what is this?",
    "lines": "first line\nsecond line\n\nfourth line",
    "long": LONG,
    "backslash": "look into C:\\",
    "bang": "!important: read the readme first",
    "hash": "# a heading and no note",
    "mention": "what is in @readme.txt",
}
ANSWER = r"I am here\."


@pytest.mark.whole_turn_of("aider", "vibe", "qwen")
async def test_it_comes_to_rest_answers_and_rests_again(stage: Stage) -> None:
    await stage.status("idle")
    await stage.say("Good day to you")
    await stage.hears("Good day to you")
    await stage.shows(ANSWER)
    await stage.status("idle")
    assert "waiting" not in stage.statuses, stage.statuses


async def test_every_text_arrives_word_for_word(stage: Stage) -> None:
    await stage.status("idle")
    for name, text in TEXTS.items():
        letter = await stage.say(text)
        assert await stage.sent(letter) in ("submitted", "acted"), f"{name}\n{await stage.account()}"
        await stage.hears(text)
        await stage.status("idle")
    await stage.sent(await stage.say("/nonsense of a command"))  # taken or not, it stands in nobody's way
    await stage.say("And a last word")
    await stage.hears("And a last word")


@pytest.mark.size(200, 50)
async def test_an_answer_can_be_interrupted_while_it_streams(stage: Stage) -> None:
    await stage.status("idle")
    stage.provider.pace = 4  # then it goes on for a minute, however late the program comes to its keys
    await stage.say("do:long")
    await stage.shows("says nothing, at")
    await stage.until(stage.look, lambda row: row.status in ("thinking", "tool"))  # of aider, no more than a guess
    await stage.fleet.interrupt(stage.id)
    await stage.status("idle")
    assert END not in "\n".join(await stage.still())
