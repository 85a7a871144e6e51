"""Compaction and clearing: where the cut lies, and what is carried past it. Pure.

Owns the choice of the cut's place, of people's words within their budget, and of the oldest pairs to drop. Refuses to
part a call from its result. Called by the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gshtui.bus.context import Block
from gshtui.bus.messages import Text
from gshtui.context.history import History
from gshtui.context.log import Entry, Log
from gshtui.context.plan import Plan
from gshtui.context.tokens import size_of

_WORDS_LEAST = 400
"""Bytes to which the words that just no longer fit the budget are shortened at the least."""


@dataclass(frozen=True, slots=True)
class Span:
    """The entries that a cut stands for: from `start` to before `end`."""

    start: int
    end: int

    def upto(self, log: Log) -> str:
        """Id of the last message of the log that it covers."""
        return log.entries[self.end - 1].message.id


def start_of(log: Log, plan: Plan) -> int:
    """The first entry that is sent as it is now."""
    place = log.place(plan.base.upto) if plan.base is not None else None
    if place is None:
        return 0
    place += 1
    if place < len(log.entries) and log.entries[place].message.role == "tool":
        place += 1
    return place


def span(log: Log, plan: Plan, recent: int) -> Span:
    """What to cut: everything but the newest messages of `recent` tokens, and the prompt that waits for its answer."""
    entries = log.entries
    start = start_of(log, plan)
    end = max(start, min(len(entries), log.unfinished))
    if end > start and entries[end - 1].message.role == "user":
        end -= 1
    left = recent
    while end > start:
        first = end - 1
        if entries[first].message.role == "tool" and first > start:
            first -= 1
        left -= sum(b.tokens for entry in entries[first:end] for b in entry.blocks)
        if left < 0:
            break
        end = first
    return Span(start, end)


def last_messages(log: Log, plan: Plan, count: int) -> Span:
    """What to cut so that `count` messages stay; results go with their answer."""
    start, end = start_of(log, plan), max(0, len(log.entries) - count)
    while start < end < len(log.entries) and log.entries[end].message.role == "tool":
        end -= 1
    return Span(start, max(start, end))


def words(log: Log, plan: Plan, end: int, budget: int) -> dict[str, int]:
    """People's words before the entry `end` that are carried: block → bytes to keep of it, 0 for all.

    The newest come first; what no longer fits whole is shortened, and what is older than that is left to the summary.

    Args:
        budget: tokens for all of them.
    """
    left = budget * 4
    found: dict[str, int] = {}
    for entry in reversed(log.entries[:end]):
        if entry.message.role != "user":
            continue
        for part, block in zip(reversed(entry.message.blocks), reversed(entry.blocks), strict=True):
            if not isinstance(part, Text) or not part.text.strip() or block.id in plan.pinned:
                continue
            size = size_of(part.text) + 60
            if size <= left:
                found[block.id] = 0
                left -= size
            else:
                if left >= _WORDS_LEAST:
                    found[block.id] = left
                return dict(reversed(found.items()))
    return dict(reversed(found.items()))


def oldest_pairs(history: History, plan: Plan, tokens: int, *, keep: int = 1) -> tuple[str, ...]:
    """Answers whose calls and results to drop, the oldest first, until `tokens` are freed.

    Args:
        keep: how many of the newest answers with calls stay in any case.
    """
    sizes: dict[str, int] = {}
    fast: set[str] = set()
    for block in history.blocks:
        if block.kind in ("tool_call", "tool_result") and block.message:
            answer = block.message.removesuffix("-results")
            sizes[answer] = sizes.get(answer, 0) + block.tokens
            if block.pinned or block.id in plan.restored:
                fast.add(answer)
    candidates = [a for a in list(sizes)[: max(0, len(sizes) - keep)] if a not in fast and a not in plan.dropped]
    chosen: list[str] = []
    for answer in candidates:
        if tokens <= 0:
            break
        chosen.append(answer)
        tokens -= sizes[answer]
    return tuple(chosen)


def covered(log: Log, cut: Span) -> Sequence[Entry]:
    """The entries of a span."""
    return log.entries[cut.start : cut.end]


def pinned_tokens(log: Log, plan: Plan) -> int:
    """Tokens of all pinned blocks as the log has them."""
    return sum(found[0].blocks[found[1]].tokens for id in plan.pinned if (found := log.block(id)) is not None)


def largest(blocks: Sequence[Block], count: int = 3) -> str:
    """The largest blocks, for a sentence: `bash npm test (7,500), …`."""
    top = sorted(blocks, key=lambda block: -block.tokens)[:count]
    return ", ".join(f"{block.source} ({block.tokens:,})" for block in top)
