"""What the manual (the README and its guides) says exists: its keys, commands and options, settings, variables, exit
codes, files and folders.

The manual is read for names of each kind, wherever they stand; a name that nothing here knows fails.
"""

import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from gshtui.agents.hooks.hook_set import read_hooks
from gshtui.agents.personas import load_personas
from gshtui.agents.prompts.prompt_store import read_prompts
from gshtui.agents.skills.skill_store import read_skills
from gshtui.cli.familiar_words import our_words
from gshtui.cli.root import root
from gshtui.context.assembly import instruction_files
from gshtui.context.commands import context_mount
from gshtui.context.commands.context_mount import ASSEMBLY
from gshtui.features.workflows.workflow_library import read_library
from gshtui.guard.rules.rule_book import RuleFiles
from gshtui.headless import exits
from gshtui.hosts import host_package
from gshtui.hub.composition import build_hub
from gshtui.hub.hub_options import HubOptions
from gshtui.programs.profiles import profile_files as profiles
from gshtui.providers import candidates
from gshtui.settings import loader, paths, plugins
from gshtui.settings.keys import TABLES, split
from gshtui.settings.known_providers import KNOWN_PROVIDERS
from gshtui.settings.loader import load
from gshtui.settings.model import DEFAULT_KEYS, Settings
from gshtui.settings.settings_tables import ProviderSettings
from gshtui.tools.git import worktree_create
from gshtui.ui.kit.drawing.themes import OURS, read_themes
from gshtui.ui.kit.keys.key_table import KEYS, SHELL, TRANSCRIPT
from tests.kit.configuration import made_project, project_file, user_file
from tests.kit.home import Home
from tests.kit.manual import MANUAL, PAGES, keys, name_of, words
from tests.kit.source import ROOT

CODES = sorted({code.strip() for code in re.findall(r"`([^`]+)`", words())})
"""Everything that stands in backticks, outside of blocks."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", MANUAL, re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    """Every use of `gsh-tui` in blocks and in the text, without what is piped into it."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    lines += re.findall(r"`(gsh-tui [^`…]+?)…?`", re.sub(r"```.*?```", "", MANUAL, flags=re.DOTALL))
    return sorted({line[line.index("gsh-tui ") :] for line in lines if re.search(r"(^|\| )gsh-tui ", line)})


def test_every_command_is_one() -> None:
    wrong = {line: error for line in commands() if (error := refused(line))}
    assert wrong == {}


def refused(line: str) -> str:
    """Why the command line takes it for none."""
    arguments = our_words(shlex.split(line, comments=True)[1:])
    command: click.Command = root
    context = click.Context(root)
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        found = command.get_command(context, arguments.pop(0))
        if found is None:
            return "no such command"
        command = found
    try:
        if "--help" not in arguments and not isinstance(command, click.Group):
            command.make_context("gsh-tui", arguments)
    except click.ClickException as error:
        return error.format_message()
    return ""


SIGNS = {"@", "!", "*", "T", "X", "^Xc"}
"""What is no key of ours: letters of the timeline, `@` of a prompt, what a shell's line needs, a terminal's own key."""


def test_every_key_is_in_the_table() -> None:
    """What each does is pressed in the tests of its pane, and of the window in `tests/ui/test_window_keys.py`."""
    bound = {key for row in KEYS.values() for key in row.keys.split(",")} | set(DEFAULT_KEYS.values())
    named = {key[1] for key in keys(words())}
    assert len(named) > 80
    assert {key for key in named - SIGNS if key not in bound and name_of(key) not in bound} == set()


@pytest.mark.parametrize("group", [TRANSCRIPT, SHELL])
def test_every_key_of_a_panes_table_is_the_panes(group: str) -> None:
    section = MANUAL[MANUAL.index(f"## {group}") :].partition("\n## ")[0]
    named = {name_of(key[1]) for row in re.findall(r"^\| (`.+?) \|", section, re.MULTILINE) for key in keys(row)}
    bound = {key for row in KEYS.values() if row.group == group for key in row.keys.split(",")}
    assert named and named - bound == set()


