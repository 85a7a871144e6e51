"""One agent's conversation: the append-only log in memory and in the record, loaded when first needed.

Nothing is edited or removed. Opening repairs what a crash in mid-turn left: an answer cut off is kept as far as it
came, and a call without a result gets one that says so.
"""

from __future__ import annotations

import asyncio

import msgspec

from gshtui.agents.ports import Record
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent import MessageAppended
from gshtui.bus.messages import Message, Text, Thinking, ToolCall
from gshtui.context.pairing import missing_results


class Conversation:
    """The log of one session. Only its agent appends."""

    def __init__(self, bus: Bus, record: Record, session: str, agent: str, *, fresh: bool) -> None:
        """`fresh`: the session is known to be empty, so there is nothing to load."""
        self.session = session
        self.titled = not fresh
        self._agent = agent
        self._bus = bus
        self._record = record
        self._messages: list[Message] | None = [] if fresh else None

    async def messages(self) -> list[Message]:
        """The whole log. The first call loads and repairs it."""
        if self._messages is None:
            self._messages = await self._record.load(self.session)
            await self._repair()
        return self._messages

    async def append(self, message: Message) -> None:
        """Add a message; returns when it is safe. An interrupt does not cut it in half.

        Raises:
            RecordError: it could not be kept. It is part of the conversation in memory all the same.
        """
        (await self.messages()).append(message)
        try:
            await asyncio.shield(self._record.append(self.session, message))
        finally:
            self._bus.publish(MessageAppended(agent=self._agent, session=self.session, message=message))

    async def save_partial(self, message: Message) -> None:
        """Keep an answer that still streams, against a crash."""
        await self._record.save_partial(self.session, message)

    async def keep_output(self, call: str, text: str) -> str:
        """Keep a tool's full output; returns its key."""
        return await asyncio.shield(self._record.put_output(self.session, call, text))

    async def set_title(self, title: str) -> None:
        """Name the conversation, once."""
        self.titled = True
        await self._record.set_title(self.session, title)

    async def _repair(self) -> None:
        assert self._messages is not None
        known = {message.id for message in self._messages}
        for partial in await self._record.partials(self.session):
            if partial.id not in known and (kept := without_calls(partial)).blocks:
                await self.append(msgspec.structs.replace(kept, stop="interrupted"))
        closing = missing_results(self._messages)
        if closing is not None:
            await self.append(closing)


def without_calls(message: Message) -> Message:
    """What of an unfinished answer may be kept: its words and thoughts. A half-built call is never run nor recorded."""
    blocks = tuple(block for block in message.blocks if not isinstance(block, ToolCall) and not _is_blank(block))
    # A thought that its provider did not finish has no valid signature, and would be refused when sent back.
    blocks = tuple(Thinking(b.text) if isinstance(b, Thinking) else b for b in blocks)
    return msgspec.structs.replace(message, blocks=blocks)


def _is_blank(block: object) -> bool:
    return isinstance(block, Text | Thinking) and not block.text.strip()
