"""Prompts that were typed into a program, or tried to be, and that it was not seen to take: each is a question to the
person, as part of its agent's row, until the program takes it or the person decides.

The message is held meanwhile. `UnsentPrompts` asks and withdraws, for the hub that delivers; `answer` is what any
process does with a person's answer. Nothing is typed or pressed here but for that answer.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec

from gshtui.bus.agent_data import AgentRow, OpenQuestion, QuestionChoice
from gshtui.bus.bus import Bus
from gshtui.bus.events.fleet_events import PromptUnsent
from gshtui.bus.letter import PERSON, Letter
from gshtui.fleet.core.agent_programs import from_session_error
from gshtui.fleet.core.fleet_context import from_store_error
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.mail.delivery_state import DeliveryState
from gshtui.fleet.mail.inbox import framed_letter
from gshtui.programs.pane.pane_view import SessionError
from gshtui.programs.pane.pane_writer import Whereabouts
from gshtui.programs.session.cli_session import CliSession
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store

if TYPE_CHECKING:
    from gshtui.fleet.mail.transports import MailTransports

LOOK_EVERY = 1.0
"""Seconds between two looks at a prompt that was not sent."""
_PREFIX = "unsent-"
_SEND, _CLEAR = "1", "2"
_SURE = 3
"""Looks at an input without the text, and no sign that it was taken, after which it is taken for gone."""


class _Unsent(msgspec.Struct):
    """One such prompt, and at how many looks in a row it was found nowhere."""

    agent: str
    pid: int
    missing: int = 0


class UnsentPrompts:
    """Those of the agents whose messages this hub delivers."""

    def __init__(self, bus: Bus, store: Store, carriers: MailTransports, progress: DeliveryState) -> None:
        self._bus = bus
        self._store = store
        self._carriers = carriers
        self._progress = progress
        self._open: dict[str, _Unsent] = {}
        """Message → where it was typed."""

    @property
    def open(self) -> bool:
        return bool(self._open)

    async def load(self) -> None:
        """Go on with those that an earlier hub has asked about. Raises `StoreError`."""
        for row in await self._store.agents.find_all():
            if row.unsent is not None and row.owner in self._carriers.near and not row.ended:
                self._open[row.unsent.id.removeprefix(_PREFIX)] = _Unsent(row.id, row.pid)

    async def ask(self, letter: Letter, row: AgentRow) -> None:
        """Ask about a message that is held because nobody knows that it was taken."""
        self._open[letter.id] = _Unsent(row.id, row.pid)
        place: Whereabouts = "unknown"
        with contextlib.suppress(SessionError, FleetError):
            place = await self._carriers.whereabouts(letter, row)
        self._tell(letter, row, place)

    async def check(self) -> None:
        """See what has become of each. Raises `StoreError`."""
        for id, unsent in list(self._open.items()):
            letter, row = await self._store.mail.find(id), await self._store.agents.find(unsent.agent)
            if letter.state in ("submitted", "acted") and not letter.answered:
                self._progress.expect(letter, inbox=False)  # a person has entered it: its answer is still to come
            if letter.state != "held" or row.ended or row.pid != unsent.pid or row.owner not in self._carriers.near:
                self._withdraw(id, row)
                continue
            if await self._carriers.is_taken(letter, row):
                await self._taken(letter, row)
                continue
            with contextlib.suppress(SessionError):  # it is looked for again
                place = await self._carriers.whereabouts(letter, row)
                unsent.missing = unsent.missing + 1 if place == "elsewhere" else 0
                if place == "input" or unsent.missing >= _SURE:
                    self._tell(letter, row, place)

    async def _taken(self, letter: Letter, row: AgentRow) -> None:
        """The program took it after all."""
        self._progress.expect(letter, inbox=False)
        self._progress.said(letter, "submitted")
        await self._progress.submitted(letter)
        await self._progress.taken_up(letter)
        self._withdraw(letter.id, row)

    def _tell(self, letter: Letter, row: AgentRow, place: Whereabouts) -> None:
        asked = question(letter, row, place)
        if row.unsent != asked:
            self._bus.publish(PromptUnsent(agent=row.id, question=asked))

    def _withdraw(self, id: str, row: AgentRow) -> None:
        self._open.pop(id, None)
        if row.unsent is not None and row.unsent.id == f"{_PREFIX}{id}":
            self._bus.publish(PromptUnsent(agent=row.id))


def question(letter: Letter, row: AgentRow, place: Whereabouts) -> OpenQuestion:
    """What the person is asked about a message."""
    whose = "your prompt" if letter.sender == PERSON else f"the message of {letter.sender_name or letter.sender}"
    there = place != "elsewhere"
    subject = f"{whose[0].upper()}{whose[1:]} is in {row.name}'s input but was not sent"
    subject = subject if there else f"Nothing shows that {row.name} got {whose}"
    send, drop = ("Send it", "Clear it") if there else ("Send it again", "Drop it")
    choices = (QuestionChoice(_SEND, send), QuestionChoice(_CLEAR, drop))
    return OpenQuestion(f"{_PREFIX}{letter.id}", f"{subject}.", letter.text, choices)


async def answer(bus: Bus, store: Store, session: CliSession, row: AgentRow, choice: str) -> None:
    """Do what a person decided about an agent's unsent prompt. Raises `FleetError`."""
    assert row.unsent is not None
    if choice not in (_SEND, _CLEAR):
        raise FleetError(
            "invalid",
            f"{choice} is not an answer here; these are: "
            + ", ".join(f"{one.key} {one.label}" for one in row.unsent.choices)
            + ".",
        )
    try:
        letter = await store.mail.find(row.unsent.id.removeprefix(_PREFIX))
        text = framed_letter(letter, replies=False, as_code=session.takes_code)
        there = await session.writer.whereabouts(text) != "elsewhere"
        if choice == _CLEAR:
            if there and not await session.writer.take_out(text):
                hint = f"`agent attach {row.id}` shows its terminal."
                raise FleetError("busy", f"The input of {row.name} ({row.id}) cannot be cleared now.", hint=hint)
            why = "A person cleared it."
            await store.mail.change(letter.id, within=("held",), state="dropped", why=why, answered=True)
        elif not there:
            await store.mail.change(letter.id, within=("held",), state="queued", why="")
        elif await session.writer.enter_again(text):
            await store.mail.change(letter.id, within=("held",), state="submitted", why="")
        else:
            said = f"{row.name} ({row.id}) did not take it; your prompt is still in its input."
            raise FleetError("busy", said, hint=f"`agent attach {row.id}` shows its terminal.")
    except SessionError as error:
        raise from_session_error(error) from error
    except StoreError as error:
        raise from_store_error(error) from error
    bus.publish(PromptUnsent(agent=row.id))
    await bus.drained()
