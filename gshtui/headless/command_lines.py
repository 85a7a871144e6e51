"""`gsh-tui run 'LINE'`: one line of the command language, as the person or with an agent's rights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gshtui.headless.command_hub import Denied, HubNeeds, on_hub
from gshtui.headless.outcomes import write_outcome
from gshtui.headless.runner import run_command, until_stopped

if TYPE_CHECKING:
    from gshtui.commands.declaration import Outcome
    from gshtui.headless.progress import Progress
    from gshtui.hub.hub import Hub


@dataclass(frozen=True, slots=True)
class LineOptions:
    """The options of the call. `agent`: whose rights apply; empty: the person's."""

    line: str
    agent: str = ""
    yes: bool = False
    json: bool = False
    timeout: float = 0.0
    flags: Mapping[str, Any] = field(default_factory=dict[str, Any])


def run_line(options: LineOptions) -> int:
    """Run the line; returns the exit code."""
    return run_command(lambda stop: until_stopped(_run(options), stop))


async def _run(options: LineOptions) -> int:
    from gshtui.commands.shell_form import ALL_COMMANDS

    async def work(hub: Hub, _progress: Progress) -> Outcome:
        return await _as_agent(hub, options) if options.agent else await hub.run(options.line)

    needs = HubNeeds(
        ALL_COMMANDS,
        flags=options.flags,
        respondent="policy" if options.yes else "nobody",
        timeout=options.timeout,
    )
    outcome = await on_hub(needs, work)
    return outcome if isinstance(outcome, int) else write_outcome(outcome, as_json=options.json)


async def _as_agent(hub: Hub, options: LineOptions) -> Outcome:
    """Run the line as a tool call of the agent: check access, ask the guard, run."""
    from gshtui.agents.toolbox import assess
    from gshtui.commands.declaration import Caller, UsageError
    from gshtui.commands.execution import run_parsed
    from gshtui.commands.language import parse
    from gshtui.commands.registry import may_run
    from gshtui.guard.approval import Call, Gate
    from gshtui.guard.modes import AgentModes
    from gshtui.guard.rule_file import own_file
    from gshtui.guard.rules import RuleFiles
    from gshtui.system.ids import new_id

    caller = Caller(options.agent, is_agent=True)
    parsed = parse(hub.registry, options.line)
    if not may_run(parsed.command, caller):
        raise UsageError(f"{parsed.command.name} is for people only.")
    arguments: dict[str, Any] = parsed.parameters.model_dump(exclude_unset=True)
    invocation = hub.invocation(caller)
    assessment = await assess(parsed.command, invocation, parsed.parameters, arguments)
    auto = frozenset(hub.settings.agent.auto_approve)
    mode = "auto" if options.yes else hub.settings.agent.mode
    modes = AgentModes(hub.bus, options.agent, mode)
    files = RuleFiles(own_file(), hub.project)
    gate = Gate(hub.bus, respondent=hub.options.respondent, auto_approve=auto, modes=modes, rules=files.current)
    try:
        verdict = await gate.review(Call(options.agent, "", new_id(), parsed.command.name, arguments), assessment)
    finally:
        await gate.close()
    if not verdict.allowed:
        name, subject = parsed.command.name, assessment.subject
        what = subject if subject.split(" ")[0] == name else f"{name} {subject}"
        raise Denied(f"{what}: {verdict.reason}")
    return await run_parsed(parsed.command, parsed.parameters, replace(invocation, sandboxed=verdict.sandboxed))
