"""What a sandboxed command leaves in subfolders for other programs to obey is taken out; what was there stays."""

import asyncio
import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gshtui.commands.declaration import Outcome
from gshtui.guard.policy import obeyed_files
from gshtui.guard.sandbox import nested_files
from gshtui.guard.sandbox.nested_files import NestedFiles, runs_programs
from gshtui.guard.sandbox.sandboxes import Sandboxes
from gshtui.settings.settings_tables import Sandbox as SandboxSettings
from gshtui.tools.files.workspace import ToolConfig
from tests.kit.home import Home
from tests.kit.tmux import eventually
from tests.kit.tool_harness import ToolHarness
from tests.real.test_sandbox import harness

__all__ = ["harness"]

EVIL = "mkdir -p sub/deep && cd sub/deep && git init -q . && git config core.fsmonitor 'touch /tmp/pwned'"

PACKAGE = "git init -q node_modules/e"
COMMON = "git init -q --bare common && git -C common config extensions.worktreeConfig true"
WORKTREE = "printf '[core]\\nfsmonitor=x\\n' >sub/config.worktree"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = Path(os.path.realpath(tmp_path)) / "project"
    (made / "src" / "part").mkdir(parents=True)
    (made / "src" / "part" / "a.txt").write_text("a\n", "utf-8")
    git(made, "init", "-q")
    return made


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True, timeout=30).stdout


async def in_sandbox(harness: ToolHarness, command: str, script: str = "run.sh", **more: Any) -> Outcome:
    """Run it as a script, so that nothing but the sandbox judges it."""
    (harness.project / script).write_text(command, "utf-8")
    bash = harness.commands["bash"]
    invocation = replace(harness.invocation(), sandboxed=True)
    return await bash.handler(invocation, bash.parameters(command=f"sh {script}", **more))


@pytest.mark.parametrize(
    ("line", "gone"),
    [
        (EVIL, "sub/deep/.git"),
        ("mkdir -p sub && cd sub && git init -q . && printf 'touch x' >.git/hooks/post-checkout", "sub/.git"),
        ("git init -q --bare sub/bare && echo '[core] fsmonitor = x' >>sub/bare/config", "sub/bare"),
        ("git init -q --separate-git-dir=src/store sub", "sub/.git"),
        ("echo 'rm -rf ~' >src/.envrc", "src/.envrc"),
        ("mkdir src/part/.vscode && echo '{}' >src/part/.vscode/tasks.json", "src/part/.vscode"),
        ("mkdir -p a/b/c/d/e/.claude && echo '{}' >a/b/c/d/e/.claude/settings.json", "a/b/c/d/e/.claude"),
        ("ln -s /tmp src/.git", "src/.git"),
        ("mkdir -p src/.kiro/settings && echo '{}' >src/.kiro/settings/mcp.json", "src/.kiro"),
        ("echo x >src/mise.local.toml", "src/mise.local.toml"),
        ("echo x >.devcontainer.json", ".devcontainer.json"),
        ("echo x >own.code-workspace", "own.code-workspace"),
        ("echo x >src/own.code-workspace", "src/own.code-workspace"),
        ("echo 'node path:/tmp/x' >src/.tool-versions", "src/.tool-versions"),
        ("echo '[toolchain]' >rust-toolchain.toml", "rust-toolchain.toml"),
        ("echo 'pre-commit:' >lefthook-local.yml", "lefthook-local.yml"),
        ("mkdir .githooks && echo x >.githooks/pre-commit", ".githooks"),
        ("mkdir -p web && echo '{}' >web/opencode.jsonc", "web/opencode.jsonc"),
        ("mkdir -p web/mise && echo x >web/mise/config.toml", "web/mise/config.toml"),
        ("echo x >mise.production.toml", "mise.production.toml"),
        ("git init -q --bare x && mv x .hg", ".hg"),
        ("mkdir -p .config/mise && echo x >.config/mise/config.toml", ".config/mise"),
        (
            "git init -q sub && { seq 1 30000 | sed 's/^/#/'; printf '[core]\\nfsmonitor=x\\n'; } >sub/.git/config",
            "sub/.git",
        ),
        (f"{COMMON} && mkdir sub && echo ../common >sub/commondir && cp common/HEAD sub/ && {WORKTREE}", "sub"),
        (
            f"{PACKAGE} && ln -s node_modules/e/.git '.git ' && mkdir s && echo 'gitdir: ../.git ' >s/.git",
            "s/.git",
        ),
        (
            f"{PACKAGE} && ln -s node_modules/e l && mkdir s && echo 'gitdir: ../l/.git' >s/.git",
            "s/.git",
        ),
        (
            f"{PACKAGE} && echo '[alias]' >>node_modules/e/.git/config && ln -s ../node_modules/e src/l",
            "node_modules/e/.git",
        ),
        (
            "mkdir -p node_modules/e/a/b && echo x >node_modules/e/.envrc && ln -s node_modules/e/a/b l",
            "node_modules/e/.envrc",
        ),
        ("git init -q --bare sub && mkdir -p sub/x && echo x | tee sub/x/.envrc >>sub/config", "sub"),
        ("mkdir x && git init -q x/y && mv x/y src/y && echo '[alias]' >>src/y/.git/config", "src/y/.git"),
    ],
)
async def test_what_would_run_something_is_taken_out_and_named(
    harness: ToolHarness, project: Path, own: Path, line: str, gone: str
) -> None:
    done = await in_sandbox(harness, line)
    assert not os.path.lexists(project / gone), done.text
    assert "not left in the project, since other programs would obey it" in done.text
    (kept,) = (own / "taken-out").iterdir()
    assert os.path.lexists(kept / gone) or os.path.lexists(kept / Path(gone).name)


