"""Which terminals the tools can use, and how to name them: the shared shell and the agents' panes.
An approval is remembered with the terminal's state, and no longer counts if that state has changed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from gshtui.bus.agent_data import AgentRow
from gshtui.commands.declaration import CommandError, Invocation
from gshtui.fleet.core.agent_programs import Programs
from gshtui.fleet.core.agent_terminals import AgentTerminals
from gshtui.fleet.terminal_tools.shared_shell import SharedShell, ShellChoice
from gshtui.programs.pane.pane_view import SessionError
from gshtui.programs.pane.pane_writer import PaneWriter
from gshtui.programs.screen.foreground import is_shell
from gshtui.text.sanitise import plain
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError

_REMEMBERED = 512


class ApprovedState:
    """Circumstances by call."""

    def __init__(self) -> None:
        self._said: OrderedDict[tuple[str, str], tuple[object, str]] = OrderedDict()

    def note(self, invocation: Invocation, circumstances: object, words: str) -> None:
        """Remember the circumstances as the person is asked about this call; `words` describe them in a sentence."""
        if invocation.call:
            self._said[(invocation.session, invocation.call)] = (circumstances, words)
            if len(self._said) > _REMEMBERED:
                self._said.popitem(last=False)

    def confirm(self, invocation: Invocation, circumstances: object, words: str) -> None:
        """Raise `CommandError` if they have changed."""
        before = self._said.pop((invocation.session, invocation.call), None) if invocation.call else None
        if before is not None and before[0] != circumstances:
            raise CommandError(
                f"When you got approval, {before[1]}; now {words}.",
                hint="Nothing was typed. Look at it, then ask again.",
            )


RowSource = Callable[[], Awaitable[Sequence[AgentRow]]]
"""Every agent on the roster. May raise `StoreError`."""
Typing = Literal["", "text", "keys"]


class TerminalTarget(msgspec.Struct, frozen=True):
    """A pane that the tools may use. `row` is its agent's; without one it is the shared shell."""

    server: TmuxServer
    info: PaneInfo
    row: AgentRow | None = None

    @property
    def label(self) -> str:
        """Its name for people and models."""
        return f"{self.row.name} ({self.row.id})" if self.row else f"the shared shell ({self.info.session})"

    @property
    def key(self) -> tuple[str, str, int]:
        """Its identity: socket, pane and process."""
        return (str(self.server.socket_path or self.server.socket_name), self.info.pane, self.info.pid)

    @property
    def is_shell(self) -> bool:
        """Whether a shell is in front, which would run text as a command."""
        return is_shell(self.info.command)


class NotOpen(CommandError):
    """The shared shell has not been started yet."""


