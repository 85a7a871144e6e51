"""The command line as a process: help, usage errors, exit codes, streams that are closed, faults nobody expected."""

import os
import pty
import pwd
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gshtui.cli.entry import main
from gshtui.settings.contract import FEATURES
from tests.kit import warm_program
from tests.kit.command import DEADLINE, ROOT, command, environment, run_gsh, start_gsh
from tests.kit.home import Home
from tests.kit.storms import FULL, some


def every_command() -> list[tuple[str, ...]]:
    """The words of every command and group."""
    from gshtui.cli.root import root

    def below(group: click.Group, words: tuple[str, ...]) -> list[tuple[str, ...]]:
        found = [words]
        context = click.Context(group)
        for name in group.list_commands(context):
            sub = group.get_command(context, name)
            found += below(sub, (*words, name)) if isinstance(sub, click.Group) else [(*words, name)]
        return found

    return below(root, ())


def test_every_command_has_help_a_summary_and_json() -> None:
    from gshtui.cli.root import root

    words = every_command()
    assert len(words) > 20
    for path in words:
        found: click.Command = root
        for word in path:
            assert isinstance(found, click.Group)
            sub = found.get_command(click.Context(found), word)
            assert sub is not None
            found = sub
        with click.Context(found, info_name="gsh-tui") as context:
            text = found.get_help(context)
        assert len(text.split("\n")) > 4, path
        assert found.help, path
        if not isinstance(found, click.Group) and path not in (("help",), ("hub", "run"), ("acp",), ("mcp", "serve")):
            assert any("--json" in option.opts for option in found.params), path


