"""The workbench's window: holds the features, passes them keys and messages, starts and stops the hub.

Holds no conversation state and does not draw.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

from textual import events, on
from textual.screen import Screen
from textual.widget import Widget

from gshtui.bus.agent_data import AT_WORK
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import InterruptRequested, PromptSubmitted
from gshtui.bus.events.session_events import SessionChangeRequested
from gshtui.client.pane_names import CHAT
from gshtui.client.window_calls import MakeHub
from gshtui.client.window_protocol import OpenRequest
from gshtui.settings import git_info
from gshtui.system.expected_error import ExpectedError
from gshtui.system.faults import Fault
from gshtui.ui.context.context_feature import ContextFeature
from gshtui.ui.conversation.conversation_feature import ConversationFeature
from gshtui.ui.kit.bridge import Bridge, EventConsumer, NotReady
from gshtui.ui.kit.drawing.themes import ThemedApp
from gshtui.ui.kit.feature import Feature
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.textual.app_base import AppBase
from gshtui.ui.kit.textual.driver import WorkbenchDriver, release_input, sends_every_key
from gshtui.ui.kit.textual.input_parser import DrawsSixel
from gshtui.ui.kit.textual.key_order import Typed
from gshtui.ui.kit.textual.letter_echo import LetterEcho
from gshtui.ui.kit.textual.typed_app import KeyTaker, takes_every_key
from gshtui.ui.kit.widget_messages import CommandCall, CommandLine, FeatureMessage, Intent, Meant, Unsent
from gshtui.ui.kit.widgets.tabs import Deck
from gshtui.ui.prompt.prompt_status import SILENT, PromptStatus
from gshtui.ui.settings.settings_feature import SettingsFeature
from gshtui.ui.window import lazy_imports
from gshtui.ui.window.features import FEATURES, action_of, own_keys, slash_words, switched_off
from gshtui.ui.window.main_area import MainArea, SessionOffer
from gshtui.ui.window.notifications import Attention, Notices
from gshtui.ui.window.stylesheets import style_paths
from gshtui.ui.window.ui_state import UiStateStore
from gshtui.ui.window.workbench_screen import WorkbenchScreen

if TYPE_CHECKING:
    from textual.app import App

    from gshtui.bus.context_data import Iteration
    from gshtui.bus.events.context_events import ContextCut
    from gshtui.bus.messages import Message
    from gshtui.commands.declaration import Returns
    from gshtui.settings.model import Settings
    from gshtui.ui.agents.agents_state import AgentView
    from gshtui.ui.kit.widgets.dialogs import PickerChoice
    from gshtui.ui.prompt.prompt_input import PromptInput
    from gshtui.ui.window.command_runner import CommandRunner

F = TypeVar("F", bound=Feature)
R = TypeVar("R")
_BY_CHANCE = ("enter", "escape")
_SIGNS = {"slash": "/", "exclamation_mark": "!", "at": "@", "number_sign": "#"}
"""What begins a command, a shell line, a mention or a note, by Textual's name."""


