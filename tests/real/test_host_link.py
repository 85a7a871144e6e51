"""Other machines, on a real sshd: terminals there, and every way in which the connection can fail."""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import psutil
import pytest

from gshtui.bus.agent_data import SpawnRequest
from gshtui.bus.events.fleet_events import MessageSubmitted
from gshtui.bus.events.hub_events import Noticed
from gshtui.commands.declaration import Caller, CommandError, Invocation
from gshtui.fleet.commands.host_commands import ExamineHost, ListHosts, ShowHost, commands
from gshtui.fleet.core.ports import FleetError
from gshtui.hosts.host_errors import HostError
from gshtui.hosts.host_link import HostLinks
from gshtui.programs.pane.pane_view import PaneView, SessionError
from gshtui.programs.pane.pane_writer import PaneWriter
from gshtui.programs.profiles.profile_files import load as load_profiles
from gshtui.settings import paths
from gshtui.settings.loader import changed_settings, load
from gshtui.tmux import control_client
from gshtui.tmux.attach_client import words_for
from gshtui.tmux.mirror import Mirror
from gshtui.tmux.panes import HIDDEN
from gshtui.tmux.quoting import command
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError
from tests.kit.fleet_harness import FleetHarness, wait_for_status
from tests.kit.ssh_hosts import Gate, SshHost, ssh_host
from tests.kit.tmux import Frames, eventually, wait_for_text


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
        assert (pane.remote, pane.mark, pane.local_pid) == (True, "m", 0)
        frames = Frames()
        mirror = Mirror(server)
        mirror.watch(pane.pane, frames, width=80, height=24)
        await server.send_text(
            pane.pane, 'trap "" HUP; (trap "" HUP; exec sleep 987) & echo $WORD $! $GSH_REMOTE', enter=True
        )
        await frames.wait_for_text("a 'b'")
        assert "NOISE" not in frames.text
        await eventually(lambda: asyncio.to_thread(lambda: server.connection.mode == "control"))
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
        with pytest.raises(FleetError, match="is not installed on far"):
            await fleet.spawn(SpawnRequest(prompt="hi", host="far"), by_person=True)
        for program in ("no-such-program", "/no/such/program"):
            with pytest.raises(FleetError, match=f"Cannot start {program}: there is no such program on far"):
                await fleet.spawn(SpawnRequest(cli=(program,), host="far", prompt="hi"), by_person=True)
        assert not any(row.host for row in fleet.rows())
        row = await fleet.spawn(
            SpawnRequest(cli=("bash", "--norc"), host="far", prompt="echo got:$((40+2))"), by_person=True
        )
        assert (row.host, row.cwd, row.pid_started) == ("far", str(host.home), 0.0)
        server = fleet.terminals.server(row.socket)
        await harness.wait_for_event(MessageSubmitted)
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
        await eventually(lambda: _hidden(host), until=lambda names: len(names) == 1)  # the lost connection's has ended
        await server.send_text(row.pane, "echo half")  # typed by the person, and not entered
        await wait_for_text(server, row.pane, "echo half")
        with pytest.raises(FleetError, match="typed"):
            await fleet.send(row.id, "echo never", defer_if_busy=False)
        await server.send_keys(row.pane, "C-u")
        await fleet.send(row.id, "echo again:$((40+3))")
        seen = await wait_for_text(server, row.pane, "again:43")
        assert "never" not in seen
        notes = [event for event in harness.published(Noticed) if isinstance(event, Noticed)]
        assert [note.text.partition(";")[0] for note in notes] == [f"Out of reach: bash ({row.id})"]
        await server.send_text(row.pane, "(trap '' INT; exec sleep 4713)", enter=True)
        await eventually(lambda: _states(host, "sleep 4713"))
        await fleet.kill(row.id)
        await eventually(lambda: _states(host, "sleep 4713"), until=lambda found: found == ["stopped"])
        await fleet.undo_kill(row.id)
        await eventually(lambda: _states(host, "sleep 4713"), until=lambda found: found == ["sleeping"])
        ended = await fleet.kill(row.id, now=True)
        assert ended.status == "done"
        assert await server.panes() == []


async def _states(host: SshHost, line: str) -> list[str]:
    """The states of the processes there with this command line."""
    found: list[str] = []
    for one in host.processes():
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            if line in " ".join(one.cmdline()):
                found.append(one.status())
    return found


async def _hidden(host: SshHost) -> list[str]:
    """The hidden sessions there."""
    return [name for name in await _sessions(host) if name.startswith(HIDDEN)]


