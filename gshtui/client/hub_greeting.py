"""The first lines between a face and the hubs that listen here: which of them are this user's and of this program.

Loads little: every word of `gsh-tui` begins with it. Blocks, each time for no longer than it is told.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from gshtui import __version__
from gshtui.client.named_settings import is_named
from gshtui.settings import paths
from gshtui.system.expected_error import ExpectedError
from gshtui.system.installation import INSTALLED_AT
from gshtui.system.json_types import is_object
from gshtui.system.network.peer import peer_of
from gshtui.system.processes import process_limits

_HUNG_UP = "it has hung up"
_LONGEST = 64 * 1024
"""Bytes of a line before the hub takes the face."""


ANEW = "`gsh-tui hub stop` ends it, and the next call starts another."


class HubUnavailable(ExpectedError):
    """There is a hub of this record that does not serve this face, and nothing else may write what it writes."""

    def __init__(self, message: str, hint: str = "") -> None:
        is_for_person = hint == ANEW and bool(os.environ.get("GSH_AGENT"))
        super().__init__(message, "Ask the person to run `gsh-tui hub stop`." if is_for_person else hint)


FOR_PEOPLE = "only a person does this, and an agent runs it"
"""Why it declines what may not be done for an agent."""
OTHER_RECORD = "it has another record"
"""Why the hub of another record declines a face, which then asks the next."""


class HubDeclined(HubUnavailable):
    """It says why."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The hub does not do this: {why}.", "Ask the person to do it." if why == FOR_PEOPLE else ANEW)
        self.why = why


class HubSilent(HubUnavailable, TimeoutError):
    """It holds the record, and does not answer."""

    def __init__(self, pid: int) -> None:
        super().__init__(f"The hub (pid {pid}) does not answer.", ANEW)
        self.pid = pid


def greeted(
    kind: str, within: float, *, of_any_version: bool = False, at: Sequence[Path] = ()
) -> Iterator[socket.socket]:
    """A connection to each hub that serves this program's faces. Who takes one closes it.

    Args:
        kind: of face, see `gshtui.shell.event_table`.
        within: seconds for each answer, on these connections from now on.
        of_any_version: another program's hub will do, too.
        at: where it listens, if that is known.

    Raises `HubSilent`: none of them serves it, and that of the person's record does not answer; `HubUnavailable`: this
    process may ask none.
    """
    silent: set[int] = set()
    for path in at or chain(paths.keeper_sockets(), _elsewhere()):
        try:
            connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | getattr(socket, "SOCK_CLOEXEC", 0))
        except OSError as error:
            raise HubUnavailable("The hub is not reached from inside a sandbox.", "Run this outside of it.") from error
        connected.settimeout(within)
        pid = 0
        try:
            connected.connect(os.fspath(path))
            peer = peer_of(connected)
            pid = peer.pid
            if peer.is_us and (_is_of_this_program(connected, kind) or of_any_version):
                yield connected
                continue
        except TimeoutError:
            silent.add(pid)
        except (OSError, ValueError):
            pass
        connected.close()
    if silent and (pid := _told().pid) in silent:
        raise HubSilent(pid)


class _Told(NamedTuple):
    """What the keeper of the person's record says about itself."""

    pid: int = 0
    socket: str = ""


def _told() -> _Told:
    with suppress(OSError, ValueError, KeyError, TypeError), (_record() / paths.KEEPER_STATE).open("rb") as file:
        state: Any = json.load(file)
        return _Told(int(state["process"]["pid"]), str(state.get("socket", "")))
    return _Told()


def _elsewhere() -> Iterator[Path]:
    """Where it says that it listens: a job of cron looks for it elsewhere."""
    if told := _told().socket:
        yield from {Path(told)}.difference(paths.keeper_sockets())


def _record() -> Path:
    if not is_named("session_dir", "GSH_GENERAL__SESSION_DIR"):
        return paths.data_dir(create=False)
    from gshtui.settings.loader import load

    return load(paths.home()).settings.general.session_dir


def _is_of_this_program(connected: socket.socket, kind: str) -> bool:
    """Say hello. Raises `OSError`, `ValueError`."""
    connected.sendall(json.dumps({"hello": kind, "pid": os.getpid()}).encode() + b"\n")
    welcome = line_from(connected)
    return (welcome.get("serves"), welcome.get("installed")) == (__version__, INSTALLED_AT)


def refusal(connected: socket.socket, opening: bytes) -> str:
    """Why the hub does not take the face that opens with this; empty: it does. If not, the connection is closed. Raises
    `TimeoutError`: it does not answer.
    """
    why = _HUNG_UP
    try:
        connected.sendall(opening + b"\n")
        answer = line_from(connected)
        if answer.get("begins") is True:
            return ""
        why = str(answer.get("declined", why))
    except TimeoutError:
        connected.close()
        raise
    except (OSError, ValueError):
        pass
    connected.close()
    return why


def takes(connected: socket.socket, opening: bytes) -> bool:
    """Whether the hub takes the face; if not, as `refusal`. Raises `HubDeclined`: this record's does not."""
    why = refusal(connected, opening)
    check_declined({"declined": why} if why != _HUNG_UP else {})
    return not why


def check_declined(answer: Mapping[str, Any]) -> None:
    """Raises `HubDeclined` if this is the answer of a hub of this record that does not take the face."""
    if (why := answer.get("declined")) and why != OTHER_RECORD:
        raise HubDeclined(str(why))


def surroundings(cwd: str) -> dict[str, Any]:
    """What a face passes on to what is done for it. Call it where no other thread makes files, see
    `process_limits.umask`.
    """
    return {
        "cwd": cwd,
        "environ": dict(os.environ),
        "umask": process_limits.umask(),
        "limits": process_limits.limits(),
    }


def line_from(connected: socket.socket) -> dict[str, Any]:
    """One line; what comes behind it stays to be read. Raises `OSError`, `ValueError`."""
    line = b""
    while not line.endswith(b"\n"):
        seen = connected.recv(_LONGEST, socket.MSG_PEEK)
        line += connected.recv(seen.find(b"\n") + 1 or len(seen))
        if not seen or len(line) > _LONGEST:
            raise ValueError("no line")
    message: object = json.loads(line)
    if not is_object(message):
        raise ValueError("no object")
    return message
