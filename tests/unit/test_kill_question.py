"""A kill is asked about where it loses something, and where it can't be undone."""

from pathlib import Path
from typing import Any, cast

import pytest

from gshtui.commands.declaration import Caller, Invocation
from gshtui.fleet.commands.agent_lifecycle import AgentLifecycle
from gshtui.fleet.core.agent_calls import KillAgent
from gshtui.fleet.lifecycle.fleet import Fleet
from tests.kit.fake_terminal import agent_row


class _Fleet:
    def __init__(self, losses: list[str]) -> None:
        self._losses = losses

    async def find(self, id: str) -> Any:
        return agent_row(id)

    async def unsaved(self, id: str) -> list[str]:
        return self._losses


@pytest.mark.parametrize(
    ("losses", "now", "asks"),
    [([], False, False), (["Its turn is not finished."], False, True), ([], True, True)],
    ids=["an undo takes it back", "work is lost", "for good"],
)
async def test_a_kill_is_asked_about_only_where_something_is_lost(losses: list[str], now: bool, asks: bool) -> None:
    lifecycle = AgentLifecycle(cast("Fleet", _Fleet(losses)))
    here = Invocation(Caller(), Path("/"), Path("/"))
    asked = await lifecycle.ask_kill(here, KillAgent(agent="0001", now=now))
    assert (asked is not None) is asks
    assert asked is None or asked.losses == tuple(losses)
