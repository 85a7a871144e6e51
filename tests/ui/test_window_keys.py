"""Keys whose work goes through several parts of the window, and those that need a hub behind it.

Keys of a single pane are pressed in the pane's own tests. The trials of one place share a window.
"""

import os
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.message import Message as TextualMessage
from textual.pilot import Pilot
from textual.widgets import Static

from gshtui.agents.commands.provider_command import CheckProvider
from gshtui.agents.commands.rewind_commands import ForkConversation, RewindConversation, RewindResult
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    InterruptRequested,
    MessageAppended,
    PromptQueued,
    PromptWithdrawn,
    ToolFinished,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.approval_events import AgentModeChanged, ApprovalAnswered, ApprovalRequested, ApprovalSettled
from gshtui.bus.events.context_events import ContextCut
from gshtui.bus.events.fleet_events import AgentRestored
from gshtui.bus.events.shell_events import InputCommandFinished, InputCommandPrinted
from gshtui.bus.messages import Message, Text
from gshtui.client.window_link import LinkedBus, WindowLink
from gshtui.client.window_protocol import OpenRequest
from gshtui.commands.config_calls import ResetSetting, ShownSettings
from gshtui.commands.declaration import Question
from gshtui.features.replay.replay_player import ReplayPlayer, recording
from gshtui.features.replay.window.replay_window import ReplayBar
from gshtui.guard.approval.question_text import question_parts
from gshtui.settings.loader import load
from gshtui.store.tables.session_table import SessionInfo
from gshtui.ui.agents.agents_pane import AgentsPane
from gshtui.ui.approvals.question_view import Answers
from gshtui.ui.context.receipt_screen import ReceiptScreen
from gshtui.ui.conversation.conversation_tab import ConversationTab
from gshtui.ui.conversation.session_picker import SessionsScreen
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.kit.widgets.dialogs import ConfirmScreen, InputScreen
from gshtui.ui.kit.widgets.folding_area import FoldingArea
from gshtui.ui.settings.settings_screen import SettingsScreen
from gshtui.ui.terminal.terminal_pane import TerminalPane
from gshtui.ui.terminal.terminal_view import TerminalView
from gshtui.ui.window.app import Workbench
from gshtui.ui.window.main_area import PromptArea
from gshtui.ui.window.workbench_screen import WorkbenchScreen
from tests.kit import recorded
from tests.kit.configuration import made_project
from tests.kit.conversations import conversations
from tests.kit.fake_hub import Answer, FakeHub
from tests.kit.fake_terminal import FakeTerminal, FakeTerminals, FakeTerminalWindow, terminal_feature
from tests.kit.idle import wait_until_idle
from tests.kit.keyboard import Keyboard
from tests.kit.native_agents import EventLog
from tests.kit.png import png
from tests.kit.recorded_contexts import COMPACTED, RecordedContexts
from tests.kit.recorded_fleet import CLAUDE, FEW, SEARCH, changed
from tests.kit.resident import resident_hub
from tests.kit.storms import FULL
from tests.kit.terminal_agents import wait_until
from tests.kit.tmux import end_server, short_folder
from tests.kit.transcript_host import wait_until_drawn
from tests.kit.window import Window, settled
from tests.ui.test_pictures import SESSIONS

pytestmark = pytest.mark.timeout(400)

SIZE = (120, 40)


