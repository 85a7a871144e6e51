"""A fault in any handler of any widget costs that one message: the window stays, says so once, and the part goes on."""

import asyncio
import contextlib
import inspect
from collections import Counter
from functools import partial
from typing import Any

import pytest
from textual import events, message_pump, reactive, screen, timer
from textual.app import App, ComposeResult
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker, WorkerFailed

from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import FaultReported, Noticed, SubscriberFailed
from gshtui.bus.wire import EVENT_TYPES
from gshtui.system.faults import Breaker, Fault
from gshtui.ui.kit.textual import isolation
from gshtui.ui.kit.textual.app_base import AppBase
from tests.kit import fault_injection, recorded
from tests.kit.home import Home
from tests.kit.samples import sample
from tests.kit.window import Window

pytestmark = pytest.mark.faults


class Watched(Window):
    """A window that remembers which faults it said."""

    def __init__(self, **hub: Any) -> None:
        super().__init__(**hub)
        self.said: list[Fault] = []

    def say_fault(self, fault: Fault, hint: str = "") -> None:
        self.said.append(fault)
        super().say_fault(fault, hint)


async def standing(app: Window) -> None:
    """The window is built and has its hub."""
    while not app.isolation.standing:
        await alive(app)
    await app.workers.wait_for_complete()


async def alive(part: MessagePump) -> None:
    """The part handles the next message."""
    handled = asyncio.Event()
    assert part.call_later(handled.set), part
    async with asyncio.timeout(30):
        await handled.wait()


# Every handler


HANDLERS = fault_injection.handlers()


def test_handlers_are_found() -> None:
    kinds = Counter(handler.kind for handler in HANDLERS)
    assert kinds["message"] > 100 and kinds["action"] > 100 and kinds["watch"] >= 5
    owners = {handler.owner.__name__ for handler in HANDLERS}
    assert {"Workbench", "WorkbenchScreen", "PromptInput", "AgentsPane", "TerminalView", "InspectorPane"} <= owners


async def test_a_fault_in_every_handler_in_turn() -> None:
    app = Watched()
    async with app.run_test(size=(150, 45)) as pilot:
        await standing(app)
        app.feed(*recorded.STARTED, *recorded.TURN, *recorded.ASKED)
        await pilot.pause()
        blanks: dict[type[Any], Any] = {}
        for handler in HANDLERS:
            if handler.messages and handler.messages[0] in (events.Load, events.Unmount):
                continue  # the app's own beginning, and an end after which nothing can be handled
            if issubclass(handler.owner, App) and not isinstance(app, handler.owner):
                continue  # of another window
            part = next((one for one in live(app) if fault_injection.would_call(one, handler)), None)
            if part is None:
                part = blanks.get(handler.owner) or fault_injection.blank_widget(handler.owner)
                if handler.owner not in blanks and not isinstance(part, Screen):
                    await app.bench.mount(part)
                blanks[handler.owner] = part
                if isinstance(part, Screen):
                    await app.push_screen(part)
            app.said.clear()
            with fault_injection.break_handler(handler) as calls:
                await fault_injection.trigger_handler(handler, part, app)
                await alive(part)
                assert calls, f"{handler} was not called"
                ours = [fault for fault in app.said if f"Injected: {handler}" in fault.why]
                assert len(ours) == 1, (str(handler), app.said)
                assert ours[0].file
                await fault_injection.trigger_handler(handler, part, app)
                await alive(part)
                assert len(calls) > 1, f"{handler} was not called again"
                assert len([fault for fault in app.said if "Injected" in fault.why]) == 1
            assert app.is_running and app._exception is None
            if isinstance(part, Screen) and part is not app.bench:
                blanks.pop(handler.owner)
                await app.pop_screen()
        for part in blanks.values():
            await part.remove()
        # And the window is what it was: keys go where they went, events are shown.
        app.feed(*recorded.ANSWERED)
        app.bench.input.focus()
        await pilot.press("h", "i")
        assert app.bench.input.text == "hi"


def live(app: App[Any]) -> list[Any]:
    return [app, *(node for shown in app.screen_stack for node in shown.walk_children(with_self=True))]


