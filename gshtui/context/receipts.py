"""Receipts: what a cut does to each block, told from the blocks before and after it. Pure.

Owns the comparison and the reasons; refuses to trust the cut's own word. Called by the engine and for previews.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gshtui.bus.context import Block, CutKind, Fate, Item, Receipt
from gshtui.context.prune import SMALL
from gshtui.providers.port import Capabilities


def items(before: Sequence[Block], after: Sequence[Block], kind: CutKind) -> tuple[Item, ...]:
    """Each block of history and input before the cut, with its lot."""
    now = {block.id: block for block in after}
    return tuple(_item(b, now.get(b.id), kind) for b in before if b.section in ("history", "input"))


def _item(block: Block, now: Block | None, kind: CutKind) -> Item:
    fate, why = _fate(block, now, kind)
    after = now.tokens if now is not None else 0
    return Item(block.id, block.source, fate, block.tokens, after, block.hash, why)


def _fate(block: Block, now: Block | None, kind: CutKind) -> tuple[Fate, str]:
    if now is None:
        return ("summarised", "") if kind == "compact" else ("dropped", "")
    if now.hash == block.hash and now.kind == block.kind:
        if now.pinned:
            return "kept", "pinned"
        return "kept", "small" if block.kind == "tool_result" and block.tokens < SMALL else "recent"
    last = now.changes[-1].kind if now.changes else ""
    match last:
        case "pruned":
            return "dropped", "old output; its call stays"
        case "shortened":
            return "shortened", "words over the budget"
        case "carried" | "restored":
            return "carried", "pinned" if now.pinned else "your words" if block.role == "user" else "restored"
        case _:
            return "shortened", ""


def priced(receipt: Receipt, model: Capabilities) -> Receipt:
    """The receipt with what sending the request once costs before and after, where the price is known."""

    def price(tokens: int) -> float | None:
        return None if model.price_input is None else tokens * model.price_input / 1_000_000

    return msgspec.structs.replace(
        receipt, request_before=price(receipt.tokens_before), request_after=price(receipt.tokens_after)
    )
