"""`gsh-tui sandbox`: any program behind the walls of agents' commands, with its own input, output and exit code."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.kit.command import command, environment
from tests.kit.configuration import user_file
from tests.kit.home import Home
from tests.kit.warm_program import run_gsh


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    (made / ".git").mkdir(parents=True)
    return made


def test_input_output_and_exit_code_are_the_commands_own(project: Path) -> None:
    ran = subprocess.run(
        command(["sandbox", "--", "sh", "-c", "cat; echo no >&2; exit 41"]),
        input=b"through\n",
        capture_output=True,
        cwd=project,
        env=environment(),
        timeout=30,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (41, b"through\n", b"no\n")
    assert run_gsh("sandbox", "--", "sh", "-c", "sh -c 'kill -9 $$'; exit $?", cwd=project).code == 137
    assert run_gsh("sandbox", "--", "no-such-program", cwd=project).code == 127


def test_the_walls_are_those_of_an_agents_command(project: Path, home: Home) -> None:
    (home.path / ".netrc").write_text("secret\n", "utf-8")
    line = f"echo x >made; echo x >{home.path}/x; echo x >.git/x; cat {home.path}/.netrc; env; echo y >.envrc; exit 0"
    ran = run_gsh("sandbox", "--", "sh", "-c", line, cwd=project, env={"ODD": "odd", "SHOP_TOKEN": "canary-1"})
    assert (project / "made").exists()
    assert not (home.path / "x").exists()
    assert not (project / ".git" / "x").exists()
    assert not (project / ".envrc").exists()
    assert ".envrc is not left in the project" in ran.err
    assert "secret" not in ran.out
    assert "canary" not in ran.out
    assert "ODD" not in ran.out
    named = run_gsh("sandbox", "--env", "ODD", "--", "env", cwd=project, env={"ODD": "odd"})
    assert "ODD=odd" in named.out
    (home.path / ".netrc").unlink()


def test_what_it_was_refused_is_reported(project: Path) -> None:
    ran = run_gsh(
        "sandbox",
        "--json",
        "--host",
        "pypi.org",
        "--",
        "sh",
        "-c",
        "echo said; curl -s http://evil.example/",
        cwd=project,
    )
    assert ran.json["exit_code"] == 0
    assert [(each["kind"], each["subject"]) for each in ran.json["refused"]] == [("host", "evil.example:80")]
    assert "said" in ran.err
    assert run_gsh("sandbox", "--host", "*.com", "--", "true", cwd=project).code == 2


def test_git_s_own_files_name_the_tool_that_commits(project: Path) -> None:
    ran = run_gsh("run", "--json", f"bash command='touch {project}/.git/x' sandbox=true", cwd=project)
    (refused,) = ran.lines[0]["refused"]
    assert "`git_commit` commits" in refused["allow"]


def test_without_a_sandbox_nothing_runs(project: Path, home: Home) -> None:
    user_file(home, "[sandbox]\nenabled = false\n")
    ran = run_gsh("sandbox", "--", "touch", "made", cwd=project)
    assert ran.code == 3
    assert "There is no sandbox, so nothing was run: the sandbox is switched off." in ran.err
    assert not (project / "made").exists()


def test_more_than_can_be_kept_is_one_sentence(project: Path) -> None:
    for number in range(1_001):
        folder = project / f"part{number}"
        folder.mkdir()
        (folder / ".envrc").write_text("true\n")
    ran = run_gsh("sandbox", "--", "touch", "made", cwd=project)
    assert ran.code == 3 and not (project / "made").exists()
    assert "nothing was run: the project has more than 1000 files that other programs obey." in ran.err
    assert "Traceback" not in ran.err


def test_a_program_below_tmp_is_seen_with_its_folder_and_no_secret_with_it(project: Path, home: Home) -> None:
    place = Path("/tmp", f"gsh-place-{project.parent.parent.name}-{project.parent.name}")
    (place / "bin").mkdir(parents=True)
    try:
        program = place / "bin" / "program"
        program.write_text('#!/bin/sh\ncat "$(dirname "$0")/../data"; echo x >/tmp/other; echo x >"$0"', "utf-8")
        program.chmod(0o755)
        (place / "data").write_text("beside it\n", "utf-8")
        ran = run_gsh("sandbox", "--", str(program), cwd=project)
        assert ran.out == "beside it\n", ran.err
        assert "Read-only file system" in ran.err
        found = run_gsh("sandbox", "--", "program", cwd=project, env={"PATH": f"{program.parent}:/usr/bin:/bin"})
        assert found.out == "beside it\n", found.err
    finally:
        shutil.rmtree(place)
    (home.path / ".netrc").write_text("secret\n", "utf-8")
    (home.path / "bin").mkdir()
    inner = home.path / "bin" / "inner"  # this home is below /tmp
    inner.write_text(f"#!/bin/sh\necho ran; cat {home.path}/.netrc", "utf-8")
    inner.chmod(0o755)
    ran = run_gsh("sandbox", "--", str(inner), str(home.path / ".netrc"), cwd=project)
    assert (ran.out, "No such file" in ran.err) == ("ran\n", True)


@pytest.mark.parametrize(
    "words", [("session", "ls"), ("hub", "status"), ("hub", "stop"), ("run", "usage")], ids=" ".join
)
def test_a_word_of_ours_says_that_it_does_not_reach_the_hub(project: Path, words: tuple[str, ...]) -> None:
    ran = run_gsh("sandbox", "--", *command(words), cwd=project)
    said = "gsh-tui: The hub is not reached from inside a sandbox. Run this outside of it.\n"
    assert (ran.code, ran.out, ran.err) == (1, "", said)
