"""The parent of the interpreter: forks it, lets it and all that it started run during a block, and stand still in
between.

Started by `gshtui.python.interpreter`, which imports this module from its file, with the options as JSON in the first
argument. Runs under the person's Python with nothing but the standard library. Ends all of it with its owner, however
that ends, and when it takes more processes, memory or disk than it may. In the sandbox it is the first process of its
namespace, whose end is the end of all; elsewhere it adopts what the interpreter leaves behind.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import socket
import sys
import time
from typing import Any

from gshtui.python.worker.channel import Channel
from gshtui.python.worker.console import Console, Streams
from gshtui.python.worker.kept_values import KeptValues
from gshtui.python.worker.namespace import make_namespace

TICK = 0.1
"""Seconds between two looks at what a running block uses."""
RUN, STAND = b"r", b"s"
"""What the owner says: go on, stand still."""
_WAKES = 3
"""Looks at which everything is continued again: a process that is just being forked may get the stop alone."""
_FLOOR = 200 << 20
"""Bytes that a block must leave free on the disk of its folder."""
_PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 4, 36


class Supervisor:
    """Watches one interpreter."""

    def __init__(self, owner: int, interpreter: int, processes: int, memory: int) -> None:
        """
        Args:
            owner: descriptor of the socket to the hub, which closes it at its end.
            interpreter: pid.
            processes: how many there may be at once.
            memory: bytes that all of them may have together; 0: no limit.
        """
        self._owner = owner
        self._interpreter = interpreter
        self._most = processes
        self._memory = memory
        self._first = os.getpid() == 1
        self._running = True
        self._wakes = 0
        """How often everything is still to be continued again."""
        self._free = _free_space()

    def watch(self) -> int:
        """Do so until the interpreter has ended or must; returns the exit code for its owner."""
        woken, wakes = os.pipe()
        for end in (woken, wakes):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _noted)
        for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(ignored, signal.SIG_IGN)
        waiting = select.poll()
        waiting.register(self._owner, select.POLLIN)
        waiting.register(woken, select.POLLIN)
        while True:
            ready = dict(waiting.poll(TICK * 1000 if self._running else None))
            if woken in ready:
                os.read(woken, 4096)
            if (code := self._reap()) is not None:
                self._end_all()
                return code
            if self._owner in ready and not self._obey(os.read(self._owner, 1)):
                self._end_all()
                return 0
            if self._running and self._wakes:
                self._wakes -= 1
                self._signal(signal.SIGCONT)
            if self._running and (why := self._excess()):
                self._end_all()
                os.write(self._owner, why.encode())
                return 1

    def _reap(self) -> int | None:
        """Collect what has ended; the interpreter's exit code, if it is among them."""
        code: int | None = None
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return 1 if code is None else code
            if not pid:
                return code
            if pid == self._interpreter:
                code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)

    def _obey(self, said: bytes) -> bool:
        """False: the owner is gone."""
        if said == RUN:
            self._running, self._free, self._wakes = True, _free_space(), _WAKES
            self._signal(signal.SIGCONT)
        elif said == STAND:
            self._running = False
            self._signal(signal.SIGSTOP)
        return bool(said)

    def _signal(self, number: int) -> None:
        """To all but this process: at once in the sandbox, else until no new one appears."""
        if self._first:
            _kill(-1, number)
            return
        told: set[int] = set()
        while new := [pid for pid in descendants() if pid not in told]:
            for pid in new:
                _kill(pid, number)
            told.update(new)

    def _end_all(self) -> None:
        self._signal(signal.SIGSTOP)  # so that nothing forks away from what follows
        until = time.monotonic() + 2.0
        while time.monotonic() < until:
            self._signal(signal.SIGKILL)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            time.sleep(0.005)

    def _excess(self) -> str:
        """What it takes too much of, as a clause; empty: nothing."""
        living = descendants()
        if len(living) > self._most:
            return f"it started more than {self._most} processes"
        if self._memory and sum(map(_resident, living)) > self._memory and sum(map(_share, living)) > self._memory:
            return f"it took more than {self._memory >> 20:,} MB of memory"
        if self._free > _FLOOR and _free_space() < _FLOOR:
            return f"it left less than {_FLOOR >> 20} MB of the disk free"
        return ""


