"""The cache ledger: how much of each request was in the provider's prompt cache, and which block broke the prefix.

Knows how prefixes match and how long they last; guesses only if the provider does not report.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

import msgspec

from gshtui.bus.context_data import Block, CacheState, Iteration
from gshtui.bus.messages import Usage
from gshtui.context.assembly.assembly import RequestInputs
from gshtui.context.log.ports import ContextStore

FORGOTTEN_AFTER = 300.0
"""Seconds after which a provider may have dropped an unused cache entry."""
_SHORTEST = 1_024
"""Tokens below which no provider keeps a prefix."""
_SYSTEM_FIRST = frozenset({"gemini"})
Verdict = Literal["", "first", "hit", "part", "miss"]
"""`hit`: everything that the previous request shares with this one was read from the cache. Empty: unknown."""


class CacheEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One request in the ledger. Tokens are the provider's."""

    iteration: str
    verdict: Verdict
    read: int = 0
    written: int = 0
    fresh: int = 0
    """Neither read nor written."""
    broken_by: str = ""
    """Id of the block that broke the prefix."""
    why: str = ""
    """The reason in one sentence, if it was not a hit."""

    @property
    def share(self) -> float:
        """The fraction of the input that was read from the cache, from 0 to 1."""
        whole = self.read + self.written + self.fresh
        return self.read / whole if whole else 0.0


def as_read(blocks: Sequence[Block], provider: str) -> list[Block]:
    """The blocks in the order in which the provider's cache compares them: tools before or after the system."""
    head = ("system", "tools") if provider in _SYSTEM_FIRST else ("tools", "system")
    fixed = [block for name in head for block in blocks if block.section == name]
    return fixed + [block for block in blocks if block.section not in head]


def broken_by(before: Sequence[Block], after: Sequence[Block], provider: str = "") -> str:
    """Id of the first block of `after` that differs from `before` at its place; empty if `after` only continues it.

    If `after` just ends earlier, nothing is broken: `before` had all of it.
    """
    if after[: len(before)] == before:
        return ""
    for old, new in zip(as_read(before, provider), as_read(after, provider), strict=False):
        if old is not new and _sent(old) != _sent(new):
            return new.id
    return ""


def in_common(before: Sequence[Block], after: Sequence[Block], provider: str = "") -> int:
    """The number of common first blocks, in the provider's order."""
    count = 0
    for old, new in zip(as_read(before, provider), as_read(after, provider), strict=False):
        if old is not new and _sent(old) != _sent(new):
            break
        count += 1
    return count


def marked(blocks: Sequence[Block], usage: Usage | None, provider: str = "") -> tuple[Block, ...]:
    """The blocks with their cache state by the provider's count; unknown where it did not count.

    A block at a border gets the state of its larger part. Providers that never count a cache leave it open.
    """
    if usage is None or not (usage.cache_read or usage.cache_write):
        return tuple(blocks)
    sent = usage.input + usage.cache_read + usage.cache_write
    estimated = sum(block.tokens for block in blocks)
    scale = sent / estimated if estimated else 1.0
    states: dict[int, CacheState] = {}
    at = 0.0
    for block in as_read(blocks, provider):
        middle = at + block.tokens * scale / 2
        at += block.tokens * scale
        if middle <= usage.cache_read:
            states[id(block)] = "read"
        elif middle <= usage.cache_read + usage.cache_write:
            states[id(block)] = "written"
        else:
            states[id(block)] = "fresh"
    return tuple(msgspec.structs.replace(block, cache=states[id(block)]) for block in blocks)


def foreseen(last: Sequence[Block], following: Sequence[Block], provider: str = "") -> tuple[Block, ...]:
    """The next request's blocks, marked by what the previous one left in the cache.

    Args:
        last: the previous request, as returned by `marked`.
        following: the next request.
    """
    if not any(block.cache for block in last):
        return tuple(following)
    kept = as_read(last, provider)
    count = in_common(last, following, provider)
    held = 0
    while held < count and kept[held].cache in ("read", "written"):
        held += 1
    known = {id(block) for block in as_read(following, provider)[:held]}
    return tuple(msgspec.structs.replace(b, cache="read" if id(b) in known else "fresh") for b in following)


def ledger(marks: Sequence[Iteration]) -> list[CacheEntry]:
    """The ledger of an agent's requests, oldest first as they come."""
    entries: list[CacheEntry] = []
    before: Iteration | None = None
    for mark in marks:
        entries.append(cache_entry(before, mark))
        if mark.usage is not None:
            before = mark
    return entries


def cache_entry(before: Iteration | None, mark: Iteration) -> CacheEntry:
    """One request's entry. `before`: the last one that was answered."""
    usage = mark.usage
    if usage is None:
        return CacheEntry(mark.id, "", broken_by=mark.broken_by)
    verdict, why = _verdict(before, mark, usage)
    return CacheEntry(mark.id, verdict, usage.cache_read, usage.cache_write, usage.input, mark.broken_by, why)


def _verdict(before: Iteration | None, mark: Iteration, usage: Usage) -> tuple[Verdict, str]:
    if before is None or before.usage is None:
        return ("hit" if usage.cache_read else "first"), ""
    if (before.provider, before.model) != (mark.provider, mark.model):
        return ("part" if usage.cache_read else "miss"), f"The previous model was {before.model}."
    held = before.usage.cache_read + before.usage.cache_write
    if not (held or usage.cache_read or usage.cache_write):
        return "", ""
    if mark.broken_by:
        return ("part" if usage.cache_read else "miss"), f"{mark.broken_by} changed."
    if usage.cache_read and usage.cache_read >= 0.9 * held:
        return "hit", ""
    sent = usage.input + usage.cache_read + usage.cache_write
    if sent < _SHORTEST:
        return "miss", f"Providers do not cache fewer than {_SHORTEST:,} tokens."
    pause = mark.at - before.at
    if pause > FORGOTTEN_AFTER:
        return ("part" if usage.cache_read else "miss"), f"{pause / 60:.0f} minutes had passed."
    return (
        "part" if usage.cache_read else "miss"
    ), "The beginning was the same, but the provider did not use its cache."


def _sent(block: Block) -> tuple[str, str, str]:
    """The part of a block that the provider sees: its section and its fate do not matter."""
    return block.hash, block.kind, block.role


_BACK = 5
"""How many requests are examined, since the newest ones may have failed."""


async def is_cache_warm(
    context_store: ContextStore, terms: RequestInputs, blocks: tuple[Block, ...]
) -> tuple[Block, ...]:
    """The next request's blocks with their expected cache state."""
    marks = await context_store.iterations(terms.session, agent=terms.agent, limit=_BACK)
    last = next((mark for mark in reversed(marks) if mark.usage is not None), None)
    if last is None or (last.provider, last.model) != (terms.provider.name, terms.model):
        return blocks
    if time.time() - last.at > FORGOTTEN_AFTER:
        return blocks
    sent = await context_store.blocks(last.id)
    return foreseen(marked(sent, last.usage, last.provider), blocks, last.provider)
