"""Every key that the manual (the README and its guides) names is pressed where it says that it works, and what it says
is seen.

A claim is a row or a clause of the manual, word for word. A key without a claim fails, and so does a claim whose words
have gone: who changes a row changes what is pressed for it. The claims of one place share one window.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from textual.message import Message as TextualMessage
from textual.pilot import Pilot
from textual.widgets import Input, Static, TextArea

from gshtui.agents.commands.provider_command import CheckProvider
from gshtui.agents.commands.rewind import EarlierPrompt
from gshtui.agents.commands.rewind_commands import ForkConversation, RewindConversation, RewindResult
from gshtui.bus.bus import Bus
from gshtui.bus.call_data import CallInfo
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
from gshtui.bus.events.context_events import ContextCut, CutFailed, CutUndone
from gshtui.bus.events.fleet_events import AgentKilled, AgentRestored
from gshtui.bus.events.session_events import SessionChangeRequested
from gshtui.bus.events.shell_events import InputCommandFinished, InputCommandPrinted
from gshtui.bus.messages import Message, Text
from gshtui.calls.call_values import CallListing
from gshtui.client.window_link import LinkedBus, WindowLink
from gshtui.commands.config_calls import ResetSetting, SetSetting, ShownSettings
from gshtui.commands.declaration import Question
from gshtui.fleet.commands.agent_lifecycle import kill_question
from gshtui.fleet.commands.worktree_commands import FinishWorktree
from gshtui.fleet.core.agent_calls import (
    AgentList,
    ArchiveAgent,
    ForkAgent,
    InterruptAgent,
    KillAgent,
    SendToAgent,
    SentMessage,
    UndoKill,
)
from gshtui.fleet.core.agent_states import AgentState
from gshtui.guard.approval.question_text import question_parts
from gshtui.hub.replay.replay_player import ReplayPlayer, recording
from gshtui.providers.model_command import ChangeModel, ModelList
from gshtui.settings.loader import load
from gshtui.store.tables.session_table import SessionInfo
from gshtui.tools.git.git_worktree import CompareWorktree, MergeWorktree, WorktreeList, WritePatch
from gshtui.tools.git.hunk_commands import DiscardHunk, ShowHunk, StageHunk
from gshtui.tools.git.worktree import Worktree
from gshtui.ui.agents.agents_pane import AgentsPane
from gshtui.ui.agents.spawn_dialog import SpawnScreen
from gshtui.ui.approvals.question_view import Answers
from gshtui.ui.calls.call_picker import CallsScreen
from gshtui.ui.changes.diff_pane import DiffPane, WorktreesScreen
from gshtui.ui.context.context_feature import ContextFeature
from gshtui.ui.context.inspector_pane import InspectorPane
from gshtui.ui.context.receipt_screen import ReceiptScreen
from gshtui.ui.context.summaries import SummaryScreen
from gshtui.ui.context.timeline_pane import TimelinePane
from gshtui.ui.context.tune_dialog import TuneScreen
from gshtui.ui.conversation.conversation_tab import ConversationTab
from gshtui.ui.conversation.pickers import ModelsScreen, PromptsScreen
from gshtui.ui.conversation.session_picker import SessionsScreen
from gshtui.ui.kit.hub_port import OpenRequest
from gshtui.ui.kit.keys.key_table import KEYS
from gshtui.ui.kit.transcript.entries import ToolEntry
from gshtui.ui.kit.transcript.text_screen import TextScreen
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.kit.widgets.dialogs import ConfirmScreen, FoldScreen, InputScreen, Picker
from gshtui.ui.kit.widgets.folding_area import FoldingArea
from gshtui.ui.servers.servers_tab import ServersTab
from gshtui.ui.settings.settings_screen import SettingsScreen
from gshtui.ui.settings.setup_card import CardScreen
from gshtui.ui.shell.shell_pane import ShellPane
from gshtui.ui.shell.shell_record import RecordScreen
from gshtui.ui.terminal.terminal_pane import TerminalPane
from gshtui.ui.terminal.terminal_view import TerminalView
from gshtui.ui.window.app import Workbench
from gshtui.ui.window.help import HelpScreen
from gshtui.ui.window.main_area import PromptArea
from gshtui.ui.window.palette import PaletteScreen
from gshtui.ui.window.replay_window import ReplayBar
from gshtui.ui.window.workbench_screen import WorkbenchScreen
from tests.kit import recorded, recorded_shell
from tests.kit.command import command
from tests.kit.configuration import made_project
from tests.kit.conversations import conversations
from tests.kit.fake_hub import Answer
from tests.kit.fake_terminal import FakeTerminal, FakeTerminals, FakeTerminalWindow, terminal_feature
from tests.kit.home import Home
from tests.kit.idle import wait_until_idle
from tests.kit.keyboard import Keyboard
from tests.kit.manual import Claim, keys_of, name_of, outdated, uncovered
from tests.kit.native_agents import EventLog
from tests.kit.png import png
from tests.kit.pty_child import PtyChild
from tests.kit.recorded_contexts import AGENTS, COMPACTED, PROMPT, PRUNED, RecordedContexts
from tests.kit.recorded_fleet import CLAUDE, DIFF, DONE, FEW, PERSONAS, PROFILES, SEARCH, changed
from tests.kit.recorded_shell import EARLIER, FakeRecord, FakeShellLog
from tests.kit.resident import resident_hub
from tests.kit.shell_keys import offer_agents, program_folder, write_echo_program
from tests.kit.shells import Shell
from tests.kit.storms import FULL
from tests.kit.terminal_agents import wait_until
from tests.kit.tmux import end_server, short_folder
from tests.kit.transcript_host import screen_rows, wait_until_drawn
from tests.kit.window import NOW, Window, settled
from tests.ui.test_inspector_pane import has
from tests.ui.test_pictures import MODELS, SESSIONS
from tests.ui.test_shell_pane import commands, shown
from tests.ui.test_timeline_pane import SENT

pytestmark = pytest.mark.timeout(400)

SIZE = (120, 40)
CLAIMS: list[Claim] = []
PARSER = "/src/aurora-lexer"
CHANGES = CompareWorktree(path=PARSER)
UNSAVED = ["Its worktree lexer holds 2 files not committed (src/lexer.py, tests/test_lexer.py)."]


def told(place: str, said: str, *, keys: bool = True) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """The function below shows that these words of the manual are true, at a place. `keys`: its signs are keys."""

    def claimed(shown: Callable[[Any], Any]) -> Callable[[Any], Any]:
        CLAIMS.append(Claim(said, place, shown, keys))
        return shown

    return claimed


class Here:
    """A window at some place: what was pressed in it since a claim began, and what the person sees."""

    def __init__(self, app: Workbench, pilot: Pilot[int]) -> None:
        self.app = app
        self.pilot = pilot
        self.pressed: set[str] = set()
        self.keyboard = Keyboard(app)

    @property
    def input(self) -> FoldingArea:
        """The input line."""
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
            self.pressed.add(name_of(key))
            self.keyboard.post(key if len(key) == 1 else name_of(key), 0.0)
            await self.settle()

    async def answer(self, key: str) -> None:
        """Press a key as who has read the question does."""
        self.pressed.add(key)
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
        self.pressed.clear()


class Recorded(Here):
    """A window on a hub as recorded."""

    app: Window

    @property
    def said(self) -> list[Event]:
        assert self.app.hub is not None
        return self.app.hub.said

    @property
    def ran(self) -> list[Any]:
        assert self.app.hub is not None
        return self.app.hub.ran

    @property
    def done(self) -> list[tuple[Any, ...]]:
        """What the context service was told to do."""
        assert self.app.hub is not None and self.app.hub.service is not None
        return self.app.hub.service.done

    async def feed(self, *those: Event) -> None:
        self.app.feed(*those)
        await self.settle()


def said(number: int) -> tuple[Event, ...]:
    """A prompt and its answer."""
    answer = "\n\n".join(f"answer {number}.{row}" for row in range(20))
    return (
        MessageAppended(
            message=Message(f"u{number}", "user", (Text(f"prompt {number}"),)), agent="main", session=recorded.S
        ),
        MessageAppended(message=Message(f"a{number}", "assistant", (Text(answer),)), agent="main", session=recorded.S),
    )


ANSWERS: dict[str, Answer] = {
    "session ls": conversations(*SESSIONS),
    "model list": Answer(ModelList([dataclasses.replace(one, usable=True) for one in MODELS.models], [])),
    "personas": Answer(PERSONAS),
    "profiles ls": Answer(PROFILES),
    "git_worktree list": Answer(WorktreeList([Worktree("/src/aurora", "main", main=True), Worktree(PARSER, "lexer")])),
    CHANGES.words(): Answer(DIFF),
    "rewind": Answer(RewindResult((EarlierPrompt(1, 1, "p1", "the first", NOW),))),
}


@contextlib.asynccontextmanager
async def recorded_window(app: Window, *events: Event) -> AsyncGenerator[Recorded]:
    """A large window with these events behind it."""
    async with app.run_test(size=SIZE) as pilot:
        here = Recorded(app, pilot)
        await here.settle()
        await here.feed(*recorded.STARTED, *events)
        yield here


def at_first() -> contextlib.AbstractAsyncContextManager[Recorded]:
    return recorded_window(Window(answers=ANSWERS, service=RecordedContexts()))


def chat() -> contextlib.AbstractAsyncContextManager[Recorded]:
    return recorded_window(Window(service=RecordedContexts()), *recorded.TURN, *recorded.ANSWERED)


def shell_log() -> contextlib.AbstractAsyncContextManager[Recorded]:
    return recorded_window(Window(store=FakeRecord(), service=RecordedContexts()))


def inspector() -> contextlib.AbstractAsyncContextManager[Recorded]:
    return recorded_window(Window(answers=ANSWERS, service=RecordedContexts()), *recorded.TURN, *FEW)


def timeline() -> contextlib.AbstractAsyncContextManager[Recorded]:
    return recorded_window(Window(service=RecordedContexts()), *SENT)


def sidebar() -> contextlib.AbstractAsyncContextManager[Recorded]:
    merge = MergeWorktree(path=PARSER)
    questions = {
        KillAgent(agent="0002"): kill_question(CLAUDE, UNSAVED),
        merge: Question(merge, "Merge lexer into main?", "4 files.", "Merge"),
    }
    app = FakeTerminalWindow(answers=ANSWERS, questions=questions, service=RecordedContexts())
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
        """Type a line and send it."""
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
        """The end of a turn, by its number."""
        finished = await self.heard.wait_for(TurnFinished, number=number)
        await self.settle()
        return finished

    @property
    def turns(self) -> int:
        return self.count(TurnFinished)


@contextlib.asynccontextmanager
async def real_hub() -> AsyncGenerator[Real]:
    with short_folder() as folder:
        os.environ["TMUX_TMPDIR"] = str(folder)
        try:
            async with real_window() as here:
                yield here
        finally:
            end_server(folder / f"tmux-{os.getuid()}" / "gsh")


@contextlib.asynccontextmanager
async def resident_hub_of_the_window() -> AsyncGenerator[Real]:
    """The same, in another process."""
    with pytest.MonkeyPatch.context() as monkeypatch, resident_hub(monkeypatch):
        async with real_window() as here:
            assert isinstance(here.app.bridge.hub, WindowLink)
            yield here


@contextlib.asynccontextmanager
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


PLACES: dict[str, Callable[[], contextlib.AbstractAsyncContextManager[Here]]] = {
    "window": at_first,
    "chat": chat,
    "log": shell_log,
    "inspector": inspector,
    "timeline": timeline,
    "sidebar": sidebar,
    "hub": real_hub,
    "resident hub": resident_hub_of_the_window,
}
PARTS = {"hub": 2, "resident hub": 2}
"""Into how many tests the claims of a place are divided, with a window each."""


@contextlib.contextmanager
def blamed(claim: Claim) -> Generator[None]:
    """Whatever fails inside is about this claim."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"The manual says: {claim.words}")
        raise


