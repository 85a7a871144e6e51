"""The way to one other machine: the person's own OpenSSH client, with one shared connection for all calls.

The first call starts a master connection that all our processes share and that ends by itself when nobody has used it
for a while. It never asks for a password. Each call has a deadline; a failed connection is tried again with growing
pauses, and until then the same error is given at once. Nothing is installed on the other machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shlex
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gshtui.hosts.host_errors import HostError, from_ssh
from gshtui.hosts.remote_shell import MarkedOutput, new_mark, remote_line
from gshtui.settings.settings_tables import HostSettings
from gshtui.system.files.file_lock import LockHeld, file_lock
from gshtui.system.processes.processes import kill_child, start_child
from gshtui.system.processes.time_limit import time_limit

if TYPE_CHECKING:
    from gshtui.settings.model import Settings

DEADLINE = 15.0
"""Seconds that a short script on the other machine may take."""
_KEPT = 120
"""Seconds that the shared connection stays without a user."""
_ALIVE_EVERY, _ALIVE_MISSED = 5, 3
"""Seconds between two signs of life, and how many may be missing before a connection counts as broken."""
_LONGEST_PATH = 86
"""Most bytes of the socket's path: ssh appends 17 while it makes it, and macOS takes 104."""
_FIRST, _LONGEST = 0.5, 15.0
"""Seconds from a failure to the next attempt, doubled each time."""
MOST = 8_000_000
"""Bytes of output that a call keeps; one that prints more is ended."""


class HostReply(msgspec.Struct, frozen=True):
    """What a script printed.

    `cut`: it printed more than is kept, and was ended. `noise`: what the login shell printed before it.
    """

    status: int
    output: bytes
    errors: bytes
    cut: bool = False
    noise: bytes = b""


class PreparedCommand(msgspec.Struct, frozen=True):
    """A program to start here that runs a script there, and what separates its output from the login shell's."""

    argv: tuple[str, ...]
    environment: dict[str, str]
    output: MarkedOutput
    errors: MarkedOutput
    explain: Callable[[bytes], HostError]
    """The error, if it ends before its output has begun, from what it printed."""


