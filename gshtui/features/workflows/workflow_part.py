"""The hub's side of workflows: what their runs work with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gshtui.hub.hub import Hub

if TYPE_CHECKING:
    from gshtui.features.workflows.step_process import LendTerminal
    from gshtui.features.workflows.workflow_run import RunParts
    from gshtui.features.workflows.workflow_service import WorkflowService
    from gshtui.store.record.store import Store


def workflow_service(hub: Hub, store: Store) -> WorkflowService:
    """The runs of this hub, which end with it."""
    from gshtui.features.workflows.workflow_service import WorkflowService

    made = WorkflowService(store.workflows, hub.options.cwd, lambda run, cwd, lend: _parts(hub, store, run, cwd, lend))
    hub.parts.ceases_with(made.cease)
    hub.parts.stops_with("workflows", made.stop)
    return made


def _parts(hub: Hub, store: Store, run: str, cwd: Path, lend: LendTerminal | None) -> RunParts:
    from gshtui.agents.toolbox import Toolbox, WorkDirs
    from gshtui.features.workflows.step_agents import HubAgents
    from gshtui.features.workflows.step_process import KEPT, StepPlace, StepSandbox
    from gshtui.features.workflows.tool_step import StepTools
    from gshtui.features.workflows.workflow_run import RunParts
    from gshtui.settings.paths import project_root

    gate, settings = hub.gate, hub.settings
    assert gate is not None  # nothing is offered without it
    agent = f"workflow-{run[:6]}"
    own = gate.modes.mode_of(hub.options.agent)
    if own != gate.modes.start:
        from gshtui.guard.modes import inherited

        gate.modes.change(agent, inherited(own))
    project = hub.project if cwd == hub.options.cwd else project_root(cwd)
    redact = hub.telemetry.redactor.redact_certain if hub.telemetry and settings.context.redact_secrets else str
    toolbox = Toolbox(
        hub.bus,
        hub.registry,
        gate,
        agent,
        WorkDirs(cwd, project),
        _keep_nothing,
        KEPT,
        redact,
    )
    toolbox.says_key = False

    async def load() -> None:
        if hub.has_mcp_servers:
            await hub.mcp_servers().prepare(hub.registry, agent, lambda _: True)

    place = StepPlace(
        gate,
        StepSandbox(hub.offers.sandboxes, project, run),
        agent,
        run,
        cwd,
        project,
        settings.python,
        dict(hub.environ),
        lend,
    )
    return RunParts(
        hub.bus,
        store.workflows,
        place,
        StepTools(hub.registry, toolbox, run, load),
        HubAgents(hub, run, cwd),
        hub.options.agent,
        redact,
    )


async def _keep_nothing(_session: str, _call: str, _text: str) -> str:
    """The whole of a step's output is in its result, as far as that keeps it."""
    return ""
