"""The terminal tools, declared as commands: tmux terminal.

Registers nothing by itself; the hub and `agent run` call `commands` and register what it returns.
"""

from __future__ import annotations

import os
from functools import partial

from gshtui.commands.declaration import Access, Command, CommandError, Effect, Invocation
from gshtui.commands.registry import AnyCommand
from gshtui.fleet.programs import Programs
from gshtui.fleet.terminal_tools import terminal, tmux
from gshtui.fleet.terminal_tools.reach import Reach, Rows, of_project
from gshtui.fleet.terminal_tools.shared import Shells
from gshtui.fleet.terminal_tools.told import Told
from gshtui.fleet.terminals import Terminals
from gshtui.settings.model import Settings


def commands(reach: Reach, max_output_bytes: int = 30_000) -> list[AnyCommand]:
    """The family, over these terminals. `max_output_bytes`: of a screen or an output; 0: no limit."""
    limit, told, marks = max_output_bytes, Told(), tmux.Marks()

    async def complete(invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        if parameter != "pane":
            return []
        try:
            targets = await reach.all()
        except CommandError:
            return []
        names = [target.row.id if target.row else target.info.session for target in targets
                 if of_project(target, invocation.project)]  # fmt: skip
        return [name for name in names if name.startswith(prefix)]

    return [
        Command(
            name="tmux",
            summary="Type into a terminal, press keys, read it, wait until it is ready, list the panes",
            parameters=tmux.TmuxParameters,
            handler=partial(tmux.run, reach, told, marks, limit),
            access=Access.AGENT_PRIMARY,
            effect=Effect.EXECUTE,
            positions=("action", "pane", "text"),
            description=tmux.DESCRIPTION,
            family="run",
            tool=True,
            assess=partial(tmux.assess, reach, told, marks),
            complete=complete,
        ),
        Command(
            name="terminal",
            summary="Run one command in the shared shell, where everyone sees it",
            parameters=terminal.TerminalParameters,
            handler=partial(terminal.run, reach, told, limit),
            access=Access.AGENT_PRIMARY,
            effect=Effect.EXECUTE,
            positions=("command",),
            description=terminal.DESCRIPTION,
            family="run",
            tool=True,
            assess=partial(terminal.assess, reach, told),
        ),
    ]


def reach_of(
    settings: Settings, terminals: Terminals, rows: Rows, *, programs: Programs | None = None, socket: str = ""
) -> Reach:
    """The terminals that these settings mean.

    Args:
        rows: every agent on the roster.
        programs: somebody's programs, when they are shared with others.
        socket: of the shared shell's tmux server; as in the settings when empty.
    """
    tmux_settings = settings.tmux
    shells = Shells(tmux_settings.default_shell, dict(os.environ))
    return Reach(
        terminals,
        rows,
        socket=socket or tmux_settings.socket_name,
        prefix=tmux_settings.session_prefix,
        shells=shells,
        programs=programs,
    )
