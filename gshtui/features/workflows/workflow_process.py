"""A workflow in this terminal: progress on standard error, the last step's output on standard output.

A person at the terminal is asked by the guard, and steps that want one are lent the terminal. With `--json` each event
is a line.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from gshtui.bus.event import Event
from gshtui.bus.events.workflow_events import (
    WorkflowFinished,
    WorkflowStarted,
    WorkflowStepFinished,
    WorkflowStepOutput,
    WorkflowStepStarted,
)
from gshtui.commands.declaration import UnknownCommand
from gshtui.headless import exits
from gshtui.headless.commands.command_hub import bring_hub, load_settings, visiting_hub, working_folder
from gshtui.headless.runner import Stop, run_command
from gshtui.headless.streams import STDERR, STDOUT, Writer, ask_yes_no, complain, json_line, shown

if TYPE_CHECKING:
    from gshtui.bus.agent_data import GuardMode
    from gshtui.features.workflows.definition import RunEnd
    from gshtui.features.workflows.workflow_run import WorkflowRun
    from gshtui.features.workflows.workflow_service import WorkflowService
    from gshtui.hub.hub import Hub
    from gshtui.tools.shell.shell_process import Start

_WIND_DOWN = 30.0
"""Seconds that a run has to end after a signal."""


class WorkflowOptions(msgspec.Struct, frozen=True):
    """What to run, and how. `values`: of its parameters; `resume`: the run to go on with instead."""

    name: str
    values: Mapping[str, Any]
    provider: str = ""
    model: str = ""
    mode: GuardMode | None = None
    yes: bool = False
    json: bool = False
    flags: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    resume: str = ""

    @property
    def attended(self) -> bool:
        """Whether a person can be asked here."""
        return not self.yes and not self.json and os.isatty(0) and os.isatty(2)


def run_workflow(options: WorkflowOptions) -> int:
    """Run it; returns the exit code."""
    return run_command(lambda stop: _run(options, stop))


async def _run(options: WorkflowOptions, stop: Stop) -> int:
    from gshtui.features.workflows.workflow_calls import RUN_PARTS
    from gshtui.hub.hub_options import HubOptions

    loop = asyncio.get_running_loop()

    def unread() -> None:
        loop.call_soon_threadsafe(stop.nobody_reads)

    writer = Writer(unread)
    loaded = await asyncio.to_thread(load_settings, options.flags)
    await bring_hub(loaded.settings)
    hub_options = HubOptions(
        cwd=working_folder(),
        loaded=loaded,
        provider=options.provider,
        model=options.model,
        respondent="policy" if options.yes else "person" if options.attended else "nobody",
        mode=options.mode,
        parts=RUN_PARTS,
        visiting=True,
        where="gsh-tui workflow",
    )
    try:
        async with visiting_hub(hub_options) as hub:
            await hub.start()
            for part in ("store", "guard"):
                if (failed := hub.failed.get(part)) is not None:
                    complain(failed.why, failed.hint)
                    return exits.ERROR
            try:
                hub.registry.get("workflow")
            except UnknownCommand as error:
                complain(error.message, error.hint)
                return exits.USAGE
            reporter = _Reporter(writer, as_json=options.json)
            report = hub.bus.subscribe(reporter.handle_events, name="workflow report")
            try:
                async with _asking(hub, options, writer):
                    return await _to_its_end(hub, options, stop, writer)
            finally:
                report.unsubscribe()
    finally:
        await asyncio.to_thread(writer.close)


async def _to_its_end(hub: Hub, options: WorkflowOptions, stop: Stop, writer: Writer) -> int:
    from gshtui.features.workflows.definition import WorkflowError
    from gshtui.features.workflows.workflow_service import workflow_service
    from gshtui.store.engine.store_errors import StoreError

    service = hub.offers.things.get(workflow_service)
    try:
        run, task = await _begun(service, options, writer)
    except WorkflowError as error:
        complain(error.message, error.hint)
        return error.code
    except StoreError as error:
        complain(error.message, error.hint)
        return exits.USAGE if error.kind in ("unknown", "ambiguous") else exits.ERROR
    asked = asyncio.ensure_future(stop.asked.wait())
    try:
        await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            run.cancel()
            await asyncio.wait({task}, timeout=_WIND_DOWN)
        if not task.done():
            return exits.INTERRUPTED
        end = task.result()
    except StoreError as error:
        complain(error.message, error.hint)
        return exits.ERROR
    finally:
        asked.cancel()
        await hub.bus.drained()
        await asyncio.to_thread(writer.wait, lambda: stop.signalled)
    return _said(end, options)


async def _begun(
    service: WorkflowService, options: WorkflowOptions, writer: Writer
) -> tuple[WorkflowRun, asyncio.Task[RunEnd]]:
    """Begin the run, or go on with one. Raises `WorkflowError`, `StoreError`."""
    from gshtui.features.workflows.definition import stopped_sentence, unknown_steps

    lend = _Lent(writer).run if options.attended and os.isatty(1) else None
    if not options.resume:
        return await service.start(options.name, options.values, lend)
    row, steps = await service.find(options.resume)
    again = options.yes
    if said := stopped_sentence(row, steps):
        complain(said)
    if (begun := unknown_steps(row, steps)) and options.attended:
        again = await asyncio.to_thread(ask_yes_no, f"Run {' and '.join(begun)} again?")
    return await service.resume(options.resume, again=again, lend=lend)


def _said(end: RunEnd, options: WorkflowOptions) -> int:
    """Print how it ended; returns the exit code."""
    if end.state == "done":
        return exits.DONE
    if not options.json:
        error = end.error or f"the run was {end.state}"
        hints = [f"gsh-tui workflow resume {end.run[:8]} goes on from there."]
        if end.exit_code == exits.DENIED and not options.attended:
            hints.insert(0, "--yes allows what fits in the sandbox; a person at a terminal is asked.")
        complain(error, " ".join(hints))
    return end.exit_code if 0 < end.exit_code < 256 else exits.ERROR


class _Lent:
    """Gives this terminal to a program, after what was said until then."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def run(self, start: Start) -> int:
        """Run it to its end; returns its exit code. Cancelling it ends the program."""
        from gshtui.system.processes import processes

        await asyncio.to_thread(self._writer.wait, lambda: False)
        child = await processes.start_child(*start.argv, cwd=start.folder, env=dict(start.environ))
        try:
            code = await child.wait()
        finally:
            await processes.kill_child(child)
        return code if code >= 0 else 128 - code


