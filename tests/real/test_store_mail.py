"""Messages in the record: in order, changed only in time, delivered by one process, held when that one dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from gshtui.bus.letter import Letter
from gshtui.store import mail
from gshtui.store.errors import StoreError
from gshtui.system.ids import new_id
from tests.kit.home import Home
from tests.kit.record import child, line, opened

TAKER = """
import asyncio, sys
from pathlib import Path
from gshtui.store.store import Store

async def main():
    store = await Store.open(Path(sys.argv[1]))
    taken = [await store.take_letter(id) for id in sys.argv[2:]]
    print(" ".join("yes" if letter else "no" for letter in taken), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

asyncio.run(main())
"""


def letter(text: str = "hello", **fields: object) -> Letter:
    return Letter(**{"id": new_id(), "sender": "0001", "recipient": "0002", "text": text, **fields})  # pyright: ignore[reportArgumentType]


@pytest.fixture
def path(home: Home) -> Path:
    return home.data / "gsh" / "gsh.db"


async def test_messages_are_kept_in_order_and_found_by_the_end_of_their_id(path: Path) -> None:
    async with opened(path) as store:
        sent = [await store.add_letter(letter(f"word {n}")) for n in range(3)]
        assert [one.text for one in await store.letters(["queued"])] == ["word 0", "word 1", "word 2"]
        assert (await store.letter(sent[1].id[-6:])).text == "word 1"
        assert [one.id for one in await store.letters(recipient="0002", limit=1)] == [sent[2].id]
        assert len(await store.letters_since("0001", sent[0].created - 1)) == 3
        with pytest.raises(StoreError, match="no message"):
            await store.letter("%")


async def test_a_message_is_changed_only_while_it_waits(path: Path) -> None:
    async with opened(path) as store:
        one = await store.add_letter(letter())
        before = await store.letters_revision()
        assert (await store.change_letter(one.id, within=("queued",), text="other")).text == "other"
        assert await store.letters_revision() > before
        taken = await store.take_letter(one.id)
        assert taken is not None
        assert taken.text == "other"
        assert await store.take_letter(one.id) is None
        with pytest.raises(StoreError, match="being delivered"):
            await store.change_letter(one.id, within=("queued", "held"), text="too late")
        await store.change_letter(one.id, state="submitted")
        await store.let_letter_go(one.id)
        with pytest.raises(StoreError, match="is submitted"):
            await store.change_letter(one.id, within=("queued", "held"), state="dropped")
        with pytest.raises(StoreError, match="no field sender"):
            await store.change_letter(one.id, sender="person")


async def test_one_process_delivers_and_a_dead_one_leaves_what_is_unsure_held(path: Path) -> None:
    async with opened(path) as store:
        one, other = await store.add_letter(letter("one")), await store.add_letter(letter("other"))
        async with child(TAKER, str(path), one.id, other.id) as process:
            assert await line(process) == "yes yes"
            assert await store.take_letter(one.id) is None
            assert await store.orphaned_letters() == []
            await store.change_letter(other.id, state="submitted")
        left = await store.orphaned_letters()
        assert [(found.text, found.state) for found in left] == [("one", "held"), ("other", "submitted")]
        assert left[0].why == mail.UNSURE
        assert await store.orphaned_letters() == []
        await store.change_letter(one.id, within=("held",), state="queued")
        assert await store.take_letter(one.id) is not None


async def test_what_is_through_is_forgotten_and_what_waits_is_not(path: Path) -> None:
    async with opened(path) as store:
        for state in ("queued", "held", "acted", "dropped"):
            await store.add_letter(letter(state, state=state, created=1.0))
        await store.forget_letters(14)
        assert [one.text for one in await store.letters()] == ["queued", "held"]


async def test_any_text_comes_back(path: Path) -> None:
    async with opened(path) as store:
        one = await store.add_letter(letter("a\ud800b\0c\u2028d"))
        assert (await store.letter(one.id)).text == "a\ufffdb\0c\u2028d"
