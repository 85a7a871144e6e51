"""The modes of real programs: each starts in the one that asks, and in `plan` it writes nothing unasked."""

from __future__ import annotations

import pytest

from gshtui.bus.agent_data import SpawnRequest
from gshtui.fleet.ports import FleetError
from tests.programs.stage import Stage

PLANNERS = ("claude", "codex", "gemini", "qwen", "opencode")


@pytest.mark.programs(*PLANNERS, "vibe")
async def test_it_starts_in_the_mode_that_asks_and_shows_it(stage: Stage) -> None:
    row = await stage.until(stage.look, lambda row: row.program_mode)
    assert row.held_to == "ask" and row.program_mode is not None
    assert row.program_mode.like in ("ask", "") and not row.exceeds, row.mode_words


@pytest.mark.programs(*PLANNERS)
async def test_in_plan_nothing_is_written_unasked(stage: Stage) -> None:
    request = SpawnRequest(name="planner", cli=stage.program.argv, mode="plan")
    made = await stage.fleet.spawn(request, by_person=True)
    planner = Stage(stage.program, stage.hub, stage.provider, stage.folder, id=made.id)
    await planner.until(planner.look, lambda row: row.program_mode is not None and row.program_mode.like == "plan")
    await planner.say("do:touch a file")

    async def seen() -> bool:
        return planner.row.needs_you or "Done; the command has run." in await planner.screen()

    await planner.until(seen, bool)
    assert not (stage.folder / "made.txt").exists()


@pytest.mark.programs("aider")
async def test_one_without_modes_says_so(stage: Stage) -> None:
    before = len(stage.fleet.rows())
    with pytest.raises(FleetError, match="aider has no modes: it edits files unasked"):
        await stage.fleet.spawn(SpawnRequest(cli=stage.program.argv, mode="plan"), by_person=True)
    assert len(stage.fleet.rows()) == before
