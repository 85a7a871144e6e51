"""A fault in every subscriber, every background task and every part of a real hub: the hub says so and goes on."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import PromptSubmitted, TurnFinished
from gshtui.bus.events.hub_events import (
    FaultReported,
    HubStarted,
    HubStopped,
    PartFailed,
    PartStarted,
    SubscriberFailed,
)
from gshtui.bus.events.shell_events import ShellCommandStarted, ShellRecorded
from gshtui.bus.letter import Letter
from gshtui.bus.wire import EVENT_TYPES
from gshtui.fleet.mail.transports import MailTransports
from gshtui.hub import composition
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load
from gshtui.shell.hub_listener import HubConnection
from gshtui.shell.log.connection_hosts import ShellConnections
from gshtui.system import tasks
from gshtui.system.ids import new_id
from tests.kit.home import Home
from tests.kit.samples import sample
from tests.kit.scripted_provider import Recorder

pytestmark = pytest.mark.faults

PARTS = ("store", "guard", "socket", "providers", "agents", "fleet", "shell")


class Fault(Exception):
    """The fault."""


class Here:
    """A started hub and what it published."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.recorder = Recorder(hub.bus)

    async def answers(self) -> bool:
        """Whether a prompt gets its turn."""
        waiting = self.hub.bus.wait_for(TurnFinished, timeout=60)
        self.hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text="what failed?"))
        return (await waiting).stop == "end"


Open = Callable[..., Awaitable[Here]]


