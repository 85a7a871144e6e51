"""Commands that the person runs in a face's input line (`!make`), as history rows like those of their shells.

Runs them, lists them per conversation, and knows which ones its agent has not seen yet; reports each run only once.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import re
import time
from collections.abc import Callable, Generator
from typing import Any

import msgspec

from gshtui.bus.bus import Bus
from gshtui.bus.events.shell_events import InputCommandFinished, InputCommandPrinted, InputCommandStarted
from gshtui.bus.messages import ResultStatus
from gshtui.bus.shell_data import Ran, ShellRecord
from gshtui.commands.declaration import CommandError, Invocation, Outcome
from gshtui.commands.execution import run_parsed
from gshtui.commands.language import Parsed
from gshtui.context.log.ports import Contribution, SideText
from gshtui.context.retrieval.result_text import command_line, when
from gshtui.settings.paths import FolderError
from gshtui.shell import plugin_files
from gshtui.shell.log.tool_command_log import Keep, Printed
from gshtui.shell.log.virtual_shells import VirtualShells, shell_of
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.store.tables.command_history import HistoryQuery
from gshtui.system.ids import new_id
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.sanitise import plain
from gshtui.text.truncation import shorten

SOURCE = "commands run here"
_NEWS_HEAD = "# The person ran this here since their last message"
_AT_ONCE = 20_000
"""Characters whose secrets are looked for at once; more, in a thread."""
_MOST = 20
"""Most runs reported at once; of more, only the newest."""


class UnreportedCommands:
    """By conversation."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[tuple[ShellRecord, str]]] = {}

    def add(self, session: str, record: ShellRecord, rows: list[str]) -> None:
        """A run ended that printed these lines, as far as agents may see them."""
        waiting = self._waiting.setdefault(session, [])
        if all(known.number != record.number for known, _ in waiting):
            waiting.append((record, plain("\n".join(rows))))
            waiting.sort(key=lambda one: one[0].number)
            del waiting[:-_MOST]

    def reports(self, session: str, limit: int) -> Contribution:
        """All that the agent of the conversation was not told; it is offered until it was.

        Args:
            session: the conversation.
            limit: bytes of outputs, all runs together; 0: no limit.
        """
        waiting = tuple(self._waiting.get(session, ()))
        if not waiting:
            return Contribution()
        each = max(1, limit // len(waiting)) if limit else 0
        parts = [_run_text(record, shorten(printed, each)) for record, printed in waiting]

        def told() -> None:
            rest = [one for one in self._waiting.get(session, ()) if one not in waiting]
            self._waiting[session] = rest

        return Contribution(along=(SideText(SOURCE, "\n\n".join([_NEWS_HEAD, *parts]), told=told),))


def _run_text(record: ShellRecord, printed: str) -> str:
    lines = [f"{command_line(record)} ({when(record.at, '%H:%M:%S')})"]
    lines += [f"  {row}" for row in printed.splitlines()]
    return "\n".join(lines)


COMMAND = "bash"
_NO_OUTPUT = "(no output)"
_EXIT_LINE = re.compile(r"\n?^\[exit code: \d+\]$", re.MULTILINE)
_HOUR_MS = 3_600_000
_END_WITHIN = 3.0
"""Seconds for runs to end when the hub does."""


class UserCommandOptions(msgspec.Struct, frozen=True):
    """Read the configuration from the settings."""

    redact: Callable[[str], str]
    """Takes secrets out of text."""
    ignored: Callable[[str], bool]
    """Whether a command is never recorded."""
    lines: int = 0
    """How many last lines of each output agents are told; all of it is stored. 0: neither."""


class UserCommandRunner:
    """The runs of one hub, numbered like the commands of a shell: one for each conversation, for all time."""

    def __init__(
        self, bus: Bus, keep: Keep, printed: Printed, shells: VirtualShells, terms: UserCommandOptions
    ) -> None:
        self.ran_here = UnreportedCommands()
        """What agents see of the runs."""
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

    def has_room(self, parsed: Parsed, invocation: Invocation) -> bool:
        """Whether the line is one that the person runs in a shell."""
        return parsed.command.name == COMMAND and not invocation.caller.is_agent

    def runs(self, run: str) -> bool:
        """Whether it is running now, in this hub."""
        return run in self._running

    def stop(self) -> bool:
        """Interrupt the newest running command, as ctrl+c does; returns whether there is one."""
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
            async with time_limit(_END_WITHIN):
                await self._quiet.wait()

    async def run(self, parsed: Parsed, invocation: Invocation) -> Outcome:
        """Run it, and keep that it ran. A person's command has an hour, unless the line says otherwise.
        Raises `CommandError`: it cannot be run.
        """
        parameters = parsed.parameters
        given = parameters.model_dump()
        if not given["timeout_ms"]:
            parameters = parameters.model_copy(update={"timeout_ms": _HOUR_MS})
        shell = shell_of(invocation.session or self._elsewhere)
        record = ShellRecord(
            shell=shell,
            number=await self._number(shell),
            command=self._terms.redact(given["command"]),
            cwd=str(invocation.cwd / given["working_dir"]),
            program="bash",
            at=time.time(),
            source="run",
        )
        private = self._terms.ignored(given["command"]) or _paused()
        ended = _Ended()
        clock = time.monotonic()
        with self._announced(invocation, record, given["command"], ended) as surroundings:
            try:
                if not private:
                    await self._told(record)
                outcome = await run_parsed(parsed.command, parameters, surroundings)
                ended.set_outcome(outcome)
                return msgspec.structs.replace(outcome, shown=True)
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
        """Publish its start, its output and its end; a context manager around the run."""
        run = run_id(record)
        agent, session = invocation.agent, invocation.session

        def output(text: str) -> None:
            self._bus.publish(InputCommandPrinted(agent=agent, session=session, run=run, text=text))
            invocation.output(text)

        self._running[run] = invocation.cancelled
        self._quiet.clear()
        self._bus.publish(InputCommandStarted(agent=agent, session=session, run=run, command=command, cwd=record.cwd))
        try:
            yield msgspec.structs.replace(invocation, output=output)
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
                    self._numbers[shell] = await self._shells.claim_shell(shell)
            self._numbers[shell] += 1
            return self._numbers[shell]

    async def _kept(self, session: str, record: ShellRecord, ended: _Ended) -> None:
        record = msgspec.structs.replace(
            record, state="lost" if ended.exit is None else "done", exit=ended.exit, duration=ended.duration
        )
        full = ended.full if self._terms.lines else ""
        if len(full) < _AT_ONCE:
            full = self._terms.redact(full)
        else:
            full = await asyncio.to_thread(self._terms.redact, full)
        self.ran_here.add(session, record, self.last_lines(full).splitlines())
        await self._told(record, full)

    def last_lines(self, printed: str) -> str:
        """What agents are told, and a conversation shows, of a whole output."""
        return "\n".join(printed.splitlines()[-self._terms.lines :]) if self._terms.lines else ""

    async def _told(self, record: ShellRecord, printed: str = "") -> None:
        with contextlib.suppress(StoreError):  # a record that cannot be written says so by itself
            await self._keep([record])
            if printed:
                await self._printed(record, printed)


class _Ended(msgspec.Struct):
    """How a run ended; called off, until something else is known."""

    status: ResultStatus = "cancelled"
    text: str = ""
    full: str = ""
    exit: int | None = None
    duration: float = 0.0
    bytes: int = 0
    cut: bool = False

    def set_outcome(self, outcome: Outcome) -> None:
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
        return plugin_files.is_paused()
    except FolderError:  # nothing can be paused where there is no folder to say so
        return False


def run_id(record: ShellRecord) -> str:
    """The id of a run, both while it is running and once it is stored."""
    return f"{record.shell}.{record.number}"


_LOOK_BACK = 20
"""How many messages are searched for the last answer, and the most runs since then."""


class UserCommandHistory:
    """The runs of all conversations."""

    def __init__(self, store: Store, by_hand: UserCommandRunner) -> None:
        self._store = store
        self._by_hand = by_hand
        self._recalled: set[str] = set()

    async def between(self, session: str, after: float, before: float, limit: int = 200) -> list[Ran]:
        """Those of a conversation in a time, the newest `limit`, oldest first. `session`: the conversation. `after`:
        seconds since the epoch, `before` too; infinite ones as well. Raises `StoreError`: the record cannot be read.
        """
        found = await self._store.shells.find_all(
            HistoryQuery(shell=shell_of(session), after=_finite(after), before=_finite(before)), limit=limit
        )
        return [await self._ran(record) for record in reversed(found)]

    async def reports_for(self, session: str, limit: int) -> Contribution:
        """What the agent of a conversation was not yet told of them.

        Args:
            session: the conversation.
            limit: bytes of outputs, all of them together; 0: no limit.
        """
        if session not in self._recalled:
            self._recalled.add(session)
            with contextlib.suppress(StoreError):  # then it is told what this process knows
                for one in await self._since_answer(session):
                    self._by_hand.ran_here.add(session, one.record, one.printed.splitlines())
        return self._by_hand.ran_here.reports(session, limit)

    async def _since_answer(self, session: str) -> list[Ran]:
        """What was run since the conversation's last answer, even by a closed window."""
        said = await self._store.messages.read(session, limit=_LOOK_BACK)
        answered = max((one.message.at for one in said if one.message.role != "user"), default=-math.inf)
        found = await self.between(session, answered, math.inf, _LOOK_BACK)
        return [one for one in found if one.record.state != "running"]

    async def _ran(self, record: ShellRecord) -> Ran:
        run = run_id(record)
        if record.state == "running" and not self._by_hand.runs(run):
            record = msgspec.structs.replace(record, state="lost")
        printed = await self._store.shells.output(record.output) if record.output else ""
        return Ran(run, record, self._by_hand.last_lines(printed))


def _finite(at: float) -> float | None:
    return at if math.isfinite(at) else None
