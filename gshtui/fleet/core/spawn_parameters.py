"""The parameters of a new agent: each with its meaning, bounds and default, declared once.

The command `spawn` and the tool `spawn_agent` take these parameters; `SpawnRequest` carries them to the fleet.
"""

from __future__ import annotations

import shlex
from typing import Annotated

import msgspec
from pydantic import Field

from gshtui.bus.agent_data import SpawnRequest
from gshtui.commands.declaration import Mark, Parameters, UsageError
from gshtui.commands.shell_form import ShellOption
from gshtui.programs.acp.acp_commands import command_for
from gshtui.system.struct_types import learned


class SpawnParameters(Parameters):
    """Parameters of a new agent, named as in `SpawnRequest`."""

    prompt: Annotated[str, Mark.VERBATIM, Mark.PIPED, ShellOption(words=-1, piped=True)] = Field(
        description="What it should do.", min_length=1
    )
    name: Annotated[str, ShellOption(metavar="N")] = Field(default="", description="A name for it; made unique.")
    persona: Annotated[str, ShellOption(metavar="P", kind="persona")] = Field(
        default="", description="explore (reads only), test, build, or one of yours."
    )
    model: Annotated[str, ShellOption(metavar="M", kind="model", help="Model; by default the configured one.")] = Field(
        default="", description="Model; empty: the default."
    )
    provider: Annotated[str, ShellOption(metavar="P", kind="provider")] = Field(
        default="", description="Provider, if the model alone does not determine it."
    )
    tools: Annotated[list[str], ShellOption("--tool", metavar="T", help="Allow only this tool; repeatable.")] = Field(
        default=[], description="The only tools it may use; empty: its persona's."
    )
    max_iterations: Annotated[int, ShellOption(help="Maximum number of model requests per turn.")] = Field(
        default=0, description="Model requests per turn; 0: the setting's.", ge=0, le=10_000
    )
    budget_usd: Annotated[float, ShellOption("--budget", metavar="USD", help="Maximum cost in US dollars.")] = Field(
        default=0.0, description="US dollars that it may spend; 0: no limit.", ge=0, le=1e6
    )
    background: Annotated[
        bool, ShellOption(help="End it when its task is done; `agent show ID` prints its report.")
    ] = Field(default=False, description="Its report goes into the selected conversation.")
    worktree: Annotated[
        str, ShellOption(metavar="BRANCH", help="Create a git worktree for this branch, and work there.")
    ] = Field(default="", description="Branch to create a git worktree for; it works there.")
    cli: Annotated[
        str,
        ShellOption(metavar="COMMAND", kind="profile", help="Run another program instead of our agent: claude, bash …"),
    ] = Field(default="", description="Command line of any program (claude, codex, bash …) instead of one of ours.")

    acp: Annotated[
        str,
        ShellOption(
            metavar="COMMAND",
            help="Run a program that speaks the Agent Client Protocol: gemini, opencode, claude, 'COMMAND …'.",
        ),
    ] = Field(
        default="", description="Command line of a program that speaks the Agent Client Protocol (gemini, opencode …)."
    )

    def request(self) -> SpawnRequest:
        """The request for this agent, without its parent. Raises `UsageError` if `cli` is not a command line."""
        try:
            argv = shlex.split(self.cli)
        except ValueError as error:
            raise UsageError(f"`cli` is not a valid command line: {error}.", hint="Close every quote.") from error
        try:
            spoken = shlex.split(self.acp)
        except ValueError as error:
            raise UsageError(f"`acp` is not a valid command line: {error}.", hint="Close every quote.") from error
        if argv and spoken:
            raise UsageError("An agent is either a program in its terminal (cli) or one over ACP (acp), not both.")
        return msgspec.convert({**vars(self), "cli": argv, "acp": command_for(spoken)}, learned(SpawnRequest))
