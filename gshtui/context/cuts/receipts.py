"""Receipts: a cut's effect on each block, derived from the blocks before and after it.

Determines each block's fate and the costs; also finds one receipt by its id. Writes nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from gshtui.bus.context_data import Block, CutKind, Fate, Item, Receipt
from gshtui.bus.messages import Message, ToolResult
from gshtui.context.cuts.cut_rules import SMALL
from gshtui.context.log.blocks import text_tokens
from gshtui.context.log.overlays import ContextPlan, OverlayLog
from gshtui.context.log.ports import ContextStore
from gshtui.providers.port import Capabilities, estimate


def items(before: Sequence[Block], after: Sequence[Block], kind: CutKind) -> tuple[Item, ...]:
    """Each block of history and input before the cut, with its fate."""
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
    """The receipt with the price of sending the request once before and after, if known."""

    def price(tokens: int) -> float | None:
        return None if model.price_input is None else tokens * model.price_input / 1_000_000

    return msgspec.structs.replace(
        receipt, request_before=price(receipt.tokens_before), request_after=price(receipt.tokens_after)
    )


def receipts_of(agent: str, session: str, messages: Sequence[Message], plan: ContextPlan) -> list[Receipt]:
    """Every cut of a conversation, oldest first: those that were decided, and the truncations that the log shows."""
    found: list[Receipt] = []
    for id, cut in plan.cuts.items():
        undone = plan.undone.get(id)
        found.append(
            msgspec.structs.replace(
                cut.receipt, summary=plan.summary(id), undone=undone is not None, undone_by=undone.by if undone else ""
            )
        )
    for message in messages:
        for number, part in enumerate(message.results):
            if part.output and part.bytes:
                found.append(_truncation(agent, session, message, number, part))
    return sorted(found, key=lambda receipt: receipt.at)


def _truncation(agent: str, session: str, message: Message, number: int, part: ToolResult) -> Receipt:
    before, after = estimate(part.bytes), text_tokens(part.content)
    block = _block_id(message, number)
    item = Item(block, part.name, "shortened", before, after, why="longer than max_tool_output_bytes")
    return Receipt(
        kind="truncate",
        agent=agent,
        session=session,
        id=block,
        at=message.at,
        by="capture",
        turn=message.turn,
        why=f"{part.name} printed {part.bytes:,} bytes.",
        tokens_before=before,
        tokens_after=after,
        items=(item,),
    )


def _block_id(message: Message, number: int) -> str:
    return f"{_answer_of(message)}-results/{number}"


def _answer_of(message: Message) -> str:
    return message.id.removesuffix("-closed").removesuffix("-results")


def _block_of_call(messages: Sequence[Message], answer: str, call: str) -> str:
    """The block with the result of an answer's call; empty: it has none."""
    found = (
        _block_id(message, number)
        for message in messages
        if _answer_of(message) == answer
        for number, part in enumerate(message.results)
        if part.call_id == call
    )
    return next(found, "")


async def found_receipt(
    context_store: ContextStore, load: Callable[[str], Awaitable[Sequence[Message]]], id: str
) -> Receipt | None:
    """The receipt of a cut, or of a truncation (its id is its block's, or answer/call); `None`: there is none. `load`:
    the log of a conversation.
    """
    answer = id.rpartition("/")[0].removesuffix("-results")
    session = await context_store.home(answer or id)
    if not session:
        return None
    decisions = OverlayLog(context_store, session)
    await decisions.refresh()
    messages = await load(session) if answer else ()
    agent = next((message.agent for message in messages if message.id == answer), "")
    found = receipts_of(agent, session, messages, decisions.plan)
    block = _block_of_call(messages, answer, id.rpartition("/")[2])
    receipt = next((receipt for receipt in found if receipt.id in (id, block)), None)
    return None if receipt is None else msgspec.structs.replace(receipt, session=session)
