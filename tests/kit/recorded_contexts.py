"""A context service as recorded: requests, their blocks and texts, cuts with receipts; it notes what is done.

It keeps the contract of `ContextQueries` and `ContextEditor` in memory, with a pinned clock; `done`
holds every act.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from gshtui.bus.context_data import (
    SECTIONS,
    Block,
    BlockKind,
    Change,
    CutKind,
    Item,
    Iteration,
    Receipt,
    SectionName,
)
from gshtui.bus.event import Event
from gshtui.bus.events.context_events import BlockPinned, BlockRestored, CutUndone
from gshtui.bus.messages import Usage
from gshtui.context.assembly.limits import ContextSettings
from gshtui.context.cuts.forecast import CarryBy
from gshtui.context.views import Carry, ContextError, ContextView, Forecast, RequestText, WhatIf
from tests.kit.recorded import NOW, S

SYSTEM = """\
You are main, an agent in gsh-tui. You work in /src/aurora.

- Say what you do in few words.
- Never claim that a test passed which did not run.
"""
AGENTS = "# Aurora\n\nA parser for a small language.\n\n- Run `make test` before you say that it works.\n"
PROMPT = "The parser fails on an empty line. Find out why, fix it, and run the tests."
PARSER = "def parse(line: str) -> list[str]:\n\ttokens = line.split()\n\treturn [tokens[0], *tokens[1:]]\n"
LOG = "\n".join(f"tests/test_parse.py::test_{number:03} PASSED" for number in range(60))
FAILED = f"{LOG}\ntests/test_parse.py::test_parse_empty FAILED\n\nIndexError: list index out of range\n"
SUMMARY = """\
## Goal
Make the parser take empty lines.

## Done
- Read src/parse.py: `parse` indexes the first token without asking whether there is one.
- make test: 214 passed, 1 failed (test_parse_empty).

