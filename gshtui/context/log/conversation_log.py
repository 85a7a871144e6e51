"""The log in a form that can be sent: one result after every call, kept up to date as the log grows.

Providers refuse a request in which a call has no result, or one that is not right after its message; `missing_results`
closes what a crash or an interrupt left open. Makes the plain blocks of each message once; never changes the log. The
cost is proportional to what is new. Called by the assembly.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gshtui.bus.context_data import Block
from gshtui.bus.messages import Audio, Document, Image, Message, ToolCall, ToolResult
from gshtui.bus.messages import Block as Part
from gshtui.context.log.blocks import message_blocks
from gshtui.media.media_tokens import ANY_MODEL, MediaRule

LOST = "The process ended while this call was running. The call may have had an effect; check before running it again."


def missing_results(messages: Sequence[Message]) -> Message | None:
    """Return the message that closes the open calls of the log's last answer, or `None` if none is open."""
    last_answer = next((i for i in range(len(messages) - 1, -1, -1) if messages[i].role == "assistant"), None)
    if last_answer is None:
        return None
    answer = messages[last_answer]
    closed = {r.call_id for message in messages[last_answer + 1 :] for r in message.results}
    open_calls = [call for call in answer.calls if call.id not in closed]
    if not open_calls:
        return None
    results = tuple(ToolResult(call.id, call.name, LOST, status="lost") for call in open_calls)
    return Message(id=f"{answer.id}-closed", role="tool", blocks=results, agent=answer.agent, turn=answer.turn)


def distinct(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """Drop calls whose id an earlier call has: they could not be answered, so they are not run."""
    found: dict[str, ToolCall] = {}
    for call in calls:
        found.setdefault(call.id, call)
    return list(found.values())


def without_doubles(message: Message) -> Message:
    """The message without calls whose id an earlier one has."""
    seen: set[str] = set()
    blocks: list[Part] = []
    for block in message.blocks:
        if isinstance(block, ToolCall):
            if block.id in seen:
                continue
            seen.add(block.id)
        blocks.append(block)
    return msgspec.structs.replace(message, blocks=tuple(blocks))


class LogEntry(msgspec.Struct, frozen=True):
    """One message that may be sent, with its blocks before any overlay."""

    message: Message
    blocks: tuple[Block, ...]


class ConversationLog:
    """See the module's text."""

    def __init__(self, rule: MediaRule = ANY_MODEL) -> None:
        """`rule`: how the model takes pictures, documents and sounds."""
        self.rule = rule
        self._has_media = False
        self.entries: list[LogEntry] = []
        self.changed = 0
        """Entries before this one are as they were when `settle` was last called."""
        self._place: dict[str, int] = {}
        self._taken = 0
        self._last: Message | None = None
        self._newest_prompt = -1
        self._open: dict[str, int] = {}
        """Open call → the place of its answer's results in `entries`."""
        self._calls: dict[int, dict[str, ToolCall]] = {}

    def update(self, messages: Sequence[Message], most: int | None = None) -> bool:
        """Load the whole log; only new messages are processed. A different log starts over. `most`: of the new messages
        that are processed now.

        Returns:
            Whether that was all.
        """
        if self._taken and (len(messages) < self._taken or messages[self._taken - 1] is not self._last):
            self.__init__(self.rule)
        end = len(messages) if most is None else min(len(messages), self._taken + most)
        for message in messages[self._taken : end]:
            self._add(message)
        self._taken = end
        self._last = messages[end - 1] if end else None
        return end == len(messages)

    def use(self, rule: MediaRule) -> None:
        """Count pictures, documents and sounds as another model does; costs nothing where there are none."""
        if rule == self.rule:
            return
        if self._has_media:
            self.__init__(rule)
        self.rule = rule

    def settle(self) -> int:
        """The first entry that is new or changed since the last call."""
        first, self.changed = self.changed, len(self.entries)
        return first

    def place(self, message: str) -> int | None:
        return self._place.get(message)

    @property
    def unfinished(self) -> int:
        """The first answer with calls that wait for results; after the last entry if there is none.

        Those of an answer before the newest prompt do not: it was interrupted, and can be cut like all else.
        """
        open_calls = (place - 1 for place in self._open.values() if place > self._newest_prompt)
        return min(open_calls, default=len(self.entries))

    def block(self, id: str) -> tuple[LogEntry, int] | None:
        """A block's entry, and its number in it; `None` for an unknown id."""
        message, _, number = id.rpartition("/")
        place = self._place.get(message)
        if place is None or not number.isdecimal() or int(number) >= len(self.entries[place].blocks):
            return None
        return self.entries[place], int(number)

    def _add(self, message: Message) -> None:
        if message.role == "tool":
            for result in message.results:
                self._close(result, message)
            return
        if not message.blocks:
            return
        if message.role == "user":
            self._newest_prompt = len(self.entries)
        calls = distinct(message.calls) if message.role == "assistant" else []
        if len(calls) < len(message.calls):
            message = without_doubles(message)
        self._has_media = self._has_media or any(isinstance(b, Image | Document | Audio) for b in message.blocks)
        self._put(message, {})
        if not calls:
            return
        lost = tuple(ToolResult(call.id, call.name, LOST, status="lost") for call in calls)
        place = len(self.entries)
        self._calls[place] = {call.id: call for call in calls}
        # Calls that an older answer left open stay lost: their results can no longer arrive.
        self._open = dict.fromkeys((call.id for call in calls), place)
        self._put(
            Message(f"{message.id}-results", "tool", lost, message.at, message.agent, message.turn, message.iteration),
            self._calls[place],
        )

    def _put(self, message: Message, calls: dict[str, ToolCall]) -> None:
        self._place[message.id] = len(self.entries)
        self.entries.append(LogEntry(message, message_blocks(message, calls, self.rule)))

    def _close(self, result: ToolResult, came: Message) -> None:
        place = self._open.pop(result.call_id, None)
        if place is None:
            return
        old = self.entries[place].message
        results = tuple(result if block.call_id == result.call_id else block for block in old.results)
        message = Message(old.id, "tool", results, came.at or old.at, old.agent, old.turn, old.iteration)
        self.entries[place] = LogEntry(message, message_blocks(message, self._calls[place], self.rule))
        self.changed = min(self.changed, place)