def test_the_configuration_is_right(home: Home) -> None:
    file = home.config / "gsh" / "config.toml"
    file.parent.mkdir()
    file.write_text(next(block for block in blocks("toml") if "max_iterations" in block))
    loaded = load(home.path)
    assert [str(problem) for problem in loaded.problems] == []
    assert loaded.settings.context.max_iterations == 40
    assert loaded.settings.providers["work"].base_url == "https://models.example.com/v1"


# Settings


def default_of(table: str, key: str) -> object:
    """The default of a setting; fails the test where there is none of this name."""
    assert table in TABLES and key in TABLES[table].model_fields, f"there is no setting {table}.{key}"
    return getattr(getattr(Settings(), table), key)


IN_A_TABLE = [code for code in CODES if re.match(r"\[[a-z]+\] ?", code) and not code.startswith("[gsh]")]
DOTTED = [code for code in CODES if re.match(rf"(?:{'|'.join(TABLES)})\.[a-z_]+(?: = .+)?$", code)]


@pytest.mark.parametrize("said", IN_A_TABLE)
def test_every_setting_of_a_table_is_one(said: str, home: Home) -> None:
    table, _, setting = said.removeprefix("[").partition("]")
    if not setting:
        assert table in Settings.model_fields
        return
    key, _, value = setting.strip().partition(" = ")
    default = default_of(table, key)
    if value:
        user_file(home, f"[{table}]\n{setting.strip()}\n")
        loaded = load(home.path)
        assert loaded.problems == () and getattr(getattr(loaded.settings, table), key) != default, "it changes nothing"


@pytest.mark.parametrize("said", DOTTED)
def test_every_dotted_setting_is_one(said: str) -> None:
    name, _, value = said.partition(" = ")
    table, key = split(name)
    default = default_of(table, key)
    if value:  # the manual calls it the default
        assert f"`{said}` (the default)" in words() and tomllib.loads(f"it = {value}")["it"] == default


def test_every_default_that_is_told_is_the_default() -> None:
    told = re.findall(r"`([a-z]+(?:_[a-z]+)+)` \((\d[\d.,]*\d)\b", words())
    assert len(told) >= 3
    for key, value in told:
        assert default_of("context", key) == float(value.replace(",", "")), key


def test_budgets_have_the_beginnings_that_are_told() -> None:
    told = [code.removesuffix("…") for code in CODES if re.fullmatch(r"[a-z]+_…", code)]
    fields = TABLES["budget"].model_fields
    assert sorted(told) == sorted({name.partition("_")[0] + "_" for name in fields if name != "warn_at"})
    assert all({f"{begun}tokens", f"{begun}dollars", f"{begun}minutes"} <= set(fields) for begun in told)


async def test_every_name_and_parameter_is_known(tmp_path: Path) -> None:
    """A name with an underscore is a setting's, a key's of the shell or a tool's; `name=` is its row's command's."""
    project = made_project(tmp_path / "project")
    hub = build_hub(HubOptions(cwd=project, loaded=load(project)))
    await hub.start()
    commands = {name: command for command in hub.registry for name in (command.name, *command.aliases)}
    fields = {
        name: {field for one in (command, *command.words.values()) for field in one.parameters.model_fields}
        for name, command in commands.items()
    }
    await hub.stop()
    settings = {key for table in (*TABLES.values(), ProviderSettings) for key in table.model_fields}
    named = [code for code in CODES if re.fullmatch(r"[a-z]+(?:_[a-z]+)+", code)]
    assert [name for name in named if name not in settings | set(DEFAULT_KEYS) | set(commands)] == []
    tried = 0
    for row in re.findall(r"^\| `/.*\|$", MANUAL, re.MULTILINE):
        names, _, does = row.strip("| ").partition(" | ")
        for codes in (names, does):
            for parameter in re.findall(r"[` ]([a-z_]+)=", codes):
                tried += 1
                assert any(parameter in fields[name] for name in re.findall(r"`/([a-z]+)", names)), (row, parameter)
    assert tried > 15


def test_settings_by_variable_and_by_flag(home: Home) -> None:
    ((variable, value),) = re.findall(r"`(GSH_[A-Z]+__[A-Z_]+)=(\d+)`", MANUAL)
    ((key, again),) = re.findall(r"--set ([a-z._]+)=(\d+)", MANUAL)
    assert variable == loader.variable(split(key)) and value == again
    table, name = split(key)
    for loaded in (load(home.path, environ={variable: value}), load(home.path, flags={key: value})):
        assert loaded.problems == () and getattr(getattr(loaded.settings, table), name) == int(value)