class HostLink:
    """One host of the configuration.

    Attributes:
        name: its name there.
        failure: why the last attempt to connect failed; `None` after a success.
    """

    def __init__(
        self,
        name: str,
        settings: HostSettings | None,
        runtime: Path,
        environ: Mapping[str, str],
        *,
        look_up: Callable[[], object] = lambda: None,
    ) -> None:
        """
        Args:
            settings: its table; `None`: there is none (any more).
            runtime: private folder for the shared connection's socket.
            environ: for ssh.
            look_up: calls `configure` if the configuration has changed; asked before each attempt to connect.
        """
        self.name = name
        self.settings = settings or HostSettings()
        self.failure: HostError | None = None
        self._known = settings is not None
        self._runtime = runtime
        self._environ = environ
        self._look_up = look_up
        self._wait = _FIRST
        self._again = 0.0
        self._connecting: asyncio.Task[None] | None = None

    def configure(self, settings: HostSettings | None) -> None:
        """Take its present table; what is connected stays so. `None`: there is none any more."""
        known = settings is not None
        if (known, settings or HostSettings()) == (self._known, self.settings):
            return
        self._known, self.settings = known, settings or HostSettings()
        self.failure, self._wait, self._again = None, _FIRST, 0.0

    @property
    def destination(self) -> str:
        """What a person writes behind `ssh`."""
        where = self.settings.destination or self.name
        return f"{self.settings.user}@{where}" if self.settings.user else where

    @property
    def lock_base(self) -> Path:
        """A path of this host's own in the private folder, for locks among our processes."""
        named = repr((self.name, self._person_words(), self.settings.ssh_options))
        return self._runtime / f"h-{hashlib.sha256(named.encode()).hexdigest()[:10]}"

    def person_command(self, *words: str, terminal: bool = False) -> list[str]:
        """The plain command that a person can type, with a command for there."""
        more = [part for option in self.settings.ssh_options for part in ("-o", option)]
        return ["ssh", *(["-t"] if terminal else []), *more, *self._person_words(), *words]

    def _person_words(self) -> list[str]:
        settings = self.settings
        return [
            *(["-F", str(settings.ssh_config)] if settings.ssh_config else []),
            *(["-p", str(settings.port)] if settings.port else []),
            *(["-i", str(settings.identity)] if settings.identity else []),
            self.destination,
        ]

    # -- the shared connection -------------------------------------------------------------------------------------

    def retry_now(self) -> None:
        """A person wants it: do not wait for the next attempt."""
        self._again = 0.0

    async def is_connected(self) -> bool:
        """Whether there is a shared connection now; opens none."""
        return await asyncio.to_thread(_listens, self._socket)

    async def connect(self) -> None:
        """See to it that there is a connection. Raises `HostError`."""
        self._look_up()
        if not self._known:
            hint = f"Add [hosts.{self.name}] to your configuration; `host ls` lists them."
            raise HostError("unknown", f"There is no host {self.name!r} in the configuration.", hint)
        if await asyncio.to_thread(_listens, self._socket):
            return
        if self.failure is not None and time.monotonic() < self._again:
            raise self.failure
        if self._connecting is None:  # one attempt for all that want it, and whoever leaves does not end it
            self._connecting = asyncio.ensure_future(self._attempt())
            self._connecting.add_done_callback(self._attempted)
        await asyncio.shield(self._connecting)

    def _attempted(self, task: asyncio.Task[None]) -> None:
        self._connecting = None
        if not task.cancelled():
            task.exception()  # who waited for it has it; nobody may have

    async def _attempt(self) -> None:
        try:
            await self._connect()
        except HostError as error:
            self.failure, self._again = error, time.monotonic() + self._wait
            self._wait = min(2 * self._wait, _LONGEST)
            raise
        self.failure, self._wait = None, _FIRST

    async def _connect(self) -> None:
        within = self.settings.connect_seconds + 3.0
        if not self._shares:
            return
        try:
            async with file_lock(self.lock_base.with_suffix(".lock"), within=within):
                if not await asyncio.to_thread(_listens, self._socket):
                    await self._start_master(within)
        except LockHeld as error:
            raise HostError("timeout", f"Another process is still connecting to {self.name}.") from error
        except OSError as error:
            raise HostError("failed", f"Cannot keep a connection in {self._runtime}: {error.strerror}.") from error

    async def _start_master(self, within: float) -> None:
        argv = [*await self._ssh("-f", "-N", "-M", "-o", f"ControlPersist={_KEPT}"), "-S", str(self._socket)]
        with tempfile.TemporaryFile() as said:  # a pipe would stay open in the process that stays
            process = await self._start([*argv, "--", self.destination], stdin=asyncio.subprocess.DEVNULL, stderr=said)
            try:
                async with time_limit(within):
                    status = await process.wait()
            except TimeoutError as error:
                text = f"{self.name} did not let us in within {within:g} s."
                hint = f"`{shlex.join(self.person_command('true'))}` shows what it does."
                raise HostError("unreachable", text, hint) from error
            finally:
                await asyncio.shield(kill_child(process, is_leader=True))
            said.seek(0)
            if status:
                raise self._explain(said.read(8_000))

    async def disconnect(self) -> None:
        """End the shared connection, and everything that goes through it."""
        if self._shares and await asyncio.to_thread(_listens, self._socket):
            argv = [*await self._ssh(), "-S", str(self._socket), "-O", "exit", "--", self.destination]
            process = await self._start(argv, stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL)
            try:
                with contextlib.suppress(TimeoutError):
                    async with time_limit(3.0):
                        await process.wait()
            finally:
                await kill_child(process)

    # -- calls -----------------------------------------------------------------------------------------------------

    async def prepare(self, script: str, *arguments: str) -> PreparedCommand:
        """Connect, and make the command that runs a POSIX script there. Raises `HostError`."""
        await self.connect()
        mark = new_mark()
        try:
            line = remote_line(script, arguments, mark)
        except ValueError as error:
            raise HostError("failed", str(error)) from error
        through = ["-S", str(self._socket)] if self._shares else ["-S", "none"]
        argv = (*await self._ssh("-T", *through, "-o", "ControlMaster=no"), "--", self.destination, line)
        return PreparedCommand(argv, self._environment(), MarkedOutput(mark), MarkedOutput(mark), self._explain)

    async def prepare_terminal(self, script: str, *arguments: str) -> tuple[list[str], dict[str, str]]:
        """Connect, and make the command that runs a script there in this terminal. Raises `HostError`."""
        await self.connect()
        try:
            line = remote_line(script, arguments, new_mark(), shows_mark=False)
        except ValueError as error:
            raise HostError("failed", str(error)) from error
        through = str(self._socket) if self._shares else "none"
        argv = [*await self._ssh("-t", "-S", through, "-o", "ControlMaster=no"), "--", self.destination, line]
        return argv, self._environment()

    async def run(
        self,
        script: str,
        *arguments: str,
        stdin: bytes = b"",
        deadline: float = DEADLINE,
        most: int = MOST,
        tied: bool = False,
    ) -> HostReply:
        """Run a POSIX script there, with these as `$1` ….

        Args:
            stdin: the script's standard input.
            deadline: seconds for all of it, with connecting.
            most: bytes of its output that are kept; one that prints more is ended.
            tied: leave its standard input open until it ends, so that it finds out there when we are gone.

        Raises `HostError`: no connection, or no answer in time; a script that fails has its status in the reply.
        """
        try:
            async with time_limit(deadline):
                return await self._run(await self.prepare(script, *arguments), stdin, most, tied)
        except TimeoutError as error:
            hint = "What was begun there may still be running."
            raise HostError("timeout", f"{self.name} did not answer within {deadline:g} s.", hint) from error

    async def _run(self, command: PreparedCommand, stdin: bytes, most: int, tied: bool) -> HostReply:
        pipe = asyncio.subprocess.PIPE
        process = await self._start(command.argv, stdin=pipe, stdout=pipe, stderr=pipe)
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        try:
            feeding = asyncio.ensure_future(_feed(process.stdin, stdin, keep_open=tied))
            (output, cut), (errors, more) = await asyncio.gather(
                _read(process.stdout, command.output, most, process.pid),
                _read(process.stderr, command.errors, most, process.pid),
            )
            feeding.cancel()
            if cut or more:  # the shared connection may hold its pipes, and its end is known only after theirs
                await kill_child(process)
            status = await process.wait()
        finally:
            await asyncio.shield(kill_child(process, is_leader=True))
        if command.output.flooded:
            raise HostError("failed", f"The login shell of {self.name} prints without end when it starts.")
        if not command.output.begun:
            raise command.explain(command.errors.end())
        if status == 255:  # ssh's own
            raise command.explain(errors)
        return HostReply(status, output, errors, cut or more, command.output.before.strip())

    async def _start(self, argv: Sequence[str], **pipes: object) -> asyncio.subprocess.Process:
        try:
            return await start_child(*argv, env=self._environment(), start_new_session=True, **pipes)  # type: ignore[arg-type]
        except FileNotFoundError as error:
            raise _no_ssh() from error
        except (OSError, ValueError) as error:
            raise HostError("failed", f"Cannot start ssh: {error}.") from error

    def _explain(self, errors: bytes) -> HostError:
        where = self.settings.destination or self.name
        return from_ssh(self.name, where, shlex.join(self.person_command()), errors)

    @property
    def _socket(self) -> Path:
        return self.lock_base.with_suffix(".s")

    @property
    def _shares(self) -> bool:
        return len(os.fsencode(self._socket)) <= _LONGEST_PATH

    async def _ssh(self, *words: str) -> list[str]:
        """The program with what always holds. Of two values of an option ssh takes the first."""
        settings, path = self.settings, await asyncio.to_thread(shutil.which, "ssh")
        if path is None:
            raise _no_ssh()
        options = [
            *settings.ssh_options,
            "BatchMode=yes",
            f"ConnectTimeout={settings.connect_seconds}",
            f"ServerAliveInterval={_ALIVE_EVERY}",
            f"ServerAliveCountMax={_ALIVE_MISSED}",
            *("ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no", "PermitLocalCommand=no"),
            *("RemoteCommand=none", "EscapeChar=none", "LogLevel=ERROR"),
        ]
        return [path, *(part for option in options for part in ("-o", option)), *words, *self._person_words()[:-1]]

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in self._environ.items() if not name.startswith(("TMUX", "SSH_ASKPASS"))}
        return kept | {"SSH_ASKPASS_REQUIRE": "never"}