@asynccontextmanager
async def _asking(hub: Hub, options: WorkflowOptions, writer: Writer) -> AsyncGenerator[None]:
    if not options.attended:
        yield
        return
    from gshtui.headless.turns.approval_prompt import ApprovalPrompt

    asker = ApprovalPrompt(hub.bus, lambda text: writer.write(shown(text, STDERR), STDERR), writer.wait)
    try:
        yield
    finally:
        await asker.close()


class _Reporter:
    """Writes what happens in the run, in order."""

    def __init__(self, writer: Writer, *, as_json: bool) -> None:
        self._writer = writer
        self._json = as_json
        self._last = 0
        self._mid_line = 0
        """The stream in the middle of a line; 0: none."""
        self._over = False

    def handle_events(self, events: Sequence[Event]) -> None:
        """Take a batch of events from the bus."""
        from gshtui.bus.wire import to_plain

        for event in events:
            if self._over:
                return
            self._over = isinstance(event, WorkflowFinished)  # the last line
            if self._json:
                with contextlib.suppress(ValueError):
                    self._writer.write(json_line(to_plain(event)))
            else:
                self._handle_event(event)

    def _handle_event(self, event: Event) -> None:
        from gshtui.features.workflows.commands import step_line

        match event:
            case WorkflowStarted():
                self._last = len(event.steps)
            case WorkflowStepStarted():
                again = f", attempt {event.attempt}" if event.attempt > 1 else ""
                self._note(f"▸ {event.step}/{self._last} {event.name}{again}")
            case WorkflowStepOutput():
                number = STDOUT if event.step == self._last and event.stream == "stdout" else STDERR
                self._mid_line = 0 if event.text.endswith("\n") else number
                self._writer.write(shown(event.text, number), number)
            case WorkflowStepFinished():
                self._note(step_line(event.step, event.name, event.result))
            case WorkflowFinished():
                self._note("")
            case _:
                pass

    def _note(self, text: str) -> None:
        if self._mid_line:
            self._writer.write(shown("\n", self._mid_line), self._mid_line)
        self._mid_line = 0
        if text:
            self._writer.write(shown(f"{text}\n", STDERR), STDERR)