class Workbench(ThemedApp[int], AppBase):
    """One window on one folder. It is the `WorkbenchPort` of its features."""

    TITLE = "gsh-tui"
    CSS_PATH = cast("Any", style_paths())
    ENABLE_COMMAND_PALETTE = False  # Textual's own; ours is `action_palette`
    BINDINGS = [bind(key, action_of(key)) for key in own_keys()]

    def __init__(
        self, opening: OpenRequest, make_hub: MakeHub = lazy_imports.make_hub, *, branch: str | None = None
    ) -> None:
        super().__init__(driver_class=None if "TEXTUAL_DRIVER" in os.environ else WorkbenchDriver)
        self.bridge: Bridge = Bridge(opening, make_hub, self._consumers)
        self.bridge.expecting = self._expect
        self.bridge.front = lambda: self.addressed
        self.upkeep = UiStateStore(self, str(opening.cwd))
        self.begin_with_theme(self.upkeep.theme)
        branch = git_info.branch(opening.cwd) if branch is None else branch
        project = git_info.project_name(opening.cwd)
        layout = self.upkeep.memory.layout
        self.bench = WorkbenchScreen(layout, project, branch, self.front, self.make_centre(), self.clock)
        self.parts = [make(self) for make in FEATURES]
        """The features."""
        self.keys_off: frozenset[str] = frozenset()
        """Those of features that are switched off."""
        self._attention = Attention(self)
        watchers = (watcher for part in self.parts for watcher in part.watchers())
        self._watchers: tuple[EventConsumer, ...] = (Notices(self), self._attention, *watchers)
        self._presses = 0
        """Keys, pastes and clicks so far."""
        self._began = False
        """One of them was more than an enter with nothing to send, or an escape with nothing to leave."""
        self._backed_at = -1
        """The press at which escape last found nothing to leave, in an empty input."""
        self._is_there = False
        """The first frame was drawn."""
        self._ceased = False
        """It is being left."""
        self.is_first = False
        """Nothing was ever started or set here."""
        self.edited: Message | None = None
        """The prompt to go back to once the conversation is open."""
        self.left: tuple[AgentView | None, bool] = None, False
        """The agent that was in front when the person left, and whether its turn goes on."""

    def make_centre(self) -> MainArea:
        """The widgets of the centre; a test's window has others."""
        from gshtui.ui.window.main_area import make_main_area

        return make_main_area(self.bridge, self.clock, dict(slash_words()))

    def get_default_screen(self) -> Screen[Any]:
        return self.bench

    def part(self, kind: type[F]) -> F:
        """The feature of this kind."""
        return next(part for part in self.parts if isinstance(part, kind))

    def _consumers(self) -> Iterator[EventConsumer]:
        """The current event consumers: those of the whole window, then the widgets of all screens."""
        yield from self._watchers
        for screen in self.screen_stack:
            for node in screen.walk_children(with_self=True):
                if hasattr(type(node), "CONSUMES"):
                    yield cast("EventConsumer", node)

    # Start and end

    @on(WorkbenchScreen.Ready)
    def _takes_keys(self) -> None:
        area = self.bench.input
        release_input(self, area, LetterEcho(area, area, self.comes_next).show, self._take_key)

    def on_ready(self) -> None:
        self.call_after_refresh(self._first_frame_is_there)

    def _first_frame_is_there(self) -> None:
        self._is_there = True
        self.upkeep.keep_frame()
        if self.bridge.opening.pane:
            self.bench.action_pane(self.bridge.opening.pane)
        self.run_worker(self._start_hub(), group="hub")

    async def _start_hub(self) -> None:
        await self.bench.open_chat()
        self.isolation.stand()
        if self.is_first:
            self.part(SettingsFeature).offer_setup(unless=lambda: self._began)  # it needs no hub until it is answered
        await self.bridge.start()
        if self.bridge.refused:
            self._cease()
            self.exit(1)
        elif self.bridge.failed:
            self.bench.header.failed()
            hint = "`gsh-tui doctor` says what is missing. You can look around, but no model will answer."
            self.bench.banner.add_notice(f"The workbench's hub did not start: {self.bridge.failed}", hint)
        if self.bridge.failed or (settings := self.bridge.settings) is None:
            return  # or the person quit while the hub was starting
        self.apply_settings(settings)
        self.bench.centre.connect()
        await self._suggest()
        if not self.bridge.opening.session:
            self.part(ContextFeature).mark_known()
            await self.offer_last()
        elif self.edited is not None:
            self.part(ConversationFeature).edit_prompt(self.edited.id, self.edited.text, self.bridge.opening.session)

    async def _suggest(self) -> None:
        """Say in the empty conversation where it is, and what the next step is there."""
        from gshtui.ui.conversation.first_step import first_step, from_home

        cwd = self.bridge.opening.cwd
        step = await asyncio.to_thread(first_step, cwd, os.environ)
        if (chat := self.bench.conversation) is not None:
            chat.suggest(step, from_home(cwd, os.environ))

    async def offer_last(self) -> None:
        """Offer the last conversation of this folder that is open nowhere and not an agent's own, if there is one."""
        offer = self.bench.query_one(SessionOffer)  # the window may be closed while they are listed
        listed = await self.part(ConversationFeature).sessions()
        found = [one for one in listed if (one.messages or one.queued) and not one.held_by and not one.parent]
        if found:
            from gshtui.ui.conversation.pickers import session_choice  # with its dialogs

            choice = session_choice(found[0], self.clock())
            offer.offer(choice.id, choice.name, choice.detail)

    async def on_unmount(self) -> None:
        """However the window ends, the hub stops in order."""
        try:
            await self._end_parts()
        finally:
            await self.bridge.stop()

    async def action_quit(self) -> None:
        """Leave: nothing starts from here on, the hub stops in order, and what was accepted is on disk."""
        if self.bridge.opening.alone and not self._ceased:
            self.run_worker(self._ask_to_leave(), exit_on_error=False, group="pick", exclusive=True)
        else:
            self._go()

    async def _ask_to_leave(self) -> None:
        """Ask first where turns end with the hub, which is in this process."""
        from gshtui.commands.declaration import CommandError
        from gshtui.fleet.keeper.keeper_commands import StopKeeper
        from gshtui.ui.kit.widgets.dialogs import ConfirmScreen

        question = None
        with contextlib.suppress(NotReady, CommandError):
            question = await self.bridge.question(StopKeeper()) if self.bridge.hub is not None else None
        if question is None:
            self._go()
        elif not isinstance(self.screen, ConfirmScreen):
            ends = ConfirmScreen("Leave and stop the hub?", " ".join(question.losses), yes="Leave", note=question.note)
            self.push_screen(ends, lambda yes: self._go() if yes else None)

    def _go(self) -> None:
        self._cease()
        self.run_worker(self._leave(), exit_on_error=False, group="leave", exclusive=True)

    def _cease(self) -> None:
        """Nothing starts any more, and what is being written is kept, with the prompts that no hub has had."""
        self._ceased = True
        unheard = self.bridge.cease()
        self.bench.centre.below.leave([event for event in unheard if isinstance(event, PromptSubmitted)])

    def leave(self) -> None:
        self._cease()
        if self._is_there:
            self.call_later(self.action_quit)
        else:
            super().leave()

    async def _leave(self) -> None:
        self.bench.header.stopping()
        self.upkeep.keep_layout()
        self.upkeep.keep_frame()
        agent = self.bench.header.state.agent
        await self._end_parts()
        self.left = agent, await self.bridge.stop()
        self.exit(0)

    async def _end_parts(self) -> None:
        for part in self.parts:
            await part.end()

    def say_fault(self, fault: Fault, hint: str = "") -> None:
        super().say_fault(fault, hint)
        self.bridge.note_fault(fault, hint)

    # Keys and messages

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.MouseDown) and not event.is_forwarded:
            self._pressed(dismisses=True)
        await super().on_event(event)

    async def route_key(self, event: Typed) -> None:
        key = event.key if isinstance(event, events.Key) else ""
        self._pressed(by_chance=key in _BY_CHANCE and not self.input_text, dismisses=key == "escape")
        await super().route_key(event)

    def _pressed(self, *, by_chance: bool = False, dismisses: bool = False) -> None:
        self._presses += 1  # two escapes belong together if nothing was pressed between them
        self._began = self._began or not by_chance
        self._attention.pressed(dismisses=dismisses)

    def _take_key(self, key: events.Key) -> bool:
        """Hand a key straight to the widget with the focus, if it takes it and nothing comes before; whether it did."""
        focused = self.focused if self.screen_stack else None
        taken = isinstance(focused, KeyTaker) and self.app_focus and self.comes_next(focused) and focused.take_key(key)
        if taken:
            self._pressed(dismisses=key.key == "escape")
        return taken or (key.key.startswith("alt+") and self._take_apart(key.key.removeprefix("alt+")))

    def _take_apart(self, key: str) -> bool:
        """Escape and a letter in one piece look like the letter with alt: read them so where that means nothing.

        The letters behind it would act as keys of the pane, where they were meant for the input. In the input nothing
        is left, so that no turn is interrupted by a slip, and only what begins a command or a mention is typed.
        """
        character = _SIGNS.get(key, key if len(key) == 1 and key.isalnum() else "")
        if not character or sends_every_key(self) or not self.screen_stack or self.screen is not self.bench:
            return False
        if takes_every_key(self.focused):
            return False
        at_input = self.focused is self.bench.input
        if (at_input and key not in _SIGNS) or f"alt+{key}" in self.bench.active_bindings:
            return False
        if not at_input:
            self.post_message(events.Key("escape", "\x1b"))
        self.post_message(events.Key(key, character))
        return True

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if self.screen_stack and takes_every_key(self.screen.focused):
            return False
        if action in ("press", "palette") and self.screen_stack and self.screen.is_modal:
            return False  # what it opens would be behind the dialog, and take the keys
        if action == "press" and self.keys_off.issuperset(parameters):
            return False
        if parameters == ("tabs.view",):
            pane = self.bench.deck.panes.get(self.bench.deck.front)
            return pane is not None and pane.has_other_view
        return super().check_action(action, parameters)

    def action_press(self, key: str) -> None:
        """Run the action of this key's feature."""
        for part in self.parts:
            if key in (*part.KEYS, *part.PALETTE, *part.OPENS.values()):
                part.press(key)

    def action_palette(self) -> None:
        from gshtui.ui.window.palette import PaletteScreen, open_palette

        if not isinstance(self.screen, PaletteScreen):
            open_palette(self, self.upkeep.memory.recent, self.upkeep.entry_chosen)

    def action_keys(self) -> None:
        from gshtui.ui.window.help import HelpScreen, help_screen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(help_screen(self.screen, self.keys_off))

    def action_sleep(self) -> None:
        from gshtui.ui.kit.terminal_handoff import has_job_control, sleep_until_continued

        if has_job_control():
            sleep_until_continued(self)
        else:
            self.notify("Can't suspend: there is no parent shell to resume from.", markup=False)

    @on(FeatureMessage)
    def _for_part(self, message: FeatureMessage) -> None:
        for route in (route for part in self.parts for route in part.routes()):
            route.handle_message(message)

    @on(Intent)
    def _intent(self, message: Intent) -> None:
        self.publish(message.event)

    @on(CommandLine)
    def _command(self, message: CommandLine) -> None:
        self.run_command(message.line, message.meant, message.typed)

    @on(CommandCall)
    def _call(self, message: CommandCall) -> None:
        self.perform(message.parameters, unsent=message.unsent)

    @on(Deck.Turned)
    def _turned(self) -> None:
        if not self.bench.deck.focus_front():
            self.bench.input.focus()

    def on_conversation_pane_command_began(self) -> None:
        if not self.is_writing:
            self.bench.deck.show(CHAT)

    async def on_prompt_input_sent(self, message: PromptInput.Sent) -> None:
        if message.now:
            self.bench.show_newest()
        self.run_worker(self._remember(message.text), exit_on_error=False, group="prompts")

    async def _remember(self, text: str) -> None:
        from gshtui.store.engine.store_errors import StoreError

        try:
            await (await self.bridge.running()).keep_prompt(str(self.bridge.opening.cwd), text)
        except (NotReady, StoreError):
            return  # the record reports write errors itself; the prompt is sent anyway

    @on(WorkbenchScreen.Backed)
    async def _backed(self) -> None:
        again = self._presses == self._backed_at + 1 and not self.input_text
        self._backed_at = -1 if self.input_text else self._presses
        if await self.interrupt():
            self._backed_at = -1
        elif again:
            self._backed_at = -1
            self.action_press("app.rewind")
        else:
            await self.bench.front_scroll.go("end")

    @on(WorkbenchScreen.LayoutChanged)
    def _layout(self, message: WorkbenchScreen.LayoutChanged) -> None:
        self.upkeep.layout_chosen(message.layout)

    @on(SessionOffer.Taken)
    def _taken(self, message: SessionOffer.Taken) -> None:
        self.publish(SessionChangeRequested(agent=self.front, session=message.session))

    @on(SessionOffer.Listed)
    def _listed(self) -> None:
        self.action_press("app.sessions")

    @on(DrawsSixel)
    def _draw_pictures(self) -> None:
        from gshtui.ui.kit.transcript.transcript import Transcript

        for view in (view for screen in self.screen_stack for view in screen.query(Transcript)):
            view.draw_again()

    @on(events.AppFocus)
    def _looks_again(self) -> None:
        self.renew_theme()
        self._attention.reports_focus = True
        self._attention.seen()

    @on(events.AppBlur)
    def _looks_away(self) -> None:
        self._attention.reports_focus = True

    # What features need from the window

    def clock(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    @property
    def front(self) -> str:
        """The agent in front."""
        return self.bridge.opening.agent or "main"

    @property
    def session(self) -> str:
        """The conversation in front; empty: unknown so far."""
        agent = self.bench.header.state.agent
        return agent.row.session if agent is not None else ""

    @property
    def deck(self) -> Deck:
        """The tabs of the centre."""
        return self.bench.deck

    @property
    def input_line(self) -> Widget:
        return self.bench.input

    def publish(self, event: Event) -> None:
        """Publish an intent; notify the person if there is no hub."""
        if not self.bridge.publish(event):
            text = f"Can't do that: the hub is not running. {self.bridge.failed}"
            self.notify(text, severity="error", markup=False)

    @cached_property
    def runner(self) -> CommandRunner:
        """Runs commands."""
        from gshtui.ui.window.command_runner import CommandRunner

        return CommandRunner(self)

    def run_command(self, line: str, meant: Meant | None = None, typed: str = "") -> None:
        """Run a line of the command language in a worker: ask what it asks, and show its outcome. `typed`: instead."""
        words = f"Running {typed or '/' + line.removeprefix('/')}"
        self.attend(self.runner.run_line(line, meant), group="commands", words=words)

    def perform(
        self, parameters: Returns[object], then: Callable[[], None] | None = None, *, unsent: Unsent | None = None
    ) -> None:
        """Run a command by its parameters in a worker: ask what it asks, and show its outcome."""
        words = f"Running /{parameters.words()}"
        self.attend(self.runner.run_value(parameters, then=then, unsent=unsent), group="commands", words=words)

    def follow(self, work: asyncio.Future[Any], words: str) -> None:
        for status in self.bench.query(PromptStatus):
            status.follow(work, words)

    def _expect(self, answer: asyncio.Future[None]) -> None:
        for status in self.bench.query(PromptStatus):
            status.follow(answer, "The hub does not answer", SILENT)

    async def result_of(self, parameters: Returns[R]) -> R | None:
        """The result of a command that lists something; `None`: unavailable."""
        try:
            return await self.bridge.call(parameters)
        except ExpectedError:
            return None

    async def interrupt(self) -> bool:
        """Stop the turn in progress, or else the newest input-line command; returns whether there was one.

        The person's prompts that wait for the agent would start the next turn, so they go back into the input.
        """
        agent = self.bench.header.state.agents.agents.get(self.addressed)
        if agent is not None and (agent.turn or (agent.terminal and agent.status in AT_WORK)):
            for withdrawal in self.bench.centre.below.take_back(agent.id):
                self.publish(withdrawal)
            self.publish(InterruptRequested(agent=agent.id))
            return True
        return await self.bridge.stop_command()

    @property
    def is_writing(self) -> bool:
        return self.bench.input.drafts.in_use

    @property
    def input_text(self) -> str:
        return self.bench.input.text

    @property
    def room(self) -> str:
        """The call in which typed lines are; empty: in none."""
        return self.bench.addressee.call

    @property
    def addressed(self) -> str:
        """The one of our own agents that prompts go to, or else the one in front."""
        addressee = self.bench.addressee
        return self.front if addressee.program else addressee.agent

    def give_back(self, text: str, whose: str | None = None) -> None:
        self.bench.centre.below.give_back(text, whose)

    def write(self, text: str) -> None:
        self.bench.input.focus()
        self.bench.input.insert(text)

    def show_outcome(self, line: str, text: str, *, failed: bool = False) -> bool:
        self.show_centre()
        return self.bench.show_outcome(line, text, failed=failed)

    def show_chat(self) -> None:
        """Go to the conversation in front."""
        self.bench.action_pane(CHAT)

    def show_centre(self) -> None:
        """End the zoom of a side pane, so that a tab can be seen."""
        self.bench.set_layout(self.bench.layout_now.with_zoom(""))

    def selected_text(self) -> str:
        return self.screen.get_selected_text() or ""

    def clear_selection(self) -> None:
        self.screen.clear_selection()

    def offered_session(self) -> str:
        return self.bench.query_one(SessionOffer).session

    def apply_settings(self, settings: Settings) -> None:
        """Apply what the window takes from the settings."""
        if off := {part for part in self.parts if type(part) in switched_off(settings.features)}:
            self.parts = [part for part in self.parts if part not in off]
            self.keys_off |= {key for part in off for key in (*part.KEYS, *part.PALETTE)}
        self.upkeep.apply(settings, self.bridge, self._watchers)
        if (chat := self.bench.conversation) is not None:
            chat.transcript.result_lines = settings.ui.result_lines
        self.bench.input.use_vi(settings.ui.keys == "vi")

    @property
    def textual(self) -> App[Any]:
        """The app that gives its terminal to another program."""
        return self

    def choose_theme(self, name: str) -> None:
        """Change the theme, and remember it."""
        if name:
            self.theme = self.showable_theme(name)
            self.upkeep.theme_chosen(name)

    def unchoose_theme(self) -> None:
        self.upkeep.theme_chosen("")

    def agent_names(self) -> Mapping[str, str]:
        return {agent.id: agent.row.name for agent in self.bench.header.state.agents.agents.values()}

    def show_cut(self, cut: ContextCut) -> None:
        from gshtui.ui.agents.agents_pane import AgentsPane

        self.bench.query_one(AgentsPane).consume([cut])
        self.bench.header.consume([cut])

    def show_restored(self, agent: str, iterations: Sequence[Iteration]) -> None:
        from gshtui.ui.agents.agents_pane import AgentsPane

        self.bench.query_one(AgentsPane).restore(agent, iterations)
        self.bench.header.restore(iterations)

    async def mount_above_input(self, panel: Widget) -> None:
        await self.bench.middle.mount(panel, before=self.bench.centre.below)

    async def model_choices(self) -> list[PickerChoice]:
        from gshtui.ui.conversation.pickers import model_choice

        return [model_choice(model) for model in (await self.part(ConversationFeature).models()).models]