async def _sessions(host: SshHost) -> list[str]:
    tmux = ["tmux", "-S", str(next(host.folder.glob("tmux/*/gsh-ssh"))), "list-sessions", "-F", "#{session_name}"]
    process = await asyncio.create_subprocess_exec(*tmux, stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()
    return said.decode().split()


@pytest.mark.parametrize("unsaid", [False, True])
async def test_a_hidden_session_whose_connection_broke_ends_by_itself(
    host: SshHost, gate: Gate, monkeypatch: pytest.MonkeyPatch, unsaid: bool
) -> None:
    """Nobody comes back for it; with it ends the server, where no agent is left."""
    monkeypatch.setattr(control_client, "LOOK_EVERY", 0.1)
    server = TmuxServer("gsh-ssh", link=host.links(gate.port).link("far"))
    pane = await server.spawn("gsh-agent-0001", ["cat"], cwd=host.home, env={})
    server.connection.start()
    await eventually(lambda: _hidden(host))
    asked: asyncio.Task[object] | None = None
    if unsaid:  # more than all pipes in between hold
        told, go, said = (host.folder / name for name in ("told", "go", "said"))
        line = f"touch {told}; until [ -e {go} ]; do sleep 0.05; done; touch {said}"
        flood = command("if-shell", line, "list-keys ; " * 400)
        asked = asyncio.create_task(server.connection.ask([flood], deadline=60, once=True))
        await eventually(lambda: asyncio.to_thread(told.exists), until=bool)
        gate.swallow()
        go.touch()
        await eventually(lambda: asyncio.to_thread(said.exists), until=bool)
        await _sessions(host)
    gate.cut()
    if asked is not None:
        with pytest.raises(TmuxError):
            await asked
    await eventually(lambda: _hidden(host), until=lambda names: not names)
    await server.close()
    assert [one for one in host.processes() if one.pid == pane.pid]


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
    if fault == "changed":  # where ssh looked, whatever the host is called here
        assert f"`ssh-keygen -f {host.folder}/known_hosts -R '[127.0.0.1]:{port}'`" in told.value.hint


async def test_a_host_that_is_configured_later_is_reached_by_what_runs_already(host: SshHost) -> None:
    """A keeper runs for days: what it was started with is not what there is."""
    file = paths.config_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    (host.folder / "run").mkdir(mode=0o700)
    file.write_text("")
    links = HostLinks(
        {}, lambda: host.folder / "run", os.environ, changed=changed_settings(load(host.folder, flags={}))
    )
    link = links.link("far")  # of an agent that another process has started there
    with pytest.raises(HostError, match="no host 'far'"):
        await link.connect()
    table = host.settings().model_dump(mode="json", exclude_unset=True)
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    file.write_text("\n".join(["[hosts.far]", *lines, ""]).replace(f"port = {host.port}", "port = 1"))
    with pytest.raises(HostError, match="Connection refused"):
        await link.connect()
    file.write_text("\n".join(["[hosts.far]", *lines, ""]))  # corrected: tried at once, not after a pause
    assert (await link.run("echo up")).output == b"up\n"
    file.write_text("[hosts.far")
    assert list(links.settings) == ["far"], "a file that is being edited ends nothing"
    file.write_text("")
    await link.disconnect()
    with pytest.raises(HostError, match="no host 'far'"):
        await link.connect()


async def test_a_call_that_is_cut_ends_with_an_error_and_the_next_one_connects_again(host: SshHost, gate: Gate) -> None:
    link = host.links(gate.port).link("far")
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
    host.stop()
    host.end_processes()
    assert not [
        one for one in psutil.process_iter(["cmdline"]) if str(host.folder) in " ".join(one.info["cmdline"] or ())
    ]


async def _has(host: SshHost, line: str) -> bool:
    """Whether a process with this command line descends from the host."""
    for one in psutil.Process(host.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            if line in " ".join(one.cmdline()):
                return True
    return False


async def test_a_host_is_listed_shown_and_examined(host: SshHost, tmp_path: Path) -> None:
    (host.home / ".bashrc").write_text("echo NOISE \x1b]52;c;aGk=\x07\n")
    old = tmp_path / "tmux"
    old.write_text("#!/bin/sh\necho tmux 3.1c\n")
    old.chmod(0o755)

    invocation = Invocation(Caller(), tmp_path, tmp_path)
    (command,) = commands(host.links(), lambda: None)
    listed = await command.handler(invocation, ListHosts())
    assert [(one["name"], one["connected"]) for one in listed.data] == [("far", False)]
    shown = await command.words["show"].handler(invocation, ShowHost(name="far"))
    assert "tmux -L gsh-ssh ls" in shown.text
    examined = await command.words["doctor"].handler(invocation, ExamineHost(name="far"))
    found = {one["name"]: (one["status"], one["detail"]) for one in examined.data["findings"]}
    assert {name: status for name, (status, _) in found.items() if status != "ok"} == {
        "login shell": "note",
        "programs": "note",
        "gsh-tui": "note",
    }
    assert "NOISE" in found["login shell"][1]
    assert not {"\x1b", "\x07"} & set(examined.text + examined.plain)
    for program, status in ((str(old), "problem"), ("/nope/tmux", "missing")):
        links = host.links(tmux=program)
        (command,) = commands(links, lambda: None)
        examined = await command.words["doctor"].handler(invocation, ExamineHost(name="far"))
        assert [one["status"] for one in examined.data["findings"] if one["name"] == "tmux"] == [status]
        assert examined.is_error
        with pytest.raises(TmuxError, match=r"too old|There is no"):
            await TmuxServer("gsh-ssh", link=links.link("far")).version()
    with pytest.raises(CommandError, match="Known hosts: far"):
        await command.words["doctor"].handler(invocation, ExamineHost(name="fra"))


def test_a_terminal_of_a_kind_that_few_machines_know_is_attached_as_a_usual_one() -> None:
    for kind, there in (("xterm-kitty", "xterm-256color"), ("tmux-256color", "tmux-256color"), ("", "xterm-256color")):
        words, environ = words_for(["ssh", "-t", "far", "tmux attach"], {"TERM": kind, "TMUX": "/tmp/s,1,0"})
        assert (words[0], environ) == ("ssh", {"TERM": there})


PHASES = (0, 4, 8, 12, 15)
"""Pieces that go there before the connection breaks: before a look, while a text is pasted, and around its Enter."""


async def test_a_text_is_entered_once_or_not_at_all_wherever_the_connection_breaks(
    host: SshHost, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure that says that nothing was typed is true, and so is a success; what is unsure is said so."""
    runtime = host.folder / "run"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    server = TmuxServer("gsh-ssh", link=host.links(gate.port).link("far"))
    said: dict[int, str] = {}
    try:
        pane = await server.spawn("gsh-agent-0001", ["bash", "--norc"], cwd=host.home, env={"PS1": "$ "})
        writer = PaneWriter(PaneView(server, pane.pane, "far", load_profiles().for_argv(["bash"])))
        server.connection.start()
        for pieces in PHASES:
            await eventually(lambda: _in_the_way(writer, server), until=lambda why: not why)
            gate.cut_after(pieces)
            try:
                await writer.write(f"echo w$(({pieces} + 100)).done")
                said[pieces] = "entered"
            except SessionError as error:
                said[pieces] = error.kind
            gate.cut()
            gate.reopen()
        await eventually(lambda: _in_the_way(writer, server), until=lambda why: not why)
        await writer.write("echo last.done")
        screen = await wait_for_text(server, pane.pane, "\nlast.done")
        for pieces, outcome in said.items():
            ran, typed = screen.count(f"\nw{pieces + 100}.done"), screen.count(f"w$(({pieces} + 100))")
            right = {"entered": ran == 1, "unsure": ran <= 1}.get(outcome, typed == 0)
            assert right, f"{pieces}: {outcome}, but typed {typed} and run {ran} times:\n{screen}"
    finally:
        await server.close()


async def test_an_agent_is_followed_or_not_there_wherever_the_connection_breaks(
    host: SshHost, gate: Gate, tmp_path: Path
) -> None:
    """None runs there that nobody knows of, and none is said to have ended that goes on."""
    links = host.links(gate.port, connect_seconds=2)
    harness = FleetHarness(tmp_path, TmuxServer(socket_path=tmp_path / "s"), hosts=links)
    async with harness.start_hub() as fleet:

        async def differ() -> str:
            await fleet.refresh()
            known = {row.tmux_session for row in fleet.rows() if not row.ended}
            there = {line for line in await _sessions(host) if not line.startswith(HIDDEN)}
            return "" if known == there else f"known: {known}; there: {there}"

        await fleet.spawn(SpawnRequest(cli=("cat",), host="far"), by_person=True)
        for pieces in (7, 10, 11, 12, 14):
            gate.cut_after(pieces)
            with contextlib.suppress(FleetError):
                await fleet.spawn(SpawnRequest(cli=("cat",), host="far"), by_person=True)
            gate.cut()
            gate.reopen()
            await eventually(differ, until=lambda why: not why, within=90)
        for pieces, row in zip((3, 7, 11), [row for row in fleet.rows() if not row.ended], strict=False):
            gate.cut_after(pieces)
            with contextlib.suppress(FleetError):
                await fleet.kill(row.id, now=True)
            gate.cut()
            gate.reopen()
            await eventually(differ, until=lambda why: not why, within=90)


async def _in_the_way(writer: PaneWriter, server: TmuxServer) -> str:
    """Why the shell does not wait for a line with nothing typed; what is typed is taken out as a person would."""
    try:
        seen = await writer.view.read_screen()
        if seen.draft:
            await server.send_keys(seen.info.pane, "C-c")
    except (SessionError, TmuxError) as error:
        return str(error)
    return seen.draft or ("" if seen.front.prompt else repr((seen.front, seen.lines[:12])))
