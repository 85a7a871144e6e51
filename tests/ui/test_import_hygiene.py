"""The first frame needs Textual and the window's own code; everything heavy is loaded after it, and what only a use
needs is loaded by that use.

In a process of its own, so that what other tests have imported does not count.
"""

import json
import subprocess
import sys

HEAVY = ("pydantic", "pydantic_settings", "anthropic", "openai", "google", "httpx2", "aiosqlite", "libtmux", "click")
ALSO_NOT = (
    "pygments.lexers",
    "markdown_it",
    "psutil",
    "watchfiles",
    "tomlkit",
    "textual.widgets._markdown",
    "gshtui.text.sanitise",
)

PROGRAM = """
import asyncio, json, sys
from pathlib import Path
from gshtui.ui.window.app import Workbench
from gshtui.client.window_protocol import OpenRequest

loaded = []

class Looking(Workbench):
    def _first_frame_is_there(self):
        loaded.extend(sys.modules)
        self.exit(0)

async def main():
    async with Looking(OpenRequest(Path.cwd())).run_test(size=(120, 40)) as pilot:
        await pilot.pause()

asyncio.run(main())
json.dump(loaded, sys.stdout)
"""

REST = """
import asyncio, json, sys
from pathlib import Path
from gshtui.bus.events.hub_events import PartFailed
from gshtui.settings import plugins
from gshtui.client.window_protocol import OpenRequest
from gshtui.ui.window.lazy_imports import make_hub

async def main():
    hub = await make_hub(OpenRequest(Path.cwd()))
    failed = []
    hub.bus.subscribe(failed.extend, PartFailed, name="test")
    await hub.start()
    await hub.bus.drained()
    plugins.announced()
    json.dump([*sys.modules, *("failed: " + event.part for event in failed)], sys.stdout)
    await hub.stop()

asyncio.run(main())
"""
NOT_AT_REST = (
    "yaml",
    "http.client",
    "gshtui.agents.hooks.hook_process",
    "gshtui.agents.usage.commands",
    "gshtui.context.retrieval.search_commands",
    "gshtui.fleet.lifecycle.follower",
    "gshtui.fleet.native.commands",
    "gshtui.fleet.terminal_tools.commands",
    "gshtui.guard.policy.refusal",
)

PAINT = """
import json, sys
before = set(sys.modules)
import gshtui.ui.window.first_frame
json.dump(sorted(set(sys.modules) - before), sys.stdout)
"""


def modules(program: str) -> list[str]:
    """What `program` says was loaded."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_nothing_heavy_is_loaded_at_the_first_frame() -> None:
    loaded = modules(PROGRAM)
    assert "textual.app" in loaded
    tops = {name.partition(".")[0] for name in loaded}
    assert tops & set(HEAVY) == set()
    assert set(loaded) & set(ALSO_NOT) == set()
    assert "gshtui.hub.hub" not in loaded


def test_painting_the_first_frame_loads_next_to_nothing() -> None:
    loaded = modules(PAINT)
    window = {f"gshtui.ui.window.{name}" for name in ("first_frame", "early_echo", "terminal_echo")}
    ours = {"gshtui", "gshtui.ui", "gshtui.ui.window", *window}
    assert set(loaded) <= {*ours, "termios", "zlib", "atexit", "select", "signal"}


def test_a_hub_at_rest_has_not_loaded_what_only_a_use_needs() -> None:
    loaded = modules(REST)
    assert "gshtui.fleet.lifecycle.fleet" in loaded
    assert [name for name in loaded if name.startswith("failed: ")] == []
    assert set(loaded) & set(NOT_AT_REST) == set()
