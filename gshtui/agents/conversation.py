"""One agent's conversation: an append-only log in memory and in its record, loaded when first needed.

The record is the store, or memory only. A prompt is part of the log once it is recorded, or not at all. An answer or a
result that cannot be recorded is owed to the record: it is written before anything newer, and nothing is sent until
then. A prompt that arrives twice is recognised by its entry in the log.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, cast, get_args

import msgspec

from gshtui.agents.ports import Record
from gshtui.bus.agent_data import InboxPrompt
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import MessageAppended, TurnFinished, TurnStarted
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.messages import Message, Stop, Text, Thinking, ToolCall
from gshtui.context.log.conversation_log import missing_results
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.system.tasks import cancel_and_wait, keep_on, start_job

_KEPT_WITHIN = 1.0
"""Seconds after which what an answer has said is kept, whether it says more or not."""
_OWED_AGAIN = 2.0
"""Seconds between two attempts to write what is owed."""
_UNKEPT = 60.0
"""Seconds until it is tried again after a failure: the record reports its own errors, and the answer goes on."""


class StoreRecord:
    """A conversation in the store: its messages, whole outputs and title, of three tables."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.append = store.messages.append
        self.save_partial = store.messages.save_partial
        self.partials = store.messages.partials
        self.keep_prompt = store.queue.put
        self.drop_prompt = store.queue.drop
        self.kept_prompts = store.queue.find_all

    async def load(self, session: str) -> list[Message]:
        return [stored.message for stored in await self._store.messages.read(session)]

    async def put_output(self, session: str, call: str, text: str) -> str:
        """Keep a tool's full output; returns its key, empty when it could not be kept."""
        try:
            return await self._store.outputs.put(session, call, text)
        except StoreError:
            return ""  # the shortened output is in the log all the same; the store reports its own trouble

    async def set_title(self, session: str, title: str) -> None:
        await self._store.sessions.update(session, title=title)


class MemoryRecord:
    """A conversation that lives as long as the process."""

    def __init__(self) -> None:
        self._messages: dict[str, list[Message]] = {}

    async def append(self, session: str, message: Message) -> None:
        self._messages.setdefault(session, []).append(message)

    async def load(self, session: str) -> list[Message]:
        return list(self._messages.get(session, ()))

    async def save_partial(self, session: str, message: Message) -> None:
        """Nothing to guard against: memory goes with the process."""

    async def partials(self, session: str) -> list[Message]:
        """There are none: see `save_partial`."""
        return []

    async def put_output(self, session: str, call: str, text: str) -> str:
        """Not stored, as the empty key shows."""
        return ""

    async def set_title(self, session: str, title: str) -> None:
        """Does nothing: an unrecorded conversation is not listed."""

    async def keep_prompt(self, session: str, prompt: InboxPrompt) -> None:
        """Does nothing: see `save_partial`."""

    async def drop_prompt(self, prompt: str) -> None:
        """Does nothing: see `save_partial`."""

    async def kept_prompts(self, session: str) -> list[InboxPrompt]:
        """There are none: see `save_partial`."""
        return []


def unanswered_prompt(messages: Sequence[Message], prompt: str) -> Message | None:
    """The prompt, if it is the newest message: it was accepted, but has no answer yet."""
    return messages[-1] if messages and messages[-1].id == prompt else None


def answered_turn(
    agent: str, session: str, messages: Sequence[Message], prompt: str
) -> tuple[TurnStarted, TurnFinished] | None:
    """The logged turn of a prompt that was already answered; `None` for a prompt that still has to run."""
    at = next((n for n, message in enumerate(messages) if message.id == prompt), None)
    if at is None or at == len(messages) - 1:
        return None
    turn = messages[at].turn
    said = [message for message in messages[at + 1 :] if message.turn == turn and message.role != "user"]
    text = next((message.text for message in reversed(said) if message.role == "assistant" and message.text), "")
    started = TurnStarted(agent=agent, session=session, turn=turn, prompt=prompt, text=messages[at].text)
    return started, TurnFinished(agent=agent, session=session, turn=turn, stop=_stop(said), text=text)


def _stop(said: Sequence[Message]) -> Stop:
    """How a turn ended. One that ends with results, or without text, was cut off."""
    last = said[-1] if said else None
    whole = last is not None and last.role == "assistant" and not last.calls and last.stop in get_args(Stop)
    return cast("Stop", last.stop) if last is not None and whole else "interrupted"


