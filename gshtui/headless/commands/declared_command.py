"""Runs a declared command as `gsh-tui NAME …`: asks its question, runs it, prints the outcome, opens its view.

A person at a terminal is asked the command's question. Without a terminal nothing is asked: a command that would lose
something refuses with exit code 4, unless `--yes` was given. Called by `cli`.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from gshtui.headless import exits, streams
from gshtui.headless.called_here import load_settings
from gshtui.headless.commands.command_hub import HubNeeds, on_hub, on_settings
from gshtui.headless.outcomes import outcome_code, print_outcome
from gshtui.headless.runner import run_command, until_stopped

if TYPE_CHECKING:
    from gshtui.commands.declaration import Caller, Invocation, Outcome, Parameters, Question, Returns
    from gshtui.commands.registry import Registry
    from gshtui.commands.shell_form import ShellForm
    from gshtui.store.tables.session_table import SessionInfo


class CommandHost(Protocol):
    """What has the commands: a hub, or `LocalCommands`, for which the settings are enough."""

    registry: Registry

    def invocation(self, caller: Caller, output: Callable[[str], None] | None = None) -> Invocation:
        """The surroundings of a command that runs here now."""
        ...


class DeclaredCall(msgspec.Struct, frozen=True):
    """A declared command and the values given on the command line."""

    parameters: type[Parameters]
    """`Returns[…]`, or the parameters of a line that is bound to one; with a shell form."""
    values: Mapping[str, Any]
    """Values by field name; omitted fields are left out."""
    name: str = ""
    """The words that call it."""
    json: bool = False
    yes: bool = False
    """Do not ask."""
    lines: bool = False
    """Answer each line of standard input."""
    flags: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    """Settings for this run only."""

    @property
    def form(self) -> ShellForm:
        from gshtui.commands.shell_form import ShellForm

        form = self.parameters.SHELL
        assert isinstance(form, ShellForm)
        return form

    def value(self, registry: Registry) -> Returns[Any]:
        """What is called. Raises `UsageError`: the given values are not valid."""
        from gshtui.commands.declaration import Returns
        from gshtui.commands.execution import bound_parameters, from_shell

        given = from_shell(self.parameters, self.values, as_json=self.json, yes=self.yes)
        return given if isinstance(given, Returns) else bound_parameters(registry.get(self.name), given)


class DeclaredRun(msgspec.Struct, frozen=True):
    """The outcome, and what to show in this terminal next."""

    outcome: Outcome
    attach: tuple[str, ...] = ()
    """The tmux command that shows an agent; empty: none."""
    session: SessionInfo | None = None
    """The conversation to open in a window, if any."""


def run_call(call: DeclaredCall, open_session: Callable[[str], int] | None = None) -> int:
    """Run it; returns the exit code. `open_session` opens the window with a conversation."""
    form = call.form
    if form.needs_terminal and not call.json and not all(map(os.isatty, (0, 1, 2))):
        streams.complain(form.needs_terminal)
        return exits.USAGE
    if call.lines:
        return _answer_lines(call)
    shown: list[DeclaredRun] = []

    async def work() -> int:
        from gshtui.commands.printed_outcome import printed

        if form.parts:
            needs = HubNeeds(
                form.parts,
                where=f"gsh-tui {call.name}",
                flags=call.flags,
                waiting=form.waiting,
            )
            ran = await on_hub(needs, lambda hub, progress: run_on(hub, call, progress.clear))
        else:
            ran = await on_settings(
                lambda host: run_on(host, call),
                flags=call.flags,
                quiet=form.quiet,
            )
        if isinstance(ran, int):
            return ran
        if call.json:
            return print_outcome(printed(ran.outcome, as_json=True, lines=form.json_lines))
        if ran.attach or ran.session is not None:
            shown.append(ran)
            return exits.DONE
        if form.prints_agents:
            return outcome_code(ran.outcome)
        return print_outcome(printed(ran.outcome, as_json=False), call.name)

    code = run_command(lambda stop: until_stopped(work(), stop))
    if not shown:
        return code
    session = shown[0].session
    if session is not None and open_session is not None:
        return resume(session.id, session.cwd, open_session)
    return attach(shown[0].attach)


async def run_on(
    host: CommandHost, call: DeclaredCall, before_asking: Callable[[], None] = lambda: None
) -> DeclaredRun | int:
    """Run it on this host. If it asks, a person has to agree first; returns 4 if they do not.

    A result that comes piece by piece is written as it comes, and the last piece decides the exit code.
    `before_asking`: makes room on the terminal for a question or a piece. Raises `CommandError`: the command failed;
    or, as `Unconfirmed`, there is nobody to ask.
    """
    from gshtui.bus.events.session_events import SessionChangeRequested
    from gshtui.commands import execution
    from gshtui.commands.declaration import AttachView, Caller
    from gshtui.commands.printed_outcome import printed
    from gshtui.hub.faces.asked_commands import question_text

    invocation = host.invocation(Caller())
    value = call.value(host.registry)
    pieces = execution.stream(host.registry, value, invocation)
    if pieces is not None:
        code = exits.DONE
        async for piece in pieces:
            before_asking()
            code = print_outcome(printed(piece, as_json=call.json, lines=call.form.json_lines))
        return code

    async def ask(question: Question) -> bool:
        if not _somebody_is_here():
            return streams.decline(question_text(question))
        before_asking()
        return streams.ask_yes_no(question_text(question))

    if not call.yes and (call.form.needs_answer or _somebody_is_here()):
        outcome = await execution.run_asked(host.registry, value, invocation, ask)
    else:
        outcome = await execution.run_value(host.registry, value, invocation)
    if outcome is None:
        return exits.DENIED
    if isinstance(outcome.view, AttachView) and not call.json:
        from gshtui.fleet.core.agent_calls import AttachAgent

        attachment = await execution.call(host.registry, AttachAgent(agent=outcome.view.agent), invocation)
        return DeclaredRun(outcome, tuple(attachment.argv))
    if isinstance(outcome.intent, SessionChangeRequested) and not call.json:
        from gshtui.store.sessions.session_calls import ResumeSession

        wanted = ResumeSession(session=outcome.intent.session)
        return DeclaredRun(outcome, session=await execution.call(host.registry, wanted, invocation))
    return DeclaredRun(outcome)


_LONGEST = 8 * 1024 * 1024
"""Most bytes of a line of standard input; the rest of a longer one is ignored."""


def _answer_lines(call: DeclaredCall) -> int:
    """Answer each line of standard input with one, until it ends; returns the exit code.

    Nothing runs beside it: a line is read, answered and written before the next one.
    """

    from gshtui.commands.declaration import Caller, UsageError
    from gshtui.commands.execution import answering
    from gshtui.hub.faces.local_commands import LocalCommands

    host = LocalCommands(load_settings(call.flags, quiet=call.form.quiet))
    try:
        answer = answering(host.registry, call.value(host.registry), host.invocation(Caller()))
    except UsageError as error:
        streams.complain(str(error))
        return exits.USAGE
    while raw := sys.stdin.buffer.readline(_LONGEST):
        piece = raw
        while len(piece) == _LONGEST and not piece.endswith(b"\n"):
            piece, raw = sys.stdin.buffer.readline(_LONGEST), b"too long"
        if raw.strip():
            answered = json.dumps(answer(_decoded(raw)), ensure_ascii=True)
            streams.write_all(streams.STDOUT, streams.shown(f"{answered}\n", streams.STDOUT))
    return exits.DONE


def _decoded(raw: bytes) -> object:
    """The line's JSON value; `None` where it is none."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def resume(session: str, cwd: str, open_session: Callable[[str], int]) -> int:
    """Open the window with a conversation, in that one's own folder; returns the exit code."""
    try:
        os.chdir(cwd)
    except OSError as error:
        streams.complain(f"cannot open its folder {cwd}: {error.strerror}. Using the current folder.")
    return open_session(session)


