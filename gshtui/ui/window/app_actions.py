"""The app's own actions, each with a key and most of them in the palette, and running commands.

Owns these actions; refuses to wire the window or to draw.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from textual.widgets import TextArea

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import InterruptRequested, ModelChangeRequested
from gshtui.bus.events.session_events import SessionChangeRequested
from gshtui.ui.kit.bridge import Bridge, NotReady
from gshtui.ui.kit.textual.app_base import AppBase
from gshtui.ui.kit.textual.typed_app import takes_every_key
from gshtui.ui.kit.widget_messages import OpenTerminal
from gshtui.ui.terminal.terminal_tabs import TerminalTabs
from gshtui.ui.window.main_area import SessionOffer
from gshtui.ui.window.ui_state import UiStateStore
from gshtui.ui.window.workbench_screen import WorkbenchScreen

if TYPE_CHECKING:
    from gshtui.commands.declaration import Returns
    from gshtui.ui.window.command_runner import CommandRunner

ACTIONS: dict[str, str] = {
    "app.palette": "command_palette",
    "app.help": "keys",
    "app.quit": "quit",
    "app.copy": "copy_or_interrupt",
    "app.suspend": "sleep",
    "app.models": "models",
    "app.sessions": "sessions",
    "app.theme": "theme",
    "agents.spawn": "spawn",
    "diff.open": "changes",
    "context.inspect": "inspect",
    "terminal.shared": "shared_terminal",
    "session.continue": "continue_last",
}
"""Rows of the key table → actions of the app."""


class ActionsApp(AppBase):
    """The app's actions. Its attributes are the subclass's to make, before the first action."""

    bridge: Bridge
    bench: WorkbenchScreen
    upkeep: UiStateStore
    terminals: TerminalTabs
    _runner: CommandRunner | None = None

    @property
    def runner(self) -> CommandRunner:
        """Runs commands; made when the first is run."""
        if self._runner is None:
            from gshtui.ui.window.command_runner import CommandRunner

            self._runner = CommandRunner(self)
        return self._runner

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if self.screen_stack and takes_every_key(self.screen.focused):
            return False
        return super().check_action(action, parameters)

    def clock(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    @property
    def front(self) -> str:
        """The agent in front."""
        return self.bridge.opening.agent or "main"

    @property
    def busy(self) -> bool:
        """Whether the agent in front is in a turn."""
        agent = self.bench.header.state.agent
        return agent is not None and bool(agent.turn)

    def publish(self, event: Event) -> None:
        """Publish an intent; say so where there is no hub to take it."""
        if not self.bridge.publish(event):
            text = f"This could not be done: the hub is not running. {self.bridge.failed}"
            self.notify(text, severity="error", markup=False)

    def run_command(self, line: str) -> None:
        """Run a line of the command language in a worker: ask what it asks, and show its outcome."""
        self.run_worker(self.runner.run_line(line), exit_on_error=False, group="commands")

    def perform(self, parameters: Returns[Any]) -> None:
        """Run a command by its parameters in a worker: ask what it asks, and show its outcome."""
        self.run_worker(self.runner.run_value(parameters), exit_on_error=False, group="commands")

    async def data_of(self, line: str) -> Any:
        """The data of a command that lists something; `None` where it cannot be had."""
        from gshtui.commands.declaration import CommandError

        try:
            return (await self.bridge.run(line)).data
        except (NotReady, CommandError):
            return None

    def write(self, text: str) -> None:
        """Put words into the input, to be finished there."""
        area = self.bench.input
        area.focus()
        if isinstance(area, TextArea):
            area.insert(text)

    def palette_actions(self) -> Iterator[tuple[str, str]]:
        """Rows of the key table that can be done from the palette, with their actions."""
        for id, action in ACTIONS.items():
            if id not in ("app.palette", "app.copy"):
                yield id, f"app.{action}"
        for binding in WorkbenchScreen.BINDINGS:
            if not isinstance(binding, tuple) and binding.id and binding.id.startswith(("panes.", "tabs.")):
                yield binding.id, f"screen.{binding.action}"

    # Actions

    def action_keys(self) -> None:
        from gshtui.ui.window.help import HelpScreen, help_screen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(help_screen(self.screen))

    def action_copy_or_interrupt(self) -> None:
        """Copy what is selected; with nothing selected, interrupt what goes on; when nothing does, say how to leave."""
        focused = self.screen.focused
        selected = self.screen.get_selected_text()
        if not selected and isinstance(focused, TextArea):
            selected = focused.selected_text
        if selected:
            self.copy_to_clipboard(selected)
            self.screen.clear_selection()
            self.notify("Copied.", markup=False, timeout=2)
        elif not self.interrupt():
            self.notify("ctrl+q quits. The conversation is kept.", markup=False, timeout=4)

    def interrupt(self) -> bool:
        """Stop the turn in progress, or without one the newest command of the input line; whether there was any."""
        if self.busy:
            self.publish(InterruptRequested(agent=self.front))
            return True
        return self.bridge.stop_command()

    def action_sleep(self) -> None:
        from gshtui.ui.kit.terminal_handoff import has_job_control, sleep_until_continued

        if has_job_control():
            sleep_until_continued(self)
        else:
            self.notify("Can't suspend: there is no parent shell to resume from.", markup=False)

    def action_models(self) -> None:
        self.run_worker(self._pick_model(), exit_on_error=False, group="pick", exclusive=True)

    async def _pick_model(self) -> None:
        from gshtui.ui.window.pickers import ModelsScreen, listed_models

        found = listed_models(await self.data_of("model list"))
        self.push_screen(ModelsScreen(found), lambda chosen: self.choose_model(chosen or ""))

    def choose_model(self, chosen: str) -> None:
        """Use `provider/model` from the next request on."""
        if chosen:
            provider, _, model = chosen.partition("/")
            self.publish(ModelChangeRequested(agent=self.front, provider=provider, model=model))

    def action_sessions(self) -> None:
        self.run_worker(self._pick_session(), exit_on_error=False, group="pick", exclusive=True)

    async def _pick_session(self) -> None:
        from gshtui.ui.window.pickers import SessionsScreen, listed_sessions

        agent = self.bench.header.state.agent
        found = listed_sessions(await self.data_of("session ls"))
        picker = SessionsScreen(found, current=agent.session if agent else "", now=self.clock())
        self.push_screen(picker, lambda chosen: self.choose_session(chosen or ""))

    def choose_session(self, chosen: str) -> None:
        """Go on with a conversation (`new` begins one); the one so far is kept."""
        if chosen:
            self.publish(SessionChangeRequested(agent=self.front, session=chosen))

    def action_continue_last(self) -> None:
        session = self.bench.query_one(SessionOffer).session
        if session:
            self.choose_session(session)
        else:
            self.notify(
                "There is no earlier conversation to continue here. f3 lists all conversations.",
                markup=False,
                timeout=4,
            )

    def action_shared_terminal(self) -> None:
        self.post_message(OpenTerminal(OpenTerminal.SHARED))

    def action_theme(self) -> None:
        from gshtui.ui.kit.dialogs import Picker, PickerChoice

        names = sorted(self.available_themes, key=lambda name: (not name.startswith("gsh-"), name))
        choices = [PickerChoice(name, name, current=name == self.theme) for name in names]
        picker = Picker("Themes", choices, empty="", hint="enter takes it · escape closes")
        self.push_screen(picker, lambda chosen: self.choose_theme(chosen or ""))

    def choose_theme(self, name: str) -> None:
        """Change the theme, and remember it."""
        if name:
            self.theme = name
            self.upkeep.theme_chosen(name)

    async def action_quit(self) -> None:
        """Leave: the hub stops in order, what was accepted is on disk."""
        self.run_worker(self._leave(), exit_on_error=False, group="leave", exclusive=True)

    async def _leave(self) -> None:
        self.bench.header.stopping()
        self.upkeep.keep_layout()
        self.upkeep.keep_frame()
        await self.terminals.end()
        await self.bridge.stop()
        self.exit(0)
