"""Runs commands in the window: typed, by key or from a menu, a command asks and shows the same.

Owns the path from a line or a value through its question to what is shown: in the conversation what answers a typed
line, else a toast, the viewer, a list or a terminal.
Knows no particular command. Created by the app on first use.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from gshtui.bus.events.agent_events import PromptSubmitted
from gshtui.commands.declaration import (
    AttachView,
    CommandError,
    CutPreview,
    Incomplete,
    Outcome,
    ProgramView,
    Question,
    Returns,
    TalkView,
    ToastView,
    Unconfirmed,
    UnknownCommand,
    UsageError,
)
from gshtui.system.expected_error import ExpectedError
from gshtui.system.tasks import report_unexpected
from gshtui.ui.kit.bridge import NotReady
from gshtui.ui.kit.widget_messages import Meant, OpenTerminal, SendPrompt, Unsent, open_agent
from gshtui.ui.kit.widgets.dialogs import ConfirmScreen
from gshtui.ui.window.features import action_of, opening_key

if TYPE_CHECKING:
    from gshtui.ui.kit.workbench_port import WorkbenchPort

SHORT = 160
"""Outcomes of keys and menus of up to this many characters are shown as a toast; longer ones open the viewer."""
_OWN_LINES = 3
"""Line ends in an outcome of our own words, at most; what has more, or was printed by something, stays as it is."""
_NAMED = re.compile(r"`([a-z][a-z0-9_-]*)(?=`| [^-])")
"""A word in backticks that may be the name of a command; what has a dash after it is a shell's."""


class _Run(msgspec.Struct, frozen=True):
    """One run on its way: what to call it, whether a person typed it, what to do afterwards."""

    title: str
    typed: bool
    then: Callable[[], None] | None
    unsent: Unsent | None = None


def _slashed(line: str) -> str:
    return line if line.startswith("/") else f"/{line}"