def test_every_key_of_the_readme_is_pressed_here() -> None:
    assert uncovered(CLAIMS) == []
    assert outdated(CLAIMS) == []
    assert {claim.place for claim in CLAIMS} == {*PLACES.keys() - {"resident hub"}, "terminal", "zsh"}


@pytest.mark.tmux
@pytest.mark.parametrize(
    ("place", "part", "parts"),
    [
        (place, part, parts)
        for place in PLACES
        for parts in [PARTS.get(place, 1)]
        for part in range(parts)
        if FULL or place != "resident hub"
    ],
)
async def test_keys_do_what_the_readme_says(place: str, part: int, parts: int) -> None:
    async with PLACES[place]() as here:
        for claim in [claim for claim in CLAIMS if claim.place == place.removeprefix("resident ")][part::parts]:
            with blamed(claim):
                await claim.shown(here)
                if claim.keys:
                    assert keys_of(claim.words) <= here.pressed, "a key that it names was not pressed"
                await here.again()


# Anywhere in the window


@told("window", "| `alt+c` | continue the last conversation of this folder |")
async def continue_last(here: Recorded) -> None:
    await here.press("alt+c")
    assert [event.session for event in here.said if isinstance(event, SessionChangeRequested)] == ["s2"]


@told("window", "`/model` (or `F2`) lists the models and switches between them, even to another provider in the middle")
async def another_provider(here: Recorded) -> None:
    for way in ("f2", "/model"):
        if way == "f2":
            await here.press("f2")
        else:
            await here.type("/model")
            await here.press("enter")
        assert isinstance(here.app.screen, ModelsScreen)
        await here.type("openai")
        await here.press("enter")
        assert here.ran[-1] == ChangeModel(name="gpt-5", provider="openai")


@told(
    "window",
    "| `ctrl+p` | command palette: finds every action by what it is called or does, by its key and by its id; "
    "the recent ones come first |",
)
@told("window", "| `ctrl+p` | Find any action |")
async def palette(here: Recorded) -> None:
    await here.press("ctrl+p")
    assert isinstance(here.app.screen, PaletteScreen)
    await here.type("f11")
    assert here.app.screen.listed[0].id == "key:panes.zoom"
    await here.press("escape")


@told("window", "| a question mark in an empty input | the keys that are used most |", keys=False)
async def most_used_keys(here: Recorded) -> None:
    await here.press("?")
    assert "ctrl+p" in str(here.app.query_one("#quick-keys", Static).render())


@told("window", "| `f1` | the keys that work here, and all others; type to search them |")
@told("window", "| `f1` | Show the keys that work here |")
async def help_here(here: Recorded) -> None:
    await here.press("f1")
    assert isinstance(here.app.screen, HelpScreen)
    assert "Start a new line" in here.app.screen.plain.partition("Elsewhere")[0]
    await here.type("zoom")
    assert "panes.zoom" in here.app.screen.plain and "prompt.newline" not in here.app.screen.plain
    await here.press("escape")


@told("window", "You can change every key by its id in `[keybindings]`; `F1` shows the ids.")
async def ids(here: Recorded) -> None:
    await here.press("F1")
    assert isinstance(here.app.screen, HelpScreen)
    assert [id for id in KEYS if id not in here.app.screen.plain.split()] == []
    await here.press("escape")
    here.app.set_keymap({"app.help": "f10"})
    await here.press("f10")
    assert isinstance(here.app.screen, HelpScreen)
    here.app.set_keymap({})


@told("window", "`/rewind` (or `escape` twice in an empty input) lists your prompts")
async def prompts_to_go_back_to(here: Recorded) -> None:
    await here.press("escape", "escape")
    assert isinstance(here.app.screen, PromptsScreen)
    await here.press("escape")