# Variables

OTHERS = {"ZSH_CUSTOM", "OTEL_EXPORTER_OTLP_HEADERS"}
"""oh-my-zsh's; and OpenTelemetry's SDK reads its own."""


def variables() -> list[str]:
    """The environment variables that are named, with a dollar, a value or alone."""
    named = {found for code in CODES for found in re.findall(r"\$?\b([A-Z][A-Z]+(?:_[A-Z]+)*)\b(?![.a-z])", code)}
    return sorted(name for name in named if "_" in name or f"${name}" in MANUAL)


def test_every_variable_is_read() -> None:
    sources = [file for file in (ROOT / "gshtui").rglob("*") if file.suffix in (".py", ".zsh", ".bash", ".sh")]
    words = {
        word for file in [*sources, ROOT / ".ci" / "setup"] for word in re.findall(r"\b[A-Z]\w+\b", file.read_text())
    }
    named = variables()
    assert len(named) > 12
    assert [name for name in named if name not in words and "__" not in name and name not in OTHERS] == []


def test_the_providers_are_found_by_these_variables(home: Home) -> None:
    table = MANUAL[MANUAL.index("| provider | needs | also read |") :].partition("\n\n")[0]
    rows = [[cell.strip() for cell in row.strip("| ").split("|")] for row in table.splitlines()[2:]]
    assert [row[0].lower() for row in rows] == [api for api in KNOWN_PROVIDERS if api not in candidates.HOSTS]
    settings = load(home.path).settings
    for name, needs, address in rows:
        keys, (variable,) = re.findall(r"`([A-Z_]+)`", needs), re.findall(r"`([A-Z_]+)`", address)
        api = name.lower()
        for key in keys:
            (found,) = [one for one in candidates.candidates(settings, {key: "k"}).values() if one.keyed]
            assert (found.api, found.key_variable) == (api, key)
        assert bool(keys) == (api != "ollama")
        there = [
            one.base_url for one in candidates.candidates(settings, {variable: "http://h:1"}).values() if one.api == api
        ]
        assert "http://h:1" in there


def test_the_variables_of_clouds_are_read() -> None:
    table = MANUAL[MANUAL.index("| serves others' models | needs | also read |") :].partition("\n\n")[0]
    rows = [[cell.strip() for cell in row.strip("| ").split("|")] for row in table.splitlines()[2:]]
    apis = {known.label: api for api, known in KNOWN_PROVIDERS.items()}
    assert {apis[name] for name, *_ in rows} == set(candidates.HOSTS)
    for name, *codes in rows:
        for variable in re.findall(r"`([A-Z_]+)`", " ".join(codes)):
            given = {variable: "http://h"}
            found = candidates.candidates(Settings(), given)[apis[name]]
            assert found != candidates.candidates(Settings(), {})[apis[name]], variable


# Exit codes


def test_every_exit_code_is_there_and_means_what_it_says() -> None:
    told = dict(re.findall(r"^\| (\d+) \| (.+) \|$", MANUAL, re.MULTILINE))
    values = {name: value for name, value in vars(exits).items() if isinstance(value, int)}
    assert {int(code) for code in told} == set(values.values())
    said = {
        exits.DONE: "done",
        exits.ERROR: "error",
        exits.USAGE: "usage",
        exits.UNREACHABLE: "unreachable",
        exits.DENIED: "denied",
        exits.TIMED_OUT: "time-out",
        exits.INTERRUPTED: "interrupted",
    }
    assert [code for code, word in said.items() if word not in told[str(code)]] == []


# Files and folders


def its_persona(home: Home, project: Path) -> None:
    file = home.path / ".config/gsh/agents/careful.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: careful\nsummary: Looks twice\n---\nLook twice.\n")
    assert load_personas(project).get("careful").name == "careful"


def both_rules(home: Home, project: Path) -> None:
    own, theirs = paths.config_file().with_name("rules.toml"), project / ".gsh" / "rules.toml"
    for file, does in ((own, "allow"), (theirs, "deny")):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'[[rule]]\ndo = "{does}"\nprogram = "make"\n')
    assert [rule.do for rule in RuleFiles(own, project).current().rules] == ["allow", "deny"]


