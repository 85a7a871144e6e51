"""The disk is full while an agent is started: no terminal is left without an agent, and what runs goes on."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kit.fleet_harness import FleetHarness
from tests.kit.record import ROOT
from tests.kit.tmux import DEADLINE, private_server

pytestmark = pytest.mark.tmux

STARTS = """
import asyncio, json, resource, sys
from pathlib import Path
from gshtui.fleet.core.ports import FleetError
from gshtui.tmux.server import TmuxServer
from tests.kit.fleet_harness import FleetHarness, echo_program, program_request, wait_for_text
from tests.kit.tmux import eventually

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

def row_names(fleet):
    async def names():
        await fleet.refresh()
        return [row.name for row in fleet.rows()]
    return names

async def main():
    home, socket, moment = sys.argv[1:]
    harness = FleetHarness(Path(home), TmuxServer(socket_path=Path(socket)))
    async with harness.start_hub() as fleet:
        first = await fleet.spawn(program_request(*echo_program(), name="first"))
        await wait_for_text(harness, first, "ready")
        server = fleet.terminals.server(socket)
        made = server.spawn

        async def spawn(*given, **named):
            info = await made(*given, **named)
            limit(1)
            return info

        if moment == "before":
            limit(1)
        else:
            server.spawn = spawn
        try:
            await fleet.spawn(program_request(*echo_program(), name="second"))
        except FleetError as error:
            told = {"kind": error.kind, "message": error.message, "hint": error.hint}
        panes = [info.session for info in await server.panes()]
        limit(resource.RLIM_INFINITY)
        server.spawn = made
        await eventually(row_names(fleet), until=lambda names: names == ["first"])
        third = await fleet.spawn(program_request(*echo_program(), name="third"))
        await wait_for_text(harness, third, "ready")
        await fleet.send(first.id, "still here", defer_if_busy=False)
        await wait_for_text(harness, first, "got:still here")
        print(json.dumps({"told": told, "panes": panes}), flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("moment", ["before", "between"])
async def test_a_full_disk_during_a_start(tmp_path: Path, moment: str) -> None:
    """`before`: nothing is started. `between`: its terminal is there already; it is taken back, then its row."""
    async with private_server() as server:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            STARTS,
            str(tmp_path),
            str(server.socket_path),
            moment,
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(DEADLINE):
            out, errors = await child.communicate()
        assert child.returncode == 0, errors.decode()
        said: dict[str, Any] = json.loads(out)
        assert said["told"]["kind"] == "store"
        assert "full" in said["told"]["message"] and said["told"]["hint"]
        assert said["panes"] == ["gsh-agent-0001"]
        async with FleetHarness(tmp_path, server).start_hub() as fleet:
            assert [row.name for row in fleet.rows() if not row.ended] == ["first", "third"]
