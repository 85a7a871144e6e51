"""The window's actions on worktrees: the picker, the changes tabs, merging and exporting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gshtui.ui.kit.bridge import NotReady
from gshtui.ui.kit.feature import Feature, FeatureRoute
from gshtui.ui.kit.tabs import PaneTabs
from gshtui.ui.kit.widget_messages import OpenChanges
from gshtui.ui.kit.workbench_port import WorkbenchPort

if TYPE_CHECKING:
    from gshtui.tools.worktree_changes import WorktreeChanges
    from gshtui.ui.changes.diff_pane import DiffPane


class ChangesFeature(Feature):
    """Worktrees' changes against their bases."""

    KEYS = ("diff.open",)
    WORDS = {"diff": "diff.open"}

    def __init__(self, window: WorkbenchPort) -> None:
        super().__init__(window)
        self._tabs: PaneTabs[DiffPane] = PaneTabs(window.deck, "changes")

    def routes(self) -> Sequence[FeatureRoute[Any]]:
        return (
            FeatureRoute(
                OpenChanges,
                lambda message: self.window.run_worker(
                    self._open(message.worktree), exit_on_error=False, group="changes"
                ),
            ),
        )

    def press(self, key: str) -> None:
        self.window.run_worker(self._choose(), exit_on_error=False, group="pick", exclusive=True)

    async def _choose(self) -> None:
        from gshtui.commands.declaration import CommandError
        from gshtui.tools.git_worktree import ListWorktrees
        from gshtui.ui.changes.diff_pane import WorktreesScreen, worktree_choices

        try:
            found = worktree_choices((await self.window.bridge.call(ListWorktrees())).trees)
        except (NotReady, CommandError) as error:
            outside = "not a git repository" in str(error)
            said = "This folder is not in a git repository, so there is nothing to compare it with."
            self.window.notify(said if outside else str(error), severity="warning", markup=False)
            return
        if len(found) == 1:
            await self._open(found[0].id)
            return

        def chosen(worktree: str | None) -> None:
            if worktree:
                self.window.post_message(OpenChanges(worktree))

        self.window.push_screen(WorktreesScreen(found), chosen)

    async def _open(self, worktree: str) -> None:
        """Show a worktree's changes against its base in a tab; an open tab is brought to the front."""
        from gshtui.ui.changes.diff_pane import DiffPane

        async def fetch() -> WorktreeChanges:
            from gshtui.tools.git_worktree import CompareWorktree

            return await self.window.bridge.call(CompareWorktree(path=worktree))

        self.window.show_centre()
        title = f"± {worktree.rstrip('/').rpartition('/')[2][-24:]}"
        await self._tabs.open(worktree, title, lambda: DiffPane(worktree, fetch, self._perform))

    def _perform(self, pane: DiffPane, key: str) -> None:
        """Merge or export as the key says; reload after a merge."""
        value = self.window.bridge.for_row(key, pane.worktree)
        if value is not None:
            self.window.perform(value, pane.action_reload if key == "diff.merge" else None)
