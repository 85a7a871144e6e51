"""Whatever is done to a context, in whatever order: requests are valid, pins and words are there, nothing is lost.

Random sequences of append, prune, compact, clear, drop, undo, pin, restore, interrupt, crash and resume, over the
engine with its real decisions; and the incremental ways against the plain ones.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from gshtui.bus.bus import Bus
from gshtui.bus.context_data import CutKind
from gshtui.bus.messages import Message, Text, ToolCall, ToolResult
from gshtui.context.assembly.assembly import Assembler, CutRequest, Inputs, assemble
from gshtui.context.assembly.limits import ContextSettings
from gshtui.context.log.conversation_log import ConversationLog, missing_results
from gshtui.context.log.overlays import Overlay, Pinned, Restored, Undone, Unpinned, decode, encode, fold_overlays
from gshtui.context.log.ports import MemoryContextStore
from gshtui.context.views import ContextError
from gshtui.providers.port import Request
from tests.kit.context_harness import ContextHarness, SummaryModel, request_text
from tests.kit.pairing import paired
from tests.kit.storms import examples

WINDOW = 6_000
Step = tuple[str, int]
GROWING = ("words", "words", "work", "work", "work", "long", "long", "open", "say")
CUTTING = ("prune", "compact", "clear", "drop", "undo", "pin", "unpin", "restore")
BREAKING = ("interrupt", "crash", "request", "request", "request")
STEPS = st.lists(
    st.tuples(
        st.sampled_from([*GROWING, *CUTTING, *BREAKING]),
        st.integers(0, 1_000),
    ),
    min_size=3,
    max_size=40,
)


@dataclass
class World:
    """A conversation that goes through all of it."""

    store: MemoryContextStore = field(default_factory=MemoryContextStore)
    model: SummaryModel = field(default_factory=lambda: SummaryModel(WINDOW))
    pinned: dict[str, str] = field(default_factory=dict[str, str])
    log: list[bytes] = field(default_factory=list[bytes])

    def __post_init__(self) -> None:
        self.here = self._engine([])

    def _engine(self, messages: list[Message]) -> ContextHarness:
        here = ContextHarness(
            self.model, store=self.store, messages=messages, settings=ContextSettings(protect=1_000, output_bytes=4_000)
        )
        here.turns = sum(message.role == "user" for message in messages)
        return here

    async def do(self, step: str, number: int) -> None:
        here = self.here
        if not here.messages:
            here.add_prompt("the first words")
        match step:
            case "words":
                here.add_prompt(f"words {number}")
            case "work":
                here.add_call(f"output {number} " + "x" * number, name="read", path=f"src/{number}.py")
            case "long":
                here.add_call(f"long {number} " + "y" * 3_000)
            case "open":
                here.counted += 1
                here.messages.append(
                    Message(f"m{here.counted:05}", "assistant", (ToolCall(f"o{number}", "bash", {}),), turn="t")
                )
                self._close()
            case "say":
                here.add_answer(f"thought {number} " + "z" * number)
            case "prune" | "compact" | "clear" | "drop":
                await self._cut(step)  # type: ignore[arg-type]
            case "interrupt" | "crash":
                self.here = self._engine(list(here.messages))
            case "request":
                await self._request()
            case _:
                await self._decide(step, number)

    def _close(self) -> None:
        if (closing := missing_results(self.here.messages)) is not None:
            self.here.messages.append(closing)

    async def _cut(self, kind: CutKind) -> None:
        try:
            await self.here.engine.cut(self.here.messages, self.here.draft, kind, CutRequest())
        except ContextError as error:
            assert error.message.endswith(".")

    async def _decide(self, step: str, number: int) -> None:
        here = self.here
        await here.engine.terms(here.messages, here.draft)
        decisions = here.engine.cutter.decisions
        await decisions.refresh()
        blocks = [b for b in paired_blocks(here.messages) if step != "pin" or b[1].tokens < 200]
        id, block = blocks[number % len(blocks)]
        overlay: Overlay | None = None
        match step:
            case "pin" if len(self.pinned) < 3:
                overlay, self.pinned[id] = Pinned(block=id), block.text
            case "unpin" if self.pinned:
                gone = sorted(self.pinned)[number % len(self.pinned)]
                del self.pinned[gone]
                overlay = Unpinned(block=gone)
            case "restore" if block.tokens < 200:
                overlay = Restored(block=id)
            case "undo" if decisions.plan.cuts:
                overlay = Undone(cut=list(decisions.plan.cuts)[number % len(decisions.plan.cuts)])
            case _:
                pass
        if overlay is not None:
            await decisions.add(overlay)

    async def _request(self) -> None:
        here = self.here
        try:
            prepared = await here.prepare()
        except ContextError as error:
            assert error.kind == "full" and error.hint
            return
        request = prepared.assembly.request
        valid(request)
        assert prepared.assembly.tokens <= WINDOW
        assert prepared.assembly.tokens == sum(block.tokens for block in prepared.assembly.blocks)
        text = request_text(request)
        for id, words in self.pinned.items():
            assert words in text, f"{id} is pinned"
        newest = next(message.text for message in reversed(here.messages) if message.role == "user")
        cleared = here.engine.cutter.plan.base
        if cleared is None or cleared.receipt.kind != "clear":
            assert newest in text, "the person's newest words"
        plain = assemble(here.messages, here.engine.cutter.plan, self._inputs(request))
        assert plain.request.messages == request.messages
        sent = prepared.assembly.blocks
        assert [(b.hash, b.section) for b in plain.blocks] == [(b.hash, b.section) for b in sent]
        await here.report_usage(prepared)

    def _inputs(self, request: Request) -> Inputs:
        from gshtui.context.log.blocks import Passage

        here = self.here
        passages = tuple(Passage("system", "x", text) for text in request.system)
        return Inputs("small-1", passages, (), f"t{here.turns}", request.max_output)


@dataclass
class Piece:
    """A block's text and size."""

    text: str
    tokens: int


