"""The pure parts of the tools: patterns, diffs, near misses, environment, secrets, shortened output, the spool."""

from __future__ import annotations

import contextlib
import os
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.commands.declaration import Assessment
from gshtui.guard.policy.sensitive_paths import HOME_SECRETS, MOVED, guarded, secret, starts_things
from gshtui.guard.sandbox.sandbox import ProjectSandbox
from gshtui.guard.secrets.child_environment import agent_environment, command_environment
from gshtui.text.glob_pattern import PatternError, compile_glob, fixed_part
from gshtui.text.unified_diff import count_changes, make_diff
from gshtui.tools.files.edit import near_misses
from gshtui.tools.files.file_type import describe, filetype, is_binary
from gshtui.tools.files.path_location import Location
from gshtui.tools.git.worktree import is_branch_name
from gshtui.tools.shell.command_output import Spool
from gshtui.tools.shell.shell_assessment import assess_line


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*.py", ["a.py"], ["d/a.py", "a.pyc"]),
        ("**/*.py", ["a.py", "d/a.py", "d/e/a.py"], ["a.js"]),
        ("src/**", ["src/a", "src/d/a"], ["src", "other/a"]),
        ("src/**/t_*.py", ["src/t_a.py", "src/d/t_a.py"], ["src/a.py"]),
        ("*.{md,rst}", ["a.md", "a.rst"], ["a.txt"]),
        ("{a,b{c,d}}/x", ["a/x", "bc/x", "bd/x"], ["b/x"]),
        ("[a-c]?.t", ["ab.t"], ["db.t", "a/.t"]),
        ("[!a]x", ["bx"], ["ax", "/x"]),
        ("a[b", ["a[b"], ["ab"]),
        ("x{y}", ["x{y}"], ["xy"]),
        (r"\*.py", ["*.py"], ["a.py"]),
        ("a.b+c(d)", ["a.b+c(d)"], ["axb+c(d)"]),
    ],
)
def test_globs(pattern: str, matching: list[str], others: list[str]) -> None:
    expression = compile_glob(pattern)
    assert all(expression.match(path) for path in matching)
    assert not any(expression.match(path) for path in others)


@given(st.text(alphabet="ab/*?[]{},!\\-.^", max_size=30))
def test_any_text_is_a_glob_or_is_refused(pattern: str) -> None:
    try:
        compile_glob(pattern, anywhere=True).match("a/b/ab")
    except PatternError as error:
        assert str(error)


def test_globs_without_end() -> None:
    with pytest.raises(PatternError, match="choices"):
        compile_glob("{a,b}" * 20)
    assert not compile_glob("**/" * 50 + "z").match("a/" * 60 + "b")
    assert fixed_part("src/lib/**/*.py") == ("src/lib", "**/*.py")
    assert fixed_part("/etc/*.conf") == ("/etc", "*.conf")
    assert fixed_part("/*.conf") == ("/", "*.conf")


def test_a_diff_of_lines_that_recur_does_not_take_for_ever() -> None:
    """The library alone takes a minute for each of these."""
    count = 1_900
    for old, new in (
        ([f"{'a' if n % 3 else n}\n" for n in range(count)], [f"{'a' if n % 2 else -n}\n" for n in range(count)]),
        ([f"{n % 7}\n" for n in range(count)], [f"{n * n % 7}\n" for n in range(count)]),
    ):
        change = make_diff("".join(["x\n", *old, "y\n"]), "".join(["z\n", *new, "w\n"]), "f")
        assert change.count("\n-") >= 1 and change.count("\n+") >= 1


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "long line\n"]), max_size=40)


@given(LINES, LINES, st.booleans())
def test_a_diff_can_be_applied(
    tmp_path_factory: pytest.TempPathFactory, old: list[str], new: list[str], cut: bool
) -> None:
    before, after = "".join(old), "".join(new)
    after = after.removesuffix("\n") if cut else after
    change = make_diff(before, after, "f")
    if before == after:
        assert change == ""
        return
    folder = tmp_path_factory.mktemp("diff")
    (folder / "f").write_text(before)
    done = subprocess.run(
        ["git", "apply", "--unidiff-zero", "-"], input=change, text=True, cwd=folder, capture_output=True
    )
    assert done.returncode == 0, done.stderr + change
    assert (folder / "f").read_text() == after if (folder / "f").exists() else after == ""


