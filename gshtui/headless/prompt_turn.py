"""`gsh-tui prompt`: one turn without a window. Text goes to stdout as it arrives, or with `--json` one event a line."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gshtui.headless import exits
from gshtui.headless.command_hub import load_settings, running_hub, working_folder
from gshtui.headless.large_input import MOST, PART, Large, read_in_parts, summarise
from gshtui.headless.runner import Stop, run_command
from gshtui.headless.streams import LIMIT, PipedInput, Writer, complain, piped_input

if TYPE_CHECKING:
    from gshtui.bus.agent_data import GuardMode
    from gshtui.context.ports import Contribution
    from gshtui.headless.reporter import Reporter
    from gshtui.hub.hub import Hub


KEPT_IN_TMUX = "It is kept of shells inside tmux, and of what you run by `gsh run -- COMMAND`."


class RecentCommands:
    """Adds recent shell commands to the later turns of one hub, which is set once it exists."""

    def __init__(self, output_lines: int = 0) -> None:
        """`output_lines`: of output, at most; 0: as the settings say."""
        self.hub: Hub | None = None
        self._output_lines = output_lines

    async def contribute(self, new: bool) -> Contribution:
        """What people ran last, unless the conversation was told the same before."""
        from gshtui.context.ports import Contribution
        from gshtui.context.retrieval.shell_summary import shell_summary

        hub = self.hub
        if hub is None or hub.store is None:
            return Contribution()
        lines = self._output_lines or hub.settings.shell.context_lines
        summary = shell_summary(
            hub.store.shells, hub.settings.context, hub.sync_shells, always=True, output_lines=lines
        )
        told = await summary(new)
        if self._output_lines and not any("\n  " in text.text for text in told.along) and not os.environ.get("TMUX"):
            complain("none of what your commands printed is known.", KEPT_IN_TMUX)
        return told


_WIND_DOWN = 10.0
"""Seconds that an interrupted turn has to record what it has so far."""


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """The options of the call. `timeout` is in seconds, 0: none; `max_iterations` 0: the setting's."""

    text: str = ""
    agent: str = "main"
    provider: str = ""
    model: str = ""
    session: str = "new"
    max_iterations: int = 0
    timeout: float = 0.0
    mode: GuardMode | None = None
    """What runs unasked; `None`: as the settings say."""
    yes: bool = False
    json: bool = False
    printed: bool = False
    """Print the conversation so far before the turn; without a prompt, nothing else is done."""
    large: Large = ""
    """What is done with standard input that is long."""
    flags: Mapping[str, Any] = field(default_factory=dict[str, Any])
    ask: bool = False
    """A person is at the terminal and can be asked for approval."""
    where: str = "gsh-tui prompt"
    recent: bool = False
    """Add what was run in shells to each question, not only to the first."""
    context_lines: int = 0
    """With `recent`: lines of those commands' output, at most; 0: as the settings say."""
    opened: Callable[[str], None] | None = None
    """Called with the conversation's id once it is open."""


def prompt(options: PromptOptions) -> int:
    """Run the turn; returns the exit code."""
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
    """Run the turn and return its exit code; always writes the last line of `--json`."""
    reading = asyncio.ensure_future(piped_input(MOST if options.large else LIMIT))
    ended = await _first(reading, stop=stop, deadline=deadline)
    if ended is not None:
        reading.cancel()
        return reporter.end(ended, unread=stop.unread)
    piped = reading.result()
    with _removed(piped.file):
        return await _with_input(options, piped, stop, deadline, reporter)


@contextmanager
def _removed(file: str) -> Generator[None]:
    """Remove the file with its folder in the end, if there is one."""
    try:
        yield
    finally:
        if file:
            shutil.rmtree(Path(file).parent, ignore_errors=True)


