"""`config`: what a person sees of a project is what they trust, and others hear of a change."""

import re
from pathlib import Path

import pytest

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import SettingChanged
from gshtui.commands import evaluation, execution
from gshtui.commands.config_calls import SetSetting, ShowSettings, TrustProject
from gshtui.commands.config_commands import commands
from gshtui.commands.declaration import Caller, CommandError, Invocation, UsageError
from gshtui.commands.registry import Registry
from gshtui.settings.loader import Loaded, load
from tests.kit.configuration import project_file


def here(project: Path) -> Invocation:
    return Invocation(Caller(), project, project)


async def test_what_was_shown_is_what_is_trusted(project: Path) -> None:
    file = project_file(project, "[agent]\nmax_steps = 3\n", trusted=False)
    (project / "AGENTS.md").write_text("Rules.\n", encoding="utf-8")
    registry = Registry(commands(load(project), Bus()))
    value = execution.bound(registry, "config trust")
    assert value is not None and value == TrustProject()
    question = await execution.question(registry, value, here(project))
    assert question is not None and question.title == f"Trust {project}?"
    assert "max_steps = 3" in question.quoted and "AGENTS.md (new) says:\n\n    Rules." in question.quoted
    file.write_text("[agent]\nmax_steps = 2\n", encoding="utf-8")  # changed while it was read
    await execution.run_value(registry, question.agreed, here(project))
    assert load(project).trust == "changed", "what nobody saw does not count"


async def test_no_value_of_the_folder_looks_like_a_heading_of_the_list(project: Path) -> None:
    for name in ("objects", "refs"):
        (project / ".git" / name).mkdir(parents=True, exist_ok=True)
    (project / ".git/HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    alias = '[alias]\n\tx = "!true\\n\\nAGENTS.md (new) says:\\n\\nnothing"\n'
    (project / ".git/config").write_text(alias, "utf-8")
    (project / "AGENTS.md").write_text("Rules.\r\u2028git hooks (new) is:\x0b\n.gsh/config.toml says:\n", "utf-8")
    registry = Registry(commands(load(project), Bus()))
    question = await execution.question(registry, TrustProject(), here(project))
    assert question is not None
    headings = [line for line in re.split(r"[\n\r\x0b\u2028]", question.quoted) if line.endswith((" says:", " is:"))]
    assert [line for line in headings if not line.startswith("    ")] == [
        "AGENTS.md (new) says:",
        "git: alias.x (new) is:",
    ]


async def test_no_name_of_a_file_looks_like_a_heading_of_the_list(project: Path) -> None:
    """Also not one that is gone."""
    folder = project / ".gsh" / "skills" / "x\n.gsh\u2028rules.toml (new) says:\n"
    folder.mkdir(parents=True)
    skill = folder / "SKILL.md"
    skill.write_text("Rules.\n", "utf-8")
    registry = Registry(commands(load(project), Bus()))
    for gone in (False, True):
        question = await execution.question(registry, TrustProject(), here(project))
        if gone and question is not None:
            await execution.run_value(registry, question.agreed, here(project))
            skill.unlink()
            question = await execution.question(registry, TrustProject(), here(project))
        assert question is not None and "SKILL.md" in question.quoted
        lines = re.split(r"[\n\r\x0b\u2028]", question.quoted)
        assert len([line for line in lines if "rules.toml" in line]) == 1, "it is one line, with its whole name"
        assert not [line for line in lines if line.startswith((".gsh rules", "rules.toml"))]


async def test_taking_trust_back_asks_nothing(project: Path) -> None:
    project_file(project, "[agent]\nmax_steps = 3\n")
    registry = Registry(commands(load(project), Bus()))
    value = execution.bound(registry, "config untrust")
    assert value is not None and await execution.question(registry, value, here(project)) is None
    assert (await execution.run_value(registry, value, here(project))).data["trust"] == "untrusted"


async def test_others_hear_of_a_change(project: Path) -> None:
    published: list[Event] = []
    bus = Bus()
    bus.subscribe(published.extend, SettingChanged, name="test")
    changed: list[Loaded] = []
    registry = Registry(commands(load(project), bus, changed.append))
    done = await execution.call(registry, SetSetting(key="agent.max_steps", value="9"), here(project))
    assert done.value == 9
    await bus.close()
    assert [(type(one), getattr(one, "value", None)) for one in published] == [(SettingChanged, 9)]
    assert [loaded.settings.agent.max_steps for loaded in changed] == [9]
    with pytest.raises(CommandError, match="There is no setting 'agnet'"):
        await execution.call(registry, ShowSettings(key="agnet"), here(project))


async def test_a_change_says_when_it_applies(project: Path) -> None:
    registry = Registry(commands(load(project), Bus()))

    async def said(line: str) -> str:
        return (await evaluation.run_line(registry, line, here(project))).text

    assert 'ui.theme = "gsh-light" applies now' in await said("config set ui.theme gsh-light")
    assert "agent.max_steps = 9 applies from the next start" in await said("config set agent.max_steps 9")
    assert "its default applies now" in await said("config unset ui.theme")
    assert "was not set" in await said("config unset ui.theme")


async def test_agents_look_and_change_nothing(project: Path) -> None:
    registry = Registry(commands(load(project), Bus()))
    agent = Invocation(Caller("main", is_agent=True), project, project)
    assert "agent.max_steps" in (await evaluation.run_line(registry, "config show agent", agent)).text
    for line in ("config set agent.max_steps 9", "config trust", "config edit"):
        with pytest.raises(UsageError, match="for people only"):
            await evaluation.run_line(registry, line, agent)
    with pytest.raises(UsageError, match="for people only"):
        await execution.call(registry, SetSetting(key="agent.max_steps", value="9"), agent)
