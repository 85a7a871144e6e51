"""What a repository has git run is listed in full before a folder is trusted, told when it changes, and never run."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import Noticed
from gshtui.commands import execution
from gshtui.commands.config_commands import commands
from gshtui.commands.declaration import Caller, Invocation
from gshtui.commands.registry import Registry
from gshtui.hub.hub import tell_unseen_programs
from gshtui.settings import trust
from gshtui.settings.git_programs import git_programs
from gshtui.settings.loader import load
from gshtui.tools.git.git import git
from tests.kit.home import Home


@pytest.fixture
def project(home: Home, tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=made, check=True)
    return made


def write(project: Path, text: str) -> None:
    with (project / ".git" / "config").open("a", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def hook(project: Path, name: str, text: str, folder: str = ".git/hooks") -> None:
    file = project / folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(0o755)


def names(project: Path) -> list[str]:
    return [each.name for each in git_programs(project)]


async def quoted(project: Path) -> str:
    registry = Registry(commands(load(project), Bus()))
    value = execution.bound(registry, "config trust")
    assert value is not None
    question = await execution.question(registry, value, Invocation(Caller(), project, project))
    assert question is not None
    return question.quoted


def test_a_new_repository_has_git_run_nothing(project: Path) -> None:
    assert git_programs(project) == []
    assert git_programs(project / "not-there") == []


@pytest.mark.parametrize(
    "setting",
    [
        *("core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.gitProxy", "core.askPass"),
        *("sequence.editor", "diff.external", "diff.Odd Name.textconv", "diff.x.command", "difftool.x.cmd"),
        *("filter.x.clean", "filter.x.smudge", "filter.x.process", "merge.x.driver", "mergetool.x.cmd"),
        *("credential.helper", "credential.https://example.org.helper", "gpg.program", "gpg.ssh.program"),
        *("pager.log", "remote.origin.uploadpack", "interactive.diffFilter", "uploadpack.packObjectsHook"),
        *("core.hooksPath", "gpg.ssh.defaultKeyCommand", "trailer.x.command", "init.templateDir"),
        *("hook.x.command", "includeIf.onbranch:x.path"),
    ],
)
def test_each_key_that_runs_a_program_is_listed_with_its_value(project: Path, setting: str) -> None:
    subprocess.run(["git", "config", setting, "./evil --now"], cwd=project, check=True)
    (found,) = git_programs(project)
    assert (found.name.lower(), found.shown) == (setting.lower(), "./evil --now")


def test_only_what_runs_a_program_is_listed(project: Path) -> None:
    write(project, "[core]\n fsmonitor = true\n fsmonitor\n[pager]\n log = false\n[user]\n name = program\n")
    write(
        project, '[alias]\n st = status\n[remote "o"]\n url = https://example.org/x\n[protocol "ext"]\n allow = never\n'
    )
    assert names(project) == []
    write(project, '[alias]\n go = !evil\n[remote "o"]\n pushurl = ext::evil\n[protocol "ext"]\n allow = always\n')
    write(project, '[url "ext::evil "]\n insteadOf = https://\n')
    assert names(project) == ["alias.go", "protocol.ext.allow", "remote.o.pushurl", "url.ext::evil .insteadof"]


def test_included_and_worktrees_own_configuration_counts(project: Path, home: Home) -> None:
    (project / "more").write_text("[core]\n pager = evil\n", encoding="utf-8")
    write(project, "[include]\n path = ../more\n[extensions]\n worktreeConfig = true\n")
    (project / ".git" / "config.worktree").write_text("[diff]\n external = evil\n", encoding="utf-8")
    assert names(project) == ["core.pager", "diff.external"]
    (home.path / ".gitconfig").write_text("[core]\n editor = mine\n", encoding="utf-8")
    assert names(project) == ["core.pager", "diff.external"], "a person's own is not the repository's"


def test_hooks_are_those_that_git_would_run(project: Path) -> None:
    hook(project, "pre-commit", "evil\n")
    hook(project, "post-checkout.sample", "sample\n")
    (project / ".git" / "hooks" / "notes").write_text("not executable", encoding="utf-8")
    assert names(project) == [".git/hooks/pre-commit"]
    hook(project, "pre-push", "evil\n", ".husky")
    write(project, "[core]\n hooksPath = .husky\n")
    assert names(project) == ["core.hookspath", ".husky/pre-push"]


@pytest.mark.parametrize(
    "change",
    [
        lambda project: hook(project, "pre-commit", "other\n"),
        lambda project: hook(project, "post-merge", "new\n"),
        lambda project: write(project, "[core]\n pager = other\n"),
        lambda project: write(project, "[alias]\n x = !new\n"),
    ],
)
async def test_a_change_is_told_and_shown_until_it_was_seen(project: Path, change: Callable[[Path], None]) -> None:
    published: list[Event] = []
    bus = Bus()
    bus.subscribe(published.extend, Noticed, name="test")
    hook(project, "pre-commit", "one\n")
    write(project, "[core]\n pager = one\n")
    await tell_unseen_programs(bus, project)
    assert trust.unseen_programs(project) == [], "nobody trusts this folder yet"
    assert "git: core.pager (new) is:\n\n    one" in await quoted(project)
    trust.trust(project, None)
    await tell_unseen_programs(bus, project)
    assert "git: " not in await quoted(project)
    change(project)
    (name,) = trust.unseen_programs(project)
    await tell_unseen_programs(bus, project)
    shown = await quoted(project)
    assert f"git: {name} (" in shown
    assert "The git calls of gsh-tui itself run none of it." in shown
    trust.trust(project, None)
    await tell_unseen_programs(bus, project)
    await bus.close()
    (notice,) = published
    assert isinstance(notice, Noticed)
    assert name in notice.text


async def test_hostile_values_are_shown_and_nothing_of_them_is_hidden(project: Path) -> None:
    write(project, '[core]\n pager = "x\x1b]0;title\x07\\n\\nThere is no more.\u202e\udcff"\n')
    write(project, '[filter "a\x1b[2J/AGENTS.md"]\n clean = evil\n[diff "b"]\n textconv = "' + "y" * 5000 + '"\n')
    hook(project, "pre-commit\x1b[31m\nodd", "#!/bin/sh\necho \x1b[2J\n")
    shown = await quoted(project)
    assert "␛]0;title" in shown
    assert "There is no more." in shown
    assert "[3000 more characters]" in shown
    head = shown.partition("pre-commit")[0]
    assert "\x1b" not in head
    assert "\u202e" not in shown
    trust.trust(project, None)
    assert trust.unseen_programs(project) == []


async def test_a_very_large_configuration_or_hook_is_listed_as_one(project: Path) -> None:
    write(project, "[alias]\n" + "".join(f" a{n} = !evil {'x' * 80}\n" for n in range(100_000)))
    hook(project, "pre-commit", "#" * 10_000_000)
    assert names(project) == ["configuration", ".git/hooks/pre-commit"]
    shown = await quoted(project)
    assert "It is too large for what it runs to be listed." in shown
    assert "[the rest is not shown]" in shown
    assert len(shown) < 200_000
    trust.trust(project, None)
    assert trust.unseen_programs(project) == []
    write(project, " b = !evil\n")
    assert trust.unseen_programs(project) == ["configuration"]


def signed_commit(project: Path) -> str:
    """A commit with a signature that is none."""
    (project / "a.txt").write_text("a\n", encoding="utf-8")
    run_git(project, "add", ".")
    tree, person = run_git(project, "write-tree"), "A <a@example.org> 1700000000 +0000"
    text = (
        f"tree {tree}\nauthor {person}\ncommitter {person}\ngpgsig -----BEGIN PGP SIGNATURE-----"
        "\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n"
    )
    return run_git(project, "hash-object", "-t", "commit", "-w", "--stdin", text=text)


def run_git(project: Path, *arguments: str, text: str = "") -> str:
    done = subprocess.run(["git", *arguments], input=text, cwd=project, check=True, capture_output=True, text=True)
    return done.stdout.strip()


async def test_neither_the_listing_nor_our_own_git_calls_run_any_of_it(project: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n", encoding="utf-8")
    program.chmod(0o755)
    commit = signed_commit(project)
    for key in ("core.fsmonitor", "core.pager", "core.editor", "diff.external", "gpg.program", "credential.helper"):
        run_git(project, "config", key, str(program))
    run_git(project, "config", "log.showSignature", "true")
    run_git(project, "show", "-s", commit)
    assert marker.exists(), "git by itself runs them"
    marker.unlink()
    assert len(git_programs(project)) == 6
    await git(project, "show", "-s", "--format=%H", commit)
    await git(project, "log", "-1", commit)
    await git(project, "status", "--porcelain")
    assert not marker.exists()
