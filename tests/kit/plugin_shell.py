"""A shell as its plugin behaves, without zsh: it connects at its prompt, hangs up while a command runs, and says again
what no hub acknowledged, to the next one or into the spool.

Blocking, for a process of its own: `python -m tests.kit.plugin_shell SOCKET SPOOL NAME COMMANDS STAY`, which runs so
many commands for each line of its standard input, and leaves at its end. Called by the tests of the shell log.
"""

import contextlib
import fcntl
import json
import os
import re
import select
import socket
import sys
import time
from pathlib import Path
from typing import Any


class PluginShell:
    """One shell. `run` runs a command that takes no time."""

    def __init__(self, socket_path: Path, spool: Path, name: str, *, stay: int = 1) -> None:
        """`stay`: commands after which it hangs up; a real one does at each."""
        self.name = name
        self.spooled = 0
        self._path = socket_path
        self._spool = spool
        self._stay = stay
        self._number = 0
        self._seq = 0
        self._lines: list[tuple[int, bytes]] = []
        self._sent = 0
        self._socket: socket.socket | None = None
        self._heard = b""
        self._line("ShellStarted", pid=os.getpid(), cwd="/p", host="here")

    def run(self, command: str, exit: int = 0) -> None:
        """A command from its beginning to its end."""
        self.begin(command)
        self.end(exit)

    def begin(self, command: str, **more: Any) -> None:
        self._number += 1
        self._line("ShellCommandStarted", number=self._number, command=command, cwd="/p", pid=os.getpid(), **more)
        self._send()
        if self._number % self._stay == 0:
            self.hang_up()

    def end(self, exit: int = 0) -> None:
        self._line("ShellCommandFinished", number=self._number, exit=exit, duration=0.01, cwd="/p")
        self._send()

    def note(self, text: str) -> None:
        """A remark at the prompt."""
        self._line("ShellNoted", text=text, cwd="/p")
        self._send()

    def unheard(self) -> int:
        """Lines that no hub has acknowledged."""
        self._hear()
        return len(self._lines)

    def leave(self) -> None:
        """zshexit: what is not known to be kept goes into the spool."""
        self._line("ShellEnded")
        self._send()
        self.hang_up()
        while not self._to_spool():
            select.select([], [], [], 0.01)  # a hub reads the file

    def hang_up(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._heard = None, b""

    def _line(self, type: str, **fields: Any) -> None:
        self._seq += 1
        line = {"v": 2, "type": type, "at": time.time(), "shell": self.name, **fields, "seq": self._seq}
        self._lines.append((self._seq, json.dumps(line).encode() + b"\n"))

    def _send(self) -> None:
        self._hear()
        hello = b""
        if self._socket is None:
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                made.connect(str(self._path))
            except OSError:
                made.close()
                self._to_spool()
                return
            made.setblocking(False)
            self._socket, self._sent = made, 0
            hello = json.dumps({"hello": "shell", "agent": "", "pid": os.getpid()}).encode() + b"\n"
        rest = hello + b"".join(line for seq, line in self._lines if seq > self._sent)
        try:
            while rest:
                if not select.select([], [self._socket], [], 0.01)[1]:
                    raise BlockingIOError
                rest = rest[self._socket.send(rest[:16384]) :]
            self._sent = self._seq
        except OSError:
            self.hang_up()
            self._to_spool()
        if len(self._lines) > 500:
            self._to_spool()

    def _hear(self) -> None:
        if self._socket is None:
            return
        with contextlib.suppress(BlockingIOError):
            while True:
                try:
                    piece = self._socket.recv(65536)
                except BlockingIOError:
                    raise
                except OSError:
                    piece = b""
                if not piece:
                    self.hang_up()
                    return
                self._heard = self._heard[-64:] + piece
                if acks := re.findall(rb'"ack":(\d+)', self._heard):
                    kept = int(acks[-1])
                    self._lines = [line for line in self._lines if line[0] > kept]

    def _to_spool(self) -> bool:
        if not self._lines:
            return True
        self._spool.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(self._spool / f"{self.name}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file).st_ino != (self._spool / f"{self.name}.jsonl").stat().st_ino:
                return False  # it was removed meanwhile
            os.write(file, b"".join(line for _, line in self._lines))
        except OSError:
            return False  # a hub reads it: later
        finally:
            os.close(file)
        self.spooled += len(self._lines)
        self._lines = []
        return True


def main(socket_path: str, spool: str, name: str, commands: str, stay: str) -> None:
    """Run commands one after the other."""
    shell = PluginShell(Path(socket_path), Path(spool), name, stay=int(stay))
    number = 0
    for _ in sys.stdin:
        for _ in range(int(commands)):
            number += 1
            shell.run(f"make part-{number} | tee log", number % 3)
    shell.leave()
    sys.stdout.write(f"{shell.spooled}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
