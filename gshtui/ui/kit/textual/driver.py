"""Textual's Linux driver with our reading of the input, and a terminal taken over with the first frame already on it.

The alternate screen is entered once, nothing is cleared in between, no key is lost, a byte that is no UTF-8 ends
nothing, and at the end the terminal is what it was before the first frame.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import selectors
import signal
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import Context
from fcntl import ioctl
from struct import unpack
from termios import TIOCGWINSZ
from threading import Lock, Thread, current_thread
from typing import TYPE_CHECKING, Any, Protocol, TextIO, TypeVar, cast

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS, SYNC_END, SYNC_START
from textual._context import active_app
from textual._parser import ParseError
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from gshtui.text.terminal_sequences import ESCAPE_WAITS, terminal_decoder
from gshtui.ui.kit.textual.input_parser import InputParser

if TYPE_CHECKING:
    from textual.app import App
    from textual.widget import Widget

    from gshtui.text.sanitise import CleanText

W = TypeVar("W", bound="Callable[[str], str]")
_ASK_FOR_KEYS = "\x1b[?u"
"""Asks whether the terminal speaks the kitty protocol; one that does not says nothing."""
_ASK_WHAT_IT_IS = "\x1b[c"
"""Asks what the terminal can do: one that draws sixel says so (DA1)."""
_READ = 1 << 16
_AT_ONCE = 4_096
"""Characters at most that the loop's thread writes itself: an echo, not a screen."""
_SHOWN = 0.001
"""Seconds that a key waits once its letter is written, so that the letter is shown before its key is handled."""
_LOOK = 0.1
"""Seconds between two looks at whether the driver has to stop."""


class CountedFile:
    """The terminal's file, which knows how many texts were written to it by the thread that writes.

    What is written to a terminal that is gone goes nowhere.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._begun = 0
        self.written = 0
        """Texts that have left this process."""

    def write(self, text: str) -> None:
        """Take a text."""
        self._begun += 1
        with contextlib.suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        """Let go of all that was taken."""
        with contextlib.suppress(OSError):
            self._file.flush()
        self.written = self._begun

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _Unqueued:
    """A terminal in place of the thread that writes to it."""

    def __init__(self, fileno: int) -> None:
        self._fileno = fileno

    def write(self, text: str) -> None:
        """Write it if the terminal takes it now."""
        with contextlib.suppress(OSError):
            if select.select((), (self._fileno,), (), 0)[1]:
                os.write(self._fileno, text.encode())

    def flush(self) -> None:
        """Nothing is held back."""


class ReadingDriver(LinuxDriver):
    """Textual's driver with our reading of the input: by a thread, or by the loop once that is free."""

    typed: Sequence[bytes] = ()
    """What was read of the terminal before the driver started. Between two pieces was a while without a key."""
    parser: InputParser | None = None
    """Reads what comes, once it runs."""
    _decode: Callable[[bytes], str]
    _loop_wanted = False
    """The loop shall read, as soon as the thread has seen it."""
    _in_loop = False
    _tick: asyncio.TimerHandle | None = None

    def run_input_thread(self) -> None:
        """Read, parse and pass on, until the driver stops or the loop takes over."""
        parser = self.parser = InputParser(self._debug)
        self._decode = terminal_decoder()
        for at, piece in enumerate(self.typed):
            if at:
                self._pass_on(parser.pause())
            if text := self._decode(piece):
                self._pass_on(parser.feed(text))
        self.typed = ()
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if self._loop_wanted:
                    self._loop.call_soon_threadsafe(self._take_over, current_thread())
                    return
                if not selector.select(ESCAPE_WAITS / 5 if parser.waits else _LOOK):
                    # Only now: a machine that was busy may have left unread what follows an escape.
                    self._pass_on(parser.tick())
                elif not self._read(parser):
                    break
        self._end(parser)

    def read_in_loop(self) -> None:
        """Read in the loop from soon on, which spares each key the way from one thread to another.

        Where the loop cannot watch the terminal's file, the thread goes on.
        """
        try:
            self._loop.add_reader(self.fileno, self._take_over, None)
            self._loop.remove_reader(self.fileno)
        except OSError:
            return
        self._loop_wanted = True

    def _take_over(self, thread: Thread | None) -> None:
        """The thread has ended its reading."""
        parser = self.parser
        if not self._loop_wanted or thread is not self._key_thread or parser is None:
            return  # the driver was stopped meanwhile
        self._in_loop = True
        context = Context()  # not that of the message which is handled now
        context.run(active_app.set, self._app)
        context.run(self._loop.add_reader, self.fileno, self._readable, parser)
        self._tick_soon(parser)

    def _readable(self, parser: InputParser) -> None:
        if self._read(parser):
            self._tick_soon(parser)
        else:
            self._leave_loop()
            self._end(parser)

    def _tick_soon(self, parser: InputParser) -> None:
        if parser.waits and self._tick is None:
            self._tick = self._loop.call_later(ESCAPE_WAITS / 5, self._tick_now, parser)

    def _tick_now(self, parser: InputParser) -> None:
        self._tick = None
        if not select.select((self.fileno,), (), (), 0)[0]:  # as in the thread
            self._pass_on(parser.tick())
        self._tick_soon(parser)

    def _leave_loop(self) -> None:
        self._in_loop = False
        self._loop.remove_reader(self.fileno)
        if self._tick is not None:
            self._tick.cancel()
            self._tick = None

    def disable_input(self) -> None:
        self._loop_wanted = False
        if self._in_loop:
            self._leave_loop()
        super().disable_input()

    def _read(self, parser: InputParser) -> bool:
        """Read what there is; False: the other end is gone."""
        try:
            data = os.read(self.fileno, _READ)
        except OSError:
            data = b""
        if text := self._decode(data):
            self._pass_on(parser.feed(text))
        return bool(data)

    def _end(self, parser: InputParser) -> None:
        if not self.exit_event.is_set():  # the terminal is gone: the signal may come from the system, too, or not
            signal.raise_signal(signal.SIGHUP)
        try:
            self._pass_on(parser.feed(""))
        except (EOFError, ParseError):
            return

    def _pass_on(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)