@told("chat", "so is one on which you press `e` in the conversation;")
async def edited_prompt(here: Recorded) -> None:
    assert here.app.hub is not None
    here.app.hub.answers["rewind"] = Answer(RewindResult())
    await in_chat(here)
    await here.press("e")
    await here.settle()
    assert [call.message for call in here.ran if isinstance(call, RewindConversation)] == ["p1"]
    assert here.app.input_text == recorded.PROMPT
    await here.press("ctrl+u")


@told(
    "chat", "In the conversation, `f` goes on from the message under the cursor in a new one (of a prompt, before it:"
)
async def forked_message(here: Recorded) -> None:
    assert here.app.hub is not None
    here.app.hub.answers["fork"] = Answer(None)
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
    forks = [(call.message, call.worktree) for call in here.ran if isinstance(call, ForkConversation)]
    assert forks[:2] == [("p1", ""), ("p1", "side")] and forks[2][0] not in ("", "p1")


@told(
    "window",
    "Nothing changes until you choose. `escape` skips the card; what you start typing moves to the input.",
)
async def first_card(here: Recorded) -> None:
    assert here.app.hub is not None
    here.app.hub.answers["config show"] = Answer(ShownSettings(load(Path.cwd()), ""))
    before = len(here.ran)
    await here.press("alt+i")
    await wait_until(here.pilot, lambda: isinstance(here.app.screen, Picker))
    await here.press("escape")
    assert not isinstance(here.app.screen, Picker)
    assert not [call for call in here.ran[before:] if isinstance(call, SetSetting)]
    await here.press("alt+i")
    await wait_until(here.pilot, lambda: isinstance(here.app.screen, Picker))
    await here.type("what does this do")
    assert here.input.text == "what does this do" and not isinstance(here.app.screen, Picker)
    assert not [call for call in here.ran[before:] if isinstance(call, SetSetting)]
    here.input.put("")
    del here.app.hub.answers["config show"]


@told("window", "`ctrl+v` mentions the picture on the clipboard")
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


@told("window", "| `alt+h` | the notices of this window, also those that have gone |")
async def notices(here: Recorded) -> None:
    here.app.notify("It has gone.", timeout=0.01)
    await here.press("alt+h")
    assert isinstance(here.app.screen, FoldScreen)
    await here.press("escape")


@told("window", "`f4` tries them out.")
async def tried_themes(here: Recorded) -> None:
    await here.press("f4")
    assert isinstance(here.app.screen, Picker)
    await here.press("escape")


@told("window", "| `alt+i` | connect a model, choose a theme, have shells report |")
async def setup(here: Recorded) -> None:
    await here.press("alt+i")
    await wait_until(here.pilot, lambda: isinstance(here.app.screen, CardScreen))
    await here.press("escape")


@told(
    "window",
    "`/resume` (or `f3`) lists the earlier conversations in full screen: type to search titles and messages, `tab` "
    "lists those of all folders, `shift+tab` those of the next branch.",
)
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


@told("window", "| `f2` `f3` `f4` | model, conversations, theme |")
async def lists(here: Recorded) -> None:
    await here.press("f2")
    assert isinstance(here.app.screen, ModelsScreen)
    await here.press("escape", "f3")
    assert isinstance(here.app.screen, SessionsScreen)
    await here.press("escape", "f4")
    assert isinstance(here.app.screen, Picker)
    await here.type("gsh-light")
    await here.press("enter")
    assert here.app.theme == "gsh-light"


@told("window", "| `f7` | the inspector: exactly what is sent to the model |")
@told("window", "| `f7` | Show exactly what is sent to the model |")
async def inspected(here: Recorded) -> None:
    await here.press("f7")
    pane = here.app.part(ContextFeature).inspectors.find("main")
    assert pane is not None and here.app.focused is pane.view


NUMBERED = {"alt+2": "agents", "alt+3": "shell", "alt+4": "context", "alt+5": "timeline"}


@told("window", "| `alt+1` … `alt+5` | input, agents, shell log, context, timeline; a second time hides the pane |")
async def numbers(here: Recorded) -> None:
    for key, name in NUMBERED.items():
        pane = here.app.bench.panes[name]
        await here.press(key)
        assert here.app.focused is pane
        await here.press("alt+1")
        assert here.app.focused is here.input
        await here.press(key, key)
        assert not here.app.bench.on_screen(pane) and here.app.focused is here.input
        await here.press(key)
        assert here.app.bench.on_screen(pane)


@told("window", "| `f6` / `shift+f6` | next / previous pane: the input, the conversation, and those beside it |")
async def round_the_panes(here: Recorded) -> None:
    await here.press("f6")
    assert isinstance(here.app.focused, Transcript)
    await here.press("f6", "f6")
    assert here.app.bench.front_pane() == "shell"
    await here.press("shift+f6")
    assert here.app.bench.front_pane() == "agents"
    await here.press("shift+f6", "shift+f6")
    assert here.app.focused is here.input


def top_rows(here: Here) -> list[str]:
    """The first rows of the conversation."""
    return [here.app.bench.query_one(Transcript).row_strip(y).text for y in range(2)]


@told(
    "window",
    "| `pageup` / `pagedown`, `ctrl+home` / `ctrl+end` | from the input, scroll the conversation or the tab in front |",
)
async def scrolled(here: Recorded) -> None:
    await here.feed(*(event for number in range(9) for event in said(number)))
    await wait_until_drawn(here.pilot, here.app.bench.query_one(Transcript))
    end = top_rows(here)
    await here.press("pageup")
    assert top_rows(here) != end and here.app.focused is here.input
    await here.press("pagedown")
    assert top_rows(here) == end
    await here.press("ctrl+home")
    assert "prompt 0" in top_rows(here)[0]
    await here.press("ctrl+end")
    assert top_rows(here) == end


@told(
    "window",
    "| `ctrl+up` / `ctrl+down` | show your previous / next prompt in the conversation; typing, sending or `escape` goes"
    " back to the end |",
)
async def prompt_to_prompt(here: Recorded) -> None:
    chat = here.app.bench.query_one(Transcript)
    for way in ("escape", "x", "enter"):
        assert chat.is_vertical_scroll_end
        await here.press("ctrl+up", "ctrl+up", "ctrl+up")
        assert "prompt 6" in top_rows(here)[0]
        await here.press("ctrl+down")
        assert "prompt 7" in top_rows(here)[0]
        assert not chat.is_vertical_scroll_end
        await here.press(way)
    assert chat.is_vertical_scroll_end


@told("window", "| `alt+z` | zoom the current pane |")
async def zoomed(here: Recorded) -> None:
    await here.press("alt+4", "alt+z")
    assert here.app.bench.panes["context"].region.width == SIZE[0]
    await here.press("alt+z")
    assert here.app.bench.panes["context"].region.width < SIZE[0]


@told(
    "window",
    "| `ctrl+a` `ctrl+e` `alt+b` `alt+f` | as in a shell: the start and the end of the line, a word back and forth |",
)
async def moved(here: Recorded) -> None:
    await here.type("one two")
    for key, column in (("ctrl+a", 0), ("ctrl+e", 7), ("alt+b", 4), ("ctrl+a", 0), ("alt+f", 3)):
        await here.press(key)
        assert here.input.cursor_location == (0, column)


@told(
    "window",
    "| `ctrl+k` `ctrl+u` `ctrl+w` `alt+d` | delete to the end, to the start, back to a space, a word; `ctrl+y` puts it"
    " back, `alt+y` what was deleted before |",
)
async def deleted(here: Recorded) -> None:
    await here.type("one two-three four")
    await here.press("ctrl+w", "ctrl+a", "alt+d")
    assert here.input.text == " two-three "
    await here.press("ctrl+e", "left", "ctrl+u", "ctrl+k")
    assert here.input.text == ""
    await here.press("ctrl+y")
    assert here.input.text == " two-three "
    await here.press("alt+y")
    assert here.input.text == "one"


