"""The tool `find_tool`: the tools that requests do not describe, found by name or by what they do.

A tool that was found, or called without being found, is described in each later request of its conversation. That
follows from the conversation's log and the declarations alone, so that a resumed conversation has the same tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from pydantic import Field

from gshtui.bus.messages import Message
from gshtui.commands.declaration import Access, Command, CommandError, Invocation, Outcome
from gshtui.commands.registry import AnyCommand, ListedTool, Registry
from gshtui.commands.schema import ToolParameters, lean_schema, tool_description

FIND_TOOL = "find_tool"
_DESCRIPTION = """\
Find a tool that is not described here, by name or by what it should do; then call it by its name like any other. \
The name of one that is described gives its details and rare parameters."""
_MOST = 4
"""Tools that one search by words adds to the requests."""
_LEAST = 3
"""Letters of a word that counts in a search by words."""
_INDEX = 3_000
"""Characters of the names of all tools that requests do not describe."""
_EXAMPLES = 3
"""Names of a family that are listed where not all are."""
_SHORTEST = 4
"""Letters from which the beginning of a word stands for the word: `term` for `terminal`."""
_WORD = re.compile(r"[a-z0-9_]+")


class FindToolParameters(ToolParameters):
    """What to look for."""

    query: str = Field(default="", description="Names or words; empty lists all")


def find_tools(tools: Sequence[AnyCommand], query: str) -> list[AnyCommand]:
    """The tools that a query means, best first: those that it lists by name, or those whose texts have its words."""
    named = [tool for tool in tools if tool.name in _words(query)]
    if named and len(named) == len(set(_words(query))):
        return named
    words = [word for word in _words(query) if len(word) >= _LEAST]
    scores = {tool.name: sum(_score(tool, word) for word in words) for tool in tools}
    best = max(scores.values(), default=0)
    fitting = [tool for tool in tools if scores[tool.name] * 2 >= best > 0]
    return sorted(fitting, key=lambda tool: -scores[tool.name])[:_MOST]


def found_tools(registry: Registry, messages: Iterable[Message]) -> list[str]:
    """Names of the agent's tools that the calls of a conversation found or used, in that order, each once."""
    known = {tool.name for tool in registry.listed_tools()} - {FIND_TOOL}
    found: dict[str, None] = {}
    for message in messages:
        if message.role != "assistant":
            continue
        for call in message.calls:
            if call.name in known:
                found.setdefault(call.name)
            elif call.name == FIND_TOOL and not call.broken and (query := str(call.arguments.get("query") or "")):
                found.update(dict.fromkeys(tool.name for tool in find_tools(searched_tools(registry), query)))
    return list(found)


def index_of(tools: Iterable[ListedTool], most: int = _INDEX) -> str:
    """The names of tools by family, on one line. Of the largest families, if all names are too long, only a few.
    `most`: characters that all names may have.
    """
    families: dict[str, list[str]] = {}
    for tool in tools:
        families.setdefault(tool.family or "other", []).append(tool.name)
    said: dict[str, str] = {}
    left = most
    for family, names in sorted(families.items(), key=lambda one: (sum(map(len, one[1])), one[0])):
        listed = ", ".join(names)
        if len(listed) > left:
            listed = f"{len(names)} tools, such as {', '.join(names[:_EXAMPLES])}"
        said[family] = listed
        left -= len(listed)
    return "; ".join(f"{family}: {listed}" for family, listed in sorted(said.items()))


def searched_tools(registry: Registry) -> list[AnyCommand]:
    """The tools that `find_tool` searches: all but itself."""
    return [tool for tool in registry.tools() if tool.name != FIND_TOOL]


def commands(registry: Registry) -> list[AnyCommand]:
    return [find_tool_command(registry)]


def find_tool_command(registry: Registry) -> AnyCommand:
    """The command, for agents whose tools are those of this registry."""

    async def find(_invocation: Invocation, parameters: FindToolParameters) -> Outcome:
        tools = searched_tools(registry)
        found = find_tools(tools, parameters.query) if parameters.query.strip() else tools
        if not found:
            hint = f"An empty query lists all tools: {', '.join(tool.name for tool in tools)}."
            raise CommandError(f"No tool fits {parameters.query[:80]!r}.", hint=hint)
        data = [{"name": tool.name, "summary": tool.summary} for tool in found]
        if not parameters.query.strip():
            return Outcome(data, "\n".join(f"- {tool.name}: {tool.summary}" for tool in found))
        return Outcome(data, "\n\n".join(_described(tool) for tool in found))

    return Command(
        FIND_TOOL,
        "Find a tool by name or by what it does",
        FindToolParameters,
        find,
        access=Access.AGENT_PRIMARY,
        positions=("query",),
        description=_DESCRIPTION,
        family="workbench",
        tool=True,
        does="recall",
        always_offered=True,
    )


def _described(tool: AnyCommand) -> str:
    """A tool for a model: one that the next request describes by its summary, any other whole."""
    if not tool.always_offered:
        return f"{tool.name}: {tool.summary}. Call it by this name."
    schema = json.dumps(lean_schema(tool, rare=True), ensure_ascii=False, separators=(",", ":"))
    return f"{tool.name}: {tool_description(tool)} {tool.details}".rstrip() + f"\nParameters: {schema}"


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _score(tool: AnyCommand, word: str) -> int:
    """How well a word of the query fits: 4 in the name, 2 in the summary or family, 1 in the description."""
    texts = ((4, tool.name.replace("_", " ")), (2, f"{tool.summary} {tool.family}"), (1, tool.description))
    return next((score for score, text in texts if any(_same(word, other) for other in _words(text))), 0)


def _same(word: str, other: str) -> bool:
    shorter, longer = sorted((word, other), key=len)
    return word == other or (len(shorter) >= _SHORTEST and longer.startswith(shorter))