def _somebody_is_here() -> bool:
    return os.isatty(0) and os.isatty(2)


def attach(argv: tuple[str, ...]) -> int:
    """Give this terminal to tmux until the person detaches; from inside its server, switch to the agent."""
    by_hand = shlex.join(argv)
    if not (os.isatty(0) and os.isatty(1)):
        streams.complain("This command needs a terminal.", f"In a terminal, run: {by_hand}")
        return exits.USAGE
    from gshtui.tmux.attach_client import words_for

    words, environ = words_for(list(argv), os.environ)
    try:
        os.execvpe(words[0], words, environ)
    except OSError as error:
        streams.complain(f"cannot start tmux: {error.strerror}.", f"To attach by hand: {by_hand}")
        return exits.UNREACHABLE


def run_in_terminal(line: str, needs_screen: bool) -> int:
    """Run a shell line on this terminal until it ends; returns its exit code, as a shell says it."""
    if needs_screen and not (os.isatty(0) and os.isatty(1)):
        streams.complain("this needs a terminal.", f"In a terminal, run: {line}")
        return exits.USAGE

    def spare(_number: int, _frame: object) -> None:
        """What ctrl+c sends is for the program. A handler, since what is ignored stays ignored in the program."""

    before = {number: signal.signal(number, spare) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        code = subprocess.run(["/bin/sh", "-c", line], check=False).returncode
    except OSError as error:
        streams.complain(f"cannot start a shell: {error.strerror}.")
        return exits.ERROR
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code
