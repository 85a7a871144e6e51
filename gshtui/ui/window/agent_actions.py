"""What the window does for an agent of the sidebar: each a command, or a tab that is opened.

Owns the lines that are written for a command (a name, a message); refuses to hold what an agent does. Made by the app
when the first action is wanted.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

from gshtui.bus.events.agent_events import InterruptRequested
from gshtui.commands.declaration import CommandError
from gshtui.fleet import agent_calls as calls
from gshtui.ui.agents.agents_pane import agent_actions
from gshtui.ui.agents.agents_state import AgentView
from gshtui.ui.kit.bridge import NotReady
from gshtui.ui.kit.dialogs import InputScreen, Picker, PickerChoice
from gshtui.ui.kit.key_table import KEYS
from gshtui.ui.kit.widget_messages import ForContext, OpenTerminal

if TYPE_CHECKING:
    from gshtui.ui.window.fleet_app import FleetApp


class AgentActions:
    """The actions of `AGENT_ACTIONS`, and the menu of them."""

    def __init__(self, app: FleetApp) -> None:
        self._app = app
        run = app.perform
        self._do: dict[str, Callable[[AgentView], None]] = {
            "menu": self._menu, "open": self._open, "attach": self._attach,
            "report": lambda agent: run(calls.ShowAgent(agent=agent.id)), "message": self._message,
            "context": self._context, "interrupt": self._interrupt, "changes": self._changes, "rename": self._rename,
            "copy": self._copy, "restart": lambda agent: run(calls.RestartAgent(agent=agent.id)),
            "recover": lambda agent: run(calls.RecoverAgents(agent=agent.id)),
            "kill": lambda agent: run(calls.KillAgent(agent=agent.id)),
            "undo": lambda agent: run(calls.UndoKill(agent=agent.id)),
            "remove": lambda agent: run(calls.RemoveAgent(agent=agent.id)),
        }  # fmt: skip

    def perform(self, action: str, agent: AgentView) -> None:
        """Do it; what has to be asked first is asked."""
        self._do[action](agent)

    def _menu(self, agent: AgentView) -> None:
        rows = [KEYS[f"agents.{action}"] for action in agent_actions(agent)]
        choices = [
            PickerChoice(action, row.label, f"{row.help} · {row.keys.split(',')[0]}")
            for action, row in zip(agent_actions(agent), rows, strict=True)
        ]
        title = f"{agent.name} ({agent.id})"
        picker = Picker(title, choices, empty="Nothing can be done now.", hint="enter does it · escape closes")
        self._app.push_screen(picker, lambda chosen: self.perform(chosen, agent) if chosen else None)

    # Looking

    def _open(self, agent: AgentView) -> None:
        if not agent.terminal:
            self._app.bench.action_pane("chat")
        elif not agent.pane:
            self.perform("report", agent)
        else:
            self._app.show_centre()
            self._app.post_message(OpenTerminal(agent.id))
            self._seen(agent)

    def _attach(self, agent: AgentView) -> None:
        self._app.post_message(OpenTerminal(agent.id, attach=True))
        self._seen(agent)

    def _seen(self, agent: AgentView) -> None:
        """Showing an agent is what makes it read."""
        if agent.unread:
            self._app.run_worker(self._mark_read(agent), exit_on_error=False)

    async def _mark_read(self, agent: AgentView) -> None:
        with contextlib.suppress(NotReady, CommandError):
            await self._app.bridge.call(calls.MarkAgentRead(agent=agent.id))

    def _context(self, agent: AgentView) -> None:
        self._app.post_message(ForContext("inspect", agent.id))

    def _changes(self, agent: AgentView) -> None:
        self._app.open_changes(agent.worktree)

    def _copy(self, agent: AgentView) -> None:
        self._app.run_worker(self._copied(agent), exit_on_error=False, group="commands")

    async def _copied(self, agent: AgentView) -> None:
        try:
            found = await self._app.bridge.call(calls.AttachAgent(agent=agent.id))
        except (NotReady, CommandError):
            self._app.notify(f"{agent.name} has no terminal now.", severity="warning", markup=False)
            return
        line = shlex.join(found.argv)
        self._app.copy_to_clipboard(line)
        self._app.notify(f"Copied: {line}", markup=False, timeout=4)

    # Doing

    def _interrupt(self, agent: AgentView) -> None:
        if agent.terminal:
            self._app.perform(calls.InterruptAgent(agent=agent.id))
        else:
            self._app.publish(InterruptRequested(agent=agent.id))

    def _message(self, agent: AgentView) -> None:
        if not agent.terminal:
            self._app.bench.action_pane("chat")
            return

        def send(words: str | None) -> None:
            if words:
                self._app.perform(calls.SendToAgent(agent=agent.id, text=words))

        waits = "it is told once it is idle" if agent.busy else ""
        self._app.push_screen(InputScreen(f"Message to {agent.name} ({agent.id})", hint=waits, lines=True), send)

    def _rename(self, agent: AgentView) -> None:
        def rename(name: str | None) -> None:
            if name and name != agent.name:
                self._app.perform(calls.RenameAgent(agent=agent.id, name=name))

        self._app.push_screen(InputScreen(f"Another name for {agent.name} ({agent.id})", text=agent.name), rename)
