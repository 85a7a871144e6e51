"""The command `mcp`: servers of tools, listed, added, checked and accepted. People change them; agents only look."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from gshtui.commands.command_errors import command_error
from gshtui.commands.declaration import (
    Access,
    Action,
    Assessment,
    Command,
    CommandError,
    Effect,
    Invocation,
    Mark,
    Outcome,
    Parameters,
    Question,
    UsageError,
    Where,
    Word,
    synonyms,
)
from gshtui.commands.family import Family
from gshtui.commands.registry import AnyCommand
from gshtui.guard.child_environment import is_secret_variable
from gshtui.mcp_client import mcp_calls as calls
from gshtui.mcp_client.consents import agree, is_agreed
from gshtui.mcp_client.server_definition import McpError, ServerDefinition, configured_servers
from gshtui.mcp_client.server_requests import ToolCaller
from gshtui.mcp_client.server_resources import named_resources
from gshtui.mcp_client.server_tools import SEPARATOR
from gshtui.mcp_client.tool_pins import ServerPins, accepted, forget_pins, read_pins, write_pins
from gshtui.settings import paths
from gshtui.settings.loader import Loaded
from gshtui.settings.setting_values import looks_secret, server_name
from gshtui.settings.user_config import EditError, remove_server, set_server
from gshtui.text import markdown_table
from gshtui.text.sanitise import literal, one_line
from gshtui.text.similar_names import known_names

if TYPE_CHECKING:
    from gshtui.mcp_client.server_pool import ServerPool

ServerWord = Literal[
    "ls", "show", "add", "rm", "enable", "disable", "import", "doctor", "accept", "restart", "answer", "resources"
]
_LOOKING = frozenset({"ls", "show"})
_NO_SERVER = frozenset({"ls", "import", "doctor", "resources"})
_TOOLS_SHOWN = 200
_LISTS = ("env", "header", "host", "writable")
"""Options of `mcp add` that can be given several times."""


class McpCommandParameters(Parameters):
    """Parameters of `mcp`."""

    SHELL = calls.MCP_GROUP
    action: Annotated[ServerWord, synonyms({"list": "ls", "remove": "rm", "check": "doctor", "trust": "accept"})] = (
        Field(default="ls", description="ls, show: look. add, rm, enable, disable, import: change the configuration. "
              "doctor: try. accept: let a folder's server run, or offer changed tools. restart, answer: a running one. "
              "resources: what prompts can name.")
    )  # fmt: skip
    name: Word = Field(Word(""), description="The server; import: the program to import from.")
    command: Annotated[str, Mark.VERBATIM] = Field(
        "", description="add: the command with its arguments, or an address. answer: the values, as NAME=VALUE."
    )


def commands(loaded: Loaded, servers: Callable[[], ServerPool] | None) -> list[AnyCommand]:
    """The family.

    Args:
        servers: gives those of the hub; `None`: no hub runs here.
    """
    do = _Handlers(loaded, servers)
    write, person = Effect.WRITE, Access.HUMAN_ONLY
    family = Family[McpCommandParameters](
        _bind,
        Action(calls.ListServers, calls.ServerList, do.list, _render_list),
        Action(calls.ShowServer, calls.ServerDetails, do.show, _render_details),
        Action(calls.AddServer, calls.ChangedServer, do.add, _render_changed, access=person, effect=write),
        Action(
            calls.RemoveServer, calls.ChangedServer, do.remove, _render_changed, do.ask_removal, access=person,
            effect=write, where=(Where("servers.remove", _removal),),
        ),
        Action(
            calls.EnableServer, calls.ChangedServer, do.enable, _render_changed, access=person, effect=write,
            where=(Where("servers.enable", _switch_on), Where("servers.disable", _switch_off)),
        ),
        Action(
            calls.ImportServers, calls.ImportedServers, do.import_servers, _render_imported, do.ask_import,
            access=person, effect=write,
        ),
        Action(
            calls.CheckServers, calls.ServerChecks, do.check, _render_checks, access=person, effect=Effect.EXECUTE,
            where=(Where("servers.doctor", _check),),
        ),
        Action(
            calls.AcceptServer, calls.ServerAnswer, do.accept, _render_answer, do.ask_accept, access=person,
            effect=write, where=(Where("servers.accept", _acceptance),),
        ),
        Action(
            calls.RestartServer, calls.ServerAnswer, do.restart, _render_answer, access=person,
            effect=Effect.EXECUTE, where=(Where("servers.restart", _restart),),
        ),
        Action(calls.ListResources, calls.ResourceList, do.resources, _render_resources, access=person),
        Action(calls.AnswerServer, calls.ServerAnswer, do.answer, _render_answer, access=person, effect=write),
    )  # fmt: skip

    async def run(invocation: Invocation, given: McpCommandParameters) -> Outcome:
        if invocation.caller.is_agent and given.action not in _LOOKING:
            raise UsageError("Only a person can change MCP servers.", hint="Agents can use ls and show.")
        return await family.handle(invocation, given)

    async def assess(_invocation: Invocation, given: McpCommandParameters) -> Assessment:
        effect = Effect.READ if given.action in _LOOKING else Effect.WRITE
        return Assessment(effect, f"mcp {given.action} {given.name}".strip(), inside=effect is Effect.READ)

    async def complete(_invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        names = sorted(loaded.again().settings.mcp.servers) if parameter == "name" else []
        return [name for name in names if name.startswith(prefix)]

    return [
        Command(
            "mcp",
            "Servers of tools that agents use: list, add, check, accept",
            McpCommandParameters,
            run,
            effect=Effect.WRITE,
            positions=("action", "name", "command"),
            family="workbench",
            assess=assess,
            complete=complete,
            actions=family.actions,
            bind=family.bind,
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


def _bind(given: McpCommandParameters) -> Parameters:
    name = str(given.name)
    if not name and given.action not in _NO_SERVER:
        raise UsageError(f"mcp {given.action}: the name of the server is missing.", hint="`mcp ls` lists them.")
    match given.action:
        case "ls":
            return calls.ListServers()
        case "show":
            return calls.ShowServer(name=name)
        case "add":
            return _added(name, given.command)
        case "rm":
            return calls.RemoveServer(name=name)
        case "enable" | "disable":
            return calls.EnableServer(name=name, off=given.action == "disable")
        case "import":
            return calls.ImportServers.model_validate({"source": name or "all"})
        case "doctor":
            return calls.CheckServers(name=name)
        case "accept":
            return calls.AcceptServer(name=name)
        case "restart":
            return calls.RestartServer(name=name)
        case "resources":
            return calls.ListResources(name=name)
        case "answer":
            return calls.AnswerServer(name=name, values=given.command)


def _added(name: str, line: str) -> calls.AddServer:
    """A line's server: the options of the shell form, then its command or address. Raises `UsageError`."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"mcp add: the command is not complete ({error}).") from error
    values: dict[str, Any] = {}
    while words and words[0].startswith("--"):
        option, equals, value = words.pop(0).removeprefix("--").partition("=")
        if not option:
            break
        if option == "outside" and not equals:
            values[option] = True
            continue
        if option not in (*_LISTS, "cwd"):
            raise UsageError(
                f"mcp add: there is no option --{one_line(literal(option), 40)}.",
                hint=f"Known options: {', '.join(f'--{one}' for one in (*_LISTS, 'cwd', 'outside'))}.",
            )
        if not equals and not words:
            raise UsageError(f"mcp add: --{option} needs a value.")
        value = value if equals else words.pop(0)
        values[option] = value if option == "cwd" else [*values.get(option, []), value]
    return calls.AddServer(name=name, argv=words, **values)


