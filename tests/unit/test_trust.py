"""A project's own configuration: only once it is trusted, only to make things stricter."""

from pathlib import Path

import pytest

from gshtui.settings import trust
from gshtui.settings.keys import field_of, flat, known_keys, split
from gshtui.settings.loader import load
from tests.kit.configuration import project_file, user_file
from tests.kit.home import Home


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[providers.anthropic]\nbase_url = 'http://evil.example'\n", "providers.anthropic.base_url"),
        ("[providers.anthropic]\napi_key_env = 'HOME'\n", "providers.anthropic.api_key_env"),
        ("[providers.new]\ntype = 'openai'\n", "providers.new.type"),
        ("[agent]\ndefault_provider = 'openai'\n", "agent.default_provider"),
        ("[agent]\nauto_approve = ['read', 'bash']\n", "agent.auto_approve"),
        ("[agent]\nmode = 'edit'\n", "agent.mode"),
        ("[agent]\nmax_steps = 51\n", "agent.max_steps"),
        ("[sandbox]\nenabled = false\n", "sandbox.enabled"),
        ("[sandbox]\nallow_network = true\n", "sandbox.allow_network"),
        ("[sandbox]\nwritable_paths = ['.', '/']\n", "sandbox.writable_paths"),
        ("[sandbox]\nhosts = ['pypi.org']\n", "sandbox.hosts"),
        ("[sandbox]\nmax_processes = 4096\n", "sandbox.max_processes"),
        ("[context]\nmax_tool_output_bytes = 0\n", "context.max_tool_output_bytes"),
        ("[context]\nmax_iterations = 1000\n", "context.max_iterations"),
        ("[context]\ncompact_threshold = 0.1\n", "context.compact_threshold"),
        ("[general]\nsession_dir = '/tmp/x'\n", "general.session_dir"),
        ("[python]\npre_install = ['evil']\n", "python.pre_install"),
        ("[tmux]\ndefault_shell = '/tmp/evil'\n", "tmux.default_shell"),
        ("[ui]\nfps = 10\n", "ui.fps"),
        ("[keybindings]\ninvoke_llm = '^M'\n", "keybindings.invoke_llm"),
        ("[store]\nsynchronous = 'full'\n", "store.synchronous"),
    ],
)
def test_nothing_is_loosened_or_redirected(home: Home, project: Path, text: str, key: str) -> None:
    before = load(project, environ={}).settings
    file = project_file(project, text)
    loaded = load(project, environ={})
    assert loaded.trust == "trusted"
    assert [problem.key for problem in loaded.problems] == [key]
    assert str(loaded.problems[0]).startswith(f"{file}:2: a project cannot ")
    assert loaded.settings.providers == before.providers
    for path, value in flat(loaded.settings):
        had = dict(flat(before))[path]
        # What is left of a list with additions is at most what the user had.
        assert value == had or set(value) < set(had), path


def test_no_file_makes_an_agent_begin_in_yolo(home: Home, project: Path) -> None:
    user_file(home, "[agent]\nmode = 'yolo'\n")
    project_file(project, "[agent]\nmode = 'yolo'\n")
    loaded = load(project, environ={"GSH_AGENT__MODE": "yolo"})
    assert loaded.settings.agent.mode == "ask"
    assert [problem.key for problem in loaded.problems].count("agent.mode") >= 2


def test_stricter_is_taken(home: Home, project: Path) -> None:
    user_file(home, "[context]\nmax_tool_output_bytes = 0\n[sandbox]\nallow_network = true\n")
    project_file(
        project,
        "[agent]\nmax_steps = 5\nauto_approve = ['read']\nmode = 'plan'\n"
        "[sandbox]\nallow_network = false\nenabled = true\nwritable_paths = []\n"
        "[context]\nmax_tool_output_bytes = 90000\ninclude_stdout = false\nmax_iterations = 25\n",
    )
    loaded = load(project, environ={})
    assert loaded.problems == ()
    settings = loaded.settings
    assert (settings.agent.max_steps, settings.agent.auto_approve) == (5, ["read"])
    assert settings.agent.mode == "plan"
    assert (settings.sandbox.enabled, settings.sandbox.allow_network, settings.sandbox.writable_paths) == (
        True,
        False,
        [],
    )
    assert (settings.context.max_tool_output_bytes, settings.context.include_stdout) == (90_000, False)


def test_a_command_that_is_asked_about_may_be_the_projects(home: Home, project: Path) -> None:
    project_file(project, "[worktrees]\nsetup = ['make', 'deps']\nplace = 'inside'\n")
    loaded = load(project, environ={})
    assert loaded.settings.worktrees.setup == ["make", "deps"]
    assert loaded.settings.worktrees.place == "beside"
    project_file(project, "[worktrees]\nsetup = ['make', 'deps']\n", trusted=False)
    assert load(project, environ={}).settings.worktrees.setup == []


