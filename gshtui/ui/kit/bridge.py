"""The only door between the bus and Textual: starts the hub after the first frame, feeds panes, carries intents.

Owns the window's hub and the pace of events to widgets: one frame's worth at a time, consecutive events with the
same merge key as one, and nothing while nothing happens. Holds no conversation state.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar, runtime_checkable
from weakref import WeakKeyDictionary

import msgspec

from gshtui.bus.bus import Subscription, WhenFull
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import PromptSubmitted, PromptWithdrawn, TurnFinished, TurnStarted
from gshtui.bus.events.approval_events import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.hub_events import FaultReported, Noticed, QuitRequested, SubscriberFailed
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.shell_data import Ran
from gshtui.bus.subscription import Batch, fold_events
from gshtui.client.hub_greeting import ANEW, HubUnavailable
from gshtui.client.window_calls import MakeHub, WindowCalls
from gshtui.client.window_protocol import HubLost, NotReady, OpenRequest
from gshtui.system.faults import Breaker, Fault
from gshtui.system.garbage_collector import GarbageCollector
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import report_unexpected, start_job

if TYPE_CHECKING:
    from gshtui.bus.context_data import Receipt
    from gshtui.commands.catalogue import CommandEntry
    from gshtui.commands.completion import Completion
    from gshtui.commands.declaration import Outcome, Question, Returns
    from gshtui.commands.evaluation import Ask
    from gshtui.settings.model import Settings
    from gshtui.store.tables.message_table import StoredMessage

R = TypeVar("R")


@runtime_checkable
class EventConsumer(Protocol):
    """A pane that shows events. Its view model is a pure reducer; `consume` applies it and refreshes."""

    CONSUMES: ClassVar[tuple[type[Event], ...]]

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame, at least one, in order. Must not block: spread long work over frames."""
        ...


def coalesced(events: Sequence[Event]) -> list[Event]:
    """The events, with each run of the same merge key merged into one."""
    out: list[Event] = []
    run: list[Event] = []
    run_key: Hashable | None = None
    for event in events:
        key = event.merge_key()
        if key is None or key != run_key:
            if run:
                out.append(fold_events(run))
            run = []
            run_key = key
        if key is None:
            out.append(event)
        else:
            run.append(event)
    if run:
        out.append(fold_events(run))
    return out


FPS = 60
STREAMED = 15
"""Frames per second while only streamed text arrives: nobody reads faster."""
STOP_WITHIN = 10.0
"""Seconds the hub has for an orderly stop."""
_OVERDUE = 1.0
"""Seconds after which a prompt that its hub has not taken is kept here, too, when the person leaves."""
QUEUE = 5_000
_TRIES = 3
"""Hubs that may end while this window starts in them."""


_FOLLOWED = (SessionOpened, TurnStarted, TurnFinished, ApprovalRequested, ApprovalSettled)