async def test_every_handler_failing_at_its_first_call_at_once() -> None:
    """A storm: whatever a session of keys and events sets off fails the first time, and works the second."""
    app = Watched()
    async with app.run_test(size=(150, 45)) as pilot:
        await standing(app)
        with pytest.MonkeyPatch.context() as patch:
            failed = fail_first(patch)
            for _ in range(2):
                app.feed(*recorded.STARTED, *recorded.TURN, *recorded.ASKED, *recorded.ANSWERED)
                await pilot.press("a", "f6", "down", "up", "enter", "f6", "down", "end", "home", "f6", "pagedown", "f6")
                await pilot.press("f2", "escape", "f3", "escape", "ctrl+p", "escape", "f1", "escape", "tab", "escape")
                await pilot.pause()
                while len(app.screen_stack) > 1:  # two escapes that found nothing to leave offer the prompts
                    await pilot.press("escape")
                await pilot.click("#header")
                await pilot.resize_terminal(120, 35)
                await pilot.resize_terminal(150, 45)
                await pilot.pause()
        assert len(failed) > 30
        said = Counter(fault.why for fault in app.said if "Injected" in fault.why)
        assert said and set(said.values()) == {1}
        assert app.is_running and app._exception is None
        for part in live(app):
            await alive(part)


def fail_first(patch: pytest.MonkeyPatch) -> set[str]:
    failed: set[str] = set()
    for handler in HANDLERS:
        original = vars(handler.owner)[handler.name]
        if hasattr(original, "_textual_on") or handler.name in ("on_load", "on_ready", "on_unmount"):
            continue

        def first(self: Any, *arguments: Any, _named: str = str(handler), _original: Any = original) -> Any:
            if _named not in failed:
                failed.add(_named)
                raise fault_injection.new_fault(_named)
            count = isolation.message_pump.invoke and _original.__code__.co_argcount - 1
            return _original(self, *arguments[:count])

        patch.setattr(handler.owner, handler.name, first)
    return failed


# Consumers


async def test_every_event_that_a_consumer_fails_at_costs_that_event() -> None:
    app = Watched()
    async with app.run_test(size=(150, 45)) as pilot:
        await standing(app)
        await pilot.pause()
        assert app.hub is not None
        failures: list[SubscriberFailed] = []

        def listen(batch: Any) -> None:
            failures.extend(batch)

        app.hub.bus.subscribe(listen, SubscriberFailed, name="failures")
        tried = 0
        for consumer in list(app._consumers()):
            kind = type(consumer)
            original = kind.consume
            wanted = [event for event in EVENT_TYPES.values() if issubclass(event, consumer.CONSUMES)]
            for bad in wanted:
                if bad is SubscriberFailed:
                    continue
                other = next((event for event in wanted if event is not bad), bad)
                got: list[Event] = []

                def consume(self: Any, given: Any, *, _bad: Any = bad, _got: list[Event] = got) -> None:
                    for event in given:
                        if type(event) is _bad:
                            raise fault_injection.new_fault(_bad.__name__)
                        _got.append(event)

                failures.clear()
                kind.consume = consume  # type: ignore[method-assign]
                try:
                    mine = Only(app, consumer)
                    mine.feed(sample(other), sample(bad), sample(other))
                finally:
                    kind.consume = original  # type: ignore[method-assign]
                await app.hub.bus.drained()
                assert len(got) == (2 if other is not bad else 0), (kind, bad)
                ours = [failure for failure in failures if failure.subscriber == kind.__name__]
                assert {failure.event for failure in ours} == {bad.__name__}
                assert all(failure.file for failure in ours)
                tried += 1
                app.bridge._breakers.clear()
        assert tried > 60
        assert app.is_running
        app.feed(*recorded.STARTED, *recorded.TURN)


class Only:
    """The bridge with one consumer."""

    def __init__(self, app: Window, consumer: Any) -> None:
        self._app, self._consumer = app, consumer

    def feed(self, *given: Event) -> None:
        before = self._app.bridge._consumers
        self._app.bridge._consumers = lambda: [self._consumer]
        try:
            self._app.feed(*given)
        finally:
            self._app.bridge._consumers = before


async def test_a_consumer_that_always_fails_is_left_alone_for_a_while() -> None:
    app = Watched()
    async with app.run_test(size=(150, 45)):
        await standing(app)
        calls: list[int] = []

        def consume(given: Any) -> None:
            calls.append(len(given))
            raise fault_injection.new_fault("always")

        app.bench.header.consume = consume  # type: ignore[method-assign]
        only = Only(app, app.bench.header)
        for _ in range(100):
            only.feed(recorded.STARTED[0])
        assert len(calls) == 25