class Here:
    """A window, and the person at it."""

    def __init__(self, app: Workbench, pilot: Pilot[int]) -> None:
        self.app = app
        self.pilot = pilot
        self.keyboard = Keyboard(app)

    @property
    def input(self) -> FoldingArea:
        assert isinstance(self.app.bench.input, FoldingArea)
        return self.app.bench.input

    async def settle(self) -> None:
        """Wait until the window rests, and what was begun in the background is done."""
        await wait_until_idle(self.app)
        while any(not worker.is_finished for worker in self.app.workers):
            await self.app.workers.wait_for_complete()  # pyright: ignore[reportUnknownMemberType]
            await wait_until_idle(self.app)
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        """Press keys, each once what the one before began is done."""
        for key in keys:
            self.keyboard.post(key, 0.0)
            await self.settle()

    async def answer(self, key: str) -> None:
        """Press a key as who has read the question does."""
        self.keyboard.post(key)
        await self.settle()

    async def type(self, text: str) -> None:
        """Type words, fast."""
        for character in text:
            self.keyboard.post(character, 0.0)
        await self.settle()

    async def again(self) -> None:
        """Back to the input line, empty, with nothing over it."""
        while len(self.app.screen_stack) > 1:
            await self.press("escape")
        if self.app.bench.layout_now.zoomed:
            self.app.bench.set_layout(self.app.bench.layout_now.with_zoom(""))
        self.input.put("")
        await self.press("alt+1")


class Recorded(Here):
    """A window on a hub as recorded."""

    app: Window

    @property
    def hub(self) -> FakeHub:
        assert self.app.hub is not None
        return self.app.hub

    async def feed(self, *those: Event) -> None:
        self.app.feed(*those)
        await self.settle()


@asynccontextmanager
async def recorded_window(app: Window, *events: Event) -> AsyncGenerator[Recorded]:
    """A large window with these events behind it."""
    async with app.run_test(size=SIZE) as pilot:
        here = Recorded(app, pilot)
        await here.settle()
        await here.feed(*recorded.STARTED, *events)
        yield here


def at_first() -> AbstractAsyncContextManager[Recorded]:
    return recorded_window(Window(answers={"session ls": conversations(*SESSIONS)}, service=RecordedContexts()))


def chat() -> AbstractAsyncContextManager[Recorded]:
    return recorded_window(Window(service=RecordedContexts()), *recorded.TURN, *recorded.ANSWERED)


def sidebar() -> AbstractAsyncContextManager[Recorded]:
    app = FakeTerminalWindow(service=RecordedContexts())
    terminal_feature(app).terminals = FakeTerminals(
        {"0002": app.terminal, "0001": FakeTerminal()}, {"0002": CLAUDE, "0001": SEARCH}
    )
    return recorded_window(app, *FEW)


class Real(Here):
    """A window on a real hub with the offline provider; `heard` has every event."""

    heard: EventLog

    async def settle(self) -> None:
        await self.app.bridge.shown()
        await self.pilot.pause()

    @property
    def area(self) -> PromptArea:
        return self.app.bench.query_one(PromptArea)

    @property
    def project(self) -> Path:
        return self.app.bridge.opening.cwd

    async def until(self, there: Callable[[], object]) -> None:
        await wait_until(self.pilot, there)

    async def send(self, line: str) -> None:
        await self.type(line)
        await self.press("escape", "enter") if self.area.popup.is_open else await self.press("enter")

    def count(self, kind: type[Event], **fields: Any) -> int:
        return len(self.heard.of(kind, **fields))

    async def asked(self, line: str) -> ApprovalRequested:
        """Have the offline provider run something that it must ask about."""
        before = self.count(ApprovalRequested)
        await self.send(f"run {line}")
        question = await self.heard.wait_for(ApprovalRequested, number=before + 1)
        await self.until(lambda: self.area.approvals.display)
        await self.settle()
        return question

    async def turned(self, number: int) -> TurnFinished:
        finished = await self.heard.wait_for(TurnFinished, number=number)
        await self.settle()
        return finished

    @property
    def turns(self) -> int:
        return self.count(TurnFinished)


@asynccontextmanager
async def real_hub() -> AsyncGenerator[Real]:
    with short_folder() as folder:
        os.environ["TMUX_TMPDIR"] = str(folder)
        try:
            async with real_window() as here:
                yield here
        finally:
            end_server(folder / f"tmux-{os.getuid()}" / "gsh")


@asynccontextmanager
async def resident_hub_of_the_window() -> AsyncGenerator[Real]:
    """The same, in another process."""
    with pytest.MonkeyPatch.context() as monkeypatch, resident_hub(monkeypatch):
        async with real_window() as here:
            assert isinstance(here.app.bridge.hub, WindowLink)
            yield here


