"""The shell log: what runs in this user's shells, received by the hub, kept in the record, and told in every workspace.

Creates its parts from the settings, in order; never listens where another hub already does, as that of another record
may. While a line is typed, it suggests the command of the person that is most probably meant.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.events.shell_events import ShellRecorded
from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.settings import paths
from gshtui.settings.model import Settings
from gshtui.shell import plugin_files
from gshtui.shell.event_table import PROMPT, SHELL
from gshtui.shell.hub_listener import HubConnection, HubListener, NoHost
from gshtui.shell.hub_registry import HubRegistryError, shells_socket_path
from gshtui.shell.line_stream import BadLine
from gshtui.shell.log.connection_hosts import ShellConnections
from gshtui.shell.log.pane_output import PaneOutputs
from gshtui.shell.log.shell_intake import IntakeRules, ShellIntake
from gshtui.shell.log.tool_command_log import ToolCommandLog
from gshtui.shell.log.user_commands import UserCommandHistory, UserCommandOptions, UserCommandRunner
from gshtui.shell.log.virtual_shells import VirtualShells
from gshtui.shell.pairing import ShellInfo, ignore_filter
from gshtui.shell.socket_lease import SocketLease
from gshtui.shell.spool import folder as spool_folder
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.store.tables.command_history import PrefixRun
from gshtui.system.files.folder_watch import FolderWatch, until_calm_look
from gshtui.system.processes.process_watch import ProcessWatch
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, end_all, keep_on, start_job
from gshtui.text.sanitise import plain
from gshtui.text.secret_shapes import MARK

LOOK_EVERY = 1.0
"""Seconds between two looks for shells that died and at the socket's place, at least."""
_WINDOWS_EVERY = 5.0
"""Seconds from one look for windows that died to the next."""
_SYNC_WITHIN = 2.0
"""Seconds that a reader here waits for what is in the spool."""
_TRIM_EVERY = 2.0
_SAY_EVERY = 60.0


class ShellLogOptions(msgspec.Struct, frozen=True):
    """Read the configuration from the settings."""

    socket: Path
    data: Path
    """Folder of the user's data, where the spool is."""
    cwd: Path
    """Folder of the window."""
    keep: int
    """Commands of the history; 0: all."""
    ignore: tuple[str, ...] = ()
    output_lines: int = 0
    """Lines kept of each command's output; 0: none."""


