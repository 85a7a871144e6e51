"""The command `usage`: what was used, by day, agent, model or conversation. Read only.

Owns its parameters. Declared for the hub and for an agent in its own process.
"""

from __future__ import annotations

import time
from typing import Any

from pydantic import Field

from gshtui.agents.usage import usage_report
from gshtui.bus.usage_data import By
from gshtui.commands.declaration import Command, CommandError, Invocation, Outcome, Parameters
from gshtui.commands.registry import AnyCommand
from gshtui.commands.timespec import FORMS, parse_time
from gshtui.store.store import Store
from gshtui.store.store_errors import StoreError
from gshtui.text.verbatim import fenced


class UsageParameters(Parameters):
    """What to sum up."""

    by: By = Field(default="day", description="What each line stands for")
    since: str = Field(default="", description=f"Only since then: {FORMS}")
    agent: str = Field(default="", description="Only this agent")
    model: str = Field(default="", description="Only this model")
    session: str = Field(default="", description="Only this conversation and the agents started from it")


def commands(store: Store) -> list[AnyCommand]:
    """The command, on this store."""

    async def run(invocation: Invocation, parameters: UsageParameters) -> Outcome:
        after = parse_time(parameters.since, time.time())
        try:
            sessions: list[str] = []
            if parameters.session:
                wanted = invocation.session if parameters.session == "this" else parameters.session
                sessions = await store.usage.tree((await store.sessions.find(wanted)).id)
            found = await store.usage.sums(
                parameters.by, after=after, agent=parameters.agent, model=parameters.model, sessions=sessions
            )
        except StoreError as error:
            raise CommandError(error.message, hint=error.hint, data={"kind": error.kind}) from error
        data: dict[str, Any] = {
            "by": parameters.by,
            "rows": [usage_report.plain(one) for one in found],
            "total": usage_report.plain(usage_report.total(found)),
        }
        text = usage_report.table(found, parameters.by)
        return Outcome(data, text if invocation.caller.is_agent else fenced(text))

    return [
        Command(
            "usage",
            "Tokens, money and time that model requests used",
            UsageParameters,
            run,
            positions=("by",),
            aliases=("cost",),
            description="Show what requests used: tokens as providers count them, the estimate's error, cost, time.",
            family="usage",
            tool=True,
        )
    ]
