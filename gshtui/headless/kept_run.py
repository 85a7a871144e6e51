"""`gsh run -- COMMAND`: runs it as ever, in colour and with its exit code, and keeps what it printed in the record.

Owns the run and the record of it; the terminal's part is `pty_run`'s. Secrets are taken out of both command and output.
Nothing is kept of a full-screen program but that it ran. Called by `cli.at_prompt`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gshtui.headless import exits, streams
from gshtui.headless.line import STORE_ONLY
from gshtui.headless.pty_run import Printed, execute
from gshtui.headless.running import run, until_asked
from gshtui.headless.surroundings import here, loaded_here, running
from gshtui.settings import paths

if TYPE_CHECKING:
    from gshtui.bus.shell import ShellRecord
    from gshtui.store.store import Store

_TELL_WITHIN = 0.5
"""Seconds for a window to take the news."""


def run_kept(words: list[str], *, as_json: bool) -> int:
    """Run it; gives its exit code: 128 and the number of the signal that ended it, 127 for no such command."""
    if not words:
        streams.complain("there is nothing to run. Write: gsh run -- make test")
        return exits.USAGE
    argv = words
    if len(words) == 1 and len(words[0].split()) > 1 and shutil.which(words[0]) is None:  # a line in quotes
        argv = [os.environ.get("SHELL") or "/bin/sh", "-c", words[0]]
    began, clock = time.time(), time.monotonic()
    try:
        code, printed = execute(argv)
    except FileNotFoundError:
        streams.complain(f"there is no command {words[0]!r}; an alias or function has to be written out.")
        return 127
    except OSError as error:
        streams.complain(f"{words[0]} cannot be run: {error.strerror or error}.")
        return 126
    took = time.monotonic() - clock
    command = words[0] if len(words) == 1 else shlex.join(words)
    run(lambda stop: until_asked(_keep(command, code, began, took, printed, as_json), stop))
    return code


async def _keep(command: str, code: int, began: float, took: float, printed: Printed, as_json: bool) -> int:
    """Keep it in the record; what cannot be kept is said, and changes nothing of how the command ended."""

    from gshtui.bus.ids import new_id
    from gshtui.bus.shell import ShellRecord
    from gshtui.guard.redaction import Redactor
    from gshtui.hub.options import HubOptions
    from gshtui.store.errors import StoreError

    redact = Redactor(os.environ).redact
    record = ShellRecord(
        shell=f"run-{new_id()}",
        number=1,
        command=redact(command),
        cwd=str(here()),
        host=socket.gethostname(),
        tty=_tty(),
        pane=os.environ.get("TMUX_PANE", "") if os.environ.get("TMUX") else "",
        program="gsh run",
        at=began,
        duration=took,
        exit=code,
        state="done",
        source="run",
    )
    loaded = loaded_here()
    async with running(HubOptions(cwd=here(), loaded=loaded, parts=STORE_ONLY, where="gsh run")) as hub:
        await hub.start()
        if hub.store is None:
            streams.complain("this run is not recorded: the record cannot be opened.")
            return exits.ERROR
        try:
            record = await _stored(hub.store, record, redact(printed.text()))
        except StoreError as error:
            streams.complain(f"this run is not recorded: {error}")
            return exits.ERROR
    from gshtui.shell.place import shells_socket

    _tell(shells_socket(loaded.settings.general.socket_path), record)
    if as_json:
        streams.result_json({"id": record.id, "exit": code, "duration": took, "output_lines": record.output_lines})
    return exits.DONE


async def _stored(store: Store, record: ShellRecord, text: str) -> ShellRecord:
    kept = await store.keep_record(record)
    if not text:
        return kept
    return await store.put_shell_output(record.shell, record.number, text) or kept


def _tty() -> str:
    try:
        return os.ttyname(2)
    except OSError:
        return ""


def _tell(place: Path, record: ShellRecord) -> None:
    """Tell an open window, which shows it at once; without one it is in the record for the next."""
    from gshtui.bus import wire
    from gshtui.bus.events.shell import ShellRecorded
    from gshtui.shell.lines import to_line

    hello = to_line({"hello": "hub", "pid": os.getpid()})
    try:
        if place.parent == paths.runtime_dir(create=False) and place.parent.lstat().st_uid != os.getuid():
            return
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(_TELL_WITHIN)
            line.connect(str(place))
            line.sendall(hello + wire.encode(ShellRecorded(record=record)))
            line.shutdown(socket.SHUT_WR)
            while line.recv(4096):
                pass
    except OSError:
        return
