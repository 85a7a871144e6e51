"""The delivery state of messages: records and publishes each step, and recognises when an agent acts on a message.

`acted` comes from the agent's own events, hooks or transcript, never from its screen. The last text of that turn is the
answer to a `talk`. Held by `delivery`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal

from gshtui.bus.agent_data import AnswerSource
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events import fleet_events
from gshtui.bus.events.agent_events import AgentStatusChanged, PromptEdited, PromptWithdrawn, TurnFinished, TurnStarted
from gshtui.bus.letter import Letter
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store

ANSWER = 20_000
"""Most characters kept of an answer."""
_EVENTS: dict[str, type[Event]] = {
    "queued": fleet_events.MessageQueued,
    "held": fleet_events.MessageHeld,
    "typed": fleet_events.MessageTyped,
    "submitted": fleet_events.MessageSubmitted,
    "acted": fleet_events.MessageActed,
    "dropped": fleet_events.MessageDropped,
}


Answered = Callable[[Letter], Awaitable[None]]
"""Receives the answered message of a call. Raises nothing."""


async def no_call(_letter: Letter) -> None:
    """The default where there are no calls."""


class DeliveryState:
    """Messages that are on their way, by agent."""

    def __init__(self, bus: Bus, store: Store, answered: Answered = no_call) -> None:
        """`answered`: says in its call what was answered there."""
        self._answered = answered
        self._bus = bus
        self._store = store
        self._prompts: dict[str, Letter] = {}
        """Id → a message that is in, or on its way to, a native agent's inbox."""
        self._typed: dict[str, Letter] = {}
        """Id → a message that was, or is just being, typed."""
        self._over: set[str] = set()
        """Messages whose turn was over, or whose agent had ended, while they were still being entered."""
        self._turns: dict[str, str] = {}
        """Turn → the message that it answers."""

    def delivered(self, id: str) -> bool:
        """Whether a message is in a native agent's inbox and has not been acted on yet."""
        return id in self._prompts

    def publish_change(self, letter: Letter) -> None:
        """Publish the message's state."""
        fields: dict[str, Any] = {
            "message": letter.id,
            "agent": letter.recipient,
            "sender": letter.sender,
            "text": letter.text,
        }
        if letter.state in ("held", "dropped"):
            fields["why"] = letter.why
        self._bus.publish(_EVENTS[letter.state](**fields))

    def expect(self, letter: Letter, *, inbox: bool) -> None:
        """It is being delivered; the agent may take it up before we have said so."""
        (self._prompts if inbox else self._typed)[letter.id] = letter

    def forget(self, letter: Letter) -> None:
        """It was not delivered."""
        self._prompts.pop(letter.id, None)
        self._typed.pop(letter.id, None)
        self._over.discard(letter.id)

    def said(self, letter: Letter, state: Literal["typed", "submitted"]) -> None:
        """Note that the text is in the agent's input line, or was submitted."""
        self._bus.publish(
            _EVENTS[state](message=letter.id, agent=letter.recipient, sender=letter.sender, text=letter.text)  # pyright: ignore[reportCallIssue]
        )

    async def submitted(self, letter: Letter) -> None:
        """Note that it was submitted. In an inbox it stays ours until the agent acts on it. Raises `StoreError`."""
        if letter.id in self._prompts or letter.id in self._typed or letter.id in self._over:  # else it was taken up
            self._over.discard(letter.id)
            await self._store.mail.change(letter.id, state="submitted")
        if letter.id not in self._prompts:
            await self._store.mail.release(letter.id)

    async def held(self, letter: Letter, why: str) -> None:
        """It waits for a person. Raises `StoreError`."""
        self.publish_change(await self._store.mail.change(letter.id, state="held", why=why))

    async def dropped(self, letter: Letter, why: str) -> None:
        """It will not be delivered. Raises `StoreError`."""
        self.forget(letter)
        dropped = await self._store.mail.change(letter.id, state="dropped", why=why)
        await self._store.mail.release(letter.id)
        self.publish_change(dropped)

    async def heard(self, event: Event) -> None:
        """What an agent says may confirm a message. Never raises."""
        try:
            match event:
                case TurnStarted():
                    await self._turn(event)
                case TurnFinished():
                    await self._finished(event)
                case AgentStatusChanged() if event.source in ("hook", "event") and event.status in ("thinking", "tool"):
                    await self._moves(event.agent)
                case PromptWithdrawn() if event.prompt in self._prompts:
                    await self.dropped(self._prompts[event.prompt], "It was withdrawn from the agent's inbox.")
                case PromptEdited() if event.prompt in self._prompts:
                    await self._store.mail.change(event.prompt, text=event.text)
                case fleet_events.AgentEnded():
                    await self._ended(event)
                case _:
                    pass
        except StoreError:
            pass  # the record is busy or full; the message stays as it was said last

    async def _turn(self, event: TurnStarted) -> None:
        if (letter := self._prompts.pop(event.prompt, None)) is not None:
            self._turns[event.turn] = letter.id
            await self._acted(letter)

    async def taken_up(self, letter: Letter) -> None:
        """Another program has acted on a message that was typed. Raises `StoreError`."""
        if (await self._store.mail.find(letter.id)).state == "submitted":
            if self._typed.pop(letter.id, None) is not None:  # else its turn was over before this was seen
                self._turns[f"agent {letter.recipient}"] = letter.id
            await self._acted(letter)

    async def _moves(self, agent: str) -> None:
        """Another program reports that it is working: it acted on the last typed message."""
        for letter in [one for one in self._typed.values() if one.recipient == agent]:
            await self.taken_up(letter)

    async def _finished(self, event: TurnFinished) -> None:
        id = self._turns.pop(event.turn, None) or self._turns.pop(f"agent {event.agent}", None)
        if id is None and (typed := next((one for one in self._typed.values() if one.recipient == event.agent), None)):
            self.forget(typed)  # a program that does not say by itself that it took it up
            if (await self._store.mail.find(typed.id)).state == "queued":
                self._over.add(typed.id)
            await self._store.mail.release(id := typed.id)
        if id is not None:
            failed = bool(event.error and not event.text)
            answer = f"{event.error} {event.hint}".strip() if failed else event.text
            await self._note_answer(id, answer[:ANSWER], event.source, failed=failed)

    async def _note_answer(self, id: str, answer: str, source: AnswerSource = "", *, failed: bool = False) -> None:
        letter = await self._store.mail.change(id, answered=True, answer=answer, answer_source=source, failed=failed)
        if letter.call:
            await self._answered(letter)

    async def _acted(self, letter: Letter) -> None:
        acted = await self._store.mail.change(letter.id, state="acted", why="")
        await self._store.mail.release(letter.id)
        self.publish_change(acted)

    async def _ended(self, event: fleet_events.AgentEnded) -> None:
        for turn, id in tuple(self._turns.items()):
            if turn == f"agent {event.agent}":
                del self._turns[turn]
                await self._note_answer(id, event.report[:ANSWER])
        for letter in [one for one in self._typed.values() if one.recipient == event.agent]:
            self.forget(letter)
            if (await self._store.mail.find(letter.id)).state == "queued":
                self._over.add(letter.id)  # if it is accepted after all, it is the message that ended it
        for letter in [one for one in self._prompts.values() if one.recipient == event.agent]:
            await self.dropped(letter, f"{event.name or event.agent} ended before it acted on the message.")