@pytest.mark.parametrize("hooks", ["tools/hooks", "../{project}/tools/hooks", "{path}/tools/hooks"])
async def test_a_folder_of_hooks_that_the_configuration_names_is_protected(
    harness: ToolHarness, project: Path, hooks: str
) -> None:
    git(project, "config", "core.hooksPath", hooks.format(project=project.name, path=project))
    done = await in_sandbox(harness, "mkdir -p tools/hooks && echo 'rm -rf ~' >tools/hooks/pre-commit")
    assert "not left in the project, since other programs would obey it" in done.text
    assert not (project / "tools/hooks").exists()
    (project / "tools/hooks").mkdir(parents=True)
    assert "Read-only" in (await in_sandbox(harness, "echo x >tools/hooks/pre-commit")).text
    git(project, "config", "--unset", "core.hooksPath")
    assert not (await in_sandbox(harness, "echo x >tools/hooks/pre-commit")).is_error


async def test_hooks_in_the_projects_top_and_included_configurations_are_protected(
    harness: ToolHarness, project: Path
) -> None:
    git(project, "config", "core.hooksPath", ".")
    git(project, "config", "include.path", "../shared.gitconfig")
    (project / "shared.gitconfig").write_text("[core]\n\teditor = vi\n", "utf-8")
    done = await in_sandbox(
        harness, "echo x >pre-commit; echo x >other; echo '[core] fsmonitor = x' >>shared.gitconfig"
    )
    assert "Read-only" in done.text
    assert not (project / "pre-commit").exists()
    assert (project / "other").exists()
    assert "alias" not in (project / "shared.gitconfig").read_text("utf-8")


SCRIPTS = {
    "filter.x.clean": "sh tools/clean.sh %f",
    "filter.x.process": "tools/process --fast",
    "diff.x.textconv": "python3 tools/text.py",
    "merge.x.driver": "./tools/merge %O %A %B",
    "core.fsmonitor": "tools/watch",
    "gpg.program": "tools/sign",
    "alias.up": "!f() { env A=b bash tools/up.sh src/part; }; f",
}


