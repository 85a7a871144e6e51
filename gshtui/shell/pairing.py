"""Makes records of shells' lines: joins the two halves of a command, and closes lost halves.

Also decides which commands are never recorded; rejects impossible times and numbers. Pure.
"""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from gshtui.bus.event import Event
from gshtui.bus.events.shell_events import (
    ShellCommandFinished,
    ShellCommandStarted,
    ShellEnded,
    ShellFolderChanged,
    ShellNoted,
    ShellStarted,
)
from gshtui.bus.shell_data import ShellNote, ShellRecord


def ignore_filter(patterns: Iterable[str]) -> Callable[[str], bool]:
    """A filter for commands to ignore. A pattern matches the whole line; `*`, `?` and `[…]` are wildcards."""
    wanted = [pattern for pattern in patterns if pattern]
    fits = re.compile("|".join(fnmatch.translate(pattern) for pattern in wanted)).match if wanted else None

    def ignored(command: str) -> bool:
        return not command.strip() or command[0] in " \t" or (fits is not None and fits(command.rstrip()) is not None)

    return ignored


_AHEAD = 60.0
"""Seconds that a shell's clock may be ahead of ours; beyond that, its times are not used."""
_REMEMBERED = 512
"""Commands of a shell of which it is remembered that nothing more is to be taken."""
_SHELLS = 2_000
"""Shells that are remembered at most; those that have been silent longest are forgotten first."""


_ID = re.compile(r"[\w.:@%+=,~-]{1,200}")


def is_of_shell(event: Event) -> bool:
    """Whether a line names its shell by an id, which its spool file is named after, and its command by a number."""
    return _ID.fullmatch(getattr(event, "shell", "")) is not None and getattr(event, "number", 0) >= 0


class ShellInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known about a shell."""

    shell: str
    pid: int = 0
    process: str = ""
    """Which process that number means, told by the system; empty: not known."""
    program: str = "zsh"
    version: str = ""
    tty: str = ""
    pane: str = ""
    socket: str = ""
    """The tmux server's socket, if the shell runs in tmux."""
    host: str = ""
    cwd: str = ""
    parent: str = ""
    began: float = 0.0
    """Seconds since the epoch."""


class PairedLine(msgspec.Struct, frozen=True):
    """One line of a shell."""

    event: Event
    seq: int = 0
    """Its number within the shell's life; 0: none."""
    process: str = ""
    """Which process said it, where it is known."""


class PairingResult(msgspec.Struct):
    """The result of some lines, in order."""

    records: list[ShellRecord] = msgspec.field(default_factory=list[ShellRecord])
    notes: list[tuple[ShellNote, int]] = msgspec.field(default_factory=list[tuple[ShellNote, int]])
    shells: dict[str, ShellInfo] = msgspec.field(default_factory=dict[str, ShellInfo])
    """Those of which something new is known."""
    ended: set[str] = msgspec.field(default_factory=set[str])
    """Those that are gone."""


class PairingRules(msgspec.Struct, frozen=True):
    """Pairs the halves of commands into records."""

    redact: Callable[[str], str] = str
    ignored: Callable[[str], bool] = lambda command: command.startswith(" ")
    branch: Callable[[str], str] = lambda folder: ""


