"""The `queue` command, for people: the prompts that wait for an agent; sends those that are held, or drops them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec
from pydantic import Field

from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import PromptEditRequested, QueueReleaseRequested
from gshtui.commands.declaration import Access, Command, CommandError, Effect, Invocation, Outcome, Parameters
from gshtui.commands.registry import AnyCommand
from gshtui.store.record.store import Store
from gshtui.text.sanitise import literal, one_line

if TYPE_CHECKING:
    from gshtui.agents.sessions import SessionOf


class QueueParameters(Parameters):
    """What to do, and with whose prompts."""

    action: Literal["list", "send", "drop"] = Field(
        "list", description="`send`: send the prompts that are held, in their order; `drop`: discard what waits"
    )
    agent: str = Field("", description="Which agent; empty: the selected one.")


def _none_here(elsewhere: Sequence[tuple[str, int]]) -> list[str]:
    """What is said where none waits: in which conversations of the folder some do."""
    if not elsewhere:
        return ["No prompts wait."]
    each = (f"{number} in {session} (`gsh-tui --resume {session}` opens it)" for session, number in elsewhere)
    return [f"No prompts wait here, but {', '.join(each)}."]


def commands(bus: Bus, store: Store, session_of: SessionOf) -> list[AnyCommand]:

    async def queue(invocation: Invocation, parameters: QueueParameters) -> Outcome:
        agent = parameters.agent or invocation.addressed
        session = session_of(agent)
        if not session and parameters.agent:
            row = await store.agents.find(agent)
            agent, session = row.id, row.session
        waiting = await store.queue.find_all(session) if session else []
        elsewhere = [] if waiting else await store.queue.waiting_in(str(invocation.cwd))
        if parameters.action == "list":
            lines = [f"{n}. {one_line(literal(one.text), 120)}" for n, one in enumerate(waiting, 1)]
            text = "\n".join(lines)
            return Outcome(msgspec.to_builtins(waiting), text or "\n".join(_none_here(elsewhere)), plain=text)
        if not waiting:
            raise CommandError(" ".join(_none_here(elsewhere)))
        number = "1 prompt" if len(waiting) == 1 else f"{len(waiting)} prompts"
        if parameters.action == "send":
            bus.publish(QueueReleaseRequested(agent=agent))
            return Outcome({"sent": len(waiting)}, f"Sending {number}, in their order.")
        for one in waiting:
            bus.publish(PromptEditRequested(prompt=one.id, agent=agent))
        return Outcome({"dropped": len(waiting)}, f"Dropped {number}. `up` in the input brings back what you sent.")

    return [
        Command(
            "queue",
            "Prompts that wait: list, send or drop them",
            QueueParameters,
            queue,
            access=Access.HUMAN_ONLY,
            effect=Effect.WRITE,
            positions=("action", "agent"),
            description="What an earlier window left is held: it starts when you send it.",
            family="agents",
        )
    ]
