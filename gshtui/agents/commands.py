"""The commands on the record alone: usage, search, log, outputs and tasks; and `approvals`, for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from pydantic import Field

from gshtui.agents.sessions import session_lookup
from gshtui.agents.usage import commands as usage_commands
from gshtui.bus.bus import Bus
from gshtui.commands.declaration import Access, Command, CommandError, Invocation, Outcome, Parameters, UsageError
from gshtui.commands.registry import AnyCommand
from gshtui.context import task_list as task_commands
from gshtui.context.retrieval import search_commands
from gshtui.context.retrieval.result_text import when
from gshtui.context.task_list import TaskStore
from gshtui.settings.model import Settings
from gshtui.store.grant_table import Grant
from gshtui.store.store import Store
from gshtui.store.store_errors import StoreError
from gshtui.text.sanitise import one_line
from gshtui.tools import stored_output


class ApprovalParameters(Parameters):
    """What to do."""

    action: Literal["list", "revoke"] = Field(
        default="list", description="`revoke` takes one back: it will need approval again"
    )
    number: int = Field(default=0, ge=0, description="revoke: its number in `list`")


def approvals_command(store: Store, project: str, auto_approve: Sequence[str]) -> Command[Any]:
    """The command.

    Args:
        store: keeps what was allowed.
        project: whose grants are meant.
        auto_approve: tools that the settings let run inside the project.
    """

    async def run(_invocation: Invocation, parameters: ApprovalParameters) -> Outcome:
        try:
            given = await store.grants.find_all(project)
            if parameters.action == "list":
                return _approvals_table(given, auto_approve)
            grant = _chosen(given, parameters.number)
            await store.grants.remove(project, grant.tool, grant.pattern)
        except StoreError as error:
            raise CommandError(error.message, hint=error.hint, data={"kind": error.kind}) from error
        data = {"tool": grant.tool, "pattern": grant.pattern}
        return Outcome(data, f"It is asked about again from now on: {_words(grant)}")

    return Command(
        "approvals",
        "What needs no question in this project: list it, take it back",
        ApprovalParameters,
        run,
        access=Access.HUMAN_ONLY,
        positions=("action", "number"),
        aliases=("permissions",),
        family="approvals",
    )


def _chosen(given: Sequence[Grant], number: int) -> Grant:
    if not number:
        raise UsageError("Give the number of what to take back.", hint="`approvals` lists them.")
    if number > len(given):
        raise CommandError(f"There is no number {number}.", hint="`approvals` lists them.")
    return given[number - 1]


def _approvals_table(given: Sequence[Grant], auto_approve: Sequence[str]) -> Outcome:
    always = [{"number": n, "tool": one.tool, "pattern": one.pattern} for n, one in enumerate(given, 1)]
    lines = ["Reading inside the project needs no question."]
    if auto_approve:
        names = ", ".join(f"`{one_line(name, 40)}`" for name in sorted(auto_approve))
        lines.append(f"Nor do these inside the project, by `[agent] auto_approve`: {names}.")
    if given:
        rows = [f"{n}. {_words(one)}" for n, one in enumerate(given, 1)]
        lines += ["Always allowed here:", "\n".join(rows), "`approvals revoke NUMBER` takes one back."]
    else:
        lines.append("Nothing was always allowed here.")
    return Outcome({"always": always, "auto_approve": sorted(auto_approve)}, "\n\n".join(lines))


def _words(grant: Grant) -> str:
    return f"{one_line(grant.pattern, 200)} ({one_line(grant.tool, 40)}, since {when(grant.created)})"


def commands(bus: Bus, store: Store, settings: Settings, here: Callable[[str], str], cwd: str) -> list[AnyCommand]:
    """Usage, search, log, outputs and tasks. `here(agent)`: the conversation of an agent of this process, or empty."""
    return [
        *usage_commands.commands(store),
        *search_commands.commands(store, settings.general.log_dir),
        stored_output.command(store.outputs.get, store.outputs.folders, settings.context.max_tool_output_bytes),
        *task_commands.task_commands(TaskStore(bus, store.contexts), session_lookup(store, here, cwd)),
    ]