async def test_a_fault_of_the_hub_is_shown_once_and_counted() -> None:
    app = Window()
    async with app.run_test(size=(150, 45)) as pilot:
        await standing(app)
        for count in (1, 2, 10):
            app.feed(FaultReported(part="the mail", doing="at work", why="KeyError: 'x'", file="/f.log", count=count))
        app.feed(FaultReported(part="the turn", why="shown elsewhere", shown=True))
        await pilot.pause()
        words = [notice.message for notice in app._notifications]
        assert len(words) == 2
        assert words[0].startswith("The mail failed at work: KeyError: 'x'.")
        assert "(10 times so far)" in words[1]
        assert "/f.log" in words[0]


# What else runs in a window


class Small(AppBase):
    """A standing app of one widget."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def compose(self) -> ComposeResult:
        yield Part()

    def on_ready(self) -> None:
        self.isolation.stand()

    def say_fault(self, fault: Fault, hint: str = "") -> None:
        self.words.append(isolation.in_words(fault, hint))


class Part(Widget):
    """Fails on request."""

    level = reactive.reactive(0, init=False)
    can_focus = True

    class Poked(Message):
        """Fail."""

    def on_part_poked(self) -> None:
        raise ValueError("poked")

    def watch_level(self) -> None:
        raise ValueError("watched")

    def validate_level(self, level: int) -> int:
        if level < 0:
            raise ValueError("validated")
        return level

    def on_key(self) -> None:
        raise ValueError("key")

    def action_fail(self) -> None:
        raise ValueError("acted")


async def test_callbacks_timers_workers_tasks_and_actions() -> None:
    app = Small()
    async with app.run_test() as pilot:
        part = app.query_one(Part)
        ran: list[str] = []

        def fail(what: str) -> None:
            ran.append(what)
            raise type("ValueError", (ValueError,), {})(what)

        async def work() -> None:
            fail("worker")

        part.call_later(fail, "later")
        part.call_next(fail, "next")
        part.call_after_refresh(fail, "refreshed")
        part.call_after_refresh(ran.append, "refreshed too")
        part.set_timer(0.001, lambda: fail("timer"))
        part.run_worker(work(), exit_on_error=False)
        part.run_worker(work(), exit_on_error=True)
        part.refresh()
        with contextlib.suppress(WorkerFailed):
            await app.workers.wait_for_complete()
        await app.run_action("fail", part)
        part.level = 3  # the watcher fails, not who sets it
        part.focus()
        await pilot.press("x")
        part.call_later(setattr, part, "level", -1)
        task = asyncio.get_running_loop().create_task(work(), name="a task of ours")
        await asyncio.wait([task])
        del task
        async with asyncio.timeout(30):
            while not {"timer", "refreshed", "refreshed too"} <= set(ran) or len(app.words) < 9:
                await alive(part)
                await asyncio.sleep(0)
        said = " ".join(app.words)
        for what in ("later", "next", "refreshed", "timer", "worker", "acted", "watched", "key", "validated"):
            assert f"ValueError: {what}." in said, (what, app.words)
        assert part.level == 3
        assert app.is_running


async def test_a_timer_that_always_fails_is_left_alone_until_somebody_goes_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(isolation, "Breaker", partial(Breaker, clock=lambda: 0.0))  # however slow the machine is
    app = Small()
    async with app.run_test() as pilot:
        part = app.query_one(Part)
        ticks: list[int] = []

        def tick() -> None:
            ticks.append(1)
            raise ValueError("tick")

        part.call_later(part.set_interval, 0.001, tick)
        seen = asyncio.Event()
        part.set_interval(0.001, lambda: seen.set() if len(ticks) >= 25 else None)
        async with asyncio.timeout(30):
            await seen.wait()
        beats: list[int] = []
        part.set_interval(0.001, lambda: beats.append(1))
        async with asyncio.timeout(30):
            while len(beats) < 20:
                await alive(part)
        assert len(ticks) == 25
        assert any("paused for 30 s" in words for words in app.words)
        await pilot.press("x")
        async with asyncio.timeout(30):
            while len(ticks) < 26:
                await alive(part)


async def test_a_dialog_that_cannot_be_built_is_closed_and_said() -> None:
    class Broken(ModalScreen[None]):
        def compose(self) -> ComposeResult:
            raise ValueError("no dialog")
            yield Static()

    app = Small()
    async with app.run_test() as pilot:
        before = app.screen
        app.push_screen(Broken())
        await pilot.pause()
        assert app.screen is before
        assert any("ValueError: no dialog." in words for words in app.words)


async def test_a_window_that_cannot_be_built_ends(home: Home) -> None:
    class Unbuilt(Small):
        def compose(self) -> ComposeResult:
            raise ValueError("no window")
            yield Static()

    app = Unbuilt()
    with pytest.raises(ValueError, match="no window"):
        async with app.run_test():
            pass
    assert app.return_code == 1


async def test_a_pane_that_fails_while_the_window_is_built_does_not_end_it() -> None:
    class Early(Widget):
        def on_resize(self) -> None:
            raise ValueError("too early")

    class Building(Small):
        def compose(self) -> ComposeResult:
            yield Early()

    app = Building()
    async with app.run_test() as pilot:
        await pilot.pause()
        assert any("ValueError: too early." in words for words in app.words)
        await alive(app.query_one(Early))


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
async def test_what_ends_a_program_passes(error: type[BaseException]) -> None:
    async def handler() -> None:
        raise error

    app = Small()
    async with app.run_test():
        with pytest.raises(error):
            await isolation.invoke_isolated(handler)
    assert not app.words


async def test_a_password_is_no_part_of_a_report(home: Home) -> None:
    app = Small()
    async with app.run_test() as pilot:
        app.query_one(Part).focus()
        await pilot.press("Q")
        await pilot.pause()
    (report,) = home.state.glob("**/crash-*.log")
    assert "on a key" in report.read_text()
    assert "Q" not in report.read_text().split("Traceback")[0]
    assert report.stat().st_mode & 0o777 == 0o600


# The patches: each is still needed, and still where Textual looks


async def without(patch: pytest.MonkeyPatch, place: Any, name: str, original: Any) -> Small:
    app = Small()
    patch.setattr(place, name, original)
    return app


async def test_patch_of_message_pump_invoke(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler that fails must not keep Textual's own handlers of the same message from running."""
    ran: list[str] = []

    class Base(Widget):
        def on_part_poked(self) -> None:
            ran.append("base")

    class Below(Base):
        def on_part_poked(self) -> None:
            raise ValueError("below")

    async def poke() -> None:
        app = Small()
        async with app.run_test():
            below = Below()
            await app.screen.mount(below)
            below.post_message(Part.Poked())
            await alive(below)

    await poke()
    assert ran == ["base"]
    monkeypatch.setattr(isolation, "PATCHES", isolation.PATCHES[1:])
    monkeypatch.setattr(message_pump, "invoke", isolation.invoke)
    await poke()
    assert ran == ["base"]


