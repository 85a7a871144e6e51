"""Requests in the record: stores their marks, blocks and texts, and rebuilds past ones.

Determines which texts are new to the store, and finds the full outputs of restored blocks; never invents missing data.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from gshtui.bus.context_data import Block, Iteration
from gshtui.bus.messages import Block as Part
from gshtui.bus.messages import Message, Text, ToolResult
from gshtui.context.assembly.assembly import Assembly, RequestInputs
from gshtui.context.assembly.prompt_cache import broken_by
from gshtui.context.log.blocks import Passage, hash_of, text_of
from gshtui.context.log.conversation_log import ConversationLog
from gshtui.context.log.history import HistorySection
from gshtui.context.log.overlays import ContextPlan
from gshtui.context.log.ports import ContextStore
from gshtui.providers.port import Request, ToolSpec
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.ids import new_id

_MANY = 1_000
"""New texts from which those that the record has as messages are kept by `keep_rest`."""
_TOGETHER = 10_000
"""Texts that `keep_rest` keeps in one go."""


class RequestRecorder:
    """The filing of one conversation."""

    def __init__(self, context_store: ContextStore) -> None:
        self._context_store = context_store
        self._kept: set[str] | None = None
        """Hashes of the texts that the record has for the conversation; `None`: not looked up yet."""
        self._filed = False
        """Whether a request was kept by this object, so that `history.unfiled` says what is new."""
        self._rest: dict[str, Part] = {}
        """What was sent and is not kept under its hash yet, though the record has it as a message."""
        self._looked_at = 0
        self._before: tuple[Iteration, tuple[Block, ...]] | None = None

    async def get_ready(self, session: str, agent: str) -> set[str]:
        """Look up what the record has of earlier requests. Raises `StoreError`."""
        if self._kept is None:
            marks = await self._context_store.iterations(session, agent=agent, limit=1)
            try:
                self._before = (marks[0], await self._context_store.blocks(marks[0].id)) if marks else None
            except StoreError:
                self._before = None  # a damaged one tells nothing
            self._kept = set(await self._context_store.texts_of(session))
        return self._kept

    async def set_aside(
        self, session: str, agent: str, blocks: Sequence[Block], parts: Sequence[Part], log: ConversationLog
    ) -> None:
        """Note before a request which of these blocks the record has as messages, so that it need not look."""
        kept = await self.get_ready(session, agent)
        for block, part in zip(blocks, parts, strict=True):
            if block.hash not in kept and _is_recorded(block, part, log):
                self._rest[block.hash] = part
                kept.add(block.hash)

    async def keep_rest(self, session: str) -> None:
        """Keep the texts that no request waited for. Raises `StoreError`: they are left for the next time."""
        while some := dict(islice(self._rest.items(), _TOGETHER)):
            await self._context_store.keep_texts(session, {hash: text_of(part) for hash, part in some.items()})
            for hash in some:
                self._rest.pop(hash, None)

    @property
    def unkept(self) -> int:
        """How many texts are left for `keep_rest`."""
        return len(self._rest)

    async def file(
        self, terms: RequestInputs, assembly: Assembly, number: int, cuts: Sequence[str], history: HistorySection
    ) -> Iteration:
        """Keep a request before it is sent. Raises `StoreError`.

        Args:
            number: the iteration within its turn.
            cuts: receipts since the last one.
        """
        iteration = Iteration(
            id=new_id(),
            agent=terms.agent,
            session=terms.session,
            turn=terms.inputs.turn,
            iteration=number,
            at=time.time(),
            provider=terms.provider.name,
            model=terms.model,
            tokens=assembly.tokens,
            window=terms.limits.window,
            sections=tuple((section.name, section.tokens) for section in assembly.sections),  # type: ignore[misc]
            trigger=terms.limits.trigger,
            cuts=(*cuts, *self._truncated(history.log)),
        )
        kept = await self.get_ready(terms.session, terms.agent)
        iteration = msgspec.structs.replace(iteration, broken_by=self._broken_by(iteration, assembly, history))
        first = assembly.fixed + (history.unfiled if self._filed else 0)
        new = {
            block.hash: place
            for place in (*range(assembly.fixed), *range(first, len(assembly.blocks)))
            if (block := assembly.blocks[place]).hash not in kept
        }
        rest = self._recorded(new, assembly, history.log) if len(new) >= _MANY else {}
        texts = {hash: assembly.text(place) for hash, place in new.items() if hash not in rest}
        await self._context_store.add_iteration(iteration, assembly.blocks, texts)
        self._rest |= rest
        kept.update(new)
        self._filed = True
        history.unfiled = len(history.blocks)
        self._before = iteration, assembly.blocks
        return iteration

    def _recorded(self, new: Mapping[str, int], assembly: Assembly, log: ConversationLog) -> dict[str, Part]:
        """Those of the new blocks that are sent as they were said: a conversation that others have written."""
        recorded: dict[str, Part] = {}
        for hash, place in new.items():
            part = assembly.parts[place]
            if not isinstance(part, str) and _is_recorded(assembly.blocks[place], part, log):
                recorded[hash] = part
        return recorded

    def _broken_by(self, iteration: Iteration, assembly: Assembly, history: HistorySection) -> str:
        """The first block that differs from the same model's previous request, in this process or an earlier one."""
        if self._before is None:
            return ""
        mark, before = self._before
        if (mark.provider, mark.model) != (iteration.provider, iteration.model):
            return ""
        fixed = assembly.fixed
        if self._filed and len(before) == fixed + history.unfiled and before[:fixed] == assembly.blocks[:fixed]:
            return ""  # the history says that it only grew: no need to search it
        return broken_by(before, assembly.blocks, iteration.provider)

    def _truncated(self, log: ConversationLog) -> list[str]:
        """Blocks shortened at capture since the last request; their receipts have the same ids."""
        entries = log.entries
        first, self._looked_at = min(self._looked_at or len(entries), len(entries)), len(entries)
        return [b.id for e in entries[first:] for b in e.blocks if any(c.kind == "truncated" for c in b.changes)]


