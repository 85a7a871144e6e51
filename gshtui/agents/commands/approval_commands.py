"""The `approvals` command, for people: what waits for an answer, what runs without asking in a project, and how to
revoke it.

Unasked runs what the rules and the settings allow, and a call exactly as a person allowed it for its conversation. What
was always allowed before there were rules is listed too: it counts for nothing until a person has seen the rule that it
becomes and keeps it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar

import msgspec
from pydantic import Field

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.commands.declaration import (
    Access,
    Action,
    CommandError,
    Effect,
    Invocation,
    Mark,
    Outcome,
    Parameters,
    Question,
    Returns,
    Unconfirmed,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.context.retrieval.result_text import when
from gshtui.guard.approval.open_approvals import OpenApprovals, SessionGrant
from gshtui.guard.approval.question_text import asked_words
from gshtui.guard.rules.rule_book import GuardRule, RuleBook, RuleFiles
from gshtui.guard.rules.rule_draft import coverage, grant_rule
from gshtui.guard.rules.rule_file import add_rule, own_file, remove_rule
from gshtui.settings.loader import Loaded
from gshtui.store.record.store import Store
from gshtui.store.tables.grant_table import Grant
from gshtui.text.markdown_table import cell, without_marks
from gshtui.text.sanitise import literal, one_line


class ApprovalList(msgspec.Struct, frozen=True):
    """What waits for an answer, and what runs without asking in a project.

    Attributes:
        book: the rules in force; the numbers count them from 1, and then the old approvals.
        grants: what was always allowed before there were rules, and is no rule yet.
        auto_approve: tools that the settings allow inside the project.
        open: the questions asked here, of all agents, and what was allowed for a conversation.
        elsewhere: agents in terminals that wait, and whose questions are not asked here.
    """

    book: RuleBook
    grants: tuple[Grant, ...]
    auto_approve: tuple[str, ...]
    open: OpenApprovals
    elsewhere: tuple[AgentRow, ...]


class RevokedApproval(msgspec.Struct, frozen=True):
    """A rule or an old approval that counts no more."""

    words: str


class KeptApproval(msgspec.Struct, frozen=True):
    """An old approval that is a rule now."""

    rule: GuardRule


class ListApprovals(Parameters, Returns[ApprovalList]):
    """List the open questions of all agents, and what runs without asking in this project."""

    COMMAND: ClassVar[str] = "approvals"
    WORD: ClassVar[str] = "list"


class RevokeApproval(Parameters, Returns[RevokedApproval]):
    """Revoke one approval, so that it needs a person's answer again."""

    COMMAND: ClassVar[str] = "approvals"
    WORD: ClassVar[str] = "revoke"
    number: int = Field(ge=1, description="Its number in the list")


class KeepApproval(Parameters, Returns[KeptApproval]):
    """Make an old approval a rule, after a person has seen it."""

    COMMAND: ClassVar[str] = "approvals"
    WORD: ClassVar[str] = "keep"
    number: int = Field(ge=1, description="Its number in the list")
    seen: Annotated[str, Mark.CODE_ONLY] = ""
    """The rule that a person has seen and agreed to."""


OpenNow = Callable[[], OpenApprovals]
"""The questions that are asked here now."""