@asynccontextmanager
async def real_window() -> AsyncGenerator[Real]:
    with short_folder() as folder:
        project = made_project(folder / "project")
        (project / "README.md").write_text("A project about login.\n")
        app = Workbench(OpenRequest(project))
        async with app.run_test(size=SIZE) as pilot:
            here = Real(app, pilot)
            await settled(pilot)
            here.heard = EventLog((await app.bridge.running()).bus)
            await here.settle()
            yield here


HUBS = (real_hub, resident_hub_of_the_window) if FULL else (real_hub,)


# In the conversation


async def in_chat(here: Recorded) -> Transcript:
    """The conversation, with the focus."""
    await here.press("alt+1", "alt+up")
    view = here.app.bench.query_one(Transcript)
    await wait_until_drawn(here.pilot, view)
    return view


async def edited_prompt(here: Recorded) -> None:
    here.hub.answers["rewind"] = Answer(RewindResult())
    await in_chat(here)
    back = RewindConversation(message="p1", session=here.app.session, asks=True)
    here.hub.questions = {back: Question(back, "Go back to before “say it”?")}
    await here.press("e")
    await here.settle()
    asks = here.app.screen
    assert isinstance(asks, ConfirmScreen) and "before “say it”" in str(asks.query(Static).first(Static).content)
    asks.dismiss(False)
    await here.settle()
    assert here.app.screen is here.app.bench, "it asks once"
    await here.press("e")
    await here.settle()
    asks = here.app.screen
    assert isinstance(asks, ConfirmScreen) and not any(isinstance(call, RewindConversation) for call in here.hub.ran)
    asks.dismiss(True)
    await here.settle()
    assert [call.message for call in here.hub.ran if isinstance(call, RewindConversation)] == ["p1"]
    assert here.app.input_text == recorded.PROMPT
    await here.press("ctrl+u")


async def forked_message(here: Recorded) -> None:
    here.hub.answers["fork"] = Answer(None)
    await in_chat(here)
    here.app.bench.query_one(Transcript).action_home()
    for branch in ("", "side"):
        await here.press("f")
        assert isinstance(here.app.screen, InputScreen)
        await here.type(branch)
        await here.press("enter")
        await here.settle()
        assert (here.app.input_text == recorded.PROMPT) == (not branch)
        await here.press("alt+1", "ctrl+u")
        await in_chat(here)
        here.app.bench.query_one(Transcript).action_home()
    here.app.bench.query_one(Transcript).action_end()
    await here.press("f", "enter")
    forks = [(call.message, call.worktree) for call in here.hub.ran if isinstance(call, ForkConversation)]
    assert forks[:2] == [("p1", ""), ("p1", "side")] and forks[2][0] not in ("", "p1")


async def receipt_in_the_chat(here: Recorded) -> None:
    await here.feed(ContextCut(agent="main", session=recorded.S, receipt=COMPACTED))
    await in_chat(here)
    await here.press("G", "r")
    assert isinstance(here.app.screen, ReceiptScreen) and here.app.screen.receipt.id == COMPACTED.id
    await here.press("escape")


async def prompts_in_the_chat(here: Recorded) -> None:
    said = (Message(f"u{number}", "user", (Text(f"prompt {number}"),)) for number in (1, 2))
    await here.feed(*(MessageAppended(message=one, agent="main", session=recorded.S) for one in said))
    view = await in_chat(here)
    await here.press("G", "p")
    assert view.cursor.text() == "prompt 2"
    await here.press("p")
    assert view.cursor.text() == "prompt 1"
    await here.press("P")
    assert view.cursor.text() == "prompt 2"


# In the sidebar


async def choose_claude(here: Recorded, agent: str = "0002") -> None:
    """The cursor on the agent with a worktree, or on another."""
    pane = here.app.bench.panes["agents"]
    assert isinstance(pane, AgentsPane)
    if here.app.focused is not pane:
        await here.press("alt+2")
    for key in ("down", "up"):
        for _ in pane.state.agents:
            if pane.chosen is not None and pane.chosen.id != agent:
                await here.press(key)