class HostLinks:
    """The hosts of the configuration; one link for each."""

    def __init__(
        self,
        settings: Mapping[str, HostSettings],
        runtime: Callable[[], Path],
        environ: Mapping[str, str],
        *,
        changed: Callable[[], Settings | None] = lambda: None,
    ) -> None:
        """`runtime`: gives the private folder for sockets, once a host is used. `changed`: gives the settings anew if
        the configuration has changed since it was last asked.
        """
        self._settings = settings
        self._runtime = runtime
        self._environ = environ
        self._changed = changed
        self._links: dict[str, HostLink] = {}

    @property
    def settings(self) -> Mapping[str, HostSettings]:
        """The hosts' tables, as the configuration has them now."""
        self._look_up()
        return self._settings

    def link(self, name: str) -> HostLink:
        """The way to a host; one that the configuration does not name fails at its first use."""
        if name not in self._links:
            table = self.settings.get(name)
            self._links[name] = HostLink(name, table, self._runtime(), self._environ, look_up=self._look_up)
        return self._links[name]

    def _look_up(self) -> None:
        if (settings := self._changed()) is not None:
            self._settings = settings.hosts
            for link in self._links.values():
                link.configure(settings.hosts.get(link.name))


def _no_ssh() -> HostError:
    return HostError("missing", "There is no `ssh` on this machine.", "Install OpenSSH's client.")


def _listens(path: Path) -> bool:
    """Whether a master connection listens there."""
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(os.fsencode(path))
        except OSError:
            return False
        return True


def _end_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


async def _feed(pipe: asyncio.StreamWriter, data: bytes, *, keep_open: bool) -> None:
    with contextlib.suppress(OSError):  # a script need not read it
        pipe.write(data)
        await pipe.drain()
    if not keep_open:
        pipe.close()


async def _read(pipe: asyncio.StreamReader, marked: MarkedOutput, most: int, group: int) -> tuple[bytes, bool]:
    """What came behind the mark, and whether there was more than is kept; then what prints it is ended."""
    kept = bytearray()
    while data := await pipe.read(1 << 16):
        kept += marked.feed(data)
        if len(kept) > most or marked.flooded:
            _end_group(group)
            return bytes(kept[:most]), True
    return bytes(kept), False
