"""A hub that has grown too fat begins anew between turns, with its windows."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from gshtui.bus.events.agent_events import PromptSubmitted, TurnFinished
from gshtui.client.window_link import WindowLink
from gshtui.client.window_protocol import OpenRequest
from gshtui.fleet.keeper.keeper import running_keeper
from gshtui.settings import paths
from gshtui.shell.hub_registry import is_live
from gshtui.ui.window.app import Workbench
from tests.kit.command import environment
from tests.kit.tmux import DEADLINE, end_server, eventually, short_folder

_HUB = """
import sys
from gshtui.cli.entry import main
from gshtui.headless.servers import keeper_process

keeper_process.SETTLES_AFTER, keeper_process.GROWN = 0.0, 1.2
sys.exit(main(["hub", "run", "--idle", "20"]))
"""


async def test_a_fat_hub_begins_anew_and_its_windows_go_on(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSH_HUB__KEEP", "auto")
    monkeypatch.setenv("GSH_HUB__MEMORY", "1")
    with short_folder() as folder:
        monkeypatch.setenv("TMUX_TMPDIR", str(folder))
        hub = await asyncio.to_thread(subprocess.Popen, [sys.executable, "-c", _HUB], env=environment())
        try:

            async def listens() -> bool:
                return is_live(paths.keeper_sockets()[0])

            await eventually(listens)
            app = Workbench(OpenRequest(project, provider="offline"))
            async with app.run_test(size=(100, 30)):
                await app.bridge.running()
                first = app.bridge.hub

                async def link() -> object:
                    return app.bridge.hub

                await eventually(lambda: asyncio.to_thread(psutil.Process(hub.pid).cmdline), until=_is_anew)
                second = await eventually(link, until=lambda hub: hub not in (None, first))
                assert isinstance(second, WindowLink)
                await app.bridge.running()
                done = second.bus.wait_for(TurnFinished, timeout=DEADLINE)
                app.bridge.publish(PromptSubmitted(prompt="p1", agent="main", text="hello"))
                await done
                now = running_keeper(paths.data_dir())
                assert now is not None and now.process.pid == hub.pid
        finally:
            hub.terminate()
            await asyncio.to_thread(hub.wait, DEADLINE)
            end_server(folder / f"tmux-{os.getuid()}" / "gsh")


def _is_anew(words: list[str]) -> bool:
    return words[-4:-2] == ["--idle", "20"]
