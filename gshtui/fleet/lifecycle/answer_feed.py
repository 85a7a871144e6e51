"""An agent's answer as it grows: the words that it has written down so far in the turn that handles a message.

Other programs' words come from their transcripts, one of our own agents' from its conversation in the record. Neither
is read from a screen: where nothing is written down, nothing comes before the end of the turn. Used by `agent send`.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, Awaitable, Callable

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.letter import Letter
from gshtui.fleet.core.agent_programs import Programs
from gshtui.fleet.core.fleet_context import FleetContext, from_store_error
from gshtui.fleet.mail.delivery_state import ANSWER
from gshtui.fleet.mail.inbox import framed_letter
from gshtui.store.engine.store_errors import StoreError

_LOOK_EVERY = 0.25
"""Seconds between two looks."""
_WRITTEN_WITHIN = 2.0
"""Seconds after the end of a turn within which a program has written down all of it."""
_LOOKED_BACK = 60
"""Messages of our own agent's conversation among which the turn's are."""
Handled = Callable[[str], Awaitable[Letter | None]]


class AnswerFeed:
    """What an agent says in the turn that handles one message. Nothing is told twice."""

    def __init__(self, context: FleetContext, programs: Programs, row: AgentRow, handled: Handled) -> None:
        """`handled`: the message, once the turn that handles it is over."""
        self.letter: Letter | None = None
        """The message with its answer, after the last piece; `None`: it was not answered in time."""
        self.is_told = False
        """The pieces were the whole answer."""
        self._context = context
        self._programs = programs
        self._agent = row.id
        self._handled = handled
        self._before = ""
        """The prompt of the turn before."""
        self._text = ""

    async def begin(self) -> None:
        """Note the last turn so far; called before the message is sent."""
        row = self._context.rows.get(self._agent)
        turn = None if row is None or row.speaks_events else await self._programs.last_turn(row)
        self._before = "" if turn is None else turn.message

    async def pieces(self, message: str, timeout: float) -> AsyncGenerator[str]:
        """The answer's words as they are written down, until the turn is over, or `timeout` seconds are.
        Raises `FleetError`: the record cannot be read.
        """
        until = time.monotonic() + timeout
        try:
            letter = await self._context.store.mail.find(message)
        except StoreError as error:
            raise from_store_error(error) from error
        while self.letter is None and time.monotonic() < until:
            if piece := await self._added(letter):
                yield piece
            await asyncio.sleep(_LOOK_EVERY)
            self.letter = await self._handled(message)
        until = time.monotonic() + _WRITTEN_WITHIN
        while self.letter is not None:
            if piece := await self._added(letter):
                yield piece
            self.is_told = self._tells(self.letter)
            written = bool(self._text) or self.letter.answer_source == "transcript"
            if self.is_told or not written or time.monotonic() > until:
                break
            await asyncio.sleep(_LOOK_EVERY)
        if self._text and not self._text.endswith("\n"):
            yield "\n"

    def _tells(self, letter: Letter) -> bool:
        """Whether the pieces so far end with the answer, or hold all that the letter has of a long one."""
        said, answer = "".join(self._text.split()), "".join(letter.answer.split())
        return bool(answer) and (said.endswith(answer) or (len(letter.answer) == ANSWER and answer in said))

    async def _added(self, letter: Letter) -> str:
        text = "\n\n".join(filter(None, await self._said(letter)))
        if not text.startswith(self._text):
            return ""  # it was rewritten: the whole answer follows at the end
        piece, self._text = text[len(self._text) :], text
        return piece

    async def _said(self, letter: Letter) -> tuple[str, ...]:
        row = self._context.rows.get(self._agent)
        if row is None:
            return ()
        if row.speaks_events:
            return await self._said_by_ours(row, letter)
        if not row.external_id:  # in its first turn nobody may have asked yet which conversation it is in
            server = self._context.terminals.server(row.socket)
            row = await self._programs.bound(server, row, self._context.rows.all())
        turn = await self._programs.last_turn(row)
        asked = framed_letter(letter, replies=False)
        if turn is None or turn.message == self._before or not turn.answers(asked):
            return ()
        return turn.said

    async def _said_by_ours(self, row: AgentRow, letter: Letter) -> tuple[str, ...]:
        try:
            stored = [one.message for one in await self._context.store.messages.read(row.session, limit=_LOOKED_BACK)]
        except StoreError:
            return ()  # busy for a moment: the next look tries again
        begun = next((at for at, message in enumerate(stored) if message.id == letter.id), len(stored))
        turn = itertools.takewhile(lambda message: message.role != "user", stored[begun + 1 :])
        return tuple(message.text.strip("\n") for message in turn if message.role == "assistant")
