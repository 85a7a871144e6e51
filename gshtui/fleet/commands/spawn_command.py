"""The command `spawn`: a person or a script starts an agent in a new terminal.

Agents use the tool `spawn_agent` instead, which waits for the report; this command returns once the agent runs. It is
registered with the fleet's other commands.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, ClassVar, Literal

import msgspec
from pydantic import Field

from gshtui.bus.agent_data import AgentRow, GuardMode, SpawnRequest
from gshtui.commands.declaration import (
    Action,
    Assessment,
    AttachView,
    Command,
    Effect,
    Invocation,
    Mark,
    Outcome,
    Question,
    Returns,
    UsageError,
)
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellOption
from gshtui.fleet.commands.agent_lifecycle import setup_question
from gshtui.fleet.core import agent_tables
from gshtui.fleet.core.ports import SetupPlan
from gshtui.fleet.core.spawn_parameters import SpawnParameters
from gshtui.fleet.lifecycle.fleet import Fleet
from gshtui.guard.secrets.child_environment import named_variables


class SpawnAgent(SpawnParameters, Returns[AgentRow]):
    """Start an agent in a new terminal and print its ID.

    PROMPT is its task; if it is -, read standard input. Without PROMPT the agent waits for one.
    """

    COMMAND: ClassVar[str] = "spawn"
    SHELL = ShellForm(
        name="agent spawn",
        summary="Start an agent and print its ID.",
        parts=frozenset({"store", "fleet"}),
        waiting="Starting the agent",
        yes="Agree to the configured set-up command in its worktree.",
        prints_agents=True,
        own_hub=True,
    )
    prompt: Annotated[str, Mark.VERBATIM, Mark.PIPED, ShellOption(words=-1, piped=True)] = Field(
        default="", description="What it should do; empty: it waits for a prompt."
    )
    profile: Annotated[
        str,
        ShellOption(
            metavar="P", kind="profile", help="The program's profile; by default it follows from the program's name."
        ),
    ] = Field(default="", description="Profile of that program; empty: chosen by its name.")
    env: Annotated[
        tuple[str, ...],
        ShellOption(
            "--env", metavar="NAME=VALUE", help="Give it this variable; repeatable. Never a secret.", whole=True
        ),
    ] = Field(
        default=(), description="Variables for it, NAME=VALUE each; never secrets. A restart and a fork keep them."
    )
    account: Annotated[
        str, ShellOption(metavar="NAME", help="Account of yours to work under; see [accounts] in the configuration.")
    ] = Field(default="", description="Account of the configuration to work under; for people only.")
    group: Annotated[
        str, ShellOption(metavar="NAME", help="Group that it belongs to; see [groups] in the configuration.")
    ] = Field(default="", description="Group of the configuration that it belongs to; for people only.")
    mode: Annotated[
        GuardMode | Literal[""],
        ShellOption(metavar="MODE", help="What runs unasked: plan, ask, edit, auto or yolo; by default the setting's."),
    ] = Field(default="", description="plan, ask, edit, auto or yolo: what it does unasked; empty: the setting's.")
    setup: Annotated[
        bool, ShellOption(help="Run the configured set-up command in its worktree, also in one that is there.")
    ] = Field(default=False, description="Run the set-up command of its worktree without asking; for people only.")
    yes: bool = Field(default=False, description="Agree to the set-up command of its new worktree; for people only.")
    attach: bool = Field(default=False, description="Show it full-screen in this terminal once it runs.")
    cwd: Annotated[
        str, ShellOption(metavar="FOLDER", kind="folder", help="Folder to start in; by default the current one.")
    ] = Field(default="", description="Folder to start in; empty: this one.")

    host: Annotated[
        str,
        ShellOption(metavar="HOST", help="Start it on this machine of [hosts] in the configuration."),
    ] = Field(default="", description="Machine of [hosts] in the configuration to start it on; empty: this one.")


def spawn_command(fleet: Fleet) -> AnyCommand:
    """The command, on this fleet."""
    to_attach: set[str] = set()
    """Agents that are to be shown as soon as they have been rendered."""

    async def plan(request: SpawnRequest) -> SetupPlan | None:
        return await fleet.unasked_setup(request.cwd, request.worktree) if request.worktree else None

    async def asks(invocation: Invocation, parameters: SpawnAgent) -> Question | None:
        if (
            parameters.setup
            or parameters.yes
            or (planned := await plan(await _request(invocation, parameters))) is None
        ):
            return None
        return setup_question(planned, parameters.model_copy(update={"setup": True}), parameters)

    async def spawn(invocation: Invocation, parameters: SpawnAgent) -> AgentRow:
        request = await _request(invocation, parameters)
        setup = parameters.setup or (parameters.yes and await plan(request) is not None)
        row = await fleet.spawn(request, by_person=not invocation.caller.is_agent, setup=setup)
        if parameters.attach:
            to_attach.add(row.id)
        return row

    async def shows(_invocation: Invocation, row: AgentRow) -> AttachView | None:
        if row.id not in to_attach:
            return None
        to_attach.discard(row.id)
        return AttachView(row.id)

    def render(_invocation: Invocation, row: AgentRow) -> Outcome:
        attach = fleet.attach_command(row)
        text = f"Started {row.name}. Open it: alt+2, or `gsh-tui agent attach {row.name}`."
        return Outcome(agent_tables.row_json(row, attach), text)

    async def assess(invocation: Invocation, parameters: SpawnAgent) -> Assessment:
        from gshtui.fleet.native.commands import spawn_assessment

        return spawn_assessment(await _request(invocation, parameters))

    action = Action(SpawnAgent, spawn, render, asks=asks, shows=shows, effect=Effect.EXECUTE)
    return Command(
        "spawn",
        "Start an agent: one of ours, or any program",
        SpawnAgent,
        action.handle,
        effect=Effect.EXECUTE,
        positions=("prompt",),
        family="agents",
        assess=assess,
        opens="spawn",
        actions=(action,),
    )


async def _request(invocation: Invocation, parameters: SpawnAgent) -> SpawnRequest:
    # A person's agent answers to the person; one in the background reports to the agent in front.
    wants_report = parameters.background and invocation.session
    parent = invocation.caller.name if invocation.caller.is_agent else invocation.agent if wants_report else ""
    if invocation.caller.is_agent and (parameters.account or parameters.group):
        raise UsageError("Only a person can start an agent under an account or in a group.")
    if invocation.caller.is_agent and (parameters.setup or parameters.yes):
        raise UsageError("Only a person can agree to a set-up command.")
    if invocation.caller.is_agent and parameters.host:
        raise UsageError("Only a person can start an agent on another machine.", hint="Use the tool `ssh` there.")
    if parameters.setup and not parameters.worktree:
        raise UsageError(
            "`setup` runs in a new git worktree, and none is asked for.", hint="Add `worktree` with a branch."
        )
    try:
        named_variables(parameters.env)
    except ValueError as error:
        hint = "Set it where you start gsh-tui, or have the program read it from a file or a keyring."
        raise UsageError(str(error), hint=hint) from error
    cwd = parameters.cwd if parameters.host else str(invocation.cwd / parameters.cwd)
    return msgspec.structs.replace(await asyncio.to_thread(parameters.request), parent=parent, cwd=cwd)
