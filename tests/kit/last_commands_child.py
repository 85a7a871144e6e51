"""What `gsh` would send of the shells, without a model: run in a fork of the warm program, to be killed."""

import asyncio
from pathlib import Path

from gshtui.hub.faces.turn import recent_commands
from tests.kit.running_hub import running_hub
from tests.kit.shell_log_child import main as listen


def ask(_words: list[str]) -> int:
    """Print what a question would bring along, with as much of a hub as that needs."""
    asyncio.run(_ask())
    return 0


async def _ask() -> None:
    cwd = Path.cwd()
    parts = frozenset({"store", "shell"})
    async with running_hub(cwd, parts=parts, visiting=True) as hub:
        print("\n".join(part.text for part in (await recent_commands(hub)(True)).along))


def hub(_words: list[str]) -> int:
    """A window's shell log, until killed; prints a line once shells can report to it."""
    asyncio.run(listen())
    return 0
