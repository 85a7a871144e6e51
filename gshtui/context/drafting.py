"""The summary of a compaction before it counts: who can write it, what they are shown of the request, what it cost.

Owns the ways in which there is none; refuses to decide what becomes of it then. Called by the cutter.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gshtui.bus.bus import Bus
from gshtui.bus.events.agent import AgentStatusChanged
from gshtui.bus.messages import Usage
from gshtui.context.limits import INSTRUCTION_TOKENS
from gshtui.context.log import Log
from gshtui.context.order import Order
from gshtui.context.summarise import NoSummary, Wish, summarise, without_oldest
from gshtui.context.terms import Terms
from gshtui.providers.port import Request


@dataclass(frozen=True, slots=True)
class Drafted:
    """A summary, or none: then the steps say why."""

    summary: str = ""
    usage: Usage = field(default_factory=Usage)
    steps: tuple[str, ...] = ()


async def draft(bus: Bus, terms: Terms, order: Order, request: Request, tokens: int, replaced: int) -> Drafted:
    """Have the agent's own model write it.

    Args:
        bus: is told that a turn waits for it.
        terms: of the request that the summary makes room for.
        order: who wants it.
        request: what is to be summarised, as the model knows it.
        tokens: of it, as the provider would count them.
        replaced: tokens of what the summary stands for.
    """
    if order.dry:
        return Drafted("(the summary that the model will write)" + " ·" * min(terms.limits.summary, replaced // 4))
    if terms.provider.name == "offline":
        return Drafted(steps=("There is no model to write a summary.",))
    steps: tuple[str, ...] = ()
    over = tokens - (terms.limits.window - terms.limits.summary - INSTRUCTION_TOKENS)
    if over > 0:
        steps = ("The oldest part was left out of the request for the summary, to make room for it.",)
        if (shorter := without_oldest(request, over)) is None:
            return Drafted(steps=("There was no room left to ask for a summary.",))
        request = shorter
    if order.automatic:  # within a turn, where it is a wait that needs a word
        bus.publish(AgentStatusChanged(agent=terms.agent, status="thinking", doing="summarising the conversation"))
    who = "the person" if order.by == "person" else order.by
    wish = Wish(replaced, terms.limits.summary, order.focus, who, terms.settings.summary_seconds)
    try:
        made = await summarise(terms.provider, request, wish)
    except NoSummary as none:
        return Drafted("", none.usage, (*steps, *none.steps))
    return Drafted(made.text, made.usage, (*steps, *made.steps))


def finished(request: Request, log: Log) -> Request:
    """The request without the answer whose calls still run: a command of such an answer may have asked for this."""
    running = {entry.message.id for entry in log.entries[log.unfinished :]}
    return replace(request, messages=tuple(m for m in request.messages if m.id not in running))
