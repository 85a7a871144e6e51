"""The check of an installed program: its set-ups, what is kept of it, and what it says of programs it cannot start."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import aclosing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from gshtui.headless.program.doctor_programs import examine_agents
from gshtui.programs.check.check_results import (
    STEPS,
    CheckedStep,
    CheckResult,
    all_seen_here,
    keep_result,
    results_file,
    seen_here,
)
from gshtui.programs.check.check_run import CheckError, check_program, end_all
from gshtui.programs.check.check_setup import CheckSetup, read_setup
from gshtui.programs.check.model_server import ModelRequest
from gshtui.programs.check.model_wire import ToolUse, Utterance
from gshtui.programs.check.prompt_driven_model import follow_prompts
from gshtui.programs.profiles import profile_files as profiles
from gshtui.settings.toml_file import load_toml
from tests.kit.command import start_gsh
from tests.kit.home import Home, with_home
from tests.kit.tmux import eventually

SHIPPED = profiles.load(Path("/nonexistent"))
NAMES = sorted(name for name in SHIPPED.profiles if read_setup(name) is not None)


def made(program: Path, text: str) -> None:
    """A program of a test's own."""
    program.write_text(text, "utf-8")
    program.chmod(0o755)


@pytest.mark.parametrize("name", NAMES)
def test_a_setup_writes_only_below_the_throw_away_home(name: str, tmp_path: Path) -> None:
    setup = read_setup(name)
    assert setup is not None
    assert bool(setup.login) != bool(setup.api)
    home = tmp_path / "home"
    environment = setup.prepare(home, tmp_path / "project", "http://127.0.0.1:1", "9.9.9")
    texts = [*environment.values(), *(file.read_text("utf-8") for file in home.rglob("*") if file.is_file())]
    for file in home.rglob("*"):
        assert file.suffix != ".json" or file.is_dir() or json.loads(file.read_text("utf-8")) is not None
        assert file.suffix != ".toml" or load_toml(file.read_text("utf-8"))
    assert setup.login or any("http://127.0.0.1:1" in text for text in texts), "it is pointed at the model"
    assert not any("<url>" in text or "<home>" in text for text in texts)
    assert [each for each in tmp_path.iterdir() if each != home] == []


def test_a_setup_that_would_write_elsewhere_is_refused(tmp_path: Path) -> None:
    setup = CheckSetup(api="openai", files={str(tmp_path / "mine.json"): {}})
    with pytest.raises(ValueError, match="outside the throw-away home"):
        setup.prepare(tmp_path / "home", tmp_path, "", "")


def test_a_result_is_kept_by_version_and_the_oldest_go(home: Home) -> None:
    good = CheckResult(tuple(CheckedStep(step, "W") for step in STEPS))
    bad = CheckResult((CheckedStep("rest", "W"), CheckedStep("work", "N", "it is shown as idle")))
    keep_result("claude", "1.0", good)
    keep_result("claude", "2.0", bad)
    assert results_file().is_relative_to(home.data)
    found = seen_here("claude", "2.0")
    assert found is not None
    assert (found.steps, found.is_good, found.sums) == (bad.steps, False, "1 W, 1 N")
    assert (good.is_good, good.points > bad.points) == (True, True)
    for number in range(20):
        keep_result("claude", f"3.{number}", good)
    assert seen_here("claude", "1.0") is None
    assert seen_here("codex", "1.0") is None
    results_file().write_text("{nonsense", "utf-8")
    assert seen_here("claude", "3.1") is None


async def test_the_doctor_says_what_was_seen_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made(tmp_path / "claude", "#!/bin/sh\n")
    (tmp_path / ".version").write_text("9.9.9\n", "utf-8")
    monkeypatch.setenv("PATH", str(tmp_path))
    keep_result("claude", "9.9.9", CheckResult(tuple(CheckedStep(step, "W") for step in STEPS)))
    (found,) = [each for each in await examine_agents() if each.name == "claude"]
    assert f"9.9.9 at {tmp_path / 'claude'}, seen here: 10 W" in found.detail


