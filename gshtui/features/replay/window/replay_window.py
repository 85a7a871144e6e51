"""The window that plays a recorded conversation: the workbench as it is, with a bar of the replay's keys below it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message as TextualMessage
from textual.widgets import Static

from gshtui.client.window_calls import WindowCalls
from gshtui.client.window_protocol import OpenRequest
from gshtui.text.cells import width as cell_width
from gshtui.ui.kit.keys.key_bar import shown_keys
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.window.app import Workbench
from gshtui.ui.window.window_run import run

if TYPE_CHECKING:
    from gshtui.bus.messages import Message
    from gshtui.features.replay.replay_hub import ReplayHub
    from gshtui.features.replay.replay_player import ReplayPlayer

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
            from gshtui.features.replay.window.tour import TOUR, tour
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
        from gshtui.features.replay.window.tour import TOUR

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
        return run(OpenRequest(cwd, session, agent), edited=app.edited)
    return app.return_code or code or 0
