"""The command `spawn`: a person, or a script, starts an agent in a terminal of its own.

Agents have the tool `spawn_agent` for it, which waits for the report; this one returns when the agent runs. Declared
here, registered with the fleet's other commands.
"""

from __future__ import annotations

import shlex

from pydantic import Field

from gshtui.bus.agent_data import SpawnRequest
from gshtui.commands.declaration import (
    Assessment,
    Command,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    UsageError,
)
from gshtui.commands.registry import AnyCommand
from gshtui.fleet import agent_tables
from gshtui.fleet.fleet import Fleet
from gshtui.fleet.ports import FleetError


class SpawnParameters(Parameters):
    """Parameters of `spawn`."""

    prompt: str = Field("", description="What it is to do; empty: it waits for words.")
    name: str = Field("", description="A word to know it by; made unique.")
    persona: str = Field("", description="explore (reads only), test, build, or one of yours.")
    model: str = Field("", description="Model; empty: the default.")
    provider: str = Field("", description="Provider, where the model alone does not say it.")
    tools: list[str] = Field(default=[], description="The only tools that it may use; empty: those of its persona.")
    max_iterations: int = Field(0, description="Model requests a turn; 0: the setting's.", ge=0, le=10_000)
    budget_usd: float = Field(0.0, description="US dollars that it may spend; 0: no limit.", ge=0, le=1e6)
    background: bool = Field(False, description="Its report comes into the conversation in front.")
    worktree: str = Field("", description="Branch to make a git worktree for, where it works.")
    cli: str = Field("", description="Command line of any program (claude, codex, bash …) instead of one of ours.")
    profile: str = Field("", description="Profile of that program; empty: by its name.")
    cwd: str = Field("", description="Folder to start in; empty: this one.")


def spawn_command(fleet: Fleet) -> AnyCommand:
    """The command, on this fleet."""

    async def spawn(invocation: Invocation, parameters: SpawnParameters) -> Outcome:
        request = _request(invocation, parameters)
        try:
            row = await fleet.spawn(request, by_person=not invocation.caller.is_agent)
        except FleetError as error:
            raise command_error(error) from error
        attach = fleet.attach_command(row)
        text = f"**{row.name}** ({row.id}) runs in `{row.tmux_session}`; `{shlex.join(attach)}` shows it."
        return Outcome(agent_tables.row_json(row, attach), text)

    async def assess(invocation: Invocation, parameters: SpawnParameters) -> Assessment:
        from gshtui.fleet.native.commands import spawn_assessment

        return spawn_assessment(_request(invocation, parameters))

    return Command(
        "spawn",
        "Start an agent in a terminal of its own: one of ours, or any program",
        SpawnParameters,
        spawn,
        effect=Effect.EXECUTE,
        positions=("prompt",),
        family="agents",
        assess=assess,
        opens="spawn",
    )


def _request(invocation: Invocation, parameters: SpawnParameters) -> SpawnRequest:
    try:
        cli = tuple(shlex.split(parameters.cli))
    except ValueError as error:
        raise UsageError(f"`cli` is no command line: {error}.", hint="Close every quote.") from error
    # A person's agent answers to the person; one in the background reports to the agent in front.
    wants_report = parameters.background and invocation.session
    parent = invocation.caller.name if invocation.caller.is_agent else invocation.agent if wants_report else ""
    folder = parameters.cwd
    return SpawnRequest(
        prompt=parameters.prompt,
        name=parameters.name,
        persona=parameters.persona,
        provider=parameters.provider,
        model=parameters.model,
        tools=tuple(parameters.tools),
        max_iterations=parameters.max_iterations,
        budget_usd=parameters.budget_usd,
        background=parameters.background,
        worktree=parameters.worktree,
        cli=cli,
        profile=parameters.profile,
        parent=parent,
        cwd=str(invocation.cwd / folder) if folder else str(invocation.cwd),
    )


def command_error(error: FleetError) -> CommandError:
    """The command's error for one of the fleet's."""
    return CommandError(error.message, hint=error.hint)
