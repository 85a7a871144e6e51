"""When a turn of another program is over: not while it waits for an answer in the midst of it."""

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import TurnFinished
from gshtui.fleet.lifecycle import follower
from gshtui.programs.status.status import KnownStatus
from gshtui.programs.transcripts.transcript_readers import TurnText
from gshtui.system.tasks import cancel_and_wait
from tests.kit.native_agents import EventLog

ROW: Any = SimpleNamespace(id="a", pid=1, pane="%1", socket="", external_id="c", profile="")
KEY = ("a", "%1", 1)


class OneProgram:
    """A program's transcript, which ends with this turn."""

    def __init__(self, *, over: bool) -> None:
        self.turn = TurnText("m", time.time(), "do it", ("I make the file.",), "I make the file.", over)

    def watch(self, _: object) -> Any:
        return cancel_and_wait

    async def session(self, *_: object) -> Any:
        return SimpleNamespace(last_input="do it", forget_input=lambda: None)

    async def conversation(self, *_: object) -> str:
        return "c"

    async def last_turn(self, _: object) -> TurnText:
        return self.turn


@pytest.mark.parametrize(
    ("status", "over", "told"),
    [
        ("idle", True, True),
        ("idle", False, True),  # it was interrupted
        ("waiting", True, True),  # a person has opened a dialog meanwhile
        ("waiting", False, False),
        ("thinking", True, False),
        ("tool", False, False),
    ],
)
async def test_a_program_that_only_looked_idle_is_still_in_its_turn(
    status: str, over: bool, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "_WRITTEN_EVERY", 0.0)
    bus = Bus()
    heard = EventLog(bus)
    rows = SimpleNamespace(get=lambda _: ROW, all=list)
    terminals = SimpleNamespace(server=lambda _: None)
    options = SimpleNamespace(data=tmp_path)
    context: Any = SimpleNamespace(bus=bus, rows=rows, terminals=terminals, options=options, store=None)
    programs: Any = OneProgram(over=over)
    follows = follower.AgentFollower(context, programs, lambda: None)
    known: Any = SimpleNamespace(answer="", known=KnownStatus(status, "screen", time.time()))
    follows._statuses[KEY] = known
    await follows._answer(KEY, ROW, 5.0)
    await bus.drained()
    assert [event.text for event in heard.of(TurnFinished)] == (["I make the file."] if told else [])
    assert follows._worked == ({} if told else {"a": 5.0}), "its end will be seen"
