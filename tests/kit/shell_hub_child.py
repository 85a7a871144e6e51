"""A window's shell log as a process of its own, to be killed: `python -m tests.kit.shell_hub_child`.

Uses the folders of its environment. Prints a line once it owns the shells' socket.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from gshtui.agents.shell_log.log import ShellLog, Terms
from gshtui.bus.bus import Bus
from gshtui.settings import paths
from gshtui.store.store import Store


async def main() -> None:
    """Listen until killed."""
    store = await Store.open(paths.data_dir() / "gsh.db")
    terms = Terms(paths.runtime_dir() / "gsh.sock", paths.data_dir(), Path("/p"), 0)
    log = ShellLog(Bus(), store, terms, str)
    await log.start()
    while not log.listens:  # noqa: ASYNC110 - nothing tells
        await asyncio.sleep(0.005)
    sys.stdout.write("listening\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
