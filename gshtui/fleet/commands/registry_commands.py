"""The actions `agent search` and `agent install`: agents of the ACP registry, found, shown, and kept at a version."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
from pydantic import Field

from gshtui.commands.declaration import (
    Access,
    Action,
    AnyAction,
    CommandError,
    Effect,
    Invocation,
    Mark,
    Outcome,
    Parameters,
    Question,
    Returns,
)
from gshtui.commands.shell_form import ShellForm, ShellOption
from gshtui.programs.acp.acp_commands import kept_agents
from gshtui.settings.paths import FolderError
from gshtui.text import markdown_table
from gshtui.text.sanitise import literal, one_line

if TYPE_CHECKING:
    from gshtui.programs.acp.agent_registry import AgentPlan, RegistryAgent, RegistryError


class FoundAgents(msgspec.Struct, frozen=True):
    """What a search in the registry found."""

    word: str
    agents: tuple[RegistryAgent, ...]


class InstalledAgent(msgspec.Struct, frozen=True):
    """An agent of the registry that is there now, or no more."""

    name: str
    version: str = ""
    """Empty: it was removed."""
    argv: tuple[str, ...] = ()


class SearchAgents(Parameters, Returns[FoundAgents]):
    """Search the registry of agents that speak the Agent Client Protocol. `agent install NAME` installs one."""

    COMMAND: ClassVar[str] = "agent"
    WORD: ClassVar[str] = "search"
    SHELL = ShellForm(
        ("word",),
        summary="Search the registry of ACP agents.",
        parts=frozenset({"store", "fleet"}),
        waiting="Asking",
        own_hub=True,
    )
    FORMER_NAMES = {"target": "word"}
    word: Annotated[str, Mark.VERBATIM, ShellOption(metavar="WORD")] = Field(
        default="", description="Words that it must have."
    )


class InstallAgent(Parameters, Returns[InstalledAgent]):
    """Install an agent of the ACP registry, at exactly the version that it has there; again for a newer one.

    What would be fetched and run is shown and asked about first, and nothing of it runs before you start it:
    `gsh-tui agent spawn --acp NAME`.
    """

    COMMAND: ClassVar[str] = "agent"
    WORD: ClassVar[str] = "install"
    SHELL = ShellForm(
        ("name",),
        summary="Install an agent of the ACP registry.",
        parts=frozenset({"store", "fleet"}),
        waiting="Installing",
        needs_answer=True,
        own_hub=True,
    )
    FORMER_NAMES = {"target": "name"}
    name: Annotated[str, ShellOption(required=True)] = Field(default="", description="Its name in the registry.")
    remove: bool = Field(default=False, description="Remove it again.")
    agreed: Annotated[str, Mark.CODE_ONLY] = ""
    """What was shown and agreed to."""


def registry_actions(registry: Callable[[], str]) -> list[AnyAction]:
    """The two. `registry`: its address."""

    async def search(_invocation: Invocation, wanted: SearchAgents) -> FoundAgents:
        from gshtui.programs.acp import agent_registry

        try:
            return FoundAgents(wanted.word, tuple(await agent_registry.search(registry(), wanted.word)))
        except agent_registry.RegistryError as error:
            raise _unreachable(error) from error

    async def planned(wanted: InstallAgent) -> AgentPlan:
        from gshtui.programs.acp import agent_registry

        try:
            return await agent_registry.plan(registry(), wanted.name)
        except agent_registry.RegistryError as error:
            raise _unreachable(error) from error

    async def ask(_invocation: Invocation, wanted: InstallAgent) -> Question | None:
        if wanted.remove or not wanted.name:
            return None
        plan = await planned(wanted)
        lines = "\n".join(plan.lines)
        return Question(
            wanted.model_copy(update={"agreed": lines}),
            f"Install {plan.title} {plan.version}?",
            "It is others' program, and runs with your rights once you start it.",
            yes="Install",
            quoted=lines,
        )

    async def install(_invocation: Invocation, wanted: InstallAgent) -> InstalledAgent:
        from gshtui.programs.acp import agent_registry

        try:
            if wanted.remove:
                if wanted.name not in kept_agents():
                    raise CommandError(f"No agent {one_line(wanted.name, 60)!r} is installed.")
                await asyncio.to_thread(agent_registry.remove, wanted.name)
                return InstalledAgent(wanted.name)
            plan = await planned(wanted)
            if wanted.agreed and wanted.agreed != "\n".join(plan.lines):
                raise CommandError("The registry says something else now.", hint="Nothing was installed: look again.")
            kept = await agent_registry.install(plan)
        except agent_registry.RegistryError as error:
            raise CommandError(error.message, hint=error.hint) from error
        except (OSError, FolderError) as error:
            raise CommandError(f"It cannot be kept: {getattr(error, 'strerror', '') or error}.") from error
        return InstalledAgent(wanted.name, kept.version, kept.argv)

    return [
        Action(SearchAgents, search, _render_found, access=Access.HUMAN_ONLY, effect=Effect.NETWORK),
        Action(InstallAgent, install, _render_installed, ask, access=Access.HUMAN_ONLY, effect=Effect.EXECUTE),
    ]


def _unreachable(error: RegistryError) -> CommandError:
    reached = not error.message.startswith("The registry cannot be asked")
    return CommandError(error.message, hint=error.hint, data=None if reached else {"kind": "unreachable"})


def _render_found(_invocation: Invocation, found: FoundAgents) -> Outcome:
    here = kept_agents()
    data = [
        {"name": one.name, "title": one.title, "version": one.version, "about": one.about, "ways": list(one.ways)}
        | {"installed": here[one.name].version if one.name in here else ""}
        for one in found.agents
    ]
    if not found.agents:
        return Outcome(data, f"The registry has no agent with {one_line(literal(found.word), 60)!r}.")
    rows = [
        tuple(literal(text) for text in (one.name, one.version, ", ".join(one.ways), one.about)) for one in found.agents
    ]
    table = markdown_table.table(("name", "version", "comes by", "what it is"), rows)
    hint = "`agent install NAME` shows what one would run, and installs it."
    return Outcome(data, f"{table}\n\n{hint}", plain=markdown_table.bare_columns(table))


def _render_installed(_invocation: Invocation, done: InstalledAgent) -> Outcome:
    data = {"name": done.name, "version": done.version, "argv": list(done.argv)}
    if not done.version:
        return Outcome(data, f"{done.name} is removed.")
    return Outcome(data, f"{done.name} {done.version} is installed. `agent spawn --acp {done.name}` starts it.")
