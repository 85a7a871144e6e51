"""`gsh-tui prompt`: one turn without a window. Text to stdout as it comes, or one event a line with `--json`."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gshtui.headless import exits
from gshtui.headless.command_hub import load_settings, running_hub, working_folder
from gshtui.headless.runner import Stop, run_command
from gshtui.headless.streams import LIMIT, Writer, complain, piped_input
from gshtui.settings import paths

if TYPE_CHECKING:
    from gshtui.context.ports import Contribution
    from gshtui.headless.reporter import Reporter
    from gshtui.hub.hub import Hub

_SOURCE = "shell activity since"
_WITHIN = 2.0
"""Seconds that a question waits for the record to have what just ran."""
_LOOK_EVERY = 0.02


class RecentCommands:
    """Contributes to the turns of one hub, which is set once it is made."""

    def __init__(self, since: float) -> None:
        """`since`: seconds since the epoch; 0: only wait, the ambient summary has the words."""
        self.hub: Hub | None = None
        self._since = since

    async def taken_in(self) -> None:
        """Wait until what shells left in the spool is in the record, or no longer."""
        from gshtui.shell import spool

        log = self.hub.shell_log if self.hub is not None else None
        if log is None:
            return
        folder = spool.folder(paths.data_dir(create=False))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_WITHIN):
                while await asyncio.to_thread(spool.files, folder):  # noqa: ASYNC110  # shells write it, not we
                    await asyncio.sleep(_LOOK_EVERY)
                await log.wait_until_stored()

    async def contribute(self, new: bool) -> Contribution:
        """The commands that people ran since then."""
        from gshtui.context.ports import Contribution, SideText

        text = "" if new or not self._since else await self._text()
        return Contribution(along=(SideText(_SOURCE, text),)) if text else Contribution()

    async def _text(self) -> str:
        from gshtui.context.retrieval.shell_summary import activity
        from gshtui.store.store_errors import StoreError

        hub = self.hub
        if hub is None or hub.store is None:
            return ""
        try:
            lines = await activity(hub.store.shells, hub.settings.context, self._since)
        except StoreError:
            return ""  # the record says itself what is wrong with it
        return "\n".join(["# In the person's shells since their last question", "", *lines]) if lines else ""


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
    return run_command(lambda stop: _prompt(options, stop))


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
    reading = asyncio.ensure_future(piped_input())
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
    from gshtui.hub.hub_options import HubOptions

    just_done = RecentCommands(options.since) if options.since >= 0 else None
    hub_options = HubOptions(
        cwd=working_folder(),
        loaded=await asyncio.to_thread(load_settings, options.flags),
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
    async with running_hub(hub_options) as hub, _asking(hub, options, reporter):
        if just_done is not None:
            just_done.hub = hub
        hub.bus.subscribe(reporter.handle_events, name="headless")
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
    just_done: RecentCommands | None,
) -> int | None:
    """Send the prompt and wait for the end of its turn; an exit code when it was cut short, else `None`."""
    from gshtui.bus.events.agent_events import InterruptRequested, PromptSubmitted
    from gshtui.system.ids import new_id

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
    from gshtui.headless.approval_prompt import ApprovalPrompt

    asker = ApprovalPrompt(hub.bus, reporter.print_text, reporter.wait_until_said)
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
