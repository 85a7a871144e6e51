"""Forks of agents: what a copy of an agent is started with. Everything that would keep it from going on is found before
anything is made. Called by the starter.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.commands.declaration import CommandError
from gshtui.fleet.core.agent_programs import Programs
from gshtui.fleet.core.fleet_context import FleetContext
from gshtui.fleet.core.ports import FleetError


class Forks:
    """Completes the requests for forks."""

    def __init__(self, context: FleetContext, programs: Programs) -> None:
        """`programs`: other people's programs, which tell their conversations."""
        self._context = context
        self._programs = programs

    async def completed(self, request: SpawnRequest) -> SpawnRequest:
        """The request for a fork with all that it takes over from the original: program, limits, folder, conversation.

        Raises `FleetError`: the asking agent may not fork this one, or it cannot be forked (`blank`: its program cannot
        go on from a copy of its conversation).
        """
        context = self._context
        original = await context.row(request.fork)
        if request.parent and original.parent != request.parent:
            raise FleetError(
                "invalid",
                f"{original.name} ({original.id}) was not started by you.",
                hint="You can fork only agents that you started.",
            )
        if original.place and not request.here:
            host = original.machine
            hint = f"`agent fork {original.id} --here` lets both work in the same folder there."
            raise FleetError("invalid", f"The files on {host} cannot be copied for a fork.", hint=hint)
        made = await context.store.agents.request(original.id)
        name = request.name or f"{original.name}-fork"
        return msgspec.structs.replace(
            made,
            fork=original.id,
            prompt=request.prompt,
            name=name,
            parent=request.parent,
            background=request.background,
            depth=request.depth,
            cwd=original.place.partition(":")[2] or original.cwd,
            budget_usd=min(filter(None, (made.budget_usd, request.budget_usd)), default=0.0),
            max_iterations=min(filter(None, (made.max_iterations, request.max_iterations)), default=0),
            anew=request.anew,
            here=request.here,
            conversation="" if request.anew else await self._conversation(original, made, request.here),
            worktree="" if request.here else await self._branch(original, request.worktree, name),
        )

    async def _conversation(self, original: AgentRow, made: SpawnRequest, here: bool) -> str:
        """The conversation to copy; empty where nothing has been said yet."""
        if original.kind == "native":
            return original.session
        server = self._context.terminals.server(original.socket)
        bound = await self._programs.conversation(server, original, self._context.rows.all()) or original.external_id
        row = msgspec.structs.replace(original, external_id=bound)
        why, said = await self._programs.fork_obstacle(row, made, here=here)
        if why:
            raise FleetError(
                "blank",
                f"{original.name} ({original.id}) cannot be forked with its conversation: {why}.",
                hint=f"`agent fork {original.id} --anew` starts another one with the same files, without it."
                + (" With --here both work in the same folder." if "original's folder" in why else ""),
            )
        return bound if said else ""

    async def _branch(self, original: AgentRow, wished: str, name: str) -> str:
        """A branch that does not exist yet: exactly the wished one, or one after the fork's name."""
        from gshtui.store.tables.agent_table import word
        from gshtui.tools.git.worktree_fork import free_branch

        folder = Path(original.cwd)
        if not await asyncio.to_thread(folder.is_dir):
            raise FleetError("invalid", f"The folder {folder} does not exist any more, so it cannot be forked.")
        try:
            found = await free_branch(folder, wished or word(name))
        except CommandError as error:
            hint = error.hint
            if "not a git repository" in error.message:
                hint = f"`agent fork {original.id} --here` lets the fork work in the same folder."
            raise FleetError("invalid", error.message, hint=hint) from error
        if wished and found != wished:
            raise FleetError("invalid", f"There is already a branch {wished}.", hint="Choose another name.")
        return found