async def test_programs_that_git_s_configuration_names_are_protected_and_their_operands_not(
    harness: ToolHarness, project: Path
) -> None:
    for key, value in SCRIPTS.items():
        git(project, "config", key, value)
    (project / "tools").mkdir()
    names = ("clean.sh", "process", "text.py", "merge", "watch", "sign", "up.sh")
    for name in names[:4]:
        (project / "tools" / name).write_text("mine\n", "utf-8")
    line = f"cd tools; for one in {' '.join(names)} lib.sh; do echo evil >$one; done; echo x >../src/part/a.txt"
    done = await in_sandbox(harness, line)
    assert sorted(path.name for path in (project / "tools").iterdir()) == sorted((*names[:4], "lib.sh")), done.text
    assert {(project / "tools" / name).read_text("utf-8") for name in names[:4]} == {"mine\n"}
    assert (project / "src" / "part" / "a.txt").read_text("utf-8") == "x\n"


@pytest.mark.parametrize(
    "way",
    [
        "mv tools old; mkdir tools; echo evil >tools/clean.sh",
        "mkdir new; echo evil >new/clean.sh; mv tools old; mv new tools",
        "mkdir new; echo evil >new/clean.sh; mv tools old; ln -s new tools",
    ],
)
async def test_a_protected_file_is_not_exchanged_with_the_folder_around_it(
    harness: ToolHarness, project: Path, way: str
) -> None:
    git(project, "config", "filter.x.clean", "sh tools/clean.sh %f")
    git(project, "config", "core.hooksPath", "ci/hooks")
    for name in ("tools/clean.sh", ".github/copilot-instructions.md", "ci/hooks/pre-commit"):
        (project / name).parent.mkdir(parents=True)
        (project / name).write_text("mine\n", "utf-8")
    more = ".github/copilot-instructions.md", "ci/hooks/pre-commit"
    lines = [
        way,
        *(f"mv {one.split('/')[0]} {at}; mkdir -p $(dirname {one}); echo evil >{one}" for at, one in enumerate(more)),
    ]
    done = await in_sandbox(harness, "; ".join(lines))
    for name in ("tools/clean.sh", *more):
        assert not (project / name).exists() or (project / name).read_text("utf-8") == "mine\n", (name, done.text)
    assert "not left in the project" in done.text


async def test_what_is_loaded_on_entering_the_folder_is_protected(harness: ToolHarness, project: Path) -> None:
    (project / ".envrc").write_text("dotenv\nsource_env_if_exists env/local.sh\nexport A=b\n", "utf-8")
    (project / "mise.toml").write_text("[env]\n_.file = '.env.mise'\n_.source = ['env/a.sh', \"env/b.sh\"]\n", "utf-8")
    (project / "env").mkdir()
    (project / "env" / "a.sh").write_text("mine\n", "utf-8")
    names = (".env", ".env.mise", "env/local.sh", "env/a.sh", "env/b.sh", "env/other.sh")
    done = await in_sandbox(harness, f"for one in {' '.join(names)}; do echo evil >$one; done")
    assert [name for name in names if (project / name).exists()] == ["env/a.sh", "env/other.sh"], done.text
    assert (project / "env" / "a.sh").read_text("utf-8") == "mine\n"


async def test_a_start_up_file_that_is_a_link_into_the_project_can_only_be_read(
    harness: ToolHarness, project: Path, home: Home
) -> None:
    (project / "zshrc").write_text("mine\n", "utf-8")
    (home.path / ".zshrc").symlink_to(project / "zshrc")
    done = await in_sandbox(harness, "echo evil >zshrc")
    assert "Read-only" in done.text and (project / "zshrc").read_text("utf-8") == "mine\n"


def test_each_program_has_its_own_documentation_and_each_name_one_meaning() -> None:
    tables = tomllib.loads(Path(obeyed_files.__file__).with_suffix(".toml").read_text("utf-8"))["program"]
    assert len({table["name"] for table in tables}) == len(tables)
    names = [name for table in tables for name in (*table.get("anywhere", ()), *table.get("top", ()))]
    assert sorted(names) == sorted(set(names))
    for table in tables:
        assert table["source"].startswith("https://") and set(table) <= {"name", "source", "anywhere", "top"}, table
        for name in (*table.get("anywhere", ()), *table.get("top", ())):
            made = name.replace("*", "x") + ("x" if name.endswith("/") else "")
            assert obeyed_files.is_obeyed(f"/project/{made}") or name in (".git/", ".gsh/"), name
            assert "*" not in name.rpartition("/")[0] and name.count("/") <= 2, name
            if name in table.get("anywhere", ()):
                folder, _, last = f"sub/{name.rstrip('/')}".replace("*", "x").rpartition("/")
                assert obeyed_files.is_obeyed_anywhere(last, folder.rpartition("/")[2]), name


