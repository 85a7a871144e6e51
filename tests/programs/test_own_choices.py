"""The questions of each real program: read with their own choices, and answered by one key, by exactly the one seen."""

import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from gshtui.bus.agent_data import AgentRow, OpenQuestion
from gshtui.commands.declaration import CommandError
from gshtui.fleet.core.ports import FleetError
from gshtui.programs.hooks.hook_reports import spool_path
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.screen.screen_reading import read_screen
from gshtui.settings import paths
from gshtui.tmux.quoting import ShownRow
from gshtui.tmux.server import TmuxServer
from tests.kit.loopback.script import Answer, Say
from tests.kit.loopback.server import Asked
from tests.kit.prompt_driven_model import follow_prompts
from tests.kit.record_questions import CHANGED, calls, made_project
from tests.programs.stage import Stage

ASKING = ("claude", "codex", "opencode", "gemini", "vibe", "qwen", "kilo")


async def asked(stage: Stage) -> OpenQuestion:
    """Wait until its question is known with its choices, and all of it is painted."""

    def readable(row: AgentRow) -> bool:
        return row.status == "waiting" and row.question is not None and bool(row.question.choices)

    async def whole() -> OpenQuestion | None:
        row = await stage.until(stage.look, readable)
        try:
            shown = await stage.fleet.question(stage.id)
            if not await stage.waits():  # its protocol may tell before its screen does
                return None
        except FleetError:  # it is just being painted anew
            return None
        return row.question if row.question is not None and row.question.id == shown.id else None

    question = await stage.until(whole, bool)
    assert question is not None
    return question


async def answer(stage: Stage, question: OpenQuestion, label: str) -> None:
    """Choose this answer, as a person does who saw this question."""
    (key,) = [one.key for one in question.choices if one.label == label]
    after = await stage.fleet.answer(stage.id, key, question=question.id)
    assert after is None or after.id != question.id


@pytest.mark.programs(*ASKING)
async def test_one_key_answers_the_question_that_was_seen(stage: Stage) -> None:
    made = stage.folder / "made.txt"
    await stage.status("idle")
    await stage.say("do:touch")
    question = await asked(stage)
    assert "touch made.txt" in question.detail
    assert not question.partial
    with pytest.raises(CommandError, match="none of its choices"):
        await stage.command("agent answer", agent=stage.id, choice="9")
    shown = (await stage.command("agent answer", agent=stage.id)).data["question"]
    assert [one["label"] for one in shown["choices"]] == [one.label for one in question.choices]
    refusal = [one.label for one in question.choices if one.label.startswith(("No", "Reject", "Deny"))][-1]
    await answer(stage, question, refusal)
    await stage.until(stage.look, lambda row: row.question is None)
    assert not made.exists()
    await stage.until(stage.look, lambda row: row.status == "idle")
    await stage.say("do:touch")
    question = await asked(stage)
    await answer(stage, question, question.choices[0].label)
    await stage.status("idle")
    assert made.exists()
    assert stage.row.question is None
    with pytest.raises(CommandError, match="is not asking anything"):
        await stage.command("agent answer", agent=stage.id, choice="1")


@pytest.mark.size(120, 35)
@pytest.mark.programs("claude", "qwen")
async def test_several_questions_and_the_review_of_their_answers(stage: Stage) -> None:
    tool = stage.program.setup.tool
    wishes = calls(stage.program.name, stage.folder)
    stage.provider.choose = follow_prompts(tool.name, tool.argument, wishes, **tool.more)
    await stage.status("idle")
    await stage.say("do:both")
    answers = ("Red", "[ ] Cheese", "Submit" if stage.program.name == "claude" else "Confirm", "Submit answers")
    for subject, label in zip(("colour", "toppings", "toppings", "our answers"), answers, strict=True):
        question = await asked(stage)
        while subject not in question.subject:  # Qwen shows for a moment that one has its answer
            question = await asked(stage)
        await answer(stage, question, next(one.label for one in question.choices if one.label.startswith(label)))
    assert "Red" in question.detail and "Cheese" in question.detail, "the answers that are sent can be read"
    await stage.status("idle")
    await stage.shows(r"(?s)Red.*Cheese.*has run\.")


STEPS = "".join(f"{n}. Read note {n}.\n" for n in range(1, 60))