def a_skill(folder: Path) -> None:
    """A skill of this folder is found, by the name of its folder."""
    file = folder / "changelog" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: changelog\ndescription: Writes one.\n---\nWrite it.\n")


def own_skill(home: Home, project: Path) -> None:
    a_skill(home.path / ".config/gsh/skills")
    assert read_skills(project).get("changelog").source == "yours"


def skill_of_others(home: Home, project: Path) -> None:
    for folder in (".claude/skills", ".agents/skills"):
        a_skill(home.path / folder)
        assert read_skills(project).get("changelog").folder == home.path / folder / "changelog"
        shutil.rmtree(home.path / folder)


def persona_of_others(home: Home, project: Path) -> None:
    for number, folder in enumerate((".claude/agents", ".config/opencode/agent")):
        file = home.path / folder / f"careful-{number}.md"
        file.parent.mkdir(parents=True)
        file.write_text("---\ndescription: Looks twice\n---\nLook twice.\n")
        assert load_personas(project).get(f"careful-{number}").words == "Look twice."
    file = home.path / ".codex/agents/careful.toml"
    file.parent.mkdir(parents=True)
    file.write_text('developer_instructions = "Look twice."')
    assert load_personas(project).get("careful").words == "Look twice."


def project_skill(home: Home, project: Path) -> None:
    a_skill(project / ".gsh/skills")
    assert "changelog" not in read_skills(project).found, "nobody trusts it yet"
    project_file(project, "")
    assert read_skills(project).get("changelog").source == "the project's"


def a_kept_prompt(folder: Path) -> None:
    """The README's example of a prompt, in this folder."""
    folder.mkdir(parents=True)
    (folder / "explain.md").write_text(blocks("markdown")[0])


def own_prompt(home: Home, project: Path) -> None:
    a_kept_prompt(home.path / ".config/gsh/prompts")
    found = read_prompts(project, os.environ).found["explain"]
    assert (found.source, found.arguments) == ("yours", ("file", "depth"))


def claude_plugin(home: Home, project: Path) -> None:
    """Installed, it is listed; approved, its skill is there."""
    folder = home.path / ".claude/plugins/cache/acme/log/1"
    a_skill(folder / "skills")
    (folder / ".claude-plugin").mkdir()
    (folder / ".claude-plugin/plugin.json").write_text('{"name": "log"}')
    listed = {"version": 2, "plugins": {"log@acme": [{"scope": "user", "installPath": str(folder)}]}}
    (home.path / ".claude/plugins/installed_plugins.json").write_text(json.dumps(listed))
    assert [one.name for one in plugins.find_plugins()] == ["log@acme"]
    plugins.approve("log@acme")
    assert read_skills(project).get("changelog").folder == folder / "skills/changelog"


def claude_prompt(home: Home, project: Path) -> None:
    a_kept_prompt(home.path / ".claude/commands")
    assert read_prompts(project, os.environ).found["explain"].source == "Claude Code"


def codex_prompt(home: Home, project: Path) -> None:
    a_kept_prompt(home.path / ".codex/prompts")
    assert read_prompts(project, os.environ).found["explain"].source == "Codex"


def project_prompt(home: Home, project: Path) -> None:
    a_kept_prompt(project / ".gsh/prompts")
    assert read_prompts(project, os.environ).found == {}, "nobody trusts it yet"
    project_file(project, "")
    assert read_prompts(project, os.environ).found["explain"].source == "the project's"


def a_workflow(folder: Path) -> None:
    """The README's example of a workflow, in this folder."""
    folder.mkdir(parents=True)
    (folder / "notes.yml").write_text(blocks("yaml")[0])


def own_profile(home: Home, project: Path) -> None:
    file = home.path / ".config/gsh/profiles/codex.toml"
    file.parent.mkdir(parents=True)
    assert profiles.load().get("codex").protocol == "codex"
    file.write_text('extends = "codex"\nprotocol = ""\n', "utf-8")
    assert profiles.load().get("codex").protocol == ""


