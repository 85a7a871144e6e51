"""Native agents: from the start of a process to its first status event; and the hub's socket under a steady flood."""

import asyncio
import subprocess
import sys
import time

from gshtui.bus.events.agent_events import AgentStatusChanged
from tests.bench.figures import Report, median
from tests.bench.place import Place
from tests.kit.command import ROOT, environment
from tests.kit.native_agents import agent_process, prepare_spec, relay_window

STARTS = 7
CALLERS, RATE, SECONDS = 20, 5_000, 5.0
_FLOOD = """
import json, os, socket, sys, time
path, callers, rate, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
open_ = []
for _ in range(callers):
    one = socket.socket(socket.AF_UNIX)
    one.connect(path)
    one.sendall(json.dumps({"hello": "face", "pid": os.getpid()}).encode() + b"\\n")
    open_.append(one)
line = b'{"type": "PromptSubmitted", "prompt": "p", "agent": "none", "text": "twenty characters or"}\\n'
began, sent = time.monotonic(), 0
while (now := time.monotonic() - began) < seconds:
    due = int(now * rate) - sent
    for number in range(due):
        open_[(sent + number) % callers].sendall(line)
    sent += due
    time.sleep(0.002)
print(sent)
"""


def run(report: Report, place: Place) -> None:
    """Medians; the floor of a start is a bare interpreter's."""
    asyncio.run(_starts(report, place))
    asyncio.run(_flood(report, place))


async def _starts(report: Report, place: Place) -> None:
    firsts: list[float] = []
    idles: list[float] = []
    for number in range(STARTS):
        folder = place.project / f"native-{number}"
        folder.mkdir()
        async with relay_window(folder) as hub:
            _, file = prepare_spec(folder, hub=hub.relay.socket)
            began = time.perf_counter()
            with agent_process(file, folder):
                await hub.heard.wait_for(AgentStatusChanged)
                firsts.append(time.perf_counter() - began)
                await hub.heard.wait_for(AgentStatusChanged, status="idle")
                idles.append(time.perf_counter() - began)
    floors: list[float] = []
    for _ in range(STARTS):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import asyncio"], check=True)
        floors.append(time.perf_counter() - began)
    floor = median(floors) * 1_000
    report.add("native agent: start to first status", median(firsts) * 1_000, "ms", floor=floor, note="bare asyncio")
    report.add("native agent: start to ready", median(idles) * 1_000, "ms", floor=floor, note="bare asyncio")


async def _flood(report: Report, place: Place) -> None:
    """Every event arrives, and the loop is never held up for long."""
    folder = place.project
    lags: list[float] = []
    async with relay_window(folder) as hub:
        arguments = [hub.relay.socket, str(CALLERS), str(RATE), str(SECONDS)]
        flood = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _FLOOD, *arguments, cwd=ROOT, env=environment(), stdout=asyncio.subprocess.PIPE
        )
        reading = asyncio.ensure_future(flood.communicate())
        while not reading.done():
            began = time.perf_counter()
            await asyncio.sleep(0.005)
            lags.append(time.perf_counter() - began - 0.005)
        sent = int((await reading)[0])
        while hub.relay.listener.counts.events < sent:
            await asyncio.sleep(0.01)
        await hub.bus.drained()
    lags.sort()
    rate = sent / SECONDS
    report.add(f"hub's socket: {CALLERS} connections", rate, "events/s", limit=RATE * 0.98, at_least=True)
    report.add("hub's socket: loop lag meanwhile, p99", lags[int(len(lags) * 0.99)] * 1_000, "ms", limit=100)
