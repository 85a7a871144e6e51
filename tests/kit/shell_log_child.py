"""A window's shell log as a process of its own, to be killed: `python -m tests.kit.shell_log_child`.

Uses the folders of its environment. Prints a line once it owns the shells' socket, then how many
commands it has heard to their end since.
"""

import asyncio
import select
import sys
from collections.abc import Sequence
from pathlib import Path

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.shell_events import ShellRecorded
from gshtui.settings import paths
from gshtui.shell.log.shell_log import ShellLog, ShellLogOptions
from gshtui.store.record.store import Store

EVERY = 500
"""Commands that are done between two lines."""


async def main() -> None:
    """Listen until killed."""
    store, bus = await Store.open(paths.data_dir() / "gsh.db"), Bus()
    done: set[tuple[str, int]] = set()

    def hear(batch: Sequence[Event]) -> None:
        before = len(done)
        for event in batch:
            if isinstance(event, ShellRecorded) and event.record.state == "done" and log.listens:
                done.add((event.record.shell, event.record.number))
        if len(done) // EVERY > before // EVERY:
            _say(str(len(done)))

    terms = ShellLogOptions(paths.runtime_dir() / "gsh.sock", paths.data_dir(), Path("/p"), 0)
    log = ShellLog(bus, store, terms, str)
    bus.subscribe(hear, ShellRecorded, name="counts")
    await log.start()
    while not log.listens:  # nothing tells; the hub that does listen needs the processor
        await asyncio.to_thread(select.select, [], [], [], 0.01)
    _say("listening")
    await asyncio.Event().wait()


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
