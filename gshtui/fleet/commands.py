"""The commands about agents in terminals: `spawn`, and `agent ls show attach send wait interrupt restart kill …`.

A person may do all of it; an agent may look, wait, write to others and interrupt those that it started, after the guard
has asked. Registered by the hub.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

from gshtui.bus.agent_data import AT_WORK, AgentRow
from gshtui.commands.declaration import (
    Assessment,
    Command,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    UsageError,
    synonyms,
)
from gshtui.commands.registry import AnyCommand
from gshtui.fleet import agent_tables
from gshtui.fleet.agent_states import AgentState
from gshtui.fleet.agent_states import state_json as plain_entry
from gshtui.fleet.fleet import Fleet
from gshtui.fleet.ports import FleetError
from gshtui.fleet.spawn_command import command_error as _told
from gshtui.fleet.spawn_command import spawn_command
from gshtui.text import units
from gshtui.text.sanitise import one_line, visible

ACTIONS = (
    "ls", "show", "attach", "send", "wait", "interrupt", "restart", "rename", "kill", "undo", "recover", "remove",
    "unsaved", "seen",
)  # fmt: skip
SYNONYMS = {"list": "ls", "rm": "remove", "delete": "remove"}
_AGENTS_MAY = {
    "ls": Effect.READ,
    "show": Effect.READ,
    "wait": Effect.READ,
    "send": Effect.EXECUTE,
    "interrupt": Effect.WRITE,
}
"""What an agent may do with others, and how strong that is: words to a program can make it run anything."""
RESTS = ("idle", "waiting", "done", "failed", "lost")
"""The statuses that `wait` waits for when none is named."""
LocalAgents = Callable[[], list[AgentState]]


class AgentParameters(Parameters):
    """Parameters of `agent`."""

    action: Annotated[str, synonyms(SYNONYMS)] = Field(
        "ls",
        description="ls, show, attach, send, wait, interrupt, restart, rename, kill, undo, recover, remove, unsaved, "
        "seen (marks it as read).",
    )
    target: str = Field("", description="Number or name of the agent; `all` for recover.")
    text: str = Field("", description="The words to send, or the new name.")
    status: str = Field("", description="wait: for this status, or several with commas; empty: until it rests or ends.")
    timeout: float = Field(600.0, description="wait: seconds at most.", ge=0, le=1e6)
    all: bool = Field(False, description="ls: agents of every folder.")
    now: bool = Field(False, description="send: also while it is busy. kill: for good, at once.")
    yes: bool = Field(False, description="kill: also when something is unsaved.")


def commands(fleet: Fleet, local: LocalAgents = list) -> list[AnyCommand]:
    """The family. `local`: the agents of this hub that live in no terminal."""
    family = _Family(fleet, local)
    return [
        spawn_command(fleet),
        Command(
            "agent",
            "Agents in terminals: list, show, attach, send, wait, interrupt, restart, rename, kill, recover",
            AgentParameters,
            family.agent,
            effect=Effect.EXECUTE,
            positions=("action", "target", "text"),
            family="agents",
            assess=family.assess,
            complete=family.complete,
        ),
    ]


class _Family:
    """The handlers."""

    def __init__(self, fleet: Fleet, local: LocalAgents) -> None:
        self._fleet = fleet
        self._local = local
        self._handlers: dict[str, Callable[[Invocation, AgentParameters], Any]] = {
            "ls": self._ls, "show": self._show, "attach": self._attach, "send": self._send, "wait": self._wait,
            "interrupt": self._interrupt, "restart": self._restart, "rename": self._rename, "kill": self._kill,
            "undo": self._undo, "recover": self._recover, "remove": self._remove,
            "unsaved": self._unsaved, "seen": self._seen,
        }  # fmt: skip

    async def agent(self, invocation: Invocation, parameters: AgentParameters) -> Outcome:
        handler = self._handlers.get(parameters.action)
        if handler is None:
            raise UsageError(f"`agent` cannot {parameters.action!r}.", hint=f"It can {', '.join(ACTIONS)}.")
        if invocation.caller.is_agent and parameters.action not in _AGENTS_MAY:
            raise UsageError(f"`agent {parameters.action}` is for people only.")
        if parameters.action != "ls" and not parameters.target:
            hint = f"`agent {parameters.action} 12`; `agent ls` lists them."
            raise UsageError(f"`agent {parameters.action}` needs an agent.", hint=hint)
        try:
            return await handler(invocation, parameters)
        except FleetError as error:
            raise _told(error) from error

    async def assess(self, invocation: Invocation, parameters: AgentParameters) -> Assessment:
        effect = _AGENTS_MAY.get(parameters.action, Effect.EXECUTE)
        subject = f"{parameters.action} {parameters.target} {one_line(parameters.text, 120)}".strip()
        return Assessment(effect, visible(subject), detail=visible(parameters.text))

    async def complete(self, _invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        if parameter == "action":
            return [action for action in ACTIONS if action.startswith(prefix)]
        if parameter == "target":
            rows = self._fleet.rows()
            return [word for row in rows for word in (row.name, row.id) if word.startswith(prefix)]
        if parameter == "status":
            return [status for status in ("starting", "thinking", "tool", *RESTS) if status.startswith(prefix)]
        return []

    async def _ls(self, _invocation: Invocation, parameters: AgentParameters) -> Outcome:
        await self._fleet.refresh()
        rows = agent_tables.family_order(self._fleet.rows(everywhere=parameters.all))
        known = {row.id for row in rows}
        here = [entry for entry in self._local() if entry.runtime == "local" and entry.agent not in known]
        data = [*map(plain_entry, here), *(agent_tables.row_json(row, self._attach_words(row)) for row in rows)]
        if not data:
            return Outcome([], "No agents are here. `spawn` starts one.")
        table = [agent_tables.TABLE_HEAD, *map(_local_line, here), *map(agent_tables.table_row, rows)]
        return Outcome(data, "\n".join(table))

    async def _show(self, _invocation: Invocation, parameters: AgentParameters) -> Outcome:
        row = await self._fleet.find(parameters.target)
        report = await self._fleet.show(row.id)
        self._fleet.seen(row.id)
        attach = self._attach_words(row)
        text = f"{agent_tables.row_details(row, attach)}\n\n{report or '(no report yet)'}"
        return Outcome(agent_tables.row_json(row, attach) | {"report": report}, text)

    async def _attach(self, _invocation: Invocation, parameters: AgentParameters) -> Outcome:
        row = await self._fleet.find(parameters.target)
        if not row.pane or row.status == "lost":
            hint = f"`agent recover {row.id}` brings it back."
            raise CommandError(f"{row.name} ({row.id}) has no terminal now.", hint=hint)
        words = self._fleet.attach_command(row)
        return Outcome(agent_tables.row_json(row, words) | {"argv": words}, f"`{shlex.join(words)}`")

    async def _send(self, invocation: Invocation, parameters: AgentParameters) -> Outcome:
        sender = invocation.caller.name if invocation.caller.is_agent else "person"
        row = await self._fleet.find(parameters.target)
        message = await self._fleet.send(row.id, parameters.text, source=sender, defer_if_busy=not parameters.now)
        late = not parameters.now and row.status in AT_WORK and await self._fleet.is_queued(message)
        waits = " It is at work, and gets it when it rests." if late else ""
        return Outcome({"agent": row.id, "message": message}, f"Sent to {row.name} ({row.id}).{waits}")

    async def _wait(self, _invocation: Invocation, parameters: AgentParameters) -> Outcome:
        wanted = [word.strip() for word in parameters.status.split(",") if word.strip()] or list(RESTS)
        known = {"starting", "thinking", "tool", *RESTS}
        if strange := set(wanted) - known:
            raise UsageError(f"There is no status {min(strange)!r}.", hint=f"There are {', '.join(sorted(known))}.")
        try:
            row = await self._fleet.wait(parameters.target, wanted, parameters.timeout)
        except TimeoutError:
            row = await self._fleet.find(parameters.target)
            text = f"{row.name} ({row.id}) is still {row.status} after {parameters.timeout:g} s."
            return Outcome(agent_tables.row_json(row), text, is_error=True, timed_out=True)
        missed = row.status not in wanted
        said = f"{row.name} ({row.id}) is {agent_tables.status_words(row)}."
        return Outcome(agent_tables.row_json(row) | {"report": row.report}, said, is_error=missed)

    async def _interrupt(self, invocation: Invocation, parameters: AgentParameters) -> Outcome:
        row = await self._fleet.find(parameters.target)
        if invocation.caller.is_agent and row.parent != invocation.caller.name:
            raise UsageError(f"{row.name} ({row.id}) was not started by you.", hint="Interrupt only your own agents.")
        await self._fleet.interrupt(row.id)
        return Outcome({"agent": row.id}, f"{row.name} ({row.id}) is asked to stop.")

    async def _restart(self, _invocation: Invocation, parameters: AgentParameters) -> Outcome:
        row = await self._fleet.restart(parameters.target)
        return Outcome(agent_tables.row_json(row, self._attach_words(row)), f"{row.name} ({row.id}) is started again.")

    async def _rename(self, _invocation: Invocation, parameters: AgentParameters) -> Outcome:
        if not parameters.text.strip():
            raise UsageError("There is no new name.", hint=f"`agent rename {parameters.target} NAME`.")
        row = await self._fleet.rename(parameters.target, parameters.text)
        return Outcome(agent_tables.row_json(row), f"{row.id} is called {row.name} now.")

    async def _unsaved(self, _invocation: Invocation, parameters: AgentParameters) -> Outcome:
        row = await self._fleet.find(parameters.target)
        unsaved = await self._fleet.unsaved(row.id)
        said = " ".join(unsaved) or "Nothing would be lost."
        return Outcome({"agent": row.id, "unsaved": unsaved}, f"{row.name} ({row.id}): {said}")

    async def _kill(self, _invocation: Invocation, parameters: AgentParameters) -> Outcome:
        row = await self._fleet.find(parameters.target)
        unsaved = await self._fleet.unsaved(row.id)
        if unsaved and not parameters.yes:
            raise CommandError(
                f"{row.name} ({row.id}) has something to lose. {' '.join(unsaved)}",
                hint=f"`agent kill {row.id} yes=true` ends it all the same.",
                data={"agent": row.id, "unsaved": unsaved},
            )
        row = await self._fleet.kill(row.id, now=parameters.now)
        undo = "" if row.ended else f" `agent undo {row.id}` brings it back within {self._fleet.grace:.0f} s."
        return Outcome(agent_tables.row_json(row), f"{row.name} ({row.id}) is killed.{undo}")

    async def _undo(self, _invocation: Invocation, parameters: AgentParameters) -> Outcome:
        row = await self._fleet.undo_kill(parameters.target)
        return Outcome(agent_tables.row_json(row), f"{row.name} ({row.id}) goes on.")

    async def _recover(self, _invocation: Invocation, parameters: AgentParameters) -> Outcome:
        if parameters.target != "all":
            rows, troubles = [await self._fleet.recover(parameters.target)], list[str]()
        else:
            rows, troubles = await self._fleet.recover_all()
        names = ", ".join(f"{row.name} ({row.id})" for row in rows) or "nobody"
        data = [agent_tables.row_json(row, self._attach_words(row)) for row in rows]
        text = "\n".join((f"Recovered: {names}.", *troubles))
        return Outcome(data, text, is_error=bool(troubles))

    async def _seen(self, _invocation: Invocation, parameters: AgentParameters) -> Outcome:
        row = await self._fleet.find(parameters.target)
        self._fleet.seen(row.id)
        return Outcome(agent_tables.row_json(row) | {"unread": 0}, f"{row.name} ({row.id}) is marked as read.")

    async def _remove(self, _invocation: Invocation, parameters: AgentParameters) -> Outcome:
        row = await self._fleet.find(parameters.target)
        await self._fleet.remove(row.id)
        return Outcome({"agent": row.id}, f"{row.name} ({row.id}) is off the roster; its conversation is kept.")

    def _attach_words(self, row: AgentRow) -> list[str]:
        return self._fleet.attach_command(row) if row.pane and row.status != "lost" else []


def _local_line(entry: AgentState) -> str:
    cost = units.cost(entry.cost)
    doing = f" · {one_line(entry.doing, 60)}" if entry.doing else ""
    age = plain_entry(entry)["status_age_s"]
    status = f"{entry.status}{doing} ({entry.status_source}, {age:g} s)"
    model = entry.label or entry.model
    return f"| {entry.agent} | {entry.agent} | local | {status} | {model} | {entry.context:,} | {cost} |"
