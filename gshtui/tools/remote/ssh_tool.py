"""The `ssh` tool: run a command, read or write a file, or copy one, on a machine that the configuration names.

The host's `rules` in the configuration say what an agent may do there; by default every call is a question. Nothing
that comes back decides anything: it is text, sanitised like all output. No agent can name another machine or option.
"""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from msgspec.structs import replace
from pydantic import Field

from gshtui.commands.declaration import (
    Access,
    Assessment,
    Command,
    CommandError,
    Effect,
    Invocation,
    Mark,
    Outcome,
    RuleScope,
)
from gshtui.commands.registry import AnyCommand
from gshtui.commands.schema import PLAIN, RARE, ToolParameters
from gshtui.guard.policy import sensitive_paths, shell_policy
from gshtui.guard.rules.rule_paths import escaped
from gshtui.hosts.host_errors import HostError
from gshtui.hosts.host_files import MOST, read_remote_file, run_remote_command, write_remote_file
from gshtui.hosts.host_link import HostLink, HostLinks
from gshtui.text import unified_diff
from gshtui.text.plain_name import known_names
from gshtui.text.sanitise import literal, one_line
from gshtui.tools.files import file_access, path_location
from gshtui.tools.files.path_location import Location
from gshtui.tools.files.workspace import ToolConfig, Workspace
from gshtui.tools.files.write import writable, writing
from gshtui.tools.shell.command_output import Spool, output_text, show_output


class SshParameters(ToolParameters):
    """What to do, and where."""

    host: str = Field(description="A host of the configuration", json_schema_extra=PLAIN)
    action: Literal["run", "read", "write", "get", "put"] = Field(
        default="run", description="get copies path to local, put copies local to path"
    )
    command: Annotated[str, Mark.VERBATIM] = Field(default="", description="For run: command line for bash there")
    path: str = Field(default="", description="File there; read lists a folder")
    content: Annotated[str, Mark.PIPED] = Field(default="", description="For write: the whole content")
    local: str = Field(default="", description="File here")
    folder: str = Field(default="", description="For run: folder there; empty: home", json_schema_extra=RARE)
    timeout_ms: int = Field(default=0, ge=0, description="For run: 0: 120000", json_schema_extra=RARE)


