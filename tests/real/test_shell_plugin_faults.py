"""The zsh plugin when something is wrong: hostile commands, no hub, one that is deaf, dies or is not ours, no home."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gshtui.bus.events.shell_events import ShellCommandFinished, ShellCommandStarted
from gshtui.settings import paths
from tests.kit.home import Home
from tests.kit.reporting_hub import ReportingHub, spooled
from tests.kit.shells import PLUGIN, PipedShell, Shell, zsh
from tests.kit.storms import examples, some

NOBODY = 65_534


@pytest.fixture
def place() -> Path:
    return paths.runtime_dir() / "gsh.sock"


@pytest.fixture
def shell() -> Iterator[Shell]:
    made = Shell()
    yield made
    made.close()


def names(lines: list[dict[str, object]]) -> list[object]:
    """The commands among lines, each once, in order."""
    return list(dict.fromkeys(line["command"] for line in lines if line["type"] == "ShellCommandStarted"))


def ends(lines: list[dict[str, object]]) -> set[object]:
    return {(line["shell"], line["number"]) for line in lines if line["type"] == "ShellCommandFinished"}


HOSTILE = {
    "escape": b"true $'\\x16\\x1b'; true '\x16\x1b[31mred\x16\x1b[0m'",
    "invalid UTF-8": b"true '\xff\xfe caf\xe9 \xed\xa0\x80'",
    "emoji": "true '👩‍👩‍👧 é 𐍈 \u2028'".encode(),
    "quotes": b"""true "a\\"b\\\\" 'c"d' `true` $(true \\')""",
    "tab": b"true 'a\x16\tb'",
    "bell": b"true '\x16\x07\x16\x01\x16\x7f'",
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_hostile_commands(place: Path, shell: Shell, name: str) -> None:
    hub = ReportingHub(place)
    typed = HOSTILE[name]
    assert shell.run(typed) == 0
    hub.wait_for(lambda: bool(hub.of(ShellCommandFinished)))
    (started,) = hub.of(ShellCommandStarted)
    raw = re.sub(rb"\x16(.)", rb"\1", typed, flags=re.DOTALL)
    # Each byte that is no UTF-8 is one U+FFFD.
    expected = re.sub("[\udc80-\udcff]", "\ufffd", raw.decode("utf-8", "surrogateescape"))
    assert started.command == expected
    assert hub.bad == []
    hub.close()


def test_a_command_of_several_lines(place: Path, shell: Shell) -> None:
    hub = ReportingHub(place)
    shell.press_keys("for i in 1 2; do\n")
    assert shell.run("true $i; done") == 0
    hub.wait_for(lambda: bool(hub.of(ShellCommandFinished)))
    assert [e.command for e in hub.of(ShellCommandStarted)] == ["for i in 1 2; do\ntrue $i; done"]
    hub.close()


@pytest.mark.parametrize(
    ("letter", "size"),
    some([("x", 1), ("é", 2), ("😀", 4), ("$'\\x01'", 1), ("$'\\0'", 1), ("$'\\xff'", 1)], 2),
)
def test_a_megabyte_is_cut(place: Path, shell: Shell, letter: str, size: int) -> None:
    hub = ReportingHub(place)
    shell.run("true begun")
    shell.run(f"piece={letter}")
    shell.run(f'long="a${{(pl:{1_048_576 // size}::$piece:)}}"')
    shell.run("for hook in $preexec_functions; do $hook $long $long $long; done")
    hub.wait_for(lambda: len(hub.of(ShellCommandStarted)) >= 5)
    event = hub.of(ShellCommandStarted)[-1]
    assert event.cut > 900_000
    told = event.command.replace("\ufffd", "?").encode()
    assert len(told) + event.cut == 1_048_577
    assert len(event.command) > 1_000
    assert hub.bad == []
    hub.close()


SCRIPT = f"""
_gsh_home={PLUGIN.parent}
as=(emulate -R zsh -o no_aliases -o extended_glob -o no_multibyte -o local_traps -c)
$as 'source $_gsh_home/zsh/start.zsh; _gsh_load'
$as 'say() {{ local REPLY text=${{(g::)1}}; _gsh_bounded "$text" $2; print -r -- $_gsh_cut "$REPLY" }}'
while IFS=' ' read -r size text; do say "$text" $size; done
"""


def escaped(raw: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in raw)


@given(
    st.lists(
        st.tuples(
            st.one_of(st.binary(max_size=60), st.text(max_size=30).map(lambda t: t.encode("utf-8", "surrogatepass"))),
            st.sampled_from([30_000, 24]),
        ),
        min_size=30,
        max_size=60,
    )
)
@settings(max_examples=examples(10))
def test_any_bytes_become_json(cases: list[tuple[bytes, int]]) -> None:
    given = "".join(f"{size} {escaped(raw)}\n" for raw, size in cases)
    ran = subprocess.run([zsh(), "-f", "-c", SCRIPT], input=given.encode(), capture_output=True, timeout=30, check=True)
    lines = ran.stdout.split(b"\n")[:-1]
    assert len(lines) == len(cases), ran.stderr
    for (raw, size), line in zip(cases, lines, strict=True):
        cut, _, text = line.partition(b" ")
        kept = raw[: len(raw) - int(cut)]
        expected = re.sub("[\udc80-\udcff]", "\ufffd", kept.decode("utf-8", "surrogateescape"))
        assert json.loads(text.decode("utf-8", "strict")) == expected
        if size > 100:
            assert cut == b"0"


def test_without_a_hub_it_goes_into_the_spool(home: Home, place: Path, shell: Shell) -> None:
    assert shell.run("false") == 1
    shell.run("true 'é' \"q\"")
    found = spooled(home.data)
    assert names(found) == ["false", "true 'é' \"q\""]
    assert [line["seq"] for line in found] == list(range(1, len(found) + 1))
    assert (home.data / "gsh" / "spool").stat().st_mode & 0o777 == 0o700
    hub = ReportingHub(place)
    shell.run("true live")
    hub.wait_for(lambda: len(hub.of(ShellCommandFinished)) >= 1)
    assert names(hub.kept) == ["true live"]
    hub.close()


def not_a_socket(place: Path) -> None:
    place.write_text("mine")


def stale(place: Path) -> None:
    ReportingHub(place).close()


def a_link_to_a_socket(place: Path) -> ReportingHub:
    hub = ReportingHub(place.parent / "real.sock")
    place.symlink_to(place.parent / "real.sock")
    return hub


def a_folder_for_everybody(place: Path) -> ReportingHub:
    hub = ReportingHub(place)
    place.parent.chmod(0o777)
    return hub


def a_linked_folder(place: Path) -> ReportingHub:
    real = place.parent.with_name("elsewhere")
    place.parent.rename(real)
    hub = ReportingHub(real / "gsh.sock")
    place.parent.symlink_to(real)
    return hub


def a_strangers_socket(place: Path) -> ReportingHub:
    hub = ReportingHub(place)
    if os.geteuid() == 0:
        os.chown(place, NOBODY, NOBODY)
    else:  # only root can make one: then a folder that is root's stands for it
        os.environ["GSH_GENERAL__SOCKET_PATH"] = "/usr/gsh.sock"
    return hub


@pytest.mark.parametrize(
    "wrong", [not_a_socket, stale, a_link_to_a_socket, a_folder_for_everybody, a_linked_folder, a_strangers_socket]
)
def test_a_socket_that_is_none_of_ours(home: Home, place: Path, wrong: object) -> None:
    assert callable(wrong)
    hub = wrong(place)
    shell = Shell()
    try:
        assert shell.run("true first") == 0
        assert shell.run("(exit 5)") == 5
        assert b"gsh" not in shell.output
        assert names(spooled(home.data)) == ["true first", "(exit 5)"]
    finally:
        shell.close()
        if isinstance(hub, ReportingHub):
            hub.close()
    if wrong is not_a_socket:
        assert place.read_text() == "mine"


def test_a_hub_that_does_not_read(home: Home, place: Path, shell: Shell) -> None:
    """Its buffer is full after a while; then everything goes to the spool, and the prompt comes all the same."""
    hub = ReportingHub(place, deaf=True)
    big = "true " + "x" * 3_000
    for number in range(40):
        assert shell.run(f"{big} {number}") == 0
    assert len(names(spooled(home.data))) >= 30
    hub.close()


def test_what_a_hub_was_sent_and_never_kept_is_in_the_spool(home: Home, place: Path, shell: Shell) -> None:
    """It is killed before it has read anything, while the shell waits for its person."""
    hub = ReportingHub(place, deaf=True)
    shell.run("true")
    hub.close()
    left = spooled(home.data)
    assert names(left) == ["true"] and len(ends(left)) == 1


def test_a_reader_has_the_lock_of_the_spool(home: Home, place: Path, shell: Shell) -> None:
    """The line is appended all the same, and once more when the lock is free."""
    shell.run("true first")
    (file,) = home.data.glob("gsh/spool/*.jsonl")
    with file.open("rb+") as read:
        fcntl.lockf(read, fcntl.LOCK_EX)
        shell.run("true second")
        assert names(spooled(home.data)) == ["true first", "true second"]
    read_at = len(spooled(home.data))
    shell.run("true third")
    assert names(spooled(home.data)) == ["true first", "true second", "true third"]
    assert len(spooled(home.data)) > read_at + 2


def test_a_hub_that_dies_and_comes_back(home: Home, place: Path, shell: Shell) -> None:
    kept: list[dict[str, object]] = []
    wanted: list[str] = []
    for round in range(5):
        hub = ReportingHub(place, kept)
        for number in range(4):
            wanted.append(f"true {round} {number}")
            shell.run(wanted[-1])
        hub.close()
        wanted.append(f"true {round} dead")  # nobody listens
        shell.run(wanted[-1])
    assert shell.exit() == 0
    everything = [*kept, *spooled(home.data)]
    assert sorted(map(str, names(everything))) == sorted([*wanted, "exit"])
    assert len(ends(everything)) == len(wanted)


def test_a_hub_that_dies_in_the_middle_of_a_command(home: Home, place: Path, shell: Shell) -> None:
    kept: list[dict[str, object]] = []
    hub = ReportingHub(place, kept)
    shell.run("true")
    shell.press_keys("read; true long\n")
    hub.wait_for(lambda: "read; true long" in names(kept))
    hub.close()
    later = ReportingHub(place, kept)
    shell.press_keys("\n")
    shell.wait_for_prompt()
    later.wait_for(lambda: len(later.of(ShellCommandFinished)) == 2)
    later.close()


def test_kill_9_of_the_shell(place: Path, shell: Shell) -> None:
    hub = ReportingHub(place)
    shell.press_keys("true; kill -9 $$\n")
    hub.wait_for(lambda: names(hub.kept) == ["true; kill -9 $$"])
    hub.close()


def test_no_home_that_can_be_written(place: Path) -> None:
    os.environ["XDG_DATA_HOME"] = os.environ["XDG_STATE_HOME"] = "/dev/null/nowhere"
    with contextlib.closing(Shell()) as shell:
        for number in range(3):
            assert shell.run(f"true {number}") == 0
        hub = ReportingHub(place)
        assert shell.run("true live") == 0
        # What could not be spooled waited in the shell.
        hub.wait_for(lambda: len(names(hub.kept)) == 4)
        assert b"gsh" not in shell.output
        hub.close()


def test_somebody_elses_home(home: Home) -> None:
    """As in a shell by sudo that kept HOME: nothing is written there."""
    if os.geteuid() == 0:
        os.chown(home.data, NOBODY, NOBODY)
    else:
        os.environ["XDG_DATA_HOME"] = "/usr/share"
    with contextlib.closing(Shell()) as shell:
        assert shell.run("true") == 0
        assert list(home.data.iterdir()) == []
        assert b"gsh" not in shell.output


def test_without_a_runtime_folder(home: Home, tmp_path: Path) -> None:
    del os.environ["XDG_RUNTIME_DIR"]
    os.environ["TMPDIR"] = str(home.runtime)
    hub = ReportingHub(paths.runtime_dir() / "gsh.sock")
    shell = Shell()
    try:
        shell.run("true")
        hub.wait_for(lambda: names(hub.kept) == ["true"])
    finally:
        shell.close()
        hub.close()


@pytest.mark.parametrize("missing", ["net/socket", "zselect", "system", "datetime", "stat", "files"])
def test_a_zsh_without_a_module(home: Home, place: Path, tmp_path: Path, missing: str) -> None:
    """As where a distribution leaves one out: slower, but nothing is lost and nothing is said."""
    ran = subprocess.run([zsh(), "-fc", "print -r -- $module_path[1]"], capture_output=True, text=True, check=True)
    for file in Path(ran.stdout.strip()).rglob("*.so"):
        named = file.relative_to(ran.stdout.strip())
        if named.with_suffix("") != Path("zsh") / missing:
            (tmp_path / named).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / named).symlink_to(file)
    hub = ReportingHub(place)
    shell = Shell(before=f"module_path=({tmp_path})")
    try:
        assert shell.output_of(f"zmodload zsh/{missing} 2>/dev/null; echo $?") == "1"
        assert shell.run("true é") == 0
        assert shell.exit() == 0
        live = missing not in ("net/socket", "zselect")
        if live:
            hub.wait_for(lambda: len(names(hub.kept)) == 3)
        both = [*hub.kept, *spooled(home.data)]
        assert [str(name) for name in names(both)][1:] == ["true é", "exit"]
        assert bool(hub.kept) == live
        assert hub.bad == []
        assert b"gsh" not in shell.output
    finally:
        shell.close()
        hub.close()


def test_ten_shells_and_a_hub_that_is_killed_again_and_again(home: Home, place: Path) -> None:
    """Every command of every shell is kept by a hub or in the spool, with its end."""
    kept: list[dict[str, object]] = []
    hub = ReportingHub(place, kept)
    shells = [PipedShell() for _ in range(10)]
    wanted: set[str] = set()

    def told() -> int:
        """Lines that came out of the shells, wherever to."""
        return len(kept) + sum(file.read_bytes().count(b"\n") for file in home.data.glob("gsh/spool/*.jsonl"))

    try:
        for life in range(6):
            before = told()
            for number, shell in enumerate(shells):
                commands = [f": {number} {life} {command}" for command in range(25)]
                wanted.update(commands)
                shell.feed(commands)
            # At least 500 lines come of it: each hub dies while they do.
            hub.wait_for(lambda before=before: told() > before + 100)
            hub.close()
            hub = ReportingHub(place, kept)
        # A hub that dies while it is written to ends no shell: each comes to its own end.
        assert [shell.exit() for shell in shells] == [0] * 10
    finally:
        for shell in shells:
            shell.close()
        hub.close()
    assert kept  # they were heard at all
    everything = [*kept, *spooled(home.data)]
    assert wanted - set(map(str, names(everything))) == set()
    started: dict[Any, str] = {
        (line["shell"], line["number"]): line["command"] for line in everything if line["type"] == "ShellCommandStarted"
    }
    assert {started[key] for key in ends(everything)} >= wanted
