"""The door for people elsewhere: an SSH server that knows only public keys, and opens a shell of our own and our files.

Every other channel and request is refused: commands (but `workbench`), forwarding, agents, X11, variables. It listens
on loopback unless told otherwise, and reads the list of people anew for each connection. Who does not log in makes room
for who comes later: no number of bad logins keeps out somebody with a key. Raises `DoorError` where it cannot open.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import asyncssh
import msgspec

from gshtui.guard.people import AuthorizedPerson, PeopleFile, read_people
from gshtui.system.expected_error import ExpectedError
from gshtui.system.files import private_files
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, keep_on
from gshtui.text.sanitise import one_line

LOGIN_WITHIN = 15.0
"""Seconds to log in."""
KEEPALIVE = 30.0
"""Seconds between two signs of life; three that are missed end the connection."""
MOST_CONNECTIONS = 100
MOST_PENDING = 20
"""Connections that have not logged in; one more closes the oldest."""
MOST_PENDING_HERE = 10
"""Such connections from one address."""
MOST_KEYS = 20
"""Keys that one connection may offer."""
MOST_SESSIONS = 10
"""Shells and transfers of one connection at a time."""
_LOOK_EVERY = 2.0
"""Seconds between looks for people who may enter no more."""

OpenShell = Callable[[asyncssh.SSHServerProcess[bytes], AuthorizedPerson, str | None], Awaitable[int]]
"""Serves one person until they leave, and returns its exit code; the text is what they asked for instead of the shell.
Raises nothing but cancellation."""
OpenFiles = Callable[[asyncssh.SSHServerChannel[bytes], AuthorizedPerson], asyncssh.SFTPServer]
IsTaken = Callable[[str], Awaitable[bool]]
"""Whether a name is somebody else's here: the owner's, or an agent's. Raises nothing."""
COMMANDS = frozenset({"workbench"})
"""What may be asked for instead of the shell."""


class DoorError(ExpectedError):
    """The server cannot listen; one sentence and what to do."""


class DoorOptions(msgspec.Struct, frozen=True):
    """Where it listens, and who may enter."""

    host: str
    port: int
    """0: any free one."""
    people: Path
    host_key: Path