## Next
Return an empty list, run the tests again.
"""
NEXT = "Good. Now write a changelog entry."


class RecordedContexts:
    """See the module. `size`: tokens that the history's largest block is made up to."""

    def __init__(self, size: int = 0, blocks: int = 0) -> None:
        self.texts: dict[str, str] = {}
        self.done: list[tuple[Any, ...]] = []
        self.refuses: ContextError | None = None
        self.publish: Callable[[Event], None] | None = None
        """Where it says what has changed; set by the hub."""
        self.pinned: set[str] = set()
        self.restored: set[str] = set()
        self.undone: set[str] = set()
        self.size = size
        self.more = blocks
        self.made = iterations()

    # Reading

    async def iterations(self, agent: str, *, limit: int = 500) -> list[Iteration]:
        self._may(agent)
        return self.made[-limit:] if agent == "main" else []

    async def view(self, agent: str, iteration: str = "") -> ContextView:
        self._may(agent)
        one = next((one for one in self.made if one.id == iteration), None)
        if iteration and one is None:
            raise ContextError("unknown", f"There is no iteration {iteration}.", "The timeline lists them.")
        number = self.made.index(one) + 1 if one is not None else len(self.made) + 1
        blocks = self.blocks(agent, number)
        foreign = agent == "0004"
        return ContextView(
            agent=agent,
            session=S,
            iteration=one,
            model="claude-sonnet-4-5",
            provider="anthropic",
            window=200_000,
            tokens=sum(block.tokens for block in blocks),
            trigger=160_000,
            blocks=blocks,
            note="Reconstructed from its transcript: what its program adds by itself is not in it." if foreign else "",
            error=0.042,
        )

    async def text(self, hash: str) -> str:
        if hash not in self.texts:
            raise ContextError("unknown", "That text is not in the record.", "It may have been removed.")
        return self.texts[hash]

    async def request(self, agent: str, iteration: str = "") -> RequestText:
        view = await self.view(agent, iteration)
        messages = [
            {"role": block.role or "user", "content": self.texts[block.hash]}
            for block in view.blocks
            if block.section in ("history", "input")
        ]
        body = {"model": view.model, "max_tokens": 32_000, "stream": True, "system": SYSTEM, "messages": messages}
        if agent == "0004":
            return RequestText(json.dumps(body), False, "Its program sends its own; this is what its transcript holds.")
        return RequestText(json.dumps(body), True, "")

    async def receipts(self, agent: str) -> list[Receipt]:
        return [await self.receipt("cut1"), await self.receipt("cut2")] if agent == "main" else []

    async def receipt(self, id: str) -> Receipt:
        found = next((one for one in (COMPACTED, PRUNED) if one.id == id), None)
        if found is None:
            raise ContextError("unknown", f"There is no cut {id}.")
        for item in found.items:
            self.keep(item.source + "\n" + FAILED, item.hash)
        return replace(found, undone=id in self.undone, undone_by="person" if id in self.undone else "")

    # Weighing

    async def preview(self, agent: str, kind: CutKind) -> Receipt:
        self._may(agent)
        return replace(COMPACTED if kind != "prune" else PRUNED, kind=kind, id="", at=0.0, by="person", summary="")

    async def forecast(self, agent: str) -> Forecast:
        return Forecast(9, 14_200, 160_000)

    async def what_if(self, agent: str, *, model: str = "", provider: str = "", without: Sequence[str] = ()) -> WhatIf:
        return WhatIf(61_300, 32_000, None, False, ("The oldest 4 results would be pruned.", "Then it is compacted."))

    async def carry(self, agent: str, *, by: CarryBy = "source") -> list[Carry]:
        return [Carry("bash make test", 640, 3, 1_920, 0.0058), Carry("AGENTS.md", 24, 4, 96, 0.0003)]

    # Acting

    async def cut(self, agent: str, kind: CutKind, *, by: str = "person", focus: str = "") -> Receipt:
        self._may(agent)
        self.done.append(("cut", agent, kind))
        return replace(COMPACTED, kind=kind)

    async def undo(self, agent: str, cut: str, *, by: str = "person") -> None:
        self._may(agent)
        self.done.append(("undo", agent, cut))
        self.undone.add(cut)
        self._say(CutUndone(agent=agent, session=S, cut=cut, by=by))

    async def restore(self, agent: str, block: str, *, by: str = "person") -> None:
        self._may(agent)
        self.done.append(("restore", agent, block))
        self.restored.add(block)
        self._say(BlockRestored(agent=agent, session=S, block=block, by=by))

    async def pin(self, agent: str, block: str, on: bool, *, by: str = "person") -> None:
        self._may(agent)
        self.done.append(("pin", agent, block, on))
        (self.pinned.add if on else self.pinned.discard)(block)
        self._say(BlockPinned(agent=agent, session=S, block=block, pinned=on, by=by))

    async def edit_summary(self, agent: str, cut: str, text: str, *, by: str = "person") -> None:
        self.done.append(("edit_summary", agent, cut, text))

    async def tune(
        self,
        agent: str,
        *,
        threshold: float | None = None,
        protect: int | None = None,
        strategy: str | None = None,
        output_bytes: int | None = None,
        by: str = "person",
    ) -> None:
        self.done.append(("tune", agent, threshold, protect, strategy))

    async def settings(self, agent: str) -> ContextSettings:
        return ContextSettings()

    # What was recorded

    def _say(self, event: Event) -> None:
        if self.publish is not None:
            self.publish(event)

    def _may(self, agent: str) -> None:
        if self.refuses is not None:
            raise self.refuses
        if agent not in ("main", "0001", "0002", "0003", "0004"):
            raise ContextError("unknown", f"There is no agent {agent!r}.", "`gsh-tui agent ls` lists them.")

    def keep(self, text: str, hash: str = "") -> str:
        hash = hash or hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        self.texts[hash] = text
        return hash

    def block(
        self, id: str, section: SectionName, kind: BlockKind, source: str, text: str, age: float = 0.0, **more: Any
    ) -> Block:
        tokens = more.pop("tokens", len(text.encode()) // 4)
        at = NOW - age if age else 0.0
        pinned = id in self.pinned
        return Block(id, section, kind, source, tokens, self.keep(text), at=at, pinned=pinned, **more)

    def blocks(self, agent: str, number: int) -> tuple[Block, ...]:
        """What request `number` of an agent held, from 1."""
        cached = "read" if number > 1 else "written"
        found = [
            self.block("system/0", "system", "system", "the workbench", SYSTEM, cache=cached, role="system"),
            self.block("memory/AGENTS.md", "memory", "file", "AGENTS.md", AGENTS, cache=cached, path="AGENTS.md"),
            *(
                self.block(
                    f"tool/{name}", "tools", "tool", name, json.dumps({"name": name, "about": about}), cache=cached
                )
                for name, about in (
                    ("bash", "Run a command line."),
                    ("edit", "Change a file."),
                    ("read", "Read a file."),
                )
            ),
        ]
        if agent != "main":
            found[0] = self.block("system/0", "system", "system", "its persona", "You explore, and change nothing.\n")
        if number == 1:
            found.append(self.block("p1/0", "input", "text", "you", PROMPT, 60, role="user", cache="fresh"))
            return tuple(found)
        found.append(self.block("p1/0", "history", "text", "you", PROMPT, 60, role="user", cache="read"))
        found.append(
            self.block(
                "m1/0", "history", "tool_call", "read src/parse.py", '{"path": "src/parse.py"}', 56, cache="read"
            )
        )
        found.append(self.block("r1/0", "history", "tool_result", "read src/parse.py", PARSER, 55, cache="read"))
        if number > 2:
            whole = "r2/0" in self.restored or number == 3
            text = FAILED if whole else "[pruned: 1,240 tokens of `make test`; read it with search_context]"
            change = () if whole else (Change("pruned", "cut1", 640, 16),)
            found.append(
                self.block(
                    "r2/0", "history", "tool_result", "bash make test", text, 40, cache="written", changes=change
                )
            )
        for extra in range(self.more):
            words = f"Line {extra}: {'all work and no play ' * 18}\n" * (self.size * 4 // max(1, self.more) // 390 + 1)
            found.append(self.block(f"x{extra}/0", "history", "tool_result", f"read big/{extra}.txt", words, 30))
        if number > len(self.made):
            found.append(self.block("p2/0", "input", "text", "you", NEXT, 3, role="user", cache="fresh"))
        return tuple(found)


def iterations(count: int = 4, tokens: Sequence[int] = ()) -> list[Iteration]:
    """Requests of `main`, a minute apart, the third after a prune and the last after a compaction."""
    made: list[Iteration] = []
    for number in range(1, count + 1):
        size = tokens[number - 1] if tokens else 6_000 + 900 * number
        made.append(
            Iteration(
                id=f"it{number}",
                agent="main",
                session=S,
                turn=f"t{(number + 2) // 3}",
                iteration=(number - 1) % 3 + 1,
                at=NOW - 60 * (count - number + 1),
                provider="anthropic",
                model="claude-sonnet-4-5",
                tokens=size,
                window=200_000,
                sections=tuple((name, size // len(SECTIONS)) for name in SECTIONS),
                usage=Usage(input=size // 3, output=240, cache_read=size // 2, cache_write=size // 5),
                cost=0.0123,
                trigger=160_000,
                cuts={3: ("cut1",), 4: ("cut2",)}.get(number, ()),
            )
        )
    return made


PRUNED = Receipt(
    kind="prune",
    agent="main",
    session=S,
    id="cut1",
    at=NOW - 130,
    by="threshold",
    why="Results of tools older than the protected 40,000 tokens.",
    tokens_before=8_700,
    tokens_after=8_076,
    messages_before=9,
    messages_after=9,
    request_before=0.0261,
    request_after=0.0242,
    seconds=0.01,
    items=(
        Item("r2/0", "bash make test", "shortened", 640, 16, "h-r2"),
        Item("r1/0", "read src/parse.py", "kept", 31, 31, "h-r1", "small"),
    ),
)
COMPACTED = Receipt(
    kind="compact",
    agent="main",
    session=S,
    id="cut2",
    at=NOW - 70,
    by="threshold",
    why="161,200 of 200,000 tokens were used; a compaction starts at 160,000.",
    tokens_before=161_200,
    tokens_after=48_300,
    messages_before=210,
    messages_after=14,
    request_before=0.4836,
    request_after=0.1449,
    usage=Usage(input=150_000, output=1_240),
    cost=0.0231,
    seconds=11.4,
    items=(
        Item("p1/0", "you", "carried", 19, 19, "h-p1", "your words"),
        Item("memory/AGENTS.md", "AGENTS.md", "kept", 24, 24, "h-agents", "never cut"),
        Item("r1/0", "read src/parse.py", "summarised", 31, 0, "h-r1"),
        Item("r2/0", "bash make test", "summarised", 640, 0, "h-r2"),
        Item("m1/0", "main", "dropped", 210, 0, "h-m1"),
        Item("f/0", "touched files", "carried", 0, 40, "", "touched file"),
    ),
    summary=SUMMARY,
    steps=("The first summary had no section “Next”; it was asked for again.",),
)
