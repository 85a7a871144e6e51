"""`init` and `review`: the prompt fits what is in the folder, in a window and without one."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from gshtui.agents.commands.prompt_commands import commands
from gshtui.bus.events.agent_events import PromptSubmitted
from gshtui.commands.declaration import Caller, CommandError, Invocation, Outcome, UsageError
from gshtui.commands.evaluation import run_line
from gshtui.commands.registry import Registry
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say
from tests.kit.providers import MODELS
from tests.kit.warm_program import run_gsh


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@y")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path, home: Home) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.py").write_text("one = 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


async def run(folder: Path, line: str) -> Outcome:
    return await run_line(Registry(commands()), line, Invocation(Caller(), folder, folder, agent="main"))


async def prompt_of(folder: Path, line: str) -> str:
    """What the agent in front is asked."""
    outcome = await run(folder, line)
    assert isinstance(outcome.intent, PromptSubmitted)
    assert outcome.intent.agent == "main"
    return outcome.intent.text


async def test_a_new_file_is_written_and_an_old_one_improved(project: Path) -> None:
    new = await prompt_of(project, "init")
    assert new.startswith(f"Write {project}/AGENTS.md.")
    (project / "AGENTS.md").write_text("Be careful.\n")
    (project / "CLAUDE.md").write_text("Use make.\n")
    old = await prompt_of(project, "init")
    assert old.startswith("Improve") and "do not replace it as a whole" in old
    assert "take over what is in CLAUDE.md" in old and "CLAUDE.md" not in new


async def test_what_is_not_committed_is_reviewed(project: Path) -> None:
    assert (await run(project, "review")).text.startswith("Everything is committed.")
    (project / "a.py").write_text("one = 2\n")
    changed = await prompt_of(project, "review")
    assert "`git diff HEAD`" in changed and "new files" not in changed
    (project / "b.py").write_text("two = 2\n")
    assert "new files" in await prompt_of(project, "review")


async def test_a_base_is_compared_from_where_they_parted(project: Path) -> None:
    git(project, "checkout", "-qb", "work")
    assert (await run(project, "review main")).text == "Nothing has changed since main."
    (project / "a.py").write_text("one = 2\n")
    git(project, "commit", "-qam", "second")
    assert "since it parted from main" in await prompt_of(project, "review main")
    for bad in ("nowhere", "--output=/tmp/x", "'main; rm -rf /'"):
        with pytest.raises(UsageError, match="no branch or commit"):
            await prompt_of(project, f"review {bad}")


async def test_a_repository_without_commits_and_a_folder_without_one(tmp_path: Path, home: Home) -> None:
    with pytest.raises(CommandError, match="not in a git repository"):
        await prompt_of(tmp_path, "review")
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("x")
    assert "git diff --cached" in await prompt_of(tmp_path, "review")


async def test_they_work_without_a_window_and_behind_the_guard(project: Path) -> None:
    script = [[Call("write", {"path": "AGENTS.md", "content": "# Project\n"})], [Say("Written.")]]
    words = ("--provider", "anthropic", "--model", MODELS["anthropic"])
    for agreed, code in (("--yes", 4), ("--mode=yolo", 0)):  # the file decides what agents do, so a policy can't agree
        async with loopback("anthropic", script, models=[MODELS["anthropic"]]) as server:
            env = variables("anthropic", server.url)
            ran = await asyncio.to_thread(run_gsh, "prompt", agreed, *words, "/init", cwd=project, env=env)
            assert ran.code == code, ran.err
            assert f"Write {project}/AGENTS.md" in str(server.chats[0].body["messages"])
        assert (project / "AGENTS.md").exists() == (code == 0)
    failed = await asyncio.to_thread(run_gsh, "prompt", "/review nowhere", cwd=project)
    assert failed.code == 2 and "no branch or commit" in failed.err
