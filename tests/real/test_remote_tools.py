"""Our own agents on another machine: their tools act there, over a real sshd, wherever the connection breaks."""

import asyncio
import contextlib
import functools
import json
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
from msgspec.structs import replace

import gshtui
from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import (
    AgentStatusChanged,
    InterruptRequested,
    MessageAppended,
    ToolFinished,
    TurnFinished,
)
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested
from gshtui.bus.events.hub_events import Noticed
from gshtui.commands.declaration import Assessment, Caller, CommandError, Invocation, Outcome
from gshtui.commands.registry import Registry
from gshtui.fleet.commands.host_commands import InstallPackage, UninstallPackage, commands
from gshtui.fleet.core.ports import LaunchTerms
from gshtui.fleet.native.relay import held_to_rights
from gshtui.fleet.native.spec import Spec, make_spec, write_spec
from gshtui.guard.approval.gate import Call, Gate
from gshtui.guard.rules.rule_book import RuleBook, parse_rules
from gshtui.hosts import host_package
from gshtui.hosts.host_checks import examine_host
from gshtui.hosts.host_errors import HostError
from gshtui.hosts.host_link import HostLink
from gshtui.hosts.host_package import check_package, examine_package, install_package, remove_package
from gshtui.hub.hub import Hub
from gshtui.settings import paths
from gshtui.tools.commands import commands as tools_of
from gshtui.tools.files.workspace import ToolConfig
from gshtui.tools.remote.remote_tools import RemoteTools
from tests.kit.native_agents import AGENT, agent_process, kill, relay_window
from tests.kit.resident import resident
from tests.kit.running_hub import running_hub
from tests.kit.ssh_hosts import Gate as Network
from tests.kit.ssh_hosts import SshHost, ssh_host
from tests.kit.tmux import eventually

_packed = functools.cache(vars(host_package)["_archive"])


