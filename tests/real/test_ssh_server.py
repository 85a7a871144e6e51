"""The door for people elsewhere, from outside: OpenSSH's own client, and one that tries everything."""

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import asyncssh
import psutil
import pytest
from msgspec.structs import replace

from gshtui.commands.declaration import Caller, NotAllowed, Outcome, UsageError
from gshtui.commands.evaluation import run_line
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.commands.shell_form import ALL_COMMANDS
from gshtui.features.ssh.ssh_server import MOST_PENDING_HERE
from gshtui.fleet.keeper.keeper import running_keeper
from gshtui.guard.people import new_person, people_file, read_people, write_people
from gshtui.hub.composition import build_hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings import paths
from gshtui.settings.loader import load
from tests.kit.command import ROOT
from tests.kit.door import Visitor, at_terminal, door_for, reopened, visit
from tests.kit.home import Home
from tests.kit.resident import beside, resident, resident_hub
from tests.kit.tmux import eventually
from tests.kit.warm_program import run_gsh, start_gsh

__all__ = ["beside", "resident"]


@pytest.mark.usefixtures("beside")
async def test_openssh_s_own_client_joins_and_talks(tmp_path: Path) -> None:
    async with door_for(tmp_path, amy="talk") as door:
        assert run_gsh("run", "create call=audio topic=JACK", cwd=tmp_path).code == 0
        lines = "who\njoin audio\nsay hello from elsewhere\nhistory\nexit\n"
        done = await asyncio.to_thread(
            subprocess.run,
            [
                "ssh",
                "-F",
                "none",
                "-T",
                "-p",
                str(door.port),
                "-i",
                str(door.keys["amy"]),
                "-o",
                "IdentitiesOnly=yes",
                "-o",
                "StrictHostKeyChecking=no",
                "-o",
                f"UserKnownHostsFile={tmp_path / 'known'}",
                "amy@127.0.0.1",
            ],
            input=lines.encode(),
            capture_output=True,
            timeout=25,
            check=False,
        )
        said = done.stdout.decode()
        assert done.returncode == 0, done.stderr
        assert "amy" in said and "Topic: JACK" in said and "Said in audio as message 1" in said
        assert "hello from elsewhere" in said.split("history")[-1]
        found = run_gsh("run", "--json", "history call=audio", cwd=tmp_path).json
        assert [(one["agent"], one["text"]) for one in found][-1] == ("amy", "hello from elsewhere")


@pytest.mark.usefixtures("resident")
async def test_two_people_hear_each_other_at_once_and_a_guest_can_only_talk(tmp_path: Path) -> None:
    async with door_for(tmp_path, amy="talk", bo="all") as door, visit(door, "amy") as amy, visit(door, "bo") as bo:
        await bo.run("create call=audio")
        await bo.run("join audio")
        await amy.run("join audio")
        await bo.until("amy joined")
        await amy.run("say one")
        await amy.run("say two")
        assert "one" in await bo.until("two"), "in their order"
        await bo.run("bash command='exit 3'")
        assert "bo ran `bash command='exit 3'`, which failed" in await amy.until("which failed")
        assert "control character" in (await bo.run("say \x1b]0;owned\x07")).lower()
        await bo.run('say message="\\u001b]0;owned\\u0007three"')
        assert "\x1b" not in await amy.until("three")
        for line in (
            "bash command='touch owned'",
            "say message=$(bash command='touch owned')",
            "who | write path=owned",
            "calls rm audio",
            "calls instructions audio 'obey me'",
            "calls export audio out=owned",
            "agents",
            "agent kill 0001",
            "people allow eve x",
            "config show",
            "create call=mine",
            "invite x",
        ):
            refused = await amy.run(line)
            assert "may not run" in refused or "Only the person" in refused, f"{line}: {refused}"
        await bo.run("create call=board")
        for line in ("history call=board", "calls show board", "calls search board x", "topic set=owned call=board"):
            assert "not in the call board" in await amy.run(line), line
        assert not (tmp_path / "owned").exists()
        assert "no agent in the call" in await amy.run("say to=0001 message=hello")
        assert "no agent" in await amy.run("talk to=nobody message=hello")
        assert "obey" not in await bo.run("calls show audio")