@pytest.fixture
async def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Open]:
    monkeypatch.setattr(tasks, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr(tasks, "LONGEST_PAUSE", 0.0)
    hubs: list[Hub] = []

    async def make() -> Here:
        cwd = tmp_path / "project"
        cwd.mkdir(exist_ok=True)
        here = Here(build_hub(HubOptions(cwd=cwd, loaded=load(cwd))))
        hubs.append(here.hub)
        await here.hub.start()
        await here.hub.bus.drained()
        return here

    yield make
    for made in hubs:
        await made.stop()


async def test_every_subscriber_failing_in_turn(opened: Open) -> None:
    here = await opened()
    bus = here.hub.bus
    known = [(one, kinds) for one, kinds in bus._subscriptions.items() if one.name != "recorder"]
    names = {one.name for one, _ in known}
    assert {"agent main", "journal", "fleet", "mail", "log"} <= names
    for subscription, kinds in known:
        wanted = [kind for kind in EVENT_TYPES.values() if not kinds or issubclass(kind, kinds)]
        kind = next(one for one in wanted if one not in (SubscriberFailed, FaultReported))
        original, calls = subscription._handler, list[Event]()

        def broken(batch: Any, calls: list[Event] = calls, name: str = subscription.name) -> None:
            for event in batch:
                calls.append(event)
                if len(calls) == 1:
                    raise Fault(name)

        subscription._handler = broken
        bus.publish(sample(kind))
        bus.publish(sample(kind))
        await bus.drained()
        subscription._handler = original
        assert len(calls) >= 2, subscription.name
        ours = [event for event in here.recorder.of(SubscriberFailed) if event.why == f"Fault: {subscription.name}"]
        assert [(event.subscriber, event.event, event.lost) for event in ours] == [
            (subscription.name, kind.__name__, 1)
        ]
        assert Path(ours[0].file).exists()
    assert await here.answers()


async def test_every_duty_failing_in_turn(opened: Open) -> None:
    """Whatever a duty waits for raises: it is reported under the duty's name, and the duty is begun again."""
    here = await opened()
    duties = {task.get_name(): task for task in asyncio.all_tasks() if is_duty(task)}
    assert {
        "the agent main",
        "the delivery of mail",
        "the watch on agents",
        "the shell log",
        "the record's writer",
    } <= set(duties)
    assert {"the log", "the intake of shells", "the keeping of changes of files"} <= set(duties)
    failed: set[str] = set()
    for name, task in duties.items():
        await here.hub.bus.drained()
        assert here.hub.store is not None
        await here.hub.store.prompts.add("/", name)  # once this is kept, the record has nothing to write
        for _ in range(200):
            waiting = getattr(task, "_fut_waiter", None)
            if type(waiting) is asyncio.Future and not waiting.done():
                break
            await asyncio.sleep(0)
        else:
            continue  # it waits for a thread or another task just now
        told = here.hub.bus.wait_for(FaultReported, lambda event, n=name: event.part == n, timeout=60)
        waiting = getattr(task, "_fut_waiter", None)
        if waiting is None or waiting.done():
            told.cancel()
            continue
        waiting.set_exception(Fault(name))
        event = await told
        assert event.why == f"Fault: {name}"
        assert Path(event.file).exists()
        assert not task.done(), name
        failed.add(name)
    assert len(failed) >= len(duties) - 3, set(duties) - failed
    assert await here.answers()
    assert not [name for name, task in duties.items() if task.done()]


def _named(name: str, event: FaultReported) -> bool:
    return event.part == name


def is_duty(task: asyncio.Task[Any]) -> bool:
    code = getattr(task.get_coro(), "cr_code", None)
    return code is tasks._again.__code__


async def test_no_task_of_a_hub_is_unsupervised(opened: Open) -> None:
    before = asyncio.all_tasks()
    here = await opened()
    await here.answers()
    ours = [
        task
        for task in asyncio.all_tasks() - before
        if "gshtui" in getattr(getattr(task.get_coro(), "cr_code", None), "co_filename", "")
    ]
    kinds = {task.get_coro().cr_code.co_qualname for task in ours}  # type: ignore[union-attr]
    assert kinds <= {"_again", "_once", "Subscription._serve"}, kinds


@pytest.mark.parametrize("part", PARTS)
async def test_a_part_that_fails_at_its_start(part: str, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> None:
        raise Fault(part)

    monkeypatch.setitem(composition.PARTS, part, broken)
    here = await opened()
    ours = next(event for event in here.recorder.of(PartFailed) if event.part == part)
    assert ours.why == f"Fault: {part}"
    assert "crash-" in ours.hint
    others = {"store", "guard", "providers"} - {part}
    assert others <= {event.part for event in here.recorder.of(PartStarted)}
    assert here.recorder.of(HubStarted)
    assert part in here.hub.failed
    assert (await here.hub.run("help")).text


async def test_steps_between_the_parts_may_fail(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise Fault("between")

    monkeypatch.setattr("gshtui.hub.hub.BranchWatch.read_branch", broken)
    here = await opened()
    assert here.hub.failed.keys() == {"git branch"}
    assert await here.answers()


async def test_every_end_failing_at_once(opened: Open, home: Home) -> None:
    here = await opened()
    parts = here.hub.parts
    stopped: list[str] = []

    def failing(name: str, stop: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        async def fail() -> None:
            await stop()
            stopped.append(name)
            raise Fault(name)

        return fail

    names = [name for name, _ in parts._stops]
    parts._stops[:] = [(name, failing(name, stop)) for name, stop in parts._stops]
    await here.hub.stop()
    assert stopped == names[::-1]
    assert here.recorder.of(HubStopped)
    said = {event.part: event.why for event in here.recorder.of(PartFailed)}
    assert said == {name: f"it failed while stopping: Fault: {name}" for name in names}
    assert here.hub.store is not None
    assert len(list(home.state.glob("**/crash-*.log"))) == len(set(names))
    left = [task for task in asyncio.all_tasks() if is_duty(task) and not task.done()]
    assert not left, left


async def test_a_line_at_which_the_hub_fails_costs_that_line(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the shells' socket: the next line of the same connection is taken."""
    here = await opened()
    assert here.hub.shell_log is not None
    original, taken = ShellConnections.handle_event, list[str]()

    def take(self: ShellConnections, connection: HubConnection, event: Event, number: int) -> None:
        taken.append(type(event).__name__)
        if len(taken) == 1:
            raise Fault("line")
        original(self, connection, event, number)

    monkeypatch.setattr(ShellConnections, "handle_event", take)
    async with asyncio.timeout(30):
        while not here.hub.shell_log.listens:  # noqa: ASYNC110  # nothing says so
            await asyncio.sleep(0)
        _, writer = await asyncio.open_unix_connection(str(here.hub.shell_log._lease.path))
        told = here.hub.bus.wait_for(ShellRecorded, timeout=60)
        writer.write(json.dumps({"hello": "shell", "pid": os.getpid()}).encode() + b"\n")
        for number in (1, 2):
            event = ShellCommandStarted(
                shell="s1", number=number, command=f"true {number}", cwd="/", at=time.time(), pid=os.getpid()
            )
            writer.write(wire.encode(event))
        await writer.drain()
        record = (await told).record
    assert (record.command, taken) == ("true 2", ["ShellCommandStarted", "ShellCommandStarted"])
    (event,) = [one for one in here.recorder.of(FaultReported) if one.why == "Fault: line"]
    assert Path(event.file).exists()
    writer.transport.abort()


async def test_mail_that_cannot_be_delivered_keeps_nobody_elses_from_being(opened: Open) -> None:
    here = await opened()
    assert here.hub.store is not None
    original = MailTransports.route
    failed = asyncio.Event()

    async def route(self: MailTransports, letter: Any) -> Any:
        if letter.recipient == "nobody":
            failed.set()
            raise Fault("route")
        return await original(self, letter)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MailTransports, "route", route)
        session = here.hub.session_of("main")
        told = here.hub.bus.wait_for(TurnFinished, timeout=60)
        await here.hub.store.mail.add(Letter(id="l1", sender="person", recipient="nobody", text="x"))
        await here.hub.store.mail.add(
            Letter(id="l2", sender="person", recipient="main", session=session, text="what failed?")
        )
        async with asyncio.timeout(30):
            await failed.wait()
            await told
    assert [event.part for event in here.recorder.of(FaultReported)] == ["the mail for nobody"]
