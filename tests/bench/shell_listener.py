"""What shells say over their socket: events a second into the record, and how late the loop is meanwhile.

Twenty connections at 5,000 events a second, then as fast as they can. The lines are made before the clock starts.
"""

import asyncio
import json
import os
import time
from pathlib import Path

from gshtui.bus.bus import Bus
from gshtui.guard.secrets.redaction import Redactor
from gshtui.shell.log.shell_log import ShellLog, ShellLogOptions
from gshtui.store.record.store import Store
from tests.bench.figures import Report
from tests.bench.place import Place

CONNECTIONS = 20
RATE = 5_000
SECONDS = 10
BURST = 50_000
_TICK = 0.005


def run(report: Report, place: Place) -> None:
    """At the rate that is to be held, then in a burst."""
    folder = Path(os.environ["XDG_DATA_HOME"]) / "shell-bench"
    folder.mkdir(mode=0o700)
    lag, took = asyncio.run(_measured(folder / "steady", RATE * SECONDS, RATE))
    report.add(
        f"shell socket: loop lag p99 at {RATE} events/s on {CONNECTIONS} connections", lag * 1000, "ms", limit=100
    )
    lag, took = asyncio.run(_measured(folder / "burst", BURST, 0))
    report.add(f"shell socket: a burst of {BURST} events", BURST / took, "events/s", limit=RATE, at_least=True)
    report.add("shell socket: loop lag p99 in the burst", lag * 1000, "ms")


async def _measured(folder: Path, events: int, rate: int) -> tuple[float, float]:
    """Lag at the 99th percentile and seconds until everything is kept."""
    folder.mkdir(mode=0o700)
    store, bus = await Store.open(folder / "gsh.db"), Bus()
    log = ShellLog(bus, store, ShellLogOptions(folder / "s.sock", folder, folder, 10_000), Redactor(os.environ).redact)
    await log.start()
    while not log.listens:
        await asyncio.sleep(0.01)
    late: list[float] = []
    meter = asyncio.create_task(_meter(late))
    began = time.perf_counter()
    senders = (send(folder / "s.sock", number, events // CONNECTIONS, rate) for number in range(CONNECTIONS))
    await asyncio.gather(*senders)
    took = time.perf_counter() - began
    meter.cancel()
    await log.stop()
    await bus.close()
    await store.close()
    return sorted(late)[len(late) * 99 // 100], took


async def send(path: Path, number: int, events: int, rate: int) -> None:
    """One shell's commands, until the last is acknowledged."""
    lines = [line_of(f"shell-{number}", seq) for seq in range(1, events + 1)]
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(json.dumps({"hello": "shell", "pid": os.getpid()}).encode() + b"\n")
    step = max(1, rate // CONNECTIONS // 50) if rate else 200
    began = time.perf_counter()
    acknowledged = asyncio.create_task(_acknowledged(reader, events))
    for at in range(0, events, step):
        writer.write(b"".join(lines[at : at + step]))
        await writer.drain()
        due = began + at / (rate / CONNECTIONS) if rate else 0.0
        await asyncio.sleep(max(due - time.perf_counter(), 0.0))
    await acknowledged
    writer.close()


async def _acknowledged(reader: asyncio.StreamReader, number: int) -> None:
    while line := await reader.readline():
        if json.loads(line).get("ack", 0) >= number:
            return


def line_of(shell: str, seq: int) -> bytes:
    """An event of a shell as it writes it: of each command its start, then its end."""
    number = (seq + 1) // 2
    fields = {"v": 1, "at": time.time(), "shell": shell, "number": number, "cwd": "/tmp", "seq": seq}
    if seq % 2:
        fields |= {"type": "ShellCommandStarted", "command": f"make test-{number} | tee build/log-{number}.txt"}
    else:
        fields |= {"type": "ShellCommandFinished", "exit": number % 3, "duration": 0.5}
    return json.dumps(fields).encode() + b"\n"


async def _meter(late: list[float]) -> None:
    while True:
        due = time.perf_counter() + _TICK
        await asyncio.sleep(_TICK)
        late.append(max(time.perf_counter() - due, 0.0))