def paired_blocks(messages: list[Message]) -> list[tuple[str, Piece]]:
    """Every block of the log by its id."""
    found: list[tuple[str, Piece]] = []
    for message in paired(messages):
        for number, part in enumerate(message.blocks):
            text = part.text if isinstance(part, Text) else part.content if isinstance(part, ToolResult) else ""
            if text:
                found.append((f"{message.id}/{number}", Piece(text, len(text) // 4)))
    return found


def valid(request: Request) -> None:
    """What every provider asks: each call with its one result right behind it, and no result without its call."""
    waiting: list[str] = []
    for message in request.messages:
        assert message.blocks
        if waiting:
            assert message.role == "tool"
            assert [result.call_id for result in message.results] == waiting
            waiting = []
            continue
        assert message.role != "tool"
        waiting = [call.id for call in message.calls]
        assert len(set(waiting)) == len(waiting)
    assert not waiting


@given(STEPS)
@settings(max_examples=examples(150), deadline=None)
def test_every_request_is_valid_and_nothing_is_lost(steps: list[Step]) -> None:
    async def run() -> None:
        world = World()
        for step, number in steps:
            before = [message.id for message in world.here.messages]
            copies = list(world.here.messages)
            await world.do(step, number)
            after = world.here.messages
            assert [message.id for message in after[: len(before)]] == before
            assert all(a is b for a, b in zip(after, copies, strict=False)), "the log is never edited"
        await world.do("request", 0)

    asyncio.run(run())


MESSAGES = st.lists(
    st.one_of(
        st.tuples(st.just("user"), st.just(0)),
        st.tuples(st.just("assistant"), st.integers(0, 3)),
        st.tuples(st.just("tool"), st.integers(0, 3)),
        st.tuples(st.just("blank"), st.just(0)),
    ),
    max_size=25,
)


@given(MESSAGES, st.integers(1, 5))
@settings(max_examples=examples(200), deadline=None)
def test_the_log_that_grows_pairs_as_the_plain_rule(kinds: list[tuple[str, int]], portion: int) -> None:
    messages: list[Message] = []
    for number, (kind, count) in enumerate(kinds):
        if kind == "user":
            messages.append(Message(f"u{number}", "user", (Text(f"words {number}"),)))
        elif kind == "assistant":
            calls = tuple(ToolCall(f"c{n % 2}", "bash", {"n": n}) for n in range(count))
            messages.append(Message(f"a{number}", "assistant", (Text("so"), *calls)))
        elif kind == "tool":
            results = tuple(ToolResult(f"c{n}", "bash", f"out {number}") for n in range(count))
            messages.append(Message(f"r{number}", "tool", results))
        else:
            messages.append(Message(f"b{number}", "assistant", ()))
    log, assembler = ConversationLog(), Assembler()
    for end in range(0, len(messages) + portion, portion):
        log.update(messages[:end])
        step = assembler.assemble(messages[:end], fold_overlays(()), Inputs("m"))
        assert [entry.message for entry in log.entries] == list(paired(messages[:end]))
        assert step.request.messages == paired(messages[:end])
        assert step.blocks == assemble(messages[:end], fold_overlays(()), Inputs("m")).blocks
        assert step.tokens == sum(block.tokens for block in step.blocks)


@given(STEPS)
@settings(max_examples=examples(30), deadline=None)
def test_overlays_survive_their_json(steps: list[Step]) -> None:
    async def run() -> None:
        world = World()
        for step, number in steps:
            await world.do(step, number)
        for _, data in await world.store.overlays("s1"):
            overlay = decode(data)
            assert overlay is not None and decode(encode(overlay)) == overlay
        assert isinstance(world.here.bus, Bus)

    asyncio.run(run())


def test_an_overlay_of_a_later_version_changes_nothing() -> None:
    assert decode('{"kind":"teleported","id":"1"}') is None
    assert decode("not json") is None
