"""Files that people and programs write: one that cannot be read costs that file, is named, and the others count."""

import os
from pathlib import Path

import pytest

from gshtui.agents.personas import load_personas
from gshtui.agents.prompts.prompt_store import read_prompts
from gshtui.agents.skills.skill_store import read_skills
from gshtui.features.workflows.workflow_parser import WorkflowError, read_workflows
from gshtui.guard.rules.rule_book import read_rules
from gshtui.mcp_client.import_sources import found_servers
from gshtui.programs.profiles import profile_files
from gshtui.providers.catalog import Catalog
from gshtui.settings import loader, paths
from gshtui.settings.toml_file import MAX_BYTES

HOSTILE = {
    "no utf-8": b"\xff\xfe\x80 = 1\n",
    "a broken letter": b'name = "\xf0\x9f\x98"\n',
    "a surrogate": b'name = "\xed\xa0\x80"\n',
    "zeros": b"\0" * 100,
    "a long line": b"x = '" + b"a" * 1_500_000 + b"'\n",
    "deep lists": b"x = " + b"[" * 5_000 + b"]" * 5_000 + b"\n",
    "deep tables": b"x = " + b"{a=" * 5_000 + b"1" + b"}" * 5_000 + b"\n",
    "deep keys": b"a." * 20_000 + b"a = 1\n",
    "a number without end": b"x = " + b"9" * 6_000 + b"\n",
    "no numbers": b"x = nan\ny = -inf\nz = 1e9999\n",
    "wrong types": b"name = 1\ntitle = [1]\n[general]\nname = 5\n[agent]\nmax_iterations = 'x'\n[[rule]]\ndo = 7\n",
    "tables where lists are": b"[rule]\n[mcp_servers]\nx = 1\n[models]\ny = 2\n[general]\n[[agent]]\n",
    "cut short": b'[general]\nname = "x',
    "a byte order mark": b"\xef\xbb\xbf[general]\n",
    "carriage returns": b"[general]\rname = 'x'\r",
    "escapes": b"\x1b[2J\x1b]0;x\x07\x9b = 1",
    "front matter": b"---\nname: [[[[[[[[[[[[\ndescription: \x00\n---\n",
    "deep front matter": b"---\nx: " + b"[" * 5_000 + b"\n---\nbody\n",
    "deep yaml": b"workflows:\n" + b"".join(b" " * at + b"a:\n" for at in range(1, 900)),
    "anchors": b"workflows: &a [*a, *a]\n",
    "nothing": b"",
}


def placed(file: Path, data: bytes) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def settings(config: Path, data: bytes) -> None:
    placed(config / "config.toml", data)
    loader.load(config)


def models(config: Path, data: bytes) -> None:
    shipped = len(Catalog.load(config / "none.toml").models)
    assert len(Catalog.load(placed(config / "models.toml", data)).models) >= shipped


def profiles(config: Path, data: bytes) -> None:
    placed(config / "profiles" / "bad.toml", data)
    found = profile_files.load()
    assert "claude" in found.profiles
    assert "bad" in found.profiles or any("bad.toml" in problem for problem in found.problems)


def rules(config: Path, data: bytes) -> None:
    good = b'[[rule]]\ndo = "deny"\ntool = "bash"\nexactly = "rm x"\n'
    found = read_rules(placed(config / "rules.toml", good + b"[[rule]]\n" + data))
    assert any(rule.do == "deny" for rule in found.rules) or len(data) > MAX_BYTES, "what denies still denies"
    assert found.mistakes


def personas(config: Path, data: bytes) -> None:
    placed(config / "agents" / "good.md", b"Be kind.\n")
    for suffix in ("toml", "md"):
        placed(config / "agents" / f"bad.{suffix}", data)
    assert "good" in load_personas(config).found


def prompts(config: Path, data: bytes) -> None:
    placed(config / "prompts" / "good.md", b"Explain it.\n")
    placed(config / "prompts" / "bad.md", data)
    assert "good" in {one.name for one in read_prompts(config, os.environ).found.values()}


def skills(config: Path, data: bytes) -> None:
    placed(config / "skills" / "good" / "SKILL.md", b"---\nname: good\ndescription: It helps.\n---\nbody\n")
    placed(config / "skills" / "bad" / "SKILL.md", data)
    assert "good" in read_skills(config).found


def workflows(config: Path, data: bytes) -> None:
    try:
        read_workflows(config / "workflows.yaml", data)
    except WorkflowError as error:
        assert "workflows.yaml" in str(error)


def other_programs(config: Path, data: bytes) -> None:
    placed(config / ".codex" / "config.toml", data)
    for name in (".mcp.json", ".claude.json", ".gemini/settings.json"):
        placed(config / name, data.replace(b"x = ", b'{"mcpServers":'))
    for source in ("codex", "claude", "gemini"):
        found_servers(source, config, config)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_cannot_be_read_costs_itself(name: str) -> None:
    for read in (settings, models, profiles, rules, personas, prompts, skills, workflows, other_programs):
        read(paths.config_dir(create=True), HOSTILE[name])


def test_a_pipe_in_the_place_of_a_file_blocks_nobody() -> None:
    config = paths.config_dir(create=True)
    (config / "profiles").mkdir()
    (config / "agents").mkdir()
    for name in ("config.toml", "models.toml", "profiles/bad.toml", "agents/bad.toml", "rules.toml"):
        os.mkfifo(config / name)
    assert any("bad.toml" in problem for problem in profile_files.load().problems)
    assert load_personas(config).problems and Catalog.load(config / "models.toml").problems
    assert loader.load(config).problems and read_rules(config / "rules.toml").mistakes
