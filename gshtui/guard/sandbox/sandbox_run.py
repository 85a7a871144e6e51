"""One command as it runs in a sandbox: its proxy to the hosts that it may reach, its limits, and what it was refused.

    async with SandboxRun(sandbox, argv, folder, environ) as run:
        process = await start_child(*run.argv, pass_fds=run.descriptors, env={}, …)
        run.started(process.pid)
        …

What runs longer than one call (an interpreter, a server of tools) is held in the same way, for as long as it lives.

A group of the kernel's that counts the processes of one sandbox, for root, who has no other limit of them.

Where none can be made (most containers), there is none: the watch of a sandbox counts in any case, a little later.

How often a sandboxed command tried to leave a network that leads nowhere, as the kernel itself counts it.

Whatever the command prints and whatever its exit code: each datagram and connection without a way out is counted. The
open files keep the count for as long as they are open, also when the command has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import msgspec

from gshtui.guard.sandbox.host_proxy import PORT, HostProxy
from gshtui.guard.sandbox.sandbox import PYTHON, ProjectSandbox
from gshtui.guard.sandbox.sandbox_refusal import SandboxRefusal, refused_host, refused_limit, refused_network
from gshtui.guard.sandbox.sandbox_watch import SandboxWatch
from gshtui.system.ids import new_id
from gshtui.system.tasks import cancel_and_wait, start_job

_LONGEST = 65_536


class NetworkCount:
    """Of one network namespace."""

    def __init__(self, process: int) -> None:
        """`process`: one that is in it. Raises `OSError`: it has ended."""
        self._last = 0
        self._files: list[int] = []
        try:
            for name in ("snmp", "snmp6"):
                self._files.append(os.open(f"/proc/{process}/net/{name}", os.O_RDONLY | os.O_CLOEXEC))
            self._first = self._count()
        except BaseException:
            self._close()
            raise

    def refused(self) -> int:
        """How often, up to now or up to when it was closed."""
        if self._files:
            self._last = self._count() - self._first
        return self._last

    def close(self) -> None:
        """Keep the number, and nothing else. May be called again."""
        self.refused()
        self._close()

    def _close(self) -> None:
        for descriptor in self._files:
            os.close(descriptor)
        self._files = []

    def _count(self) -> int:
        four, six = (os.pread(descriptor, _LONGEST, 0).decode("ascii") for descriptor in self._files)
        lines = [line.split() for line in four.splitlines() if line.startswith("Ip:")]
        counts = dict(zip(*lines[:2], strict=False)) if len(lines) > 1 else {}
        counts |= dict(line.split() for line in six.splitlines())
        return int(counts.get("OutNoRoutes", 0)) + int(counts.get("Ip6OutNoRoutes", 0))


_PREFIX = "gsh-sandbox-"
_JOIN, _OURS = '{ echo 0 >"$0"; } 2>/dev/null; exec "$@"', 3
"""Bubblewrap's own processes are in it, too. 0 is whoever writes it."""
_THREADS, _PROCESSES = "tasks", "cgroup.procs"
"""The first, of the first version, moves only the thread that asks: all that a shell has. The kernel then need not
stop every process of the machine from starting others, for which it may wait many milliseconds."""
_OWN, _MOUNTS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


