"""Mistakes in the configuration: each is named with its place, costs one value at most, and never crashes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.settings.known_providers import KNOWN_PROVIDERS, OTHER_NAMES
from gshtui.settings.loader import Loaded, load
from gshtui.settings.model import Settings
from gshtui.settings.toml_file import MAX_BYTES, Origin, parse_toml
from gshtui.settings.validation import check
from tests.kit.configuration import user_file
from tests.kit.home import Home

KEY = "sk-" + "a1B2" * 8


def only_problem(loaded: Loaded) -> str:
    assert len(loaded.problems) == 1, [str(problem) for problem in loaded.problems]
    return str(loaded.problems[0])


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("[agent]\nmax_step = 3\n", 2, "Did you mean `agent.max_steps`?"),
        ("[agent]\nmax_iterations = 3\n", 2, "Did you mean `context.max_iterations`?"),
        ("[provders.openai]\nmax_tokens = 3\n", 1, "Did you mean [providers]?"),
        ("[providers.openai]\nmodel = 'x'\n", 2, "Did you mean `providers.openai.default_model`?"),
        ("[plugins]\nx = 1\n", 1, "there is no table [plugins]. Plugins have no settings there"),
        ("max_steps = 3\n", 1, "Did you mean `agent.max_steps`?"),
        ("[agent]\nfrobnicate = 3\n", 2, "`gsh-tui config schema` lists all keys."),
        ("[agent]\n\nmax_steps = 'fifty'\n", 3, '`agent.max_steps` cannot be "fifty": it should be a whole number.'),
        ("[agent]\nmax_steps = true\n", 2, "it should be a whole number"),
        ("[agent]\nmax_steps = 0\n", 2, "greater than or equal to 1"),
        ("[agent]\nauto_approve = 'read'\n", 2, "it should be a list in [ ]"),
        ("[agent]\nauto_approve = ['read', 3]\n", 2, "it should be text in quotes"),
        ("[sandbox]\nenabled = 'yes'\n", 2, "it should be true or false"),
        ("[ui]\nfps = 1000\n", 2, "less than or equal to 120"),
        ("[store]\nsynchronous = 'fast'\n", 2, "'normal' or 'full'"),
        ("[tmux]\nsession_prefix = 'a#(x)'\n", 2, "`tmux.session_prefix`"),
        ("[providers.openai]\nbase_url = 'ftp://x'\n", 2, "https://api.example.com"),
        ("[providers.openai]\nbase_url = 'http://me:secret@x'\n", 2, "user name or password"),
        ("[general]\nlog_dir = 'logs'\n", 2, "an absolute path"),
        ("[general]\nlog_dir = '~nobody-of-this-name/x'\n", 2, "home folder"),
        ("agent = 3\n", 1, "Write [agent] above its keys."),
        ("[providers]\nopenai = 3\n", 2, "Write [providers.NAME] above its keys."),
        ("[keybindings]\ninvoke_llm = 7\n", 2, "a key is text"),
        ("[providers.mine]\ndefault_model = 'x'\n", 2, "does not say which API it uses"),
    ],
)
def test_a_mistake_is_named_and_costs_one_value(home: Home, tmp_path: Path, text: str, line: int, said: str) -> None:
    file = user_file(home, text + "\n[context]\nmax_events = 7\n")
    loaded = load(tmp_path, environ={})
    problem = only_problem(loaded)
    assert problem.startswith(f"{file}:{line}: ")
    assert said in problem
    assert loaded.settings.context.max_events == 7, "the rest of the file counts"
    defaults = Settings()
    assert loaded.settings.agent == defaults.agent
    assert loaded.settings.sandbox == defaults.sandbox


def test_a_provider_that_is_known_says_by_its_name_which_api_it_uses(home: Home, tmp_path: Path) -> None:
    names = (*KNOWN_PROVIDERS, *OTHER_NAMES)
    user_file(home, "".join(f"[providers.{name}]\ndefault_model = 'x'\n" for name in names))
    assert list(load(tmp_path, environ={}).problems) == []


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (b"[agent]\nmax_steps = \n", 2),
        (b"[agent\n", 1),
        (b"[agent]\nmax_steps = 1\nmax_steps = 2\n", 3),
        (b"[agent]\na = 'x\n\n", 2),
        (b'[agent]\na = """x\nb = 1\n\n', 3),
        (b"[agent]\nname = '\xff'\n", 2),
        (b"\0\0\0", 1),
    ],
)
def test_a_file_that_is_no_toml_is_named_with_its_line(home: Home, tmp_path: Path, raw: bytes, line: int) -> None:
    file = user_file(home, "")
    file.write_bytes(raw)
    loaded = load(tmp_path, environ={})
    assert only_problem(loaded).startswith(f"{file}:{line}: this is not ")
    assert loaded.settings == Settings()


def test_deep_nesting_is_no_crash(home: Home, tmp_path: Path) -> None:
    user_file(home, "x = " + "[" * 50_000 + "]" * 50_000)
    assert "nested too deeply" in only_problem(load(tmp_path, environ={}))


