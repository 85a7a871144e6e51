"""Has the keeper run a command, where one runs: this process then only prints, and starts no hub.

The keeper declines what it is not sure to do as this process would (`hub/faces/asked_commands.py`), and does nothing
before it is told to go on. What only reads and whose keeper ends meanwhile is asked of the next one. Loads little
where one runs, and no `asyncio`: that is what the call is for.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from gshtui.client.hub_greeting import HubSilent, check_declined, greeted, surroundings
from gshtui.headless import exits, streams
from gshtui.headless.outcomes import print_outcome
from gshtui.system.json_types import is_object
from gshtui.system.network.peer import peer_of

if TYPE_CHECKING:
    from pathlib import Path

    from gshtui.commands.declaration import Parameters
    from gshtui.headless.progress import Progress

T = TypeVar("T")
ANSWER_WITHIN = 4.0
"""Seconds for the keeper to say that it is ready."""
SILENT_FOR = 3.0
"""Seconds without a sign of life from it while it works."""
_QUIET_FOR = 1.0
"""Seconds in which there is no progress line, so that nothing is loaded for one."""
_TICK = 0.1
_ENDS = frozenset({"failed", "refused", "data", "text", "attach", "program", "parts", "prompt", "value"})
"""The fields of which an outcome has one."""
_FINE: Mapping[str, Any] = {"is_error": False, "timed_out": False, "denied": False}
_TOLD = frozenset({"complain", "wait_for", "started", "queued"})
"""What it says while it works, see `gshtui.hub.faces.command_watch.CommandFace`."""
_CHUNK = 64 * 1024


class KeeperCall(NamedTuple):
    """A command and the values given on the command line."""

    name: str
    """The words that call it."""
    declared: str = ""
    """The class of its parameters, `module:name`; empty: it is `lines`, of the command language."""
    values: Mapping[str, Any] = {}
    """By field name; omitted fields are left out."""
    json: bool = False
    """Print its data."""
    typed: bool = False
    """Its result is for `told`, and nothing of it is printed."""
    yes: bool = False
    """Do not ask."""
    waiting: str = "Working"
    """The progress line shown after a second of silence."""
    flags: Mapping[str, Any] = {}
    """Settings for this run only."""
    lines: Mapping[str, Any] | None = None
    """As `gshtui.hub.faces.asked_lines.LinesRequest` has them."""
    timeout: float = 0.0
    """Seconds after which it is stopped; 0: never."""
    told: Callable[[dict[str, Any]], None] = lambda _: None
    """Gets a typed result; of a line, what it does to the person's conversation, and that it is a kept prompt."""


class _Ended(Exception):
    """It answered, and then hung up or said nothing more."""


def run_by_keeper(
    call: KeeperCall, open_session: Callable[[str], int] = lambda _: exits.DONE, *, brings: bool = True
) -> int | None:
    """Have it run by the hub; returns its exit code, or `None` where it has to be done here.

    Args:
        open_session: opens the window with a conversation.
        brings: start the hub where none runs, or be it meanwhile.

    Raises `HubUnavailable`: a hub runs or starts, and does not answer, or declines; nothing was done.
    """
    code = _ask(call, open_session)
    if code is None and brings:
        from gshtui.fleet.keeper.keeper import running_keeper
        from gshtui.headless.called_here import load_settings
        from gshtui.headless.commands.command_hub import hub_while, unreached

        loaded, last, until = load_settings(call.flags, quiet=True), -1, 0.0
        while code is None:
            with hub_while(loaded) as at:
                code = _ask(call, open_session, at)
            if code is None:  # that one is ending, or is not reached
                running = running_keeper(loaded.settings.general.session_dir)
                pid = 0 if running is None else running.process.pid
                if pid != last:
                    last, until = pid, time.monotonic() + ANSWER_WITHIN
                elif time.monotonic() > until:
                    raise unreached(running)
                time.sleep(_TICK)
    return code


def value_from_hub(asked: Parameters, kind: type[T], waiting: str = "Working") -> T | int:
    """The result of a command with these values; or the exit code, once it was said why there is none. Raises as
    `run_by_keeper`.
    """
    import msgspec

    from gshtui.system.struct_types import learned

    found: list[T] = []

    def told(said: dict[str, Any]) -> None:
        found.append(msgspec.convert(said["value"], learned(kind)))

    name = f"{type(asked).__module__}:{type(asked).__qualname__}"
    values = asked.model_dump(mode="json", exclude_unset=True)
    code = run_by_keeper(KeeperCall(name, name, values, typed=True, waiting=waiting, told=told))
    return found[0] if found else exits.ERROR if code is None else code