ENTER_ALTERNATE = "\x1b[?1049h"


class PaintedFrame(Protocol):
    """A frame that is on the terminal before the driver starts."""

    attributes: list[Any]
    """The terminal's attributes as they were before the frame (`termios.tcgetattr`)."""
    size: tuple[int, int]
    """Columns and rows."""

    def take_typed(self) -> tuple[Sequence[bytes], PaintedLine | None]:
        """Stop reading the terminal. Returns what was typed, a piece after each pause that told something, and the
        line of the frame that shows it.
        """
        ...

    def handed_over(self) -> None:
        """From now on the driver puts the terminal back."""
        ...


class PaintedLine(Protocol):
    """The frame's input line, drawn over Textual's until the real input shows what was typed."""

    frozen: bool
    shown: bool

    def type(self, text: str) -> bool:
        """Take what was typed; returns whether the line has changed."""
        ...

    def drawn(self) -> str:
        """The sequences that draw it."""
        ...


def free_alt_digits() -> None:
    """Let alt with a digit be a key.

    Textual takes those bytes for the letters that one terminal of one system makes of them (alt+1: `¡`), so the keys
    of the panes would type letters everywhere else. Who wants such a letter still types it: it arrives as itself.
    """
    for digit in "0123456789":
        ANSI_SEQUENCES_KEYS.pop(f"\x1b{digit}", None)  # type: ignore[attr-defined]


