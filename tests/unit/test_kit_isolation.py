"""The isolation that every other test relies on: a made-up home, and no network beyond this machine."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.kit.home import DEAD, Home, end_servers, made_up_home, servers_left
from tests.kit.loopback_only import is_local, loopback_only


def test_home_and_folders_are_fresh_and_private(home: Home) -> None:
    assert Path.home() == home.path
    assert os.environ["XDG_CONFIG_HOME"] == str(home.config)
    for folder in (home.path, home.config, home.data, home.state, home.cache, home.runtime):
        assert folder.is_dir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert not list(folder.iterdir())
    assert len(str(home.runtime / "gsh" / "gsh.sock")) < 60


def test_personal_variables_are_gone_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.setenv("TMUX", "/tmp/tmux-0/default,1,0")
    monkeypatch.setenv("GSH_AGENT__AUTO_APPROVE", "true")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://example.com")
    with made_up_home():
        for name in ("ANTHROPIC_API_KEY", "TMUX", "GSH_AGENT__AUTO_APPROVE", "OPENAI_BASE_URL"):
            assert name not in os.environ
        assert os.environ["OLLAMA_HOST"] == DEAD
    assert os.environ["ANTHROPIC_API_KEY"] == "secret"
    assert os.environ["TMUX"] == "/tmp/tmux-0/default,1,0"


@pytest.mark.parametrize("change", [None, "file", "mode", "beside", "gone"])
def test_the_next_home_is_the_last_one_under_another_name_if_that_was_left_untouched(change: str | None) -> None:
    with made_up_home() as one:
        mark = os.open(one.path, os.O_RDONLY)  # while it is open, no other folder has its number
        if change == "file":
            (one.state / "log").touch()
        elif change == "mode":
            one.cache.chmod(0o500)
        elif change == "beside":
            one.path.with_name("other").mkdir()
        elif change == "gone":
            one.config.rmdir()
    with made_up_home() as other:
        assert not one.path.parent.exists() and other.untouched
        assert os.path.samestat(os.fstat(mark), other.path.stat()) == (change is None)
    os.close(mark)


async def test_a_server_that_outlives_its_test_is_seen_and_ended(home: Home) -> None:
    script = (
        "import signal, socket; server = socket.socket(socket.AF_UNIX); server.bind('tmux-0/gsh'); server.listen();"
        "print(flush=True); signal.pause()"
    )
    (home.runtime / "tmux-0").mkdir()
    left = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, cwd=home.runtime, stdout=asyncio.subprocess.PIPE
    )
    assert left.stdout is not None
    assert await left.stdout.readline() == b"\n"
    assert servers_left(home, within=0) == [home.runtime / "tmux-0" / "gsh"]
    end_servers(home)
    assert await left.wait() == -signal.SIGKILL
    assert servers_left(home, within=0) == []  # the socket of one that has ended is no server


def test_time_and_language_are_pinned() -> None:
    assert time.strftime("%z", time.localtime(0)) == "+0000"
    child = subprocess.run(
        [sys.executable, "-c", "import os; print(os.environ['LC_ALL'], os.environ['HOME'])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert child.stdout.split() == ["C.UTF-8", os.environ["HOME"]]


@pytest.mark.parametrize(
    ("address", "local"),
    [
        (("127.0.0.1", 80), True),
        (("127.9.9.9", 80), True),
        (("::1", 80, 0, 0), True),
        (("localhost", 80), True),
        ("/tmp/some.sock", True),
        (("8.8.8.8", 53), False),
        (("api.anthropic.com", 443), False),
        (("2001:db8::1", 443, 0, 0), False),
    ],
)
def test_what_counts_as_this_machine(address: object, local: bool) -> None:
    assert is_local(address) is local


def test_network_is_refused_and_kept_even_when_swallowed() -> None:
    with loopback_only() as refused:
        with pytest.raises(socket.gaierror):
            socket.create_connection(("api.anthropic.com", 443), timeout=1)
        with socket.socket() as sock, pytest.raises(OSError, match="may not reach the network"):
            sock.connect(("192.0.2.1", 80))
    assert len(refused) == 2


async def test_loopback_works() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection("localhost", server.sockets[0].getsockname()[1])
        assert await reader.read() == b"hello"
        writer.close()