async def test_a_guest_runs_what_the_guide_names_and_nothing_else(tmp_path: Path) -> None:
    """Each command there is, by each of its names, in each place of a line; nothing of a refused line runs."""
    guide = (ROOT / ".github" / "guides" / "serving.md").read_text("utf-8")
    hub = build_hub(
        HubOptions(cwd=tmp_path, loaded=load(tmp_path), parts=ALL_COMMANDS, visiting=True, respondent="nobody")
    )
    await hub.start()
    ran: list[str] = []
    try:

        def recording(command: AnyCommand) -> AnyCommand:
            async def run(*_: Any) -> Outcome:
                ran.append(command.name)
                return Outcome(text="ran")

            return replace(command, handler=run, actions=())

        registry = Registry([recording(command) for command in hub.registry])
        guest = hub.invocation(Caller("amy", is_guest=True))
        refused = 0
        for command in list(registry):
            for word in (command.name, *command.aliases):
                lines = (word, f"/{word}", f"who; {word}", f"who | {word}", f"say message=$({word})", f"echo <({word})")
                for line in () if command.guests else lines:
                    with pytest.raises(UsageError):
                        await run_line(registry, line, guest)
                    assert ran == [], line
                    refused += 1
                if not command.guests:
                    with pytest.raises(NotAllowed):
                        await run_line(registry, word, guest)
        assert refused > 400
        named = re.search(r"to agents too: `([^`]+)`", guide)
        assert named is not None
        assert {command.name for command in registry if command.guests} == set(named[1].split())
        inside = {one["name"] for one in (await hub.run("help", Caller("amy", is_guest=True))).data}
        assert inside == set(named[1].split())
    finally:
        await hub.stop()


SCRIPTS: dict[str, tuple[str, str, str, int]] = {
    # name: rights, lines, what exactly is on standard output, exit code
    "a result alone": ("all", "echo hello", "hello\n", 0),
    "several commands in a line": ("all", "echo a; cat /shared/project/a.txt; pwd", "a\nA\nB\n/shared/project\n", 0),
    "an error": ("all", "cat /calls/audio/conversation/000.msg", "", 1),
    "a wrong line": ("all", "echo one two=3 |", "", 2),
    "no such command": ("talk", "ecko hello", "", 2),
    "not allowed": ("talk", "bash ls", "", 4),
    "not allowed, of what is allowed in part": ("talk", "calls rm audio", "", 4),
    "not allowed, inside of a value": ("talk", "say message=$(bash ls)", "", 4),
    "a program's own": ("all", "exec cmd='echo out; exit 7'", "out\r\n", 7),
    "the last line counts": ("talk", "bash ls\necho done", "done\n", 0),
    "leaving counts for nothing": ("talk", "bash ls\nexit\necho done", "", 4),
    "no lines": ("talk", "", "", 0),
}


@pytest.mark.usefixtures("resident")
async def test_a_script_gets_results_alone_and_how_it_ended(tmp_path: Path, home: Home) -> None:
    (tmp_path / "a.txt").write_text("A\nB\n")
    made = home.config / "gsh" / "workflows" / "made.yml"
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text("workflows: {made: {steps: [{shell: {command: touch made}}]}}\n")
    async with door_for(tmp_path, amy="talk", bo="all") as door:

        async def run(who: str, lines: str, *command: str) -> subprocess.CompletedProcess[bytes]:
            return await asyncio.to_thread(
                subprocess.run,
                [*door.openssh("ssh", who, "-T"), f"{who}@127.0.0.1", *command],
                input=lines.encode(),
                capture_output=True,
                timeout=25,
                check=False,
            )

        for name, (rights, lines, out, code) in SCRIPTS.items():
            done = await run("bo" if rights == "all" else "amy", f"{lines}\n" if lines else "")
            assert done.returncode == code, (name, done.stdout, done.stderr)
            assert done.stdout.decode() == out, name
            assert bool(done.stderr) == bool(code) or name == "the last line counts", (name, done.stderr)
        refused = await run("amy", "", "workbench")
        assert refused.returncode == 4 and b"You may not open the workbench" in refused.stderr
        stopped = await run("bo", "workflow run made\n")
        assert stopped.returncode == 4 and b"needs a person's approval" in stopped.stdout
        listed = await run("bo", "agents\nwho\n")
        assert listed.returncode == 0 and b"workflow-" not in listed.stdout, "what asked has ended"
        whole = await run("bo", "cat /calls/lobby/conversation/099.msg\n")
        assert b"There is no /calls/lobby/conversation/099.msg here" in whole.stderr


