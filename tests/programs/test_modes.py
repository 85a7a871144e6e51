"""The modes of real programs: each starts in the one that asks, and in `plan` it writes nothing unasked."""

import json
from typing import Any

import pytest

from gshtui.bus.agent_data import AgentRow, GuardMode, SpawnRequest
from gshtui.fleet.core.ports import FleetError
from tests.kit.home import Home
from tests.kit.prompt_driven_model import PLAN_FILE
from tests.kit.record_questions import calls
from tests.programs.stage import Stage
from tests.programs.test_lives import follow
from tests.programs.test_own_choices import answer, asked

OWN = {
    "claude": (".claude/settings.json", "permissions.defaultMode", "plan"),
    "gemini": (".gemini/settings.json", "general.defaultApprovalMode", "plan"),
    "qwen": (".qwen/settings.json", "tools.approvalMode", "plan"),
    "opencode": ("opencode/opencode.json", "default_agent", "plan"),
}
"""A file of its settings, and a key in it with a value."""
PLANNERS = ("claude", "codex", "gemini", "qwen", "opencode")


async def begun(stage: Stage, request: SpawnRequest) -> None:
    """Another agent of the program takes the stage's place."""
    before, stage.id = stage.id, (await stage.fleet.spawn(request, by_person=True)).id
    await stage.fleet.kill(before, now=True)


@pytest.mark.programs(*PLANNERS, "vibe")
async def test_it_starts_in_the_mode_that_asks_and_shows_it(stage: Stage) -> None:
    row = await stage.until(stage.look, lambda row: row.program_mode)
    assert row.held_to == "ask" and row.program_mode is not None
    assert row.program_mode.like in ("ask", "") and not row.exceeds, row.mode_words


@pytest.mark.programs(*PLANNERS)
async def test_in_plan_nothing_is_written_unasked(stage: Stage) -> None:
    request = SpawnRequest(name="planner", cli=stage.program.argv, mode="plan")
    await begun(stage, request)
    await stage.until(stage.look, lambda row: row.program_mode is not None and row.program_mode.like == "plan")
    await stage.say("do:touch a file")

    async def seen() -> bool:
        return stage.row.needs_you or "Done; the command has run." in await stage.screen()

    await stage.until(seen, bool)
    assert not (stage.folder / "made.txt").exists()


@pytest.mark.programs(*OWN)
async def test_its_own_stricter_settings_hold_unless_a_person_says_otherwise(stage: Stage, home: Home) -> None:
    name, key, value = OWN[stage.program.name]
    file = home.path / name if not name.startswith("opencode") else home.config / name
    settings = json.loads(file.read_text("utf-8")) if file.exists() else {}
    inner = settings
    for each in key.split(".")[:-1]:
        inner = inner.setdefault(each, {})
    inner[key.rpartition(".")[2]] = value
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(settings), "utf-8")
    await begun(stage, SpawnRequest(name="planner", cli=stage.program.argv))

    def says_its_mode(row: AgentRow) -> bool:
        return row.program_mode is not None and bool(row.program_mode.like)

    if (await stage.until(stage.look, lambda row: row.needs_you or says_its_mode(row))).needs_you:
        await stage.pressed("Escape")  # Claude offers another default mode over its footer
    row = await stage.until(stage.look, says_its_mode)
    assert (row.held_to, row.held_by, row.mode_words.partition(", ")[2]) == ("plan", str(file), "by its own settings")
    assert row.program_mode is not None and row.program_mode.like == "plan"
    await stage.say("do:touch a file")

    async def seen() -> bool:
        return stage.row.needs_you or "Done; the command has run." in await stage.screen()

    await stage.until(seen, bool)
    assert not (stage.folder / "made.txt").exists()
    request = SpawnRequest(name="asker", cli=stage.program.argv, mode="ask")
    asker = await stage.fleet.spawn(request, by_person=True)
    assert (asker.held_to, asker.held_by) == ("ask", "person")


@pytest.mark.programs("qwen")
async def test_a_person_changes_the_mode_by_its_key_and_is_told_what_that_one_does_not_hold(stage: Stage) -> None:
    await begun(stage, SpawnRequest(name="wide", cli=stage.program.argv, mode="auto"))
    await stage.status("idle")
    wanted = "ask permissions, but its helpers edit unasked"
    while stage.row.mode_words != wanted:
        before = stage.row.mode_words
        await stage.person("BTab")
        await stage.until(stage.look, lambda row, before=before: row.mode_words != before)
    assert (stage.row.held_to, stage.row.held_by) == ("auto", "person"), "a key is no proof of who pressed it"
    assert f"Mode: {wanted}" in (await stage.command("agent explain", agent=stage.id)).text


@pytest.mark.parametrize("mode", ["plan", "ask", "edit"])
@pytest.mark.programs("qwen")
async def test_a_helper_of_its_project_with_a_wider_mode_is_not_to_be_had(stage: Stage, mode: GuardMode) -> None:
    own = stage.folder / ".qwen" / "agents" / "fixer.md"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(
        "---\nname: fixer\ndescription: Fixes all\napprovalMode: yolo\n---\nYou fix what is asked.\n", "utf-8"
    )
    wishes = calls(stage.program.name, stage.folder)
    tool, given = wishes["agent"][0]
    follow(stage, {**wishes, "helper": [(tool, {**given, "prompt": "do:touch", "subagent_type": "fixer"})]})
    await begun(stage, SpawnRequest(name="second", cli=stage.program.argv, mode=mode))
    await stage.status("idle")
    await stage.say("do:helper")
    await stage.hears("Matching deny rule")
    await stage.status("idle")
    assert not (stage.folder / "made.txt").exists()


@pytest.mark.programs("claude")
async def test_a_mode_that_is_approved_is_no_deviation_and_any_other_is(stage: Stage) -> None:
    plan: dict[str, Any] = {"plan": "# A plan\n"}
    follow(stage, {"plan": [("Write", {"file_path": PLAN_FILE, "content": plan["plan"]}), ("ExitPlanMode", plan)]})
    await begun(stage, SpawnRequest(name="planner", cli=stage.program.argv, mode="plan"))
    await stage.status("idle")
    await stage.say("do:plan")
    question = await asked(stage)
    await answer(stage, question, next(one.label for one in question.choices if one.means == "once"))
    row = await stage.until(stage.look, lambda row: row.status == "idle" and row.mode_words == "manual mode, approved")
    assert (row.held_to, row.exceeds) == ("plan", False), "its children may do no more"
    await stage.person("BTab")
    row = await stage.until(stage.look, lambda row: row.mode_words.startswith("accept edits"))
    assert row.exceeds


@pytest.mark.programs("opencode")
async def test_what_it_is_denied_by_its_own_settings_stays_so(stage: Stage, home: Home) -> None:
    file = home.config / "opencode/opencode.json"
    settings = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({**settings, "permission": {"bash": {"touch *": "deny"}, "edit": "allow"}}), "utf-8")
    await begun(stage, SpawnRequest(name="second", cli=stage.program.argv))
    await stage.status("idle")
    await stage.say("do:touch a file")
    await stage.shows(r"Done; the command has run\.")
    assert not (stage.folder / "made.txt").exists()
    assert stage.row.question is None


@pytest.mark.programs("aider")
async def test_one_without_modes_says_so(stage: Stage) -> None:
    before = len(stage.fleet.rows())
    with pytest.raises(FleetError, match="Aider has no modes: it edits files unasked"):
        await stage.fleet.spawn(SpawnRequest(cli=stage.program.argv, mode="plan"), by_person=True)
    assert len(stage.fleet.rows()) == before
