"""The commands about native agents: the tool `spawn_agent`, which waits for the new agent's report, and `personas`."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace
from pydantic import ConfigDict, Field

from gshtui.agents.personas import Personas, load_personas
from gshtui.bus.agent_data import SpawnRequest
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import InterruptRequested
from gshtui.bus.events.fleet_events import AgentEnded, AgentSpawned, AgentSpawnFailed, AgentSpawnRequested
from gshtui.commands.declaration import (
    Access,
    Action,
    Assessment,
    Command,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Returns,
)
from gshtui.commands.registry import AnyCommand
from gshtui.commands.schema import PLAIN, RARE
from gshtui.fleet.core.spawn_parameters import SpawnParameters
from gshtui.fleet.native.spec import SPAWN_AGENT
from gshtui.system.ids import new_id
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.markdown_table import cell, without_marks
from gshtui.text.sanitise import one_line, visible

START_WITHIN = 600.0
"""Seconds within which it must start: a person may have to approve it first."""
_DESCRIPTION = """\
Start another agent in a terminal of its own, for a task that it can do alone. It knows nothing of this conversation: \
put files, constraints and what to report into the prompt. Its report is the result of this call or, in the \
background, a later message; background agents of one answer work in parallel."""
_DETAILS = """\
Good for a search through much of the project, tests to run and fix, or work in a git worktree beside yours. It never \
has more permissions than you."""


class SpawnAuthority(msgspec.Struct, frozen=True):
    """The asking agent: its depth (0 for the window's own), and US dollars that it may still spend; 0: no limit."""

    depth: int = 0
    left: Callable[[], float] = lambda: 0.0
    ask: bool = True
    """A person is asked here; otherwise the process that receives the request asks."""


_TO_A_MODEL = {
    "persona": "explore (reads only), test, build …",
    "provider": "If the model alone does not determine it",
    "tools": "The only tools it gets; empty: its persona's",
    "max_iterations": "Per turn; 0: the setting's",
    "budget_usd": "0: no limit of its own",
    "worktree": "Branch of a new git worktree for it",
    "cli": "Command line of another program instead: claude, codex …",
    "acp": "The same, for one that speaks the Agent Client Protocol",
}
"""A parameter's description for models, where shorter or different words than a person's suffice."""


def _worded_for_models(schema: dict[str, Any]) -> None:
    for name, words in _TO_A_MODEL.items():
        schema["properties"][name]["description"] = words
    for name in ("prompt", "name", "model", "background"):
        schema["properties"][name].update(PLAIN)
    for name in ("provider", "tools", "max_iterations", "budget_usd", "fork", "acp"):
        schema["properties"][name].update(RARE)


class SpawnAgentParameters(SpawnParameters):
    """Parameters of `spawn_agent`; its schema describes them for models."""

    model_config = ConfigDict(json_schema_extra=_worded_for_models)
    fork: str = Field(
        default="",
        description="ID of an agent that you started: this one goes on from a copy of its conversation and its files",
    )


def commands(bus: Bus, above: SpawnAuthority) -> list[AnyCommand]:
    """The tool, and `personas`."""

    async def run(invocation: Invocation, parameters: SpawnAgentParameters) -> Outcome:
        return await _spawn(bus, above, invocation, parameters)

    async def assess(_invocation: Invocation, parameters: SpawnAgentParameters) -> Assessment:
        found = spawn_assessment(await _request(above, "", parameters))
        return found if above.ask else replace(found, effect=Effect.READ, inside=True)

    return [
        Command(
            SPAWN_AGENT,
            "Start another agent for a task, and get its report",
            SpawnAgentParameters,
            run,
            access=Access.AGENT_PRIMARY,
            effect=Effect.EXECUTE,
            positions=("prompt",),
            description=_DESCRIPTION,
            details=_DETAILS,
            family="agents",
            tool=True,
            always_offered=True,
            assess=assess,
        ),
        personas_command(),
    ]


def spawn_assessment(request: SpawnRequest) -> Assessment:
    """The question to a person about it."""
    argv = request.cli or request.acp
    kind = shlex.join(argv) if argv else request.persona or "agent"
    kind = f"fork of {request.fork}" if request.fork else kind
    subject = f"{kind}: {one_line(request.prompt, 120)}"
    facts = {
        "fork of": request.fork,
        "program": shlex.join(argv),
        "persona": request.persona,
        "model": " ".join(filter(None, (request.provider, request.model))),
        "tools": " ".join(request.tools),
        "worktree": request.worktree,
        "folder": request.cwd,
        "budget": f"${request.budget_usd:.2f}" if request.budget_usd else "",
    }
    detail = "\n".join([*(f"{name}: {visible(said)}" for name, said in facts.items() if said), visible(request.prompt)])
    # Another program has rights of its own: it is never allowed permanently, nor by policy.
    foreign = bool(argv or request.fork)  # what is forked may be another program
    pattern = "" if foreign else f"start agents with the persona {request.persona or '(none)'}"
    key = f"{argv!r} {request.fork} {request.persona} {request.prompt}"
    return Assessment(
        Effect.EXECUTE,
        visible(subject),
        inside=not foreign,
        detail=detail,
        key=key,
        pattern=pattern,
    )


async def _request(above: SpawnAuthority, parent: str, parameters: SpawnAgentParameters) -> SpawnRequest:
    left = above.left()
    budget = min(parameters.budget_usd or left, left) if left else parameters.budget_usd
    request = await asyncio.to_thread(parameters.request)
    return msgspec.structs.replace(request, budget_usd=budget, parent=parent, depth=above.depth + 1)


async def _spawn(bus: Bus, above: SpawnAuthority, invocation: Invocation, parameters: SpawnAgentParameters) -> Outcome:
    request = await _request(above, invocation.agent, parameters)
    request_id = new_id()
    answer: asyncio.Future[AgentSpawned | AgentSpawnFailed] = asyncio.get_running_loop().create_future()
    ended: dict[str, AgentEnded] = {}
    end = asyncio.Event()

    def listen(batch: object) -> None:
        for event in batch:  # type: ignore[attr-defined]
            if isinstance(event, AgentSpawned | AgentSpawnFailed) and event.spawn == request_id and not answer.done():
                answer.set_result(event)
            elif isinstance(event, AgentEnded):
                ended[event.agent] = event
                end.set()

    subscription = bus.subscribe(listen, AgentSpawned, AgentSpawnFailed, AgentEnded, name=f"spawn {request_id}")
    try:
        bus.publish(AgentSpawnRequested(request=request, spawn=request_id))
        try:
            async with time_limit(START_WITHIN):
                started = await answer
        except TimeoutError as error:
            hint = "No window is there to start it. Do the work yourself, or say in your report that it is not done."
            raise CommandError(f"It was not started within {START_WITHIN / 60:.0f} minutes.", hint=hint) from error
        if isinstance(started, AgentSpawnFailed):
            raise CommandError(started.why, hint=started.hint)
        row = started.row
        if request.background:
            text = f"{row.name} ({row.id}) works in the background; its report will arrive as a message."
            return Outcome({"agent": row.id, "name": row.name}, text)
        try:
            while row.id not in ended:
                end.clear()
                await end.wait()
        except asyncio.CancelledError:
            bus.publish(InterruptRequested(agent=row.id))
            raise
        return _outcome(ended[row.id], row.name)
    finally:
        subscription.unsubscribe()


def _outcome(ended: AgentEnded, name: str) -> Outcome:
    data = {"agent": ended.agent, "status": ended.status, "report": ended.report, "exit_status": ended.exit_status}
    report = ended.report.strip() or "(no report)"
    if ended.status == "done":
        return Outcome(data, report, plain=report)
    text = f"{name} ({ended.agent}) ended with the status {ended.status}. It left:\n\n{report}"
    return Outcome(data, text, is_error=True, plain=text)


class ListPersonas(Parameters, Returns[Personas]):
    """The personas with which an agent can start."""

    COMMAND: ClassVar[str] = "personas"


def personas_command() -> AnyCommand:
    """`personas`: those with which an agent can start, and the faults of invalid persona files."""

    async def run(invocation: Invocation, _parameters: ListPersonas) -> Personas:
        return await asyncio.to_thread(load_personas, Path(invocation.cwd))

    action = Action(ListPersonas, run, _render_personas)
    return Command(
        "personas",
        "List the personas for new agents",
        ListPersonas,
        action.handle,
        family="agents",
        actions=(action,),
    )


def _render_personas(_invocation: Invocation, personas: Personas) -> Outcome:
    lines = [
        f"- **{cell(p.name)}** — {cell(one_line(p.summary) or '(no summary)')}{cell(_limits(p.tools, p.read_only))}"
        for p in personas.found.values()
    ]
    data = {
        "personas": [
            {
                "name": p.name,
                "summary": p.summary,
                "tools": list(p.tools),
                "read_only": p.read_only,
                "model": p.model,
                "source": p.source or "built in",
            }
            for p in personas.found.values()
        ],
        "problems": personas.problems,
    }
    text = "\n".join([*lines, *(f"\n{cell(one_line(problem, 500))}" for problem in personas.problems)])
    return Outcome(data, text, plain=without_marks(text))


def _limits(tools: tuple[str, ...], read_only: bool) -> str:
    if read_only:
        return " (reads only)"
    return f" ({', '.join(tools)})" if tools else ""