def test_version_and_help() -> None:
    from gshtui import __version__

    assert run_gsh("--version").out == f"gsh-tui {__version__}\n"
    assert run_gsh("--version", "--json").json["version"] == __version__
    helped = run_gsh("--help")
    assert (helped.code, helped.err) == (0, "")
    assert "124 time-out" in helped.out
    assert run_gsh("help", "session").out.startswith("Usage: gsh-tui session")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nosuch",), "no command or folder"),
        (("promt", "x"), "prompt"),
        (("--nosuch",), "--nosuch"),
        (("--continue", "--new"), "cannot be combined"),
        (("--resume",), "--resume"),
        (("--json",), "for commands"),
        (("--model", "x", "prompt", "hi"), "after the command"),
        (("prompt", "--timeout", "soon", "hi"), "soon"),
        (("prompt", "--timeout", "0", "hi"), "--timeout"),
        (("prompt", "--max-iterations", "0", "hi"), "--max-iterations"),
        (("prompt", "--set", "agent.max_steps", "hi"), "KEY=VALUE"),
        (("prompt",), "no prompt given"),
        (("run",), "LINE"),
        (("completion", "tcsh"), "tcsh"),
        (("session", "show", "a", "b"), "b"),
        (("config", "set", "agent.max_steps"), "VALUE"),
        ((), "needs a terminal"),
        (("--continue",), "needs a terminal"),
        (("session", "resume"), "needs a terminal"),
        (("config", "edit"), "needs a terminal"),
    ],
)
def test_wrong_usage_is_one_sentence_and_code_2(arguments: tuple[str, ...], said: str) -> None:
    ran = warm_program.run_gsh(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_a_dumb_terminal_gets_no_window() -> None:
    leader, follower = pty.openpty()
    try:
        done = subprocess.run(
            command([]),
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env=environment({"TERM": "dumb"}),
            timeout=DEADLINE,
            check=False,
        )
        assert done.returncode == 2
        assert b"needs a terminal" in os.read(leader, 4096)
    finally:
        os.close(leader)
        os.close(follower)


@pytest.mark.parametrize(
    "arguments", some([("--help",), ("config", "schema"), ("completion", "zsh"), ("config", "show")], 2)
)
def test_a_reader_that_goes_away_is_no_traceback(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with start_gsh(*arguments, stdout=writing) as process:
        os.close(writing)
        _, err = process.communicate(timeout=DEADLINE)
    assert err == b""
    assert process.returncode == 1


@pytest.mark.parametrize(("closed", "code"), [("<&-", 0), (">&-", 1), ("2>&-", 0), ("<&- >&- 2>&-", 1)])
def test_closed_streams_are_no_crash(closed: str, code: int, home: Home) -> None:
    script = f'exec "$@" {closed}'
    words = ["/bin/sh", "-c", script, "sh", *command(["config", "path"])]
    done = subprocess.run(words, capture_output=True, env=environment(), timeout=DEADLINE, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode == code
    assert not list(home.state.rglob("crash-*"))


def test_an_output_without_room_is_one_sentence(tmp_path: Path) -> None:
    script = 'ulimit -f 0; exec "$@" >output'
    words = ["/bin/sh", "-c", script, "sh", *command(["config", "path"])]
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=tmp_path, env=environment(), timeout=DEADLINE, check=False
    )
    assert (done.returncode, done.stderr) == (1, "gsh-tui: cannot write the output: File too large.\n")


@pytest.mark.faults
def test_a_fault_nobody_expected_becomes_a_file_and_a_sentence(home: Home) -> None:
    code = (
        "import sys\nfrom gshtui.cli import entry\n"
        "def broken(_): raise RuntimeError('a fault\\x1b[2J with escapes')\n"
        "entry._command = broken\nsys.exit(entry.main(['doctor']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), timeout=DEADLINE, check=False
    )
    (file,) = (home.state / "gsh" / "logs").glob("crash-*.log")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert str(file) in done.stderr
    assert "\x1b" not in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in file.read_text(encoding="utf-8")
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_is_gone_is_one_sentence(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    words = ["/bin/sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", *command(["config", "show"])]
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=gone, env=environment(), timeout=DEADLINE, check=False
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "folder" in done.stderr


def test_the_way_to_the_first_frame_loads_next_to_nothing() -> None:
    """What `gsh-tui` alone imports before it paints: nothing of weight, and little at all."""
    code = (
        "import sys\nbefore = set(sys.modules)\nimport gshtui.cli.entry, gshtui.cli.window\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), cwd=ROOT, check=True
    )
    loaded = {name for name in done.stdout.split() if not name.startswith("gshtui")}
    assert loaded <= {"__future__"}, loaded


def test_root_leaves_nothing_in_somebody_elses_home(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    somebody = os.getuid() or pwd.getpwnam("nobody").pw_uid
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, somebody, -1)
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for words in (["agent", "ls"], ["hub", "start"], ["hub", "run"], ["gsh", "what failed"]):
        assert main(words) == 1
        assert f"{home} is the home of {pwd.getpwuid(somebody).pw_name}" in capfd.readouterr().err
    assert main(["shell", "init", "bash"]) == 0, "its hooks do nothing there, and say nothing at every start of a shell"
    assert not list(home.iterdir())


NO_XDG = {f"XDG_{name}_HOME": "" for name in ("CONFIG", "DATA", "STATE", "CACHE")}
SURROUNDINGS = {
    "relative home": {**NO_XDG, "HOME": "somewhere"},
    "home is a file": {**NO_XDG, "HOME": "/etc/hosts"},
    "nothing can be made at home": {**NO_XDG, "HOME": "/proc"},
    "state folder cannot be made": {"XDG_STATE_HOME": "/proc"},
    "configuration is in a file": {"XDG_CONFIG_HOME": "/etc/hosts"},
    "no temporary folder": {"TMPDIR": "/nonexistent"},
    "unknown locale": {"LC_ALL": "xx_YY.UTF-8", "LANG": "xx"},
    "no locale": {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "12 open files": {"LIMIT": "ulimit -n 12"},
}


@pytest.mark.parametrize("surroundings", SURROUNDINGS)
def test_a_strange_place_is_told_as_such(surroundings: str, home: Home) -> None:
    env = {**SURROUNDINGS[surroundings], "GSH_TEST": "1"}
    limit = env.pop("LIMIT", ":")
    from_its_start = limit != ":" or "LC_ALL" in env
    faces = (["prompt", "hello"], ["doctor"])
    for words in faces if FULL else (faces[list(SURROUNDINGS).index(surroundings) % 2],):
        if from_its_start:
            line = ["sh", "-c", f'{limit}; exec "$@"', "sh", *command(words)]
            ran = subprocess.run(
                line, env=environment(env), stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE
            )
            code, told = ran.returncode, ran.stderr.decode() + ran.stdout.decode()
        else:
            forked = warm_program.run_gsh(*words, env=env)
            code, told = forked.code, forked.err + forked.out
        assert code in (0, 1, 3), told
        assert "inside gsh-tui" not in told
        assert "internal error" not in told
        assert "Traceback" not in told
        assert "Error:" not in told
        assert not list(home.path.rglob("crash-*.log")), told


@pytest.mark.parametrize("words", some([["prompt", "hello"], ["run", "help"], ["--version"]], 2))
def test_a_full_disk_behind_the_output_is_told_once(words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            command(words),
            env=environment({}),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=DEADLINE,
        )
    assert ran.returncode == 1
    assert ran.stderr.decode().count("cannot write the output: No space left on device.") == 1


def test_help_lists_no_word_of_a_feature_that_is_switched_off() -> None:
    from gshtui.cli.declared import FEATURE_WORDS

    groups = ("", *(words.rpartition(" ")[0] for words in FEATURE_WORDS if " " in words))

    def listed(**switches: str) -> set[str]:
        given = {f"GSH_FEATURES__{name.upper()}": on for name, on in switches.items()}
        return {
            f"{group} {line.split()[0]}".strip()
            for group in groups
            for line in run_gsh(*group.split(), "--help", env=given).out.split("\n")
            if line.startswith("  ") and line.strip()
        }

    assert set(FEATURE_WORDS) <= listed(), "all are on by default"
    assert {name for names in FEATURE_WORDS.values() for name in names} == set(FEATURES)
    assert not set(FEATURE_WORDS) & listed(**dict.fromkeys(FEATURES, "false"))
    assert set(FEATURE_WORDS) - listed(ssh="false") == {"people"}, "a browser is served, too"
