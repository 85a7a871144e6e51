"""The line under the input: what the agent or a command is doing and for how long, what is waiting, useful keys.

A pure reducer and the line that shows it, with a clock that runs only while something is running.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

import msgspec
from msgspec.structs import replace
from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.signal import Signal
from textual.timer import Timer
from textual.widgets import Static

from gshtui.bus.agent_data import ENDED_STATUSES, state_word
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentStatusChanged,
    PromptQueued,
    PromptWithdrawn,
    ProviderRetried,
    TextDelta,
    ThinkingDelta,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.events.shell_events import InputCommandFinished, InputCommandStarted
from gshtui.text import units
from gshtui.ui.kit.keys.bound_keys import key_of
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widgets.fitted_text import fit
from gshtui.ui.prompt.key_hints import Hint, input_hints, pane_hints

if TYPE_CHECKING:
    from gshtui.ui.prompt.prompt_input import PromptInput

STATUS_EVENTS: tuple[type[Event], ...] = (
    AgentStatusChanged,
    TurnStarted,
    TurnFinished,
    ProviderRetried,
    TextDelta,
    ThinkingDelta,
    PromptQueued,
    PromptWithdrawn,
    SessionOpened,
    InputCommandStarted,
    InputCommandFinished,
)
SILENT = 3.0
"""Seconds after which the hub is said not to answer."""
LATE = 0.15
"""Seconds after which work that has shown nothing yet is named."""
_ENOUGH = 0.5
"""Seconds of an answer from which its rate is estimated."""


class RunningCommand(msgspec.Struct, frozen=True):
    """A running input-line command."""

    run: str
    command: str
    since: float


class AnswerProgress(msgspec.Struct, frozen=True):
    """An answer that is being written."""

    since: float
    newest: float
    """When its newest piece came, seconds since the epoch."""
    characters: int = 0
    """Written since its first piece."""

    def rate(self) -> int:
        """Tokens a second, estimated; 0 until there is enough to go by."""
        took = self.newest - self.since
        return round(self.characters / 4 / took) if took >= _ENOUGH else 0


class StatusState(msgspec.Struct, frozen=True):
    """One agent's activity."""

    agent: str
    status: str = "idle"
    doing: str = ""
    since: float = 0.0
    """When the turn began, seconds since the epoch; 0: no turn."""
    changed: float = 0.0
    """When it began what it does now."""
    retry: ProviderRetried | None = None
    queued: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()
    """Prompts that wait until the person sends them."""
    ended: str = ""
    """How the last turn ended, if not normally."""
    running: tuple[RunningCommand, ...] = ()
    answer: AnswerProgress | None = None

    @property
    def busy(self) -> bool:
        """Whether a turn is in progress."""
        return bool(self.since)

    @property
    def counts_from(self) -> float:
        """What the time beside its words counts from: a command's or a question's own beginning, else the turn's."""
        return self.changed if self.status in ("tool", "waiting") else self.since


FAILED = "failed"


def reduce_status(state: StatusState, event: Event) -> StatusState:
    """The state after the event; the same object when nothing changed."""
    match event:
        case TurnStarted() if event.agent == state.agent:
            queued, held = state.queued - {event.prompt}, state.held - {event.prompt}
            return StatusState(
                state.agent,
                "thinking",
                since=event.at,
                changed=event.at,
                queued=queued,
                held=held,
                running=state.running,
            )
        case TurnFinished() if event.agent == state.agent:
            ended = {"max_iterations": "stopped at its iteration limit"}.get(event.stop, "")
            ended = FAILED if event.error else ended  # why is in the conversation
            return replace(state, status="idle", doing="", since=0.0, retry=None, ended=ended, answer=None)
        case AgentStatusChanged() if event.agent == state.agent:
            over = event.status in (*ENDED_STATUSES, "starting")  # a process that was ended finishes no turn
            since = 0.0 if over else state.since
            same = (event.status, event.doing) == (state.status, state.doing)
            changed = state.changed if same else event.at or state.changed
            return replace(
                state, status=event.status, doing=event.doing, since=since, changed=changed, retry=None, answer=None
            )
        case TextDelta() if event.agent == state.agent:
            before = state.answer or AnswerProgress(event.at, event.at, -len(event.text))
            return replace(
                state, answer=AnswerProgress(before.since, event.at, before.characters + len(event.text)), retry=None
            )
        case ThinkingDelta() if event.agent == state.agent and state.answer is not None:
            return replace(state, answer=None)
        case ProviderRetried() if event.agent == state.agent:
            return replace(state, retry=event)
        case PromptQueued() if event.agent == state.agent:
            queued, held = state.queued - {event.prompt}, state.held - {event.prompt}
            if event.held:
                return replace(state, queued=queued, held=held | {event.prompt})
            return replace(state, queued=queued | {event.prompt}, held=held)
        case PromptWithdrawn() if event.agent == state.agent:
            return replace(state, queued=state.queued - {event.prompt}, held=state.held - {event.prompt})
        case SessionOpened() if event.agent == state.agent and (state.queued or state.held):
            return replace(state, queued=frozenset(), held=frozenset())
        case InputCommandStarted():
            return replace(state, running=(*state.running, RunningCommand(event.run, event.command, event.at)))
        case InputCommandFinished():
            return replace(state, running=tuple(one for one in state.running if one.run != event.run))
        case _:
            return state


