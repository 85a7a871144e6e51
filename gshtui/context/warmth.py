"""What a provider's cache holds for the next request of an agent, by the record of its last one.

Owns the choice of the request that counts; refuses to say anything after another model's, or when too much time has
passed. Raises `StoreError`. Called by `Contexts`.
"""

from __future__ import annotations

import time

from gshtui.bus.context import Block
from gshtui.context.cache import FORGOTTEN_AFTER, foreseen, marked
from gshtui.context.ports import Shelf
from gshtui.context.terms import Terms

_BACK = 5
"""Requests that are looked at: the newest ones may have failed."""


async def warm(shelf: Shelf, terms: Terms, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """The blocks of the next request with their cache state as it is to be expected."""
    marks = await shelf.iterations(terms.session, agent=terms.agent, limit=_BACK)
    last = next((mark for mark in reversed(marks) if mark.usage is not None), None)
    if last is None or (last.provider, last.model) != (terms.provider.name, terms.model):
        return blocks
    if time.time() - last.at > FORGOTTEN_AFTER:
        return blocks
    sent = await shelf.blocks(last.id)
    return foreseen(marked(sent, last.usage, last.provider), blocks, last.provider)
