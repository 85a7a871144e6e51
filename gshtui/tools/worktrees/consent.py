"""Consent to a worktree's set-up command, asked of the person by the gate: by its exact arguments, once or for good.

Refuses on anything but a yes, also when nobody answers in time: an agent's start waits for it. Made where the fleet is
put together.
"""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path

from gshtui.bus.ids import new_id
from gshtui.commands.declaration import Assessment, Effect
from gshtui.guard.approval import Call, Gate
from gshtui.guard.sanitise import visible
from gshtui.tools.worktrees.setup import Consent

TOOL = "worktree_setup"
WAIT = 120.0
"""Seconds for an answer."""


def by_gate(gate: Gate, agent: str, session: str = "", wait: float = WAIT) -> Consent:
    """Consent that asks for this agent; `always` holds for the same arguments in the same project."""

    async def consent(argv: tuple[str, ...], folder: Path) -> bool:
        words = shlex.join(argv)
        call = Call(agent, session, new_id(), TOOL, {"command": words, "folder": str(folder)})
        question = Assessment(
            Effect.EXECUTE,
            visible(words),
            inside=False,
            detail=f"The project's set-up command, in the new worktree {visible(str(folder))}:\n{visible(words)}",
            key=words,
            pattern=words,
        )
        try:
            async with asyncio.timeout(wait):
                return (await gate.review(call, question)).allowed
        except TimeoutError:
            return False

    return consent
