"""A real sshd on this machine that stands for another one: its own host key, home folder, and tmux.

Runs as whoever runs the tests. A gate in front of it (`Gate`) stands for the network: it can be closed, cut, or made to
swallow everything.
"""

import asyncio
import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

from gshtui.hosts.host_link import HostLinks
from gshtui.settings.settings_tables import HostSettings

_SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin") or "/usr/sbin/sshd"
_CONFIG = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
MaxSessions 40
MaxStartups 100
AcceptEnv LC_*
Subsystem sftp internal-sftp
SetEnv HOME={folder}/home TMUX_TMPDIR={folder}/tmux LANG= GSH_REMOTE=yes
"""


class SshHost:
    """A running sshd.

    Attributes:
        folder: everything of it; `home` is the home folder of who comes in.
        port: where it listens.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.port = free_port()
        self.pid = 0
        """Of sshd."""
        for made in (self.home, folder / "tmux"):
            made.mkdir(mode=0o700)
        self.make_key("host_key")
        self.make_key("user_key")
        (folder / "authorized_keys").write_bytes((folder / "user_key.pub").read_bytes())
        (folder / "sshd_config").write_text(_CONFIG.format(port=self.port, folder=folder))
        (folder / "ssh_config").write_text("")
        self.trust(self.port)
        self._process: subprocess.Popen[bytes] | None = None

    def make_key(self, name: str) -> None:
        """A new key pair in this file."""
        for path in (self.folder / name, self.folder / f"{name}.pub"):
            path.unlink(missing_ok=True)
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name], check=True, timeout=10
        )

    def trust(self, port: int) -> None:
        """Note its host key as known under this port."""
        kind, key = (self.folder / "host_key.pub").read_text().split()[:2]
        with (self.folder / "known_hosts").open("a") as file:
            file.write(f"[127.0.0.1]:{port} {kind} {key}\n")

    def start(self) -> None:
        """Start it, and wait until it listens."""
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        log = (self.folder / "sshd.log").open("ab")
        argv = [_SSHD, "-D", "-e", "-f", str(self.folder / "sshd_config")]
        self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=log, start_new_session=True)
        self.pid = self._process.pid
        while not _answers(self.port):
            assert self._process.poll() is None, (self.folder / "sshd.log").read_text()

    def stop(self) -> None:
        """End it with every connection to it."""
        if self._process is None:
            return
        main = psutil.Process(self._process.pid)
        everyone = [main, *main.children(recursive=True)]
        for one in everyone:
            with contextlib.suppress(psutil.Error):
                if one.name() == "sshd":
                    one.send_signal(signal.SIGKILL)
        self._process.wait(timeout=10)
        self._process = None

    def settings(self, port: int = 0, **more: object) -> HostSettings:
        """Its table in the configuration. `port`: of a gate in front of it."""
        known = f"UserKnownHostsFile={self.folder}/known_hosts"
        return HostSettings.model_validate(
            {
                "destination": "127.0.0.1",
                "user": getpass.getuser(),
                "port": port or self.port,
                "identity": str(self.folder / "user_key"),
                "ssh_config": str(self.folder / "ssh_config"),
                "ssh_options": [known, "GlobalKnownHostsFile=/dev/null", "IdentitiesOnly=yes", "IdentityAgent=none"],
                **more,
            }
        )

    def links(self, port: int = 0, **more: object) -> HostLinks:
        """The hosts of a configuration with this one as `far`."""
        runtime = self.folder / "run"
        runtime.mkdir(mode=0o700, exist_ok=True)
        return HostLinks({"far": self.settings(port, **more)}, lambda: runtime, os.environ)

    def processes(self) -> list[psutil.Process]:
        """What runs on it, whoever it descends from by now: all that has its home folder in the environment."""
        found: list[psutil.Process] = []
        for one in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if one.environ().get("HOME") == str(self.home):
                    found.append(one)
        return found

    def end_processes(self) -> None:
        """End all that runs on it, tmux servers too, and wait for their end."""
        for _ in range(20):  # one that is just being started is seen the next time
            running = self.processes()
            if not running:
                return
            for one in running:
                with contextlib.suppress(psutil.Error):
                    one.kill()
            psutil.wait_procs(running, timeout=1.0)
        raise AssertionError(f"These do not end: {running}")


class Gate:
    """The network in front of a host: passes bytes on until it is told otherwise."""

    def __init__(self, to: int, *, delay: float = 0.0) -> None:
        """`delay`: seconds that bytes take, each way."""
        self.port = 0
        self._delay = delay
        self._to = to
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self.closed = False
        self._left = -1

    def cut_after(self, pieces: int) -> None:
        """Cut every connection when so many more pieces have gone there, and refuse new ones."""
        self._left = pieces

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self, *, closed: bool = True) -> None:
        """Cut every connection; `closed`: and refuse new ones."""
        self.closed = closed
        for writer in list(self._open):
            writer.transport.abort()

    def reopen(self) -> None:
        """Let connections in again, and bytes flow."""
        self._left = -1
        self.closed = False
        self._flows.set()

    def swallow(self) -> None:
        """Keep the connections, and pass nothing on."""
        self._flows.clear()

    async def stop(self) -> None:
        self.cut()
        self._flows.set()
        if self._server is not None:
            self._server.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.closed:
            writer.transport.abort()
            return
        there_reader, there = await asyncio.open_connection("127.0.0.1", self._to)
        self._open |= {writer, there}
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await asyncio.gather(self._pump(reader, there, counts=True), self._pump(there_reader, writer))
        for each in (writer, there):
            self._open.discard(each)
            each.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counts: bool = False) -> None:
        while data := await reader.read(1 << 16):
            await self._flows.wait()
            if counts and self._left >= 0:
                if not self._left:
                    self.cut()
                    return
                self._left -= 1
            if self._delay:
                asyncio.get_running_loop().call_later(self._delay, writer.write, data)
                continue
            writer.write(data)
            await writer.drain()
        writer.transport.abort()


@contextlib.contextmanager
def ssh_host() -> Iterator[SshHost]:
    """A running host, which is gone afterwards with all that ran on it."""
    with tempfile.TemporaryDirectory(prefix="gshh", dir="/tmp") as folder:  # short: sockets are in it
        host = SshHost(Path(folder))
        host.start()
        try:
            yield host
        finally:
            host.stop()
            host.end_processes()


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0
