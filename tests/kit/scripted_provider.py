"""A scripted provider: answers given in advance, run through the real loop. And a bus that remembers."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, TypeVar

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.messages import Block, Message, Text, ToolCall, Usage
from gshtui.providers.port import Capabilities, Completed, Delta, ProviderError, Request, TextPart

E = TypeVar("E", bound=Event)


def tool_call(name: str, id: str = "", broken: str = "", **arguments: Any) -> ToolCall:
    """A tool call of a scripted answer."""
    return ToolCall(id or f"call-{name}-{abs(hash(str(arguments))) % 9999}", name, arguments, broken)


class Hang:
    """The provider says no more; `reached` is set when it has come so far."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()


Step = str | ToolCall | ProviderError | Hang
"""Words, a call, a failure, or silence."""


class ScriptedProvider:
    """Each request is answered by the next list of steps. Remembers every request."""

    name = "scripted"

    def __init__(self, *answers: Sequence[Step], check: Callable[[Request], None] | None = None) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []
        self.closed = False
        self._check = check

    def capabilities(self, model: str) -> Capabilities:
        return Capabilities(window=50_000, price_input=1.0, price_output=2.0, known=True)

    def body(self, request: Request) -> dict[str, Any]:
        words = [block.text for message in request.messages for block in message.blocks if isinstance(block, Text)]
        return {"model": request.model, "system": list(request.system), "words": words}

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        self.requests.append(request)
        if self._check is not None:
            self._check(request)
        steps = self.answers.pop(0) if self.answers else ["(the script is over)"]
        blocks: list[Block] = []
        for step in steps:
            if isinstance(step, str):
                blocks.append(Text(step))
                yield TextPart(step)
            elif isinstance(step, ToolCall):
                blocks.append(step)
            elif isinstance(step, Hang):
                step.reached.set()
                await asyncio.Event().wait()
            else:
                raise step
        stop = "tool_use" if any(isinstance(block, ToolCall) for block in blocks) else "end"
        yield Completed(Message(id="", role="assistant", blocks=tuple(blocks)), stop, Usage(input=100, output=10))

    async def close(self) -> None:
        self.closed = True


class Recorder:
    """Every event of a bus, in order."""

    def __init__(self, bus: Bus) -> None:
        self.events: list[Event] = []
        bus.subscribe(self.events.extend, name="recorder")

    def of(self, kind: type[E]) -> list[E]:
        """The events of one type, in order."""
        return [event for event in self.events if isinstance(event, kind)]
