"""A fault in a handler, callback, watcher, action, timer or worker costs that one message, and never the window.

Owns the places where Textual runs such code (`PATCHES`, each held by a test): there, and nowhere else, a fault is
caught, written down, said once, and the part goes on. Textual's own widgets are covered as ours are. What fails again
and again is left alone for a while. Refuses to catch anything before the window stands: one that cannot be built is
none.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, cast
from weakref import WeakKeyDictionary

from textual import events, message_pump, reactive, screen, timer
from textual._context import active_app, active_message_pump
from textual.app import App
from textual.css.query import NoMatches
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import Worker, WorkerFailed

from gshtui.system.faults import Breaker, Fault, FaultLog

_LIFE = (
    events.Compose,
    events.Mount,
    events.Unmount,
    events.Show,
    events.Hide,
    events.Resize,
    events.Focus,
    events.Blur,
    events.InputEvent,
)
"""What is never left out: the life of a widget, and what a person does."""
_BUILDS = (events.Compose, events.Mount)
"""Without which a widget is none."""
_GOES_THERE = (events.Focus, events.InputEvent)
"""What starts a part again that was left alone."""

invoke = message_pump.invoke
"""Textual's own."""


class Isolation:
    """What one window has caught, and what it leaves alone for now."""

    def __init__(self, log: FaultLog, say: Callable[[Fault, str], None], late: Callable[[Exception], None]) -> None:
        """`say(fault, hint)` tells the person; `late(error)` takes a fault of a window that is closing."""
        self.standing = False
        """The window is built: from now on no fault ends it. Before that, those do without which there is no window."""
        self.closing = False
        """Nobody will see a notice any more."""
        self._log = log
        self._say = say
        self._late = late
        self._unsaid: list[tuple[Fault, str]] = []
        """What failed before there was a window to say it in."""
        self._breakers: WeakKeyDictionary[MessagePump, Breaker] = WeakKeyDictionary()

    def stand(self) -> None:
        """The window is built."""
        self.standing = True
        unsaid, self._unsaid = self._unsaid, []
        for fault, hint in unsaid:
            self._say(fault, hint)

    def caught(
        self, part: object, doing: str, error: Exception, hint: str = "", *, shown: bool = False, vital: bool = False
    ) -> bool:
        """Write a fault down and say it, unless it is `shown` where it happened.

        False: it is `vital`, or the app's own, and the window does not stand yet: without this it is none.
        """
        if not self.standing and (vital or isinstance(part, App)):
            return False
        fault = self._log.record(name_of(part), error, doing)
        if self.closing:
            self._late(error)
        elif (fault.message or hint) and not shown and not _shows_notices(part):
            if self.standing:
                self._say(fault, hint)
            else:
                self._unsaid.append((fault, hint))
        return True

    def rests(self, owner: MessagePump, what: str, message: object) -> bool:
        """Whether this is left out now, because it has failed again and again."""
        breaker = self._breakers.get(owner) if self._breakers else None
        if breaker is None:
            return False
        if isinstance(message, _GOES_THERE):
            breaker.resume()
        return not isinstance(message, _LIFE) and breaker.paused(what)

    def succeeded(self, owner: MessagePump, what: str) -> None:
        """It has run to its end."""
        if self._breakers and (breaker := self._breakers.get(owner)) is not None:
            breaker.succeeded(what)

    def failed(self, owner: MessagePump, what: str, message: object, error: Exception) -> bool:
        """A handler or callback of `owner` raised. False: as `caught`."""
        named = what.rpartition(".")[2].strip("_")
        doing = (
            f"on {what_of(message)}" if isinstance(message, Message) else f"in {named}" if named.isidentifier() else ""
        )
        hint = ""
        if not isinstance(message, _LIFE):
            breaker = self._breakers.get(owner)
            if breaker is None:
                breaker = self._breakers[owner] = Breaker()
            if breaker.failed(what):
                hint = f"It fails every time and is paused for {breaker.rest:g} s; moving to it resumes it at once."
        return self.caught(owner, doing, error, hint, vital=isinstance(message, _BUILDS))


class IsolatingApp(App[int]):
    """An app with an `Isolation`. Making one changes Textual, for this kind of app only."""

    isolation: Isolation

    def isolate(self, log: FaultLog) -> None:
        """Set up; called once, before the app runs."""
        install()
        self.isolation = Isolation(log, self.say_fault, self._keep_late)

    def say_fault(self, fault: Fault, hint: str = "") -> None:
        """Tell the person that a part failed and goes on."""
        self.notify(in_words(fault, hint), severity="error", markup=False, timeout=12)

    def _keep_late(self, error: Exception) -> None:
        if self._exception is None:
            self._exception = error

    async def _shutdown(self) -> None:
        self.isolation.closing = True
        await super()._shutdown()

    def _handle_exception(self, error: Exception) -> None:
        # Where Textual itself gives up: a layout, a screen's frame, a `compose`, a worker that may end the app.
        if isinstance(error, WorkerFailed) and self.isolation.standing:
            return  # reported where it was raised
        owner = active_message_pump.get(self)
        if not self.is_running or not self.isolation.caught(owner, "while it was shown", error, vital=True):
            super()._handle_exception(error)
        elif isinstance(owner, Screen) and not owner.is_mounted and self.screen is owner and len(self.screen_stack) > 1:
            self.call_later(self.pop_screen)  # a dialog that cannot be built

    async def _dispatch_action(self, namespace: Any, action_name: str, params: Any) -> bool:
        try:
            return await super()._dispatch_action(namespace, action_name, params)
        except Exception as error:
            if not self.isolation.caught(namespace, f"in the action {action_name}", error):
                raise
            return True