@pytest.fixture(autouse=True)
def packed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent is packed once for all tests."""
    monkeypatch.setattr(host_package, "_archive", _packed)


__all__ = ["resident"]


@contextlib.asynccontextmanager
async def machine(**more: object) -> AsyncGenerator[tuple[SshHost, Network, HostLink, Path]]:
    """Another machine with a project, and the network in front of it."""
    with ssh_host() as host:
        network = Network(host.port)
        await network.start()
        host.trust(network.port)
        (host.home / ".bashrc").write_text("echo NOISE; printf more\n")
        project = host.home / "project"
        (project / ".gsh").mkdir(parents=True)
        (project / "a.txt").write_text("one\ntwo\n")
        link = host.links(network.port, python=sys.executable, **more).link("far")
        try:
            yield host, network, link, project
        finally:
            network.reopen()
            await link.disconnect()
            await network.stop()


class Tools:
    """The tools of an agent there, as it calls them."""

    def __init__(self, link: HostLink, folder: Path, hub: Hub, secret: str = "s") -> None:
        self.told: list[str] = []
        self.notes: list[str] = []
        self.printed: list[str] = []
        self.hub = hub
        self.remote = RemoteTools(
            link, str(folder), secret, tell=self.told.append, note=lambda text, _: self.notes.append(text)
        )

    def _invocation(self, call: str) -> Invocation:
        here, agent = Path("/nowhere"), Caller("a", is_agent=True)
        return Invocation(agent, here, here, session="s", call=call, output=self.printed.append)

    async def assess(self, name: str, call: str = "c", **arguments: Any) -> Assessment:
        command = self.remote.acting(self.hub.registry.get(name), self.hub.files)
        assert command.assess is not None
        return await command.assess(self._invocation(call), command.parameters(**arguments))

    async def run(self, name: str, call: str = "c", **arguments: Any) -> Outcome:
        command = self.remote.acting(self.hub.registry.get(name), self.hub.files)
        return await command.handler(self._invocation(call), command.parameters(**arguments))


def test_every_tool_for_files_and_shell_commands_acts_on_the_machine_of_the_agent() -> None:
    tools = tools_of(ToolConfig({}))
    assert len(tools) > 10 and all(tool.acts for tool in tools)


@contextlib.asynccontextmanager
async def plain_hub(folder: Path) -> AsyncGenerator[Hub]:
    async with running_hub(folder, parts=frozenset(), visiting=True) as hub:
        yield hub


def servers(host: SshHost) -> list[psutil.Process]:
    """The processes of tools there."""
    found: list[psutil.Process] = []
    for one in host.processes():
        with contextlib.suppress(psutil.Error):
            if "serve" in one.cmdline() and any(word.endswith("tools.py") for word in one.cmdline()):
                found.append(one)
    return found


def runs(host: SshHost, mark: str) -> bool:
    for one in host.processes():
        with contextlib.suppress(psutil.Error):
            if mark in one.cmdline():
                return True
    return False


async def test_our_package_is_brought_examined_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with machine() as (host, _, link, _project):
        base = host.home / ".local" / "share" / "gsh" / "tools"
        with pytest.raises(HostError, match="is not installed on far") as refused:
            await check_package(link)
        assert "host install far" in refused.value.hint
        found = await examine_package(link)
        assert (found.installed, found.same, found.source) == ((), False, "there")

        # No more room there, as on a full disk: nothing is left, and it can be tried again.
        rc = host.home / ".bashrc"
        rc.write_text("trap '' XFSZ\nulimit -f 10\n")
        with pytest.raises(HostError, match="could not be installed on far"):
            await install_package(link, found)
        rc.write_text("echo NOISE\n")
        assert not base.parent.exists()

        # Where the Python there lacks packages and is like ours, they come along.
        monkeypatch.setattr(host_package, "_libraries", lambda: iter([("msgspec_copied.py", Path(__file__))]))
        await install_package(link, replace(found, source="here"))
        assert (base / gshtui.__version__ / "lib" / "msgspec_copied.py").exists()
        assert (await examine_package(link)).same
        await check_package(link)
        assert {one.name: one.status for one in await examine_host(link)}["gsh-tui"] == "ok"
        assert {oct(path.stat().st_mode & 0o077) for path in base.rglob("*")} == {"0o0"}

        # Another build of the same version is told, not guessed.
        (base / gshtui.__version__ / "build").write_text("other\n")
        told = next(one for one in await examine_host(link) if one.name == "gsh-tui")
        assert (told.status, "another" in told.detail) == ("note", True)

        hosts = host.links(0, python=sys.executable)
        family = Registry(commands(hosts, lambda: None))
        install = family.action(InstallPackage(name="far"))
        assert install.asks is not None
        invocation = Invocation(Caller(), Path("/"), Path("/"))
        question = await install.asks(invocation, InstallPackage(name="far"))
        assert question is not None and "no key is sent" in question.text
        remove = family.action(UninstallPackage(name="far"))
        assert (await remove.run(invocation, UninstallPackage(name="far"))).changed
        assert not base.exists()
        assert not await remove_package(link)
        await hosts.link("far").disconnect()


async def test_a_machine_without_a_python_says_so() -> None:
    async with machine() as (host, _, _link, _project):
        link = host.links(0, python="/no/such/python").link("far")
        found = await examine_package(link)
        assert found.python == ""
        with pytest.raises(HostError, match=r"no Python 3\.11 or newer on far"):
            await install_package(link, found)
        await link.disconnect()


async def test_tools_act_there_and_no_call_is_lost_or_done_twice(tmp_path: Path) -> None:
    async with machine() as (host, network, link, project), plain_hub(tmp_path) as hub:
        await install_package(link, await examine_package(link))
        (project / "AGENTS.md").write_text("Write tests.\n")
        tools = Tools(link, project, hub)
        await tools.remote.connect()
        facts = tools.remote.facts
        assert (facts.folder, facts.instructions) == (str(project), ())
        assert "not trusted" in tools.notes[0]
        assert "one" in (await tools.run("read", path="a.txt")).text
        judged = await tools.assess("edit", call="e", path="a.txt", old_text="two", new_text="2")
        assert (judged.inside, judged.machine, judged.root) == (True, "far", str(project))
        assert "+2" in judged.diff
        await tools.run("edit", call="e", path="a.txt", old_text="two", new_text="2")
        assert (project / "a.txt").read_text() == "one\n2\n"
        evil = await tools.run("bash", command=r"printf '\033]52;c;aGk=\007\033[2Jseen'; env | grep -c ^PYTHONPATH")
        assert "seen" in evil.text and not {"\x1b", "\x07"} & set(evil.text)
        with pytest.raises(CommandError, match=r"nope\.txt"):
            await tools.run("read", path="nope.txt")

        # Cut in the middle of a call: it goes on there, and its result comes once there is a connection again.
        line = "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo x >>count; echo ended"
        job = asyncio.ensure_future(tools.run("bash", command=line))
        await eventually(lambda: asyncio.to_thread(lambda: "begun" in "".join(tools.printed)))
        network.cut()
        await eventually(lambda: asyncio.to_thread(lambda: any("waiting for far" in one for one in tools.told)))
        (project / "go").touch()
        await eventually(lambda: asyncio.to_thread((project / "count").exists))
        network.reopen()
        assert (await job).text == "begun\nended"
        assert (tools.told[-1], (project / "count").read_text()) == ("", "x\n")

        # Cut before a call: it waits. Given up while there is no connection: it is ended there as soon as there is.
        network.cut()
        waits = asyncio.ensure_future(tools.run("read", path="a.txt"))
        await eventually(lambda: asyncio.to_thread(lambda: "waiting" in tools.told[-1]))
        network.reopen()
        assert "one" in (await waits).text
        running = asyncio.ensure_future(tools.run("bash", command="sleep 4713"))
        await eventually(lambda: asyncio.to_thread(runs, host, "4713"))
        network.cut()
        await eventually(lambda: asyncio.to_thread(lambda: "waiting" in tools.told[-1]))
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        assert await asyncio.to_thread(runs, host, "4713")
        network.reopen()
        await eventually(lambda: asyncio.to_thread(runs, host, "4713"), until=lambda left: not left)

        # The process there dies in a call, as at a restart of the machine: what became of it is not known.
        running = asyncio.ensure_future(tools.run("bash", command="sleep 4714"))
        await eventually(lambda: asyncio.to_thread(runs, host, "4714"))
        for one in await asyncio.to_thread(servers, host):
            one.send_signal(signal.SIGKILL)
        with pytest.raises(CommandError, match="whether this was done is not known"):
            await running
        assert "one" in (await tools.run("read", path="a.txt")).text, "the next call goes on"

        # Another process of the same agent takes over: what the earlier one had begun is ended.
        running = asyncio.ensure_future(tools.run("bash", command="sleep 4715"))
        await eventually(lambda: asyncio.to_thread(runs, host, "4715"))
        later = Tools(link, project, hub)
        await later.remote.connect()
        await eventually(lambda: asyncio.to_thread(runs, host, "4715"), until=lambda left: not left)
        running.cancel()
        await tools.remote.close()

        # Its end while the machine is out of reach: what still runs there is said to.
        running = asyncio.ensure_future(later.run("bash", command="sleep 4718"))
        await eventually(lambda: asyncio.to_thread(runs, host, "4718"))
        network.cut()
        await eventually(lambda: asyncio.to_thread(lambda: any("waiting" in one for one in later.told)))
        running.cancel()
        await later.remote.close()
        assert "ends by itself within a day" in later.notes[-1]
        network.reopen()
        later = Tools(link, project, hub)
        await later.remote.connect()
        await eventually(lambda: asyncio.to_thread(runs, host, "4718"), until=lambda left: not left)

        # Another version is refused in a sentence.
        later.remote._hello = msgspec.structs.replace(later.remote._hello, version="0.0.1")  # pyright: ignore[reportPrivateUsage]
        with pytest.raises(HostError, match=r"this machine has 0\.0\.1") as refused:
            await later.remote.connect()
        assert "host install far" in refused.value.hint
        await later.remote.close()
        await eventually(lambda: asyncio.to_thread(servers, host), until=lambda left: not left)


async def test_rules_are_by_machine_and_the_projects_own_tighten(tmp_path: Path) -> None:
    async with machine(trusted=["/"]) as (_, _, link, project), plain_hub(tmp_path) as hub:
        await install_package(link, await examine_package(link))
        (project / ".gsh" / "rules.toml").write_text('[[rule]]\ndo = "deny"\nprogram = "make"\n')
        (project / "AGENTS.md").write_text("Write tests.\n")
        tools = Tools(link, project, hub)
        await tools.remote.connect()
        assert "Write tests." in tools.remote.facts.instructions[0].text
        say = {"command": "cargo build"}
        judged = await tools.assess("bash", **say)
        rule = '[[rule]]\ndo = "{}"\nprogram = "cargo build"\n'

        async def verdict(text: str, arguments: dict[str, str], assessment: Assessment) -> bool:
            bus = Bus()
            book = parse_rules(Path("rules.toml"), text) if text else RuleBook(())
            gate = Gate(bus, respondent="nobody", auto_approve=frozenset(), rules=lambda: tools.remote.rules(book))
            found = await gate.review(Call("a", "s", "c", "bash", dict(arguments)), assessment)
            await gate.close()
            await bus.close()
            return found.allowed

        assert not await verdict("", say, judged)
        assert not await verdict(rule.format("allow"), say, judged), "what is allowed here is not allowed there"
        assert await verdict(rule.format("allow") + 'machine = "far"\n', say, judged)
        assert not await verdict(rule.format("allow") + 'machine = "near"\n', say, judged)
        here = Assessment(judged.effect, judged.subject, parts=judged.parts, key=judged.key)
        assert await verdict(rule.format("allow"), say, here)
        assert not await verdict(rule.format("allow") + 'machine = "far"\n', say, here), "nor the other way"
        both = rule.format("allow") + 'machine = "far"\n' + rule.format("deny")
        assert not await verdict(both, say, judged), "what is denied here is denied there"
        make = {"command": "make all"}
        allows = '[[rule]]\ndo = "allow"\nprogram = "make"\nmachine = "far"\n'
        assert not await verdict(allows, make, await tools.assess("bash", **make)), "its project's rules tighten"
        await tools.remote.close()


def spec_there(folder: Path, project: Path, prompt: str, hub: str, **request: Any) -> tuple[Spec, Path]:
    """The spec of an agent whose tools act in this project on `far`."""
    wanted = SpawnRequest(prompt=prompt, provider="offline", host="far", cwd=str(project), **request)
    row = AgentRow(id=AGENT, name="there", cwd=str(folder), home=str(folder), place=f"far:{project}")
    spec = make_spec(row, wanted, None, LaunchTerms(runtime=paths.runtime_dir()), data=paths.data_dir(), hub=hub)
    return spec, write_spec(spec)


def configure_host(host: SshHost, port: int) -> None:
    table = host.settings(port, python=sys.executable).model_dump(mode="json", exclude_defaults=True)
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in table.items())
    (paths.config_dir(create=True) / "config.toml").write_text(f"[hosts.far]\n{lines}")


async def test_an_agent_works_there_through_cuts_and_its_own_death(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with machine() as (host, network, link, project), relay_window(tmp_path) as window:
        await install_package(link, await examine_package(link))
        configure_host(host, network.port)
        network.cut()  # out of reach before it starts: it waits
        spec, file = spec_there(tmp_path, project, "run command pwd", window.relay.socket)
        heard = window.heard
        request.getfixturevalue("resident")
        with agent_process(file, tmp_path) as process:
            waits = await heard.wait_for(AgentStatusChanged, agent=AGENT, number=2)
            while not waits.doing.startswith("waiting for far"):
                waits = await heard.wait_for(AgentStatusChanged, agent=AGENT, status="starting", number=3)
            network.reopen()
            asked = await heard.wait_for(ApprovalRequested)
            assert "It acts on far, another machine." in asked.detail
            network.cut()  # at the question
            window.bus.publish(ApprovalAnswered(approval=asked.approval, decision="once"))
            await eventually(
                lambda: asyncio.to_thread(
                    lambda: [one for one in heard.of(AgentStatusChanged) if one.doing.startswith("waiting for far")][1:]
                )
            )
            network.reopen()
            turn = await heard.wait_for(TurnFinished)
            assert (turn.stop, str(project) in turn.text) == ("end", True)
            window.send_prompt("read a.txt")
            assert "one" in (await heard.wait_for(ToolFinished, number=2)).content

            window.send_prompt("run command sleep 4716")
            asked = await heard.wait_for(ApprovalRequested, number=2)
            window.bus.publish(ApprovalAnswered(approval=asked.approval, decision="once"))
            await eventually(lambda: asyncio.to_thread(runs, host, "4716"))
            window.bus.publish(InterruptRequested(agent=AGENT))
            assert (await heard.wait_for(TurnFinished, number=3)).stop == "interrupted"
            await eventually(lambda: asyncio.to_thread(runs, host, "4716"), until=lambda left: not left)

            window.send_prompt("run command sleep 4717")
            asked = await heard.wait_for(ApprovalRequested, number=3)
            window.bus.publish(ApprovalAnswered(approval=asked.approval, decision="once"))
            await eventually(lambda: asyncio.to_thread(runs, host, "4717"))
            session = heard.of(MessageAppended)[-1].session
            kill(process)
        with agent_process(write_spec(msgspec.structs.replace(spec, session=session)), tmp_path) as again:
            await heard.wait_for(AgentStatusChanged, agent=AGENT, status="idle", number=4)
            await eventually(lambda: asyncio.to_thread(runs, host, "4717"), until=lambda left: not left)
            window.send_prompt("read a.txt")
            assert "one" in (await heard.wait_for(ToolFinished, tool="read", number=2)).content
            again.terminate()
            await asyncio.to_thread(again.wait, 20)
        await eventually(lambda: asyncio.to_thread(servers, host), until=lambda left: not left)
        asked_for = SpawnRequest(prompt="x", cwd="/", host="")
        assert held_to_rights(spec, asked_for).host == "far", "it starts no agent on this machine"
        assert not [one for one in heard.of(Noticed) if one.level == "error"]