class ShellLog:
    """See the module's text. `start` and `stop` bracket its life."""

    def __init__(
        self,
        bus: Bus,
        store: Store,
        terms: ShellLogOptions,
        redact: Callable[[str], str],
        host: ShellLog | None = None,
    ) -> None:
        """
        Args:
            redact: removes secrets from text.
            host: the one of this process that shells report to; `None`: this one.
        """
        self._bus = bus
        self._host = host
        self._followers: list[ShellLog] = []
        """Those that have this one as their host."""
        self._store = store
        self._terms = terms
        self._stirred = asyncio.Event()
        """A shell came or went, or the socket's place was changed."""
        self._tried = asyncio.Event()
        """The socket was had, or is another hub's."""
        rules = IntakeRules(redact, ignore_filter(terms.ignore))
        self._outputs = PaneOutputs(terms.output_lines, self._store_output, redact)
        spools = spool_folder(terms.data)
        self._intake = ShellIntake(store, spools, rules, self._publish_everywhere, self._on_stored)
        self._shells = ShellConnections(self._intake.lines)
        self._prompts = SuggestionConnections(store)
        self._redact = redact
        self._own_shells = VirtualShells(store, self._intake.lines.publish_stored)
        keep = self._intake.lines.store_records
        self._tool_commands = ToolCommandLog(bus, keep, self._store_output, self._own_shells, terms.cwd, redact)
        self.by_hand = UserCommandRunner(
            bus,
            keep,
            self._store_output,
            self._own_shells,
            UserCommandOptions(redact, rules.ignored, terms.output_lines),
        )
        """Runs what the person types into a face, and keeps that it ran."""
        self.runs = UserCommandHistory(store, self.by_hand)
        """What was run so."""
        self._lease = SocketLease(terms.socket)
        self._listener: HubListener | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._windows_at = 0.0
        self._last_complaint = ""
        self._told_of_trimming = False
        self._reported_bad = (0, 0.0)
        self._grown = asyncio.Event()
        self._grown.set()

    @property
    def listens(self) -> bool:
        """Whether shells report to it."""
        return self._listener is not None

    @property
    def connected(self) -> int:
        """Shells that are connected to this hub now."""
        return self._shells.connected

    async def start(self) -> None:
        """Start listening, or hearing of the one that does. Raises nothing: problems become notices."""
        self._tool_commands.start()
        if self._host is not None:
            self._host._followers.append(self)
            return
        self._tasks = [
            keep_on(self._intake.lines.run, "the intake of shells"),
            keep_on(self._serve, "the shell log"),
            keep_on(self._trim_regularly, "the trimming of the shell history"),
        ]

    async def stop(self) -> None:
        """End the person's commands, store what was received, then release the socket."""
        await end_all(
            "the end of the shell log",
            self.by_hand.close,
            self._tool_commands.stop,
            self._leave_own_shells,
            self._stop_listening,
            self._stop_tasks,
            self._outputs.stop,
            self._lease.release,
        )

    async def _leave_own_shells(self) -> None:
        if self._host is not None and self in self._host._followers:
            self._host._followers.remove(self)
        with contextlib.suppress(StoreError):  # then another hub finds that this process is gone
            await self._own_shells.release_shells()

    async def _stop_listening(self) -> None:
        if self._listener is not None:
            await self._listener.stop()
        with contextlib.suppress(TimeoutError, StoreError):
            async with time_limit(3.0):
                await self._intake.lines.wait_until_stored()

    async def _stop_tasks(self) -> None:
        await cancel_and_wait(*self._tasks[::-1])

    async def sync_spool(self) -> None:
        """Store what shells have written into the spool until now."""
        if self._host is not None:
            await self._host.sync_spool()
            return
        with contextlib.suppress(TimeoutError):
            async with time_limit(_SYNC_WITHIN):
                await self._tried.wait()
                if self.listens:
                    await self._intake.read_now()
                    if dead := await self._intake.dead_shells():
                        await self._intake.close_shells(dead)
                    await self._outputs.settle()

    async def store_records(self, records: Sequence[ShellRecord]) -> None:
        """Store and publish commands of another origin. Raises `StoreError`."""
        await self._intake.lines.store_records(records)

    async def add_note(self, text: str, cwd: str = "") -> None:
        """Store and publish the person's remark. Raises `StoreError`."""
        await self._intake.lines.store_records((), [(ShellNote("note", self._redact(text), time.time(), cwd=cwd), 0)])

    async def _serve(self) -> None:
        while True:
            try:
                listening = await asyncio.to_thread(self._lease.try_acquire)
            except HubRegistryError as error:
                self._report_problem(error)
                await asyncio.sleep(LOOK_EVERY)
                continue
            if listening is not None:
                self._last_complaint = ""
                listener = HubListener({SHELL: self._shells, PROMPT: self._prompts}, self._intake.lines.wait_for_room)
                try:
                    with contextlib.suppress(StoreError):
                        await self._intake.restore_shells()
                    self._listener = listener
                    await listener.listen(listening, self._lease.path)
                    self._tried.set()
                    await self._receive(listener)
                finally:
                    self._listener = None
                    await listener.stop()
                    self._lease.release()
            else:
                self._tried.set()
                await asyncio.sleep(LOOK_EVERY)

    async def _receive(self, listener: HubListener) -> None:
        """Receive shells' reports until the socket is removed."""
        spooling = keep_on(self._intake.spools.run, "the spool of shells")
        place = self._lease.path
        watch = FolderWatch(place.parent, lambda name: name == place.name)
        watch.on_change(self._stirred.set)
        processes = ProcessWatch(self._stirred.set)
        try:
            while True:
                self._stirred.clear()
                if not self._lease.is_held():
                    return
                await self._close_dead_shells(listener)
                told = processes.watch(self._intake.processes()) and watch.works
                if told:
                    with contextlib.suppress(TimeoutError):
                        async with time_limit(until_calm_look()):
                            await self._stirred.wait()
                if not told or self._stirred.is_set():
                    await asyncio.sleep(LOOK_EVERY)
        finally:
            watch.close()
            processes.close()
            await cancel_and_wait(spooling)

    async def _close_dead_shells(self, listener: HubListener) -> None:
        """Close the commands of shells that died without a report."""
        bad = listener.counts.bad_lines + listener.counts.strangers + self._intake.spools.bad_lines
        if bad > self._reported_bad[0] and time.monotonic() - self._reported_bad[1] > _SAY_EVERY:
            more = bad - self._reported_bad[0]
            self._reported_bad = (bad, time.monotonic())
            text = f"{more} lines from shells could not be understood and were left out."
            self._bus.publish(Noticed(level="warning", text=text, about="shell"))
        dead = await self._intake.dead_shells()
        if time.monotonic() - self._windows_at > _WINDOWS_EVERY:
            self._windows_at = time.monotonic()
            with contextlib.suppress(StoreError):
                dead |= await self._own_shells.find_dead()
        if dead:
            await self._intake.close_shells(dead)

    def _publish_everywhere(self, event: Event) -> None:
        """Say something that happened here in every workspace."""
        host = self._host or self
        host._stirred.set()
        for log in {host, self, *host._followers}:
            log._bus.publish(event)

    def _on_stored(self, record: ShellRecord, info: ShellInfo | None) -> None:
        self._grown.set()
        if info is not None:
            self._outputs.record_stored(record, info)

    async def put_record(self, record: ShellRecord) -> ShellRecord:
        """Store and publish a command of another origin; gives it as it is now. Raises `StoreError`."""
        kept = await self._store.shells.put_record(record)
        self._intake.lines.publish_stored([kept])
        return kept

    async def put_output(self, shell: str, number: int, text: str) -> ShellRecord | None:
        """Store what a command printed, and publish that; gives the command as it is now. Raises `StoreError`."""
        kept = await self._store.shells.put_output(shell, number, text)
        if kept is not None:
            self._publish_everywhere(ShellRecorded(record=kept))
        return kept

    async def _store_output(self, record: ShellRecord, text: str) -> None:
        """What a command printed is known."""
        await self.put_output(record.shell, record.number, text)

    async def _trim_regularly(self) -> None:
        while True:
            await asyncio.sleep(_TRIM_EVERY)
            await self._grown.wait()
            self._grown.clear()
            if self._terms.keep and self.listens:
                with contextlib.suppress(StoreError):
                    await self._trim_all()

    async def _trim_all(self) -> None:
        """In small steps, between which others write."""
        removed = 1
        while removed:
            removed = await self._store.shells.trim(self._terms.keep)
            if removed and not self._told_of_trimming:
                self._told_of_trimming = True
                text = f"The shell log keeps the newest {self._terms.keep:,} commands; older ones are removed."
                hint = "Raise [context] max_history_lines to keep more."
                self._bus.publish(Noticed(level="info", text=text, hint=hint, about="shell"))
            await asyncio.sleep(removed / 20_000)

    def _report_problem(self, error: HubRegistryError) -> None:
        if error.message != self._last_complaint:
            self._last_complaint = error.message
            self._bus.publish(Noticed(level="warning", text=error.message, hint=error.hint, about="shell"))


