"""The command `host`: the other machines of the configuration, what is on them, and what may be wrong with one.

The settings are enough to list and examine them; the agents on them are known where there is a fleet. For people only.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec
from pydantic import Field

from gshtui import __version__
from gshtui.bus.agent_data import AgentRow
from gshtui.commands.declaration import (
    Access,
    Action,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Question,
    Returns,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellGroup
from gshtui.fleet.core.fleet_context import is_over
from gshtui.hosts.host_checks import HostFinding, examine_host
from gshtui.hosts.host_link import HostLink, HostLinks
from gshtui.hosts.host_package import examine_package, install_package, remove_package
from gshtui.store.engine.store_errors import StoreError
from gshtui.text import markdown_table
from gshtui.text.plain_name import known_names, similar_names

if TYPE_CHECKING:
    from gshtui.store.record.store import Store


class HostState(msgspec.Struct, frozen=True):
    """A host, and what is known of it without connecting to it."""

    name: str
    destination: str
    connected: bool
    failure: str
    """Why the last attempt to connect failed here; empty: none did."""
    agents: list[str]
    """The ids of the agents on it that have not ended."""
    rules: str


class HostList(msgspec.Struct, frozen=True):
    """The hosts of the configuration."""

    hosts: list[HostState]


class ShownHost(msgspec.Struct, frozen=True):
    """One host, and how a person gets there."""

    state: HostState
    ssh: str
    """The plain command."""
    tmux: str
    """The plain command that shows the agents' tmux server there."""
    settings: dict[str, Any]


class ExaminedHost(msgspec.Struct, frozen=True):
    """What was found wrong or right with a host."""

    name: str
    findings: list[HostFinding]

    @property
    def usable(self) -> bool:
        """Whether agents can run there."""
        return not any(finding.status in ("missing", "problem") for finding in self.findings)


class BroughtPackage(msgspec.Struct, frozen=True):
    """Our package on a host, after it was brought there or removed."""

    name: str
    version: str
    """Empty: there is none any more."""
    changed: bool
    """There was something to do."""


_PARTS = frozenset({"store", "fleet"})
_SOURCES = {
    "there": "beside the packages that it needs, which are there",
    "here": "with the packages that it needs copied from here",
    "pip": "with the packages that it needs fetched by pip there",
}
T = TypeVar("T")
_GROUP = ShellGroup(
    "Other machines on which agents run.",
    """\
Other machines on which agents run: those that `[hosts.NAME]` in the configuration names, reached by your own ssh.

`agent spawn --host NAME --cli COMMAND` starts a program there, and `agent spawn --host NAME` one of our own agents,
once `host install NAME` has brought gsh-tui there.""",
    (("list", "ls"),),
)


class ListHosts(Parameters, Returns[HostList]):
    """List the hosts of the configuration, with their agents; connects to none."""

    COMMAND: ClassVar[str] = "host"
    WORD: ClassVar[str] = "ls"
    SHELL = ShellForm(summary="List the hosts of the configuration.", parts=_PARTS)


class ShowHost(Parameters, Returns[ShownHost]):
    """Show a host: how it is reached, and what is on it. Connects to none."""

    COMMAND: ClassVar[str] = "host"
    WORD: ClassVar[str] = "show"
    SHELL = ShellForm(summary="Show how a host is reached, and what is on it.", parts=_PARTS)
    name: str = Field(description="Name of the host in the configuration.")


class ExamineHost(Parameters, Returns[ExaminedHost]):
    """Connect to a host now, and check what agents need there: ssh, login shell, tmux, disk, language."""

    COMMAND: ClassVar[str] = "host"
    WORD: ClassVar[str] = "doctor"
    SHELL = ShellForm(
        summary="Connect to a host, and check what agents need there.", parts=frozenset(), waiting="Looking", alone=True
    )
    name: str = Field(description="Name of the host in the configuration.")


class InstallPackage(Parameters, Returns[BroughtPackage]):
    """Bring this version of gsh-tui to a host, for the tools of our own agents there."""

    COMMAND: ClassVar[str] = "host"
    WORD: ClassVar[str] = "install"
    SHELL = ShellForm(
        summary="Bring gsh-tui to a host, for our own agents' tools.",
        parts=frozenset(),
        waiting="Bringing it there",
        needs_answer=True,
        alone=True,
    )
    name: str = Field(description="Name of the host in the configuration.")


class UninstallPackage(Parameters, Returns[BroughtPackage]):
    """Remove gsh-tui from a host, and end what runs of it there."""

    COMMAND: ClassVar[str] = "host"
    WORD: ClassVar[str] = "uninstall"
    SHELL = ShellForm(
        summary="Remove gsh-tui from a host.",
        parts=_PARTS,
        waiting="Removing it",
        needs_answer=True,
        own_hub=True,
    )
    name: str = Field(description="Name of the host in the configuration.")