@told("window", "| `ctrl+z` / `alt+r` | undo / redo |")
async def undone_and_redone(here: Recorded) -> None:
    await here.type("one two")
    await here.press("ctrl+w", "ctrl+z")
    assert here.input.text == "one two"
    await here.press("alt+r")
    assert here.input.text == "one "


@told(
    "window",
    "| `ctrl+c` | copy what is selected; else clear the input (`ctrl+y` or `up` brings it back); else interrupt |",
)
async def copied_or_cleared(here: Recorded) -> None:
    await here.type("one two")
    here.input.select_all()
    await here.press("ctrl+c")
    assert here.app.clipboard == "one two" and here.input.text == "one two"
    here.input.move_cursor((0, 7))
    for back in ("ctrl+y", "up"):
        await here.press("ctrl+c")
        assert here.input.text == ""
        await here.press(back)
        assert here.input.text == "one two"
    await here.press("ctrl+c")
    before = len(here.said)
    await here.feed(TurnStarted(agent="main", session=recorded.S, turn="t2", prompt="p2", text="more"))
    await here.press("ctrl+c")
    assert isinstance(here.said[before], InterruptRequested)
    await here.feed(TurnFinished(agent="main", session=recorded.S, turn="t2", stop="interrupted"))


@told("window", "with `alt+shift+left` and `alt+shift+right`; the layout is remembered")
async def edges(here: Recorded) -> None:
    width = here.app.bench.panes["shell"].region.width
    await here.press("alt+shift+left")
    assert here.app.bench.panes["shell"].region.width == width + 2
    await here.press("alt+shift+right", "alt+shift+right")
    assert here.app.bench.panes["shell"].region.width == width - 2


@told("window", "| `alt+v` | the variables of the agent's Python |")
async def python_variables(here: Recorded) -> None:
    lines: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(here.app), "run_command", lambda _app, line: lines.append(line))
        await here.press("alt+v")
    assert lines == ["python show"]


@told("window", "In the window, `alt+k` chooses a room and opens it in a tab")
async def calls(here: Recorded) -> None:
    async def listed(_app: Any, _value: object) -> CallListing:
        return CallListing((CallInfo(name="lobby"), CallInfo(name="audio", topic="JACK")), "lobby")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(here.app), "result_of", listed)
        await here.press("alt+k")
        assert isinstance(here.app.screen, CallsScreen)
        await here.press("escape")


@told("window", "In the window, `alt+m` (or `/mcp`) shows them in a tab")
async def servers(here: Recorded) -> None:
    await here.press("alt+m")
    assert isinstance(here.app.deck.panes[here.app.deck.front], ServersTab)
    await here.press("x")
    assert here.app.deck.front == "chat"
    await here.type("/mcp")
    await here.press("enter")
    assert isinstance(here.app.deck.panes[here.app.deck.front], ServersTab)
    await here.press("x")


@told("window", "In the window, `alt+x` (or `/workflow`) lists runs and workflows")
async def workflows(here: Recorded) -> None:
    async def listed(_app: Any, _value: object) -> None:
        return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(here.app), "result_of", listed)
        await here.press("alt+x")
        assert isinstance(here.app.screen, Picker)
        await here.press("escape")
        await here.type("/workflow")
        await here.press("enter")
        assert isinstance(here.app.screen, Picker)
        await here.press("escape")


@told("window", "Start one with `f8`, `/spawn`, or from a script")
@told("window", "| `f8` | Start an agent |")
async def spawned(here: Recorded) -> None:
    await here.press("f8")
    assert isinstance(here.app.screen, SpawnScreen)
    await here.press("escape")
    await here.type("/spawn")
    await here.press("enter")
    assert isinstance(here.app.screen, SpawnScreen)


# In the conversation


async def in_chat(here: Recorded) -> Transcript:
    """The conversation, with the focus."""
    await here.press("alt+1", "alt+up")
    view = here.app.bench.query_one(Transcript)
    await wait_until_drawn(here.pilot, view)
    return view


def opened_calls(view: Transcript) -> list[str]:
    """Names of the calls that are open."""
    entries = [sheet.entry for sheet in view.document.sheets if sheet.opened]
    return [entry.name for entry in entries if isinstance(entry, ToolEntry)]


@told(
    "chat",
    "In the conversation (`alt+up`), where a command shows the last five lines of its output (`[ui] result_lines`), an "
    "edit its change, neighbouring reads and searches take one row until you open it, and errors are shown whole:",
)
async def the_chat(here: Recorded) -> None:
    view = await in_chat(here)
    assert view.has_focus and view.result_lines == 5
    rows = [row.strip() for row in screen_rows(view)]
    assert "│ 3 +     return tokens or []" in rows and "│ 214 passed" in rows


@told("chat", "| `enter` / `t` / `o` | open or fold a call or a thought / those of the turn / all of them |")
async def folds_in_the_chat(here: Recorded) -> None:
    view = await in_chat(here)
    await here.press("home", "down", "enter")
    assert opened_calls(view) == ["read"]
    await here.press("t")
    assert opened_calls(view) == ["read", "edit", "bash"]
    await here.press("t")
    assert opened_calls(view) == []
    await here.press("o")
    assert opened_calls(view) == ["read", "edit", "bash"]
    await here.press("o")


@told("chat", "| `y` / `Y` / `c` | copy the block / the whole answer / the nearest code block |")
async def copies_in_the_chat(here: Recorded) -> None:
    view = await in_chat(here)
    await here.press("home", "y")
    assert here.app.clipboard.startswith("The parser fails")
    await here.press("G", "c")
    assert here.app.clipboard.startswith("def parse(")
    await here.press("Y")
    assert "The failing test is" in here.app.clipboard and here.app.clipboard.count("```") == 2
    assert view.has_focus


@told("chat", "| `r` | on the line of a cut, or on an output that was shortened: its receipt |")
async def receipt_in_the_chat(here: Recorded) -> None:
    await here.feed(ContextCut(agent="main", session=recorded.S, receipt=COMPACTED))
    await in_chat(here)
    await here.press("G", "r")
    assert isinstance(here.app.screen, ReceiptScreen) and here.app.screen.receipt.id == COMPACTED.id
    await here.press("escape")


@told("chat", "| `p` / `P` | the previous / next prompt |")
async def prompts_in_the_chat(here: Recorded) -> None:
    await here.feed(*said(1), *said(2))
    view = await in_chat(here)
    await here.press("G", "p")
    assert view.cursor.text() == "prompt 2"
    await here.press("p")
    assert view.cursor.text() == "prompt 1"
    await here.press("P")
    assert view.cursor.text() == "prompt 2"


@told("chat", "| `/` `n` `N` | search; after `enter`, further back, and back again; `escape` ends it |")
async def searches_in_the_chat(here: Recorded) -> None:
    view = await in_chat(here)
    await here.press("/")
    await here.type("parse")
    await here.press("escape")
    assert view.finder.search is None
    await here.press("/")
    await here.type("parse")
    search = view.finder.search
    assert search is not None and search.done and len(search.hits) > 2
    await here.press("enter", "n")
    first = search.at
    await here.press("N")
    assert first == search.at + 1
    await here.press("escape")
    assert view.has_focus and view.finder.search is None


# In the shell log


def log(here: Recorded) -> ShellPane:
    pane = here.app.bench.panes["shell"]
    assert isinstance(pane, ShellPane)
    return pane


async def at_the_failure(here: Recorded) -> None:
    """The cursor on `make test`, which failed and whose output was kept."""
    await here.press("alt+3", "home")
    for _ in range(5):
        here.keyboard.post("down", 0.0)
    await here.settle()