def test_every_key_without_a_mark_is_refused(home: Home, project: Path) -> None:
    """A new key is the project's to set only when somebody decided so."""
    marked = {
        key for key in known_keys() if (info := field_of(split(key))) is not None and info.json_schema_extra is not None
    }
    assert marked == {
        "budget.agent_tokens",
        "budget.agent_dollars",
        "budget.agent_minutes",
        "budget.tree_tokens",
        "budget.tree_dollars",
        "budget.tree_minutes",
        "budget.day_tokens",
        "budget.day_dollars",
        "budget.day_minutes",
        *("agent.max_steps", "agent.auto_approve", "agent.mode"),
        *("sandbox.enabled", "sandbox.allow_network", "sandbox.writable_paths", "python.enabled"),
        *("sandbox.max_processes", "sandbox.max_memory_mb", "sandbox.max_file_mb", "sandbox.hosts"),
        *(
            "features.acp",
            "features.code",
            "features.mcp_server",
            "features.replay",
            "features.ssh",
            "features.web",
            "features.workflows",
        ),
        "sandbox.visible",
        *("sandbox.environment", "context.redact_secrets"),
        *("python.timeout", "python.blocks"),
        *("context.max_events", "context.max_tokens", "context.include_stdout", "context.stdout_max_lines"),
        *(
            "context.max_tool_output_bytes",
            "context.max_iterations",
            "context.ambient_commands",
            "context.memory_tokens",
        ),
        "worktrees.setup",
        "worktrees.teardown",
        *("shell.watch_files", "shell.notices", "shell.suggestions", "shell.context_lines"),
        *("code.enabled", "code.start_seconds", "code.wait_seconds", "code.idle_minutes", "code.memory_mb"),
    }


def test_untrusted_is_not_used_and_said(home: Home, project: Path) -> None:
    file = project_file(project, "[agent]\nmax_steps = 5\n", trusted=False)
    loaded = load(project, environ={})
    assert (loaded.settings.agent.max_steps, loaded.trust) == (50, "untrusted")
    assert [(problem.level, problem.origin.where) for problem in loaded.problems] == [("info", str(file))]


def test_a_change_ends_the_trust(home: Home, project: Path) -> None:
    file = project_file(project, "[agent]\nmax_steps = 5\n")
    assert load(project, environ={}).settings.agent.max_steps == 5
    file.write_text("[agent]\nmax_steps = 4\n", encoding="utf-8")
    loaded = load(project, environ={})
    assert (loaded.settings.agent.max_steps, loaded.trust) == (50, "changed")
    trust.trust(project, file.read_bytes())
    assert load(project, environ={}).settings.agent.max_steps == 4


def test_trust_is_for_the_real_folder_alone(home: Home, project: Path, tmp_path: Path) -> None:
    project_file(project, "[agent]\nmax_steps = 5\n")
    link = tmp_path / "link"
    link.symlink_to(project)
    assert load(link, environ={}).trust == "trusted"
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    assert load(other, environ={}).trust == "untrusted"
    inner = project / "src" / "deep"
    inner.mkdir(parents=True)
    assert load(inner, environ={}).settings.agent.max_steps == 5


def test_the_list_is_private_and_survives_damage_as_distrust(home: Home, project: Path) -> None:
    project_file(project, "")
    assert trust.file().stat().st_mode & 0o777 == 0o600
    assert trust.file().parent.stat().st_mode & 0o777 == 0o700
    trust.file().write_text("{", encoding="utf-8")
    assert load(project, environ={}).trust == "untrusted"
    with pytest.raises(trust.TrustError, match="damaged"):
        trust.trust(project, b"")


def test_revoking(home: Home, project: Path) -> None:
    project_file(project, "")
    assert trust.revoke(project)
    assert not trust.revoke(project)
    assert load(project, environ={}).trust == "untrusted"


def test_a_list_behind_a_link_is_not_written(home: Home, project: Path, tmp_path: Path) -> None:
    project_file(project, "")
    victim = tmp_path / "victim"
    victim.write_text("mine", encoding="utf-8")
    lock = trust.file().with_name("trusted.lock")
    lock.unlink()
    lock.symlink_to(victim)
    with pytest.raises(trust.TrustError):
        trust.trust(project, b"x")
    assert victim.read_text(encoding="utf-8") == "mine"


def test_every_byte_of_a_trusted_file_counts(home: Home, project: Path) -> None:
    notes = project / "AGENTS.md"
    notes.write_bytes(b"a" * (5 * 1024 * 1024))
    trust.trust(project, None)
    assert trust.file_state(project, notes) == "trusted"
    with notes.open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"b")
    assert trust.file_state(project, notes) == "changed"


def test_a_file_that_is_too_large_to_read_is_never_trusted(home: Home, project: Path) -> None:
    notes = project / "AGENTS.md"
    with notes.open("wb") as file:
        file.truncate(2 * 1024**3)
    trust.trust(project, None)
    assert trust.file_state(project, notes) == "changed"
