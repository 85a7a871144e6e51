"""`gsh-tui run 'LINE'`: one line of the command language, as the person or with an agent's rights.

With an agent's rights the line passes the guard as a tool call of that agent would, with nobody there to ask. Called by
`cli`, also for the commands that are a line in another dress (`session …`, `agent …`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gshtui.headless import exits, streams
from gshtui.headless.running import run, until_asked
from gshtui.headless.surroundings import here, loaded_here, running

if TYPE_CHECKING:
    from gshtui.bus.events.fleet import AgentSpawned
    from gshtui.commands.declaration import Outcome
    from gshtui.hub.hub import Hub

STORE_ONLY = frozenset({"store"})
MOST_PARTS = frozenset({"store", "guard", "providers", "fleet"})
FLEET_PARTS = frozenset({"store", "fleet"})


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
    return run(lambda stop: until_asked(_run(options), stop))


async def _run(options: LineOptions) -> int:
    import asyncio

    from gshtui.commands.declaration import CommandError, UsageError
    from gshtui.headless.progress import watching
    from gshtui.hub.options import HubOptions

    loaded = await asyncio.to_thread(loaded_here, options.flags)
    hub_options = HubOptions(
        cwd=here(),
        loaded=loaded,
        approvals="policy" if options.yes else "refuse",
        parts=options.parts,
        visiting=True,
        where="gsh-tui run",
    )
    async with running(hub_options) as hub, watching(hub, options.waiting, started=options.started) as progress:
        await hub.start()
        if not _has_what_it_needs(hub):
            return exits.ERROR
        try:
            async with asyncio.timeout(options.timeout or None):
                outcome = await (_as_agent if options.agent else _as_person)(hub, options)
            progress.clear()
        except TimeoutError:
            progress.clear()
            streams.complain("the time is up; the command was stopped.")
            return exits.TIMED_OUT
        except Denied as denied:
            progress.clear()
            streams.complain(str(denied))
            return exits.DENIED
        except UsageError as error:
            progress.clear()
            streams.complain(str(error))
            return exits.USAGE
        except CommandError as error:
            progress.clear()
            streams.complain(str(error))
            return exits.ERROR
    return _write(outcome, options)


class Denied(Exception):
    """The guard did not let the line pass; the text says why."""


async def _as_person(hub: Hub, options: LineOptions) -> Outcome:
    return await hub.run(options.line)


async def _as_agent(hub: Hub, options: LineOptions) -> Outcome:
    """The line as a tool call of the agent: access, then the guard, then the run."""
    from gshtui.agents.toolbox import assess
    from gshtui.bus.ids import new_id
    from gshtui.commands.declaration import Caller, UsageError
    from gshtui.commands.execute import run_parsed
    from gshtui.commands.language import parse
    from gshtui.commands.registry import may_run
    from gshtui.guard.approval import Call, Gate
    from gshtui.guard.grants import NoGrants, ProjectGrants

    caller = Caller(options.agent, is_agent=True)
    parsed = parse(hub.registry, options.line)
    if not may_run(parsed.command, caller):
        raise UsageError(f"{parsed.command.name} is for people only.")
    arguments: dict[str, Any] = parsed.parameters.model_dump(exclude_unset=True)
    invocation = hub.invocation(caller)
    assessment = await assess(parsed.command, invocation, parsed.parameters, arguments)
    grants = NoGrants() if hub.store is None else ProjectGrants(hub.store, str(hub.project))
    auto = frozenset(hub.settings.agent.auto_approve)
    gate = Gate(hub.bus, grants, mode=hub.options.approvals, auto_approve=auto)
    try:
        verdict = await gate.review(Call(options.agent, "", new_id(), parsed.command.name, arguments), assessment)
    finally:
        await gate.close()
    if not verdict.allowed:
        raise Denied(f"{parsed.command.name} {assessment.subject}: {verdict.reason}")
    return await run_parsed(parsed.command, parsed.parameters, invocation)


def _has_what_it_needs(hub: Hub) -> bool:
    """Whether every part that was asked for is there; says what is not."""
    for failed in hub.failed.values():
        streams.complain(f"{failed.part}: {failed.why}", failed.hint)
    return not hub.failed


def _write(outcome: Outcome, options: LineOptions) -> int:
    from gshtui.commands.verbatim import bare
    from gshtui.text.shorten import shorten

    if options.write is not None:
        options.write(outcome)
    elif options.json:
        streams.result_json(outcome.data if outcome.data is not None or not outcome.text else outcome.text)
    else:
        streams.result(bare(shorten(outcome.full, 0, notes=outcome.notes) if outcome.cut else outcome.text))
    if outcome.timed_out:
        return exits.TIMED_OUT
    return exits.ERROR if outcome.is_error else exits.DONE