def commands(store: Store, loaded: Loaded, open_now: OpenNow) -> list[AnyCommand]:
    """The command. `store`: has the old approvals, and the agents in terminals."""
    project, auto_approve = loaded.project, loaded.settings.agent.auto_approve
    files = RuleFiles(own_file(), project)

    async def find() -> ApprovalList:
        grants = tuple(await store.grants.find_all(str(project)))
        rows = await store.agents.find_all()
        book, here = await asyncio.to_thread(files.current), open_now()
        waiting = (row for row in rows if row.status == "waiting" and not row.ended and not row.killed)
        elsewhere = tuple(row for row in waiting if not here.of_agent(row.id))
        return ApprovalList(book, grants, tuple(sorted(auto_approve)), here, elsewhere)

    async def numbered(number: int) -> GuardRule | Grant:
        found = await find()
        listed = (*found.book.rules, *found.grants)
        if not 0 < number <= len(listed):
            raise CommandError(f"There is no approval number {number}.", hint="`approvals` lists them.")
        return listed[number - 1]

    async def old(number: int) -> Grant:
        found = await numbered(number)
        if isinstance(found, GuardRule):
            raise CommandError(f"Number {number} is a rule already, in {found.name}.")
        return found

    async def list_approvals(_invocation: Invocation, _wanted: ListApprovals) -> ApprovalList:
        return await find()

    async def revoke(_invocation: Invocation, wanted: RevokeApproval) -> RevokedApproval:
        found = await numbered(wanted.number)
        if isinstance(found, Grant):
            await store.grants.remove(str(project), found.tool, found.pattern)
            return RevokedApproval(_grant_words(found))
        if found.file != own_file():
            raise CommandError(f"{found.name} is a rule of the project's own.", hint=f"Change it in {found.file}.")
        await asyncio.to_thread(remove_rule, found.file, found)
        return RevokedApproval(_rule_words(found))

    async def keep(_invocation: Invocation, wanted: KeepApproval) -> KeptApproval:
        grant = await old(wanted.number)
        if not wanted.seen:
            raise Unconfirmed("A person must see the rule first: run `approvals keep` where it can be shown.")
        if wanted.seen != (text := grant_rule(grant.tool, grant.pattern, project)):
            hint = "Nothing was saved. `approvals` lists them as they are now."
            raise CommandError(f"Number {wanted.number} is another approval now than the one you agreed to.", hint=hint)
        rule = await asyncio.to_thread(add_rule, own_file(), text)
        await store.grants.remove(str(project), grant.tool, grant.pattern)
        return KeptApproval(rule)

    async def asks(_invocation: Invocation, wanted: KeepApproval) -> Question | None:
        if wanted.seen:
            return None
        grant = await old(wanted.number)
        rule = grant_rule(grant.tool, grant.pattern, project)
        covers = " ".join(one_line(literal(each), 300) for each in coverage(rule))
        return Question(
            KeepApproval(number=wanted.number, seen=rule),
            "Save this rule?",
            f"In {own_file()}, it would let run without a question: {covers}",
            yes="Save it",
            note="`approvals revoke` removes it again.",
            quoted=rule,
        )

    return [
        group(
            "approvals",
            "List open questions and what runs without asking in this project, or revoke it",
            Action(ListApprovals, list_approvals, _render_list),
            Action(RevokeApproval, revoke, _render_revoked, effect=Effect.WRITE),
            Action(KeepApproval, keep, _render_kept, asks, effect=Effect.WRITE),
            family="approvals",
            bare="list",
            access=Access.HUMAN_ONLY,
            aliases=("permissions",),
        )
    ]


