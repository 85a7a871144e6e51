"""A run of a workflow that the hub does for the terminal of another process, which is asked and lent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from gshtui.bus.agent_data import GuardMode
from gshtui.commands.declaration import UnknownCommand
from gshtui.features.workflows.definition import WorkflowError, stopped_sentence, unknown_steps
from gshtui.features.workflows.workflow_calls import RUN_PARTS
from gshtui.features.workflows.workflow_service import WorkflowService, workflow_service
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.struct_types import learned

if TYPE_CHECKING:
    from gshtui.features.workflows.definition import RunEnd
    from gshtui.features.workflows.workflow_run import WorkflowRun
    from gshtui.hub.faces.turn_request import WorkFace
    from gshtui.settings.loader import Loaded

WIND_DOWN = 30.0
"""Seconds that a run has to end after a signal."""
_ERROR, _USAGE, _DENIED = 1, 2, 4


class WorkflowRequest(msgspec.Struct, frozen=True):
    """What to run, and how. `values`: of its parameters; `resume`: the run to go on with instead."""

    name: str
    values: Mapping[str, Any] = {}
    provider: str = ""
    model: str = ""
    mode: GuardMode | None = None
    yes: bool = False
    attended: bool = False
    """A person can be asked."""
    lends: bool = False
    """There is a terminal for steps that want one."""
    told: bool = True
    """Say why it failed, for people."""
    resume: str = ""


class WorkflowTurn:
    """The run of a request; it ends with an exit code."""

    def __init__(self, asked: Mapping[str, Any], loaded: Loaded, face: WorkFace) -> None:
        self._request = request = msgspec.convert(asked, learned(WorkflowRequest))
        self._face = face
        self._run: WorkflowRun | None = None
        self._task: asyncio.Task[RunEnd] | None = None
        self.options = HubOptions(
            cwd=loaded.cwd,
            loaded=loaded,
            provider=request.provider,
            model=request.model,
            respondent="policy" if request.yes else "person" if request.attended else "nobody",
            mode=request.mode,
            parts=RUN_PARTS,
            visiting=True,
            where="gsh-tui workflow",
        )

    async def run(self, hub: Hub) -> str:
        """Start the hub, which was made with `options`, and run it to its end."""
        return str(await self._code(hub))

    async def interrupt(self) -> None:
        """Have it end."""
        if self._run is not None and self._task is not None:
            self._run.cancel()
            await asyncio.wait({self._task}, timeout=WIND_DOWN)

    async def _code(self, hub: Hub) -> int:
        await hub.start()
        for part in ("store", "guard"):
            if (failed := hub.failed.get(part)) is not None:
                self._face.complain(failed.why, failed.hint)
                return _ERROR
        try:
            hub.registry.get("workflow")
            await self._begin(hub.offers.things.get(workflow_service))
            assert self._task is not None
            return self._end(await asyncio.shield(self._task))
        except UnknownCommand as error:
            self._face.complain(error.message, error.hint)
            return _USAGE
        except WorkflowError as error:
            self._face.complain(error.message, error.hint)
            return error.code
        except StoreError as error:
            self._face.complain(error.message, error.hint)
            return _USAGE if error.kind in ("unknown", "ambiguous") else _ERROR

    async def _begin(self, service: WorkflowService) -> None:
        """Begin the run, or go on with one. Raises `WorkflowError`, `StoreError`."""
        request = self._request
        lend = self._face.lend if request.lends else None
        if not request.resume:
            self._run, self._task = await service.start(request.name, request.values, lend)
            return
        row, steps = await service.find(request.resume)
        again = request.yes
        if said := stopped_sentence(row, steps):
            self._face.complain(said)
        if (begun := unknown_steps(row, steps)) and request.attended:
            again = await self._face.agrees(f"Run {' and '.join(begun)} again?")
        self._run, self._task = await service.resume(request.resume, again=again, lend=lend)

    def _end(self, end: RunEnd) -> int:
        """Say how it ended; returns the exit code."""
        if end.state == "done":
            return 0
        if self._request.told:
            hints = [f"gsh-tui workflow resume {end.run[:8]} goes on from there."]
            if end.exit_code == _DENIED and not self._request.attended:
                hints.insert(0, "--yes allows what fits in the sandbox; a person at a terminal is asked.")
            self._face.complain(end.error or f"the run was {end.state}", " ".join(hints))
        return end.exit_code if 0 < end.exit_code < 256 else _ERROR
