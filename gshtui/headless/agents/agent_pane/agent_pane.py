"""An agent's own pane: what the agent says and does as readable lines, and an input line for the person.

It takes prompts, `/commands`, answers to the agent's questions, ctrl+c to interrupt and ctrl+d to end the agent. An
answer is a line of one digit, typed and not pasted, and begun once its question was readable; `AnswerKeys` decides
what it means. Questions appear one at a time.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from gshtui.bus.agent_data import AgentRow, OpenQuestion
from gshtui.bus.bus import Bus, WhenFull
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentStatusChanged,
    InterruptRequested,
    MessageAppended,
    ProgramSessionChanged,
    PromptSubmitted,
    QuestionAnswered,
    TextDelta,
    ThinkingDelta,
    ToolOutput,
    ToolStarted,
    TurnStarted,
)
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ApprovalSettled
from gshtui.bus.subscription import joined
from gshtui.fleet.native.spec import Spec
from gshtui.guard.approval.answer_keys import (
    ANSWERS,
    CHANGED,
    TOO_SOON,
    AnswerKeys,
    KeyChosen,
    Offer,
    Outcome,
    ReasonBegun,
    RuleBegun,
    Swallowed,
    absent,
    changing,
    choice_of,
    choices,
    numbered,
    program_choices,
)
from gshtui.guard.approval.question_text import PROGRAM, program_request
from gshtui.headless.agents.agent_pane.pane_input import InputAction, InputLine
from gshtui.headless.agents.agent_pane.pane_lines import (
    BOLD,
    DIM,
    YELLOW,
    AnswerLines,
    lines_of,
    question_keys,
    question_lines,
    rule_lines,
    styled,
    visible_lines,
)
from gshtui.headless.agents.agent_pane.pane_markdown import AnswerLayout, MarkdownLines
from gshtui.headless.agents.agent_pane.pane_screen import DrawingTurns, PaneScreen
from gshtui.programs.acp.acp_commands import program_name
from gshtui.system.expected_error import ExpectedError
from gshtui.system.ids import new_id
from gshtui.system.tasks import start_job
from gshtui.text import cells
from gshtui.text.sanitise import CleanText, clean_text, one_line, plain
from gshtui.text.secret_shapes import without_tokens

_STREAMED = (TextDelta, ThinkingDelta, ToolOutput)
_INPUT_ROWS = 5
_MOST_LINES = 5_000
"""Lines that wait for a screen that takes none."""
_OUTPUT_LINES = 40
"""Lines of a running tool's output to show."""
_REASON = 2_000
HUB_LOST = "The hub has ended. The agent goes on from what is in its conversation."
_RULE_KEYS = "enter to save this rule and allow · ctrl+c to go back"
_RULE_VOID = "that question is already closed; nothing will be saved · enter or ctrl+c"
_WORDS = frozenset({"y", "yes", "n", "no", "a", "s"})
"""Lines that would be answers elsewhere. Here they are neither an answer nor sent as a prompt."""