async def into_a_conversation(here: Recorded) -> None:
    row = here.app.screen.query_one(AgentsPane).state.agents["0001"].row
    await here.feed(*changed(msgspec.structs.replace(row, status="thinking")))
    await choose_claude(here, "0001")
    await here.press("enter")
    tab = here.app.screen.query_one(ConversationTab)
    assert here.app.focused is here.input and tab.agent == here.app.addressed == "0001"
    await here.press("escape")
    assert here.hub.said[-1] == InterruptRequested(agent="0001", at=here.hub.said[-1].at)
    await here.press("alt+s")
    assert here.app.deck.front == "terminal-0001"
    await here.press("alt+s")
    assert here.app.deck.front == "conversation-0001"
    await here.press("f6", "x")
    await here.feed(*changed(row))


async def listed(here: Recorded) -> None:
    await here.press("alt+2")
    pane = here.app.screen.query_one(AgentsPane)
    everyone = [placed.agent for placed in pane.listing.placed]
    kinds = {
        "waiting": [one for one in everyone if one.waits_now],
        "working": [one for one in everyone if not one.waits_now and one.status in ("thinking", "tool", "starting")],
        "idle": [one for one in everyone if one.status == "idle"],
        "ended": [one for one in everyone if one.ended],
    }
    for word, kept in (*kinds.items(), (everyone[0].id, everyone[:1])):
        await here.press("/", *word, "enter")
        assert {one.id for one in kept} <= {placed.agent.id for placed in pane.listing.placed}
        assert len(pane.listing.placed) < len(everyone) and here.app.focused is pane
        await here.press("/", "escape")
        assert len(pane.listing.placed) == len(everyone)
    await here.press("g")
    assert any(placed.group for placed in pane.listing.placed)
    await here.press("g")
    assert not any(placed.group for placed in pane.listing.placed)


async def next_waiting(here: Recorded) -> None:
    assert isinstance(here.app, FakeTerminalWindow)
    await here.feed(AgentRestored(agent="0002"))
    waiting = here.app.screen.query_one(AgentsPane).state.agents["0002"]
    assert waiting.waits_now and "◆ 1 needs you" in here.app.export_screenshot().replace("&#160;", " ")
    for place in ("alt+1", "alt+2", "alt+3"):
        await here.press(place, "alt+w")
        assert here.app.screen.query_one(TerminalView).has_focus
        await here.press("x")
    await here.feed(*changed(msgspec.structs.replace(SEARCH, status="waiting", needs_you=True)))
    fronts: list[str] = []
    for _ in range(4):
        await here.press("alt+w")
        fronts.append(here.app.deck.front)
    assert fronts == ["conversation-0001", "terminal-0002", "conversation-0001", "terminal-0002"]
    await here.press("x", "x")
    await here.feed(*changed(SEARCH))


# Anywhere


async def pasted_picture(here: Recorded) -> None:
    with tempfile.TemporaryDirectory() as held, pytest.MonkeyPatch.context() as patch:
        folder = Path(held)
        (folder / "a.png").write_bytes(png())
        program = folder / "wl-paste"
        program.write_text(f'#!/bin/sh\ncase "$1" in --list-types) echo image/png;; *) cat {folder}/a.png;; esac\n')
        program.chmod(0o700)
        patch.setenv("WAYLAND_DISPLAY", "wayland-0")
        patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        await here.press("alt+1", "ctrl+v")
        await here.app.workers.wait_for_complete(worker for worker in here.app.workers if worker.group == "paste")
    mentioned = here.app.input_text.strip()
    assert mentioned.startswith("@/") and Path(mentioned[1:]).read_bytes() == png()
    await here.press("ctrl+u")


async def listed_conversations(here: Recorded) -> None:
    await here.press("f3")
    screen = here.app.screen
    assert isinstance(screen, SessionsScreen) and "this folder" in title_of(screen)
    await here.press("tab")
    assert "all folders" in title_of(screen)
    await here.press("shift+tab", "escape")


