"""The conversation's log on a real SQLite file: order, pages, answers cut off, outputs, names, search."""

import asyncio
import sqlite3
import stat
from pathlib import Path

import msgspec
import pytest

from gshtui.bus.events.agent_events import TurnStarted
from gshtui.bus.messages import Message, Text, ToolCall, ToolResult, user_message
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.store.tables.session_table import SessionInfo
from tests.kit.home import Home
from tests.kit.record import Notices, numbered_prompt, open_record


def _path(home: Home) -> Path:
    return home.data / "gsh" / "gsh.db"


async def _session(store: Store, cwd: str = "/project", **fields: str) -> SessionInfo:
    return await store.sessions.create(cwd=cwd, agent="main", **fields)


async def test_messages_come_back_in_the_order_of_the_log_not_of_the_clock(home: Home) -> None:
    async with open_record(_path(home)) as store:
        info = await _session(store)
        for number, at in enumerate((300.0, 100.0, 200.0)):
            assert (
                await store.messages.append(info.id, msgspec.structs.replace(numbered_prompt(number), at=at))
                == number + 1
            )
    async with open_record(_path(home)) as store:
        found = await store.messages.read(info.id)
        assert [(stored.seq, stored.message.id) for stored in found] == [(1, "m0"), (2, "m1"), (3, "m2")]


async def test_the_same_message_again_is_not_added_again(home: Home) -> None:
    async with open_record(_path(home)) as store:
        info = await _session(store)
        places = await asyncio.gather(*(store.messages.append(info.id, numbered_prompt(7)) for _ in range(5)))
        assert places == [1] * 5
        assert (await store.sessions.find(info.id)).messages == 1


async def test_pages_join_without_gap_or_overlap(home: Home) -> None:
    async with open_record(_path(home)) as store:
        info, other = await _session(store), await _session(store)
        await asyncio.gather(
            *(store.messages.append(s.id, numbered_prompt(n)) for n in range(25) for s in (info, other))
        )
        seen: list[int] = []
        before: int | None = None
        while page := await store.messages.read(info.id, before=before, limit=10):
            seen = [stored.seq for stored in page] + seen
            before = page[0].seq
        assert seen == list(range(1, 26))
        assert [stored.seq for stored in await store.messages.read_after(info.id, 22, 10)] == [23, 24, 25]


async def test_the_last_page_is_read_by_the_index_alone(home: Home) -> None:
    """So its cost does not depend on the length of the conversation."""
    async with open_record(_path(home)):
        pass
    connection = sqlite3.connect(_path(home))
    plan = connection.execute(
        "EXPLAIN QUERY PLAN SELECT seq, data FROM messages WHERE session = ? AND seq < ? ORDER BY seq DESC LIMIT 200",
        ("s", 9),
    ).fetchall()
    connection.close()
    assert len(plan) == 1
    assert "USING INDEX sqlite_autoindex_messages_1 (session=? AND seq<?)" in plan[0][3]


async def test_an_answer_that_still_comes_is_replaced_and_then_removed_by_the_whole(home: Home) -> None:
    answer = Message("a1", "assistant", (Text("On"),))
    async with open_record(_path(home)) as store:
        info = await _session(store)
        await store.messages.save_partial(info.id, answer)
        await store.messages.save_partial(info.id, msgspec.structs.replace(answer, blocks=(Text("One mo"),)))
        await store.messages.save_partial(info.id, Message("a2", "assistant", (Text("other"),)))
    async with open_record(_path(home)) as store:
        assert [message.text for message in await store.messages.partials(info.id)] == ["One mo", "other"]
        await store.messages.append(info.id, msgspec.structs.replace(answer, blocks=(Text("One more"),)))
        await store.messages.save_partial(info.id, answer)  # comes too late: the whole is in the log
        assert [message.id for message in await store.messages.partials(info.id)] == ["a2"]
        assert [stored.message.text for stored in await store.messages.read(info.id)] == ["One more"]


@pytest.mark.parametrize(
    "text", ["", "short", "line\n" * 50_000, "\x00\udc80 odd"], ids=["empty", "short", "long", "odd"]
)
async def test_a_whole_output_is_kept_once_and_comes_back(home: Home, text: str) -> None:
    async with open_record(_path(home)) as store:
        info, other = await _session(store), await _session(store)
        key = await store.outputs.put(info.id, "call1", text)
        assert await store.outputs.put(other.id, "call1", text) == key
        assert await store.outputs.get(key) == text.replace("\udc80", "\ufffd")
        assert await store.outputs.find_all(info.id) == [("call1", key)]
        await store.sessions.delete(info.id)
        assert await store.outputs.find_all(other.id) == [("call1", key)]
        await store.sessions.delete(other.id)
        with pytest.raises(StoreError) as error:
            await store.outputs.get(key)
        assert error.value.kind == "unknown"


