"""The servers of one hub, and their tools in the registries of its agents.

Tools that are known from earlier are offered without starting anything; a server of which nothing is known is started
before the first turn. Nothing here is loaded, and nothing started, where no server is configured.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import AgentStatusChanged
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.events.server_events import ToolServerChanged
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.mcp_client.elicitations import Elicitations
from gshtui.mcp_client.server_connection import ConnectionOptions, ServerConnection
from gshtui.mcp_client.server_definition import McpError, ServerDefinition
from gshtui.mcp_client.server_requests import ToolCaller
from gshtui.mcp_client.server_resources import mentioned_resources, read_resource, resource_command
from gshtui.mcp_client.server_tools import tool_commands, tool_names
from gshtui.mcp_client.tool_pins import ServerPins, ToolPin, accepted, read_pins, received, write_pins
from gshtui.settings import paths
from gshtui.system.files import private_files
from gshtui.system.files.file_lock import blocking_lock
from gshtui.system.struct_types import learned
from gshtui.system.tasks import cancel_and_wait, end_all, start_job
from gshtui.text.plain_name import known_names
from gshtui.text.sanitise import literal, one_line

_FIRST_WAIT = 10.0
"""Seconds that a turn waits for servers of which nothing is known yet."""
_FAILED_FOR = 600.0
"""Seconds for which a start that failed is not tried again before a turn."""
_MOST_MENTIONED = 10
"""Resources of one prompt."""
GROUP = "mcp "
"""What the names of the servers' groups in a registry begin with."""


class ServerQuestion(msgspec.Struct, frozen=True):
    """A question about a server: whether it may run, or whether what its tools are now may be offered.

    Attributes:
        exact: what was agreed to, for the answer to hold for nothing else.
    """

    server: str
    title: str
    detail: str
    exact: str


Ask = Callable[[str, ServerQuestion], Awaitable[bool]]
"""(agent, question) → whether the person agrees. False where nobody is there to ask."""
Permits = Callable[[AnyCommand], bool]


class _Entry(msgspec.Struct):
    """One server."""

    definition: ServerDefinition
    connection: ServerConnection
    pins: ServerPins = msgspec.field(default_factory=ServerPins)
    version: int = 0
    """Grows with each change of the tools that are offered."""
    asking: asyncio.Task[None] | None = None
    waits: bool = False
    """It stands in another program's file, and nobody has agreed yet that it is used from there."""
    told: str = ""
    """The last problem that the person was told."""

    @property
    def known(self) -> bool:
        """Whether its tools are those of what is configured now."""
        return self.pins.definition == self.definition.digest


