"""A window's relay as a process of its own, to be killed: `python -m tests.kit.relay_child FOLDER [DECISION]`.

Prints its socket, then each event that it hears as a line. With a decision it answers every question so.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested
from tests.kit.native_agents import RelayWindow


async def main(folder: Path, decision: str) -> None:
    hub = RelayWindow(folder)

    def hear(batch: Sequence[Event]) -> None:
        for event in batch:
            sys.stdout.buffer.write(wire.encode(event))
            if decision and isinstance(event, ApprovalRequested):
                hub.bus.publish(ApprovalAnswered(approval=event.approval, decision="once"))
        sys.stdout.buffer.flush()

    hub.bus.subscribe(hear, name="print")
    await hub.start()
    sys.stdout.write(hub.relay.socket + "\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), "".join(sys.argv[2:3])))
