"""A program's transcript of 96 MB: the first look at what it used, later looks, its last turn, the loop beside it."""

import json
import threading
import time
from pathlib import Path

from gshtui.programs.transcripts.claude_transcript import slug
from gshtui.programs.transcripts.program_transcript import TranscriptQuery
from gshtui.programs.transcripts.request_usage import UsageReader
from gshtui.programs.transcripts.transcript_readers import LastTurns
from tests.bench.figures import Report, median
from tests.bench.place import Place

TURNS = 10_000
_RESULT = "x" * 9_000
_ID, _CWD = "5f3c7f0e-7e0b-4a53-9d1a-3f3a3b9d2f10", "/home/ada/shop"
_TIMES = 20


def _turn(number: int) -> bytes:
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100}
    said = {"id": f"msg_{number}", "role": "assistant", "model": "claude-opus-4-5", "usage": usage}
    said |= {"stop_reason": "end_turn", "content": [{"type": "text", "text": f"answer {number}"}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": _RESULT}]}
    at = "2026-11-22T10:00:00Z"
    records = (
        {"type": "user", "uuid": f"u{number}", "parentUuid": f"a{number - 1}", "message": {"content": f"ask {number}"}},
        {"type": "user", "uuid": f"r{number}", "parentUuid": f"u{number}", "message": result},
        {"type": "assistant", "uuid": f"a{number}", "parentUuid": f"r{number}", "timestamp": at, "message": said},
    )
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def run(report: Report, place: Place) -> None:
    """Write it, look at it, add to it."""
    home = place.home.path
    path = home / ".claude" / "projects" / slug(_CWD) / f"{_ID}.jsonl"
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.writelines(_turn(number) for number in range(TURNS))
    wanted, environ = TranscriptQuery("claude", _ID, _CWD, 0.0), {"HOME": str(home)}
    reader, turns = UsageReader(wanted, environ), LastTurns()
    size = f"{path.stat().st_size / 1e6:.0f} MB"
    report.add(f"usage of a transcript of {size}, first look", _took(reader.added) * 1000, "ms")
    later: list[float] = []
    spoken: list[float] = []
    for number in range(TURNS, TURNS + _TIMES):
        _append(path, _turn(number))
        later.append(_took(reader.added))
        spoken.append(_took(lambda: turns.find(wanted, environ)))
    report.add("the same after one more turn", median(later) * 1000, "ms", limit=10.0)
    report.add("its last turn after one more turn", median(spoken) * 1000, "ms", limit=100.0)
    looks = [_took(lambda: turns.find(wanted, environ)) for _ in range(_TIMES)]
    report.add("its last turn when nothing was added", median(looks) * 1000, "ms", limit=1.0)
    first = threading.Thread(target=UsageReader(wanted, environ).added)
    first.start()
    gap, last = 0.0, time.perf_counter()
    while first.is_alive():
        time.sleep(0.001)
        now = time.perf_counter()
        gap, last = max(gap, now - last), now
    report.add("longest gap in another thread during a first look", gap * 1000, "ms", limit=50.0)


def _append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def _took(work: object) -> float:
    assert callable(work)
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