async def test_what_is_not_the_shell_is_refused(tmp_path: Path) -> None:
    async with door_for(tmp_path, amy="all") as door:
        async with door.connect("amy") as connection:
            done = await connection.run("echo owned > owned", check=False)
            assert done.exit_status == 1 and "only its own shell" in str(done.stderr)
            with pytest.raises(asyncssh.ChannelOpenError):
                await connection.open_connection("127.0.0.1", door.port)
            with pytest.raises(asyncssh.ChannelListenError):
                await connection.forward_remote_port("", 0, "127.0.0.1", door.port)
            with pytest.raises(asyncssh.ChannelOpenError):
                await connection.open_unix_connection(str(tmp_path / "socket"))
            async with connection.create_process(env={"LD_PRELOAD": "/tmp/x.so"}) as process:
                visitor = Visitor(process, has_terminal=False)
                assert "/tmp/x.so" not in await visitor.run("env")
        assert not (tmp_path / "owned").exists()


async def test_only_a_key_on_the_list_opens(tmp_path: Path) -> None:
    async with door_for(tmp_path, amy="talk") as door:
        with pytest.raises(asyncssh.PermissionDenied):
            await door.connect("eve")
        with pytest.raises(asyncssh.PermissionDenied):
            await asyncssh.connect(
                "127.0.0.1",
                door.port,
                username="amy",
                password="amy",
                client_keys=None,
                known_hosts=None,
                config=None,
                agent_path=None,
            )
        async with visit(door, "amy") as amy:
            assert "amy" in await amy.run("who")


async def test_bad_logins_from_an_address_keep_out_nobody_with_a_key(tmp_path: Path) -> None:
    async with door_for(tmp_path, amy="talk") as door, visit(door, "amy") as amy:
        for _ in range(25):
            with pytest.raises(asyncssh.PermissionDenied):
                await door.connect("eve")
        async with visit(door, "amy") as again:
            assert "amy" in await again.run("who")
        assert "amy" in await amy.run("who")


@pytest.mark.usefixtures("resident")
async def test_who_is_revoked_is_disconnected(tmp_path: Path) -> None:
    async with door_for(tmp_path, amy="talk", bo="talk") as door, visit(door, "amy") as amy, visit(door, "bo") as bo:
        gone = await asyncio.to_thread(run_gsh, "people", "revoke", "amy", cwd=tmp_path)
        assert gone.code == 0
        async with asyncio.timeout(30):
            await amy.process.wait_closed()
        assert "bo" in await bo.run("who")
        with pytest.raises(asyncssh.PermissionDenied):
            await door.connect("amy")


@pytest.mark.usefixtures("resident")
async def test_a_peer_that_vanishes_leaves_nothing_behind(tmp_path: Path) -> None:
    async with door_for(tmp_path, amy="talk", bo="talk") as door, visit(door, "bo") as bo:
        for _ in range(5):
            connection = await door.connect("amy")
            process = await connection.create_process(term_type="xterm")
            process.stdin.write("say half a li")
            connection.abort()
            await connection.wait_closed()
        assert "bo" in await bo.run("who")


@pytest.mark.usefixtures("resident")
async def test_a_terminal_has_an_editor_with_completion_and_a_break(tmp_path: Path) -> None:
    async with door_for(tmp_path, amy="talk") as door, at_terminal(door, "amy") as visitor:
        visitor.process.stdin.write("his\tn=1\n")
        await visitor.until("Nothing was said there yet.")
        await visitor.until(":lobby> ")
        visitor.process.stdin.write("say hi\x15who\n")
        assert "amy" in await visitor.until("(you)")
        visitor.process.stdin.write("\x04")
        async with asyncio.timeout(30):
            await visitor.process.wait_closed()


async def test_what_somebody_says_drives_no_other_s_terminal(tmp_path: Path) -> None:
    """Also not what Markdown makes of a character reference."""
    hostile = "**bold** &#x202e;evil &#27;]0;owned&#7; &#x9b;2J &rlm; `\\u202e` &#13;over"
    async with (
        door_for(tmp_path, amy="talk", bo="talk") as door,
        at_terminal(door, "amy") as amy,
        visit(door, "bo") as bo,
    ):
        await bo.run(f"say message={json.dumps(hostile)}")
        await amy.until("bold")
        heard = await amy.until("over")
        assert "evil" in heard
        rest = re.sub(r"\x1b\[[0-9;]*[mK]|\r\n", "", heard)
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e-\u200f\u2028-\u202e]", rest), rest


async def test_a_table_that_takes_seconds_to_lay_out_is_shown_as_it_is(tmp_path: Path) -> None:
    table = f"|{'a|' * 600}\\n|{'-|' * 600}\\n" + "|a\\n" * 200
    async with (
        door_for(tmp_path, amy="talk", bo="talk") as door,
        at_terminal(door, "amy") as amy,
        visit(door, "bo") as bo,
    ):
        await bo.run(f'say message="{table}|end"')
        assert "|-|-|-|" in await amy.until("|end")