def _ask(call: KeeperCall, open_session: Callable[[str], int], at: Sequence[Path] = ()) -> int | None:
    """The same of the keeper that runs, if one does. `at`: where it listens, if that is known."""
    for connected in greeted("command", ANSWER_WITHIN, at=at):
        with connected:
            conversation = _Conversation(connected)
            try:
                reads = conversation.begin(call)
            except TimeoutError:
                raise HubSilent(peer_of(connected).pid) from None
            except (OSError, _Ended):
                continue
            if reads is None:
                continue  # it is the keeper of another record
            try:
                return conversation.run(call, open_session)
            except (OSError, _Ended):
                if reads and not conversation.printed:
                    return None
                streams.complain(
                    "The hub ended before it answered, so it is not known whether this was done.",
                    "`gsh-tui agent ls` and `gsh-tui run 'mail ls'` show how things are.",
                )
                return exits.ERROR
    return None


class _Conversation:
    """Lines to and from the keeper."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._rest = bytearray()
        self._searched = 0
        """Bytes of it without the end of a line."""
        self._early: list[dict[str, Any]] = []
        """What it said before it began, as while it opens the folder."""
        self.printed = False
        """A piece of the result has been printed."""

    def begin(self, call: KeeperCall) -> bool | None:
        """Ask whether it will do it: whether the command only reads, or has ended, or `None`: it leaves it to this
        process. Raises `TimeoutError`: it does not answer; `HubDeclined`.
        """
        until = time.monotonic() + ANSWER_WITHIN
        try:
            cwd = os.getcwd()  # noqa: PTH109  (`Path` costs as much as the rest of this call)
        except OSError:
            return None
        asks = not call.yes and _somebody_is_here()
        self._send(
            run=call.name,
            declared=call.declared,
            values=dict(call.values),
            json=call.json,
            typed=call.typed,
            yes=call.yes,
            asks=asks,
            terminal=all(map(os.isatty, (0, 1, 2))),
            flags=dict(call.flags),
            lines=call.lines,
            plain=streams.is_terminal(streams.STDOUT),
            **surroundings(cwd),
        )
        while (said := self._next(until)).keys() & {"works", *_TOLD}:
            if "works" not in said:
                self._early.append(said)
            until = time.monotonic() + SILENT_FOR
        check_declined(said)
        if not said.keys().isdisjoint(_ENDS):
            self._early.append(said)
            return True
        reads = said.get("reads")
        return reads if isinstance(reads, bool) else None

    def run(self, call: KeeperCall, open_session: Callable[[str], int]) -> int:
        """Let it go on, answer its questions, print the outcome; returns the exit code."""
        with _ends_by_signal():
            return self._run(call, open_session)

    def _run(self, call: KeeperCall, open_session: Callable[[str], int]) -> int:
        code, name = exits.DONE, ""
        self._send(go=True)
        until = time.monotonic() + call.timeout if call.timeout else float("inf")
        with _Waiting(call.waiting) as waiting:
            for said in self._lines(waiting):
                if time.monotonic() > until:
                    waiting.clear()
                    streams.complain("timed out; the command was stopped.")
                    return exits.TIMED_OUT
                if "question" in said:
                    waiting.clear()
                    self._send(answer=_agreed(said["question"]))
                elif "piece" in said:
                    waiting.clear()
                    self.printed = True
                    code = print_outcome(said["piece"])
                elif "over" in said:
                    _print_problems(said)
                    return code
                elif "told" in said:
                    call.told(said)
                elif "talk" in said:
                    waiting.clear()
                    name = said["talk"]
                    streams.write_all(
                        streams.STDERR,
                        streams.shown(f"You talk with {name}. Press ctrl+d to end it.\n", streams.STDERR),
                    )
                    self._talk(waiting, name)
                elif "answered" in said:
                    waiting.clear()
                    print_outcome({"own": False, "aside": "", **_FINE, **said["answered"]})
                    self._talk(waiting, name)
                elif "resume" in said:
                    waiting.clear()
                    return self._resume(said, open_session)
                elif not said.keys().isdisjoint(_ENDS):
                    waiting.clear()
                    return _finish(call, said)
                elif told := said.keys() & _TOLD:
                    name = told.pop()
                    getattr(waiting.line, name)(*said[name])
                elif "works" not in said:
                    break  # it says goodbye
        raise _Ended

    def _resume(self, said: dict[str, Any], open_session: Callable[[str], int]) -> int:
        """Open a window with a conversation; returns the exit code."""
        from gshtui.headless.commands.declared_command import resume

        self._socket.close()
        _print_problems(said)
        session, cwd = said["resume"]
        return resume(session, cwd, open_session)

    def _talk(self, waiting: _Waiting, name: str) -> None:
        """Pass on the person's next question to an agent; an empty one is the end."""
        streams.write_all(streams.STDERR, streams.own("you> "))
        asked = sys.stdin.readline().strip()
        waiting.restart(f"Waiting for {name}")
        self._send(said=asked)

    def _send(self, **fields: object) -> None:
        self._socket.settimeout(ANSWER_WITHIN)
        self._socket.sendall(json.dumps(fields).encode() + b"\n")

    def _next(self, until: float) -> dict[str, Any]:
        """The next line. Raises `TimeoutError`, `_Ended`."""
        while (end := self._rest.find(b"\n", self._searched)) < 0:
            self._searched = len(self._rest)
            self._socket.settimeout(max(until - time.monotonic(), 0.001))
            self._read()
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        self._searched = 0
        try:
            said: object = json.loads(line)
        except ValueError as error:
            raise _Ended from error
        if not is_object(said):
            raise _Ended
        return said

    def _lines(self, waiting: _Waiting) -> Iterator[dict[str, Any]]:
        """What it says, as long as it gives signs of life."""
        yield from self._early
        heard = time.monotonic()
        while True:
            try:
                said = self._next(time.monotonic() + _TICK)
            except TimeoutError:
                if not self.printed:
                    waiting.tick()
                if time.monotonic() - heard > SILENT_FOR:
                    return
                continue
            yield said
            heard = time.monotonic()

    def _read(self) -> None:
        chunk = self._socket.recv(_CHUNK)
        if not chunk:
            raise _Ended
        self._rest += chunk