@told("log", "| `enter` | show the command in full, how it ended, and what it printed |")
async def record_opened(here: Recorded) -> None:
    await at_the_failure(here)
    await here.press("enter")
    assert isinstance(here.app.screen, RecordScreen)
    for said in ("make test", "exit 2 after 1m18s", "IndexError: list index"):
        assert said in here.app.screen.plain


@told(
    "log",
    "| `f` `d` `t` | show only failures / this folder / this terminal; type a slash and words to filter by "
    "text; `escape` clears the filters |",
)
async def filtered(here: Recorded) -> None:
    await at_the_failure(here)
    everything = shown(log(here))
    await here.press("f")
    assert "make test" in shown(log(here)) and "npm run watch" not in shown(log(here))
    await here.press("f", "home", "d")
    assert log(here).state.filter.cwd == "/src" and "ssh build.example.com uptime" not in shown(log(here))
    await here.press("escape")
    assert shown(log(here)) == everything
    await here.press("t")
    assert log(here).state.filter.shell and shown(log(here)) != everything
    await here.press("escape", "/")
    await here.type("docker")
    await log(here).filtered()
    await here.settle()
    assert shown(log(here)) == ["docker compose up -d db && sleep 2"]
    await here.press("escape")
    assert shown(log(here)) == everything and here.app.focused is log(here)


@told("log", "| `a` | ask about it: puts the command and its output into the prompt |")
async def asked_about(here: Recorded) -> None:
    await at_the_failure(here)
    await here.press("a")
    assert here.app.focused is here.input
    assert "$ make test" in here.input.value and "IndexError: list index out of range" in here.input.value


@told("log", "| `r` | copy it to the input, to run it again |")
async def run_again(here: Recorded) -> None:
    await at_the_failure(here)
    await here.press("r")
    assert here.input.text == "!make test" and here.app.focused is here.input


@told("log", "| `p` | pin it: adds it to the prompt as something to keep in mind |")
async def kept_in_mind(here: Recorded) -> None:
    await at_the_failure(here)
    await here.press("p")
    assert here.input.value.startswith("Keep this in mind") and "$ make test" in here.input.value


@told("log", "| `y` / `Y` | copy the command / what it printed |")
async def copied(here: Recorded) -> None:
    await at_the_failure(here)
    await here.press("y")
    assert here.app.clipboard == "make test"
    await here.press("Y")
    assert here.app.clipboard == recorded_shell.OUTPUT


@told("log", "| `n` | write a note; a line `# …` in the input is one too |")
async def noted(here: Recorded) -> None:
    assert here.app.hub is not None
    here.app.hub.shell_log = log = FakeShellLog()
    await here.press("alt+3", "n")
    assert isinstance(here.app.screen, InputScreen)
    await here.type("slow")
    await here.press("enter", "alt+1")
    await here.type("# new")
    await here.press("enter")
    assert [text for text, _ in log.notes] == ["slow", "new"]


@told("log", "| `space` | all available actions |")
async def menu(here: Recorded) -> None:
    await at_the_failure(here)
    await here.press("space")
    assert isinstance(here.app.screen, Picker)
    await here.type("again")
    await here.press("enter")
    assert here.input.text == "!make test"


@told("log", "| `g` / `G` | the oldest / newest row |")
async def first_and_last(here: Recorded) -> None:
    await here.press("alt+3", "g")
    assert log(here).chosen is EARLIER[0]
    await here.press("G")
    assert log(here).chosen is log(here).state.row(log(here).state.total - 1)


@told("log", "In the shell log (`alt+3`), which shows every command of your shells and agents as it runs:")
async def the_log(here: Recorded) -> None:
    await here.press("alt+3")
    assert here.app.focused is log(here) and shown(log(here)) == commands(EARLIER)
    await here.feed(*recorded_shell.SHELLS)
    assert shown(log(here))[-1] == "npm run watch" and "make test" in shown(log(here))[len(EARLIER) :]


# In the inspector


async def opened(here: Recorded) -> InspectorPane:
    """The inspector of main, as it opens."""
    await here.press("f7")
    pane = here.app.part(ContextFeature).inspectors.find("main")
    assert pane is not None
    await here.press("x", "f7", "home")
    pane = here.app.part(ContextFeature).inspectors.find("main")
    assert pane is not None and here.app.focused is pane.view and pane.state.mode == "blocks"
    return pane


async def at_block(here: Recorded, block: str) -> InspectorPane:
    """The cursor on a block."""
    pane = await opened(here)
    pane.reveal(next(one for one in pane.state.blocks if one.id == block))
    await here.settle()
    return pane


@told(
    "inspector",
    "| `enter` | open a section to see its blocks, a block to see its exact text, a cut to see its receipt |",
)
async def to_the_exact_text(here: Recorded) -> None:
    pane = await opened(here)
    await here.press("down", "down", "enter")
    assert has(pane, "AGENTS.md")
    await here.press("down", "enter")
    assert has(pane, "- Run `make test` before you say that it works.")
    pane = await at_block(here, "r2/0")
    while not isinstance(here.app.screen, ReceiptScreen):
        await here.press("down", "enter")
    assert here.app.screen.receipt.id == "cut1"


@told("inspector", "| `r` | the exact bytes of the request, without keys; press again for the sections |")
async def as_sent(here: Recorded) -> None:
    pane = await opened(here)
    await here.press("r")
    assert has(pane, '{"model": "claude-sonnet-4-5"')
    await here.press("r")
    assert has(pane, "history") and pane.state.mode == "blocks"


@told(
    "inspector",
    "| `/` `n` `N` | search everything, including folded text; `enter` leaves the search line, then the "
    "letters move between matches |",
)
async def searched(here: Recorded) -> None:
    pane = await opened(here)
    await here.press("/")
    assert isinstance(here.app.focused, Input)
    for letter in "parse":
        await here.type(letter)
    assert pane.state.opened and has(pane, "parse")
    await here.press("enter")
    found = [pane.view.entry]
    await here.press("n")
    found.append(pane.view.entry)
    await here.press("N")
    assert [one.id for one in (*found, pane.view.entry) if one is not None] == [
        "t:memory/AGENTS.md",
        "t:p1/0",
        "t:memory/AGENTS.md",
    ]


@told("inspector", "| `[` `]` `.` | the previous request, the next one, the one about to be sent |")
async def in_time(here: Recorded) -> None:
    pane = await opened(here)
    await here.press("[", "[")
    assert pane.state.at == "it3"
    await here.press("]")
    assert pane.state.at == "it4"
    await here.press("[", ".")
    assert pane.state.at == ""


@told("inspector", "| `d` `D` | compare with the previous request; with any other request or agent |")
async def compared(here: Recorded) -> None:
    pane = await opened(here)
    await here.press("[", "d")
    assert pane.state.mode == "difference" and pane.state.other is not None
    assert pane.state.other.iteration is not None and pane.state.other.iteration.id == "it3"
    for wanted in ("request 1", "0002"):
        await here.press("D")
        assert isinstance(here.app.screen, Picker)
        await here.type(wanted)
        await here.press("enter")
        other = pane.state.other
        assert other is not None and (other.agent, other.iteration.id if other.iteration else "") == (
            ("main", "it1") if wanted == "request 1" else ("0002", "")
        )


@told("inspector", "| `p` `u` | never cut this block; send it in full again |")
async def pinned(here: Recorded) -> None:
    await at_block(here, "r2/0")
    await here.press("p", "u")
    assert here.done[-2:] == [("pin", "main", "r2/0", True), ("restore", "main", "r2/0")]


@told("inspector", "| `y` `Y` | copy the block's exact text; copy the whole request |")
async def copied_exactly(here: Recorded) -> None:
    await at_block(here, "memory/AGENTS.md")
    await here.press("y")
    assert here.app.clipboard == AGENTS
    await here.press("Y")
    assert here.app.clipboard.startswith('{"model"') and PROMPT in here.app.clipboard


