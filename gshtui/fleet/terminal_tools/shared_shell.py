"""The shared shell `gsh-main`: one shell on our tmux server that the person and all agents see and use.
Its zsh reads the person's own configuration and has one extra key, which puts a half-typed line aside.
Only one agent at a time, across all processes, can use the shell, for the duration of a whole command.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec

from gshtui.commands.declaration import CommandError
from gshtui.programs.screen.foreground import Foreground, front, is_shell
from gshtui.settings import paths
from gshtui.system.caller_environment import program_environment
from gshtui.system.files import private_files
from gshtui.system.files.file_lock import LockHeld, file_lock
from gshtui.system.processes.process_tree import SHELLS
from gshtui.text.sanitise import one_line
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError

ASIDE = "\x1b[27;99;103~"
"""The key: a sequence that no keyboard sends."""
MARK = "GSH_SHARED_SHELL"
"""Variable that identifies a shell with the key."""
VERSION = "1"

_STARTUP = f"""\
# Written by gsh-tui for its shared shell. It reads your own configuration, and binds one key that no keyboard has.
if [[ -n ${{GSH_ZDOTDIR-}} ]]; then
  ZDOTDIR=$GSH_ZDOTDIR
else
  unset ZDOTDIR
fi
unset GSH_ZDOTDIR
if [[ -r ${{ZDOTDIR:-$HOME}}/.zshenv ]]; then
  source "${{ZDOTDIR:-$HOME}}/.zshenv"