@pytest.mark.parametrize(
    "text",
    [
        f"[providers.anthropic]\napi_key = '{KEY}'\n",
        f"[providers.anthropic]\napi_key_env = '{KEY}'\n",
        "[providers.anthropic]\napi_key_env = 'my-key-with-dashes-0123456789'\n",
        f"[providers.anthropic]\ndefault_model = '{KEY}'\n",
        f"[agent]\nauto_approve = ['{KEY}']\n",
        f"openai_api_key = '{KEY}'\n",
        f"[providers]\nsecret = '{KEY}'\n",
        "[providers.anthropic]\nauth_token = 'hunter2hunter2'\n",
    ],
)
def test_a_key_in_the_file_is_refused_and_never_repeated(home: Home, tmp_path: Path, text: str) -> None:
    user_file(home, text)
    loaded = load(tmp_path, environ={})
    said = only_problem(loaded)
    assert "environment variable" in said or "name of a variable" in said
    dumped = loaded.settings.model_dump_json()
    for secret in (KEY, "my-key-with-dashes-0123456789", "hunter2hunter2"):
        assert secret not in said
        assert secret not in dumped


def test_a_key_in_a_variable_of_ours_is_refused_too(tmp_path: Path) -> None:
    said = only_problem(load(tmp_path, environ={"GSH_PROVIDERS__OPENAI__API_KEY": KEY}))
    assert said.startswith("GSH_PROVIDERS__OPENAI__API_KEY: ")
    assert KEY not in said


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("GSH_AGENT__MAX_STEP", "3", "Did you mean `agent.max_steps`?"),
        ("GSH_AGENT__MAX_STEPS", "many", "it should be a whole number"),
        ("GSH_AGENT__MAX_STEPS", "", "it should be a whole number"),
        ("GSH_AGENT__AUTO_APPROVE", "read,glob", "is a list and must be JSON"),
        ("GSH_AGENT__AUTO_APPROVE", '{"a": 1}', "it should be a list"),
        ("GSH_SANDBOX__ENABLED", "perhaps", "it should be true or false"),
        ("GSH_NOTHING__HERE", "1", "there is no table [nothing]"),
        ("GSH_AGENT__", "1", "there is no setting"),
        ("GSH_HUB__RESIDENT", "false", '`[hub] keep = "alone"`'),
        ("GSH_AGENT__MAX__STEPS", "1", "Write it as GSH_TABLE__KEY."),
        ("GSH_PROVIDERS__OPENAI", "{}", "Write it as GSH_PROVIDERS__NAME__KEY."),
    ],
)
def test_a_bad_variable_is_named_and_the_good_ones_count(tmp_path: Path, name: str, value: str, said: str) -> None:
    loaded = load(tmp_path, environ={name: value, "GSH_UI__FPS": "20"})
    problem = only_problem(loaded)
    assert problem.startswith(f"{name}: ")
    assert said in problem
    assert loaded.settings.ui.fps == 20
    assert loaded.settings.agent == Settings().agent


@pytest.mark.parametrize("key", ["agent.max_step", "agent", "", "agent.max_steps.x", "providers.openai"])
def test_a_bad_flag_is_named(tmp_path: Path, key: str) -> None:
    loaded = load(tmp_path, flags={key: "1", "ui.fps": "20"}, environ={})
    assert only_problem(loaded).startswith(f"--set {key}:")
    assert loaded.settings.ui.fps == 20


def test_what_cannot_be_read_is_said(home: Home, tmp_path: Path) -> None:
    file = user_file(home, "")
    file.unlink()
    file.mkdir()
    assert only_problem(load(tmp_path, environ={})).startswith(f"{file}: cannot read this file: ")
    file.rmdir()
    os.mkfifo(file)
    assert "not a regular file" in only_problem(load(tmp_path, environ={}))
    file.unlink()
    file.write_bytes(b"#" * (MAX_BYTES + 1))
    assert "larger than" in only_problem(load(tmp_path, environ={}))
    file.unlink()
    file.symlink_to(file)
    assert "cannot read" in only_problem(load(tmp_path, environ={}))


def test_a_sentence_cannot_steer_a_terminal(home: Home, tmp_path: Path) -> None:
    user_file(home, '[agent]\n"max\\u001b]0;x\\u0007" = 1\nmax_steps = "\\u001b[2J\\u202e"\n')
    said = "\n".join(str(problem) for problem in load(tmp_path, environ={}).problems)
    assert len(said.split("\n")) == 2
    assert all(char.isprintable() or char == "\n" for char in said)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
tables = st.sampled_from(["agent", "providers", "keybindings", "context", "general", "ui", "other", ""])
keys = st.sampled_from(["max_steps", "auto_approve", "openai", "log_dir", "fps", "x", ""]) | st.text(max_size=6)


@given(st.dictionaries(tables, st.dictionaries(keys, values, max_size=4) | values, max_size=4))
def test_no_layer_crashes_the_check_and_what_it_keeps_is_valid(data: dict[str, object]) -> None:
    checked = check(data, lambda *_: Origin("user", "file"), strict=True)
    Settings.model_validate(checked.values)
    assert all(str(problem) for problem in checked.problems)


@given(st.binary(max_size=300))
def test_no_bytes_crash_the_reading(raw: bytes) -> None:
    file = parse_toml(raw, Path("config.toml"), "user")
    assert bool(file.problems) <= (file.data == {})


def test_shared_folders(home: Home, tmp_path: Path) -> None:
    text = f'[shared]\ndocs = "{tmp_path}"\nproject = "/x"\n"../up" = "/x"\nrelative = "docs"\nnumber = 3\n'
    user_file(home, text)
    loaded = load(tmp_path)
    assert loaded.settings.shared == {"docs": tmp_path}
    assert [str(problem).partition(" cannot be ")[2] for problem in loaded.problems] == [
        '"/x": /shared/project is always the project\'s folder; choose another name. It is ignored.',
        "\"/x\": the name '../up' cannot be used: a name has no / or \\. It is ignored.",
        '"docs": it must be an absolute path, such as ~/folder or /folder. It is ignored.',
        "3: it must be a path. It is ignored.",
    ]
