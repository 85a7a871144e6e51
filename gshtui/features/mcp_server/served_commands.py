"""The commands that other programs may call by MCP: an access list of declared actions, run behind the guard.

The caller counts as an agent, in the mode `ask` and with nobody to ask: it reads; what starts, prompts or interrupts an
agent needs the leave of the person who started the server. It answers no question, and what it starts has no wider
rights than an agent's own. Knows nothing of the protocol.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, cast

import msgspec
from pydantic import ValidationError

from gshtui.commands import execution
from gshtui.commands.declaration import (
    Assessment,
    Caller,
    CommandError,
    Effect,
    Outcome,
    Parameters,
    Returns,
    option_of,
)
from gshtui.context.commands.view_commands import ContextParameters, TimelineParameters
from gshtui.context.retrieval.search_commands import SearchPast
from gshtui.fleet.commands.spawn_command import SpawnAgent
from gshtui.fleet.core.agent_calls import InterruptAgent, ListAgents, SendToAgent, ShowAgent, WaitForAgent
from gshtui.guard.approval.gate import Call
from gshtui.hub.hub import Hub
from gshtui.store.sessions.session_calls import ListSessions, ShowSession
from gshtui.system.ids import new_id
from gshtui.system.json_types import map_texts
from gshtui.system.tasks import start_job
from gshtui.text.sanitise import literal, one_line
from gshtui.text.truncation import is_too_long, shorten

_NAME = re.compile(r"[^a-z0-9]+")


class ServedCommand(msgspec.Struct, frozen=True):
    """One command as other programs see it.

    Attributes:
        fields: the parameters that they may give; all others keep their defaults.
        result: the JSON schema of its data.
        fixed: parameters that always have this value.
    """

    name: str
    description: str
    parameters: type[Parameters]
    fields: tuple[str, ...]
    result: Mapping[str, Any]
    effect: Effect = Effect.READ
    fixed: Mapping[str, object] | None = None

    def schema(self) -> dict[str, Any]:
        made = self.parameters.model_json_schema()
        properties = cast("dict[str, Any]", made.get("properties", {}))
        made["properties"] = {name: properties[name] for name in self.fields}
        needed = {name for name, field in self.parameters.model_fields.items() if option_of(field).required}
        required = {*cast("list[str]", made.get("required", [])), *needed}
        made["required"] = [name for name in self.fields if name in required]
        made["additionalProperties"] = False
        for key in ("title", "description"):
            made.pop(key, None)
        return made

    def output_schema(self) -> dict[str, Any]:
        """The JSON schema of what it gives beside its text: an object, as MCP wants it. Some programs show a model this
        alone, so that it has the text where the data is too long.
        """
        text = {"type": "string", "description": "In place of a result that is too long: its text, shortened."}
        return {"type": "object", "properties": {"result": self.result, "text": text}}


def _record(**fields: str) -> dict[str, Any]:
    """The schema of an object with at least these fields, each with its JSON type."""
    properties = {name: {"type": kind} for name, kind in fields.items()}
    return {"type": "object", "properties": properties, "required": list(fields)}


def _rows(**fields: str) -> dict[str, Any]:
    """The schema of a list of such objects."""
    return {"type": "array", "items": _record(**fields)}


_AGENT = {"id": "string", "name": "string", "kind": "string", "status": "string"}
_SESSION = {
    "id": "string",
    "title": "string",
    "cwd": "string",
    "agent": "string",
    "model": "string",
    "updated": "number",
}
SERVED = (
    ServedCommand(
        "agent_ls", "List the agents of this folder, with their status.", ListAgents, ("everywhere",), _rows(**_AGENT)
    ),
    ServedCommand(
        "agent_show",
        "Show an agent: its status, its last answer, its report.",
        ShowAgent,
        ("agent",),
        _record(**_AGENT, report="string"),
    ),
    ServedCommand(
        "agent_wait",
        "Wait until an agent is idle or has ended.",
        WaitForAgent,
        ("agent", "statuses", "timeout"),
        _record(**_AGENT),
    ),
    ServedCommand(
        "agent_spawn",
        "Start an agent with a task; returns its ID. It works in its own terminal and asks its person before it "
        "changes anything.",
        SpawnAgent,
        ("prompt", "name", "persona", "model", "provider", "worktree"),
        _record(**_AGENT),
        Effect.EXECUTE,
        {"background": True},
    ),
    ServedCommand(
        "agent_send",
        "Send an agent a message; with `wait`, returns its answer.",
        SendToAgent,
        ("agent", "text", "now", "wait", "timeout"),
        _record(agent="string", message="string"),
        Effect.EXECUTE,
    ),
    ServedCommand(
        "agent_interrupt",
        "Stop what an agent is doing, but keep the agent.",
        InterruptAgent,
        ("agent",),
        _record(agent="string"),
        Effect.EXECUTE,
    ),
    ServedCommand(
        "search",
        "Search the past: shell commands (shell_history), conversations (sessions) or logs of agents (logs).",
        SearchPast,
        ("source", "query", "exit_code", "agent", "since", "until", "last_n"),
        _rows(),
    ),
    ServedCommand(
        "context",
        "Show what an agent's model is sent, section by section.",
        ContextParameters,
        ("agent", "section", "iteration", "texts"),
        _record(agent="string", session="string", tokens="integer", sections="array"),
    ),
    ServedCommand(
        "timeline",
        "Show the cuts of an agent's context over time.",
        TimelineParameters,
        ("agent",),
        _record(agent="string", requests="integer", iterations="array"),
    ),
    ServedCommand("session_ls", "List the conversations.", ListSessions, (), _rows(**_SESSION)),
    ServedCommand(
        "session_show",
        "Show a conversation.",
        ShowSession,
        ("session",),
        {**_record(messages="array"), "properties": {"session": _record(**_SESSION), "messages": {"type": "array"}}},
    ),
)
"""The access list."""
WRITING = tuple(one.name for one in SERVED if one.effect is not Effect.READ)
"""Those that need the leave of the person who starts the server."""


class ServedCommands:
    """The served commands of one hub."""

    def __init__(self, hub: Hub, allowed: frozenset[str], start: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        """`allowed`: names of those of `WRITING` that may be called. `start`: starts the hub; returns whether it can be
        used.
        """
        self._hub = hub
        self._start = start
        self._starting: asyncio.Task[bool | None] | None = None
        self._commands = {one.name: one for one in SERVED if one.effect is Effect.READ or one.name in allowed}

    def begin(self) -> asyncio.Task[bool | None]:
        """Start the hub, unless that has begun. Not before a program has had its first answer: it waits only a while
        for that, which needs nothing of the hub.
        """
        if self._starting is None:
            self._starting = start_job(self._start(), "the start of the hub")
        return self._starting

    async def ready(self) -> bool:
        """Whether the hub can be used, once it has started."""
        return bool(await asyncio.shield(self.begin()))

    async def started(self) -> None:
        """Wait until it is not in the middle of its start."""
        if self._starting is not None:
            await asyncio.wait([self._starting])

    def commands(self) -> list[ServedCommand]:
        """Those that may be called."""
        return list(self._commands.values())

    async def run(
        self, client: str, name: str, arguments: Mapping[str, Any], output: Callable[[str], None]
    ) -> tuple[str, dict[str, Any] | None, bool]:
        """Run one for a program. `client`: what the program calls itself.

        Returns:
            Its text; its data, as `output_schema` says, `None` where it has none; and whether it failed.
        """
        try:
            outcome = await self._run(principal(client), name, arguments, output)
        except CommandError as error:
            return self._redacted(str(error)), None, True
        text = self._redacted(outcome.plain or outcome.text or "(no output)")
        limit = self._hub.settings.context.max_tool_output_bytes
        if is_too_long(text, limit):
            text = shorten(text, limit)
        return text, None if outcome.is_error else self._structured(outcome, text, limit), outcome.is_error

    def _structured(self, outcome: Outcome, text: str, limit: int) -> dict[str, Any]:
        data = written(outcome.data, self._redacted)
        if is_too_long(data, limit):
            return {"text": text}
        return {"result": json.loads(data)}

    async def _run(
        self, caller: Caller, name: str, arguments: Mapping[str, Any], output: Callable[[str], None]
    ) -> Outcome:
        command = self._commands.get(name)
        if command is None:
            known = any(one.name == name for one in SERVED)
            hint = f"Start the server with `--allow {name}`." if known else ""
            raise CommandError(f"{name[:60]!r} may not be called here.", hint=hint)
        if unknown := [key for key in arguments if key not in command.fields]:
            raise CommandError(f"{name}: there is no parameter {one_line(literal(unknown[0]), 40)!r}.")
        try:
            parameters = command.parameters.model_validate({**arguments, **(command.fixed or {})})
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_context=False, include_input=False)[0]
            where = ".".join(map(str, wrong["loc"]))
            raise CommandError(f"{name}: {one_line(literal(where), 60)}: {wrong['msg']}.") from error
        if not await self.ready():
            raise CommandError("gsh-tui could not start here.", hint="`gsh-tui doctor` says what is missing.")
        await self._review(caller, command, arguments)
        invocation = self._hub.invocation(caller, output)
        return await execution.run_value(self._hub.registry, cast("Returns[Any]", parameters), invocation)

    async def _review(self, caller: Caller, command: ServedCommand, arguments: Mapping[str, Any]) -> None:
        """Ask the guard. Raises `CommandError`: it does not allow the call."""
        gate = self._hub.gate
        if gate is None:
            raise CommandError("There is no guard, so nothing is run.")
        subject = one_line(literal(" ".join(str(value) for value in arguments.values())), 200)
        call = Call(caller.name, "", new_id(), command.name, dict(arguments))
        verdict = await gate.review(call, Assessment(command.effect, subject, inside=True))
        if not verdict.allowed:
            raise CommandError(f"{command.name} was not allowed: {verdict.reason}")

    def _redacted(self, text: str) -> str:
        telemetry = self._hub.telemetry
        return text if telemetry is None else telemetry.redactor.redact_certain(text)


def written(value: object, change: Callable[[str], str]) -> str:
    """The value as JSON, each text in it changed. What JSON has no type for is text, too."""
    plain = msgspec.to_builtins(value, enc_hook=str, str_keys=True, builtin_types=(bytes, bytearray))
    return json.dumps(map_texts(json.loads(json.dumps(plain, default=str)), change), ensure_ascii=False)


def principal(client: str) -> Caller:
    """A program as a caller: an agent whose name begins with `mcp-`, which no agent of ours has."""
    usable = _NAME.sub("-", client.lower()).strip("-")[:30]
    return Caller(f"mcp-{usable or 'client'}", is_agent=True)
