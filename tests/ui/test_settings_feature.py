"""The settings screen on real files: every kind of row, changed by keys, with comments kept and two screens at once."""

import json
import re
import threading
import tomllib
from pathlib import Path
from typing import Never

import pytest
from textual.widgets import Static

from gshtui.agents.personas import BUILT_IN, load_personas
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import ModelChangeRequested
from gshtui.commands import config_commands
from gshtui.commands.config_calls import SetSetting
from gshtui.commands.declaration import CommandError
from gshtui.commands.registry import Registry
from gshtui.fleet.native.commands import personas_command
from gshtui.programs import commands as program_commands
from gshtui.programs.profiles.profile_files import load as load_profiles
from gshtui.providers.model_command import ListedModel, ModelList
from gshtui.settings import paths
from gshtui.settings.keys import flat
from gshtui.settings.loader import load
from gshtui.settings.user_config import set_value
from gshtui.ui.kit import terminal_handoff
from gshtui.ui.kit.keys.key_table import KEYS
from gshtui.ui.kit.widgets.dialogs import Picker
from gshtui.ui.settings import settings_screen
from gshtui.ui.settings.setting_rows import MOST_USED, ORDER, setting_rows
from gshtui.ui.settings.settings_feature import persona_file, profile_file
from gshtui.ui.settings.settings_screen import KeyScreen, SettingsScreen
from tests.kit.configuration import user_file
from tests.kit.fake_hub import Answer
from tests.kit.home import Home
from tests.kit.window import Window, at_rest, settled

WRITTEN = "# mine\n[ui] # looks\nfps = 20 # slow\n\n[keybindings]\n'agents.spawn' = 'f12' # free\n"


MODEL = "providers.anthropic.default_model"


def window(folder: Path, answers: dict[str, Answer | Exception] | None = None) -> Window:
    class Feeds(Bus):
        def publish(self, event: Event) -> None:
            app.feed(event)

    async def look(_agent: str) -> Never:
        raise CommandError("There are no agents here.")

    loaded = load(folder)
    commands = (
        *config_commands.commands(loaded, Feeds()),
        personas_command(),
        *program_commands.commands(loaded, look),
    )
    app = Window(folder, commands=Registry(commands), answers=answers or {})
    return app


def screen(app: Window) -> SettingsScreen:
    found = app.screen
    assert isinstance(found, SettingsScreen)
    return found