class ServerPool:
    """See the module's text. Made and closed by the hub."""

    def __init__(
        self,
        bus: Bus,
        definitions: Iterable[ServerDefinition],
        options: ConnectionOptions,
        ask: Ask,
        files: Path,
    ) -> None:
        """
        Args:
            ask: asks a person, in the inbox.
            files: folder for pictures and files in answers.
        """
        self._bus = bus
        self._options = options
        self._ask = ask
        self.files = files
        self._entries: dict[str, _Entry] = {}
        self._seen: weakref.WeakKeyDictionary[Registry, dict[str, int]] = weakref.WeakKeyDictionary()
        self.elicitations = Elicitations()
        self.on_prompts: Callable[[], Coroutine[Any, Any, None]] | None = None
        """Called when a server's prompts are others than before."""
        self._loaded = False
        self._jobs: set[asyncio.Task[None]] = set()
        self.configure(definitions)

    def configure(self, definitions: Iterable[ServerDefinition]) -> None:
        """Use these servers from now on; connections of those that changed end."""
        wanted = {one.name: one for one in definitions}
        for name, entry in list(self._entries.items()):
            if wanted.get(name) != entry.definition:
                del self._entries[name]
                self._bus.publish(ToolServerChanged(server=name))
                self._job(entry.connection.close(), f"the end of the MCP server {name}")
        for name, definition in wanted.items():
            if name not in self._entries:
                connection = ServerConnection(
                    definition, self._options, on_state=self._note_state, on_offer=self._note_offer
                )
                self._entries[name] = _Entry(definition, connection)
                self._bus.publish(ToolServerChanged(server=name))
        self._loaded = False

    @property
    def definitions(self) -> list[ServerDefinition]:
        return [entry.definition for _, entry in sorted(self._entries.items())]

    def connection(self, name: str) -> ServerConnection:
        """The connection to a server. Raises `McpError`: there is none of this name."""
        if name not in self._entries:
            hint = known_names("MCP servers", sorted(self._entries)) if self._entries else "`mcp add` adds one."
            raise McpError(f"There is no MCP server {name[:40]!r}.", hint)
        return self._entries[name].connection

    def pins(self, name: str) -> ServerPins:
        return self._entries[name].pins if name in self._entries else ServerPins()

    async def load(self) -> None:
        """Read what is known of the servers' tools."""
        if self._loaded:
            return
        self._loaded = True
        for name, entry in self._entries.items():
            if not entry.pins.definition:
                entry.pins = await asyncio.to_thread(read_pins, name)
                entry.connection.legacy = entry.known and entry.pins.legacy
                entry.version += 1

    async def prepare(self, registry: Registry, agent: str, permits: Permits, *, learn: bool = True) -> None:
        """See to it that a registry has the tools that its agent may use now. Raises nothing.

        Args:
            permits: whether the agent may have a tool.
            learn: whether to start the servers of which nothing is known.
        """
        await self.load()
        await self._see_agreed()
        usable = [entry for entry in self._entries.values() if entry.definition.settings.enabled and not entry.waits]
        if learn and (
            unknown := [
                entry for entry in usable if not entry.known and not entry.told and not self._passed_over(entry)
            ]
        ):
            await self._learn(unknown, agent)
        seen = self._seen.setdefault(registry, {})
        for name in [
            name
            for name in seen
            if (entry := self._entries.get(name)) is None or not entry.definition.settings.enabled or entry.waits
        ]:
            registry.put(GROUP + name, ())
            del seen[name]
        for entry in usable:
            name = entry.definition.name
            if seen.get(name) != entry.version and entry.known:
                seen[name] = entry.version
                registry.put(GROUP + name, filter(permits, self._commands(entry)))

    async def _see_agreed(self) -> None:
        """Find out which servers of other programs may be used; a person is told once of those that wait."""
        others = [entry for entry in self._entries.values() if entry.definition.source == "program"]
        for entry in others:
            one = entry.definition
            agreed = await asyncio.to_thread(is_agreed, one.agreed_in, one.name, one.digest)
            entry.waits = not agreed
        waiting = [entry.definition for entry in others if entry.waits and entry.definition.settings.enabled]
        exact = [f"{one.agreed_in} {one.name} {one.digest}" for one in waiting]
        if waiting and await asyncio.to_thread(first_time, exact):
            names = ", ".join(one.name for one in waiting[:5]) + (" …" if len(waiting) > 5 else "")
            text = f"Agents can use the MCP servers of other programs: {names}."
            self._bus.publish(
                Noticed(level="info", text=text, hint="`mcp accept` shows them and asks once.", about="mcp")
            )

    async def allow(self, name: str, agent: str, *, agreed: bool = False) -> None:
        """See to it that a project's server may run. Raises `McpError`: the person has not agreed to it. `agreed`: the
        person has agreed just now.
        """
        definition = self.connection(name).definition
        if not definition.brought:
            return
        exact = definition.digest
        if await asyncio.to_thread(is_agreed, definition.agreed_in, name, exact):
            return
        if agreed or await self._ask(agent, run_question(definition)):
            await asyncio.to_thread(agree, definition.agreed_in, name, exact)
            self._entries[name].told = ""
            return
        raise McpError(
            f"{definition.bringer} brings the MCP server {name}, and you have not agreed to it:"
            f" {definition.line[:200]}.",
            f"`mcp accept {name}` shows it and lets it run.",
        )

    async def started(self, name: str, agent: str) -> ServerConnection:
        """The connection to a server, started. Raises `McpError`."""
        await self.load()
        connection = self.connection(name)
        await self.allow(name, agent)
        await connection.ready()
        return connection

    async def mentioned(self, text: str, agent: str) -> list[tuple[str, str]]:
        """The resources that a person's words name as `@SERVER:URI`, each with its text. Raises nothing."""
        named = [(server, uri) for server, uri in mentioned_resources(text) if server in self._entries]
        return [
            (f"{server}:{uri}", await self._resource(server, uri, agent)) for server, uri in named[:_MOST_MENTIONED]
        ]

    async def _resource(self, server: str, uri: str, agent: str) -> str:
        shown = one_line(literal(uri), 200)
        try:
            connection = await self.started(server, agent)
            text = await read_resource(connection, uri, ToolCaller(agent), self.files)
        except McpError as error:
            return f"[@{server}:{shown} could not be read: {error.message}]"
        return f"The resource {shown} of the MCP server {server}, which the prompt names:\n\n{text}"

    async def accept(self, name: str) -> tuple[ToolPin, ...]:
        """Offer a server's tools as they are now; returns those that are new or changed. Raises `McpError`."""
        await self.load()
        self.connection(name)
        entry = self._entries[name]
        changed = entry.pins.changed
        if changed:
            await self._keep(entry, accepted(entry.pins))
        return changed

    async def note_accepted(self, name: str) -> None:
        """A person has accepted a server, or its changed tools; what is kept of it says what."""
        if (entry := self._entries.get(name)) is not None:
            entry.pins, entry.told, entry.waits = await asyncio.to_thread(read_pins, name), "", False
            entry.version += 1
            self._bus.publish(ToolServerChanged(server=name, state=entry.connection.state))

    def said(self, name: str) -> list[str]:
        """The last lines that a server's program wrote to its error output."""
        return self._entries[name].connection.said if name in self._entries else []

    def refused(self, name: str) -> list[str]:
        """What the sandbox refused to a server's program, with what would allow that."""
        return self._entries[name].connection.refused if name in self._entries else []

    def left_out(self, name: str) -> tuple[str, ...]:
        """What of a server's results is not MCP and was left out, as phrases."""
        return self._entries[name].connection.left_out if name in self._entries else ()

    async def close(self) -> None:
        asking = [entry.asking for entry in self._entries.values()]
        await cancel_and_wait(*asking)
        connections = [entry.connection for entry in self._entries.values()]
        await asyncio.gather(*(end_all("the end of an MCP server", one.close) for one in connections))
        await cancel_and_wait(*self._jobs, within=2.0)

    async def _learn(self, unknown: Sequence[_Entry], agent: str) -> None:
        """Start the servers of which nothing is known, all at once, and wait for a while."""
        names = ", ".join(entry.definition.name for entry in unknown)
        self._bus.publish(AgentStatusChanged(agent=agent, status="tool", doing=f"starting MCP servers: {names}"))
        jobs = [self._job(self._start(entry, agent), f"the start of {entry.definition.name}") for entry in unknown]
        await asyncio.wait(jobs, timeout=_FIRST_WAIT)
        for entry, job in zip(unknown, jobs, strict=True):
            if not job.done():
                await self._note_failure(entry)
            entry.told = entry.told or "it is being started"
        self._bus.publish(AgentStatusChanged(agent=agent, status="thinking"))

    async def _start(self, entry: _Entry, agent: str) -> None:
        try:
            await self.allow(entry.definition.name, agent)
        except McpError as error:
            self._tell(entry, error)
            return
        try:
            await entry.connection.ready()
        except McpError as error:
            self._tell(entry, error)
            await self._note_failure(entry)

    async def _note_failure(self, entry: _Entry) -> None:
        """Keep that it did not start, so that later turns do not wait for it again."""
        pins = msgspec.structs.replace(entry.pins, failed=entry.definition.digest, failed_at=time.time())
        entry.pins = pins
        with contextlib.suppress(OSError):  # the next process waits for it again
            await asyncio.to_thread(write_pins, entry.definition.name, pins)

    def _passed_over(self, entry: _Entry) -> bool:
        """Whether its last start failed a moment ago, as it is configured now."""
        pins, name = entry.pins, entry.definition.name
        if pins.failed != entry.definition.digest or not 0 <= time.time() - pins.failed_at < _FAILED_FOR:
            return False
        self._tell(
            entry,
            McpError(
                f"The MCP server {name} did not start a short while ago, so its tools are left out.",
                f"`gsh-tui mcp doctor {name}` starts it.",
            ),
        )
        return True

    def _tell(self, entry: _Entry, error: McpError) -> None:
        if entry.told != error.message:
            entry.told = error.message
            self._bus.publish(Noticed(level="warning", text=error.message, hint=error.hint, about="mcp"))

    def _note_state(self, connection: ServerConnection) -> None:
        entry = self._entries.get(connection.name)
        if entry is None or entry.connection is not connection:
            return
        self._bus.publish(ToolServerChanged(server=connection.name, state=connection.state))
        if connection.state == "ready":
            entry.told = ""
        elif connection.state == "failed" and connection.why:
            self._tell(entry, McpError(connection.why, connection.hint))

    async def _note_offer(self, connection: ServerConnection, offer: ServerPins) -> None:
        entry = self._entries.get(connection.name)
        if entry is None or entry.connection is not connection:
            return
        now = received(entry.pins, offer)
        if now != entry.pins:
            learned = now.prompts != entry.pins.prompts
            await self._keep(entry, now)
            if learned and self.on_prompts is not None:
                self._job(self.on_prompts(), "the prompts of MCP servers")
        if now.changed and (entry.asking is None or entry.asking.done()):
            entry.asking = self._job(self._ask_about_tools(entry), f"the tools of {connection.name}")

    async def _ask_about_tools(self, entry: _Entry) -> None:
        question = tools_question(entry.definition.name, entry.pins)
        changed = entry.pins.changed
        if await self._ask("", question) and entry.pins.changed == changed:
            await self.accept(entry.definition.name)
        elif entry.pins.changed:
            name = entry.definition.name
            text = (
                f"The MCP server {name} changed {len(changed)} of its tools; they are withheld until you accept them."
            )
            self._bus.publish(Noticed(level="warning", text=text, hint=f"`mcp accept {name}` shows them.", about="mcp"))

    async def _keep(self, entry: _Entry, pins: ServerPins) -> None:
        entry.pins = pins
        entry.version += 1
        self._bus.publish(ToolServerChanged(server=entry.definition.name, state=entry.connection.state))
        try:
            await asyncio.to_thread(write_pins, entry.definition.name, pins)
        except OSError as error:
            text = f"What the tools of {entry.definition.name} are could not be kept: {error.strerror or error}."
            self._bus.publish(Noticed(level="warning", text=text, about="mcp"))

    def _commands(self, entry: _Entry) -> list[AnyCommand]:
        name = entry.definition.name

        def withheld(tool: str) -> str:
            if tool in {pin.name for pin in entry.pins.changed}:
                return f"The MCP server {name} changed its tool {tool}, and nobody has accepted that yet."
            return ""

        names = tool_names(name, entry.pins.accepted)
        made = tool_commands(lambda: self.connection(name), name, names, withheld, self.files)
        if entry.pins.has_resources:
            made.append(resource_command(lambda: self.connection(name), name, self.files))
        return made

    def _job(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        job = start_job(work, name)
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)
        return job