async def test_what_build_tools_obey_is_content_like_any_source(harness: ToolHarness, project: Path) -> None:
    names = ("Makefile", "package.json", ".npmrc", ".cargo/config.toml", "conftest.py", "pyproject.toml")
    done = await in_sandbox(harness, f"mkdir .cargo; for one in {' '.join(names)}; do echo x >$one; done")
    assert "not left" not in done.text
    assert all((project / name).exists() for name in names)


async def test_a_projects_root_does_not_become_a_repository(harness: ToolHarness, project: Path) -> None:
    shutil.rmtree(project / ".git")
    (project / "config").write_text("mine\n", "utf-8")
    line = "mkdir objects refs && echo 'ref: refs/heads/x' >HEAD && printf '[core]\\nfsmonitor=x\\n' >config"
    done = await in_sandbox(harness, line)
    assert "not left in the project" in done.text
    assert not (project / "HEAD").exists()
    assert (project / "config").exists(), "it is nothing that git reads now"


async def test_a_project_that_is_a_bare_repository_keeps_what_git_obeys(harness: ToolHarness, project: Path) -> None:
    shutil.rmtree(project / ".git")
    git(project, "init", "-q", "--bare", ".")
    config = (project / "config").read_text("utf-8")
    await in_sandbox(harness, "git config core.fsmonitor x; echo x >config.worktree; echo x >hooks/post-checkout")
    assert (project / "config").read_text("utf-8") == config
    assert not (project / "config.worktree").exists()
    assert not (project / "hooks/post-checkout").exists()


async def test_a_link_that_git_would_follow_to_packages_makes_nothing_ours(harness: ToolHarness, project: Path) -> None:
    shutil.rmtree(project / ".git")
    line = "git init -q node_modules/e && ln -s node_modules/e/.git .git && mkdir s && echo 'gitdir: ../.git' >s/.git"
    await in_sandbox(harness, line)
    assert not os.path.lexists(project / "s/.git")


async def test_a_repository_that_runs_nothing_stays_and_then_only_can_be_read(
    harness: ToolHarness, project: Path
) -> None:
    made = await in_sandbox(
        harness, "git init -q demo && cd demo && git config user.name me && git config user.email m"
    )
    assert "not left" not in made.text
    assert (project / "demo" / ".git" / "config").exists()
    later = await in_sandbox(
        harness, "cd demo && git config core.fsmonitor x; echo y >.git/hooks/post-checkout; ls .git"
    )
    assert "Read-only file system" in later.text
    assert not (project / "demo" / ".git" / "hooks" / "post-checkout").exists()
    assert not runs_programs(project / "demo" / ".git")


@pytest.mark.parametrize(
    ("first", "then", "gone"),
    [
        (f"{PACKAGE} && echo '[alias]' >>node_modules/e/.git/config", "mv node_modules/e sub", "sub/.git"),
        (
            f"{PACKAGE} && echo '[alias]' >>node_modules/e/.git/config",
            "ln -s node_modules/e sub",
            "node_modules/e/.git",
        ),
        ("mkdir -p node_modules/e/a && echo x >node_modules/e/a/.envrc", "mv node_modules/e/a src/", "src/a/.envrc"),
        ("mkdir -p node_modules/e && ln -s node_modules/e l", "echo x >node_modules/e/.envrc", "node_modules/e/.envrc"),
        ("ln -s node_modules/e l", "mkdir -p node_modules/e && echo x >node_modules/e/.envrc", "node_modules/e/.envrc"),
        ("echo x >HEAD; mkdir objects", "mkdir refs", "HEAD"),
    ],
)
async def test_what_two_commands_put_together_is_taken_out(
    harness: ToolHarness, project: Path, monkeypatch: pytest.MonkeyPatch, first: str, then: str, gone: str
) -> None:
    monkeypatch.setattr(nested_files, "_SLACK", 0)  # or what the first one made would be new for the second one
    assert "not left" not in (await in_sandbox(harness, first)).text
    done = await in_sandbox(harness, then)
    assert "not left in the project" in done.text
    assert not os.path.lexists(project / gone)