class _Handlers:
    """The actions' handlers."""

    def __init__(self, loaded: Loaded, servers: Callable[[], ServerPool] | None) -> None:
        self._loaded = loaded
        self._servers = servers

    async def list(self, _invocation: Invocation, _wanted: calls.ListServers) -> calls.ServerList:
        definitions = await self._definitions()
        return calls.ServerList(tuple([await self._row(one) for one in definitions.values()]))

    async def show(self, _invocation: Invocation, wanted: calls.ShowServer) -> calls.ServerDetails:
        definition = await self._definition(wanted.name)
        origins = self._loaded.again().origins
        key = "command" if definition.settings.command else "url"
        origin = origins.get(f"mcp.servers.{wanted.name}.{key}")
        return calls.ServerDetails(await self._row(definition), str(origin or ""))

    async def add(self, _invocation: Invocation, wanted: calls.AddServer) -> calls.ChangedServer:
        try:
            server_name(wanted.name)
        except ValueError as error:
            raise UsageError(f"{wanted.name[:40]!r} cannot be the name of a server: {error}.") from error
        if wanted.name in await self._definitions():
            raise CommandError(
                f"There is an MCP server {wanted.name} already.", hint=f"`mcp rm {wanted.name}` removes it."
            )
        values = _values(wanted)
        return await self._write(wanted.name, values, f"Added {wanted.name}. `mcp doctor {wanted.name}` tries it.")

    async def remove(self, _invocation: Invocation, wanted: calls.RemoveServer) -> calls.ChangedServer:
        definition = await self._own(wanted.name)
        values = definition.settings.model_dump(mode="json", exclude_defaults=True)
        try:
            file = await asyncio.to_thread(remove_server, wanted.name)
            await asyncio.to_thread(forget_pins, wanted.name)
        except (EditError, OSError) as error:
            raise CommandError(f"{wanted.name} was not removed: {error}") from error
        await self._reconfigure()
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
        for server in found:
            await self._write(server.name, server.values, "", reconfigure=False)
        if found:
            await self._reconfigure()
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
            f"Add {len(found)} {'server' if len(found) == 1 else 'servers'} to your configuration?",
            "A server runs when an agent needs one of its tools, and each call asks you.",
            yes="Add",
            quoted="\n".join(one_line(literal(line), 400) for line in lines),
        )

    async def check(self, invocation: Invocation, wanted: calls.CheckServers) -> calls.ServerChecks:
        if self._servers is None:
            raise CommandError("Servers cannot be started here.", hint="Run `gsh-tui mcp doctor` in a shell.")
        definitions = await self._definitions()
        names = [wanted.name] if wanted.name else [n for n, one in definitions.items() if one.settings.enabled]
        if wanted.name:
            await self._definition(wanted.name)
        pool = self._servers()
        checks = await asyncio.gather(*(self._checked(pool, definitions[name], invocation) for name in names))
        return calls.ServerChecks(tuple(checks))

    async def accept(self, _invocation: Invocation, wanted: calls.AcceptServer) -> calls.ServerAnswer:
        definition, pins, agreed = await self._acceptable(wanted.name)
        if wanted.exact and wanted.exact != _exact(definition, pins, agreed):
            raise CommandError(f"{wanted.name} is not what you have seen any more.", hint="Look at it again.")
        done: list[str] = []
        try:
            if not agreed:
                await asyncio.to_thread(agree, definition.project, definition.name, definition.digest)
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

        definition, pins, agreed = await self._acceptable(wanted.name)
        if wanted.exact or (agreed and not pins.changed):
            return None
        asked = run_question(definition) if not agreed else tools_question(wanted.name, pins)
        exact = _exact(definition, pins, agreed)
        quoted = "\n".join(one_line(literal(line), 2_000) for line in asked.detail.splitlines())
        return Question(calls.AcceptServer(name=wanted.name, exact=exact), asked.title, yes="Accept", quoted=quoted)

    async def restart(self, _invocation: Invocation, wanted: calls.RestartServer) -> calls.ServerAnswer:
        pool = self._pool()
        try:
            await pool.allow(wanted.name, "")
            connection = pool.connection(wanted.name)
            await connection.restart()
        except McpError as error:
            raise command_error(error) from error
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
        try:
            found = await named_resources(pool.connection(wanted.name), ToolCaller())
        except McpError as error:
            raise command_error(error) from error
        return calls.ResourceList(tuple(calls.NamedResource(wanted.name, uri, about) for uri, about in found))

    async def answer(self, _invocation: Invocation, wanted: calls.AnswerServer) -> calls.ServerAnswer:
        try:
            self._pool().elicitations.answer(wanted.name, wanted.values)
        except McpError as error:
            raise command_error(error) from error
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
            raise CommandError(f"The project brings {name}.", hint=f"It is in {file}.")
        return definition

    async def _row(self, definition: ServerDefinition) -> calls.ServerRow:
        pins = await asyncio.to_thread(read_pins, definition.name)
        agreed = not definition.brought or await asyncio.to_thread(
            is_agreed, definition.project, definition.name, definition.digest
        )
        state, why = ("off", definition.mistake)
        if self._servers is not None:
            with contextlib.suppress(McpError):
                connection = self._servers().connection(definition.name)
                session = connection.session
                return calls.ServerRow(
                    definition, pins, connection.state, connection.why or why, agreed, connection.started_in,
                    f"{session.about or 'it does not say what it is'} · MCP {session.protocol}" if session else "",
                    connection.outside, tuple(connection.said),
                )  # fmt: skip
        return calls.ServerRow(definition, pins, state, why, agreed)

    async def _acceptable(self, name: str) -> tuple[ServerDefinition, ServerPins, bool]:
        row = await self._row(await self._definition(name))
        return row.definition, row.pins if row.is_known else ServerPins(), row.agreed

    async def _importable(self, wanted: calls.ImportServers) -> tuple[list[calls.FoundServer], list[str]]:
        from gshtui.mcp_client.import_sources import found_servers

        found, skipped = await asyncio.to_thread(found_servers, wanted.source, Path.home(), self._loaded.project)
        known = await self._definitions()
        kept: list[calls.FoundServer] = []
        for server in found:
            if server.name in known:
                skipped.append(f"{server.name} of {server.source} is left out: there is one of this name.")
            elif wanted.seen is None or server.name in wanted.seen:
                kept.append(server)
        return kept, skipped

    async def _write(
        self, name: str, values: dict[str, Any], done: str, *, reconfigure: bool = True
    ) -> calls.ChangedServer:
        try:
            file = await asyncio.to_thread(set_server, name, values)
        except EditError as error:
            raise CommandError(f"{name} was not written: {error}") from error
        if reconfigure:
            await self._reconfigure()
        return calls.ChangedServer(name, done, file, values)

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
            lines += await self._sandbox_hint(definition)
            return calls.ServerCheck(name, False, tuple(lines))
        session = connection.session
        pins = pool.pins(name)
        lines = [f"started in {connection.started_in:.1f} s"]
        if session is not None:
            about = session.about or "it does not say what it is"
            lines.append(f"{about}, MCP {session.protocol}, offers {', '.join(sorted(session.capabilities))}")
        lines.append(f"{len(pins.accepted)} tools" + (f", {len(pins.changed)} changed" if pins.changed else ""))
        if not definition.is_http:
            lines.append(f"outside the sandbox: {connection.outside}" if connection.outside else "in the sandbox")
        return calls.ServerCheck(name, True, tuple(lines))

    async def _sandbox_hint(self, definition: ServerDefinition) -> list[str]:
        if definition.is_http or not definition.settings.sandbox:
            return []
        return [
            "in the sandbox it reaches no host and writes to no folder but its own;"
            f" `mcp.servers.{definition.name}.hosts` and `.writable` name what it may"
        ]


