"""A process that does what the hub does before an answer begins: it takes in what shells left in their spool.

`python -m tests.bench.spool_reader COUNT ROUNDS` leaves so many commands before each round, and prints the seconds of
each until they are in the record.
"""

import asyncio
import os
import sys
import time
from pathlib import Path

from gshtui.bus.bus import Bus
from gshtui.guard.secrets.redaction import Redactor
from gshtui.settings import paths
from gshtui.settings.loader import load
from gshtui.shell import spool
from gshtui.shell.log.shell_log import make_shell_log
from gshtui.store.record.store import Store
from tests.bench.shell_listener import line_of

SHELLS = 4


async def main(count: int, rounds: int) -> None:
    """Once more than is printed: the first one loads what it needs."""
    settings, bus = load(Path.cwd()).settings, Bus()
    store = await Store.open(paths.data_dir() / "gsh.db")
    log = make_shell_log(bus, store, settings, Path.cwd(), redact=Redactor(os.environ).redact)
    await log.start()
    await log.sync_spool()
    folder = spool.folder(paths.data_dir())
    folder.mkdir(mode=0o700, exist_ok=True)
    try:
        for number in range(rounds + 1):
            leave(folder, count, number)
            began = time.perf_counter()
            await log.sync_spool()
            if number:
                print(time.perf_counter() - began)
            assert not spool.files(folder), "something is left in the spool"
    finally:
        await log.stop()
        await bus.close()
        await store.close()


def leave(folder: Path, count: int, number: int) -> None:
    """As shells do that reach no hub."""
    for shell in range(SHELLS):
        name = f"{os.getpid()}-{number}-{shell}"
        commands = len(range(shell, count, SHELLS))
        lines = b"".join(line_of(name, seq) for seq in range(1, 1 + 2 * commands))
        if lines:
            (folder / f"{name}.jsonl").write_bytes(lines)
            (folder / f"{name}.jsonl").chmod(0o600)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