async def test_a_second_key_is_let_in_under_a_name_only_as_the_same_person_s(tmp_path: Path) -> None:
    async with door_for(tmp_path, amy="talk") as door:
        again = await asyncio.to_thread(run_gsh, "people", "allow", "amy", door.public_key("eve"), cwd=tmp_path)
        assert again.code == 1 and "may enter already" in again.err and "--another" in again.err
        added = await asyncio.to_thread(
            run_gsh, "people", "allow", "--another", "amy", door.public_key("eve"), cwd=tmp_path
        )
        assert added.code == 0, added.err
        async with visit(door, "eve") as second:
            assert "amy (you)" in (await second.run("who")).replace("**", "")


async def test_nobody_comes_in_under_the_name_of_who_sits_here_or_of_an_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSH_GENERAL__NAME", "Amy")
    with (paths.config_dir(create=True) / "config.toml").open("a") as file:
        file.write('[agents.claude]\nmodel = "haiku"\n')
    with resident_hub(monkeypatch):  # from now on, as one that runs begins anew with these settings
        await _is_closed_to_names_of_others(tmp_path)


async def _is_closed_to_names_of_others(tmp_path: Path) -> None:
    async with door_for(tmp_path, bo="all") as door, visit(door, "bo") as bo:
        for name, whose in (("amy", "Amy"), ("c1aude", "claude"), ("b-o", "bo")):
            no = await asyncio.to_thread(run_gsh, "people", "allow", name, door.public_key("eve"), cwd=tmp_path)
            assert no.code == 1 and f"somebody else is called {whose} here" in no.err, no.err
        people = read_people(people_file()).people
        for name in ("amy", "c1aude"):  # one who got the name only after they were let in
            write_people(people_file(), [*people, new_person(door.public_key("eve"), name, "all")])
            with pytest.raises(asyncssh.PermissionDenied):
                await door.connect("eve")
        assert "bo" in await bo.run("who")


async def test_openssh_gets_nothing_but_the_shell(tmp_path: Path) -> None:
    """Each request of OpenSSH's own client that is no shell and no SFTP, and that nothing of it runs here."""
    async with door_for(tmp_path, bo="all") as door:
        agent = tmp_path / "agent"
        asks = {
            ("id",): b"connect without a command",
            ("-tt", "touch owned"): b"connect without a command",
            ("-s", "netconf"): b"only its own shell",
            ("-N", "-R", "0:127.0.0.1:22", "-o", "ExitOnForwardFailure=yes"): b"remote port forwarding failed",
            ("-W", "127.0.0.1:22"): b"forwarding failed",
            ("-N", "-w", "0:0", "-o", "ExitOnForwardFailure=yes"): b"unnel",
        }

        async def ask(words: tuple[str, ...]) -> bytes:
            options = [word for word in words if word not in ("id", "touch owned", "netconf")]
            command = [word for word in words if word in ("id", "touch owned", "netconf")]
            done = await asyncio.to_thread(
                subprocess.run,
                [*door.openssh("ssh", "bo", *options), "bo@127.0.0.1", *command],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=25,
                check=False,
            )
            assert done.returncode, words
            return done.stdout + done.stderr

        for words, refusal in asks.items():
            assert refusal in await ask(words), words
        lines = b"env\nexec cmd='env; echo still here'\nexit\n"
        environment = {**os.environ, "LC_OWNED": "1", "DISPLAY": ":99", "SSH_AUTH_SOCK": str(agent)}
        done = await asyncio.to_thread(
            subprocess.run,
            [*door.openssh("ssh", "bo", "-T", "-A", "-X", "-o", "SendEnv=LC_*"), "bo@127.0.0.1"],
            input=lines,
            capture_output=True,
            timeout=25,
            check=False,
            env=environment,
        )
        assert done.returncode == 0 and b"still here" in done.stdout and b"HOME=" in done.stdout
        assert not [word for word in (b"LC_OWNED", b":99", os.fsencode(agent)) if word in done.stdout]
        assert not (tmp_path / "owned").exists()


