"""What a person does by hand in a real program's terminal, behind our back: its row stays true, and it goes on.

The stage itself sees to it that none is called idle while its model is asked.
"""

import os

import pytest

from gshtui.bus.agent_data import SpawnRequest
from gshtui.programs.profiles import profile_files as profiles
from tests.kit.prompt_driven_model import END
from tests.programs.stage import Stage
from tests.programs.test_modes import begun
from tests.programs.test_own_choices import answer, asked
from tests.programs.test_turns import ANSWER

PROMPTS = r"(?m)^ *[❯›┃>│]"
SUSPEND = ("claude", "codex", "opencode")
"""Those that a key suspends, where no shell would continue them."""
ASKS = {"claude": ("--permission-mode", "default"), "qwen": ("--approval-mode", "default")}
"""What has it ask, where it would not by itself."""
SCREENS = ("claude", "codex", "opencode", "gemini", "vibe", "qwen")


@pytest.mark.programs(*SUSPEND)
async def test_one_that_suspends_itself_goes_on_at_rest_and_in_mid_turn(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken = list[int]()
    kill = os.killpg

    def wake(group: int, number: int) -> None:
        kill(group, number)
        woken.append(group)

    monkeypatch.setattr("gshtui.programs.screen.foreground.os.killpg", wake)
    await stage.status("idle")
    woken.clear()
    await stage.person("C-z")
    await stage.until(stage.look, lambda _: woken)
    await stage.status("idle")
    await stage.say("Good day to you")
    await stage.hears("Good day to you")
    await stage.shows(ANSWER)
    await stage.status("idle")
    stage.provider.pace = 20
    await stage.say("do:long")
    await stage.shows("says nothing, at")
    await stage.until(stage.look, lambda row: row.status in ("thinking", "tool"))
    woken.clear()
    await stage.person("C-z")
    await stage.until(stage.look, lambda _: woken)
    await stage.shows(END.replace(" ", r"\s+"))
    await stage.status("idle")
    await stage.say("And now?")
    await stage.hears("do:long", "And now?")


@pytest.mark.size(120, 35)
@pytest.mark.programs(*SCREENS)
async def test_its_persons_escape_ends_an_answer_and_a_command(stage: Stage) -> None:
    await stage.status("idle")
    stage.provider.pace = 4
    await stage.say("do:long")
    await stage.shows("says nothing, at")
    await stage.until(stage.look, lambda row: row.status in ("thinking", "tool"))
    keys = profiles.load().for_argv(stage.program.argv).keys.interrupt
    await stage.person(*keys)
    await stage.status("idle")
    assert END not in "\n".join(await stage.still())
    stage.provider.pace = 40
    await stage.person("C-u")  # some put the prompt back
    await stage.say("do:sleep")
    question = await asked(stage)
    await answer(stage, question, question.choices[0].label)
    await stage.until(stage.look, lambda row: row.status in ("thinking", "tool") and not row.needs_you)
    await stage.until(stage.look, lambda _: (stage.folder / "slept.txt").exists())
    await stage.person(*keys)
    await stage.status("idle")
    await stage.say("And now?")
    await stage.hears("And now?")
    await stage.status("idle")


@pytest.mark.size(120, 35)
@pytest.mark.programs(*SCREENS)
async def test_one_that_is_typed_into_a_shell_asks_by_its_own_profile(stage: Stage) -> None:
    await stage.status("idle")
    await begun(stage, SpawnRequest(name="sh", cli=("bash", "--norc")))
    await stage.until(stage.look, lambda row: row.status == "idle")
    await stage.person(text=" ".join((*stage.program.argv, *ASKS.get(stage.program.name, ()))))
    await stage.until(stage.look, lambda row: row.status == "tool")
    await stage.shows(PROMPTS)
    await stage.person(text="do:touch")
    question = await asked(stage)
    assert stage.row.needs_you and "touch made.txt" in question.detail
    assert not (stage.folder / "made.txt").exists()
    await answer(stage, question, question.choices[0].label)
    await stage.shows("has run")
    row = await stage.until(stage.look, lambda row: not row.needs_you)
    assert (stage.folder / "made.txt").exists() and row.question is None


@pytest.mark.size(120, 35)
@pytest.mark.programs("claude")
async def test_one_that_its_person_starts_with_resume_is_asked_which_and_goes_on_with_that(stage: Stage) -> None:
    await stage.status("idle")
    await stage.say("The word is raspberry")
    await stage.shows(ANSWER)
    await stage.status("idle")
    first = await stage.bound()
    await begun(stage, SpawnRequest(name="again", cli=(*stage.program.argv, "--resume")))
    await stage.shows("Resume session")
    row = await stage.until(stage.look, lambda row: row.status == "waiting")
    assert row.needs_you, row.doing
    await stage.person("Enter")
    await stage.status("idle")
    await stage.say("What was the word?")
    await stage.hears("The word is raspberry", "What was the word?")
    assert await stage.until(stage.look, lambda row: row.external_id == first)
