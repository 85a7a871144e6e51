"""The writer itself: what one batch holds, what fails alone, what waits for whom."""

import asyncio
import sqlite3
import sys
from collections.abc import AsyncGenerator

import pytest

from gshtui.store.engine.journal_queue import JournalEntry
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record import journal
from gshtui.store.record.database import Database
from gshtui.store.record.record_writer import BATCH, RecordWriter
from gshtui.store.tables import prompt_table
from tests.kit.home import Home
from tests.kit.record import Notices


@pytest.fixture
async def database(home: Home) -> AsyncGenerator[Database]:
    database = Database(home.data / "gsh" / "gsh.db", "normal", Notices())
    await database.ready()
    yield database
    await database.close()


def _typed(connection: sqlite3.Connection) -> list[str]:
    return prompt_table.listed(connection, None, 10_000)


async def test_what_an_operation_did_before_it_failed_is_undone_and_its_neighbours_stand(database: Database) -> None:
    writer = RecordWriter(database, Notices())

    def fails(connection: sqlite3.Connection) -> None:
        prompt_table.add(connection, "/p", "half of it")
        raise ValueError("by its own fault")

    results = await asyncio.gather(
        writer.submit(lambda connection: prompt_table.add(connection, "/p", "before")),
        writer.submit(fails),
        writer.submit(lambda connection: prompt_table.add(connection, "/p", "after")),
        return_exceptions=True,
    )
    await writer.close(5)
    assert isinstance(results[1], StoreError)
    assert results[1].kind == "invalid"
    assert "by its own fault" in results[1].message
    assert await database.run(_typed) == ["after", "before"]


async def test_operations_that_wait_together_share_a_transaction(database: Database) -> None:
    writer = RecordWriter(database, Notices())
    commits = 0

    def count(statement: str) -> None:
        nonlocal commits
        commits += statement == "COMMIT"

    await database.run(lambda connection: connection.set_trace_callback(count))
    await asyncio.gather(
        *(writer.submit(lambda c, n=number: prompt_table.add(c, "/p", f"text {n}")) for number in range(2 * BATCH))
    )
    await writer.close(5)
    assert commits == 2
    assert len(await database.run(_typed)) == 2 * BATCH


@pytest.mark.parametrize("lasting", [True, False])
async def test_a_finished_turn_is_made_safe_from_a_power_cut(database: Database, lasting: bool) -> None:
    writer = RecordWriter(database, Notices())
    levels: list[int] = []

    def look(connection: sqlite3.Connection) -> None:
        levels.append(connection.execute("PRAGMA synchronous").fetchone()[0])

    writer.record(JournalEntry("s", "T", 1.0, b"{}", lasting=lasting))
    await writer.submit(look)
    await writer.submit(look)
    await writer.close(5)
    assert levels == [2 if lasting else 1, 1]  # full, normal


async def test_an_answer_comes_after_the_commit(database: Database) -> None:
    writer = RecordWriter(database, Notices())
    other = sqlite3.connect(database.path)
    for number in range(20):
        await writer.submit(lambda connection, n=number: prompt_table.add(connection, "/p", f"text {n}"))
        assert len(_typed(other)) == number + 1
    other.close()
    await writer.close(5)


async def test_what_is_queued_when_the_writer_closes_is_written(database: Database) -> None:
    writer = RecordWriter(database, Notices())
    waiting = [
        asyncio.ensure_future(writer.submit(lambda c, n=number: prompt_table.add(c, "/p", f"text {n}")))
        for number in range(10)
    ]
    await asyncio.sleep(0)
    await writer.close(5)
    await asyncio.gather(*waiting)
    assert len(await database.run(_typed)) == 10
    with pytest.raises(StoreError, match="closed"):
        await writer.submit(_typed)


async def test_an_entry_that_no_table_takes_is_given_up_and_the_others_are_written(database: Database) -> None:
    notices = Notices()
    writer = RecordWriter(database, notices, retry_every=0.01)
    writer.record(JournalEntry("s", "T", float("nan"), b"{}"))
    await notices.wait_for("refused")
    writer.record(JournalEntry("s", "T", 1.0, b'{"type":"T"}'))
    assert "1 events were lost" in (await notices.wait_for("continues"))[0]
    assert len(await database.run(lambda connection: journal.read(connection, "s", limit=9))) == 1
    await writer.close(5)


async def test_closing_does_not_wait_for_ever_for_another_process(database: Database) -> None:
    writer = RecordWriter(database, Notices())
    other = sqlite3.connect(database.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.ensure_future(writer.submit(lambda c: prompt_table.add(c, "/p", "never")))
    await asyncio.sleep(0)
    await writer.close(0.05)
    with pytest.raises(StoreError) as error:
        await waiting
    assert error.value.kind == "closed"
    other.execute("ROLLBACK")
    other.close()
    assert await database.run(_typed) == []


async def test_what_still_waits_when_the_record_is_closed_is_told_so(home: Home) -> None:
    switches = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # the record's thread and the loop meet at every line
    try:
        for _ in range(40):
            database = Database(home.data / "gsh" / "gsh.db", "normal", Notices())
            await database.ready()
            reads = [asyncio.create_task(database.run(_typed)) for _ in range(3)]
            closing = asyncio.create_task(database.close())
            reads += [asyncio.create_task(database.run(_typed)) for _ in range(12)]
            results = await asyncio.gather(*reads, return_exceptions=True)
            await closing
            assert results[:3] == [[], [], []]
            for error in results[3:]:
                assert isinstance(error, StoreError), repr(error)
                assert error.kind == "closed"
    finally:
        sys.setswitchinterval(switches)
