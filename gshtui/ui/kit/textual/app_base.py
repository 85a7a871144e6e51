"""Textual's app where it does what a tool must not: style sheets read twice at the start, tracebacks on the screen, an
end for every fault in drawing, a terminal that is taken to show still what it lost when its size went to and fro.

And what the signals do that end a window: at the first it leaves as its person would, with what was accepted and said
on disk; a second one, or a window that has not left in time, ends the process at once. A terminal that hangs up is such
a signal, too.

Owns these corrections; refuses anything of the workbench. `Workbench` is built on it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, cast

from rich.cells import cell_len
from rich.console import RenderableType
from textual import events
from textual.app import App
from textual.dom import DOMNode
from textual.notifications import Notification, Notify
from textual.screen import Screen
from textual.widget import Widget

from gshtui.bus.loop_faults import part_of
from gshtui.guard.secrets.report_redaction import redact_report
from gshtui.settings import paths
from gshtui.system.faults import FaultLog
from gshtui.system.processes.processes import kill_calls
from gshtui.text.markdown_table import unmarked
from gshtui.ui.kit.textual.compositor import piece_compositor
from gshtui.ui.kit.textual.drawing_faults import DrawingFaults
from gshtui.ui.kit.textual.driver import WorkbenchDriver
from gshtui.ui.kit.textual.isolation import IsolatingApp
from gshtui.ui.kit.textual.key_order import KeyOrder, Typed

BRIEF = 4.0
"""Seconds up to which a notice only confirms a key."""


def _is_brief(notice: Notification) -> bool:
    return notice.severity == "information" and notice.timeout <= BRIEF


def _in_a_row(text: str, width: int) -> str:
    """The lines beside each other; where there is no room for all of them, the newest and how many more there are."""
    lines = [line for line in text.split("\n") if line.strip()]
    row = " · ".join(lines)
    return row if cell_len(row) <= width or len(lines) < 2 else f"{len(lines) - 1} more · {lines[-1]}"


_READ = 1.0
"""Seconds in which a key does not take a notice from the screen: it was on its way already."""
_FRAME = 4
"""Cells around the words of a notice."""


_NOTICES = 200
"""Notices that are kept."""


class AppBase(IsolatingApp):
    """An app that starts with its theme, draws what it can, goes on after a fault, and ends without a traceback."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        faults = FaultLog(paths.logs_dir, redact_report)
        self.isolate(faults)
        self.pressed_at = 0.0
        """When the key under way was pressed, by Textual's clock."""
        self.drawing = DrawingFaults(self, faults)
        self.notices: deque[tuple[float, str, str]] = deque(maxlen=_NOTICES)
        """What was said: when (seconds since the epoch), title, text; the newest last."""
        self._key_order = KeyOrder(self, self.route_key, self.give_back)
        self._end_signals = EndSignals(self.leave, self._abandon_terminal)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            await self._key_order.deliver(event)
        else:
            await super().on_event(event)

    def comes_next(self, widget: Widget) -> bool:
        """Whether a key that comes now is the next thing that happens to this widget."""
        return self._key_order.comes_next(widget)

    def bring(self, work: Coroutine[Any, Any, bool | None], *, group: str, exclusive: bool = False) -> None:
        """Run this in a worker; the keys behind the one that asked for it wait until it has ended.

        Their text is given back if it fails or gives False: nothing came that they were meant for.
        """

        async def brought() -> None:
            came = None
            try:
                came = await work
            except Exception:
                came = False
                raise
            finally:
                if came is False:
                    self._key_order.drop()

        task = self._work(brought(), name=work.__qualname__, group=group, exclusive=exclusive)
        if task is not None:
            self._key_order.hold(task)
            self.follow(task, "Opening")

    def attend(self, work: Coroutine[Any, Any, None], *, group: str, words: str) -> None:
        """Run this in a worker; the keys behind the one that asked for it wait a moment for what it may open. `words`:
        what it is called, should it take long.
        """
        task = self._work(work, name=work.__qualname__, group=group)
        if task is not None:
            self._key_order.hold_a_moment(task)
            self.follow(task, words)

    def give_back(self, text: str) -> None:
        """Put what was typed and not sent into the input; here there is none."""

    def follow(self, work: asyncio.Future[Any], words: str) -> None:
        """Show that this work runs, if it takes long; here nothing shows it."""

    def _work(self, work: Coroutine[Any, Any, None], **options: Any) -> asyncio.Task[None] | None:
        worker = self.run_worker(work, exit_on_error=False, **options)
        return cast("asyncio.Task[None] | None", worker._task)  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType]

    async def route_key(self, event: Typed) -> None:
        """Hand a key to the widget that has the focus, once the keys before it are done."""
        self.pressed_at = event.time
        await super().on_event(event)

    def on_load(self) -> None:
        """Hear of what escapes tasks and callbacks of the loop, too; a hub takes over while it runs."""
        asyncio.get_running_loop().set_exception_handler(self._escaped)
        if not self.is_headless:
            self._end_signals.listen()

    def leave(self) -> None:
        """End it in order: a signal asks for it."""
        self.exit(0)

    def _abandon_terminal(self) -> None:
        if isinstance(self._driver, WorkbenchDriver):
            self._driver.abandon()

    def ended(self) -> None:
        """After its run: raise the fault that ended the window, or end the process by the signal that did."""
        if self.broke is not None:  # for the crash report, not for the screen
            raise self.broke
        self._end_signals.end()

    def _escaped(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, Exception) or not self.isolation.caught(
            part_of(context), "", error, shown=bool(context.get("shown"))
        ):
            loop.default_exception_handler(context)

    def begin_with_theme(self, name: str) -> None:
        """Begin with this theme: set as later on, it would have all style sheets read twice before the first frame."""
        self.set_reactive(App.theme, name)
        self.stylesheet.set_variables(self.get_css_variables())
        self._refresh_truecolor_filter(self.ansi_theme)  # a theme of the terminal's own colours keeps them

    def _watch_theme(self, theme_name: str) -> None:
        if self.is_running:
            super()._watch_theme(theme_name)
            return
        dark = self.current_theme.dark
        self.update_classes({"-dark-mode": dark, "-light-mode": not dark, f"-theme-{theme_name}": True}, update=False)

    def notify(self, message: str, **options: Any) -> None:
        """Show a notice in one row; it draws no Markdown, so what our own words have of it is left out."""
        text, title = unmarked(message), str(options.pop("title", ""))
        self.notices.append((time.time(), title, text))
        lead = f"{title}: " if title else ""
        super().notify(lead + _in_a_row(text, self.size.width - _FRAME - cell_len(lead)), **options)

    def hide_read(self, *, dismisses: bool) -> None:
        """Take the notices that could be read from the screen, at a key; the history keeps them.

        `dismisses`: warnings and errors, too, which no other key takes: whoever types does not look at them.
        """
        for notice in [one for one in self._notifications if time.time() - one.raised_at > _READ]:
            if dismisses or notice.severity == "information":
                self._unnotify(notice)

    def withdraw(self, message: str) -> None:
        """Take a notice without a title back, since another one says it, too."""
        text = unmarked(message)
        self.notices = deque((one for one in self.notices if one[1:] != ("", text)), maxlen=_NOTICES)
        self.call_later(
            self._hide, _in_a_row(text, self.size.width - _FRAME)
        )  # it may still be on its way to the screen

    def _hide(self, shown: str) -> None:
        for notice in [one for one in self._notifications if one.message == shown]:
            self._unnotify(notice)

    def _on_notify(self, event: Notify) -> None:  # Textual's own runs, too
        """Have a notice that only confirms a key take the place of the one before, however fast the keys come."""
        if _is_brief(event.notification):
            for notice in [one for one in self._notifications if _is_brief(one)]:
                del self._notifications[notice]

    # Drawing

    def _register(self, parent: DOMNode, *widgets: Widget, **options: Any) -> list[Widget]:
        for widget in widgets:
            if isinstance(widget, Screen):
                self._draws(cast("Screen[Any]", widget))
        return super()._register(parent, *widgets, **options)  # pyright: ignore[reportUnknownMemberType]

    def _draws(self, screen: Screen[Any]) -> None:
        """Have the screen drawn in pieces, whoever made it."""
        piece_compositor(screen).drawing = self.drawing

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        try:
            super()._display(screen, renderable)  # pyright: ignore[reportUnknownMemberType]
        except Exception as error:
            self._handle_exception(error)

    def _handle_exception(self, error: Exception) -> None:
        if not self.drawing.took(error):
            super()._handle_exception(error)

    def _check_resize(self) -> None:
        # A terminal whose size went to and fro has lost what was outside meanwhile, though its size is the same.
        if self._resize_event is not None:
            self.drawing.distrust()
        super()._check_resize()

    def _fatal_error(self) -> None:
        """End without a traceback on the screen: `run` raises what happened, and the command line reports it."""
        self._close_messages_no_wait()

    @property
    def broke(self) -> Exception | None:
        """What ended the window, if it was a fault."""
        return self._exception


_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_LEAVES_WITHIN = 10.0
"""Seconds."""


class EndSignals:
    """See the module.

    Args:
        leave: have the window leave; called once, in its loop.
        abandon: put the terminal back, whatever else waits to be written to it.
    """

    def __init__(self, leave: Callable[[], None], abandon: Callable[[], None]) -> None:
        self._leave = leave
        self._abandon = abandon
        self.told = 0
        """The signal that came; 0: none."""

    def listen(self) -> None:
        """Take the signals, until this loop is closed."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, partial(self._take, number))

    def _take(self, number: int) -> None:
        if self.told:
            if number != signal.SIGHUP:  # of a terminal that hangs up is heard twice
                self._end_at_once()
        else:
            self.told = number
            asyncio.get_running_loop().call_later(_LEAVES_WITHIN, self._end_at_once)
            self._leave()

    def _end_at_once(self) -> None:
        self._abandon()
        kill_calls()
        self.end()

    def end(self) -> None:
        """End the process by the signal that came, so that whoever started it sees that; nothing if none came."""
        if self.told:
            signal.signal(self.told, signal.SIG_DFL)
            os.kill(os.getpid(), self.told)
