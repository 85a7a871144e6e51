"""Commands that the person runs in a face's input line (`!make`): rows of the history like those of their shells.

Owns the record of such a run and what is told of it while it goes on; refuses to change how it ends. What is private
in the shells is private here: an ignored command, and any while recording is paused, leaves nothing behind. Held by
the shell log, called by the hub.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import re
import time
from collections.abc import Callable, Generator
from typing import Any

import msgspec

from gshtui.bus.bus import Bus
from gshtui.bus.events.shell import InputCommandFinished, InputCommandPrinted, InputCommandStarted
from gshtui.bus.ids import new_id
from gshtui.bus.messages import ResultStatus
from gshtui.bus.shell import ShellRecord
from gshtui.commands.declaration import CommandError, Invocation, Outcome
from gshtui.commands.execute import run_parsed
from gshtui.commands.language import Parsed
from gshtui.settings.paths import FolderError
from gshtui.shell import options
from gshtui.shell.log.agent_calls import Keep, Printed
from gshtui.shell.log.own_shells import OwnShells, shell_of
from gshtui.shell.log.ran_here import RanHere
from gshtui.store.errors import StoreError

COMMAND = "bash"
_NO_OUTPUT = "(no output)"
_EXIT_LINE = re.compile(r"\n?^\[exit code: \d+\]$", re.MULTILINE)
_HOUR_MS = 3_600_000
_END_WITHIN = 3.0
"""Seconds for runs to end when the hub does."""


@dataclasses.dataclass(frozen=True, slots=True)
class HandTerms:
    """What the settings say."""

    redact: Callable[[str], str]
    """Takes secrets out of text."""
    ignored: Callable[[str], bool]
    """Whether a command is never recorded."""
    lines: int = 0
    """Of each output that are kept and told to agents, the last ones; 0: none."""


class ByHand:
    """The runs of one hub, numbered like the commands of a shell: one for each conversation, for all time."""

    def __init__(self, bus: Bus, keep: Keep, printed: Printed, shells: OwnShells, terms: HandTerms) -> None:
        """`printed` keeps what a command printed."""
        self.ran_here = RanHere()
        """What agents are told of the runs."""
        self._bus = bus
        self._keep = keep
        self._printed = printed
        self._shells = shells
        self._terms = terms
        self._elsewhere = new_id()
        self._numbers: dict[str, int] = {}
        self._numbering = asyncio.Lock()
        self._running: dict[str, asyncio.Event] = {}
        self._quiet = asyncio.Event()
        self._quiet.set()

    def takes(self, parsed: Parsed, invocation: Invocation) -> bool:
        """Whether the line is one that the person runs in a shell."""
        return parsed.command.name == COMMAND and not invocation.caller.is_agent

    def runs(self, run: str) -> bool:
        """Whether it goes on now, in this hub."""
        return run in self._running

    def stop(self) -> bool:
        """End the newest run that still goes on, as ctrl+c does; whether there is one."""
        for asked in reversed(self._running.values()):
            if not asked.is_set():
                asked.set()
                return True
        return False

    async def close(self) -> None:
        """End all runs, and keep how they ended."""
        while self.stop():
            pass
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_WITHIN):
                await self._quiet.wait()

    async def run(self, parsed: Parsed, invocation: Invocation) -> Outcome:
        """Run it, and keep that it ran. A person's command has an hour, unless the line says otherwise.

        Raises:
            CommandError: it cannot be run.
        """
        parameters = parsed.parameters
        given = parameters.model_dump()
        if not given["timeout_ms"]:
            parameters = parameters.model_copy(update={"timeout_ms": _HOUR_MS})
        shell = shell_of(invocation.session or self._elsewhere)
        record = ShellRecord(
            shell=shell, number=await self._number(shell), command=self._terms.redact(given["command"]),
            cwd=str(invocation.cwd / given["working_dir"]), program="bash", at=time.time(), source="run",
        )  # fmt: skip
        private = self._terms.ignored(given["command"]) or _paused()
        ended = _Ended()
        clock = time.monotonic()
        with self._announced(invocation, record, given["command"], ended) as surroundings:
            try:
                if not private:
                    await self._told(record)
                outcome = await run_parsed(parsed.command, parameters, surroundings)
                ended.take(outcome)
                return dataclasses.replace(outcome, shown=True)
            except CommandError as error:
                ended.status, ended.text = "error", str(error)
                error.shown = True
                raise
            finally:
                ended.duration = time.monotonic() - clock
                if not private:
                    await self._kept(invocation.session, record, ended)

    @contextlib.contextmanager
    def _announced(
        self, invocation: Invocation, record: ShellRecord, command: str, ended: _Ended
    ) -> Generator[Invocation]:
        """Tell the windows that it runs, what it prints, and how it ended; gives the surroundings to run it in."""
        run = run_id(record)
        agent, session = invocation.agent, invocation.session

        def output(text: str) -> None:
            self._bus.publish(InputCommandPrinted(agent=agent, session=session, run=run, text=text))
            invocation.output(text)

        self._running[run] = invocation.cancelled
        self._quiet.clear()
        self._bus.publish(InputCommandStarted(agent=agent, session=session, run=run, command=command, cwd=record.cwd))
        try:
            yield dataclasses.replace(invocation, output=output)
        finally:
            del self._running[run]
            if not self._running:
                self._quiet.set()
            self._bus.publish(
                InputCommandFinished(
                    agent=agent,
                    session=session,
                    run=run,
                    status=ended.status,
                    text=ended.text,
                    exit=ended.exit,
                    duration=ended.duration,
                    bytes=ended.bytes,
                    cut=ended.cut,
                )
            )

    async def _number(self, shell: str) -> int:
        async with self._numbering:
            if shell not in self._numbers:
                self._numbers[shell] = 0
                with contextlib.suppress(StoreError):  # a record that cannot be read says so by itself
                    self._numbers[shell] = await self._shells.take(shell)
            self._numbers[shell] += 1
            return self._numbers[shell]

    async def _kept(self, session: str, record: ShellRecord, ended: _Ended) -> None:
        record = msgspec.structs.replace(
            record, state="lost" if ended.exit is None else "done", exit=ended.exit, duration=ended.duration
        )
        rows = self._terms.redact(ended.full).splitlines()[-self._terms.lines :] if self._terms.lines else []
        self.ran_here.add(session, record, rows)
        await self._told(record, "\n".join(rows))

    async def _told(self, record: ShellRecord, printed: str = "") -> None:
        with contextlib.suppress(StoreError):  # a record that cannot be written says so by itself
            await self._keep([record])
            if printed:
                await self._printed(record, printed)


@dataclasses.dataclass(slots=True)
class _Ended:
    """How a run ended; called off, until something else is known."""

    status: ResultStatus = "cancelled"
    text: str = ""
    full: str = ""
    exit: int | None = None
    duration: float = 0.0
    bytes: int = 0
    cut: bool = False

    def take(self, outcome: Outcome) -> None:
        data: dict[str, Any] = outcome.data
        code = int(data["exit_code"])
        self.exit = code if code >= 0 else 128 - code  # as shells say it
        self.status = (
            "timeout" if data["timed_out"] else "cancelled" if data["cancelled"] else "error" if code else "ok"
        )
        self.text = _EXIT_LINE.sub("", outcome.text).removeprefix(_NO_OUTPUT).strip("\n")
        self.full = outcome.full or str(data["output"])
        self.bytes, self.cut = outcome.bytes, outcome.cut


def _paused() -> bool:
    try:
        return options.paused()
    except FolderError:  # nothing can be paused where there is no folder to say so
        return False


def run_id(record: ShellRecord) -> str:
    """Id of a run, while it goes on and once it is kept."""
    return f"{record.shell}.{record.number}"
