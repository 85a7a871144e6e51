"""Assembly: what one iteration sends, a pure function of log, plan and inputs, in a fixed order of sections.

Owns the order of the sections and the list of blocks, and the inputs of a request; does no I/O. Its cost is
proportional to what changed since the conversation's last assembly. Called by the engine and the service.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gshtui.bus.agent_data import EffortChoice
from gshtui.bus.context_data import SECTIONS, Block, SectionName
from gshtui.bus.events.agent_events import SectionSize
from gshtui.bus.messages import Block as Part
from gshtui.bus.messages import Message
from gshtui.context.assembly.limits import ContextSettings, Limits
from gshtui.context.log.blocks import Passage, passage_block, text_of, tool_block, tool_text
from gshtui.context.log.history import HistorySection
from gshtui.context.log.overlays import ContextPlan
from gshtui.media.media_tokens import ANY_MODEL, MediaRule
from gshtui.providers.port import Capabilities, Provider, Request, ToolSpec


class Inputs(msgspec.Struct, frozen=True):
    """The inputs of an assembly besides log and plan."""

    model: str
    passages: tuple[Passage, ...] = ()
    """Texts of the sections system, call and memory; each section keeps their given order."""
    tools: tuple[ToolSpec, ...] = ()
    turn: str = ""
    max_output: int = 0
    outputs: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    """Whole texts of shortened outputs that are restored, by key."""
    effort: EffortChoice = ""
    rule: MediaRule = ANY_MODEL
    """How the model takes pictures, documents and sounds."""


class Assembly(msgspec.Struct, frozen=True):
    """A request, its blocks in the order in which they are sent, and the sizes of its sections."""

    request: Request
    blocks: tuple[Block, ...]
    sections: tuple[SectionSize, ...]
    tokens: int
    parts: tuple[Part | str, ...] = ()
    """What each block represents."""
    fixed: int = 0
    """The number of blocks before the history."""

    def text(self, number: int) -> str:
        part = self.parts[number]
        return part if isinstance(part, str) else text_of(part)

    def section(self, name: SectionName) -> int:
        return next((section.tokens for section in self.sections if section.name == name), 0)


class Assembler:
    """Makes the assemblies of one conversation, one after another."""

    def __init__(self) -> None:
        self.history = HistorySection()
        self._fixed_of: tuple[tuple[Passage, ...], tuple[ToolSpec, ...]] | None = None
        self._fixed: tuple[tuple[Block, ...], tuple[str, ...], dict[str, int]] = ((), (), {})

    def assemble(self, log: Sequence[Message], plan: ContextPlan, inputs: Inputs) -> Assembly:
        """One request: system · call · memory · tools · history · input."""
        blocks, texts, sizes = self._fixed_blocks(inputs)
        history = self.history
        history.render(
            log, plan, inputs.outputs, inputs.turn, frozenset(tool.name for tool in inputs.tools), inputs.rule
        )
        sizes = sizes | {"history": history.tokens - history.input_tokens, "input": history.input_tokens}
        system = tuple(p.text for name in SECTIONS for p in inputs.passages if p.section == name)
        return Assembly(
            Request(
                inputs.model, system, tuple(history.messages), inputs.tools, inputs.max_output, effort=inputs.effort
            ),
            (*blocks, *history.blocks),
            tuple(SectionSize(name, sizes.get(name, 0)) for name in SECTIONS),
            sum(sizes.values()),
            (*texts, *history.parts),
            len(blocks),
        )

    def _fixed_blocks(self, inputs: Inputs) -> tuple[tuple[Block, ...], tuple[str, ...], dict[str, int]]:
        key = (inputs.passages, inputs.tools)
        if key == self._fixed_of:
            return self._fixed
        blocks: list[Block] = []
        texts: list[str] = []
        for name in ("system", "call", "memory"):
            passages = [passage for passage in inputs.passages if passage.section == name]
            blocks += [passage_block(number, passage) for number, passage in enumerate(passages)]
            texts += [passage.text for passage in passages]
        blocks += [tool_block(spec) for spec in inputs.tools]
        texts += [tool_text(spec) for spec in inputs.tools]
        sizes = {name: sum(b.tokens for b in blocks if b.section == name) for name in SECTIONS}
        self._fixed_of, self._fixed = key, (tuple(blocks), tuple(texts), sizes)
        return self._fixed


def assemble(log: Sequence[Message], plan: ContextPlan, inputs: Inputs) -> Assembly:
    """One assembly from scratch, the same as an `Assembler` makes step by step."""
    return Assembler().assemble(log, plan, inputs)


class CutRequest(msgspec.Struct, frozen=True):
    """Who wants a cut, and why."""

    by: str = "person"
    why: str = ""
    focus: str = ""
    request: str = ""
    """Id that the answer names."""
    forced: bool = False
    """Cut everything that can be cut: nothing else makes room."""
    dry: bool = False
    """Only a preview: nothing is asked, written or published."""

    @property
    def automatic(self) -> bool:
        """Nobody asked for it."""
        return self.by in ("threshold", "overflow", "strategy")


class RequestInputs(msgspec.Struct, frozen=True):
    """Immutable, so that the values stay consistent while a request is made or cut."""

    agent: str
    session: str
    provider: Provider
    model: str
    capabilities: Capabilities
    settings: ContextSettings
    limits: Limits
    messages: Sequence[Message]
    inputs: Inputs

    @property
    def key(self) -> str:
        """The model with its provider: the key under which counts are kept."""
        return f"{self.provider.name}/{self.model}"