async def test_a_removed_conversation_is_gone_from_the_file(home: Home) -> None:
    secret = "correcthorsebatterystaple"
    async with open_record(_path(home)) as store:
        info = await _session(store)
        await store.messages.append(info.id, numbered_prompt(1, secret))
        await store.outputs.put(info.id, "c", secret)
        store.journal.record(TurnStarted(agent="main", session=info.id, turn="t", prompt="p", text=secret))
        assert await store.messages.search(secret)
        await store.sessions.delete(info.id)
        assert await store.messages.search(secret) == []
        assert await store.check() == []
        with pytest.raises(StoreError) as error:
            await store.messages.append(info.id, numbered_prompt(2))
        assert error.value.kind == "unknown"
    assert all(secret.encode() not in file.read_bytes() for file in _path(home).parent.iterdir())


async def test_a_conversation_is_found_by_the_beginning_or_the_end_of_its_id(home: Home) -> None:
    async with open_record(_path(home)) as store:
        first, second = await _session(store), await _session(store)
        alike = next(n for n, pair in enumerate(zip(first.id, second.id, strict=True)) if len(set(pair)) == 2)
        assert (await store.sessions.find(first.id[: alike + 1])).id == first.id
        assert (await store.sessions.find(second.id[-5:])).id == second.id
        for name, kind in ((first.id[:4], "ambiguous"), ("zzz", "unknown"), ("", "unknown"), ("%", "unknown")):
            with pytest.raises(StoreError) as error:
                await store.sessions.find(name)
            assert (error.value.kind, bool(error.value.hint)) == (kind, True)


async def test_lists_begin_with_what_was_used_last(home: Home) -> None:
    async with open_record(_path(home)) as store:
        a, b, empty = await _session(store, "/a"), await _session(store, "/b"), await _session(store, "/a")
        child = await _session(store, "/a", parent=a.id)
        for number, session in enumerate((a, b, child, a)):
            await store.messages.append(session.id, numbered_prompt(number))
        await store.messages.append(child.id, numbered_prompt(9))
        assert [info.id for info in await store.sessions.find_all()] == [child.id, a.id, b.id]
        assert [info.id for info in await store.sessions.find_all(cwd="/a", limit=1)] == [child.id]
        assert empty.id in [info.id for info in await store.sessions.find_all(cwd="/a", empty=True)]
        latest = await store.sessions.latest("/a")
        assert latest is not None and latest.id == a.id
        assert await store.sessions.latest("/nowhere") is None


async def test_a_conversation_takes_its_title_from_the_first_prompt_unless_it_has_one(home: Home) -> None:
    async with open_record(_path(home)) as store:
        info, named = await _session(store), await _session(store, title="Mine")
        for session in (info, named):
            await store.messages.append(session.id, numbered_prompt(1, "why does it fail?\nlog follows"))
            await store.messages.append(session.id, numbered_prompt(2, "second"))
        assert [(await store.sessions.find(s.id)).title for s in (info, named)] == ["why does it fail?", "Mine"]
        await store.sessions.update(info.id, title="The\x1b[1m failure", model="m2")
        changed = await store.sessions.find(info.id)
        assert (changed.title, changed.model, changed.provider) == ("The failure", "m2", "")
        with_key = await _session(store)
        await store.messages.append(with_key.id, numbered_prompt(1, f"deploy with ghp_{'a1' * 18} now"))
        assert (await store.sessions.find(with_key.id)).title == "deploy with [redacted] now", "lists are looked over"


@pytest.mark.parametrize(
    "query", ['"', "a AND", "NOT x", "-x", "src/app.py", "a:b", "(", "*", "a* NEAR(b)", "\x00", "\ud800", "'; --"]
)
async def test_nothing_in_a_query_is_syntax(home: Home, query: str) -> None:
    async with open_record(_path(home)) as store:
        info = await _session(store)
        await store.messages.append(info.id, numbered_prompt(1, f"before {query} after"))
        await store.messages.append(info.id, numbered_prompt(2, "something else"))
        hits = await store.messages.search(query)
        assert [hit.seq for hit in hits] == ([] if query == "\x00" else [1])


async def test_search_finds_words_beginnings_insides_results_and_scripts_without_spaces(home: Home) -> None:
    async with open_record(_path(home)) as store:
        info, other = await _session(store, "/a"), await _session(store, "/b")
        await store.messages.append(info.id, numbered_prompt(1, "The Überprüfung of max_tool_output failed"))
        await store.messages.append(
            info.id, Message("c", "assistant", (ToolCall("1", "bash", {"command": "pytest -k flaky"}),))
        )
        await store.messages.append(
            info.id, Message("r", "tool", (ToolResult("1", "bash", "AssertionError in test_flaky"),))
        )
        await store.messages.append(other.id, numbered_prompt(1, "昨日の会議の議事録"))
        for query, places in {
            "uberprufung": [1],
            "tool output": [1],
            "fail": [1],
            "ailed": [1],
            "pytest flaky": [2],
            "assertionerr": [3],
            "会議": [1],
            "absent": [],
        }.items():
            assert [hit.seq for hit in await store.messages.search(query)] == places, query
        assert await store.messages.search("flaky", cwd="/b") == []
        await store.messages.append(info.id, numbered_prompt(5, "flaky flaky flaky"))
        await store.messages.append(info.id, numbered_prompt(6, "one flaky word among very many others " * 3))
        assert [hit.seq for hit in await store.messages.search("flaky", limit=1)] == [4]  # the best one first
        (hit,) = await store.messages.search("Assert")
        assert [hit.excerpt[start:end] for start, end in hit.spans] == ["AssertionError"]


