"""`gsh-tui run 'LINE'`: one line of the command language, and the commands that are little more than one."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gshtui.headless import exits, streams
from gshtui.headless.command_hub import Denied, HubNeeds, on_hub, working_folder
from gshtui.headless.outcomes import outcome_code, write_outcome
from gshtui.headless.runner import run_command, until_stopped

if TYPE_CHECKING:
    from gshtui.bus.events.fleet_events import AgentSpawned
    from gshtui.commands.declaration import Outcome
    from gshtui.headless.progress import Progress
    from gshtui.hub.hub import Hub

STORE_ONLY = frozenset({"store"})
MOST_PARTS = frozenset({"store", "guard", "providers", "fleet"})


@dataclass(frozen=True, slots=True)
class LineOptions:
    """What the command line said. `agent`: with whose rights; empty: the person's."""

    line: str
    agent: str = ""
    yes: bool = False
    json: bool = False
    timeout: float = 0.0
    parts: frozenset[str] = MOST_PARTS
    flags: Mapping[str, Any] = field(default_factory=dict[str, Any])
    waiting: str = "Working"
    """What a person is told after a second of silence."""
    started: Callable[[AgentSpawned], None] | None = None
    """Told of an agent that the line has started, as soon as it runs."""
    write: Callable[[Outcome], None] | None = None
    """Writes the outcome in place of the usual way."""


def run_line(options: LineOptions) -> int:
    """Run the line; gives the exit code."""
    return run_command(lambda stop: until_stopped(_run(options), stop))


async def _run(options: LineOptions) -> int:
    async def work(hub: Hub, _progress: Progress) -> Outcome:
        return await _as_agent(hub, options) if options.agent else await hub.run(options.line)

    needs = HubNeeds(
        options.parts,
        flags=options.flags,
        approvals="policy" if options.yes else "refuse",
        timeout=options.timeout,
        waiting=options.waiting,
        started=options.started,
    )
    outcome = await on_hub(needs, work)
    return outcome if isinstance(outcome, int) else _write(outcome, options)


async def _as_agent(hub: Hub, options: LineOptions) -> Outcome:
    """The line as a tool call of the agent: access, then the guard, then the run."""
    from gshtui.agents.toolbox import assess
    from gshtui.commands.declaration import Caller, UsageError
    from gshtui.commands.execution import run_parsed
    from gshtui.commands.language import parse
    from gshtui.commands.registry import may_run
    from gshtui.guard.approval import Call, Gate, NoGrants, ProjectGrants
    from gshtui.system.ids import new_id

    caller = Caller(options.agent, is_agent=True)
    parsed = parse(hub.registry, options.line)
    if not may_run(parsed.command, caller):
        raise UsageError(f"{parsed.command.name} is for people only.")
    arguments: dict[str, Any] = parsed.parameters.model_dump(exclude_unset=True)
    invocation = hub.invocation(caller)
    assessment = await assess(parsed.command, invocation, parsed.parameters, arguments)
    grants = NoGrants() if hub.store is None else ProjectGrants(hub.store.grants, str(hub.project))
    auto = frozenset(hub.settings.agent.auto_approve)
    gate = Gate(hub.bus, grants, mode=hub.options.approvals, auto_approve=auto)
    try:
        verdict = await gate.review(Call(options.agent, "", new_id(), parsed.command.name, arguments), assessment)
    finally:
        await gate.close()
    if not verdict.allowed:
        raise Denied(f"{parsed.command.name} {assessment.subject}: {verdict.reason}")
    return await run_parsed(parsed.command, parsed.parameters, invocation)


def _write(outcome: Outcome, options: LineOptions) -> int:
    if options.write is not None:
        options.write(outcome)
        return outcome_code(outcome)
    return write_outcome(outcome, as_json=options.json)


CONTEXT_PARTS = frozenset({"store", "providers"})


def show_context(agent: str, named: Mapping[str, str], *, request: bool, as_json: bool) -> int:
    """What an agent's model is sent; gives the exit code."""
    words = {"agent": agent, **named}
    if as_json:
        words |= {"texts": "true"} if named["diff"] else {"texts": "true", "request": "true"}
    elif request:
        words["request"] = "true"
    return run_context_line("context", words, as_json=as_json)


def run_context_line(command: str, named: Mapping[str, str], *, as_json: bool) -> int:
    """Run a context command; gives the exit code."""
    from gshtui.commands.language import quote

    words = [command, *(f"{name}={quote(value)}" for name, value in named.items() if value)]
    options = LineOptions(" ".join(words), json=as_json, parts=CONTEXT_PARTS, write=_write_context if as_json else None)
    return run_line(options)


def _write_context(outcome: Outcome) -> None:
    data: Any = outcome.data
    streams.result_json(data)


_LONGEST = 8 * 1024 * 1024
"""Bytes of a line; the rest of a longer one is passed over."""


def check_guard_lines() -> int:
    """Answer until the input ends; gives the exit code."""
    from gshtui.guard.commands import checked
    from gshtui.settings.paths import project_root

    cwd = working_folder()
    project = project_root(cwd)
    while raw := sys.stdin.buffer.readline(_LONGEST):
        piece = raw
        while len(piece) == _LONGEST and not piece.endswith(b"\n"):
            piece, raw = sys.stdin.buffer.readline(_LONGEST), b"too long"
        if raw.strip():
            answer = json.dumps(checked(_value(raw), cwd, project), ensure_ascii=True)
            streams.write_all(streams.STDOUT, answer.encode() + b"\n")
    return exits.DONE


def _value(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None
