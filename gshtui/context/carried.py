"""What stands for everything before a compaction or clearing: summary, people's words, pins, tasks, files. Pure.

Owns that one message; none of it but the summary is left to a model. Refuses to decide what is carried: the overlay
says it. Called by `history`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gshtui.bus.context import Block, Change, Task
from gshtui.bus.messages import Block as Part
from gshtui.bus.messages import Document, Image, Message, Text, ToolResult
from gshtui.context.blocks import hash_of, text_of
from gshtui.context.log import Entry, Log
from gshtui.context.overlays import Compacted
from gshtui.context.plan import Base, Plan
from gshtui.context.tokens import MESSAGE_TOKENS, block_tokens, text_tokens
from gshtui.text.shorten import shorten

SUMMARY_HEAD = "[Context compacted - previous conversation summary]"
CLEARED_HEAD = "[What was said before this point is left out; it stays on record.]"
_MARKS = {"open": " ", "active": ">", "done": "x", "dropped": "-"}


@dataclass(frozen=True, slots=True)
class Sent:
    """One message as it is sent, with its blocks and the parts that they stand for."""

    message: Message
    blocks: tuple[Block, ...]

    @property
    def tokens(self) -> int:
        return sum(block.tokens for block in self.blocks)


def tasks_text(tasks: Iterable[Task]) -> str:
    """A list of things to do, as a model reads it."""
    return "[Tasks]\n" + "\n".join(f"- [{_MARKS[task.state]}] {task.text}" for task in tasks)


def carried(log: Log, plan: Plan, base: Base, before: int, outputs: Mapping[str, str]) -> Sent:
    """The message that stands for the first `before` entries of the log.

    Args:
        outputs: whole texts of shortened outputs, by their key in the store.
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
    return Sent(Message(f"{base.id}-carried", "user", tuple(parts), base.at), tuple(blocks))


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


def _words(base: Base, entry: Entry, number: int, limit: int) -> tuple[Part, Block]:
    part, block = entry.message.blocks[number], entry.blocks[number]
    said = text_of(part)
    kept = shorten(said, limit) if limit else said
    who = "The person" if block.source == "you" else block.source
    sent = Text(f"[{who} said, word for word{', shortened' if kept != said else ''}]\n{kept}")
    change = Change("shortened" if kept != said else "carried", base.id, block.tokens, block_tokens(sent))
    return sent, _changed(block, sent, change, "carried")


def _whole(base: Base, entry: Entry, number: int, outputs: Mapping[str, str], *, pinned: bool) -> tuple[Part, Block]:
    part, block = entry.message.blocks[number], entry.blocks[number]
    if isinstance(part, Image | Document):
        sent: Part = part
    else:
        full = outputs.get(part.output, "") if isinstance(part, ToolResult) and not pinned else ""
        sent = Text(f"[{'pinned' if pinned else 'restored'}: {block.source}]\n{full or text_of(part)}")
    change = Change("carried" if pinned else "restored", base.id, block.tokens, block_tokens(sent))
    return sent, _changed(block, sent, change, "carried", pinned=pinned)


def _changed(block: Block, sent: Part, change: Change, kind: str, *, pinned: bool = False) -> Block:
    return Block(
        id=block.id,
        section="history",
        kind=block.kind if kind != "carried" or isinstance(sent, Image | Document) else "carried",
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
    )
