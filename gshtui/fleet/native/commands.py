"""The commands about native agents: the tool `spawn_agent`, and `personas`. The hub registers what this returns."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gshtui.agents.personas import load_personas
from gshtui.bus.bus import Bus
from gshtui.commands.declaration import Command, Invocation, Outcome, Parameters
from gshtui.commands.registry import AnyCommand
from gshtui.fleet.native import spawn
from gshtui.guard.sanitise import one_line


class NoParameters(Parameters):
    """Takes nothing."""


def commands(bus: Bus) -> list[AnyCommand]:
    """The family, for a window."""
    return [*spawn.commands(bus, spawn.Above()), personas_command()]


def personas_command() -> AnyCommand:
    """`personas`: those that an agent can be started with, and what is wrong with files that should be some."""

    async def run(invocation: Invocation, _parameters: NoParameters) -> Outcome:
        personas = await asyncio.to_thread(load_personas, Path(invocation.cwd))
        lines = [f"- **{p.name}** — {one_line(p.summary) or '(no summary)'}{_limits(p.tools, p.read_only)}"
                 for p in personas.found.values()]  # fmt: skip
        data = {
            "personas": [
                {"name": p.name, "summary": p.summary, "tools": list(p.tools), "read_only": p.read_only,
                 "model": p.model, "source": p.source or "built in"}
                for p in personas.found.values()
            ],
            "problems": personas.problems,
        }  # fmt: skip
        return Outcome(data, "\n".join([*lines, *(f"\n{one_line(problem, 500)}" for problem in personas.problems)]))

    return Command(
        "personas", "List the personas that an agent can be started with", NoParameters, run, family="agents"
    )


def _limits(tools: tuple[str, ...], read_only: bool) -> str:
    if read_only:
        return " (reads only)"
    return f" ({', '.join(tools)})" if tools else ""