@told(
    "inspector",
    "| `c` `P` `C` | compact, prune, start over: you see a preview first and then confirm or cancel |",
)
async def cut(here: Recorded) -> None:
    await opened(here)
    for key, kind in {"c": "compact", "P": "prune", "C": "clear"}.items():
        before = list(here.done)
        await here.press(key)
        assert isinstance(here.app.screen, ReceiptScreen) and here.app.screen.kind == "preview"
        await here.press("escape")
        assert here.done == before
        await here.press(key, "ctrl+s")
        assert here.done == [*before, ("cut", "main", kind)]


@told("inspector", "| `t` `w` | thresholds for this agent; the same request with another model |")
async def thresholds(here: Recorded) -> None:
    await opened(here)
    await here.press("t")
    assert isinstance(here.app.screen, TuneScreen)
    await here.press("escape", "w")
    await here.type("gpt")
    await here.press("enter")
    assert isinstance(here.app.screen, TextScreen) and "61,300 of 32,000 tokens" in here.app.screen.plain


# In the timeline


def marks(here: Recorded) -> TimelinePane:
    pane = here.app.bench.panes["timeline"]
    assert isinstance(pane, TimelinePane)
    return pane


@told("timeline", "The timeline (`alt+5`) has one mark per request")
async def one_a_request(here: Recorded) -> None:
    await here.press("alt+5")
    assert here.app.focused is marks(here) and len(marks(here).state.marks) == 4


@told(
    "timeline",
    "`T` an output was truncated, `P` pruned, `C` compacted, `X` started over, `D` dropped, `U` undone, `!` failed.",
    keys=False,
)
async def signs(here: Recorded) -> None:
    cuts = {"truncate": "T", "prune": "P", "compact": "C", "clear": "X", "drop": "D"}
    for kind, sign in cuts.items():
        made = COMPACTED if kind == "compact" else PRUNED
        await here.feed(
            ContextCut(agent="main", session=recorded.S, receipt=replace(made, kind=kind, id=f"new-{kind}"))
        )
        assert marks(here).state.waiting[-1].sign == sign
    await here.feed(CutUndone(agent="main", session=recorded.S, cut="cut2"))
    assert marks(here).state.waiting[-1].sign == "U"
    await here.feed(CutFailed(agent="main", session=recorded.S, kind="compact", why="no"))
    assert marks(here).state.waiting[-1].sign == "!"
    assert {mark.sign for mark in marks(here).state.marks} == {"", "P", "C"}
    await here.feed(*(event for event in SENT[-1:]))


@told("timeline", "`left` and `right` move between marks, `n` jumps to the next cut, `+` and `-` zoom.")
async def along(here: Recorded) -> None:
    pane = marks(here)
    await here.press("alt+5", "home", "right", "right")
    assert pane.look.cursor == 2
    await here.press("left")
    assert pane.look.cursor == 1
    await here.press("n")
    assert pane.look.cursor == 2 and pane.mark is not None and pane.mark.sign == "P"
    zoom = pane.look.zoom
    await here.press("-")
    assert pane.look.zoom < zoom
    await here.press("+")
    assert pane.look.zoom == zoom


async def at_a_receipt(here: Recorded) -> ReceiptScreen:
    """The receipt of the compaction."""
    await here.press("alt+5", "home", "n", "n", "enter")
    assert isinstance(here.app.screen, ReceiptScreen) and here.app.screen.receipt.id == "cut2"
    return here.app.screen


@told(
    "timeline",
    "`enter` opens the receipt: what was kept, truncated, dropped or summarised, item by item, with tokens "
    "and price before and after.",
)
async def receipt(here: Recorded) -> None:
    screen = await at_a_receipt(here)
    shown = "\n".join(str(entry) for entry in screen.view.entries)
    assert "summarised" in shown and "dropped" in shown and "kept" in shown
    title = str(screen.query_one(".dialog-title").render())
    for figure in ("161", "48", "$0.4", "$0.1"):
        assert figure in title + shown


@told("timeline", "Every cut has a receipt: press `enter` in the timeline")
async def every_receipt(here: Recorded) -> None:
    await here.press("alt+5", "home", "n", "enter")
    assert isinstance(here.app.screen, ReceiptScreen) and here.app.screen.receipt.id == "cut1"


@told("timeline", "in the receipt `U` undoes the cut, `u` restores one item, `e` rewrites the summary")
async def undone(here: Recorded) -> None:
    screen = await at_a_receipt(here)
    screen.view.go("g:summarised")
    await here.press("enter", "down", "down", "u")
    assert here.done[-1] == ("restore", "main", "r2/0")
    await here.press("escape")
    await at_a_receipt(here)
    await here.press("e")
    assert isinstance(here.app.screen, SummaryScreen)
    here.app.screen.query_one(TextArea).text = "Only this."
    await here.press("ctrl+s")
    assert here.done[-1] == ("edit_summary", "main", "cut2", "Only this.")
    await here.press("escape")
    await at_a_receipt(here)
    await here.press("U")
    assert here.done[-1] == ("undo", "main", "cut2")


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


@told(
    "sidebar",
    "`f7` opens the inspector for the current agent; `v` in the sidebar opens it for any other agent, including "
    "those in terminals.",
)
async def of_any_agent(here: Recorded) -> None:
    await here.press("f7")
    assert here.app.part(ContextFeature).inspectors.find("main") is not None
    await here.press("x", "alt+2", "v")
    assert [pane.state.agent for pane in here.app.query(InspectorPane)] == ["0002"]
    await here.press("x")


@told(
    "sidebar",
    "`enter` opens an agent in a tab: one of our own as a conversation like the chat, where what you type goes to that "
    "agent and `escape` interrupts it (`alt+s` shows its terminal, and back),",
)
async def into_a_conversation(here: Recorded) -> None:
    row = here.app.screen.query_one(AgentsPane).state.agents["0001"].row
    await here.feed(*changed(msgspec.structs.replace(row, status="thinking")))
    await choose_claude(here, "0001")
    await here.press("enter")
    tab = here.app.screen.query_one(ConversationTab)
    assert here.app.focused is here.input and tab.agent == here.app.addressed == "0001"
    await here.press("escape")
    assert here.said[-1] == InterruptRequested(agent="0001", at=here.said[-1].at)
    await here.press("alt+s")
    assert here.app.deck.front == "terminal-0001"
    await here.press("alt+s")
    assert here.app.deck.front == "conversation-0001"
    await here.press("f6", "x")
    await here.feed(*changed(row))


@told("sidebar", "a program as its terminal, where `enter` types into it and `ctrl+]` comes back.")
async def into_a_terminal(here: Recorded) -> None:
    assert isinstance(here.app, FakeTerminalWindow)
    await choose_claude(here)
    await here.press("enter")
    view = here.app.screen.query_one(TerminalView)
    here.app.terminal.show(("$",))
    assert here.app.focused is view
    await here.press("enter", "l", "s")
    assert here.app.terminal.data == b"ls"
    await here.press("ctrl+]", "j")
    assert not view.typing and here.app.terminal.data == b"ls"


@told("sidebar", "**A fork** (`f` in the sidebar,")
async def forked(here: Recorded) -> None:
    await choose_claude(here)
    await here.press("f")
    assert here.ran[-1] == ForkAgent(agent="0002")


@told("sidebar", "**Finishing** (`F`,")
async def worktree_finished(here: Recorded) -> None:
    await choose_claude(here)
    await here.press("F")
    assert here.ran[-1] == FinishWorktree(name="0002")


@told("sidebar", "**Archiving** (`A`,")
async def archived(here: Recorded) -> None:
    await choose_claude(here)
    ran = len(here.ran)
    await here.press("A")
    assert len(here.ran) == ran, "it runs"
    await here.feed(*changed(DONE))
    await here.press(*["down"] * 9, "A")
    assert here.ran[-1] == ArchiveAgent(agent="0004")
    await here.press(*["up"] * 9)
    await choose_claude(here)


