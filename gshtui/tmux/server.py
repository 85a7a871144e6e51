"""Our own tmux server, and everything done to its panes.

Starts sessions with exact arguments and environment; refuses a program given as a shell line.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gshtui.hosts.host_link import HostLink
from gshtui.tmux import tmux_program as program
from gshtui.tmux.client_process import OneShotTransport, Reply, TmuxQuestion
from gshtui.tmux.pane_keyboard import PaneKeyboard, check
from gshtui.tmux.panes import FORMAT, PaneInfo, parse, parse_all
from gshtui.tmux.quoting import SESSION, ShownRow, command, resizing, unexpanded, waiting_notes
from gshtui.tmux.tmux_connection import TmuxConnection
from gshtui.tmux.tmux_errors import TmuxError, no_such_pane, server_gone
from gshtui.tmux.watcher import Watcher

if TYPE_CHECKING:
    from gshtui.tmux.remote_server import RemoteServer
    from gshtui.tmux.server_lifecycle import ServerLifecycle

MOST = 1000
"""Most columns or rows of our terminals."""

# A single argument would be run by a shell; behind this, it never is. A program that is missing is named, and the
# moment after is for tmux, which may miss the last words of what ends in the same instant.
_EXACTLY = (
    "/bin/sh",
    "-c",
    'command -v "$0" >/dev/null || { echo "$0: there is no such program."; sleep 0.2; exit 127; }; exec "$0" "$@"',
)


def spawn_script(
    session: str,
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    width: int,
    height: int,
    with_environment: bool,
    mark: str = "",
    stays: bool = True,
    remote: bool = False,
) -> str:
    """The command line for tmux. `remote`: on another machine. Raises `TmuxError` for what cannot be started."""
    _check(session, argv, cwd, env, width, height)
    if not remote and not cwd.is_dir():
        raise TmuxError("refused", f"The folder {cwd} does not exist.", "Choose another folder to start in.")
    place = ("-x", str(width), "-y", str(height), "-c", unexpanded(str(cwd)))
    program = (*_EXACTLY, *argv)
    # For a server that is not our own, where our configuration does not hold.
    settings = (
        command("set-option", "-w", "-t", f"={session}:", "remain-on-exit", "on" if stays else "off"),
        command("set-option", "-t", f"={session}:", "status", "off"),
        command("set-option", "-w", "-t", f"={session}:", "allow-rename", "off"),
        command("set-option", "-w", "-t", f"={session}:", "automatic-rename", "off"),
        *((command("set-option", "-t", f"={session}:", "@gsh-agent", mark),) if mark else ()),
    )
    new = ("new-session", "-d", "-E", "-s", session, "-n", session, *place)
    if with_environment:
        variables = [part for name, value in env.items() for part in ("-e", f"{name}={value}")]
        return " ; ".join((command(*new, *variables, "--", *program), *settings))
    variables = [command("set-environment", "-t", f"={session}", "--", name, value) for name, value in env.items()]
    started = command("respawn-pane", "-k", "-t", f"={session}:", "-c", unexpanded(str(cwd)), "--", *program)
    return " ; ".join((command(*new, "--", "cat"), *settings, *variables, started))


def _check(session: str, argv: Sequence[str], cwd: Path, env: Mapping[str, str], width: int, height: int) -> None:
    if not SESSION.match(session):
        raise TmuxError("refused", f"{session!r} is not a valid session name.", "Use only a-z, 0-9 and -.")
    if not argv or not argv[0]:
        raise TmuxError("refused", "There is no program to start.")
    if any("\0" in text for text in (*argv, *env, *env.values(), str(cwd))):
        raise TmuxError("refused", "An argument, a variable or the folder contains a NUL character.")
    if bad := next((name for name in env if not name or "=" in name), None):
        raise TmuxError("refused", f"{bad!r} is not a valid name of an environment variable.")
    if not (1 < width <= MOST and 1 < height <= MOST):
        raise TmuxError("refused", f"A terminal cannot be {width}x{height}.", f"Use 2 to {MOST} columns and rows.")


_REAP_EVERY = 0.5
USERS_OWN = "default"
"""Name of the socket of the user's own server, which is never ended here."""


