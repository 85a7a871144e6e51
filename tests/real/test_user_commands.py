"""What the person runs in the input line: a row of the shell log, told to windows as it runs, and to the agent next.

Remarks are redacted.
"""

import asyncio
import json
import math
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.events.agent_events import PromptSubmitted, TurnFinished
from gshtui.bus.events.session_events import SessionChangeRequested, SessionOpened
from gshtui.bus.events.shell_events import InputCommandFinished, InputCommandPrinted, InputCommandStarted
from gshtui.bus.shell_data import ShellRecord
from gshtui.commands.declaration import Caller, CommandError
from gshtui.hub.hub import Hub
from gshtui.shell import plugin_files
from gshtui.store.tables.command_history import HistoryQuery
from gshtui.system.ids import new_id
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Answer, Say
from tests.kit.running_hub import running_hub
from tests.kit.scripted_provider import Recorder
from tests.kit.tmux import eventually

SHELL = frozenset({"store", "guard", "shell"})
CHILD = [sys.executable, "-m", "tests.kit.command_child"]
EVERY = SHELL | {"providers", "agents"}


@asynccontextmanager
async def hub_in(folder: Path, parts: frozenset[str] = SHELL, **more: Any) -> AsyncGenerator[Hub]:
    async with running_hub(folder, parts=parts, **more) as hub:
        assert hub.failed == {}
        yield hub


async def asked(hub: Hub, text: str) -> None:
    waiting = hub.bus.wait_for(TurnFinished, timeout=60)
    hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text=text))
    assert (await waiting).stop == "end"


async def test_a_run_of_the_person_is_kept_and_an_agents_line_is_not(tmp_path: Path) -> None:
    async with running_hub(tmp_path, parts=frozenset({"store", "guard", "shell"})) as hub:
        assert hub.failed == {} and hub.store is not None and hub.shell_log is not None
        outcome = await hub.run("bash command='echo one; echo ghp_0123456789abcdefghijklmnopqrstuvwxyzA; exit 3'")
        assert "one" in outcome.text
        await hub.run("bash command='echo by an agent'", Caller("main", is_agent=True))
        (record,) = await hub.store.shells.find_all(limit=10)
        assert (record.exit, record.state, record.source, record.cwd) == (3, "done", "run", str(tmp_path))
        assert record.command.startswith("echo one; echo ")
        printed = await hub.store.outputs.get(record.output)
        assert printed.startswith("one\n")
        assert "ghp_" not in printed + record.command
        await hub.shell_log.add_note("the token is ghp_0123456789abcdefghijklmnopqrstuvwxyzA")
        (note,) = await hub.store.shells.notes(limit=10)
        assert note.text.startswith("the token is ") and "ghp_" not in note.text


async def test_all_of_what_it_printed_is_kept_and_its_end_is_told(tmp_path: Path) -> None:
    async with running_hub(tmp_path, parts=frozenset({"store", "guard", "shell"})) as hub:
        assert hub.store is not None and hub.shell_log is not None
        await hub.run("bash command='seq 1 400000'")
        (record,) = await hub.store.shells.find_all(limit=10)
        printed = await hub.store.outputs.get(record.output)
        assert printed.rstrip("\n").split("\n") == [str(number) for number in range(1, 400_001)]
        assert record.output_lines == 400_000


async def test_one_that_is_called_off_is_lost(tmp_path: Path) -> None:
    async with running_hub(tmp_path, parts=frozenset({"store", "guard", "shell"})) as hub:
        assert hub.store is not None
        running = asyncio.create_task(hub.run("bash command='sleep 60'"))
        while not (rows := await hub.store.shells.find_all(limit=1)):
            assert not running.done()
        assert rows[0].state == "running"
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        (record,) = await hub.store.shells.find_all(limit=1)
        assert (record.state, record.exit) == ("lost", None)


async def test_windows_are_told_of_a_run_as_it_goes_on(tmp_path: Path) -> None:
    async with hub_in(tmp_path) as hub:
        recorder = Recorder(hub.bus)
        await hub.run("bash command='echo out; echo err >&2; exit 3'")
        assert (await hub.run("bash command='true'")).shown
        await hub.bus.drained()
        first, second = recorder.of(InputCommandStarted)
        assert (first.command, first.cwd) == ("echo out; echo err >&2; exit 3", str(tmp_path))
        assert "".join(event.text for event in recorder.of(InputCommandPrinted)) == "out\nerr\n"
        ended, quiet = recorder.of(InputCommandFinished)
        assert (ended.run, ended.status, ended.exit, ended.text) == (first.run, "error", 3, "out\nerr")
        assert (quiet.run, quiet.status, quiet.exit, quiet.text) == (second.run, "ok", 0, "")


async def test_it_is_stopped_as_by_ctrl_c_and_keeps_what_it_printed(tmp_path: Path) -> None:
    async with hub_in(tmp_path) as hub:
        assert hub.shell_log is not None and hub.store is not None
        assert not hub.shell_log.by_hand.stop()
        printed = hub.bus.wait_for(InputCommandPrinted, timeout=60)
        over = hub.bus.wait_for(InputCommandFinished, timeout=60)
        running = asyncio.create_task(hub.run("bash command='echo begun; sleep 60'"))
        await printed
        assert hub.shell_log.by_hand.stop()
        assert not hub.shell_log.by_hand.stop(), "it was told so already"
        await running
        ended = await over
        assert ended.status == "cancelled" and ended.text.startswith("begun\n[cancelled after ")
        (record,) = await hub.store.shells.find_all()
        assert (record.state, record.exit) == ("done", 143)
        assert (await hub.store.outputs.get(record.output)).startswith("begun")


