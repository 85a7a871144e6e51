"""A turn with each real program: what is sent arrives whole, and the status follows what the program does."""

import contextlib

import pytest

from gshtui.programs.profiles import profile_files as profiles
from gshtui.tmux.tmux_errors import TmuxError
from tests.kit.loopback.script import Say
from tests.kit.prompt_driven_model import END, LIST
from tests.programs.stage import Stage

LONG = "\n".join(f"{number:03}: the quick brown fox jumps over the lazy dog, again" for number in range(90))
TEXTS = {
    "lines": "first line\nsecond line\n\nfourth line",
    "long": LONG,
    "backslash": "look into C:\\",
    "bang": "!important: read the readme first",
    "hash": "# a heading and no note",
    "mention": "what is in @readme.txt",
    "part of a mention": "what is in @read",
    "part of a variable": "what is in $HOM",
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


@pytest.mark.programs("claude", "codex", "opencode", "vibe", "qwen", "aider")  # Gemini asks about one as long as this
async def test_a_long_answer_is_work_to_its_end(stage: Stage) -> None:
    """The stage itself sees to it that it is never called idle meanwhile."""
    await stage.status("idle")
    await stage.say("do:long")
    await stage.hears("do:long")
    await stage.shows(END.replace(" ", r"\s+"))  # it may be torn by the end of a row
    await stage.status("idle")


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


@pytest.mark.programs("claude", "codex", "opencode", "gemini", "qwen")
async def test_a_turn_whose_model_fails_is_no_answer(stage: Stage) -> None:
    await stage.status("idle")
    await stage.say("Good day to you")
    await stage.until(stage.look, lambda row: row.report and row.status == "idle")
    await stage.say("do:fail")
    row = await stage.until(stage.look, lambda row: row.stop == "error")
    assert row.state == "failed" and "not in the mood" in row.report, row
    stage.provider.choose = lambda _: [Say("I am here.")]
    await stage.say("And now?")
    row = await stage.until(stage.look, lambda row: row.stop == "end" and row.status == "idle")
    assert "I am here" in row.report


@pytest.mark.programs("claude", "codex", "opencode", "gemini", "vibe", "qwen")
async def test_what_it_shows_of_a_turn_is_read_alone_and_it_ends_by_its_own_keys(stage: Stage) -> None:
    await stage.status("idle")
    await stage.say("Good day to you")
    await stage.hears("Good day to you")
    await stage.shows(ANSWER)
    await stage.status("idle")
    await stage.still()  # Gemini takes no Enter for a moment after its turn
    await stage.command("tmux", action="send", pane=stage.id, text="do:list")
    *_, last = LIST.splitlines()
    await stage.shows(last)
    await stage.status("idle")
    await stage.still()
    new = (await stage.command("tmux", action="read", pane=stage.id, what="new")).text
    assert last in new, new
    assert "I am here." not in new, f"the turn before:\n{new}"
    keys = profiles.load().for_argv(stage.program.argv).keys
    if keys.exit_text:
        await stage.person(text=keys.exit_text)
    for key in () if keys.exit_text else keys.exit:
        with contextlib.suppress(TmuxError):  # the first one was enough
            await stage.person(key)
        await stage.still()  # a second key that comes while it ends would end it otherwise
    row = await stage.until(stage.look, lambda row: row.status in ("done", "failed", "lost"))
    assert (row.status, row.status_source) == ("done", "process"), await stage.account()
    shown = await stage.command("agent show", agent=stage.id, answer=True)
    assert last in shown.data["answer"], "what it has said can still be read"
    assert (await stage.fleet.restart(stage.id)).how == "resumed its conversation"
