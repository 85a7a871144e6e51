"""Codex's command lines with an app-server: which ones are started with it, and what the terminal's shell does."""

import asyncio
import os
import shlex
import stat
from pathlib import Path

import msgspec
import pytest

from gshtui.bus.agent_data import AgentRow
from gshtui.programs.codex.app_server_launch import server_socket, socket_of, with_server
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.session import launch
from gshtui.programs.session.live_sources import link_to
from gshtui.settings import paths
from gshtui.tmux.server import TmuxServer
from tests.kit.home import Home

SOCKET = Path("/run/user/0/gsh/codex/abc")
SERVED = (
    ("", ""),
    ("-m gpt-5.5 -a never -s workspace-write", ""),
    (
        "-c model=x --config=a=1 --enable one --disable two",
        "-c model=x --config=a=1 --enable one --disable two",
    ),
    ("resume 01a22185", ""),
    ("fork 01a22185 -c hooks=1", "-c hooks=1"),
    ("--search --dangerously-bypass-approvals-and-sandbox", ""),
)
AS_TYPED = (
    "exec words",
    "fork 01a22185 -C /srv",
    "--remote unix:///other",
    "--no-daemon",
    "--add-dir /srv",
    "--worktree",
    "-p work",
    "--oss",
    "app-server",
    "mcp list",
    "resume",
    "resume --last",
    "a prompt",
    "-m",
    "--unheard-of",
    "resume 01a22185 -s read-only -a on-request",
    "fork 01a22185 --sandbox=read-only",
)


@pytest.mark.parametrize(("words", "told"), SERVED)
def test_a_command_line_that_does_the_same_gets_a_server(words: str, told: str) -> None:
    argv = ("env", "A=b c", "/opt/codex", *shlex.split(words))
    made = with_server(argv, 2, ("plain",), SOCKET)
    assert made is not None
    screen, command = made
    script = command[-1]
    assert screen == (*argv, "--remote", f"unix://{SOCKET}")
    server = f"env 'A=b c' /opt/codex app-server --listen unix://{SOCKET} {told}".rstrip()
    assert server in script
    assert script.rstrip().endswith(f"exec {shlex.join(argv)} --remote unix://{SOCKET}")
    assert "exec plain\n" in script


@pytest.mark.parametrize(
    "permissions",
    [
        "-s read-only -a on-request",
        "--sandbox=read-only",
        "--yolo",
        "-c approval_policy=never",
        "--config=sandbox_mode=x",
    ],
)
def test_a_conversation_that_goes_on_keeps_its_permissions(permissions: str) -> None:
    argv = ("codex", "resume", "01a22185", "-m", "x", *shlex.split(permissions), "-c", "hooks=1")
    made = with_server(argv, 0, ("plain",), SOCKET, keeps=True)
    assert made is not None
    screen, command = made
    assert screen == ("codex", "resume", "01a22185", "-m", "x", "-c", "hooks=1", "--remote", f"unix://{SOCKET}")
    assert f"--listen unix://{SOCKET} -c hooks=1 " in command[-1]
    assert with_server(argv, 0, ("plain",), SOCKET) is None, "one that a person names may have had others"


@pytest.mark.parametrize("how", [launch.RESUMED, launch.FORKED])
@pytest.mark.parametrize(
    ("own", "mode", "served"),
    [
        ("", "", True),
        ("", "-s workspace-write -a on-request", True),
        ("-s read-only -a on-request", "", True),
        ("--yolo", "", True),
        ("-s workspace-write", "", False),
        ("--sandbox=workspace-write", "", False),
        ("-c 'sandbox_mode=\"workspace-write\"'", "", False),
        ("-c default_permissions=mine", "", False),
    ],
)
def test_words_whose_limits_codex_does_not_keep_are_said_again(
    how: str, own: str, mode: str, served: bool, home: Home
) -> None:
    words = ("codex", "resume", "01a22185", *shlex.split(own))
    alone, plain = (*words, *shlex.split(mode)), (*words, *shlex.split(mode), "--no-daemon")
    made = launch.Launch(plain, how=how, alone=words)
    argv, command = launch.with_server(profiles.load().get("codex"), made, alone, plain, home.data, "0001")
    assert bool(command) == ("--remote" in argv) == served
    assert served or argv == plain


@pytest.mark.parametrize("words", AS_TYPED)
def test_any_other_stays_as_it_was_typed(words: str) -> None:
    assert with_server(("codex", *shlex.split(words)), 0, ("plain",), SOCKET) is None


