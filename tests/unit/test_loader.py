"""The layers of the settings: which one wins, where each value came from, and that files are really read."""

import json
import tomllib
from pathlib import Path

import pytest

from gshtui.settings.loader import load
from gshtui.settings.model import Settings
from tests.kit.configuration import project_file, user_file
from tests.kit.home import Home

SEEDS = """
[general]
log_dir = "~/.gsh/logs"
session_dir = "~/.gsh/sessions"
socket_path = "/tmp/gsh-$USER.sock"
[providers.anthropic]
api_key_env = "ANTHROPIC_API_KEY"
default_model = "claude-sonnet-4-20250514"
max_tokens = 4096
[providers.openai]
api_key_env = "OPENAI_API_KEY"
default_model = "gpt-4o"
max_tokens = 4096
[providers.local]
type = "ollama"
base_url = "http://localhost:11434"
default_model = "llama3.2"
[agent]
default_provider = "anthropic"
max_steps = 50
auto_approve = ["read", "glob", "grep"]
[sandbox]
enabled = true
allow_network = false
writable_paths = [".", "./build", "./dist", "./target"]
[tmux]
session_prefix = "gsh"
default_shell = "/bin/zsh"
[python]
enabled = true
venv_path = "~/.gsh/python-venv"
pre_install = ["requests", "beautifulsoup4", "pandas", "pyyaml"]
[keybindings]
invoke_llm = "^G"
attach_agent = "^X^A"
list_agents = "^X^L"
cancel_agent = "^X^C"
[context]
max_events = 100
max_tokens = 8000
include_stdout = true
stdout_max_lines = 50
max_tool_output_bytes = 30000
prune_protect_tokens = 40000
compact_threshold = 0.85
max_iterations = 25
ambient_commands = 5
max_history_lines = 10000
"""
LAYERS = ("user", "project", "environment", "flag")


def test_the_specified_file_is_valid_and_says_the_defaults(home: Home, project: Path) -> None:
    user_file(home, SEEDS)
    loaded = load(project, environ={})
    assert loaded.problems == ()
    given = tomllib.loads(SEEDS)
    defaults = json.loads(Settings().model_dump_json())
    for table in ("agent", "sandbox", "tmux", "keybindings", "context"):
        assert given[table] == {key: defaults[table][key] for key in given[table]}, table
    assert loaded.settings.general.log_dir == home.path / ".gsh" / "logs"
    assert loaded.settings.providers["local"].type == "ollama"


def test_defaults_are_in_the_xdg_folders(home: Home, project: Path) -> None:
    general = load(project, environ={}).settings.general
    assert general.session_dir == home.data / "gsh"
    assert general.log_dir == home.state / "gsh" / "logs"
    assert general.socket_path == home.runtime / "gsh" / "gsh.sock"
    assert not (home.data / "gsh").exists(), "loading makes no folder"


@pytest.mark.parametrize("top", range(len(LAYERS) + 1))
def test_the_strongest_layer_that_says_something_wins(home: Home, project: Path, top: int) -> None:
    """Each layer in turn is the strongest one that sets the value; all below set it too."""
    present = LAYERS[:top]
    values = {"user": 24, "project": 20, "environment": 30, "flag": 40}
    environ: dict[str, str] = {}
    flags: dict[str, str] = {}
    for layer in present:
        text = f"[context]\nmax_iterations = {values[layer]}\n"
        if layer == "user":
            user_file(home, text)
        elif layer == "project":
            project_file(project, text)
        elif layer == "environment":
            environ["GSH_CONTEXT__MAX_ITERATIONS"] = str(values[layer])
        else:
            flags["context.max_iterations"] = str(values[layer])
    loaded = load(project, flags=flags, environ=environ)
    assert loaded.problems == ()
    strongest = present[-1] if present else "default"
    assert loaded.settings.context.max_iterations == values.get(strongest, 25)
    assert loaded.origins["context.max_iterations"].layer == strongest


def test_origins_name_file_line_variable_and_flag(home: Home, project: Path) -> None:
    file = user_file(home, "# words\n\n[agent]\nauto_approve = [\n  'read',\n]\nmax_steps = 7\n")
    environ = {"GSH_UI__FPS": "20"}
    origins = load(project, flags={"ui.theme": "nord"}, environ=environ).origins
    assert str(origins["agent.auto_approve"]) == f"user ({file}:4)"
    assert str(origins["agent.max_steps"]) == f"user ({file}:7)"
    assert str(origins["ui.fps"]) == "environment (GSH_UI__FPS)"
    assert str(origins["ui.theme"]) == "flag (--set ui.theme)"
    assert str(origins["tmux.session_prefix"]) == "default"


def test_a_providers_table_changes_only_the_keys_that_it_names(home: Home, project: Path) -> None:
    user_file(home, '[providers.anthropic]\ndefault_model = "mine"\n[providers.mine]\ntype = "openai"\n')
    environ = {"GSH_PROVIDERS__MINE__BASE_URL": "http://127.0.0.1:8080/v1"}
    loaded = load(project, environ=environ)
    providers = loaded.settings.providers
    assert loaded.problems == ()
    assert (providers["anthropic"].api_key_env, providers["anthropic"].default_model) == ("ANTHROPIC_API_KEY", "mine")
    assert (providers["mine"].type, providers["mine"].base_url) == ("openai", "http://127.0.0.1:8080/v1")
    assert set(providers) == {"anthropic", "openai", "gemini", "local", "mine"}


def test_lists_in_variables_and_flags_are_json(home: Home, project: Path) -> None:
    environ = {"GSH_AGENT__AUTO_APPROVE": '["read"]'}
    loaded = load(project, flags={"sandbox.writable_paths": '["."]'}, environ=environ)
    assert loaded.problems == ()
    assert loaded.settings.agent.auto_approve == ["read"]
    assert loaded.settings.sandbox.writable_paths == ["."]


def test_keys_with_dots_are_one_id(home: Home, project: Path) -> None:
    user_file(home, '[keybindings]\napp.palette = "ctrl+k"\n"app.quit" = "ctrl+x"\n')
    keys = load(project, environ={}).settings.keybindings
    assert (keys["app.palette"], keys["app.quit"], keys["invoke_llm"]) == ("ctrl+k", "ctrl+x", "^G")


def test_variables_of_others_are_left_alone(home: Home, project: Path) -> None:
    loaded = load(project, environ={"GSH_SOCKET": "x", "GSHX__Y": "1", "AGENT__MAX_STEPS": "3"})
    assert loaded.problems == ()
    assert loaded.settings == load(project, environ={}).settings


def test_a_byte_order_mark_and_dos_line_ends_are_fine(home: Home, project: Path) -> None:
    file = user_file(home, "")
    file.write_bytes(b"\xef\xbb\xbf[agent]\r\nmax_steps = 7\r\n")
    loaded = load(project, environ={})
    assert loaded.problems == ()
    assert (loaded.settings.agent.max_steps, loaded.origins["agent.max_steps"].line) == (7, 2)


def test_the_environment_of_the_process_is_the_default(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSH_AGENT__MAX_STEPS", "3")
    assert load(project).settings.agent.max_steps == 3
    assert Settings().agent.max_steps == 50, "the model alone is the defaults"
