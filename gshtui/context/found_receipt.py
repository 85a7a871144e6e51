"""A receipt by its id alone: in which conversation it is, and what it says now.

Owns the search; refuses to need anything that this process looked at before, so that a command of its own finds what a
window shows. Raises `StoreError`. Called by `Looking`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from gshtui.bus.context import Receipt
from gshtui.bus.messages import Message
from gshtui.context.decisions import Decisions
from gshtui.context.ports import Shelf
from gshtui.context.receipts import receipts_of


async def found_receipt(shelf: Shelf, load: Callable[[str], Awaitable[Sequence[Message]]], id: str) -> Receipt | None:
    """The receipt of a cut, or of a truncation, whose id is that of its block; `None`: there is none.

    Args:
        load: the log of a conversation.
    """
    answer = id.rpartition("/")[0].removesuffix("-results")
    session = await shelf.home(answer or id)
    if not session:
        return None
    decisions = Decisions(shelf, session)
    await decisions.refresh()
    messages = await load(session) if answer else ()
    agent = next((message.agent for message in messages if message.id == answer), "")
    found = receipts_of(agent, session, messages, decisions.plan)
    receipt = next((receipt for receipt in found if receipt.id == id), None)
    return None if receipt is None else msgspec.structs.replace(receipt, session=session)
