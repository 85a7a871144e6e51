"""What programs used, by transcripts that are written, torn, shortened and moved while they are read."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.bus.messages import Usage
from gshtui.fleet.core.agent_programs import Programs
from gshtui.fleet.lifecycle.program_usage import ProgramUsage, record_unfollowed
from gshtui.programs.transcripts import aider_transcript, claude_transcript
from gshtui.programs.transcripts.program_transcript import TranscriptQuery
from gshtui.programs.transcripts.request_usage import UsageReader
from gshtui.programs.transcripts.transcript_readers import LastTurns, turn_of
from gshtui.store.record.store import Store
from tests.kit.endings import closing_async
from tests.kit.storms import examples

CWD = "/home/ada/shop"
ID = "5f3c7f0e-7e0b-4a53-9d1a-3f3a3b9d2f10"
OTHER = "019aa4c5-0000-7000-8000-00000000c0de"
STARTED = 1_795_000_000.0


def place(home: Path, id: str = ID, folder: str = CWD) -> Path:
    path = home / ".claude" / "projects" / claude_transcript.slug(folder) / f"{id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def answered(
    number: int, *, at: float = STARTED + 1, model: str = "claude-opus-4-5", stop: str | None = "end_turn"
) -> bytes:
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100}
    content = [{"type": "text", "text": f"answer {number}"}]
    message = {"id": f"msg_{number}", "role": "assistant", "model": model, "content": content, "usage": usage}
    when = datetime.fromtimestamp(at, UTC).isoformat()
    fields = {"type": "assistant", "uuid": f"a{number}", "parentUuid": f"u{number}", "timestamp": when}
    return json.dumps(fields | {"message": message | {"stop_reason": stop}}).encode() + b"\n"


def asked(number: int) -> bytes:
    above = f"a{number - 1}" if number else None
    message = {"role": "user", "content": f"question {number}"}
    return json.dumps({"type": "user", "uuid": f"u{number}", "parentUuid": above, "message": message}).encode() + b"\n"


def reader(home: Path, program: str = "claude", id: str = ID, since: float = STARTED) -> UsageReader:
    return UsageReader(TranscriptQuery(program, id, CWD, since), {"HOME": str(home)})


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.sampled_from(["turn", "half", "look", "shorten", "replace", "move", "other", "noise", "flood", "gone"]),
        min_size=5,
        max_size=25,
    )
)
def test_every_request_is_told_once_whatever_becomes_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    home = tmp_path_factory.mktemp("home")
    path, hidden = place(home), home / "hidden.jsonl"
    counted, turns = reader(home), LastTurns()
    wanted = TranscriptQuery("claude", ID, CWD, STARTED)
    written: list[int] = []
    told: list[str] = []
    next_, half = 0, b""

    def add(data: bytes) -> None:
        with path.open("ab") as file:
            file.write(data)

    def look() -> None:
        told.extend(one.id for one in counted.added())
        turn = turns.find(wanted, {"HOME": str(home)})
        if path.exists() and not half:
            assert (turn and replace(turn, file=None, timed=False)) == turn_of(claude_transcript.read(path))

    for step in [*steps, "look"]:
        if half and step != "half":  # nothing else is written before a line's end
            add(half)
            half = b""
        if hidden.exists():
            hidden.rename(path)
        match step:
            case "turn":
                add(asked(next_) + answered(next_))
                written.append(next_)
                next_ += 1
            case "half" if not half:
                line = asked(next_) + answered(next_)
                add(line[: len(line) // 2])
                half = line[len(line) // 2 :]
                look()
                written.append(next_)
                next_ += 1
            case "shorten" if path.exists():
                look()
                lines = path.read_bytes().splitlines(keepends=True)
                path.write_bytes(b"".join(lines[: len(lines) // 2]))
            case "replace" if path.exists():
                look()
                shutil.copy(path, home / "copy.jsonl")
                (home / "copy.jsonl").replace(path)
            case "move" if path.exists():
                moved = place(home, folder="/home/ada/elsewhere" if "shop" in str(path) else CWD)
                path.rename(moved)
                path = moved
            case "other":  # a second conversation of the same folder
                place(home, OTHER).open("ab").write(answered(9_000 + next_))
            case "noise":
                add(b'{"type": "assistant", "usage"\n\n\xff\xfe"usage"\n[1, "usage"]\n{"message": {"usage": 3}}\n')
            case "flood":
                add(b"".join(asked(number) + answered(number) for number in range(next_, next_ + 200)))
                written += range(next_, next_ + 200)
                next_ += 200
            case "gone" if path.exists():
                path.rename(hidden)
                look()
            case _:
                look()
    if hidden.exists():
        hidden.rename(path)
        look()
    assert sorted(told) == sorted(f"msg_{number}" for number in written)


def test_an_answer_of_several_records_counts_once_with_its_last_figures(tmp_path: Path) -> None:
    path, counted = place(tmp_path), reader(tmp_path)
    path.write_bytes(answered(1, stop=None))
    assert counted.added() == [], "it may be written on"
    final = json.loads(answered(1))
    final["message"]["usage"]["output_tokens"] = 70
    with path.open("a") as file:
        file.write(json.dumps(final) + "\n")
    (one,) = counted.added()
    assert (one.id, one.usage) == ("msg_1", Usage(input=10, output=70, cache_read=100))
    helper = path.with_suffix("") / "subagents" / "agent-1.jsonl"
    helper.parent.mkdir(parents=True)
    helper.write_bytes(answered(2) + answered(3, at=STARTED - 600))
    (two,) = counted.added()
    assert (two.id, two.by_helper) == ("msg_2", True), "and not what was before the agent"


def test_codex_counts_each_request_once(tmp_path: Path) -> None:
    path = tmp_path / ".codex" / "sessions" / "2026" / f"rollout-2026-11-22T10-44-00-{ID}.jsonl"
    path.parent.mkdir(parents=True)

    def record(kind: str, second: int, **payload: Any) -> str:
        return json.dumps({"timestamp": f"2026-11-22T10:44:{second:02}Z", "type": kind, "payload": payload}) + "\n"

    def counted(second: int, total: int) -> str:
        last = {"input_tokens": 1_000, "cached_input_tokens": 600, "output_tokens": 50, "reasoning_output_tokens": 20}
        info = {"last_token_usage": last, "total_token_usage": {"total_tokens": total}, "model_context_window": 272_000}
        return record("event_msg", second, type="token_count", info=info)

    path.write_text(
        record("session_meta", 0, model_provider="openai")
        + record("turn_context", 1, model="gpt-5.2-codex")
        + record("event_msg", 2, type="token_count", info=None)
        + counted(3, 1_050)
        + counted(4, 1_050)
        + counted(5, 2_100)
    )
    first, second = reader(tmp_path, "codex").added()
    assert first.usage == Usage(input=400, output=50, cache_read=600, reasoning=20)
    assert (second.provider, second.model, second.window) == ("openai", "gpt-5.2-codex", 272_000)


def test_qwen_notes_each_request_and_whose_it_was(tmp_path: Path) -> None:
    path = tmp_path / ".qwen/projects/-home-ada-shop/chats" / f"{ID}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes((Path(__file__).parents[1] / "fixtures/transcripts/qwen.jsonl").read_bytes())
    told = reader(tmp_path, "qwen", since=0.0).added()
    assert [(one.usage.context, one.usage.output, one.by_helper) for one in told] == [
        (940, 40, False),
        (4_060, 60, False),
        (4_120, 20, False),
        (709, 9, True),
    ]
    assert {(one.provider, one.model) for one in told} == {("openai", "qwen3-coder-plus")}


def test_opencode_says_the_price_and_counts_its_helpers(tmp_path: Path) -> None:
    database = tmp_path / ".local" / "share" / "opencode" / "opencode.db"
    database.parent.mkdir(parents=True)
    counted = reader(tmp_path, "opencode", "ses_1")
    with closing(sqlite3.connect(database)) as made:
        made.execute("CREATE TABLE session (id, parent_id, directory, title, time_updated)")
        made.execute("CREATE TABLE message (id, session_id, time_created, time_updated, data)")
        made.executemany("INSERT INTO session VALUES (?, ?, ?, '', 0)", [("ses_1", None, CWD), ("ses_2", "ses_1", CWD)])

        def message(id: str, session: str, updated: int, **fields: Any) -> None:
            tokens = {"input": 10, "output": 5, "reasoning": 2, "cache": {"read": 3, "write": 1}}
            named = {"role": "assistant", "providerID": "google", "modelID": "gemini-2.5-flash", "tokens": tokens}
            data = named | {"time": {"created": (STARTED + 1) * 1000}} | fields
            made.execute("INSERT INTO message VALUES (?, ?, 0, ?, ?)", (id, session, updated, json.dumps(data)))
            made.commit()

        done = {"created": (STARTED + 2) * 1000, "completed": (STARTED + 3) * 1000}
        message("msg_1", "ses_1", 1, role="user")
        message("msg_2", "ses_1", 2)
        message("msg_3", "ses_2", 3, time=done, cost=0.25)
        (helper,) = counted.added()
        assert (helper.id, helper.cost, helper.by_helper) == ("msg_3", 0.25, True)
        made.execute("DELETE FROM message WHERE id = 'msg_2'")
        message("msg_2", "ses_1", 4, time=done)
        (own,) = counted.added()
    assert (own.provider, own.cost) == ("gemini", None)
    assert own.usage == Usage(input=10, output=7, cache_read=3, cache_write=1, reasoning=2)


def test_aiders_rounded_reports_are_read_below_its_answers(tmp_path: Path) -> None:
    began = datetime.fromtimestamp(STARTED).replace(microsecond=0)
    heading, later = (
        f"\n# aider chat started at {at:%Y-%m-%d %H:%M:%S}\n\n" for at in (began, began + timedelta(minutes=1))
    )
    chat = tmp_path / ".aider.chat.history.md"
    chat.write_text(f"{heading}> Main model: openai/gpt-4o with diff edit format  \n\n#### one  \n\nSaid.\n\n")
    (found,) = aider_transcript.chats_since(str(tmp_path), STARTED, {})
    counted = UsageReader(TranscriptQuery("aider", found.id, str(tmp_path), STARTED), {"HOME": str(tmp_path)})
    assert counted.added() == []
    with chat.open("a") as file:
        file.write("> Tokens: 2.4k sent, 6 received.  \n> Add readme.txt to the chat? (Y)es/(N)o [Yes]: y  \n\n")
    (first,) = counted.added()
    assert (first.provider, first.model, first.usage, first.cost) == (
        "openai",
        "gpt-4o",
        Usage(input=2400, output=6),
        None,
    )
    with chat.open("a") as file:
        file.write("> Model: sonnet with diff edit format  \n\n#### two  \n\n> Tokens: 9k sent, as I said\n\n")
        file.write("> Tokens: 31k sent, 1.0k cache write, 20k cache hit, 812 received.  \n")
        file.write("> Cost: $0.0042 message, $0.09 session.  \n\n")
    (second,) = counted.added()
    assert (second.provider, second.model, second.cost) == ("", "sonnet", 0.0042)
    assert second.usage == Usage(input=10_000, output=812, cache_read=20_000, cache_write=1_000)
    with chat.open("a") as file:
        file.write(f"{later}> Tokens: 5 sent, 6 received.  \n")  # another one's
    assert counted.added() == []


async def test_usage_is_on_record_once_whoever_reads_it_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = place(tmp_path)
    path.write_bytes(answered(1) + answered(2, model="nobody-knows-1"))
    async with closing_async(await Store.open(tmp_path / "data" / "gsh.db")) as store:
        row = AgentRow(id="", name="cl", kind="cli", profile="claude", cwd=CWD, external_id=ID, created=STARTED)
        row = await store.agents.add(row, SpawnRequest(cli=("claude",)))
        await record_unfollowed(store)
        seen = await store.agents.find(row.id)
        assert (seen.tokens, seen.context, seen.model, seen.cost) == (230, 115, "nobody-knows-1", None)
        one, two = ProgramUsage(store, Programs()), ProgramUsage(store, Programs())
        assert await one.record(seen) == {}
        path.open("ab").write(answered(3))
        fields = await asyncio.gather(one.record(seen), two.record(seen))
        assert any(each.get("tokens") == 345 for each in fields)
        (sums,) = await store.usage.sums("agent")
        assert (sums.requests, sums.unpriced, sums.usage.cache_read) == (3, 1, 300)
        assert sums.cost > 0


VIBE = "2fb20476-481a-e20e-9732-4c84d7212b71"


def vibe_turn(home: Path, number: int, tokens: tuple[int, int, int], *, began: float = STARTED) -> None:
    """A turn of Vibe is over: (input, of which cached, output) until now, and the generation before is kept."""
    folder = home / ".vibe" / "logs" / "session" / "unified" / VIBE
    asked, cached, said = tokens
    used = {"inputTokens": asked, "cachedInputTokens": cached, "outputTokens": said, "totalTokens": asked + said}
    snapshot = {
        "session": {"createdAt": began * 1000, "contextUsage": {"totalTokens": 40 + number}, "tokenUsage": used},
        "latestTurn": {"id": f"turn-{number}", "completedAt": (began + 10 * number) * 1000},
    }
    generation = folder / "generations" / f"{9 * number:016}"
    generation.mkdir(parents=True)
    (generation / "projection-state.json").write_text(json.dumps({"snapshot": snapshot}))
    (folder / "meta.json").write_text(json.dumps({"config": {"model_name": "devstral"}}))
    (folder / "CURRENT").write_text(json.dumps({"generation": generation.name}))
    for old in sorted(folder.glob("generations/*"))[:-2]:
        shutil.rmtree(old)


async def test_what_is_told_as_a_sum_counts_turn_by_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    async with closing_async(await Store.open(tmp_path / "data" / "gsh.db")) as store:
        row = AgentRow(id="", name="vi", kind="cli", profile="vibe", cwd=CWD, external_id=VIBE, created=STARTED)
        row = await store.agents.add(row, SpawnRequest(cli=("vibe",)))
        usage = ProgramUsage(store, Programs())
        assert await usage.record(row) == {}
        vibe_turn(tmp_path, 1, (10, 0, 5))
        fields = await usage.record(row)
        assert (fields["tokens"], fields["context"], fields["model"], fields["cost"]) == (15, 41, "devstral", None)
        assert await usage.record(row) == {}
        vibe_turn(tmp_path, 2, (30, 8, 9))
        assert (await usage.record(row))["tokens"] == 39
        vibe_turn(tmp_path, 3, (50, 8, 12))
        vibe_turn(tmp_path, 4, (70, 8, 15))
        fields = await ProgramUsage(store, Programs()).record(row)  # of two turns that nobody saw one by one
        assert (fields["tokens"], fields["context"]) == (85, 44)
        (sums,) = await store.usage.sums("agent")
        assert (sums.requests, sums.usage) == (3, Usage(input=62, output=15, cache_read=8))


async def test_of_a_sum_only_what_came_since_the_agent_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    async with closing_async(await Store.open(tmp_path / "data" / "gsh.db")) as store:
        began = STARTED - 25
        for number in (1, 2):
            vibe_turn(tmp_path, number, (100 * number, 0, 50 * number), began=began)
        row = AgentRow(id="", name="vi", kind="cli", profile="vibe", cwd=CWD, external_id=VIBE, created=STARTED)
        row = await store.agents.add(row, SpawnRequest(cli=("vibe", "--resume", VIBE)))
        assert await ProgramUsage(store, Programs()).record(row) == {}
        vibe_turn(tmp_path, 3, (210, 0, 105), began=began)
        assert (await ProgramUsage(store, Programs()).record(row))["tokens"] == 15
        for number in (4, 5):  # by now, what was there before the agent is kept no longer
            vibe_turn(tmp_path, number, (180 + 10 * number, 0, 90 + 5 * number), began=began)
        usage = ProgramUsage(store, Programs())
        await usage.record(row)
        vibe_turn(tmp_path, 6, (240, 0, 120), began=began)
        assert (await usage.record(row))["tokens"] == 30
