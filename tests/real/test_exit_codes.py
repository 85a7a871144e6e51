"""The exit codes that the guide and the help promise, each by every face that can end so, and no other codes."""

import re
from pathlib import Path

import pytest

from gshtui.cli import by_hand
from gshtui.cli.declared_forms import COMMANDS
from gshtui.cli.root import EPILOG, run
from tests.kit.configuration import made_project
from tests.kit.home import Home
from tests.kit.source import ROOT
from tests.kit.warm_program import run_gsh

GUIDE = (ROOT / ".github" / "guides" / "scripts.md").read_text(encoding="utf-8")
DOCUMENTED = {int(code) for code in re.findall(r"^\| (\d+) \|", GUIDE, re.MULTILINE)}
NOBODY = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}
ENDS: tuple[tuple[int, str], ...] = (
    *(
        (0, line)
        for line in ("prompt hi", "-p hi", "exec hi", "run ls", "gsh plain", "guard rules", "config get ui.theme")
    ),
    *(
        (0, line)
        for line in ("sandbox -- true", "agent ls", "mcp ls", "workflow ls", "session ls", "models", "version")
    ),
    *((1, line) for line in ("run read gone.txt", "session show nope", "agent show 99", "mcp show gone", "compact")),
    *((1, line) for line in ("prompts show gone", "worktree finish 99", "config get nonsense", "plugins approve gone")),
    *((2, line) for line in ("nonsense", "run nonsense", "prompt", "agent send", "run read")),
    *((2, line) for line in ("workflow run gone", "prompt --mode nonsense hi", "resume", "config edit", "login")),
    *(
        (3, line)
        for line in ("prompt --model anthropic/x hi", "-p --model anthropic/x hi", "prompt --model nonsense hi")
    ),
    *((3, line) for line in ("mcp search x", "models update", "agent search x")),
    *((4, line) for line in ("prompt run touch x", "-p run touch x", "config trust", "shell install bash")),
    *((4, line) for line in ("workflow run explain-failure --command true", "update", "uninstall")),
    *((124, line) for line in ("prompt --timeout 0.001 hi", "run --timeout 0.1 bash sleep 300")),
)


TAKE_ALL = {"gsh", "help", "run", "sandbox"}
"""What takes words of other languages."""


@pytest.fixture
def project(tmp_path: Path, home: Home) -> Path:
    (home.path / ".bashrc").write_text("")
    return made_project(tmp_path / "project")


def test_the_guide_the_help_and_this_table_know_the_same_codes() -> None:
    assert {int(code) for code in re.findall(r"\b(\d+) [a-z]", EPILOG)} == DOCUMENTED
    assert {code for code, _ in ENDS} | {130} == DOCUMENTED, "interrupts: test_cli_prompt and test_cli_run"


@pytest.mark.parametrize(("code", "line"), ENDS)
def test_how_a_call_ends(code: int, line: str, project: Path) -> None:
    env = {"https_proxy": "http://127.0.0.1:1", **(NOBODY if "anthropic" in line else {})}
    words = line.split(" ")
    if words[0] == "run":  # a line of the command language is one argument
        at = 3 if words[1] == "--timeout" else 1
        words = [*words[:at], " ".join(words[at:])]
    ran = run_gsh(*words, cwd=project, env=env)
    assert ran.code == code, (line, ran.code, ran.out, ran.err)
    assert "Traceback" not in ran.err
    assert code == 0 or ran.err or ran.out, "it says why"


def test_every_command_knows_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """An option that nobody has is 2 for each, and it says so; none runs."""
    words = {*(form.name for form in COMMANDS), *by_hand.MODULES} - TAKE_ALL
    wrong: dict[str, int] = {}
    for name in sorted(words):
        code = run([*name.split(), "--no-such-option"])
        said = capsys.readouterr()
        if code != 2 or not said.err:
            wrong[name] = code
    assert wrong == {}
