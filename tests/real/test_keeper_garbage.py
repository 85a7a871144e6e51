"""The hub's process collects its garbage at rest, and walks through nothing that was there before."""

import asyncio
import json
import sys

from gshtui.system.garbage_collector import YOUNG
from tests.kit.command import environment
from tests.kit.warm_program import run_gsh
from tests.real.test_keeper import Place, place

__all__ = ["place"]

HUB = """
import gc, json, sys
from gshtui.headless.servers.keeper_process import KeeperTerms, run_keeper
from gshtui.system import garbage_collector

garbage_collector.REST = 0.2
before = gc.get_threshold()

def collected(phase, info):
    if phase == "start" and info["generation"] == 2:
        print(json.dumps({"threshold": gc.get_threshold(), "frozen": gc.get_freeze_count()}), flush=True)

gc.callbacks.append(collected)
run_keeper(KeeperTerms(idle=0))
gc.callbacks.clear()
print(json.dumps({"restored": gc.get_threshold() == before}), flush=True)
"""


async def test_at_rest_the_hub_collects_what_came_since_the_last_rest(place: Place) -> None:
    hub = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HUB), env=environment(), stdout=asyncio.subprocess.PIPE
    )
    assert hub.stdout is not None
    try:
        await place.keeper()
        assert (await asyncio.to_thread(run_gsh, "session", "ls", cwd=place.project)).code == 0
        while tuple((told := json.loads(await hub.stdout.readline()))["threshold"]) != YOUNG:
            pass  # while it was loading
        assert told["frozen"] > 1_000
    finally:
        await asyncio.to_thread(place.run, "hub", "stop", "--yes")
        said, _ = await hub.communicate()
    assert json.loads(said.splitlines()[-1]) == {"restored": True}
