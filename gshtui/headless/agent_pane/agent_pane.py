"""An agent's own pane: what it says and does as readable lines, and a line in which a person can type to it.

Prompts, `/commands`, answers to its questions, ctrl+c to interrupt, ctrl+d to end it. An answer is a line of one digit,
typed and not pasted, begun when its question could be read: what it means is `AnswerKeys`'s affair. The questions come
one at a time. Made by `run`.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gshtui.bus.bus import Bus, WhenFull
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentStatusChanged,
    InterruptRequested,
    MessageAppended,
    PromptSubmitted,
    TextDelta,
    ThinkingDelta,
    ToolOutput,
    ToolStarted,
)
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ApprovalSettled
from gshtui.commands.declaration import CommandError
from gshtui.fleet.native.spec import Spec
from gshtui.guard.answer_keys import (
    ANSWERS,
    AnswerKeys,
    KeyChosen,
    Outcome,
    ReasonBegun,
    Swallowed,
    choice_of,
    choices,
    offers,
)
from gshtui.headless.agent_pane.pane_input import InputAction, InputLine
from gshtui.headless.agent_pane.pane_lines import (
    BOLD,
    DIM,
    YELLOW,
    AnswerLines,
    lines_of,
    question_keys,
    question_lines,
    styled,
    visible_lines,
)
from gshtui.headless.agent_pane.pane_screen import PaneScreen
from gshtui.system.ids import new_id
from gshtui.system.tasks import start_job
from gshtui.text import cells
from gshtui.text.sanitise import one_line

if TYPE_CHECKING:
    from gshtui.hub.agent_process import AgentProcess

_FRAME = 0.05
"""Seconds between two drawings."""
_INPUT_ROWS = 5
_OUTPUT_LINES = 40
"""Lines of a running tool's output that are shown."""
_REASON = 2_000
_WORDS = frozenset({"y", "yes", "n", "no", "a", "s"})
"""Lines that are an answer elsewhere. Where prompts are typed they are none; nor are they sent as a prompt."""