def _exact(definition: ServerDefinition, pins: ServerPins, agreed: bool) -> str:
    return " ".join(([] if agreed else [definition.digest]) + [pin.digest for pin in pins.changed])


def _values(wanted: calls.AddServer) -> dict[str, Any]:
    """A server's table. Raises `UsageError`."""
    if not wanted.argv:
        raise UsageError("mcp add: the command or the address is missing.", hint="mcp add git uvx mcp-server-git")
    is_address = len(wanted.argv) == 1 and wanted.argv[0].startswith(("http://", "https://"))
    values: dict[str, Any] = (
        {"url": wanted.argv[0]} if is_address else {"command": wanted.argv[0], "args": wanted.argv[1:]}
    )
    values["env"] = _pairs(wanted.env, "variable")
    values["headers"] = _pairs(wanted.header, "header")
    values["cwd"], values["hosts"], values["writable"] = wanted.cwd, wanted.host, wanted.writable
    if wanted.outside:
        values["sandbox"] = False
    if secret := next((word for word in wanted.argv if looks_secret(word)), ""):
        raise UsageError(
            f"An argument is a key ({secret[:4]}…), which the configuration must not hold.",
            hint="Write ${NAME} in its place, and put the key into that variable.",
        )
    return {name: value for name, value in values.items() if value or value is False}


