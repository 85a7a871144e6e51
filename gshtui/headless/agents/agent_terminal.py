"""`gsh-tui agent run --spec FILE`: the process in the terminal of a native agent. It passes on keys, and prints.

The hub runs the agent and draws its pane (`asked_agents.py`). This process hands over its
environment, the size of its terminal and the signals that end it, and ends with the agent's exit status. It goes on
with the agent after the hub has crashed, was replaced or was stopped. Each agent has one, so it loads a part of the
standard library alone, and has no event loop.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import socket
import sys
import termios
import time
import tty
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import gshtui
from gshtui.client.hub_greeting import greeted, refusal, surroundings
from gshtui.system.caller_environment import AGENT
from gshtui.system.face_mark import mark_face
from gshtui.system.installation import INSTALLED_AT, installed_at, own_command
from gshtui.system.json_types import is_object
from gshtui.system.network.peer import peer_of

_FAILED = 1
_ANSWER_WITHIN = 5.0
"""Seconds for a hub to say that it takes the agent."""
_COMES_WITHIN = 30.0
"""Seconds for a hub to come that is started."""
_DECLINES_WITHIN = 5.0
"""Seconds in which one that declines the agent may be about to end, or about to have ended with it."""
_LOOK_EVERY = 0.05
_LOOK_SELDOM = 0.5
_BACK_WITHIN = 2.0
"""Seconds for the next hub, until the terminal says that there is none."""
_STOPPED = "The hub was stopped. Enter starts it again."
_SILENT = "The hub that runs does not answer yet; the agent waits for it."
_INTERRUPT = b"\x03"
"""What ctrl+c sends where keys are read as they are pressed."""
_PRINTED_WITHIN = 2.0
"""Seconds for the terminal to take the last drawing."""
_PIECE = 64 * 1024
"""Bytes read or written at a time."""
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class AgentEnd(NamedTuple):
    """How it ended in a hub.

    Attributes:
        exit: the agent's exit status; `None`: it has not ended, but is to go on elsewhere.
        comes_again: another hub is to follow. `None`: this one ended without a word.
        cut: a turn of it was cut, or may have been.
    """

    exit: int | None = None
    comes_again: bool | None = None
    cut: bool = True


class _Signalled(BaseException):
    """A signal to end came while no hub has the agent."""


def run_agent(spec_file: Path, *, as_json: bool = False, left: int = -1) -> int:
    """Be the terminal of the agent of this spec until its work is done; gives the exit status.

    Args:
        as_json: its events go to standard output, one a line, in place of the pane.
        left: descriptor with what the program leaves that was here before, see `begin_anew`; -1: there was none.
    """
    terminal = AgentTerminal(spec_file, as_json=as_json)
    if left >= 0:
        terminal.go_on(left)
    if not (error := terminal.unreadable()) and (code := terminal.live()) is not None:
        return code
    if terminal.is_outdated:
        terminal.begin_anew()
    from gshtui.headless.streams import complain

    complain(error or terminal.refusal, "`gsh-tui doctor` looks for the cause.")
    return _FAILED


class AgentTerminal:
    """See the module's text.

    Attributes:
        kept: what the hub that goes on with the agent is to know, as the last one has said it.
        end: how the last hub's care for it ended.
        refusal: why there is no hub that runs it.
        is_outdated: another version of the program has been installed, and hubs of that one speak another protocol.
    """

    def __init__(self, spec_file: Path, *, as_json: bool = False) -> None:
        self.kept: dict[str, Any] = {}
        self.end = AgentEnd(comes_again=False, cut=False)
        self.refusal = "no hub has come up."
        self.is_outdated = False
        self._hub = 0
        """Process of the hub that has run it last; 0: none has."""
        self._file = spec_file
        self._draws = os.isatty(0) and os.isatty(1) and not as_json
        self._output = "json" if as_json else "pane" if self._draws else "lines"
        self.news: list[dict[str, Any]] = []
        """What is to be said of its terminal."""
        self.reads = self._draws
        """Whether there are keys to read."""
        self.untaken = bytearray()
        """What was typed and no hub has taken: whoever goes on with the agent gets it."""
        self._clear = ""
        """What takes away the rows that are redrawn."""
        self._signal = 0
        """The first signal to end, 0: none came."""
        self._is_connecting = False
        self._waits_for_print = bytearray()
        self._gone = False
        """Nobody reads the output any more."""

    def unreadable(self) -> str:
        """Why its spec cannot be read; empty: it can."""
        try:
            self._file.open("rb").close()
        except OSError as error:
            return f"Cannot read {self._file}: {error.strerror}."
        return ""

    def live(self) -> int | None:
        """Until the agent's end; its exit status, `None`: no hub runs it."""
        with self._signals() as woken, self._keys_as_pressed():
            try:
                while not self._signal and (connected := self._connection()) is not None:
                    with connected:
                        self.end = _Link(self, connected, woken).pass_on()
                    if self.end.exit is not None:
                        return self.end.exit
                    self.print(self._clear)
            except _Signalled:
                pass
        return 128 + self._signal if self._signal else None

    def opening(self) -> dict[str, Any]:
        """What it asks a hub for, see `PaneOpening`."""
        return {
            "agent": self._file.stem,
            "spec": str(self._file.absolute()),
            "output": self._output,
            "size": self.size,
            "kept": self.kept,
            "again": bool(self._clear),
            "lost": self.end.comes_again is None,
            "cut": self.end.cut,
            **surroundings(os.getcwd()),  # noqa: PTH109
        }

    @property
    def size(self) -> tuple[int, int]:
        """(columns, rows)"""
        return shutil.get_terminal_size((100, 40))

    @property
    def behind(self) -> bool:
        """Whether some output waits to be printed."""
        return bool(self._waits_for_print) and not self._gone

    def draw(self, text: str, clear: str) -> None:
        """Print a drawing. `clear`: what takes its redrawn rows away."""
        self._clear = clear
        self.print(text)

    def print(self, text: str) -> None:
        """Print it once the terminal takes it."""
        self._waits_for_print += text.encode("utf-8", "replace")
        self.print_waiting()

    def print_waiting(self) -> None:
        """Print what the terminal takes now."""
        while self.behind:
            try:
                del self._waits_for_print[: os.write(1, self._waits_for_print[:_PIECE])]
            except BlockingIOError:
                return
            except OSError:
                self._gone = True

    def read_keys(self) -> bytes:
        """What is typed now."""
        data = b""
        if self.reads and select.select([0], [], [], 0)[0]:
            with suppress(OSError):
                data = os.read(0, _PIECE)
            self.reads = bool(data)  # without a terminal, a SIGHUP follows
            self.untaken += data
        return data

    def begin_anew(self) -> NoReturn:
        """Be the program that is installed now, in this terminal, with all that is known of the agent."""
        import tempfile

        untaken = self.untaken.decode("latin-1")
        with tempfile.TemporaryFile() as left:
            left.write(json.dumps([self.kept, self.end, untaken, self._clear]).encode())
            left.seek(0)
            os.set_inheritable(left.fileno(), True)
            words = ["agent", "run", "--spec", str(self._file), "--left", str(left.fileno())]
            json_option = ["--json"] if self._output == "json" else []
            os.execv(sys.executable, own_command(*words, *json_option))

    def go_on(self, left: int) -> None:
        """Take over what the program before has left in this file."""
        with suppress(OSError, ValueError, TypeError), open(left, "rb") as file:
            self.kept, end, untaken, self._clear = json.loads(file.read())
            self.end = AgentEnd(*end)
            self.untaken[:] = untaken.encode("latin-1")

    def _connection(self) -> socket.socket | None:
        """A connection to the hub that takes the agent, which is started if there is none; `None`: none takes it."""
        self._is_connecting = True
        try:
            if self._hub and self.end.comes_again is False:
                self._wait_for_hub()
            if self._hub and installed_at(os.path.dirname(gshtui.__file__)) != INSTALLED_AT:  # noqa: PTH120
                self.is_outdated = True
                return None
            return self._taken()
        except OSError as error:
            self.refusal = f"no hub can be reached: {error}."
            return None
        finally:
            self._is_connecting = False

    def _taken(self) -> socket.socket | None:
        until, declines_until = time.monotonic() + _COMES_WITHIN, 0.0
        says_at = time.monotonic() + _ANSWER_WITHIN if self._draws else float("inf")
        while (now := time.monotonic()) < until:
            there, declines = _hubs_of(self._file.parent.parent), False
            with suppress(TimeoutError):
                for connected in greeted("pane", _ANSWER_WITHIN):
                    pid = peer_of(connected).pid
                    if pid not in there:
                        connected.close()  # of another record
                        continue
                    declines = True
                    why = refusal(connected, json.dumps(self.opening()).encode())
                    if not why:
                        self._hub = pid
                        return connected
                    self.refusal = f"the hub does not run this agent: {why}."
            if declines:
                declines_until = declines_until or now + _DECLINES_WITHIN
                if now > declines_until:
                    return None
            elif not there:
                self._start_hub()
            elif until - now < _COMES_WITHIN / 2:
                if _is_locked(self._file.parent.parent):  # it hangs, or is of another version and still works
                    until = now + _COMES_WITHIN
                else:
                    self._start_hub()
            if now > says_at:
                self.print(f"{_SILENT}\r\n")
                says_at = float("inf")
            self._read_keys_meanwhile()
            time.sleep(_LOOK_EVERY)
        return None

    def _read_keys_meanwhile(self) -> bytes:
        """What is typed while no hub takes it; ctrl+c ends the wait."""
        typed = self.read_keys()
        if _INTERRUPT in typed:
            self._signal = signal.SIGINT
            raise _Signalled
        return typed

    def _start_hub(self) -> None:
        """Have another process start one, so that it is not below this one: who kills the agent ends what is."""
        import subprocess

        environ = {name: value for name, value in os.environ.items() if name != AGENT}
        with suppress(subprocess.SubprocessError):
            subprocess.run(
                own_command("hub", "start"),
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_COMES_WITHIN,
                check=False,
            )

    def _wait_for_hub(self) -> None:
        """Wait until somebody has started the next hub, or wants this terminal to."""
        says_at = time.monotonic() + _BACK_WITHIN if self._draws else float("inf")
        while not _hubs_of(self._file.parent.parent) - {self._hub}:
            if time.monotonic() > says_at:
                self.print(f"{_STOPPED}\r\n")
                says_at = float("inf")
            self.print_waiting()
            select.select([0] if self.reads else [], [], [], _LOOK_SELDOM)
            if self._read_keys_meanwhile().endswith(b"\r"):
                del self.untaken[-1]
                return

    @contextmanager
    def _keys_as_pressed(self) -> Generator[None]:
        """Read keys as they are pressed, without echo, and restore the terminal."""
        if not self._draws:
            yield
            return
        mark_face()
        modes = termios.tcgetattr(0)
        tty.setraw(0, termios.TCSANOW)
        os.set_blocking(1, False)
        self.read_keys()
        self.untaken = self.untaken.replace(b"\n", b"\r")  # an Enter was a new line until now
        try:
            yield
        finally:
            until = time.monotonic() + _PRINTED_WITHIN
            while self.behind and (left := until - time.monotonic()) > 0:
                select.select([], [1], [], left)
                self.print_waiting()
            os.set_blocking(1, True)
            with suppress(termios.error):
                termios.tcsetattr(0, termios.TCSANOW, modes)

    @contextmanager
    def _signals(self) -> Generator[int]:
        """Take signals; gives a descriptor that is readable once there was one."""
        woken, wakes = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(wakes, False)
        before = signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        handlers = {number: signal.signal(number, self._end_by_signal) for number in _ENDING}
        handlers[signal.SIGWINCH] = signal.signal(signal.SIGWINCH, self._resize)
        try:
            yield woken
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(before)
            os.close(woken)
            os.close(wakes)

    def _end_by_signal(self, number: int, _frame: object) -> None:
        if self._signal:
            os._exit(128 + number)  # asked twice: it does not end by itself
        self._signal = number
        if self._is_connecting:
            raise _Signalled  # nothing else ends the waits for a hub
        self.news.append({"signal": number})

    def _resize(self, _number: int, _frame: object) -> None:
        self.news.append({"size": self.size})