async def planned(stage: Stage) -> OpenQuestion:
    """Have Codex propose a plan that is longer than its screen."""

    plan = f"# Tidy the notes\n\n{STEPS}"
    coming = [f"<proposed_plan>\n{plan}</proposed_plan>"]

    def choose(asked: Asked) -> Answer:
        is_proposed = stage.program.is_turn(asked) and "do:propose" in json.dumps(asked.body) and coming
        return [Say(coming.pop() if is_proposed else "I begin.")]

    stage.provider.choose = choose
    await stage.status("idle")
    await stage.person("BTab")
    await stage.shows("Plan mode")
    await stage.person(text="do:propose")
    question = await asked(stage)
    await stage.until(stage.look, lambda row: row.question is not None and not row.question.partial)
    assert stage.row.question is not None and stage.row.needs_you
    assert stage.row.question.detail == plan.strip()
    return question


@pytest.mark.alone
@pytest.mark.programs("codex")
async def test_a_plan_longer_than_the_screen_is_read_whole_and_stays_one(stage: Stage) -> None:
    question = await planned(stage)
    shown = await stage.command("agent answer", agent=stage.id)
    assert "1. Read note 1." in shown.text and "59. Read note 59." in shown.text
    with pytest.raises(CommandError, match="unasked, so nothing was pressed"):
        await stage.command("agent answer", agent=stage.id, choice="6")
    await answer(stage, question, "No, stay in Plan mode")
    await stage.until(stage.look, lambda row: row.status == "idle" and row.question is None)
    await stage.shows("Plan mode")


@pytest.mark.size(120, 35)
@pytest.mark.programs("codex")
async def test_a_plan_that_its_app_server_does_not_ask_about_is_let_begin(stage: Stage) -> None:
    await planned(stage)
    await stage.command("agent answer", agent=stage.id, choice="6", yes=True)
    await stage.shows("I begin")
    await stage.until(stage.look, lambda row: row.status == "idle" and row.question is None)
    assert "Plan mode" not in (await stage.screen()).splitlines()[-1]


@pytest.mark.alone
@pytest.mark.programs("codex")
async def test_an_edit_is_allowed_only_where_all_of_its_change_was_read(stage: Stage) -> None:
    tool = stage.program.setup.tool
    wishes = calls(stage.program.name, stage.folder)
    ((name, given),) = wishes["edit"]
    unread = ((name, {"cmd": f"cd . && {given['cmd']}"}),)  # a form of its patches that is not read
    stage.provider.choose = follow_prompts(tool.name, tool.argument, {**wishes, "unread": unread}, **tool.more)
    made_project(stage.folder)
    notes = stage.folder / "notes.txt"
    before = notes.read_text("utf-8")
    await stage.status("idle")
    await stage.say("do:unread")
    question = await asked(stage)
    assert question.partial and "10 -line 10 of the notes" in question.detail
    with pytest.raises(CommandError, match=r"Its screen does not show all of it.*Nothing was pressed"):
        await stage.command("agent answer", agent=stage.id, choice="1")
    await answer(stage, question, "No, and tell Codex what to do differently")
    await stage.until(stage.look, lambda row: row.status == "idle" and row.question is None)
    assert notes.read_text("utf-8") == before
    await stage.say("do:edit")
    row = await stage.until(stage.look, lambda row: row.question is not None and not row.question.partial)
    assert row.question is not None
    assert all(f"+{line}" in row.question.diff for line in CHANGED.splitlines())
    await answer(stage, row.question, "Yes, proceed")
    await stage.status("idle")
    assert CHANGED in notes.read_text("utf-8")


ALIKE = "\n".join(f"touch made-{n}-of-all-the-files.txt" for n in range(30))
"""The beginning of two commands, longer than a screen."""


@pytest.mark.alone
@pytest.mark.programs("claude", "codex", "opencode")
async def test_an_answer_never_allows_the_next_command_that_begins_alike(stage: Stage) -> None:
    """A person answers at its terminal, and as fast as can be once more here, by what was shown of the first one."""
    tool = stage.program.setup.tool
    twice = [(tool.name, {tool.argument: f"{ALIKE}\ntouch {end}.txt", **tool.more}) for end in ("one", "two")]
    stage.provider.choose = follow_prompts(tool.name, tool.argument, {"twice": twice}, **tool.more)
    one, two = stage.folder / "one.txt", stage.folder / "two.txt"

    async def told(end: str) -> OpenQuestion | None:
        question = stage.row.question
        whole = question is not None and not question.partial and question.detail.endswith(f"touch {end}.txt")
        return question if whole else None

    await stage.status("idle")
    await stage.say("do:twice")
    first = await stage.until(lambda: told("one"), bool)
    assert first is not None
    await stage.server.send_keys(stage.row.pane, "Enter")
    refused = list[str]()

    async def pressed() -> bool:
        try:
            await stage.fleet.answer(stage.id, first.choices[0].key, question=first.id)
        except FleetError as error:
            refused.append(str(error))
        return len(refused) > 5 and await told("two") is not None

    await stage.until(pressed, bool)
    second = await told("two")
    assert second is not None and (one.exists(), two.exists()) == (True, False), refused
    await stage.fleet.answer(stage.id, second.choices[0].key, question=second.id)
    await stage.status("idle")
    assert two.exists()


