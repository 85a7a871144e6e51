"""Commits by our own git call, in real repositories: what is judged, what is committed, and what does not run."""

import subprocess
from pathlib import Path

import pytest

from gshtui.commands.declaration import CommandError
from gshtui.system.ids import new_id
from tests.kit.home import Home
from tests.kit.tool_harness import ToolHarness


def run_git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def tools(tmp_path: Path, home: Home) -> ToolHarness:
    project = tmp_path / "project"
    project.mkdir()
    run_git(project, "init", "-q", "-b", "main")
    for key in ("user.name", "user.email"):
        run_git(project, "config", key, "a@example.org")
    (project / "a.txt").write_text("a\n")
    run_git(project, "add", "a.txt")
    run_git(project, "commit", "-q", "-m", "one")
    return ToolHarness(project)


async def test_all_changes_or_the_staged_ones_are_committed_as_they_were_judged(tools: ToolHarness) -> None:
    with pytest.raises(CommandError, match="No staged changes"):
        await tools.assess("git_commit", message="none")
    tools.write_file("new.txt", "new\n")
    (tools.project / "a.txt").unlink()
    call = new_id()
    judged = await tools.assess("git_commit", call=call, message="Two\n\nwhy", all=True)
    assert judged.inside, judged.why
    assert "+new" in judged.diff and "-a" in judged.diff
    assert run_git(tools.project, "diff", "--cached", "--name-only") == ""  # nothing is staged to be judged
    tools.write_file("later.txt", "later\n")
    with pytest.raises(CommandError, match="no longer those that were judged"):
        await tools.run("git_commit", call=call, message="Two\n\nwhy", all=True)
    assert run_git(tools.project, "log", "--format=%s") == "one"
    call = new_id()
    await tools.assess("git_commit", call=call, message="Two\n\nwhy")
    await tools.run("git_commit", call=call, message="Two\n\nwhy")
    amended = await tools.run("git_commit", message="Three", amend=True)
    assert amended.data["subject"] == "Three"
    assert run_git(tools.project, "log", "--format=%s") == "Three\none"
    assert run_git(tools.project, "ls-files") == "later.txt\nnew.txt"


async def test_what_a_commit_would_leave_out_show_or_replace_is_asked_about(tools: ToolHarness, tmp_path: Path) -> None:
    project, pwned = tools.project, tmp_path / "pwned"

    async def why(*, amend: bool = False) -> str:
        return (await tools.assess("git_commit", message="x", all=True, amend=amend)).why

    program = tools.write_file("evil.sh", f"#!/bin/sh\ntouch {pwned}\n")
    program.chmod(0o755)
    run_git(project, "add", "-A")
    for key in ("core.fsmonitor", "gpg.program", "filter.x.clean", "diff.x.textconv", "diff.external", "core.editor"):
        run_git(project, "config", key, str(program))
    tools.write_file(".gitattributes", "*.txt filter=x diff=x\n")
    tools.write_file("a.txt", "changed\n")
    assert await why() == ""
    run_git(project, "config", "core.hooksPath", "tools/hooks")
    for hook in ("pre-commit", "post-commit"):
        tools.write_file(f"tools/hooks/{hook}", f"#!/bin/sh\ntouch {pwned}\n").chmod(0o755)
    assert "pre-commit and post-commit would not run" in await why()
    run_git(project, "config", "--unset", "core.hooksPath")
    run_git(project, "config", "hook.check.command", str(program))
    run_git(project, "config", "hook.check.event", "pre-commit")
    assert "the repository's pre-commit would not run" in await why()
    run_git(project, "config", "--remove-section", "hook.check")
    run_git(project, "config", "commit.gpgSign", "true")
    assert "signed" in await why()
    await tools.run("git_commit", message="x", all=True)
    assert not pwned.exists()
    run_git(project, "config", "commit.gpgSign", "false")
    run_git(project, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert "origin/main has already" in await why(amend=True)
    tools.write_file("deploy/.env", "KEY=1\n")
    assert "deploy/.env, which may hold keys" in await why()
    (project / "deploy" / ".env").unlink()
    below = ToolHarness(project / "tools")
    tools.write_file("b.txt", "b\n")
    judged = await below.assess("git_commit", message="x", all=True)
    assert not judged.inside and "outside the project" in judged.why


async def test_rules_for_the_line_hold_for_the_tool(tools: ToolHarness) -> None:
    from gshtui.guard.approval.gate import Call, _rule  # pyright: ignore[reportPrivateUsage]
    from gshtui.guard.rules import rule_book as rules

    tools.write_file("a.txt", "changed\n")
    judged = await tools.assess("git_commit", message="x", all=True)
    tools.write_file(".env", "KEY=1\n")
    secret = await tools.assess("git_commit", message="x", all=True)
    call = Call("main", "s1", "c1", "git_commit", {"message": "x"})

    def decided(rule: str, assessed: object = judged) -> str:
        book = rules.parse_rules(tools.project, rule)
        found = _rule(rules.RuleBook(book.rules, project=tools.project), call, assessed)  # type: ignore[arg-type]
        return found.do if found is not None else ""

    assert decided('[[rule]]\ndo = "deny"\nprogram = "git commit"\n') == "deny"
    assert decided('[[rule]]\ndo = "ask"\ntool = "bash"\nprogram = "git commit"\nflags = ["--all"]\n') == "ask"
    assert decided('[[rule]]\ndo = "allow"\nprogram = "git commit"\nflags = ["*"]\n') == ""
    allow = f'[[rule]]\ndo = "allow"\ntool = "git_commit"\nexactly = "{judged.pattern}"\n'
    assert decided(allow) == "allow"
    assert decided(allow, secret) == ""
    assert decided('[[rule]]\ndo = "allow"\npaths = ["**"]\n') == ""
