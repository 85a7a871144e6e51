"""Ends the commands of this process when it is killed: a small shell beside it waits for that, and kills their groups.

For commands outside the sandbox, which nothing else ends then. A command that has left its group on purpose stays.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Generator

from gshtui.system.caller_environment import MARK

_WATCH = f"""
trap '' HUP INT QUIT TERM
left=
while read -r call pid; do
    still=
    for each in $left; do [ "${{each%:*}}" = "$call" ] || still="$still $each"; done
    case $pid in
        -) left=$still ;;
        *) left="$still $call:${{pid#?}}" ;;
    esac
done
for each in $left; do
    pid=${{each#*:}} call=${{each%:*}}
    if [ "$pid" ]; then
        kill -s KILL -- "-$pid"
        continue
    fi
    for file in /proc/[0-9]*/environ; do
        grep -qF "{MARK}=$call" "$file" || continue
        pid=${{file#/proc/}} pid=${{pid%/environ}}
        kill -s KILL -- "-$pid" || kill -s KILL "$pid"
    done
done
"""
"""Reads which calls run until nobody can write any more: `CALL +` is about to start, `CALL +PID` leads a group and
`CALL -` is over. What was about to start is found by its mark, where there is a `/proc`: it has its environment before
it lets go of this pipe."""
_watcher: list[subprocess.Popen[bytes]] = []


@contextlib.contextmanager
def dies_with_us(call: str) -> Generator[Callable[[int], None]]:
    """Have what is started within the block killed if this process ends there without doing so itself. `call`: the mark
    in the environment of what is started.

    Yields:
        Takes the group that the started process leads.
    """
    _tell(f"{call} +\n")
    try:
        yield lambda group: _tell(f"{call} +{group}\n")
    finally:
        _tell(f"{call} -\n")


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
                    env={"PATH": os.defpath},
                    start_new_session=True,
                )
            )
        stdin = _watcher[0].stdin
        assert stdin is not None
        os.write(stdin.fileno(), line.encode())
