"""One process works on a record: a second face is its client, or ends with one sentence."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import psutil
import pytest

from gshtui.fleet.keeper.keeper import KeeperState, running_keeper, stop_keeper
from gshtui.settings.paths import KEEPER_STATE, config_dir, config_file, data_dir
from tests.kit.pty_child import window_of
from tests.kit.tmux import eventually, named_servers
from tests.kit.warm_program import run_gsh

__all__ = ["named_servers"]

pytestmark = [pytest.mark.tmux, pytest.mark.usefixtures("named_servers")]
OFFLINE = ("prompt", "--provider", "offline", "--yes")
FACES = (
    ("session", "ls"),
    ("agent", "ls"),
    ("agent", "send", "nobody", "moss"),
    ("run", "usage"),
    ("run", "--as", "main", "--yes", "--timeout", "20", "bash true"),
    ("shell", "log"),
    (*OFFLINE, "run echo moss"),
    ("mcp", "serve"),
)


def writers(data: Path) -> set[int]:
    """The processes that have the record of this folder open, but for what one of them is just starting."""
    found: dict[int, int] = {}
    for process in psutil.process_iter():
        try:
            if any(one.path == str(data / "gsh.db") for one in process.open_files()):
                found[process.pid] = process.ppid()
        except psutil.Error:
            continue
    return {pid for pid, parent in found.items() if parent not in found}


@asynccontextmanager
async def watched(data: Path | None = None) -> AsyncGenerator[set[int]]:
    """All that have it open meanwhile."""
    seen: set[int] = set()

    async def look() -> None:
        while True:
            seen.update(await asyncio.to_thread(writers, data or data_dir()))
            await asyncio.sleep(0)

    looking = asyncio.ensure_future(look())
    try:
        yield seen
        seen.update(await asyncio.to_thread(writers, data or data_dir()))
    finally:
        looking.cancel()


@pytest.mark.parametrize("second", (*FACES, ("gsh", "run", "--", "true")), ids=" ".join)
@pytest.mark.parametrize("keep", ["auto", "never", "alone"])
@pytest.mark.timeout(120)
async def test_one_has_the_record(
    keep: str, second: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the settings want none that stays, the window that is open."""
    monkeypatch.setenv("GSH_HUB__KEEP", keep)
    with contextlib.closing(window_of(tmp_path)) as window:
        window.read_until(lambda: b"\x1b[?2004h" in window.output)
        holder = await eventually(lambda: asyncio.to_thread(running_keeper, data_dir()), until=is_ready)
        assert holder is not None
        async with watched() as seen:
            ran = await asyncio.to_thread(run_gsh, *second, cwd=tmp_path)
        assert (seen, "The hub" in ran.err) == ({holder.process.pid}, False), ran.err
    await stop_keeper(data_dir())


@pytest.mark.parametrize("second", FACES, ids=" ".join)
async def test_beside_one_that_does_not_answer_nothing_else_writes(
    second: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSH_HUB__KEEP", "auto")
    assert (await asyncio.to_thread(run_gsh, "session", "ls")).code == 0
    holder = running_keeper(data_dir())
    assert holder is not None
    os.kill(holder.process.pid, signal.SIGSTOP)
    async with watched() as seen:
        ran = await asyncio.to_thread(run_gsh, *second, cwd=tmp_path, stdin=b"")
    assert (ran.code, seen, ran.err.count("\n")) == (1, {holder.process.pid}, 1)
    assert f"(pid {holder.process.pid}) does not answer" in ran.err
    await stop_keeper(data_dir())


async def test_words_at_once_without_a_hub_that_stays_are_one_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is the hub meanwhile, and the others are its clients, or come after it."""
    monkeypatch.setenv("GSH_HUB__KEEP", "alone")
    words = (("run", "bash 'sleep 1; echo moss'"), *FACES[:3], (*OFFLINE, "run echo moss"), ("shell", "log"))
    runs = [asyncio.ensure_future(asyncio.to_thread(run_gsh, *one, cwd=tmp_path)) for one in words]
    at_once: list[set[int]] = []
    while not all(run.done() for run in runs):
        at_once.append(await asyncio.to_thread(writers, data_dir()))
    assert max(map(len, at_once)) == 1
    ends = [(run.result().code, run.result().err) for run in runs]
    assert [code for code, _ in ends] == [0, 0, 0, 1, 0, 0], ends
    assert "There is no agent" in ends[3][1]


async def test_a_window_opens_beside_a_word_that_is_the_hub_and_is_it_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSH_HUB__KEEP", "alone")
    until = tmp_path / "until"
    word = asyncio.ensure_future(
        asyncio.to_thread(run_gsh, "run", f"bash 'while ! [ -e {until} ]; do sleep 0.1; done; echo moss'", cwd=tmp_path)
    )
    first = await eventually(lambda: asyncio.to_thread(running_keeper, data_dir()), until=is_ready)
    with contextlib.closing(window_of(tmp_path)) as window:
        window.read_until(lambda: b"\x1b[?2004h" in window.output)
        until.touch()
        assert (await word).out == "moss\n"
        then = await eventually(
            lambda: asyncio.to_thread(running_keeper, data_dir()), until=lambda now: is_ready(now) and now != first
        )
        assert then is not None and then.process.pid == window.pid


def is_ready(found: KeeperState | None) -> bool:
    return found is not None and found.ready


@pytest.mark.parametrize("named", [False, True], ids=["the usual folder", "another folder"])
async def test_who_finds_its_socket_elsewhere_is_its_client(
    named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a job of cron, which has no `XDG_RUNTIME_DIR`. `named`: the settings name the folder of the record."""
    monkeypatch.setenv("GSH_HUB__KEEP", "auto")
    data = tmp_path / "record" if named else data_dir()
    if named:
        config_dir(create=True)
        config_file().write_text(f'[general]\nsession_dir = "{data}"\n')
    assert (await asyncio.to_thread(run_gsh, "session", "ls")).code == 0
    holder = running_keeper(data)
    assert holder is not None
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    for words in (("session", "ls"), (*OFFLINE, "run echo moss")):
        async with watched(data) as seen:
            ran = await asyncio.to_thread(run_gsh, *words, cwd=tmp_path)
        assert (ran.code, seen) == (0, {holder.process.pid}), ran.err
    await stop_keeper(data)


async def test_beside_one_that_is_not_reached_nothing_else_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container that shares the home folder: the socket lies elsewhere, and nothing says where."""
    monkeypatch.setenv("GSH_HUB__KEEP", "auto")
    assert (await asyncio.to_thread(run_gsh, "hub", "start")).code == 0
    holder = running_keeper(data_dir())
    assert holder is not None
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    (data_dir() / KEEPER_STATE).write_bytes(msgspec.json.encode(msgspec.structs.replace(holder, socket="")))
    async with watched() as seen:
        faces = (("session", "ls"), (*OFFLINE, "run echo moss"), ("mcp", "serve"), ("acp",))
        runs = [asyncio.to_thread(run_gsh, *words, cwd=tmp_path, stdin=b"") for words in faces]
        ends = [
            (ran.code, ran.err.count("\n"), "is not reached from here. `gsh-tui hub stop` ends it" in ran.err)
            for ran in await asyncio.gather(*runs)
        ]
    assert (set(ends), seen) == ({(1, 1, True)}, {holder.process.pid}), ends
    await stop_keeper(data_dir())
