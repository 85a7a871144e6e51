"""Setting a value in the file: comments stay, mistakes are refused, the file is never half written."""

import json
from pathlib import Path

import pytest

from gshtui.settings import paths
from gshtui.settings.keys import field_of, known_keys, split
from gshtui.settings.loader import load
from gshtui.settings.model import schema
from gshtui.settings.user_config import EditError, make_ready, set_value
from tests.kit.configuration import user_file
from tests.kit.home import Home

WRITTEN = "# mine\n[agent]   # here\nmax_steps = 7 # seven\n\n[ui]\ntheme = 'x'\n"


def test_comments_and_order_stay(home: Home) -> None:
    file = user_file(home, WRITTEN)
    assert set_value("agent.max_steps", "9") == 9
    assert file.read_text(encoding="utf-8") == WRITTEN.replace("7", "9")


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("agent.max_steps", "3", 3),
        ("agent.auto_approve", '["read"]', ["read"]),
        ("sandbox.enabled", "false", False),
        ("context.compact_threshold", "0.5", 0.5),
        ("providers.mine.type", "openai", "openai"),
        ("providers.local.base_url", "http://127.0.0.1:1", "http://127.0.0.1:1"),
        ("general.log_dir", "~/x", "~/x"),
        ("keybindings.app.palette", "ctrl+k", "ctrl+k"),
        ("ui.notifications", "[]", []),
    ],
)
def test_what_is_set_is_what_counts(home: Home, tmp_path: Path, key: str, text: str, value: object) -> None:
    assert set_value(key, text) == value
    loaded = load(tmp_path, environ={})
    assert loaded.problems == ()
    assert loaded.origins[key].layer == "user"
    assert paths.config_file().stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("agent.max_step", "3", "Did you mean `agent.max_steps`?"),
        ("agent.max_steps", "x", "whole number"),
        ("agent", "3", "is a table"),
        ("providers.x", "3", "is a table"),
        ("keybindings", "x", "is a table"),
        ("agent.auto_approve", "read", "must be JSON"),
        ("providers.openai.api_key", "sk-1", "contains a key"),
        ("", "1", "no setting"),
    ],
)
def test_a_bad_value_leaves_the_file_alone(home: Home, key: str, text: str, said: str) -> None:
    file = user_file(home, WRITTEN)
    with pytest.raises(EditError, match=said.replace("?", r"\?")):
        set_value(key, text)
    assert file.read_text(encoding="utf-8") == WRITTEN


def test_a_broken_file_is_not_touched(home: Home) -> None:
    file = user_file(home, "[agent\n")
    with pytest.raises(EditError, match=":1: this is not valid TOML"):
        set_value("agent.max_steps", "3")
    assert file.read_text(encoding="utf-8") == "[agent\n"


def test_a_form_that_cannot_be_edited_is_said(home: Home) -> None:
    file = user_file(home, "agent = 3\n")
    with pytest.raises(EditError, match="by hand"):
        set_value("agent.max_steps", "3")
    assert file.read_text(encoding="utf-8") == "agent = 3\n"


def test_a_linked_file_stays_linked(home: Home, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text(WRITTEN, encoding="utf-8")
    real.chmod(0o644)
    file = user_file(home, "")
    file.unlink()
    file.symlink_to(real)
    set_value("agent.max_steps", "9")
    assert file.is_symlink()
    assert "max_steps = 9" in real.read_text(encoding="utf-8")
    assert real.stat().st_mode & 0o777 == 0o644
    assert list(tmp_path.iterdir()) == [real]


def test_the_first_file_says_where_the_rest_is(home: Home, tmp_path: Path) -> None:
    file = make_ready()
    first, second = file.read_text(encoding="utf-8").splitlines()[:2]
    assert second.startswith("# Settings of gsh-tui.")
    assert load(tmp_path, environ={}).problems == ()
    assert make_ready() == file
    # Editors read the schema that the first line names, beside the file; it is of this version.
    beside = file.parent / first.removeprefix("#:schema ")
    assert json.loads(beside.read_text(encoding="utf-8")) == schema()
    beside.write_text("{}", encoding="utf-8")
    make_ready()
    assert json.loads(beside.read_text(encoding="utf-8")) == schema()
    file.write_text("[agent]\n", encoding="utf-8")
    beside.unlink()
    make_ready()
    assert not beside.exists(), "a file that names none gets none"


def test_a_value_set_first_makes_the_schema_too(home: Home) -> None:
    set_value("agent.max_steps", "9")
    file = make_ready()
    assert "max_steps = 9" in file.read_text(encoding="utf-8")
    assert (file.parent / "config.schema.json").exists()


def test_the_schema_describes_every_key_and_no_machine(home: Home) -> None:
    made = schema()
    text = json.dumps(made)
    assert str(home.path) not in text
    assert str(home.data) not in text
    definitions = made["$defs"]
    for key in known_keys():
        info = field_of(split(key))
        assert info is not None
        assert info.description, key
    for table in made["properties"]:
        entry = made["properties"][table]
        named = definitions.get(entry.get("$ref", "").rpartition("/")[2], entry)
        assert named.get("description"), table
    assert definitions["Sandbox"]["properties"]["enabled"]["x-project-may"] == "switch it on"
