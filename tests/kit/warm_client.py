"""A program that has a warm program do what it is asked: `python -I -S warm_client.py SOCKET CALL WORD…`.

It passes its folder, environment and standard streams on, sends the interrupts that it gets to who does the work, and
ends as that does. On a terminal it becomes `gsh-tui` itself, which needs a session of its own there.
"""

import json
import os
import signal
import socket
import sys


def main(place: str, call: str, words: list[str]) -> int:
    """Ask, and wait."""
    if os.isatty(0) or os.isatty(1):
        os.execv(sys.executable, [sys.executable, "-m", "gshtui", *words])
    here = os.getcwd()  # noqa: PTH109 - pathlib takes as long to load as all else here
    asked_of = {"call": call, "words": words, "cwd": here, "env": dict(os.environ), "umask": umask()}
    fields = json.dumps(asked_of).encode()
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(place)
        socket.send_fds(asked, [f"{len(fields):8}".encode()], [0, 1, 2])
        asked.sendall(fields)
        pid = int(asked.recv(8, socket.MSG_WAITALL))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(pid, number))
        return int(asked.recv(8, socket.MSG_WAITALL))


def umask() -> int:
    """What this process takes from the rights of what it makes; only setting it tells."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


if __name__ == "__main__":
    code = main(sys.argv[1], sys.argv[2], sys.argv[3:])
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)