class SshDoor:
    """Listens between `open` and `close`."""

    def __init__(self, options: DoorOptions, open_shell: OpenShell, open_files: OpenFiles, is_taken: IsTaken) -> None:
        self._options = options
        self.is_taken = is_taken
        self._open_shell = open_shell
        self._open_files = open_files
        self._acceptor: asyncssh.SSHAcceptor | None = None
        self._connections: dict[_DoorConnection, asyncssh.SSHServerConnection] = {}
        self._watch: asyncio.Task[None] | None = None
        logging.getLogger("asyncssh").setLevel(logging.CRITICAL)

    async def open(self) -> int:
        """Listen; returns the port. Raises `DoorError`."""
        key = await asyncio.to_thread(host_key, self._options.host_key)
        try:
            self._acceptor = await asyncssh.listen(
                self._options.host,
                self._options.port,
                server_factory=lambda: _DoorConnection(self),
                process_factory=self._serve,
                server_host_keys=[key],
                encoding=None,
                line_editor=False,
                login_timeout=LOGIN_WITHIN,
                keepalive_interval=KEEPALIVE,
                password_auth=False,
                kbdint_auth=False,
                host_based_auth=False,
                gss_host=None,
                agent_forwarding=False,
                x11_forwarding=False,
                allow_scp=False,
                sftp_factory=self._serve_files,
                server_version="gsh-tui",
                reuse_address=True,
            )
        except (OSError, UnicodeError) as error:
            where = f"{one_line(self._options.host, 100)} port {self._options.port}"
            why = getattr(error, "strerror", "") or "this is no address"
            raise DoorError(f"Cannot listen on {where}: {why}.", "Choose another port with `--port`.") from error
        self._watch = keep_on(self._close_revoked, "people who may enter no more")
        return self._acceptor.get_port()

    @property
    def fingerprint(self) -> str:
        """Of the host key, as a client shows it at the first connection."""
        return host_key(self._options.host_key).get_fingerprint()

    async def close(self) -> None:
        """Close every connection, and listen no longer."""
        await cancel_and_wait(self._watch)
        if self._acceptor is not None:
            self._acceptor.close()
        for connection in tuple(self._connections.values()):
            connection.close()
        if self._acceptor is not None:
            with contextlib.suppress(TimeoutError):
                async with time_limit(5.0):
                    await self._acceptor.wait_closed()

    def read_people(self) -> PeopleFile:
        """Who may enter now; nobody where the list cannot be read."""
        try:
            return read_people(self._options.people)
        except OSError:
            return PeopleFile()

    def accept(self, connection: _DoorConnection, raw: asyncssh.SSHServerConnection) -> bool:
        """Whether a connection may go on to log in; the oldest that did not makes room for it."""
        self._connections[connection] = raw
        pending = [one for one in self._connections if one.person is None]
        here = [one for one in pending if one.address == connection.address]
        if len(here) > MOST_PENDING_HERE or len(pending) > MOST_PENDING:
            oldest = here[0] if len(here) > MOST_PENDING_HERE else pending[0]
            self._connections.pop(oldest).abort()
        return len(self._connections) <= MOST_CONNECTIONS

    def forget(self, connection: _DoorConnection) -> None:
        """A connection has ended."""
        self._connections.pop(connection, None)

    async def _close_revoked(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            inside = [one for one in self._connections if one.person is not None]
            if not inside:
                continue
            known = set((await asyncio.to_thread(self.read_people)).people)
            for connection in inside:
                if connection.person not in known and connection in self._connections:
                    self._connections[connection].close()

    async def _serve(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        visitor: _DoorConnection | None = process.get_extra_info("gsh_visitor")
        if visitor is None or visitor.person is None or process.subsystem is not None:
            self._refuse(process, "only its own shell is open here")
        elif process.command is not None and process.command.strip() not in COMMANDS:
            self._refuse(process, "only its own shell is open here: connect without a command")
        elif visitor.sessions >= MOST_SESSIONS:
            self._refuse(process, f"one connection has at most {MOST_SESSIONS} shells")
        else:
            visitor.sessions += 1
            try:
                command = None if process.command is None else process.command.strip()
                process.exit(await self._open_shell(process, visitor.person, command))
            except (BrokenPipeError, ConnectionError, asyncssh.Error):
                process.close()
            finally:
                visitor.sessions -= 1

    def _refuse(self, process: asyncssh.SSHServerProcess[bytes], why: str) -> None:
        process.stderr.write(f"gsh-tui: {why}.\n".encode())
        process.exit(1)

    def _serve_files(self, channel: asyncssh.SSHServerChannel[bytes]) -> asyncssh.SFTPServer:
        visitor: _DoorConnection | None = channel.get_extra_info("gsh_visitor")
        if visitor is None or visitor.person is None:
            raise asyncssh.SFTPPermissionDenied("Nobody has logged in.")
        return self._open_files(channel, visitor.person)


class _DoorConnection(asyncssh.SSHServer):
    """One connection: who it is, once a key has said so."""

    def __init__(self, door: SshDoor) -> None:
        self._door = door
        self.address = ""
        self._raw: asyncssh.SSHServerConnection | None = None
        self._offered: AuthorizedPerson | None = None
        """Whose the key is that was offered last; only a signature proves it."""
        self._keys = 0
        self.person: AuthorizedPerson | None = None
        self.sessions = 0
        """Shells that are open."""

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._raw = conn
        peer = conn.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""
        if not self._door.accept(self, conn):
            conn.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._door.forget(self)

    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    async def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """A key says who somebody is; the name that the client gives does not matter."""
        words = key.export_public_key("openssh").decode().split()
        self._keys += 1
        if self._keys > MOST_KEYS and self._raw is not None:
            self._raw.abort()
            return False
        self._offered = None
        found = self._door.read_people().find(words[0], words[1])
        if found is not None and await self._door.is_taken(found.name):
            if self._raw is not None:
                self._raw.send_auth_banner(f"gsh-tui: somebody else is called {found.name} here.\n")
            return False
        self._offered = found
        return found is not None

    def auth_completed(self) -> None:
        self.person = self._offered
        if self._raw is not None:
            self._raw.set_extra_info(gsh_visitor=self)


def host_key(path: Path) -> asyncssh.SSHKey:
    """The host's key, made once. Raises `DoorError`."""
    try:
        if not path.exists():
            key = asyncssh.generate_private_key("ssh-ed25519", "gsh-tui")  # pyright: ignore[reportUnknownMemberType]
            private_files.make_folder(path.parent)
            private_files.write_whole(path, key.export_private_key("openssh"), sync=True)
            private_files.write_whole(Path(f"{path}.pub"), key.export_public_key("openssh"))
        return asyncssh.read_private_key(str(path))
    except (OSError, asyncssh.KeyImportError) as error:
        raise DoorError(f"The host key {path} cannot be used: {error}.", "Remove it to have a new one made.") from error
