"""What the shell log knows. Until a shell is connected it is a list of nothing, and the pane says how to connect one.

A pure reducer over events; refuses widgets. Called by the shell log pane. The commands that the agent runs are listed
here from the first day: they are shell commands of this project like any other.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from gshtui.bus.event import Event
from gshtui.bus.events.agent import ToolFinished, ToolStarted
from gshtui.bus.messages import ResultStatus

CONSUMED: tuple[type[Event], ...] = (ToolFinished, ToolStarted)
SHELL_TOOLS = frozenset({"bash"})
KEPT = 500


class Ran(msgspec.Struct, frozen=True):
    """One command: who ran it, and how it ended; `status` is empty while it runs."""

    call: str
    who: str
    command: str
    status: ResultStatus | None = None
    duration: float = 0.0


class ShellState(msgspec.Struct, frozen=True):
    """Commands, oldest first."""

    ran: tuple[Ran, ...] = ()


def reduce(state: ShellState, event: Event) -> ShellState:
    """The state after an event; tools that are no shell change nothing."""
    match event:
        case ToolStarted(tool=tool) if tool in SHELL_TOOLS:
            command = event.subject or str(event.arguments.get("command", ""))
            return ShellState((*state.ran, Ran(event.call, event.agent, command))[-KEPT:])
        case ToolFinished(tool=tool) if tool in SHELL_TOOLS:
            return ShellState(
                tuple(
                    replace(ran, status=event.status, duration=event.duration) if ran.call == event.call else ran
                    for ran in state.ran
                )
            )
        case _:
            return state