def _pairs(words: list[str], kind: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"A {kind} is written as NAME=VALUE.")
        if "${" not in value and (is_secret_variable(name, value) or name.strip().lower() == "authorization"):
            raise UsageError(
                f"The {kind} {name[:40]} looks like a secret, which the configuration must not hold.",
                hint=f"Write {name.strip()[:40]}='${{NAME}}', and put the secret into that variable.",
            )
        found[name.strip()] = value
    return found


def _render_list(_invocation: Invocation, found: calls.ServerList) -> Outcome:
    data = [_row_data(row) for row in found.rows]
    if not found.rows:
        return Outcome(
            data,
            "There are no MCP servers. `mcp add NAME COMMAND…` adds one, and `mcp import` those of other programs.",
        )
    rows = [
        (
            row.definition.name,
            one_line(literal(row.status), 60),
            str(len(row.pins.accepted)) if row.is_known else "?",
            "project" if row.definition.brought else "yours",
            one_line(literal(row.definition.line), 60),
        )
        for row in found.rows
    ]
    return Outcome(data, markdown_table.table(("name", "state", "tools", "from", "command or address"), rows))


def _row_data(row: calls.ServerRow) -> dict[str, Any]:
    return {
        "name": row.definition.name,
        "state": row.state,
        "status": row.status,
        "why": row.why,
        "enabled": row.definition.settings.enabled,
        "brought": row.definition.brought,
        "accepted": row.agreed,
        "line": row.definition.line,
        "tools": len(row.pins.accepted) if row.is_known else None,
        "changed": len(row.pins.changed) if row.is_known else 0,
    }