class CommandRunner:
    """Runs lines and values as the person. Shows a command's own errors instead of raising them."""

    def __init__(self, app: WorkbenchPort) -> None:
        self._app = app
        self._preparing: list[Returns[object]] = []
        """What a question is being prepared for, so that pressing the key twice asks only once."""

    async def run_line(self, line: str, meant: Meant | None = None) -> None:
        """Run the parts of a line in their order, after asking the person if needed, and show each one's outcome."""
        try:
            hub = await self._app.bridge.running()
            line = (await meant() if meant is not None else "") or line
            if line.endswith(" ") and meant is not None:
                self._app.write(line)
                return
            parts = await hub.split_line(line)
        except Exception as error:
            self._failed(line, error, typed=True)
            return
        if len(parts) == 1:
            await self._run_one(line)
            return
        for part in parts:
            try:
                outcome = await self._app.bridge.run(part, ask=self._agrees)
            except Exception as error:
                self._failed(part, error, typed=True)
                return
            self._show(part, outcome, typed=True)
            if outcome.is_error:
                return

    async def _run_one(self, line: str) -> None:
        try:
            hub = await self._app.bridge.running()
            key = opening_key(line, await hub.opens(line))
            if key:
                await self._app.run_action(f"app.{action_of(key)}")
                return
            value = await hub.bound(line)
            outcome = await self._app.bridge.run(line, ask=self._agrees) if value is None else None
        except UnknownCommand as error:
            word = line.split()[0]
            alone = UsageError(f"{_slashed(word)} takes nothing after it.", hint=f"Write {_slashed(word)} alone.")
            self._failed(line, alone if opening_key(word, "") else error, typed=True)
            return
        except Exception as error:
            self._failed(line, error, typed=True)
            return
        if outcome is not None:
            self._show(line, outcome, typed=True)
        elif value is not None:
            await self.run_value(value, line)

    async def run_value(
        self,
        value: Returns[object],
        line: str = "",
        then: Callable[[], None] | None = None,
        unsent: Unsent | None = None,
    ) -> None:
        """Run a command by its parameters, after asking the person if needed, and show its outcome.

        Args:
            line: what the person typed, if anything: its outcome is then shown in the conversation.
            then: called once it has run or failed; not if the person said no.
            unsent: goes back into the input if it fails.
        """
        run = _Run(line or value.words(), bool(line), then, unsent)
        try:
            await self._app.bridge.running()
            if value in self._preparing:
                return
            self._preparing.append(value)
            try:
                question = await self._app.bridge.question(value)
            finally:
                self._preparing.remove(value)
        except Exception as error:
            self._failed(run.title, error, typed=run.typed, unsent=run.unsent)
            return
        if question is None:
            await self._run(value, run)
        else:
            self._ask(question, lambda: self._agreed(question, value, run), lambda: self._refused(question, run))

    def _agreed(self, question: Question, value: Returns[object], run: _Run) -> None:
        if question.doing:
            self._app.notify(question.doing, markup=False, timeout=4)
        work = self._run(question.agreed, run, again=value)
        self._app.run_worker(work, exit_on_error=False, group="commands")

    def _refused(self, question: Question, run: _Run) -> None:
        if question.otherwise is not None:
            self._app.run_worker(self._run(question.otherwise, run), exit_on_error=False, group="commands")

    async def _run(self, parameters: Returns[object], run: _Run, again: Returns[object] | None = None) -> None:
        try:
            outcome = await self._app.bridge.run(parameters)
        except Unconfirmed as error:
            if again is None:
                self._failed(run.title, error, typed=run.typed, unsent=run.unsent)
            else:  # something has come up since the question
                await self.run_value(again, run.title if run.typed else "", run.then, run.unsent)
                return
        except Exception as error:
            self._failed(run.title, error, typed=run.typed, unsent=run.unsent)
        else:
            self._show(run.title, outcome, typed=run.typed, value=parameters)
        if run.then is not None:
            run.then()

    # Asking

    async def _agrees(self, question: Question) -> bool:
        """Ask the person; returns their answer."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def settle(yes: bool) -> None:
            if not answer.done():
                answer.set_result(yes)

        self._ask(question, lambda: settle(True), lambda: settle(False))
        return await answer

    def _ask(self, question: Question, agreed: Callable[[], None], refused: Callable[[], None] = lambda: None) -> None:
        screen = ConfirmScreen(
            question.title,
            question.text,
            yes=question.yes,
            losses=question.losses,
            note=question.note,
            quoted=question.quoted,
        )
        self._app.push_screen(screen, lambda yes: agreed() if yes else refused())

    def _preview(self, view: CutPreview, value: Returns[object]) -> None:
        from gshtui.context.commands.cut_commands import CutParameters
        from gshtui.ui.context.receipt_screen import ReceiptDecision, ReceiptScreen

        def decided(answer: ReceiptDecision | None) -> None:
            if answer is not None and answer.action == "do" and isinstance(value, CutParameters):
                self._app.perform(value.model_copy(update={"preview": False}))

        self._app.push_screen(ReceiptScreen(view.receipt, self._text, "preview", view.note), decided)

    async def _text(self, hash: str) -> str:
        """A block's text. Raises `NotReady`, `CommandError`."""
        from gshtui.context.commands.view_calls import ReadText

        return await self._app.bridge.call(ReadText(hash=hash))

    async def _open_agent(self, agent: str) -> None:
        """Show an agent's tab, for the person to write to it; this window's own agent has its chat."""
        from gshtui.fleet.core.agent_calls import ListAgents

        found = await self._app.bridge.call(ListAgents(windows=False))
        row = next((row for row in found.rows if row.id == agent), None)
        if row is not None:
            self._app.post_message(open_agent(row))

    # Showing

    def _toast(self, view: ToastView, *, typed: bool) -> None:
        self._app.notify(view.text, markup=False, timeout=view.seconds)
        if typed and view.draft:
            self._app.write(view.draft)

    def _tell_room(self, line: str, *, failed: bool) -> None:
        """Tell the call in which a line was typed that it was run."""
        if room := self._app.room:
            from gshtui.calls.call_values import NoteRun

            note = NoteRun(call=room, line=line, failed=failed)
            self._app.run_worker(self._told(note), exit_on_error=False, group="call")

    async def _told(self, note: Returns[bool]) -> None:
        with contextlib.suppress(ExpectedError):  # the call is gone, or the record is busy
            await self._app.bridge.call(note)

    def _show(self, title: str, outcome: Outcome, *, typed: bool, value: Returns[object] | None = None) -> None:
        if typed:
            self._tell_room(title, failed=outcome.is_error)
        if outcome.shown:
            return
        if (intent := outcome.intent) is not None:
            if isinstance(intent, PromptSubmitted) and intent.agent != self._app.front:
                self._app.post_message(SendPrompt(intent))
            else:
                self._app.publish(intent)
            if isinstance(outcome.view, ToastView):
                self._toast(outcome.view, typed=typed)
            return
        text, exact = outcome.drawn.strip(), outcome.is_value
        if outcome.is_ours and not outcome.full and text.count("\n") < _OWN_LINES:
            text = self._as_typed(text)
        match outcome.view:
            case AttachView() | TalkView() | ProgramView() if typed and self._app.is_writing:
                words = f"{_slashed(title)} opened no tab while you write. Run it again to go there."
                self._app.notify(words, markup=False)
            case AttachView(agent):
                self._app.post_message(OpenTerminal(agent, attach=True))
            case TalkView(agent):
                self._app.run_worker(self._open_agent(agent), exit_on_error=False, group="talk")
            case ProgramView(command):
                self._app.post_message(OpenTerminal(OpenTerminal.SHARED, command=command))
            case ToastView() as view:
                self._toast(view, typed=typed)
            case CutPreview() as view if value is not None:
                self._preview(view, value)
            case CutPreview() | None if typed and text and self._shown(title, text, failed=outcome.is_error):
                pass
            case None if outcome.is_error:
                self._app.notify(text, title=title, severity="error", markup=False, timeout=8)
            case None if exact or len(text) > SHORT or text.count("\n") > 2:
                from gshtui.ui.kit.transcript.text_screen import TextScreen

                self._app.push_screen(TextScreen(title, text))
            case None if text:
                self._app.notify(text, markup=False)
            case _:
                pass

    def _shown(self, line: str, text: str, *, failed: bool) -> bool:
        """Show it in the conversation; False: there is none."""
        return self._app.show_outcome(_slashed(line), text, failed=failed)

    def _as_typed(self, text: str) -> str:
        """Our own words to the person: a command that they name has its slash, as in the input."""
        known = self._app.bridge.commands
        return _NAMED.sub(lambda found: f"`/{found[1]}" if found[1] in known else found[0], text)

    async def _ask_for_value(self, line: str, error: Incomplete) -> None:
        """Put a line that lacks a value into the input, with the values to choose from, if any are known."""
        begun = f"{_slashed(line.strip())} "
        known, place = False, self._app.bench.focused
        try:
            known = any(one.kind == "value" for one in await self._app.bridge.complete(begun, len(begun)))
        except Exception as fault:  # rather the command's own failure
            report_unexpected("the values of a command", fault)
        if known and not self._app.input_text and self._app.bench.focused is place:
            self._app.write(begun)  # who has gone elsewhere meanwhile is not led back
        elif not known and error.hint.startswith(f"Usage: {begun[1:]}<agent>"):
            self._show_failure(
                line, UsageError("There is no agent to choose.", hint="/spawn to start one."), typed=True
            )
        else:
            self._show_failure(line, error, typed=True)

    def _failed(self, title: str, error: Exception, *, typed: bool, unsent: Unsent | None = None) -> None:
        if typed and isinstance(error, Incomplete):
            self._app.run_worker(self._ask_for_value(title, error), exit_on_error=False, group="values")
        else:
            self._show_failure(title, error, typed=typed, unsent=unsent)

    def _show_failure(self, title: str, error: Exception, *, typed: bool, unsent: Unsent | None = None) -> None:
        if unsent is not None:
            self._app.give_back(unsent.text, unsent.whose)
        if isinstance(error, CommandError):
            if typed and not isinstance(error, UsageError):
                self._tell_room(title, failed=True)
            if error.shown:
                return
            text = self._as_typed(error.drawn if typed else str(error))
        elif isinstance(error, NotReady):
            text = str(error)
        else:
            report_unexpected("a command", error)
            text = f"`{title}` failed: {type(error).__name__}: {error}"
        if typed and self._shown(title, text, failed=True):
            return
        self._app.notify(text, severity="error", markup=False, timeout=8)
