"""The fleet of one hub, put together from its settings.

Owns the choice of place, terms and adapters, nothing else. Called by the hub.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gshtui.agents.fleet import Fleet
from gshtui.agents.fleet_launch import CommandLines, Terms
from gshtui.agents.fleet_ports import Place
from gshtui.bus.bus import Bus
from gshtui.guard.approval import Mode
from gshtui.settings.model import Settings
from gshtui.settings.paths import runtime_dir
from gshtui.store.store import Store


def make_fleet(
    bus: Bus,
    store: Store,
    settings: Settings,
    home: Path,
    *,
    visiting: bool,
    approvals: Mode,
    session_of: Callable[[str], str],
    hub: Callable[[], str] = lambda: "",
    connected: Callable[[str], bool] = lambda agent: False,
) -> Fleet:
    """The fleet.

    Args:
        home: the window's folder.
        visiting: a command that looks in and leaves.
        approvals: how questions are answered here; agents started from a visit ask, whoever answers.
        session_of: the conversation that a local agent of this hub is in.
        hub: the socket that agents report to; empty when there is none.
        connected: whether an agent's own process listens to this hub's bus.
    """
    data = store.path.parent
    terms = Terms(
        approvals=approvals if approvals == "policy" else "ask",
        auto_approve=tuple(settings.agent.auto_approve),
        max_steps=settings.agent.max_steps,
        runtime=runtime_dir(create=False),
    )
    place = Place(home, data, settings.tmux.socket_name, settings.tmux.session_prefix, visiting)
    lines = CommandLines(data, terms, hub)
    return Fleet(bus, store, place, lines, session_of=session_of, connected=connected)
