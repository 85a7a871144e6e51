"""The history and the input as they are sent: the log under its plan. Pure, at the cost of what changed.

Owns the rendering of pruned, dropped, restored and carried blocks; refuses to decide what is cut. A growing log under
the same plan adds only its new messages; another plan renders the log again behind its base. Called by `assembly`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gshtui.bus.context import Block, Change
from gshtui.bus.messages import Block as Part
from gshtui.bus.messages import Message, Text, Thinking, ToolCall, ToolResult
from gshtui.context.blocks import hash_of, text_of
from gshtui.context.carried import Sent, carried
from gshtui.context.log import Entry, Log
from gshtui.context.offered import without_search, without_way_back
from gshtui.context.plan import Plan
from gshtui.context.tokens import MESSAGE_TOKENS, block_tokens

_NONE = 1 << 62
_SPOKEN = frozenset({"output", "search_context"})
"""Tools that texts of the history speak of."""


def placeholder(tokens: int) -> str:
    """What is sent in place of a pruned output."""
    return f"[output pruned, was ~{tokens} tokens]"


class History:
    """See the module's text. One for each conversation."""

    def __init__(self) -> None:
        self.log = Log()
        self.messages: list[Message] = []
        self.blocks: list[Block] = []
        self.parts: list[Part] = []
        """What each of `blocks` stands for."""
        self.tokens = 0
        self.input_tokens = 0
        self.fresh = 0
        """The first of `blocks` that was not there, or was another one, before the last `render`."""
        self.unfiled = 0
        """The first of `blocks` that is new or another one since whoever files them set this to their number."""
        self._plan: Plan | None = None
        self._outputs: Mapping[str, str] = {}
        self._turn = ""
        self._tools = frozenset[str]()
        """Of the tools that texts here speak of, those that are offered."""
        self._first = 0
        self._input_from = _NONE
        """The first entry that was rendered as input."""
        self._counts: list[tuple[int, int]] = []
        """(messages, blocks) before each entry from `_first` on."""

    def render(
        self, log: Sequence[Message], plan: Plan, outputs: Mapping[str, str], turn: str, tools: frozenset[str]
    ) -> None:
        """Bring messages and blocks up to date.

        Args:
            log: the whole conversation.
            outputs: whole texts of shortened outputs that are restored, by key.
            turn: the turn in progress, whose messages are the input.
            tools: names of those that are offered; no text of ours speaks of another.
        """
        self.log.take(log)
        changed = self.log.settle()
        spoken = tools & _SPOKEN
        if plan is not self._plan or outputs != self._outputs or spoken != self._tools:
            self._plan, self._outputs, self._turn, self._tools = plan, dict(outputs), turn, spoken
            self._start(plan)
            changed = self._first
        elif turn != self._turn:
            changed = min(changed, self._input_from)
            self._turn = turn
        self._cut_back(max(changed, self._first))
        self.unfiled = min(self.unfiled, self.fresh)
        for entry in self.log.entries[self._first + len(self._counts) :]:
            self._put(entry, plan)

    def _start(self, plan: Plan) -> None:
        for rows in (self.messages, self.blocks, self.parts, self._counts):
            rows.clear()
        self.tokens = self.input_tokens = self.fresh = 0
        self._input_from = _NONE
        place = self.log.place(plan.base.upto) if plan.base is not None else None
        self._first = 0
        if plan.base is None or place is None:
            return
        self._first = place + 1
        if self._first < len(self.log.entries) and self.log.entries[self._first].message.role == "tool":
            self._first += 1
        sent = carried(self.log, plan, plan.base, self._first, self._outputs)
        self._send(sent.message, sent.blocks)

    def _cut_back(self, entry: int) -> None:
        at = entry - self._first
        if at >= len(self._counts):
            self.fresh = min(self.fresh, len(self.blocks)) if not self._counts else len(self.blocks)
            return
        messages, blocks = self._counts[at]
        for block in self.blocks[blocks:]:
            self.tokens -= block.tokens
            self.input_tokens -= block.tokens if block.section == "input" else 0
        if entry <= self._input_from:
            self._input_from = _NONE
        del self.messages[messages:], self.blocks[blocks:], self.parts[blocks:], self._counts[at:]
        self.fresh = blocks

    def _put(self, entry: Entry, plan: Plan) -> None:
        self._counts.append((len(self.messages), len(self.blocks)))
        if self._turn and entry.message.turn == self._turn:
            self._input_from = min(self._input_from, self._first + len(self._counts) - 1)
        sent = _under(entry, plan, self._outputs)
        if sent is not None and "output" not in self._tools and sent.message.role == "tool":
            sent = _without_way_back(sent)
        along = _along(entry, plan, search="search_context" in self._tools) if plan.told else None
        for one in (along, sent):
            if one is None:
                continue
            blocks = one.blocks
            if self._turn and one.message.turn == self._turn:
                blocks = tuple(msgspec.structs.replace(block, section="input") for block in blocks)
            self._send(one.message, blocks)

    def _send(self, message: Message, blocks: tuple[Block, ...]) -> None:
        self.messages.append(message)
        self.blocks.extend(blocks)
        self.parts.extend(message.blocks)
        for block in blocks:
            self.tokens += block.tokens
            self.input_tokens += block.tokens if block.section == "input" else 0