class AgentPane:
    """One agent's pane; see the module docstring."""

    def __init__(
        self,
        spec: Spec,
        bus: Bus,
        screen: PaneScreen,
        run_line: Callable[[str], Awaitable[str]],
        *,
        intend: Callable[[Event], None],
        leave: Callable[[], None],
        typed: Callable[[bool], None],
        draft: str = "",
        goes_on: bool = False,
        turns: DrawingTurns | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            bus: has the agent's events.
            screen: where it is drawn.
            run_line: runs a command and gives its text. Raises `ExpectedError`.
            intend: is given what the person wants of the agent.
            leave: the person wants the agent to end.
            typed: told whether something is typed, after each piece of input.
            draft: what is typed already.
            goes_on: the screen shows what another one of this agent has drawn.
            turns: when what has come is drawn; `None`: the pane is alone.
            clock: seconds that never go back.
        """
        self._agent = spec.agent
        self._bus = bus
        self._screen = screen
        self._run_line = run_line
        self._intend = intend
        self._leave = leave
        self._turns = turns or DrawingTurns()
        self._clock = clock
        self._typed = typed
        self._typed_at = 0.0
        self._keys = AnswerKeys()
        self._input = InputLine(self._keys, draft)
        self._shown_secret = ""
        """The text that was not sent since a secret is in it; sent again, it is meant."""
        self._layout = AnswerLayout(lambda: self._screen.size[0] - 1) if self._screen.is_terminal else None
        self._words = AnswerLines(self._layout)
        self._loading: asyncio.Task[None] | None = None
        title = styled(f"{spec.name or 'agent'} · {spec.agent} · {spec.place or spec.cwd}", BOLD)
        self._lines: list[CleanText] = [] if goes_on else [title]
        self._shown_output: dict[str, int] = {}
        self._streamed: list[Event] = []
        """What has come since the last drawing, and is not laid out."""
        self._asked: dict[str, ApprovalRequested] = {}
        self._row = AgentRow(id=spec.agent, name=spec.name or spec.agent, profile=program_name(spec.request.acp))
        self._program: OpenQuestion | None = None
        """What the agent's program over ACP asks now, with its own answers."""
        self._offered: list[list[str]] = []
        """The first words of the commands that the program offers."""
        self._drawn_question = ""
        self._answered = ""
        """The question answered last; it counts as closed once the gate says so."""
        self._answerable: asyncio.TimerHandle | None = None
        self._status = AgentStatusChanged(agent=spec.agent, status="starting")
        self._connected = False
        self._closed = False
        self._echoing: asyncio.Handle | None = None
        self._echoes = False
        """What was typed is to be drawn."""
        self._has_news = False
        """Something is to be drawn once the screen is no longer behind."""
        self._commands: set[asyncio.Task[None]] = set()

    @property
    def typed(self) -> bool:
        """Whether the person has started to type something."""
        return bool(self._input.text) and not self._input.text.isspace()

    @property
    def draft(self) -> str:
        """What is typed and not sent."""
        return self._input.text

    @property
    def in_reason(self) -> bool:
        """Whether the next line is the reason for a denial."""
        return self._keys.in_reason

    def open(self) -> None:
        """Start drawing and listening for input."""
        self._screen.open(self._schedule_draw, self._seen)
        self._bus.subscribe(self.handle_events, name="pane", limit=5_000, when_full=WhenFull.MERGE)
        self._schedule_draw()

    def close(self) -> None:
        """Draw what is left and give the screen back."""
        if self._closed:
            return
        self._closed = True
        for task in self._commands:
            task.cancel()
        self._no_more_draws()
        if self._answerable is not None:
            self._answerable.cancel()
        self._show_streamed()
        self._lines += self._words.rest()
        self._draw_now()
        self._screen.close()

    def connected(self, yes: bool) -> None:
        """Whether a window is connected."""
        self._connected = yes
        self._schedule_draw()

    def handle_events(self, batch: Sequence[Event]) -> None:
        """Show this agent's events."""
        for event in batch:
            if getattr(event, "agent", self._agent) != self._agent:
                continue
            if isinstance(event, _STREAMED):
                self._streamed.append(event)
            else:
                self._show_streamed()
                self._show(event)
        self._schedule_draw()

    def _show_streamed(self) -> None:
        """Lay out what has come since the last drawing at once: each layout of an answer costs as much."""
        streamed, self._streamed = self._streamed, []
        for event in joined(streamed):
            self._show(event)

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
                self._note_program(event.question)
            case MessageAppended():
                self._lines += self._words.rest()
            case ApprovalRequested():
                self._ask(event)
            case ApprovalSettled():
                self._settled(event)
            case ProgramSessionChanged():
                self._offered = [one.name.split(maxsplit=1)[:1] for one in event.commands]
            case _:
                pass
        if not isinstance(event, ApprovalSettled) and (added := lines_of(event)):
            self._lines += [*self._words.rest(), *added]
        if isinstance(event, ToolStarted):
            self._shown_output[event.call] = 0
        if isinstance(event, TurnStarted):
            self._load_layout()

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

    def _note_program(self, question: OpenQuestion | None) -> None:
        """Show what the agent's program asks, or that it asks no more."""
        before, self._program = self._program, question
        if before is not None and (question is None or question.id != before.id):
            closed = program_request(self._row, before).approval
            was_front = self._front is not None and self._front.approval == closed
            self._asked.pop(closed, None)
            if was_front:
                self._put_question()
        if question is not None and (before is None or question.id != before.id):
            self._ask(program_request(self._row, question))

    def _offers(self, front: ApprovalRequested) -> tuple[Offer, ...]:
        """The answers to a question: a program's own ones, or ours."""
        asked = self._program if front.effect == PROGRAM else None
        return numbered(front) if asked is None else program_choices(asked)

    def _put_question(self) -> None:
        """Show the next question in full; it cannot be answered before it has been drawn."""
        front = self._front
        if front is None:
            self._keys.clear_question()
            return
        self._keys.expect_question()
        self._lines += [*self._words.rest(), *question_lines(front, self._row.name)]

    def _output(self, event: ToolOutput) -> list[CleanText]:
        shown = self._shown_output.get(event.call, 0)
        if shown > _OUTPUT_LINES:
            return []
        lines = [line for line in visible_lines(event.text) if line.strip()]
        self._shown_output[event.call] = shown + len(lines)
        found = [styled(f"  {line}", DIM) for line in lines[: _OUTPUT_LINES - shown]]
        return [*found, styled("  …", DIM)] if shown + len(lines) > _OUTPUT_LINES else found

    def _schedule_draw(self) -> None:
        if not self._closed:
            self._turns.ask(self.draw)

    def _draw_soon(self) -> None:
        """Draw what was typed, which waits for no turn."""
        self._echoes = True
        if self._echoing is None and not self._closed:
            self._echoing = asyncio.get_running_loop().call_soon(self.draw)

    def _no_more_draws(self) -> None:
        self._turns.forget(self.draw)
        if self._echoing is not None:
            self._echoing.cancel()
            self._echoing = None

    def draw(self) -> None:
        """Draw new lines and the bottom rows, once the screen shows what was drawn before."""
        self._no_more_draws()
        self._show_streamed()
        self._has_news = self._screen.behind
        if self._has_news:
            del self._lines[:-_MOST_LINES]
            return
        self._draw_now()
        if not self._screen.behind:
            self._seen(self._clock())

    def _draw_now(self) -> None:
        lines, self._lines, self._echoes = self._lines, [], False
        self._drawn_question = "" if self._front is None else self._front.approval
        self._screen.draw(lines, *self._bottom())

    def _seen(self, at: float) -> None:
        """What was drawn is on the screen since then: a question can be answered a moment later."""
        if self._closed:
            return
        if self._has_news:
            (self._draw_soon if self._echoes else self._schedule_draw)()
            return
        front = self._front
        if front is not None and front.approval == self._drawn_question not in (self._keys.question, self._answered):
            twice, offered = changing(self._program if front.effect == PROGRAM else None), self._offers(front)
            self._keys.show_question(front.approval, choices(offered), at, twice=twice, absent=absent(offered))
        self._draw_once_answers_count()
        if self._layout is not None and self._layout.is_loaded and not self._layout.complete:
            self._load_layout()

    def _load_layout(self) -> None:
        """Load what answers are laid out with, beside the turn."""
        layout = self._layout
        if layout is None or layout.complete or (self._loading is not None and not self._loading.done()):
            return

        async def load() -> None:
            await asyncio.to_thread(layout.load)
            self._schedule_draw()

        self._loading = start_job(load(), "the layout of answers")

    def _draw_once_answers_count(self) -> None:
        if self._answerable is not None:
            self._answerable.cancel()
            self._answerable = None
        left = self._keys.counts_from - self._clock()
        if 0 < left < math.inf:
            self._answerable = asyncio.get_running_loop().call_later(left, self._schedule_draw)

    def _bottom(self) -> tuple[list[CleanText], int, int]:
        """The rows that are redrawn each time, and the cursor's position in them."""
        columns, most = self._screen.size
        width = columns - 1
        bottom = self._words.unfinished(width, max(1, most - _INPUT_ROWS - 3))
        front = self._front
        if self._keys.in_rule:
            said = _RULE_KEYS if self._keys.rule_counts else _RULE_VOID
            bottom.append(styled(cells.head(said, width), YELLOW))
        elif self._keys.in_reason:
            bottom.append(styled(cells.head(_reason_keys(self._keys), width), YELLOW))
        elif front is not None and front.approval != self._answered:
            counts = self._clock() >= self._keys.counts_from or self._input.about == front.approval
            answers = question_keys(self._offers(front), len(self._asked), width, most)
            said = answers if counts else ["… you can answer after a short pause"]
            bottom += [styled(cells.head(line, width), YELLOW) for line in said]
        away = "" if self._connected else " · no window is connected"
        status = one_line(f"{self._status.status} {self._status.doing}".strip() + away, 300)
        bottom.append(styled(cells.head(status, width), DIM))
        cursor, room = self._input.cursor, _INPUT_ROWS * width  # of a long draft only what can be seen
        shown = self._input.text[max(0, cursor - room) : cursor].replace("\n", "⏎").replace("\t", " ")
        rest = self._input.text[cursor : cursor + width].replace("\n", "⏎").replace("\t", " ")
        rows = cells.rows(_printable(shown), width - 2)[-_INPUT_ROWS:]
        row, column = len(bottom) + len(rows) - 1, 2 + cells.width(rows[-1])
        rows[-1] += cells.head(_printable(rest), max(0, width - column))
        bottom += [clean_text("  " if n else "› ", plain(text)) for n, text in enumerate(rows)]
        return bottom, row, column

    def type(self, data: bytes, at: float | None = None) -> None:
        """Handle the bytes that the terminal sent. `at`: when, by the clock; `None`: now."""
        self._typed_at = self._clock() if at is None else min(at, self._clock())
        for wish in self._input.feed(data, self._typed_at):
            self._perform(wish)
        self._typed(self.typed)
        self._draw_soon()

    def _perform(self, wish: InputAction) -> None:
        match wish.kind:
            case "interrupt" if self._keys.in_reason:
                self._keys.leave_reason()
            case "interrupt" if self._keys.in_rule:
                self._keys.leave_rule()
            case "interrupt":
                self._intend(InterruptRequested(agent=self._agent))
            case "leave":
                self._leave()
            case "redraw":
                self._lines.append(clean_text("\x1b[2J\x1b[H"))
            case _:
                self._submit(wish)

    def _submit(self, wish: InputAction) -> None:
        text = wish.text.strip()
        if self._keys.in_reason:
            self._apply_outcome(self._keys.give_reason(one_line(text, _REASON)))
            return
        if self._keys.in_rule:
            self._agree(text)
            return
        if self._answer(wish, text):
            return
        words = text[1:].split(maxsplit=1)
        if text.startswith("/") and not text.startswith("//") and words[:1] not in self._offered:
            task = start_job(self._command(text), "the command")
            self._commands.add(task)
            task.add_done_callback(self._commands.discard)
            return
        prompt = text.removeprefix("/") if text.startswith("//") else text
        if prompt != self._shown_secret and without_tokens(prompt) != prompt:
            self._shown_secret = prompt
            self.show_notice(
                "An API key or token is in this text, so it was not sent: up, then enter to send it as it is."
            )
            return
        self._shown_secret = ""
        self._intend(PromptSubmitted(prompt=new_id(), agent=self._agent, text=prompt))

    def _answer(self, wish: InputAction, text: str) -> bool:
        """Submit the line as the answer to the current question, if it is one; returns whether it was."""
        front = self._front
        if front is None or front.approval == self._answered:
            return False
        word, _, reason = text.partition(" ")
        choice = choice_of(word, self._offers(front) if front.effect == PROGRAM else ANSWERS)
        if choice is None or (reason and choice != "reason"):
            if word.lower() not in _WORDS or reason:
                return False
            self.show_notice("That is not an answer here: type its digit and press enter.")
            return True
        outcome = self._keys.submit_line(choice, "" if wish.pasted else wish.about)
        self._apply_outcome(outcome)
        if reason and isinstance(outcome, ReasonBegun):
            self._apply_outcome(self._keys.give_reason(one_line(reason.strip(), _REASON)))
        return True

    def _asked_by_program(self, question: str) -> OpenQuestion | None:
        """The program's question with this id, if it is open."""
        front = self._asked.get(question)
        return self._program if front is not None and front.effect == PROGRAM else None

    def _agree(self, text: str) -> None:
        """A line while a rule is shown: only an empty one agrees."""
        front = self._front
        if text:
            self.show_notice("Nothing was saved: enter alone to save the rule, ctrl+c to go back.")
        else:
            self._apply_outcome(self._keys.give_rule("" if front is None else front.rule, self._typed_at))

    def _apply_outcome(self, outcome: Outcome) -> None:
        match outcome:
            case KeyChosen() if (asked := self._asked_by_program(outcome.question)) is not None:
                self._answered = outcome.question
                label = next((one.label for one in asked.choices if one.key == outcome.choice), "")
                self._lines.append(styled(f"  {one_line(label, 120)}", BOLD))
                self._intend(QuestionAnswered(agent=self._agent, question=asked.id, choice=outcome.choice))
            case KeyChosen():
                self._answered = outcome.question
                answer = ApprovalAnswered(approval=outcome.question, decision=outcome.decision, reason=outcome.reason)
                self._intend(replace(answer, rule=outcome.rule))
            case RuleBegun():
                if self._front is not None:
                    self._lines += rule_lines(self._front)
                self._keys.show_rule(self._typed_at)
            case Swallowed():
                later = " Type it once the answers are shown." if outcome.why in (TOO_SOON, CHANGED) else ""
                self.show_notice(f"Not taken as an answer: {outcome.why}.{later}")
            case _:
                pass

    def show_notice(self, words: str) -> None:
        """Add a line of ours."""
        self._lines.append(styled(words, YELLOW))

    async def _command(self, line: str) -> None:
        self._lines.append(styled(one_line(line), BOLD))
        try:
            self._lines += await self._laid_out(await self._run_line(line))
        except ExpectedError as error:
            self._lines.append(styled(one_line(str(error), 500), YELLOW))
        except Exception as error:  # a fault of ours costs only this command
            fault = self._bus.report("the command", error, shown=True)
            self._lines.append(styled(one_line(f"The command failed: {fault.why}. {fault.details}", 500), YELLOW))
        self._schedule_draw()

    async def _laid_out(self, text: str) -> list[CleanText]:
        """Markdown as lines; without a terminal, its source."""
        if self._layout is None:
            return visible_lines(text)
        await asyncio.to_thread(self._layout.load)
        whole = MarkdownLines(styled, self._layout)
        return [*whole.feed(text), *whole.finish()]


def _reason_keys(keys: AnswerKeys) -> str:
    if keys.reason_counts:
        return "Reason, sent to the agent · enter to deny · ctrl+c to go back"
    return "that question is already closed; nothing will be denied · enter or ctrl+c"


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "·" for char in text)
