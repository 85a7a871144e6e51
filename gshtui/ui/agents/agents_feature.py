"""The window's actions on agents: the keys and menu of the agents list, and the dialog for a new agent.

Keeps no state of an agent.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gshtui.bus.events.agent_events import InterruptRequested
from gshtui.system.expected_error import ExpectedError
from gshtui.ui.agents.agents_pane import AgentsPane
from gshtui.ui.agents.agents_state import AgentView
from gshtui.ui.kit.feature import Feature, FeatureRoute
from gshtui.ui.kit.keys.bound_keys import key_of
from gshtui.ui.kit.row_actions import RowAction, RowActions
from gshtui.ui.kit.widget_messages import (
    AgentSeen,
    ForContext,
    OpenChanges,
    OpenTerminal,
    ShowQuestion,
    StartAgent,
    open_agent,
)
from gshtui.ui.kit.workbench_port import WorkbenchPort

if TYPE_CHECKING:
    from gshtui.bus.agent_data import AgentRow
    from gshtui.commands.declaration import Returns

_VERBS = {
    "agents.attach": "attach to",
    "agents.changes": "show the changes of",
    "agents.copy": "copy the command for",
    "agents.options": "set the options of",
    "agents.report": "show the report of",
    "agents.undo": "undo the kill of",
}
"""How to say what a key does to an agent, where the key's id is not a verb."""


