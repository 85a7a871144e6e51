"""Plugins in the form of Claude Code: listed, used only once approved as they are, and never in another's place."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from gshtui.agents.hooks.hook_process import run_hook
from gshtui.agents.hooks.hook_set import Hook, HookFiles, approve, read_hooks
from gshtui.agents.personas import load_personas
from gshtui.agents.prompts.prompt_store import read_prompts
from gshtui.agents.skills.skill_store import load_skill, read_skills
from gshtui.mcp_client.configured_servers import configured_servers
from gshtui.settings import loader, plugins
from gshtui.settings.plugins import PluginError
from gshtui.settings.started_programs import Hooks
from tests.kit.configuration import made_project
from tests.kit.home import Home

KEY = "deploy@acme"


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def made_plugin(folder: Path, **manifest: object) -> Path:
    write(folder / ".claude-plugin" / "plugin.json", json.dumps({"name": "deploy", "version": "1.2.0", **manifest}))
    write(folder / "commands" / "go.md", "---\ndescription: Go\n---\nRun ${CLAUDE_PLUGIN_ROOT}/go.sh $ARGUMENTS\n")
    write(folder / "agents" / "ops.md", "---\nname: ops\ndescription: Operates\ntools: Read\n---\nYou operate.\n")
    write(folder / "skills" / "ship" / "SKILL.md", "---\ndescription: Ships\n---\nSee ${CLAUDE_PLUGIN_ROOT}/how.\n")
    return folder


def install(home: Path, folder: Path, **entry: object) -> None:
    """What Claude Code 2.1.332 writes when it has installed one."""
    listed = {"scope": "user", "installPath": str(folder), "version": "1.2.0", **entry}
    write(
        home / ".claude" / "plugins" / "installed_plugins.json", json.dumps({"version": 2, "plugins": {KEY: [listed]}})
    )


@pytest.fixture
def plugin(home: Home) -> Path:
    folder = made_plugin(home.path / ".claude" / "plugins" / "cache" / "acme" / "deploy" / "1.2.0")
    install(home.path, folder)
    return folder


def brought(project: Path) -> tuple[str, ...]:
    """The names of prompts, personas and skills that are not there without the plugin."""
    prompts = [one.name for one in read_prompts(project, {}).prompts]
    personas = [one.name for one in load_personas(project).found.values() if one.source]
    skills = [one.name for one in read_skills(project).sorted() if one.source != "built in"]
    return (*prompts, *personas, *skills)


def test_nothing_of_it_is_used_before_it_is_approved_and_all_of_it_afterwards(plugin: Path, project: Path) -> None:
    (listed,) = plugins.find_plugins()
    assert (listed.name, listed.version, listed.state) == (KEY, "1.2.0", "new")
    assert [(one.kind, one.name) for one in listed.contributions] == [
        ("prompts", "go"),
        ("personas", "ops"),
        ("skills", "ship"),
    ]
    assert brought(project) == ()
    assert [one.name for one in plugins.announced()] == [KEY] and plugins.announced() == []
    plugins.approve(KEY)
    assert brought(project) == ("go", "ops", "ship")
    assert f"Run {plugin}/go.sh" in read_prompts(project, {}).get("go").body
    assert load_personas(project).get("ops").tools == ("read",)
    text, _ = load_skill(read_skills(project).get("ship"))
    assert f"See {plugin}/how." in text
    plugins.switch(on=False)
    assert brought(project) == ()
    plugins.switch(on=True)
    plugins.revoke(KEY)
    assert brought(project) == ()


CHANGES: dict[str, Callable[[Path], object]] = {
    "a text": lambda folder: write(folder / "commands" / "go.md", "Other"),
    "a new file": lambda folder: write(folder / "agents" / "new.md", "You are new"),
    "a script": lambda folder: write(folder / "skills" / "ship" / "run.sh", "true"),
    "a file less": lambda folder: (folder / "agents" / "ops.md").unlink(),
    "a name": lambda folder: (folder / "commands" / "go.md").rename(folder / "commands" / "og.md"),
    "the manifest": lambda folder: made_plugin(folder, commands="./skills/ship/SKILL.md"),
    "a link to a folder": lambda folder: (folder / "skills" / "more").symlink_to("/"),
    "a link to a file": lambda folder: (folder / "commands" / "host.md").symlink_to("/etc/hostname"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_is_approved_again(plugin: Path, project: Path, change: str) -> None:
    plugins.approve(KEY)
    assert brought(project)
    CHANGES[change](plugin)
    assert brought(project) == ()
    assert [one.state for one in plugins.find_plugins()] == ["changed"]
    assert f"gsh-tui plugins approve {KEY}" in read_skills(project).problems[0]
    plugins.approve(KEY)
    assert brought(project)


def test_what_claude_code_itself_writes_there_is_no_change(plugin: Path, project: Path) -> None:
    plugins.approve(KEY)
    write(plugin / ".in_use" / "12", "")
    write(plugin / ".orphaned_at", "1")
    assert brought(project) == ("go", "ops", "ship")


def test_a_name_that_is_taken_keeps_its_owner(plugin: Path, project: Path, home: Home) -> None:
    write(home.config / "gsh" / "prompts" / "go.md", "Mine")
    write(home.config / "gsh" / "agents" / "ops.md", "Mine")
    write(home.config / "gsh" / "skills" / "ship" / "SKILL.md", "---\nname: ship\ndescription: Mine\n---\nMine\n")
    plugins.approve(KEY)
    assert brought(project) == ("deploy:go", "go", "ops", "deploy:ops", "deploy:ship", "ship")
    assert read_prompts(project, {}).get("go").body == "Mine"
    assert load_personas(project).get("ops").words == "Mine"
    assert load_personas(project).get("deploy:ops").words == "You operate."
    assert read_skills(project).get("ship").source == "yours"


def test_its_servers_are_brought_and_need_their_own_agreement(plugin: Path, project: Path, home: Home) -> None:
    own = {"command": "${CLAUDE_PLUGIN_ROOT}/serve", "args": ["--at", "${CLAUDE_PLUGIN_ROOT}"]}
    write(plugin / ".mcp.json", json.dumps({"mcpServers": {"logs": own}}))
    write(plugin / "more.json", json.dumps({"docs": {"type": "http", "url": "https://d.example/mcp"}}))
    made_plugin(
        plugin,
        mcpServers=[
            "./more.json",
            "../../../../x.json",
            {"mine": own, "none": {}, "bad": 3, "odd": {"url": 3, "args": 3}},
        ],
    )
    write(home.path / ".claude.json", json.dumps({"mcpServers": {"mine": {"command": "other"}}}))
    assert [one.name for one in configured_servers(loader.load(project))] == ["mine"]
    plugins.approve(KEY)
    found = {one.name: one for one in configured_servers(loader.load(project))}
    assert list(found) == ["deploy-mine", "docs", "logs", "mine"]
    assert found["mine"].settings.command == "other"
    assert found["logs"].settings.command == f"{plugin}/serve"
    assert list(found["logs"].settings.args) == ["--at", str(plugin)]
    assert found["logs"].settings.env == {"CLAUDE_PLUGIN_ROOT": str(plugin)}
    assert all(one.brought for one in found.values())
    write(plugin / "serve", "exit 1")
    assert [one.name for one in configured_servers(loader.load(project))] == ["mine"]


def test_its_hooks_wait_for_an_approval_of_their_own(plugin: Path, project: Path) -> None:
    entry = {"matcher": "Bash", "hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/check"}]}
    write(plugin / "hooks" / "hooks.json", json.dumps({"description": "x", "hooks": {"PreToolUse": [entry]}}))
    write(plugin / "check", "true")
    made_plugin(plugin, hooks={"Stop": [{"hooks": [{"type": "command", "command": "end"}]}], "Odd": 3})
    waiting: list[Hook] = []
    files = HookFiles(Hooks, project, {}, waiting.extend)
    assert files.read().hooks == []
    plugins.approve(KEY)
    found = files.read()
    assert [(one.event, one.command, one.approved) for one in found.hooks] == [
        ("PreToolUse", f"{plugin}/check", False),
        ("Stop", "end", False),
    ]
    assert waiting == found.hooks and found.find_matching("PreToolUse", "Bash") == []
    approve({one.id: False for one in found.hooks})
    (hook,) = files.read().find_matching("PreToolUse", "Bash")
    assert hook.sandbox and hook.plugin == str(plugin)
    write(plugin / "check", "another")
    assert files.read().hooks == [] and KEY in files.read().problems[-1]
    plugins.approve(KEY)
    assert len(files.read().find_matching("Stop")) == 1


async def test_a_hook_knows_the_folder_of_its_plugin(plugin: Path, project: Path) -> None:
    hook = Hook("Stop", 'echo "$CLAUDE_PLUGIN_ROOT"', plugin=str(plugin))
    answer = await run_hook(hook, {}, project, os.environ, None)
    assert (answer.code, answer.out.strip()) == (0, str(plugin))
    assert (await run_hook(replace(hook, plugin=""), {}, project, os.environ, None)).out.strip() == ""


def test_claudes_folder_may_be_elsewhere(
    plugin: Path, project: Path, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    listed = home.path / ".claude" / "plugins" / "installed_plugins.json"
    write(elsewhere / "plugins" / listed.name, listed.read_text())
    listed.unlink()
    assert plugins.find_plugins(project) == []
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(elsewhere))
    write(elsewhere / "agents" / "kim.md", "---\nname: kim\ndescription: Looks\n---\nYou look.")
    write(elsewhere / "skills" / "tidy" / "SKILL.md", "---\nname: tidy\ndescription: Tidies\n---\nTidy")
    assert [one.name for one in plugins.find_plugins(project)] != []
    assert load_personas(project).get("kim").name == "kim"
    assert "tidy" in read_skills(project).found


def test_the_manifest_replaces_folders_of_commands_and_agents_and_adds_skills(plugin: Path, project: Path) -> None:
    write(plugin / "more" / "stop.md", "Stop")
    write(plugin / "people" / "dev.md", "---\nname: dev\n---\nYou develop.")
    write(plugin / "other" / "land" / "SKILL.md", "---\ndescription: Lands\n---\nLand\n")
    made_plugin(plugin, commands=["./more"], agents="./people/dev.md", skills=["./other", "../../..", "/etc"])
    plugins.approve(KEY)
    assert brought(project) == ("stop", "dev", "land", "ship")


def test_a_marketplace_says_what_a_plugin_without_a_manifest_has(plugin: Path, project: Path, home: Home) -> None:
    (plugin / ".claude-plugin" / "plugin.json").unlink()
    market = home.path / "market"
    entry = {"name": "deploy", "source": "./deploy", "strict": False, "skills": ["./skills/ship"], "commands": []}
    write(market / ".claude-plugin" / "marketplace.json", json.dumps({"name": "acme", "plugins": [entry]}))
    known = {"acme": {"source": {"source": "github", "repo": "acme/acme"}, "installLocation": str(market)}}
    write(home.path / ".claude" / "plugins" / "known_marketplaces.json", json.dumps(known))
    plugins.approve(KEY)
    assert brought(project) == ("ops", "ship")
    # One of a folder is used where it is written, not as it was copied.
    made_plugin(market / "deploy")
    (market / "deploy" / "agents" / "ops.md").unlink()
    known["acme"]["source"] = {"source": "directory", "path": str(market)}
    write(home.path / ".claude" / "plugins" / "known_marketplaces.json", json.dumps(known))
    assert brought(project) == ()
    plugins.approve(KEY)
    assert [one.place for one in plugins.find_plugins()] == [str(market / "deploy")]


def test_one_of_another_project_or_switched_off_there_is_none(plugin: Path, project: Path, home: Home) -> None:
    plugins.approve(KEY)
    install(home.path, plugin, scope="project", projectPath=str(project))
    assert brought(project) == ("go", "ops", "ship")
    assert brought(made_project(home.path / "other")) == ()
    write(home.path / ".claude" / "settings.json", json.dumps({"enabledPlugins": {KEY: False}}))
    assert brought(project) == () and plugins.find_plugins(project) == []


def test_a_folder_is_approved_by_its_path(project: Path, tmp_path: Path) -> None:
    folder = made_plugin(tmp_path / "mine")
    key = plugins.plugin_key("../mine", project)
    assert key == str(folder)
    plugins.approve(key)
    assert brought(project) == ("go", "ops", "ship")
    assert [one.name for one in plugins.find_plugins()] == [str(folder)]
    plugins.revoke(key)
    assert brought(project) == ()
    with pytest.raises(PluginError, match="no plugin"):
        plugins.approve(str(tmp_path))


def test_a_marketplaces_folder_is_approved_with_all_that_is_in_it(project: Path, tmp_path: Path) -> None:
    market = tmp_path / "market"
    bare = made_plugin(market / "bare")
    (bare / ".claude-plugin" / "plugin.json").unlink()
    made_plugin(market / "plugins" / "full", name="full")
    entries = [
        {"name": "bare", "source": "./bare", "strict": False, "version": "3", "commands": "./commands/go.md"},
        {"name": "full", "source": "./plugins/full", "description": "All"},
        {"name": "elsewhere", "source": {"source": "github", "repo": "a/b"}},
        {"name": "outside", "source": "../mine"},
        {"name": "gone", "source": "./gone"},
        {"name": "odd", "source": "./\0"},
        {"name": "ring", "source": "./ring"},
    ]
    market.joinpath("ring").symlink_to("ring")
    made_plugin(tmp_path / "mine")
    write(market / ".claude-plugin" / "marketplace.json", json.dumps({"name": "acme", "plugins": entries}))
    key = plugins.plugin_key("../market", project)
    assert [(one.name, one.version) for one in plugins.named_plugins(key)] == [
        (str(bare), "3"),
        (str(market / "plugins" / "full"), "1.2.0"),
    ]
    assert brought(project) == ()
    plugins.approve(key)
    assert sorted(brought(project)) == ["full:go", "full:ops", "full:ship", "go", "ops", "ship"]
    write(bare / "commands" / "go.md", "Other")
    assert brought(project) == ("go", "ops", "ship")
    plugins.revoke(key)
    assert brought(project) == ()
    with pytest.raises(PluginError, match="not approved"):
        plugins.revoke(key)


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"plugins": 3}', '{"plugins": {"a@b": [3]}}', '{"plugins": {"a@b": [{"installPath": 1}]}}']
)
def test_a_list_that_is_none_installs_nothing(home: Home, project: Path, text: str) -> None:
    write(home.path / ".claude" / "plugins" / "installed_plugins.json", text)
    assert plugins.find_plugins(project) == []


def test_a_manifest_may_hold_anything(plugin: Path, project: Path) -> None:
    values = (None, 3, [3], {"a": 3}, "\0", "../..", ["./nothing"], {"a": {"source": 3}}, "x" * 5_000)
    for key in ("commands", "agents", "skills", "name", "version", "description", "hooks", "mcpServers"):
        for value in values:
            made_plugin(plugin, **{key: value})
            plugins.approve(KEY)
            read_prompts(project, {})
            load_personas(project)
            configured_servers(loader.load(project))
            read_hooks(Hooks(), project, {})
            assert read_skills(project).get("ship").source == "a plugin's", (key, value)
