"""Every pane, tab and dialog of the window in front, by name: for tests that hold wherever a person is.

A scene is a window on recorded events, and the way to it. `opened(scene)` gives the window with its terminal behind it.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from gshtui.bus.context_data import Task
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import MessageAppended, PromptQueued, TextDelta, TurnStarted
from gshtui.bus.events.call_events import CallOpenRequested
from gshtui.bus.events.context_events import SummaryProposed, TasksChanged
from gshtui.bus.messages import Message, Text
from gshtui.fleet.commands.agent_lifecycle import kill_question
from gshtui.fleet.core.agent_calls import KillAgent
from gshtui.providers.model_command import ListedModel, ModelList
from gshtui.tools.git.git_worktree import WorktreeList
from gshtui.ui.calls.call_tab import CallTab
from gshtui.ui.conversation.conversation_tab import ConversationTab
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.kit.widget_messages import OpenConversation, OpenTerminal
from gshtui.ui.prompt.prompt_completion import CompletionItem, CompletionPopup
from tests.kit import recorded, recorded_calls, recorded_shell
from tests.kit.conversations import conversation, conversations
from tests.kit.fake_hub import Answer
from tests.kit.fake_terminal import SHELL, FakeTerminalWindow
from tests.kit.recorded_contexts import COMPACTED, RecordedContexts
from tests.kit.recorded_fleet import CLAUDE, DIFF, FEW, PERSONAS, PROFILES, SEARCH, changed
from tests.kit.recorded_shell import FakeRecord
from tests.kit.terminal_agents import wait_until
from tests.kit.terminal_screen import wait_until_idle, watch_output
from tests.kit.window import NOW, Window, WindowOptions

MODELS = ModelList(
    [
        ListedModel("anthropic", "claude-sonnet-4-5", "Sonnet", window=200_000, usable=True),
        ListedModel("offline", "offline", "offline (no model)", "offline", usable=True),
    ],
    [],
)
SESSIONS = [
    conversation("s2", "Make the parser take empty lines", messages=14, updated=NOW - 7_200),
    conversation("s1", "Why is the build slow?", messages=31, updated=NOW - 200_000, held_by="pts/4"),
]
ANSWERS = {
    "session ls": conversations(*SESSIONS),
    "model list": Answer(MODELS),
    "personas": Answer(PERSONAS),
    "profiles ls": Answer(PROFILES),
    "git_worktree list": Answer(WorktreeList([])),
    "git_worktree diff /src/aurora-lexer": Answer(DIFF),
}
AGENT = msgspec.structs.replace(SEARCH, session="0sessi0n000002")
"""One of our own agents, with a conversation."""
QUESTIONS = {KillAgent(agent="0002"): kill_question(CLAUDE, ["Its worktree lexer holds 2 files not committed."])}
WAITS = (SummaryProposed(agent="main", session=recorded.S, receipt=COMPACTED, deadline=NOW + 90),)
QUEUED = (
    PromptQueued(prompt="q1", agent="main", text="then update the README\nand the changelog"),
    PromptQueued(prompt="q2", agent="main", text="and run the tests"),
)
TASKS = TasksChanged(
    agent="main",
    session=recorded.S,
    tasks=(
        Task("1", "read the parser and its tests", "done"),
        Task("2", "split lines with csv", "active"),
        Task("3", "update the changelog"),
    ),
)
PAST = tuple(f"\x1b[2m{number:5}\x1b[0m  \x1b[3{number % 7 + 1}mpassed\x1b[0m test_parser" for number in range(200))


@dataclass(frozen=True)
class Scene:
    """A way to something that can be in front."""

    name: str
    keys: Sequence[str] = ()
    events: tuple[Event, ...] = recorded.TURN
    then: Callable[[Window, Pilot[int]], Awaitable[None]] | None = None


async def _terminal(app: Window, pilot: Pilot[int]) -> None:
    assert isinstance(app, FakeTerminalWindow)
    app.post_message(OpenTerminal("0001"))
    await wait_until(pilot, lambda: app.terminal.sizes)
    app.terminal.show(SHELL[: app.terminal.sizes[-1][1]])


async def _agent_tab(app: Window, pilot: Pilot[int]) -> None:
    app.post_message(OpenConversation(AGENT))
    await wait_until(pilot, lambda: app.screen.query(ConversationTab))
    answer = Message("a1", "assistant", (Text(recorded.ANSWER),))
    app.feed(MessageAppended(agent=AGENT.id, session=AGENT.session, message=answer))
    await wait_until_drawn(app, pilot)


async def _call(app: Window, pilot: Pilot[int]) -> None:
    app.feed(CallOpenRequested(call="audio"))
    await wait_until(pilot, lambda: app.screen.query(CallTab))
    await wait_until_drawn(app, pilot)


async def _completing(app: Window, pilot: Pilot[int]) -> None:
    popup = app.bench.query_one(CompletionPopup)
    files = [f"src/aurora/module{number}/parser.py" for number in range(9)]
    popup.show([CompletionItem(f"@{name}", 8, name, "", "file", (19, 20, 21)) for name in files])


async def _pasted(app: Window, pilot: Pilot[int]) -> None:
    app.post_message(Paste("".join(f"line {number} of what was pasted\n" for number in range(240))))
    await wait_until_idle(pilot)
    await pilot.press("alt+o")


async def _said(app: Window, pilot: Pilot[int]) -> None:
    app.notify("A word in the corner.", timeout=600)
    app.bench.banner.add_notice("A part failed: the record.", "Make room; recording goes on by itself.")


SCENES = (
    Scene("chat"),
    Scene("offer", events=()),
    Scene("said", then=_said),
    Scene("completion", tuple("@par"), then=_completing),
    Scene("tasks", events=(*recorded.TURN, TASKS)),
    Scene("pasted", then=_pasted),
    Scene("history", ("ctrl+r",)),
    Scene("queue", ("alt+q",), (*recorded.TURN, *QUEUED)),
    Scene("asked", ("ctrl+g",), (*recorded.TURN, *recorded.ASKED)),
    Scene("found", ("alt+up", "slash", *"parse")),
    Scene("agents", ("alt+2", "down"), FEW),
    Scene("menu", ("alt+2", "space"), FEW),
    Scene("kill", ("alt+2", "delete"), FEW),
    Scene("changes", ("alt+2", "d", "n"), FEW),
    Scene("spawn", ("f8",), FEW),
    Scene("shell", ("alt+3", "up", "up"), (*recorded.TURN, *recorded_shell.SHELLS)),
    Scene("filter", ("alt+3", "f", "slash", *"test"), recorded_shell.SHELLS),
    Scene("output", ("alt+3", "home", *("down",) * 5, "enter"), recorded_shell.SHELLS),
    Scene("context", ("alt+4", "down", "down")),
    Scene("preview", ("alt+4", "c")),
    Scene("timeline", ("alt+5", "left")),
    Scene("iteration", ("alt+5", "enter")),
    Scene("summary", ("ctrl+g",), WAITS),
    Scene("written", ("ctrl+g", "2"), WAITS),
    Scene("inspector", ("f7", *("down",) * 4, "enter")),
    Scene("sent", ("f7", "r")),
    Scene("sought", ("f7", "slash", *"parse")),
    Scene("tune", ("f7", "t")),
    Scene("terminal", then=_terminal),
    Scene("agent tab", events=(*recorded.TURN, *changed(AGENT, CLAUDE)), then=_agent_tab),
    Scene("call", then=_call),
    Scene("palette", ("ctrl+p",)),
    Scene("help", ("f1",)),
    Scene("models", ("f2",)),
    Scene("sessions", ("f3",)),
)


@asynccontextmanager
async def open_scene(scene: Scene, size: tuple[int, int] = (120, 40)) -> AsyncGenerator[tuple[Window, Pilot[int]]]:
    """The window with this in front, on a terminal of this size."""
    options: WindowOptions = {
        "answers": ANSWERS,
        "questions": QUESTIONS,
        "results": recorded_calls.pages(recorded_calls.TALK),
        "store": FakeRecord(),
        "service": RecordedContexts(),
    }
    app = FakeTerminalWindow(past=PAST, **options) if scene.then is _terminal else Window(**options)
    watch_output(app)
    async with app.run_test(size=size) as pilot:
        await wait_until_idle(pilot)
        app.feed(*recorded.STARTED, *scene.events)
        await wait_until_idle(pilot)
        for key in scene.keys:
            await pilot.press(key)
            await wait_until_idle(pilot)
        if scene.then is not None:
            await scene.then(app, pilot)
        # The cursor stands still, whatever the time is.
        for screen in app.screen_stack:
            for field in screen.query("TextArea, Input, PromptInput"):
                if isinstance(field, TextArea | Input):
                    field.cursor_blink = False
        await wait_until_idle(pilot)
        yield app, pilot


def answer_piece(number: int) -> tuple[Event, ...]:
    """The next pieces of the answers of two agents that are coming in."""
    text = f"Line {number}: wörter 表 **bold** and `code`, {'word ' * (number % 23)}\n\n"
    pieces: list[Event] = []
    for agent, session in (("main", recorded.S), (AGENT.id, AGENT.session)):
        ids: dict[str, Any] = {"agent": agent, "session": session}
        if number == 0:
            pieces.append(TurnStarted(**ids, turn=f"turn9 {agent}", prompt=f"p9 {agent}", text="Tell me more."))
        pieces.append(TextDelta(**ids, message=f"m9 {agent}", text=text))
    return tuple(pieces)


async def wait_until_drawn(app: Window, pilot: Pilot[int]) -> None:
    """Wait until the window rests and the conversation is drawn."""
    await wait_until_idle(pilot)
    await wait_until(pilot, lambda: not any(one.drawing for one in app.bench.query(Transcript)))
    await wait_until_idle(pilot)
