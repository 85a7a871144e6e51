"""A context under pressure: an engine over a scripted model of any window, with a log that grows as a test says.

Everything is real but the model: decisions, overlays and iterations go through the store that is given. A summary is
answered by `summaries`, in order; what a normal request would be answered is the test's own affair.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from gshtui.bus.bus import Bus
from gshtui.bus.context_data import Receipt
from gshtui.bus.events.context_events import ContextCut, CutFailed
from gshtui.bus.messages import Block, Message, Text, ToolCall, ToolResult, Usage
from gshtui.context.assembly.limits import ContextSettings
from gshtui.context.assembly.system_section import system_source
from gshtui.context.engine import ContextDraft, ContextEngine, Prepared
from gshtui.context.log.ports import ContextStore, Contribution, MemoryContextStore, SideText
from gshtui.providers.port import Capabilities, Completed, Delta, ProviderError, Request, ToolSpec
from tests.kit.scripted_provider import Recorder

SUMMARY = "\n\n".join(
    f"## {heading}\n{body}"
    for heading, body in (
        ("Progress", "Read the files."),
        ("Key decisions", "Keep the API."),
        ("Files modified", "none"),
        ("Remaining work", "Write the tests."),
        ("Critical context", "The port is 4711."),
    )
)
TOO_LONG = ProviderError("context", "The conversation is too long for small-1")
Answer = str | ToolCall | ProviderError


class SummaryModel:
    """A model that only ever writes summaries; it refuses what is longer than `real` tokens."""

    name = "summing"

    def __init__(self, window: int, *summaries: Answer, real: int = 0, max_output: int = 0) -> None:
        self.window = window
        self.real = real
        self.max_output = max_output or window
        self.summaries = list(summaries)
        self.requests: list[Request] = []

    def capabilities(self, model: str) -> Capabilities:
        return Capabilities(window=self.window, max_output=self.max_output, price_input=1.0, price_output=2.0)

    def body(self, request: Request) -> dict[str, Any]:
        return {"model": request.model}

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        self.requests.append(request)
        if self.real and count_tokens(request) > self.real:
            raise TOO_LONG
        answer = self.summaries.pop(0) if self.summaries else SUMMARY
        if isinstance(answer, ProviderError):
            raise answer
        block: Block = Text(answer) if isinstance(answer, str) else answer
        yield Completed(Message("", "assistant", (block,)), "end", Usage(input=1_000, output=100))

    async def close(self) -> None:
        """Nothing is open."""


def count_tokens(request: Request) -> int:
    """A request's tokens, counted apart from the engine."""
    text = "".join(request.system) + "".join(f"{t.name}{t.description}{t.schema}" for t in request.tools)
    for message in request.messages:
        for part in message.blocks:
            text += part.text if isinstance(part, Text) else part.content if isinstance(part, ToolResult) else str(part)
    return len(text) // 4


class ContextHarness:
    """See the module's text. `turn` begins one; `work` adds a call with its result to it."""

    def __init__(
        self,
        model: SummaryModel,
        *,
        settings: ContextSettings | None = None,
        store: ContextStore | None = None,
        session: str = "s1",
        system: str = "You are a test.",
        tools: tuple[ToolSpec, ...] = (),
        along: tuple[SideText, ...] = (),
        messages: Sequence[Message] = (),
    ) -> None:
        self.bus = Bus()
        self.recorder = Recorder(self.bus)
        self.model = model
        self.store = store or MemoryContextStore()
        self.tools = tools
        self.messages: list[Message] = list(messages)
        self.turns = 0
        self.iteration = 0
        self.counted = len(messages)

        async def told(new: bool) -> Contribution:
            return Contribution((), along)

        sources = (system_source(lambda: (system,)), told)
        self.engine = ContextEngine(self.bus, "main", self.store, settings or ContextSettings(), sources)
        self.engine.converse(session)

    def _add(self, role: str, *blocks: Block) -> Message:
        self.counted += 1
        message = Message(
            f"m{self.counted:05}",
            "user" if role == "user" else "assistant" if role == "assistant" else "tool",
            blocks,
            float(self.counted),
            "person" if role == "user" else "main",
            f"t{self.turns}",
        )
        self.messages.append(message)
        return message

    def add_prompt(self, words: str) -> Message:
        """A person's prompt."""
        self.turns += 1
        self.iteration = 0
        return self._add("user", Text(words))

    def add_answer(self, words: str) -> Message:
        """An answer without calls."""
        return self._add("assistant", Text(words))

    def add_call(self, output: str, *, name: str = "bash", key: str = "", **arguments: Any) -> tuple[str, str]:
        """An answer with a call, and its result; ids of their blocks."""
        call = ToolCall(f"c{self.counted}", name, arguments or {"command": f"run {self.counted}"})
        answer = self._add("assistant", call)
        result = ToolResult(call.id, name, output, output=key, bytes=len(output) * 2 if key else 0)
        self.messages.append(Message(f"{answer.id}-results", "tool", (result,), answer.at, "main", answer.turn))
        return f"{answer.id}/0", f"{answer.id}-results/0"

    @property
    def draft(self) -> ContextDraft:
        """The request that is about to be made."""
        return ContextDraft(self.model, "small-1", self.tools, f"t{self.turns}", self.iteration)

    async def prepare(self) -> Prepared:
        """Everything that comes before the next request."""
        self.iteration += 1
        return await self.engine.prepare(self.messages, self.draft)

    async def next_request_text(self) -> str:
        """The next request's words, all together."""
        return request_text((await self.prepare()).assembly.request)

    async def report_usage(self, prepared: Prepared, ratio: float = 1.0) -> None:
        """The provider counts the request."""
        usage = Usage(input=round(prepared.assembly.tokens * ratio), output=10)
        await self.engine.answered(prepared, usage, 0.0)

    async def cuts(self, kind: str = "") -> list[Receipt]:
        """Receipts that were published."""
        await self.bus.drained()
        return [e.receipt for e in self.recorder.of(ContextCut) if kind in ("", e.receipt.kind)]

    async def failures(self) -> list[CutFailed]:
        """Cuts that were refused."""
        await self.bus.drained()
        return self.recorder.of(CutFailed)


def request_text(request: Request) -> str:
    """All texts of a request's messages."""
    parts: list[str] = []
    for message in request.messages:
        for part in message.blocks:
            parts.append(
                part.text if isinstance(part, Text) else part.content if isinstance(part, ToolResult) else str(part)
            )
    return "\n".join(parts)
