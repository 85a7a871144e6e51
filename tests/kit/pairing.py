"""The pairing rule in its plainest form: what a request must hold of any log, made anew from all of it.

The product keeps the same as it goes, in `ConversationLog`; tests compare the two.
"""

from collections.abc import Sequence

import msgspec

from gshtui.bus.messages import Message, ToolResult
from gshtui.context.log.conversation_log import LOST, distinct, without_doubles


def paired(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages as any provider takes them: each call with one result, no result without its call, none empty.

    Results are moved right behind their answer; a doubled result is dropped, a missing one added as lost. A result
    belongs to the last answer with calls before it, so an id may be used again by a later one.
    """
    out: list[Message] = []
    waiting: dict[str, int] = {}
    for message in messages:
        if message.role == "tool":
            for result in message.results:
                if (place := waiting.pop(result.call_id, None)) is not None:
                    old = out[place]
                    blocks = tuple(result if b.call_id == result.call_id else b for b in old.results)
                    out[place] = msgspec.structs.replace(old, blocks=blocks, at=message.at or old.at)
            continue
        if not message.blocks:
            continue
        out.append(message)
        if message.role == "assistant" and (calls := distinct(message.calls)):
            if len(calls) < len(message.calls):
                out[-1] = without_doubles(message)
            waiting = {call.id: len(out) for call in calls}
            lost = tuple(ToolResult(c.id, c.name, LOST, status="lost") for c in calls)
            m = message
            out.append(Message(f"{m.id}-results", "tool", lost, m.at, m.agent, m.turn, m.iteration))
    return tuple(out)
