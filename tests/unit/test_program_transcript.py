"""Transcripts of other programs: each format, its loose ends, and what becomes of it in the inspector."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import os
import shutil
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.messages import Usage
from gshtui.context.log.block_diff import differences
from gshtui.context.views import ContextError
from gshtui.programs.transcripts import (
    aider_transcript,
    claude_transcript,
    cline_transcript,
    codex_transcript,
    gemini_transcript,
    opencode_transcript,
    program_transcript,
    qwen_transcript,
    vibe_transcript,
)
from gshtui.programs.transcripts.program_transcript import ProgramTranscript, TranscriptQuery
from gshtui.programs.transcripts.reconstruction import Transcripts
from gshtui.programs.transcripts.transcript_readers import READERS, LastTurns, TurnText, conversation_state, turn_of
from gshtui.providers.port import Capabilities
from tests.kit.storms import examples

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "transcripts"
CWD = "/home/ada/shop"
CLAUDE_ID = "5f3c7f0e-7e0b-4a53-9d1a-3f3a3b9d2f10"
CLINE_ID = "1795994393176_mxbbm"
CODEX_ID = "019aa4c5-0000-7000-8000-00000000c0de"
GEMINI_ID = "3bacc8a0-24d6-4415-9b2e-a2635c02e54c"
QWEN_ID = "b83e6dd4-ae1c-4566-909b-af21069a855c"
VIBE_ID = "c29e9818-7d62-14de-7d07-2bb9a3391b38"
PRICED = Capabilities(window=200_000, price_input=3.0, price_output=15.0, known=True)


def sent(found: ProgramTranscript) -> list[tuple[str, str]]:
    return [(entry.kind, entry.text.split("\n")[0]) for entry in found.entries[found.start :]]


def placed(source: Path, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
    return target


def test_claude_sends_what_came_since_its_summary() -> None:
    found = claude_transcript.read(FIXTURES / "claude.jsonl")
    assert [kind for kind, _ in sent(found)] == ["summary", "text", "image", "text"]
    assert (found.model, len(found.entries)) == ("claude-sonnet-4-5-20250929", 14)
    assert found.notes == ["1 of its lines could not be read."]


def test_claude_before_its_summary_with_parallel_calls_and_without_abandoned_ways() -> None:
    found = claude_transcript.read(FIXTURES / "claude.jsonl")
    before = found.entries[: found.start]
    assert [entry.source for entry in before if entry.kind == "tool_result"] == [
        "Read /home/ada/shop/build.log",
        "Bash npm test",
    ]
    assert [entry.text for entry in before if entry.kind == "tool_result"] == [
        "1\terror TS2345 in cart.ts\n",
        "2 failed, 14 passed",
    ]
    said = " ".join(entry.text for entry in found.entries)
    assert "abandoned" not in said
    assert "search agent" not in said


def test_claude_asks_once_for_an_answer_of_several_records() -> None:
    marks = claude_transcript.read(FIXTURES / "claude.jsonl").marks
    assert [mark.id for mark in marks] == ["msg_01", "msg_02", "msg_04", "msg_05"]
    assert marks[0].usage == Usage(input=9, output=160, cache_write=14_000)
    assert [mark.compacted for mark in marks] == [False, False, False, True]
    assert [(mark.start, mark.end) for mark in marks] == [(0, 2), (0, 7), (0, 9), (10, 13)]


def test_claude_may_write_a_prompt_after_the_beginning_of_its_answer(tmp_path: Path) -> None:
    def record(id: str, parent: str | None, **fields: Any) -> str:
        return json.dumps({"uuid": id, "parentUuid": parent, **fields})

    def said(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
        return {"type": role, "message": {"id": "m", "role": role, "content": list(parts)}}

    earlier = [
        record("u0", None, **said("user", {"type": "text", "text": "Good day"})),
        record("a0", "u0", **said("assistant", {"type": "text", "text": "Hello."})),
    ]
    turn = [
        record("u1", "a0", **said("user", {"type": "text", "text": "Make a file"})),
        record("x1", "u1", type="attachment"),
        record("a1", "x1", **said("assistant", {"type": "text", "text": "I make it."})),
        record("a2", "a1", **said("assistant", {"type": "tool_use", "id": "c", "name": "Bash", "input": {}})),
    ]
    for order in itertools.permutations(turn):
        path = tmp_path / "claude.jsonl"
        path.write_text("\n".join([*earlier, *order]) + "\n")
        found = turn_of(claude_transcript.read(path))
        assert found is not None
        assert (found.prompt, found.said, found.over) == ("Make a file", ("I make it.",), False), order


def test_codex_sends_its_replaced_history() -> None:
    found = codex_transcript.read(FIXTURES / "codex.jsonl")
    assert sent(found) == [
        ("system", "<permissions instructions>Ask.</permissions instructions>"),
        ("text", "Why does the build fail?"),
        ("summary", "The cart's type was wrong and is fixed."),
        ("text", "And the docs?"),
        ("text", "They say so now."),
    ]
    assert (found.model, found.window) == ("gpt-5.2-codex", 258_400)


def test_codex_counts_each_request_once() -> None:
    marks = codex_transcript.read(FIXTURES / "codex.jsonl").marks
    assert [mark.usage for mark in marks] == [
        Usage(input=1_000, output=120, cache_read=8_000, reasoning=64),
        Usage(input=300, output=80, cache_read=9_000),
        Usage(input=200, output=30, cache_read=9_300),
        Usage(input=3_000, output=9),
    ]
    assert [mark.compacted for mark in marks] == [False, False, False, True]


def test_codex_tells_what_nobody_typed_from_what_somebody_did() -> None:
    entries = codex_transcript.read(FIXTURES / "codex.jsonl").entries
    kinds = {entry.text.split("\n")[0]: entry.kind for entry in entries}
    assert kinds["# AGENTS.md instructions for /home/ada/shop"] == "carried"
    assert kinds["<environment_context>"] == "carried"
    assert kinds["Why does the build fail?"] == "text"
    assert [entry.source for entry in entries if entry.kind == "tool_call"] == [
        "shell_command cat build.log",
        "apply_patch *** Begin Patch",
    ]


@pytest.mark.parametrize("name", ["gemini.json", "gemini.jsonl"])
def test_gemini_in_both_of_its_formats(name: str) -> None:
    found = gemini_transcript.read(FIXTURES / name)
    told = [entry for entry in sent(found) if entry[0] != "carried"]
    assert told == [
        ("text", "Why does the build fail?"),
        ("thinking", "Reading"),
        ("tool_call", 'read_file {"absolute_path": "/home/ada/shop/build.log"}'),
        ("tool_result", "error TS2345 in cart.ts"),
        ("text", "The type of the cart is wrong."),
    ]
    assert [mark.usage for mark in found.marks] == [
        Usage(input=3_173, output=37, cache_read=4_000, reasoning=17),
        Usage(input=400, output=12, cache_read=7_000),
    ]
    assert bool(found.notes) == (name == "gemini.jsonl")


def test_qwen_sends_what_came_since_its_summary_on_the_way_to_its_last_record() -> None:
    found = qwen_transcript.read(FIXTURES / "qwen.jsonl")
    assert sent(found) == [
        ("summary", "<state_snapshot>They talked about the shop.</state_snapshot>"),
        ("text", "Got it."),
        ("text", "Why does the build fail?"),
        ("thinking", "Reading"),
        ("text", "I read it."),
        ("tool_call", 'read_file {"absolute_path": "/home/ada/shop/build.log"}'),
        ("tool_result", "error TS2345 in cart.ts"),
        ("text", "The type of the cart is wrong."),
        ("carried", "The job is done."),
    ]
    assert [(mark.usage, mark.compacted) for mark in found.marks] == [
        (Usage(input=900, output=40), False),
        (Usage(input=1_000, output=60, cache_read=3_000, reasoning=20), True),
        (Usage(input=100, output=20, cache_read=4_000), False),
    ]
    turn = turn_of(found)
    assert turn is not None
    assert (turn.prompt, turn.answer, turn.over) == ("Why does the build fail?", "The type of the cart is wrong.", True)


MESSAGES: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    ({"role": "user", "time": {"created": 1_795_000_000_000}}, [{"type": "text", "text": "An old question"}]),
    (
        {
            "role": "assistant",
            "modelID": "claude-sonnet-4-5",
            "time": {"created": 1_795_000_001_000},
            "tokens": {"input": 10, "output": 5, "reasoning": 2, "cache": {"read": 900, "write": 100}},
        },
        [
            {"type": "step-start"},
            {"type": "reasoning", "text": "A thought"},
            {
                "type": "tool",
                "tool": "read",
                "callID": "c1",
                "state": {
                    "status": "completed",
                    "input": {"filePath": "/home/ada/shop/cart.ts"},
                    "output": "class Cart",
                    "time": {"start": 1, "end": 2},
                },
            },
        ],
    ),
    ({"role": "user", "time": {"created": 1_795_000_002_000}}, [{"type": "compaction", "auto": True}]),
    (
        {
            "role": "assistant",
            "summary": True,
            "mode": "compaction",
            "time": {"created": 1_795_000_003_000},
            "tokens": {"input": 1, "output": 1, "cache": {"read": 0, "write": 0}},
        },
        [{"type": "text", "text": "What we did so far"}],
    ),
    ({"role": "user", "time": {"created": 1_795_000_004_000}}, [{"type": "text", "text": "Go on"}]),
    (
        {
            "role": "assistant",
            "modelID": "claude-sonnet-4-5",
            "time": {"created": 1_795_000_005_000},
            "tokens": {"input": 20, "output": 5, "reasoning": 0, "cache": {"read": 0, "write": 300}},
        },
        [
            {
                "type": "tool",
                "tool": "bash",
                "callID": "c2",
                "state": {
                    "status": "completed",
                    "input": {"command": "npm test"},
                    "output": "long",
                    "title": "",
                    "time": {"start": 1, "end": 2, "compacted": 3},
                },
            },
            {"type": "a-part-of-tomorrow"},
        ],
    ),
]
SENT_BY_OPENCODE = [
    ("summary", "What we did so far"),
    ("text", "Go on"),
    ("tool_call", 'bash {"command": "npm test"}'),
    ("tool_result", "[Old tool result content cleared]"),
]


def database(home: Path) -> Path:
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as made, made:
        made.executescript(
            "CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT,"
            " time_created INTEGER, time_updated INTEGER);"
            "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);"
            "CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INT, data TEXT);"
        )
        made.execute("INSERT INTO session VALUES ('ses_1', 'p', NULL, ?, 't', 1, 1795000005000)", (CWD,))
        made.execute("INSERT INTO session VALUES ('ses_2', 'p', 'ses_1', ?, 't', 1, 1795000009000)", (CWD,))
        for number, (info, parts) in enumerate(MESSAGES):
            row = (f"msg_{number}", info["time"]["created"], json.dumps(info))
            made.execute("INSERT INTO message VALUES (?, 'ses_1', ?, ?)", row)
            for place, part in enumerate(parts):
                what = (f"prt_{number}_{place}", f"msg_{number}", json.dumps(part))
                made.execute("INSERT INTO part VALUES (?, ?, 'ses_1', 0, ?)", what)
        made.execute("INSERT INTO message VALUES ('msg_9', 'ses_1', 1795000009000, '{torn')")
    return path


def files(home: Path) -> Path:
    root = home / ".local" / "share" / "opencode" / "storage"
    (root / "session" / "p").mkdir(parents=True)
    (root / "session" / "p" / "ses_1.json").write_text(json.dumps({"id": "ses_1", "directory": CWD}))
    (root / "message" / "ses_1").mkdir(parents=True)
    for number, (info, parts) in enumerate(MESSAGES):
        (root / "message" / "ses_1" / f"msg_{number}.json").write_text(json.dumps(info))
        folder = root / "part" / f"msg_{number}"
        folder.mkdir(parents=True)
        for place, part in enumerate(parts):
            (folder / f"prt_{place}.json").write_text(json.dumps(part))
        (folder / "prt_9.json").write_text("{torn")
    return root


@pytest.mark.parametrize("kept", [database, files])
@pytest.mark.parametrize("id", ["ses_1", ""])
def test_opencode_in_both_of_its_formats(tmp_path: Path, kept: Any, id: str) -> None:
    kept(tmp_path)
    place = opencode_transcript.find(TranscriptQuery("opencode", id, CWD, 1_700_000_000.0), {}, tmp_path)
    assert place is not None
    found = opencode_transcript.read(place)
    assert sent(found) == SENT_BY_OPENCODE
    assert [mark.usage for mark in found.marks] == [
        Usage(input=10, output=7, cache_read=900, cache_write=100, reasoning=2),
        Usage(input=20, output=5, cache_write=300),
    ]
    assert found.entries[-1].pruned


def test_what_opencode_is_still_writing_is_no_answer_yet(tmp_path: Path) -> None:
    path = database(tmp_path)
    place = opencode_transcript.OpenCodeFiles(path, "ses_1", True)

    def written(times: dict[str, int]) -> str:
        asked = {"role": "user", "time": {"created": 1795000010000}}
        given = {"role": "assistant", "time": {"created": 1795000011000}}
        parts = [{"type": "text", "text": "Good day"}, {"type": "text", "text": "Hello", "time": times}]
        with closing(sqlite3.connect(path)) as made, made:
            for number, (info, part) in enumerate(zip((asked, given), parts, strict=True)):
                row = (f"msg_A{number}", info["time"]["created"], json.dumps(info))
                made.execute("INSERT OR REPLACE INTO message VALUES (?, 'ses_1', ?, ?)", row)
                what = (f"prt_A{number}", f"msg_A{number}", json.dumps(part))
                made.execute("INSERT OR REPLACE INTO part VALUES (?, ?, 'ses_1', 0, ?)", what)
        turn = turn_of(opencode_transcript.read(place))
        assert turn is not None
        assert turn.over == bool(turn.answer)
        return turn.answer

    assert written({"start": 1795000011000}) == ""
    assert written({"start": 1795000011000, "end": 1795000012000}) == "Hello"


def test_opencodes_database_is_not_touched(tmp_path: Path) -> None:
    path = database(tmp_path)
    before = (path.read_bytes(), sorted(path.parent.iterdir()))
    place = opencode_transcript.find(TranscriptQuery("opencode", "ses_1", CWD, 0.0), {}, tmp_path)
    assert place is not None
    opencode_transcript.read(place)
    assert (path.read_bytes(), sorted(path.parent.iterdir())) == before


def test_opencodes_database_is_read_while_it_is_written(tmp_path: Path) -> None:
    path = database(tmp_path)
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO message VALUES ('msg_6', 'ses_1', 1795000006000, ?)", (json.dumps(MESSAGES[4][0]),))
        writer.execute("INSERT INTO part VALUES ('p6', 'msg_6', 'ses_1', 0, ?)", (json.dumps(MESSAGES[4][1][0]),))
        writer.commit()
        place = opencode_transcript.find(TranscriptQuery("opencode", "ses_1", CWD, 0.0), {}, tmp_path)
        assert place is not None
        assert opencode_transcript.read(place).entries[-1].text == "Go on"


def test_where_claude_keeps_them(tmp_path: Path) -> None:
    kept = placed(FIXTURES / "claude.jsonl", tmp_path / ".claude/projects/-home-ada-shop" / f"{CLAUDE_ID}.jsonl")
    assert claude_transcript.find(TranscriptQuery("claude", CLAUDE_ID, CWD, 0.0), {}, tmp_path) == kept
    assert claude_transcript.find(TranscriptQuery("claude", "", CWD, 0.0), {}, tmp_path) == kept
    assert claude_transcript.find(TranscriptQuery("claude", CLAUDE_ID, "/elsewhere", 0.0), {}, tmp_path) == kept
    assert claude_transcript.find(TranscriptQuery("claude", "", "/elsewhere", 0.0), {}, tmp_path) is None
    assert claude_transcript.find(TranscriptQuery("claude", "", CWD, kept.stat().st_mtime + 60), {}, tmp_path) is None
    other = placed(kept, tmp_path / "conf/projects/-home-ada-shop" / f"{CLAUDE_ID}.jsonl")
    assert (
        claude_transcript.find(
            TranscriptQuery("claude", "", CWD, 0.0), {"CLAUDE_CONFIG_DIR": str(tmp_path / "conf")}, tmp_path
        )
        == other
    )


def test_where_codex_keeps_them(tmp_path: Path) -> None:
    name = f"rollout-2026-11-20T12-00-00-{CODEX_ID}.jsonl"
    kept = placed(FIXTURES / "codex.jsonl", tmp_path / ".codex/sessions/2026/11/20" / name)
    assert codex_transcript.find(TranscriptQuery("codex", CODEX_ID, CWD, 0.0), {}, tmp_path) == kept
    assert codex_transcript.find(TranscriptQuery("codex", "", CWD, 0.0), {}, tmp_path) == kept
    assert codex_transcript.find(TranscriptQuery("codex", "", "/elsewhere", 0.0), {}, tmp_path) is None
    archived = placed(kept, tmp_path / "home/archived_sessions" / name)
    assert (
        codex_transcript.find(
            TranscriptQuery("codex", CODEX_ID, CWD, 0.0), {"CODEX_HOME": str(tmp_path / "home")}, tmp_path
        )
        == archived
    )


def test_where_gemini_keeps_them(tmp_path: Path) -> None:
    name = f"session-2026-11-20T13-00-{GEMINI_ID[:8]}.json"
    folder = hashlib.sha256(CWD.encode()).hexdigest()
    kept = placed(FIXTURES / "gemini.json", tmp_path / ".gemini/tmp" / folder / "chats" / name)
    assert gemini_transcript.find(TranscriptQuery("gemini", GEMINI_ID, CWD, 0.0), {}, tmp_path) == kept
    assert gemini_transcript.find(TranscriptQuery("gemini", "", CWD, 0.0), {}, tmp_path) == kept
    assert gemini_transcript.find(TranscriptQuery("gemini", GEMINI_ID[:8] + "-other", CWD, 0.0), {}, tmp_path) is None
    newer = placed(FIXTURES / "gemini.jsonl", tmp_path / ".gemini/tmp/shop/chats" / f"{name}l")
    (tmp_path / ".gemini/projects.json").write_text(json.dumps({"projects": {CWD: "shop"}}))
    os.utime(kept, (1, 1))
    assert gemini_transcript.find(TranscriptQuery("gemini", GEMINI_ID, CWD, 0.0), {}, tmp_path) == newer
    assert gemini_transcript.find(TranscriptQuery("gemini", "", CWD, 0.0), {}, tmp_path) == newer


TURNS = [
    ("text", "Good day to you"),
    ("text", "Hello. I am here."),
    ("text", "do:touch"),
    ("text", "I make the file."),
    ("tool_call", 'bash {"command": "touch made.txt"}'),
]


@pytest.mark.parametrize("named", ["", "QWEN_HOME", "QWEN_RUNTIME_DIR"])
def test_where_qwen_keeps_them(tmp_path: Path, named: str) -> None:
    root = tmp_path / (named or ".qwen")
    environ = {named: str(root)} if named else {}
    kept = placed(FIXTURES / "qwen.jsonl", root / "projects/-home-ada-shop/chats" / f"{QWEN_ID}.jsonl")
    for id, cwd in ((QWEN_ID, CWD), (QWEN_ID, "/elsewhere"), ("", CWD)):
        assert qwen_transcript.find(TranscriptQuery("qwen", id, cwd, 0.0), environ, tmp_path) == kept
    assert qwen_transcript.find(TranscriptQuery("qwen", "", "/elsewhere", 0.0), environ, tmp_path) is None
    wanted = TranscriptQuery("qwen", QWEN_ID, CWD, 0.0)
    assert conversation_state(wanted, {**environ, "HOME": str(tmp_path)}) == "said"


def vibe(home: Path) -> Path:
    """A conversation of the real program."""
    folder = home / ".vibe" / "logs" / "session" / "unified" / VIBE_ID
    shutil.copytree(FIXTURES / "vibe", folder)
    return folder


@pytest.mark.parametrize("id", [VIBE_ID, ""])
def test_vibe_sends_what_its_last_generation_names(tmp_path: Path, id: str) -> None:
    folder = vibe(tmp_path)
    wanted = TranscriptQuery("vibe", id, CWD, 1_700_000_000.0)
    place = vibe_transcript.find(wanted, {}, tmp_path)
    assert place is not None
    assert place == folder / "CURRENT"
    found = vibe_transcript.read(place)
    assert sent(found)[: len(TURNS)] == TURNS
    assert [entry.kind for entry in found.entries[len(TURNS) :]] == ["tool_result", "text"]
    assert (found.model, len(found.marks)) == ("fake", 3)
    turn = turn_of(found)
    assert turn is not None
    assert (turn.answer, turn.over, turn.at) == ("Done; the command has run.", True, 1_795_391_829.554)
    assert conversation_state(wanted, {"HOME": str(tmp_path)}) == "said"
    assert vibe_transcript.find(TranscriptQuery("vibe", id and "other", "/tmp", 0.0), {}, tmp_path) is None
    next(folder.glob("chunks/*")).write_text("{torn")
    vibe_transcript.read(place)
    (folder / "CURRENT").write_text(json.dumps({"generation": "../../.."}))
    assert vibe_transcript.read(place).entries == []


@pytest.mark.parametrize("id", [CLINE_ID, ""])
def test_cline_says_when_a_turn_is_over_also_one_that_was_interrupted(tmp_path: Path, id: str) -> None:
    folder = tmp_path / ".cline" / "data" / "sessions" / CLINE_ID
    shutil.copytree(FIXTURES / "cline", folder)
    wanted = TranscriptQuery("cline", id, CWD, 1_700_000_000.0)
    place = cline_transcript.find(wanted, {}, tmp_path)
    assert place is not None
    assert place == folder / f"{CLINE_ID}.json"
    os.utime(place, (1_795_994_470, 1_795_994_470))
    found = cline_transcript.read(place)
    assert [entry.kind for entry in found.entries] == [
        *("text", "thinking", "text", "text", "text", "tool_call", "tool_result", "text", "text")
    ]
    turn = turn_of(found)
    assert turn is not None
    assert (turn.prompt, turn.answer, turn.over, turn.final) == ("do:long again", "", True, True)
    assert (turn.at, turn.written) == (1_795_994_465.375, 1_795_994_470)
    place.write_text(place.read_text().replace('"status": "idle"', '"status": "pending"'))
    turn = turn_of(cline_transcript.read(place))
    assert turn is not None and not turn.over, "it asks for permission"
    assert conversation_state(wanted, {"HOME": str(tmp_path)}) == "said"
    assert cline_transcript.find(TranscriptQuery("cline", "", "/tmp", 0.0), {}, tmp_path) is None
    assert cline_transcript.find(TranscriptQuery("cline", "", CWD, 0.0), {"CLINE_DIR": "/nowhere"}, tmp_path) is None
    place.with_name(f"{CLINE_ID}.messages.json").write_text("{torn")
    assert cline_transcript.read(place).entries == []


AIDER = (FIXTURES / "aider" / "chat.history.md").read_text()
AIDER_INPUTS = (FIXTURES / "aider" / "input.history").read_text()


def aider(folder: Path, text: str = AIDER, inputs: str = AIDER_INPUTS) -> Path:
    """A chat as the real one writes it, in a repository."""
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    (folder / "src").mkdir(exist_ok=True)
    (folder / ".aider.input.history").write_text(inputs)
    file = folder / ".aider.chat.history.md"
    file.write_text(text)
    return file


def test_aider_writes_its_chats_into_one_file_of_the_repository(tmp_path: Path) -> None:
    file = aider(tmp_path)
    began = datetime(2026, 11, 23, 15, 34, 56).timestamp()
    (chat,) = aider_transcript.chats_since(str(tmp_path / "src"), began, {})
    assert (chat.path, chat.at) == (file, began)
    assert aider_transcript.chats_since(str(tmp_path / "src"), began + 5, {}) == []
    wanted = TranscriptQuery("aider", chat.id, str(tmp_path / "src"), began)
    for query in (wanted, replace(wanted, id="")):
        assert aider_transcript.find(query, {}, tmp_path) == chat
    assert aider_transcript.find(replace(wanted, id="20261123153456-00000000"), {}, tmp_path) is None
    found = aider_transcript.read(chat)
    said = [(entry.role, entry.text) for entry in found.entries if entry.kind == "text"]
    assert said == [
        ("user", "Good day\n\nto you"),
        ("assistant", "Hello. I am here.\n\n> not a line of the program"),
        ("user", "and now?"),
    ]
    assert [entry.text for entry in found.entries if entry.kind == "thinking"] == ["A greeting."]
    assert found.model == "openai/gpt-4o"
    assert [round(entry.at - began, 1) for entry in found.entries if entry.role == "user"] == [7.3, 64.5]
    turn = turn_of(found)
    assert turn is not None
    assert (turn.prompt, turn.answer, turn.over) == ("and now?", "", False)
    file.write_text(AIDER + "\nNow.\n\n> Tokens: 2.4k sent, 6 received.  \n")
    last = LastTurns().find(wanted, {})
    assert last is not None
    assert (last.prompt, last.answer, last.over, last.message) == ("and now?", "Now.", True, turn.message)
    assert conversation_state(wanted, {}) == "said"
    with file.open("a") as more:
        more.write("\n# aider chat started at 2026-11-23 16:00:00\n\n#### of another one  \n")
    assert aider_transcript.find(wanted, {}, tmp_path) is None, "it cannot be told any more who writes what"
    assert aider_transcript.read(chat).entries == []


def test_aiders_environment_says_where_its_files_are(tmp_path: Path) -> None:
    aider(tmp_path)
    elsewhere = tmp_path / "chats" / "one.md"
    elsewhere.parent.mkdir()
    elsewhere.write_text(AIDER)
    environ = {"AIDER_CHAT_HISTORY_FILE": str(elsewhere), "AIDER_INPUT_HISTORY_FILE": ".aider.input.history"}
    place = aider_transcript.find(TranscriptQuery("aider", "", str(tmp_path), 0.0), environ, tmp_path)
    assert place is not None
    assert (place.path, place.inputs) == (elsewhere, tmp_path / ".aider.input.history")
    place.inputs.unlink()
    prompts = [entry for entry in aider_transcript.read(place).entries if entry.role == "user"]
    assert [entry.at for entry in prompts] == [0.0, 0.0], "nobody knows when"


@given(
    turns=st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1)
            .map(str.strip)
            .filter(bool),
            st.lists(
                st.sampled_from(["words", "", "> quoted", "#### a title", "# heading", "  code", "```"]), min_size=1
            )
            .map("\n".join)
            .map(str.strip),
        ),
        min_size=1,
        max_size=4,
    ),
    most=st.integers(1, 2_000),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_aider_writes_is_read_as_it_was_said(tmp_path: Path, turns: list[tuple[str, str]], most: int) -> None:
    """Written as its own code does; and a reader that sees only the end of it sees the end of the same."""
    text = "\n# aider chat started at 2026-11-23 15:34:56\n\n"
    for prompt, answer in turns:
        text += f"\n#### {prompt}  \n\n{answer}\n\n> Tokens: 2.4k sent, 6 received.  \n"
    aider(tmp_path, text, "")
    place = aider_transcript.find(TranscriptQuery("aider", "", str(tmp_path), 0.0), {}, tmp_path)
    assert place is not None
    said = [entry.text for entry in aider_transcript.read(place).entries if entry.kind == "text"]
    assert said == [part for turn in turns for part in turn if part]
    end = [entry.text for entry in aider_transcript.read(place, most).entries if entry.kind == "text"]
    assert said[len(said) - len(end) :] == end


def _turn(reader: Any, path: Path, records: list[dict[str, Any]]) -> TurnText:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    turn = turn_of(reader.read(path))
    assert turn is not None
    return turn


def _claude(role: str, *texts: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text} for text in texts]
    return {"type": role, "uuid": f"{role} {texts}", "message": {"role": role, "content": content}, **more}


def _codex(role: str, text: str) -> dict[str, Any]:
    return {"type": "response_item", "payload": {"type": "message", "role": role, "content": [{"text": text}]}}


def _qwen(n: int, role: str, text: str) -> dict[str, Any]:
    message = {"parts": [{"text": text}]}
    return {"type": role, "uuid": str(n), "parentUuid": str(n - 1) if n else None, "message": message}


_QWEN_FAILED = {
    "type": "system",
    "uuid": "2",
    "parentUuid": "1",
    "systemPayload": {"uiEvent": {"event.name": "qwen-code.api_error", "error_message": "no mood"}},
}


@pytest.mark.parametrize(
    ("reader", "turn", "stop", "marks"),
    [
        (
            claude_transcript,
            [_claude("user", "Do it"), _claude("assistant", "I do it.")],
            "interrupted",
            [_claude("user", "[Request interrupted by user for tool use]")],
        ),
        (
            claude_transcript,
            [_claude("user", "Do it")],
            "error",
            [_claude("assistant", "no mood", isApiErrorMessage=True)],
        ),
        (
            codex_transcript,
            [_codex("user", "Do it"), _codex("assistant", "I do it.")],
            "interrupted",
            [
                _codex("user", "<turn_aborted>\nThe user did it."),
                {"type": "event_msg", "payload": {"type": "turn_aborted", "reason": "interrupted"}},
            ],
        ),
        (
            codex_transcript,
            [_codex("user", "Do it")],
            "error",
            [{"type": "event_msg", "payload": {"type": "task_complete", "error": {"message": "no mood"}}}],
        ),
        (
            gemini_transcript,
            [{"id": "1", "type": "user", "content": [{"text": "Do it"}]}],
            "error",
            [
                {"$set": {"messages": [{"id": "0", "type": "user", "content": "<session_context>"}]}},
                {"id": "2", "type": "error", "content": "no mood"},
                {"id": "3", "type": "info", "content": "Press F12"},
            ],
        ),
        (qwen_transcript, [_qwen(0, "user", "Do it"), _qwen(1, "assistant", "I do it.")], "error", [_QWEN_FAILED]),
    ],
)
def test_a_turn_that_came_to_nothing_says_so_until_it_goes_on(
    reader: Any, turn: list[dict[str, Any]], stop: str, marks: list[dict[str, Any]], tmp_path: Path
) -> None:
    path = tmp_path / "session-a.jsonl"
    assert _turn(reader, path, turn).stop == "end"
    stopped = _turn(reader, path, [*turn, *marks])
    assert (stopped.prompt, stopped.stop, stopped.error) == ("Do it", stop, "no mood" if stop == "error" else "")
    for again in (turn[0], turn[-1]):
        now = again | {key: f"{again[key]} again" for key in ("uuid", "id") if key in again}
        if "parentUuid" in again:
            now["parentUuid"] = "2"
        after = _turn(reader, path, [*turn, *marks, now])
        assert (after.stop, after.error) == ("end", "")


def test_a_turn_of_opencode_ends_by_its_person_or_its_model(tmp_path: Path) -> None:
    for folder in ("message/s", "part/a", "part/b", "part/c"):
        (tmp_path / folder).mkdir(parents=True)

    def write(name: str, value: dict[str, Any]) -> None:
        (tmp_path / f"{name}.json").write_text(json.dumps(value), "utf-8")

    write("message/s/a", {"role": "user"})
    write("part/a/1", {"type": "text", "text": "Do it"})
    place = opencode_transcript.OpenCodeFiles(tmp_path, "s", database=False)
    for error, stop, why in (
        ({}, "end", ""),
        ({"name": "MessageAbortedError"}, "interrupted", ""),
        ({"name": "APIError", "data": {"message": "no mood"}}, "error", "no mood"),
    ):
        write("message/s/b", {"role": "assistant", "error": error})
        write("part/b/1", {"type": "text", "text": "I do it."})
        turn = turn_of(opencode_transcript.read(place))
        assert turn is not None and (turn.answer, turn.stop, turn.error or why) == ("I do it.", stop, why or turn.error)
    write("message/s/c", {"role": "assistant"})
    state = {"status": "error", "error": "The user rejected permission to use this tool."}
    write("part/c/1", {"type": "tool", "callID": "1", "tool": "bash", "state": state})
    refused = turn_of(opencode_transcript.read(place))
    assert refused is not None and refused.stop == "interrupted"


def test_the_answer_of_a_turn_is_what_was_said_since_its_last_call() -> None:
    turn = turn_of(codex_transcript.read(FIXTURES / "codex.jsonl"))
    assert turn is not None
    assert turn.over
    book = program_transcript.TranscriptBuilder(Path("x"), "codex")
    assert turn_of(book.transcript) is None
    book.add_text("user", "earlier", 1.0, "m1")
    book.add_text("assistant", "an earlier answer", 2.0, "m2")
    book.add_text("user", "Do it", 3.0, "m3")
    started = turn_of(book.transcript)
    assert started is not None
    assert (started.message, started.answer, started.over) == ("m3", "", False), "nothing of the turn before"
    book.add_text("assistant", "I look first.", 4.0, "m4")
    book.add_call("c1", "bash", {"command": "ls"}, 4.0, "m4")
    at_work = turn_of(book.transcript)
    assert at_work is not None
    assert (at_work.answer, at_work.over) == ("I look first.", False)
    book.add_result("c1", "made.txt", 5.0, "m5")
    book.add_text("assistant", "It is\ndone.", 6.0, "m6")
    book.add_text("assistant", "All of it.", 6.0, "m7")
    done = turn_of(book.transcript)
    assert done is not None
    assert (done.answer, done.over) == ("It is\ndone.\n\nAll of it.", True)


def records(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return path


def test_each_reader_says_whether_what_was_said_has_a_time_of_its_own(tmp_path: Path) -> None:
    """Without one, it has that of its prompt."""
    shutil.copytree(FIXTURES / "cline", cline := tmp_path / CLINE_ID)
    chats = (aider(tmp_path), aider_transcript.chats_since(str(tmp_path), 0.0, {}))[1]
    places: dict[str, Any] = {name: FIXTURES / f"{name}.jsonl" for name in ("claude", "codex", "gemini", "qwen")}
    places |= {"aider": chats[-1], "cline": cline / f"{CLINE_ID}.json", "vibe": vibe(tmp_path) / "CURRENT"}
    places["opencode"] = opencode_transcript.OpenCodeFiles(database(tmp_path), "ses_1", True)
    assert set(places) == set(READERS)
    for name, reader in READERS.items():
        entries = reader.read(places[name]).entries
        asked = {entry.at for entry in entries if entry.role == "user" and entry.kind == "text"}
        own = [entry.at not in asked for entry in entries if entry.role == "assistant" and entry.kind != "tool_call"]
        assert own and all(own) == reader.TIMED and any(own) == reader.TIMED, name


def test_codex_says_itself_when_its_turn_is_over(tmp_path: Path) -> None:
    def event(kind: str) -> dict[str, Any]:
        return {"timestamp": "2026-11-20T12:00:00Z", "type": "event_msg", "payload": {"type": kind}}

    def message(role: str, text: str) -> dict[str, Any]:
        part = {"type": "output_text", "text": text}
        return {"type": "response_item", "payload": {"type": "message", "role": role, "content": [part]}}

    so_far = [event("task_started"), message("user", "Make it"), message("assistant", "I make the file.")]
    for kind, over in (("", False), ("task_complete", True), ("turn_aborted", True)):
        more = [event(kind)] if kind else []
        turn = turn_of(codex_transcript.read(records(tmp_path / "codex.jsonl", *so_far, *more)))
        assert turn is not None and (turn.over, turn.answer) == (over, "I make the file.")


def test_a_turn_of_codex_goes_on_while_a_helper_of_it_works(tmp_path: Path) -> None:
    def record(kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-11-20T12:00:00Z", "type": kind, "payload": payload}

    def message(role: str, text: str) -> dict[str, Any]:
        return record("response_item", type="message", role=role, content=[{"type": "output_text", "text": text}])

    def helper(tool: str) -> dict[str, Any]:
        item = {"type": "CollabAgentToolCall", "id": "c1", "tool": tool, "receiver_thread_ids": ["01a2-7d"]}
        return record("event_msg", type="item_completed", item=item)

    said = [message("user", "Make it"), helper("spawn_agent"), message("assistant", "It is on its way.")]
    so_far = [*said, record("event_msg", type="task_complete")]
    ends = message("user", '<subagent_notification>\n{"agent_path": "01a2-7d", "status": "completed"}')
    gone = record("world_state", full=False, state={"environments": {"subagents": None}})
    for more in (ends, helper("close_agent"), gone):
        for after, helped in (((), True), ((more,), False)):
            turn = turn_of(codex_transcript.read(records(tmp_path / "codex.jsonl", *so_far, *after)))
            assert turn is not None and (turn.helped, turn.answer) == (helped, "It is on its way.")
    for again in ("send_input", "resume_agent"):
        turn = turn_of(codex_transcript.read(records(tmp_path / "codex.jsonl", *so_far, ends, helper(again))))
        assert turn is not None and turn.helped, again
    said_so = message("assistant", "<subagent_notification> 01a2-7d")
    assert codex_transcript.read(records(tmp_path / "codex.jsonl", *so_far, said_so)).helped


def test_codex_has_the_plan_of_its_last_turn(tmp_path: Path) -> None:
    def event(**payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-11-20T12:00:00Z", "type": "event_msg", "payload": payload}

    def item(kind: str, text: str) -> dict[str, Any]:
        return event(type="item_completed", item={"type": kind, "id": "i", "text": text})

    plans = [item("Plan", "# One\n"), item("AgentMessage", "As you see."), event(type="task_complete")]
    for more, wanted in (((), "# One\n"), ((event(type="task_started"),), "")):
        read = codex_transcript.read(records(tmp_path / "codex.jsonl", event(type="task_started"), *plans, *more))
        assert read.plan == wanted


def test_qwen_says_no_more_once_all_of_its_calls_were_refused(tmp_path: Path) -> None:
    def record(number: int, kind: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
        ids = {"uuid": str(number), "parentUuid": str(number - 1) if number else None}
        return {**ids, "type": kind, "message": {"role": "model", "parts": list(parts)}, **more}

    def result(number: int, status: str) -> dict[str, Any]:
        answer = {"functionResponse": {"id": "c1", "response": {"error": "no"}}}
        return record(number, "tool_result", answer, toolCallResult={"status": status})

    call = {"functionCall": {"id": "c1", "name": "run", "args": {}}}
    asked = [record(0, "user", {"text": "Make it"}), record(1, "assistant", {"text": "I do."}, call)]
    for statuses, over in ((["cancelled"], True), (["cancelled"] * 2, True), (["success", "cancelled"], False)):
        results = [result(2 + at, status) for at, status in enumerate(statuses)]
        turn = turn_of(qwen_transcript.read(records(tmp_path / "qwen.jsonl", *asked, *results)))
        assert turn is not None and turn.over == over
    again = [result(2, "cancelled"), record(3, "assistant", call)]
    turn = turn_of(qwen_transcript.read(records(tmp_path / "qwen.jsonl", *asked, *again)))
    assert turn is not None and not turn.over


@pytest.mark.parametrize("id", ["../../etc/passwd", "*", "a/b", "..", "", "-rf", "a" * 200, "ses_1\n"])
def test_an_id_cannot_lead_out_of_the_folder(id: str) -> None:
    assert program_transcript.safe_name(id) == ""


def row(**more: Any) -> AgentRow:
    fields: dict[str, Any] = {"id": "0012", "name": "helper", "kind": "cli", "cwd": CWD, "profile": "claude"}
    return AgentRow(**(fields | more))


def transcripts(home: Path) -> Transcripts:
    placed(FIXTURES / "claude.jsonl", home / ".claude/projects/-home-ada-shop" / f"{CLAUDE_ID}.jsonl")
    return Transcripts(lambda _: PRICED, {}, home)


async def test_the_view_says_what_it_is_and_what_is_missing(tmp_path: Path) -> None:
    made = transcripts(tmp_path)
    view = await made.view(row(external_id=CLAUDE_ID))
    assert "Reconstructed from its transcript" in view.note
    assert "13,0" in view.note  # what the provider counted of the last request, less what the transcript has of it
    assert (view.agent, view.provider, view.window) == ("0012", "anthropic", 200_000)
    assert [block.section for block in view.blocks] == ["history", "input", "input", "input"]
    assert all(made.text(block.hash) is not None for block in view.blocks)
    assert view.tokens == sum(block.tokens for block in view.blocks)


async def test_through_time(tmp_path: Path) -> None:
    made, who = transcripts(tmp_path), row(external_id=CLAUDE_ID)
    marks = await made.iterations(who)
    assert [mark.tokens for mark in marks] == [14_009, 14_312, 14_388, 13_125]
    assert [mark.cuts for mark in marks] == [(), (), (), ("compact-msg_05",)]
    (cut,) = await made.receipts(who)
    assert (cut.id, cut.tokens_before, cut.tokens_after) == ("compact-msg_05", 14_388, 13_125)
    assert marks[0].cost == pytest.approx((9 * 3 + 160 * 15 + 14_000 * 3) / 1e6)
    first, second = [await made.view(who, mark.id) for mark in marks[:2]]
    assert first.iteration == marks[0]
    assert {difference.kind for difference in differences(first.blocks, second.blocks)} == {"added"}
    with pytest.raises(ContextError, match="nosuch"):
        await made.view(who, "nosuch")


async def test_what_was_written_since_is_seen_whole_and_where_it_was_moved_to(tmp_path: Path) -> None:
    made, who = transcripts(tmp_path), row(external_id=CLAUDE_ID)
    kept = tmp_path / ".claude/projects/-home-ada-shop" / f"{CLAUDE_ID}.jsonl"
    before = await made.view(who)
    more = {"type": "user", "uuid": "u6", "parentUuid": "a6", "message": {"role": "user", "content": "More"}}
    line = json.dumps(more) + "\n"
    for piece in (line[:40], line[40:]):
        assert not differences(before.blocks, (await made.view(who)).blocks)
        with kept.open("a") as file:
            file.write(piece)
    after = await made.view(who)
    assert [made.text(d.hash_after) for d in differences(before.blocks, after.blocks)] == ["More"]
    moved = tmp_path / ".claude/projects/-home-ada-elsewhere"
    moved.mkdir()
    kept.rename(moved / kept.name)
    assert not differences(after.blocks, (await made.view(who)).blocks)


async def test_agents_without_a_transcript(tmp_path: Path) -> None:
    made = transcripts(tmp_path)
    with pytest.raises(ContextError, match="keeps no readable transcript"):
        await made.view(row(profile="goose"))
    with pytest.raises(ContextError, match="no transcript of its conversation"):
        await made.view(row(external_id="other"))


RECORDED = st.sampled_from(
    [
        (claude_transcript.read, "claude.jsonl"),
        (codex_transcript.read, "codex.jsonl"),
        (gemini_transcript.read, "gemini.jsonl"),
        (qwen_transcript.read, "qwen.jsonl"),
    ]
)
junk: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "message", "content", "payload", "id", "uuid", "text", "info"]), inner
        )
    ),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(150), deadline=None)
@given(reader=RECORDED, cut=st.integers(0, 4_000), more=st.lists(junk, max_size=6))
def test_whatever_is_in_the_file_is_survived(tmp_path: Path, reader: Any, cut: int, more: list[Any]) -> None:
    read, name = reader
    whole = (FIXTURES / name).read_bytes()
    path = tmp_path / name
    strange = [json.dumps(one).encode() for one in more]
    types = [
        json.dumps({"type": kind, "payload": one, "message": one}).encode()
        for one in more
        for kind in ("user", "response_item", "assistant", "compacted", "event_msg", "gemini")
    ]
    path.write_bytes(whole[:-cut] if cut else whole)
    path.write_bytes(b"\n".join([path.read_bytes(), *strange, *types, b"\xff\xfe{", b""]))
    found = read(path)
    assert found.start <= len(found.entries)
    assert all(mark.start <= mark.end <= len(found.entries) for mark in found.marks)


def test_a_long_transcript_is_read_from_its_end(tmp_path: Path) -> None:
    path = placed(FIXTURES / "codex.jsonl", tmp_path / "codex.jsonl")
    found = codex_transcript.read(path, 4_000)
    assert sent(found)[-1] == ("text", "They say so now.")
    assert "Only its last" in found.notes[0]


def test_reading_takes_no_loop(tmp_path: Path) -> None:
    """The view is made in a thread: other work goes on meanwhile."""
    made, ticks = transcripts(tmp_path), 0

    async def both() -> None:
        nonlocal ticks
        reading = asyncio.ensure_future(made.view(row(external_id=CLAUDE_ID)))
        while not reading.done():
            ticks += 1
            await asyncio.sleep(0)
        await reading

    asyncio.run(both())
    assert ticks > 1