async def test_one_that_cannot_run_says_why_in_the_window_too(tmp_path: Path) -> None:
    async with hub_in(tmp_path) as hub:
        over = hub.bus.wait_for(InputCommandFinished, timeout=60)
        with pytest.raises(CommandError, match="does not exist") as caught:
            await hub.run("bash command=true working_dir=gone")
        assert caught.value.shown
        ended = await over
        assert ended.status == "error" and "gone does not exist" in ended.text and ended.exit is None


async def test_what_is_private_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSH_SHELL__IGNORE", '["pass *"]')
    async with hub_in(tmp_path) as hub:
        assert hub.store is not None and hub.shell_log is not None
        await hub.run("bash command='pass show bank || true'")
        plugin_files.pause_recording()
        await hub.run("bash command='echo paused'")
        plugin_files.resume_recording()
        await hub.run("bash command='echo seen'")
        assert [record.command for record in await hub.store.shells.find_all()] == ["echo seen"]
        for _ in range(2):  # being asked is not being heard
            (news,) = (await hub.shell_log.runs.reports_for("", 1_000)).along
            assert "echo seen" in news.text and "bank" not in news.text and "paused" not in news.text
        assert news.told is not None
        news.told()
        assert (await hub.shell_log.runs.reports_for("", 1_000)).along == ()


async def test_the_agent_is_told_once_with_the_next_prompt_also_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script: list[Answer] = [[Say("one")], [Say("two")], [Say("three")]]
    async with loopback("anthropic", script) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        async with hub_in(tmp_path, EVERY, provider="anthropic") as hub:
            await asked(hub, "Hello.")
            await hub.run("bash command='echo the secret is ghp_0123456789abcdefghijklmnopqrstuvwxyzA; exit 7'")
            await asked(hub, "What was that?")
            await hub.run("bash command='echo the last words'")
            session = hub.session_of("main")
        async with hub_in(tmp_path, EVERY, provider="anthropic") as hub:
            assert hub.shell_log is not None and hub.contexts is not None
            opened = hub.bus.wait_for(SessionOpened, timeout=60)
            hub.bus.publish(SessionChangeRequested(agent="main", session=session))
            await opened
            await hub.contexts.queries.view("main")  # somebody looks before the agent is told
            first, last = await hub.shell_log.runs.between(session, -math.inf, math.inf)
            assert (first.record.exit, last.printed.strip()) == (7, "the last words")
            assert (first.record.number, last.record.number) == (1, 2)
            await asked(hub, "And that?")
            await hub.run("bash command=true")
            assert (await hub.shell_log.runs.between(session, -math.inf, math.inf))[-1].record.number == 3
        first_sent, second_sent, third_sent = (json.dumps(chat.body) for chat in server.chats)
        assert "exit 7" not in first_sent
        assert "The person ran this here" in second_sent and "exit 7" in second_sent and "ghp_" not in second_sent
        assert third_sent.count("exit 7") == second_sent.count("exit 7"), "told again"
        assert "  the last words" in third_sent


async def test_runs_end_with_their_window_and_are_kept_so(tmp_path: Path) -> None:
    async with hub_in(tmp_path) as hub:
        printed = hub.bus.wait_for(InputCommandPrinted, timeout=60)
        running = asyncio.create_task(hub.run("bash command='echo begun; sleep 60'"))
        await printed
    assert (await running).data["cancelled"]
    async with hub_in(tmp_path) as hub:
        assert hub.store is not None
        (record,) = await hub.store.shells.find_all()
        assert (record.state, record.exit) == ("done", 143)
        assert await hub.store.shells.known_shells() == {}


async def test_what_a_killed_window_ran_is_lost(tmp_path: Path) -> None:
    command = f"bash command='echo $$ > {tmp_path}/pid; exec sleep 60'"
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    window = await asyncio.create_subprocess_exec(*CHILD, command, cwd=tmp_path, env=env)
    pid = int(await eventually(lambda: asyncio.to_thread(read, tmp_path / "pid")))
    try:
        window.kill()
        await window.wait()
        async with hub_in(tmp_path) as hub:
            assert hub.store is not None
            store = hub.store
            for shell, source in (("window-of-old", "run"), ("agent of-old", "agent")):
                stray = ShellRecord(shell=shell, number=1, command="make", source=source, at=time.time())
                await store.shells.put_record(stray)
            killed = partial(store.shells.find_all, HistoryQuery(query="sleep"))
            (record,) = await eventually(killed, until=lambda rows: rows and rows[0].state == "lost")
            assert (record.exit, record.number) == (None, 1)
            await eventually(store.shells.running, until=lambda rows: not rows)
            await eventually(store.shells.known_shells, until=lambda known: not known)
    finally:
        os.kill(pid, signal.SIGKILL)


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""
