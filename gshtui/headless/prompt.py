"""`gsh-tui prompt`: one turn without a window. Text to stdout as it comes, or one event a line with `--json`.

Owns the course of the turn: standard input, the hub, the time-out, the interrupt, the exit code. Called by `cli`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gshtui.headless import exits
from gshtui.headless.just_done import JustDone
from gshtui.headless.running import Stop, run
from gshtui.headless.stdin import LIMIT, piped
from gshtui.headless.streams import Writer, complain
from gshtui.headless.surroundings import here, loaded_here, running

if TYPE_CHECKING:
    from gshtui.headless.reporter import Reporter
    from gshtui.hub.hub import Hub

_WIND_DOWN = 10.0
"""Seconds that an interrupted turn may take to record what it has."""


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """What the command line said. `timeout` in seconds, 0: none; `max_iterations` 0: the setting's."""

    text: str = ""
    agent: str = "main"
    provider: str = ""
    model: str = ""
    session: str = "new"
    max_iterations: int = 0
    timeout: float = 0.0
    yes: bool = False
    json: bool = False
    flags: Mapping[str, Any] = field(default_factory=dict[str, Any])
    ask: bool = False
    """A person is at the terminal: questions for approval are asked there."""
    where: str = "gsh-tui prompt"
    since: float = -1.0
    """Tell what ran in shells since then, seconds since the epoch; 0: the new conversation tells it; -1: not at all."""
    opened: Callable[[str], None] | None = None
    """Told the id of the conversation once it is open."""


def prompt(options: PromptOptions) -> int:
    """Do the turn; gives the exit code."""
    return run(lambda stop: _prompt(options, stop))


async def _prompt(options: PromptOptions, stop: Stop) -> int:
    from gshtui.headless.reporter import Reporter

    deadline = time.monotonic() + options.timeout if options.timeout else None
    loop = asyncio.get_running_loop()

    def unread() -> None:
        loop.call_soon_threadsafe(stop.nobody_reads)

    writer = Writer(unread)
    reporter = Reporter(writer, as_json=options.json)
    try:
        code = await _turn(options, stop, deadline, reporter)
    finally:
        reporter.close()
        await asyncio.to_thread(writer.close)
    return exits.ERROR if stop.unread and code == exits.INTERRUPTED else code


async def _turn(options: PromptOptions, stop: Stop, deadline: float | None, reporter: Reporter) -> int:
    """The turn from its words to its exit code; the last line of `--json` is written here in every case."""
    reading = asyncio.ensure_future(piped())
    ended = await _first(reading, stop=stop, deadline=deadline)
    if ended is not None:
        reading.cancel()
        return reporter.end(ended, unread=stop.unread)
    added, cut = reading.result()
    if cut:
        complain(f"standard input is longer than {LIMIT // 1024 // 1024} MB; the rest is left out.")
    text = "\n\n".join(part for part in (options.text, added.rstrip("\n")) if part.strip())
    if not text:
        complain('there is nothing to ask. Give the words: gsh-tui prompt "…", or pipe them in.')
        return exits.USAGE
    from gshtui.hub.options import HubOptions

    just_done = JustDone(options.since) if options.since >= 0 else None
    hub_options = HubOptions(
        cwd=here(),
        loaded=await asyncio.to_thread(loaded_here, options.flags),
        session=options.session,
        agent=options.agent,
        provider=options.provider,
        model=options.model,
        approvals="policy" if options.yes else "ask" if options.ask else "refuse",
        max_iterations=options.max_iterations,
        visiting=True,
        where=options.where,
        more=() if just_done is None else (just_done.contribute,),
    )
    async with running(hub_options) as hub, _asking(hub, options, reporter):
        if just_done is not None:
            just_done.hub = hub
        hub.bus.subscribe(reporter.take, name="headless")
        starting = asyncio.ensure_future(hub.start())
        ended = await _first(starting, stop=stop, deadline=deadline)
        if ended is None:
            ended = _unusable(hub)
        if ended is None:
            ended = await _answered(hub, options, text, reporter, stop, deadline, just_done)
        await hub.bus.drained()
    return reporter.end(ended, unread=stop.unread)


def _unusable(hub: Hub) -> int | None:
    """Why there can be no turn, as an exit code, with the reason said; `None` when there can."""
    for part, code in (("providers", exits.UNREACHABLE), ("guard", exits.ERROR), ("agents", exits.ERROR)):
        if (failed := hub.failed.get(part)) is not None:
            complain(failed.why, failed.hint)
            return code
    if (failed := hub.failed.get("store")) is not None:
        complain(f"this conversation will not be kept: {failed.why}", failed.hint)
    return None


async def _answered(
    hub: Hub,
    options: PromptOptions,
    text: str,
    reporter: Reporter,
    stop: Stop,
    deadline: float | None,
    just_done: JustDone | None,
) -> int | None:
    """Send the prompt and wait for the end of its turn; an exit code when it was cut short, else `None`."""
    from gshtui.bus.events.agent import InterruptRequested, PromptSubmitted
    from gshtui.bus.ids import new_id

    await hub.bus.drained()
    if reporter.held_by:
        complain(f"this conversation is open in {reporter.held_by}; end it there, or leave out --session.")
        return exits.ERROR
    if just_done is not None:
        await just_done.taken_in()
    if options.opened is not None and reporter.session:
        options.opened(reporter.session)
    reporter.expect(prompt := new_id())
    hub.bus.publish(PromptSubmitted(prompt=prompt, agent=options.agent, text=text))
    finished = asyncio.ensure_future(reporter.finished.wait())
    ended = await _first(finished, stop=stop, deadline=deadline)
    if ended is not None:
        hub.bus.publish(InterruptRequested(agent=options.agent))
        await asyncio.wait({finished}, timeout=_WIND_DOWN)
    finished.cancel()
    return ended


@asynccontextmanager
async def _asking(hub: Hub, options: PromptOptions, reporter: Reporter) -> AsyncGenerator[None]:
    """Questions for approval go to the person, where there is one."""
    if not options.ask:
        yield
        return
    from gshtui.headless.asking import Asker

    asker = Asker(hub.bus, reporter.say, reporter.wait_until_said)
    try:
        yield
    finally:
        await asker.close()


async def _first(work: asyncio.Future[Any], *, stop: Stop, deadline: float | None) -> int | None:
    """Wait for the work. `None` when it is done, else the exit code of what came first."""
    asked = asyncio.ensure_future(stop.asked.wait())
    left = None if deadline is None else max(0.0, deadline - time.monotonic())
    waiting: Sequence[asyncio.Future[Any]] = (work, asked)
    await asyncio.wait(waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    if work.done():
        work.result()
        return None
    return exits.INTERRUPTED if stop.asked.is_set() else exits.TIMED_OUT