def own_theme(home: Home, project: Path) -> None:
    file = home.path / ".config/gsh/themes/mine.toml"
    file.parent.mkdir(parents=True)
    file.write_text('primary = "#6fd3b8"\nbase = "gsh-light"\n', "utf-8")
    found = read_themes(paths.config_dir() / "themes", {theme.name: theme for theme in OURS})
    assert [theme.name for theme in found.themes] == ["mine"] and not found.problems


def own_workflow(home: Home, project: Path) -> None:
    a_workflow(home.path / ".config/gsh/workflows")
    assert read_library(project).found["release-notes"].source == "yours"


def project_workflow(home: Home, project: Path) -> None:
    a_workflow(project / ".gsh/workflows")
    assert "release-notes" not in read_library(project).found, "nobody trusts it yet"
    project_file(project, "")
    assert read_library(project).found["release-notes"].source == "the project's"


def test_the_hooks_are_right(home: Home) -> None:
    file = home.config / "gsh" / "config.toml"
    file.parent.mkdir()
    file.write_text(next(one for one in blocks("toml") if "[[hooks." in one))
    loaded = load(home.path)
    assert [str(problem) for problem in loaded.problems] == []
    found = read_hooks(loaded.settings.hooks, home.path, os.environ)
    assert [one.event for one in found.hooks] == ["PreToolUse", "Notification"]
    assert found.problems == []


def own_instructions(home: Home, project: Path) -> None:
    file = home.path / ".config/gsh/AGENTS.md"
    file.parent.mkdir(parents=True)
    file.write_text("Be brief.\n")
    assert [one.path for one in instruction_files.find_instruction_files(project).files] == [file]


def project_instructions(home: Home, project: Path) -> None:
    """In this order, and each folder's from the root down; once the folder is trusted."""
    inner = project / "src"
    inner.mkdir()
    for name in ("GEMINI.md", "CLAUDE.md", "AGENTS.md"):
        (project / name).write_text("x")
        assert [one.path for one in instruction_files.find_instruction_files(inner).ignored] == [project / name]
    (inner / "AGENTS.md").write_text("y")
    project_file(project, "")
    assert [one.path for one in instruction_files.find_instruction_files(inner).files] == [
        project / "AGENTS.md",
        inner / "AGENTS.md",
    ]


def project_configuration(home: Home, project: Path) -> None:
    project_file(project, "[context]\nmax_iterations = 7\n", trusted=False)
    assert load(project).settings.context.max_iterations == 25
    project_file(project, "[context]\nmax_iterations = 7\n")
    assert load(project).settings.context.max_iterations == 7


def included(home: Home, project: Path) -> None:
    (project / ".git").rmdir()
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    (project / ".env").write_text("x")
    (project / ".worktreeinclude").write_text(".env\n")
    assert asyncio.run(worktree_create.included_names(project)) == [".env"]


def brought_there(home: Home, folder: Path) -> None:
    """As a shell on another machine finds it."""
    del folder
    words = ["sh", "-c", f'{host_package.PLACE}printf "%s" "$base"']
    found = subprocess.run(words, env={"HOME": str(home.path)}, capture_output=True, text=True, check=True).stdout
    assert found == str(home.path / ".local" / "share" / "gsh" / "tools")


def kept(home: Home, project: Path) -> None:
    """By XDG's variables where they are set, else in the folders that the table has in parentheses."""
    folders: dict[str, Callable[[], Path]] = {
        "XDG_CONFIG_HOME": paths.config_dir,
        "XDG_DATA_HOME": paths.data_dir,
        "XDG_STATE_HOME": paths.state_dir,
    }
    for variable, usual in re.findall(r"`\$(XDG_[A-Z]+_HOME)/gsh[^`]*` \(`~/([^`]+)`\)", MANUAL):
        del os.environ[variable]
        assert folders[variable]() == home.path / usual
        os.environ[variable] = str(home.path / variable)
        assert folders.pop(variable)() == home.path / variable / "gsh"
    assert folders == {}
    assert paths.config_file().name == "config.toml" and paths.logs_dir() == paths.state_dir() / "logs"


