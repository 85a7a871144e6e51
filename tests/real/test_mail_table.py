"""Messages in the record: in order, changed only in time, delivered by one process, held when that one dies."""

from pathlib import Path

import pytest

from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import TurnFinished
from gshtui.bus.letter import Letter
from gshtui.fleet.mail.delivery_state import DeliveryState
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.tables import mail_table
from gshtui.system.ids import new_id
from tests.kit.record import open_record, python_child, read_line

TAKER = """
import asyncio, sys
from pathlib import Path
from gshtui.store.record.store import Store

async def main():
    store = await Store.open(Path(sys.argv[1]))
    taken = [await store.mail.claim(id) for id in sys.argv[2:]]
    print(" ".join("yes" if letter else "no" for letter in taken), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

asyncio.run(main())
"""


def letter(text: str = "hello", **fields: object) -> Letter:
    return Letter(**{"id": new_id(), "sender": "0001", "recipient": "0002", "text": text, **fields})  # pyright: ignore[reportArgumentType]


async def test_messages_are_kept_in_order_and_found_by_the_end_of_their_id(path: Path) -> None:
    async with open_record(path) as store:
        sent = [await store.mail.add(letter(f"word {n}")) for n in range(3)]
        assert [one.text for one in await store.mail.find_all(["queued"])] == ["word 0", "word 1", "word 2"]
        assert (await store.mail.find(sent[1].id[-6:])).text == "word 1"
        assert [one.id for one in await store.mail.find_all(recipient="0002", limit=1)] == [sent[2].id]
        assert len(await store.mail.sent_since("0001", sent[0].created - 1)) == 3
        with pytest.raises(StoreError, match="no message"):
            await store.mail.find("%")


async def test_a_message_is_changed_only_while_it_waits(path: Path) -> None:
    async with open_record(path) as store:
        one = await store.mail.add(letter())
        before = await store.mail.revision()
        assert (await store.mail.change(one.id, within=("queued",), text="other")).text == "other"
        assert await store.mail.revision() > before
        taken = await store.mail.claim(one.id)
        assert taken is not None
        assert taken.text == "other"
        assert await store.mail.claim(one.id) is None
        with pytest.raises(StoreError, match="being delivered"):
            await store.mail.change(one.id, within=("queued", "held"), text="too late")
        await store.mail.change(one.id, state="submitted")
        await store.mail.release(one.id)
        with pytest.raises(StoreError, match="is submitted"):
            await store.mail.change(one.id, within=("queued", "held"), state="dropped")
        with pytest.raises(StoreError, match="no field sender"):
            await store.mail.change(one.id, sender="person")


async def test_a_turn_that_is_over_before_its_message_counts_as_submitted_is_not_begun_again(path: Path) -> None:
    async with open_record(path) as store:
        sent = await store.mail.add(letter())
        progress = DeliveryState(Bus(), store)
        taken = await store.mail.claim(sent.id)
        assert taken is not None
        progress.expect(taken, inbox=False)
        await progress.heard(TurnFinished(agent="0002", session="", turn="", stop="end", text="Done."))
        await progress.submitted(taken)
        now = await store.mail.find(sent.id)
        assert (now.state, now.answered, now.answer) == ("submitted", True, "Done.")
        assert await store.mail.find_all(("queued",)) == []
        await progress.taken_up(taken)  # its transcript is read after that
        now = await store.mail.find(sent.id)
        assert (now.state, now.answer) == ("acted", "Done.")


async def test_one_process_delivers_and_a_dead_one_leaves_what_is_unsure_held(path: Path) -> None:
    async with open_record(path) as store:
        one, other = await store.mail.add(letter("one")), await store.mail.add(letter("other"))
        async with python_child(TAKER, str(path), one.id, other.id) as process:
            assert await read_line(process) == "yes yes"
            assert await store.mail.claim(one.id) is None
            assert await store.mail.claim_orphans() == []
            await store.mail.change(other.id, state="submitted")
        left = await store.mail.claim_orphans()
        assert [(found.text, found.state) for found in left] == [("one", "held"), ("other", "submitted")]
        assert left[0].why == mail_table.UNSURE
        assert await store.mail.claim_orphans() == []
        await store.mail.change(one.id, within=("held",), state="queued")
        assert await store.mail.claim(one.id) is not None


async def test_what_is_through_is_forgotten_and_what_waits_is_not(path: Path) -> None:
    async with open_record(path) as store:
        for state in ("queued", "held", "acted", "dropped"):
            await store.mail.add(letter(state, state=state, created=1.0))
        await store.mail.delete_old(14)
        assert [one.text for one in await store.mail.find_all()] == ["queued", "held"]


async def test_any_text_comes_back(path: Path) -> None:
    async with open_record(path) as store:
        one = await store.mail.add(letter("a\ud800b\0c\u2028d"))
        assert (await store.mail.find(one.id)).text == "a\ufffdb\0c\u2028d"
