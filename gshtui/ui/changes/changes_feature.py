"""What the window does about worktrees: the list to choose from, tabs of changes, bringing the work home."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gshtui.ui.kit.feature import Feature, Route
from gshtui.ui.kit.tabs import PaneTabs
from gshtui.ui.kit.widget_messages import OpenChanges
from gshtui.ui.kit.workbench_port import WorkbenchPort

if TYPE_CHECKING:
    from gshtui.ui.changes.diff_pane import DiffPane


class ChangesFeature(Feature):
    """The changes of worktrees against their bases."""

    KEYS = ("diff.open",)
    WORDS = {"diff": "diff.open"}

    def __init__(self, window: WorkbenchPort) -> None:
        super().__init__(window)
        self._tabs: PaneTabs[DiffPane] = PaneTabs(window.deck, "changes")

    def routes(self) -> Sequence[Route[Any]]:
        return (
            Route(
                OpenChanges,
                lambda message: self.window.run_worker(
                    self._open(message.worktree), exit_on_error=False, group="changes"
                ),
            ),
        )

    def press(self, key: str) -> None:
        self.window.run_worker(self._choose(), exit_on_error=False, group="pick", exclusive=True)

    async def _choose(self) -> None:
        from gshtui.ui.changes.diff_pane import WorktreesScreen, listed_worktrees

        found = listed_worktrees(await self.window.data_of("git_worktree action=list"))
        if len(found) == 1:
            await self._open(found[0].id)
            return

        def chosen(worktree: str | None) -> None:
            if worktree:
                self.window.post_message(OpenChanges(worktree))

        self.window.push_screen(WorktreesScreen(found), chosen)

    async def _open(self, worktree: str) -> None:
        """Show what a worktree holds against its base, in a tab; one that is open is brought to the front."""
        from gshtui.ui.changes.diff_pane import DiffPane

        async def fetch() -> Any:
            from gshtui.commands.language import quote

            return (await self.window.bridge.run(f"git_worktree action=diff path={quote(worktree)}")).data

        self.window.show_centre()
        title = f"± {worktree.rstrip('/').rpartition('/')[2][-24:]}"
        await self._tabs.open(worktree, title, lambda: DiffPane(worktree, fetch, self._bring))

    def _bring(self, pane: DiffPane, how: str) -> None:
        """Merge, once it is confirmed; or write a patch."""
        from gshtui.commands.language import quote
        from gshtui.ui.kit.dialogs import ConfirmScreen

        found = pane.document
        line = f"git_worktree action={how} path={quote(pane.worktree)}"
        if how == "patch":
            self.window.run_command(line)
            return
        count = "1 file" if len(found.files) == 1 else f"{len(found.files)} files"
        text = f"{count}, +{found.added} −{found.removed}. What conflicts is told, and then nothing changes."
        question = ConfirmScreen(f"Merge {found.title} into {found.base}?", text, yes="Merge")

        def answer(yes: bool | None) -> None:
            if yes:
                self.window.run_worker(self._merged(pane, line), exit_on_error=False, group="commands")

        self.window.push_screen(question, answer)

    async def _merged(self, pane: DiffPane, line: str) -> None:
        await self.window.performed(line)
        pane.action_reload()
