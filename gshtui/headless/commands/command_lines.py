"""`gsh-tui run 'LINE'`: a line of the command language, or lines from standard input, as the person or with an
agent's rights.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec.structs import replace

from gshtui.headless import exits
from gshtui.headless.commands.command_hub import Denied, HubNeeds, on_hub
from gshtui.headless.commands.hub_words import is_about_hub
from gshtui.headless.outcomes import outcome_code, print_outcome
from gshtui.headless.runner import run_command, until_stopped
from gshtui.headless.streams import (
    STDERR,
    STDOUT,
    ask_yes_no,
    complain,
    is_terminal,
    own,
    piped_input,
    result,
    shown,
    write_all,
)
from gshtui.system.json_types import obj
from gshtui.text.sanitise import one_line

if TYPE_CHECKING:
    from gshtui.bus.event import Event
    from gshtui.commands.declaration import Invocation, Outcome, Parameters, ProgramView, Question, TalkView
    from gshtui.commands.registry import AnyCommand
    from gshtui.headless.progress import Progress
    from gshtui.hub.hub import Hub


class LinePerson(Protocol):
    """A person who is at the terminal, types one line after the other, and is asked what commands ask."""

    async def leaves_to_turn(self, hub: Hub, line: str) -> bool:
        """Whether the line is a prompt, and is not run here."""
        ...

    def follow(self, batch: Sequence[Event]) -> None:
        """Take what the line does to the person's conversation."""
        ...


class LineOptions(msgspec.Struct, frozen=True):
    """The options of the call. `agent`: whose rights apply; empty: the person's."""

    line: str | None
    """`None`: each line of standard input."""
    agent: str = ""
    yes: bool = False
    json: bool = False
    timeout: float = 0.0
    flags: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    conversation: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    """Options of the hub for the conversation that is open meanwhile; empty: none."""
    person: LinePerson | None = None


def run_line(options: LineOptions) -> int:
    """Run the line; returns the exit code."""
    views: list[ProgramView] = []
    code = run_command(lambda stop: until_stopped(_run(options, views), stop))
    return run_in_terminal(views[0].command, views[0].needs_screen) if views else code


async def _run(options: LineOptions, views: list[ProgramView]) -> int:
    """`views` gets what is to be run on this terminal afterwards."""
    from gshtui.commands.declaration import ProgramView, TalkView, UsageError
    from gshtui.commands.shell_form import ALL_COMMANDS

    if options.line is not None:
        lines = [options.line]
    else:
        piped = await piped_input()
        text, is_cut = piped.text, piped.cut
        if piped.file:
            import shutil

            shutil.rmtree(os.path.dirname(piped.file), ignore_errors=True)  # noqa: PTH120 - pathlib is not loaded
            complain("standard input is no text.", "Lines of commands are read from it.")
            return exits.USAGE
        lines = [line for line in text.splitlines() if line.strip()]
        if is_cut or not lines:
            complain("standard input is too long." if is_cut else "there is no LINE to run.", "gsh-tui run 'help'")
            return exits.USAGE

    async def work(hub: Hub, progress: Progress) -> Outcome:
        """Run the lines in their order until one fails, and write all outcomes but the last."""
        for number, line in enumerate(lines):
            if options.person is not None:
                outcome = await _asking(hub, line, options.person, progress)
            else:
                outcome = await _as_agent(hub, options, line) if options.agent else await hub.run(line)
            if isinstance(outcome.view, TalkView) and not options.json and os.isatty(0) and os.isatty(2):
                await _talk(hub, outcome.view, progress)
                outcome = replace(outcome, text="", full="", view=None)
            failed = outcome_code(outcome) != exits.DONE
            if number == len(lines) - 1 or failed:
                return outcome
            progress.clear()
            if isinstance(outcome.view, ProgramView):
                raise UsageError("What needs a terminal can only be the last line.")
            _write(outcome, options)
        raise AssertionError("there is a line")

    needs = HubNeeds(
        ALL_COMMANDS | {"agents"} if options.conversation else ALL_COMMANDS,
        where="gsh-tui --screen-reader" if options.person is not None else "gsh-tui run",
        flags=options.flags,
        conversation=options.conversation,
        respondent="policy" if options.yes else "nobody",
        timeout=options.timeout,
        beside=True,
        brings_hub=not any(map(is_about_hub, lines)),
    )
    outcome = await on_hub(needs, work)
    if isinstance(outcome, int):
        return outcome
    if isinstance(outcome.view, ProgramView) and not options.json:
        for part in outcome.parts[:-1]:
            _write(part, options)
        views.append(outcome.view)
        return exits.DONE
    return _write(outcome, options)


def _write(outcome: Outcome, options: LineOptions) -> int:
    """Write an outcome as the command's own shell form does, on a terminal; piped, the text that agents get as well."""
    from gshtui.commands.printed_outcome import line_printed

    aloud = options.person is not None
    said = line_printed(outcome, as_json=options.json, plain=is_terminal(STDOUT), aloud=aloud)
    return print_outcome(said, (options.line or "").partition(" ")[0])