def make_shell_log(
    bus: Bus, store: Store, settings: Settings, cwd: Path, *, redact: Callable[[str], str], host: ShellLog | None = None
) -> ShellLog:
    """Create the shell log. `cwd`: the folder; the others as for `ShellLog`."""
    terms = ShellLogOptions(
        socket=shells_socket_path(settings.general.socket_path),
        data=paths.data_dir(create=False),
        cwd=cwd,
        keep=settings.context.max_history_lines,
        ignore=tuple(settings.shell.ignore),
        output_lines=settings.context.stdout_max_lines if settings.context.include_stdout else 0,
    )
    if host is None:
        with contextlib.suppress(OSError):  # then the plugins keep what they know
            plugin_files.write_options(settings)
    return ShellLog(bus, store, terms, redact, host)


SHORTEST, LONGEST, OFFERED = 1, 250, 1_000
"""Letters that may be asked about, and of a suggestion at most."""
_RUNS = 60
_HALF_LIFE = 14 * 86_400.0
"""Seconds after which a run counts half."""
_NO_SUCH_COMMAND = 127


def best_command(typed: str, cwd: str, previous: str, runs: Sequence[PrefixRun], now: float) -> str:
    """The command to suggest for what is typed; empty: none. `previous`: what was run just before, as recorded. `runs`:
    earlier runs of commands that begin so.
    """
    weights: dict[str, list[float]] = {}
    for run in runs:
        if run.command != typed and run.command.startswith(typed) and _is_offered(run.command):
            weights.setdefault(run.command, []).append(_weight(run, cwd, previous, now))
    scores = {command: max(found) * (1 + 0.2 * math.log(len(found))) for command, found in weights.items()}
    best = max(scores, key=lambda command: scores[command], default="")
    return best if best and scores[best] > 0 else ""