class WorkbenchDriver(ReadingDriver):
    """The driver of the real window."""

    first_frame: PaintedFrame | None = None
    """The frame that is on the terminal; set by the app before it starts the driver, and taken once."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)  # pyright: ignore[reportUnknownMemberType]
        self._lock = Lock()
        self._marked = ""
        """What was written of a frame whose end has not come yet."""
        self._held: list[Message] | None = []
        """What was typed before there was an input to take it; `None` once there is one."""
        self._line: PaintedLine | None = None
        self._line_size = (0, 0)
        self._file: Any = CountedFile(self._file)
        self._given = 0
        """Texts that were given to the thread that writes."""
        self._painted = False
        self.at_once = False
        """Write from the loop's thread where nothing waits to be written before."""
        self.drawn: Callable[[str], str] | None = None
        """What is written in place of a text, where the terminal draws pictures by sixel."""
        self.foresee: Callable[[events.Key], bool] | None = None
        """Shows what a key will do, before it is handled; whether it did."""
        self.takes: Callable[[events.Key], bool] | None = None
        """Takes a key at once in the app's place; whether it did."""
        self._behind: list[Message] = []
        """A key that is shown already, and what came behind it, in the loop."""

    def process_message(self, message: Message) -> None:
        with self._lock:  # this is the thread that reads; `release` is called in the loop's
            if self._held is not None and isinstance(message, (events.Key, events.Paste)):
                self._held.append(message)
                self._echo(message)
                return
            if isinstance(message, events.Resize) and message.size != self._line_size:
                self._line = None  # it is elsewhere now
        if self._behind:
            self._behind.append(message)
        elif not self._in_loop or not isinstance(message, events.Key):
            super().process_message(message)
        elif self._did(self.takes, message):
            return
        elif self._did(self.foresee, message):
            # The system gives whoever shows the letter this processor only once this process has used up its turn or
            # sleeps.
            self._behind.append(message)
            self._loop.call_later(_SHOWN, self._pass_behind)
        else:
            super().process_message(message)

    def _pass_behind(self) -> None:
        """Pass on what waited for a letter to be shown."""
        behind, self._behind = self._behind, []
        for message in behind:
            super().process_message(message)

    def _leave_loop(self) -> None:
        super()._leave_loop()
        self._pass_behind()

    def send_message(self, message: Message) -> None:
        # Textual makes a task of each: a key would wait for one more round of the loop.
        if self._in_loop:
            self._app.post_message(message)
        else:
            self._loop.call_soon_threadsafe(self._app.post_message, message)

    def _did(self, first: Callable[[events.Key], bool] | None, key: events.Key) -> bool:
        """Whether what is asked before a key is handled has done its part."""
        if first is None:
            return False
        try:
            return first(key)
        except Exception as error:  # the key itself goes its way
            self.foresee = self.takes = None
            self._loop.call_exception_handler({"message": "a key's short way failed", "exception": error})
            return False

    def _echo(self, message: events.Key | events.Paste) -> None:
        """Show a key in the painted line, unless the first frame has done that."""
        line = self._line
        if line is None or self.typed:
            return
        if isinstance(message, events.Paste):
            text = message.text
        else:
            text = "\x7f" if message.key == "backspace" else message.character or "\x1b"
        if line.type(text):
            self._given += 1
            super().write(line.drawn())

    def release(self) -> None:
        """The input has the focus: hand it what was typed so far, in order, and everything from now on."""
        with self._lock:
            held, self._held = self._held or [], None
            for message in held:
                super().process_message(message)
        self.read_in_loop()

    def start_application_mode(self) -> None:
        frame, type(self).first_frame = type(self).first_frame, None
        self._painted = frame is not None
        if frame is not None:
            self.typed, self._line = frame.take_typed()
            self._line_size = frame.size
        super().start_application_mode()
        self._painted = False
        self.write(_ASK_FOR_KEYS)
        self.write(_ASK_WHAT_IT_IS)
        if frame is not None:
            # The driver found the terminal as the first frame had set it; what it puts back at the end is what was
            # there before.
            self.attrs_before = list[Any](frame.attributes)
            frame.handed_over()
        if self._held is None:
            self.read_in_loop()  # another program has had the terminal

    def write(self, data: str) -> None:
        # Entering the alternate screen again would clear it in some terminals, which flickers.
        if self._painted and data == ENTER_ALTERNATE:
            return
        # A frame between its marks is one write: each one more would wake the thread that writes once more.
        if data == SYNC_START:
            self._marked = data
        elif self._marked and data != SYNC_END:
            self._marked += data
        else:
            data, self._marked = self._marked + self._with_line(data), ""
            self._hand_on(data)

    def _hand_on(self, data: str) -> None:
        """Write, or have it written: waking a thread takes longer than a few letters do."""
        if self.drawn is not None:
            data = self.drawn(data)
        if self.at_once and self._held is None and self._writes_now(data):
            return
        self._given += 1
        super().write(data)

    def _writes_now(self, data: str) -> bool:
        """Whether it was written; not if something waits to be, or the terminal takes nothing now."""
        if self._given != self._file.written or len(data) > _AT_ONCE:
            return False
        fileno = self._file.fileno()
        if not select.select((), (fileno,), (), 0)[1]:
            return False
        rest = data.encode("utf-8", "replace")
        with contextlib.suppress(OSError):  # as with what the thread writes
            while rest:
                rest = rest[os.write(fileno, rest) :]
        return True

    def write_ahead(self, data: str) -> bool:
        """Write from the loop's thread, where nothing waits to be written or covers the input; else False."""
        return self._line is None and not self._marked and self._writes_now(data)

    def _with_line(self, data: str) -> str:
        """The painted line over what is written, so that what was typed does not vanish for a frame."""
        if self._line is None or not self._line.shown:
            return data
        if data == SYNC_END:
            return self._line.drawn() + data
        # Also before the terminal has said that it knows the marks: a mode that it does not know does nothing.
        return SYNC_START + data + self._line.drawn() + SYNC_END

    def abandon(self) -> None:
        """Put the terminal back at once, past all that waits to be written to it."""
        self._writer_thread = cast("Any", _Unqueued(self.fileno))
        self.at_once, self._marked = False, ""
        self.stop_application_mode()

    def end_line(self) -> None:
        """The input shows what was typed: draw nothing over it any more."""
        self._line = None