def _under(entry: Entry, plan: Plan, outputs: Mapping[str, str]) -> Sent | None:
    """An entry as the plan has it; `None` when nothing of it is sent."""
    message = entry.message
    touched = any(b.id in plan.pinned or b.id in plan.pruned or b.id in plan.restored for b in entry.blocks)
    dropped = plan.dropped.get(message.id.removesuffix("-results")) if plan.dropped else None
    if not touched and not dropped:
        return Sent(message, entry.blocks)
    if dropped and message.role == "tool":
        return None
    parts: list[Part] = []
    blocks: list[Block] = []
    for part, block in zip(message.blocks, entry.blocks, strict=True):
        if dropped and isinstance(part, ToolCall | Thinking):
            continue
        part, block = _changed(part, block, plan, outputs)
        parts.append(part)
        blocks.append(block)
    if not parts:
        return None
    blocks = _counted(blocks, parts)
    return Sent(msgspec.structs.replace(message, blocks=tuple(parts)), tuple(blocks))


def _changed(part: Part, block: Block, plan: Plan, outputs: Mapping[str, str]) -> tuple[Part, Block]:
    pinned = block.id in plan.pinned
    changes = block.changes
    if isinstance(part, ToolResult):
        full = outputs.get(part.output, "") if block.id in plan.restored and part.output else ""
        cut = plan.pruned.get(block.id)
        if full:
            part = msgspec.structs.replace(part, content=full)
            changes = (*changes, Change("restored", before=block.tokens, after=block_tokens(part)))
        elif cut is not None and not pinned and block.id not in plan.restored:
            part = msgspec.structs.replace(part, content=placeholder(cut[1]))
            changes = (*changes, Change("pruned", cut[0], block.tokens, block_tokens(part)))
    if changes is block.changes and not pinned:
        return part, block
    text = text_of(part)
    return part, msgspec.structs.replace(
        block, changes=changes, pinned=pinned, tokens=block_tokens(part), hash=hash_of(text)
    )


def _without_way_back(sent: Sent) -> Sent:
    """Results whose markers do not name a tool that is not there."""
    parts = tuple(without_way_back(part) if isinstance(part, ToolResult) else part for part in sent.message.blocks)
    if all(new is old for new, old in zip(parts, sent.message.blocks, strict=True)):
        return sent
    blocks = [
        block if new is old else msgspec.structs.replace(block, hash=hash_of(text_of(new)))
        for block, new, old in zip(sent.blocks, parts, sent.message.blocks, strict=True)
    ]
    return Sent(msgspec.structs.replace(sent.message, blocks=parts), tuple(_counted(blocks, list(parts))))


def _counted(blocks: list[Block], parts: list[Part]) -> list[Block]:
    """The 4 tokens of the message are in its first block, whichever that is now."""
    return [
        msgspec.structs.replace(block, tokens=block_tokens(part) + (0 if number else MESSAGE_TOKENS))
        for number, (block, part) in enumerate(zip(blocks, parts, strict=True))
    ]


def _along(entry: Entry, plan: Plan, *, search: bool) -> Sent | None:
    """The texts that go along with a person's message, as a message of their own before it."""
    message = entry.message
    told = plan.told.get(message.id)
    if not told:
        return None
    id = f"{message.id}-along"
    texts = [words.text if search else without_search(words.text) for words in told]
    parts: tuple[Part, ...] = tuple(Text(text) for text in texts)
    blocks = [
        Block(
            id=f"{id}/{words.source}",
            section="history",
            kind="text",
            source=words.source,
            tokens=0,
            hash=hash_of(text),
            at=words.at,
            message=id,
            turn=message.turn,
            role="user",
        )
        for words, text in zip(told, texts, strict=True)
    ]
    sent = Message(id, "user", parts, message.at, turn=message.turn)
    return Sent(sent, tuple(_counted(blocks, list(parts))))