def _weight(run: PrefixRun, cwd: str, previous: str, now: float) -> float:
    """How much one run speaks for its command."""
    if run.exit == _NO_SUCH_COMMAND:
        return 0.0
    weight = math.exp2(-max(0.0, now - run.at) / _HALF_LIFE) + 0.01
    if run.cwd == cwd:
        weight *= 4
    elif f"{run.cwd}/".startswith(f"{cwd}/") or f"{cwd}/".startswith(f"{run.cwd}/"):
        weight *= 2
    if previous and run.previous == previous:
        weight *= 3
    return weight if run.exit == 0 else weight / 4 if run.exit else weight / 2


def _is_offered(command: str) -> bool:
    """Whether it may be put into somebody's line."""
    return len(command) <= OFFERED and MARK not in command and "\t" not in command and str(plain(command)) == command


def quoted(text: str) -> str:
    """The text as a shell can read it out of JSON without a parser: what JSON would escape, as `%XX`."""
    for letter in '%"\\\n':
        text = text.replace(letter, f"%{ord(letter):02X}")
    return text


class SuggestionConnections(NoHost):
    """The prompts that ask what to suggest. Of several questions of one prompt, the newest is answered."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._asked: dict[HubConnection, tuple[int, str, str, str]] = {}
        self._busy: set[HubConnection] = set()

    def asked(self, connection: HubConnection, fields: dict[str, Any]) -> None:
        """One question: its number, the line so far, the folder, and the command before."""
        number, rest = fields.get("ask"), [fields.get(name, "") for name in ("text", "cwd", "previous")]
        if not isinstance(number, int) or not all(isinstance(value, str) for value in rest):
            raise BadLine("`ask` is no number, or `text`, `cwd` or `previous` is no text")
        typed, cwd, previous = rest
        self._asked[connection] = (number, typed, cwd, previous)
        if connection not in self._busy:
            self._busy.add(connection)
            start_job(self._answer(connection), "a suggestion at the prompt")

    def disconnected(self, connection: HubConnection) -> None:
        """It has hung up."""
        self._asked.pop(connection, None)

    async def _answer(self, connection: HubConnection) -> None:
        try:
            while (asked := self._asked.pop(connection, None)) is not None:
                number, *question = asked
                connection.send_fields(answer=number, text=quoted(await self._suggest(*question)))
        finally:
            self._busy.discard(connection)

    async def _suggest(self, typed: str, cwd: str, previous: str) -> str:
        if not SHORTEST <= len(typed) <= LONGEST:
            return ""
        try:
            runs = await self._store.shells.runs_with_prefix(typed, cwd, _RUNS)
        except StoreError:
            return ""  # the record reports its own faults
        return best_command(typed, cwd, previous, runs, time.time())
