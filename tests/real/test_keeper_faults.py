"""What may happen to a keeper: it is killed, put to sleep, or another one runs; windows come and go meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shlex
import signal
import stat
from pathlib import Path

import psutil
import pytest

from gshtui.bus.bus import Bus
from gshtui.bus.letter import PERSON
from gshtui.fleet.keeper import running_keeper, stop_keeper
from gshtui.fleet.mail.outbox import Address, Addresses, MailOutbox
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings import paths
from gshtui.settings.loader import load
from gshtui.settings.paths import data_dir
from tests.kit.command import run_gsh
from tests.kit.tmux import eventually
from tests.real.test_keeper import CLAUDE, Place, place

pytestmark = pytest.mark.tmux
__all__ = ["place"]


async def listener(place: Place, log: Path) -> None:
    """An agent that writes down what it is told."""
    place.run(
        "agent", "spawn", "--cli", f"{CLAUDE} --heard {shlex.quote(str(log))}", "--profile", "claude", "--name", "ear"
    )
    keeper = await place.keeper()
    await place.row(lambda row: row.owner == keeper.process.pid and row.status == "idle")


async def post(place: Place, text: str) -> None:
    """A message as another process of the person leaves it in the record."""
    row = await place.store.agents.find("0001")
    outbox = MailOutbox(Bus(), place.store, Addresses(place.store, lambda _: ""))
    await outbox.post(PERSON, Address(row.id, row.name, row=row), text, kind="send", defer=True)
    outbox.close()


async def heard(log: Path, count: int) -> list[str]:
    """The lines, once there are so many."""

    async def look() -> list[str]:
        return log.read_text().splitlines() if log.exists() else []

    return await eventually(look, until=lambda lines: len(lines) >= count, within=40)


async def test_what_is_queued_when_it_is_killed_is_delivered_once_by_the_next(place: Place, tmp_path: Path) -> None:
    log = tmp_path / "heard"
    await listener(place, log)
    first = await place.keeper()
    os.kill(first.process.pid, signal.SIGKILL)
    await place.row(lambda row: row.owner == 0)
    sent = [f"leaf {number}" for number in range(5)]
    for text in sent:
        await post(place, text)
    place.run("agent", "ls")
    assert (await place.keeper(lambda state: state is not None and state.process != first.process)).process.pid
    assert await heard(log, len(sent)) == sent


@pytest.mark.parametrize("seed", [1, 2])
async def test_windows_come_and_go_and_each_message_arrives_once_and_in_order(
    place: Place, tmp_path: Path, seed: int
) -> None:
    log, chance, sent = tmp_path / "heard", random.Random(seed), list[str]()
    await listener(place, log)
    window: Hub | None = None
    for number in range(14):
        match chance.choice(["window", "post", "post", "send"]):
            case "window" if window is None:
                window = build_hub(HubOptions(cwd=place.project, loaded=load(place.project)))
                await window.start()
            case "window":
                assert window is not None
                await window.stop()
                window = None
            case "send":
                sent.append(f"sent {number}")
                ran = await asyncio.to_thread(run_gsh, "agent", "send", "ear", sent[-1], cwd=place.project)
                assert ran.code == 0 or "stays queued" in ran.err  # it waits for those before it, but not for ever
            case _:
                sent.append(f"posted {number}")
                await post(place, sent[-1])
    if window is not None:
        await window.stop()
    assert await heard(log, len(sent)) == sent

    async def states() -> set[str]:
        return {letter.state for letter in await place.store.mail.find_all((), recipient="0001")}

    await eventually(states, until=lambda found: found <= {"submitted", "acted"})
    assert await heard(log, len(sent)) == sent


async def test_a_command_without_a_keeper_overtakes_no_message(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await listener(place, tmp_path / "heard")
    monkeypatch.setenv("GSH_HUB__KEEP", "never")
    place.run("hub", "stop")
    sent = ["first", "second", "third"]
    for text in sent[:2]:
        await post(place, text)
    place.run("agent", "send", "ear", sent[2])
    assert await heard(tmp_path / "heard", 3) == sent


async def test_a_machine_that_slept_goes_on(place: Place, tmp_path: Path) -> None:
    log = tmp_path / "heard"
    await listener(place, log)
    keeper = (await place.keeper()).process
    row = await place.store.agents.find("0001")
    server = psutil.Process(row.pid).parent()
    assert server is not None
    asleep = [server, psutil.Process(keeper.pid), *psutil.Process(keeper.pid).children(), psutil.Process(row.pid)]
    for process in asleep:
        process.suspend()
    try:
        await post(place, "good morning")
        ran = await asyncio.to_thread(run_gsh, "hub", "status", "--json", cwd=place.project)
        assert (ran.code, ran.json["pid"]) == (0, keeper.pid)
        assert "does not answer" in ran.err
    finally:
        for process in reversed(asleep):
            process.resume()
    assert await heard(log, 1) == ["good morning"]
    assert (await place.keeper()).process == keeper


async def test_each_record_has_a_keeper_and_its_own_commands_reach_it(place: Place, tmp_path: Path) -> None:
    other = {"GSH_GENERAL__SESSION_DIR": str(tmp_path / "other"), "GSH_TMUX__SOCKET_NAME": "gsh-other"}
    place.run("hub", "start")
    mine = (await place.keeper()).process.pid
    try:
        started = run_gsh("hub", "start", "--json", cwd=place.project, env=other)
        assert started.code == 0, started.err
        assert started.json["pid"] != mine

        async def sockets() -> list[Path]:
            return [path for path in paths.keeper_sockets() if path.exists()]

        both = await eventually(sockets, until=lambda found: len(found) == 2)
        assert {stat.S_IMODE(path.stat().st_mode) for path in both} == {0o600}
        assert json.loads(place.run("hub", "status", "--json"))["pid"] == mine
        assert run_gsh("hub", "status", "--json", cwd=place.project, env=other).json["pid"] == started.json["pid"]
    finally:
        await stop_keeper(tmp_path / "other")


async def test_without_a_runtime_folder_it_works_the_same(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setenv("TMPDIR", str(Path(os.environ["TMUX_TMPDIR"])))
    await listener(place, tmp_path / "heard")
    place.run("agent", "send", "ear", "here")
    assert await heard(tmp_path / "heard", 1) == ["here"]
    assert running_keeper(data_dir()) is not None
    assert paths.keeper_sockets()[0].exists()
