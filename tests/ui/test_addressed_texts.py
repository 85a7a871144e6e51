"""What is written goes to whom it was written for, whatever comes to the front or back meanwhile."""

import asyncio
import json
from pathlib import Path

import pytest

from gshtui.bus.events.agent_events import PromptEditRequested, PromptSubmitted
from gshtui.fleet.core.agent_calls import SendToAgent
from gshtui.ui.kit.widgets.dialogs import AskedChoice
from gshtui.ui.prompt.drafts import DraftKeeper, PromptDraft
from gshtui.ui.prompt.prompt_routing import Addressee
from tests.kit.home import Home
from tests.kit.keyboard import Keyboard
from tests.kit.prompt_host import PromptHost
from tests.kit.seen_window import rested
from tests.ui.test_terminal_view import opened

KEY = "sk-ant-api03-" + "0123456789" * 9
OWN, REVIEW = Addressee("main"), Addressee("0002", "review", mail=True)


def told(app: PromptHost) -> list[str]:
    return [one.message for one in app._notifications]


async def test_what_was_asked_about_goes_to_whom_it_was_for_and_the_question_names_it() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test() as pilot:
        area = app.area.input
        app.area.address(REVIEW)
        await pilot.press(*"for review")
        app.area.address(OWN)
        area.place(f"use {KEY} please")
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, AskedChoice) and "in this text to main" in app.export_screenshot().replace(
            "&#160;", " "
        )
        app.area.address(REVIEW)
        assert area.text == "for review"
        area.take_back(["a refused one"], "main")
        app.screen.dismiss("as it is")
        await pilot.pause()
        assert [(one.agent, one.text) for one in app.events if isinstance(one, PromptSubmitted)] == [
            ("main", f"use {KEY} please")
        ]
        assert area.text == "for review"
        app.area.address(OWN)
        assert area.text == "a refused one"
        area.place(f"use {KEY} please")
        await pilot.press("enter")
        await pilot.pause()
        app.area.address(REVIEW)
        app.screen.dismiss(None)
        await pilot.pause()
        assert area.text == "for review"
        app.area.address(OWN)
        assert area.text == f"use {KEY} please"


async def test_what_was_asked_about_comes_back_if_that_agent_is_gone() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test(notifications=True) as pilot:
        area = app.area.input
        app.area.address(REVIEW)
        area.place(f"use {KEY} please")
        await pilot.press("enter")
        await pilot.pause()
        app.area.address(OWN)
        area.look_up = lambda one: Addressee(one.agent, one.name, mail=True, ended=True)
        app.screen.dismiss("as it is")
        await pilot.pause()
        assert not [one for one in app.events if isinstance(one, PromptSubmitted)]
        assert told(app) == ["review has ended · R in Agents restarts it."]
        assert area.text == "" and area.past.entries[-1] == f"use {KEY} please"
        app.area.address(REVIEW)
        assert area.text == f"use {KEY} please"


async def test_an_edit_that_was_asked_about_comes_back_once_its_prompt_has_begun() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test() as pilot:
        area = app.area.input
        area.begin_edit("p1", f"use {KEY}")
        await pilot.press("enter")
        await pilot.pause()
        area.end_edit(keep_text=True)
        app.screen.dismiss("as it is")
        await pilot.pause()
        assert not [one for one in app.events if isinstance(one, PromptEditRequested | PromptSubmitted)]
        assert area.text == f"use {KEY}"


async def test_a_prompt_that_comes_back_is_a_draft_for_whom_it_was() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test() as pilot:
        area = app.area.input
        app.area.address(REVIEW)
        await pilot.press(*"for review")
        app.area.give_back("first", "")
        app.area.give_back("second", "")
        area.take_back(["queued"], "0002")
        assert area.text == "queued\n\nfor review"
        app.area.address(OWN)
        assert area.text == "first\n\nsecond"
        area.place("own")
        area.begin_edit("p1", "waiting", "main")
        app.area.address(REVIEW)
        area.end_edit(keep_text=True)
        assert area.text == "queued\n\nfor review"
        app.area.address(OWN)
        assert area.text == "waiting\n\nown"


async def test_what_comes_of_a_command_takes_nobody_away_from_what_they_write() -> None:
    async with opened((120, 35)) as (pilot, app, _):
        area = app.bench.input
        area.focus()
        await pilot.press(*"remove the old ")
        front = app.bench.deck.front
        app.show_outcome("/usage", "the usage")
        await rested(pilot)
        assert app.bench.deck.front == front and area.addressee.agent == "0001"
        assert [one.message for one in app._notifications] == ["/usage has answered in Chat."]
        await pilot.press(*"branch", "enter")
        await rested(pilot)
        assert app.hub is not None
        assert [one.text for one in app.hub.ran if isinstance(one, SendToAgent)] == ["remove the old branch"]
        area.place(f"deploy with {KEY}")
        await pilot.press("enter")
        await rested(pilot)
        app.show_outcome("/usage", "the usage")
        await rested(pilot)
        assert app.bench.deck.front == front
        Keyboard(app).post("escape")
        await rested(pilot)
        assert area.text == f"deploy with {KEY}"
        area.place("")
        app.show_outcome("/usage", "the usage")
        await rested(pilot)
        assert app.bench.deck.front == "chat"


async def test_drafts_are_stored_under_the_name_of_whom_they_are_for_and_offered_once(
    home: Home, tmp_path: Path
) -> None:
    app = PromptHost(project=tmp_path)
    async with app.run_test() as pilot:
        await app.workers.wait_for_complete()
        app.area.address(REVIEW)
        await pilot.press(*"to it")
        app.area.address(OWN)
    said: list[list[str]] = []
    for _ in range(3):
        app = PromptHost(project=tmp_path)
        async with app.run_test(notifications=True) as pilot:
            await app.workers.wait_for_complete()
            await pilot.pause()
            said.append(told(app))
            past = app.area.input.past.entries[:]
    assert said == [
        ["A draft from your last window: open review to see."],
        ["The draft from your last window is in the history."],
        [],
    ]
    assert past == [] and not list(home.state.glob("**/*.json"))


async def test_a_draft_of_an_earlier_version_is_read(home: Home, tmp_path: Path) -> None:
    app = PromptHost(project=tmp_path)
    async with app.run_test() as pilot:
        await app.workers.wait_for_complete()
        await pilot.press(*"new")
    [file] = home.state.glob("**/*.json")
    file.write_text(json.dumps({"text": "see [pasted #1 · 1 line · 3 B]", "folds": True}))
    file.with_suffix(".folds").write_text(json.dumps({"1": "old"}))
    app = PromptHost(project=tmp_path)
    async with app.run_test() as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.area.input.value == "see old"


async def test_a_draft_that_is_read_late_is_not_lost_to_whom_is_written_then(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = PromptHost(project=tmp_path)
    async with app.run_test() as pilot:
        await app.workers.wait_for_complete()
        await pilot.press(*"important")
    read, whole = asyncio.Event(), DraftKeeper.restore

    async def late(self: DraftKeeper) -> dict[str, PromptDraft]:
        await read.wait()
        return await whole(self)

    monkeypatch.setattr(DraftKeeper, "restore", late)
    app = PromptHost(project=tmp_path)
    async with app.run_test(notifications=True) as pilot:
        app.area.address(REVIEW)
        await pilot.press(*"for review")
        read.set()
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert told(app) == ["A draft from your last window: open the window's own agent to see."]
        assert app.area.input.text == "for review"
        app.area.address(OWN)
        assert app.area.input.text == "important"
