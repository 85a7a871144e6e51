"""The window that plays a recorded conversation: the workbench as it is, with a bar of the replay's keys below it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message as TextualMessage
from textual.widgets import Static

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentStatusChanged,
    MessageAppended,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.messages import Message, Text, ToolCall, ToolResult
from gshtui.client.window_calls import WindowCalls
from gshtui.client.window_protocol import OpenRequest
from gshtui.features.replay.replay_player import Recording, recording
from gshtui.headless.servers.keeper_process import OwnHub
from gshtui.store.tables.session_table import SessionInfo
from gshtui.text.cells import width as cell_width
from gshtui.ui.kit.keys.bound_keys import printed_key
from gshtui.ui.kit.keys.key_bar import shown_keys
from gshtui.ui.kit.keys.key_table import KEYS, bind
from gshtui.ui.window.app import Workbench
from gshtui.ui.window.window_run import run

if TYPE_CHECKING:
    from gshtui.features.replay.replay_hub import ReplayHub
    from gshtui.features.replay.replay_player import ReplayPlayer


TOUR = "tour"
"""Its name in place of a conversation's."""
_WORDS_A_SECOND = 4.0
_AT_ONCE = 3
"""Words that come together."""
_READS_FOR = 2.0
"""Seconds after an answer."""
_TURNS: tuple[tuple[str, str], ...] = (
    (
        "What is this?",
        "This is a tour: a **replay** of a conversation, on the window that you will work in. {replay.pause} pauses it,"
        " {replay.next} goes to the next prompt, {replay.faster} plays faster, {app.quit} leaves.\n\n"
        "You write prompts below and read answers here. Around them are your agents, your shells, and what the model is"
        " sent.",
    ),
    (
        "run make test",
        "Each call of a tool is a line that opens to its change or its output. Before something runs that is not"
        " clearly harmless, a question with the exact command appears above the input; {mode.next} says how much runs"
        " unasked, from *plan* to *auto*.\n\nA line that begins with `!` is your own shell command."
        " Both are in the shell log.",
    ),
    (
        "What does the model see?",
        "Everything that it is sent can be read: {context.inspect} opens the **inspector**, with each part and its"
        " tokens. The timeline has a mark for each request, and each cut of the context has a receipt and can be"
        " undone.\n\n`@file` puts a file into a prompt: also a picture, a PDF or a sound. {prompt.paste} takes the"
        " picture on the clipboard.",
    ),
    (
        "I went the wrong way. Now what?",
        "{app.back} interrupts. Pressed twice in an empty input, it lists your prompts: choose one to go back to, with"
        " the files as they were. `/redo` undoes that, `/fork` goes on beside it.",
    ),
    (
        "And more agents?",
        "{agents.spawn} starts another one in a terminal of its own: one of ours, or Claude Code, Codex and others."
        " They go on when you leave the window. {panes.agents} lists them, {agents.waiting} goes to the next one that"
        " waits for you.",
    ),
    (
        "Where do I look things up?",
        "{app.palette} finds every action, {app.help} shows the keys that work where you are, and {app.settings} all"
        " settings. `gsh-tui doctor` says what is missing on this machine.\n\nThat was the tour. {app.quit} leaves it.",
    ),
)


def tour() -> Recording:
    """The recording."""
    info = SessionInfo(TOUR, "The tour", "", "main", "", "", 0.0, 0.0, 2 * len(_TURNS))
    events: list[Event] = []
    at = time.time()
    for number, (prompt, answer) in enumerate(_TURNS):
        made, at = _turn(number, prompt, _with_keys(answer), at)
        events += made
    return recording(info, events)


def _with_keys(text: str) -> str:
    """The text with the keys of the key table in place of their ids."""
    for id, key in KEYS.items():
        text = text.replace(f"{{{id}}}", f"`{printed_key(key.keys.split(',')[0])}`")
    return text


def _turn(number: int, prompt: str, answer: str, at: float) -> tuple[list[Event], float]:
    """The events of a turn from a time on, and when the next one begins."""
    turn, asked, said = f"tour-{number}", f"tour-{number}p", f"tour-{number}a"
    question = Message(asked, "user", (Text(prompt),), at=at, turn=turn)
    events: list[Event] = [
        TurnStarted(at=at, agent="main", session=TOUR, turn=turn, prompt=asked, text=prompt),
        MessageAppended(at=at, agent="main", session=TOUR, message=question),
        AgentStatusChanged(at=at, agent="main", status="thinking"),
    ]
    at += 1.0
    if prompt.startswith("run "):
        command, printed, call = prompt.removeprefix("run "), "214 passed", f"{said}c"
        calls = Message(f"{said}0", "assistant", (ToolCall(call, "bash", {"command": command}),), at=at, turn=turn)
        result = ToolResult(call, "bash", printed, duration=1.2)
        events += [
            MessageAppended(at=at, agent="main", session=TOUR, message=calls),
            ToolStarted(at=at, agent="main", session=TOUR, message=calls.id, call=call, tool="bash", subject=command),
            ToolFinished(
                at=at + 1.2,
                agent="main",
                session=TOUR,
                call=call,
                tool="bash",
                status="ok",
                content=printed,
                duration=1.2,
            ),
            MessageAppended(
                at=at + 1.2,
                agent="main",
                session=TOUR,
                message=Message(f"{said}1", "tool", (result,), at=at + 1.2, turn=turn),
            ),
        ]
        at += 1.5
    words = answer.split(" ")
    for start in range(0, len(words), _AT_ONCE):
        piece = "".join(f"{word} " for word in words[start : start + _AT_ONCE])
        events.append(TextDelta(at=at, agent="main", session=TOUR, message=said, text=piece))
        at += _AT_ONCE / _WORDS_A_SECOND
    whole = Message(said, "assistant", (Text(answer),), at=at, turn=turn)
    events += [
        MessageAppended(at=at, agent="main", session=TOUR, message=whole),
        TurnFinished(at=at, agent="main", session=TOUR, turn=turn, stop="end", duration=at - question.at),
        AgentStatusChanged(at=at, agent="main", status="idle"),
    ]
    return events, at + _READS_FOR


