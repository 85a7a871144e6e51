"""A hub that runs one line in a process of its own, to be killed: `python -m tests.kit.command_child LINE`."""

import asyncio
import sys
from pathlib import Path

from gshtui.hub.composition import build_hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load


async def main(line: str) -> None:
    """Run it as the person."""
    cwd = Path.cwd()
    hub = build_hub(HubOptions(cwd=cwd, loaded=load(cwd), parts=frozenset({"store", "guard", "shell"})))
    await hub.start()
    await hub.run(line)
    await hub.stop()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
