"""The terminal tools, declared as commands: tmux terminal.

Registers nothing by itself; the hub and `agent run` call `commands` and register what it returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from gshtui.commands.declaration import Access, Command, Effect, Invocation
from gshtui.commands.registry import AnyCommand
from gshtui.fleet.core.agent_programs import Programs
from gshtui.fleet.core.agent_terminals import AgentTerminals
from gshtui.fleet.terminal_tools import terminal_tool, tmux_tool
from gshtui.fleet.terminal_tools.shared_shell import ShellChoice
from gshtui.fleet.terminal_tools.targets import ApprovedState, RowSource, TerminalTargets, is_of_project
from gshtui.settings.model import Settings
from gshtui.system.expected_error import ExpectedError


def commands(reach: TerminalTargets, settings: Settings | None = None) -> list[AnyCommand]:
    """The family, over these terminals."""
    limit = 30_000 if settings is None else settings.context.max_tool_output_bytes
    told, marks = ApprovedState(), tmux_tool.Marks()

    async def complete(invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        if parameter != "pane":
            return []
        try:
            targets = await reach.all()
        except ExpectedError:
            return []
        names = [
            target.row.id if target.row else target.info.session
            for target in targets
            if is_of_project(target, invocation.project)
        ]
        return [name for name in names if name.startswith(prefix)]

    return [
        Command(
            name="tmux",
            summary="Type into a terminal, press keys, read it, wait until it is ready, list the panes",
            parameters=tmux_tool.TmuxParameters,
            handler=partial(tmux_tool.run, reach, told, marks, limit),
            access=Access.AGENT_PRIMARY,
            effect=Effect.EXECUTE,
            positions=("action", "pane", "text"),
            description=tmux_tool.DESCRIPTION,
            family="run",
            tool=True,
            does="run",
            assess=partial(tmux_tool.assess, reach, told, marks),
            complete=complete,
        ),
        Command(
            name="terminal",
            summary="Run one command in the shared shell, where everyone sees it",
            parameters=terminal_tool.TerminalParameters,
            handler=partial(terminal_tool.run, reach, told, limit),
            access=Access.AGENT_PRIMARY,
            effect=Effect.EXECUTE,
            positions=("command",),
            description=terminal_tool.DESCRIPTION,
            family="run",
            tool=True,
            does="run",
            assess=partial(terminal_tool.assess, reach, told),
        ),
    ]


def terminal_targets(
    settings: Settings,
    terminals: AgentTerminals,
    rows: RowSource,
    environ: Mapping[str, str],
    *,
    programs: Programs | None = None,
    socket: str = "",
) -> TerminalTargets:
    """The terminals that these settings mean.

    Args:
        rows: every agent on the roster.
        environ: of whoever opened the folder.
        programs: the other programs, if they are shared.
        socket: of the shared shell's tmux server; empty: as in the settings.
    """
    tmux_settings = settings.tmux
    shells = ShellChoice(tmux_settings.default_shell, dict(environ))
    return TerminalTargets(
        terminals,
        rows,
        socket=socket or tmux_settings.socket_name,
        prefix=tmux_settings.session_prefix,
        shells=shells,
        programs=programs,
    )
