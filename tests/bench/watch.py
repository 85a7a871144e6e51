"""From inside a measured program: how late its event loop was, and what each part of a stream cost the processor.

Looking for stalls costs the processor several per cent; `BENCH_STALLS=0` leaves it out, where that is what is measured.
"""

import asyncio
import json
import os
import time
from pathlib import Path

_EVERY = 0.002


class Watch:
    """Runs beside a stream. `begin`, then `passed` at each tenth, then `write`."""

    def __init__(self) -> None:
        self.began = 0.0
        self._lags: list[float] = []
        self._cpu: list[float] = []
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """The stream begins now."""
        if os.environ.get("BENCH_STALLS") != "0":
            self._task = asyncio.get_running_loop().create_task(self._listen(), name="watch")
        self.began = time.perf_counter()
        self._cpu.append(time.process_time())

    def passed(self) -> None:
        """Another tenth of the stream has gone by."""
        self._cpu.append(time.process_time())

    def write(self, path: Path) -> None:
        """Keep what was seen. `began` is on the clock that every process of the machine shares."""
        if self._task is not None:
            self._task.cancel()
        report = {
            "began": self.began,
            "published": time.perf_counter(),
            "worst_stall": max(self._lags, default=0.0),
            "stalls_over_50_ms": sum(lag > 0.05 for lag in self._lags),
            "cpu_tenths": [after - before for before, after in zip(self._cpu, self._cpu[1:], strict=False)],
        }
        path.write_text(json.dumps(report))

    async def _listen(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(_EVERY)
            self._lags.append(time.perf_counter() - before - _EVERY)
