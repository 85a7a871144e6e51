"""The keeper calls the person, once for each thing: on the desktop, and in the terminals that show an agent."""

import asyncio
import json
import os
from pathlib import Path

import msgspec
import pytest

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.agent_news import AgentCall, AgentNews
from gshtui.bus.events.fleet_events import AgentChanged, AgentEnded, AgentKilled, AgentRemoved
from gshtui.hub.composition import build_hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings import paths
from gshtui.settings.loader import load
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Say
from tests.kit.tmux import eventually
from tests.kit.warm_program import run_gsh
from tests.real.test_keeper import CLAUDE, Place, place

pytestmark = pytest.mark.tmux
__all__ = ["place"]

NOTIFY = """#!/bin/sh
printf '%s\\n' "$*" >> "$0.log"
"""


@pytest.fixture
def desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A desktop, and the file with what it was told."""
    program = tmp_path / "bin" / ("osascript" if os.uname().sysname == "Darwin" else "notify-send")
    program.parent.mkdir()
    program.write_text(NOTIFY)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GSH_UI__NOTIFICATIONS", '["badge", "desktop"]')
    return program.with_name(f"{program.name}.log")


async def told(log: Path, count: int) -> list[str]:
    """What the desktop was told, once it was told so often."""

    async def look() -> list[str]:
        return log.read_text().splitlines() if log.exists() else []

    return await eventually(look, until=lambda lines: len(lines) >= count)


async def test_who_needs_you_or_ends_is_told_once_whoever_looks_after_it(place: Place, desktop: Path) -> None:
    place.run("agent", "spawn", "--cli", CLAUDE, "--profile", "claude", "--name", "cc")
    place.run("agent", "spawn", "--cli", "sh -c 'read -r line; exit 3'", "--name", "short")
    place.run("agent", "spawn", "--cli", "sh -c 'exec cat'", "--name", "cat")
    keeper = await place.keeper()
    for id in ("0001", "0002", "0003"):
        await place.row(lambda row: row.owner == keeper.process.pid and row.status in ("idle", "tool"), id=id)
    by_command = desktop.with_name("command.log")
    command = ["sh", "-c", f'echo "$GSH_TEXT" >> {by_command}']
    paths.config_file().parent.mkdir(parents=True, exist_ok=True)
    paths.config_file().write_text(f"[notify]\ncommand = {json.dumps(command)}\n")  # the keeper runs already
    await place.keeper(lambda state: state is not None and state.since > keeper.since)
    await place.row(lambda row: row.owner == keeper.process.pid and row.status == "idle")
    place.run("agent", "send", "cc", "do:ask")
    (asked,) = await told(desktop, 1)
    assert "cc asks: Do you want to proceed?" in asked
    (called,) = await told(by_command, 1)
    assert asked.endswith(called)
    window = build_hub(HubOptions(cwd=place.project, loaded=load(place.project)))
    await window.start()
    await place.row(lambda row: row.owner == os.getpid() and row.needs_you)
    await window.stop()
    await place.row(lambda row: row.owner == keeper.process.pid and row.needs_you)
    place.run("agent", "kill", "cat", "--yes")
    run_gsh("agent", "send", "--now", "short", "go", cwd=place.project)  # it ends while it is written to
    lines = await told(desktop, 2)
    assert len(lines) == 2, "nothing at the handover, nothing of the one that the person killed"
    assert "short has failed" in lines[1]


async def test_terminals_that_show_an_agent_are_told(place: Place, desktop: Path) -> None:
    place.run("agent", "spawn", "--cli", "sh -c 'exec cat'", "--name", "cat")
    place.run("agent", "spawn", "--cli", "sh -c 'read -r line'", "--name", '#(touch${IFS}bad) $x "')
    keeper = await place.keeper()
    ends = await place.row(lambda row: row.owner == keeper.process.pid and row.status == "idle", id="0002")
    argv = ["tmux", "-L", "gsh", "attach", "-t", "=gsh-agent-0001"]
    program = ["script", "-qfc", " ".join(f"'{word}'" for word in argv), "/dev/null"]
    attached = await asyncio.create_subprocess_exec(
        *program, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env={**os.environ, "TERM": "xterm"}
    )
    shown = bytearray()
    assert attached.stdout is not None
    reading = asyncio.create_task(_read_all(attached.stdout, shown))
    try:

        async def screen() -> bytes:
            return bytes(shown)

        await eventually(screen, until=bool)
        run_gsh("agent", "send", "--now", ends.id, "go", cwd=place.project)
        await eventually(screen, until=lambda seen: f"gsh-tui: {ends.name} is done".encode() in seen)
    finally:
        attached.kill()
        await attached.wait()
        reading.cancel()


async def _read_all(stream: asyncio.StreamReader, into: bytearray) -> None:
    while chunk := await stream.read(4096):
        into += chunk


def test_each_thing_is_told_once_by_the_one_whom_it_concerns() -> None:
    row = AgentRow(id="0001", name="cc", owner=1, needs_you=True, doing="May it\x1b[2J?")
    theirs = msgspec.structs.replace(row, id="0002", owner=2)
    news = AgentNews(lambda row: row.owner == 1)
    assert news.call_for(AgentChanged(agent="0002", row=theirs)) is None
    assert news.call_for(AgentChanged(agent="0002", row=msgspec.structs.replace(theirs, owner=1))) is None, (
        "told before"
    )
    call = news.call_for(AgentChanged(agent="0001", row=row))
    assert call is not None and call.text.startswith("cc needs you: May it") and "\x1b" not in call.text
    assert news.call_for(AgentChanged(agent="0001", row=row)) is None
    news.call_for(AgentChanged(agent="0001", row=msgspec.structs.replace(row, needs_you=False)))
    assert news.call_for(AgentChanged(agent="0001", row=row)) == call
    ended = AgentEnded(agent="0001", name="cc", status="done", report="")
    assert news.call_for(ended) == AgentCall("cc is done", "cc", is_good=True)
    news.call_for(AgentKilled(agent="0001"))
    assert news.call_for(ended) is None
    news.call_for(AgentRemoved(agent="0001"))
    assert not news.has("0001")


async def test_a_native_agent_whose_budget_is_spent_asks_without_a_window(place: Place, desktop: Path) -> None:
    async with loopback("anthropic", [[Say("A leaf.")]], repeat=True) as provider:
        env = variables("anthropic", provider.url)
        words = ("agent", "spawn", "--name", "thrifty", "--budget", "0.00001", "say something")
        started = await asyncio.to_thread(run_gsh, *words, cwd=place.project, env=env)
        assert started.code == 0, started.err
        keeper = await place.keeper()
        await place.row(lambda row: row.owner == keeper.process.pid and row.status == "idle" and row.cost)
        place.run("agent", "send", "thrifty", "and something more")
        (asked,) = await told(desktop, 1)
        assert "thrifty needs you: wants to continue beyond its budget: <$0.0001 of" in asked
        row = await place.row(lambda row: row.needs_you)
        assert (row.status, row.owner) == ("waiting", keeper.process.pid)
        assert "needs you" in place.run("agent", "ls")
        assert len(provider.chats) == 1, "nothing was asked of the model beyond it"
        said = place.run("agent", "answer", "thrifty")
        assert "continue beyond its budget" in said
        place.run("agent", "answer", "thrifty", "1")
        await place.row(lambda row: row.status == "idle" and not row.needs_you)
        assert len(provider.chats) == 2, "it goes on with the answer"


def test_who_concerns_another_is_told_of_there_alone() -> None:
    """Its need and its end; a window that opens or closes meanwhile decides for what comes from then on."""
    ours = {"open"}
    news = AgentNews(lambda row: row.home in ours)
    for home, calls in (("open", True), ("closed", False)):
        row = AgentRow(id=home, name=home, home=home, needs_you=True)
        assert (news.call_for(AgentChanged(agent=home, row=row)) is not None) is calls
        ended = AgentEnded(agent=home, name=home, status="failed")
        assert (news.call_for(ended) is not None) is calls
    ours.add("closed")
    assert news.call_for(AgentEnded(agent="closed", name="closed", status="failed")) is not None


def test_one_that_works_again_or_is_gone_has_failed_no_more() -> None:
    news = AgentNews()

    def fails(name: str) -> str:
        row = AgentRow(id=name, name=name, status="failed")
        assert news.call_for(AgentChanged(agent=name, row=row)) is None
        call = news.call_for(AgentEnded(agent=name, name=name, status="failed", report="The disk is full."))
        assert call is not None
        return call.text

    assert fails("fix") == "fix has failed: The disk is full."
    news.call_for(AgentKilled(agent="fix"))
    news.call_for(AgentChanged(agent="fix", row=AgentRow(id="fix", name="fix", status="thinking")))
    assert fails("docs") == "docs has failed: The disk is full."
    assert fails("fix") == "2 agents have failed (docs, fix): The disk is full.", "nobody has killed it since"
    for name in ("docs", "fix"):
        news.call_for(AgentRemoved(agent=name))
    assert news._causes == {}
    assert fails("try") == "try has failed: The disk is full."
