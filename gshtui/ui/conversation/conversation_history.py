"""Stored messages as operations: a page of a conversation's record, put before all that is shown.

Owns the pairing of calls and results over the edges of pages; refuses to read the record. What comes is what would
have been shown had the messages been said just now. Called by `conversation.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from gshtui.bus.messages import Message, ToolResult
from gshtui.bus.shell import Ran
from gshtui.ui.conversation.conversation_entries import entries_of, stop_notice, with_result
from gshtui.ui.conversation.conversation_runs import stored
from gshtui.ui.conversation.conversation_state import ConversationState
from gshtui.ui.kit.transcript.entries import Entry, Operation, Prepend, Remove, Tool


def older(state: ConversationState, messages: Sequence[Message], ran: Sequence[Ran] = ()) -> list[Operation]:
    """Stored messages, in order, that are older than all that is shown.

    Args:
        state: what is shown; it learns of them.
        messages: a page of the record.
        ran: commands of the input line of the same time, in order.
    """
    entries: list[Entry] = []
    calls: dict[str, int] = {}
    done: list[Operation] = []
    waiting = deque(ran)
    for message in messages:
        while waiting and waiting[0].record.at < message.at:
            entries.append(stored(waiting.popleft()))
        if message.role == "tool":
            for result in message.results:
                done += _stored_result(state, result, entries, calls)
        elif message.id not in state.messages:
            state.messages.add(message.id)
            for entry in entries_of(message):
                if isinstance(entry, Tool):
                    bare = entry.id.rpartition("/")[2]
                    entry = replace(entry, status="lost")  # unless its result comes
                    if (result := state.early.pop(bare, None)) is not None:
                        entry = with_result(entry, result)
                        done.append(Remove(f"result/{bare}"))
                    calls[bare] = len(entries)
                entries.append(entry)
            if (notice := stop_notice(message)) is not None:
                entries.append(notice)
    entries += [stored(one) for one in waiting]
    fresh = tuple(entry for entry in entries if entry.id not in state.shown)
    state.runs.update((one.run, tool) for one in ran if (tool := stored(one)) in fresh and tool.live)
    state.shown.update(entry.id for entry in fresh)
    for entry in fresh:
        if isinstance(entry, Tool) and not entry.by_person:
            state.calls.setdefault(entry.id.rpartition("/")[2], entry)
    return [*done, Prepend(fresh)] if fresh else done


def _stored_result(
    state: ConversationState, result: ToolResult, entries: list[Entry], calls: dict[str, int]
) -> list[Operation]:
    at = calls.get(result.call_id)
    if at is not None:
        tool = entries[at]
        assert isinstance(tool, Tool)
        entries[at] = with_result(tool, result)
        return []
    known = state.calls.get(result.call_id)
    if known is not None:
        return state.result(result) if known.live else []
    state.early[result.call_id] = result
    entries.append(with_result(Tool(f"result/{result.call_id}", result.name), result))
    return []
