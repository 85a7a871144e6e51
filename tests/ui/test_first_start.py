"""The questions of the very first start: at most three, each answered by enter alone, all left by escape."""

from __future__ import annotations

from pathlib import Path

import pytest

from gshtui.bus.events.agent_events import ModelChangeRequested
from gshtui.commands.config_calls import SetSetting, ShownSettings
from gshtui.settings.loader import load
from gshtui.ui.kit.widgets.dialogs import Picker
from gshtui.ui.settings.settings_feature import SettingsFeature
from tests.kit.fake_hub import Answer
from tests.kit.home import Home
from tests.kit.window import Window


async def test_three_questions_and_nothing_without_an_answer(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b", "SHELL": "/bin/zsh"}.items():
        monkeypatch.setenv(name, value)
    startup = home.path / ".zshrc"
    startup.write_text("alias ll='ls -l'\n", encoding="utf-8")
    app = Window(answers={"config show": Answer(ShownSettings(load(Path.cwd()), ""))})
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await app.workers.wait_for_complete()
        hub = app.hub
        assert hub is not None

        async def asked(words: str) -> None:
            while not (isinstance(app.screen, Picker) and words in app.export_screenshot().replace("&#160;", " ")):
                await pilot.pause()

        def sets() -> list[tuple[str, str]]:
            return [(call.key, call.value) for call in hub.ran if isinstance(call, SetSetting)]

        async def carried_out() -> None:
            await app.workers.wait_for_complete(worker for worker in app.workers if worker.group == "settings")

        app.part(SettingsFeature).ask_first(unless=lambda: True)
        await carried_out()
        assert not isinstance(app.screen, Picker), "the person has begun to type"
        app.part(SettingsFeature).ask_first()
        await asked("Which provider")
        await pilot.press(*"open a file")  # "open" could be an answer, what follows is none
        await carried_out()
        assert app.screen is app.bench and app.bench.centre.typed() == "open a file" and not sets()
        await pilot.press("ctrl+c")
        app.part(SettingsFeature).ask_first()
        await asked("Which provider")
        await pilot.press("down", "enter")
        await asked("Which theme")
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        dialog = app.screen.query_one(".dialog").region
        assert dialog.bottom < app.bench.input.region.y, "the input is in sight"
        assert app.screen.query_one(".dialog-hint").region.bottom < dialog.bottom, "and how to go on"
        await pilot.press("escape")
        await carried_out()
        assert sets() == [("agent.default_provider", "openai")] and app.theme == "gsh-dark"
        assert [event.provider for event in hub.said if isinstance(event, ModelChangeRequested)] == ["openai"]
        monkeypatch.delenv("OPENAI_API_KEY")  # one provider: nothing to choose
        app.part(SettingsFeature).ask_first()
        await asked("Which theme")
        await pilot.press("enter")
        await asked("your shells")
        assert len(sets()) == 1 and startup.read_text("utf-8") == "alias ll='ls -l'\n"
        await pilot.press("down", "enter")
        await carried_out()
    assert startup.read_text("utf-8").startswith("alias ll='ls -l'\n[[ ! -r ")