async def _asking(hub: Hub, line: str, person: LinePerson, progress: Progress) -> Outcome:
    """Run a line for a person who is asked, and goes on with another line. Raises `CommandError`, `Denied`."""
    from gshtui.bus.event import Event
    from gshtui.commands.declaration import Outcome, Unconfirmed
    from gshtui.hub.faces.asked_commands import question_text

    async def agrees(question: Question) -> bool:
        progress.clear()
        return ask_yes_no(question_text(question))

    if await person.leaves_to_turn(hub, line):
        return Outcome(None, "")
    hub.bus.subscribe(person.follow, Event, name="person")
    try:
        outcome = await hub.run(line, ask=agrees)
    except Unconfirmed as error:
        raise Denied(error.message) from error
    if outcome.intent is not None:
        person.follow([outcome.intent])
    return outcome


async def _talk(hub: Hub, view: TalkView, progress: Progress) -> None:
    """Let the person ask an agent line after line, until they end the input or leave a line empty.

    The progress line is there only while they wait.
    """
    from gshtui.commands.declaration import Caller, CommandError
    from gshtui.commands.execution import run_parsed
    from gshtui.fleet.mail.commands import TalkParameters

    command = hub.registry.get("talk")
    name = one_line(view.name or view.agent, 40)
    write_all(STDERR, shown(f"You talk with {name}. Press ctrl+d to end it.\n", STDERR))
    while True:
        await progress.stop()
        write_all(STDERR, own("you> "))
        asked = (await asyncio.to_thread(sys.stdin.readline)).strip()
        if not asked:
            return
        progress.restart(f"Waiting for {name}")
        try:
            answered = await run_parsed(command, TalkParameters(to=view.agent, message=asked), hub.invocation(Caller()))
        except CommandError as error:
            progress.clear()
            complain(error.message, error.hint)
            continue
        progress.clear()
        result(f"{name}> {obj(answered.data).get('answer') or answered.text}")


async def _as_agent(hub: Hub, options: LineOptions, line: str) -> Outcome:
    """Run each command of the line as a tool call of the agent: check access, ask the guard, run."""
    from gshtui.agents.toolbox import assess
    from gshtui.commands.declaration import Caller, CommandError, UsageError
    from gshtui.commands.evaluation import run_line as evaluate
    from gshtui.commands.execution import run_parsed
    from gshtui.commands.registry import may_run
    from gshtui.guard.approval.gate import Call, Gate
    from gshtui.guard.modes import AgentModes
    from gshtui.guard.rules.rule_book import RuleFiles
    from gshtui.guard.rules.rule_file import own_file
    from gshtui.system.ids import new_id

    caller = Caller(options.agent, is_agent=True)
    auto = frozenset(hub.settings.agent.auto_approve)
    mode = "auto" if options.yes else hub.settings.agent.mode
    modes = AgentModes(hub.bus, options.agent, mode)
    files = RuleFiles(own_file(), hub.project)
    gate = Gate(hub.bus, respondent=hub.options.respondent, auto_approve=auto, modes=modes, rules=files.current)
    refusals: list[str] = []

    async def judged(command: AnyCommand, parameters: Parameters, invocation: Invocation) -> Outcome:
        """Run a command of the line as a call of its own."""
        if not may_run(command, caller):
            raise UsageError(f"{command.name} is for people only.")
        arguments: dict[str, Any] = parameters.model_dump(exclude_unset=True)
        assessment = await assess(command, invocation, parameters, arguments)
        verdict = await gate.review(Call(options.agent, "", new_id(), command.first_word, arguments), assessment)
        if not verdict.allowed:
            name, subject = command.name, assessment.subject
            what = subject if subject.split(" ")[0] == name else f"{name} {subject}"
            refusals.append(f"{what}: {verdict.reason}")
            raise CommandError(refusals[-1])
        return await run_parsed(command, parameters, replace(invocation, sandboxed=verdict.sandboxed))

    try:
        return await evaluate(hub.registry, line, replace(hub.invocation(caller), run_stage=judged))
    except CommandError as error:
        if refusals:
            raise Denied(refusals[-1]) from error
        raise
    finally:
        await gate.close()


def run_in_terminal(line: str, needs_screen: bool) -> int:
    """Run a shell line on this terminal until it ends; returns its exit code, as a shell says it."""
    if needs_screen and not (os.isatty(0) and os.isatty(1)):
        complain("this needs a terminal.", f"In a terminal, run: {line}")
        return exits.USAGE

    def spare(_number: int, _frame: object) -> None:
        """What ctrl+c sends is for the program. A handler, since what is ignored stays ignored in the program."""

    before = {number: signal.signal(number, spare) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        code = subprocess.run(["/bin/sh", "-c", line], check=False).returncode
    except OSError as error:
        complain(f"cannot start a shell: {error.strerror}.")
        return exits.ERROR
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code
