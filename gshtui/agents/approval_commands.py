"""The `approvals` command, for people: what runs without asking in a project, and how to revoke it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from gshtui.commands.command_errors import command_error
from gshtui.commands.declaration import (
    Access,
    Action,
    Command,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Returns,
    UsageError,
)
from gshtui.commands.family import Family
from gshtui.commands.registry import AnyCommand
from gshtui.context.retrieval.result_text import when
from gshtui.store.grant_table import Grant
from gshtui.store.store import Store
from gshtui.store.store_errors import StoreError
from gshtui.text.sanitise import one_line


class ApprovalParameters(Parameters):
    """What to do."""

    action: Literal["list", "revoke"] = Field(default="list", description="`revoke`: it will need approval again")
    number: int = Field(default=0, ge=0, description="revoke: its number in `list`")


@dataclass(frozen=True, slots=True)
class ApprovalList:
    """What runs without asking in a project."""

    grants: tuple[Grant, ...]
    """What a person has always allowed, in the order of the numbers, from 1."""
    auto_approve: tuple[str, ...]
    """Tools that the settings allow inside the project."""


@dataclass(frozen=True, slots=True)
class RevokedApproval:
    """A grant that counts no more."""

    grant: Grant


class ListApprovals(Parameters, Returns[ApprovalList]):
    """List what runs without asking in this project."""

    COMMAND: ClassVar[str] = "approvals"
    WORD: ClassVar[str] = "list"


class RevokeApproval(Parameters, Returns[RevokedApproval]):
    """Revoke one approval, so that it needs a person's answer again."""

    COMMAND: ClassVar[str] = "approvals"
    WORD: ClassVar[str] = "revoke"
    number: int
    """Its number in the list."""


def approvals_command(store: Store, project: str, auto_approve: Sequence[str]) -> AnyCommand:
    """The command.

    Args:
        store: stores the grants.
        project: the project whose grants to show.
        auto_approve: tools that the settings allow inside the project.
    """

    async def read_grants() -> tuple[Grant, ...]:
        try:
            return tuple(await store.grants.find_all(project))
        except StoreError as error:
            raise command_error(error) from error

    async def list_approvals(_invocation: Invocation, _wanted: ListApprovals) -> ApprovalList:
        return ApprovalList(await read_grants(), tuple(sorted(auto_approve)))

    async def revoke(_invocation: Invocation, wanted: RevokeApproval) -> RevokedApproval:
        grants = await read_grants()
        if not 0 < wanted.number <= len(grants):
            raise CommandError(f"There is no approval number {wanted.number}.", hint="`approvals` lists them.")
        grant = grants[wanted.number - 1]
        try:
            await store.grants.remove(project, grant.tool, grant.pattern)
        except StoreError as error:
            raise command_error(error) from error
        return RevokedApproval(grant)

    family = Family[ApprovalParameters](
        _bind,
        Action(ListApprovals, ApprovalList, list_approvals, _render_list, access=Access.HUMAN_ONLY),
        Action(RevokeApproval, RevokedApproval, revoke, _render_revoked, access=Access.HUMAN_ONLY, effect=Effect.WRITE),
    )
    return Command(
        "approvals",
        "List what runs without asking in this project, or revoke it",
        ApprovalParameters,
        family.handle,
        access=Access.HUMAN_ONLY,
        positions=("action", "number"),
        aliases=("permissions",),
        family="approvals",
        actions=family.actions,
        bind=family.bind,
    )


def _bind(given: ApprovalParameters) -> ListApprovals | RevokeApproval:
    if given.action == "list":
        return ListApprovals()
    if not given.number:
        raise UsageError("Give the number of the approval to revoke.", hint="`approvals` lists them.")
    return RevokeApproval(number=given.number)


def _render_list(_invocation: Invocation, found: ApprovalList) -> Outcome:
    always = [{"number": n, "tool": one.tool, "pattern": one.pattern} for n, one in enumerate(found.grants, 1)]
    lines = ["Reading inside the project needs no approval."]
    if found.auto_approve:
        names = ", ".join(f"`{one_line(name, 40)}`" for name in found.auto_approve)
        lines.append(f"Neither do these tools inside the project, because of `[agent] auto_approve`: {names}.")
    if found.grants:
        rows = [f"{n}. {_words(one)}" for n, one in enumerate(found.grants, 1)]
        lines += ["Always allowed in this project:", "\n".join(rows), "`approvals revoke NUMBER` revokes one."]
    else:
        lines.append("Nothing is always allowed here.")
    return Outcome({"always": always, "auto_approve": list(found.auto_approve)}, "\n\n".join(lines))


def _render_revoked(_invocation: Invocation, found: RevokedApproval) -> Outcome:
    data = {"tool": found.grant.tool, "pattern": found.grant.pattern}
    return Outcome(data, f"Revoked; it needs approval again: {_words(found.grant)}")


def _words(grant: Grant) -> str:
    return f"{one_line(grant.pattern, 200)} ({one_line(grant.tool, 40)}, since {when(grant.created)})"
