"""The pairing rule, pure: every tool call has exactly one result, right after the message that made it.

Providers refuse a request that breaks it. `missing_results` closes what a crash or an interrupt left open; results
have their calls' ids, so it is deterministic.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gshtui.bus.messages import Block, Message, ToolCall, ToolResult

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
    blocks: list[Block] = []
    for block in message.blocks:
        if isinstance(block, ToolCall):
            if block.id in seen:
                continue
            seen.add(block.id)
        blocks.append(block)
    return msgspec.structs.replace(message, blocks=tuple(blocks))
