"""The command `mode`, for people: how much each agent may do before it asks, and how to change that.

Refuses `auto` where the sandbox does not hold, and asks before `yolo`. Offered only where questions are answered: an
agent's own hub does not have it, and no agent may run it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import msgspec
from pydantic import Field

from gshtui.bus.agent_data import AgentRow, GuardMode
from gshtui.commands.declaration import (
    Access,
    Action,
    CommandError,
    Effect,
    Invocation,
    Mark,
    Outcome,
    Parameters,
    Question,
    Returns,
    ToastView,
    Unconfirmed,
    View,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.guard.modes import ABOUT, MODES, AgentModes, next_mode
from gshtui.text.markdown_table import cell, without_marks
from gshtui.text.plain_name import known_names
from gshtui.text.sanitise import one_line

Wanted = Literal["plan", "ask", "edit", "auto", "yolo", "next"]


class ModeList(msgspec.Struct, frozen=True):
    """The modes of the agents here, by name."""

    modes: dict[str, str]
    """Another vendor's program has words of its own."""


class ChangedMode(msgspec.Struct, frozen=True):
    """The agent's mode from its next call on."""

    agent: str
    mode: GuardMode
    passed: str = ""
    """Why `auto` was passed by."""
    shown: str = ""
    """What another vendor's program calls it."""


class ShowModes(Parameters, Returns[ModeList]):
    """Show the agents' modes."""

    COMMAND: ClassVar[str] = "mode"
    WORD: ClassVar[str] = "show"


class ChangeMode(Parameters, Returns[ChangedMode]):
    """Change how much an agent may do before it asks."""

    COMMAND: ClassVar[str] = "mode"
    WORD: ClassVar[str] = "change"
    mode: Wanted = Field(description="plan, ask, edit, auto, yolo, or next: the one that follows in the cycle")
    agent: str = Field(default="", description="The agent; empty: the one in front")
    agreed: Annotated[bool, Mark.CODE_ONLY] = False
    """A person agreed to `yolo`."""
    leaving: Annotated[Literal["", "plan"], Mark.CODE_ONLY] = ""
    """Only if it is in this mode; otherwise nothing changes."""


class ModePort(msgspec.Struct, frozen=True):
    """What the command works on.

    Attributes:
        modes: those that the gate judges by, changed at once for an agent of this process.
        agents: the agents of this folder, without those that have ended.
        unproven: why commands in a folder cannot be sandboxed, as the end of a sentence; empty: they can.
        send: gives an agent of another process its new mode, and records it for its next start.
        program: puts another vendor's program into a mode of its own; the agent then. Raises `ExpectedError`.
    """

    modes: AgentModes
    agents: Callable[[], Awaitable[list[AgentRow]]]
    unproven: Callable[[Path], Awaitable[str]]
    send: Callable[[str, GuardMode], Awaitable[None]]
    program: Callable[[str, Wanted], Awaitable[AgentRow]]


def commands(port: ModePort) -> list[AnyCommand]:
    one_at_a_time = asyncio.Lock()

    async def find(name: str) -> AgentRow:
        agents = await port.agents()
        row = next((row for row in agents if name in (row.id, row.name, row.id.lstrip("0"))), None)
        if row is None:
            there = known_names("agents", (one_line(one.name, 40) for one in agents))
            raise CommandError(f"There is no agent {one_line(name, 40)!r}.", hint=there)
        return row

    async def show(_invocation: Invocation, _wanted: ShowModes) -> ModeList:
        modes = {
            row.name: row.mode_words if row.kind == "cli" else port.modes.mode_of(row.id) for row in await port.agents()
        }
        return ModeList({name: mode for name, mode in modes.items() if mode})

    async def change(invocation: Invocation, wanted: ChangeMode) -> ChangedMode:
        row = await find(wanted.agent or invocation.addressed)
        if wanted.mode == "yolo" and not wanted.agreed:
            raise Unconfirmed(f"In yolo mode, {row.name} runs everything unasked and outside the sandbox.")
        if row.kind == "cli":
            if wanted.leaving:
                raise CommandError(
                    f"{row.name} is another vendor's program, whose plans are approved in its own words."
                )
            async with one_at_a_time:
                row = await port.program(row.id, wanted.mode)
            return ChangedMode(row.name, row.held_to or "ask", shown=row.mode_words)
        if wanted.leaving and (now := port.modes.mode_of(row.id)) != wanted.leaving:
            return ChangedMode(row.name, now)
        folder = invocation.project if row.runtime == "local" else Path(row.cwd)
        async with one_at_a_time:
            mode, passed = next_mode(port.modes.mode_of(row.id)) if wanted.mode == "next" else wanted.mode, ""
            # On another machine each call says whether its sandbox holds.
            if mode == "auto" and not row.place and (why := await port.unproven(folder)):
                if wanted.mode != "next":
                    hint = "`edit` runs edits in the project; `gsh-tui doctor` says more."
                    raise CommandError(f"auto needs the sandbox, which cannot be relied on here: {why}.", hint=hint)
                mode, passed = next_mode(mode), f"not auto, since the sandbox cannot be relied on here: {why}"
            if row.runtime == "local":
                port.modes.change(row.id, mode)
            else:
                await port.send(row.id, mode)
        return ChangedMode(row.name, mode, passed)

    async def asks(invocation: Invocation, wanted: ChangeMode) -> Question | None:
        if wanted.mode != "yolo" or wanted.agreed:
            return None
        row = await find(wanted.agent or invocation.addressed)
        return Question(
            ChangeMode(mode="yolo", agent=row.id, agreed=True),
            "Run everything unasked?",
            f"In yolo mode, {row.name} runs every command, write and network access without a question, and outside "
            "the sandbox: with your rights, on your files, with what you are logged in to. Rules that deny still hold, "
            "and so does what is always refused.",
            yes="Yes, yolo",
            note="It lasts until the agent ends, or you press shift+tab or run `/mode ask`.",
        )

    async def shows(_invocation: Invocation, changed: ChangedMode) -> View | None:
        return ToastView(_said(changed), 2.5)

    async def complete(_invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        names = [*MODES, "next"] if parameter == "mode" else [row.name for row in await port.agents()]
        return [name for name in names if name.startswith(prefix)]

    return [
        group(
            "mode",
            "Show or change what runs without a question",
            Action(ShowModes, show, _render_list),
            Action(ChangeMode, change, _render_changed, asks, shows, effect=Effect.WRITE, positions=("mode", "agent")),
            bare="show",
            otherwise="change",
            access=Access.HUMAN_ONLY,
            family="approvals",
            complete=complete,
        )
    ]


def _said(changed: ChangedMode) -> str:
    if changed.shown:
        return f"{one_line(changed.agent, 40)}: {changed.mode} mode, which it calls {one_line(changed.shown, 60)!r}."
    passed = f" ({changed.passed})" if changed.passed else ""
    return f"{one_line(changed.agent, 40)} is in {changed.mode} mode: {ABOUT[changed.mode]}{passed}."


def _render_changed(_invocation: Invocation, changed: ChangedMode) -> Outcome:
    return Outcome({"agent": changed.agent, "mode": changed.mode, "passed": changed.passed}, _said(changed))


def _render_list(_invocation: Invocation, found: ModeList) -> Outcome:
    lines = [f"- **{cell(one_line(name, 40))}**: {mode}" for name, mode in found.modes.items()]
    text = "\n".join([*lines, "", *(f"- `{mode}`: {ABOUT[mode]}" for mode in MODES)])
    return Outcome({"modes": found.modes}, text, plain=without_marks(text))