class SshTool:
    """The tool on the hosts of one configuration."""

    def __init__(self, hosts: HostLinks, config: ToolConfig) -> None:
        self._hosts = hosts
        self._config = config
        self._workspace = Workspace(config)

    async def assess(self, invocation: Invocation, given: SshParameters) -> Assessment:
        """Judge a call by its host's rules. Raises `CommandError` for what can never be."""
        link = self._link(invocation, given)
        match given.action:
            case "run":
                return _running(link, given)
            case "read":
                return _reading(link, given)
            case "write":
                diff = unified_diff.make_diff("", given.content, f"{link.name}:{given.path}", new=True)
                return _there(link, given, Effect.WRITE, f"write {given.path} on {link.name}", diff=diff)
            case _:
                place = await asyncio.to_thread(_here, invocation, given)
                self._workspace.record_assessed(invocation, given.local, place.real)
                return _copying(link, given, place)

    async def run(self, invocation: Invocation, given: SshParameters) -> Outcome:
        """Do it. Raises `CommandError`."""
        link = self._link(invocation, given)
        work = asyncio.ensure_future(self._do(invocation, given, link))
        stop = asyncio.ensure_future(invocation.cancelled.wait())
        try:
            await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise CommandError(f"The call on {link.name} was cancelled.", hint="What had begun there was ended.")
            return work.result()
        except HostError as error:
            raise CommandError(error.message, hint=error.hint) from error
        finally:
            stop.cancel()
            work.cancel()
            await asyncio.wait({work})

    async def _do(self, invocation: Invocation, given: SshParameters, link: HostLink) -> Outcome:
        if given.action == "run":
            return await self._command(invocation, given, link)
        # A rule, or a person, has judged the path that was named: an agent gets no other one by a link there.
        plain = invocation.caller.is_agent
        if given.action == "read":
            content, _ = await read_remote_file(link, given.path, self._config.max_full_bytes, plain=plain)
            return await asyncio.to_thread(self._shown, invocation, content, given, "(empty)")
        if given.action == "write":
            content = given.content.encode("utf-8", "replace")
            await write_remote_file(link, given.path, content, plain=plain)
            return _copied(link, given, len(content), f"Wrote {link.name}:{given.path}")
        place = await asyncio.to_thread(_here, invocation, given)
        path_location.confirm_unchanged(self._workspace, invocation, place)
        with file_access.explaining(f"Cannot use {place.shown}"):
            if given.action == "put":
                content, _ = await asyncio.to_thread(file_access.read_whole, place.real, MOST)
                await write_remote_file(link, given.path, content, plain=plain)
                return _copied(link, given, len(content), f"Copied {place.shown} to {link.name}:{given.path}")
            content, is_folder = await read_remote_file(link, given.path, plain=plain)
            if is_folder:
                raise CommandError(f"{link.name}:{given.path} is a folder.", hint="`tar` makes one file of it.")
            await asyncio.to_thread(file_access.replace, place.real, content)
        return _copied(link, given, len(content), f"Copied {link.name}:{given.path} to {place.shown}")

    async def _command(self, invocation: Invocation, given: SshParameters, link: HostLink) -> Outcome:
        limit = min(given.timeout_ms or self._config.bash_timeout_ms, self._config.max_timeout_ms) / 1000
        most = self._config.max_full_bytes
        try:
            done = await run_remote_command(link, given.command, given.folder, deadline=limit, most=most)
        except HostError as error:
            if error.kind != "timeout":
                raise
            note = f"[timed out after {limit:g} s and was ended there]"
            return Outcome({"timed_out": True}, note, is_error=True, notes=note, timed_out=True)
        notes = [f"[exit code: {done.status}]"] if done.status else []
        notes += [f"[ended there: it printed more than {most:,} bytes]"] if done.cut else []
        shown = await asyncio.to_thread(self._shown, invocation, done.output, given, "(no output)", "\n".join(notes))
        return shown if not notes else _failed(shown, done.status)

    def _shown(
        self, invocation: Invocation, output: bytes, given: SshParameters, empty: str, notes: str = ""
    ) -> Outcome:
        """What came back, sanitised, and shortened to what the caller takes."""
        spool = Spool(self._config.max_full_bytes)
        try:
            spool.write(output)
            full, gap, size = output_text(spool)
        finally:
            spool.close()
        seen = show_output(full, invocation.limit(self._config.max_output_bytes), notes, empty, gap)
        data = {"host": given.host, "action": given.action, "output": seen.output, "exit_code": 0}
        return Outcome(data, seen.text, full=full, notes=notes, gap=gap, cut=seen.cut, bytes=size)

    def _link(self, invocation: Invocation, given: SshParameters) -> HostLink:
        """The host. Raises `CommandError` for an unknown one, what its rules deny, and a call that lacks something."""
        if given.host not in self._hosts.settings:
            asked = one_line(literal(given.host), 60)
            hint = known_names("hosts", sorted(self._hosts.settings))
            raise CommandError(f"There is no host {asked!r} in the configuration.", hint=hint)
        link = self._hosts.link(given.host)
        if invocation.caller.is_agent and link.settings.rules == "deny":
            hint = "Ask the person to do it."
            raise CommandError(f"The configuration allows agents nothing on {link.name}.", hint=hint)
        if given.action == "run":
            if not given.command.strip() or "\0" in given.command:
                raise CommandError("The command is empty or contains a NUL.", hint="Add `command`.")
            if invocation.caller.is_agent and (why := shell_policy.refused(given.command)):
                raise CommandError(f"This command is always refused: {why}.")
        elif not given.path.strip() or "\0" in given.path:
            raise CommandError("The path is empty or contains a NUL.", hint="Add `path`, a file there.")
        elif given.action in ("get", "put") and not given.local.strip():
            raise CommandError("The file here is missing.", hint="Add `local`.")
        return link


