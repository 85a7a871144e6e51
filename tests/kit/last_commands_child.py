"""What `gsh` would send of the shells, without a model: run in forks of the warm program, to be killed.

As `gsh` does, a question has the hub that runs say it, or else is the hub itself meanwhile.
"""

import asyncio
import contextlib
import sys
from pathlib import Path

from gshtui.hub.faces.turn import recent_commands
from gshtui.hub.hub import Hub
from gshtui.settings import paths
from tests.kit.running_hub import running_hub
from tests.kit.tmux import eventually

_PARTS = frozenset({"store", "shell"})
_WHOLE = "\n# end\n"


def ask(_words: list[str]) -> int:
    """Print what a question would bring along."""
    print(asyncio.run(eventually(_asked, until=lambda said: said is not None)))
    return 0


def hub(_words: list[str]) -> int:
    """A hub, until killed; prints a line once it can be asked."""
    asyncio.run(_serve())
    return 0


def _place() -> Path:
    return paths.runtime_dir() / "asked.sock"


async def _asked() -> str | None:
    """`None`: a hub comes or goes at this moment."""
    with contextlib.suppress(OSError):
        reader, writer = await asyncio.open_unix_connection(str(_place()))
        said = (await reader.read()).decode()
        writer.close()
        if said.endswith(_WHOLE):
            return said.removesuffix(_WHOLE)
    async with running_hub(Path.cwd(), parts=_PARTS) as here:
        return await _recent(here)


async def _recent(here: Hub) -> str | None:
    """`None`: another one has the shells."""
    assert here.shell_log is not None
    await here.shell_log.sync_spool()
    if not here.shell_log.listens:
        return None
    return "\n".join(part.text for part in (await recent_commands(here)(True)).along)


async def _serve() -> None:
    async with running_hub(Path.cwd(), parts=_PARTS) as here:
        await eventually(lambda: _recent(here), until=lambda said: said is not None)

        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(f"{await _recent(here) or ''}{_WHOLE}".encode())
            await writer.drain()
            writer.close()

        _place().unlink(missing_ok=True)
        await asyncio.start_unix_server(answer, _place())
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        await asyncio.Event().wait()