@told(
    "sidebar",
    "`a` gives it the whole screen, `m` sends it a message, `i` interrupts, `f` forks it, `d` shows its "
    "changes, `delete` shows you what is unsaved and then kills it, `u` undoes the kill for a short while.",
)
async def done_to_an_agent(here: Recorded) -> None:
    assert isinstance(here.app, FakeTerminalWindow)
    await here.press("alt+2", "a")
    assert here.app.terminal.typed[-1] == "visit"
    await here.press("alt+2", "m")
    assert isinstance(here.app.screen, InputScreen)
    await here.type("hello")
    await here.press("ctrl+s")
    assert here.ran[-1] == SendToAgent(agent="0002", text="hello")
    await here.press("i")
    assert here.ran[-1] == InterruptAgent(agent="0002")
    await here.press("f")
    assert here.ran[-1] == ForkAgent(agent="0002")
    await here.press("d")
    assert here.ran[-1] == CHANGES and here.app.query(DiffPane)
    await here.press("x", "alt+2", "delete")
    assert isinstance(here.app.screen, ConfirmScreen)
    assert "2 files not committed" in here.app.export_screenshot().replace("&#160;", " ")
    await here.answer("y")
    assert here.ran[-1] == KillAgent(agent="0002", yes=True)
    await here.feed(AgentKilled(agent="0002", until=NOW + 42))
    await choose_claude(here)
    await here.press("u")
    assert here.ran[-1] == UndoKill(agent="0002")


@told(
    "sidebar",
    "`/` lists only agents with the words that you type (waiting, working, idle and ended are such words), `g` groups "
    "them by folder.",
)
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


@told("hub", "| `shift+tab` | change the agent's mode: `plan`, `ask`, `edit`, `auto` |")
@told("hub", "`shift+tab` goes through the first four,")
@told("hub", "| `shift+tab` | Change the agent's mode |")
async def modes(here: Real) -> None:
    assert isinstance(here.app.bench, WorkbenchScreen)
    shown: list[str] = []
    while len(shown) < 2 or shown[-1] != "ask":
        before = here.count(AgentModeChanged)
        await here.press("shift+tab")
        changed = await here.heard.wait_for(AgentModeChanged, number=before + 1)
        await here.until(lambda mode=changed.mode: f"· {mode}" in (here.app.bench.input.border_title or ""))
        shown.append(changed.mode)
    assert shown in (["edit", "auto", "plan", "ask"], ["edit", "plan", "ask"])  # the latter where no sandbox holds


@told(
    "window",
    "| `f5` | what has changed here since the last commit, new files too, or in a worktree since its base; `s` there "
    "puts old and new side by side or below one another. Side by side is usual where a change has about 140 columns, "
    'or where each of its lines fits into half of its place (`[ui] diff_columns = "one"`: nowhere) |',
)
@told("window", "| `f5` | Show changes since the last commit |")
async def changes_here(here: Recorded) -> None:
    await here.press("f5")
    assert isinstance(here.app.screen, WorktreesScreen)
    await here.press("enter")
    assert isinstance(here.app.screen, WorkbenchScreen)
    pane = here.app.bench.deck.query_one(DiffPane)
    assert [file.path for file in pane.document.files][:2] == ["src/lexer.py", "tests/test_lexer.py"]
    await here.pilot.resize_terminal(200, 40)
    await here.settle()
    assert pane.view.split
    await here.press("s")
    assert not pane.view.split
    await here.press("s", "x")


@told(
    "window",
    "| `alt+g` | all settings, with their source and help: `enter` changes one, `ctrl+r` goes back to the default, "
    "`ctrl+t` asks a provider a short question |",
)
@told("window", "In the window, `alt+g` shows them all;")
async def all_settings(here: Recorded) -> None:
    assert here.app.hub is not None
    here.app.hub.answers["config show"] = Answer(ShownSettings(load(Path.cwd()), ""))
    await here.press("alt+g")
    assert isinstance(here.app.screen, SettingsScreen)
    for words, key, kind in (("base_url", "ctrl+t", CheckProvider), ("ui.fps", "ctrl+r", ResetSetting)):
        await here.press("ctrl+u", *words, key)
        await here.settle()
        assert [call for call in here.ran if isinstance(call, kind)]
    await here.press("enter")
    assert isinstance(here.app.screen, InputScreen)
    await here.press("escape", "escape")


@told(
    "window",
    "`space` pauses, `left` and `right` go 5 seconds back and forward, `[` and `]` to the previous and the next "
    "prompt, `plus` and `minus` change the speed. `e` leaves it for the window, with the prompt that you were at",
)
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


@told("window", "| `alt+up` / `alt+down` | from the input to the conversation, to search, fold and copy in it / back |")
async def to_the_conversation(here: Here) -> None:
    await here.press("alt+1", "alt+up")
    assert here.app.focused is not None and here.app.focused is not here.input
    assert here.app.deck in here.app.focused.ancestors
    await here.press("alt+down")
    assert here.app.focused is here.input


@told(
    "sidebar", "| `alt+w` | go to the next agent that waits for you, from anywhere; a badge in the header counts them |"
)
@told("sidebar", "| `alt+w` | Go to the next agent that needs you |")
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


@told("sidebar", "`d` or `f5` shows its changes, which you can merge or export as a patch.")
async def changes(here: Recorded) -> None:
    for way in ("d", "f5"):
        if way == "d":
            await choose_claude(here)
            await here.press("d")
        else:
            await here.press("f5")
            assert isinstance(here.app.screen, WorktreesScreen)
            await here.press("enter")
        assert len(here.app.query(DiffPane)) == 1
        await here.press("p")
        assert here.ran[-1] == WritePatch(path=PARSER)
        await here.press("M")
        assert isinstance(here.app.screen, ConfirmScreen)
        await here.press("escape", "x")


@told(
    "sidebar",
    "There `c` comments on a line (`shift+down` marks more), and `S` sends all comments to the agent as one message; "
    "until then they stand between the lines, where `c` changes one and `delete` removes it",
)
async def comments(here: Recorded) -> None:
    await choose_claude(here)
    await here.press("d", "shift+down", "c", *"why", "ctrl+s")
    pane = here.app.query_one(DiffPane)
    await here.settle()
    assert [len(comment.rows) for comment in pane.comments] == [2]
    await here.press("down", "delete")
    await here.settle()
    assert not pane.comments
    await here.press("c", *"why", "ctrl+s", "c", *"so, ", "ctrl+s")
    await here.settle()
    assert [comment.text for comment in pane.comments] == ["so, why"]
    assert here.app.hub is not None
    here.app.hub.answers["agent ls"] = Answer(AgentList([AgentState(CLAUDE)]))
    here.app.hub.answers[f"agent send {CLAUDE.id}"] = Answer(SentMessage(CLAUDE, "m", waits=False))
    await here.press("S")
    await here.settle()
    assert not pane.comments
    sent = here.ran[-1]
    assert isinstance(sent, SendToAgent) and "why" in sent.text
    await here.press("x")


@told(
    "sidebar",
    "`a` stages the change under the cursor, `d` discards it after a question, and `e` edits its lines in place;",
)
async def single_changes(here: Recorded) -> None:
    await choose_claude(here)
    await here.press("d")
    for kind, key in ((StageHunk, "a"), (DiscardHunk, "d"), (ShowHunk, "e")):
        await here.press(key)
        done = [call for call in here.ran if isinstance(call, kind)][-1]
        assert done.tree == PARSER and done.mark
    await here.press("x")


# With a hub, a project and the offline provider


