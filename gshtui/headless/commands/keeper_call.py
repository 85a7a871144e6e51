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
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gshtui.client.hub_greeting import HubSilent, check_declined, greeted, surroundings
from gshtui.headless import exits, streams
from gshtui.headless.outcomes import print_outcome
from gshtui.system.json_types import is_object
from gshtui.system.network.peer import peer_of

if TYPE_CHECKING:
    from gshtui.headless.progress import Progress

ANSWER_WITHIN = 4.0
"""Seconds for the keeper to say that it is ready."""
SILENT_FOR = 3.0
"""Seconds without a sign of life from it while it works."""
_QUIET_FOR = 1.0
"""Seconds in which there is no progress line, so that nothing is loaded for one."""
_TICK = 0.1
_ENDS = frozenset({"failed", "refused", "data", "text", "attach", "program", "parts"})
"""The fields of which an outcome has one."""
_TOLD = frozenset({"complain", "wait_for", "started", "queued"})
"""What it says while it works, see `gshtui.hub.faces.command_watch.CommandFace`."""
_CHUNK = 64 * 1024


class KeeperCall(NamedTuple):
    """A command and the values given on the command line."""

    name: str
    """The words that call it."""
    declared: str
    """The class of its parameters, `module:name`; empty: it is `line`, of the command language."""
    values: dict[str, Any]
    """By field name; omitted fields are left out."""
    json: bool
    """Print its data."""
    yes: bool
    """Do not ask."""
    waiting: str
    """The progress line shown after a second of silence."""
    flags: dict[str, str]
    """Settings for this run only."""
    line: str = ""


class _Ended(Exception):
    """It answered, and then hung up or said nothing more."""


def run_by_keeper(
    call: KeeperCall, open_session: Callable[[str], int] = lambda _: exits.DONE, *, brings: bool
) -> int | None:
    """Have it run by the keeper; returns its exit code, or `None` where it has to be done here.

    Args:
        open_session: opens the window with a conversation.
        brings: start the keeper where none runs.

    Raises `HubUnavailable`: a keeper runs or starts, and does not answer, or declines; nothing was done.
    """
    code = _ask(call, open_session)
    if code is None and brings:
        import asyncio

        from gshtui.headless.commands.command_hub import bring_hub, load_settings

        if asyncio.run(bring_hub(load_settings(call.flags, quiet=True).settings)):
            code = _ask(call, open_session)
    return code


_NOTHING = KeeperCall("run", "", {}, json=False, yes=False, waiting="", flags={}, line="help")


def is_served() -> bool:
    """Whether the keeper does something for this process; it is asked and not told to go on. Raises as
    `run_by_keeper`.
    """
    return any(True for _ in _begun(_NOTHING))


def _begun(call: KeeperCall) -> Iterator[tuple[_Conversation, bool]]:
    """A conversation with the keeper of this record, if it runs, and whether the call only reads."""
    for connected in greeted("command", ANSWER_WITHIN):
        with connected:
            conversation = _Conversation(connected)
            try:
                reads = conversation.begin(call)
            except TimeoutError:
                raise HubSilent(peer_of(connected).pid) from None
            except (OSError, _Ended):
                continue
            if reads is not None:  # else it is the keeper of another record
                yield conversation, reads


def _ask(call: KeeperCall, open_session: Callable[[str], int]) -> int | None:
    """The same of the keeper that runs, if one does."""
    for conversation, reads in _begun(call):
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
            values=call.values,
            json=call.json,
            yes=call.yes,
            asks=asks,
            terminal=all(map(os.isatty, (0, 1, 2))),
            flags=call.flags,
            line=call.line,
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
        code = exits.DONE
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)
        self._send(go=True)
        with _Waiting(call.waiting) as waiting:
            for said in self._lines(waiting):
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
                elif "resume" in said:
                    waiting.clear()
                    return self._resume(said, open_session)
                elif not said.keys().isdisjoint(_ENDS):
                    return _finish(said, call)
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
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        _print_problems(said)
        session, cwd = said["resume"]
        return resume(session, cwd, open_session)

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


def _finish(said: dict[str, Any], call: KeeperCall) -> int:
    _print_problems(said)
    if said.get("refused"):
        return exits.DENIED
    if "program" in said:
        from gshtui.headless.commands.command_lines import run_in_terminal

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