def run_question(definition: ServerDefinition) -> ServerQuestion:
    """Whether a project's server may run, with exactly what it runs."""
    settings = definition.settings
    lines = [
        definition.line,
        *(f"{name} = {value}" for name, value in {**settings.env, **settings.headers}.items()),
        *([f"starts in {settings.cwd}"] if settings.cwd else []),
        *([] if settings.url else ["in the sandbox, where that holds" if settings.sandbox else "outside the sandbox"]),
        *([f"may reach {', '.join(definition.hosts)}"] if definition.hosts else []),
        *([f"may write to {', '.join(settings.writable)}"] if settings.writable else []),
    ]
    title = f"{definition.bringer} brings the MCP server {definition.name}. Let it run?"
    return ServerQuestion(definition.name, title, "\n".join(lines), definition.digest)


def tools_question(server: str, pins: ServerPins) -> ServerQuestion:
    """Whether the tools that a server has changed may be offered, with each before and after."""
    before = {pin.name: pin for pin in pins.accepted}
    lines: list[str] = []
    for pin in pins.changed:
        old = before.get(pin.name)
        lines += [f"{'changed' if old else 'new'}: {pin.name}"]
        lines += [f"- {old.description}"] if old else []
        lines += [f"+ {pin.description}"]
        if old is not None and old.schema != pin.schema:
            lines.append("its parameters are others, too")
    title = f"The MCP server {server} changed its tools. Offer them as they are now?"
    return ServerQuestion(server, title, "\n".join(lines), " ".join(pin.digest for pin in pins.changed))


