"""Agents' terminals in the window: one tab per agent, or one full screen.

Neither draws nor knows tmux.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import SuspendNotSupported

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.event import Event
from gshtui.bus.events.fleet_events import AgentChanged, AgentSpawned
from gshtui.bus.events.shell_events import InputCommandFinished, InputCommandStarted
from gshtui.system.expected_error import ExpectedError
from gshtui.ui.kit.bridge import EventConsumer, NotReady
from gshtui.ui.kit.feature import Feature, FeatureRoute
from gshtui.ui.kit.keys.bound_keys import key_of
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widget_messages import OpenTerminal
from gshtui.ui.kit.widgets.tabs import PaneTabs
from gshtui.ui.kit.workbench_port import WorkbenchPort
from gshtui.ui.terminal.terminals import TerminalError, TerminalRegistry

if TYPE_CHECKING:
    from gshtui.ui.terminal.terminal_pane import TerminalPane

_APART = 0.15
"""Seconds between looks whether a line has ended."""
_LOOKS = 2
"""Looks in a row that find the shell at its prompt, before its line counts as ended."""


class UnmetTerminals:
    """Notices commands of the input line that failed because they had no terminal, and offers them in the shared shell.

    The line is typed there, and not entered: what it has done before it failed is not done again unasked.
    """

    CONSUMES: ClassVar[tuple[type[Event], ...]] = (InputCommandStarted, InputCommandFinished)

    def __init__(self, window: WorkbenchPort) -> None:
        self._window = window
        self._commands: dict[str, str] = {}
        """Those that are running, by run."""

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        for event in events:
            if isinstance(event, InputCommandStarted):
                self._commands[event.run] = event.command
            elif isinstance(event, InputCommandFinished):
                command = self._commands.pop(event.run, "")
                if command and event.agent == self._window.front and event.status == "error":
                    self._offer(command, event.text)

    def _offer(self, command: str, output: str) -> None:
        from gshtui.programs.screen.terminal_programs import complains

        if not complains(output):
            return
        line = self._window.input_line
        if getattr(line, "text", ""):  # the person is typing
            words = f"{command} needs a terminal. Press {key_of(line, 'terminal.shared')} to open one."
            self._window.notify(words, severity="warning", markup=False)
            return
        words = f"{command} needs a terminal. Press {key_of(line, 'prompt.submit')} to run it here."
        self._window.notify(words, markup=False, timeout=8)
        self._window.post_message(OpenTerminal(OpenTerminal.SHARED, command=command, enter=False))


class HiddenQuestions:
    """Notices programs that ask while their tab is not to be seen: the terminal may have the size of a small window."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = (AgentSpawned, AgentChanged)

    def __init__(self, asks: Callable[[AgentRow], None]) -> None:
        self._asks = asks
        self._asking: set[str] = set()

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        for event in events:
            if isinstance(event, AgentSpawned | AgentChanged):
                row = event.row
                if row.status != "waiting" or row.ended or row.speaks_events or not row.pane:
                    self._asking.discard(row.id)
                elif row.id not in self._asking:
                    self._asking.add(row.id)
                    self._asks(row)


