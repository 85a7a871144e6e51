"""What real programs meet in a long life: windows that change, questions one after the other, helpers that ask, and
commands of their own in between. The stage itself sees to it that none is called idle while its model is asked."""

from typing import Any

import pytest

from tests.kit.prompt_driven_model import Calls, follow_prompts
from tests.kit.record_questions import calls, made_project
from tests.programs.stage import Stage
from tests.programs.test_own_choices import answer, asked
from tests.programs.test_with_hooks import at_rest

ASKING = ("claude", "codex", "opencode", "gemini", "qwen")
NARROW, WIDE = ((61, 24), (70, 24)), ((160, 45), (80, 24))
SAYS = "echo 'idle · esc to interrupt (esc to cancel) ❯ 1. Yes' >made.txt"


def follow(stage: Stage, wishes: Calls) -> None:
    """Have its model do these as well."""
    tool = stage.program.setup.tool
    stage.provider.choose = follow_prompts(tool.name, tool.argument, wishes, **tool.more)


def commands(stage: Stage, *lines: str) -> list[tuple[str, dict[str, Any]]]:
    """Calls of its tool for commands."""
    tool = stage.program.setup.tool
    return [(tool.name, {tool.argument: line, **tool.more}) for line in lines]


@pytest.mark.programs(*ASKING)
async def test_a_question_stays_one_in_every_window(stage: Stage) -> None:
    await stage.status("idle")
    await stage.say("do:touch")
    question = await asked(stage)
    for size in (*NARROW, *WIDE):
        await stage.server.resize(stage.row.pane, *size)
        await stage.still()
        assert stage.row.needs_you, await stage.account()

    async def drawn() -> list[str]:
        seen = (await asked(stage)).id
        await stage.still()
        return [seen, (await asked(stage)).id]

    await stage.until(drawn, lambda seen: set(seen) == {question.id})  # as wide as at first, it is the same again
    await answer(stage, question, question.choices[0].label)
    await stage.status("idle")
    assert (stage.folder / "made.txt").exists()


@pytest.mark.programs("qwen")
async def test_a_question_that_was_seen_wide_is_answered_where_its_choices_are_cut(stage: Stage) -> None:
    await stage.status("idle")
    await stage.say("do:touch")
    question = await asked(stage)
    await stage.server.resize(stage.row.pane, 50, 24)
    await stage.until(stage.look, lambda row: row.question is not None and "…" in f"{row.question.choices}")
    await answer(stage, question, question.choices[0].label)
    await stage.status("idle")
    assert (stage.folder / "made.txt").exists()


@pytest.mark.programs(*ASKING)
async def test_questions_that_follow_each_other_are_each_asked(stage: Stage) -> None:
    follow(stage, {"twice": commands(stage, SAYS, "touch more.txt")})
    await stage.status("idle")
    await stage.say("do:twice")
    for name, words in (("made.txt", "esc to interrupt"), ("more.txt", "touch more.txt")):
        question = await asked(stage)
        while words not in question.detail:  # the one before leaves the screen a moment later
            question = await asked(stage)
        assert not (stage.folder / name).exists()
        await answer(stage, question, question.choices[0].label)
    await stage.status("idle")
    assert (stage.folder / "made.txt").exists() and (stage.folder / "more.txt").exists()


def have_helpers(stage: Stage, wish: str) -> None:
    """Have its model start helpers, which are asked for this by `do:helper`."""
    made_project(stage.folder)
    wishes = calls(stage.program.name, stage.folder)
    follow(stage, {**wishes, "helper": [(tool, {**given, "prompt": wish}) for tool, given in wishes["agent"]]})


@pytest.mark.programs("claude", "opencode", "gemini")
async def test_what_a_helper_changes_is_asked_about_as_well(stage: Stage) -> None:
    have_helpers(stage, "do:small")
    await stage.status("idle")
    await stage.say("do:helper")
    question = await asked(stage)
    assert any(name in f"{question}" for name in ("notes.txt", "new.txt"))
    assert "five" not in (stage.folder / "notes.txt").read_text() and not (stage.folder / "new.txt").exists()


@pytest.mark.programs("qwen")
async def test_one_whose_helpers_would_not_ask_has_none_where_it_asks(stage: Stage) -> None:
    have_helpers(stage, "do:small")
    await stage.status("idle")
    await stage.say("do:helper")
    await stage.hears("Matching deny rule")
    await stage.status("idle")
    assert "five" not in (stage.folder / "notes.txt").read_text()


@pytest.mark.size(120, 35)
@pytest.mark.hooked
@pytest.mark.alone
@pytest.mark.programs("claude", "opencode")
async def test_a_helper_that_ends_ends_no_turn_and_one_that_asks_asks_a_person(stage: Stage) -> None:
    have_helpers(stage, "do:touch")
    await at_rest(stage)
    for wish in ("do:agent", "do:helper"):
        await stage.say(wish)
    question = await asked(stage)
    assert "touch made.txt" in question.detail
    await answer(stage, question, question.choices[0].label)
    await stage.status("idle")
    assert (stage.folder / "made.txt").exists()


@pytest.mark.alone
@pytest.mark.programs("codex")
async def test_a_helper_that_goes_on_behind_its_turn_is_work(stage: Stage) -> None:
    have_helpers(stage, "do:long")
    await stage.status("idle")
    await stage.say("do:agent")
    await stage.shows("has run")
    await stage.until(stage.look, lambda row: row.status == "idle" and row.status_source == "transcript")
    await stage.say("And now?")
    await stage.hears("subagent_notification", "And now?")


@pytest.mark.programs("claude")
async def test_one_whose_command_runs_in_the_background_rests_and_takes_a_text(stage: Stage) -> None:
    follow(stage, calls(stage.program.name, stage.folder))
    await stage.status("idle")
    await stage.say("do:background")
    await stage.until(stage.look, lambda row: row.status == "idle" and "background" in row.doing)
    await stage.say("And now?")
    await stage.hears("And now?")
    await stage.status("idle")


@pytest.mark.hooked
@pytest.mark.alone
@pytest.mark.programs("claude", "codex", "qwen")
async def test_a_conversation_that_is_compacted_and_cleared_goes_on(stage: Stage) -> None:
    await at_rest(stage)
    for before in ("", "/compress" if stage.program.name == "qwen" else "/compact", "/clear"):
        if before:
            await stage.person(text=before)
            await stage.status("idle")
        await stage.say(f"Good day after {before or 'nothing'}")
        await stage.hears(f"Good day after {before or 'nothing'}")
        await stage.status("idle")