class _Agreed(msgspec.Struct, omit_defaults=True):
    """Project → server → hash."""

    projects: dict[str, dict[str, str]] = {}
    told: tuple[str, ...] = ()
    """Hashes of servers of which a person was told that they can be used."""


def is_agreed(project: Path, server: str, digest: str) -> bool:
    """Whether a person has agreed to exactly this. An unreadable file agrees to nothing. Blocks for a moment."""
    return _read().projects.get(str(project), {}).get(server) == digest


def agree(project: Path, server: str, digest: str) -> None:
    """Note that a person has agreed. Blocks for a moment. Raises `OSError`."""
    paths.data_dir()
    private_files.make_folder(_file().parent)
    with blocking_lock(_file().with_suffix(".lock")):
        known = _read()
        known.projects.setdefault(str(project), {})[server] = digest
        private_files.write_whole(_file(), msgspec.json.encode(known), sync=True)


def first_time(servers: list[str]) -> bool:
    """Whether one of these was never told of; notes that it is now. Blocks for a moment."""
    marks = {hashlib.sha256(one.encode(errors="replace")).hexdigest()[:32] for one in servers}
    if marks <= set(_read().told):
        return False
    with contextlib.suppress(OSError):
        paths.data_dir()
        private_files.make_folder(_file().parent)
        with blocking_lock(_file().with_suffix(".lock")):
            known = _read()
            known.told = tuple(sorted({*known.told[-1_000:], *marks}))
            private_files.write_whole(_file(), msgspec.json.encode(known), sync=True)
    return True


def _read() -> _Agreed:
    try:
        return msgspec.json.decode(_file().read_bytes(), type=learned(_Agreed))
    except (OSError, msgspec.DecodeError):
        return _Agreed()


def _file() -> Path:
    return paths.data_dir(create=False) / "mcp" / "agreed-projects.json"
