"""What the window does for an agent of the sidebar: each a line of the command language, or a tab that is opened.

Owns the questions before a line is run (a name, words, is it to be killed); refuses to hold what an agent does. Made by
the app when the first action is wanted.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from gshtui.bus.events.agent import InterruptRequested
from gshtui.commands.declaration import CommandError
from gshtui.commands.language import quote
from gshtui.ui.agents.agents_pane import agent_actions
from gshtui.ui.agents.agents_state import AgentView
from gshtui.ui.kit.bridge import NotReady
from gshtui.ui.kit.dialogs import ConfirmScreen, InputScreen, Picker, PickerChoice
from gshtui.ui.kit.key_table import KEYS
from gshtui.ui.kit.widget_messages import ForContext, OpenTerminal

if TYPE_CHECKING:
    from gshtui.ui.window.fleet_app import FleetApp


class AgentActions:
    """The actions of `AGENT_ACTIONS`, and the menu of them."""

    def __init__(self, app: FleetApp) -> None:
        self._app = app
        self._do: dict[str, Callable[[AgentView], None]] = {
            "menu": self._menu, "open": self._open, "attach": self._attach, "report": self._report,
            "message": self._message, "context": self._context, "interrupt": self._interrupt, "changes": self._changes,
            "rename": self._rename, "copy": self._copy, "restart": self._restart, "recover": self._line("recover"),
            "kill": self._kill, "undo": self._line("undo"), "remove": self._line("remove"),
        }  # fmt: skip

    def perform(self, action: str, agent: AgentView) -> None:
        """Do it; what has to be asked first is asked."""
        self._do[action](agent)

    def _line(self, action: str) -> Callable[[AgentView], None]:
        return lambda agent: self._app.run_command(f"agent {action} {quote(agent.id)}")

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
            self._report(agent)
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
            self._app.run_worker(self._app.data_of(f"agent seen {quote(agent.id)}"), exit_on_error=False)

    def _report(self, agent: AgentView) -> None:
        self._line("show")(agent)

    def _context(self, agent: AgentView) -> None:
        self._app.post_message(ForContext("inspect", agent.id))

    def _changes(self, agent: AgentView) -> None:
        self._app.open_changes(agent.worktree)

    def _copy(self, agent: AgentView) -> None:
        self._app.run_worker(self._copied(agent), exit_on_error=False, group="commands")

    async def _copied(self, agent: AgentView) -> None:
        data = await self._app.data_of(f"agent attach {quote(agent.id)}")
        argv = cast("dict[str, Any]", data).get("argv") if isinstance(data, dict) else None
        if not argv:
            self._app.notify(f"{agent.name} has no terminal now.", severity="warning", markup=False)
            return
        line = shlex.join(str(word) for word in cast("list[Any]", argv))
        self._app.copy_to_clipboard(line)
        self._app.notify(f"Copied: {line}", markup=False, timeout=4)

    # Doing

    def _interrupt(self, agent: AgentView) -> None:
        if agent.terminal:
            self._line("interrupt")(agent)
        else:
            self._app.publish(InterruptRequested(agent=agent.id))

    def _message(self, agent: AgentView) -> None:
        if not agent.terminal:
            self._app.bench.action_pane("chat")
            return

        def send(words: str | None) -> None:
            if words:
                self._app.run_command(f"agent send {quote(agent.id)} text={quote(words)}")

        waits = "it is told once it is idle" if agent.busy else ""
        self._app.push_screen(InputScreen(f"Message to {agent.name} ({agent.id})", hint=waits, lines=True), send)

    def _rename(self, agent: AgentView) -> None:
        def rename(name: str | None) -> None:
            if name and name != agent.name:
                self._app.run_command(f"agent rename {quote(agent.id)} text={quote(name)}")

        self._app.push_screen(InputScreen(f"Another name for {agent.name} ({agent.id})", text=agent.name), rename)

    def _restart(self, agent: AgentView) -> None:
        if agent.ended:
            self._line("restart")(agent)
            return
        question = ConfirmScreen(
            f"Restart {agent.name} ({agent.id})?",
            "What runs of it is ended, and it is started again with its conversation.",
            yes="Restart",
        )
        self._app.push_screen(question, lambda yes: self._line("restart")(agent) if yes else None)

    def _kill(self, agent: AgentView) -> None:
        self._app.run_worker(self._ask_kill(agent), exit_on_error=False, group="kill", exclusive=True)

    async def _ask_kill(self, agent: AgentView, unsaved: list[str] | None = None) -> None:
        if unsaved is None:
            unsaved = await self._unsaved(agent)
        question = ConfirmScreen(
            f"Kill {agent.name} ({agent.id})?",
            f"It is {_state(agent)}",
            yes="Kill",
            losses=unsaved,
            note="Unless it ends at once, u takes it back for a while. Files and conversation are kept.",
        )
        said = " yes=true" if unsaved else ""

        def answer(yes: bool | None) -> None:
            if yes:
                self._app.run_worker(self._killed(agent, said), exit_on_error=False, group="commands")

        self._app.push_screen(question, answer)

    async def _unsaved(self, agent: AgentView) -> list[str]:
        try:
            found: Any = (await self._app.bridge.run(f"agent unsaved {quote(agent.id)}")).data
        except (NotReady, CommandError) as error:
            return [f"What is unsaved cannot be told: {error}"]
        said = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        return [str(one) for one in said.get("unsaved", [])]

    async def _killed(self, agent: AgentView, said: str) -> None:
        try:
            done = await self._app.bridge.run(f"agent kill {quote(agent.id)}{said}")
        except CommandError as error:
            told: Any = error.data
            unsaved: Any = cast("dict[str, Any]", told).get("unsaved") if isinstance(told, dict) else None
            if unsaved and not said:  # something came up since it was asked
                await self._ask_kill(agent, [str(one) for one in unsaved])
                return
            self._app.notify(str(error), severity="error", markup=False, timeout=8)
        except NotReady as error:
            self._app.notify(str(error), severity="error", markup=False, timeout=8)
        else:
            self._app.notify(done.text, markup=False)


def _state(agent: AgentView) -> str:
    doing = f" · {agent.doing}" if agent.doing else ""
    return f"{agent.status} (by {agent.source}){doing}"