class TerminalFeature(Feature):
    """Terminals in tabs."""

    KEYS = ("terminal.shared",)

    def __init__(self, window: WorkbenchPort) -> None:
        super().__init__(window)
        self.terminals = TerminalRegistry(window.bridge.running, window.bridge.opening.cwd)
        self._tabs: PaneTabs[TerminalPane] = PaneTabs(window.deck, "terminal")

    def routes(self) -> Sequence[FeatureRoute[Any]]:
        return (FeatureRoute(OpenTerminal, lambda message: self.window.bring(self._show(message), group="terminals")),)

    def watchers(self) -> Sequence[EventConsumer]:
        return (UnmetTerminals(self.window), HiddenQuestions(self._show_whole))

    def press(self, key: str) -> None:
        self.window.post_message(OpenTerminal(OpenTerminal.SHARED))

    def _show_whole(self, row: AgentRow) -> None:
        """Have an agent show all that it asks, if that can be read only elsewhere."""
        tab = self._tabs.find_tab(row.id)
        if tab is None or not tab.is_on_screen:
            self.run_work(self._make_readable(row.id), "questions")

    async def _make_readable(self, agent: str) -> None:
        from gshtui.tmux.tmux_errors import TmuxError

        with contextlib.suppress(NotReady, TerminalError, TmuxError):  # its tab says so once it is opened
            row = await self.terminals.row(agent)
            await self.terminals.terminal_of(row).make_readable()

    async def _show(self, message: OpenTerminal) -> bool:
        from gshtui.tmux.tmux_errors import TmuxError

        before = self.window.deck.front
        try:
            pane = await self._open(message.agent, write=message.write)
        except (NotReady, TerminalError, TmuxError) as error:
            if message.command and message.enter:
                self.run_work(self._run_outside(message.command), "terminals")
            else:
                self.window.notify(str(error), severity="error", markup=False)
            return False
        if message.write:
            self.window.input_line.focus()
        if message.attach:
            pane.take_keys()
        self.run_work(self._go_on(message, pane, before), "terminals")
        return True

    async def _go_on(self, message: OpenTerminal, pane: TerminalPane, before: str) -> None:
        """Do what was asked of a tab that is in front now."""
        if message.attach:
            await pane.visit()
        pane.filled = False
        if message.command and await self._type(message.command, enter=message.enter) and pane.view.has_focus:
            pane.take_keys()
            if message.enter:
                await self._return(pane, before)

    async def _return(self, pane: TerminalPane, before: str) -> None:
        """Once the line that was entered has ended, unless the person has left before: back to the input.

        After a program that filled the screen the tab `before` is in front again; other output stays to be read.
        """
        from gshtui.tmux.tmux_errors import TmuxError

        looks = 0
        while looks < _LOOKS:  # a shell may look free for a moment before it runs the line
            await asyncio.sleep(_APART)
            if not pane.view.typing:
                return
            try:
                looks = looks + 1 if await self.terminals.shared_rests(pane.state.row) else 0
            except (NotReady, TmuxError):
                return  # the tab says what has become of the terminal
        if not pane.view.typing:
            return
        pane.view.action_leave()
        if pane.filled and not self.window.is_writing:
            self.window.deck.show(before)
        self.window.input_line.focus()

    async def _type(self, command: str, *, enter: bool) -> bool:
        """Type a line into the shared shell, once it waits for one; returns whether it was."""
        from gshtui.commands.line_syntax import quote

        try:
            await self.window.bridge.run(f"terminal command={quote(command)} wait=false enter={str(enter).lower()}")
        except ExpectedError as error:
            self.window.notify(str(error), severity="error", markup=False, timeout=8)
            return False
        return True

    async def _run_outside(self, command: str) -> None:
        """Run a line in place of the window, where there is no shared shell."""
        from gshtui.ui.kit.terminal_handoff import run_program

        shell = os.environ.get("SHELL") or "/bin/sh"
        try:
            code = await run_program(app_of(self.window.bench), [shell, "-c", command], self.window.bridge.opening.cwd)
        except (SuspendNotSupported, OSError) as error:
            self.window.notify(f"This needs a terminal of its own: {error}.", severity="error", markup=False)
            return
        if code:
            self.warn(f"{command} ended with exit code {code}.")

    async def _open(self, agent: str, *, write: bool) -> TerminalPane:
        """Bring an agent's tab to the front, creating it if needed."""
        from gshtui.ui.kit.widgets.agent_line import tab_title  # neither is needed for the first screen
        from gshtui.ui.terminal.terminal_pane import TerminalPane

        shared = agent == OpenTerminal.SHARED
        row = await self.terminals.shared() if shared else await self.terminals.row(agent)
        opened = self._tabs.find_tab(row.id)
        if shared and opened is not None:
            opened.show_row(row)  # it may have been started anew
        pane = opened or TerminalPane(self.terminals, row, self.window.clock)
        pane.at_input = write
        title = tab_title(row) if not row.speaks_events else f"{tab_title(row)}'s terminal"
        return await self._tabs.open(row.id, title, lambda: pane)

    async def end(self) -> None:
        """Stop mirroring."""
        await self.terminals.close()