@contextmanager
def _ends_by_signal() -> Generator[None]:
    """Have signals that end the process end the call first."""
    ends: list[int] = []

    def told(number: int, frame: FrameType | None) -> None:
        ends.append(number)
        signal.default_int_handler(number, frame)

    before = {number: signal.signal(number, told) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if streams.LINE_FACE.get():  # which goes on otherwise
            for number in ends:
                os.kill(os.getpid(), number)


class _Waiting:
    """The progress line, loaded only if there is something to wait for."""

    def __init__(self, words: str) -> None:
        self._words = words
        self._began = time.monotonic()
        self._line: Progress | None = None

    def __enter__(self) -> _Waiting:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.clear()
        if kind is KeyboardInterrupt and self._line is not None:
            self._line.interrupted()

    def restart(self, words: str) -> None:
        """Wait for something else, from now on."""
        self.clear()
        self._words, self._began, self._line = words, time.monotonic(), None

    def tick(self) -> None:
        """Draw it if it is time."""
        if time.monotonic() - self._began < _QUIET_FOR:
            return
        self.line.show()

    @property
    def line(self) -> Progress:
        if self._line is None:
            from gshtui.headless.progress import Progress

            self._line = Progress(self._words, began=self._began)
        return self._line

    def clear(self) -> None:
        if self._line is not None:
            self._line.clear()


def _finish(call: KeeperCall, said: dict[str, Any]) -> int:
    _print_problems(said)
    if "refused" in said:
        if said["refused"] is not True:
            streams.complain(said["refused"])
        return exits.DENIED
    if "prompt" in said or "value" in said:
        call.told(said)
        return exits.DONE
    if "program" in said:
        from gshtui.headless.commands.declared_command import run_in_terminal

        for part in said["before"]:
            print_outcome(part)
        return run_in_terminal(*said["program"])
    if "attach" in said:
        from gshtui.headless.commands.declared_command import attach

        return attach(tuple(said["attach"]))
    return print_outcome(said, call.name)


def _print_problems(said: dict[str, Any]) -> None:
    """Those of the settings there."""
    for level, text in said.get("problems", ()):
        if level == "warning" or streams.is_terminal(streams.STDERR):
            streams.complain(text)


def _agreed(question: str) -> bool:
    """Whether the person agrees."""
    if _somebody_is_here():
        try:
            return streams.ask_yes_no(question)
        except KeyboardInterrupt:  # a no, as where no hub runs
            streams.write_all(streams.STDERR, streams.own("\n"))
            return False
    return streams.decline(question)


def _somebody_is_here() -> bool:
    return streams.is_terminal(0) and streams.is_terminal(streams.STDERR)
