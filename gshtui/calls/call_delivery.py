"""Puts messages of a call to the agents that they ask, with what these missed; what is refused is said in the call.

Whom a message asks is stored with it, so that another process puts it to them where the one that said it has died.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec

from gshtui.bus.agent_data import GuardMode
from gshtui.bus.call_data import LOBBY, CallAsk, CallInfo, CallMember, CallMessage, Principal
from gshtui.calls.call_letter import ALL, Briefing, CallExcerpt, letter_text, mentions, windowed
from gshtui.commands.declaration import CommandError
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.system.expected_error import ExpectedError
from gshtui.text.sanitise import one_line

_CATCH_UP = 2_000
"""Most earlier messages that are looked at for a member."""
_LEFT_AFTER = 5.0
"""Seconds after which a message is put to its members by another process than the one that said it."""


class Recipient(msgspec.Struct, frozen=True):
    """An agent that can be put something to."""

    id: str
    name: str
    own: bool
    """It is one of our own agents, whose requests have a call section."""


class CallPost(Protocol):
    """Finds agents, and delivers messages to them. Its methods raise `ExpectedError`."""

    async def find(self, wanted: str, sender: str, *, starts: bool) -> Recipient:
        """The agent of this id or name, which can be in a call. `starts`: one that the settings name is started if it
        does not run.
        """
        ...

    async def everyone(self) -> list[Recipient]:
        """The agents that can be reached from here."""
        ...

    async def depth(self, sender: str) -> int:
        """The depth of what this agent says now."""
        ...

    def mode_of(self, agent: str) -> GuardMode:
        """The mode of an agent that speaks from here."""
        ...

    async def post(self, ask: CallAsk, message: CallMessage, recipient: Recipient, text: str) -> None:
        """Hand the message in for delivery, once however often it is called."""
        ...


Summarised = Callable[[CallInfo, int], Awaitable[CallInfo]]
"""The call with a summary up to a message, as far as a model writes one in time."""


def _is_a_person_s(message: CallMessage) -> bool:
    """Whether somebody said it who may do anything: no agent, and no guest."""
    return message.role == "user" and not message.mode


class CallDelivery:
    """See the module. Over the record of one hub."""

    def __init__(self, store: Store, post: CallPost, summarised: Summarised) -> None:
        self._store = store
        self._post = post
        self._summarised = summarised

    async def dispatch(self) -> None:
        """Put messages to those whom they ask that the process which said them did not. Raises nothing."""
        with contextlib.suppress(StoreError):  # busy or full: the next look tries again
            for message in await self._store.calls.pending(time.time() - _LEFT_AFTER):
                await self.put(message)

    async def put(self, message: CallMessage) -> None:
        """Put a message to those whom it asks; what is refused is said in the call. Raises `StoreError`."""
        if not message.asks:
            return
        call = await self.with_everyone(await self._store.calls.find(message.call))
        settled: list[CallAsk] = []
        for ask in message.asks:
            try:
                recipient = await self._post.find(ask.member, message.author, starts=_is_a_person_s(message))
                if not recipient.own and await self._is_unjudged(message):
                    raise CommandError(
                        f"{recipient.name} is a program with rights of its own, and no person has agreed to ask it."
                    )
                await self._post.post(ask, message, recipient, await self._letter_text(call, message, recipient))
            except CommandError as error:
                settled.append(msgspec.structs.replace(ask, refused=error.message))
                member = call.member(ask.member)
                name = ask.member if member is None else member.name or member.member
                await self._say_refused(message, ask, f"{name} was not asked: {error.message}")
                continue
            settled.append(ask)
            await self._store.calls.add_member(
                call.name, CallMember(member=recipient.id, name=recipient.name, is_agent=True)
            )
            await self._store.calls.enter(recipient.id, call.name)
            await self._store.calls.mark_seen(call.name, recipient.id, message.seq)
        await self._store.calls.settle(message, settled)

    async def _is_unjudged(self, message: CallMessage) -> bool:
        """Whether nobody was asked about this: a guest said it, or it is an agent's answer. Raises `StoreError`.

        Our own agents are held to a mode for what such a message wants of them; other programs cannot be.
        """
        if not message.mode:
            return False  # a person's
        if message.role == "user":
            return True  # a guest's
        try:
            await self._store.mail.find(message.id)  # an answer has the id of what it answers
        except StoreError as error:
            if error.kind != "unknown":
                raise
            return False  # by a tool, whose call the guard has judged
        return True

    async def _letter_text(self, call: CallInfo, message: CallMessage, recipient: Recipient) -> str:
        member = next((one for one in call.members if one.member == recipient.id), None)
        seen = -1 if member is None else member.seen
        unseen = [
            one
            for one in await self._store.calls.messages(call.name, after=seen, before=message.seq, limit=_CATCH_UP)
            if one.author != recipient.id
        ]
        older = unseen[0].seq - seen - 1 if len(unseen) >= _CATCH_UP else 0
        since = 0.0
        if seen >= 0:
            with contextlib.suppress(StoreError):
                since = (await self._store.calls.message(call.name, seen)).at
        told = windowed(unseen, call.window)
        told = CallExcerpt(told.messages, told.left_out + older)
        if told.left_out and call.window.kind == "summary":
            call = await self._summarised(call, told.messages[0].seq - 1 if told.messages else message.seq - 1)
        pins = [] if recipient.own else [pin for pin in await self._store.calls.pins(call.name) if pin.at > since]
        instructions = "" if recipient.own or seen >= 0 else call.instructions
        return letter_text(message, Briefing(call, told, pins, instructions))

    def asked(
        self, call: CallInfo, who: Principal, text: str, to: Sequence[str], *, alone: bool = False
    ) -> list[CallMember]:
        """The agents that a message is put to. Raises `CommandError` for one in `to` that is not in the call."""
        agents = [one for one in call.members if one.is_agent and one.member != who.id]
        asked: list[CallMember] = []
        for name in to:
            found = next((one for one in agents if name.strip() in (one.member, one.name)), None)
            if found is None:
                raise CommandError(
                    f"{one_line(name, 40)!r} is no agent in the call {call.name}.",
                    hint=f"`who call={call.name}` lists its members; `invite agent=…` brings one in.",
                )
            asked.append(found)
        named = mentions(text)
        asked += agents if ALL in named else [one for one in agents if {one.member, one.name.lower()} & set(named)]
        if not asked and alone and not who.is_agent and call.name != LOBBY and len(agents) == 1:
            asked = agents
        return list({one.member: one for one in asked}.values())

    async def with_everyone(self, call: CallInfo) -> CallInfo:
        """The lobby's members are all agents that can be reached, and whoever spoke there."""
        if call.name != LOBBY:
            return call
        known = {one.member for one in call.members}
        agents: list[Recipient] = []
        with contextlib.suppress(ExpectedError):
            agents = await self._post.everyone()
        alive = {one.id for one in agents}
        members = [one for one in call.members if not one.is_agent or one.member in alive]
        members += [
            CallMember(member=one.id, name=one.name, is_agent=True, seen=call.messages - 1)
            for one in agents
            if one.id not in known
        ]
        return msgspec.structs.replace(call, members=tuple(members))

    async def _say_refused(self, message: CallMessage, ask: CallAsk, text: str) -> None:
        """Say why a member was not asked; its id is fixed, so that two processes say it once."""
        await self._store.calls.add_message(
            CallMessage(
                call=message.call,
                id=f"{ask.letter}-refused",
                author="gsh",
                author_name="gsh",
                role="system",
                text=text,
                in_reply_to=message.seq,
            )
        )