def commands(hosts: HostLinks, store: Callable[[], Store | None]) -> list[AnyCommand]:
    """The host family. `store`: has the agents on them."""

    async def rows() -> list[AgentRow]:
        """The agents of the record, as far as it can be read."""
        record = store()
        with suppress(StoreError):
            return [] if record is None else await record.agents.find_all()
        return []

    def found(name: str) -> HostLink:
        if name in hosts.settings:
            return hosts.link(name)
        names = similar_names(name, hosts.settings) or sorted(hosts.settings)[:8]
        hint = known_names("hosts", names) if names else "Add [hosts.NAME] to your configuration."
        raise CommandError(f"There is no host {name!r} in the configuration.", hint=hint)

    async def state(link: HostLink) -> HostState:
        here = [row.id for row in await rows() if row.machine == link.name and not is_over(row)]
        failure = "" if link.failure is None else link.failure.message
        return HostState(link.name, link.destination, await link.is_connected(), failure, here, link.settings.rules)

    async def ls(_: Invocation, _wanted: ListHosts) -> HostList:
        return HostList(list(await asyncio.gather(*(state(hosts.link(name)) for name in sorted(hosts.settings)))))

    async def show(_: Invocation, wanted: ShowHost) -> ShownHost:
        link = found(wanted.name)
        tmux = shlex.join((link.settings.tmux, "-L", link.settings.socket_name, "ls"))
        return ShownHost(
            await state(link),
            shlex.join(link.person_command()),
            shlex.join(link.person_command(tmux)),
            link.settings.model_dump(mode="json", exclude_defaults=True),
        )

    async def doctor(_: Invocation, wanted: ExamineHost) -> ExaminedHost:
        return ExaminedHost(wanted.name, await examine_host(found(wanted.name)))

    async def asks_install(_: Invocation, wanted: InstallPackage) -> Question | None:
        package = await examine_package(found(wanted.name))
        if package.same or not package.python:
            return None
        return Question(
            wanted,
            f"Install gsh-tui {__version__} on {wanted.name}?",
            f"It goes into ~/.local/share/gsh/tools there, {_SOURCES[package.source]}, and is run by Python "
            f"{package.python_version} at {package.python}. Nothing else is changed, and no key is sent.",
            "Install",
            note=f"`host uninstall {wanted.name}` removes it.",
            doing="Installing …",
        )

    async def install(_: Invocation, wanted: InstallPackage) -> BroughtPackage:
        link = found(wanted.name)
        package = await examine_package(link)
        if not package.same:
            await install_package(link, package)
        return BroughtPackage(wanted.name, __version__, not package.same)

    async def asks_uninstall(_: Invocation, wanted: UninstallPackage) -> Question:
        found(wanted.name)
        at_work = [row.name for row in await rows() if row.place.partition(":")[0] == wanted.name and not is_over(row)]
        return Question(
            wanted,
            f"Remove gsh-tui from {wanted.name}?",
            "What its tools run there is ended, and our own agents cannot work there any more.",
            "Remove",
            losses=(f"{', '.join(at_work)} can do nothing there any more.",) if at_work else (),
        )

    async def uninstall(_: Invocation, wanted: UninstallPackage) -> BroughtPackage:
        return BroughtPackage(wanted.name, "", await remove_package(found(wanted.name)))

    async def complete(_invocation: Invocation, parameter: str, typed: str) -> list[str]:
        return [name for name in sorted(hosts.settings) if parameter == "name" and name.startswith(typed)]

    return [
        group(
            "host",
            "List, show or examine the other machines on which agents work, and bring gsh-tui there",
            Action(ListHosts, ls, _render_list),
            Action(ShowHost, show, _render_host),
            Action(ExamineHost, doctor, _render_findings, effect=Effect.NETWORK),
            Action(InstallPackage, install, _render_package, asks=asks_install, effect=Effect.NETWORK),
            Action(UninstallPackage, uninstall, _render_package, asks=asks_uninstall, effect=Effect.NETWORK),
            family="agents",
            shell=_GROUP,
            access=Access.HUMAN_ONLY,
            complete=complete,
        )
    ]


def _connection(state: HostState) -> str:
    return "connected" if state.connected else state.failure or "not connected now"


def _render_list(_: Invocation, listed: HostList) -> Outcome:
    data = [msgspec.to_builtins(state) for state in listed.hosts]
    if not listed.hosts:
        return Outcome(data, "No other machines yet. `[hosts.NAME]` in the configuration names one.")
    head = ("host", "destination", "connection", "agents", "ssh tool")
    rows = (
        (state.name, f"`{state.destination}`", _connection(state), ", ".join(state.agents), state.rules)
        for state in listed.hosts
    )
    return _shown(data, markdown_table.table(head, rows))


def _render_host(_: Invocation, shown: ShownHost) -> Outcome:
    data = msgspec.to_builtins(shown.state) | {"ssh": shown.ssh, "tmux": shown.tmux, "settings": shown.settings}
    facts = {
        "host": shown.state.name,
        "connection": _connection(shown.state),
        "ssh": f"`{shown.ssh}`",
        "tmux": f"`{shown.tmux}`",
        "agents": ", ".join(shown.state.agents) or "none",
        "ssh tool": shown.state.rules,
    }
    return _shown(data, markdown_table.facts(facts.items()))


def _render_findings(_: Invocation, examined: ExaminedHost) -> Outcome:
    data = {
        "host": examined.name,
        "ok": examined.usable,
        "findings": [msgspec.to_builtins(one) for one in examined.findings],
    }
    head = ("", "result", "", "what to do")
    rows = ((one.name, one.status, one.detail, one.fix) for one in examined.findings)
    return _shown(data, markdown_table.table(head, rows), is_error=not examined.usable)


def _render_package(_: Invocation, brought: BroughtPackage) -> Outcome:
    there = f"gsh-tui {brought.version}" if brought.version else "gsh-tui"
    if brought.version:
        said = f"installed on {brought.name}" if brought.changed else f"on {brought.name} already"
        hint = f" `agent spawn --host {brought.name}` starts one of our own agents there."
    else:
        said, hint = f"removed from {brought.name}" if brought.changed else f"not on {brought.name}", ""
    return Outcome(msgspec.to_builtins(brought), f"{there} is {said}.{hint}")


def _shown(data: object, table: str, *, is_error: bool = False) -> Outcome:
    return Outcome(data, table, is_error, plain=markdown_table.bare_columns(table))