def test_every_setting_has_a_row_with_its_source_and_help(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file(home, WRITTEN)
    monkeypatch.setenv("GSH_AGENT__MAX_STEPS", "7")
    loaded = load(tmp_path)
    rows = {row.id: row for row in setting_rows(loaded)}
    known = {".".join(path) for path, _ in flat(loaded.settings)}
    assert known | {f"keybindings.{id}" for id in KEYS} == set(rows)
    assert [row.id for row in rows.values() if not row.help] == []
    assert (rows["ui.fps"].value, rows["ui.fps"].source) == ("20", "your file:3")
    assert rows["agent.max_steps"].fixed == "environment (GSH_AGENT__MAX_STEPS)"
    assert rows["ui.keys"].choices == ("emacs", "vi")
    assert rows["keybindings.agents.spawn"].value == "f12"


def test_rows_are_listed_by_group_with_a_label_each_and_the_most_used_first(home: Home, tmp_path: Path) -> None:
    rows = setting_rows(load(tmp_path))
    groups = {title: [row for row in rows if row.group == title] for title in ORDER}
    assert sum(map(len, groups.values())) == len(rows) and not groups["Other"], "each is in a group with a title"
    assert len(groups[MOST_USED]) == 10
    for title, mine in groups.items():
        labels = [row.label for row in mine]
        assert title == "Keys" or len(labels) == len(set(labels)), title
        assert all(label and "_" not in label for label in labels), title
    label = {row.id: row.label for row in rows}
    assert label["sandbox.max_memory_mb"] == "Maximum memory (MB)"
    assert label["providers.openai.base_url"] == "openai · base URL"
    assert label["keybindings.app.help"] == "Show help"
    assert label["notify.muted"] == "Muted agents"
    assert not {"Enabled", "Command", "Quiet", "Muted", "Outside", "Visible"} & {*label.values()}, "each says of what"


def test_numbers_that_stand_for_something_are_told_as_that(home: Home, tmp_path: Path) -> None:
    user_file(home, "[ui]\nresult_lines = 0\n")
    words = {row.id: row.words for row in setting_rows(load(tmp_path))}
    assert words["budget.day_dollars"] == words["budget.agent_minutes"] == "no limit"
    assert words["providers.anthropic.max_tokens"] == "the model's own maximum"
    assert (words["ui.result_lines"], words["context.ambient_commands"]) == ("none", "5")
    assert (words["context.compact_threshold"], words["budget.warn_at"]) == ("85 %", "80 %")


async def test_defaults_are_named_and_the_raw_name_is_in_grey(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    user_file(home, WRITTEN)
    app = window(tmp_path)
    async with at_rest(app, (200, 50)) as pilot:
        await pilot.press("alt+g")
        await settled(pilot)
        first = [str(screen(app).choices.get_option_at_index(at).prompt) for at in range(12)]
        assert first[0] == MOST_USED and first[11] == "Model providers"
        assert first[1].split()[:5] == ["Model", "Claude", "Sonnet", "5.5", "default"] and screen(app).chosen == MODEL
        assert " default " in first[2] and first[2].rstrip().endswith("agent.mode")
        for size, named in (((120, 35), True), ((80, 24), False)):
            await pilot.resize_terminal(*size)
            await settled(pilot)
            listed = [screen(app).choices.get_option_at_index(at) for at in range(screen(app).choices.option_count)]
            for option in listed:
                begins, _, ends = str(option.prompt).split()[-1].partition("…")
                if "." in (name := option.id or ""):
                    found = name.startswith(begins) and name.endswith(ends) and len(begins) > 3
                    assert found == named, (size, name, str(option.prompt))
        assert all(len(row.label) <= 32 for row in screen(app)._rows.values()), "a label is whole"
        await pilot.press(*"/muted")
        await settled(pilot)
        assert screen(app).chosen == "notify.muted", "`/` begins a search everywhere"


@pytest.mark.parametrize("room", [54, 72, 110, 150])
def test_nothing_of_a_row_is_cut_before_blanks(home: Home, tmp_path: Path, room: int) -> None:
    for row in setting_rows(load(tmp_path), "offline (no model)"):
        line = settings_screen._line(row, room)
        assert line.cell_length <= room
        if "…" in line.plain:
            behind = line.plain.partition("…")[2]
            # One blank is the gap, one more was cut off before the mark.
            assert not re.search(r" {4,}\S", behind) and line.cell_length == room, line.plain
        assert row.kind != "model" or row.words in line.plain


async def test_the_model_is_chosen_from_the_models(home: Home, tmp_path: Path) -> None:
    models = [
        ListedModel("anthropic", "large", "Large", usable=True),
        ListedModel("openai", "other", "Other", usable=True),
        ListedModel("gemini", "none", "None", usable=False),
    ]
    app = window(tmp_path, {"model list": Answer(ModelList(models, []))})
    async with at_rest(app, (120, 40)) as pilot:
        assert (hub := app.hub) is not None
        await pilot.press("alt+g")
        await settled(pilot)
        await pilot.press("enter")
        await settled(pilot)
        assert isinstance(app.screen, Picker) and app.screen.choices.option_count == 3
        await pilot.press("down", "enter")
        await settled(pilot)
        assert [event.model for event in hub.said if isinstance(event, ModelChangeRequested)] == ["other"]
        settings = load(tmp_path).settings
        assert (settings.agent.default_provider, settings.providers["openai"].default_model) == ("openai", "other")
        assert screen(app)._rows["providers.openai.default_model"].label == "Model"


async def test_rows_are_changed_in_place_and_comments_stay(home: Home, tmp_path: Path) -> None:
    file = user_file(home, WRITTEN)
    app = window(tmp_path)
    async with at_rest(app, (120, 40)) as pilot:
        await pilot.press("alt+g")
        await settled(pilot)
        await pilot.press(*"ui.fps", "enter", "ctrl+u", *"25", "enter")
        await settled(pilot)
        assert (row := screen(app).row) is not None and row.value == "25"
        assert app.bridge.fps == 25  # it applies at once
        await pilot.press("ctrl+u", *"sandbox.enabled", "enter")
        await settled(pilot)
        await pilot.press("ctrl+u", *"ui.keys", "enter", "down", "enter")
        await settled(pilot)
        await pilot.press("ctrl+u", *"ui.theme", "enter", *"gsh-light", "enter")
        await settled(pilot)
        assert app.theme == "gsh-light"
        app.choose_theme("gsh-dark")
        await app.bridge.run(SetSetting(key="ui.theme", value="gsh-light"))  # typed in the chat: the newer wish
        await settled(pilot)
        assert app.theme == "gsh-light"
        await pilot.press("ctrl+u", *"agents.spawn", "enter")
        await settled(pilot)
        assert isinstance(app.screen, KeyScreen)
        await pilot.press("ctrl+q")  # means nothing to the window now, and is not free
        assert "already app.quit" in str(app.screen.query_one("#pressed", Static).render())
        await pilot.press("f10")
        await settled(pilot)
        text = file.read_text()
        assert text.startswith("# mine\n[ui] # looks\nfps = 25 # slow\n")
        assert "'agents.spawn' = \"f10\" # free" in text
        assert tomllib.loads(text)["sandbox"]["enabled"] is False
        assert tomllib.loads(text)["ui"] == {"fps": 25, "keys": "vi", "theme": "gsh-light"}
        await pilot.press("ctrl+r")
        await settled(pilot)
        assert "agents.spawn" not in file.read_text()
        await pilot.press("ctrl+u", *"max_steps", "enter", "x", "enter")
        await settled(pilot)
        assert load(tmp_path).settings.agent.max_steps == 50  # a mistake changes nothing
        await pilot.press("escape")
        await settled(pilot)
        assert app.screen is app.bench


async def test_a_persona_is_handed_to_the_editor_and_its_mistakes_are_said(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    async def edited(_: object, argv: list[str]) -> int:
        asked.append(argv)
        file, words = Path(argv[-1]), ("summary = 'By hand'", "summary = 'By")[len(asked) - 1]
        file.write_text(f"name = 'explore'\n{words}\nprompt = 'Look.'\n", encoding="utf-8")
        return 0

    monkeypatch.setattr(terminal_handoff, "_run_editor", edited)
    monkeypatch.setenv("EDITOR", "/bin/cat")
    app = window(tmp_path)
    async with at_rest(app, (120, 40)) as pilot:
        await pilot.press("alt+g", *"persona explore", "enter")
        await settled(pilot)
        own = home.config / "gsh" / "agents" / "explore.toml"
        assert asked == [["/bin/cat", str(own)]]
        assert (row := screen(app).row) is not None and (row.value, row.source) == ("By hand", str(own))
        await pilot.press("enter")
        await settled(pilot)
        assert any("explore.toml" in notice.message for notice in app._notifications)


async def test_two_screens_lose_no_edit(home: Home, tmp_path: Path) -> None:
    file = user_file(home, WRITTEN)
    app = window(tmp_path)
    async with at_rest(app, (120, 40)) as pilot:
        await pilot.press("alt+g", *"ui.fps", "enter")
        await settled(pilot)
        set_value("ui.fps", "31")  # another screen, while this one's dialog is open
        set_value("ui.keys", "vi")
        await pilot.press("ctrl+u", *"25", "enter")
        await settled(pilot)
        assert tomllib.loads(file.read_text())["ui"] == {"fps": 31, "keys": "vi"}
        assert (row := screen(app).row) is not None and row.value == "31"  # and it shows what there is now
        await pilot.press("enter", "ctrl+u", *"25", "enter")
        await settled(pilot)
        assert tomllib.loads(file.read_text())["ui"]["fps"] == 25


def test_edits_at_once_are_all_in_the_file(home: Home, tmp_path: Path) -> None:
    file = user_file(home, WRITTEN)
    keys = [f"keybindings.{id}" for id in list(KEYS)[:24]]

    def write(part: list[str]) -> None:
        for key in part:
            set_value(key, "f12")

    threads = [threading.Thread(target=write, args=(keys[start::3],)) for start in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = tomllib.loads(file.read_text())["keybindings"]
    assert [key for key in keys if found.get(key.partition(".")[2]) != "f12"] == []


async def test_what_was_changed_elsewhere_is_not_overwritten(home: Home, tmp_path: Path) -> None:
    user_file(home, WRITTEN)
    registry = Registry(config_commands.commands(load(tmp_path), Bus()))
    action = registry.action(SetSetting(key="ui.fps", value="9", seen=json.dumps(19)))
    with pytest.raises(CommandError, match=r"ui\.fps is 20 by now"):
        await action.run(None, SetSetting(key="ui.fps", value="9", seen=json.dumps(19)))  # pyright: ignore[reportArgumentType]


def test_a_persona_and_a_profile_become_files_of_ones_own(home: Home, tmp_path: Path) -> None:
    for persona in BUILT_IN.values():
        file = persona_file(persona)
        assert file.parent == paths.config_dir() / "agents"
    found = load_personas(tmp_path)
    assert found.problems == []
    for name, persona in BUILT_IN.items():
        mine = found.found[name]
        assert (mine.words, mine.tools, mine.read_only) == (persona.words.strip(), persona.tools, persona.read_only)
    profiles = load_profiles()
    name, origin = next(iter(profiles.origins.items()))
    own = profile_file(name, str(origin))
    own.write_text(own.read_text() + "\n# mine\n")
    assert profile_file(name, str(own)) == own
    assert profile_file(name, str(origin)).read_text().endswith("# mine\n")  # it is not written again
    assert load_profiles().origins[name] == own
