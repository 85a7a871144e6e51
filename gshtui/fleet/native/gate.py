"""The gate of an agent in its own process: the project's grants, and what its spec lets run without a question.

Owns which tools those are; refuses to widen what the settings say. Called by the studio.
"""

from __future__ import annotations

from pathlib import Path

from gshtui.bus.bus import Bus
from gshtui.fleet.native.spec import Spec
from gshtui.guard.approval import Gate
from gshtui.guard.grants import ProjectGrants
from gshtui.settings.model import Settings
from gshtui.store.store import Store


def gate_of(spec: Spec, bus: Bus, store: Store, settings: Settings, project: Path) -> Gate:
    """Its gate, listening; to be closed."""
    auto = settings.agent.auto_approve
    if spec.auto_approve is not None:
        auto = [tool for tool in auto if tool in spec.auto_approve]
    return Gate(bus, ProjectGrants(store, str(project)), mode=spec.approvals, auto_approve=frozenset(auto))