def test_a_diff_is_bounded_and_shows_controls() -> None:
    change = make_diff("".join(f"{n}\n" for n in range(100_000)), "".join(f"{n}x\n" for n in range(100_000)), "f")
    assert len(change.splitlines()) < 2_010
    assert "the diff continues" in change
    assert "␛[2J" in make_diff("a\n", "\x1b[2J\n", "f")
    assert "␍" in make_diff("a\r\nb\n", "a\nb\n", "f")
    assert "␍" not in make_diff("a\r\nb\r\n", "a\r\nc\r\n", "f")
    assert count_changes(make_diff("a\nb\n", "a\nc\nd\n", "f")) == "+2 −1"


def test_near_misses_say_what_is_different() -> None:
    text = "def run():\n\tpass\n\nname = 'old'  \nprint(“hi”)\n"
    blanks = near_misses(text, "def run():\n    pass")
    assert "differs only in blanks" in blanks
    assert "1 tab" in blanks
    assert "4 spaces" in blanks
    assert "2 spaces, old_text has nothing" in near_misses(text, "name = 'old'")
    assert "U+201C" in near_misses(text, 'print("hi")')
    assert "Nothing in the file" in near_misses(text, "entirely different words here")
    assert "Nothing in the file" in near_misses("", "x")
    assert near_misses("\n" * 50, "\n\n")


def test_the_environment_has_no_secrets() -> None:
    environ = {
        "PATH": "/bin",
        "HOME": "/home/x",
        "SSH_AUTH_SOCK": "/run/agent",
        "OPENAI_API_KEY": "x",
        "GITHUB_TOKEN": "x",
        "MY_PASSWORD": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "PLAIN": "sk-ant-" + "x" * 24,
        "DATABASE_URL": "postgres://user:hunter2@host/db",
        "TMUX": "/tmp/tmux",
        "BASH_ENV": "/tmp/evil",
        "BASH_FUNC_ls%%": "() { evil; }",
        "GIT_DIR": "/elsewhere",
        "PAGER": "less",
        "KEYBOARD": "de",
    }
    passed = command_environment(environ)
    assert {"PATH", "HOME", "SSH_AUTH_SOCK", "KEYBOARD"} <= passed.keys()
    assert (
        not {"OPENAI_API_KEY", "GITHUB_TOKEN", "MY_PASSWORD", "AWS_SECRET_ACCESS_KEY", "PLAIN", "DATABASE_URL"}
        & passed.keys()
    )
    assert not {"TMUX", "BASH_ENV", "BASH_FUNC_ls%%", "GIT_DIR"} & passed.keys()
    assert passed["PAGER"] == "cat"
    assert passed["TERM"] == "dumb"


def test_an_agents_command_gets_what_a_list_passes_and_what_a_person_names() -> None:
    environ = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "GOPATH": "/go",
        "npm_config_cache": "/c",
        "VIRTUAL_ENV": "/v",
        "CI": "1",
        "NPM_TOKEN": "x",
        "PIP_INDEX_URL": "https://u:word@host/",
        "CARGO_REGISTRY_TOKEN": "x",
        "GOFLAGS": "sk-" + "x" * 20,
        "SHOP_REGION": "eu",
        "SHOP_PASSWORD": "x",
        "SHOP_URL": "https://u:word@host/",
        "ODD": "x",
        "PYTHONSTARTUP": "/x",
    }
    passed = agent_environment(environ)
    assert {"PATH", "LC_ALL", "GOPATH", "npm_config_cache", "VIRTUAL_ENV", "CI", "PAGER"} <= passed.keys()
    assert not {"SHOP_REGION", "ODD", "NPM_TOKEN", "PIP_INDEX_URL", "CARGO_REGISTRY_TOKEN", "GOFLAGS"} & passed.keys()
    named = agent_environment(environ, ["SHOP_*", "ODD", "PYTHONSTARTUP"])
    assert {"SHOP_REGION", "ODD"} <= named.keys()
    assert not {"SHOP_PASSWORD", "SHOP_URL", "PYTHONSTARTUP"} & named.keys()
    assert agent_environment(environ, ["SHOP_PASSWORD"])["SHOP_PASSWORD"] == "x"