def title_of(screen: SessionsScreen) -> str:
    """What stands above the list."""
    return str(screen.query_one(".dialog-title", Static).content)


async def all_settings(here: Recorded) -> None:
    here.hub.answers["config show"] = Answer(ShownSettings(load(Path.cwd()), ""))
    await here.press("alt+g")
    assert isinstance(here.app.screen, SettingsScreen)
    for words, key, kind in (("base_url", "ctrl+t", CheckProvider), ("ui.fps", "ctrl+r", ResetSetting)):
        await here.press("ctrl+u", *words, key)
        await here.settle()
        assert [call for call in here.hub.ran if isinstance(call, kind)]
    await here.press("enter")
    assert isinstance(here.app.screen, InputScreen)
    await here.press("escape", "escape")


async def replay_keys(here: Recorded) -> None:
    info = SessionInfo("s", "", "/", "main", "", "", 0.0, 0.0, 0, "")
    turns: list[Event] = []
    for at in (0.0, 9.0, 18.0, 27.0):
        prompt = Message(f"p{at:.0f}", "user", (Text("again"),))
        turns.append(TurnStarted(at=at, agent="main", session="s", turn="t", prompt=prompt.id))
        turns.append(MessageAppended(at=at, agent="main", session="s", message=prompt))
    player = ReplayPlayer(Bus(), recording(info, turns))
    chosen: list[str] = []

    class Bar(ReplayBar):
        def post_message(self, message: TextualMessage) -> bool:
            if isinstance(message, ReplayBar.PromptChosen):
                chosen.append(message.prompt.id)
            return super().post_message(message)

    bar = Bar(player)
    await here.app.bench.mount(bar)
    bar.focus()
    length = player.recorded.length
    assert length == 6.0
    await here.press("space")
    assert player.playing
    await here.press("space", "right")
    assert (player.playing, player.time) == (False, 5.0)
    await here.press("left")
    assert player.time == 0.0
    await here.press("]", "]")
    assert player.time == 4.0
    await here.press("[")
    assert player.time == 2.0
    await here.press("plus", "plus", "minus", "e")
    assert player.speed == 2.0 and chosen == ["p9"]
    await bar.remove()


# With a hub, a project and the offline provider


async def modes(here: Real) -> None:
    assert isinstance(here.app.bench, WorkbenchScreen)
    shown: list[str] = []
    while len(shown) < 2 or shown[-1] != "ask":
        before = here.count(AgentModeChanged)
        await here.press("shift+tab")
        changed = await here.heard.wait_for(AgentModeChanged, number=before + 1)
        await here.until(lambda mode=changed.mode: f"· {mode}" in str(here.app.bench.input.border_title or ""))
        shown.append(changed.mode)
    assert shown in (["edit", "auto", "plan", "ask"], ["edit", "plan", "ask"])  # the latter where no sandbox holds


async def prompt(here: Real) -> None:
    turns = here.turns
    await here.type("read README.md")
    await here.press("enter")
    assert (await here.turned(turns + 1)).stop == "end"
    await here.press("/")
    await here.until(lambda: "/help" in [one.shown for one in here.area.popup.candidates])
    await here.type("help ")
    await here.press("escape", "enter")
    await here.until(lambda: "/agents" in here.app.bench.query_one(Transcript).document.sheets[-1].text)
    await here.type("/session archive")
    await here.press("escape", "enter")
    await here.until(lambda: here.input.text == "/session archive " and here.area.popup.is_open)
    assert here.area.popup.chosen is not None and here.area.popup.chosen.detail == "read README.md"
    await here.press("enter", "enter")
    await here.until(lambda: here.input.text == "/session archive " and here.area.popup.is_open)
    await here.press("tab")
    assert here.input.text == f"/session archive {here.app.session} ", "who wants one chooses it"
    await here.press("escape", "ctrl+u")
    await here.type("/agent kill")
    await here.press("escape", "enter")
    await here.until(lambda: "no agent to choose" in here.app.bench.query_one(Transcript).document.sheets[-1].text)
    await here.press("escape", "ctrl+u", "@")
    await here.type("READ")
    await here.until(lambda: here.area.popup.is_open)
    await here.press("tab")
    assert here.input.text == "@README.md "


