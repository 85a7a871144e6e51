"""The `hub` command: whether the keeper runs, starting and stopping it, and having the system start it at login.

The settings are enough for it, so it works beside any window and without a record. Registered by the hub.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import ClassVar

import msgspec
from pydantic import Field

from gshtui.client.hub_greeting import ANEW, HubSilent, greeted
from gshtui.commands.declaration import (
    Access,
    Action,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Question,
    Returns,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellGroup
from gshtui.fleet.keeper import keeper, keeper_unit
from gshtui.settings.model import Settings
from gshtui.store.tables.name_lookup import agents_in, turns_in
from gshtui.system.processes import process_tree
from gshtui.system.processes.process_identity import is_here
from gshtui.text import units
from gshtui.text.sanitise import one_line

_NONE = "No hub runs."
_ANSWER_WITHIN = 2.0
"""Seconds for a hub to greet."""


class KeeperReport(msgspec.Struct, frozen=True):
    """Whether the hub runs, and what it costs."""

    running: bool
    keep: str
    """The setting `hub.keep`."""
    pid: int = 0
    version: str = ""
    since: float = 0.0
    """When it started, in seconds since the epoch."""
    memory: int = 0
    """Bytes of memory that it uses."""
    processor: float = 0.0
    """Seconds of processor time that it has used."""
    ready: bool = False
    """It has started, and takes commands."""
    answers: bool = True
    """It is reached from here."""
    elsewhere: bool = False
    """It runs in another container, where its memory and processor time are not seen."""


class StoppedKeeper(msgspec.Struct, frozen=True):
    """Whether there was a hub to stop."""

    was_running: bool
    agents: int = 0
    """How many agents in terminals of their own keep running without it."""


class InstalledUnit(msgspec.Struct, frozen=True):
    """The file that makes the system start the hub at login."""

    file: Path
    removed: bool
    changed: bool
    """There was something to do."""
    commands: list[str]
    """What the person runs next."""


def _shell(summary: str, *, alone: bool = True, needs_answer: bool = False) -> ShellForm:
    return ShellForm(summary=summary, parts=frozenset(), alone=alone, needs_answer=needs_answer, quiet=not alone)


class ShowKeeper(Parameters, Returns[KeeperReport]):
    """Say whether the hub runs, since when, and what it uses."""

    COMMAND: ClassVar[str] = "hub"
    WORD: ClassVar[str] = "status"
    SHELL = _shell("Say whether the hub runs.", alone=False)


class StartKeeper(Parameters, Returns[KeeperReport]):
    """Start the hub now, rather than with the first window, agent or command."""

    COMMAND: ClassVar[str] = "hub"
    WORD: ClassVar[str] = "start"
    SHELL = _shell("Start the hub now.")


class StopKeeper(Parameters, Returns[StoppedKeeper]):
    """Stop the hub. Programs in terminals keep running; our own agents wait for the next hub, which a window starts."""

    COMMAND: ClassVar[str] = "hub"
    WORD: ClassVar[str] = "stop"
    SHELL = _shell("Stop the hub.", needs_answer=True)


class InstallKeeper(Parameters, Returns[InstalledUnit]):
    """Have the system start the hub when you log in, and keep it running: a user unit of systemd or launchd.

    The file is shown before it is written. This is optional: gsh-tui starts the hub by itself.
    """

    COMMAND: ClassVar[str] = "hub"
    WORD: ClassVar[str] = "install"
    SHELL = ShellForm(
        summary="Have the system start the hub at login.",
        parts=frozenset(),
        alone=True,
        needs_answer=True,
    )
    remove: bool = Field(default=False, description="Remove the unit instead.")


_GROUP = ShellGroup(
    "Background service that keeps agents and shells running.",
    """\
The hub serves your windows, and looks after agents, shells and messages while none is open.