async def test_repositories_beyond_those_that_are_made_read_only_are_looked_at_again(
    project: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nested_files, "_KEPT", 3)
    line = "for n in 1 2 3 4 5 6; do git init -q r$n; done"
    made = await in_sandbox(
        ToolHarness(project, ToolConfig(os.environ, sandboxes=Sandboxes(SandboxSettings(), (own,)))), line
    )
    assert "not left" not in made.text
    (project / "src/part/.envrc").write_text("mine\n", "utf-8")
    later = ToolHarness(project, ToolConfig(os.environ, sandboxes=Sandboxes(SandboxSettings(), (own,))))
    await in_sandbox(later, "for n in 1 2 3 4 5 6; do echo '[alias]' >>r$n/.git/config; done; echo x >src/part/.envrc")
    assert not [path for path in project.glob("r*/.git") if runs_programs(path)]
    assert (project / "src/part/.envrc").read_text("utf-8") == "mine\n", "what runs something comes first"


async def test_more_than_can_be_kept_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested_files, "_KEPT", 3)
    monkeypatch.setattr(nested_files, "_MOST_KEPT", 4)
    for n in range(5):
        (project / str(n)).mkdir()
        (project / str(n) / ".envrc").touch()
    with pytest.raises(OSError, match="more than 4 files that other programs obey"):
        NestedFiles(project).kept()