@pytest.mark.parametrize(
    "path",
    [
        *("/home/x/.ssh/id_ed25519", "/home/x/.ssh", "/p/.env", "/p/.env.local", "/p/prod.env", "/p/.ENV", "/p/.envrc"),
        *("/home/x/.aws/credentials", "/home/x/.config/gh/hosts.yml", "/home/x/.netrc", "/p/server.key", "/p/a.pem"),
        *(
            "/proc/1/environ",
            "/proc/self/environ",
            "/proc/1/task/2/environ",
            "/home/x/.bash_history",
            "/home/x/.zsh_history",
        ),
        *("/etc/shadow", "/home/x/.gnupg/x", "/home/x/.docker/config.json", "/home/x/.kube/config", "/p/id_rsa"),
    ],
)
def test_secrets_by_their_path(path: str) -> None:
    assert secret(Path(path))


@pytest.mark.parametrize(
    "name",
    [
        *(".zhistory", ".histfile", ".mysql_history", ".sqlite_history", ".lesshst", ".sh_history", ".fly/config.yml"),
        *(".local/share/fish/fish_history", ".gem/credentials", ".config/doctl/config.yaml", ".config/stripe/x"),
        *(".config/containers/auth.json", ".local/share/kwalletd/x", ".config/git/credentials", ".m2/settings.xml"),
        *(".config/uv/credentials/x", ".cache/huggingface/token", ".config/github-copilot/apps.json", ".ssh/config"),
        *(".config/hcloud/cli.toml", ".config/glab-cli/config.yml", ".gradle/gradle.properties", ".netrc"),
        *(".config/gcloud/credentials.db", ".azure/msal_token_cache.json", ".kube/config", ".oci/config"),
        *(".config/pypoetry/auth.toml", ".docker/config.json", ".terraform.d/credentials.tfrc.json", ".aws/config"),
    ],
)
def test_a_homes_secrets_are_asked_about_and_hidden_in_a_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    home = Path(os.path.realpath(tmp_path)) / "home"
    file = home / name
    file.parent.mkdir(parents=True)
    file.touch()
    assert secret(file)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("gshtui.guard.sandbox.sandbox.EMPTY", ())
    project = tmp_path / "project"
    project.mkdir()
    options = ProjectSandbox("/usr/bin/bwrap", project, tmp_path / "kept").options()
    covered = {Path(place) for what, place in pairwise(options) if what in ("--tmpfs", "/dev/null")}
    assert not covered.isdisjoint((file, *file.parents[: len(file.relative_to(home).parts) - 1])), "hidden"


