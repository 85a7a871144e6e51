"""Variables of the environment, each with values that nobody expects, at each face: a sentence or nothing, no fault.

A face may say that it cannot use what it was given; it ends by itself, with no crash report.
"""

import contextlib
import itertools
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from gshtui.settings import paths
from tests.kit.command import environment, run_gsh
from tests.kit.home import Home
from tests.kit.pty_child import window_of
from tests.kit.storms import FULL

VARIABLES = (
    "TERM",
    "LANG",
    "LC_ALL",
    "HOME",
    "PATH",
    "SHELL",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "TMUX_TMPDIR",
    "EDITOR",
    "COLORTERM",
)
VALUES = {"undecodable": "/tmp/\udcff\udcfe", "empty": "", "newline": "/tmp/a\nb", "long": "/" + "x" * 100_000}
FACES = {"run": ("run", "echo hi"), "prompt": ("prompt", "hello"), "doctor": ("doctor",)}
EACH = list(itertools.product(VARIABLES, VALUES))
FAULTY = re.compile(r"inside gsh-tui|internal error|Traceback")


def _no_fault(said: str) -> None:
    assert not FAULTY.search(said), said[-2_000:]
    assert not list(paths.logs_dir().glob("crash-*.log"))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("part", range(len(VALUES) if FULL else 1))
def test_no_variable_is_a_fault_of_ours(part: int, face: str, home: Home, tmp_path: Path) -> None:
    """By default each face has every variable or every value once; together they have all of both."""
    place = list(FACES).index(face)
    some = EACH[part :: len(VALUES)] if FULL else [EACH[(place + 5 * step) % len(EACH)] for step in range(0, 12, 2)]
    for name, value in some:
        ended = run_gsh(*FACES[face], cwd=tmp_path, env={name: VALUES[value]})
        _no_fault(ended.out + ended.err)
        assert ended.code in (0, 1, 2, 3), (name, value, ended)


@pytest.mark.parametrize(("name", "value"), EACH if FULL else [("LANG", "undecodable"), ("XDG_DATA_HOME", "long")])
def test_no_variable_takes_a_window_down(
    name: str, value: str, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as odd:
        odd.setenv(name, VALUES[value])
        with contextlib.closing(window_of(tmp_path)) as child:
            child.read_until(lambda: b"\x1b[?2004h" in child.output or b"gsh-tui: " in child.output)
            child.write(b"\x11")
            assert child.wait() in (0, 1, 2)
    said = child.output.decode("utf-8", "replace")
    _no_fault(said)
    if value == "long" and name.startswith("XDG_"):
        assert f"gsh-tui: {name} (100,001 bytes) is too long for a path; " in said


def test_a_window_says_that_it_may_use_too_little_memory(tmp_path: Path) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (350 << 20, 350 << 20))

    words = (
        sys.executable,
        "-c",
        "from gshtui.cli.opening import Opening; from gshtui.cli.window import open_window;"
        " raise SystemExit(open_window(Opening()))",
    )
    ended = subprocess.run(words, cwd=tmp_path, env=environment(), preexec_fn=limited, capture_output=True, check=False)
    assert ended.returncode == 1
    assert b"may use 350 MB of addresses here (ulimit -v), and a window needs 512" in ended.stderr
