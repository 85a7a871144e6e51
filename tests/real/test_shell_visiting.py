"""`gsh` with no window open is a visitor: it does not become what shells report to, nor answers for other agents."""

from pathlib import Path

import pytest

from gshtui.settings import paths
from gshtui.shell import hub_registry
from gshtui.shell.log.shell_log import LOOK_EVERY
from tests.kit.running_hub import running_hub
from tests.kit.tmux import eventually


@pytest.mark.parametrize("visiting", [True, False])
async def test_only_a_window_takes_the_socket_and_answers(tmp_path: Path, visiting: bool) -> None:
    async with running_hub(tmp_path, provider="offline", visiting=visiting) as hub:
        log = hub.shell_log
        assert log is not None
        if not visiting:

            async def listens() -> bool:
                return log.listens

            await eventually(listens, until=bool, within=5 * LOOK_EVERY)
        (entry,) = hub_registry.hubs(paths.runtime_dir())
        assert entry.answers is not visiting
        assert (paths.runtime_dir() / "gsh.sock").exists() is not visiting
        assert log.listens is not visiting
