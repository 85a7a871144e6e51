"""`gsh-tui NAME …` of a declared command: its question where it has one, its run, its outcome, and what a view opens.

A person at a terminal is asked what the command asks. Without one nothing is asked: what would lose something is not
done, with exit code 4, unless `--yes` was given. Called by `cli`.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gshtui.headless import exits, streams
from gshtui.headless.command_hub import HubNeeds, on_hub
from gshtui.headless.outcomes import outcome_code, write_outcome
from gshtui.headless.runner import run_command, until_stopped

if TYPE_CHECKING:
    from gshtui.bus.events.fleet_events import AgentSpawned
    from gshtui.commands.declaration import Outcome, Parameters, Question, Returns
    from gshtui.hub.hub import Hub
    from gshtui.store.session_table import SessionInfo


@dataclass(frozen=True, slots=True)
class DeclaredCall:
    """A declared command, and what the command line said."""

    parameters: type[Parameters]
    """Also `Returns[…]`, with a form in the shell."""
    values: Mapping[str, Any]
    """By the names of its fields; what was left out is left out."""
    json: bool = False
    yes: bool = False
    """Ask nothing."""
    flags: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings for this run."""

    @property
    def name(self) -> str:
        """What it is called where a hub says who is there."""
        return self.parameters.__name__

    def value(self) -> Returns[Any]:
        """The parameters.

        Raises:
            UsageError: what was given does not make any.
        """
        from pydantic import ValidationError

        from gshtui.commands.declaration import Returns, UsageError, option_of

        fields = self.parameters.model_fields
        always = {name: True for name, field in fields.items() if option_of(field).fixed}
        always |= {name: True for name, field in fields.items() if option_of(field).with_json and self.json}
        always |= {"yes": True} if self.yes and "yes" in fields else {}
        try:
            value = self.parameters(**{**self.values, **always})
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_context=False)[0]
            raise UsageError(f"{'.'.join(map(str, wrong['loc']))}: {wrong['msg']}.") from error
        assert isinstance(value, Returns)
        return value


@dataclass(frozen=True, slots=True)
class DeclaredRun:
    """What it came to, and what this terminal is given to."""

    outcome: Outcome
    attach: tuple[str, ...] = ()
    """The tmux command that shows an agent."""
    session: SessionInfo | None = None
    """The conversation that a window goes on with."""


def run_call(call: DeclaredCall, open_session: Callable[[str], int] | None = None) -> int:
    """Run it; gives the exit code. `open_session`: opens the window with a conversation."""
    from gshtui.commands.shell_form import ShellForm

    form = call.parameters.SHELL
    assert isinstance(form, ShellForm)
    if form.needs_terminal and not call.json and not all(map(os.isatty, (0, 1, 2))):
        streams.complain(form.needs_terminal)
        return exits.USAGE
    shown: list[DeclaredRun] = []

    def started(event: AgentSpawned) -> None:
        """The id is there at once; the prompt may have to wait until the program can take it."""
        if form.prints_agents and not call.json:
            streams.result(event.agent)

    async def work() -> int:
        needs = HubNeeds(
            form.parts, where=f"gsh-tui {call.name}", flags=call.flags, waiting=form.waiting, started=started
        )
        ran = await on_hub(needs, lambda hub, progress: run_on(hub, call, progress.clear))
        if isinstance(ran, int):
            return ran
        if call.json:
            return write_outcome(ran.outcome, as_json=True)
        if ran.attach or ran.session is not None:
            shown.append(ran)
            return exits.DONE
        if form.prints_agents:
            return outcome_code(ran.outcome)
        return write_outcome(ran.outcome, as_json=False, text=ran.outcome.plain)

    code = run_command(lambda stop: until_stopped(work(), stop))
    if not shown:
        return code
    session = shown[0].session
    if session is not None and open_session is not None:
        return _resume(session, open_session)
    return _attach(shown[0].attach)


async def run_on(hub: Hub, call: DeclaredCall, before_asking: Callable[[], None]) -> DeclaredRun | int:
    """Run it on this hub, once the person agrees where it asks; gives 4 when they don't.

    Raises:
        CommandError: the command could not do it, or `Unconfirmed`, where nobody can be asked.
    """
    from gshtui.bus.events.session_events import SessionChangeRequested
    from gshtui.commands.declaration import AttachView

    value = call.value()
    outcome: Outcome | None = None
    while outcome is None:
        question = await hub.question(value) if not call.yes and _somebody_is_here() else None
        if question is None:
            outcome = await hub.run(value)
            break
        before_asking()
        if not streams.ask_yes_no(_question_text(question)):
            return exits.DENIED
        outcome = await _agreed(hub, question)
    if isinstance(outcome.view, AttachView) and not call.json:
        from gshtui.fleet.agent_calls import AttachAgent

        return DeclaredRun(outcome, tuple((await hub.call(AttachAgent(agent=outcome.view.agent))).argv))
    if isinstance(outcome.intent, SessionChangeRequested) and not call.json:
        from gshtui.store.session_calls import ResumeSession

        return DeclaredRun(outcome, session=await hub.call(ResumeSession(session=outcome.intent.session)))
    return DeclaredRun(outcome)


def _resume(session: SessionInfo, open_session: Callable[[str], int]) -> int:
    """Open the window in the conversation's own folder."""
    try:
        os.chdir(session.cwd)
    except OSError as error:
        streams.complain(f"its folder {session.cwd} cannot be opened: {error.strerror}. The current one is used.")
    return open_session(session.id)


async def _agreed(hub: Hub, question: Question) -> Outcome | None:
    """What it came to; `None`: something came up after the question, which is to be asked about again."""
    from gshtui.commands.declaration import Returns, Unconfirmed

    assert isinstance(question.agreed, Returns)
    try:
        return await hub.run(question.agreed)
    except Unconfirmed:
        return None


def _somebody_is_here() -> bool:
    return os.isatty(0) and os.isatty(2)


def _question_text(question: Question) -> str:
    """The question as a terminal shows it: what would be lost and what makes it less final first."""
    said = [*question.losses, question.text, question.note, question.title or "Do it?"]
    text = " ".join(filter(None, said))
    if question.preview is None:
        return text
    from gshtui.context.commands.tables import receipt
    from gshtui.text.verbatim import bare

    return f"{bare(receipt(question.preview, limit=12))}\n\n{text}"


def _attach(argv: tuple[str, ...]) -> int:
    """Give this terminal to tmux until the person detaches; from inside its server, switch to the agent."""
    by_hand = shlex.join(argv)
    if not (os.isatty(0) and os.isatty(1)):
        streams.complain("This needs a terminal.", f"There, run: {by_hand}")
        return exits.USAGE
    from gshtui.tmux.attach_client import words_for

    words, environ = words_for(list(argv), os.environ)
    try:
        os.execvpe(words[0], words, environ)
    except OSError as error:
        streams.complain(f"tmux could not be started: {error.strerror}.", f"By hand: {by_hand}")
        return exits.UNREACHABLE
