"""The commands about what agents' models are sent: `context timeline whatif carry`, and those that change it.

People get a rendering, agents short JSON, `--json` everything. The hub registers them, and an agent's own hub
does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from gshtui.bus.context_data import SECTIONS
from gshtui.commands.declaration import AnyAction, Assess, Assessment, Command, Effect, Invocation
from gshtui.commands.registry import AnyCommand
from gshtui.context.commands.context_router import ContextAccess, Doing, FindAgent
from gshtui.context.commands.cut_commands import CutCommands, CutParameters
from gshtui.context.commands.lookup import side
from gshtui.context.commands.view_commands import (
    CarryParameters,
    ContextParameters,
    TimelineParameters,
    ViewCommands,
    WhatIfParameters,
)
from gshtui.context.log.scratchpad import THINKING

if TYPE_CHECKING:
    from gshtui.context.commands.context_router import ContextRouter

Names = Callable[[], list[str]]
"""Returns agents' names, for completion."""

CONTEXT = """\
See what your model is sent, or another agent's (by id or name, or `parent`): the sections with their tokens and \
newest blocks; one section; one block's exact text; an earlier request; or what differs between two requests."""
TIMELINE = "List your requests so far, and what was cut from your context and when."
COMPACT = """\
Replace your conversation so far with a summary before your next request. What people said, pins, tasks and touched \
files are kept."""
PRUNE = "Replace old tool outputs with placeholders now; they can be restored."
PIN = "Protect a block (a file, or its number or id) from being cut from your context. `context` shows the numbers."
RESTORE = "Send one block that was cut in full again. Give its id from the cut's receipt, or its number."
UNDO = "Undo a cut: everything it removed is sent again. Without an id, undoes the newest."


def commands(contexts: ContextRouter, row: FindAgent | None, names: Names = list) -> list[AnyCommand]:
    """Declare the family. `row`: if there is a record; `names`: for completion."""
    rights = ContextAccess(row)
    return [
        *_reading(ViewCommands(contexts, rights), rights, names),
        *_cutting(CutCommands(contexts, rights), rights, names),
    ]


def _reading(reading: ViewCommands, rights: ContextAccess, names: Names) -> list[AnyCommand]:
    look = _assess(rights, "look")
    complete = _complete(names)
    return [
        Command(
            "context",
            "What an agent's model is sent, section by section",
            ContextParameters,
            reading.context[0].handle,
            positions=("agent", "section"),
            description=CONTEXT,
            family="context",
            tool=True,
            assess=look,
            complete=complete,
            actions=reading.context,
            opens="inspect",
        ),
        Command(
            "timeline",
            "An agent's requests and cuts over time, and when the next cut comes",
            TimelineParameters,
            reading.timeline[0].handle,
            positions=("agent",),
            description=TIMELINE,
            family="context",
            tool=True,
            assess=look,
            complete=complete,
            actions=reading.timeline,
        ),
        Command(
            "whatif",
            "The next request with another model, or without some tools or files",
            WhatIfParameters,
            reading.what_if.handle,
            positions=("model",),
            family="context",
            assess=look,
            complete=complete,
            actions=(reading.what_if,),
        ),
        Command(
            "carry",
            "What was read once but is paid for with every request",
            CarryParameters,
            reading.carry.handle,
            positions=("agent",),
            family="context",
            assess=look,
            complete=complete,
            actions=(reading.carry,),
        ),
    ]


def _cutting(cutting: CutCommands, rights: ContextAccess, names: Names) -> list[AnyCommand]:
    cut, drop, rule = _assess(rights, "cut"), _assess(rights, "drop"), _assess(rights, "rule")
    complete = _complete(names)

    def command(
        name: str,
        summary: str,
        position: str,
        description: str = "",
        *,
        assess: Assess[Any] = cut,
        aliases: tuple[str, ...] = (),
        also: tuple[AnyAction, ...] = (),
    ) -> AnyCommand:
        action = cutting.actions[name]
        return Command(
            name,
            summary,
            action.parameters,
            action.handle,
            effect=Effect.WRITE,
            positions=(position,),
            description=description,
            aliases=aliases,
            family="context",
            tool=bool(description),
            assess=assess,
            complete=complete,
            actions=(action, *also),
        )

    return [
        command(
            "compact",
            "Replace the conversation so far with a summary",
            "focus",
            COMPACT,
            assess=drop,
            also=(cutting.edit_summary,),
        ),
        command("prune", "Replace old tool outputs with placeholders", "agent", PRUNE, assess=drop),
        command(
            "clear_context",
            "Start over without a summary: drop the conversation so far from what is sent",
            "agent",
            assess=drop,
        ),
        command("pin", "Never cut a block", "block", PIN),
        command("unpin", "Allow a pinned block to be cut again", "block", assess=rule),
        command("restore", "Send one block that was cut in full again", "block", RESTORE),
        command("undo", "Undo a cut", "cut", UNDO),
        command("tune", "When and how an agent's context is cut", "agent", assess=rule),
    ]


def _assess(rights: ContextAccess, doing: Doing) -> Callable[[Invocation, Any], Awaitable[Assessment]]:
    async def assess(invocation: Invocation, parameters: Any) -> Assessment:
        said = [str(value) for name, value in parameters.model_dump(exclude_unset=True).items() if name != "agent"]
        preview = isinstance(parameters, CutParameters) and parameters.preview
        strength: Doing = "look" if preview else doing
        if isinstance(parameters, ContextParameters):
            for agent in _other_agents(parameters):
                assessment = await rights.assess(invocation, agent, strength, " ".join(said))
                if not assessment.inside:
                    return assessment
        return await rights.assess(invocation, parameters.agent, strength, " ".join(said))

    return assess


def _other_agents(parameters: ContextParameters) -> list[str]:
    """The agents that a comparison names: comparing with them reads their contexts."""
    words = parameters.diff.replace("..", " ").replace(",", " ").split()
    return [who for who, _ in map(side, words) if who]


def _complete(names: Names) -> Callable[[Invocation, str, str], Awaitable[list[str]]]:
    async def complete(_invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        known: dict[str, Callable[[], list[str]]] = {
            "agent": names,
            "section": lambda: [*SECTIONS, THINKING],
            "by": lambda: ["source", "file", "tool", "section", "agent"],
            "strategy": lambda: ["summarise", "last 40", "budget 50000"],
        }
        return [word for word in known.get(parameter, list)() if word.startswith(prefix)]

    return complete
