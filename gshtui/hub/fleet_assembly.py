"""The fleet of one hub, put together from its settings.

Owns the choice of place, terms and adapters, nothing else. Called by the hub.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gshtui.bus.bus import Bus
from gshtui.bus.events.hub import Noticed
from gshtui.fleet.fleet import Fleet
from gshtui.fleet.launch import CommandLines, Terms
from gshtui.fleet.ports import Place
from gshtui.fleet.programs import Programs
from gshtui.fleet.terminals import Terminals
from gshtui.settings.model import Settings
from gshtui.settings.paths import runtime_dir
from gshtui.shell import notices

if TYPE_CHECKING:
    from gshtui.fleet.mail.room import MailRoom
    from gshtui.fleet.ports import Post
    from gshtui.guard.approval import Gate, Mode
    from gshtui.store.store import Store
    from gshtui.tools.worktrees.setup import Consent


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
    gate: Gate | None = None,
    programs: Programs,
    terminals: Terminals,
    mail: Callable[[], MailRoom],
) -> Fleet:
    """The fleet.

    Args:
        home: the window's folder.
        visiting: a command that looks in and leaves.
        approvals: how questions are answered here; agents started from a visit ask, whoever answers.
        session_of: the conversation that a local agent of this hub is in.
        hub: the socket that agents report to; empty when there is none.
        connected: whether an agent's own process listens to this hub's bus.
        gate: asks a person before a new worktree's set-up command is run; without one it is not run.
        programs, terminals: shared with the mail.
        mail: takes the messages to agents.
    """
    data = store.path.parent
    terms = Terms(
        approvals=approvals if approvals == "policy" else "ask",
        auto_approve=tuple(settings.agent.auto_approve),
        max_steps=settings.agent.max_steps,
        runtime=runtime_dir(create=False),
        worktrees_inside=settings.worktrees.place == "inside",
        setup=tuple(settings.worktrees.setup),
        notice=_notice() if visiting and settings.shell.notices else "",
    )

    def consent(agent: str) -> Consent:
        from gshtui.tools.worktrees.consent import by_gate
        from gshtui.tools.worktrees.setup import no_consent

        return no_consent if gate is None else by_gate(gate, agent)

    def notice(text: str, about: str) -> None:
        bus.publish(Noticed(text=text, about=about))

    place = Place(home, data, settings.tmux.socket_name, settings.tmux.session_prefix, visiting)

    def post() -> Post:
        from gshtui.fleet.post import TerminalPost

        return mail().post(TerminalPost(bus, terminals, programs, connected))

    return Fleet(
        bus,
        store,
        place,
        CommandLines(data, terms, hub, programs=programs, consent=consent, notice=notice),
        post=post,
        terminals=terminals,
        programs=programs,
        session_of=session_of,
        connected=connected,
    )


def _notice() -> str:
    """The file in which the shell looks that runs this command."""
    try:
        file = notices.file_of(os.environ.get("GSH_SHELL_ID", ""))
    except OSError:
        return ""
    return "" if file is None else str(file)