class _Link:
    """A connection to the hub that runs the agent."""

    def __init__(self, terminal: AgentTerminal, connected: socket.socket, woken: int) -> None:
        self._terminal = terminal
        self._connected = connected
        self._woken = woken
        self._received = bytearray()
        self._waits = bytearray()
        """What waits to be sent."""
        self._drawings = 0
        self._drawn = 0
        """How many of them the hub knows to be on the screen."""
        self._taken = 0
        """Bytes of keys that the hub has taken."""
        self._end: AgentEnd | None = None

    def pass_on(self) -> AgentEnd:
        """Pass on what comes from both sides until the end of the connection; says how that was."""
        terminal = self._terminal
        self._connected.setblocking(False)
        if terminal.untaken:
            self._say_keys(bytes(terminal.untaken))
        while self._end is None:
            self._wait()
            while terminal.news:
                self._say(**terminal.news.pop(0))
            self._pass_keys()
            try:
                self._receive()
                terminal.print_waiting()
                if self._drawn != self._drawings and not terminal.behind:
                    self._pass_keys()  # what was typed before it was to be seen comes before that it is
                    self._drawn = self._drawings
                    self._say(drawn=self._drawn, at=time.monotonic())
                self._send()
            except OSError:
                return self._end or AgentEnd()
        return self._end

    def _wait(self) -> None:
        """Wait until there is something to do."""
        reads = [self._woken, self._connected, *([0] if self._terminal.reads else [])]
        writes = [*([self._connected] if self._waits else []), *([1] if self._terminal.behind else [])]
        select.select(reads, writes, [])
        with suppress(BlockingIOError):
            os.read(self._woken, _PIECE)

    def _pass_keys(self) -> None:
        if typed := self._terminal.read_keys():
            self._say_keys(typed)

    def _say_keys(self, typed: bytes) -> None:
        self._say(keys=typed.decode("latin-1"), at=time.monotonic())

    def _say(self, **fields: object) -> None:
        self._waits += json.dumps(fields).encode() + b"\n"

    def _send(self) -> None:
        with suppress(BlockingIOError):
            while self._waits:
                del self._waits[: self._connected.send(self._waits[:_PIECE])]

    def _receive(self) -> None:
        """Read what has come. Raises `OSError`: the hub is gone."""
        try:
            data = self._connected.recv(_PIECE)
        except BlockingIOError:
            return
        self._received += data
        while (end := self._received.find(b"\n")) >= 0:
            line = bytes(self._received[:end])
            del self._received[: end + 1]
            with suppress(ValueError):
                message: object = json.loads(line)
                if is_object(message):
                    self._handle_message(message)
        if not data and self._end is None:
            raise ConnectionResetError

    def _handle_message(self, message: dict[str, Any]) -> None:
        match message:
            case {"show": str() as text, "clear": str() as clear}:
                self._drawings += 1
                self._terminal.draw(text, clear)
            case {"event": event}:
                self._terminal.print(json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n")
            case {"keep": kept, "taken": int() as taken} if is_object(kept):
                self._terminal.kept = kept
                del self._terminal.untaken[: taken - self._taken]
                self._taken = taken
            case {"ended": int() as status}:
                self._end = AgentEnd(exit=status)
            case {"detached": bool() as comes_again, "cut": bool() as cut}:
                self._end = AgentEnd(comes_again=comes_again, cut=cut)
            case _:
                pass


def _is_locked(data: Path) -> bool:
    """Whether some process is the hub of this record, whatever its file says."""
    try:
        with (data / "keeper.lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def _hubs_of(data: Path) -> set[int]:
    """The processes that are the hub of this record, or start as it. `data`: its folder, where `keeper.py` says so."""
    found: set[int] = set()
    for name in ("keeper.json", "keeper.lock"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            pid = int(json.loads((data / name).read_bytes())["process"]["pid"])
            os.kill(pid, 0)
            found.add(pid)
    return found
