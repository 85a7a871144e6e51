"""The prompts that wait for one agent, in order: queued behind the turn in progress, held, edited, withdrawn, refused.

Each is in the record before it is shown as queued, and leaves it with its message. What an earlier process left is
held: it starts when a person says so. Also holds the turn in progress, which an interrupt cancels. `PromptAgent` is who
answers them: one of our own agents, or a program over ACP.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import msgspec

from gshtui.agents.conversation import Conversation
from gshtui.bus.agent_data import InboxPrompt
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentStatusChanged,
    InterruptRequested,
    PromptEdited,
    PromptEditRequested,
    PromptQueued,
    PromptSubmitted,
    PromptWithdrawn,
    QueueReleaseRequested,
    Status,
    TurnFinished,
)
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.messages import Stop
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.faults import Fault
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job

_INTENTS = (PromptSubmitted, PromptEditRequested, QueueReleaseRequested, InterruptRequested)
"""What `PromptInbox.handle` handles."""


class _Waiting(msgspec.Struct, eq=False):
    """A prompt in the queue. `kept` is done once the record has it; its result says whether it does."""

    prompt: InboxPrompt
    held: bool = False
    kept: asyncio.Task[bool | None] | None = None


class PromptInbox:
    """See the module. `wake` is set by every new prompt."""

    def __init__(self, bus: Bus, agent: str) -> None:
        self.wake = asyncio.Event()
        self.turn: asyncio.Task[TurnFinished | None] | None = None
        """The turn in progress, set by the agent."""
        self.closed = False
        """Nothing starts any more; what still comes waits for the next process."""
        self._bus = bus
        self._agent = agent
        self._queue: list[_Waiting] = []
        self._taken: _Waiting | None = None
        self._place: Conversation | None = None
        self._writes: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        """The prompts that start by themselves."""
        return sum(not waiting.held for waiting in self._queue)

    def handle(self, event: Event) -> bool:
        """Handle what a person wants of the prompts and the turn; returns whether it was that."""
        match event:
            case PromptSubmitted():
                self.add(event)
            case PromptEditRequested():
                self.edit(event)
            case QueueReleaseRequested():
                self.release(event.prompt)
            case InterruptRequested():
                if self.turn is not None and not self.closed:
                    self.turn.cancel()
            case _:
                return False
        return True

    def close(self) -> None:
        """Start nothing from now on. The turn in progress is interrupted; it records its state and ends."""
        if self.closed:
            return
        self.closed = True
        if self.turn is not None:
            self.turn.cancel()

    async def written(self) -> None:
        """Wait until the record has everything that was put in."""
        while self._writes:
            await asyncio.wait(tuple(self._writes))

    def move(self, place: Conversation | None) -> None:
        """Wait in this conversation from now on; `None`: in none."""
        if place is self._place:
            return
        self._place = place
        self._queue = [waiting for waiting in self._queue if not waiting.held]  # those stay in their conversation
        for waiting in self._queue:
            waiting.kept = self._write(self._keep(waiting, queued=True, before=waiting.kept), "a waiting prompt")

    async def restore(self, *, held: Callable[[InboxPrompt], bool] = lambda _: True) -> None:
        """Take over what an earlier process left in the conversation. Raises `StoreError`. `held`: whether one of those
        waits for a person.
        """
        if (place := self._place) is None:
            return
        kept = await place.kept_prompts()
        known = {waiting.prompt.id for waiting in self._queue}
        if self._taken is not None:
            known.add(self._taken.prompt.id)
        left = [_Waiting(prompt, held(prompt)) for prompt in kept if prompt.id not in known]
        if place is not self._place or not left:
            return
        self._queue[:0] = left
        for waiting in left:
            self._publish_queued(waiting)
        if number := sum(waiting.held for waiting in left):
            what = "1 prompt waits here, unsent" if number == 1 else f"{number} prompts wait here, unsent"
            self._notice_held(f"{what}.")
        self.wake.set()

    def add(self, event: PromptSubmitted) -> None:
        """Queue a prompt, once."""
        if self._find(event.prompt) is not None or (self._taken is not None and self._taken.prompt.id == event.prompt):
            return
        prompt = InboxPrompt(event.prompt, event.text, event.attachments, event.source, event.mode, event.call)
        queued = self._taken is not None or len(self) > 0
        waiting = _Waiting(prompt)
        self._queue.append(waiting)
        waiting.kept = self._write(self._keep(waiting, queued=queued), "a prompt")
        self.wake.set()

    async def pop(self) -> InboxPrompt | None:
        """The next prompt, once the record has it; `None`: there is none, or nothing starts any more."""
        while not self.closed and (waiting := next((one for one in self._queue if not one.held), None)) is not None:
            self._queue.remove(waiting)
            self._taken = waiting
            kept = waiting.kept is None or await asyncio.shield(waiting.kept)
            if kept is not False and not self.closed:  # after a fault of ours it is sent all the same
                return waiting.prompt
            self._taken = None
        return None

    def done(self, *, recorded: bool) -> None:
        """The prompt that was taken is over; `recorded`: the record has its message."""
        taken, self._taken, self.turn = self._taken, None, None
        if taken is not None and not recorded and not self.closed:
            self._withdraw(taken, "It was not sent.")

    def hold(self, why: str) -> None:
        """Have everything that waits wait for a person from now on."""
        if not len(self):
            return
        for waiting in self._queue:
            if not waiting.held:
                waiting.held = True
                self._publish_queued(waiting)
        self._notice_held(why)

    def release(self, prompt: str = "") -> None:
        """Let what is held start, or this one alone."""
        for waiting in self._queue:
            if waiting.held and prompt in ("", waiting.prompt.id):
                waiting.held = False
                self._publish_queued(waiting)
        self.wake.set()

    def edit(self, event: PromptEditRequested) -> None:
        """Replace the text of a waiting prompt; without a text, withdraw it."""
        waiting = self._find(event.prompt)
        if waiting is None:
            text = "That prompt is no longer waiting: the agent has already started it."
            self._bus.publish(Noticed(level="warning", text=text, about=self._agent))
        elif event.text.strip():
            waiting.prompt = msgspec.structs.replace(waiting.prompt, text=event.text)
            waiting.kept = self._write(self._keep(waiting, edited=True, before=waiting.kept), "a changed prompt")
        else:
            self._queue.remove(waiting)
            self._withdraw(waiting)

    def refuse(self, why: str, hint: str = "") -> None:
        """Withdraw every prompt that would start, and say why."""
        for waiting in [one for one in self._queue if not one.held]:
            self._queue.remove(waiting)
            self._withdraw(waiting, why)
        self._bus.publish(Noticed(level="warning", text=why, hint=hint, about=self._agent))

    def refuse_taken(self, why: str, hint: str = "", *, returned: bool = True) -> None:
        """Withdraw the prompt that was taken, and say why."""
        taken, self._taken = self._taken, None
        if self.closed:
            return  # it waits for the next process
        if taken is not None:
            self._withdraw(taken, why if returned else "")
        self._bus.publish(Noticed(level="error", text=why, hint=hint, about=self._agent))

    def _find(self, prompt: str) -> _Waiting | None:
        return next((waiting for waiting in self._queue if waiting.prompt.id == prompt), None)

    def _write(self, work: Coroutine[Any, Any, Any], what: str) -> asyncio.Task[Any]:
        task = start_job(work, f"{what} of {self._agent}")
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)
        return task

    async def _keep(
        self,
        waiting: _Waiting,
        *,
        queued: bool = False,
        edited: bool = False,
        before: asyncio.Task[bool | None] | None = None,
    ) -> bool:
        """Put it into the record, then publish what became of it. False: it could not be, and was withdrawn. `before`:
        an earlier write of it, which must come first.
        """
        if before is not None:
            await asyncio.wait((before,))
        try:
            if self._place is not None:
                await self._place.keep_prompt(waiting.prompt)
        except StoreError as error:
            if edited:
                text = f"The prompt keeps its earlier text for a next start: {error.message}"
                self._bus.publish(Noticed(level="warning", text=text, hint=error.hint, about=self._agent))
            else:
                if waiting in self._queue:
                    self._queue.remove(waiting)
                text = f"The prompt was not sent: {error.message}"
                self._publish_withdrawn(waiting.prompt, text)
                self._bus.publish(Noticed(level="error", text=text, hint=error.hint, about=self._agent))
                return False
        if edited and waiting in self._queue:
            prompt = waiting.prompt
            self._bus.publish(PromptEdited(prompt=prompt.id, agent=self._agent, text=prompt.text))
        elif queued and waiting in self._queue:
            self._publish_queued(waiting)
        return True

    def _publish_queued(self, waiting: _Waiting) -> None:
        prompt = waiting.prompt
        self._bus.publish(
            PromptQueued(
                prompt=prompt.id,
                agent=self._agent,
                text=prompt.text,
                position=self._queue.index(waiting) + 1,
                source=prompt.source,
                held=waiting.held,
            )
        )

    def _notice_held(self, text: str) -> None:
        hint = "`/queue send` sends what waits, in its order; `/queue drop` discards it."
        self._bus.publish(Noticed(level="warning", text=text, hint=hint, about=self._agent))

    def _withdraw(self, waiting: _Waiting, why: str = "") -> None:
        prompt = waiting.prompt
        if self._place is not None:
            self._write(self._drop(self._place, prompt.id, waiting.kept), "a withdrawn prompt")
        self._publish_withdrawn(prompt, why)

    def _publish_withdrawn(self, prompt: InboxPrompt, why: str) -> None:
        self._bus.publish(
            PromptWithdrawn(prompt=prompt.id, agent=self._agent, text=prompt.text, why=why, source=prompt.source)
        )

    async def _drop(self, place: Conversation, prompt: str, before: asyncio.Task[bool | None] | None) -> None:
        if before is not None and before is not asyncio.current_task():
            await asyncio.wait((before,))
        try:
            await place.drop_prompt(prompt)
        except StoreError as error:
            text = f"A withdrawn prompt is back at the next start: {error.message}"
            self._bus.publish(Noticed(level="warning", text=text, hint=error.hint, about=self._agent))


class PromptAgent:
    """Answers the prompts of its inbox, one turn at a time. A subclass starts `_life`, and ends with its own parts."""

    def __init__(self, bus: Bus, name: str, *intents: type[Event]) -> None:
        """`intents`: what `_handle_intent` handles."""
        self.name = name
        self.status: Status = "starting"
        self._bus = bus
        self._inbox = PromptInbox(bus, name)
        self._turn_id = ""
        self._life: asyncio.Task[None] | None = None
        self._subscription = bus.subscribe(self._listen, *_INTENTS, *intents, name=f"agent {name}")

    @property
    def working(self) -> bool:
        return self._inbox.turn is not None

    @property
    def waiting(self) -> int:
        """Prompts in the queue that start by themselves."""
        return len(self._inbox)

    async def keep_prompts(self) -> None:
        """Return once the record has what was sent."""
        await self._inbox.written()

    def cease(self) -> None:
        """Start nothing from now on: no request, no tool. The turn in progress ends; what waits stays in the record."""
        self._inbox.close()
        if self._inbox.turn is None and self._life is not None:
            self._life.cancel()

    async def stop(self, timeout: float = 5.0) -> None:
        """Cease, let the turn in progress record its state, and stop. Waits at most `timeout` seconds for each."""
        self.cease()
        with contextlib.suppress(TimeoutError):
            async with time_limit(timeout):
                await self._subscription.close()  # what was sent before it was told to stop waits, too
        if (turn := self._inbox.turn) is not None:
            await asyncio.wait((turn,), timeout=timeout)
            await cancel_and_wait(turn, within=timeout)
        await cancel_and_wait(self._life, within=timeout)
        with contextlib.suppress(TimeoutError):
            async with time_limit(timeout):
                await self._inbox.written()

    async def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if getattr(event, "agent", "") == self.name and not self._inbox.handle(event):
                await self._handle_intent(event)

    async def _handle_intent(self, event: Event) -> None:
        raise NotImplementedError

    def _ended(self, session: str, stop: Stop, error: str = "", fault: Fault | None = None) -> TurnFinished:
        """Publish the end of a turn that could not publish it itself."""
        finished = TurnFinished(
            agent=self.name,
            session=session,
            turn=self._turn_id,
            stop=stop,
            error=error,
            error_kind=fault.kind if fault is not None else "",
            hint=f"Send it again. {fault.details}".rstrip() if fault is not None else "",
        )
        self._bus.publish(finished)
        return finished

    def _publish_status(self, status: Status, doing: str = "") -> None:
        self.status = status
        self._bus.publish(AgentStatusChanged(agent=self.name, status=status, doing=doing))
