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

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.approval_events import ApprovalAnswered
from gshtui.bus.events.hub_events import FaultReported
from gshtui.bus.events.workflow_events import (
    WorkflowFinished,
    WorkflowStarted,
    WorkflowStepFinished,
    WorkflowStepOutput,
    WorkflowStepStarted,
)
from gshtui.headless import exits
from gshtui.headless.called_here import load_settings, print_problems, say_faults
from gshtui.headless.runner import Stop, run_command
from gshtui.headless.streams import STDERR, STDOUT, Writer, ask_yes_no, complain, json_line, shown
from gshtui.headless.turns.turn_call import HubEnded, begun
from gshtui.hub.faces.turn_request import TurnRequest
from gshtui.system.tasks import cancel_and_wait

if TYPE_CHECKING:
    from gshtui.bus.agent_data import GuardMode
    from gshtui.tools.shell.shell_process import Start

_WIND_DOWN = 35.0
"""Seconds that a run has to end after a signal, which the hub tells."""


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
    from gshtui.settings.contract import FeatureOffError

    loop = asyncio.get_running_loop()

    def unread() -> None:
        loop.call_soon_threadsafe(stop.nobody_reads)

    loaded = await asyncio.to_thread(load_settings, options.flags, quiet=True)
    if not loaded.settings.features.workflows:
        off = FeatureOffError("workflows")
        complain(off.message, off.hint)
        return exits.USAGE
    fields = {name: getattr(options, name) for name in ("name", "values", "provider", "model", "mode", "yes", "resume")}
    more = {"attended": options.attended, "lends": options.attended and os.isatty(1), "told": not options.json}
    writer, bus = Writer(unread), Bus()
    face, reporter = _Face(writer), _Reporter(writer, as_json=options.json)
    request = TurnRequest(flags=dict(options.flags), where="gsh-tui workflow")
    try:
        async with begun(loaded, request, "workflows turn", fields | more) as call, _asking(bus, options, writer):
            print_problems(call.problems)
            bus.subscribe(reporter.handle_events, name="workflow report")
            bus.subscribe(say_faults, FaultReported, name="faults")
            bus.subscribe(call.answer, ApprovalAnswered, name="answers")
            running, asked = (
                asyncio.ensure_future(call.run(face, bus.publish, face)),
                asyncio.ensure_future(stop.asked.wait()),
            )
            await asyncio.wait({running, asked}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                call.interrupt()
                await asyncio.wait({running}, timeout=_WIND_DOWN)
            await bus.drained()
            await asyncio.to_thread(writer.wait, lambda: stop.signalled)
            done = running.done()
            await cancel_and_wait(asked, *(() if done else (running,)))
            for text, hint in face.told:
                complain(text, hint)
            return int(running.result()) if done else exits.INTERRUPTED
    except HubEnded:
        complain("the hub ended, and with it the run.", "`gsh-tui workflow ls` has it; `workflow resume` goes on.")
        return exits.ERROR
    finally:
        await bus.close()
        await asyncio.to_thread(writer.close)


class _Face:
    """This terminal, which is asked and lent."""

    def __init__(self, writer: Writer) -> None:
        self.told: list[tuple[str, str]] = []
        """What is said once all was written."""
        self._writer = writer
        self._lent = _Lent(writer)

    def complain(self, text: str, hint: str = "") -> None:
        self.told.append((text, hint))

    def note(self, text: str) -> None:
        """A run tells by its events how far it is."""

    def show(self, text: str) -> None:
        """Nothing is in front of it."""

    def opened(self, session: str) -> None:
        """It has no conversation."""

    async def agrees(self, question: str) -> bool:
        while self.told:
            complain(*self.told.pop(0))
        return await asyncio.to_thread(ask_yes_no, question)

    async def lend(self, start: Start) -> int:
        return await self._lent.run(start)


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
async def _asking(bus: Bus, options: WorkflowOptions, writer: Writer) -> AsyncGenerator[None]:
    if not options.attended:
        yield
        return
    from gshtui.headless.turns.approval_prompt import ApprovalPrompt

    asker = ApprovalPrompt(bus, lambda text: writer.write(shown(text, STDERR), STDERR), writer.wait)
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