class Conversation:
    """The log of one session. Only its agent appends. `close` it once nothing more is said in it."""

    def __init__(self, bus: Bus, record: Record, session: str, agent: str, *, fresh: bool) -> None:
        """`fresh`: the session is known to be empty, so there is nothing to load."""
        self.session = session
        self.fresh = fresh
        self.titled = not fresh
        self._agent = agent
        self._bus = bus
        self._record = record
        self._messages: list[Message] | None = [] if fresh else None
        self._owed: deque[Message] = deque()
        """The newest of the log, oldest first, which the record does not have yet."""
        self._writing = asyncio.Lock()
        self._again: asyncio.Task[None] | None = None

    async def messages(self) -> list[Message]:
        """The whole log. The first call loads and repairs it."""
        if self._messages is None:
            async with self._writing:
                await self._loaded()
        assert self._messages is not None
        return self._messages

    @property
    def owed(self) -> int:
        """How many of the newest messages the record does not have yet."""
        return len(self._owed)

    def has(self, message: str) -> bool:
        """Whether a message of this id is in the log, as far as that was loaded."""
        return any(known.id == message for known in reversed(self._messages or ()))

    async def append(self, message: Message) -> None:
        """Add a message; returns when it is safe. An interrupt does not cut it in half. Raises `StoreError`: the record
        does not have it. A prompt is then not part of the conversation; what a model or a tool said is, and is owed.
        """
        await self._whole(lambda: self._append(message))

    async def settle(self) -> None:
        """Write what is owed. Raises `StoreError`: nothing may be sent before that."""
        if self._owed:
            await self._whole(self._settle)

    async def close(self) -> None:
        """Write what is owed a last time; what cannot be written is told."""
        await cancel_and_wait(self._again)
        try:
            await self.settle()
        except StoreError as error:
            text = f"{self.owed} messages of this conversation could not be recorded: {error.message}"
            self._bus.publish(Noticed(level="error", text=text, hint=error.hint, about=self._agent))

    async def save_partial(self, message: Message) -> None:
        """Keep an answer that still streams, against a crash."""
        await self._record.save_partial(self.session, message)

    async def keep_output(self, call: str, text: str) -> str:
        """Keep a tool's full output; returns its key."""
        return await asyncio.shield(self._record.put_output(self.session, call, text))

    async def set_title(self, title: str) -> None:
        """Name the conversation, once."""
        self.titled = True
        await self._record.set_title(self.session, title)

    async def keep_prompt(self, prompt: InboxPrompt) -> None:
        """Keep a prompt that waits here, or its new text; `append` of its message removes it."""
        await self._record.keep_prompt(self.session, prompt)

    async def drop_prompt(self, prompt: str) -> None:
        """Forget a prompt that waits no longer."""
        await self._record.drop_prompt(prompt)

    async def kept_prompts(self) -> list[InboxPrompt]:
        """The prompts that wait here, in their order."""
        return await self._record.kept_prompts(self.session)

    async def _whole(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do this to its end, however often it is interrupted: only then is it known what the record has."""
        task = asyncio.get_running_loop().create_task(work(), name=f"the log of {self._agent}")
        interrupted: asyncio.CancelledError | None = None
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError as error:
                interrupted = error
        task.result()
        if interrupted is not None:
            raise interrupted

    async def _append(self, message: Message) -> None:
        async with self._writing:
            log = await self._loaded()
            if message.role == "user":
                await self._write_owed()
                await self._record.append(self.session, message)
                log.append(message)
                self.titled = True
                self._publish(message)
                return
            log.append(message)
            self._owed.append(message)
            try:
                await self._write_owed()
            finally:
                self._publish(message)

    def _publish(self, message: Message) -> None:
        self._bus.publish(MessageAppended(agent=self._agent, session=self.session, message=message))

    async def _settle(self) -> None:
        async with self._writing:
            await self._write_owed()

    async def _write_owed(self) -> None:
        try:
            while self._owed:
                await self._record.append(self.session, self._owed[0])
                self._owed.popleft()
        except StoreError:
            if self._again is None or self._again.done():
                self._again = keep_on(self._write_later, f"what is owed to the record of {self._agent}")
            raise

    async def _write_later(self) -> None:
        while self._owed:
            await asyncio.sleep(_OWED_AGAIN)
            with contextlib.suppress(StoreError):  # the record reports its own trouble
                await self.settle()

    async def _loaded(self) -> list[Message]:
        """The log, read and repaired. A repair that cannot be recorded is owed, like what it repairs."""
        if self._messages is None:
            log = await self._record.load(self.session)
            known = {message.id for message in log}
            repairs: list[Message] = []
            for partial in await self._record.partials(self.session):
                if partial.id not in known and (kept := without_calls(partial)).blocks:
                    repairs.append(msgspec.structs.replace(kept, stop="interrupted"))
            if (closing := missing_results([*log, *repairs])) is not None:
                repairs.append(closing)
            log += repairs
            self._messages = log
            self._owed += repairs
            with contextlib.suppress(StoreError):  # whoever sends something next is told
                await self._write_owed()
            for message in repairs:
                self._publish(message)
        return self._messages


class AnswerKeeper:
    """Keeps an answer that still streams, against a crash.

    Args:
        so_far: the answer as it is now; `None` or one without blocks: there is nothing to keep.
    """

    def __init__(self, conversation: Conversation, so_far: Callable[[], Message | None]) -> None:
        self._conversation = conversation
        self._so_far = so_far
        self._soon: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None
        self._within = _KEPT_WITHIN
        self._ended = False

    def said(self) -> None:
        """The answer has said more: it is kept within a second."""
        if self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(self._within, self._save)

    def close(self) -> None:
        """The answer has ended: who has the whole keeps it, and a part that is saved later than it is passed over."""
        self._ended = True
        if self._soon is not None:
            self._soon.cancel()

    def _save(self) -> None:
        self._soon = None
        if self._saving is not None and not self._saving.done():
            self.said()  # a slow disk: this one comes after it
        elif (answer := self._so_far()) is not None and answer.blocks:
            self._saving = start_job(self._keep(answer), "keeping the answer so far")

    async def _keep(self, answer: Message) -> None:
        try:
            await self._conversation.save_partial(answer)
            self._within = _KEPT_WITHIN
        except StoreError:
            self._within = _UNKEPT
            if not self._ended:
                self.said()


def without_calls(message: Message) -> Message:
    """The parts of an unfinished answer to keep: text and thoughts. An incomplete call is never run or recorded."""
    blocks = tuple(block for block in message.blocks if not isinstance(block, ToolCall) and not _is_blank(block))
    # A thought that its provider did not finish has no valid signature, and would be refused when sent back.
    blocks = tuple(Thinking(b.text) if isinstance(b, Thinking) else b for b in blocks)
    return msgspec.structs.replace(message, blocks=blocks)


def _is_blank(block: object) -> bool:
    return isinstance(block, Text | Thinking) and not block.text.strip()
