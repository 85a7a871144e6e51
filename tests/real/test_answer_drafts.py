"""What agents say in a call while they say it: from one process to another, and on the screens of people elsewhere."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from gshtui.bus.bus import Bus
from gshtui.bus.call_data import LOBBY, CallMessage
from gshtui.bus.events.agent_events import IterationStarted, TextDelta, TurnFinished, TurnStarted
from gshtui.bus.letter import Letter
from gshtui.calls.answer_drafts import DraftPiece, DraftReader, DraftWriter, drafts_folder
from gshtui.settings import paths
from gshtui.store.record.store import Store
from gshtui.system.ids import new_id
from tests.kit.door import Visitor, door_for, visit
from tests.kit.pty_child import PtyChild
from tests.kit.tmux import eventually


class Speaker:
    """An agent that answers a message of a call, as its own process does."""

    def __init__(self, store: Store, bus: Bus, letter: Letter) -> None:
        self.store, self.bus, self.letter = store, bus, letter

    def begin(self) -> None:
        self.bus.publish(TurnStarted(agent="claude", session="s", turn="t", prompt=self.letter.id))
        self.next()

    def next(self) -> None:
        self.bus.publish(IterationStarted(agent="claude", session="s", turn="t", iteration=1, message="m"))

    async def say(self, text: str) -> None:
        self.bus.publish(TextDelta(agent="claude", session="s", message="m", text=text))
        await self.bus.drained()

    async def end(self, text: str) -> None:
        await self.store.calls.add_message(
            CallMessage(
                call=LOBBY, id=self.letter.id, author="claude", author_name="claude", role="assistant", text=text
            )
        )
        self.bus.publish(TurnFinished(agent="claude", session="s", turn="t", stop="end"))
        await self.bus.drained()


@asynccontextmanager
async def speaker(record: Path, *, call: str = LOBBY) -> AsyncGenerator[Speaker]:
    store = await Store.open(record)
    bus = Bus()
    writer = DraftWriter(bus, store, lambda agent: agent == "claude")
    letter = Letter(id=new_id(), recipient="claude", recipient_name="claude", text="hi", kind="call", call=call)
    try:
        await store.mail.add(letter)
        yield Speaker(store, bus, letter)
    finally:
        await writer.close()
        await bus.close()
        await store.close()


async def test_what_is_said_is_read_elsewhere_piece_by_piece_and_gone_at_the_end(tmp_path: Path) -> None:
    async with speaker(tmp_path / "gsh.db") as claude:
        pieces: list[DraftPiece] = []
        reader = DraftReader(claude.store)
        reader.start()
        unfollow = reader.follow(pieces.append)
        claude.begin()
        await claude.say("Let me lo")

        async def text() -> str:
            return "".join(("|" if piece.anew else "") + piece.text for piece in pieces)

        await eventually(text, until=lambda found: found == "|Let me lo")
        await claude.say("ok: \u00e9\x1e")
        claude.next()
        await claude.say("Done.")
        await eventually(text, until=lambda found: found == "|Let me look: \u00e9|Done.")
        assert {piece.head.name for piece in pieces} == {"claude"} and pieces[0].head.letter == claude.letter.id
        folder = drafts_folder(claude.store)
        assert folder.stat().st_mode & 0o777 == 0o700
        assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]
        await claude.end("Done.")
        assert list(folder.iterdir()) == []
        unfollow()
        await reader.stop()


async def test_only_answers_in_calls_of_agents_of_this_process_are_written(tmp_path: Path) -> None:
    async with speaker(tmp_path / "gsh.db", call="") as claude:
        claude.begin()
        claude.bus.publish(TurnStarted(agent="other", session="s", turn="t", prompt=claude.letter.id))
        claude.bus.publish(TurnStarted(agent="claude", session="s", turn="t", prompt="none"))
        await claude.say("x")
        folder = drafts_folder(claude.store)
        assert not folder.exists() or list(folder.iterdir()) == []


async def test_what_a_killed_process_left_or_somebody_damaged_is_passed_over(tmp_path: Path) -> None:
    async with speaker(tmp_path / "gsh.db") as claude:
        claude.begin()
        await claude.say("fine")
        folder = drafts_folder(claude.store)
        (folder / "broken.draft").write_bytes(b"\xff\x00{\nx")
        stale = folder / "stale.draft"
        stale.write_bytes(b"{}")
        os.utime(stale, (time.time() - 7_200, time.time() - 7_200))
        pieces: list[DraftPiece] = []
        reader = DraftReader(claude.store)
        reader.follow(pieces.append)
        reader.start()

        async def seen() -> list[str]:
            return [piece.text for piece in pieces]

        await eventually(seen, until=lambda found: found[-1:] == ["fine"])
        assert not stale.exists()
        await reader.stop()


async def test_people_see_an_answer_grow_and_see_it_once(tmp_path: Path) -> None:
    async with door_for(tmp_path, amy="talk") as door, visit(door, "amy") as plain:
        with contextlib.closing(door.terminal("amy")) as terminal:
            await _see_it_grow(terminal, plain)


async def _see_it_grow(terminal: PtyChild, plain: Visitor) -> None:
    await asyncio.to_thread(terminal.read_until, lambda: b":lobby" in terminal.output)
    terminal.write(b"half a li")
    await asyncio.to_thread(terminal.read_until, lambda: b"half a li" in terminal.output)
    async with speaker(paths.data_dir() / "gsh.db") as claude:
        claude.begin()
        await claude.say("The first line \x1b]0;owned\x07is whole.\nThe second")
        await asyncio.to_thread(terminal.read_until, lambda: b"is whole." in terminal.output)
        assert b"The second" not in terminal.output, "what may still change waits while somebody types"
        await claude.say(" one.")
        await claude.end("The first line \x1b]0;owned\x07is whole.\nThe second one.")
        await asyncio.to_thread(terminal.read_until, lambda: b"The second one." in terminal.output)
        await asyncio.to_thread(terminal.read_until, lambda: terminal.output.rstrip().endswith(b"half a li"))
        assert b"\x1b]" not in terminal.output and terminal.output.count(b"is whole.") == 1
        await plain.until("The second one.")
        assert "is whole" not in await plain.run("echo over")