async def test_the_doctor_says_which_program_has_no_modes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("aider", "claude"):
        made(tmp_path / name, "#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    said = {each.name: each.detail for each in await examine_agents() if "has no modes" in each.detail}
    assert list(said) == ["aider"] and "it has no modes: it edits files unasked" in said["aider"]


@pytest.mark.parametrize(
    ("node", "program", "says"),
    [
        ("20.20.2", "exit 1", "problem it wants Node >=22.19.0, and there is 20.20.2: it does not start"),
        ("20.20.2", "echo 1.2.3", "note it wants Node >=22.19.0, and there is 20.20.2: some of it may fail"),
        ("22.19.0", "echo 1.2.3", "note its screen rules were seen with"),
        ("", "", "problem it wants Node >=22.19.0, and there is no Node for it: it does not start"),
    ],
)
async def test_the_doctor_says_which_interpreter_a_program_lacks(
    node: str, program: str, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By the package's own words, for every program that is a script."""
    for name in ("codex", "gemini", "qwen"):
        package = tmp_path / "node_modules" / name
        package.mkdir(parents=True)
        made(package / "cli.js", "#!/usr/bin/env node\n")
        manifest = {"name": name, "version": "1.2.3", "bin": {name: "cli.js"}, "engines": {"node": ">=22.19.0"}}
        (package / "package.json").write_text(json.dumps(manifest), "utf-8")
        (tmp_path / name).symlink_to(package / "cli.js")
    if node:
        made(tmp_path / "node", f'#!/bin/sh\n[ "$1" = --version ] && echo v{node} || {{ {program}; }}\n')
    monkeypatch.setenv("PATH", str(tmp_path))
    status, _, rest = says.partition(" ")
    found = await examine_agents()
    assert [each.name for each in found if each.status == status and rest in each.detail] == ["codex", "gemini", "qwen"]
    assert all(bool(each.fix) for each in found if "wants" in each.detail)


async def test_the_doctor_says_which_python_a_program_lacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also one whose environment has lost its Python."""
    folder = tmp_path / "venv"
    metadata = folder / "lib" / "python3.12" / "site-packages" / "mistral_vibe-1.2.3.dist-info"
    (folder / "bin").mkdir(parents=True)
    metadata.mkdir(parents=True)
    (metadata / "entry_points.txt").write_text("[console_scripts]\nvibe = vibe:main\n", "utf-8")
    (metadata / "METADATA").write_text("Name: mistral-vibe\nRequires-Python: <3.14,>=3.12\n\nText\n", "utf-8")
    made(folder / "bin" / "vibe", f"#!{folder}/bin/python\n")
    monkeypatch.setenv("PATH", f"{folder}/bin:/usr/bin:/bin")

    async def said() -> str:
        (found,) = [each for each in await examine_agents() if each.name == "vibe"]
        return f"{found.status} {found.detail}"

    assert "it wants Python <3.14,>=3.12, and there is no Python for it: it does not start" in await said()
    made(folder / "bin" / "python", '#!/bin/sh\n[ "$1" = --version ] && echo Python 3.11.2\n')
    assert "it wants Python <3.14,>=3.12, and there is 3.11.2" in await said()
    made(folder / "bin" / "python", '#!/bin/sh\n[ "$1" = --version ] && echo Python 3.12.1\n')
    assert "wants" not in await said()


@pytest.mark.parametrize(
    ("name", "says"),
    [("amp", "wants a login first"), ("goose", "does not know how to point it"), ("codex", "is not installed: codex")],
)
async def test_a_program_that_cannot_be_checked_is_one_sentence(
    name: str, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CheckError, match=says) as error:
        await anext(check_program(SHIPPED.get(name), os.environ))
    assert str(error.value).endswith(".") and "\n" not in str(error.value)


@pytest.mark.parametrize("rules", [None, Path("/nonexistent")])
async def test_one_that_does_not_start_fails_in_every_step_and_leaves_nothing(
    rules: Path | None, home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = tmp_path / "home"
    made(tmp_path / "codex", f'#!/bin/sh\n[ "$1" = --version ] || echo "$HOME" >{told}\nexit 3\n')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    steps = [step async for step in check_program(SHIPPED.get("codex"), os.environ, rules)]
    assert [step.step for step in steps] == list(STEPS)
    assert {step.verdict for step in steps} == {"N"}
    assert bool(all_seen_here("codex")) == (rules is None), "what other rules give is not kept"
    assert not Path(told.read_text("utf-8").strip()).parent.exists()


async def test_one_that_nobody_waits_for_ends_at_once_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = tmp_path / "home"
    made(tmp_path / "codex", f'#!/bin/sh\n[ "$1" = --version ] || echo "$HOME" >{told}\nexit 3\n')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    async with aclosing(check_program(SHIPPED.get("codex"), os.environ)) as running:
        assert (await anext(running)).step == "rest"
    assert with_home(told.read_text("utf-8").strip()) == []


async def test_one_whose_person_is_killed_ends_and_leaves_nothing(tmp_path: Path) -> None:
    told = tmp_path / "home"
    made(tmp_path / "codex", f'#!/bin/sh\n[ "$1" = --version ] || echo "$HOME" >{told}\nexec sleep 600\n')
    with start_gsh("profiles", "check", "codex", env={"PATH": f"{tmp_path}:/usr/bin:/bin"}) as process:

        async def started() -> str:
            return told.read_text("utf-8").strip() if told.exists() else ""

        async def gone() -> bool:
            return not with_home(own) and not Path(own).parent.exists()

        own = await eventually(started)
        process.kill()
        assert await eventually(gone)


@contextmanager
def begun(home: Path, program: Path) -> Generator[subprocess.Popen[bytes]]:
    """The process of a check, started by hand."""
    made(program, f"#!/bin/sh\necho started >{home.parent}/started\nexec sleep 600\n")
    (home.parent / "tmux").mkdir()
    environ = {"HOME": str(home), "TMUX_TMPDIR": str(home.parent / "tmux"), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-P", "-m", "gshtui.headless.program.program_check", "codex", str(program), "1.0"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environ, cwd=home, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()
            end_all(str(home))


def test_a_home_that_no_check_has_made_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with begun(home, tmp_path / "codex") as process:
        _, said = process.communicate(b"a key\n", timeout=60)
    assert (process.returncode, said.decode()) == (
        1,
        f"{home} is not a home made for a check; `gsh-tui profiles check` makes one.\n",
    )
    assert sorted(each.name for each in tmp_path.iterdir()) == ["codex", "home", "tmux"]


async def test_only_the_end_of_its_input_ends_it() -> None:
    with TemporaryDirectory(prefix="gsh-check-", dir="/tmp", ignore_cleanup_errors=True) as place:
        home = Path(place) / "home"
        home.mkdir()
        with begun(home, Path(place) / "codex") as process:
            assert process.stdin is not None
            process.stdin.write(b"a key\n")
            process.stdin.flush()

            async def started() -> bool:
                return (home.parent / "started").exists() or process.poll() is not None

            async def gone() -> bool:
                return process.poll() is not None

            assert await eventually(started) and process.poll() is None and home.exists()
            process.stdin.close()
            assert await eventually(gone)
            assert not home.parent.exists() and with_home(str(home)) == []


def test_the_model_does_what_the_prompt_asks_for() -> None:
    setup = read_setup("claude")
    assert setup is not None
    choose = follow_prompts(setup.tool, {"plan": setup.plan.calls})

    def said(text: str, *more: dict[str, object]) -> object:
        body = {"tools": [{}], "messages": [{"role": "user", "content": text}, *more]}
        answer = choose(ModelRequest("POST", "/", {}, body, "chat"))
        assert answer is not None
        return answer[-1]

    call = said("do:touch")
    assert isinstance(call, ToolUse)
    assert (call.name, call.arguments["command"]) == ("Bash", "touch made.txt")
    plan = said("do:plan, into /home/u/.claude/plans/a-b.md")
    assert isinstance(plan, ToolUse)
    assert plan.arguments["file_path"] == "/home/u/.claude/plans/a-b.md"
    result: dict[str, object] = {"role": "user", "content": [{"type": "tool_result"}]}
    spoken: dict[str, object] = {"role": "assistant", "content": "x"}
    handed = said("do:plan", spoken, result)
    assert isinstance(handed, ToolUse) and handed.name == "ExitPlanMode"
    assert said("do:plan", spoken, result) == Utterance("Done; the command has run.")
    assert said("Good day") == Utterance("Hello. I am here.")