def _noted(*_: object) -> None:
    """The wake-up descriptor tells."""


def adopt() -> None:
    """Become the parent of what loses its own below here, where this is not the first process anyway (Linux)."""
    if os.getpid() != 1:
        _set(_PR_SET_CHILD_SUBREAPER, 1)


def close_to_others(closed: bool) -> None:
    """Whether other processes of the person may look into this one, which holds the socket to the hub (Linux)."""
    _set(_PR_SET_DUMPABLE, not closed)


def _set(option: int, value: int) -> None:
    if sys.platform.startswith("linux"):
        import ctypes

        libc: Any = ctypes.CDLL(None)
        libc.prctl(option, value, 0, 0, 0)


def descendants() -> list[int]:
    """Pids of everything below this process, parents first."""
    own = os.getpid()
    parents: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return _listed_by_ps(own)
    for name in names:
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if fields[0] != b"Z":
                parents.setdefault(int(fields[1]), []).append(int(name))
    return _below(own, parents)


def _listed_by_ps(own: int) -> list[int]:
    """The same where there is no /proc (macOS)."""
    parents: dict[int, list[int]] = {}
    import subprocess

    listed = subprocess.run(("ps", "-axo", "pid=,ppid=,stat="), capture_output=True, text=True, check=False).stdout
    for line in listed.splitlines():
        pid, parent, state = line.split(None, 2)
        if not state.startswith("Z"):
            parents.setdefault(int(parent), []).append(int(pid))
    return _below(own, parents)


def _below(top: int, parents: dict[int, list[int]]) -> list[int]:
    found: list[int] = []
    level = parents.get(top, [])
    while level:
        found += level
        level = [child for pid in level for child in parents.get(pid, ())]
    return found


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass  # it has ended, or there is nobody


def _resident(pid: int) -> int:
    """Bytes in memory, counting what is shared in each process again."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def _share(pid: int) -> int:
    """Bytes in memory, with its share of what is shared. Takes longer."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except (OSError, IndexError):
        return _resident(pid)
    return 0


def _free_space() -> int:
    try:
        found = os.statvfs(".")
    except OSError:
        return 0
    return found.f_bavail * found.f_frsize


def main() -> None:
    """Run until the hub, the interpreter or its patience ends."""
    options: dict[str, Any] = json.loads(sys.argv[1])
    adopt()
    close_to_others(True)
    child = os.fork()
    if child:
        os.close(options["channel"])
        watching = Supervisor(options["owner"], child, options["processes"], options["memory"])
        _leave_output()
        os._exit(watching.watch())
    os.close(options["owner"])
    close_to_others(False)  # what this one takes is measured, and debuggers look at it
    os.setsid()
    _limit(options)
    interpret(options)


def interpret(options: dict[str, Any]) -> None:
    """Be the interpreter."""
    way = socket.socket(fileno=options["channel"])
    way.set_inheritable(False)
    channel = Channel(way)
    streams = Streams()
    # What this program is made of is none of the person's modules.
    for name in [name for name in sys.modules if name == "gshtui" or name.startswith("gshtui.")]:
        del sys.modules[name]
    sys.argv = [""]
    sys.path.insert(0, "")
    namespace = make_namespace(channel, network=options["network"])
    console = Console(channel, streams, namespace, KeptValues(namespace, options["cloudpickle"]))
    console.serve()


def _leave_output() -> None:
    """Let go of the interpreter's output, so that this process does not keep it open."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)


def _limit(options: dict[str, Any]) -> None:
    """Of every single process; `Supervisor` limits them together."""
    wanted = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: options["file"]}
    if options["memory"]:
        wanted[resource.RLIMIT_DATA] = options["memory"]
    for kind, most in wanted.items():
        if kind != resource.RLIMIT_CORE and not most:
            continue
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (most, most))
        except (OSError, ValueError):
            pass  # a system without this limit
