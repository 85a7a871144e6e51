"""The command `mcp`: servers of tools, listed, added, checked and accepted. People change them; agents only look."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gshtui.commands.declaration import (
    Access,
    Action,
    CommandError,
    Effect,
    Invocation,
    Question,
    UsageError,
    Where,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.mcp_client import mcp_calls as calls
from gshtui.mcp_client import server_outcomes as outcomes
from gshtui.mcp_client.configured_servers import configured_servers, untrusted_files
from gshtui.mcp_client.server_definition import McpError, ServerDefinition
from gshtui.mcp_client.server_outcomes import written_values
from gshtui.mcp_client.server_pool import agree, is_agreed
from gshtui.mcp_client.server_requests import ToolCaller
from gshtui.mcp_client.server_resources import named_resources
from gshtui.mcp_client.tool_pins import ServerPins, accepted, forget_pins, read_pins, write_pins
from gshtui.settings import paths
from gshtui.settings.loader import Loaded
from gshtui.settings.setting_values import server_name
from gshtui.settings.user_config import EditError, remove_server, set_servers
from gshtui.text.plain_name import known_names
from gshtui.text.sanitise import literal, one_line
from gshtui.text.units import counted

if TYPE_CHECKING:
    from gshtui.mcp_client.server_pool import ServerPool


ServersElsewhere = Callable[[str], Iterable[tuple[str, str]]]
"""Server → the agents that have it in processes of their own, with its state there."""


def commands(
    loaded: Loaded, servers: Callable[[], ServerPool] | None = None, elsewhere: ServersElsewhere = lambda _: ()
) -> list[AnyCommand]:
    """The family. `servers`: those of the hub; `None`: no hub runs here."""
    do = _Handlers(loaded, servers, elsewhere)
    write, person = Effect.WRITE, Access.HUMAN_ONLY

    async def complete(_invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        names = [one.name for one in configured_servers(loaded.again())] if parameter == "name" else []
        return [name for name in names if name.startswith(prefix)]

    return [
        group(
            "mcp",
            "MCP servers: list, add, test, approve",
            Action(calls.ListServers, do.list, outcomes.render_list),
            Action(calls.ShowServer, do.show, outcomes.render_details),
            Action(calls.AddServer, do.add, outcomes.render_changed, do.ask_add, access=person, effect=write),
            Action(calls.SearchServers, do.search, outcomes.render_registry, access=person, effect=Effect.NETWORK),
            Action(
                calls.RemoveServer,
                do.remove,
                outcomes.render_changed,
                do.ask_removal,
                access=person,
                effect=write,
                where=(Where("servers.remove", _removal),),
            ),
            Action(
                calls.EnableServer,
                do.enable,
                outcomes.render_changed,
                access=person,
                effect=write,
                where=(Where("servers.enable", _switch_on), Where("servers.disable", _switch_off)),
            ),
            Action(calls.DisableServer, do.enable, outcomes.render_changed, access=person, effect=write),
            Action(
                calls.ImportServers,
                do.import_servers,
                outcomes.render_imported,
                do.ask_import,
                access=person,
                effect=write,
            ),
            Action(
                calls.CheckServers,
                do.check,
                outcomes.render_checks,
                access=person,
                effect=Effect.EXECUTE,
                where=(Where("servers.doctor", _check),),
                positions=("name",),
            ),
            Action(
                calls.AcceptServer,
                do.accept,
                outcomes.render_answer,
                do.ask_accept,
                access=person,
                effect=write,
                where=(Where("servers.accept", _acceptance),),
                positions=("name",),
            ),
            Action(
                calls.RestartServer,
                do.restart,
                outcomes.render_answer,
                access=person,
                effect=Effect.EXECUTE,
                where=(Where("servers.restart", _restart),),
            ),
            Action(calls.ListResources, do.resources, outcomes.render_resources, access=person, positions=("name",)),
            Action(calls.AnswerServer, do.answer, outcomes.render_answer, access=person, effect=write),
            family="workbench",
            shell=calls.MCP_GROUP,
            synonyms={**dict(calls.MCP_GROUP.synonyms), "check": "doctor", "trust": "accept"},
            complete=complete,
            opens="servers",
        )
    ]


# Which action fits a server in the tab of a window


def _removal(row: calls.ServerRow) -> calls.RemoveServer | None:
    return None if row.definition.brought else calls.RemoveServer(name=row.definition.name)


def _switch_on(row: calls.ServerRow) -> calls.EnableServer | None:
    definition = row.definition
    return calls.EnableServer(name=definition.name) if not (definition.brought or definition.settings.enabled) else None


def _switch_off(row: calls.ServerRow) -> calls.EnableServer | None:
    definition = row.definition
    fits = definition.settings.enabled and not definition.brought
    return calls.EnableServer(name=definition.name, off=True) if fits else None


def _check(row: calls.ServerRow) -> calls.CheckServers | None:
    return calls.CheckServers(name=row.definition.name) if row.definition.settings.enabled else None


def _acceptance(row: calls.ServerRow) -> calls.AcceptServer | None:
    waits = not row.agreed or (row.is_known and row.pins.changed)
    return calls.AcceptServer(name=row.definition.name) if waits else None


def _restart(row: calls.ServerRow) -> calls.RestartServer | None:
    return calls.RestartServer(name=row.definition.name) if row.definition.settings.enabled and row.agreed else None


class _Handlers:
    """The actions' handlers."""

    def __init__(
        self,
        loaded: Loaded,
        servers: Callable[[], ServerPool] | None,
        elsewhere: ServersElsewhere,
    ) -> None:
        self._loaded = loaded
        self._servers = servers
        self._elsewhere = elsewhere

    async def list(self, _invocation: Invocation, _wanted: calls.ListServers) -> calls.ServerList:
        definitions = await self._definitions()
        untrusted = await asyncio.to_thread(untrusted_files, self._loaded.again().project)
        return calls.ServerList(tuple([await self._row(one) for one in definitions.values()]), untrusted)

    async def show(self, _invocation: Invocation, wanted: calls.ShowServer) -> calls.ServerDetails:
        definition = await self._definition(wanted.name)
        origins = self._loaded.again().origins
        key = "command" if definition.settings.command else "url"
        origin = origins.get(f"mcp.servers.{wanted.name}.{key}")
        return calls.ServerDetails(await self._row(definition), definition.file or str(origin or ""))

    async def add(self, _invocation: Invocation, wanted: calls.AddServer) -> calls.ChangedServer:
        wanted = await self._looked_up(wanted)
        try:
            server_name(wanted.name)
        except ValueError as error:
            raise UsageError(f"{wanted.name[:40]!r} cannot be the name of a server: {error}.") from error
        if wanted.name in await self._definitions():
            raise CommandError(
                f"There is an MCP server {wanted.name} already.", hint=f"`mcp rm {wanted.name}` removes it."
            )
        values = written_values(wanted)
        return await self._write(wanted.name, values, f"Added {wanted.name}. `mcp doctor {wanted.name}` tries it.")

    async def ask_add(self, _invocation: Invocation, wanted: calls.AddServer) -> Question | None:
        found = await self._looked_up(wanted)
        if found is wanted:
            return None
        values = written_values(found)
        more = [f"{key} = {text}" for table in ("env", "headers") for key, text in values.get(table, {}).items()]
        line = values.get("url") or shlex.join([values["command"], *values.get("args", [])])
        return Question(
            found,
            f"Add the server {found.name} to your configuration, as the registry describes {wanted.name}?",
            "It runs when an agent needs one of its tools, and each call asks you.",
            yes="Add",
            quoted="\n".join(one_line(literal(each), 400) for each in (line, *more)),
        )

    async def _looked_up(self, wanted: calls.AddServer) -> calls.AddServer:
        """The server as the registry describes it, if it is one's name alone; else the same."""
        if wanted.argv or "/" not in wanted.name:
            return wanted
        from gshtui.mcp_client.server_registry import is_registry_name, server_of

        if not is_registry_name(wanted.name):
            return wanted
        try:
            found = await server_of(self._registry(), wanted.name)
        except McpError as error:
            raise _of_registry(error) from error
        return found.model_copy(update={"host": wanted.host, "writable": wanted.writable, "outside": wanted.outside})

    async def search(self, _invocation: Invocation, wanted: calls.SearchServers) -> calls.RegistryList:
        from gshtui.mcp_client.server_registry import search

        try:
            return calls.RegistryList(wanted.word, tuple(await search(self._registry(), wanted.word)))
        except McpError as error:
            raise _of_registry(error) from error

    def _registry(self) -> str:
        return self._loaded.again().settings.mcp.registry.rstrip("/")

    async def remove(self, _invocation: Invocation, wanted: calls.RemoveServer) -> calls.ChangedServer:
        definition = await self._own(wanted.name)
        values = definition.settings.model_dump(mode="json", exclude_defaults=True)
        try:
            file = await asyncio.to_thread(remove_server, wanted.name)
        except EditError as error:
            raise CommandError(f"{wanted.name} was not removed: {error}") from error
        await self._reconfigure()
        try:
            await asyncio.to_thread(forget_pins, wanted.name)
        except OSError as error:
            why = error.strerror or error
            raise CommandError(f"Removed {wanted.name}, but what you accepted of it stays on record: {why}.") from error
        return calls.ChangedServer(wanted.name, f"Removed {wanted.name}.", file, values)

    async def ask_removal(self, _invocation: Invocation, wanted: calls.RemoveServer) -> Question | None:
        definition = await self._own(wanted.name)
        return Question(
            wanted,
            f"Remove the MCP server {wanted.name} from your configuration?",
            "Agents lose its tools, and what you accepted of them is forgotten.",
            yes="Remove",
            quoted=one_line(literal(definition.line), 400),
        )

    async def enable(self, _invocation: Invocation, wanted: calls.EnableServer) -> calls.ChangedServer:
        await self._own(wanted.name)
        done = f"Switched {wanted.name} {'off' if wanted.off else 'on'}."
        return await self._write(wanted.name, {"enabled": not wanted.off}, done)

    async def import_servers(self, _invocation: Invocation, wanted: calls.ImportServers) -> calls.ImportedServers:
        found, skipped = await self._importable(wanted)
        if found:
            await self._set({server.name: server.values for server in found})
        return calls.ImportedServers(tuple(found), tuple(skipped))

    async def ask_import(self, _invocation: Invocation, wanted: calls.ImportServers) -> Question | None:
        from gshtui.mcp_client.import_sources import shown_server

        if wanted.seen is not None:
            return None
        found, _ = await self._importable(wanted)
        if not found:
            return None
        lines: list[str] = []
        for server in found:
            lines += [f"{server.name}: {shown_server(server.values)}", f"  from {server.source}"]
            lines += [f"  {note}" for note in server.notes]
        return Question(
            calls.ImportServers(source=wanted.source, seen=tuple(server.name for server in found)),
            f"Add {counted(len(found), 'server')} to your configuration?",
            "A server runs when an agent needs one of its tools, and each call asks you.",
            yes="Add",
            quoted="\n".join(one_line(literal(line), 400) for line in lines),
        )

    async def check(self, invocation: Invocation, wanted: calls.CheckServers) -> calls.ServerChecks:
        if self._servers is None:
            raise CommandError("Servers cannot be started here.", hint="Run `gsh-tui mcp doctor` in a shell.")
        definitions = await self._definitions()
        waiting = {one.name for one in await self._waiting()}
        usable = [name for name, one in definitions.items() if one.settings.enabled and name not in waiting]
        names = [wanted.name] if wanted.name else usable
        if wanted.name:
            await self._definition(wanted.name)
        pool = self._servers()
        checks = await asyncio.gather(*(self._checked(pool, definitions[name], invocation) for name in names))
        return calls.ServerChecks(tuple(checks))

    async def accept(self, _invocation: Invocation, wanted: calls.AcceptServer) -> calls.ServerAnswer:
        if not wanted.name:
            return await self._accept_waiting(wanted)
        definition, pins, agreed = await self._acceptable(wanted.name)
        if wanted.exact and wanted.exact != _exact(definition, pins, agreed):
            raise CommandError(f"{wanted.name} is not what you have seen any more.", hint="Look at it again.")
        done: list[str] = []
        try:
            if not agreed:
                await asyncio.to_thread(agree, definition.agreed_in, definition.name, definition.digest)
                done.append(f"{wanted.name} may run here: {one_line(literal(definition.line), 200)}.")
            if changed := pins.changed:
                await asyncio.to_thread(write_pins, definition.name, accepted(pins))
                done.append(f"Agents get {len(changed)} changed tools of {wanted.name} as they are now.")
        except OSError as error:
            raise CommandError(f"That could not be kept: {error.strerror or error}.") from error
        if self._servers is not None:
            await self._servers().note_accepted(wanted.name)
        return calls.ServerAnswer(wanted.name, " ".join(done) or f"There is nothing to accept about {wanted.name}.")

    async def ask_accept(self, _invocation: Invocation, wanted: calls.AcceptServer) -> Question | None:
        from gshtui.mcp_client.server_pool import run_question, tools_question

        if not wanted.name:
            return await self._ask_waiting(wanted)
        definition, pins, agreed = await self._acceptable(wanted.name)
        if wanted.exact or (agreed and not pins.changed):
            return None
        asked = run_question(definition) if not agreed else tools_question(wanted.name, pins)
        exact = _exact(definition, pins, agreed)
        quoted = "\n".join(one_line(literal(line), 2_000) for line in asked.detail.splitlines())
        return Question(calls.AcceptServer(name=wanted.name, exact=exact), asked.title, yes="Accept", quoted=quoted)

    async def _waiting(self) -> list[ServerDefinition]:
        """The servers of other programs that nobody has agreed to."""
        rows = [await self._row(one) for one in (await self._definitions()).values() if one.source == "program"]
        return [row.definition for row in rows if not row.agreed]

    async def _ask_waiting(self, wanted: calls.AcceptServer) -> Question | None:
        from gshtui.mcp_client.server_pool import run_question

        waiting = await self._waiting()
        if wanted.exact or not waiting:
            return None
        lines: list[str] = []
        for one in waiting:
            lines += [f"{one.name}, from {one.file}:", *(f"  {line}" for line in run_question(one).detail.splitlines())]
        return Question(
            calls.AcceptServer(exact=_all_exact(waiting)),
            f"Let agents use {counted(len(waiting), 'server')} of other programs?",
            "Each runs when an agent needs it, from the file where it stands, and each call asks you.",
            yes="Accept",
            quoted="\n".join(one_line(literal(line), 2_000) for line in lines),
        )

    async def _accept_waiting(self, wanted: calls.AcceptServer) -> calls.ServerAnswer:
        waiting = await self._waiting()
        if wanted.exact and wanted.exact != _all_exact(waiting):
            raise CommandError("They are not what you have seen any more.", hint="Look at them again.")
        try:
            for one in waiting:
                await asyncio.to_thread(agree, one.agreed_in, one.name, one.digest)
        except OSError as error:
            raise CommandError(f"That could not be kept: {error.strerror or error}.") from error
        for one in waiting if self._servers is not None else ():
            await self._pool().note_accepted(one.name)
        names = ", ".join(one.name for one in waiting)
        untrusted = await asyncio.to_thread(untrusted_files, self._loaded.again().project)
        done = f"Agents may use {names}." if names else "" if untrusted else "No server of another program waits."
        return calls.ServerAnswer("", " ".join(part for part in (done, outcomes.left_out(untrusted)) if part))

    async def restart(self, _invocation: Invocation, wanted: calls.RestartServer) -> calls.ServerAnswer:
        pool = self._pool()
        definition = await self._definition(wanted.name)
        await self._reconfigure()
        if not definition.settings.enabled:
            raise CommandError(
                f"The MCP server {wanted.name} is switched off.", hint=f"`mcp enable {wanted.name}` switches it on."
            )
        await pool.allow(wanted.name, "")
        connection = pool.connection(wanted.name)
        await connection.restart()
        return calls.ServerAnswer(wanted.name, f"{wanted.name} was started in {connection.started_in:.1f} s.")

    async def resources(self, _invocation: Invocation, wanted: calls.ListResources) -> calls.ResourceList:
        if self._servers is None or not await self._definitions():
            return calls.ResourceList(())
        pool = self._servers()
        await pool.load()
        if not wanted.name:
            having = [
                one.name for one in pool.definitions if one.settings.enabled and pool.pins(one.name).has_resources
            ]
            return calls.ResourceList(tuple(calls.NamedResource(name, "", "its resources") for name in having))
        row = await self._row(await self._definition(wanted.name))
        if not row.agreed or not row.definition.settings.enabled:
            return calls.ResourceList(())
        found = await named_resources(pool.connection(wanted.name), ToolCaller())
        return calls.ResourceList(tuple(calls.NamedResource(wanted.name, uri, about) for uri, about in found))

    async def answer(self, _invocation: Invocation, wanted: calls.AnswerServer) -> calls.ServerAnswer:
        self._pool().elicitations.answer(wanted.name, wanted.values)
        return calls.ServerAnswer(wanted.name, f"{wanted.name} has its answer.")

    def _pool(self) -> ServerPool:
        if self._servers is None:
            raise CommandError("No servers run here.")
        return self._servers()

    async def _definitions(self) -> dict[str, ServerDefinition]:
        loaded = await asyncio.to_thread(self._loaded.again)
        return {one.name: one for one in configured_servers(loaded)}

    async def _definition(self, name: str) -> ServerDefinition:
        known = await self._definitions()
        if name not in known:
            hint = known_names("MCP servers", known) if known else "`mcp add NAME COMMAND…` adds one."
            raise CommandError(f"There is no MCP server {name[:40]!r}.", hint=hint)
        return known[name]

    async def _own(self, name: str) -> ServerDefinition:
        definition = await self._definition(name)
        if definition.brought:
            file = paths.project_config_file(self._loaded.project)
            hint = f"It is in {file}." if definition.source == "project" else "It is configured there."
            if definition.file:
                hint = "`mcp import` takes it into your configuration, where you can change it."
            raise CommandError(f"{definition.bringer} brings {name}.", hint=hint)
        return definition

    async def _row(self, definition: ServerDefinition) -> calls.ServerRow:
        pins = await asyncio.to_thread(read_pins, definition.name)
        agreed = not definition.brought or await asyncio.to_thread(
            is_agreed, definition.agreed_in, definition.name, definition.digest
        )
        state, why = ("off", definition.mistake)
        elsewhere = tuple(self._elsewhere(definition.name))
        if self._servers is not None:
            with contextlib.suppress(McpError):
                connection = self._servers().connection(definition.name)
                session = connection.session
                said = [*connection.said, *(f"the sandbox: {each}" for each in connection.refused)]
                return calls.ServerRow(
                    definition,
                    pins,
                    connection.state,
                    connection.why or why,
                    agreed,
                    connection.started_in,
                    f"{session.about or 'it does not say what it is'} · MCP {session.protocol}" if session else "",
                    connection.outside,
                    tuple(said),
                    elsewhere,
                )
        return calls.ServerRow(definition, pins, state, why, agreed, elsewhere=elsewhere)

    async def _acceptable(self, name: str) -> tuple[ServerDefinition, ServerPins, bool]:
        row = await self._row(await self._definition(name))
        return row.definition, row.pins if row.is_known else ServerPins(), row.agreed

    async def _importable(self, wanted: calls.ImportServers) -> tuple[list[calls.FoundServer], list[str]]:
        from gshtui.mcp_client.import_sources import found_servers

        found, skipped = await asyncio.to_thread(found_servers, wanted.source, Path.home(), self._loaded.project)
        # One that is used from where it stands may be imported all the same.
        known = {name for name, one in (await self._definitions()).items() if one.source != "program"}
        kept: list[calls.FoundServer] = []
        for server in found:
            if server.name in known:
                skipped.append(f"{server.name} of {server.source} is left out: there is one of this name.")
            elif wanted.seen is None or server.name in wanted.seen:
                kept.append(server)
        return kept, skipped

    async def _write(self, name: str, values: dict[str, Any], done: str) -> calls.ChangedServer:
        return calls.ChangedServer(name, done, await self._set({name: values}), values)

    async def _set(self, servers: dict[str, dict[str, Any]]) -> Path:
        try:
            file = await asyncio.to_thread(set_servers, servers)
        except EditError as error:
            was = "was" if len(servers) == 1 else "were"
            raise CommandError(f"{', '.join(servers)} {was} not written: {error}") from error
        await self._reconfigure()
        return file

    async def _reconfigure(self) -> None:
        if self._servers is not None:
            self._servers().configure((await self._definitions()).values())

    async def _checked(
        self, pool: ServerPool, definition: ServerDefinition, invocation: Invocation
    ) -> calls.ServerCheck:
        name = definition.name
        try:
            connection = await pool.started(name, "")
        except McpError as error:
            lines = [str(error)]
            lines += [f"it said: {line}" for line in pool.said(name)[-5:]]
            lines += [f"the sandbox: {each}" for each in pool.refused(name)]
            lines += await self._sandbox_hint(definition)
            return calls.ServerCheck(name, False, tuple(lines))
        session = connection.session
        pins = pool.pins(name)
        lines = [f"started in {connection.started_in:.1f} s"]
        if session is not None:
            about = session.about or "it does not say what it is"
            lines.append(f"{about}, MCP {session.protocol}, offers {', '.join(sorted(session.capabilities))}")
        lines.append(counted(len(pins.accepted), "tool") + (f", {len(pins.changed)} changed" if pins.changed else ""))
        if left_out := pool.left_out(name):
            lines.append(f"left out, since it is not MCP: {', '.join(left_out)}")
        if not definition.is_http:
            lines.append(f"outside the sandbox: {connection.outside}" if connection.outside else "in the sandbox")
        return calls.ServerCheck(name, True, tuple(lines))

    async def _sandbox_hint(self, definition: ServerDefinition) -> list[str]:
        if definition.is_http or not definition.settings.sandbox:
            return []
        return [
            f"in the sandbox it reaches {', '.join(definition.hosts) or 'no host'} and writes to no folder but its own;"
            f" `mcp.servers.{definition.name}.hosts` and `.writable` name what it may"
        ]


def _all_exact(definitions: Iterable[ServerDefinition]) -> str:
    """What a person who accepts all of these has seen."""
    return " ".join(f"{one.name}={one.digest}" for one in definitions)


def _exact(definition: ServerDefinition, pins: ServerPins, agreed: bool) -> str:
    return " ".join(([] if agreed else [definition.digest]) + [pin.digest for pin in pins.changed])


def _of_registry(error: McpError) -> CommandError:
    from gshtui.mcp_client.server_registry import UnreachableError

    data = {"kind": "unreachable"} if isinstance(error, UnreachableError) else None
    return CommandError(error.message, hint=error.hint, data=data)