It starts with the first window, `gsh` or other command that needs it, and ends after ten minutes with nothing to do, or
after five seconds if a command started it. With `[hub] keep = "never"` it ends with its last window, command or pane of
our own agents.""",
)


def commands(settings: Settings) -> list[AnyCommand]:
    """The hub family."""
    data = settings.general.session_dir

    async def show(_: Invocation, _wanted: ShowKeeper) -> KeeperReport:
        return await asyncio.to_thread(keeper_report, data, settings.hub.keep)

    async def start(_: Invocation, _wanted: StartKeeper) -> KeeperReport:
        try:
            await keeper.ensure_keeper(data, os.environ)
        except OSError as error:
            raise CommandError(f"Cannot use the folder {data}: {error.strerror}.") from error
        await keeper.wait_for_keeper(data)
        report = await asyncio.to_thread(keeper_report, data, settings.hub.keep)
        if not report.ready:
            raise CommandError(
                f"The hub was started and {'is not ready yet' if report.running else 'has not come up'}.",
                hint="Run `gsh-tui hub run` to see why, or `gsh-tui doctor`.",
            )
        if not report.answers:
            message, hint = unreached(report)
            raise CommandError(message, hint=hint)
        return report

    async def asks_stop(_: Invocation, wanted: StopKeeper) -> Question | None:
        was = await asyncio.to_thread(keeper.running_keeper, data)
        turns = [] if was is None else await asyncio.to_thread(turns_in, data / "gsh.db", was.process.pid)
        if not turns:
            return None
        times = Counter(
            f"“{title}”" if (title := one_line(given, 60)) else "an untitled conversation" for given in turns
        )
        where = ", ".join(name if number == 1 else f"{name} ({number} times)" for name, number in times.items())
        losses = (f"This interrupts {units.counted(len(turns), 'turn')}: {where}.",)
        return Question(wanted, "Stop the hub?", yes="Stop", losses=losses, note="What was said so far is kept.")

    async def stop(_: Invocation, _wanted: StopKeeper) -> StoppedKeeper:
        was = await asyncio.to_thread(_running, data)
        if not await keeper.stop_keeper(data):
            assert was is not None
            if not is_here(was.process):
                raise CommandError(keeper.IN_CONTAINER[0], hint=keeper.IN_CONTAINER[1])
            raise CommandError(f"The hub (pid {was.process.pid}) does not end, not even killed.")
        return StoppedKeeper(was is not None, await asyncio.to_thread(_running_agents, data))

    def unit() -> keeper_unit.KeeperUnit:
        return keeper_unit.planned(keeper.keeper_command(), sys.platform)

    async def asks_install(_: Invocation, wanted: InstallKeeper) -> Question | None:
        planned = await asyncio.to_thread(unit)
        if wanted.remove:
            known = await asyncio.to_thread(keeper_unit.is_there, planned)
            return Question(wanted, f"Remove {planned.file}?", yes="Remove") if known else None
        if planned.installed:
            return None
        return Question(
            wanted,
            f"Write {planned.file}?",
            yes="Write",
            note="`gsh-tui hub install --remove` removes it.",
            quoted=planned.content.decode("utf-8", "replace"),
        )

    async def install(_: Invocation, wanted: InstallKeeper) -> InstalledUnit:
        planned = await asyncio.to_thread(unit)
        changed = await asyncio.to_thread(keeper_unit.is_there, planned) if wanted.remove else not planned.installed
        try:
            if changed:
                await asyncio.to_thread(keeper_unit.remove if wanted.remove else keeper_unit.write, planned)
        except OSError as error:
            verb = "remove" if wanted.remove else "write"
            raise CommandError(f"Cannot {verb} {error.filename or planned.file}: {error.strerror}.") from error
        after = planned.after_removing if wanted.remove else planned.after_writing
        return InstalledUnit(planned.file, wanted.remove, changed, after)

    return [
        group(
            "hub",
            "Show, start or stop the hub of your windows",
            Action(ShowKeeper, show, _render_report),
            Action(StartKeeper, start, _render_report, effect=Effect.EXECUTE),
            Action(StopKeeper, stop, _render_stopped, asks=asks_stop, effect=Effect.EXECUTE),
            Action(InstallKeeper, install, _render_unit, asks=asks_install),
            family="workbench",
            bare="status",
            shell=_GROUP,
            access=Access.HUMAN_ONLY,
        )
    ]


def _running_agents(data: Path) -> int:
    """How many agents of the record have a running program. Blocks for a moment."""
    return sum(process_tree.runs(row.pid, row.pid_started) for row in agents_in(data / "gsh.db"))


def keeper_report(data: Path, keep: str = "") -> KeeperReport:
    """Look at it. Blocks for a moment, or until it has not answered."""
    import psutil

    state = _running(data)
    if state is None:
        return KeeperReport(False, keep)
    pid = state.process.pid
    found = KeeperReport(True, keep, pid, state.version, state.since, ready=state.ready)
    if not is_here(state.process):
        return msgspec.structs.replace(found, answers=False, elsewhere=True)
    try:
        process = psutil.Process(pid)
        memory, times = process.memory_info().rss, process.cpu_times()
    except psutil.Error:
        return KeeperReport(False, keep)
    answers = pid == os.getpid() or not state.ready or not _is_silent()
    return msgspec.structs.replace(found, memory=memory, processor=times.user + times.system, answers=answers)


def _running(data: Path) -> keeper.KeeperState | None:
    """The keeper; `None`: none runs. Raises `HubUnavailable`: in a sandbox, where none is seen."""
    state = keeper.running_keeper(data)
    if state is None:
        _is_silent()
    return state


def _is_silent() -> bool:
    try:
        for connected in greeted("command", _ANSWER_WITHIN, of_any_version=True):
            connected.close()
    except HubSilent:
        return True
    return False


def unreached(report: KeeperReport) -> tuple[str, str]:
    if report.elsewhere:
        return keeper.IN_CONTAINER
    return f"The hub (pid {report.pid}) has been running since {_since(report.since)}, and does not answer.", ANEW


def _render_report(_: Invocation, report: KeeperReport) -> Outcome:
    data = {
        "running": report.running,
        "ready": report.ready,
        "answers": report.running and report.answers,
        "keep": report.keep,
        "pid": report.pid,
        "version": report.version,
        "since": report.since,
        "memory": report.memory,
        "processor_seconds": round(report.processor, 2),
    }
    if not report.answers:
        text = " ".join(unreached(report))
    elif report.running:
        about = f"pid {report.pid}, version {report.version}, {report.memory / 1e6:.0f} MB"
        since = _since(report.since)
        text = f"The hub {'has been running since' if report.ready else 'has been starting since'} {since} ({about})."
    elif report.keep == "alone":
        text = f"{_NONE} `hub.keep` is alone: agents and shells are looked after only while a window is open."
    else:
        text = f"{_NONE} It starts with the first window, `gsh` or other command that needs it."
    return Outcome(data, text, is_error=not report.answers)


def _since(at: float) -> str:
    """The time, and the day where it is another one."""
    then, now = datetime.fromtimestamp(at), datetime.now()
    return f"{then:%H:%M}" if then.date() == now.date() else f"{then:%Y-%m-%d %H:%M}"


def _render_stopped(_: Invocation, stopped: StoppedKeeper) -> Outcome:
    if not stopped.was_running:
        text = _NONE
    elif stopped.agents:
        text = "The hub was stopped. Programs in terminals keep running; our own agents wait for the next one."
    else:
        text = "The hub was stopped."
    return Outcome({"was_running": stopped.was_running, "agents": stopped.agents}, text)


def _render_unit(_: Invocation, unit: InstalledUnit) -> Outcome:
    if unit.removed:
        said = f"Removed {unit.file}." if unit.changed else f"There is no {unit.file}."
    else:
        said = f"Wrote {unit.file}." if unit.changed else f"{unit.file} is there already."
    data = {"file": str(unit.file), "removed": unit.removed, "changed": unit.changed, "commands": unit.commands}
    if unit.removed and not unit.changed:
        return Outcome(data, said)
    then = "Now run:" if len(unit.commands) == 1 else "Now run these:"
    return Outcome(data, "\n".join([said, then, *(f"  {line}" for line in unit.commands)]))