@pytest.mark.parametrize("variable", [*MOVED, "CLAUDE_CONFIG_DIR", "CODEX_HOME"])
def test_a_sandbox_hides_what_is_kept_elsewhere(variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gshtui.guard.sandbox.sandbox.EMPTY", ())
    places = [tmp_path / "clouds" / "a", tmp_path / "clouds" / "b"]
    for place in places:
        place.mkdir(parents=True)
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.setenv(variable, f"{places[0]}:/nowhere:{places[1]}:/:/dev/null")
    options = ProjectSandbox("/usr/bin/bwrap", project, tmp_path / "kept").options()
    covered = {Path(place) for what, place in pairwise(options) if what in ("--tmpfs", "/dev/null")}
    assert covered >= set(places)
    assert Path("/") not in covered
    assert ("/dev/null", "/dev/null") not in pairwise(options), "it is where nothing is, and stays usable"


@pytest.mark.parametrize("variable", MOVED)
def test_a_relative_place_is_one_of_the_persons_shell_or_of_the_project(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gshtui.guard.sandbox.sandbox.EMPTY", ())
    project, shell = tmp_path / "project", tmp_path / "project" / "deep"
    places = [project / "conf" / "kube.yaml", shell / "conf" / "kube.yaml", tmp_path / "beside"]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("key")
    monkeypatch.setenv("PWD", str(shell))
    monkeypatch.setenv(variable, "conf/kube.yaml:../../beside:")
    options = ProjectSandbox("/usr/bin/bwrap", project, tmp_path / "kept").options()
    assert set(map(str, places)) <= set(options)
    assert ("/dev/null", str(project)) not in pairwise(options)
    assert secret(places[1]) and secret(places[2])
    assert secret(shell / "other") == secret(shell / "conf") == ""


def test_no_list_of_secrets_knows_what_the_other_does_not() -> None:
    for name in HOME_SECRETS:
        assert secret(Path("/home/x", name))


@pytest.mark.parametrize(
    "path",
    [
        "/p/.env.example",
        "/p/environment.py",
        "/p/src/key.py",
        "/p/history.py",
        "/etc/passwd",
        "/p/sshd.py",
        "/p/keys.md",
        "/proc/cpuinfo",
    ],
)
def test_ordinary_files_are_no_secrets(path: str) -> None:
    assert secret(Path(path)) == ""


def test_what_decides_what_runs() -> None:
    assert guarded(Path("/p/.git/hooks/pre-commit"))
    for name in ("people", "plugins.json", "rules.toml", "hooks/claude.json", "profiles/own.toml"):
        assert guarded(Path("/home/me/.config/gsh") / name), name
    assert guarded(Path("/home/me/.local/share/gsh/ssh_host_key")) and secret(Path("/x/gsh/ssh_host_key"))
    assert not guarded(Path("/home/me/gsh/people")) and not guarded(Path("/home/me/.config/gsh/skills/x/SKILL.md"))
    assert guarded(Path("/p/.GIT/config"))
    assert guarded(Path("/p/.gsh/config.toml"))
    assert guarded(Path("/home/x/.config/gsh/config.toml"))
    assert not guarded(Path("/p/.github/x"))
    assert not guarded(Path("/p/.gitignore"))
    assert starts_things(Path("/p/package.json"))
    assert starts_things(Path("/p/.github/workflows/ci.yml"))
    assert not starts_things(Path("/p/src/app.py"))


@pytest.mark.parametrize(
    "name",
    [
        *(".gemini/settings.json", ".opencode/agent/x.md", "opencode.json", "opencode.jsonc", ".vibe/config.toml"),
        *("GNUmakefile", "makefile", ".cargo/config", ".cargo/config.toml", ".aider.conf.yml", ".worktreeinclude"),
        *("pytest.ini", ".yarnrc.yml", ".npmrc", "mise.toml", ".mise.toml", "CLAUDE.local.md", ".zed/tasks.json"),
        *(".devcontainer.json", "rust-toolchain", "rust-toolchain.toml", ".githooks/pre-commit", "app.code-workspace"),
        *("crush.json", ".crush.json", ".roo/mcp.json", ".qwen/settings.json", ".kiro/settings/mcp.json"),
        *(".amazonq/mcp.json", ".continue/config.yaml", ".windsurf/rules/x.md", ".config/mise/config.toml"),
        *(".mise/config.toml", "mise.local.toml", ".mise.local.toml", ".nvim.lua", ".exrc", ".dir-locals.el"),
        *("lefthook.yml", ".lefthook.yaml", ".pnpmfile.cjs", ".tool-versions", ".ignore"),
    ],
)
def test_what_other_programs_obey_is_known(name: str) -> None:
    assert starts_things(Path("/p/sub") / name)


def test_no_repository_is_put_together_of_files(tmp_path: Path) -> None:
    assert not starts_things(tmp_path / "config")
    (tmp_path / "HEAD").write_text("ref: refs/heads/main\n")
    assert starts_things(tmp_path / "objects/x")
    (tmp_path / "objects").mkdir()
    assert starts_things(tmp_path / "refs/heads/x")
    (tmp_path / "refs").mkdir()
    for name in ("HEAD", "config", "hooks/pre-commit"):
        assert starts_things(tmp_path / name)
    other = tmp_path / "other"
    other.mkdir()
    assert starts_things(other / "commondir")
    assert not starts_things(other / "HEAD")
    (other / "commondir").write_text("../common\n")
    for name in ("HEAD", "config.worktree"):
        assert starts_things(other / name)
    assert not starts_things(tmp_path / "src/app.py")


def test_file_types() -> None:
    assert filetype(b"plain \xc3\xa9").encoding == "utf-8"
    assert filetype(b"caf\xe9 au lait").encoding == "latin-1"
    assert filetype(b"\xff\xfea\0").encoding == "utf-16-le"
    assert filetype(b"\xef\xbb\xbfa").mark == b"\xef\xbb\xbf"
    assert filetype(b"cut off \xc3").encoding == "utf-8"
    assert filetype(b"cut off \xc3", whole=True).encoding == "latin-1"
    assert filetype(b"\x7fELF\x02\x01\x01\0\0\0").encoding == ""
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x20\x08\x06\0\0\0"
    assert describe(png) == "PNG image, 16×32 pixels"
    assert "JPEG image, 640×480" in describe(b"\xff\xd8\xff\xe0\0\4\0\0\xff\xc0\0\x11\x08\x01\xe0\x02\x80\3")
    assert not is_binary(b"BM is how this sentence begins")
    assert not is_binary(b"src/module/file.py\0src/module/other.py\0")
    assert is_binary(bytes(range(256)))
    assert not is_binary(b"")


@given(st.lists(st.binary(max_size=60), max_size=30), st.integers(2, 40))
def test_the_spool_keeps_both_ends(pieces: list[bytes], limit: int) -> None:
    whole = b"".join(pieces)
    half = limit // 2
    with contextlib.closing(Spool(limit)) as spool:
        for piece in pieces:
            spool.write(piece)
        kept = list(spool.pieces())
        assert spool.size == len(whole)
        assert spool.lost == max(0, len(whole) - 2 * half)
        assert b"".join(kept) == (whole if not spool.lost else whole[:half] + whole[-half:])
        assert (b"" in kept) == bool(spool.lost)
        assert spool.head(5) == whole[: min(5, half)]


def line(command: str, folder: Path) -> Assessment:
    return assess_line(command, Location(".", folder, folder, True, "."), folder)


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("git commit -m 'a b'", "git commit -m …"),
        ("pytest -q tests", "pytest -q …"),
        ("python -m pytest -q", "python -m pytest -q"),
        ("cargo test", "cargo test"),
        ("cargo test --release -p a name", "cargo test --release -p a name"),
        ("terraform plan", "terraform plan"),
        ("./configure --prefix=build", "./configure --prefix=build"),
        ("npm install", "npm install"),
        ("npm install x", ""),
        ("make test", "make test"),
        ("make", ""),
        ("pytest -p x", ""),
        ("git log --output=f", ""),
        ("git push", ""),
        ("ls && ls", ""),
        ('git commit -m "$(touch x)"', ""),
        ("git commit; rm x", ""),
        ("git commit\nrm x", ""),
        ("git -c alias.x=!sh x", ""),
        ("git config core.hooksPath x", ""),
        ("ls > x", ""),
        ("ls `x`", ""),
        ("ls &", ""),
        ("A=b ls", ""),
        ("bash -c ls", ""),
        ("find . -delete", ""),
        ("python x.py", ""),
        ("sudo ls", ""),
        ("curl x", ""),
        ("ls *", "ls …"),
        ("x *", ""),
        ("ls ~", ""),
        ("cat .env", ""),
        ("cat /etc/passwd", ""),
        ("cat ../x", ""),
    ],
)
def test_always_is_offered_for_plain_lines_alone(tmp_path: Path, command: str, pattern: str) -> None:
    assert line(command, tmp_path).pattern == pattern