async def test_patch_of_dispatch_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is raised around handlers must not end the widget's loop."""

    class Around(Widget):
        async def on_event(self, event: events.Event) -> None:
            if isinstance(event, events.Paste):
                raise ValueError("around")
            await super().on_event(event)

    async def paste() -> Small:
        app = Small()
        async with app.run_test():
            around = Around()
            await app.screen.mount(around)
            around.post_message(events.Paste("x"))
            await alive(around)
        return app

    assert len((await paste()).words) == 1
    monkeypatch.setattr(isolation, "PATCHES", tuple(p for p in isolation.PATCHES if p[1] != "_dispatch_message"))
    monkeypatch.setattr(MessagePump, "_dispatch_message", isolation._dispatch_message)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await paste()


async def test_patch_of_screen_invoke(monkeypatch: pytest.MonkeyPatch) -> None:
    """One callback after a refresh that fails must not take the others with it."""
    ran: list[str] = []

    def fail() -> None:
        raise ValueError("after refresh")

    async def refresh() -> None:
        app = Small()
        async with app.run_test() as pilot:
            app.screen._callbacks[:] = [(fail, app.screen), (lambda: ran.append("second"), app.screen)]
            app.screen.call_next(app.screen._invoke_and_clear_callbacks)
            await alive(app.screen)
            await pilot.pause()

    await refresh()
    assert ran == ["second"]
    monkeypatch.setattr(isolation, "PATCHES", tuple(p for p in isolation.PATCHES if p[0] is not screen))
    monkeypatch.setattr(screen, "invoke", isolation.invoke)
    await refresh()
    assert ran == ["second"]


