"""The window's actions on worktrees: the picker, the changes tabs, comments on lines, single changes, merging."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gshtui.bus.agent_data import ENDED_STATUSES
from gshtui.bus.events.agent_events import PromptSubmitted
from gshtui.system.expected_error import ExpectedError
from gshtui.system.ids import new_id
from gshtui.ui.kit.feature import Feature, FeatureRoute
from gshtui.ui.kit.keys.bound_keys import key_of
from gshtui.ui.kit.widget_messages import OpenChanges
from gshtui.ui.kit.widgets.tabs import PaneTabs
from gshtui.ui.kit.workbench_port import WorkbenchPort

if TYPE_CHECKING:
    from gshtui.bus.agent_data import AgentRow
    from gshtui.tools.git.worktree_changes import WorktreeChanges
    from gshtui.ui.changes.diff_pane import DiffPane
    from gshtui.ui.changes.line_comments import LineComment


class ChangesFeature(Feature):
    """Worktrees' changes against their bases."""

    KEYS = ("diff.open",)
    WORDS = {"diff": "diff.open"}

    def __init__(self, window: WorkbenchPort) -> None:
        super().__init__(window)
        self._tabs: PaneTabs[DiffPane] = PaneTabs(window.deck, "changes")

    def routes(self) -> Sequence[FeatureRoute[Any]]:
        return (
            FeatureRoute(OpenChanges, lambda message: self.window.bring(self._open(message.worktree), group="changes")),
        )

    def press(self, key: str) -> None:
        self.window.bring(self._choose(), group="pick", exclusive=True)

    async def _choose(self) -> bool:
        from gshtui.tools.git.git_worktree import ListWorktrees
        from gshtui.ui.changes.diff_pane import WorktreesScreen, worktree_choices

        try:
            found = worktree_choices((await self.window.bridge.call(ListWorktrees())).trees)
        except ExpectedError as error:
            outside = "not a git repository" in str(error)
            said = "This folder is not in a git repository, so there is nothing to compare it with."
            self.warn(said if outside else str(error))
            return False
        if len(found) == 1:
            await self._open(found[0].id)
            return True

        def chosen(worktree: str | None) -> None:
            if worktree:
                self.window.post_message(OpenChanges(worktree))

        self.window.push_screen(WorktreesScreen(found), chosen)
        return True

    async def _open(self, worktree: str) -> None:
        """Show a worktree's changes against its base in a tab; an open tab is brought to the front."""
        from gshtui.ui.changes.diff_pane import DiffPane

        async def fetch() -> WorktreeChanges:
            from gshtui.tools.git.git_worktree import CompareWorktree

            return await self.window.bridge.call(CompareWorktree(path=worktree))

        self.window.show_centre()
        title = f"± {worktree.rstrip('/').rpartition('/')[2][-24:]}"
        made = DiffPane(worktree, fetch, self._perform)
        await self._tabs.open(worktree, title, lambda: made)
        if made.is_attached:
            self.run_work(self._load_comments(made), "changes")

    def _perform(self, pane: DiffPane, key: str) -> None:
        """Do what the key says: to the worktree, to the change under the cursor or to the comments."""
        match key:
            case "diff.comment":
                self._comment(pane)
            case "diff.uncomment":
                if (here := pane.comment_here) is not None:
                    self._store(pane, lambda kept: [one for one in kept if one != here])
            case "diff.send":
                self.run_work(self._send(pane), "changes")
            case "diff.edit":
                self.run_work(self._edit(pane), "changes")
            case "diff.stage" | "diff.discard":
                self._change(pane, key)
            case _:
                self.run_work(
                    self._perform_command(key, pane.worktree, pane.action_reload if key == "diff.merge" else None),
                    "changes",
                )

    def _change(self, pane: DiffPane, key: str) -> None:
        place = pane.hunk_here
        if place is None:
            self.warn("No changed lines under the cursor.")
        else:
            self.run_work(self._perform_command(key, place, pane.action_reload), "changes")

    async def _perform_command(self, key: str, row: object, then: Callable[[], None] | None) -> None:
        (value,) = await self.window.bridge.for_row([key], row)
        if value is not None:
            self.window.perform(value, then)

    async def _edit(self, pane: DiffPane) -> None:
        from gshtui.tools.git.hunk_commands import EditHunk, ShowHunk
        from gshtui.ui.kit.widgets.dialogs import InputScreen

        place = pane.hunk_here
        if place is None:
            self.warn("No changed lines under the cursor.")
            return
        try:
            text = (await self.window.bridge.call(ShowHunk.at(place))).text
        except ExpectedError as error:
            self.warn(str(error))
            return

        def write(changed: str | None) -> None:
            if changed is not None and changed != text:
                self.window.perform(EditHunk.at(place).model_copy(update={"text": changed}), pane.action_reload)

        self.window.push_screen(
            InputScreen(f"Edit {place.file}", text=text, lines=True, exact=True, does="save"), write
        )

    # Comments

    async def _load_comments(self, pane: DiffPane) -> None:
        from gshtui.ui.changes.line_comments import CommentFile

        try:
            pane.show_comments(await asyncio.to_thread(CommentFile(pane.worktree).read))
        except OSError as error:
            self.warn(f"The comments on {pane.worktree} can't be read: {error.strerror or error}.")

    def _store(self, pane: DiffPane, how: Callable[[tuple[LineComment, ...]], Sequence[LineComment]]) -> None:
        """Change the comments, here and in their file; if that fails, at least here."""

        async def store() -> None:
            from gshtui.ui.changes.line_comments import CommentFile

            try:
                kept = await asyncio.to_thread(CommentFile(pane.worktree).change, how)
            except OSError as error:
                self.warn(f"The comments are not kept when the window closes: {error.strerror or error}.")
                kept = how(pane.comments)
            pane.show_comments(kept)

        self.run_work(store(), "changes")

    def _comment(self, pane: DiffPane) -> None:
        from gshtui.ui.changes.line_comments import LineComment, commented_rows
        from gshtui.ui.kit.widgets.dialogs import InputScreen

        here = pane.comment_here
        if here is None:
            path, rows = commented_rows(pane.document, *pane.view.marked)
            if not rows:
                self.warn("No line of a file under the cursor.")
                return
            fresh = LineComment(path, rows, "")
        else:
            fresh = here

        def write(text: str | None) -> None:
            if text:
                said = LineComment(fresh.path, fresh.rows, text)
                changed = fresh if here is not None else None
                self._store(pane, lambda kept: _with_comment(kept, changed, said))

        title = f"Comment on {fresh.place}"
        later = f"{key_of(self.window.input_line, 'diff.send')} to send all comments later"
        self.window.push_screen(InputScreen(title, text=fresh.text, hint=later, lines=True, does="keep it"), write)

    async def _send(self, pane: DiffPane) -> None:
        """Send the comments to the agent whose changes these are; to one that is chosen, if several could be meant."""
        if not pane.comments:
            self.warn(f"No comments yet. Press {key_of(self.window.input_line, 'diff.comment')} to write one.")
            return
        from gshtui.fleet.core.agent_calls import ListAgents
        from gshtui.ui.kit.widgets.dialogs import Picker, PickerChoice

        try:
            rows = [one.row for one in (await self.window.bridge.call(ListAgents())).agents if not one.held_by]
        except ExpectedError as error:
            self.warn(str(error))
            return
        living = [row for row in rows if row.status not in ENDED_STATUSES]
        found = [row for row in living if row.worktree == pane.worktree] or [
            row for row in living if not row.worktree and row.cwd == pane.worktree
        ]
        found = found or living
        if not found:
            self.warn("No running agent to send them to.")
        elif len(found) == 1:
            self._post(pane, found[0])
        else:
            by_id = {row.id: row for row in found}
            front = self.window.addressed
            choices = [PickerChoice(row.id, row.name, row.status, current=row.id == front) for row in found]

            def chosen(id: str | None) -> None:
                if id:
                    self._post(pane, by_id[id])

            self.window.push_screen(Picker("Send the comments to", choices, empty=""), chosen)

    def _post(self, pane: DiffPane, row: AgentRow) -> None:
        from gshtui.ui.changes.line_comments import message

        sent = pane.comments
        text = message(sent, pane.document)
        if row.runtime == "local":
            self.window.publish(PromptSubmitted(prompt=new_id(), agent=row.id, text=text))
            count = "1 comment" if len(sent) == 1 else f"{len(sent)} comments"
            self.window.notify(f"Sent {count} to {row.name}.", markup=False, timeout=4)
            self._store(pane, lambda kept: [one for one in kept if one not in sent])
        else:
            self.run_work(self._mail(pane, row, text, sent), "changes")

    async def _mail(self, pane: DiffPane, row: AgentRow, text: str, sent: tuple[LineComment, ...]) -> None:
        from gshtui.fleet.core.agent_calls import SendToAgent

        try:
            done = await self.window.bridge.call(SendToAgent(agent=row.id, text=text))
        except ExpectedError as error:
            self.warn(f"The comments were not sent: {error}")
            return
        count = "1 comment" if len(sent) == 1 else f"{len(sent)} comments"
        waits = "; it reads them when it is idle" if done.waits else ""
        self.window.notify(f"Sent {count} to {row.name} ({row.id}){waits}.", markup=False, timeout=4)
        self._store(pane, lambda kept: [one for one in kept if one not in sent])


def _with_comment(kept: Sequence[LineComment], changed: LineComment | None, said: LineComment) -> Sequence[LineComment]:
    """The comments with one more, or with one in the place of another."""
    if changed is None or changed not in kept:
        return [*kept, said]
    return [said if one == changed else one for one in kept]