def test_a_line_says_where_it_reaches(tmp_path: Path) -> None:
    def warned(command: str) -> str:
        return " ".join(line(command, tmp_path).warnings)

    assert "outside the project: /etc/hosts" in warned("cat /etc/hosts")
    assert "outside" in warned("cp --target=../x y")
    assert "keys or passwords" in warned("cat ~/.ssh/config")
    assert "keys or passwords" in warned("cat <.env")
    assert "network" in warned("git push")
    assert "network" in warned("echo x > /dev/tcp/1.2.3.4/80")
    assert "another user" in warned("sudo ls")
    assert "permanently" in warned("git reset --hard")
    assert "overlooked" in warned("ls" + " " * 400 + "; touch x")
    assert "overlooked" in warned("l\u0455")
    assert warned("ls -la src") == ""
    assert warned("/usr/bin/env true >/dev/null 2>&1") == ""
    assert line("ls", tmp_path).inside
    assert not line("ls /", tmp_path).inside
    assert "⟨400 spaces⟩" in line("ls" + " " * 400 + "; touch x", tmp_path).detail
    assert "'unclosed" in line("echo 'unclosed /etc/x", tmp_path).subject


@pytest.mark.parametrize("name", ["main", "feat/x", "v1.2", "a_b-c", "user@x"])
def test_branch_names(name: str) -> None:
    assert is_branch_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "-b", "a..b", "a b", "a/", "/a", ".a", "a/.b", "x.lock", "HEAD", "a~1", "a:b", "$(x)", "a\n", "x" * 300],
)
def test_names_that_are_none(name: str) -> None:
    assert not is_branch_name(name)
