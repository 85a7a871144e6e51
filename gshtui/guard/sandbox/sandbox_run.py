"""One command as it runs in a sandbox: its proxy to the hosts that it may reach, its limits, and what it was refused.

    async with SandboxRun(sandbox, argv, folder, environ) as run:
        process = await start_child(*run.argv, pass_fds=run.descriptors, env={}, …)
        run.started(process.pid)
        …

What runs longer than one call (an interpreter, a server of tools) is held in the same way, for as long as it lives.
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

from gshtui.guard.sandbox.control_group import ControlGroup, make_group
from gshtui.guard.sandbox.host_proxy import PORT, HostProxy
from gshtui.guard.sandbox.network_count import NetworkCount
from gshtui.guard.sandbox.sandbox import PYTHON, ProjectSandbox
from gshtui.guard.sandbox.sandbox_refusal import SandboxRefusal, refused_host, refused_limit, refused_network
from gshtui.guard.sandbox.sandbox_watch import SandboxWatch
from gshtui.system.tasks import cancel_and_wait, start_job

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
        """End what serves it."""
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