def _render_list(_invocation: Invocation, found: ApprovalList) -> Outcome:
    rules = found.book.rules
    lines: list[str] = []
    names = found.open.names
    waiting = [_question_words(one, names) for one in found.open.waiting]
    waiting += [_waiting_words(row) for row in found.elsewhere]
    if waiting:
        lines += ["These questions are open:", _listed(waiting)]
    if granted := [_session_words(one, names) for one in found.open.granted]:
        lines += ["Allowed until its agent ends, exactly as it was asked:", _listed(granted)]
    lines.append("Reading inside the project needs no approval.")
    if found.auto_approve:
        tools = ", ".join(f"`{one_line(name, 40)}`" for name in found.auto_approve)
        lines.append(f"Neither do these tools inside the project, because of `[agent] auto_approve`: {tools}.")
    if rules:
        lines += ["Rules:", "\n".join(f"{n}. {cell(_rule_words(one))}" for n, one in enumerate(rules, 1))]
    else:
        lines.append("Nothing is always allowed here: there are no rules.")
    lines += [cell(one_line(literal(str(mistake)), 400)) for mistake in found.book.mistakes]
    if found.grants:
        rows = [f"{n}. {cell(_grant_words(one))}" for n, one in enumerate(found.grants, len(rules) + 1)]
        lines += [
            "Approvals saved before rules existed. They have no effect until you make them rules:",
            "\n".join(rows),
        ]
    hints = ["`approvals keep NUMBER` makes one a rule."] if found.grants else []
    hints += ["`approvals revoke NUMBER` revokes one."] if rules or found.grants else []
    hints += [f"`agent attach {row.id}` opens the terminal of {row.name}." for row in found.elsewhere]
    data = {
        "open": [
            *(_question_data(one, names) for one in found.open.waiting),
            *(_waiting_data(row) for row in found.elsewhere),
        ],
        "session": [
            {"agent": one.agent, "session": one.session, "tool": one.tool, "subject": one.subject}
            for one in found.open.granted
        ],
        "rules": [_rule_data(n, one) for n, one in enumerate(rules, 1)],
        "always": [
            {"number": n, "tool": one.tool, "pattern": one.pattern}
            for n, one in enumerate(found.grants, len(rules) + 1)
        ],
        "mistakes": [str(mistake) for mistake in found.book.mistakes],
        "auto_approve": list(found.auto_approve),
    }
    text = "\n\n".join(lines)
    how = " ".join(hints)
    return Outcome(data, f"{text}\n\n{how}".rstrip(), plain=without_marks(text), aside=how)


def _listed(words: Sequence[str]) -> str:
    """Each as it is, in every face."""
    return "\n".join(f"- {cell(each)}" for each in words)


def _render_revoked(_invocation: Invocation, found: RevokedApproval) -> Outcome:
    return Outcome({"revoked": found.words}, f"Revoked; it counts no more: {found.words}")


def _render_kept(_invocation: Invocation, found: KeptApproval) -> Outcome:
    return Outcome(_rule_data(0, found.rule), f"Saved as a rule: {_rule_words(found.rule)}")


def _question_data(request: ApprovalRequested, names: dict[str, str]) -> dict[str, object]:
    return {
        "question": request.approval,
        "agent": request.agent,
        "name": names.get(request.agent, request.agent),
        "tool": request.tool,
        "subject": request.subject,
        "since": request.at,
        "here": True,
    }


def _waiting_data(row: AgentRow) -> dict[str, object]:
    asked = row.question
    return {
        "question": "" if asked is None else f"{row.id}/{asked.id}",
        "agent": row.id,
        "name": row.name,
        "tool": "",
        "subject": row.doing if asked is None else asked.subject,
        "since": row.status_at,
        "here": False,
    }


def _question_words(request: ApprovalRequested, names: dict[str, str]) -> str:
    asked = f"{_agent_words(request.agent, names)}: {asked_words(request.tool, request.subject)}"
    since = f" (since {when(request.at, '%H:%M')})" if request.at else ""
    return one_line(literal(f"{asked}{since}"), 400)


def _waiting_words(row: AgentRow) -> str:
    about = row.doing if row.question is None else row.question.subject
    said = f"{_agent_words(row.id, {row.id: row.name})} waits in its terminal: {about or 'it does not say for what'}"
    return one_line(literal(said), 400)


def _session_words(grant: SessionGrant, names: dict[str, str]) -> str:
    return one_line(literal(f"{_agent_words(grant.agent, names)}: {grant.tool} {grant.subject}"), 400)


def _agent_words(agent: str, names: dict[str, str]) -> str:
    name = names.get(agent, agent)
    return agent if name == agent else f"{name} ({agent})"


def _rule_data(number: int, rule: GuardRule) -> dict[str, object]:
    return {"number": number, "do": rule.do, "rule": rule.words, "file": str(rule.file), "line": rule.line}


def _rule_words(rule: GuardRule) -> str:
    return one_line(literal(f"{rule.words} ({rule.file}:{rule.line})"), 400)


def _grant_words(grant: Grant) -> str:
    return f"{one_line(grant.pattern, 200)} ({one_line(grant.tool, 40)}, since {when(grant.created)})"