class TerminalTargets:
    """The terminals of one hub, or of one agent's process."""

    def __init__(
        self,
        terminals: AgentTerminals,
        rows: RowSource,
        *,
        socket: str,
        prefix: str,
        shells: ShellChoice,
        programs: Programs | None = None,
        patience: float = 5.0,
    ) -> None:
        """
        Args:
            socket: the tmux server of the shared shell, as in the settings.
            prefix: start of our session names.
            shells: the candidates for the shared shell.
            programs: the other programs, if they are shared.
            patience: seconds to wait for its prompt, for the person to finish a line, and for another agent's command.
        """
        self.socket = socket
        self.patience = patience
        self._terminals = terminals
        self._rows = rows
        self._programs = programs or Programs()
        self.shared = SharedShell(terminals.server(socket), f"{prefix}-main", shells)

    async def find(
        self, invocation: Invocation, wanted: str, *, typing: Typing = "", start: bool = False
    ) -> TerminalTarget:
        """The pane with this name: the shared shell for an empty name or `main`, an agent's id or name, or `%12`.

        Args:
            typing: the kind of input to type there.
            start: start the shared shell if it is missing or has ended.

        Raises `NotOpen`: it is the shared shell, which is not running; `ExpectedError`: there is none, it may not be
        reached, or tmux failed.
        """
        name = wanted.strip()
        if self.is_shared(name):
            return TerminalTarget(self.shared.server, await self._shell(invocation, start))
        for target in await self.all():
            if name in _names(target):
                return _checked(target, invocation, typing)
        row = await self._row(name)
        if row is not None:
            raise CommandError(
                f"{row.name} ({row.id}) has no terminal now ({row.status}).",
                hint=f"`agent show {row.id}` prints what it left.",
            )
        raise CommandError(f"There is no pane {name[:40]!r} that you may use.", hint="`tmux action=panes` lists them.")

    def is_shared(self, wanted: str) -> bool:
        return wanted.strip() in ("", "main", "shell", self.shared.session)

    async def _shell(self, invocation: Invocation, start: bool) -> PaneInfo:
        if start:
            return await self.shared.open(invocation.cwd)
        info = await self.shared.find()
        if info is None:
            raise NotOpen("The shared shell is not open yet.", hint="`terminal` or `tmux action=send` opens it.")
        return info

    async def writer(self, target: TerminalTarget) -> PaneWriter:
        """The writer for this terminal; the only way to type into it."""
        if target.row is not None:
            return (await self._programs.session(target.server, target.row)).writer
        shell = (target.info.command,) if target.is_shell else (await self.shared.program(),)
        return await self._programs.writer(target.server, target.info.pane, "the shared shell", shell)

    async def all(self) -> list[TerminalTarget]:
        """Every pane: the shared shell (unless it was never started), then the agents'."""
        found: list[TerminalTarget] = []
        if (info := await self.shared.find()) is not None:
            found.append(TerminalTarget(self.shared.server, info))
        panes: dict[str, dict[str, PaneInfo]] = {}
        for row in await self._rows():
            if not row.pane or not row.socket:
                continue
            server = self._terminals.server(row.socket)
            if row.socket not in panes:
                try:
                    panes[row.socket] = {info.pane: info for info in await server.panes()}
                except TmuxError:
                    if not row.host:
                        raise
                    panes[row.socket] = {}  # another machine that is out of reach takes no other terminal away
            info = panes[row.socket].get(row.pane)
            if info is not None and info.pid == row.pid:  # else another program's, of a later server
                found.append(TerminalTarget(server, info, row))
        return found

    async def _row(self, name: str) -> AgentRow | None:
        return next((row for row in await self._rows() if name in (row.id, row.id.lstrip("0"), row.name)), None)


def from_typing_error(error: SessionError) -> CommandError:
    """The command error for an obstacle to typing; a question is quoted in full."""
    hint = error.hint
    if error.asks:
        quoted = "\n".join(f"> {line}" for line in plain(error.asks).split("\n"))
        hint = f"{hint} It shows:\n\n{quoted}"
    return CommandError(error.message, hint=hint, data={"kind": error.kind, "asks": error.asks})


def _names(target: TerminalTarget) -> tuple[str, ...]:
    row, info = target.row, target.info
    return (info.pane, info.session) if row is None else (info.pane, row.id, row.id.lstrip("0"), row.name, info.session)


def _checked(target: TerminalTarget, invocation: Invocation, typing: Typing) -> TerminalTarget:
    row, text = target.row, typing == "text"
    if row is None or not typing:
        return target
    if target.info.dead or row.killed:
        raise CommandError(
            f"{target.label} has ended, so you cannot type into it.", hint=f"`agent restart {row.id}` restarts it."
        )
    if invocation.caller.is_agent and row.id == invocation.caller.name:
        raise CommandError("That is your own terminal; whatever you type there would become your own prompt.")
    if row.kind == "native" and (text or invocation.caller.is_agent):
        command = "say" if invocation.caller.is_agent else "agent send"
        raise CommandError(
            f"{target.label} is a native agent, which takes messages, not keys.",
            hint=f"`{command} {row.id} …` sends one.",
        )
    return target


def is_of_project(target: TerminalTarget, project: Path) -> bool:
    """Whether the pane belongs to the project's windows, or to all of them."""
    return target.row is None or not target.row.home or Path(target.row.home).is_relative_to(project)