async def interrupted(here: Real) -> None:
    turns = here.turns
    await here.asked("touch never")
    await here.type("and then this")
    await here.press("enter")
    await here.until(lambda: not here.input.text)
    await here.press("escape")
    assert (await here.turned(turns + 1)).stop == "interrupted" and not (here.project / "never").exists()
    await here.until(lambda: here.input.text == "and then this")
    await here.press("ctrl+u")


async def stopped(here: Real) -> None:
    await here.send("!echo begun; sleep 60")
    assert "begun" in (await here.heard.wait_for(InputCommandPrinted)).text
    await here.press("escape")
    assert (await here.heard.wait_for(InputCommandFinished)).status != "ok"


async def sent(here: Real) -> None:
    turns = here.turns
    await here.type("one")
    await here.press("alt+enter")
    await here.type("two")
    assert here.input.text == "one\ntwo"
    await here.press("enter")
    await here.turned(turns + 1)
    assert here.input.text == ""
    said = [event.message for event in here.heard.of(MessageAppended) if event.message.role == "user"]
    assert said[-1].blocks == (Text("one\ntwo"),)


async def completed(here: Real) -> None:
    for typed, whole in (("/usag", "/usage "), ("see @READ", "see @README.md "), ("/usage by=mod", "/usage by=model ")):
        await here.type(typed)
        await here.until(lambda: here.area.popup.is_open)
        await here.press("tab")
        assert here.input.text == whole
        here.input.put("")
        await here.settle()


async def earlier(here: Real) -> None:
    turns = here.turns
    for text in ("first words", "second words"):
        await here.send(text)
        turns += 1
        await here.turned(turns)
    await here.press("up", "up")
    assert here.input.text == "first words"
    here.input.put("")
    await here.press("ctrl+r")
    await here.type("second")
    await here.until(lambda: [one.insert for one in here.area.popup.candidates][:1] == ["second words"])
    await here.press("enter")
    assert here.input.text == "second words"


async def back(here: Real) -> None:
    turns = here.turns
    await here.asked("touch never")
    await here.press("alt+2", "escape")
    assert here.app.focused is here.input and here.turns == turns
    await here.press("escape")
    assert (await here.turned(turns + 1)).stop == "interrupted"


async def answered(here: Real) -> None:
    """Each answer, and what it means for the same call a second time."""
    turns = here.turns

    async def run(line: str, key: str = "") -> bool:
        """Whether a question came up."""
        nonlocal turns
        asked = here.count(ApprovalRequested)
        if key:
            await here.asked(line)
            await here.press("ctrl+g")
            assert here.app.focused is here.area.approvals
            if key == "enter":
                await here.press("right", "escape", "ctrl+g")
                assert here.app.query_one(Answers).marked == "once", "the first one, whenever it is opened"
                await here.press("right", "right", "right", "right", "left")
                assert here.app.query_one(Answers).marked == "deny"
            await here.answer(key)
            if key == "3":
                await here.until(lambda: bool(here.area.approvals.query("#rule-form")))
                await here.answer("enter")
            if key == "5":
                await here.type("use git")
                await here.press("enter")
        else:
            await here.send(f"run {line}")
        turns += 1
        await here.turned(turns)
        return here.count(ApprovalRequested) > asked

    assert await run("touch once", "4") and not (here.project / "once").exists()
    assert await run("touch once", "enter") and not (here.project / "once").exists()
    assert await run("touch once", "1") and (here.project / "once").exists()
    assert await run("touch session", "2") and not await run("touch session")
    assert await run("touch session other", "5")
    assert "use git" in here.heard.of(ToolFinished)[-1].content
    assert await run("touch always", "3")
    assert not await run("touch always")
    said = [event.decision for event in here.heard.of(ApprovalSettled) if event.by == "person"]
    assert said[-5:] == [
        "deny",
        "once",
        "session",
        "deny",
        "always",
    ]


