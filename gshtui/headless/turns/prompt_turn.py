"""`gsh-tui prompt`: one turn without a window. Text goes to stdout as it arrives, or with `--json` one event a line."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from gshtui.client.hub_greeting import HubUnavailable
from gshtui.headless import exits
from gshtui.headless.called_here import load_settings, print_problems, say_faults
from gshtui.headless.commands.command_hub import HubTaken, bring_hub, only_hub
from gshtui.headless.runner import Stop, run_command
from gshtui.headless.streams import LIMIT, PipedInput, Writer, complain, piped_input
from gshtui.hub.faces.large_input import MOST
from gshtui.system.tasks import cancel_and_wait

if TYPE_CHECKING:
    from gshtui.bus.bus import Bus
    from gshtui.headless.turns.familiar_output import Output
    from gshtui.headless.turns.reporter import Reporter
    from gshtui.headless.turns.turn_call import TurnCall
    from gshtui.hub.faces.turn_request import TurnEnd, TurnRequest

_TAKEN_FOR = 10.0
"""Seconds in which other processes may be the hub one after the other, without taking the turn."""
_CODES: Mapping[str, int] = {
    "usage": exits.USAGE,
    "denied": exits.DENIED,
    "unreachable": exits.UNREACHABLE,
    "error": exits.ERROR,
    "interrupted": exits.INTERRUPTED,
}
"""Of a request for which there was no whole turn."""


def prompt(
    request: TurnRequest,
    *,
    timeout: float = 0.0,
    json: bool = False,
    output: Output = "text",
    opened: Callable[[str], None] | None = None,
) -> int:
    """Run the turn; returns the exit code.

    Args:
        request: standard input is added to it. Its respondent `person` is at the terminal, and is asked for approval.
        timeout: seconds; 0: none.
        output: whose lines to print in place of text.
        opened: called with the conversation's id once it is open.
    """

    async def work(stop: Stop) -> int:
        from gshtui.headless.turns.reporter import Reporter

        deadline = time.monotonic() + timeout if timeout else None
        loop = asyncio.get_running_loop()

        def unread() -> None:
            loop.call_soon_threadsafe(stop.nobody_reads)

        writer = Writer(unread)
        reporter = Reporter(writer, as_json=json, output=output)
        face = _Face(reporter, asks=request.respondent == "person", opened=opened)
        try:
            code = await _turn(request, stop, deadline, face)
        finally:
            reporter.close()
            await asyncio.to_thread(writer.close)
        return exits.ERROR if writer.broken and code in (exits.INTERRUPTED, exits.DONE) else code

    return run_command(work)


async def _turn(request: TurnRequest, stop: Stop, deadline: float | None, face: _Face) -> int:
    """Run the turn and return its exit code; always writes the last line of `--json`."""
    reading = asyncio.ensure_future(piped_input(MOST if request.large else LIMIT))
    ended = await _first(reading, stop=stop, deadline=deadline)
    if ended is not None:
        reading.cancel()
        return face.reporter.end(ended, unread=stop.unread)
    piped = reading.result()
    with _removed(piped.file):
        return await _with_input(request, piped, stop, deadline, face)


@contextmanager
def _removed(file: str) -> Generator[None]:
    """Remove the file with its folder in the end, if there is one."""
    try:
        yield
    finally:
        if file:
            shutil.rmtree(Path(file).parent, ignore_errors=True)


async def _with_input(request: TurnRequest, piped: PipedInput, stop: Stop, deadline: float | None, face: _Face) -> int:
    """The turn, once standard input is read."""
    if piped.cut:
        most = (MOST if request.large else LIMIT) // 1024 // 1024
        hint = "Send a part of it." if request.large else "--batches has it read in parts, --summarise sends a summary."
        complain(f"standard input is longer than {most} MB, so nothing was sent.", hint)
        return exits.USAGE
    said = "" if request.large and request.text.strip() else piped.text.rstrip("\n")
    text = "\n\n".join(part for part in (request.text, said) if part.strip())
    if not text and piped.file:
        text = "What is this?"
    if not text and not request.printed:
        complain('no prompt given. Use gsh-tui prompt "…", or pipe it in.')
        return exits.USAGE
    apart = "" if said or not piped.text.strip() else piped.text
    request = msgspec.structs.replace(request, text=text, piped=apart, file=piped.file)
    ended: TurnEnd | int | None = None
    until = time.monotonic() + _TAKEN_FOR
    while ended is None:
        ended = await _run_at_hub(request, face, stop, deadline)
        try:
            ended = await _run_here(request, face, stop, deadline) if ended is None else ended
        except HubTaken:
            if time.monotonic() > until:
                raise
    reporter = face.reporter
    if isinstance(ended, int):
        return reporter.end(ended, unread=stop.unread)
    if ended == "finished":
        return reporter.end(None, unread=stop.unread)
    return exits.DONE if ended == "printed" else reporter.end(_CODES[ended], unread=stop.unread)


async def _run_at_hub(request: TurnRequest, face: _Face, stop: Stop, deadline: float | None) -> TurnEnd | int | None:
    """Have the resident hub take the turn, which is started unless it runs; an exit code, if it was cut short; `None`:
    none takes it.
    """
    from gshtui.headless.turns.turn_call import TurnCall

    try:
        call = await TurnCall.begin(request)
        if call is None:
            loaded = await asyncio.to_thread(load_settings, request.flags, quiet=True)
            bringing = asyncio.ensure_future(bring_hub(loaded.settings))
            if (ended := await _first(bringing, stop=stop, deadline=deadline)) is not None:
                await cancel_and_wait(bringing)
                return ended
            call = await TurnCall.begin(request) if bringing.result() else None
    except HubUnavailable as error:
        complain(error.message, error.hint)
        return exits.ERROR
    return None if call is None else await _followed(call, face, stop, deadline)


async def _followed(call: TurnCall, face: _Face, stop: Stop, deadline: float | None) -> TurnEnd | int:
    """Print what the hub tells of the turn; how it ended, or the exit code, if it was cut short."""
    from gshtui.bus.bus import Bus
    from gshtui.bus.events.approval_events import ApprovalAnswered
    from gshtui.bus.events.hub_events import FaultReported
    from gshtui.headless.turns.turn_call import HubEnded
    from gshtui.hub.faces.turn_request import WIND_DOWN

    print_problems(call.problems)
    bus = Bus()
    try:
        async with face.asking(bus):
            bus.subscribe(face.reporter.handle_events, name="headless")
            bus.subscribe(say_faults, FaultReported, name="faults")
            bus.subscribe(call.answer, ApprovalAnswered, name="answers")
            running = asyncio.ensure_future(call.run(face, bus.publish))
            if (ended := await _first(running, stop=stop, deadline=deadline)) is not None:
                call.interrupt()
                await asyncio.wait({running}, timeout=WIND_DOWN)
                await cancel_and_wait(running)
            await bus.drained()
        return ended if ended is not None else cast("TurnEnd", running.result())
    except HubEnded:
        complain(
            "the hub ended in mid-turn, or hangs; what it has said is saved.", "`gsh-tui session show latest` shows it."
        )
        return exits.ERROR
    finally:
        call.close()
        await bus.close()


async def _run_here(request: TurnRequest, face: _Face, stop: Stop, deadline: float | None) -> TurnEnd | int:
    """Take the turn on a hub of this process; an exit code, if it was cut short."""
    from gshtui.hub.faces.turn import PromptTurn

    loaded = await asyncio.to_thread(load_settings, request.flags)
    turn = PromptTurn(request, loaded, face)
    async with only_hub(turn.options) as hub, face.asking(hub.bus):
        hub.bus.subscribe(face.reporter.handle_events, name="headless")
        running = asyncio.ensure_future(turn.run(hub))
        if (ended := await _first(running, stop=stop, deadline=deadline)) is not None:
            await turn.interrupt()
            await cancel_and_wait(running)
        await hub.bus.drained()
    return running.result() if ended is None else ended


class _Face:
    """This terminal, or this script's streams, as the face of a turn."""

    def __init__(self, reporter: Reporter, *, asks: bool, opened: Callable[[str], None] | None) -> None:
        self.reporter = reporter
        self._asks = asks
        self._opened = opened

    def complain(self, text: str, hint: str = "") -> None:
        self.reporter.complain(text, hint)

    def note(self, text: str) -> None:
        """Print it on stderr, if that is a terminal."""
        self.reporter.note(text)

    def show(self, text: str) -> None:
        self.reporter.print_result(text)

    def opened(self, session: str) -> None:
        """Have it kept."""
        if self._opened is not None:
            self._opened(session)

    @asynccontextmanager
    async def asking(self, bus: Bus) -> AsyncGenerator[None]:
        """Ask the person for approvals, if there is one."""
        if not self._asks:
            yield
            return
        from gshtui.headless.turns.approval_prompt import ApprovalPrompt

        asker = ApprovalPrompt(bus, self.reporter.print_text, self.reporter.wait_until_said)
        try:
            yield
        finally:
            await asker.close()


async def _first(work: asyncio.Future[Any], *, stop: Stop, deadline: float | None) -> int | None:
    """Wait for the work. Returns `None` when it is done, or the exit code for a stop or time-out that came first."""
    asked = asyncio.ensure_future(stop.asked.wait())
    left = None if deadline is None else max(0.0, deadline - time.monotonic())
    waiting: Sequence[asyncio.Future[Any]] = (work, asked)
    await asyncio.wait(waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    if work.done():
        work.result()
        return None
    return exits.INTERRUPTED if stop.asked.is_set() else exits.TIMED_OUT