def test_its_socket_is_private_short_and_known_again(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    socket = server_socket(home.data, "0001")
    assert socket is not None
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
    assert server_socket(home.data, "0002") != socket != server_socket(home.config, "0001")
    assert socket_of(("codex", "--remote", f"unix://{socket}")) == socket
    profile, row = profiles.load().get("codex"), AgentRow(id="0001", name="it", kind="cli", pid=7)
    served = msgspec.structs.replace(row, argv=("codex", "--remote", f"unix://{socket}"))
    assert link_to(profile, TmuxServer("gsh"), served) is not None
    assert link_to(profile, TmuxServer("gsh"), row) is None
    assert link_to(profile, TmuxServer("gsh"), msgspec.structs.replace(served, socket="ssh://there/gsh")) is None
    assert link_to(msgspec.structs.replace(profile, protocol=""), TmuxServer("gsh"), served) is None
    for argv in (("codex",), (), ("--remote",), ("codex", "--remote", "unix:///tmp/other"), ("codex", "--remote", "x")):
        assert socket_of(argv) is None, argv
    deep = home.path / ("a" * 90)
    deep.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    assert server_socket(home.data, "0001") is None


def program(folder: Path, *, help: str, server: str) -> Path:
    """A stand-in for Codex that writes down how it was called."""
    path = folder / "codex"
    path.write_text(
        "#!/bin/sh\n"
        f'echo "$@" >> {folder}/calls\n'
        f'case "$1" in --help) echo "{help}" ;; app-server) {server} ;; *) echo "$@" > {folder}/screen ;; esac\n',
        "utf-8",
    )
    path.chmod(0o700)
    return path


LISTENS = (
    "exec python3 -c 'import signal,socket,sys; s=socket.socket(socket.AF_UNIX);"
    ' s.bind(sys.argv[1][7:]); s.listen(); signal.pause()\' "$3"'
)


@pytest.mark.parametrize(
    ("help", "server", "screen"),
    [
        ("--remote --no-daemon", LISTENS, "--remote"),
        ("--remote --no-daemon", "exit 2", "--no-daemon"),
        ("--no-daemon", LISTENS, "--no-daemon"),
        ("", LISTENS, ""),
    ],
)
async def test_a_server_that_is_not_there_costs_nothing(
    help: str, server: str, screen: str, home: Home, tmp_path: Path
) -> None:
    path = program(tmp_path, help=help, server=server)
    profile = profiles.load().get("codex")
    made = await launch.first_launch(
        profile, (str(path),), agent="0001", data=home.data, environ=os.environ, cwd=str(tmp_path)
    )
    argv, command = made.argv, ()
    if made.alone:
        argv, command = launch.with_server(profile, made, made.alone, made.argv, home.data, "0001")
    process = await asyncio.create_subprocess_exec(*(command or argv), cwd=tmp_path, start_new_session=True)
    try:
        assert await process.wait() == 0
        said = (tmp_path / "screen").read_text("utf-8").split()
        assert said[:1] == ([screen] if screen else [])
        assert bool(command) == ("--remote" in help)
        assert socket_of(argv) == (server_socket(home.data, "0001") if command else None)
    finally:
        os.killpg(process.pid, 15) if command and server == LISTENS else None


@pytest.mark.parametrize("limits", [(), ("-s", "workspace-write")])
@pytest.mark.parametrize("help", ["--remote --no-daemon", "--no-daemon"])
async def test_a_copy_that_no_server_makes_is_made_by_its_command_line(
    help: str, limits: tuple[str, ...], home: Home, tmp_path: Path
) -> None:
    path, origin = program(tmp_path, help=help, server="exit 2"), "01a22185-4e6b-7902-a827-275197df7fad"
    made = await launch.first_launch(
        profiles.load().get("codex"),
        (str(path), *limits),
        agent="0001",
        data=home.data,
        environ=os.environ,
        cwd=str(tmp_path),
        origin=origin,
    )
    assert made.argv == (str(path), "fork", origin, "-C", str(tmp_path), *limits, "--no-daemon")
    assert ("app-server" in (tmp_path / "calls").read_text("utf-8")) == ("--remote" in help and not limits)


async def test_a_profile_that_names_no_protocol_starts_it_alone(home: Home, tmp_path: Path) -> None:
    path = program(tmp_path, help="--remote --no-daemon", server=LISTENS)
    own = paths.config_dir(create=True) / "profiles"
    own.mkdir()
    (own / "codex.toml").write_text('extends = "codex"\nprotocol = ""\n', "utf-8")
    made = await launch.first_launch(
        profiles.load().get("codex"), (str(path),), agent="0001", data=home.data, environ=os.environ
    )
    assert made.alone == () and made.argv == (str(path), "--no-daemon")
