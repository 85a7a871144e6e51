"""The files and commands that a program over ACP asks its client for: `fs/*` and `terminal/*`, through our guard.

A read or a write is judged as our own tools' are, and asked about in the same inbox; a command runs as our tool `bash`
runs it, in the sandbox where that is what the mode allows. Raises `CommandError` with words for the program.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from gshtui.agents.toolbox import assess
from gshtui.commands.declaration import Assessment, Caller, CommandError, Invocation, Parameters
from gshtui.commands.execution import run_parsed
from gshtui.commands.language import validate
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.guard.approval.gate import Call, Gate
from gshtui.system.ids import new_id
from gshtui.system.json_types import is_array, is_object
from gshtui.system.tasks import cancel_and_wait, start_job
from gshtui.text import unified_diff
from gshtui.tools.files import file_access, path_location
from gshtui.tools.files.read import reading
from gshtui.tools.files.write import LIMIT, writable, writing

_DIFFED = 4 << 20
_OUTPUT = 1 << 20
"""Bytes of a terminal's output that are kept, unless the program asks for less."""
_TERMINALS = 32
"""Terminals that one program may have at a time."""
_WITHIN = 10.0


class AcpFiles:
    """Reads and writes of one program."""

    def __init__(self, gate: Gate, agent: str, invocation: Invocation, asking: asyncio.Lock) -> None:
        """`asking`: held while a person is asked."""
        self._gate = gate
        self._agent = agent
        self._invocation = invocation
        self._asking = asking
        self._agreed: set[tuple[str, str]] = set()
        """(path, text) of changes that a person has allowed already, as the program's own question showed them."""

    def agree(self, params: Mapping[str, Any]) -> None:
        """Remember the changes that an allowed request showed, so that writing exactly them asks nothing more."""
        call = params.get("toolCall")
        content = call.get("content") if is_object(call) else None
        for item in content if is_array(content) else []:
            if is_object(item):
                path, text = item.get("path"), item.get("newText")
                if item.get("type") == "diff" and isinstance(path, str) and isinstance(text, str):
                    self._agreed.add((str(Path(self._invocation.cwd / path).resolve()), text))

    async def read(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`fs/read_text_file`."""
        path, first, most = _text(params, "path"), _count(params.get("line")), _count(params.get("limit"))
        place = await asyncio.to_thread(path_location.locate, self._invocation, path)
        await self._review("read", {"path": path}, reading(place, "read"))
        with file_access.explaining(f"Cannot read {place.shown}"):
            content, _ = await asyncio.to_thread(file_access.read_whole, place.real, LIMIT)
        text = content.decode("utf-8", "replace")
        if first or most:
            lines = text.splitlines(keepends=True)[max(0, first - 1) :]
            text = "".join(lines[:most] if most else lines)
        return {"content": text}

    async def write(self, params: Mapping[str, Any]) -> None:
        """`fs/write_text_file`."""
        path, text = _text(params, "path"), _text(params, "content", empty=True)
        place, change = await asyncio.to_thread(self._change, path, text)
        agreed = (str(place.real), text)
        if agreed in self._agreed:
            self._agreed.discard(agreed)
        else:
            await self._review("write", {"path": path}, writing(place, "write", change, text))
        with file_access.explaining(f"Cannot write {place.shown}"):
            await asyncio.to_thread(self._replace, path, place.real, text)

    def _change(self, path: str, text: str) -> tuple[path_location.Location, str]:
        place = writable(self._invocation, path)
        new = not place.real.exists()
        with file_access.explaining(f"Cannot read {place.shown}"):
            before = "" if new else file_access.read_whole(place.real, LIMIT)[0].decode("utf-8", "replace")
        if len(before) + len(text) > _DIFFED:
            return place, f"({len(before):,} characters before, {len(text):,} after)\n"
        return place, unified_diff.make_diff(before, text, place.shown, new=new)

    def _replace(self, path: str, agreed: Path, text: str) -> None:
        place = writable(self._invocation, path)
        if place.real != agreed:
            raise CommandError(f"{place.shown} is another file than was allowed; nothing was written.")
        file_access.replace(place.real, text.encode("utf-8", "replace"))

    async def _review(self, tool: str, arguments: dict[str, Any], assessment: Assessment) -> None:
        call = Call(self._agent, self._invocation.session, f"acp-{new_id()}", tool, arguments)
        async with self._asking:
            verdict = await self._gate.review(call, assessment)
        if not verdict.allowed:
            raise CommandError(verdict.reason or "It was not allowed.")


class _Terminal(msgspec.Struct):
    """One command, its output so far and how it ended."""

    limit: int
    task: asyncio.Task[None] | None = None
    output: str = ""
    truncated: bool = False
    exit: dict[str, Any] | None = None
    done: asyncio.Event = msgspec.field(default_factory=asyncio.Event)

    def add(self, text: str) -> None:
        raw = (self.output + text).encode("utf-8", "replace")
        if len(raw) > self.limit:
            self.truncated = True
            raw = raw[-self.limit :] if self.limit else b""
        self.output = raw.decode("utf-8", "ignore")


class AcpTerminals:
    """Commands that one program runs by us. Ended with it."""

    def __init__(
        self, gate: Gate, agent: str, invocation: Invocation, registry: Registry, asking: asyncio.Lock
    ) -> None:
        """`registry`: has our tool `bash`; `asking`: held while a person is asked."""
        self._gate = gate
        self._agent = agent
        self._invocation = invocation
        self._registry = registry
        self._asking = asking
        self._terminals: dict[str, _Terminal] = {}
        self._printed: dict[str, str] = {}
        """What the released ones had printed; people go on seeing it."""

    async def create(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`terminal/create`: returns once the command may run."""
        if sum(1 for one in self._terminals.values() if one.exit is None) >= _TERMINALS:
            raise CommandError(f"There are {_TERMINALS} terminals already.", hint="Release one first.")
        line = _line(_text(params, "command"), params.get("args"), params.get("env"))
        limit = params.get("outputByteLimit")
        terminal = _Terminal(min(limit, _OUTPUT) if isinstance(limit, int) and limit >= 0 else _OUTPUT)
        folder = params.get("cwd")
        id = f"term-{new_id()}"
        run = await self._prepare(id, line, folder if isinstance(folder, str) else "", terminal)
        self._terminals[id] = terminal
        terminal.task = start_job(run, "a command of a program")
        return {"terminalId": id}

    async def _prepare(self, id: str, line: str, folder: str, terminal: _Terminal) -> Any:
        command = self._registry.get("bash")
        arguments = {"command": line, "timeout_ms": 3_600_000, **({"working_dir": folder} if folder else {})}
        parameters = validate(command, arguments)
        invocation = replace(self._invocation, call=id, output=terminal.add)
        assessment = await assess(command, invocation, parameters, arguments)
        call = Call(self._agent, invocation.session, id, "bash", arguments)
        async with self._asking:
            verdict = await self._gate.review(call, assessment)
        if not verdict.allowed:
            raise CommandError(verdict.reason or "It was not allowed.")
        return self._run(command, parameters, replace(invocation, sandboxed=verdict.sandboxed), terminal)

    async def _run(
        self, command: AnyCommand, parameters: Parameters, invocation: Invocation, terminal: _Terminal
    ) -> None:
        code: object = None
        try:
            outcome = await run_parsed(command, parameters, invocation)
            code = _exit_code(outcome.data)
            if not terminal.output and outcome.full:
                terminal.add(outcome.full)
        except CommandError as error:
            terminal.add(f"{error}\n")
            code = 1
        finally:
            known = isinstance(code, int) and code >= 0
            terminal.exit = {"exitCode": code} if known else {"signal": "SIGTERM"}
            terminal.done.set()

    async def output(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`terminal/output`."""
        terminal = self._find(params)
        ended = {"exitStatus": terminal.exit} if terminal.exit is not None else {}
        return {"output": terminal.output, "truncated": terminal.truncated, **ended}

    async def wait(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`terminal/wait_for_exit`."""
        terminal = self._find(params)
        await terminal.done.wait()
        return dict(terminal.exit or {})

    async def kill(self, params: Mapping[str, Any]) -> None:
        """`terminal/kill`: its output can still be read."""
        await cancel_and_wait(self._find(params).task, within=_WITHIN)

    async def release(self, params: Mapping[str, Any]) -> None:
        """`terminal/release`: ends the command if it still runs."""
        terminal = self._find(params)
        id = str(params.get("terminalId"))
        await cancel_and_wait(terminal.task, within=_WITHIN)
        self._terminals.pop(id, None)
        self._printed[id] = terminal.output
        if len(self._printed) > _TERMINALS:
            self._printed.pop(next(iter(self._printed)))

    def text_of(self, id: str) -> str:
        return self._terminals[id].output if id in self._terminals else self._printed.get(id, "")

    async def close(self) -> None:
        """End every command."""
        tasks = [terminal.task for terminal in self._terminals.values()]
        with contextlib.suppress(TimeoutError):
            await cancel_and_wait(*tasks, within=_WITHIN)
        self._terminals.clear()

    def _find(self, params: Mapping[str, Any]) -> _Terminal:
        terminal = self._terminals.get(str(params.get("terminalId")))
        if terminal is None:
            raise CommandError("There is no such terminal.")
        return terminal


def program_invocation(agent: str, session: str, cwd: Path, project: Path) -> Invocation:
    """The context of what a program does through us: as an agent, never as a person."""
    return Invocation(
        caller=Caller(agent, is_agent=True),
        cwd=cwd,
        project=project,
        session=session,
        agent=agent,
        output=lambda _: None,
    )


def _exit_code(data: object) -> object:
    return data.get("exit_code") if is_object(data) else None


def _text(params: Mapping[str, Any], name: str, *, empty: bool = False) -> str:
    value = params.get(name)
    if not isinstance(value, str) or (not value and not empty):
        raise CommandError(f"The request lacks {name}.")
    return value


def _line(command: str, args: object, env: object) -> str:
    """The shell line of a command, its arguments and its variables. Raises `CommandError` for an impossible name."""
    words = [str(item) for item in args] if is_array(args) else []
    line = shlex.join([command, *words]) if words else command
    for item in env if is_array(env) else []:
        held: Mapping[str, object] = item if is_object(item) else {}
        name = str(held.get("name", ""))
        if not (name.isascii() and name.isidentifier()):
            raise CommandError("A variable of the command has no valid name.")
        line = f"{name}={shlex.quote(str(held.get('value', '')))} {line}"
    return line


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
