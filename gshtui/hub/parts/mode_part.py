"""The hub's side of modes: what the command `mode` works on, and the proof that `auto` needs.

Where the sandbox does not hold, `auto` is not begun: a call without a window ends with the reason, a window says it and
asks instead.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gshtui.bus.agent_data import AgentRow, GuardMode
from gshtui.bus.events.approval_events import ModeChangeRequested
from gshtui.bus.events.hub_events import Noticed
from gshtui.guard.approval.gate import Gate
from gshtui.hub.hub import Hub
from gshtui.system.expected_error import ExpectedError
from gshtui.system.tasks import cancel_and_wait, start_job

if TYPE_CHECKING:
    from gshtui.guard.mode_commands import ModePort

_HINT = "`edit` runs edits in the project; `gsh-tui doctor` says more."


async def unproven(hub: Hub, folder: Path) -> str:
    """Why commands in this folder cannot be sandboxed, as the end of a sentence; empty: they can."""
    found = await hub.offers.sandboxes.sandbox(Path(os.path.realpath(folder)))
    return found if isinstance(found, str) else ""


async def prove_auto(hub: Hub, gate: Gate) -> None:
    """Begin in `auto` only if the sandbox holds; at a window the proof goes on beside the start.
    Raises `ExpectedError`: nobody is there who could choose another mode.
    """
    if hub.options.respondent == "nobody":
        if why := await unproven(hub, hub.project):
            raise ExpectedError(f"auto mode needs the sandbox, which cannot be relied on here: {why}.", _HINT)
        return

    async def prove() -> None:
        if why := await unproven(hub, hub.project):
            gate.modes.start = "ask"
            if gate.modes.mode_of(hub.options.agent) in ("auto", "ask"):
                gate.modes.change(hub.options.agent, "ask")
            text = f"auto mode needs the sandbox, which cannot be relied on here: {why}. Everything is asked."
            hub.bus.publish(Noticed(level="warning", text=text, hint=_HINT, about=hub.options.about or "mode"))

    job = start_job(prove(), "the proof of the sandbox")

    async def end() -> None:
        await cancel_and_wait(job)

    hub.parts.stops_with("modes", end)


def offer_modes(hub: Hub, gate: Gate) -> None:
    """Offer the command `mode`, where questions are answered."""

    async def agents() -> list[AgentRow]:
        fleet = [] if hub.fleet is None else hub.fleet.rows(everywhere=False)
        if hub.fleet is not None and hub.options.visiting:  # it is linked to no agent of ours in a terminal
            fleet = [row for row in await hub.fleet.refresh() if row.kind == "cli"]
        return [*(state.row for state in hub.agent_states.local()), *(row for row in fleet if not row.ended)]

    async def send(agent: str, mode: GuardMode) -> None:
        from gshtui.fleet.native.spec import with_mode

        if hub.journal is not None:
            await asyncio.to_thread(with_mode, hub.journal.folder, agent, mode)
        hub.bus.publish(ModeChangeRequested(agent=agent, mode=mode))

    async def program(agent: str, mode: GuardMode | Literal["next"]) -> AgentRow:
        assert hub.fleet is not None  # else there is no such agent
        return await hub.fleet.change_mode(agent, mode)

    def port() -> ModePort:
        from gshtui.guard.mode_commands import ModePort

        return ModePort(gate.modes, agents, lambda folder: unproven(hub, folder), send, program)

    hub.offers.things.add(port)
    hub.offers.offer("guard")
