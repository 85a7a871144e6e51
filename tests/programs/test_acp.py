"""Real programs over the Agent Client Protocol: a whole turn with a question of theirs, and a restart with memory."""

from __future__ import annotations

import pytest

from gshtui.bus.agent_data import AgentRow
from tests.programs.stage import Stage

pytestmark = [pytest.mark.programs("gemini", "opencode"), pytest.mark.over_acp]
ONCE = ("Allow", "Allow once")
"""What the programs call the answer that allows once."""


async def asked(stage: Stage) -> AgentRow:
    """Wait until the program asks; its row."""
    return await stage.until(stage.look, lambda row: row.status == "waiting" and row.question is not None)


async def answered(stage: Stage, report: str) -> AgentRow:
    """Wait until its last turn has ended with these words."""
    return await stage.until(stage.look, lambda row: row.status == "idle" and row.report == report)


@pytest.mark.whole_turn_of("gemini", "opencode")
async def test_a_whole_turn_with_its_own_question(stage: Stage) -> None:
    row = await stage.status("idle")
    assert (row.kind, row.profile) == ("acp", stage.program.name)
    assert row.external_id and {"mode", "model"} <= {option.category or option.id for option in row.options}
    await stage.say("do:touch a file")
    question = (await asked(stage)).question
    assert question is not None and "touch made.txt" in f"{question.subject} {question.detail}"
    assert not (stage.folder / "made.txt").exists()
    key = next(choice.key for choice in question.choices if choice.label in ONCE)
    assert await stage.fleet.answer(stage.id, key, question=question.id) is None
    row = await answered(stage, "Done; the command has run.")
    assert (stage.folder / "made.txt").exists()
    assert row.tokens > 0 and row.question is None


# Gemini CLI begins another conversation where the only turn of the first one was refused.
@pytest.mark.programs("opencode")
async def test_a_refusal_and_a_restart_with_its_memory(stage: Stage) -> None:
    await stage.status("idle")
    await stage.say("do:touch a file")
    question = (await asked(stage)).question
    assert question is not None
    key = next(choice.key for choice in question.choices if choice.label == "Reject")
    await stage.fleet.answer(stage.id, key, question=question.id)
    before = await stage.until(stage.look, lambda row: row.status in ("idle", "failed"))
    assert not (stage.folder / "made.txt").exists()
    await stage.fleet.restart(stage.id)
    await stage.started_anew(before)
    await stage.say("Are you there?")
    await stage.hears("Are you there?")
    row = await stage.until(stage.look, lambda row: row.status == "idle" and row.report)
    assert row.external_id == before.external_id
    assert stage.heard("do:touch a file"), "its model is not told of the turn before"
