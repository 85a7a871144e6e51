"""The scratchpad: what an agent writes by `think` is in its requests for the rest of that turn, and in no later one.

Pure, but for the command. It stays in the log, where people see it (`context section=thinking`, `thinking.ctx`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from pydantic import Field

from gshtui.bus.context_data import Block
from gshtui.bus.messages import Block as Part
from gshtui.bus.messages import Message, Thinking, ToolCall, ToolResult
from gshtui.commands.declaration import (
    Access,
    Assessment,
    Command,
    CommandError,
    Effect,
    Invocation,
    Mark,
    Outcome,
)
from gshtui.commands.registry import AnyCommand
from gshtui.commands.schema import PLAIN, ToolParameters

THINK = "think"
THINKING = "thinking"
"""The part of a context that is what its model thought in its last turn, on the scratchpad or by itself."""
_DESCRIPTION = """\
Write on your scratchpad: reasoning, a plan, what to check. You see it for the rest of this turn and in no later one; \
nobody is told."""


class ThinkParameters(ToolParameters):
    """What to write down."""

    content: Annotated[str, Mark.VERBATIM, Mark.PIPED] = Field(
        description="The thought", min_length=1, json_schema_extra=PLAIN
    )


async def _think(invocation: Invocation, given: ThinkParameters) -> Outcome:
    if not invocation.caller.is_agent:
        raise CommandError(
            "Only an agent has a scratchpad, for its turn.", hint="`context agent=NAME section=thinking` shows it."
        )
    return Outcome({"characters": len(given.content)}, "Written down for this turn.")


async def _assess(_invocation: Invocation, given: ThinkParameters) -> Assessment:
    return Assessment(Effect.READ, "a thought", detail=given.content)


def commands() -> list[AnyCommand]:
    return [
        Command(
            THINK,
            "Write on the scratchpad of this turn",
            ThinkParameters,
            _think,
            access=Access.AGENT_PRIMARY,
            positions=("content",),
            description=_DESCRIPTION,
            family="memory",
            tool=True,
            does="plan",
            assess=_assess,
        )
    ]


def is_thought(part: Part) -> bool:
    """Whether this is a note on the scratchpad, or the answer to one."""
    return isinstance(part, ToolCall | ToolResult) and part.name == THINK


def without_thoughts(message: Message, blocks: Sequence[Block]) -> tuple[Message, tuple[Block, ...]] | None:
    """A message of an earlier turn as it is sent: without its notes. `None`: nothing of it is left.

    The model's own reasoning before its calls goes with them where no other call is left, as providers want it.
    """
    if not any(is_thought(part) for part in message.blocks):
        return message, tuple(blocks)
    calls_left = any(isinstance(part, ToolCall) and not is_thought(part) for part in message.blocks)
    kept = [
        (part, block)
        for part, block in zip(message.blocks, blocks, strict=True)
        if not is_thought(part) and (calls_left or not isinstance(part, Thinking))
    ]
    if not kept:
        return None
    return msgspec.structs.replace(message, blocks=tuple(part for part, _ in kept)), tuple(block for _, block in kept)


def thoughts(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks of a request that are thoughts of its last turn."""
    turn = next((block.turn for block in reversed(blocks) if block.turn), "")
    return tuple(block for block in blocks if block.turn == turn and _is_thinking(block))


def _is_thinking(block: Block) -> bool:
    return block.kind == "thinking" or (block.kind == "tool_call" and block.source.partition(" ")[0] == THINK)
