"""Where to cut: which old outputs to prune, where a compaction goes, and which files were touched before it.

Chooses cuts but does not make them; never splits a call from its result. Pure, and cheap for a history of any length.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

import msgspec

from gshtui.bus.context_data import Block
from gshtui.bus.messages import Text, ToolCall, ToolResult
from gshtui.commands.known_tools import DOES
from gshtui.context.log.blocks import MESSAGE_TOKENS, path_of, size_of, text_tokens
from gshtui.context.log.conversation_log import ConversationLog, LogEntry
from gshtui.context.log.history import HistorySection, placeholder
from gshtui.context.log.overlays import ContextPlan

SMALL = 100
"""Tokens below which an output is never pruned."""


def step_of(protect: int) -> int:
    """Tokens that must have become prunable before anything is pruned."""
    return max(SMALL, protect // 4)


class PrunableOutputs:
    """The tool outputs of a rendered history, with running sums. Follows it as it grows."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._sums = [0]
        """Tokens of the outputs before each one."""
        self._gains = [0]
        """Tokens that pruning all before each one would free."""
        self._at: list[int] = []
        """Place of each among the history's blocks."""

    def follow(self, blocks: Sequence[Block], fresh: int, plan: ContextPlan) -> None:
        """Take over the history's blocks; those before `fresh` are unchanged."""
        keep = bisect_left(self._at, fresh)
        del self._blocks[keep:], self._at[keep:], self._sums[keep + 1 :], self._gains[keep + 1 :]
        for place in range(fresh, len(blocks)):
            block = blocks[place]
            if block.kind != "tool_result":
                continue
            self._blocks.append(block)
            self._at.append(place)
            self._sums.append(self._sums[-1] + _size(block))
            self._gains.append(self._gains[-1] + _gain(block, plan))

    def prunable(self, protect: int) -> int:
        """Tokens that pruning would free now."""
        return self._gains[self._boundary(protect)]

    def choose(self, protect: int, plan: ContextPlan, *, spared: bool = False) -> dict[str, int]:
        """The blocks to prune, with their current tokens. `spared`: with those whose cuts were undone."""
        end = self._boundary(protect)
        return {b.id: _size(b) for b in self._blocks[:end] if _gain(b, plan, spared=spared) > 0}

    def _boundary(self, protect: int) -> int:
        """How many outputs are too old to be protected. The newest always is, however long."""
        return max(0, min(len(self._blocks) - 1, bisect_left(self._sums, self._sums[-1] - protect)))


def _size(block: Block) -> int:
    """Tokens of the output itself: those of its message are in the first block of it."""
    return block.tokens - (MESSAGE_TOKENS if block.id.endswith("/0") else 0)


def _gain(block: Block, plan: ContextPlan, *, spared: bool = False) -> int:
    if _size(block) < SMALL or (block.id in plan.pruned and block.id not in plan.restored):
        return 0
    if block.id in plan.pinned or block.id in plan.restored or (block.id in plan.spared and not spared):
        return 0
    return max(0, _size(block) - text_tokens(placeholder(_size(block))))


_WORDS_LEAST = 400
"""Fewest bytes to which the first words that exceed the budget are shortened."""


class CutSpan(msgspec.Struct, frozen=True):
    """The entries that a cut covers: from `start` to before `end`."""

    start: int
    end: int

    def upto(self, log: ConversationLog) -> str:
        """Id of the last message of the log that it covers."""
        return log.entries[self.end - 1].message.id


def start_of(log: ConversationLog, plan: ContextPlan) -> int:
    """The first entry that is currently sent unchanged."""
    place = log.place(plan.base.upto) if plan.base is not None else None
    if place is None:
        return 0
    place += 1
    if place < len(log.entries) and log.entries[place].message.role == "tool":
        place += 1
    return place


def span(log: ConversationLog, plan: ContextPlan, recent: int) -> CutSpan:
    """The span to cut: everything except the newest messages of `recent` tokens and the unanswered prompt."""
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
    return CutSpan(start, end)