async def test_patch_of_timer_invoke(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer's callback is named in the report, and can be left alone."""

    async def tick() -> str:
        app = Small()
        async with app.run_test():
            part = app.query_one(Part)
            ticking = part.set_interval(0.001, part.action_fail)
            async with asyncio.timeout(30):
                while not app.words:
                    await alive(part)
            ticking.stop()
            await alive(part)
        return app.words[0]

    assert (await tick()).startswith("The part failed in action_fail: ValueError: acted.")
    monkeypatch.setattr(isolation, "PATCHES", tuple(p for p in isolation.PATCHES if p[0] is not timer))
    monkeypatch.setattr(timer, "invoke", isolation.invoke)
    assert "in action_fail" not in await tick()


async def test_patch_of_invoke_watcher(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who sets a value is not told that its watcher fails."""

    async def set_it() -> None:
        app = Small()
        async with app.run_test():
            app.query_one(Part).level = 7

    await set_it()
    monkeypatch.setattr(isolation, "PATCHES", tuple(p for p in isolation.PATCHES if p[1] != "invoke_watcher"))
    monkeypatch.setattr(reactive, "invoke_watcher", isolation._invoke_watcher)
    with pytest.raises(ValueError, match="watched"):
        await set_it()


async def test_patch_of_worker_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that nobody waits for is said."""

    async def work() -> None:
        raise ValueError("worked")

    async def run_it() -> list[str]:
        app = Small()
        async with app.run_test():
            app.run_worker(work(), exit_on_error=False)
            with pytest.raises(Exception, match="worked"):
                await app.workers.wait_for_complete()
        return app.words

    assert "ValueError: worked." in " ".join(await run_it())
    monkeypatch.setattr(isolation, "PATCHES", tuple(p for p in isolation.PATCHES if p[0] is not Worker))
    monkeypatch.setattr(Worker, "run", isolation._run_worker)
    assert await run_it() == []


@pytest.mark.parametrize("exits", [True, False])
async def test_a_worker_may_find_nothing_any_more_in_a_window_that_is_closed(exits: bool) -> None:
    gone = asyncio.Event()
    found: list[object] = []

    class Leaving(Part):
        def on_unmount(self) -> None:
            gone.set()

    class Window(Small):
        def compose(self) -> ComposeResult:
            yield Leaving()

    async def work(bench: Screen[object]) -> None:
        await gone.wait()
        while True:
            found.append(bench.query_one(Leaving))
            await asyncio.to_thread(int)

    app = Window()
    async with app.run_test():
        app.run_worker(work(app.screen), exit_on_error=exits)
    assert gone.is_set() and app.words == []


async def test_patch_of_worker_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """The coroutine of a worker that was cancelled before its first step is closed; the one in its place runs."""
    ran: list[int] = []

    async def work(number: int) -> None:
        ran.append(number)

    async def replace() -> str:
        app, first, second = Small(), work(1), work(2)
        async with app.run_test():
            app.run_worker(first, exit_on_error=False, exclusive=True)
            await app.run_worker(second, exit_on_error=False, exclusive=True).wait()
        state = inspect.getcoroutinestate(first)
        first.close()
        return state

    assert await replace() == inspect.CORO_CLOSED and ran == [2]
    monkeypatch.setattr(isolation, "PATCHES", tuple(p for p in isolation.PATCHES if p[1] != "_start"))
    monkeypatch.setattr(Worker, "_start", isolation._start_worker)
    assert await replace() == inspect.CORO_CREATED


async def test_patch_of_handle_exception() -> None:
    """Where Textual gives up by itself, a standing window goes on."""
    app = Small()
    async with app.run_test():
        app._handle_exception(ValueError("layout"))
        await alive(app)
        assert "ValueError: layout." in app.words[0]
    assert app._exception is None


async def test_patch_of_dispatch_action() -> None:
    """An action that fails is named, and counts as done."""
    app = Small()
    async with app.run_test():
        assert await app._dispatch_action(app.query_one(Part), "fail", ())
        assert app.words[0].startswith("The part failed in the action fail: ValueError: acted.")


def test_an_app_that_is_not_ours_is_not_touched() -> None:
    isolation.install()
    assert set(isolation.PATCHES[0]) and not issubclass(App, isolation.IsolatingApp)
    for place, name, ours in isolation.PATCHES:
        assert getattr(place, name) is ours, (place, name)


def test_a_notice_has_the_words() -> None:
    text = isolation.in_words(Fault("the shell pane", "on a key", "ValueError: no", "/l/crash.log"))
    assert text == (
        "The shell pane failed on a key: ValueError: no. Try again, or close and reopen "
        "this part. The details are in /l/crash.log."
    )
    assert Noticed(text=text).text == text