class Bridge:
    """One window's door to its hub."""

    def __init__(
        self, opening: OpenRequest, make_hub: MakeHub, consumers: Callable[[], Iterable[EventConsumer]]
    ) -> None:
        self.opening = opening
        self.hub: WindowCalls | None = None
        self.failed = ""
        """Why the hub did not start; empty: it did, or has not tried yet."""
        self.refused = ""
        """Why there is nothing that would record what is done here; empty: there is, or nothing has tried yet."""
        self.fps = FPS
        self.expecting: Callable[[asyncio.Future[None]], None] = lambda answer: None
        """Gets an answer of the hub's to what the person does, to say so if it does not come."""
        self.front: Callable[[], str] = str
        """The agent of the tab in front, to which what a person runs applies; calls of code name theirs."""
        self._make_hub = make_hub
        self._consumers = consumers
        self._waiting: list[Event] = []
        self._subscription: Subscription | None = None
        self._up = asyncio.Event()
        self._session = ""
        """The conversation of this window's own agent."""
        self._answer: asyncio.Task[None] | None = None
        self._unheard: list[PromptSubmitted] = []
        """Prompts that the hub may not have taken."""
        self._open_ends: dict[str, Event] = {}
        """Of each turn and question that is open: its end, should the hub end first."""
        self._replacing: asyncio.Task[None] | None = None
        self._pending: list[Event] = []
        self._frame: asyncio.Future[None] | None = None
        """Done when the waiting events have been shown; `None`: none are waiting."""
        self._due: asyncio.TimerHandle | None = None
        self._last_frame = 0.0
        self._garbage = GarbageCollector()
        self._breakers: WeakKeyDictionary[EventConsumer, Breaker] = WeakKeyDictionary()

    async def start(self) -> None:
        """Build and start the hub. Never raises if the hub fails: `failed` says why, and the window keeps running."""
        try:
            for again in range(_TRIES - 1, -1, -1):
                try:
                    await self._start()
                    break
                except HubLost:  # it began anew, or made way for another program's
                    if not again:
                        raise
        except HubUnavailable as error:
            self.failed, self.refused = error.message, str(error)
        except Exception as error:
            report_unexpected("the start of the hub", error)
            self.failed = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        finally:
            self._up.set()
            self._garbage.begin()
        if self.failed and (self._session or not self.refused):  # else the window ends, and takes them along
            waiting, self._waiting = self._waiting, []
            self._unheard += [event for event in waiting if isinstance(event, PromptSubmitted)]
            self._give_back()

    async def _start(self) -> None:
        hub = await self._make_hub(self.opening)
        self._subscription = hub.bus.subscribe(self._deliver, name="window", limit=QUEUE, when_full=WhenFull.MERGE)
        self.hub = hub
        hub.bus.subscribe(lambda _: hub.cease(), QuitRequested, name="leaving")  # not a frame later
        hub.bus.subscribe(self._follow, *_FOLLOWED, name="what goes on")
        await hub.start()
        self._replacing = start_job(self._replace(hub), "the end of the hub")
        if self._unheard:
            self._give_back(await hub.known_prompts([sent.prompt for sent in self._unheard]))
        waiting, self._waiting = self._waiting, []
        for event in waiting:
            self._tell(hub, event)

    async def renew(self) -> None:
        """Go on with another hub, which has the settings and variables as they are now, in the same conversation."""
        self._up.clear()
        await self.stop()
        ends, self._open_ends = self._open_ends, {}
        self.feed(list(ends.values()))
        if self._session:
            self.opening = msgspec.structs.replace(self.opening, session=self._session)
        await self.start()

    async def _replace(self, hub: WindowCalls) -> None:
        """Once the hub has ended by itself, go on with another one, in the conversation as it is in the record."""
        elsewhere = await hub.ended()
        if self.hub is not hub:
            return
        self._up.clear()
        self.hub = None
        ends, self._open_ends = self._open_ends, {}
        self.feed(list(ends.values()))
        if session := elsewhere or self._session:
            self.opening = msgspec.structs.replace(self.opening, session=session)
        if elsewhere:
            await self.start()
            return
        text = "The hub stopped; this window reconnected to a new one."
        noticed = Noticed(level="info", text=text, about=self.opening.agent)
        if ends:
            noticed = msgspec.structs.replace(noticed, level="warning", hint="Work in progress was interrupted.")
        self._waiting.insert(0, noticed)
        await self.start()
        if self.failed:
            text = f"The hub stopped, and there is no new one: {self.failed}"
            self.feed([Noticed(level="error", text=text, hint="Open this window again to go on.")])

    def _give_back(self, known: Collection[str] = ()) -> None:
        """End the prompts that no hub has taken. `known`: those that the record has."""
        unheard, self._unheard = self._unheard, []
        why = "The hub ended before it took this."
        for sent in (one for one in unheard if one.prompt not in known):
            self.feed([sent, PromptWithdrawn(prompt=sent.prompt, agent=sent.agent, text=sent.text, why=why)])

    def _follow(self, batch: Sequence[Event]) -> None:
        """Know what would have to be ended if the hub ended."""
        for event in batch:
            match event:
                case SessionOpened() if event.agent == self.opening.agent:
                    self._session = event.session
                case TurnStarted():
                    self._open_ends[event.turn] = TurnFinished(
                        agent=event.agent, session=event.session, turn=event.turn, stop="interrupted"
                    )
                case ApprovalRequested():
                    self._open_ends[event.approval] = ApprovalSettled(
                        approval=event.approval, agent=event.agent, call=event.call, decision="withdrawn"
                    )
                case TurnFinished():
                    self._open_ends.pop(event.turn, None)
                case ApprovalSettled():
                    self._open_ends.pop(event.approval, None)
                case _:
                    pass

    @property
    def resident_folder(self) -> str:
        """The folder of whose agents a resident hub leaves the calls to its windows; empty: the hub is none."""
        from gshtui.client.linked_bus import LinkedBus

        is_resident = self.hub is not None and isinstance(self.hub.bus, LinkedBus)
        return str(self.opening.cwd) if is_resident else ""

    @property
    def conversation(self) -> str:
        """The conversation of this window's own agent; empty: none yet."""
        return self._session

    def cease(self) -> list[Event]:
        """Have nothing start any more: the person leaves. Gives the intents that no hub has had, it seems."""
        if self.hub is not None:
            self.hub.cease()
        overdue = [sent for sent in self._unheard if time.time() - sent.at > _OVERDUE]
        unheard, self._waiting = [*overdue, *self._waiting], []
        return unheard

    async def stop(self) -> bool:
        """Stop the hub in order, within `STOP_WITHIN` seconds. Returns whether a turn goes on without this window."""
        hub, self.hub = self.hub, None
        self._garbage.end()
        if self._replacing is not None:
            self._replacing.cancel()
        if self._subscription is not None:
            self._subscription.unsubscribe()
            self._subscription = None
        if hub is None:
            return False
        try:
            async with time_limit(STOP_WITHIN):
                await hub.stop()
        except TimeoutError:
            self.refused = f"The hub did not answer when the window closed. {ANEW}"
        return hub.goes_on

    def publish(self, event: Event) -> bool:
        """Publish an intent, now or as soon as the hub is up. False: there is no hub and will be none."""
        if not self._up.is_set():
            self._waiting.append(event)
            return True
        if self.hub is None or self.failed:
            return False
        self._tell(self.hub, event)
        return True

    def _tell(self, hub: WindowCalls, event: Event) -> None:
        if isinstance(event, PromptSubmitted):
            event = msgspec.structs.replace(event, at=event.at or time.time())
            self._unheard.append(event)
        hub.bus.publish(event)
        self._expect_answer(hub)

    def _expect_answer(self, hub: WindowCalls) -> None:
        if self._answer is None or self._answer.done():
            self._answer = asyncio.ensure_future(self._hear(hub))
            self.expecting(self._answer)

    async def _hear(self, hub: WindowCalls) -> None:
        """Wait until the hub has taken what was published; its record then has the prompts."""
        with contextlib.suppress(HubLost):
            while True:
                taken = len(self._unheard)
                await hub.drained()
                del self._unheard[:taken]
                if not self._unheard:
                    break

    async def run(self, line: str | Returns[object], *, ask: Ask | None = None) -> Outcome:
        """Run a line of the command language as the person, or a value.

        Args:
            ask: asks what the commands of a line ask before they act.

        Raises:
            NotReady: the hub did not start.
            gshtui.commands.declaration.CommandError: the command failed, or the line is not a command.
        """
        return await (await self.running()).run(line, ask=ask, front=self.front())

    async def call(self, parameters: Returns[R]) -> R:
        """Run a command by its parameters; gives its typed result. Raises as `run`."""
        return await (await self.running()).call(parameters, front=self.front())

    async def question(self, parameters: Returns[object]) -> Question | None:
        """The question to ask the person before running these; `None`: none. Raises as `run`."""
        return await (await self.running()).question(parameters, front=self.front())

    async def for_row(self, keys: Sequence[str], row: object) -> Sequence[Returns[object] | None]:
        """The call that each of these keys makes for a row of a pane; `None`: none, or there is no hub yet."""
        return await self.hub.for_row(keys, row) if self.hub is not None else [None] * len(keys)

    async def messages(self, session: str, before: int | None = None, limit: int = 200) -> Sequence[StoredMessage]:
        """The newest `limit` messages of a conversation before number `before`, in order. Raises `NotReady`."""
        return await (await self.running()).messages(session, before, limit)

    async def last_failure(self, session: str) -> TurnFinished | None:
        """How a conversation's last turn failed; `None`: it did not. Raises `NotReady`."""
        last = await (await self.running()).last_turn(session)
        return last if isinstance(last, TurnFinished) and last.error else None

    async def connected(self, agent: str) -> bool:
        """Whether an agent's own hub is linked to this window's hub: its events arrive, and prompts reach it."""
        return self.hub is not None and await self.hub.connected(agent)

    async def ran(self, session: str, after: float, before: float) -> Sequence[Ran]:
        """The commands run from a conversation's input line in a period, in order. Raises as `output`."""
        return await (await self.running()).ran(session, after, before)

    async def cuts(self, agent: str, session: str, after: float, before: float) -> Sequence[Receipt]:
        """The cuts of a conversation's context in a period that were not undone, in order. Raises `NotReady`."""
        from gshtui.commands.declaration import CommandError
        from gshtui.context.commands.view_calls import ReadReceipts

        try:
            made = (await self.call(ReadReceipts(agent=agent))).receipts
        except CommandError:  # no contexts here, so nothing in it was cut
            return ()
        wanted = (one for one in made if one.session == session and after <= one.at < before and not one.undone)
        return [one for one in wanted if one.kind != "truncate"]

    async def stop_command(self) -> bool:
        """Stop the newest running input-line command; returns whether there was one."""
        return self.hub is not None and await self.hub.stop_command()

    async def output(self, key: str) -> str:
        """The output of a command or call in the record.

        Raises:
            NotReady: the hub is not running.
            gshtui.store.engine.store_errors.StoreError: the record cannot be read.
        """
        return await (await self.running()).output(key)

    async def complete(self, line: str, cursor: int) -> Sequence[Completion]:
        """Completions at the cursor of a command line being typed; none while there is no hub."""
        return () if self.hub is None else await self.hub.complete(line, cursor)

    @property
    def commands(self) -> Mapping[str, CommandEntry]:
        """What can be run, by name; empty: nothing yet."""
        return self.hub.commands if self.hub is not None else {}

    @property
    def settings(self) -> Settings | None:
        """The settings; `None`: not loaded yet."""
        return self.hub.settings if self.hub is not None else None

    async def running(self) -> WindowCalls:
        """The hub, once it is running. Raises `NotReady`."""
        await self._up.wait()
        if self.hub is None or self.failed:
            raise NotReady(f"The workbench's hub is not running. {self.failed} `gsh-tui doctor` says what is missing.")
        self._expect_answer(self.hub)
        return self.hub

    async def _deliver(self, batch: Sequence[Event]) -> None:
        """Take a batch: show it at once if a frame is due, else let it wait for the next frame."""
        self._pending.extend(batch)
        loop = asyncio.get_running_loop()
        streamed = all(event.merge_key() is not None for event in batch)
        at = self._last_frame + 1 / (min(self.fps, STREAMED) if streamed else self.fps)
        if self._frame is None:
            self._frame = loop.create_future()
        if at <= loop.time():
            self._show()
        elif self._due is None or at < self._due.when():
            self._cancel_due()
            self._due = loop.call_at(at, self._show)
        if len(self._pending) > QUEUE:
            await self._drawn()  # the bus merges meanwhile

    def _cancel_due(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _show(self) -> None:
        self._cancel_due()
        frame, self._frame = self._frame, None
        pending, self._pending = self._pending, []
        self._last_frame = asyncio.get_running_loop().time()
        self._garbage.worked()
        try:
            self.feed(self._coalesced(pending))
        finally:
            if frame is not None and not frame.done():
                frame.set_result(None)

    def _coalesced(self, events: list[Event]) -> list[Event]:
        try:
            return coalesced(events)
        except Exception as error:  # an event's merge rule failed; the panes still get all events
            self._report("the window", events[-1], 0, error)
            return events

    async def shown(self) -> None:
        """Wait until everything published so far is shown."""
        if self.hub is not None:
            await self.hub.bus.drained()
        await self._drawn()

    async def _drawn(self) -> None:
        if self._frame is not None:
            await self._frame

    def feed(self, events: Sequence[Event]) -> None:
        """Give each consumer the events it wants. A failing consumer is reported and does not affect the others."""
        for consumer in self._consumers():
            batch = Batch(event for event in events if isinstance(event, consumer.CONSUMES))
            if not batch or ((breaker := self._breakers.get(consumer)) is not None and breaker.paused("")):
                continue
            while batch:
                try:
                    consumer.consume(batch)
                except Exception as error:
                    # It gets again the events that it has not read yet, never one that it has handled.
                    lost, batch = batch.after_failure()
                    self._failed(consumer, lost, error)
                else:
                    if breaker is not None:
                        breaker.succeeded("")
                    break

    def note_fault(self, fault: Fault, hint: str = "") -> None:
        """Have the hub record a fault that the window has shown; if the hub is not up yet, later."""
        self.publish(
            FaultReported(
                part=fault.part,
                doing=fault.doing,
                why=fault.why,
                file=fault.file,
                count=fault.count,
                hint=fault.hint or hint,
                shown=True,
                expected=fault.expected,
            )
        )

    def _failed(self, consumer: EventConsumer, lost: Sequence[Event], error: Exception) -> None:
        name = type(consumer).__name__
        self._report(name, lost[0], len(lost), error)
        breaker = self._breakers.setdefault(consumer, Breaker())
        if breaker.failed("") and self.hub is not None:
            text = f"{name} fails on every event and is paused for {breaker.rest:g} s."
            hint = "If this continues, close the window and open it again; agents keep running."
            self.hub.bus.publish(Noticed(level="warning", text=text, hint=hint, about="window"))

    def _report(self, name: str, event: Event, lost: int, error: Exception) -> None:
        if self.hub is None:
            return
        fault = self.hub.bus.faults.record(name, error, f"while it handled {type(event).__name__}")
        # A pane that cannot draw the report of its own failure must not receive it forever.
        if not isinstance(event, SubscriberFailed):
            self.hub.bus.publish(
                SubscriberFailed(
                    subscriber=name,
                    event=type(event).__name__,
                    why=fault.why,
                    lost=lost,
                    file=fault.file,
                    count=fault.count,
                )
            )