async def question_opened(here: Real) -> None:
    turns = here.turns
    await here.asked("mkdir unwanted")
    pane = here.area.approvals
    await here.until(lambda: pane.region.height == 1)
    await here.press("ctrl+g")
    await here.until(lambda: pane.region.height > 1)
    rows = [line.text for line in question_parts(pane.state.waiting[0]).head]
    assert rows == ["mkdir unwanted"] and question_parts(pane.state.waiting[0]).where.startswith("in ")
    await here.press("escape", "escape")
    assert (await here.turned(turns + 1)).stop == "interrupted"
    await here.press("ctrl+g")
    said = [notice.message for notice in here.app._notifications]  # pyright: ignore[reportPrivateUsage]
    assert "No question is waiting." in said and here.app.focused is here.input


async def allowed_by_one_key(here: Real) -> None:
    turns = here.turns
    await here.asked("mkdir wanted")
    await here.until(lambda: here.area.approvals.region.height == 1)
    await here.press("alt+2")
    await here.answer("alt+a")
    await here.turned(turns + 1)
    assert (here.project / "wanted").is_dir() and here.app.focused is not here.area.approvals


async def its_own(here: Real) -> None:
    turns = here.turns
    first = await here.asked("mkdir gone")
    bus = (await here.app.bridge.running()).bus
    happens = bus.arrive if isinstance(bus, LinkedBus) else bus.publish  # no window says what is a fact
    other = msgspec.structs.replace(first, approval="another", call="another")
    happens(other)
    await here.press("ctrl+g")
    bus.publish(InterruptRequested(agent=first.agent))
    finished = await here.turned(turns + 1)
    assert 0 < finished.waited < finished.duration
    await here.answer("1")
    assert not here.count(ApprovalAnswered, approval="another")
    await here.press("ctrl+g")
    await here.answer("1")
    await here.heard.wait_for(ApprovalAnswered, approval="another")
    happens(ApprovalSettled(approval="another", agent=first.agent, call="another", decision="once"))
    await here.until(lambda: not here.area.approvals.display)
    assert not (here.project / "gone").exists()


async def queued(here: Real) -> None:
    turns = here.turns
    await here.asked("mkdir never")
    await here.send("and then")
    await here.heard.wait_for(PromptQueued)
    await here.until(lambda: here.area.queue.display)
    await here.press("alt+q")
    assert here.app.focused is here.area.queue
    await here.press("delete")
    await here.heard.wait_for(PromptWithdrawn)
    await here.press("escape", "escape")
    assert (await here.turned(turns + 1)).stop == "interrupted"


async def shared(here: Real) -> None:
    await here.press("f9")
    await here.until(lambda: here.app.query(TerminalPane))
    view = here.app.query_one(TerminalView)
    await here.until(lambda: view.picture.frame is not None)
    assert here.app.focused is view
    await here.press("x")
    await here.until(lambda: not here.app.query(TerminalPane))


CONVERSATION = (prompt, sent, completed, earlier, stopped, shared, modes)
QUESTIONS = (interrupted, back, answered, question_opened, allowed_by_one_key, its_own, queued)


@pytest.mark.tmux
@pytest.mark.parametrize(
    ("place", "trials"),
    [
        (at_first, (pasted_picture, listed_conversations, all_settings, replay_keys)),
        (chat, (edited_prompt, forked_message, receipt_in_the_chat, prompts_in_the_chat)),
        (sidebar, (into_a_conversation, listed, next_waiting)),
        *((hub, trials) for hub in HUBS for trials in (CONVERSATION, QUESTIONS)),
    ],
)
async def test_keys_do_their_work(
    place: Callable[[], AbstractAsyncContextManager[Here]], trials: Sequence[Callable[[Here], Awaitable[None]]]
) -> None:
    async with place() as here:
        for trial in trials:
            try:
                await trial(here)
                await here.again()
            except BaseException as error:
                error.add_note(f"in {trial.__name__}")
                raise