def _render_details(_invocation: Invocation, found: calls.ServerDetails) -> Outcome:
    row = found.row
    settings = row.definition.settings
    pins = row.pins.accepted if row.is_known else ()
    tools = [{"name": f"{row.definition.name}{SEPARATOR}{pin.name}", "description": pin.description} for pin in pins]
    data = {**_row_data(row), "settings": settings.model_dump(mode="json"), "origin": found.origin, "offered": tools}
    lines = [f"**{row.definition.name}** · {one_line(literal(row.status), 200)} · {found.origin}", ""]
    lines += [
        f"- {name} = {one_line(literal(str(value)), 300)}" for name, value in settings if value not in ("", [], {})
    ]
    if not row.is_known:
        lines += ["", f"Its tools are not known yet. `mcp doctor {row.definition.name}` starts it."]
    elif tools:
        lines += ["", f"{len(tools)} tools:"]
        lines += [f"- `{one['name']}`: {one['description']}" for one in tools[:_TOOLS_SHOWN]]
    if row.is_known and row.pins.changed:
        names = ", ".join(pin.name for pin in row.pins.changed[:20])
        lines += ["", f"It changed {names}; `mcp accept {row.definition.name}` shows how."]
    return Outcome(data, "\n".join(lines))


def _render_changed(_invocation: Invocation, changed: calls.ChangedServer) -> Outcome:
    data = {"name": changed.name, "file": str(changed.file), "values": changed.values}
    if changed.done.startswith("Removed"):
        return Outcome(data, f"{changed.done} It was: {one_line(literal(str(changed.values)), 2_000)}")
    return Outcome(data, changed.done)


def _render_imported(_invocation: Invocation, done: calls.ImportedServers) -> Outcome:
    data = {
        "added": [
            {"name": one.name, "source": one.source, "values": one.values, "notes": one.notes} for one in done.added
        ],
        "skipped": list(done.skipped),
    }
    lines = [f"- {one.name}, from {one.source}" for one in done.added]
    lines += [f"  {note}" for one in done.added for note in one.notes]
    head = f"Added {len(done.added)} servers:" if done.added else "Nothing was added."
    text = "\n".join([head, *lines, *(f"- {one_line(literal(why), 300)}" for why in done.skipped)])
    return Outcome(data, text)


def _render_checks(_invocation: Invocation, found: calls.ServerChecks) -> Outcome:
    data = [{"name": one.name, "ok": one.ok, "lines": list(one.lines)} for one in found.checks]
    if not found.checks:
        return Outcome(data, "There are no MCP servers to check.")
    lines: list[str] = []
    for one in found.checks:
        lines.append(f"{'✓' if one.ok else '✗'} **{one.name}**")
        lines += [f"  - {one_line(literal(line), 400)}" for line in one.lines]
    return Outcome(data, "\n".join(lines), is_error=not all(one.ok for one in found.checks))


def _render_resources(_invocation: Invocation, found: calls.ResourceList) -> Outcome:
    data = [{"server": one.server, "uri": one.uri, "about": one.about} for one in found.resources]
    lines = [f"- `@{one.server}:{one.uri}` {one.about}".rstrip() for one in found.resources]
    return Outcome(data, "\n".join(lines) or "There are no resources.")


def _render_answer(_invocation: Invocation, answer: calls.ServerAnswer) -> Outcome:
    return Outcome({"name": answer.name, "done": answer.done}, answer.done)
