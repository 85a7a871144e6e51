"""`gsh` with no window open is a visitor: it does not answer for other agents."""

from pathlib import Path

import pytest

from gshtui.settings import paths
from gshtui.shell import hub_registry
from tests.kit.running_hub import running_hub


@pytest.mark.parametrize("visiting", [True, False])
async def test_only_a_window_answers(tmp_path: Path, visiting: bool) -> None:
    async with running_hub(tmp_path, provider="offline", visiting=visiting) as _:
        (entry,) = hub_registry.hubs(paths.runtime_dir())
        assert entry.answers is not visiting