async def _with_input(
    options: PromptOptions, piped: PipedInput, stop: Stop, deadline: float | None, reporter: Reporter
) -> int:
    """The turn, once standard input is read."""
    if piped.cut:
        most = (MOST if options.large else LIMIT) // 1024 // 1024
        hint = "Send a part of it." if options.large else "--batches has it read in parts, --summarise sends a summary."
        complain(f"standard input is longer than {most} MB, so nothing was sent.", hint)
        return exits.USAGE
    said = "" if options.large and options.text.strip() else piped.text.rstrip("\n")
    text = "\n\n".join(part for part in (options.text, said) if part.strip())
    if not text and piped.file:
        text = "What is this?"
    if not text and not options.printed:
        complain('no prompt given. Use gsh-tui prompt "…", or pipe it in.')
        return exits.USAGE
    from gshtui.hub.hub_options import HubOptions

    just_done = RecentCommands(options.context_lines) if options.recent else None
    hub_options = HubOptions(
        cwd=working_folder(),
        loaded=await asyncio.to_thread(load_settings, options.flags),
        session=options.session,
        agent=options.agent,
        provider=options.provider,
        model=options.model,
        respondent="policy" if options.yes else "person" if options.ask else "nobody",
        mode=options.mode,
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
        if ended is None and options.printed:
            from gshtui.store.session_calls import ShowSession

            said_before = await hub.run(ShowSession(session=reporter.session, whole=True, limit=10_000))
            reporter.print_result(f"{said_before.text}\n\n")
            if not text:
                return exits.DONE
        if ended is None:
            expanded = await _expanded(hub, text)
            if not isinstance(expanded, int) and not said and piped.text.strip():
                reading = asyncio.ensure_future(_instead(hub, options, expanded[0], piped.text, reporter))
                ended = await _first(reading, stop=stop, deadline=deadline)
                if ended is not None:
                    reading.cancel()
                    return reporter.end(ended, unread=stop.unread)
                if isinstance(instead := reading.result(), int):
                    return instead
                expanded = (f"{expanded[0]}\n\n{instead}", expanded[1])
            if not isinstance(expanded, int):
                files = (*([piped.file] if piped.file else []), *expanded[1])
                ended = await _answered(hub, options, expanded[0], files, reporter, stop, deadline)
            else:
                ended = expanded
        await hub.bus.drained()
    return reporter.end(ended, unread=stop.unread)


async def _expanded(hub: Hub, text: str) -> tuple[str, tuple[str, ...]] | int:
    """The text and files that `/init` or a kept prompt stands for, or the text as it is; an exit code on failure."""
    from gshtui.agents.prompt_commands import PROMPT_COMMANDS
    from gshtui.agents.prompts.commands import FAMILY
    from gshtui.bus.events.agent_events import PromptSubmitted
    from gshtui.commands.declaration import CommandError, UsageError

    line = text.strip()
    name = line.partition(" ")[0].removeprefix("/")
    if "\n" in line or not line.startswith("/") or not name or "/" in name:
        return text, ()
    if name not in (*PROMPT_COMMANDS, "prompt"):
        await hub.read_prompts()
        if name not in hub.registry or hub.registry.get(name).family != FAMILY:
            return text, ()
    try:
        outcome = await hub.run(line)
    except CommandError as error:
        complain(error.message, error.hint)
        if error.data == {"kind": "denied"}:
            return exits.DENIED
        return exits.USAGE if isinstance(error, UsageError) else exits.ERROR
    intent = outcome.intent
    return (intent.text, intent.attachments) if isinstance(intent, PromptSubmitted) else (text, ())


async def _instead(hub: Hub, options: PromptOptions, question: str, text: str, reporter: Reporter) -> str | int:
    """What is sent in place of long input, or the exit code if the model does not answer."""
    from gshtui.system.expected_error import ExpectedError

    try:
        if options.large == "summary":
            return await summarise(question, text, hub.small_model.ask, reporter.note)
        agent = hub.local_agent(options.agent)
        handle = agent.model_handle if agent is not None else None
        window = handle.provider.capabilities(handle.model).window if handle is not None else 0
        size = max(8_000, min(PART, 2 * window))  # half the window, as four characters are a token
        return await read_in_parts(question, text, size, options.agent, hub.small_model.ask, reporter.note)
    except ExpectedError as error:
        complain(error.message, error.hint)
        return exits.UNREACHABLE


def _unusable(hub: Hub) -> int | None:
    """If no turn is possible, print why and return the exit code; otherwise `None`."""
    for part, code in (("providers", exits.UNREACHABLE), ("guard", exits.ERROR), ("agents", exits.ERROR)):
        if (failed := hub.failed.get(part)) is not None:
            complain(failed.why, failed.hint)
            return code
    if (failed := hub.failed.get("store")) is not None:
        complain(f"this conversation will not be saved: {failed.why}", failed.hint)
    return None


async def _answered(
    hub: Hub,
    options: PromptOptions,
    text: str,
    given: tuple[str, ...],
    reporter: Reporter,
    stop: Stop,
    deadline: float | None,
) -> int | None:
    """Send the prompt and wait for its turn to end; returns an exit code if it was cut short, else `None`."""
    from gshtui.bus.events.agent_events import PromptSubmitted
    from gshtui.system.ids import new_id

    await hub.bus.drained()
    if reporter.held_by:
        complain(f"this conversation is open in {reporter.held_by}; close it there, or leave out --session.")
        return exits.ERROR
    if options.opened is not None and reporter.session:
        options.opened(reporter.session)
    reporter.expect(prompt := new_id())
    from gshtui.media.mentions import attachments

    files = (*given, *(await asyncio.to_thread(attachments, text, working_folder())))
    hub.bus.publish(PromptSubmitted(prompt=prompt, agent=options.agent, text=text, attachments=files))
    finished = asyncio.ensure_future(reporter.finished.wait())
    ended = await _first(finished, stop=stop, deadline=deadline)
    if ended is not None:
        hub.cease()
        await asyncio.wait({finished}, timeout=_WIND_DOWN)
    finished.cancel()
    return ended


@asynccontextmanager
async def _asking(hub: Hub, options: PromptOptions, reporter: Reporter) -> AsyncGenerator[None]:
    """Ask the person for approvals, if there is one."""
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