def release_input(
    app: App[Any],
    area: Widget,
    foresee: Callable[[events.Key], bool] | None = None,
    takes: Callable[[events.Key], bool] | None = None,
) -> None:
    """The app's input has the focus: hand it what was typed before, where its driver has held that back.

    `foresee` shows what a key will do, before it is handled; `takes` takes one in the app's place.
    """
    driver = app._driver  # pyright: ignore[reportPrivateUsage]
    if isinstance(driver, WorkbenchDriver):
        driver.foresee, driver.takes = foresee, takes
        driver.release()
        # Behind the keys in the app's queue, and then behind them in the input's.
        app.call_later(lambda: area.call_after_refresh(_end_line, driver, area))


def _end_line(driver: WorkbenchDriver, area: Widget) -> None:
    driver.end_line()
    area.screen.refresh()  # what was drawn over it is still on the terminal, and the input may be elsewhere now


@contextmanager
def writing_at_once(app: App[Any]) -> Generator[None]:
    """Write what is shown meanwhile from this thread, where the driver can."""
    driver = app._driver  # pyright: ignore[reportPrivateUsage]
    if not isinstance(driver, WorkbenchDriver):
        yield
        return
    driver.at_once = True
    try:
        yield
    finally:
        driver.at_once = False


def write_ahead(app: App[Any], data: str) -> bool:
    """Write at once what belongs to no frame; False: it cannot be written now, or there is no terminal."""
    driver = app._driver  # pyright: ignore[reportPrivateUsage]
    return isinstance(driver, WorkbenchDriver) and driver.write_ahead(data)


def sends_every_key(app: App[Any]) -> bool:
    """Whether the terminal sends every key as itself, as far as is known; without a terminal, it does."""
    driver = app._driver  # pyright: ignore[reportPrivateUsage]
    return driver.parser is None or driver.parser.extended if isinstance(driver, ReadingDriver) else True


def sixel_cell(app: App[Any]) -> tuple[int, int]:
    """Width and height in pixels of a cell of a terminal that draws sixel; (0, 0): it does not, or does not say."""
    driver = app._driver  # pyright: ignore[reportPrivateUsage]
    if not isinstance(driver, WorkbenchDriver) or driver.parser is None or not driver.parser.sixel:
        return 0, 0
    try:
        rows, columns, width, height = unpack("HHHH", ioctl(driver.fileno, TIOCGWINSZ, b"\0" * 8))
    except OSError:
        return 0, 0
    return (width // columns, height // rows) if columns and rows else (0, 0)


def drawn_by(app: App[Any], make: Callable[[], W]) -> W:
    """What decides what is written in place of each text; made when it is first wanted."""
    driver = app._driver  # pyright: ignore[reportPrivateUsage]
    found: Any = driver.drawn if isinstance(driver, WorkbenchDriver) else None
    if found is not None:
        return found
    made = make()
    if isinstance(driver, WorkbenchDriver):
        driver.drawn = made
    return made


def write_sequence(app: App[Any], sequence: CleanText) -> None:
    """Send the terminal a sequence of ours, such as a notification; without a terminal, nothing happens."""
    driver = app._driver  # pyright: ignore[reportPrivateUsage]
    if driver is not None and not driver.is_headless:
        driver.write(sequence)
        driver.flush()
