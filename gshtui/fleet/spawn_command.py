"""The command `spawn`: a person, or a script, starts an agent in a terminal of its own.

Agents have the tool `spawn_agent` for it, which waits for the report; this one returns when the agent runs. Declared
here, registered with the fleet's other commands.
"""

from __future__ import annotations

import shlex
from typing import Annotated, ClassVar

from pydantic import Field

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.commands.declaration import (
    Action,
    Assessment,
    Command,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Returns,
    UsageError,
)
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellOption
from gshtui.fleet import agent_tables
from gshtui.fleet.fleet import Fleet
from gshtui.fleet.ports import FleetError


class SpawnAgent(Parameters, Returns[AgentRow]):
    """Start an agent in a terminal of its own and print its ID.

    PROMPT is what it is to do; - is standard input. Without PROMPT it waits for words.
    """

    COMMAND: ClassVar[str] = "spawn"
    SHELL = ShellForm(
        ("prompt",),
        "agent spawn",
        "Start an agent and print its ID.",
        parts=frozenset({"store", "fleet"}),
        waiting="Starting the agent",
        prints_agents=True,
    )
    prompt: Annotated[str, ShellOption(words=-1, piped=True)] = Field(
        default="", description="What it should do; empty: it waits for a prompt."
    )
    name: Annotated[str, ShellOption(metavar="N")] = Field(default="", description="A name for it; made unique.")
    persona: Annotated[str, ShellOption(metavar="P", kind="persona")] = Field(
        default="", description="explore (reads only), test, build, or one of yours."
    )
    model: Annotated[str, ShellOption(metavar="M", kind="model", help="Model; default: the configuration's.")] = Field(
        default="", description="Model; empty: the default."
    )
    provider: Annotated[str, ShellOption(metavar="P", kind="provider")] = Field(
        default="", description="Provider, if the model alone does not determine it."
    )
    tools: Annotated[
        list[str], ShellOption("--tool", metavar="T", help="The only tools that it may use; may be repeated.")
    ] = Field(default=[], description="The only tools it may use; empty: its persona's.")
    max_iterations: Annotated[int, ShellOption(help="Model requests a turn.")] = Field(
        default=0, description="Model requests per turn; 0: the setting's.", ge=0, le=10_000
    )
    budget_usd: Annotated[float, ShellOption("--budget", metavar="USD", help="US dollars that it may spend.")] = Field(
        default=0.0, description="US dollars that it may spend; 0: no limit.", ge=0, le=1e6
    )
    background: Annotated[
        bool, ShellOption(help="It ends when its task is done; `agent show ID` prints the report.")
    ] = Field(default=False, description="Its report goes into the selected conversation.")
    worktree: Annotated[
        str, ShellOption(metavar="BRANCH", help="Make a git worktree of this branch, and work there.")
    ] = Field(default="", description="Branch to create a git worktree for; it works there.")
    cli: Annotated[
        str,
        ShellOption(metavar="COMMAND", kind="profile", help="Anyone's program instead of one of ours: claude, bash …"),
    ] = Field(default="", description="Command line of any program (claude, codex, bash …) instead of one of ours.")
    profile: Annotated[
        str, ShellOption(metavar="P", kind="profile", help="Profile of that program; default: by its name.")
    ] = Field(default="", description="Profile of that program; empty: chosen by its name.")
    cwd: Annotated[str, ShellOption(metavar="FOLDER", kind="folder", help="Folder to start in; default: this one.")] = (
        Field(default="", description="Folder to start in; empty: this one.")
    )


def spawn_command(fleet: Fleet) -> AnyCommand:
    """The command, on this fleet."""

    async def spawn(invocation: Invocation, parameters: SpawnAgent) -> AgentRow:
        request = _request(invocation, parameters)
        try:
            return await fleet.spawn(request, by_person=not invocation.caller.is_agent)
        except FleetError as error:
            raise command_error(error) from error

    def render(_invocation: Invocation, row: AgentRow) -> Outcome:
        attach = fleet.attach_command(row)
        text = f"**{row.name}** ({row.id}) runs in `{row.tmux_session}`; `{shlex.join(attach)}` shows it."
        return Outcome(agent_tables.row_json(row, attach), text)

    async def assess(invocation: Invocation, parameters: SpawnAgent) -> Assessment:
        from gshtui.fleet.native.commands import spawn_assessment

        return spawn_assessment(_request(invocation, parameters))

    action = Action(SpawnAgent, AgentRow, spawn, render, effect=Effect.EXECUTE)
    return Command(
        "spawn",
        "Start an agent in a terminal of its own: one of ours, or any program",
        SpawnAgent,
        action.handle,
        effect=Effect.EXECUTE,
        positions=("prompt",),
        family="agents",
        assess=assess,
        opens="spawn",
        actions=(action,),
    )


def _request(invocation: Invocation, parameters: SpawnAgent) -> SpawnRequest:
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
