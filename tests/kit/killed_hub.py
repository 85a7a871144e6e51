"""A hub that types a message into an agent's terminal, and stands still at a moment of it, to be killed there."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gshtui.programs.pane.pane_writer import PaneWriter
from gshtui.tmux.server import TmuxServer
from tests.kit.mail_harness import open_mail

ID = "00000000-0000-4000-8000-000000000000"
"""The conversation of its agent."""
BEHIND = {"accepted": (PaneWriter, "write"), "entered": (TmuxServer, "send_keys")}
INSTEAD = {"pasted": "_shown", "shown": "_enter"}
"""What it does before it stands still, and what it stands still in the place of."""


async def reached(*_: object) -> None:
    """Say so, and do nothing more."""
    print("reached", flush=True)
    await asyncio.Event().wait()


async def type_until(record: str, socket: str, moment: str, text: str, argv: str) -> None:
    """Print the ids of the agent and of the message, and `reached` at that moment."""
    if moment in BEHIND:
        kind, name = BEHIND[moment]
        does = getattr(kind, name)

        async def does_and_stands(*given: Any, **named: Any) -> None:
            await does(*given, **named)
            await reached()

        setattr(kind, name, does_and_stands)
    else:
        setattr(PaneWriter, INSTEAD[moment], reached)
    server = TmuxServer(socket_path=Path(socket))
    async with open_mail(Path(record), server=server) as m:
        row = await m.add_agent(
            "cc", server=server, argv=tuple(json.loads(argv)), kind="cli", profile="claude", external_id=ID, cwd="/p"
        )
        print(row.id, flush=True)
        letter = await m.send(row.id, text, sender="person")
        print(letter.id, flush=True)
        await asyncio.Event().wait()


def main(words: Sequence[str]) -> int:
    asyncio.run(type_until(*words))
    return 0
