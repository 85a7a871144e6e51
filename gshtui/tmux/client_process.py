"""One running tmux client: a process with pipes on the event loop, which can be dropped at any moment.

Starts, feeds and ends it. A client hands its pipes to the server, so if the server is stopped they stay open after the
client is killed; dropping a client therefore waits only for the process. On another machine the client runs behind
`ssh`: this is the one place where that differs. Called by `one_shot` and `control_client`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from typing import cast

from gshtui.hosts.host_errors import HostError
from gshtui.hosts.host_link import HostLink, PreparedCommand
from gshtui.system.processes.processes import finish_start
from gshtui.system.processes.time_limit import time_limit
from gshtui.tmux import tmux_program
from gshtui.tmux.tmux_errors import TmuxError, from_host, program_missing

OnData = Callable[[int, bytes], None]
_REAP_WITHIN = 2.0


class ClientProcess(asyncio.SubprocessProtocol):
    """A tmux client.

    Attributes:
        ended: set when the process has ended.
        finished: set when it has ended and all its output was read.
        status: its exit status, once it has ended.
    """

    def __init__(self, on_data: OnData) -> None:
        self.ended = asyncio.Event()
        self.finished = asyncio.Event()
        self.status = 0
        self._on_data = on_data
        self._remote: PreparedCommand | None = None
        self._said = b""
        self._transport: asyncio.SubprocessTransport | None = None

    @classmethod
    async def start(
        cls, arguments: Sequence[str], on_data: OnData, *, cwd: str | None = None, link: HostLink | None = None
    ) -> ClientProcess:
        """Start tmux with these arguments; `on_data` takes (1 or 2, bytes). `link`: the machine to start it on; `None`:
        this one. Raises `TmuxError`: missing, refused, unreachable.
        """
        remote = None
        if link is None:
            program = await asyncio.to_thread(tmux_program.find)
            argv, environment = (program, "-u", *arguments), tmux_program.client_environment()
        else:
            try:
                remote = await link.prepare(tmux_program.remote_client(link.settings), *arguments)
            except HostError as error:
                raise from_host(error) from error
            argv, environment, cwd = remote.argv, remote.environment, "/"

        def client_of() -> ClientProcess:
            made = cls(on_data)
            made._remote = remote
            return made

        start = asyncio.get_running_loop().subprocess_exec(
            client_of, *argv, env=environment, cwd=cwd, start_new_session=True
        )
        try:
            _, client = await finish_start(start, lambda started: started[1].drop())
        except FileNotFoundError as error:
            raise program_missing() from error
        except OSError as error:
            raise TmuxError("refused", f"Cannot start tmux: {error.strerror}.") from error
        return client

    def check_begun(self) -> None:
        """After its end: raise `TmuxError` (missing, unreachable) if it never ran, or if the connection broke."""
        remote = self._remote
        if remote is None or (remote.output.begun and self.status != 255):
            return
        self._said += remote.errors.end()
        raise from_host(remote.explain(self._said))

    def write(self, data: bytes) -> None:
        pipe = self._input()
        if pipe is not None:
            pipe.write(data)

    def close_input(self) -> None:
        pipe = self._input()
        if pipe is not None:
            pipe.close()

    async def drop(self) -> None:
        """End it at once, with its group, and close our ends of its pipes."""
        transport = self._transport
        if transport is None:
            return
        if not self.ended.is_set():
            self._kill()
            with contextlib.suppress(TimeoutError):
                async with time_limit(_REAP_WITHIN):
                    await self.ended.wait()
        transport.close()

    # -- asyncio's side --------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if self._remote is not None:
            data = (self._remote.output if fd == 1 else self._remote.errors).feed(data)
            if self._remote.output.flooded:
                self._kill()
            if fd == 2:
                self._said = (self._said + data)[-4_000:]
        if data:
            self._on_data(fd, data)

    def process_exited(self) -> None:
        if self._transport is not None:
            self.status = self._transport.get_returncode() or 0
        self.ended.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended and its pipes are closed."""
        self.ended.set()
        self.finished.set()

    def _kill(self) -> None:
        if self._transport is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._transport.get_pid(), signal.SIGKILL)

    def _input(self) -> asyncio.WriteTransport | None:
        if self._transport is None:
            return None
        pipe = self._transport.get_pipe_transport(0)
        return None if pipe is None or pipe.is_closing() else cast("asyncio.WriteTransport", pipe)
