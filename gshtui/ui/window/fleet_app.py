"""What the window does about agents beside the one in front: the sidebar's wishes, a new agent, tabs of changes.

Owns which tabs of changes are open; refuses to draw. `Workbench` is built on it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from textual import on

from gshtui.system.tasks import report_unexpected
from gshtui.ui.agents.agents_pane import AgentsPane
from gshtui.ui.kit.bridge import NotReady
from gshtui.ui.kit.widget_messages import Note
from gshtui.ui.shell.shell_pane import ShellPane
from gshtui.ui.window.app_actions import ActionsApp

if TYPE_CHECKING:
    from gshtui.ui.changes.diff_pane import DiffPane


class FleetApp(ActionsApp):
    """The app's part for agents in terminals and their worktrees."""

    @on(AgentsPane.Wanted)
    def _for_agent(self, message: AgentsPane.Wanted) -> None:
        from gshtui.ui.window.agent_actions import AgentActions

        AgentActions(self).perform(message.action, message.agent)

    # The shell log

    @on(ShellPane.Wanted)
    def _for_row(self, message: ShellPane.Wanted) -> None:
        from gshtui.ui.window.shell_actions import ShellActions

        ShellActions(self).perform(message.action, message.row)

    @on(Note)
    def _noted(self, message: Note) -> None:
        self.run_worker(self._note(message.text, message.cwd), exit_on_error=False, group="notes")

    async def _note(self, text: str, cwd: str) -> None:
        from gshtui.store.store_errors import StoreError

        try:
            await self.bridge.note(text, cwd)
        except (NotReady, StoreError) as error:
            self.notify(f"Couldn't save the note: {error}", severity="error", markup=False)
        else:
            self.notify("Noted in the shell log.", markup=False, timeout=2)

    @on(ShellPane.Needs)
    def _rows_needed(self, message: ShellPane.Needs) -> None:
        self.run_worker(self._fetch_rows(message), exit_on_error=False, group="shell rows")

    async def _fetch_rows(self, message: ShellPane.Needs) -> None:
        pane = message.pane
        try:
            span = await self.bridge.shell_rows(message.filter, message.start, message.limit)
        except NotReady as error:
            pane.failed(str(error))
        except Exception as error:  # whatever the record says: the log goes on with what comes
            report_unexpected("the shell log", error)
            pane.failed(str(error) or type(error).__name__)
        else:
            pane.take(message.filter, span)

    def show_centre(self) -> None:
        """End the zoom of a side pane, so that a tab can be seen."""
        self.bench.set_layout(self.bench.layout_now.with_zoom(""))

    # A new agent

    def action_spawn(self) -> None:
        self.run_worker(self._spawn(), exit_on_error=False, group="pick", exclusive=True)

    async def _spawn(self) -> None:
        from gshtui.ui.agents.spawn_dialog import SpawnScreen, spawn_options

        found = [await self.data_of(line) for line in ("personas", "profiles ls", "model list")]
        self.push_screen(SpawnScreen(spawn_options(*found)), lambda line: self.run_command(line) if line else None)

    # Changes

    def action_changes(self) -> None:
        self.run_worker(self._pick_changes(), exit_on_error=False, group="pick", exclusive=True)

    async def _pick_changes(self) -> None:
        from gshtui.ui.changes.diff_pane import WorktreesScreen, listed_worktrees

        found = listed_worktrees(await self.data_of("git_worktree action=list"))
        if len(found) == 1:
            self.open_changes(found[0].id)
            return
        self.push_screen(WorktreesScreen(found), lambda chosen: self.open_changes(chosen) if chosen else None)

    def open_changes(self, worktree: str) -> None:
        """Show what a worktree holds against its base, in a tab; one that is open is brought to the front."""
        self.run_worker(self._open_changes(worktree), exit_on_error=False, group="changes")

    async def _open_changes(self, worktree: str) -> None:
        from gshtui.ui.changes.diff_pane import DiffPane

        self.show_centre()
        tab = _tab_of(worktree)
        if tab not in self.bench.deck.bar.titles:

            async def fetch() -> Any:
                from gshtui.commands.language import quote

                return (await self.bridge.run(f"git_worktree action=diff path={quote(worktree)}")).data

            title = f"± {worktree.rstrip('/').rpartition('/')[2][-24:]}"
            await self.bench.deck.open(tab, title, DiffPane(worktree, fetch))
        self.bench.deck.show(tab)
        self.focus_changes(tab)

    def focus_changes(self, tab: str) -> bool:
        """Go to the changes of a tab; False: it is none of changes."""
        if not tab.startswith("changes-"):
            return False
        pane = self._changes(tab)
        if pane is not None:
            pane.view.focus()
        return pane is not None

    def _changes(self, tab: str) -> DiffPane | None:
        from gshtui.ui.changes.diff_pane import DiffPane

        return next((pane for pane in self.bench.deck.query(DiffPane) if _tab_of(pane.worktree) == tab), None)

    async def on_diff_pane_closed(self, message: DiffPane.Closed) -> None:
        await self.bench.deck.close(_tab_of(message.pane.worktree))
        self.bench.input.focus()

    def on_diff_pane_bring(self, message: DiffPane.Bring) -> None:
        """Merge, once it is confirmed; or write a patch."""
        from gshtui.commands.language import quote
        from gshtui.ui.kit.dialogs import ConfirmScreen

        pane, found = message.pane, message.pane.document
        line = f"git_worktree action={message.how} path={quote(pane.worktree)}"
        if message.how == "patch":
            self.run_command(line)
            return
        count = "1 file" if len(found.files) == 1 else f"{len(found.files)} files"
        text = f"{count}, +{found.added} −{found.removed}. What conflicts is told, and then nothing changes."
        question = ConfirmScreen(f"Merge {found.title} into {found.base}?", text, yes="Merge")

        def answer(yes: bool | None) -> None:
            if yes:
                self.run_worker(self._merged(pane, line), exit_on_error=False, group="commands")

        self.push_screen(question, answer)

    async def _merged(self, pane: DiffPane, line: str) -> None:
        await self.runner.run_line(line)
        pane.action_reload()


def _tab_of(worktree: str) -> str:
    return f"changes-{re.sub(r'[^a-zA-Z0-9_-]', lambda match: f'_{ord(match.group()):x}', worktree)}"
