"""The history and the input as they are sent: the log under its plan, and what replaces the part before a compaction.

The summary, people's own words, pins, tasks and files are carried past a cut. Pure; costs only what changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from gshtui.bus.context_data import Block, Change, Task
from gshtui.bus.messages import Audio, Document, Image, Message, Text, Thinking, ToolCall, ToolResult
from gshtui.bus.messages import Block as Part
from gshtui.context.log.blocks import MESSAGE_TOKENS, block_tokens, hash_of, text_of, text_tokens
from gshtui.context.log.conversation_log import ConversationLog, LogEntry
from gshtui.context.log.overlays import Base, Compacted, ContextPlan
from gshtui.context.log.scratchpad import without_thoughts
from gshtui.context.log.tool_budget import without_search, without_way_back
from gshtui.media.media_tokens import ANY_MODEL, MediaRule
from gshtui.text.truncation import shorten

SUMMARY_HEAD = "[Context compacted - previous conversation summary]"
CLEARED_HEAD = "[Everything said before this point is left out; it stays in the record.]"
_MARKS = {"open": " ", "active": ">", "done": "x", "dropped": "-"}


class CarriedBlock(msgspec.Struct, frozen=True):
    """One message as sent, with its blocks and their parts."""

    message: Message
    blocks: tuple[Block, ...]

    @property
    def tokens(self) -> int:
        return sum(block.tokens for block in self.blocks)


def tasks_text(tasks: Iterable[Task]) -> str:
    """Format a task list for a model."""
    return "[Tasks]\n" + "\n".join(f"- [{_MARKS[task.state]}] {task.text}" for task in tasks)


def carried(
    log: ConversationLog, plan: ContextPlan, base: Base, before: int, outputs: Mapping[str, str]
) -> CarriedBlock:
    """Return the message that replaces the first `before` entries of the log. `outputs`: whole texts of shortened
    outputs, by their key in the store.
    """
    parts: list[Part] = []
    blocks: list[Block] = []

    def put(part: Part, block: Block) -> None:
        parts.append(part)
        blocks.append(block)

    summary = plan.summary(base.id)
    head = f"{SUMMARY_HEAD}\n\n{summary}" if isinstance(base, Compacted) else CLEARED_HEAD
    head_change = Change("summarised", base.id, base.receipt.tokens_before, text_tokens(head))
    put(Text(head), _own(base, "summary", "summary", "summary" if summary else "cleared", head, (head_change,)))
    if base.words:
        for block, limit in base.words.items():
            if block not in plan.pinned and (found := log.block(block)) is not None:
                put(*_words(base, *found, limit))
    extra = [*plan.pinned, *(block for block in plan.restored if block not in plan.pinned)]
    for block in extra:
        found = log.block(block)
        place = log.place(found[0].message.id) if found is not None else None
        if found is not None and place is not None and place < before:
            put(*_whole(base, *found, outputs, pinned=block in plan.pinned))
    if base.tasks:
        text = tasks_text(base.tasks)
        put(Text(text), _own(base, "tasks", "carried", "tasks", text))
    if isinstance(base, Compacted) and base.files:
        text = "[Files touched so far]\n" + "\n".join(f"- {file}" for file in base.files)
        put(Text(text), _own(base, "files", "carried", "touched files", text))
    return CarriedBlock(Message(f"{base.id}-carried", "user", tuple(parts), base.at), tuple(blocks))


def _own(base: Base, name: str, kind: str, source: str, text: str, changes: tuple[Change, ...] = ()) -> Block:
    return Block(
        id=f"{base.id}/{name}",
        section="history",
        kind="summary" if kind == "summary" else "carried",
        source=source,
        tokens=text_tokens(text) + (MESSAGE_TOKENS if name == "summary" else 0),
        hash=hash_of(text),
        at=base.at,
        message=f"{base.id}-carried",
        changes=changes,
        role="user",
    )


def _words(base: Base, entry: LogEntry, number: int, limit: int) -> tuple[Part, Block]:
    part, block = entry.message.blocks[number], entry.blocks[number]
    said = text_of(part)
    kept = shorten(said, limit) if limit else said
    who = "The person" if block.source == "you" else block.source
    sent = Text(f"[{who} said, word for word{', shortened' if kept != said else ''}]\n{kept}")
    change = Change("shortened" if kept != said else "carried", base.id, block.tokens, block_tokens(sent))
    return sent, _changed_files(block, sent, change)


def _whole(base: Base, entry: LogEntry, number: int, outputs: Mapping[str, str], *, pinned: bool) -> tuple[Part, Block]:
    part, block = entry.message.blocks[number], entry.blocks[number]
    if isinstance(part, Image | Document | Audio):
        sent: Part = part
    else:
        full = outputs.get(part.output, "") if isinstance(part, ToolResult) and not pinned else ""
        sent = Text(f"[{'pinned' if pinned else 'restored'}: {block.source}]\n{full or text_of(part)}")
    change = Change("carried" if pinned else "restored", base.id, block.tokens, block_tokens(sent))
    return sent, _changed_files(block, sent, change, pinned=pinned)


def _changed_files(block: Block, sent: Part, change: Change, *, pinned: bool = False) -> Block:
    return Block(
        id=block.id,
        section="history",
        kind=block.kind if isinstance(sent, Image | Document | Audio) else "carried",
        source=block.source,
        tokens=block_tokens(sent),
        hash=hash_of(text_of(sent)),
        at=block.at,
        message=block.message,
        call=block.call,
        turn=block.turn,
        iteration=block.iteration,
        path=block.path,
        changes=(*block.changes, change),
        pinned=pinned,
        role="user",
        picture=block.picture if isinstance(sent, Image) else None,
    )


_NONE = 1 << 62
SPOKEN = frozenset({"output", "search_context"})
"""Tools that texts in the history mention."""


def placeholder(tokens: int) -> str:
    return f"[output pruned, was ~{tokens} tokens]"


class HistorySection:
    """The history section of one conversation."""

    def __init__(self) -> None:
        self.log = ConversationLog()
        self.messages: list[Message] = []
        self.blocks: list[Block] = []
        self.parts: list[Part] = []
        """The message part behind each of `blocks`."""
        self.tokens = 0
        self.input_tokens = 0
        self.fresh = 0
        """Index of the first of `blocks` that is new or changed since the `render` before last."""
        self.unfiled = 0
        """Index of the first of `blocks` that is new or changed since the caller who stores them last set this."""
        self._plan: ContextPlan | None = None
        self._outputs: Mapping[str, str] = {}
        self._turn = ""
        self._tools = frozenset[str]()
        """The offered tools that texts here mention."""
        self._first = 0
        self._input_from = _NONE
        """Index of the first entry rendered as input."""
        self._counts: list[tuple[int, int]] = []
        """(messages, blocks) before each entry from `_first` on."""

    def render(
        self,
        log: Sequence[Message],
        plan: ContextPlan,
        outputs: Mapping[str, str],
        turn: str,
        tools: frozenset[str],
        rule: MediaRule = ANY_MODEL,
        most: int | None = None,
    ) -> bool:
        """Update messages and blocks.

        Args:
            log: the whole conversation.
            outputs: whole texts of restored outputs that were shortened, by key.
            turn: the turn in progress; its messages are the input.
            tools: names of the offered tools; our texts mention no others.
            rule: how the model takes pictures, documents and sounds.
            most: of the new messages that are rendered now.

        Returns:
            Whether that was all.
        """
        self.log.use(rule)
        whole = self.log.update(log, most)
        changed = self.log.settle()
        spoken = tools & SPOKEN
        noted = self._noted(plan)
        if noted is None or outputs != self._outputs or spoken != self._tools:
            self._plan, self._outputs, self._turn, self._tools = plan, dict(outputs), turn, spoken
            self._start(plan)
            changed = self._first
        else:
            changed = min(changed, noted, self._input_from if turn != self._turn else _NONE)
            self._plan, self._turn = plan, turn
        self._cut_back(max(changed, self._first))
        self.unfiled = min(self.unfiled, self.fresh)
        for entry in self.log.entries[self._first + len(self._counts) :]:
            self._put(entry, plan)
        return whole

    def _noted(self, plan: ContextPlan) -> int | None:
        """The first entry with other texts along with it than before; `None`: the plan differs in more than these."""
        before = self._plan
        if plan is before:
            return _NONE
        if before is None or replace(plan, told=before.told) != before:
            return None
        other = (id for id in plan.told.keys() | before.told.keys() if plan.told.get(id) != before.told.get(id))
        return min((place for id in other if (place := self.log.place(id)) is not None), default=_NONE)

    def _start(self, plan: ContextPlan) -> None:
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

    def _put(self, entry: LogEntry, plan: ContextPlan) -> None:
        self._counts.append((len(self.messages), len(self.blocks)))
        if self._turn and entry.message.turn == self._turn:
            self._input_from = min(self._input_from, self._first + len(self._counts) - 1)
        sent = _under(entry, plan, self._outputs)
        if sent is not None and "output" not in self._tools and sent.message.role == "tool":
            sent = _without_way_back(sent)
        if sent is not None and entry.message.turn != self._turn:
            sent = _of_earlier_turn(sent)
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


def _under(entry: LogEntry, plan: ContextPlan, outputs: Mapping[str, str]) -> CarriedBlock | None:
    """An entry under the plan; `None` if nothing of it is sent."""
    message = entry.message
    touched = any(b.id in plan.pinned or b.id in plan.pruned or b.id in plan.restored for b in entry.blocks)
    dropped = plan.dropped.get(message.id.removesuffix("-results")) if plan.dropped else None
    if not touched and not dropped:
        return CarriedBlock(message, entry.blocks)
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
    return CarriedBlock(msgspec.structs.replace(message, blocks=tuple(parts)), tuple(blocks))


def _changed(part: Part, block: Block, plan: ContextPlan, outputs: Mapping[str, str]) -> tuple[Part, Block]:
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


def _without_way_back(sent: CarriedBlock) -> CarriedBlock:
    """Results whose markers do not name a tool that is not offered."""
    parts = tuple(without_way_back(part) if isinstance(part, ToolResult) else part for part in sent.message.blocks)
    if all(new is old for new, old in zip(parts, sent.message.blocks, strict=True)):
        return sent
    blocks = [
        block if new is old else msgspec.structs.replace(block, hash=hash_of(text_of(new)))
        for block, new, old in zip(sent.blocks, parts, sent.message.blocks, strict=True)
    ]
    return CarriedBlock(msgspec.structs.replace(sent.message, blocks=parts), tuple(_counted(blocks, list(parts))))


def _of_earlier_turn(sent: CarriedBlock) -> CarriedBlock | None:
    """A message without what was only for its turn; `None`: nothing of it is left."""
    left = without_thoughts(sent.message, sent.blocks)
    if left is None or left[0] is sent.message:
        return None if left is None else sent
    return CarriedBlock(left[0], tuple(_counted(list(left[1]), list(left[0].blocks))))


def _counted(blocks: list[Block], parts: list[Part]) -> list[Block]:
    """Count the message's 4 tokens in its first block, whichever that is now."""
    return [
        msgspec.structs.replace(block, tokens=block_tokens(part) + (0 if number else MESSAGE_TOKENS))
        for number, (block, part) in enumerate(zip(blocks, parts, strict=True))
    ]


def _along(entry: LogEntry, plan: ContextPlan, *, search: bool) -> CarriedBlock | None:
    """The texts that go along with a person's message, as a separate message before it."""
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
    return CarriedBlock(sent, tuple(_counted(blocks, list(parts))))
