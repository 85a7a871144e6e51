"""The workbench's window: it wires screen, bridge and what people do, and nothing else.

Refuses to hold state of a conversation or to draw. `run` is called by the command line, with the first frame that is on
the terminal already.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import events, on
from textual.screen import Screen
from textual.widget import Widget

from gshtui.settings import git_info
from gshtui.system.faults import Fault
from gshtui.ui.context.context_feature import PALETTE_ACTIONS, ContextFeature
from gshtui.ui.kit import themes
from gshtui.ui.kit.bridge import Bridge, EventConsumer, NotReady
from gshtui.ui.kit.hub_port import MakeHub, OpenRequest
from gshtui.ui.kit.key_table import bind
from gshtui.ui.kit.pane_layout import CHAT
from gshtui.ui.kit.stylesheets import style_paths
from gshtui.ui.kit.tabs import Deck
from gshtui.ui.kit.textual.driver import WorkbenchDriver, free_alt_digits, release_input
from gshtui.ui.kit.widget_messages import CommandLine, ForContext, Intent, OpenTerminal
from gshtui.ui.terminal.terminal_tabs import TerminalTabs
from gshtui.ui.terminal.terminals import TerminalError, TerminalRegistry
from gshtui.ui.window import lazy_imports
from gshtui.ui.window.app_actions import ACTIONS
from gshtui.ui.window.fleet_app import FleetApp
from gshtui.ui.window.main_area import MainArea, SessionOffer
from gshtui.ui.window.notifications import Attention, Notices
from gshtui.ui.window.ui_state import UiStateStore
from gshtui.ui.window.workbench_screen import WorkbenchScreen

if TYPE_CHECKING:
    from gshtui.bus.context_data import Iteration
    from gshtui.ui.context.inspector_pane import InspectorPane
    from gshtui.ui.context.summaries import SummariesPane
    from gshtui.ui.kit.dialogs import PickerChoice
    from gshtui.ui.prompt.prompt_input import PromptInput
    from gshtui.ui.terminal.terminal_pane import TerminalPane
    from gshtui.ui.window.first_frame import FirstFrame


class Workbench(FleetApp):
    """One window on one folder."""

    TITLE = "gsh-tui"
    CSS_PATH = cast("Any", style_paths())
    COMMANDS: ClassVar[set[Any]] = set(lazy_imports.PALETTE)
    BINDINGS = [bind(id, action) for id, action in ACTIONS.items()]

    def __init__(
        self, opening: OpenRequest, make_hub: MakeHub = lazy_imports.make_hub, *, branch: str | None = None
    ) -> None:
        super().__init__(driver_class=None if "TEXTUAL_DRIVER" in os.environ else WorkbenchDriver)
        for theme in themes.OURS:
            self.register_theme(theme)
        self.bridge = Bridge(opening, make_hub, self._consumers)
        self.upkeep = UiStateStore(self, str(opening.cwd))
        self.begin_with_theme(self.upkeep.theme)
        branch = git_info.branch(opening.cwd) if branch is None else branch
        project = git_info.project_name(opening.cwd)
        layout = self.upkeep.memory.layout
        self.bench = WorkbenchScreen(layout, project, branch, self.front, self.make_centre(), self.clock)
        self.terminals = TerminalTabs(self.bench.deck, TerminalRegistry(self.bridge.running, opening.cwd), self.clock)
        self.context = ContextFeature(self, self.bench.deck)
        self._watchers: tuple[EventConsumer, ...] = (Notices(self), Attention(self), self.context)

    def make_centre(self) -> MainArea:
        """The widgets of the centre; a test's window has others."""
        from gshtui.ui.window.main_area import make_main_area

        return make_main_area(self.bridge)

    def get_default_screen(self) -> Screen[Any]:
        return self.bench

    def _consumers(self) -> Iterator[EventConsumer]:
        """Whoever wants events now: what concerns the window as a whole, then the widgets of all screens."""
        yield from self._watchers
        for screen in self.screen_stack:
            for node in screen.walk_children(with_self=True):
                if hasattr(type(node), "CONSUMES"):
                    yield cast("EventConsumer", node)

    # Start and end

    @on(WorkbenchScreen.Ready)
    def _takes_keys(self) -> None:
        release_input(self)

    def on_ready(self) -> None:
        self.call_after_refresh(self._first_frame_is_there)

    def _first_frame_is_there(self) -> None:
        self.upkeep.keep_frame()
        self.run_worker(self._start_hub(), group="hub")

    async def _start_hub(self) -> None:
        await self.bench.open_chat()
        self.isolation.stand()
        await self.bridge.start()
        if self.bridge.failed:
            self.bench.header.failed()
            hint = "`gsh-tui doctor` says what is missing. You can look around, but nothing will answer."
            self.bench.banner.say(f"The workbench's hub did not start: {self.bridge.failed}", hint)
            return
        if self.bridge.settings is None:
            return  # the window was left while its hub started
        self.upkeep.apply(self.bridge, self._watchers)
        self.bench.centre.connect()
        if not self.bridge.opening.session:
            await self.offer_last()

    async def offer_last(self) -> None:
        """Offer the last conversation of this folder, if there is one."""
        from gshtui.ui.window.pickers import listed_sessions, session_choice

        found = [one for one in listed_sessions(await self.data_of("session ls")) if one.get("messages")]
        if found:
            choice = session_choice(found[0], self.clock())
            self.bench.query_one(SessionOffer).offer(choice.id, choice.name, choice.detail)

    async def on_unmount(self) -> None:
        """However the window ends, the hub ends in order."""
        try:
            await self.terminals.end()
        finally:
            await self.bridge.stop()

    def say_fault(self, fault: Fault, hint: str = "") -> None:
        super().say_fault(fault, hint)
        self.bridge.note_fault(fault, hint)

    # What widgets say

    @on(Intent)
    def _intent(self, message: Intent) -> None:
        self.publish(message.event)

    @on(CommandLine)
    def _command(self, message: CommandLine) -> None:
        self.run_command(message.line)

    @on(OpenTerminal)
    def _open_terminal(self, message: OpenTerminal) -> None:
        self.run_worker(self._show_terminal(message.agent, message.attach), exit_on_error=False, group="terminals")

    async def _show_terminal(self, agent: str, attach: bool) -> None:
        from gshtui.tmux.tmux_errors import TmuxError

        try:
            await self.terminals.open(agent, attach=attach)
        except (NotReady, TerminalError, TmuxError) as error:
            self.notify(str(error), severity="error", markup=False)

    async def on_terminal_pane_closed(self, message: TerminalPane.Closed) -> None:
        await self.terminals.close(message.agent)

    # Contexts

    @on(ForContext)
    def _for_context(self, message: ForContext) -> None:
        self.context.handle_request(message)

    async def on_inspector_pane_closed(self, message: InspectorPane.Closed) -> None:
        await self.context.close_inspector(message.agent)

    def on_summaries_pane_answered(self, message: SummariesPane.Answered) -> None:
        self.context.handle_answer(message)

    def action_inspect(self) -> None:
        self.context.inspect(self.front)

    def action_context(self, action: str) -> None:
        """An action of the context pane, for the agent in front."""
        self.context.actions.perform(action, self.front, "")

    def palette_actions(self) -> Iterator[tuple[str, str]]:
        yield from super().palette_actions()
        yield from PALETTE_ACTIONS

    # What features need of the window

    @property
    def input_line(self) -> Widget:
        return self.bench.input

    def agent_names(self) -> Mapping[str, str]:
        return {agent.id: agent.name for agent in self.bench.header.state.agents.agents.values()}

    def show_restored(self, agent: str, iterations: Sequence[Iteration]) -> None:
        from gshtui.ui.agents.agents_pane import AgentsPane

        self.bench.query_one(AgentsPane).restore(agent, iterations)
        self.bench.header.restore(iterations)

    async def mount_above_input(self, panel: Widget) -> None:
        await self.bench.middle.mount(panel, before=self.bench.centre.below[0])

    async def model_choices(self) -> list[PickerChoice]:
        from gshtui.ui.window.pickers import listed_models, model_choice

        return [model_choice(model) for model in listed_models(await self.data_of("model list"))]

    # The tabs

    @on(Deck.Turned)
    def _turned(self, message: Deck.Turned) -> None:
        if not (
            self.terminals.focus(message.tab)
            or self.focus_changes(message.tab)
            or self.context.inspectors.focus(message.tab)
        ):
            self.bench.input.focus()

    def on_conversation_pane_command_began(self) -> None:
        self.bench.deck.show(CHAT)

    async def on_prompt_input_sent(self, message: PromptInput.Sent) -> None:
        self.run_worker(self._remember(message.text), exit_on_error=False, group="prompts")

    async def _remember(self, text: str) -> None:
        from gshtui.store.store_errors import StoreError

        try:
            await self.bridge.keep_prompt(text)
        except (NotReady, StoreError):
            return  # the record says by itself that it cannot be written; the prompt is sent all the same

    @on(WorkbenchScreen.Backed)
    def _backed(self) -> None:
        self.interrupt()

    @on(WorkbenchScreen.LayoutChanged)
    def _layout(self, message: WorkbenchScreen.LayoutChanged) -> None:
        self.upkeep.layout_chosen(message.layout)

    @on(SessionOffer.Taken)
    def _taken(self, message: SessionOffer.Taken) -> None:
        self.choose_session(message.session)

    @on(SessionOffer.Listed)
    def _listed(self) -> None:
        self.action_sessions()

    @on(events.AppFocus)
    def _looks_again(self) -> None:
        for watcher in self._watchers:
            if isinstance(watcher, Attention):
                watcher.seen()


def run(
    *,
    cwd: str,
    session: str = "",
    agent: str = "",
    provider: str = "",
    model: str = "",
    first_frame: FirstFrame | None = None,
) -> int:
    """Show the window until the person leaves it; gives the exit code.

    Args:
        cwd: the folder to work in.
        session: `new`, `latest`, an id or a prefix of one; empty: a new one, and the last one is offered.
        first_frame: what `first_frame.paint` has put on the terminal; taken over, or abandoned if nothing comes of it.
    """
    gc.disable()  # the bridge turns it on again once all is loaded
    free_alt_digits()
    WorkbenchDriver.first_frame = first_frame
    try:
        app = Workbench(OpenRequest(Path(cwd), session, agent or "main", provider, model))
        code = app.run()
        if app.broke is not None:  # for the crash report, not for the screen
            raise app.broke
    finally:
        gc.enable()
        if first_frame is not None:
            first_frame.abandon()
    return app.return_code or code or 0