@pytest.mark.programs("aider")
async def test_a_letter_answers_a_question_of_a_line_editor(stage: Stage) -> None:
    made = stage.folder / "nofile.py"
    await stage.status("idle")
    for label, exists in (("No", False), ("Yes", True)):
        await stage.person(text="/add nofile.py")
        question = await asked(stage)
        assert [one.label for one in question.choices] == ["Yes", "No"]
        assert "nofile.py" in question.subject
        await answer(stage, question, label)
        await stage.until(stage.look, lambda row: row.question is None and row.status == "idle")
        assert made.exists() == exists


@pytest.mark.hooked
@pytest.mark.programs("claude")
async def test_its_hook_answers_without_a_key_and_falls_back_to_the_box(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, pressed = stage.folder / "made.txt", list[str]()

    async def press(pane: str, key: str, shown: Sequence[ShownRow]) -> bool:
        pressed.append(key)
        return await TmuxServer.press_where_shown(stage.server, pane, key, shown)

    monkeypatch.setattr(stage.server, "press_where_shown", press)
    spools = spool_path(paths.data_dir(), stage.id).parent
    await stage.status("idle")
    await stage.say("do:touch")
    await answer(stage, await asked(stage), "No")
    await stage.until(stage.look, lambda row: row.question is None and row.status == "idle")
    assert (made.exists(), pressed) == (False, [])
    await stage.say("do:touch")
    await answer(stage, await asked(stage), "Yes")
    await stage.status("idle")
    assert (made.exists(), pressed) == (True, [])
    made.unlink()
    await stage.say("do:touch")
    question = await asked(stage)
    pipe = await stage.until(_find(spools), bool)
    pipe[0].write_text("nonsense\n", "utf-8")
    await stage.until(_find(spools), lambda found: not found)
    assert (await asked(stage)).id == question.id
    assert not made.exists(), "an answer that is none allows nothing"
    await answer(stage, question, "Yes")
    await stage.status("idle")
    assert (made.exists(), pressed) == (True, ["1"])


def _find(folder: Path) -> Callable[[], Awaitable[list[Path]]]:
    async def look() -> list[Path]:
        return list(folder.glob("*.pipe"))

    return look


_SIZES = ((80, 24), (80, 20), (80, 17), (60, 20), (60, 15), (50, 16))
_COMMANDS = {
    "few": "\n".join(f"touch line-{n}-of-a-few" for n in range(4)),
    "many": "\n".join(f"touch line-{n}-of-many" for n in range(14)),
    "wide": "touch " + " ".join(f"word-{n}" for n in range(60)),
}


@pytest.mark.programs("claude", "codex", "opencode", "gemini", "vibe", "qwen", "copilot")
@pytest.mark.parametrize("command", list(_COMMANDS))
async def test_a_command_that_is_not_all_on_the_screen_counts_at_no_size(stage: Stage, command: str) -> None:
    tool = stage.program.setup.tool
    wanted = (tool.name, {tool.argument: _COMMANDS[command], **tool.more})
    stage.provider.choose = follow_prompts(tool.name, tool.argument, {"this": (wanted,)}, **tool.more)
    profile = profiles.load().for_argv(stage.program.argv)
    await stage.status("idle")
    await stage.say("do:this")
    await asked(stage)
    looks: list[tuple[int, int, OpenQuestion | None]] = []

    async def stands() -> bool:
        info, lines = await stage.server.capture_screen(stage.row.pane)
        read = read_screen(profile, lines, info.title, (info.cursor_x, info.cursor_y), info.width).read
        looks.append((info.width, info.height, read.question if read is not None else None))
        return len(looks) > 1 and looks[-1] == looks[-2] and looks[-1][:2] == size

    for size in _SIZES:
        await stage.server.resize(stage.row.pane, *size)
        await stage.until(stands, bool)
        question = looks[-1][2]
        if question is None:
            continue
        shown = "".join(f"{question.subject}{question.detail}".split())
        missing = [word for word in _COMMANDS[command].split() if word not in shown]
        allows = {one.key for one in question.choices if one.means not in ("deny", "words")} - question.uncounted
        assert not (missing and allows), (size, missing, question)