class AgentPane:
    """See the module's text."""

    def __init__(
        self,
        spec: Spec,
        bus: Bus,
        studio: AgentProcess,
        *,
        leave: Callable[[], None],
        rested: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`leave`: the person wants it to end. `rested`: nothing is typed any more. `clock`: it never goes back."""
        self._agent = spec.agent
        self._bus = bus
        self._studio = studio
        self._leave = leave
        self._clock = clock
        self._rested = rested
        self._screen = PaneScreen()
        self._keys = AnswerKeys()
        self._input = InputLine(self._keys)
        self._words = AnswerLines()
        self._lines: list[str] = [styled(f"{spec.name or 'agent'} · {spec.agent} · {spec.cwd}", BOLD)]
        self._shown_output: dict[str, int] = {}
        self._asked: dict[str, ApprovalRequested] = {}
        self._answered = ""
        """The question that was answered last: it is gone once the gate says so."""
        self._answerable: asyncio.TimerHandle | None = None
        self._status = AgentStatusChanged(agent=spec.agent, status="starting")
        self._connected = False
        self._closed = False
        self._drawing: asyncio.TimerHandle | None = None
        self._commands: set[asyncio.Task[None]] = set()

    @property
    def typed(self) -> bool:
        """Whether a person has begun to type something."""
        return bool(self._input.text.strip())

    @property
    def in_reason(self) -> bool:
        """Whether the next line is the reason of a denial."""
        return self._keys.in_reason

    def open(self) -> None:
        """Begin to show and to listen."""
        loop = asyncio.get_running_loop()
        self._screen.open()
        self._bus.subscribe(self.handle_events, name="pane", limit=5_000, when_full=WhenFull.MERGE)
        if self._screen.is_terminal:
            loop.add_reader(0, self._read)
            with contextlib.suppress(ValueError, RuntimeError):
                loop.add_signal_handler(signal.SIGWINCH, self._soon)
        self._soon()

    def close(self) -> None:
        """Show what is left, and give the terminal back."""
        if self._closed:
            return
        self._closed = True
        for task in self._commands:
            task.cancel()
        if self._drawing is not None:
            self._drawing.cancel()
        if self._answerable is not None:
            self._answerable.cancel()
        if self._screen.is_terminal:
            asyncio.get_running_loop().remove_reader(0)
        self._lines += self._words.rest()
        self.draw()
        self._screen.close()

    def connected(self, yes: bool) -> None:
        """Whether a window is there."""
        self._connected = yes
        self._soon()

    def handle_events(self, batch: Sequence[Event]) -> None:
        """Show what happened to this agent."""
        for event in batch:
            if getattr(event, "agent", self._agent) == self._agent:
                self._show(event)
        self._soon()

    def _show(self, event: Event) -> None:
        match event:
            case TextDelta():
                self._lines += self._words.add_text(event.message, event.text)
            case ThinkingDelta():
                self._lines += self._words.add_text(event.message, event.text, DIM)
            case ToolOutput():
                self._lines += self._output(event)
            case AgentStatusChanged():
                self._status = event
            case MessageAppended():
                self._lines += self._words.rest()
            case ApprovalRequested():
                self._ask(event)
            case ApprovalSettled():
                self._settled(event)
            case _:
                pass
        if not isinstance(event, ApprovalSettled) and (added := lines_of(event)):
            self._lines += [*self._words.rest(), *added]
        if isinstance(event, ToolStarted):
            self._shown_output[event.call] = 0

    @property
    def _front(self) -> ApprovalRequested | None:
        return next(iter(self._asked.values()), None)

    def _ask(self, event: ApprovalRequested) -> None:
        self._asked[event.approval] = event
        if self._front is event:
            self._put_question()

    def _settled(self, event: ApprovalSettled) -> None:
        was_front = self._front is not None and self._front.approval == event.approval
        self._asked.pop(event.approval, None)
        if was_front:
            self._lines += lines_of(event)
            self._put_question()

    def _put_question(self) -> None:
        """The question that is to be answered next, in full; none can be answered before it has been drawn."""
        front = self._front
        if front is None:
            self._keys.clear_question()
            return
        if self._screen.is_terminal and select.select([0], [], [], 0)[0]:
            self._read()  # what was typed until now was not about it
        self._keys.expect_question()
        self._lines += [*self._words.rest(), *question_lines(front)]

    def _output(self, event: ToolOutput) -> list[str]:
        shown = self._shown_output.get(event.call, 0)
        if shown > _OUTPUT_LINES:
            return []
        lines = [line for line in visible_lines(event.text) if line.strip()]
        self._shown_output[event.call] = shown + len(lines)
        found = [styled(f"  {line}", DIM) for line in lines[: _OUTPUT_LINES - shown]]
        return [*found, styled("  …", DIM)] if shown + len(lines) > _OUTPUT_LINES else found

    def _soon(self) -> None:
        if self._drawing is None and not self._closed:
            self._drawing = asyncio.get_running_loop().call_later(_FRAME, self.draw)

    def draw(self) -> None:
        """Draw what is new, and the rows at the bottom. A question can be answered some time after this."""
        self._drawing = None
        lines, self._lines = self._lines, []
        bottom, row, column = self._bottom()
        self._screen.draw(lines, bottom, row, column)
        if self._screen.behind:
            self._soon()
        elif (front := self._front) is not None and front.approval not in (self._keys.question, self._answered):
            self._keys.show_question(front.approval, choices(offers(front.pattern)), self._clock())
        self._draw_once_answers_count()

    def _draw_once_answers_count(self) -> None:
        if self._answerable is not None:
            self._answerable.cancel()
            self._answerable = None
        left = self._keys.counts_from - self._clock()
        if 0 < left < math.inf:
            self._answerable = asyncio.get_running_loop().call_later(left, self._soon)

    def _bottom(self) -> tuple[list[str], int, int]:
        """The rows that are drawn again and again, and the cursor's place in them."""
        columns, most = self._screen.size
        width = columns - 1
        bottom = self._words.unfinished(width, max(1, most - _INPUT_ROWS - 3))
        front = self._front
        if self._keys.in_reason:
            bottom.append(styled(cells.head(_reason_keys(self._keys), width), YELLOW))
        elif front is not None and front.approval != self._answered:
            counts = self._clock() >= self._keys.counts_from or self._input.about == front.approval
            said = question_keys(front, len(self._asked), width) if counts else "… answers count after a pause"
            bottom.append(styled(cells.head(said, width), YELLOW))
        away = "" if self._connected else " · no window is connected"
        status = one_line(f"{self._status.status} {self._status.doing}".strip() + away, 300)
        bottom.append(styled(cells.head(status, width), DIM))
        shown = self._input.text[: self._input.cursor].replace("\n", "⏎").replace("\t", " ")
        rest = self._input.text[self._input.cursor :].replace("\n", "⏎").replace("\t", " ")
        rows = cells.rows(_printable(shown), width - 2)[-_INPUT_ROWS:]
        row, column = len(bottom) + len(rows) - 1, 2 + cells.width(rows[-1])
        rows[-1] += cells.head(_printable(rest), max(0, width - column))
        bottom += [f"{'› ' if n == 0 else '  '}{text}" for n, text in enumerate(rows)]
        return bottom, row, column

    def _read(self) -> None:
        try:
            data = os.read(0, 65_536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(0)  # the terminal is gone; SIGHUP says the rest
            return
        self.type(data)

    def type(self, data: bytes) -> None:
        """Act on what the terminal sent now."""
        for wish in self._input.feed(data, self._clock()):
            self._do(wish)
        if not self.typed:
            self._rested()
        self._soon()

    def _do(self, wish: InputAction) -> None:
        match wish.kind:
            case "interrupt" if self._keys.in_reason:
                self._keys.leave_reason()
            case "interrupt":
                self._bus.publish(InterruptRequested(agent=self._agent))
            case "leave":
                self._leave()
            case "redraw":
                self._lines.append("\x1b[2J\x1b[H")
            case _:
                self._submit(wish)

    def _submit(self, wish: InputAction) -> None:
        text = wish.text.strip()
        if self._keys.in_reason:
            self._took(self._keys.give_reason(one_line(text, _REASON)))
            return
        if self._answer(wish, text):
            return
        if text.startswith("/") and not text.startswith("//"):
            task = start_job(self._command(text), "the command")
            self._commands.add(task)
            task.add_done_callback(self._commands.discard)
            return
        self._bus.publish(PromptSubmitted(prompt=new_id(), agent=self._agent, text=text))

    def _answer(self, wish: InputAction, text: str) -> bool:
        """Whether the words answer the question in front; then they are its answer."""
        front = self._front
        if front is None or front.approval == self._answered:
            return False
        word, _, reason = text.partition(" ")
        choice = choice_of(word, ANSWERS)
        if choice is None or (reason and choice != "reason"):
            if word.lower() not in _WORDS or reason:
                return False
            self._say("That is no answer here: type the digit of one, and enter.")
            return True
        outcome = self._keys.submit_line(choice, "" if wish.pasted else wish.about)
        self._took(outcome)
        if reason and isinstance(outcome, ReasonBegun):
            self._took(self._keys.give_reason(one_line(reason.strip(), _REASON)))
        return True

    def _took(self, outcome: Outcome) -> None:
        match outcome:
            case KeyChosen():
                self._answered = outcome.question
                answer = ApprovalAnswered(approval=outcome.question, decision=outcome.choice, reason=outcome.reason)
                self._bus.publish(answer)
            case Swallowed():
                self._say(f"That was no answer: {outcome.why}. Type it once the answers are shown.")
            case _:
                pass

    def _say(self, words: str) -> None:
        self._lines.append(styled(words, YELLOW))

    async def _command(self, line: str) -> None:
        from gshtui.commands.execution import run_line

        self._lines.append(styled(one_line(line), BOLD))
        try:
            outcome = await run_line(self._studio.registry, line, self._studio.invocation())
            self._lines += visible_lines(outcome.text)
        except CommandError as error:
            self._lines.append(styled(one_line(str(error), 500), YELLOW))
        except Exception as error:  # a fault of ours costs this command
            fault = self._bus.report("the command", error, shown=True)
            self._lines.append(styled(one_line(f"The command failed: {fault.why}. {fault.details}", 500), YELLOW))
        self._soon()


def _reason_keys(keys: AnswerKeys) -> str:
    if keys.reason_counts:
        return "why not? The agent reads it · enter denies · ctrl+c goes back"
    return "that question is closed: this reason denies nothing · enter or ctrl+c"


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "·" for char in text)
