"""The results of `context timeline whatif carry`, rendered for people and as plain data for scripts.

Pure. Called by the view commands.
"""

from __future__ import annotations

import msgspec

from gshtui.bus.context_data import Receipt
from gshtui.commands.declaration import Invocation, Outcome, short_json
from gshtui.context.assembly.prompt_cache import ledger
from gshtui.context.commands import answers, tables
from gshtui.context.commands import view_calls as calls
from gshtui.context.views import ContextView, Forecast, RequestText

AGENTS_ITEMS = 40
"""Items of a receipt shown to an agent."""


def context_outcome(_invocation: Invocation, found: calls.ContextReport) -> Outcome:
    """A view: the whole, one section, or the request in its provider's form."""
    number, section, limit, request = found.number, found.section, found.limit, found.request
    data = answers.view(found.view, number=number, section=section, limit=limit, texts=found.texts, request=request)
    if found.as_json:
        return Outcome(data, short_json(data))
    if request is not None:
        note = f"\n\n{request.note}" if request.note else ""
        return Outcome(data, tables.fenced(request.text, "json") + note)
    view = msgspec.structs.replace(found.view, agent=found.name)
    if section:
        shown = (view, section, limit, number)
        return Outcome(data, tables.section(*shown), aloud=tables.section(*shown, aloud=True))
    if found.forecast is not None:
        data["forecast"] = answers.forecast(found.forecast)
    whole = (view, found.forecast, number)
    return Outcome(data, tables.overview(*whole), aloud=tables.overview(*whole, aloud=True))


def block_outcome(_invocation: Invocation, found: calls.BlockText) -> Outcome:
    data = answers.block(found.block, found.number, {found.block.hash: found.text})
    return Outcome(data, tables.whole_block(found.block, found.text, found.number))


def difference_outcome(_invocation: Invocation, found: calls.ContextDifference) -> Outcome:
    """The differences between two requests."""
    first, second, before, after = found.first, found.second, found.before, found.after
    data = {
        "from": {"agent": before.agent, "iteration": first.number or None, "tokens": before.tokens},
        "to": {"agent": after.agent, "iteration": second.number or None, "tokens": after.tokens},
        "differences": answers.difference(found.differences, found.texts),
    }
    if found.as_json:
        return Outcome(data, short_json(data))
    shown = found.differences[-found.limit :] if found.limit else found.differences
    return Outcome(data, tables.difference(shown, (str(first), str(second))))


def view_outcome(_invocation: Invocation, view: ContextView) -> Outcome:
    """One request for code; its overview for people."""
    return Outcome(answers.view(view), tables.overview(view))


def request_outcome(_invocation: Invocation, request: RequestText) -> Outcome:
    """A request in its provider's form."""
    return Outcome(answers.parsed(request.text), tables.fenced(request.text, "json"))


def text_outcome(_invocation: Invocation, text: str) -> Outcome:
    return Outcome(text, tables.fenced(text))


def timeline_outcome(invocation: Invocation, found: calls.Timeline) -> Outcome:
    """Requests, cuts and the forecast; an agent gets only the newest requests."""
    iterations, receipts = found.iterations, found.receipts
    numbered = list(enumerate(iterations, 1))
    if invocation.caller.is_agent:
        numbered = numbered[-found.limit :]
    cached = {entry.iteration: {"cache": answers.cache(entry)} for entry in ledger(iterations)}
    data = {
        "agent": found.agent,
        "requests": len(iterations),
        "iterations": [answers.iteration(one, number) | cached[one.id] for number, one in numbered],
        "cuts": [answers.receipt(receipt) | {"items": len(receipt.items)} for receipt in receipts],
        "forecast": answers.forecast(found.forecast),
    }
    shown = (found.name, iterations, receipts, found.forecast, found.limit)
    return Outcome(data, tables.timeline(*shown), aloud=tables.timeline(*shown, aloud=True))


def receipt_outcome(invocation: Invocation, receipt: Receipt) -> Outcome:
    """One cut, item by item."""
    data = answers.brief(receipt, AGENTS_ITEMS) if invocation.caller.is_agent else answers.receipt(receipt)
    return Outcome(data, tables.receipt(receipt))


def iterations_outcome(_invocation: Invocation, found: calls.IterationList) -> Outcome:
    """The requests, for code; people have no list of them."""
    return Outcome([answers.iteration(one, number) for number, one in enumerate(found.iterations, 1)])


def receipts_outcome(_invocation: Invocation, found: calls.ReceiptList) -> Outcome:
    """The cuts, as a table for people."""
    return Outcome([answers.receipt(one) for one in found.receipts], tables.cuts_table(found.receipts))


def forecast_outcome(_invocation: Invocation, found: Forecast) -> Outcome:
    """When the next compaction comes."""
    return Outcome(answers.forecast(found), f"{tables.due(found, found.trigger)}.")


def what_if_outcome(_invocation: Invocation, found: calls.WhatIfReport) -> Outcome:
    """The next request under other circumstances."""
    now = {"model": found.now.model, "tokens": found.now.expected or found.now.tokens}
    data = {"agent": found.agent, "now": now} | answers.what_if(found.then)
    return Outcome(data, tables.what_if(found.now, found.then, found.model))


def carry_outcome(_invocation: Invocation, found: calls.CarryCosts) -> Outcome:
    """The things that are sent again and again, most expensive first."""
    return Outcome([answers.carry(one) for one in found.costs], tables.carry(found.costs, found.limit))