def _here(invocation: Invocation, given: SshParameters) -> Location:
    """The file here. Raises `CommandError` if it cannot be copied, or is there already."""
    if given.action == "get":
        place = writable(invocation, given.local)
        if place.real.exists():
            raise CommandError(f"{place.shown} exists already.", hint="Name another file here.")
        return place
    place = path_location.locate(invocation, given.local)
    if place.leaves:
        raise CommandError(f"{one_line(given.local)} leads to {place.shown}.", hint="Name it by that path.")
    if not place.real.is_file():
        raise path_location.missing(place)
    return place


def _running(link: HostLink, given: SshParameters) -> Assessment:
    line = shlex.join(("ssh", link.name, given.command))
    shown = one_line(literal(given.command), 300)
    where = f" in {one_line(literal(given.folder), 200)}" if given.folder else ""
    return Assessment(
        Effect.EXECUTE,
        f"{link.name}: {shown}",
        inside=False,
        detail=f"On {link.name} ({link.destination}){where}:\n{literal(given.command)}",
        key="\0".join((link.name, "run", given.folder, given.command)),
        pattern=f"ssh {link.name}: {shown}",
        why=f"it runs on another machine, {link.name}",
        line=line,
    )


def _there(
    link: HostLink,
    given: SshParameters,
    effect: Effect,
    detail: str,
    *,
    diff: str = "",
    warnings: tuple[str, ...] = (),
    reads: bool = False,
    inside: bool = False,
) -> Assessment:
    """A call about a file there."""
    named = f"{link.name}:{one_line(literal(given.path), 300)}"
    secret = sensitive_paths.secret(Path(given.path))
    folder = f"{link.name}:{PurePosixPath(given.path).parent}"
    return Assessment(
        effect,
        named,
        inside=inside and not secret,
        detail=one_line(literal(detail), 400),
        diff=diff,
        key="\0".join((given.path, link.name, given.action, given.local, given.content)),
        pattern="" if secret else f"ssh {given.action} files in {folder}",
        scope=RuleScope(paths=(f"{escaped(folder)}/*",)),
        warnings=(*warnings, *((f"may hold {secret}",) if secret else ())),
        why=f"it is on another machine, {link.name}",
        reads=reads and not secret,
    )


def _reading(link: HostLink, given: SshParameters) -> Assessment:
    free = link.settings.rules == "read" and given.path.startswith(("/", "~"))
    return _there(link, given, Effect.READ, f"read {given.path} on {link.name}", reads=free, inside=free)


def _copying(link: HostLink, given: SshParameters, place: Location) -> Assessment:
    """A copy touches a file there and one here; a rule about one of them says nothing of the other."""
    up = given.action == "put"
    if up:
        here = Assessment(Effect.READ, place.shown, place.inside, key=str(place.real), warnings=place.warnings)
    else:
        here = writing(place, "ssh", "")
    ways = (place.shown, f"{given.path} on {link.name}")
    detail = "copy {} to {}".format(*(ways if up else ways[::-1]))
    there = _there(link, given, Effect.WRITE if up else Effect.READ, detail, warnings=here.warnings)
    return replace(there, effect=Effect.WRITE, every=(there, here))


def _copied(link: HostLink, given: SshParameters, size: int, said: str) -> Outcome:
    text = f"{one_line(literal(said), 400)}: {size:,} bytes."
    return Outcome({"host": link.name, "action": given.action, "path": given.path, "bytes": size}, text)


def _failed(shown: Outcome, status: int) -> Outcome:
    return replace(shown, data={**shown.data, "exit_code": status}, is_error=True)


def commands(hosts: HostLinks, config: ToolConfig) -> list[AnyCommand]:
    """The tool; its description names the hosts."""
    tool = SshTool(hosts, config)
    names = ", ".join(sorted(hosts.settings))
    command = Command(
        "ssh",
        "Run a command, or read, write or copy a file, on another machine",
        SshParameters,
        tool.run,
        access=Access.AGENT_PRIMARY,
        effect=Effect.NETWORK,
        positions=("host", "action", "command"),
        description=f"Run a command, or read, write or copy a file, on another machine: {names}.",
        family="files",
        tool=True,
        assess=tool.assess,
    )
    return [command]