async def test_a_flood_of_bad_keys_delays_nobody_who_is_inside_and_keeps_nobody_out(tmp_path: Path) -> None:
    async with door_for(tmp_path, amy="talk") as door, visit(door, "amy") as amy:
        done = asyncio.Event()

        async def knock() -> None:
            while not done.is_set():
                with contextlib.suppress(asyncssh.Error, OSError):
                    await door.connect("eve")

        flood = [asyncio.create_task(knock()) for _ in range(MOST_PENDING_HERE // 2)]
        try:
            for _ in range(20):
                assert "amy" in await amy.run("pwd; who")
            async with visit(door, "amy") as again:
                assert "amy" in await again.run("who")
        finally:
            done.set()
            await asyncio.gather(*flood)


async def test_the_host_s_key_is_kept(tmp_path: Path, home: Home) -> None:
    fingerprints: list[str] = []
    for _ in range(2):
        with start_gsh("serve", "--ssh", "--port", "0", "--json", cwd=tmp_path) as process:
            assert process.stdout is not None
            fingerprints.append(json.loads(await asyncio.to_thread(process.stdout.readline))["host_key"])
            process.terminate()
            assert await asyncio.to_thread(process.wait, 20) == 0
    assert fingerprints[0] == fingerprints[1]
    (key,) = home.data.rglob("ssh_host_key")
    assert key.stat().st_mode & 0o777 == 0o600


async def test_connections_that_do_not_log_in_make_room_for_those_who_do(tmp_path: Path) -> None:
    async with door_for(tmp_path, amy="talk") as door:
        idle = [await asyncio.open_connection("127.0.0.1", door.port) for _ in range(MOST_PENDING_HERE + 5)]
        for reader, _ in idle[:5]:
            while await reader.read(1_000):
                pass
        async with visit(door, "amy") as amy:
            assert "amy" in await amy.run("who")
        for _, writer in idle:
            writer.close()


@pytest.mark.usefixtures("resident")
async def test_a_killed_server_with_ten_inside_loses_nothing_that_it_said_was_said_and_they_come_back(
    tmp_path: Path,
) -> None:
    people = [f"guest-{number}" for number in range(10)]
    told: dict[str, int] = {}
    async with door_for(tmp_path, **dict.fromkeys(people, "all")) as door:
        assert run_gsh("run", "create call=audio", cwd=tmp_path).code == 0

        async def speak(who: str) -> None:
            async with visit(door, who) as visitor:
                await visitor.run("join audio")
                for number in range(1_000):
                    said = await visitor.run(f"say '{who} says {number}'")
                    told[f"{who} says {number}"] = int(said.partition("as message ")[2].partition(".")[0])
                    if len(told) == 50:
                        os.kill(door.pid, signal.SIGKILL)

        ended = await asyncio.gather(*map(speak, people), return_exceptions=True)
        assert all(isinstance(one, AssertionError | OSError | asyncssh.Error) for one in ended), ended
    assert len(told) >= 50
    async with reopened(door) as again, visit(again, people[0]) as visitor:
        assert "You are in" in await visitor.run("join audio")
        found = run_gsh("run", "--json", "history call=audio n=1000", cwd=tmp_path).json
        said = [(one["text"], one["seq"]) for one in found if " says " in one["text"]]
        assert len({text for text, _ in said}) == len(said), "each once"
        assert told.items() <= dict(said).items()
        inside = await visitor.run("who")
        assert all(who in inside for who in people), "they are still in it"
        more = await visitor.run("say 'back again'")
        assert f"as message {len(found)}" in more and found[-1]["seq"] == len(found) - 1


@pytest.mark.usefixtures("resident")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_the_hub_keeps_the_door_and_the_next_one_opens_it_again(tmp_path: Path, number: signal.Signals) -> None:
    first = running_keeper(paths.data_dir())
    assert first is not None
    async with door_for(tmp_path, amy="talk") as door:

        async def opened_again() -> bool:
            keeper = running_keeper(paths.data_dir())
            with socket.socket() as client:
                there = client.connect_ex(("127.0.0.1", door.port)) == 0
            return there and keeper is not None and keeper.process.pid != first.process.pid

        opened = [each.path for each in psutil.Process(door.pid).open_files()]
        assert not [path for path in opened if "gsh.db" in path], "only the hub writes the record"
        async with visit(door, "amy") as amy:
            await amy.run("say 'before'")
        os.kill(first.process.pid, number)
        try:
            await eventually(opened_again)
            async with visit(door, "amy") as amy:
                assert "before" in await amy.run("history")
        finally:
            assert run_gsh("hub", "stop", cwd=tmp_path).code == 0


@pytest.mark.usefixtures("beside")
@pytest.mark.parametrize("host", ["nowhere.invalid", f"{'x' * 70}.example", "256.1.1.1"])
def test_an_address_that_is_none_is_one_sentence(tmp_path: Path, host: str) -> None:
    ended = run_gsh("serve", "--ssh", "--port", "0", "--host", host, cwd=tmp_path)
    assert ended.code == 1
    assert ended.err.startswith(f"gsh-tui: Cannot listen on {host} port 0: ") and ended.err.count("\n") == 1