def doing(state: StatusState, now: float = 0.0) -> str:
    """What the agent is doing, in words."""
    if (retry := state.retry) is not None:
        left = math.ceil(retry.at + retry.wait - now)
        again = f"Trying again in {left} s" if left > 0 else "Trying again"
        count = f" · {retry.attempt + 1} of {retry.most}" if retry.most else ""
        return f"{again}{count}"  # why: in the conversation
    if state.status == "thinking" and state.answer is not None:
        rate = state.answer.rate()
        return f"Writing · ~{rate} tokens/s" if rate else "Writing"
    word = state_word(state.status).capitalize()
    return f"{word}: {state.doing}" if state.doing and state.status != "waiting" else word  # the question says it


def waits(state: StatusState) -> list[str]:
    """What is waiting for the agent, in words."""
    found: list[str] = []
    if state.queued:
        found.append(f"{len(state.queued)} queued")
    if state.held:
        found.append(f"{len(state.held)} held")
    return found


FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_LEAST = 12
"""Cells of what goes on, whatever stands beside it."""
TICK = 0.125
WRITING = 0.25
"""Seconds between two drawings while an answer is written: its text says that something goes on."""


class PromptStatus(Static):
    """One line.

    Args:
        input: what it is below; its keys are named while it has the focus.
        agent: the agent whose turns it shows, until it turns to another.
    """

    CONSUMES: ClassVar[tuple[type[Event], ...]] = STATUS_EVENTS

    def __init__(self, input: PromptInput, agent: str = "main", clock: Callable[[], float] = time.time) -> None:
        super().__init__(id="prompt-status", markup=False)
        self._input = input
        self._states = {agent: StatusState(agent)}
        self.state = self._states[agent]
        self._clock = clock
        self._frame = 0
        self._ticked = clock()
        """When it was drawn last, or last had no need to be."""
        self._timer: Timer | None = None
        self._line: Content | None = None
        self._places: list[tuple[int, int, str]] = []
        """From where to where in the line it names which key."""
        self._late: dict[asyncio.Future[Any], RunningCommand] = {}
        """What the person has asked for and still waits for."""

    def on_mount(self) -> None:
        self._timer = self.set_interval(TICK, self._tick, pause=True)
        signal = cast("Signal[Any]", self.screen.bindings_updated_signal)  # pyright: ignore[reportUnknownMemberType]
        signal.subscribe(self, self._focus_moved)
        self.draw()

    def _focus_moved(self, _: object) -> None:
        """The focus, or what its keys do, has changed."""
        self.draw()

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        before = self.state
        for event in events:
            if isinstance(event, TurnStarted | PromptQueued):
                self._state_of(event.agent)
            self._states = {agent: reduce_status(state, event) for agent, state in self._states.items()}
        self._show(self._states[before.agent], before)
        if self._timer is not None and self.state.busy and self._clock() - self._ticked >= self._pace:
            self._timer.reset()
            self._tick()  # in the frame that these events make anyway

    def follow(self, work: asyncio.Future[Any], words: str, after: float = LATE) -> None:
        """Name this work, which the person has asked for, once it takes longer than a moment, until it is done."""
        since = self._clock()

        def late() -> None:
            if not work.done():
                self._late[work] = RunningCommand("", words, since)
                self._run_clock()
                self.draw()

        def done(_: object) -> None:
            timer.cancel()
            if self._late.pop(work, None) is not None:
                self._run_clock()
                self.draw()

        timer = asyncio.get_running_loop().call_later(after, late)
        work.add_done_callback(done)

    def turn_to(self, agent: str) -> None:
        """Show this agent's turns from now on."""
        self._show(self._state_of(agent), self.state)

    def _state_of(self, agent: str) -> StatusState:
        """The agent's state; a new one knows what is not any agent's own."""
        if agent not in self._states:
            self._states[agent] = StatusState(agent, running=self.state.running)
        return self._states[agent]

    def _show(self, state: StatusState, before: StatusState) -> None:
        self.state = state
        self._input.failed = state.ended == FAILED
        if state is not before:
            if bool(state.answer) != bool(before.answer) or replace(state, answer=None) != replace(before, answer=None):
                self.draw()  # the timer draws how fast an answer comes
            self._run_clock()

    def _run_clock(self) -> None:
        if self._timer is not None:
            going = self.state.busy or self.state.running or self._late
            (self._timer.resume if going else self._timer.pause)()

    def on_resize(self) -> None:
        self.draw()

    def _tick(self) -> None:
        # Without animations the spinner stands still, and only the seconds count up.
        self._frame += 1
        now = self._clock()
        if app_of(self).animation_level != "none":
            due = now - self._ticked >= self._pace - TICK / 2
        else:
            due, self._ticked = self._frame % 8 == 0, now
        if due:
            self.draw()

    @property
    def _pace(self) -> float:
        """Seconds between two drawings of what goes on."""
        return TICK if self.state.answer is None else WRITING

    def draw(self) -> None:
        """Show the current state."""
        width = self.size.width or app_of(self).size.width  # before the first layout, so that the row is never empty
        if not self.is_attached or width <= 0:
            return
        self._ticked = self._clock()
        title = self._title()
        self._places = []
        if self._late and not title:
            line = self._late_work(width)
        elif title or not (self.state.busy or self.state.running):
            line = self._idle(width)
        else:
            line = self._busy(width) if self.state.busy else self._by_hand(width)
        if self._line is None or not line.is_same(self._line):
            self._line = line
            self.update(line, layout=False)  # it is always one line

    def _busy(self, width: int) -> Content:
        waiting = waits(self.state)
        return self._going_on(
            doing(self.state, self._clock()),
            None if self.state.retry is not None else self.state.counts_from,  # one that counts down is enough
            waiting,
            width,
            self._ends_by("interrupt"),
            asks=self.state.status == "waiting" and self.state.retry is None,
        )

    def _late_work(self, width: int) -> Content:
        """The newest of what the person still waits for."""
        from gshtui.text.sanitise import one_line

        newest = list(self._late.values())[-1]
        waiting = waits(self.state)
        return self._going_on(one_line(newest.command), newest.since, waiting, width)

    def _by_hand(self, width: int) -> Content:
        """The person's newest running command."""
        from gshtui.text.sanitise import one_line  # not before the first letter

        newest = self.state.running[-1]
        more = len(self.state.running) - 1
        waiting = [*([f"{more} more"] if more else []), *waits(self.state)]
        what = f"Running: {one_line(newest.command)}"
        return self._going_on(what, newest.since, waiting, width, self._ends_by("stop"))

    def _going_on(
        self, what: str, since: float | None, beside: list[str], width: int, spare: str = "", *, asks: bool = False
    ) -> Content:
        """The activity, shortened so that all of `beside` fits, and `spare` if some of the activity stays. `asks`: it
        waits for the person.
        """
        moving = app_of(self).animation_level != "none"
        sign = "◆" if asks else FRAMES[self._frame % len(FRAMES)] if moving else "●"
        rest = [*([units.clock(self._clock() - since)] if since is not None else []), *beside]
        room = width - 2 - sum(cell_len(part) + 3 for part in rest)
        if spare and room - cell_len(spare) - 3 >= _LEAST:
            room -= cell_len(spare) + 3
            rest.append(spare)
        line = Content.assemble(
            (f"{sign} ", "$warning" if asks else "$primary"), (fit(what, max(_LEAST, room)), "$foreground")
        )
        return _joined(line, rest, width)

    def _ends_by(self, what: str) -> str:
        """Which key ends what goes on, if it is the next one that would do so."""
        return f"{key_of(self, 'app.back')} to {what}" if self._input.leaves_nothing_first else ""

    def _title(self) -> str:
        """What the input is used for, if not for a new prompt."""
        if self._input.key_use == "searching":
            return "Searching sent prompts"
        return "Editing a queued prompt · empty to withdraw" if self._input.editing else ""

    def _idle(self, width: int) -> Content:
        hints: Sequence[Hint] = ()
        if app_of(self).screen is self.screen:  # a dialog has the keys, and names them
            at_input = self.screen.focused is self._input
            hints = input_hints(self.screen, self._input.key_use) if at_input else pane_hints(self.screen)
        if title := self._title():
            return self._named(hints, width, Content.styled(title, "$warning"))
        waiting = waits(self.state)
        line = Content()
        if self.state.ended:
            line = Content.styled(f"✗ {fit(self.state.ended, max(20, width // 2))}", "$error")
        elif waiting:
            line = Content.styled(waiting.pop(0), "$foreground-muted")
        return self._named(hints, width, _joined(line, waiting, width))

    def _named(self, hints: Sequence[Hint], width: int, line: Content) -> Content:
        """The line followed by as many keys as fit."""
        for hint in hints:
            at = line.cell_length + 2 * bool(line.cell_length)
            end = at + cell_len(hint.shown) + 1 + cell_len(hint.does)
            if end <= width:
                line = Content.assemble(line, " " * (at - line.cell_length), (hint.shown, "$primary"), f" {hint.does}")
                self._places.append((at, end, hint.key))
        return line

    async def on_click(self, event: events.Click) -> None:
        """A key that is clicked is pressed."""
        at = event.get_content_offset_capture(self).x
        for start, end, key in self._places:
            if start <= at < end:
                app_of(self).simulate_key(key)


def _joined(line: Content, parts: Sequence[str], width: int) -> Content:
    """The line followed by as many parts as fit."""
    for part in parts:
        if line.cell_length + 3 + cell_len(part) <= width:
            line = Content.assemble(line, f" · {part}")
    return line