def in_words(fault: Fault, hint: str = "") -> str:
    """One or two sentences: what failed, what to do, where the details are."""
    often = "" if fault.count == 1 else f" ({fault.count} times so far)"
    goes_on = hint or "Try again, or close and reopen this part."
    part = fault.part[:1].upper() + fault.part[1:]
    return f"{part} failed {fault.doing}".rstrip() + f"{often}: {fault.why}. {goes_on} {fault.details}".rstrip()


def name_of(part: object) -> str:
    """What a person calls it: the name of its class in words."""
    if isinstance(part, str):
        return part
    if isinstance(part, App):
        return "the window"
    return "the " + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", type(part).__name__.lstrip("_")).lower()


def what_of(message: Message) -> str:
    """What a message is, without anything that it carries: a key may be a letter of a password."""
    if isinstance(message, events.Key):
        return "a key"
    kind = type(message)
    outer = kind.__qualname__.rpartition(".")[0].rpartition(".")[2]
    name = f"{outer}.{kind.__name__}" if outer and outer != "<locals>" else kind.__name__
    return f"a message ({name})"


# The patches


async def invoke_isolated(callback: Callable[..., Any], *params: Any) -> Any:
    """In place of `textual._callback.invoke`, wherever Textual runs a handler, a callback or a timer."""
    app = active_app.get(None)
    if not isinstance(app, IsolatingApp):
        return await invoke(callback, *params)
    owner, what = _owner(callback, app)
    message = params[0] if params else None
    isolation = app.isolation
    if isolation.rests(owner, what, message):
        return None
    try:
        result = await invoke(callback, *params)
    except Exception as error:
        if not isolation.failed(owner, what, message, error):
            raise
        if isinstance(message, events.InputEvent):
            # What a person did is not taken for something else; keys that move about still work.
            message.prevent_default()
            if not isinstance(message, events.Key) or message.is_printable:
                message.stop()
        return None
    isolation.succeeded(owner, what)
    return result


_dispatch_message = MessagePump._dispatch_message  # pyright: ignore[reportPrivateUsage]


async def _dispatch_isolated(self: MessagePump, message: Message) -> None:
    """In place of `MessagePump._dispatch_message`: what is raised there ends the widget's loop, and the app."""
    try:
        await _dispatch_message(self, message)
    except Exception as error:
        app = active_app.get(None)
        vital = isinstance(message, _BUILDS)
        if not isinstance(app, IsolatingApp) or not app.isolation.caught(
            self, f"on {what_of(message)}", error, vital=vital
        ):
            raise


_invoke_watcher = reactive.invoke_watcher


def _invoke_watcher_isolated(
    watcher_object: Any, watch_function: Callable[..., Any], old_value: object, value: object
) -> None:
    """In place of `textual.reactive.invoke_watcher`: a watcher that fails costs whoever set the value nothing."""
    try:
        _invoke_watcher(watcher_object, watch_function, old_value, value)
    except Exception as error:
        app = active_app.get(None)
        what = f"in {getattr(watch_function, '__name__', 'a watcher')}"
        if not isinstance(app, IsolatingApp) or not app.isolation.caught(watcher_object, what, error):
            raise


_run_worker: Callable[[Worker[Any]], Awaitable[Any]] = Worker.run  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


async def _run_worker_isolated(self: Worker[Any]) -> Any:
    """In place of `Worker.run`: a worker that fails is said, also where nobody waits for it."""
    try:
        return await _run_worker(self)
    except Exception as error:
        app = active_app.get(None)
        if isinstance(app, IsolatingApp):
            if isinstance(error, NoMatches) and not app.is_running:
                return None  # the window was closed while it waited, so the widgets that it is about are gone
            app.isolation.caught(self.node, f"in the background ({self.group or self.name})", error)
        raise


_start_worker = Worker._start  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType, reportUnknownVariableType]


def _start_worker_closing(
    self: Worker[Any], app: App[Any], done_callback: Callable[[Worker[Any]], None] | None = None
) -> None:
    """In place of `Worker._start`: of a worker that is cancelled before its first step, its coroutine is closed."""
    _start_worker(self, app, done_callback)
    worker = cast("Any", self)
    task: asyncio.Task[Any] | None = worker._task
    if task is not None and isinstance(worker._work, Coroutine):
        task.add_done_callback(lambda _: worker._work.close())


PATCHES: tuple[tuple[Any, str, Any], ...] = (
    (message_pump, "invoke", invoke_isolated),
    (screen, "invoke", invoke_isolated),
    (timer, "invoke", invoke_isolated),
    (MessagePump, "_dispatch_message", _dispatch_isolated),
    (reactive, "invoke_watcher", _invoke_watcher_isolated),
    (Worker, "run", _run_worker_isolated),
    (Worker, "_start", _start_worker_closing),
)
"""Every change of Textual: where, the name there, what stands in its place."""


def install() -> None:
    """Make the changes, once in a process. An app that is no `IsolatingApp` behaves as before."""
    for place, name, ours in PATCHES:
        setattr(place, name, ours)


def _owner(callback: Callable[..., Any], app: App[Any]) -> tuple[MessagePump, str]:
    """Whose handler this is, and its name."""
    while isinstance(callback, partial):
        callback = callback.func
    owner = getattr(callback, "__self__", None)
    if not isinstance(owner, MessagePump):
        owner = active_message_pump.get(app)
    return owner, getattr(callback, "__qualname__", type(callback).__name__)


def _shows_notices(part: object) -> bool:
    """Whether this is what shows notices: it is not told of its own failure for ever."""
    return isinstance(part, Widget) and type(part).__name__ in ("Toast", "ToastRack", "ToastHolder")
