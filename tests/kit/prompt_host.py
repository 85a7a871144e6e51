"""A tiny app around the foot of the conversation: it keeps what was said upwards, and plays the bridge."""

import json
import sys
from pathlib import Path
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.widgets import Log

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import PromptSubmitted
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.ui.kit.bridge import EventConsumer
from gshtui.ui.kit.drawing.themes import ThemedApp
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.textual.compositor import piece_compositor
from gshtui.ui.kit.textual.driver import ReadingDriver
from gshtui.ui.kit.widget_messages import CommandLine, Intent
from gshtui.ui.window.main_area import PromptArea

STYLES = Path(__file__).parents[2] / "styles"


class PromptHost(ThemedApp[None]):
    """A conversation of numbered lines above a `PromptArea`."""

    CSS_PATH = [STYLES / "prompt.tcss", STYLES / "approvals.tcss"]
    CSS = "Log { height: 1fr; }"
    BINDINGS = [
        bind("approval.focus", "below('review')"),
        bind("approval.allow", "below('allow')"),
        bind("approval.refuse", "below('refuse')"),
        bind("queue.focus", "below('queue')"),
    ]

    def __init__(self, theme: str = "gsh-dark", *, real_terminal: bool = False, **area: Any) -> None:
        super().__init__(driver_class=ReadingDriver if real_terminal else None)
        self.theme = theme
        self.pressed_at = 0.0
        self.area = PromptArea(**area)
        self.events: list[Event] = []
        self.lines: list[str] = []

    def compose(self) -> ComposeResult:
        yield Log()
        yield self.area

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key):
            self.pressed_at = event.time
        await super().on_event(event)

    def on_mount(self) -> None:
        piece_compositor(self.screen)  # it draws as the window does
        self.query_one(Log).write_lines([f"line {n} of the conversation" for n in range(100)])
        self.area.input.focus()

    async def action_below(self, action: str) -> None:
        await self.area.run_action(action)

    def on_intent(self, message: Intent) -> None:
        self.events.append(message.event)

    def on_command_line(self, message: CommandLine) -> None:
        self.lines.append(message.line)

    def feed(self, *fed: Event) -> None:
        """Hand events to every consumer, as the bridge does."""
        for widget in self.screen.query("*"):
            if isinstance(widget, EventConsumer):
                wanted = [event for event in fed if isinstance(event, widget.CONSUMES)]
                if wanted:
                    widget.consume(wanted)


def make_question(number: int = 1, **fields: Any) -> ApprovalRequested:
    """A question such as an agent asks."""
    asked: dict[str, Any] = {
        "approval": f"a{number}",
        "agent": "main",
        "session": "s",
        "call": f"c{number}",
        "tool": "bash",
        "effect": "execute",
        "subject": f"rm -r build{number}",
        "pattern": "bash rm -r build*",
        "rule": '[[rule]]\ndo = "allow"\ntool = "bash"\nexactly = "bash rm -r build*"\n',
    }
    return ApprovalRequested(**(asked | fields))


class WritingHost(PromptHost):
    """Writes what was submitted to a file, one JSON value a line, for a test that watches from outside."""

    def __init__(self, out: Path, **area: Any) -> None:
        super().__init__(real_terminal=True, **area)
        self.out = out

    def on_intent(self, message: Intent) -> None:
        if isinstance(message.event, PromptSubmitted):
            with self.out.open("a") as file:
                file.write(json.dumps(message.event.text) + "\n")


if __name__ == "__main__":
    WritingHost(Path(sys.argv[1]), project=Path(sys.argv[1]).parent).run()
