"""What waits for a face in another process: its cost for the hub stays small, whatever waits, and nothing is lost."""

import asyncio
from typing import Any, ClassVar, cast

import msgspec

from gshtui.bus.events.agent_events import TextDelta
from gshtui.bus.events.shell_events import ShellRecorded
from gshtui.bus.shell_data import ShellRecord
from gshtui.hub.faces.face_outbox import QUEUE, FaceOutbox
from gshtui.shell.hub_listener import HubConnection


class Face:
    """The connection of a face that reads when it is let."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.reads = asyncio.Event()

    def send(self, data: bytes) -> None:
        self.events += [msgspec.json.decode(line)["event"] for line in data.splitlines()]

    async def sent(self) -> None:
        await self.reads.wait()


class Counted(ShellRecorded, frozen=True, kw_only=True):
    """Counts how often one was looked at to be merged."""

    looks: ClassVar[list[int]] = []

    def merge_key(self) -> tuple[str, int]:
        self.looks.append(self.record.number)
        return (self.record.shell, self.record.number)


async def test_what_cannot_be_merged_is_not_looked_at_for_each_event_that_comes() -> None:
    outbox = FaceOutbox(cast(HubConnection, Face()))
    for number in range(1, 3 * QUEUE):
        outbox.put(Counted(record=ShellRecord(shell="s", number=number)))
    assert len(Counted.looks) < 10 * QUEUE
    outbox.close()


async def test_a_face_that_did_not_read_gets_all_that_cannot_be_merged_in_its_order() -> None:
    face, last = Face(), QUEUE + 1_000
    outbox = FaceOutbox(cast(HubConnection, face))
    for number in range(1, last + 1):
        outbox.put(ShellRecorded(record=ShellRecord(shell="s", number=number)))
        outbox.put(TextDelta(agent="a", session="s", message="m", text=f"{number} "))
    face.reads.set()
    numbers, words = list[int](), ""
    while numbers[-1:] != [last] or not words.endswith(f" {last} "):
        await asyncio.sleep(0)
        told, face.events = face.events, []
        numbers += [event["record"]["number"] for event in told if event["type"] == "ShellRecorded"]
        words += "".join(event["text"] for event in told if event["type"] == "TextDelta")
    assert numbers == list(range(1, last + 1))
    assert words == "".join(f"{number} " for number in range(1, last + 1))
    outbox.close()


async def test_others_have_their_turn_while_much_is_encoded() -> None:
    face, turns = Face(), 0
    face.reads.set()
    outbox = FaceOutbox(cast(HubConnection, face))
    outbox.put(*(ShellRecorded(record=ShellRecord(shell="s", number=number)) for number in range(QUEUE)))
    while len(face.events) < QUEUE:
        await asyncio.sleep(0)
        turns += 1
    assert turns >= 10
    outbox.close()