def last_messages(log: ConversationLog, plan: ContextPlan, count: int) -> CutSpan:
    """The span to cut so that `count` messages stay; results go with their answer."""
    start, end = start_of(log, plan), max(0, len(log.entries) - count)
    while start < end < len(log.entries) and log.entries[end].message.role == "tool":
        end -= 1
    return CutSpan(start, max(start, end))


def words(log: ConversationLog, plan: ContextPlan, end: int, budget: int) -> dict[str, int]:
    """People's words before the entry `end` that are carried: block → bytes to keep of it, 0 for all.

    The newest come first; the first that does not fit is shortened, and older ones are left to the summary. `budget`:
    tokens for all of them.
    """
    left = budget * 4
    found: dict[str, int] = {}
    for entry in reversed(log.entries[:end]):
        if entry.message.role != "user":
            continue
        for part, block in zip(reversed(entry.message.blocks), reversed(entry.blocks), strict=True):
            if not isinstance(part, Text) or part.named or not part.text.strip() or block.id in plan.pinned:
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


def oldest_pairs(history: HistorySection, plan: ContextPlan, tokens: int) -> tuple[str, ...]:
    """Answers whose calls and results to drop, the oldest first, until `tokens` are freed; the newest one stays."""
    sizes: dict[str, int] = {}
    fast: set[str] = set()
    for block in history.blocks:
        if block.kind in ("tool_call", "tool_result") and block.message:
            answer = block.message.removesuffix("-results")
            sizes[answer] = sizes.get(answer, 0) + block.tokens
            if block.pinned or block.id in plan.restored:
                fast.add(answer)
    candidates = [a for a in list(sizes)[:-1] if a not in fast and a not in plan.dropped]
    chosen: list[str] = []
    for answer in candidates:
        if tokens <= 0:
            break
        chosen.append(answer)
        tokens -= sizes[answer]
    return tuple(chosen)


def covered(log: ConversationLog, cut: CutSpan) -> Sequence[LogEntry]:
    return log.entries[cut.start : cut.end]


def pinned_tokens(log: ConversationLog, plan: ContextPlan) -> int:
    """Tokens of all pinned blocks as the log has them."""
    return sum(found[0].blocks[found[1]].tokens for id in plan.pinned if (found := log.block(id)) is not None)


def largest(blocks: Sequence[Block]) -> str:
    """The three largest blocks, for a sentence: `bash npm test (7,500), …`."""
    top = sorted(blocks, key=lambda block: -block.tokens)[:3]
    return ", ".join(f"{block.source} ({block.tokens:,})" for block in top)


_VERBS = {"read": "read", "write": "written", "edit": "edited", "remove": "removed"}
"""What a tool does → what was done to the file."""
_CHANGES = ("written", "edited", "removed")
MOST = 200
"""Files that are listed; those that were only read go first when there are more."""


def touched_files(entries: Iterable[LogEntry]) -> tuple[str, ...]:
    """A line for each file named in a successful call, with what was done to it; the newest last."""
    done: dict[str, dict[str, None]] = {}
    calls: dict[str, ToolCall] = {}
    for entry in entries:
        for part in entry.message.blocks:
            if isinstance(part, ToolCall):
                calls[part.id] = part
            elif isinstance(part, ToolResult) and part.status == "ok" and (call := calls.get(part.call_id)) is not None:
                _note(done, call)
    while len(done) > MOST:
        done.pop(next((path for path, how in done.items() if not any(v in how for v in _CHANGES)), next(iter(done))))
    return tuple(f"{path} ({', '.join(how)})" for path, how in done.items())


def _note(done: dict[str, dict[str, None]], call: ToolCall) -> None:
    verb = _VERBS.get(DOES.get(call.name, ""))
    path = path_of(call)
    if verb is None or not path:
        return
    how = done.pop(path, {})
    how[verb] = None
    done[path] = how