class ControlGroup(msgspec.Struct, frozen=True):
    """One that exists, with its limit. `folder`: where it is."""

    folder: Path

    def joined(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """The command line that runs `argv` in it, with all that it starts."""
        joins = self.folder / _THREADS
        return ("/bin/sh", "-c", _JOIN, str(joins if joins.exists() else self.folder / _PROCESSES), *argv)

    def refused(self) -> bool:
        """Whether a process could not be started because of the limit."""
        try:
            return any(int(word) for word in (self.folder / "pids.events").read_text("ascii").split()[1::2])
        except (OSError, ValueError):
            return False

    def remove(self) -> None:
        """Remove it, once everything in it has ended. What is left behind is removed with a later one."""
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def make_group(processes: int, own: Path = _OWN, mounts: Path = _MOUNTS) -> ControlGroup | None:
    """A new group of at most so many processes; `None` where none can be made. Blocks for a moment."""
    base = _base(own, mounts)
    if base is None:
        return None
    _sweep(base)
    folder = base / f"{_PREFIX}{os.getpid()}-{new_id()}"
    try:
        folder.mkdir()
    except OSError:
        return None
    group = ControlGroup(folder)
    try:
        (folder / "pids.max").write_text(str(processes + _OURS), "ascii")
    except OSError:
        group.remove()
        return None
    return group


def _base(own: Path, mounts: Path) -> Path | None:
    """Where a group with a limit of processes can be made, in either version of the kernel's groups."""
    try:
        lines = own.read_text("utf-8").splitlines()
    except OSError:
        return None
    for line in lines:
        _, names, path = line.split(":", 2)
        if "pids" in names.split(","):
            return _writable(mounts / "pids" / path.lstrip("/"))
        if not names and (mounts / "cgroup.controllers").exists():  # the second version, whose groups with processes
            above = (mounts / path.lstrip("/")).parent if path != "/" else mounts  # have none with limits below them
            with contextlib.suppress(OSError):
                if "pids" in (above / "cgroup.subtree_control").read_text("ascii").split():
                    return _writable(above)
    return None


def _writable(folder: Path) -> Path | None:
    return folder if folder.is_dir() and os.access(folder, os.W_OK) else None


def _sweep(base: Path) -> None:
    """Remove what processes that are gone have left. A group with processes in it cannot be removed."""
    with contextlib.suppress(OSError):
        for found in base.glob(f"{_PREFIX}*"):
            owner = found.name.removeprefix(_PREFIX).partition("-")[0]
            if owner.isdecimal() and not Path(f"/proc/{owner}").exists():
                ControlGroup(found).remove()


_FIRST_PROCESS = re.compile(rb'"child-pid": ([0-9]{1,9})')
_SCRIPT = Path(__file__).with_name("network_start.py")
_AT = f"http://127.0.0.1:{PORT}"
_PROXY = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), _AT)
_HERE = "localhost,127.0.0.1,::1"
"""Servers that the command itself starts, unless the rules name those of this machine."""


