"""Real programs over the Agent Client Protocol: a whole turn with a question of theirs, and a restart with memory."""

import pytest

from gshtui.bus.agent_data import AgentRow
from gshtui.programs.acp.acp_commands import program_name
from tests.programs.stage import Stage, strings
from tests.programs.test_lives import have_helpers

SPEAKERS = ("gemini", "opencode", "qwen", "claude-agent-acp", "codex-acp")
pytestmark = [pytest.mark.programs(*SPEAKERS), pytest.mark.over_acp]
REFUSE = ("Reject", "No", "Deny", "Cancel")
"""How the answers that refuse begin."""
ONCE = ("Allow", "Allow once", "Allow Once", "Yes", "Yes, once", "Yes, proceed")
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
    assert (row.kind, row.profile) == ("acp", program_name((stage.program.name,)))
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


@pytest.mark.programs("qwen")
async def test_one_whose_helpers_would_not_ask_has_none(stage: Stage) -> None:
    have_helpers(stage, "do:small")
    await stage.status("idle")
    await stage.say("do:helper")
    await stage.until(stage.look, lambda row: row.status == "idle" and "Done" in row.report)
    await stage.hears('Tool "agent" not found')
    assert "five" not in (stage.folder / "notes.txt").read_text()


async def test_a_refusal_and_a_restart_with_its_memory(stage: Stage) -> None:
    await stage.status("idle")
    await stage.say("do:touch a file")
    question = (await asked(stage)).question
    assert question is not None
    key = next(choice.key for choice in question.choices if choice.label.startswith(REFUSE))
    await stage.fleet.answer(stage.id, key, question=question.id)
    before = await stage.until(stage.look, lambda row: row.status in ("idle", "failed"))
    assert not (stage.folder / "made.txt").exists()
    await stage.fleet.restart(stage.id)
    await stage.started_anew(before)
    told = len(stage.provider.chats)
    await stage.say("do:list")
    await stage.until(stage.look, lambda row: row.status == "idle" and "two ways" in row.report)
    # Where a program keeps no conversation whose only turn was refused, it is told of it.
    again = [words for asked in stage.provider.chats[told:] for words in strings(asked.body)]
    assert any("do:touch a file" in words for words in again), "its model is not told of the turn before"