async def test_input_history_holds_each_text_once_newest_first(home: Home) -> None:
    async with open_record(_path(home)) as store:
        for cwd, text in (
            ("/a", "one"),
            ("/a", "two"),
            ("/b", "three"),
            ("/a", "two"),
            ("/a", "one"),
            ("/a", "odd \udc80"),
            ("/b", f"/model sk-or-v1-{'0af1' * 16}"),
        ):
            await store.prompts.add(cwd, text)
        assert await store.prompts.find_all("/a") == ["odd \ufffd", "one", "two"]
        assert await store.prompts.find_all(None, limit=3) == ["/model [redacted]", "odd \ufffd", "one"]
        assert await store.prompts.find_all("/b") == ["/model [redacted]", "three"]


async def test_grants_are_kept_by_project_and_can_be_taken_back(home: Home) -> None:
    async with open_record(_path(home)) as store:
        for _ in range(2):
            await store.grants.add("/a", "bash", "git status")
        assert [(grant.tool, grant.pattern) for grant in await store.grants.find_all("/a")] == [("bash", "git status")]
        assert await store.grants.find_all("/b") == []
        assert await store.grants.remove("/a", "bash", "git status")
        assert not await store.grants.remove("/a", "bash", "git status")
        assert await store.grants.find_all("/a") == []


async def test_an_operation_that_fails_fails_alone(home: Home) -> None:
    async with open_record(_path(home)) as store:
        info = await _session(store)
        results = await asyncio.gather(
            store.messages.append(info.id, numbered_prompt(1)),
            store.messages.append("nowhere", numbered_prompt(2)),
            store.messages.append(info.id, numbered_prompt(3)),
            store.messages.save_partial("nowhere", numbered_prompt(4)),
            store.outputs.put("nowhere", "c", "text"),
            return_exceptions=True,
        )
        kinds = [result.kind if isinstance(result, StoreError) else result for result in results]
        assert kinds == [1, "unknown", 2, "unknown", "unknown"]


async def test_one_message_that_cannot_be_read_costs_one_message(home: Home) -> None:
    notices = Notices()
    async with open_record(_path(home), notices) as store:
        info = await _session(store)
        for number in range(3):
            await store.messages.append(info.id, numbered_prompt(number))
        with sqlite3.connect(_path(home)) as connection:
            connection.execute("UPDATE messages SET data = '{\"id\": ' WHERE seq = 2")
        connection.close()
        assert [stored.seq for stored in await store.messages.read(info.id)] == [1, 3]
        assert "1 messages" in notices[0][0]


async def test_a_cancelled_caller_leaves_the_others_and_the_store_alone(home: Home) -> None:
    async with open_record(_path(home)) as store:
        info = await _session(store)
        waiting = [
            asyncio.ensure_future(store.messages.append(info.id, numbered_prompt(number))) for number in range(10)
        ]
        await asyncio.sleep(0)
        waiting[3].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert (await store.sessions.find(info.id)).messages in (9, 10)
        assert await store.check() == []


async def test_after_closing_everything_says_so_and_closing_again_is_fine(home: Home) -> None:
    async with open_record(_path(home)) as store:
        info = await _session(store)
        await store.close()
        for call in (store.messages.append(info.id, numbered_prompt(1)), store.messages.read(info.id)):
            with pytest.raises(StoreError) as error:
                await call
            assert error.value.kind == "closed"


async def test_the_record_is_for_its_owner_alone(home: Home) -> None:
    folder = home.data / "gsh"
    folder.mkdir(mode=0o755)
    async with open_record(_path(home)) as store:
        info = await _session(store)
        await store.messages.append(info.id, numbered_prompt(1))
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}
        assert set(modes) == {"gsh.db", "gsh.db-wal", "gsh.db-shm", "gsh.db.lock"}
        assert set(modes.values()) == {0o600}
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["gsh.db", "gsh.db-wal", "gsh.db.lock"])
async def test_a_link_in_place_of_a_file_is_refused_and_left_alone(home: Home, name: str) -> None:
    victim = home.path / "victim"
    victim.write_bytes(b"precious")
    (home.data / "gsh").mkdir()
    (home.data / "gsh" / name).symlink_to(victim)
    with pytest.raises(StoreError) as error:
        await Store.open(_path(home))
    assert error.value.kind == "unsafe"
    assert victim.read_bytes() == b"precious"


async def test_a_prompt_of_a_megabyte_is_kept_and_found(home: Home) -> None:
    async with open_record(_path(home)) as store:
        info = await _session(store)
        text = "filler words and more of them\n" * 35_000 + "needle_at_the_end"
        await store.messages.append(info.id, user_message(text, id="big"))
        assert (await store.messages.read(info.id))[0].message.text == text
        assert len(await store.messages.search("needle_at_the_end")) == 1
