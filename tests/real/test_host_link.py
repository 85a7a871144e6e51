"""Other machines, on a real sshd: terminals there, and every way in which the connection can fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from gshtui.bus.agent_data import SpawnRequest
from gshtui.bus.events.hub_events import Noticed
from gshtui.fleet.ports import FleetError
from gshtui.hosts.host_errors import HostError
from gshtui.tmux.mirror import Mirror
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError
from tests.kit.fleet_harness import FleetHarness, wait_for_status
from tests.kit.ssh_hosts import Gate, SshHost, ssh_host
from tests.kit.tmux import Frames, eventually, wait_for_text

COVERS = ("gshtui.hosts.host_errors", "gshtui.tmux.remote_server")


@pytest.fixture
def host() -> Generator[SshHost]:
    with ssh_host() as started:
        yield started


@pytest.fixture
async def gate(host: SshHost) -> AsyncGenerator[Gate]:
    opened = Gate(host.port)
    await opened.start()
    host.trust(opened.port)
    yield opened
    await opened.stop()


async def test_a_terminal_on_another_machine_is_mirrored_typed_into_and_ended(host: SshHost) -> None:
    """Its login shell prints when it starts; the program leaves a process behind that is deaf to the hang-up."""
    (host.home / ".bashrc").write_text("echo NOISE; echo NOISE >&2\n")
    link = host.links().link("far")
    server = TmuxServer("gsh-ssh", link=link)
    try:
        assert await server.folder("~") == str(host.home)
        pane = await server.spawn("gsh-agent-0001", ["sh"], cwd=host.home, env={"WORD": "a 'b'"}, mark="m")
        assert (pane.far, pane.mark, pane.local_pid) == (True, "m", 0)
        frames = Frames()
        mirror = Mirror(server)
        mirror.watch(pane.pane, frames, width=80, height=24)
        await server.send_text(
            pane.pane, 'trap "" HUP; (trap "" HUP; exec sleep 987) & echo $WORD $! $GSH_FAR', enter=True
        )
        await frames.wait_for_text("a 'b'")
        assert "NOISE" not in frames.text
        assert server.connection.mode == "control"
        await mirror.close()
        await server.kill_pane(pane.pane)
        assert await server.panes() == []
        left = await link.run("for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; echo; done 2>/dev/null")
        assert b"sleep 987" not in left.output
        assert server.attach_line("x").startswith("ssh -t ")
        with pytest.raises(TmuxError, match="There is no folder /nope on far"):
            await server.folder("/nope")
    finally:
        await server.close()
        await link.disconnect()


async def test_an_agent_there_is_lost_while_its_machine_is_out_of_reach_and_then_back(
    host: SshHost, gate: Gate, tmp_path: Path
) -> None:
    harness = FleetHarness(tmp_path, TmuxServer(socket_path=tmp_path / "s"), hosts=host.links(gate.port))
    async with harness.start_hub() as fleet:
        with pytest.raises(FleetError, match="There is no host 'fat'"):
            await fleet.spawn(SpawnRequest(cli=("sh",), host="fat"), by_person=True)
        with pytest.raises(FleetError, match="nothing of ours is installed there"):
            await fleet.spawn(SpawnRequest(prompt="hi", host="far"), by_person=True)
        row = await fleet.spawn(
            SpawnRequest(cli=("bash", "--norc"), host="far", prompt="echo got:$((40+2))"), by_person=True
        )
        assert (row.host, row.cwd, row.pid_started) == ("far", str(host.home), 0.0)
        server = fleet.terminals.server(row.socket)
        await wait_for_text(server, row.pane, "got:42")
        await wait_for_status(fleet, row.id, "idle")
        gate.cut()
        away = await wait_for_status(fleet, row.id, "lost")
        assert away.doing.startswith("far cannot be reached")
        assert not away.ended
        with pytest.raises(FleetError, match="far cannot be reached"):
            await fleet.send(row.id, "echo never")
        gate.reopen()
        await wait_for_status(fleet, row.id, "idle")
        await fleet.send(row.id, "echo again:$((40+3))")
        seen = await wait_for_text(server, row.pane, "again:43")
        assert "never" not in seen
        notes = [event for event in harness.published(Noticed) if isinstance(event, Noticed)]
        assert [note.text.partition(";")[0] for note in notes] == [f"Out of reach: bash ({row.id})"]
        ended = await fleet.kill(row.id, now=True)
        assert ended.status == "done"
        assert await server.panes() == []


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        ("password", "refused", "lets you in by no key"),
        ("changed", "key_changed", "host key of far has changed"),
        ("new", "key_unknown", "host key of far is not known"),
        ("down", "unreachable", "cannot be reached: Connection refused"),
        ("swallow", "unreachable", "cannot be reached|did not let us in"),
        ("unknown", "unknown", "no host 'other'"),
    ],
)
async def test_a_connection_that_does_not_come_about_is_one_clear_sentence(
    host: SshHost, gate: Gate, fault: str, kind: str, said: str
) -> None:
    port, name = gate.port, "far"
    match fault:
        case "password":
            (host.folder / "authorized_keys").write_text("")
        case "changed":
            host.make_key("host_key")
            host.stop()
            host.start()
        case "new":
            (host.folder / "known_hosts").write_text("")
        case "down":
            host.stop()
            port = host.port
        case "swallow":
            gate.swallow()
        case _:
            name = "other"
    link = host.links(port, connect_seconds=1).link(name)
    with pytest.raises(HostError, match=said) as told:
        await link.run("true")
    assert told.value.kind == kind
    assert told.value.hint


async def test_a_call_that_is_cut_ends_with_an_error_and_the_next_one_connects_again(host: SshHost, gate: Gate) -> None:
    link = host.links(gate.port, connect_seconds=2).link("far")
    assert (await link.run("exit 3")).status == 3
    running = asyncio.ensure_future(link.run("echo begun; cat /dev/zero", most=1_000))
    assert (await running).cut
    hanging = asyncio.ensure_future(link.run("sleep 600"))
    await eventually(lambda: _has(host, "sleep 600"))
    gate.cut(closed=False)
    with pytest.raises(HostError, match="far cannot be reached"):
        await hanging
    assert (await link.run("echo back")).output == b"back\n"
    with pytest.raises(HostError, match=r"did not answer within 0.2 s"):
        await link.run("sleep 600", deadline=0.2)
    await link.disconnect()


async def _has(host: SshHost, line: str) -> bool:
    """Whether a process with this command line descends from the host."""
    import psutil

    main = psutil.Process(host.pid)
    return any(line in " ".join(one.cmdline()) for one in main.children(recursive=True))