_STEP = 5.0
"""Seconds of a step forward or back."""
_SHORTEST = 10
"""Columns of the line of time; where there are fewer, the keys are left out."""


class ReplayBar(Static, can_focus=True):
    """Where the replay is, and its keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bind("replay.pause", "pause"),
        bind("replay.back", "step(-1)"),
        bind("replay.forward", "step(1)"),
        bind("replay.previous", "prompt(-1)"),
        bind("replay.next", "prompt(1)"),
        bind("replay.slower", "speed(-1)"),
        bind("replay.faster", "speed(1)"),
        bind("replay.start", "edge(0)"),
        bind("replay.end", "edge(1)"),
        bind("replay.edit", "edit"),
    ]

    class PromptChosen(TextualMessage):
        """The person wants to change this prompt and go on from there."""

        def __init__(self, prompt: Message) -> None:
            super().__init__()
            self.prompt = prompt

    DEFAULT_CSS = """
    ReplayBar { dock: bottom; height: 1; padding: 0 1; background: $panel; color: $foreground; }
    ReplayBar:focus { background: $primary 30%; }
    """

    def __init__(self, player: ReplayPlayer) -> None:
        super().__init__("", markup=False)
        self._player = player

    def on_mount(self) -> None:
        self._player.changed = self.show_position
        self.show_position()

    def show_position(self) -> None:
        """Draw it again."""
        player = self._player
        length = player.recorded.length
        state = "▶" if player.playing else "⏸"
        head = f"{state} replay {player.speed:g}x  {_clock(player.time)}/{_clock(length)} "
        keys = f"  {' · '.join(self._keys())}"
        if (room := self.content_size.width - cell_width(head) - cell_width(keys)) < _SHORTEST:
            keys, room = "", max(_SHORTEST, self.content_size.width - cell_width(head))
        done = round(room * player.time / length) if length else 0
        self.update(
            Content.assemble(
                (head, "bold"),
                ("━" * done, "$primary"),
                ("─" * (room - done), "$foreground-muted"),
                (keys, "$foreground-muted"),
            )
        )

    def _keys(self) -> list[str]:
        """The first key of each pair of actions, as they are now."""
        pairs = (("pause",), ("back", "forward"), ("previous", "next"), ("slower", "faster"), ("edit",))
        return [" ".join(shown_keys(self, f"replay.{id}").split(", ")[0] for id in pair) for pair in pairs]

    def on_resize(self) -> None:
        self.show_position()

    def action_pause(self) -> None:
        self._player.toggle()

    def action_step(self, step: int) -> None:
        self._player.seek(self._player.time + step * _STEP)

    def action_prompt(self, step: int) -> None:
        self._player.seek_prompt(step)

    def action_speed(self, step: int) -> None:
        self._player.change_speed(step)

    def action_edit(self) -> None:
        prompt = self._player.prompt_here()
        if prompt is None:
            self.notify("No prompt in this conversation.", timeout=4, markup=False)
        else:
            self.post_message(self.PromptChosen(prompt))

    def action_edge(self, end: int) -> None:
        self._player.seek(self._player.recorded.length if end else 0.0)


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


class ReplayWindow(Workbench):
    """A window on a replay.

    Args:
        session: the conversation, by its id; `TOUR`: the tour.
        agent: whose it is.
    """

    def __init__(self, cwd: Path, session: str, agent: str, speed: float) -> None:
        self._replay: ReplayHub | None = None
        self.edited: Message | None = None
        """The prompt that the person left the replay to change."""

        async def make(opening: OpenRequest) -> WindowCalls:
            from gshtui.features.replay.replay_hub import ReplayHub
            from gshtui.settings.loader import load

            loaded = await asyncio.to_thread(load, opening.cwd)
            self._replay = ReplayHub(opening.cwd, loaded, session, speed, tour() if session == TOUR else None)
            return self._replay

        super().__init__(OpenRequest(cwd, session, agent), make)

    def clock(self) -> float:
        """The time of the recording: what ran then has run for as long as it had then."""
        player = self._replay.player if self._replay is not None else None
        return player.now if player is not None else super().clock()

    async def _start_hub(self) -> None:
        self.bench.input.clear()  # of what was typed before there was a replay
        self.bench.input.disabled = True
        await super()._start_hub()
        if self._replay is None or self._replay.player is None:
            return
        bar = ReplayBar(self._replay.player)
        await self.bench.mount(bar)
        bar.focus()

    @on(ReplayBar.PromptChosen)
    async def _edit(self, message: ReplayBar.PromptChosen) -> None:

        if self.bridge.opening.session == TOUR:
            self.notify("This is the tour: it has no conversation to continue.", timeout=4, markup=False)
            return
        self.edited = message.prompt
        await self.action_quit()


def play(cwd: Path, session: str, agent: str, speed: float) -> int:
    """Show the replay until the person leaves it; returns the exit code.

    Where they leave it to change a prompt, the window on that conversation follows, with the prompt in its input.
    """
    app = ReplayWindow(cwd, session, agent, speed)
    code = app.run()
    app.ended()
    if app.edited is not None:
        return run(OpenRequest(cwd, session, agent), edited=app.edited, own=OwnHub)
    return app.return_code or code or 0
