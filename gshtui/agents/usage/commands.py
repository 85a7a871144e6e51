"""The command `usage`: sums by day, agent, account, model, provider, folder or conversation. Only reads.

Declared for the hub and for an agent in a terminal.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from pydantic import Field

from gshtui.agents.usage import usage_report
from gshtui.bus.usage_data import By, UsageSum
from gshtui.commands.declaration import Action, Command, Invocation, Outcome, Parameters, Returns
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellOption
from gshtui.commands.timespec import FORMS, parse_time
from gshtui.store.record.store import Store
from gshtui.text.markdown_table import bare_columns

Format = Literal["table", "csv", "json"]


class UsageReport(msgspec.Struct, frozen=True):
    """What requests used, a sum for each line."""

    by: By
    sums: list[UsageSum]
    format: Format = "table"


class ReportUsage(Parameters, Returns[UsageReport]):
    """Show the usage of model requests in all folders, by day, agent, account, model, provider, folder or conversation.

    Token counts come from the providers. `estimate` shows how far off our own estimate of the input was. An account is
    one of yours, of `[accounts]`. Claude, Codex, Gemini and OpenCode count by their transcripts, at the prices that
    they or the catalog know.
    """

    COMMAND: ClassVar[str] = "usage"
    SHELL = ShellForm((), summary="Show the tokens, money and time used.", parts=frozenset({"store"}))
    by: By = Field(default="day", description="What to group by")
    since: Annotated[str, ShellOption(metavar="WHEN", help="Only since: 2h, 7d, today, 2026-11-21 …")] = Field(
        default="", description=f"Only since then: {FORMS}"
    )
    agent: Annotated[str, ShellOption(metavar="NAME", kind="agent")] = Field(default="", description="Only this agent")
    model: Annotated[str, ShellOption(metavar="NAME", kind="model")] = Field(default="", description="Only this model")
    session: Annotated[str, ShellOption(metavar="ID", kind="session")] = Field(
        default="", description="Only this conversation and the agents started from it"
    )
    format: Format = Field(default="table", description="A table, or csv or json for other programs")


SyncPrograms = Callable[[], Awaitable[None]]


def commands(store: Store, sync_programs: SyncPrograms) -> list[AnyCommand]:
    """The command, on this store. `sync_programs` records what other programs have used until now."""

    async def run(invocation: Invocation, parameters: ReportUsage) -> UsageReport:
        after = parse_time(parameters.since, time.time())
        await sync_programs()
        sessions: list[str] = []
        if parameters.session:
            wanted = invocation.session if parameters.session == "this" else parameters.session
            sessions = await store.usage.tree((await store.sessions.find(wanted, str(invocation.cwd))).id)
        found = await store.usage.sums(
            parameters.by, after=after, agent=parameters.agent, model=parameters.model, sessions=sessions
        )
        return UsageReport(parameters.by, list(found), parameters.format)

    def render(_invocation: Invocation, report: UsageReport) -> Outcome:
        data: dict[str, Any] = {
            "by": report.by,
            "rows": [usage_report.plain(one) for one in report.sums],
            "total": usage_report.plain(usage_report.total(report.sums)),
        }
        if report.format != "table":
            made = (
                json.dumps(data, indent=1)
                if report.format == "json"
                else usage_report.comma_separated(report.sums, report.by)
            )
            return Outcome(data, made)
        text = usage_report.table(report.sums, report.by)
        aloud = usage_report.table(report.sums, report.by, aloud=True)
        return Outcome(data, text, plain=bare_columns(text), aloud=aloud)

    action = Action(ReportUsage, run, render)
    return [
        Command(
            "usage",
            "Tokens, cost and time of model requests",
            ReportUsage,
            action.handle,
            positions=("by",),
            aliases=("cost",),
            description="Show what requests used: tokens as providers count them, the estimate's error, cost, time.",
            family="usage",
            tool=True,
            actions=(action,),
        )
    ]
