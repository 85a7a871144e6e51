"""An agent's own pane: what it says and does as readable lines, and a line in which a person can type to it.

Prompts, `/commands`, y or n to its questions, ctrl+c to interrupt, ctrl+d to end it. An answer counts only when it was
typed, not pasted, after the question stood there: nothing that another program sends can be one by accident. Made by
`run`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gshtui.agents.native import cells
from gshtui.agents.native.pane_input import InputLine, Wish
from gshtui.agents.native.pane_lines import BOLD, DIM, YELLOW, lines_of, question_keys, styled, visible_lines
from gshtui.agents.native.pane_screen import Screen
from gshtui.agents.native.pane_words import Words
from gshtui.agents.native.spec import Spec
from gshtui.bus.bus import Bus, WhenFull
from gshtui.bus.event import Event
from gshtui.bus.events.agent import (
    AgentStatusChanged,
    InterruptRequested,
    MessageAppended,
    PromptSubmitted,
    TextDelta,
    ThinkingDelta,
    ToolOutput,
    ToolStarted,
)
from gshtui.bus.events.approval import ApprovalAnswered, ApprovalRequested, ApprovalSettled, Decision
from gshtui.bus.ids import new_id
from gshtui.commands.declaration import CommandError
from gshtui.guard.sanitise import one_line

if TYPE_CHECKING:
    from gshtui.agents.native.studio import Studio

_FRAME = 0.05
"""Seconds between two drawings."""
_INPUT_ROWS = 5
_OUTPUT_LINES = 40
"""Lines of a running tool's output that are shown."""
_ANSWERS: dict[str, Decision] = {
    "y": "once", "yes": "once", "n": "deny", "no": "deny", "s": "session", "a": "always",
}  # fmt: skip


class Pane:
    """See the module's text."""

    def __init__(
        self, spec: Spec, bus: Bus, studio: Studio, *, leave: Callable[[], None], rested: Callable[[], None]
    ) -> None:
        """`leave`: the person wants it to end. `rested`: nothing is typed any more."""
        self._agent = spec.agent
        self._bus = bus
        self._studio = studio
        self._leave = leave
        self._rested = rested
        self._screen = Screen()
        self._input = InputLine()
        self._words = Words()
        self._lines: list[str] = [styled(f"{spec.name or 'agent'} · {spec.agent} · {spec.cwd}", BOLD)]
        self._shown_output: dict[str, int] = {}
        self._asked: dict[str, tuple[int, ApprovalRequested]] = {}
        self._status = AgentStatusChanged(agent=spec.agent, status="starting")
        self._connected = False
        self._closed = False
        self._drawing: asyncio.TimerHandle | None = None
        self._commands: set[asyncio.Task[None]] = set()

    @property
    def typed(self) -> bool:
        """Whether a person has begun to type something."""
        return bool(self._input.text.strip())

    def open(self) -> None:
        """Begin to show and to listen."""
        loop = asyncio.get_running_loop()
        self._screen.open()
        self._bus.subscribe(self._take, name="pane", limit=5_000, when_full=WhenFull.MERGE)
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
        if self._screen.is_terminal:
            asyncio.get_running_loop().remove_reader(0)
        self._lines += self._words.rest()
        self._draw()
        self._screen.close()

    def connected(self, yes: bool) -> None:
        """Whether a window is there."""
        self._connected = yes
        self._soon()

    def _take(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if getattr(event, "agent", self._agent) == self._agent:
                self._show(event)
        self._soon()

    def _show(self, event: Event) -> None:
        match event:
            case TextDelta():
                self._lines += self._words.say(event.message, event.text)
            case ThinkingDelta():
                self._lines += self._words.say(event.message, event.text, DIM)
            case ToolOutput():
                self._lines += self._output(event)
            case AgentStatusChanged():
                self._status = event
            case MessageAppended():
                self._lines += self._words.rest()
            case ApprovalRequested():
                self._asked[event.approval] = (self._input.mark(), event)
            case ApprovalSettled():
                self._asked.pop(event.approval, None)
            case _:
                pass
        if added := lines_of(event):
            self._lines += [*self._words.rest(), *added]
        if isinstance(event, ToolStarted):
            self._shown_output[event.call] = 0

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
            self._drawing = asyncio.get_running_loop().call_later(_FRAME, self._draw)

    def _draw(self) -> None:
        self._drawing = None
        lines, self._lines = self._lines, []
        bottom, row, column = self._bottom()
        self._screen.draw(lines, bottom, row, column)
        if self._screen.behind:
            self._soon()

    def _bottom(self) -> tuple[list[str], int, int]:
        """The rows that are drawn again and again, and the cursor's place in them."""
        columns, most = self._screen.size
        width = columns - 1
        bottom = self._words.unfinished(width, max(1, most - _INPUT_ROWS - 3))
        asked = next(iter(self._asked.values()), None)
        if asked is not None:
            bottom.append(styled(cells.head(question_keys(asked[1]), width), YELLOW))
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
        for wish in self._input.feed(data):
            self._do(wish)
        if not self.typed:
            self._rested()
        self._soon()

    def _do(self, wish: Wish) -> None:
        match wish.kind:
            case "interrupt":
                self._bus.publish(InterruptRequested(agent=self._agent))
            case "leave":
                self._leave()
            case "redraw":
                self._lines.append("\x1b[2J\x1b[H")
            case _:
                self._submit(wish)

    def _submit(self, wish: Wish) -> None:
        text = wish.text.strip()
        if self._answer(wish, text):
            return
        if text.startswith("/") and not text.startswith("//"):
            task = asyncio.get_running_loop().create_task(self._command(text), name="pane command")
            self._commands.add(task)
            task.add_done_callback(self._commands.discard)
            return
        self._bus.publish(PromptSubmitted(prompt=new_id(), agent=self._agent, text=text))

    def _answer(self, wish: Wish, text: str) -> bool:
        """Whether the words answer the oldest question; then they are its answer."""
        asked = next(iter(self._asked.values()), None)
        word, _, reason = text.partition(" ")
        decision = _ANSWERS.get(word.lower())
        if asked is None or decision is None or (reason and decision != "deny"):
            return False
        mark, request = asked
        if wish.pasted or wish.begun < mark or (decision == "always" and not request.pattern):
            self._lines.append(styled("That was no answer: type it, after the question has come.", YELLOW))
            return True
        self._bus.publish(ApprovalAnswered(approval=request.approval, decision=decision, reason=reason.strip()))
        return True

    async def _command(self, line: str) -> None:
        from gshtui.commands.execute import run_line

        self._lines.append(styled(one_line(line), BOLD))
        try:
            outcome = await run_line(self._studio.registry, line, self._studio.invocation())
            self._lines += visible_lines(outcome.text)
        except CommandError as error:
            self._lines.append(styled(one_line(str(error), 500), YELLOW))
        self._soon()


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "·" for char in text)
