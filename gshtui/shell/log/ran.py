"""What was run from a conversation's input line, as people and the conversation's agent are told of it.

Owns the reading of the record; refuses to show as running what no window runs any more. Held by the shell log.
"""

from __future__ import annotations

import contextlib
import math

import msgspec

from gshtui.bus.shell import Ran, ShellRecord
from gshtui.context.ports import Contribution
from gshtui.shell.log.by_hand import ByHand, run_id
from gshtui.shell.log.own_shells import shell_of
from gshtui.store.errors import StoreError
from gshtui.store.store import Store

_LOOK_BACK = 20
"""Messages in which the last answer is looked for, and runs since then."""


class Runs:
    """The runs of all conversations."""

    def __init__(self, store: Store, by_hand: ByHand) -> None:
        self._store = store
        self._by_hand = by_hand
        self._recalled: set[str] = set()

    async def between(self, session: str, after: float, before: float, limit: int = 200) -> list[Ran]:
        """Those of a conversation in a time, the newest `limit`, oldest first.

        Args:
            session: the conversation.
            after: seconds since the epoch, `before` too; infinite ones as well.

        Raises:
            StoreError: the record cannot be read.
        """
        found = await self._store.history(
            shell=shell_of(session), after=_finite(after), before=_finite(before), limit=limit
        )
        return [await self._ran(record) for record in reversed(found)]

    async def news_for(self, session: str, limit: int) -> Contribution:
        """What the agent of a conversation was not yet told of them.

        Args:
            session: the conversation.
            limit: bytes of outputs, all of them together; 0: no limit.
        """
        if session not in self._recalled:
            self._recalled.add(session)
            with contextlib.suppress(StoreError):  # then it is told what this process knows
                for one in await self._since_answer(session):
                    self._by_hand.ran_here.add(session, one.record, one.printed.splitlines())
        return self._by_hand.ran_here.news(session, limit)

    async def _since_answer(self, session: str) -> list[Ran]:
        """What was run since the conversation's last answer, also by a window that is gone."""
        said = await self._store.messages(session, limit=_LOOK_BACK)
        answered = max((one.message.at for one in said if one.message.role != "user"), default=-math.inf)
        found = await self.between(session, answered, math.inf, _LOOK_BACK)
        return [one for one in found if one.record.state != "running"]

    async def _ran(self, record: ShellRecord) -> Ran:
        run = run_id(record)
        if record.state == "running" and not self._by_hand.runs(run):
            record = msgspec.structs.replace(record, state="lost")
        return Ran(run, record, await self._store.output(record.output) if record.output else "")


def _finite(at: float) -> float | None:
    return at if math.isfinite(at) else None