fi
if [[ -o interactive ]]; then
  gsh-put-aside() {{
    zle push-input
    [[ $KEYMAP == vicmd ]] && zle -K viins
    return 0
  }}
  gsh-bind() {{
    emulate -L zsh
    zle -N gsh-put-aside
    local keymap
    for keymap in emacs viins vicmd; do
      bindkey -M $keymap '{ASIDE.replace(chr(27), "^[")}' gsh-put-aside
    done
    precmd_functions=(${{precmd_functions:#gsh-bind}})
  }}
  gsh-bind
  precmd_functions+=(gsh-bind)
fi
"""


def zsh_environment(environ: dict[str, str]) -> dict[str, str]:
    """Variables for a zsh with the key; none if the file cannot be written, so that it starts without. `environ`: the
    shell's other variables.
    """
    try:
        folder = paths.state_dir() / "zsh"
        private_files.make_folder(folder)
        private_files.write_whole(folder / ".zshenv", _STARTUP.encode())
    except OSError:
        return {}
    theirs = environ.get("ZDOTDIR", "")
    return {"ZDOTDIR": str(folder), MARK: VERSION, **({"GSH_ZDOTDIR": theirs} if theirs else {})}


@contextlib.asynccontextmanager
async def shared_shell_lock(what: str, doing: str, within: float) -> AsyncGenerator[None]:
    """Hold the shared shell exclusively.

    Args:
        what: which: the socket of its tmux server.
        doing: what for, told to others that wait.
        within: seconds to wait for it.

    Raises `CommandError`: another agent's command runs there for longer.
    """
    name = hashlib.sha256(what.encode()).hexdigest()[:12]
    # Only a failure to get the lock is handled here, not an error raised inside the block.
    async with contextlib.AsyncExitStack() as stack:
        try:
            path = paths.runtime_dir() / f"shared-shell-{name}.lock"
            await stack.enter_async_context(file_lock(path, note=doing, within=within))
        except LockHeld as held:
            hint = "Wait for it (`tmux action=wait_ready`), or use `bash`, which has its own shell."
            other = one_line(held.note)
            raise CommandError(f"Another agent's command is running in the shared shell: {other}.", hint=hint) from None
        yield


PROMPT_WITHIN = 10.0
"""Seconds within which a shell must show its first prompt; a person's start-up files may be slow."""
_APART = 0.05
_FALLBACK = Path("/bin/sh")


class ShellChoice(msgspec.Struct, frozen=True):
    """The shells that may be started, the preferred one first."""

    wished: Path
    environ: dict[str, str]

    def choose(self) -> Path:
        """The first one installed that the terminal tool supports; the preferred one may be anywhere.

        Blocks for a moment.
        """
        elsewhere = shutil.which(self.wished.name, path=self.environ.get("PATH"))
        own = self.environ.get("SHELL") or _FALLBACK
        for shell in (self.wished, Path(elsewhere or own), Path(own)):
            if shell.name in SHELLS and os.access(shell, os.X_OK):
                return shell
        return _FALLBACK


class SharedShell:
    """The shell of one server."""

    def __init__(self, server: TmuxServer, session: str, shells: ShellChoice) -> None:
        """`session`: the tmux session's name, usually `gsh-main`."""
        self.server = server
        self.session = session
        self._shells = shells

    async def program(self) -> str:
        return (await asyncio.to_thread(self._shells.choose)).name

    async def find(self) -> PaneInfo | None:
        """The shell's pane, dead or alive; `None` if there is none. Raises `TmuxError`."""
        here = [info for info in await self.server.panes() if info.session == self.session]
        return min(here, key=lambda info: (info.dead, int(info.pane[1:])), default=None)

    async def open(self, cwd: Path) -> PaneInfo:
        """The shell's pane; it is started in this folder if missing or ended. Raises `TmuxError`."""
        found = await self.find()
        if found is not None and not found.dead:
            return found
        if found is not None:
            await self.server.kill_pane(found.pane)
        shell = await asyncio.to_thread(self._shells.choose)
        environ = program_environment(self._shells.environ, "")
        environ = {name: value for name, value in environ.items() if not name.startswith("GSH_")}
        if shell.name == "zsh":
            environ |= await asyncio.to_thread(zsh_environment, environ)
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
        """The new pane, once its shell has read its start-up files, or asks a question in them."""
        try:
            return await self.at_prompt(info.pane, PROMPT_WITHIN)
        except CommandError:
            return info

    async def front(self, info: PaneInfo) -> Foreground:
        """The pane's current foreground program."""
        return await asyncio.to_thread(front, info)

    async def at_prompt(self, pane: str, within: float) -> PaneInfo:
        """The pane, once its shell waits at its prompt. Raises `CommandError`: another program is in front for longer
        than `within` seconds, or the shell has ended; `TmuxError`: the pane is gone.
        """
        until = asyncio.get_running_loop().time() + within
        while True:
            info = await self.server.pane(pane)
            now = await self.front(info)
            # The foreground program in the pane's description may have ended before this looked for it.
            if now.prompt and (after := await self.server.pane(pane)).command == info.command:
                return after
            if info.dead:
                raise CommandError("The shared shell has ended.", hint="Try again; a new one will be started.")
            if asyncio.get_running_loop().time() >= until:
                raise _in_use(now.program)
            await asyncio.sleep(_APART)

    async def rests(self, pane: str) -> bool:
        """Whether its shell waits at its prompt. Raises `TmuxError`."""
        return (await self.front(await self.server.pane(pane))).prompt

    async def puts_aside(self, info: PaneInfo) -> bool:
        """Whether this very shell has the key that puts a half-typed line aside."""
        if info.command.removeprefix("-") != "zsh":
            return False
        return await asyncio.to_thread(_variable, info.pid, MARK) == VERSION

    async def folder(self, info: PaneInfo, otherwise: Path) -> Path:
        """The folder that the shell is in."""
        return await asyncio.to_thread(_folder, info.pid, otherwise)


def _in_use(program: str) -> CommandError:
    what = "A command" if is_shell(program) or not program else f"`{program}`"
    hint = (
        "It was left alone. Look with `tmux action=read`, wait with `tmux action=wait_ready`, stop it with "
        "`tmux action=keys keys=C-c`, or use `bash`, which has its own shell."
    )
    return CommandError(f"{what} is still running in the shared shell.", hint=hint)


def _variable(pid: int, name: str) -> str:
    import psutil  # not needed for the first screen

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