class TmuxServer:
    """A server by its socket; it need not run yet.

    Args:
        socket_name: as in `tmux -L`.
        socket_path: as in `tmux -S`, instead of a name.
        link: the machine that it is on; `None`: this one.
    """

    def __init__(
        self, socket_name: str = "gsh", *, socket_path: Path | None = None, link: HostLink | None = None
    ) -> None:
        self.socket_name = socket_name
        self.socket_path = socket_path
        self.address = ("-S", str(socket_path)) if socket_path else ("-L", socket_name)
        """The arguments that name the socket."""
        self.link = link
        self._forked = OneShotTransport(self.address, link)
        self.connection = TmuxConnection(self.address, self._forked)
        """How commands reach the server now; `connection.mode` and `connection.cost_ms` are for the status line."""
        self._typist = PaneKeyboard(self.connection, self._forked)
        self._watcher: Watcher | None = None
        self._version: tuple[int, int] | None = None
        self._abilities = program.abilities(program.LEAST)
        self._life: ServerLifecycle | RemoteServer | None = None
        self._reaped = 0.0
        self._started = False

    @property
    def watcher(self) -> Watcher:
        """What changes on its panes, as callbacks; one for all."""
        if self._watcher is None:
            self._watcher = Watcher(self)
        return self._watcher

    @property
    def host(self) -> str:
        """The name of the machine that it is on; empty: this one."""
        return self.connection.host

    # -- the server ------------------------------------------------------------------------------------------------

    async def version(self) -> tuple[int, int]:
        """Major and minor. Raises `TmuxError` (missing, old)."""
        if self._version is None:
            output, errors, _ = await self._forked.run("-V")
            if self.link is not None and not output:
                raise program.missing_on(self.link.name, self.link.settings.tmux)
            self._version = program.parsed((output or errors).decode("utf-8", "replace"), self.host)
            self._abilities = program.abilities(self._version)
            self._forked.from_file = not self._abilities.environment
            self.connection.may_control = self._abilities.control
        return self._version

    async def running(self) -> bool:
        """Whether the server answers. Raises `TmuxError` (missing, old, timeout)."""
        await self.version()
        return await (await self._lifecycle()).running()

    async def start(self) -> None:
        """Start the server unless it runs; it stays also while nothing runs on it, until `close`."""
        await self.version()
        await (await self._lifecycle()).start()
        self._started = True
        self.connection.retry_now()

    async def close(self) -> None:
        """Disconnect from the server. Agents on it keep running; without any, the server ends."""
        if self._watcher is not None:
            await self._watcher.close()
        await self.connection.close()
        await self._forked.close()
        if self._started and self.socket_name != USERS_OWN:
            self._started = False
            try:
                await (await self._lifecycle()).release()
            except TmuxError:
                pass  # it is gone, or does not answer; either way there is nothing to release

    def attach_command(self, session: str) -> list[str]:
        """What a person runs to see a session full-screen."""
        words = ["attach", "-t", f"={session}"]
        if self.link is None:
            return ["tmux", *self.address, *words]
        words_there = shlex.join([self.link.settings.tmux, *self.address, *words])
        return self.link.person_command(words_there, terminal=True)

    def attach_line(self, session: str) -> str:
        return shlex.join(self.attach_command(session))

    # -- panes -----------------------------------------------------------------------------------------------------

    async def spawn(
        self,
        session: str,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        width: int = 160,
        height: int = 45,
        mark: str = "",
        stays: bool = True,
    ) -> PaneInfo:
        """Start a program in a new session.

        Args:
            session: its name; a taken one raises `TmuxError` (`name_taken`).
            argv: the program and its arguments, exactly; no shell reads them.
            env: added to the server's small environment (home, path, language); hidden from process listings.
            mark: stored with the session, and returned as `PaneInfo.mark`: letters, digits, `.` and `-`.
            stays: keep its last screen when it ends; otherwise the session ends with it.
        """
        await self.start()
        line = spawn_script(
            session,
            argv,
            cwd=cwd,
            env=env,
            width=width,
            height=height,
            with_environment=self._abilities.environment,
            mark=mark,
            stays=stays,
            remote=self.link is not None,
        )
        if self.link is not None:
            line += " ; set-option -s exit-empty on"
        listing = command("list-panes", "-t", f"={session}:", "-F", FORMAT)
        async with self.connection.server_lock():
            made, listed = await self._forked.feed([line, listing])
        made.text()
        info = parse(listed.text()[0]) if listed.text() else None
        if info is None:
            raise TmuxError("refused", f"The session {session} ended while it was being created.")
        return self._placed(info)

    async def folder(self, path: str) -> str:
        """The full path of a folder on the server's machine; `~` and empty: home. Raises `TmuxError` (refused)."""
        if self.link is not None:
            return await (await self._remote()).folder(path)
        found = Path(path or "~").expanduser().absolute()
        if not await asyncio.to_thread(found.is_dir):
            raise TmuxError("refused", f"The folder {found} does not exist.", "Choose another folder to start in.")
        return str(found)

    async def has_program(self, word: str, folder: str) -> bool:
        """Whether a program can be started in this folder of the server's machine. Raises `TmuxError`."""
        if self.link is not None:
            return await (await self._remote()).has_program(word, folder)
        return await asyncio.to_thread(shutil.which, word) is not None

    async def panes(self) -> list[PaneInfo]:
        """Every pane of the server except our own hidden ones; empty if no server is running."""
        try:
            (reply,) = await self._ask([command("list-panes", "-a", "-F", FORMAT)])
            found = [self._placed(info) for info in parse_all(reply.text())]
        except TmuxError as error:
            if error.kind in ("gone", "no_such_pane"):  # no server, or one without any session
                return []
            raise
        if any(info.dead and info.exit_status is None for info in found):
            await self._reap()
        return found

    async def pane(self, pane: str) -> PaneInfo:
        """One pane now. Raises `TmuxError` (no_such_pane, gone, timeout)."""
        check(pane)
        for info in await self.panes():
            if info.pane == pane:
                return info
        if not await self.running():
            raise server_gone()
        raise no_such_pane(pane)

    async def _reap(self) -> None:
        """Make the server reap its children: it sometimes misses the end of one until another one ends."""
        now = time.monotonic()
        if now - self._reaped > _REAP_EVERY:
            self._reaped = now
            await self._ask([command("run-shell", "-b", ":")])

    async def capture(
        self, pane: str, *, start: int | None = None, end: int | None = None, styled: bool = True, join: bool = False
    ) -> list[str]:
        """A pane's current lines.

        Args:
            start, end: first and last line; 0 is the screen's top, negative lines are history. `None`: the screen's.
            styled: with colours and attributes as SGR sequences, which continue from one line to the next.
            join: join wrapped lines.
        """
        check(pane)
        words = ["capture-pane", "-p", "-t", pane, *(["-e"] if styled else []), *(["-J"] if join else [])]
        words += [] if start is None else ["-S", str(start)]
        words += [] if end is None else ["-E", str(end)]
        (reply,) = await self._ask([command(*words)])
        return list(reply.text())

    async def capture_screen(self, pane: str) -> tuple[PaneInfo, tuple[str, ...]]:
        """A pane and the styled lines of its screen, both of the same moment. Raises `TmuxError`: no_such_pane, gone,
        timeout.
        """
        check(pane)
        known = self.watcher.info(pane) or await self.pane(pane)
        (reply,) = await self._ask([TmuxQuestion(command("capture-pane", "-p", "-e", "-t", pane), known.target)])
        lines = reply.text()
        info = parse(reply.about)
        if info is None or info.pane != pane:  # it is in another session now
            return await self.pane(pane), lines
        if info.dead and info.exit_status is None:
            await self._reap()
        return self._placed(info), lines

    async def note_waiting(self, session: str, name: str) -> None:
        """Show in the status line of attached terminals that this session's agent waits; empty: it no longer does."""
        for reply in await self._ask(waiting_notes(session, name)):
            reply.text()

    async def resize(self, pane: str, width: int, height: int) -> None:
        """Resize a pane's window, unless a person is looking at it in their own terminal."""
        info = await self.pane(pane)
        if info.attached or (info.width, info.height) == (width, height):
            return
        if not (1 < width <= MOST and 1 < height <= MOST):
            raise TmuxError("refused", f"A terminal cannot be {width}x{height}.")
        (reply,) = await self._ask([resizing(info.target, width, height)])
        reply.text()

    async def kill_pane(self, pane: str, *, grace: float = 3.0) -> None:
        """End a pane and every process that it started, also those that detached themselves.

        `grace`: seconds between the hang-up and SIGKILL. Raises `TmuxError`: no_such_pane; refused when a process could
        not be ended (it is named).
        """
        info = await self.pane(pane)
        if self.link is not None:
            async with self.connection.server_lock():
                await (await self._remote()).end_pane(info, grace)
            return
        from gshtui.tmux import pane_processes

        await pane_processes.end_pane(self.connection, info, grace)

    async def signal_below(self, pane: str, leader: int, *, stop: bool) -> None:
        """On another machine: stop what a pane's first program started, or let it go on. Raises `TmuxError`."""
        check(pane)
        await (await self._remote()).signal_below(pane, leader, stop=stop)

    # -- typing ----------------------------------------------------------------------------------------------------

    async def send_text(self, pane: str, text: str, *, enter: bool = False, enter_delay: float = 0.0) -> None:
        """Paste text, bracketed if the program asked for that; control characters are removed.

        Args:
            enter: press Enter after it.
            enter_delay: seconds to wait before Enter, for programs that swallow one too close to a paste.
        """
        await self.version()
        self._tell_of_keys(pane, entered=False)
        await self._typist.paste(pane, text)
        if enter:
            if enter_delay > 0:
                await asyncio.sleep(enter_delay)
            await self.send_keys(pane, "Enter")

    async def send_keys(self, pane: str, *keys: str) -> None:
        """Press keys by name. Raises `TmuxError` (refused) for an unknown name, before anything is pressed."""
        await self.version()
        self._tell_of_keys(pane, entered="Enter" in keys)
        await self._typist.press(pane, keys)

    async def press_where_shown(self, pane: str, key: str, shown: Sequence[ShownRow]) -> bool:
        """Press a key by name only if all of these rows are on the screen at that moment; whether it was pressed."""
        await self.version()
        pressed = await self._typist.press_where_shown(pane, key, shown)
        if pressed:
            self._tell_of_keys(pane, entered=key == "Enter")
        return pressed

    async def type_bytes(self, pane: str, data: bytes) -> None:
        """Send bytes to a program's terminal as its input, as a keyboard or mouse would, control characters too."""
        await self.version()
        self._tell_of_keys(pane, entered=b"\r" in data)
        await self._typist.write(pane, data)

    def _tell_of_keys(self, pane: str, *, entered: bool) -> None:
        if self._watcher is not None:
            self._watcher.keys_pressed(pane, entered=entered)

    # -- below -----------------------------------------------------------------------------------------------------

    async def _ask(self, lines: Sequence[str | TmuxQuestion]) -> list[Reply]:
        await self.version()
        return await self.connection.ask(lines)

    def _placed(self, info: PaneInfo) -> PaneInfo:
        return info if self.link is None else replace(info, remote=True)

    async def _lifecycle(self) -> ServerLifecycle | RemoteServer:
        if self._life is None:
            self._life = await (asyncio.to_thread(self._load) if self.link is None else self._remote())
        return self._life

    async def _remote(self) -> RemoteServer:
        from gshtui.tmux.remote_server import RemoteServer  # only where there is another machine

        assert self.link is not None
        return RemoteServer(self.link, self.address)

    def _load(self) -> ServerLifecycle:
        # libtmux takes some 50 ms to load, and nothing needs it before a server is looked for.
        # It asks the standard output for its encoding meanwhile, and a window's (Textual's) has none.
        with contextlib.redirect_stdout(sys.__stdout__):
            from gshtui.tmux.server_lifecycle import ServerLifecycle

        return ServerLifecycle(socket_name=self.socket_name, socket_path=self.socket_path)
