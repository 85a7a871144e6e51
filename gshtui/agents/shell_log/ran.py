"""What was run from a conversation's input line, read from the record, with its output.

Refuses to show as running what no window runs any more. Called by the shell log, for people and for the agent of a
conversation that goes on after its window ended.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from gshtui.agents.shell_log.by_hand import run_id, shell_of
from gshtui.bus.shell import Ran, ShellRecord
from gshtui.store.store import Store

_LOOK_BACK = 20


async def ran(
    store: Store, session: str, after: float, before: float, limit: int, runs: Callable[[str], bool]
) -> list[Ran]:
    """The newest `limit` of the time, oldest first; `runs` knows which go on. Raises `StoreError`."""
    found = await store.history(shell=shell_of(session), after=_finite(after), before=_finite(before), limit=limit)
    return [await _ran(store, record, runs) for record in reversed(found)]


async def since_answer(store: Store, session: str, runs: Callable[[str], bool]) -> list[Ran]:
    """What was run since the conversation's last answer, of which its agent cannot know. Raises as `ran`."""
    said = await store.messages(session, limit=_LOOK_BACK)
    answered = max((one.message.at for one in said if one.message.role != "user"), default=-math.inf)
    found = await ran(store, session, answered, math.inf, _LOOK_BACK, runs)
    return [one for one in found if one.record.state != "running"]


async def _ran(store: Store, record: ShellRecord, runs: Callable[[str], bool]) -> Ran:
    run = run_id(record)
    if record.state == "running" and not runs(run):
        record = msgspec.structs.replace(record, state="lost")
    return Ran(run, record, await store.output(record.output) if record.output else "")


def _finite(at: float) -> float | None:
    return at if math.isfinite(at) else None