class AgentsFeature(Feature):
    """All agents, including the one in front."""

    KEYS = ("agents.spawn", "agents.waiting")
    OPENS = {"spawn": "agents.spawn"}

    def __init__(self, window: WorkbenchPort) -> None:
        super().__init__(window)
        self.rows = RowActions(
            window,
            ("agents",),
            (
                RowAction("agents.open", self._open),
                RowAction("agents.attach", self._attach, _has_pane),
                RowAction("agents.message", self._message, lambda agent: not agent.terminal or _runs(agent)),
                RowAction("agents.context", self._show_context),
                RowAction("agents.interrupt", self._interrupt, lambda agent: agent.busy and not agent.terminal),
                RowAction("agents.changes", self._show_changes, _has_worktree),
                RowAction("agents.rename", self._rename, lambda agent: agent.terminal),
                RowAction("agents.copy", self._copy, _has_pane),
                RowAction(
                    "agents.options", self._choose_option, lambda agent: bool(agent.row.options) and _runs(agent)
                ),
            ),
        )

    def routes(self) -> Sequence[FeatureRoute[Any]]:
        return (
            FeatureRoute(AgentsPane.Wanted, self._perform),
            FeatureRoute(StartAgent, lambda message: self._start_soon(message.parameters)),
            FeatureRoute(AgentSeen, lambda message: self._mark_read_soon(message.agent)),
        )

    def press(self, key: str) -> None:
        if key == "agents.waiting":
            self._go_to_waiting()
            return
        self.window.bring(self._ask_for_new(), group="pick", exclusive=True)

    def _perform(self, message: AgentsPane.Wanted) -> None:
        key, agent = message.key, message.agent
        if key == "agents.menu":
            self.rows.show_menu(_called(agent), agent)
        else:
            menu = key_of(self.window.input_line, "agents.menu")
            verb = _VERBS.get(key, key.partition(".")[2])
            words = f"Can't {verb} {agent.row.name} now: {menu} lists what can be done."
            self.rows.perform(key, agent, lambda: self.window.notify(words, markup=False, timeout=4))

    # Looking

    def _go_to_waiting(self) -> None:
        """Show the next agent that waits for the person, behind the one in front, and its question."""
        pane = self.window.bench.query_one(AgentsPane)
        tab = self.window.deck.panes.get(self.window.deck.front)
        here = tab.agent if tab is not None else ""
        agent = pane.next_waiting(here if here in pane.state.agents else self.window.front)
        if agent is None:
            self.window.notify("No agent waits for you.", markup=False, timeout=4)
            return
        self._open(agent, write=False)
        self.window.post_message(ShowQuestion(agent.id, answer=not agent.terminal))

    def _open(self, agent: AgentView, *, write: bool = True) -> None:
        if not agent.terminal:
            self.window.show_chat()
        elif not agent.pane and not (agent.row.speaks_events and agent.row.session):
            self.rows.perform("agents.report", agent)
        else:
            self.window.show_centre()
            self.window.post_message(open_agent(agent.row, write=write))
            self._mark_seen(agent)

    def _attach(self, agent: AgentView) -> None:
        self.window.post_message(OpenTerminal(agent.id, attach=True))
        self._mark_seen(agent)

    def _mark_seen(self, agent: AgentView) -> None:
        """Opening an agent marks its report as read."""
        if agent.row.unread:
            self._mark_read_soon(agent.id)

    def _mark_read_soon(self, agent: str) -> None:
        self.run_work(self._mark_read(agent), "default")

    async def _mark_read(self, agent: str) -> None:
        from gshtui.fleet.core.agent_calls import MarkAgentRead

        with contextlib.suppress(ExpectedError):
            await self.window.bridge.call(MarkAgentRead(agent=agent))

    def _show_context(self, agent: AgentView) -> None:
        self.window.post_message(ForContext("inspect", agent.id))

    def _show_changes(self, agent: AgentView) -> None:
        self.window.post_message(OpenChanges(agent.row.worktree))

    def _copy(self, agent: AgentView) -> None:
        self.run_work(self._copied(agent), "commands")

    async def _copied(self, agent: AgentView) -> None:
        from gshtui.fleet.core.agent_calls import AttachAgent

        try:
            found = await self.window.bridge.call(AttachAgent(agent=agent.id))
        except ExpectedError:
            self.warn(f"{agent.row.name} has no terminal.")
            return
        line = shlex.join(found.argv)
        self.window.copy_to_clipboard(line)
        self.window.notify(f"Copied: {line}", markup=False, timeout=4)

    # Doing

    def _interrupt(self, agent: AgentView) -> None:
        self.window.publish(InterruptRequested(agent=agent.id))

    def _message(self, agent: AgentView) -> None:
        if not agent.terminal:
            self.window.show_chat()
            return
        from gshtui.fleet.core.agent_calls import SendToAgent
        from gshtui.ui.kit.widgets.dialogs import InputScreen

        def send(words: str | None) -> None:
            if words:
                self.window.perform(SendToAgent(agent=agent.id, text=words))

        waits = "delivered once it is idle" if agent.busy else ""
        self.window.push_screen(InputScreen(f"Message to {_called(agent)}", hint=waits, lines=True), send)

    def _choose_option(self, agent: AgentView) -> None:
        """Let the person choose a value of one of its program's options."""
        from gshtui.fleet.core.agent_calls import SetAgentOption
        from gshtui.text.sanitise import literal, one_line
        from gshtui.ui.kit.widgets.dialogs import Picker, PickerChoice

        offered = [(option, value) for option in agent.row.options for value in option.values]
        choices = [
            PickerChoice(
                str(number),
                one_line(literal(option.name or option.id), 40),
                one_line(literal(value.name or value.value), 80),
                current=value.value == option.value,
            )
            for number, (option, value) in enumerate(offered)
        ]

        def chosen(number: str | None) -> None:
            if number is not None:
                option, value = offered[int(number)]
                self.window.perform(SetAgentOption(agent=agent.id, option=option.id, value=value.value))

        title = f"Options of {_called(agent)}"
        self.window.push_screen(
            Picker(title, choices, empty="Nothing.", hint="{list.choose} to set it · {list.close} to close"), chosen
        )

    def _rename(self, agent: AgentView) -> None:
        from gshtui.fleet.core.agent_calls import RenameAgent
        from gshtui.ui.kit.widgets.dialogs import InputScreen

        def rename(name: str | None) -> None:
            if name and name != agent.row.name:
                self.window.perform(RenameAgent(agent=agent.id, name=name))

        title = f"Rename {_called(agent)}"
        self.window.push_screen(InputScreen(title, text=agent.row.name), rename)

    async def _ask_for_new(self) -> None:
        from gshtui.fleet.commands.host_commands import ListHosts
        from gshtui.fleet.native.commands import ListPersonas
        from gshtui.programs.commands import ListProfiles
        from gshtui.providers.model_command import ListModels
        from gshtui.ui.agents.spawn_dialog import (
            SpawnList,
            SpawnScreen,
            form_of,
            spawn_options,
            spawn_parameters,
        )

        personas = await self.window.result_of(ListPersonas())
        profiles = await self.window.result_of(ListProfiles())
        models = await self.window.result_of(ListModels())
        hosts = await self.window.result_of(ListHosts())
        settings = self.window.bridge.settings
        accounts = settings.accounts if settings is not None else ()
        offers = await asyncio.to_thread(spawn_options, personas, profiles, models, hosts=hosts, accounts=accounts)
        listed = SpawnList(offers)

        def start(chosen: str | None) -> None:
            if chosen is None:
                return
            form = form_of(chosen, listed.wish)
            if listed.by_form:
                screen = SpawnScreen(offers, form)
                self.window.push_screen(screen, lambda wanted: self.window.perform(wanted) if wanted else None)
            elif form.prompt:
                self.window.perform(spawn_parameters(form, offers.programs))
            else:
                self._start_soon(spawn_parameters(form, offers.programs))

        self.window.push_screen(listed, start)

    def _start_soon(self, parameters: Returns[AgentRow]) -> None:
        self.window.bring(self._start(parameters), group="pick", exclusive=True)

    async def _start(self, parameters: Returns[AgentRow]) -> bool:
        """Start an agent without a task, and show it, so that the person can give it one."""
        try:
            row = await self.window.bridge.call(parameters)
        except ExpectedError as error:
            self.window.notify(str(error), severity="error", markup=False, timeout=8)
            return False
        self.window.show_centre()
        self.window.post_message(open_agent(row))
        return True


def _has_worktree(agent: AgentView) -> bool:
    return agent.terminal and bool(agent.row.worktree)


def _has_pane(agent: AgentView) -> bool:
    return agent.terminal and bool(agent.pane)


def _runs(agent: AgentView) -> bool:
    return not (agent.killed_until or agent.ended)


def _called(agent: AgentView) -> str:
    """Its name, with its id where that is another."""
    return agent.row.name if agent.row.name in ("", agent.id) else f"{agent.row.name} ({agent.id})"