@told(
    "hub",
    "Type a prompt and press `enter`. `/` starts a command (`/help` lists them), `@` completes a file in the project.",
)
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
    await here.press("@")
    await here.type("READ")
    await here.until(lambda: here.area.popup.is_open)
    await here.press("tab")
    assert here.input.text == "@README.md "


@told("hub", "Name a file with `@` in a prompt")
async def named_file(here: Real) -> None:
    await here.type("look at ")
    await here.press("@")
    await here.type("READ")
    await here.until(lambda: here.area.popup.is_open)
    await here.press("tab")
    assert here.input.text == "look at @README.md "


@told("hub", "`escape` interrupts; prompts that waited are then in the input again.")
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


@told("hub", "Its output appears in the conversation as it arrives, `escape` stops it,")
async def stopped(here: Real) -> None:
    await here.send("!echo begun; sleep 60")
    assert "begun" in (await here.heard.wait_for(InputCommandPrinted)).text
    await here.press("escape")
    assert (await here.heard.wait_for(InputCommandFinished)).status != "ok"


@told("hub", "| `enter` / `alt+enter` | send / start a new line |")
@told("hub", "| `enter` / `alt+enter` | Send the prompt / start a new line |")
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


@told("hub", "| `tab` | complete a command, a file, a value |")
async def completed(here: Real) -> None:
    for typed, whole in (("/usag", "/usage "), ("see @READ", "see @README.md "), ("/usage by=mod", "/usage by=model ")):
        await here.type(typed)
        await here.until(lambda: here.area.popup.is_open)
        await here.press("tab")
        assert here.input.text == whole
        here.input.put("")
        await here.settle()


@told("hub", "| `up`, `ctrl+r` | earlier prompts / search them |")
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


@told("hub", "| `escape` | go back to the input; from there, interrupt the turn |")
@told("hub", "| `escape` | Return to the input; from the input, interrupt the turn |")
async def back(here: Real) -> None:
    turns = here.turns
    await here.asked("touch never")
    await here.press("alt+2", "escape")
    assert here.app.focused is here.input and here.turns == turns
    await here.press("escape")
    assert (await here.turned(turns + 1)).stop == "interrupted"


@told(
    "hub",
    "| `ctrl+g` | open the waiting question: `left` and `right` mark an answer and `enter` gives it, or its number "
    "does: `1` allow once, `2` allow this exact call for this session, `3` always allow, by a rule that you see and "
    "can edit first (2 and 3 where they are offered), `4` deny, `5` deny with a reason; `n` and `N` go "
    "through a change |",
)
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
                await here.press("n", "N", "right", "right", "right", "right", "left")
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


@told("hub", "a question waits in one row above the input; `ctrl+g` opens it and shows exactly what would run, where,")
@told("hub", "| `ctrl+g` | Open the waiting question |")
async def question_opened(here: Real) -> None:
    turns = here.turns
    await here.asked("mkdir unwanted")
    pane = here.area.approvals
    await here.until(lambda: pane.region.height == 1)
    await here.press("ctrl+g")
    await here.until(lambda: pane.region.height > 1)
    rows = [line.text for line in question_parts(pane.state.waiting[0]).head]
    assert rows[0] == "mkdir unwanted" and rows[1].startswith("in ")
    await here.press("escape", "escape")
    assert (await here.turned(turns + 1)).stop == "interrupted"
    await here.press("ctrl+g")
    said = [notice.message for notice in here.app._notifications]  # pyright: ignore[reportPrivateUsage]
    assert "No question is waiting." in said and here.app.focused is here.input


@told("hub", "| `alt+a` | allow once what the waiting row says in full, from anywhere; else open the question |")
@told("hub", "| `alt+a` | Allow once what the waiting row shows |")
async def allowed_by_one_key(here: Real) -> None:
    turns = here.turns
    await here.asked("mkdir wanted")
    await here.until(lambda: here.area.approvals.region.height == 1)
    await here.press("alt+2")
    await here.answer("alt+a")
    await here.turned(turns + 1)
    assert (here.project / "wanted").is_dir() and here.app.focused is not here.area.approvals


@told(
    "hub",
    "An answer counts only for the question that you went to: when another takes its place, `ctrl+g` goes to that",
)
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


@told("hub", "| `alt+q` | go to the queued prompts |")
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


@told("hub", "- **The shared shell** (`f9`) is a zsh in tmux that you and the agents both see and use")
async def shared(here: Real) -> None:
    await here.press("f9")
    await here.until(lambda: here.app.query(TerminalPane))
    view = here.app.query_one(TerminalView)
    await here.until(lambda: view.picture.frame is not None)
    assert here.app.focused is view
    await here.press("x")
    await here.until(lambda: not here.app.query(TerminalPane))


# In a terminal of its own


@pytest.fixture
def terminal(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[PtyChild]:
    """`gsh-tui` in a terminal, with an editor that adds a line of its own each time."""
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho >> "$0.runs"\nprintf "line $(wc -l < "$0.runs") of the editor\\n" >> "$1"\n')
    editor.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(editor))
    child = PtyChild(command([]), made_project(tmp_path / "project"), columns=120, rows=35)
    yield child
    child.close()


@told("terminal", "| `alt+e` | write in `$EDITOR` |")
def edited(child: PtyChild) -> None:
    child.go()
    child.read_until(lambda: b"for anything" in child.output)
    child.write(b"begun \x1be")
    child.read_until(lambda: b"line 1 of the editor" in child.output)
    child.write(b"\x03")


@told("terminal", "| `ctrl+q` | quit |")
@told("terminal", "| `ctrl+q` | Quit |")
def left(child: PtyChild) -> None:
    child.write(b"\x11")
    assert child.wait() == 0


def test_keys_that_need_a_terminal(terminal: PtyChild) -> None:
    # Two claims about one key share its function: the terminal ends once.
    for claim in {claim.shown: claim for claim in CLAIMS if claim.place == "terminal"}.values():
        with blamed(claim):
            claim.shown(terminal)


# At the shell's prompt


@told("zsh", "press `^G`, which sends the line as you typed it. `?` and `*` need no quotes.")
def sent_as_typed(shell: Shell) -> None:
    shell.press_keys("it's `x`\x07")
    shell.wait_for_text(b"[gsh][--][it's `x`]")
    shell.wait_for_prompt()
    shell.press_keys("gsh what is this? and *\n")
    shell.wait_for_text(b"[gsh][what][is][this?][and][*]")
    shell.wait_for_prompt()


@told(
    "zsh",
    "`^X^A` picks an agent to attach to, `^X^L` lists them, `^X^C` (or `^Xc`, where the terminal uses"
    " ctrl+c itself) interrupts one.",
)
def agents(shell: Shell) -> None:
    for keys, said in (
        (b"\x18\x01", b"[gsh][attach][0003]"),
        (b"\x18\x0c", b"[agent][ls]"),
        (b"\x18c", b"[agent][interrupt][0003]"),
    ):
        shell.press_keys(keys)
        shell.wait_for_text(said)
        shell.wait_for_prompt()


@told("zsh", "`right` or `ctrl+e` takes it, `alt+f` a word of it.")
def suggestions(shell: Shell) -> None:
    shell.run("print one two")
    for key, printed in ((b"\x1b[C", b"\none two\r"), (b"\x05", b"\none two\r"), (b"\x1bf", b"\none\r")):
        shell.press_keys("print o")
        shell.wait_for_text(b"ne two")
        shell.press_keys(key + b"\n")
        shell.wait_for_prompt()
        assert printed in shell.output[-400:]


def test_keys_of_the_shell(home: Home) -> None:
    write_echo_program(home)
    offer_agents(home, "0003 fix thinking")
    shell = Shell(editor=True, before=f"bindkey -e; PATH={program_folder(home)}")
    try:
        for claim in (claim for claim in CLAIMS if claim.place == "zsh"):
            with blamed(claim):
                claim.shown(shell)
    finally:
        shell.close()
