"""Ends the commands of this process when it is killed: a small shell beside it waits for that, and kills their groups.

For commands outside the sandbox, which nothing else ends then. A command that has left its group on purpose stays.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Generator

_WATCH = """
trap '' HUP INT QUIT TERM
left=
while read -r what pid; do
    case $what in
        +) left="$left $pid" ;;
        -) still=
            for each in $left; do [ "$each" = "$pid" ] || still="$still $each"; done
            left=$still ;;
    esac
done
for each in $left; do kill -s KILL -- "-$each"; done
"""
"""Reads which groups run until nobody can write any more."""
_watcher: list[subprocess.Popen[bytes]] = []


@contextlib.contextmanager
def dies_with_us(group: int) -> Generator[None]:
    """Have this process group killed if this process ends within the block without doing so itself."""
    _tell(f"+ {group}\n")
    try:
        yield
    finally:
        _tell(f"- {group}\n")


def _tell(line: str) -> None:
    """Tell the watcher, started with the first command; without one, a command is only not looked after."""
    with contextlib.suppress(OSError):
        if not _watcher:
            _watcher.append(
                subprocess.Popen(
                    ("/bin/sh", "-c", _WATCH),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env={},
                    start_new_session=True,
                )
            )
        stdin = _watcher[0].stdin
        assert stdin is not None
        os.write(stdin.fileno(), line.encode())