def _is_recorded(block: Block, part: Part, log: ConversationLog) -> bool:
    """Whether the block is sent as it was said."""
    found = log.block(block.id)
    return found is not None and found[0].message.blocks[found[1]] is part


MISSING = "[this text is not kept any more]"


def recorded_texts(hashes: Collection[str], messages: Sequence[Message]) -> dict[str, str]:
    """Those of the texts that the messages have, by hash."""
    said = (text_of(part) for message in messages for part in message.blocks)
    return {hash: text for text in said if (hash := hash_of(text)) in hashes}


def passages_of(blocks: Sequence[Block], texts: Mapping[str, str]) -> tuple[Passage, ...]:
    """The passages of system, call and memory."""
    return tuple(
        Passage(b.section, b.source, texts.get(b.hash, MISSING), b.path, b.kind)
        for b in blocks
        if b.section in ("system", "call", "memory")
    )


def tools_of(blocks: Sequence[Block], texts: Mapping[str, str]) -> tuple[ToolSpec, ...]:
    found: list[ToolSpec] = []
    for block in blocks:
        if block.section != "tools":
            continue
        try:
            told: dict[str, Any] = json.loads(texts.get(block.hash, ""))
            found.append(ToolSpec(str(told["name"]), str(told["description"]), dict(told["schema"])))
        except (ValueError, KeyError, TypeError):
            found.append(ToolSpec(block.source, MISSING, {"type": "object"}))
    return tuple(found)


def request_of(model: str, blocks: Sequence[Block], texts: Mapping[str, str], log: ConversationLog) -> Request:
    messages: list[tuple[str, str, float, list[Part]]] = []
    for block in blocks:
        if block.section not in ("history", "input"):
            continue
        part = _part(block, texts, log)
        if messages and messages[-1][0] == block.message and messages[-1][1] == block.role:
            messages[-1][3].append(part)
        else:
            messages.append((block.message, block.role, block.at, [part]))
    system = tuple(passage.text for passage in passages_of(blocks, texts))
    return Request(model, system, tuple(_message(log, *one) for one in messages), tools_of(blocks, texts))


def _message(log: ConversationLog, id: str, role: str, at: float, parts: list[Part]) -> Message:
    place = log.place(id)
    known = log.entries[place].message if place is not None else None
    if known is not None and known.role == role:
        return msgspec.structs.replace(known, blocks=tuple(parts))
    return Message(id, "assistant" if role == "assistant" else "tool" if role == "tool" else "user", tuple(parts), at)


def _part(block: Block, texts: Mapping[str, str], log: ConversationLog) -> Part:
    found = log.block(block.id)
    part = found[0].message.blocks[found[1]] if found is not None else None
    if part is not None and hash_of(text_of(part)) == block.hash:
        return part
    text = texts.get(block.hash, MISSING)
    if isinstance(part, ToolResult) and block.kind == "tool_result":
        return msgspec.structs.replace(part, content=text)
    return Text(text)


async def restored_outputs(
    context_store: ContextStore, messages: Sequence[Message], plan: ContextPlan
) -> Mapping[str, str]:
    """Key → whole text of each restored block whose output was shortened."""
    if not plan.restored:
        return {}
    answers = {id.rpartition("/")[0].removesuffix("-results"): id for id in plan.restored}
    wanted = set(plan.restored)
    found: dict[str, str] = {}
    for message in messages:
        if message.role != "tool" or message.id.removesuffix("-results").removesuffix("-closed") not in answers:
            continue
        for number, part in enumerate(message.blocks):
            if f"{message.id}/{number}" in wanted and isinstance(part, ToolResult) and part.output:
                try:
                    found[part.output] = await context_store.output(part.output)
                except StoreError:
                    continue  # removed since: the shortened text is all there is
    return found
