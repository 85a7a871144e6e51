"""The plugins' door, by which our own features come in, too: each can be switched off, and is then not there at all."""

import inspect
from pathlib import Path

import pytest

from gshtui import features
from gshtui.commands.declaration import UnknownCommand
from gshtui.settings.contract import FEATURES, Brought, FeatureOffError, brought, face
from gshtui.settings.loader import load
from gshtui.settings.settings_tables import Features
from gshtui.ui.kit.feature import Feature
from gshtui.ui.kit.keys.key_table import KEYS
from gshtui.ui.window.features import own_keys
from gshtui.ui.window.palette import action_entries
from tests.kit import source
from tests.kit.running_hub import running_hub
from tests.kit.shell_forms import PARTS
from tests.kit.window import Window

OFF = Features(**dict.fromkeys(FEATURES, False))


def test_each_package_of_a_feature_is_listed_and_can_be_switched_off() -> None:
    assert {path.parent.name for path in Path(features.__path__[0]).glob("*/__init__.py")} == set(FEATURES)
    assert set(Features.model_fields) == set(FEATURES)


def test_what_a_feature_brings_is_of_its_kind() -> None:
    for one in brought("things"):
        assert inspect.get_annotations(one.load())["return"] == one.name
    for one in brought("windows"):
        assert issubclass(one.load(), Feature) and one.name in FEATURES
    assert all(one.feature in FEATURES for one in brought("commands"))


@pytest.mark.parametrize("one", list(brought("faces")), ids=lambda one: one.name)
def test_a_face_that_is_off_says_how_to_switch_it_on(one: Brought) -> None:
    assert callable(face(one.name, Features()))
    with pytest.raises(FeatureOffError) as refused:
        face(one.name, OFF)
    assert f"config set features.{one.feature} true" in refused.value.hint


async def test_commands_of_a_feature_that_is_off_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in FEATURES:
        monkeypatch.setenv(f"GSH_FEATURES__{name.upper()}", "false")
    async with running_hub(tmp_path, parts=PARTS, visiting=True) as hub:
        named = {name: one.feature for one in brought("commands") for name in one.name.split()}
        assert named.keys().isdisjoint(hub.registry.offered_names)
        for name, feature in named.items():
            with pytest.raises(UnknownCommand) as refused:
                hub.registry.get(name)
            assert f"config set features.{feature} true" in refused.value.hint


_MAKES_ALL = """
import asyncio, os
from pathlib import Path
from tests.kit.running_hub import running_hub
from tests.kit.shell_forms import PARTS
from gshtui.settings.contract import FEATURES
os.environ |= {f"GSH_FEATURES__{name.upper()}": "false" for name in FEATURES}
async def make():
    async with running_hub(Path.cwd(), parts=PARTS, visiting=True) as hub:
        list(hub.registry)
asyncio.run(make())
"""


def test_nothing_of_a_feature_that_is_off_is_loaded() -> None:
    assert source.within(source.loaded_by(_MAKES_ALL), {"gshtui.features"}) == []


async def test_a_window_forgets_the_keys_of_features_that_are_off(tmp_path: Path) -> None:
    app = Window()
    async with app.run_test() as pilot:
        app.apply_settings(load(tmp_path).settings.model_copy(update={"features": OFF}))
        gone = {key for one in brought("windows") for key in one.load().KEYS}
        assert gone and gone <= set(own_keys())
        assert not any(app.check_action("press", (key,)) for key in gone)
        assert gone.isdisjoint(entry.id.removeprefix("key:") for entry in action_entries(app))
        await app.run_action("keys")
        await pilot.pause()
        listed = str(app.screen.query_one("#rows").render())
        assert not any(KEYS[key].help in listed for key in gone)
        assert not any(type(part) is one.load() for part in app.parts for one in brought("windows"))