NOT_OURS = {
    "conftest.py",
    "package.json",
    ".envrc",
    ".mcp.json",
    ".vscode",
    "*.code-workspace",
    ".npmrc",
    ".tool-versions",
    ".cargo/config.toml",
    "lefthook.yml",
    ".venv",
    ".venv/bin/gsh-tui",
    ".zshrc",
    ".git",
    "$ZSH_CUSTOM/plugins/gsh",
    *(
        ".env",
        ".env.*",
        ".env-*",
        ".dev.vars",
        "*.env",
        ".env.example",
        "*.key",
        "*.pem",
        "credentials.json",
        "secrets.yaml",
        ".npmrc",
    ),
    *("~/.local/bin", "mise.toml", "core.fsmonitor", "gshtui/guard/policy/obeyed_files.toml"),
}
"""The shell's, git's, other programs', this clone's."""
CALLS = {".call", "context/system.prompt", "context/pinned/", "conversation/007.msg", "members/"}
VIRTUAL = {".status", ".system", "KEY.mem", ASSEMBLY, *CALLS, *(f"{name}.ctx" for name in context_mount.FILES)}
"""Those of the virtual file system, which `tests/real/test_virtual_files.py` tries."""
FILES: dict[str, Callable[[Home, Path], None]] = {
    "rules.toml": both_rules,
    ".gsh/rules.toml": both_rules,
    "~/.config/gsh/agents/": its_persona,
    "SKILL.md": own_skill,
    "~/.config/gsh/skills/": own_skill,
    "~/.claude/skills/": skill_of_others,
    "~/.agents/skills/": skill_of_others,
    "~/.claude/agents/": persona_of_others,
    "~/.config/opencode/agent/": persona_of_others,
    "~/.codex/agents/": persona_of_others,
    "~/.claude/plugins": claude_plugin,
    ".claude-plugin/plugin.json": claude_plugin,
    ".gsh/skills/": project_skill,
    "~/.config/gsh/AGENTS.md": own_instructions,
    "AGENTS.md": project_instructions,
    "CLAUDE.md": project_instructions,
    "GEMINI.md": project_instructions,
    ".gsh/config.toml": project_configuration,
    ".worktreeinclude": included,
    "$XDG_CONFIG_HOME/gsh/config.toml": kept,
    "~/.config/gsh": kept,
    "$XDG_DATA_HOME/gsh/gsh.db": kept,
    "~/.local/share/gsh": kept,
    "$XDG_STATE_HOME/gsh": kept,
    "~/.local/state/gsh": kept,
    "~/.local/share/gsh/tools": brought_there,
    "~/.config/gsh/profiles/codex.toml": own_profile,
    "~/.config/gsh/prompts/": own_prompt,
    "standup.md": own_prompt,
    "~/.claude/commands/": claude_prompt,
    "~/.codex/prompts/": codex_prompt,
    ".gsh/prompts/": project_prompt,
    "~/.config/gsh/workflows/*.yml": own_workflow,
    "~/.config/gsh/themes/mine.toml": own_theme,
    ".gsh/workflows/*.yml": project_workflow,
    "logs/*.jsonl": kept,
}


def named_files() -> set[str]:
    """Paths that are a person's; commands, settings and this repository's own are tried elsewhere."""
    paths = {code for code in CODES if re.fullmatch(r"[~$.A-Za-z_*/-]*(?:/|\.)[A-Za-z_*/.-]+/?", code)}
    return {path for path in paths if not path.startswith(("/", ".ci/")) and path not in DOTTED}


def test_every_file_that_is_named_is_tried_here() -> None:
    assert named_files() - NOT_OURS - VIRTUAL == set(FILES)


@pytest.mark.parametrize("trial", dict.fromkeys(FILES.values()))
def test_files_and_folders_are_where_it_says(
    trial: Callable[[Home, Path], None], home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(variable)
        if trial is kept:
            monkeypatch.setenv(variable, "/nowhere")
    trial(home, made_project(tmp_path / "project"))


LINKS = [
    (page, target)
    for page in PAGES
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    if "://" not in target
]
"""Each page with what it links of this repository, from the page's own folder."""


def test_every_file_that_is_linked_is_there() -> None:
    assert LINKS
    missing = [(page.name, target) for page, target in LINKS if not (page.parent / target.partition("#")[0]).exists()]
    assert missing == []


def test_the_readme_leads_to_every_guide() -> None:
    readme, *guides = PAGES
    assert guides
    assert set(guides) <= {(page.parent / target).resolve() for page, target in LINKS if page == readme}
