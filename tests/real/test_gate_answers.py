"""The gate takes answers to its own questions, while they wait, and only those that were offered."""

from __future__ import annotations

import asyncio
from typing import Any

from gshtui.bus.bus import Bus
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ApprovalSettled
from gshtui.bus.events.hub_events import Noticed
from gshtui.commands.declaration import Assessment, Effect
from gshtui.guard.approval import Call, Gate, NoGrants
from tests.kit.native import Heard


async def test_nothing_unknown_becomes_a_yes() -> None:
    bus = Bus()
    heard = Heard(bus)
    gate = Gate(bus, NoGrants(), mode="ask", auto_approve=frozenset())

    def ask(number: int) -> asyncio.Task[Any]:
        call = Call("main", "s", f"c{number}", "bash", {})
        return asyncio.ensure_future(gate.review(call, Assessment(Effect.EXECUTE, f"touch {number}")))

    first, second = ask(1), ask(2)
    one = await heard.first(ApprovalRequested)
    other = await heard.first(ApprovalRequested, number=2)
    bus.publish(ApprovalAnswered(approval="unknown", decision="once"))
    bus.publish(ApprovalAnswered(approval="", decision="once"))
    for strange in ("always", "Once", "yes", "", "reason", None):
        answer: Any = strange  # as a program that speaks for a person could say it
        bus.publish(ApprovalAnswered(approval=one.approval, decision=answer))
    await heard.first(Noticed, number=6, level="warning")
    assert not first.done() and not second.done() and heard.of(ApprovalSettled) == []
    bus.publish(ApprovalAnswered(approval=one.approval, decision="deny"))
    bus.publish(ApprovalAnswered(approval=one.approval, decision="once"))
    assert not (await first).allowed and not second.done()
    bus.publish(ApprovalAnswered(approval=one.approval, decision="once"))
    bus.publish(ApprovalAnswered(approval=other.approval, decision="once"))
    assert (await second).allowed
    settled = [(event.approval, event.decision) for event in heard.of(ApprovalSettled)]
    assert settled == [(one.approval, "deny"), (other.approval, "once")]
    await gate.close()
    await bus.close(timeout=2)