@dataclass(slots=True)
class SandboxRun:
    """A command in its sandbox, from before it is started until it has ended.

    Args:
        sandbox: where it runs.
        wanted: the program and its arguments.
        folder: where it starts.
        environ: what it gets of variables.
        watched: whether its limits are watched here, besides the disk; not, if what is started watches them itself.
        asked: whether `began` is to be known.

    Attributes:
        argv: what to start, with an empty environment.
        descriptors: what to pass on, besides those that the command is to inherit.
    """

    sandbox: ProjectSandbox
    wanted: Sequence[str]
    folder: Path
    environ: Mapping[str, str]
    watched: bool = True
    asked: bool = False
    argv: tuple[str, ...] = ()
    descriptors: tuple[int, ...] = ()
    _status: int = field(default=-1, repr=False)
    _begins: tuple[int, int] | None = field(default=None, repr=False)
    """What is read of the first process, and what lets it go on."""
    _network: NetworkCount | None = field(default=None, repr=False)
    _crowded: bool = field(default=False, repr=False)
    _group: ControlGroup | None = field(default=None, repr=False)
    _watch: SandboxWatch | None = field(default=None, repr=False)
    _near: socket.socket | None = field(default=None, repr=False)
    _proxy: HostProxy | None = field(default=None, repr=False)
    _serving: asyncio.Task[None] | None = field(default=None, repr=False)

    async def __aenter__(self) -> SandboxRun:
        """Prepare it. Raises `OSError`: too many descriptors are open."""
        sandbox, wanted, environ = self.sandbox, self.wanted, self.environ
        far: tuple[int, ...] = ()
        if sandbox.hosts and not sandbox.network:
            script = await asyncio.to_thread(_SCRIPT.read_text, "utf-8")
            self._near, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            self._near.setblocking(False)
            far = (other.detach(),)
            wanted = (PYTHON, "-I", "-S", "-c", script, str(far[0]), str(PORT), *wanted)
            here = "" if sandbox.hosts.covers_loopback() else _HERE
            environ = {**environ, **_PROXY, "no_proxy": here, "NO_PROXY": here, "NODE_USE_ENV_PROXY": "1"}
        told = -1
        try:
            if self.asked:
                self._status, told = os.pipe()
                os.set_blocking(self._status, False)
                far = (*far, told)
            begins = None
            if sys.platform == "linux" and not sandbox.network and sandbox.view is None:
                read_end, begun = os.pipe()
                waits, write_end = os.pipe()
                self._begins, begins, far = (read_end, write_end), (begun, waits), (*far, begun, waits)
                os.set_blocking(read_end, False)
            inside = sandbox.command(wanted, self.folder, environ, status=told, begins=begins)
        except BaseException:
            self.descriptors = far
            await self.close()
            raise
        if os.geteuid() == 0 and sys.platform == "linux" and self.watched:
            self._group = await asyncio.to_thread(make_group, sandbox.limits.processes)
        argv = inside.argv if self._group is None else self._group.joined(inside.argv)
        self.argv, self.descriptors = argv, (*inside.descriptors, *far)
        return self

    def started(self, pid: int) -> None:
        """It has been started, with this id: from now on it is served, and watched."""
        self._close_descriptors()
        if self._begins is not None:
            asyncio.get_running_loop().add_reader(self._begins[0], self._count_network)
        if self.sandbox.view is None and sys.platform == "linux":
            self._watch = SandboxWatch(pid, self.sandbox.limits, self.sandbox.project, only_disk=not self.watched)
            self._watch.start()
        if self._near is not None:
            self._proxy = HostProxy(self.sandbox.hosts)
            self._serving = start_job(self._serve(self._near, self._proxy), "the sandbox's way to its hosts")

    def _count_network(self) -> None:
        """The first process is there, and waits until its network is looked at."""
        if self._begins is None:
            return
        asyncio.get_running_loop().remove_reader(self._begins[0])
        with contextlib.suppress(OSError):
            if found := _FIRST_PROCESS.search(os.read(self._begins[0], 4096)):
                self._network = NetworkCount(int(found[1]))
        with contextlib.suppress(OSError):  # it has ended
            os.write(self._begins[1], b"g")

    def _let_begin(self) -> None:
        if self._begins is not None:
            asyncio.get_running_loop().remove_reader(self._begins[0])
            for descriptor in self._begins:
                os.close(descriptor)
            self._begins = None

    async def _serve(self, near: socket.socket, proxy: HostProxy) -> None:
        listener = await _received(near)
        if listener is not None:
            await proxy.serve(listener)

    @property
    def refusals(self) -> list[SandboxRefusal]:
        """What it was refused up to now, as far as this process knows."""
        hosts = self._proxy.refused if self._proxy is not None else {}
        found = [refused_host(subject, why) for subject, why in hosts.items()]
        if self._network is not None and (tries := self._network.refused()):
            found.append(refused_network(tries))
        if self._watch is not None and self._watch.over is not None:
            found.append(refused_limit(*self._watch.over))
        elif self._crowded or (self._group is not None and self._group.refused()):
            most = self.sandbox.limits.processes
            found.append(refused_limit("max_processes", f"it wanted more than {most} processes, and got no more"))
        return found

    @property
    def began(self) -> bool:
        """Whether the command itself was started and has ended; to be asked once, after bubblewrap has ended."""
        try:
            return b'"exit-code"' in os.read(self._status, 4096)
        except OSError:
            return False

    async def close(self) -> None:
        self._close_descriptors()
        self._let_begin()
        if self._network is not None:
            self._network.close()
        if self._status >= 0:
            os.close(self._status)
            self._status = -1
        if self._watch is not None:
            await asyncio.to_thread(self._watch.close)
        await cancel_and_wait(self._serving)
        if self._proxy is not None:
            await self._proxy.close()
        if self._near is not None:
            self._near.close()
        if self._group is not None:
            group, self._group = self._group, None
            self._crowded = group.refused()
            await asyncio.to_thread(group.remove)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _close_descriptors(self) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = ()


async def _received(near: socket.socket) -> socket.socket | None:
    """The socket that is passed through this one; `None` if the other end closes without."""
    loop = asyncio.get_running_loop()
    come: asyncio.Future[int] = loop.create_future()

    def look() -> None:
        if come.done():
            return
        try:
            _, found, _, _ = socket.recv_fds(near, 1, 1)
        except BlockingIOError:
            return
        except OSError:
            found = []
        come.set_result(found[0] if found else -1)

    loop.add_reader(near, look)
    try:
        descriptor = await come
    finally:
        loop.remove_reader(near)
    if descriptor < 0:
        return None
    listener = socket.socket(fileno=descriptor)
    listener.setblocking(False)
    listener.set_inheritable(False)
    return listener
