"""Calls: shared rooms in which people and agents talk; everything is in the record before it is said to be done.

A message reaches the agents that it names, as `@claude` or `@all`; what they answer is said in the call. The mail
delivers each message, whatever runs the agent, and an answer that names another agent is put to it in turn, until the
mail's limit for messages in a row. Whom a message asks is stored with it, so that a crash in between loses nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from gshtui.bus.agent_data import GuardMode
from gshtui.bus.bus import Bus
from gshtui.bus.call_data import (
    LOBBY,
    TYPES_FOR,
    TYPING,
    CallAsk,
    CallInfo,
    CallMember,
    CallMessage,
    CallToolUse,
    CallWindow,
    Pin,
    Presence,
    Principal,
)
from gshtui.bus.events.call_events import PresenceReported
from gshtui.bus.letter import PERSON, Letter
from gshtui.bus.messages import Message
from gshtui.calls.call_delivery import CallDelivery, CallPost, Recipient
from gshtui.calls.call_feed import CallFeed
from gshtui.calls.call_letter import MOST_AT_ONCE, call_section, summary_prompt, unknown_names
from gshtui.commands.declaration import Caller, CommandError
from gshtui.context.log.blocks import Passage, text_tokens
from gshtui.context.log.ports import Contribution
from gshtui.guard.modes import inherited, strictest
from gshtui.store.engine.store_errors import PASSING, StoreError
from gshtui.store.record.store import Store
from gshtui.store.tables.call_table import Change
from gshtui.system.expected_error import ExpectedError
from gshtui.system.ids import new_id
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import start_job
from gshtui.text.plain_name import plain_name
from gshtui.text.sanitise import literal, one_line, plain
from gshtui.text.truncation import shorten

if TYPE_CHECKING:
    from gshtui.store.sessions.session_summary import AskModel

LONGEST = 50_000
"""Characters of one message."""
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_TOPIC = 300
_MOST_TOOLS = 50
"""Tools of a turn that its answer in a call names: the last ones."""
_RESULT_BYTES = 2_000
"""Bytes of each one's result that a call keeps; all of it is in the agent's own conversation."""
_UNSAID_DAYS = 7.0
_LONGEST_LINE = 500
"""Characters of a command that a call is told."""
OF_CALLS = frozenset(
    {
        "calls",
        "create",
        "dismiss",
        "echo",
        "help",
        "history",
        "invite",
        "join",
        "leave",
        "say",
        "talk",
        "topic",
        "wall",
        "who",
        "write",
    }
)
"""Commands that say something, or look at who and what is in a call; and one that does nothing."""


_SUMMARY_WITHIN = 60.0
"""Seconds that a member who is asked something waits for the summary of what it missed."""


def _tools_of(turn: Sequence[Message]) -> tuple[CallToolUse, ...]:
    """The tools that were used in a turn, the last ones if they are many."""
    results = {result.call_id: result for message in turn for result in message.results}
    used: list[CallToolUse] = []
    for call in [call for message in turn for call in message.calls][-_MOST_TOOLS:]:
        result = results.get(call.id)
        text = "" if result is None else shorten(result.content, _RESULT_BYTES)
        arguments = call.arguments if len(str(call.arguments)) < _RESULT_BYTES else {"…": "too long to be kept here"}
        status = "lost" if result is None else result.status
        used.append(CallToolUse(call.id, call.name, arguments, status, text, text_tokens(text)))
    return tuple(used)


class CallService:
    """The calls of one hub. `start` follows what all processes say; without it, commands work all the same."""

    def __init__(self, bus: Bus, store: Store, post: CallPost, person: str, ask: AskModel | None = None) -> None:
        """
        Args:
            person: the name of the person who sits here.
            ask: asks a model for a summary; `None`: there is none here.
        """
        self._ask = ask
        self.redact: Callable[[str], str] = str
        """Takes secrets out of the lines that are told."""
        self.named: Sequence[str] = ()
        """Agents of the settings, which start when they are invited."""
        self._bus = bus
        self._store = store
        self._post = post
        self.person = Principal(PERSON, person)
        self.delivery = CallDelivery(store, post, self._summarised)
        """Whom messages are put to, and that they are."""
        self._feed = CallFeed(bus, store, self.delivery)
        self._typing: dict[str, tuple[str, float]] = {}
        """Who types here: their own words before, and when that was last noted (monotonic)."""

    async def start(self, *, shown: bool = True) -> None:
        """Publish what is said from now on, and put to agents what a killed process did not. Raises `StoreError`.

        `shown`: calls are shown here, so each is published as it is. That asks of every agent whether it could be a
        member, for which the profile of each program is read.
        """
        await self._feed.start(shown=shown)
        try:
            for letter in await self._store.calls.unsaid_answers(time.time() - _UNSAID_DAYS * 86_400):
                await self.post_answer(letter)
        except StoreError as error:
            if error.kind not in PASSING:
                raise

    async def stop(self) -> None:
        """Follow no longer."""
        await self._feed.stop()

    async def principal(self, caller: Caller) -> Principal:
        """Who a command speaks for."""
        if not caller.is_agent:
            mode: GuardMode | None = "ask" if caller.is_guest else None
            return self.person if caller.name == PERSON else Principal(caller.name, caller.name, mode=mode)
        with contextlib.suppress(ExpectedError):
            known = next((one for one in await self._post.everyone() if caller.name in (one.id, one.name)), None)
            if known is not None:
                return Principal(known.id, known.name, True, self._post.mode_of(known.id))
        return Principal(caller.name, caller.name, True, self._post.mode_of(caller.name))

    async def all(self) -> list[CallInfo]:
        """Every call, the lobby first, in which those are listed who are in no other. Raises `ExpectedError`."""
        found = [await self.delivery.with_everyone(call) for call in await self._store.calls.find_all()]
        seen = await self._store.calls.presences()
        others = {call.name for call in found if call.name != LOBBY}
        away = {member for member, presence in seen.items() if presence.call in others}
        return [
            call
            if call.name != LOBBY
            else msgspec.structs.replace(call, members=tuple(one for one in call.members if one.member not in away))
            for call in found
        ]

    async def find(self, name: str, who: Principal) -> CallInfo:
        """The call of this name; the one that `who` is in, for an empty one. Raises `ExpectedError`."""
        wanted = name.strip().lower() or await self._store.calls.current(who.id)
        return await self.delivery.with_everyone(await self._store.calls.find(wanted))

    async def create(
        self, name: str, who: Principal, *, topic: str = "", branch_of: str = "", at: int = -1
    ) -> CallInfo:
        """Create a call; `branch_of`: with what was said in another one up to message `at`. Raises `ExpectedError`."""
        wished = name.strip().lower()
        if not _NAME.fullmatch(wished) or wished.isdecimal():
            raise CommandError(
                f"{one_line(name, 60)!r} cannot be a call's name.",
                hint="Use up to 40 letters, digits and `-`, such as `audio-lab`; not digits alone.",
            )
        me = CallMember(member=who.id, name=who.name, is_agent=who.is_agent)
        call = CallInfo(name=wished, topic=_topic(topic), owner=who.id, owner_name=who.name, members=(me,))
        if not branch_of:
            return await self._store.calls.add(call)
        origin = await self._store.calls.find(branch_of)
        upto = origin.messages - 1 if at < 0 else (await self._store.calls.message(origin.name, at)).seq
        return await self._store.calls.branch(call, origin.name, upto)

    async def join(self, name: str, who: Principal) -> CallInfo:
        """Enter a call: a member of it from now on, and the one that is spoken in. Raises `ExpectedError`."""
        call = await self.find(name, who)
        member = CallMember(member=who.id, name=who.name, is_agent=who.is_agent, seen=call.messages - 1)
        if call.name != LOBBY and await self._store.calls.add_member(call.name, member):
            await self._note(call.name, who, f"{who.name} joined.")
        await self._store.calls.enter(who.id, call.name)
        return await self.find(call.name, who)

    async def leave(self, name: str, who: Principal) -> CallInfo:
        """Leave a call, and be in the lobby again. Raises `ExpectedError`."""
        call = await self.find(name, who)
        if call.name == LOBBY:
            raise CommandError("Nobody leaves the lobby.", hint="`join NAME` enters another call; `calls` lists them.")
        if not await self._store.calls.remove_member(call.name, who.id):
            raise CommandError(f"You are not in the call {call.name}.")
        await self._note(call.name, who, f"{who.name} left.")
        return call

    async def invite(self, agent: str, name: str, who: Principal) -> tuple[CallInfo, Recipient]:
        """Bring an agent into a call, which is from then on the one that it is in. Raises `ExpectedError`."""
        call = await self.find(name, who)
        found = await self._post.find(agent, who.id, starts=not (who.is_agent or who.is_guest))
        member = CallMember(member=found.id, name=found.name, is_agent=True)
        if call.name == LOBBY or not await self._store.calls.add_member(call.name, member):
            raise CommandError(f"{found.name} is in the call {call.name} already.")
        await self._store.calls.enter(found.id, call.name)
        await self._note(call.name, who, f"{who.name} invited {found.name}.")
        return await self.find(call.name, who), found

    async def dismiss(self, agent: str, name: str, who: Principal) -> CallInfo:
        """Take a member out of a call. Raises `ExpectedError`."""
        call = await self.find(name, who)
        member = call.member(agent)
        if member is None or not await self._store.calls.remove_member(call.name, member.member):
            raise CommandError(
                f"{one_line(agent, 40)} is not in the call {call.name}.", hint="`who` lists its members."
            )
        await self._note(call.name, who, f"{who.name} dismissed {member.name or member.member}.")
        return call

    async def set_topic(self, name: str, topic: str, who: Principal) -> CallInfo:
        """Set the topic. Raises `ExpectedError`."""
        call = await self.find(name, who)
        await self._store.calls.change(call.name, topic=_topic(topic))
        await self._note(
            call.name,
            who,
            f"{who.name} set the topic: {_topic(topic)}" if topic else f"{who.name} removed the topic.",
        )
        return await self.find(call.name, who)

    async def instruct(self, name: str, text: str | Change, who: Principal) -> CallInfo:
        """Set, or change, what every agent in the call is told. Raises `ExpectedError`."""
        call = await self.find(name, who)
        await self._store.calls.instruct(call.name, (lambda _: text) if isinstance(text, str) else text)
        await self._note(call.name, who, f"{who.name} changed the call's instructions.")
        return await self.find(call.name, who)

    async def set_window(
        self, name: str, window: CallWindow, who: Principal, *, summary: str | None = None
    ) -> CallInfo:
        """Set how much of the conversation agents are told. `summary`: of what was said until now; `None`: it stays as
        it is. Raises `ExpectedError`: there is no such call, or the record failed.
        """
        call = await self.find(name, who)
        new: dict[str, object] = {} if summary is None else {"summary": summary, "summary_to": call.messages - 1}
        return await self._store.calls.change(call.name, window=window, **new)

    async def summarise(self, name: str, who: Principal, *, upto: int | None = None) -> CallInfo:
        """Have a model summarise what was said up to a message (all, by default), the summary until now included.

        A long call is read in parts, from its beginning; each makes the summary that holds until the next one has.
        Raises `ExpectedError`: there is no model, it did not answer, or nothing was said since the last summary.
        """
        call = await self.find(name, who)
        last = call.messages - 1 if upto is None else upto
        if last <= call.summary_to or last < 0:
            raise CommandError(f"Nothing was said in {call.name} since its last summary.")
        if self._ask is None:
            raise CommandError("No model can be asked here.", hint="`calls window summary=…` takes one of yours.")
        window = call.window
        member = call.member(window.summarizer) if window.summarizer else None
        if window.summarizer and (member is None or not member.is_agent):
            raise CommandError(f"{one_line(window.summarizer, 40)} is no agent in the call {call.name}.")
        while call.summary_to < last:
            upto = min(last, call.summary_to + MOST_AT_ONCE) + 1
            found = await self._store.calls.messages(call.name, after=call.summary_to, before=upto, limit=MOST_AT_ONCE)
            if not found:
                break
            prompt, upto = summary_prompt(call, found, window.summary_tokens)
            text = await self._ask(prompt, "" if member is None else member.member, window.summary_tokens * 2)
            if not text.strip():
                raise CommandError("The model wrote no summary.", hint="Try again, or name another `summarizer`.")
            call = await self._store.calls.change(call.name, summary=plain(text).strip(), summary_to=upto)
        return call

    async def remove(self, name: str, who: Principal) -> CallInfo:
        """Remove a call with all that was said in it. Raises `ExpectedError`."""
        call = await self.find(name, who)
        await self._store.calls.remove(call.name)
        self._feed.stir()
        return call

    async def pin(self, name: str, document: str, text: str | Change, who: Principal) -> None:
        """Pin a document in a call, or change one; its name is a plain one. Raises `ExpectedError`."""
        document = plain_name(document, "document")
        call = await self.find(name, who)
        pin = Pin(call.name, document, text if isinstance(text, str) else "", who.id)
        await self._store.calls.put_pin(pin, None if isinstance(text, str) else text)
        await self._note(call.name, who, f"{who.name} pinned {document}.")

    async def unpin(self, name: str, document: str, who: Principal) -> None:
        """Unpin a document. Raises `ExpectedError`."""
        call = await self.find(name, who)
        if not await self._store.calls.remove_pin(call.name, document):
            raise CommandError(f"{one_line(document, 60)!r} is not pinned in {call.name}.")
        await self._note(call.name, who, f"{who.name} unpinned {document}.")

    async def pins(self, name: str) -> list[Pin]:
        """The pinned documents of a call. Raises `ExpectedError`."""
        return await self._store.calls.pins(name)

    async def search(self, name: str, query: str, who: Principal, *, limit: int) -> list[CallMessage]:
        """The newest messages that contain the text, oldest first. Raises `ExpectedError`."""
        call = await self.find(name, who)
        return await self._store.calls.search(call.name, query, limit)

    async def everything(self, name: str, who: Principal) -> list[CallMessage]:
        """All that was said in a call, oldest first. Raises `ExpectedError`."""
        call = await self.find(name, who)
        return await self._store.calls.messages(call.name, limit=max(1, call.messages))

    async def presences(self) -> dict[str, Presence]:
        """Where everybody was last, by member. Raises `ExpectedError`."""
        return await self._store.calls.presences()

    async def set_doing(self, who: Principal, doing: str) -> None:
        """Say what somebody is doing, for everybody to see; empty: nothing any more. Raises `ExpectedError`."""
        await self._store.calls.set_doing(who.id, doing)
        call = await self._store.calls.current(who.id)
        self._feed.note_doing(call, who.id, doing)
        self._bus.publish(PresenceReported(call=call, member=who.id, name=who.name, doing=doing))

    async def note_typing(self, who: Principal) -> None:
        """Note that somebody types; it holds for some seconds, or until they have spoken. Raises `ExpectedError`."""
        now = time.monotonic()
        words, noted = self._typing.get(who.id, ("", -TYPES_FOR))
        if now - noted < TYPES_FOR / 2:
            return
        if who.id not in self._typing:
            before = (await self.presences()).get(who.id)
            words = before.doing if before is not None and before.doing != TYPING else ""
        self._typing[who.id] = (words, now)
        await self.set_doing(who, TYPING)
        start_job(self._stop_typing(who, TYPES_FOR), "who types in a call")

    async def _stop_typing(self, who: Principal, after: float = 0.0) -> None:
        """Give somebody their own words back, unless they went on typing. Raises nothing."""
        await asyncio.sleep(after)
        words, noted = self._typing.get(who.id, ("", 0.0))
        if who.id in self._typing and time.monotonic() - noted >= after:
            del self._typing[who.id]
            with contextlib.suppress(ExpectedError):
                await self.set_doing(who, words)

    async def names(self) -> list[str]:
        """Every call's name, for completion; none where the record fails."""
        with contextlib.suppress(StoreError):
            return await self._store.calls.names()
        return []

    async def agent_names(self) -> list[str]:
        """The agents that can be invited, for completion."""
        with contextlib.suppress(ExpectedError):
            return [*dict.fromkeys((*(one.name for one in await self._post.everyone()), *self.named))]
        return list(self.named)

    async def post_message(
        self,
        who: Principal,
        name: str,
        text: str,
        *,
        to: Sequence[str] = (),
        in_reply_to: int = -1,
        alone: bool = True,
    ) -> CallMessage:
        """Say something in a call, and put it to the agents that it names.

        Args:
            to: names or ids of agents to put it to, besides those that the text names.
            in_reply_to: number of the message that it answers.
            alone: a person's message that names nobody is put to the only agent of the call.

        Raises `ExpectedError`: empty or too long, not in the call, or an agent that is asked is not; or the record did
        not take it. Nothing that fails once it is there does.
        """
        call = await self.find(name, who)
        text = text.strip("\n")
        if not text.strip():
            raise CommandError("The message is empty.", hint="Add the text of the message.")
        if len(text) > LONGEST:
            raise CommandError(
                f"A message can have at most {LONGEST:,} characters.",
                hint="Write it to a file, and send the file's name.",
            )
        if call.name != LOBBY and call.member(who.id) is None:
            raise CommandError(f"You are not in the call {call.name}.", hint=f"`join {call.name}` enters it.")
        if in_reply_to >= call.messages:
            raise CommandError(f"There is no message {in_reply_to} in the call {call.name}.")
        asked = self.delivery.asked(call, who, text, to, alone=alone)
        message = CallMessage(
            call=call.name,
            id=new_id(),
            author=who.id,
            author_name=who.name,
            role=who.role,
            text=text,
            in_reply_to=in_reply_to,
            tokens=text_tokens(text),
            asks=tuple(CallAsk(member.member, new_id()) for member in asked),
            unknown=unknown_names(await self.delivery.with_everyone(call), text),
            depth=await self._post.depth(who.id) if who.is_agent else 0,
            mode=(who.mode or self._post.mode_of(who.id)) if who.is_agent else (who.mode or ""),
        )
        said = await self._store.calls.add_message(message)
        await self._stop_typing(who)
        self._feed.stir()
        with contextlib.suppress(ExpectedError):  # it was said; whom it asks is looked for again
            await self.delivery.put(said)
            said = await self._store.calls.message(said.call, said.seq)
        self._feed.stir()
        return said

    async def history(self, name: str, who: Principal, *, limit: int, before: int | None = None) -> list[CallMessage]:
        """The newest messages of a call, oldest first; a person has then seen them. Raises `ExpectedError`."""
        call = await self.find(name, who)
        found = await self._store.calls.messages(call.name, before=before, limit=limit)
        if found and before is None and not who.is_agent:
            await self._store.calls.mark_seen(call.name, who.id, found[-1].seq)
        return found

    async def post_answer(self, letter: Letter) -> None:
        """Say in the call what an agent answered there. Raises nothing: what cannot be said now is said at a start."""
        with contextlib.suppress(StoreError):
            failed = letter.failed
            text = "" if failed else letter.answer.strip()
            nothing = f"could not answer: {one_line(letter.answer, 500)}" if failed else "is done and said nothing."
            call = await self._store.calls.find(letter.call)
            # Its own turn is over, and with it what that was held to: what it asks for is still no more than that.
            mode = inherited(strictest(self._post.mode_of(letter.recipient), letter.limit or "auto"))
            who = Principal(letter.recipient, letter.recipient_name or letter.recipient, True)
            call = await self.delivery.with_everyone(call)
            asked = self.delivery.asked(call, who, text, ()) if text and call.member(who.id) is not None else []
            message = CallMessage(
                call=call.name,
                id=letter.id,
                author=who.id,
                author_name=who.name,
                role="assistant" if text else "system",
                text=text or f"{who.name} {nothing}",
                in_reply_to=letter.call_seq,
                tokens=text_tokens(text),
                asks=tuple(CallAsk(member.member, new_id()) for member in asked),
                depth=letter.depth + 1,
                mode=mode,
                source=letter.answer_source if letter.answer_source == "screen" else "",
                tools=_tools_of(await self._store.messages.turn_of(letter.id)) if text else (),
            )
            said = await self._store.calls.add_message(message)
            self._feed.stir()
            await self.delivery.put(said)

    async def section(self, agent: str) -> Contribution:
        """The call section of an agent's requests: the call that it is in, with its documents. Raises nothing."""
        with contextlib.suppress(StoreError):
            call = await self._store.calls.find(await self._store.calls.current(agent))
            if call.name == LOBBY and not (call.topic or call.instructions):
                return Contribution()
            where = f"/calls/{call.name}/context"
            passages = [Passage("call", f"call {call.name}", call_section(call), path=f"{where}/system.prompt")]
            for pin in await self._store.calls.pins(call.name):
                text = f"Pinned in the call {call.name}, {pin.name}:\n\n{pin.text}"
                path = f"{where}/pinned/{pin.name}"
                passages.append(Passage("call", path, text, path=path, kind="file"))
            return Contribution(passages=tuple(passages))
        return Contribution()

    async def _summarised(self, call: CallInfo, upto: int) -> CallInfo:
        """The call with a summary up to a message; with the one that it has, if no model writes one in time."""
        if self._ask is None or upto <= call.summary_to:
            return call
        try:
            async with time_limit(_SUMMARY_WITHIN):
                return await self.summarise(call.name, self.person, upto=upto)
        except (ExpectedError, TimeoutError):
            return await self._store.calls.find(call.name)  # as far as it got

    async def note_run(self, name: str, line: str, who: Principal, *, failed: bool = False, id: str = "") -> bool:
        """Tell a call which command somebody ran there; returns whether it was told. Raises `ExpectedError`.

        Not the lobby, in which everybody is, nor what is about calls itself: that is told or seen there anyway. `id`:
        of the message; empty: a new one.
        """
        call = await self.find(name, who)
        word = next(iter(line.lstrip("/ ").split(maxsplit=1)), "")
        if call.name == LOBBY or call.member(who.id) is None or word in ("", *OF_CALLS):
            return False
        said = one_line(literal(self.redact(line.lstrip("/ "))), _LONGEST_LINE)
        await self._note(call.name, who, f"{who.name} ran `{said}`{', which failed' if failed else ''}.", id)
        return True

    async def _note(self, call: str, who: Principal, text: str, id: str = "") -> None:
        """Say what happened in the call. Raises `StoreError`."""
        await self._store.calls.add_message(
            CallMessage(call=call, id=id or new_id(), author=who.id, author_name=who.name, role="system", text=text)
        )
        self._feed.stir()


def person_name(configured: str) -> str:
    """The name of the person who sits here: the configured one, else the login name."""
    try:
        return one_line(configured, 40).strip() or getpass.getuser()
    except (OSError, KeyError):
        return PERSON


def _topic(text: str) -> str:
    return one_line(text, _TOPIC).strip()
