"""The command `approvals`: what a person has always allowed in this project, and taking it back.

Owns its parameters and words; refuses agents, who must not even know what needs no question. Declared for the hub.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from gshtui.commands.declaration import Access, Command, CommandError, Invocation, Outcome, Parameters, UsageError
from gshtui.context.retrieval.wording import when
from gshtui.guard.sanitise import one_line
from gshtui.store.errors import StoreError
from gshtui.store.grants import Grant
from gshtui.store.store import Store


class ApprovalParameters(Parameters):
    """What to do."""

    action: Literal["list", "revoke"] = Field(default="list", description="`revoke` takes one back: it is asked again")
    number: int = Field(default=0, ge=0, description="Which one (revoke), as `list` counts them")


def command(store: Store, project: str, auto_approve: Sequence[str]) -> Command[Any]:
    """The command.

    Args:
        store: keeps what was allowed.
        project: whose grants are meant.
        auto_approve: tools that the settings let run inside the project.
    """

    async def run(_invocation: Invocation, parameters: ApprovalParameters) -> Outcome:
        try:
            given = await store.grants(project)
            if parameters.action == "list":
                return _listed(given, auto_approve)
            grant = _chosen(given, parameters.number)
            await store.remove_grant(project, grant.tool, grant.pattern)
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


def _listed(given: Sequence[Grant], auto_approve: Sequence[str]) -> Outcome:
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
