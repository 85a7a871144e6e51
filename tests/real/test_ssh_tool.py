"""The `ssh` tool on a real sshd: what it does there, what it asks about, and what it never does."""

import asyncio
import os
from pathlib import Path

import pytest

from gshtui.bus.bus import Bus
from gshtui.commands.declaration import Assessment, CommandError
from gshtui.guard.approval.gate import Call, Gate
from gshtui.guard.rules.rule_book import RuleBook, parse_rules
from gshtui.tools.files.workspace import ToolConfig
from gshtui.tools.remote.ssh_tool import commands
from tests.kit.ssh_hosts import SshHost, ssh_host
from tests.kit.tmux import eventually
from tests.kit.tool_harness import ToolHarness, processes_mentioning


def tools(host: SshHost, project: Path, rules: str = "ask") -> ToolHarness:
    harness = ToolHarness(project)
    (harness.commands["ssh"],) = commands(host.links(rules=rules), ToolConfig(os.environ))
    return harness


async def test_it_runs_reads_writes_and_copies_there_and_cut_off_it_leaves_nothing(tmp_path: Path) -> None:
    with ssh_host() as host:
        (host.home / ".bashrc").write_text("echo NOISE\n")
        project = tmp_path / "project"
        project.mkdir()
        harness = tools(host, project)
        evil = "\x1b]52;c;aGk=\x07\x1b[2Jseen\x9b5n"
        await harness.run("ssh", host="far", action="write", path=str(host.home) + "/it's $x.txt", content=evil + "\n")
        assert (host.home / "it's $x.txt").read_text() == evil + "\n"
        seen = await harness.run("ssh", host="far", action="read", path=str(host.home) + "/it's $x.txt")
        assert "seen" in seen.text
        assert not {"\x1b", "\x9b", "\x07"} & set(seen.text)
        ran = await harness.run("ssh", host="far", command="pwd; echo wrong >&2; exit 7", folder="~")
        assert ran.text == f"{host.home}\nwrong\n[exit code: 7]"
        assert (ran.is_error, ran.data["exit_code"]) == (True, 7)

        data = bytes(range(256)) * 5_000
        harness.write_file("data.bin", data)
        await harness.run("ssh", host="far", action="put", path=f"{host.home}/sub.bin", local="data.bin")
        await harness.run("ssh", host="far", action="get", path=f"{host.home}/sub.bin", local="back.bin")
        assert (project / "back.bin").read_bytes() == data
        assert [path.name for path in host.home.iterdir() if "gsh-" in path.name] == []
        for why, wanted in (
            ("exists already", {"action": "get", "path": "~/sub.bin", "local": "back.bin"}),
            ("There is no far:/nope", {"action": "read", "path": "/nope"}),
            ("There is no folder far:/nope", {"command": "true", "folder": "/nope"}),
            ("is a folder", {"action": "write", "path": "~", "content": "x"}),
            ("always refused", {"command": "rm -rf /"}),
        ):
            with pytest.raises(CommandError, match=why):
                await harness.run("ssh", host="far", **wanted)
        with pytest.raises(CommandError, match="There is no host 'other'"):
            await harness.run("ssh", host="other", command="true")

        slow = await harness.run("ssh", host="far", command="sleep 4711 & sleep 4711", timeout_ms=700)
        assert slow.timed_out
        await eventually(lambda: asyncio.to_thread(processes_mentioning, "sleep 4711"), until=lambda left: not left)
        running = asyncio.ensure_future(harness.run("ssh", host="far", command="exec sleep 4712"))
        await eventually(lambda: asyncio.to_thread(processes_mentioning, "sleep 4712"))
        harness.cancelled.set()
        with pytest.raises(CommandError, match="was cancelled"):
            await running
        await eventually(lambda: asyncio.to_thread(processes_mentioning, "sleep 4712"), until=lambda left: not left)

        # No more room there, as on a full disk: the old file stays, and nothing is left beside it.
        (host.home / ".bashrc").write_text("trap '' XFSZ\nulimit -f 100\n")
        harness.cancelled.clear()
        with pytest.raises(CommandError, match="File too large"):
            await harness.run("ssh", host="far", action="put", path=f"{host.home}/sub.bin", local="back.bin")
        assert (host.home / "sub.bin").read_bytes() == data
        assert [path.name for path in host.home.iterdir() if "gsh-" in path.name] == []


async def _allowed(assessment: Assessment, rules: str = "", **arguments: object) -> bool:
    """Whether it runs where nobody can be asked."""
    bus = Bus()
    book = parse_rules(Path("rules.toml"), rules) if rules else RuleBook(())
    gate = Gate(bus, respondent="nobody", auto_approve=frozenset({"read"}), rules=lambda: book)
    verdict = await gate.review(Call("main", "s", "c", "ssh", dict(arguments)), assessment)
    await gate.close()
    await bus.close()
    return verdict.allowed


async def test_every_call_is_a_question_unless_the_host_or_a_rule_says_otherwise(tmp_path: Path) -> None:
    with ssh_host() as host:
        (host.home / "notes.txt").write_text("hi\n")
        (host.home / "link.txt").symlink_to(host.home / "notes.txt")
        asks, reads = tools(host, tmp_path), tools(host, tmp_path, rules="read")
        run = {"host": "far", "command": "uptime"}
        read = {"host": "far", "action": "read", "path": f"{host.home}/notes.txt"}
        secret = {"host": "far", "action": "read", "path": "~/.ssh/id_ed25519"}
        assert not await _allowed(await asks.assess("ssh", **run), **run)
        assert not await _allowed(await asks.assess("ssh", **read), **read)
        assert not await _allowed(await reads.assess("ssh", **run), **run)
        assert await _allowed(await reads.assess("ssh", **read), **read)
        assert not await _allowed(await reads.assess("ssh", **secret), **secret)
        with pytest.raises(CommandError, match=r"link\.txt leads to .*notes\.txt"):
            await reads.run("ssh", host="far", action="read", path=f"{host.home}/link.txt")
        rule = f'[[rule]]\ndo = "allow"\ntool = "ssh"\npaths = ["far:{host.home}/*"]\n'
        assert await _allowed(await asks.assess("ssh", **read), rule, **read)
        assert not await _allowed(await asks.assess("ssh", **secret), rule, **secret)
        (tmp_path / "plain.txt").write_text("x")
        (tmp_path / ".env").write_text("KEY=x")
        for local, ok in (("plain.txt", True), (".env", False)):
            put = {"host": "far", "action": "put", "path": f"{host.home}/up.txt", "local": local}
            assert await _allowed(await asks.assess("ssh", **put), rule, **put) is ok, "a rule about there, not here"
        told = await asks.assess("ssh", **run)
        assert await _allowed(told, f'[[rule]]\ndo = "allow"\ntool = "ssh"\nexactly = "{told.pattern}"\n', **run)
        denied = '[[rule]]\ndo = "deny"\nprogram = "ssh"\n[[rule]]\ndo = "allow"\ntool = "ssh"\n'
        assert not await _allowed(told, denied, **run)
        with pytest.raises(CommandError, match="allows agents nothing on far"):
            await tools(host, tmp_path, rules="deny").assess("ssh", **run)
