"""Which tools to offer a model with a small window: the most useful ones that leave room for a conversation. Pure.

Our own texts lose the sentences that point to a withheld tool; a person's text is never changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from gshtui.bus.messages import ToolResult
from gshtui.commands.tool_search import FIND_TOOL
from gshtui.context.log.blocks import Passage, text_tokens, tool_text
from gshtui.providers.port import ToolSpec
from gshtui.text.truncation import way_back

FIRST = ("bash", "read", "edit", "write", "grep", "glob", "output", FIND_TOOL, "search_context", "todo")
"""Most useful first."""
TOOLS = frozenset(
    {
        *FIRST,
        "compact",
        "context",
        "diff",
        "forget",
        "git_commit",
        "git_worktree",
        "memory",
        "pin",
        "pipe",
        "prune",
        "python",
        "remember",
        "report",
        "restore",
        "say",
        "session",
        "skills",
        "spawn_agent",
        "talk",
        "terminal",
        "timeline",
        "tmux",
        "undo",
        "usage",
    }
)
"""Every tool that our texts may name in backticks."""
SEARCH_MORE = "Use the `search_context` tool for more shell history, past sessions, or logs."
_SHARE = 3
"""All tools together take at most a third of the request."""


def offered(tools: Sequence[ToolSpec], room: int) -> tuple[ToolSpec, ...]:
    """Return the tools to offer, in their own order. `room`: tokens that a request may have."""
    sizes = {tool.name: text_tokens(tool_text(tool)) for tool in tools}
    left = room // _SHARE
    if sum(sizes.values()) <= left:
        return tuple(tools)
    order = {name: place for place, name in enumerate(FIRST)}
    kept: set[str] = set()
    for tool in sorted(tools, key=lambda tool: order.get(tool.name, len(order))):
        if sizes[tool.name] <= left:
            kept.add(tool.name)
            left -= sizes[tool.name]
    return tuple(tool for tool in tools if tool.name in kept)


def fitting(text: str, withheld: Collection[str], *, lines: bool = False) -> str:
    """Drop the sentences (or whole lines) of our text that name a withheld tool."""
    marks = [mark for name in withheld for mark in (f"`{name}`", f"`{name} ")]
    if not any(mark in text for mark in marks):
        return text
    kept: list[str] = []
    for line in text.split("\n"):
        sentences = line.split(". ")
        fit = [sentence for sentence in sentences if not any(mark in sentence for mark in marks)]
        if len(fit) == len(sentences):
            kept.append(line)
        elif fit and not lines:
            said = ". ".join(fit)
            kept.append(said if said.endswith((".", ":")) else f"{said}.")
    return "\n".join(kept)


def worded(passage: Passage, withheld: Collection[str]) -> Passage | None:
    """A passage as it is sent with these tools withheld; `None` if all of it is about one of them."""
    if passage.needs in withheld:
        return None
    if passage.section != "system" or passage.kind == "file":
        return passage
    text = fitting(passage.text, withheld, lines=bool(passage.needs))
    return passage if text == passage.text else replace(passage, text=text)


def described(tool: ToolSpec, withheld: Collection[str]) -> ToolSpec:
    """Describe a tool when others are withheld. Its own parameters and their values are not tools."""
    text = fitting(tool.description, set(withheld) - set(_words(tool.schema)))
    return tool if text == tool.description else replace(tool, description=text)


def without_way_back(result: ToolResult) -> ToolResult:
    """A result whose marker does not name `output`."""
    line = way_back(result.output)
    if not line or line not in result.content:
        return result
    return msgspec.structs.replace(result, content=result.content.replace(line, "", 1))


def without_search(text: str) -> str:
    """An accompanying text without the sentence that names `search_context`."""
    return text.removesuffix(SEARCH_MORE).rstrip("\n")


def _words(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        found = cast("Mapping[str, Any]", schema)
        properties = found.get("properties")
        yield from cast("Mapping[str, Any]", properties) if isinstance(properties, Mapping) else ()
        yield from (str(value) for value in found.get("enum", ()))
        for part in found.values():
            yield from _words(part)


class ToolOffer:
    """The tools offered to one agent's models, computed once per model, with a note when some are left out."""

    def __init__(self) -> None:
        self._known: tuple[tuple[ToolSpec, ...], int, frozenset[str]] | None = None
        self._tools: tuple[ToolSpec, ...] = ()
        self.withheld: frozenset[str] = TOOLS
        """Tools missing from the last computed offer, which cannot be found either."""
        self._told: set[str] = set()

    def select(
        self, tools: tuple[ToolSpec, ...], room: int, findable: frozenset[str] = frozenset()
    ) -> tuple[ToolSpec, ...]:
        """The tools for a request of `room` tokens; `findable`: those that `find_tool` finds."""
        if self._known != (tools, room, findable):
            kept = offered(tools, room)
            names = {tool.name for tool in kept}
            reached = names | findable if FIND_TOOL in names else names
            self.withheld = (TOOLS | {tool.name for tool in tools}) - reached
            self._known = (tools, room, findable)
            self._tools = tuple(described(tool, self.withheld) for tool in kept)
        return self._tools

    def word(self, model: str, window: int, tools: tuple[ToolSpec, ...]) -> str:
        """The note for a person, once per model; empty if there is nothing to say."""
        kept = self._tools
        if len(kept) == len(tools) or model in self._told:
            return ""
        self._told.add(model)
        names = ", ".join(tool.name for tool in kept)
        return (
            f"The window of {model} has only {window:,} tokens, so it gets {len(kept)} of {len(tools)} tools: {names}."
        )
