"""What the sandbox refused is said, whatever the exit code and whoever says it; what only looks like it is not."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from gshtui.guard.sandbox.sandboxes import Sandboxes
from gshtui.settings.settings_tables import Sandbox as SandboxSettings
from gshtui.tools.files.workspace import ToolConfig
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say
from tests.kit.tool_harness import ToolHarness
from tests.kit.warm_program import run_gsh
from tests.real.test_sandbox import in_sandbox


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = Path(os.path.realpath(tmp_path)) / "project"
    made.mkdir()
    (tmp_path / "state").mkdir()
    subprocess.run(["git", "init", "-q"], cwd=made, check=True)
    (made / "web").mkdir()
    (made / "web" / "run.sh").write_text("[ -d .git ] || up=../; touch ${up}.git/x", "utf-8")
    return made


def tools(project: Path, **settings: object) -> ToolHarness:
    sandboxes = Sandboxes(SandboxSettings(**settings), (project.parent / "state",))  # pyright: ignore[reportArgumentType]
    return ToolHarness(project, ToolConfig(os.environ, sandboxes=sandboxes))


CONNECTS = "import socket\ntry: socket.create_connection(('192.0.2.1', 443))\nexcept OSError: pass"


@pytest.mark.parametrize(
    ("line", "kind", "subject"),
    [
        ("git add . && git commit -qm x; true", "path", ".git/index.lock"),
        ("sh web/run.sh || true", "path", ".git/x"),
        ("cd web && sh run.sh; echo done", "path", "../.git/x"),
        ("echo x >/usr/local/made; true", "path", "/usr/local/made"),
        ("python3 -c \"open('/etc/made', 'w')\"; true", "path", "/etc/made"),
        ("LC_ALL=de_DE.UTF-8 mkdir /usr/made | cat", "path", "/usr/made"),
        ("echo \"Error: EROFS: read-only file system, open '/usr/made'\" | cat", "path", "/usr/made"),
        (f'python3 -c "{CONNECTS}"', "host", "the network"),
        ("curl -s http://192.0.2.1/ 2>/dev/null || true", "host", "the network"),
        ("getent hosts example.org; true", "host", "the network"),
    ],
)
async def test_a_refusal_is_said_though_the_command_succeeds(project: Path, line: str, kind: str, subject: str) -> None:
    done = await in_sandbox(tools(project), line)
    assert done.data["exit_code"] == 0, done.text
    (refused,) = done.data["refused"]
    assert (refused["kind"], refused["subject"].removeprefix(f"{project}/")) == (kind, subject), done.text
    assert "[the sandbox: " in done.text


@pytest.mark.parametrize(
    "line",
    [
        "echo 'touch: cannot touch x: Read-only file system'",
        "echo \"src/a.py:12: raise OSError('Read-only file system')\"",
        f'echo "{"{}"}: Read-only file system"',
        "echo 'could not resolve host: example.org'",
        "echo 'EROFS /tmp/x'",
        "python3 -c \"import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen();"
        ' socket.create_connection(s.getsockname())"',
        "touch made /tmp/made",
    ],
)
async def test_what_only_looks_like_a_refusal_is_none(project: Path, line: str) -> None:
    done = await in_sandbox(tools(project), line.replace("{}", str(project / "made")))
    assert (done.data["exit_code"], done.data["refused"]) == (0, []), done.text


async def test_messages_are_english_and_the_rest_of_the_language_stays(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de", "LC_TIME": "fr_FR.UTF-8"}.items():
        monkeypatch.setenv(name, value)
    done = await in_sandbox(tools(project), "env | grep -E '^(LC_|LANG)' | sort")
    assert done.data["output"] == "LANG=de_DE.UTF-8\nLC_MESSAGES=C\n"


async def test_nothing_of_the_count_is_left_in_the_command(project: Path) -> None:
    done = await in_sandbox(tools(project), "ls /proc/self/fd | sort -n | tail -1")
    assert int(done.data["output"]) <= 3, done.text


async def test_a_python_block_that_goes_on_hears_it(project: Path) -> None:
    code = f"{CONNECTS}\ntry: open('/etc/made', 'w')\nexcept OSError as error: print(error)"
    async with loopback("anthropic", [[Call("python", {"code": code})], [Say("done")]]) as server:
        env = variables("anthropic", server.url)
        ran = await asyncio.to_thread(run_gsh, "prompt", "--yes", "go", cwd=project, env=env)
        told = str(server.requests[-1].body)
    assert ran.code == 0, ran.err
    assert "[the sandbox: no way to the network: it tried once" in told
    assert "[the sandbox: cannot write /etc/made: " in told


COMMITS = """\
workflows:
  made:
    steps:
      - description: Commit and push
        shell:
          command: |
            git add a.txt
            git commit -qm x
            if [ -n "" ]; then git push; fi
      - shell: {command: touch after}
"""


def test_a_step_that_was_refused_a_write_is_not_ticked(project: Path, home: Home) -> None:
    (project / "a.txt").write_text("a\n", "utf-8")
    (home.config / "gsh" / "workflows").mkdir(parents=True, exist_ok=True)
    (home.config / "gsh" / "workflows" / "made.yml").write_text(COMMITS, "utf-8")
    ran = run_gsh("workflow", "run", "made", "--yes", cwd=project)
    assert ran.code == 1, ran.err
    assert "✓" not in ran.err and "`git_commit` commits" in ran.err
    assert not (project / "after").exists()