class Pairing:
    """Load what is known about the shells: their identity, and their running commands."""

    def __init__(self, rules: PairingRules) -> None:
        self._rules = rules
        self.shells: dict[str, ShellInfo] = {}
        self._running: dict[str, dict[int, ShellRecord]] = {}
        self._dropped: dict[str, dict[int, None]] = {}
        self._whole: dict[str, dict[int, None]] = {}
        """The newest complete commands; repeated lines about them add nothing."""

    def restore_shells(self, shells: Iterable[ShellInfo], running: Iterable[ShellRecord]) -> None:
        """What an earlier hub knew."""
        for info in shells:
            self.shells.setdefault(info.shell, info)
        for record in running:
            self._running.setdefault(record.shell, {}).setdefault(record.number, record)

    @property
    def running(self) -> Iterator[ShellRecord]:
        """Commands of which no end is known."""
        return (record for commands in self._running.values() for record in commands.values())

    def add_lines(self, said: Sequence[PairedLine], now: float) -> PairingResult:
        """Take lines. `now` in seconds since the epoch."""
        taken = PairingResult()
        for line in said:
            event = line.event
            at = _believed(event.at, now)
            match event:
                case ShellStarted():
                    self._began(taken, event, line, at)
                case ShellCommandStarted():
                    self._command(taken, event, line, at)
                case ShellCommandFinished():
                    self._finished(taken, event, at)
                case ShellFolderChanged():
                    taken.notes.append((ShellNote("folder", event.new, at, event.shell, event.new), line.seq))
                case ShellNoted() if not self._rules.ignored(event.text):
                    text = self._rules.redact(event.text)
                    taken.notes.append((ShellNote("note", text, at, event.shell, event.cwd), line.seq))
                case ShellEnded():
                    self._ended(taken, event.shell, at)
                case _:
                    pass
        self._forget_silent()
        return taken

    def close_shells(self, shells: Iterable[str]) -> list[ShellRecord]:
        """Close, as lost, the running commands of shells that died without a report."""
        lost: list[ShellRecord] = []
        for shell in tuple(shells):
            commands = self._running.pop(shell, {})
            lost += [msgspec.structs.replace(record, state="lost") for record in commands.values()]
            self._forget(shell)
        return lost

    def _began(self, taken: PairingResult, event: ShellStarted, line: PairedLine, at: float) -> None:
        info = ShellInfo(
            shell=event.shell,
            pid=event.pid,
            process=line.process,
            began=at,
            **{
                name: getattr(event, name)
                for name in ("program", "version", "tty", "pane", "socket", "host", "cwd", "parent")
            },
        )
        # `exec zsh` puts another shell into the same process: the one before has ended without saying so.
        if line.process:
            for other in [i.shell for i in self.shells.values() if i.process == line.process and i.began < at]:
                if other != info.shell:
                    self._ended(taken, other, at)
        self._learn(taken, info)

    def _command(self, taken: PairingResult, event: ShellCommandStarted, line: PairedLine, at: float) -> None:
        info = self._known(taken, event, line, at)
        running = self._running.setdefault(event.shell, {})
        if event.number in running or event.number in self._whole.get(event.shell, {}):
            return
        for number in [number for number in running if number < event.number]:
            # A shell takes its next command only when the one before is over: that one's end was not heard.
            taken.records.append(msgspec.structs.replace(running.pop(number), state="lost"))
        if self._rules.ignored(event.command):
            _remember(self._dropped.setdefault(event.shell, {}), event.number)
            return
        expanded = "" if event.expanded == event.command else event.expanded
        record = ShellRecord(
            shell=event.shell,
            number=event.number,
            command=self._rules.redact(event.command),
            expanded=self._rules.redact(expanded) if expanded else "",
            cwd=event.cwd or info.cwd,
            host=info.host,
            tty=event.tty or info.tty,
            pane=event.pane or info.pane,
            branch=self._rules.branch(event.cwd or info.cwd),
            program=info.program,
            at=at,
            cut=max(event.cut, 0),
        )
        running[event.number] = record
        taken.records.append(record)

    def _finished(self, taken: PairingResult, event: ShellCommandFinished, at: float) -> None:
        if event.number in self._dropped.get(event.shell, {}) or event.number in self._whole.get(event.shell, {}):
            return
        duration = event.duration if math.isfinite(event.duration) and event.duration >= 0 else 0.0
        record = self._running.get(event.shell, {}).pop(event.number, None)
        if record is None:  # its beginning is on its way by another road, or was kept by an earlier hub
            info = self.shells.get(event.shell, ShellInfo(event.shell))
            record = ShellRecord(
                shell=event.shell, number=event.number, at=at - duration, program=info.program, host=info.host
            )
        else:
            _remember(self._whole.setdefault(event.shell, {}), event.number)
        pipestatus = event.pipestatus if len(event.pipestatus) > 1 else ()
        taken.records.append(
            msgspec.structs.replace(record, state="done", exit=event.exit, duration=duration, pipestatus=pipestatus)
        )

    def _ended(self, taken: PairingResult, shell: str, at: float) -> None:
        """A shell that says goodbye in the middle of a command was ended by it (`exit`, `exec`): that is its end."""
        for record in self._running.pop(shell, {}).values():
            duration = max(at - record.at, 0.0)
            taken.records.append(msgspec.structs.replace(record, state="done", duration=duration))
        taken.ended.add(shell)
        taken.shells.pop(shell, None)
        self._forget(shell)

    def _known(self, taken: PairingResult, event: ShellCommandStarted, line: PairedLine, at: float) -> ShellInfo:
        info = self.shells.get(event.shell)
        if info is None:  # it began before this hub, or its first line is still in the spool
            info = ShellInfo(event.shell, event.pid, line.process, tty=event.tty, pane=event.pane, began=at)
            self._learn(taken, info)
        elif line.process and not info.process:
            self._learn(taken, msgspec.structs.replace(info, process=line.process, pid=event.pid or info.pid))
        return self.shells[event.shell]

    def _learn(self, taken: PairingResult, info: ShellInfo) -> None:
        before = self.shells.pop(info.shell, None)
        if before is not None and before.process and not info.process:
            info = msgspec.structs.replace(info, process=before.process, pid=before.pid)
        self.shells[info.shell] = info
        if info != before:
            taken.shells[info.shell] = info
        taken.ended.discard(info.shell)

    def _forget(self, shell: str) -> None:
        self.shells.pop(shell, None)
        self._running.pop(shell, None)
        self._dropped.pop(shell, None)
        self._whole.pop(shell, None)

    def _forget_silent(self) -> None:
        while len(self.shells) > _SHELLS:
            self._forget(
                next((shell for shell in self.shells if not self._running.get(shell)), next(iter(self.shells)))
            )


def _remember(numbers: dict[int, None], number: int) -> None:
    """Keep a number among the newest."""
    numbers[number] = None
    while len(numbers) > _REMEMBERED:
        del numbers[next(iter(numbers))]


def _believed(at: float, now: float) -> float:
    """The time that a shell says, unless it cannot be."""
    return at if math.isfinite(at) and 0 < at <= now + _AHEAD else now
