"""What workflows bring (`settings/contract.py`)."""

from __future__ import annotations

from gshtui.settings.contract import Brought

_HERE = "gshtui.features.workflows"
BRINGS = (
    Brought("commands", f"{_HERE}.commands", "workflow workflows", after="store guard", for_agents=False),
    Brought("things", f"{_HERE}.workflow_service:workflow_service", "WorkflowService"),
    Brought("faces", f"{_HERE}.workflow_turn:WorkflowTurn", "workflows turn"),
    Brought("windows", f"{_HERE}.window.workflows_feature:WorkflowsFeature", "workflows"),
)
