"""Real programs whose hooks are installed: status, answer, questions, dialog and restart.

The other tests run them without hooks.
"""

import pytest

from gshtui.bus.events.agent_events import AgentStatusChanged
from gshtui.programs.hooks import hooks
from gshtui.programs.profiles import profile_files as profiles
from tests.kit.native_agents import EventLog
from tests.programs.stage import Stage
from tests.programs.test_own_choices import answer, asked
from tests.programs.test_questions import DIALOGS

pytestmark = pytest.mark.hooked
HELLO = "Hello. I am here."


@pytest.mark.programs("claude", "codex", "opencode", "gemini", "qwen")
@pytest.mark.whole_turn_of("claude", "codex", "opencode", "gemini")
async def test_a_day_with_hooks(stage: Stage) -> None:
    heard = EventLog(stage.hub.bus)
    await at_rest(stage)
    sent = await stage.command("agent send", agent=stage.id, text="Good day to you", wait=True, timeout=90)
    assert not sent.timed_out, await stage.account()
    assert sent.data["answer"].strip() == HELLO
    by = "protocol" if heard.of(AgentStatusChanged, agent=stage.id, source="protocol") else "hook"
    assert heard.of(AgentStatusChanged, agent=stage.id, source=by), await stage.account()
    assert sent.data["source"] in ("report", "transcript")
    await stage.say("do:touch")
    question = await asked(stage)
    assert "touch made.txt" in question.detail
    assert stage.row.needs_you
    await answer(stage, question, question.choices[0].label)
    spoken = await stage.status("idle")
    assert (stage.folder / "made.txt").exists()
    assert not stage.row.needs_you
    assert stage.row.question is None
    assert (await stage.fleet.restart(stage.id)).how == "resumed its conversation"
    await stage.until(stage.look, lambda row: row.pid not in (0, spoken.pid) and row.pane)
    await at_rest(stage)
    await stage.say("And now?")
    await stage.hears("Good day to you", "And now?")  # its conversation went on
    await stage.status("idle")
    assert hooks.state(profiles.load().get(stage.program.name)) == "installed", "it has written into the recipe"


@pytest.mark.programs("claude", "codex", "gemini", "qwen")
async def test_a_question_that_its_person_denied_is_over_for_all(stage: Stage) -> None:
    """No program's hook tells of that: what asks next is asked about, and a dialog is no question."""
    await at_rest(stage)
    await stage.say("do:touch")
    await asked(stage)
    await stage.closed()
    row = await stage.until(stage.look, lambda row: not row.needs_you)
    assert row.question is None
    command, shown = next((command, shown) for command, shown in DIALOGS[stage.program.name].items())
    await stage.person(text=command)
    await stage.shows(shown)
    row = await stage.status("waiting")
    assert "touch made.txt" not in row.doing
    assert row.question is None or "touch made.txt" not in row.question.detail
    await stage.closed()
    assert not (stage.folder / "made.txt").exists()


async def at_rest(stage: Stage) -> None:
    """Wait until it rests; Codex asks first whether hooks that are new may run."""
    row = await stage.status("idle", "waiting")
    if row.status == "waiting":
        question = await asked(stage)
        assert "ooks" in question.subject, await stage.account()
        await answer(stage, question, next(one.label for one in question.choices if "rust" in one.label))
        await stage.status("idle")
