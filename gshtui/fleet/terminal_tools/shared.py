"""The shared shell `gsh-main`: one shell on our own tmux server that the person and the agents all see and use.

Finds it by its session, starts it where it is missing, and says what is in front in it. Refuses to take a dead pane for
a shell. Called by `reach` and `terminal`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from gshtui.commands.declaration import CommandError
from gshtui.fleet.terminal_tools import zsh
from gshtui.programs.environment import environment
from gshtui.programs.front import SHELLS, Front, front, is_shell
from gshtui.tmux.errors import TmuxError
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.server import TmuxServer

PROMPT_WITHIN = 10.0
"""Seconds that a shell may take to its first prompt; a person's start-up files may be slow."""
_APART = 0.05
_FALLBACK = Path("/bin/sh")


@dataclass(frozen=True, slots=True)
class Shells:
    """Which shells may be started, the wished one first."""

    wished: Path
    environ: dict[str, str]

    def choose(self) -> Path:
        """The first that is there, and that the terminal tool can speak to; the wished one wherever it is installed."""
        elsewhere = shutil.which(self.wished.name, path=self.environ.get("PATH"))
        own = self.environ.get("SHELL") or _FALLBACK
        for shell in (self.wished, Path(elsewhere or own), Path(own)):
            if shell.name in SHELLS and os.access(shell, os.X_OK):
                return shell
        return _FALLBACK


class SharedShell:
    """The shell of one server."""

    def __init__(self, server: TmuxServer, session: str, shells: Shells) -> None:
        """`session`: the tmux session's name, `gsh-main` mostly."""
        self.server = server
        self.session = session
        self._shells = shells

    @property
    def program(self) -> str:
        """The shell that is started."""
        return self._shells.choose().name

    async def find(self) -> PaneInfo | None:
        """The shell's pane, dead or alive; `None` when there is none. Raises `TmuxError`."""
        here = [info for info in await self.server.panes() if info.session == self.session]
        return min(here, key=lambda info: (info.dead, int(info.pane[1:])), default=None)

    async def open(self, cwd: Path) -> PaneInfo:
        """The shell's pane; started in this folder when it is missing or has ended. Raises `TmuxError`."""
        found = await self.find()
        if found is not None and not found.dead:
            return found
        if found is not None:
            await self.server.kill_pane(found.pane)
        shell = self._shells.choose()
        environ = environment(self._shells.environ, "")
        environ = {name: value for name, value in environ.items() if not name.startswith("GSH_")}
        if shell.name == "zsh":
            environ |= await asyncio.to_thread(zsh.environment, environ)
        try:
            return await self._first_prompt(
                await self.server.spawn(self.session, [str(shell), "-i"], cwd=cwd, env=environ)
            )
        except TmuxError:
            # Another process may have been faster.
            found = await self.find()
            if found is None or found.dead:
                raise
            return found

    async def _first_prompt(self, info: PaneInfo) -> PaneInfo:
        """The fresh pane, once its shell has read its start-up files, or asks something in them."""
        try:
            return await self.at_prompt(info.pane, PROMPT_WITHIN)
        except CommandError:
            return info

    async def front(self, info: PaneInfo) -> Front:
        """What is in front in the pane now."""
        return await asyncio.to_thread(front, info)

    async def at_prompt(self, pane: str, within: float) -> PaneInfo:
        """The pane, once its shell waits at the prompt.

        Raises:
            CommandError: something else is in front for longer than `within` seconds, or the shell has ended.
            TmuxError: the pane is gone.
        """
        until = asyncio.get_running_loop().time() + within
        while True:
            info = await self.server.pane(pane)
            now = await self.front(info)
            if now.prompt:
                return info
            if info.dead:
                raise CommandError("The shared shell has ended.", hint="Try again; it is started anew.")
            if asyncio.get_running_loop().time() >= until:
                raise _in_use(now.program)
            await asyncio.sleep(_APART)

    async def puts_aside(self, info: PaneInfo) -> bool:
        """Whether this very shell has the key that puts a half-typed line aside."""
        if info.command.removeprefix("-") != "zsh":
            return False
        return await asyncio.to_thread(_variable, info.pid, zsh.MARK) == zsh.VERSION

    async def folder(self, info: PaneInfo, otherwise: Path) -> Path:
        """The folder that the shell is in."""
        return await asyncio.to_thread(_folder, info.pid, otherwise)


def _in_use(program: str) -> CommandError:
    what = "A command" if is_shell(program) or not program else f"`{program}`"
    hint = (
        "It was not disturbed. Look with `tmux action=read`, wait with `tmux action=wait_ready`, stop it with "
        "`tmux action=keys keys=C-c`, or use `bash`, which has a shell of its own."
    )
    return CommandError(f"{what} is still running in the shared shell.", hint=hint)


def _variable(pid: int, name: str) -> str:
    import psutil  # what no first screen needs

    try:
        return psutil.Process(pid).environ().get(name, "")
    except (psutil.Error, OSError):
        return ""


def _folder(pid: int, otherwise: Path) -> Path:
    import psutil

    try:
        return Path(psutil.Process(pid).cwd())
    except (psutil.Error, OSError):
        return otherwise
