"""What the person runs in the input line is a row of the shell log, with its exit and output; remarks are redacted."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gshtui.commands.declaration import Caller
from gshtui.hub.hub import Hub
from gshtui.hub.options import HubOptions
from gshtui.settings.load import load


async def test_a_run_of_the_person_is_kept_and_an_agents_line_is_not(tmp_path: Path) -> None:
    hub = Hub(HubOptions(cwd=tmp_path, loaded=load(tmp_path), parts=frozenset({"store", "guard", "shell"})))
    await hub.start()
    try:
        assert hub.failed == {} and hub.store is not None and hub.shell_log is not None
        outcome = await hub.run("bash command='echo one; echo ghp_0123456789abcdefghijklmnopqrstuvwxyzA; exit 3'")
        assert "one" in outcome.text
        await hub.run("bash command='echo by an agent'", Caller("main", is_agent=True))
        (record,) = await hub.store.history(limit=10)
        assert (record.exit, record.state, record.source, record.cwd) == (3, "done", "run", str(tmp_path))
        assert record.command.startswith("echo one; echo ")
        printed = await hub.store.output(record.output)
        assert printed.startswith("one\n")
        assert "ghp_" not in printed + record.command
        await hub.shell_log.note("the token is ghp_0123456789abcdefghijklmnopqrstuvwxyzA")
        (note,) = await hub.store.notes(limit=10)
        assert note.text.startswith("the token is ") and "ghp_" not in note.text
    finally:
        await hub.stop()


async def test_one_that_is_called_off_is_lost(tmp_path: Path) -> None:
    hub = Hub(HubOptions(cwd=tmp_path, loaded=load(tmp_path), parts=frozenset({"store", "guard", "shell"})))
    await hub.start()
    try:
        assert hub.store is not None
        running = asyncio.create_task(hub.run("bash command='sleep 60'"))
        while not (rows := await hub.store.history(limit=1)):
            assert not running.done()
        assert rows[0].state == "running"
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        (record,) = await hub.store.history(limit=1)
        assert (record.state, record.exit) == ("lost", None)
    finally:
        await hub.stop()
