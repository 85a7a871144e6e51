"""Commands that agents run with their tools, as history rows like those of a person's shells.

Decides which part of a tool call becomes a record; ignores calls that were not allowed to run. Listens on the bus,
which carries the events of this hub's agents and of those in terminals. Held by the shell log.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentAdded, ToolFinished, ToolOutput, ToolStarted
from gshtui.bus.events.approval_events import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.fleet_events import AgentChanged, AgentRemoved
from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.shell.log.virtual_shells import VirtualShells
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.tasks import start_job

TOOLS = frozenset({"bash"})
RUNS_AFTER = 0.5
"""Seconds after which a call without an approval question counts as running."""
_EXIT = re.compile(r"^\[exit code: (\d+)", re.MULTILINE)
_EXIT_LINE = re.compile(r"^\[exit code: \d[^\n]*\]\Z", re.MULTILINE)
_MOST = 200
"""Calls that are remembered while they run."""


class Keep(Protocol):
    """Stores and publishes records. Raises `StoreError`."""

    def __call__(
        self, records: Sequence[ShellRecord], notes: Sequence[tuple[ShellNote, int]] = ()
    ) -> Awaitable[None]: ...


Printed = Callable[[ShellRecord, str], Awaitable[None]]


class ToolCommandLog:
    """`start` and `stop` bracket its life."""

    def __init__(
        self, bus: Bus, keep: Keep, printed: Printed, shells: VirtualShells, cwd: Path, redact: Callable[[str], str]
    ) -> None:
        """
        Args:
            printed: stores a command's output.
            cwd: the folder for commands of agents that report none.
        """
        self._bus = bus
        self._keep = keep
        self._printed = printed
        self._shells = shells
        self._cwd = cwd
        self._redact = redact
        self._calls: dict[str, ShellRecord] = {}
        self._names: dict[str, str] = {}
        """The agents' names, by id."""
        self._asked: set[str] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._unsubscribe: Callable[[], None] = lambda: None

    def start(self) -> None:
        calls = (ToolStarted, ToolFinished, ToolOutput, ApprovalRequested, ApprovalSettled)
        heard = (*calls, AgentAdded, AgentChanged, AgentRemoved)
        self._unsubscribe = self._bus.subscribe(self._listen, *heard, name="agents' commands").unsubscribe

    async def stop(self) -> None:
        """Stop listening. Running commands count as lost, because nobody here will see their end."""
        self._unsubscribe()
        for timer in self._timers.values():
            timer.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        running = [record for record in self._calls.values() if record.id]
        with contextlib.suppress(StoreError):
            await self._keep([msgspec.structs.replace(record, state="lost") for record in running])

    async def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            match event:
                case AgentAdded(name=name) | AgentChanged(row=AgentRow(name=name)):
                    self._names[event.agent] = name
                case AgentRemoved():
                    self._names.pop(event.agent, None)
                case ToolStarted(tool=tool) if tool in TOOLS:
                    self._run_starts(event)
                case ApprovalRequested() if event.call in self._calls:
                    self._asked.add(event.call)
                case ApprovalSettled(decision="once" | "session" | "always") if event.call in self._asked:
                    self._asked.discard(event.call)
                    # It begins now: what a person took to answer is not the command's time.
                    self._calls[event.call] = msgspec.structs.replace(
                        self._calls[event.call], at=event.at or time.time()
                    )
                    self._soon(event.call)
                case ToolOutput() if event.call in self._calls and not self._calls[event.call].id:
                    await self._runs(event.call)
                case ToolFinished() if event.call in self._calls:
                    await self._run_ended(event)
                case _:
                    pass

    def _run_starts(self, event: ToolStarted) -> None:
        command = event.arguments.get("command")
        if not isinstance(command, str) or not command.strip():
            return
        folder = event.arguments.get("working_dir")
        cwd = Path(event.cwd) if event.cwd else self._cwd
        while len(self._calls) >= _MOST:
            self._forget(next(iter(self._calls)))
        self._calls[event.call] = ShellRecord(
            shell=f"agent {event.session or event.agent}",
            number=_number(event.call, event.at),
            command=self._redact(command),
            cwd=str(cwd / folder) if isinstance(folder, str) else str(cwd),
            program="bash",
            at=event.at or time.time(),
            agent=self._names.get(event.agent) or event.agent,
            source="agent",
        )
        self._soon(event.call)

    def _soon(self, call: str) -> None:
        if (timer := self._timers.pop(call, None)) is not None:
            timer.cancel()
        self._timers[call] = asyncio.get_running_loop().call_later(RUNS_AFTER, self._due, call)

    def _due(self, call: str) -> None:
        self._timers.pop(call, None)
        if call in self._calls and call not in self._asked:
            task = start_job(self._runs(call), "the shell log of agents' commands")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _runs(self, call: str) -> None:
        record = self._calls.get(call)
        if record is not None and not record.id:
            self._calls[call] = msgspec.structs.replace(record, id=1)  # told as running
            with contextlib.suppress(StoreError):
                await self._shells.claim_shell(record.shell)
            if call in self._calls:  # else its end is being told
                await self._told(record)

    async def _run_ended(self, event: ToolFinished) -> None:
        record = self._calls[event.call]
        unanswered = event.call in self._asked and event.status != "ok" and _exit(event) is None
        ran = record.id or not (unanswered or _was_refused(event))
        self._forget(event.call)
        if not ran:
            return
        done = msgspec.structs.replace(
            record,
            id=0,
            at=min(record.at, event.at - event.duration) if record.id else event.at - event.duration,
            state="lost" if event.status == "lost" else "done",
            duration=event.duration,
            exit=_exit(event),
            output=event.output,
        )
        await self._told(done, _without_notes(self._redact(event.content)))

    async def _told(self, record: ShellRecord, printed: str = "") -> None:
        with contextlib.suppress(StoreError):
            await self._keep([record])
            if printed and not record.output:
                await self._printed(record, printed)

    def _forget(self, call: str) -> None:
        self._calls.pop(call, None)
        self._asked.discard(call)
        if (timer := self._timers.pop(call, None)) is not None:
            timer.cancel()


def _without_notes(text: str) -> str:
    """The command's output, without the tool's own notes."""
    return "" if text.startswith("(no output)") else _EXIT_LINE.sub("", text)


def _was_refused(event: ToolFinished) -> bool:
    """Whether the tool says that it started nothing: denied, or an error where a command's has an exit code."""
    return event.status == "denied" or (event.status == "error" and _exit(event) is None)


def _exit(event: ToolFinished) -> int | None:
    if event.status == "ok":
        return 0
    found = _EXIT.findall(event.content)
    return int(found[-1]) if found and event.status == "error" else None


def _number(call: str, at: float) -> int:
    """A number for a call that no other call of its conversation has, higher than those of the calls before it. It is
    odd, so that no call is the one right behind another.
    """
    return int(at * 1_000) << 16 | int.from_bytes(hashlib.blake2b(call.encode(), digest_size=2).digest(), "big") | 1
