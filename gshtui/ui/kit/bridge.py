"""The only door between the bus and Textual: starts the hub after the first frame, feeds panes, carries intents.

Owns the window's hub and the pace of events to widgets: one frame's worth at a time, consecutive events with the
same merge key as one, and nothing while nothing happens. Holds no conversation state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar, runtime_checkable
from weakref import WeakKeyDictionary

from gshtui.bus.bus import Subscription, WhenFull
from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import FaultReported, Noticed, QuitRequested, SubscriberFailed
from gshtui.bus.events.session_events import SessionClosed
from gshtui.bus.shell_data import Ran
from gshtui.bus.shell_rows import Filter, Span
from gshtui.bus.subscription import Batch, fold_events
from gshtui.system.faults import Breaker, Fault
from gshtui.system.tasks import report_unexpected
from gshtui.system.time_limit import time_limit
from gshtui.ui.kit.garbage_collector import GarbageCollector
from gshtui.ui.kit.hub_port import HubPort, MakeHub, OpenRequest, Result, Stored

if TYPE_CHECKING:
    from gshtui.bus.context_data import Receipt
    from gshtui.commands.completion import Completion
    from gshtui.commands.declaration import Question, Returns
    from gshtui.commands.evaluation import Ask
    from gshtui.commands.registry import Registry
    from gshtui.settings.model import Settings

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
QUEUE = 5_000


class NotReady(Exception):
    """The hub is not running; the text says why and what to do."""


class Bridge:
    """One window's door to its hub."""

    def __init__(
        self, opening: OpenRequest, make_hub: MakeHub, consumers: Callable[[], Iterable[EventConsumer]]
    ) -> None:
        self.opening = opening
        self.hub: HubPort | None = None
        self.failed = ""
        """Why the hub did not start; empty: it did, or has not tried yet."""
        self.fps = FPS
        self.front: Callable[[], str] = str
        """The agent of the tab in front, to which what a person runs applies; calls of code name theirs."""
        self._make_hub = make_hub
        self._consumers = consumers
        self._waiting: list[Event] = []
        self._subscription: Subscription | None = None
        self._up = asyncio.Event()
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
            hub = await self._make_hub(self.opening)
            self._subscription = hub.bus.subscribe(self._deliver, name="window", limit=QUEUE, when_full=WhenFull.MERGE)
            self.hub = hub
            hub.bus.subscribe(lambda _: hub.cease(), QuitRequested, name="leaving")  # not a frame later
            await hub.start()
            waiting, self._waiting = self._waiting, []
            for event in waiting:
                hub.bus.publish(event)
        except Exception as error:
            report_unexpected("the start of the hub", error)
            self.failed = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        finally:
            self._up.set()
            self._garbage.begin()

    async def running(self) -> HubPort:
        """The hub, once it is running. Raises `NotReady`."""
        return await self._running()

    def cease(self) -> list[Event]:
        """Have nothing start any more: the person leaves. Gives the intents that no hub has had."""
        if self.hub is not None:
            self.hub.cease()
        unheard, self._waiting = self._waiting, []
        return unheard

    async def stop(self) -> None:
        """Stop the hub in order, within `STOP_WITHIN` seconds."""
        hub, self.hub = self.hub, None
        self._garbage.end()
        if self._subscription is not None:
            self._subscription.unsubscribe()
            self._subscription = None
        if hub is not None:
            async with time_limit(STOP_WITHIN):
                await hub.stop()

    def publish(self, event: Event) -> bool:
        """Publish an intent, now or as soon as the hub is up. False: there is no hub and will be none."""
        if not self._up.is_set():
            self._waiting.append(event)
            return True
        if self.hub is None or self.failed:
            return False
        self.hub.bus.publish(event)
        return True

    async def run(self, line: str | Returns[object], *, ask: Ask | None = None) -> Result:
        """Run a line of the command language as the person, or a value.

        Args:
            ask: asks what the commands of a line ask before they act.

        Raises:
            NotReady: the hub did not start.
            gshtui.commands.declaration.CommandError: the command failed, or the line is not a command.
        """
        return await (await self._running()).run(line, ask=ask, front=self.front())

    async def split_line(self, line: str) -> list[str]:
        """The parts of a line that `;` and new lines separate. Raises as `run`."""
        return (await self._running()).split_line(line)

    async def call(self, parameters: Returns[R]) -> R:
        """Run a command by its parameters; gives its typed result. Raises as `run`."""
        return await (await self._running()).call(parameters)

    async def question(self, parameters: Returns[object]) -> Question | None:
        """The question to ask the person before running these; `None`: none. Raises as `run`."""
        return await (await self._running()).question(parameters, front=self.front())

    async def bound(self, line: str) -> Returns[object] | None:
        """The parameters that a line stands for; `None`: its command has none. Raises as `run`."""
        return (await self._running()).bound(line)

    async def opens(self, line: str) -> str:
        """The picker that a line opens here; empty: none. Raises `NotReady`."""
        return (await self._running()).opens(line)

    def for_row(self, key: str, row: object) -> Returns[object] | None:
        """The call that a pane's key makes for a row; `None`: none, or there is no hub yet."""
        return self.hub.for_row(key, row) if self.hub is not None else None

    async def messages(self, session: str, before: int | None = None, limit: int = 200) -> Sequence[Stored]:
        """The newest `limit` messages of a conversation before number `before`, in order. Raises `NotReady`."""
        return await (await self._running()).messages(session, before=before, limit=limit)

    async def newer_messages(self, session: str, after: int) -> Sequence[Stored]:
        """The messages of a conversation behind number `after`, in order. Raises `NotReady`."""
        return await (await self._running()).newer_messages(session, after)

    def connected(self, agent: str) -> bool:
        """Whether an agent's own process is linked to this window's hub: its events arrive, and prompts reach it."""
        return self.hub is not None and self.hub.connected(agent)

    async def ran(self, session: str, after: float, before: float) -> Sequence[Ran]:
        """The commands run from a conversation's input line in a period, in order. Raises as `shell_rows`."""
        log = (await self._running()).shell_log
        return () if log is None else await log.runs.between(session, after, before)

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

    def stop_command(self) -> bool:
        """Stop the newest running input-line command; returns whether there was one."""
        log = self.hub.shell_log if self.hub is not None else None
        return log is not None and log.by_hand.stop()

    async def shell_rows(self, wanted: Filter, start: int, limit: int) -> Span | None:
        """Rows of the shell log, see `ShellTables.rows`; `None`: there is no record.

        Raises:
            NotReady: the hub is not running.
            gshtui.store.store_errors.StoreError: the record cannot be read.
        """
        shells = (await self._running()).shell_rows
        return None if shells is None else await shells.rows(wanted, start, limit)

    async def output(self, key: str) -> str:
        """The output of a command or call in the record. Raises as `shell_rows`."""
        shells = (await self._running()).shell_rows
        return "" if shells is None else await shells.output(key)

    async def note(self, text: str, cwd: str) -> None:
        """Store a note in the shell log.

        Raises:
            NotReady: there is no hub, or no log.
            gshtui.store.store_errors.StoreError: the record cannot be written.
        """
        log = (await self._running()).shell_log
        if log is None:
            raise NotReady("No shell log here: that part did not start.")
        await log.add_note(text, cwd or str(self.opening.cwd))

    async def complete(self, line: str, cursor: int) -> Sequence[Completion]:
        """Completions at the cursor of a command line being typed; none while there is no hub."""
        if self.hub is None:
            return ()
        from gshtui.commands.completion import complete
        from gshtui.commands.declaration import Caller

        return await complete(self.hub.registry, self.hub.invocation(Caller(), None), line, cursor)

    async def prompts(self) -> Sequence[str]:
        """Earlier prompts of this folder, newest first. Raises `NotReady`."""
        prompts = (await self._running()).sent_prompts
        return () if prompts is None else await prompts.find_all(str(self.opening.cwd), limit=1_000)

    async def keep_prompt(self, text: str) -> None:
        """Store a sent text in the input's history. Raises `NotReady`."""
        if (prompts := (await self._running()).sent_prompts) is not None:
            await prompts.add(str(self.opening.cwd), text)

    @property
    def registry(self) -> Registry | None:
        """The command registry; `None`: none yet."""
        return self.hub.registry if self.hub is not None else None

    @property
    def settings(self) -> Settings | None:
        """The settings; `None`: not loaded yet."""
        return self.hub.settings if self.hub is not None else None

    async def _running(self) -> HubPort:
        await self._up.wait()
        if self.hub is None or self.failed:
            raise NotReady(f"The workbench's hub is not running. {self.failed} `gsh-tui doctor` says what is missing.")
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
        self._garbage.worked(left=any(isinstance(event, SessionClosed) for event in pending))
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
                part=fault.part, doing=fault.doing, why=fault.why, file=fault.file, count=fault.count,
                hint=fault.hint or hint, shown=True, expected=fault.expected,
            )
        )  # fmt: skip

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
                    subscriber=name, event=type(event).__name__, why=fault.why, lost=lost, file=fault.file,
                    count=fault.count,
                )
            )  # fmt: skip
