"""`/context`: what each agent's model is sent next, section by section, computed when it is read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from gshtui.bus.context_data import SECTIONS, Block
from gshtui.commands.declaration import Caller, Invocation
from gshtui.context.commands.context_router import ContextAccess, ContextRouter
from gshtui.context.log.scratchpad import THINKING, thoughts
from gshtui.context.views import ContextError, ContextView
from gshtui.system.expected_error import ExpectedError
from gshtui.text.sanitise import literal, one_line
from gshtui.vfs import FileError, Node, ReadOnlyMount, Right, as_file_error, is_folder, missing

ASSEMBLY = "_assembly.md"
FILES: dict[str, tuple[str, ...]] = {
    "full": SECTIONS,
    "system": ("system",),
    "call": ("call",),
    "memory": ("memory",),
    "tools": ("tools",),
    "history": ("history", "input"),
    THINKING: ("history", "input"),
}
"""The sections of each file."""
_SAID = """\
# How a request is put together

Each request of an agent has these sections, in this order. `/context/NAME/full.ctx` is the next request of NAME as it
would be sent now; the other files are one section each, and thinking.ctx is what
the model thought in its last turn, by itself or with `think`, which no request of a later turn has.

Of an agent of ours in a terminal, or a conversation that nobody has open, system, call and tools are those of its
last request, and memory, history and input those of the next; a line above them says so. Before its first request,
all of it is what it would begin with.

1. system: who the agent is, how it works here, its skills, and AGENTS.md
2. call: the topic and the pinned documents of the call that it is in
3. memory: its notes, all of them or those that fit the conversation best (`/memory/NAME`)
4. tools: the tools that it can call
5. history: the conversation, as far as no cut has removed it
6. input: what is answered next

`context agent=NAME` shows the same with tokens, sources and cuts.
"""

Texts = list[str]
Agents = Callable[[], Awaitable[list[str]]]
"""Returns the names of the agents here."""


class ContextMount(ReadOnlyMount):
    """The next requests of all agents."""

    WHY = "It is what the agent's model is sent: change its memory, its call or its instructions instead."

    def __init__(self, contexts: ContextRouter, access: ContextAccess, agents: Agents) -> None:
        self._contexts = contexts
        self._access = access
        self._agents = agents

    async def right(self, caller: Caller, steps: tuple[str, ...], *, writes: bool) -> Right:
        """An agent reads its own and its family's; it asks before it reads another's."""
        if writes:
            return "never"
        if len(steps) < 2:
            return "free"
        return await read_right(self._access, caller, steps[0])

    async def stat(self, caller: Caller, steps: tuple[str, ...]) -> Node:
        """An agent's folder, or a file of it."""
        if not steps:
            return Node("context", "folder")
        found = next((node for node in await self.list(caller, steps[:-1]) if node.name == steps[-1]), None)
        if found is not None:
            return found
        if len(steps) == 1:
            await self._view(steps[0])  # an agent by its id, or one with an older conversation here
            return Node(steps[0], "folder", type="agent")
        raise missing("context", steps)

    async def list(self, caller: Caller, steps: tuple[str, ...]) -> list[Node]:
        if not steps:
            return [Node(ASSEMBLY), *(Node(name, "folder", type="agent") for name in await self._agents())]
        if len(steps) > 1 or steps == (ASSEMBLY,):
            raise FileError("file", f"{'/'.join(steps)} is a file.", "`cat` shows it.")
        try:
            view = await self._view("/".join(steps))
        except FileError as error:
            if error.kind != "missing" or "/".join(steps) not in await self._agents():
                raise
            return [Node(f"{name}.ctx", about={"tokens": 0}) for name in FILES]  # each says why there is nothing yet
        return [Node(f"{name}.ctx", about={"tokens": sum(b.tokens for b in _blocks(view, name))}) for name in FILES]

    async def read(self, caller: Caller, steps: tuple[str, ...]) -> str:
        """A section as it would be sent now."""
        if steps == (ASSEMBLY,):
            return _SAID
        if len(steps) < 2:
            raise is_folder("context", steps)
        name = steps[1].removesuffix(".ctx")
        if len(steps) > 2 or name not in FILES or not steps[1].endswith(".ctx"):
            raise missing("context", steps)
        view = await self._view(steps[0], sent=name == THINKING)
        return await self.text_of(view, _blocks(view, name), headed=name == "full")

    async def text_of(self, view: ContextView, blocks: Sequence[Block], *, headed: bool) -> str:
        """The texts of blocks, each below its source and tokens. Raises `FileError`."""
        section = ""
        parts: Texts = []
        if view.note:
            parts.append(f"[{one_line(view.note, 300)}]")
        for block in blocks:
            if headed and block.section != section:
                section = block.section
                parts.append(f"===== {section} =====")
            try:
                text = await self._contexts.text(block.hash)
            except ContextError as error:
                raise as_file_error(error) from error
            parts.append(f"[{one_line(block.source, 120)}, {block.tokens:,} tokens]\n{literal(text)}")
        return "\n\n".join(parts) + "\n" if parts else ""

    async def _view(self, agent: str, *, sent: bool = False) -> ContextView:
        """The next request; `sent`: the last one that was sent, if there is one."""
        try:
            reader = await self._contexts.reader(agent)
            past = await reader.iterations(agent) if sent else []
            return await reader.view(agent, past[-1].id if past else "")
        except ContextError as error:
            raise FileError("missing" if error.kind == "unknown" else "failed", error.message, error.hint) from error


def _blocks(view: ContextView, name: str) -> list[Block]:
    found = [block for block in view.blocks if block.section in FILES[name]]
    return list(thoughts(found)) if name == THINKING else found


async def read_right(access: ContextAccess, caller: Caller, agent: str) -> Right:
    """What an agent may do with another's context: the same as the command `context` lets it."""
    invocation = Invocation(caller, Path("/"), Path("/"), agent=caller.name)
    try:
        assessment = await access.assess(invocation, agent, "look", "")
    except ExpectedError as error:
        raise as_file_error(error) from error
    return "free" if assessment.inside else "ask"