async def test_a_command_cannot_use_up_what_is_looked_through(
    harness: ToolHarness, project: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pad = "mkdir -p $(seq -f pad/%g 1 40) x/y/z && echo x >x/y/z/.envrc"
    monkeypatch.setattr(nested_files, "_MOST", 20)
    await in_sandbox(harness, pad)
    assert not (project / "x/y/z/.envrc").exists()
    assert (project / "pad/40").is_dir()
    monkeypatch.setattr(nested_files, "_MOST_NEW", 20)
    done = await in_sandbox(harness, pad.replace("pad/", "fill/").replace("x/y", "v/w"))
    assert "not left in the project" in done.text
    assert not (project / "v/w/z/.envrc").exists()
    assert (project / "src/part/a.txt").exists()


async def test_what_was_there_before_stays_and_cannot_be_changed(harness: ToolHarness, project: Path) -> None:
    (project / "src" / ".envrc").write_text("use flake\n", "utf-8")
    git(project, "init", "-q", "src/part/clone")
    git(project / "src/part/clone", "config", "core.fsmonitor", "true")
    config = (project / "src/part/clone/.git/config").read_text("utf-8")
    for line in (
        "echo evil >>src/.envrc; rm -f src/.envrc; mv src/.envrc x",
        "rm -rf src/part/clone/.git; echo evil >>src/part/clone/.git/config",
        "mv src/part/clone src/part/moved",
        "mv src/part/moved src/part/clone; mv src old; mkdir -p src; cp -r old/.envrc src/; rm -r src; mv old src",
    ):
        await in_sandbox(harness, line)
    assert (project / "src" / ".envrc").read_text("utf-8") == "use flake\n"
    assert (project / "src/part/clone/.git/config").read_text("utf-8") == config


async def test_a_folder_put_in_the_place_of_another_is_looked_into(harness: ToolHarness, project: Path) -> None:
    await in_sandbox(harness, "true")
    done = await in_sandbox(harness, "cp -r src copy; echo x >copy/part/.envrc; rm -r src; mv copy src")
    assert not (project / "src" / "part" / ".envrc").exists(), done.text


async def test_a_worktree_of_the_project_made_meanwhile_stays(harness: ToolHarness, project: Path) -> None:
    git(project, "-c", "user.name=P", "-c", "user.email=p@p", "commit", "-q", "--allow-empty", "-m", "x")
    running = asyncio.create_task(in_sandbox(harness, "touch began; while [ ! -e go ]; do sleep 0.05; done"))
    await eventually(lambda: is_there(project / "began"), until=bool)
    git(project, "worktree", "add", "-q", "trees/side")
    (project / "go").touch()
    assert "not left" not in (await running).text
    assert (project / "trees" / "side" / ".git").exists()


async def is_there(path: Path) -> bool:
    return path.exists()


async def test_what_a_stopped_command_left_is_taken_out_too(harness: ToolHarness, project: Path) -> None:
    running = asyncio.create_task(in_sandbox(harness, f"({EVIL}); echo x >.envrc; touch began; sleep 60"))
    await eventually(lambda: is_there(project / "began"), until=bool)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await eventually(lambda: is_there(project / ".envrc"), until=lambda there: not there)
    await eventually(lambda: is_there(project / "sub/deep/.git"), until=lambda there: not there)


UNTIL = "until [ -e {} ]; do sleep 0.02; done"
OVERLAPPING = {
    "a repository near the top": ("sub/.git", EVIL.replace("/deep", "")),
    "a repository far down": ("a/b/c/d/e/.git", EVIL.replace("sub/deep", "a/b/c/d/e")),
    "a file that an editor obeys": ("sub/.vscode", "mkdir -p sub/.vscode && echo {} >sub/.vscode/tasks.json"),
    "a file at the top": (".envrc", "echo touch pwned >.envrc"),
}


@pytest.mark.parametrize("name", OVERLAPPING)
@pytest.mark.parametrize("first_ends", ["first", "last"])
async def test_what_one_of_two_commands_made_before_the_other_began_is_taken_out(
    harness: ToolHarness, project: Path, name: str, first_ends: str
) -> None:
    left, evil = OVERLAPPING[name]
    assert not (await in_sandbox(harness, "true")).is_error, "the project is known"
    first = asyncio.create_task(in_sandbox(harness, f"({evil}) && touch made && {UNTIL.format('go')}", "first.sh"))
    assert await eventually(lambda: is_there(project / "made"), until=bool)
    second = asyncio.create_task(
        in_sandbox(harness, f"touch began && {UNTIL.format('go' if first_ends == 'last' else 'over')}", "second.sh")
    )
    assert await eventually(lambda: is_there(project / "began"), until=bool)
    (project / "go").touch()
    await (first if first_ends == "first" else second)
    (project / "over").touch()
    await asyncio.gather(first, second)
    assert not os.path.lexists(project / left)


@pytest.mark.parametrize("name", ["a repository near the top", "a file that an editor obeys", "a file at the top"])
async def test_what_was_taken_out_is_not_put_back_by_the_other_command(
    harness: ToolHarness, project: Path, name: str
) -> None:
    left, evil = OVERLAPPING[name]
    assert not (await in_sandbox(harness, "true")).is_error
    first = asyncio.create_task(in_sandbox(harness, f"({evil}) && touch made && {UNTIL.format('go')}", "first.sh"))
    assert await eventually(lambda: is_there(project / "made"), until=bool)
    again = f"touch began && {UNTIL.format('over')} && ({evil})"
    second = asyncio.create_task(in_sandbox(harness, again, "second.sh"))
    assert await eventually(lambda: is_there(project / "began"), until=bool)
    (project / "go").touch()
    await first
    (project / "over").touch()
    await second
    assert not os.path.lexists(project / left)


async def test_a_folder_is_not_exchanged_around_a_file_that_can_only_be_read(
    harness: ToolHarness, project: Path
) -> None:
    (project / "src" / ".envrc").write_text("export A=1\n", "utf-8")
    assert not (await in_sandbox(harness, "true")).is_error
    await in_sandbox(harness, "mv src old && mkdir src && echo touch pwned >src/.envrc")
    assert not (project / "src" / ".envrc").exists()
    assert (project / "old" / ".envrc").read_text("utf-8") == "export A=1\n"


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """A folder outside the project that commands may write."""
    (tmp_path / "beside" / "part").mkdir(parents=True)
    return Path(os.path.realpath(tmp_path / "beside"))


@pytest.mark.parametrize(
    ("line", "gone"),
    [
        ("echo touch x >.envrc", ".envrc"),
        (EVIL, "sub/deep/.git"),
        ("git init -q . && git config core.fsmonitor x", ".git"),
        ("mkdir -p part/.vscode && echo {} >part/.vscode/tasks.json", "part/.vscode"),
    ],
)
async def test_another_writable_folder_is_looked_after_as_the_project_is(
    project: Path, own: Path, beside: Path, line: str, gone: str
) -> None:
    settings = SandboxSettings(writable_paths=[".", str(beside)])
    harness = ToolHarness(project, ToolConfig(os.environ, sandboxes=Sandboxes(settings, (own,))))
    (beside / "part" / ".mcp.json").write_text("{}", "utf-8")
    outcome = await in_sandbox(harness, f"cd {beside} && ({line}) && touch there; echo x >part/.mcp.json")
    assert (beside / "there").exists() and not os.path.lexists(beside / gone), outcome.text
    assert (beside / "part" / ".mcp.json").read_text("utf-8") == "{}"
    assert Path(gone).name in outcome.text, "it is said where it is now"


async def test_packages_and_ordinary_files_are_left_alone(harness: ToolHarness, project: Path) -> None:
    done = await in_sandbox(
        harness, "mkdir -p node_modules/x/.vscode docs && echo x >docs/AGENTS.md && echo y >docs/.gitignore"
    )
    assert "not left" not in done.text
    assert (project / "node_modules/x/.vscode").is_dir()
    assert (project / "docs/AGENTS.md").exists()


def test_only_changed_folders_are_walked_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(50):
        (project / "many" / str(n)).mkdir(parents=True)
    read: list[str] = []
    entries = nested_files._entries

    def counted(folder: str) -> list[tuple[str, bool, bool]]:
        read.append(folder)
        return entries(folder)

    monkeypatch.setattr(nested_files, "_entries", counted)
    monkeypatch.setattr(nested_files, "_SLACK", 0)
    known = NestedFiles(project)
    known.learn()
    assert len(read) > 50
    known.left_since(0)
    read.clear()
    (project / "many" / "7" / ".envrc").touch()
    assert known.left_since(0) == [project / "many" / "7" / ".envrc"]
    assert read == [str(project / "many" / "7")]


def test_more_folders_than_are_looked_after_cost_no_more(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested_files, "_MOST", 20)
    for n in range(50):
        (project / "many" / str(n) / "below").mkdir(parents=True)
    known = NestedFiles(project)
    known.learn()
    (project / "src" / ".envrc").touch()
    (project / "many" / "49" / "below" / ".envrc").touch()
    assert known.left_since(0) == [project / "src" / ".envrc"], "the nearest ones are"


@pytest.mark.parametrize(
    ("config", "harmless"),
    [
        ('[core]\n\tbare = false\n[remote "origin"]\n\turl = https://example.org/x\n\tfetch = +refs/*:refs/*\n', True),
        ("[core] fsmonitor = x\n", False),
        ("[core]\nfsmonitor\n", False),
        ("[CORE]\n\tfsmonitor = x\n", False),
        ("[core]\n\tbare = false \\\n\tx\n", False),
        ("[core]\n\tsshCommand = x\n", False),
        ("[include]\n\tpath = /x\n", False),
        ('[remote "origin"]\n\turl = ext::sh -c x\n', False),
        ('[remote "o"]\n\tuploadpack = x\n', False),
        ('[filter "x"]\n\tsmudge = x\n', False),
        ("[core]\n\tworktree = /\n", False),
        ("[core]\n\thooksPath = .husky\n", False),
        ("\x00", False),
        ("", True),
    ],
)
def test_only_settings_that_run_nothing_are_harmless(tmp_path: Path, config: str, harmless: bool) -> None:
    (tmp_path / "config").write_text(config, "utf-8")
    assert runs_programs(tmp_path) is not harmless
