"""Whether a text that goes along with a prompt is news to the model, and how much of it is told. Pure.

Owns the rule: never told, told otherwise, or told where it is no longer sent. Called by the engine once a turn.
"""

from __future__ import annotations

from dataclasses import replace

from gshtui.context.log import Log
from gshtui.context.plan import Plan
from gshtui.context.ports import Along
from gshtui.text.shorten import shorten


def fitted(along: Along, limit: int) -> Along:
    """The text, shortened to a number of bytes where a small window has no room for all of it."""
    text = shorten(along.text, limit)
    return along if text == along.text else replace(along, text=text)


def is_news(along: Along, plan: Plan, log: Log) -> bool:
    """Whether to tell it with the newest prompt."""
    newest = next((t for told in reversed(plan.told.values()) for t in told if t.source == along.source), None)
    if newest is None or along.once:
        return newest is None
    base = log.place(plan.base.upto) if plan.base is not None else None
    place = log.place(newest.message)
    return newest.text != along.text or (base is not None and place is not None and place <= base)
