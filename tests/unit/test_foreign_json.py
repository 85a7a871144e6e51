"""What other programs wrote, with hostile values anywhere in it: each bad item costs itself."""

import asyncio
import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from gshtui.bus.agent_data import AgentRow
from gshtui.programs.hooks.hook_reports import parse_report
from gshtui.programs.profiles.profile import Profile
from gshtui.programs.report_hook import line
from gshtui.programs.transcripts.program_transcript import TranscriptQuery, number, seconds
from gshtui.programs.transcripts.reconstruction import Transcripts
from gshtui.programs.transcripts.request_usage import UsageReader
from gshtui.programs.transcripts.transcript_readers import READERS, LastTurns, conversation_state, turn_of
from gshtui.providers.port import Capabilities
from gshtui.system.json_types import parse_foreign_json
from tests.kit.storms import seeds

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "transcripts"
CWD = "/home/ada/shop"
DEEP = '"deep-marker"'
HOSTILE: tuple[Any, ...] = (
    None,
    True,
    "",
    0,
    -1,
    1e308,
    float("nan"),
    float("inf"),
    10**30,
    10**300,
    "\ud800",
    "a\udfffb",
    "\0",
    "\x1b[2J\x9b",
    "é" * 3,
    [],
    {},
    [[]],
    [None],
    {"": ""},
    "x" * 100_000,
    "2026-99-99T00:00:00Z",
    "9999-12-31T23:59:59+14:00",
    "../../etc",
    "deep-marker",
)
PLACES = {
    "claude": (
        "claude.jsonl",
        ".claude/projects/-home-ada-shop/5f3c7f0e-7e0b-4a53-9d1a-3f3a3b9d2f10.jsonl",
        "5f3c7f0e-7e0b-4a53-9d1a-3f3a3b9d2f10",
    ),
    "codex": (
        "codex.jsonl",
        ".codex/sessions/2026/11/23/rollout-2026-11-23T10-00-00-019aa4c5-0000-7000-8000-00000000c0de.jsonl",
        "019aa4c5-0000-7000-8000-00000000c0de",
    ),
}


def damaged(value: Any, random: Random) -> Any:
    """The value with something hostile at a place in it, or without a place."""
    if random.random() < 0.12 or not value or not isinstance(value, dict | list):
        return random.choice(HOSTILE)
    if isinstance(value, dict):
        name = random.choice(list(value))
        if random.random() < 0.1:
            return {key: item for key, item in value.items() if key != name}
        return {**value, name: damaged(value[name], random)}
    at = random.randrange(len(value))
    return [*value[:at], damaged(value[at], random), *value[at + 1 :]]


def as_line(value: Any) -> bytes:
    return json.dumps(value).replace(DEEP, "[" * 3_000 + "]" * 3_000).encode()


def damaged_lines(text: bytes, random: Random) -> bytes:
    lines = text.splitlines()
    for _ in range(random.randint(1, 6)):
        at = random.randrange(len(lines))
        try:
            lines[at] = as_line(damaged(json.loads(lines[at]), random))
        except (ValueError, RecursionError):
            continue
        if random.random() < 0.1:
            lines[at] = lines[at][: random.randrange(len(lines[at]) + 1)]
        if random.random() < 0.1:
            lines[at] += random.choice((b"\xff\xfe", b"\0", b'{"a":"\xed\xa0\x80"}', b"\r", b"\xef\xbb\xbf"))
    return b"\n".join(lines) + b"\n"


@pytest.mark.parametrize("program", list(PLACES))
@pytest.mark.parametrize("seed", seeds(6))
def test_a_transcript_with_hostile_values_is_read_as_far_as_it_can_be(tmp_path: Path, program: str, seed: int) -> None:
    random = Random(seed)
    name, place, id = PLACES[program]
    whole = (FIXTURES / name).read_bytes()
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    row = AgentRow(id="0012", name="helper", kind="cli", cwd=CWD, profile=program, external_id=id)
    query, environ = TranscriptQuery(program, id, CWD, 0.0), {"HOME": str(tmp_path)}
    for _ in range(60):
        path.write_bytes(damaged_lines(whole, random))
        made = Transcripts(lambda _: Capabilities(window=1_000, known=True), environ, tmp_path)

        async def look(made: Transcripts = made) -> list[Any]:
            return [await made.view(row), await made.iterations(row), await made.receipts(row)]

        if conversation_state(query, environ) != "absent":
            msgspec.json.encode(asyncio.run(look()))
            LastTurns().find(query, environ)
            for one in UsageReader(query, environ).added():
                msgspec.json.encode(one.usage)
                assert 0 <= one.at < 1e11
                f"{one.id}{one.model}".encode()
                assert all(0 <= count < 2**63 for count in msgspec.structs.astuple(one.usage) if isinstance(count, int))
    shutil.rmtree(tmp_path)


@pytest.mark.parametrize("program", ["gemini", "qwen"])
@pytest.mark.parametrize("seed", seeds(6))
def test_the_other_programs_transcripts_too(tmp_path: Path, program: str, seed: int) -> None:
    random, path = Random(seed), tmp_path / f"{program}.jsonl"
    whole = (FIXTURES / f"{program}.jsonl").read_bytes()
    for _ in range(60):
        path.write_bytes(damaged_lines(whole, random))
        found = READERS[program].read(path)
        for entry in found.entries:
            f"{entry.text}{entry.source}{entry.path}{entry.message}{entry.call}".encode()
            assert 0 <= entry.at < 1e11
        turn_of(found)


@pytest.mark.parametrize("seed", seeds(6))
def test_a_hook_s_report_with_hostile_values_costs_that_report(seed: int) -> None:
    random, profile = Random(seed), Profile(name="x", title="X")
    given = {
        "hook_event_name": "Stop",
        "session_id": "s",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "message": "m",
        "prompt": "p",
        "last_assistant_message": "done",
        "notification_type": "n",
    }
    for _ in range(300):
        told = damaged(given, random)
        fields = json.loads(line(told if isinstance(told, dict) else given, "claude", 1.0))
        event = parse_report(as_line(damaged(fields, random)), profile)
        if event is not None:
            f"{event.event}{event.conversation}{event.prompt}{event.answer}{event.doing}".encode()


def test_values_can_be_kept_and_sent_on() -> None:
    assert parse_foreign_json(b'{"a":NaN,"b":1e999,"c":-Infinity,"d":1' + b"0" * 30 + b',"e":12,"f":0.5}') == {
        "a": None,
        "b": None,
        "c": None,
        "d": None,
        "e": 12,
        "f": 0.5,
    }
    assert parse_foreign_json(b'["\\ud800", "\\uD83D\\uDE00", "\\\\ud800"]') == ["\ufffd", "😀", "\\ud800"]
    for bad in (b"[" * 100_000, '{"a":' * 100_000, b'"\xff"', b"", b"\0", b'{"a"', "9" * 5_000 + "x"):
        with pytest.raises(ValueError):
            parse_foreign_json(bad)
    assert [number(value) for value in (float("inf"), float("nan"), 10**30, -1, True, "1", 7.9)] == [
        0,
        0,
        0,
        0,
        0,
        0,
        7,
    ]
    assert [seconds(value) for value in (float("inf"), 10**30, -5, 1e300, "9999-12-31T23:59:59+00:00")] == [0.0] * 5
