"""Permission boxes and dialogs of each real program: seen as what they are, never answered or typed into by a text."""

import pytest

from tests.programs.stage import Stage

DIALOGS = {
    "claude": {
        "/cost": "Total cost|Estimated cost",
        "/config": "Auto-compact",
        "/help": "Shortcuts|shortcuts",
        "/resume": "Resume session",
        "/permissions": "Recently denied|Recently blocked",
        "/model": "Select model",
    },
    "codex": {
        "/hooks": "enter details · esc close",
        "/permissions": "Update Model Permissions",
        "/model": "Select Model",
    },
    "opencode": {"/help": "esc/enter", "/models": "Select model +esc", "/sessions": "Sessions +esc"},
    "gemini": {"/settings": "Esc to close", "/theme": "Select Theme"},
    "qwen": {"/help": "Esc to cancel", "/settings": "Tab to configure scope", "/approval-mode": "Approval Mode"},
    "vibe": {"/config": "Esc close", "/model": "Esc cancel"},
}
WORDS = "please stop, and do:nothing more"
AFTERWARDS = "this can wait until you are free"


@pytest.mark.size(200, 50)
@pytest.mark.programs("claude", "codex", "opencode", "gemini", "vibe", "qwen")
async def test_a_permission_box_waits_and_no_text_answers_it(stage: Stage) -> None:
    await stage.status("idle")
    await stage.say("do:touch")
    row = await stage.status("waiting")
    assert row.needs_you
    assert "dialog" not in row.doing
    await stage.until(stage.waits, bool)  # its protocol tells before its screen does
    assert "waits for an answer" in await stage.refused(WORDS)
    await stage.say(WORDS, now=True)
    await stage.fleet.send(stage.id, AFTERWARDS)
    assert not (stage.folder / "made.txt").exists()
    assert WORDS not in await stage.screen()
    await stage.status("waiting")
    assert not stage.heard(WORDS)
    await stage.pressed("Escape")
    await stage.hears(WORDS)
    await stage.hears(AFTERWARDS)
    assert not (stage.folder / "made.txt").exists()


@pytest.mark.size(200, 50)
@pytest.mark.programs("aider")
async def test_a_question_of_a_line_editor_is_no_prompt(stage: Stage) -> None:
    await stage.status("idle")
    await stage.person(text="/add nofile.py")
    await stage.status("waiting")
    await stage.refused(WORDS)
    assert WORDS not in await stage.screen()
    await stage.person("n", "Enter")
    await stage.status("idle")
    assert not (stage.folder / "nofile.py").exists()


@pytest.mark.programs("aider")
async def test_nothing_is_typed_into_the_search_of_a_line_editor(stage: Stage) -> None:
    await stage.status("idle")
    await stage.person("C-r")
    assert (await stage.status("waiting")).doing == "a dialog is open"
    await stage.refused(WORDS)
    await stage.person("C-g")
    await stage.status("idle")


@pytest.mark.programs(*DIALOGS)
async def test_nothing_is_typed_into_a_dialog(stage: Stage) -> None:
    await stage.status("idle")
    dialogs = DIALOGS[stage.program.name]
    for command, shown in dialogs.items():
        await stage.person(text=command)
        await stage.shows(shown)
        row = await stage.status("waiting")
        opened = row.doing.startswith("a dialog is open")
        assert opened or (command == "/model" and row.doing == "Select model"), f"{command}: {row.doing}"
        await stage.refused(WORDS)
        if command == list(dialogs)[-1]:
            await stage.say(AFTERWARDS, now=True)
        await stage.closed()
        await stage.status("idle")
    await stage.hears(AFTERWARDS)
    assert not stage.heard(WORDS)
