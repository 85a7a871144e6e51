"""A folding text area whose text outlives a crash: kept on disk a moment after each change, back at the next start.

It owns the pace of the writing; files are `drafts`'s. Base of `PromptInput`.
"""

from __future__ import annotations

from pathlib import Path

from textual.timer import Timer

from gshtui.ui.kit.area import FoldingArea
from gshtui.ui.prompt.drafts import Draft, DraftKeeper

KEEP_AFTER = 0.4
"""Seconds after a change until the draft is written."""


class DraftingArea(FoldingArea):
    """See the module. `keep_drafts`: whether to write at all."""

    def __init__(self, *, id: str, placeholder: str, project: Path, keep_drafts: bool) -> None:
        self.project = project
        self.aside: Draft | None = None
        """What was being written when something else took its place for a while; this is what a crash must not lose."""
        self._drafts = DraftKeeper(project, self.complain) if keep_drafts else None
        self._draft_timer: Timer | None = None
        self._placing = False
        super().__init__(id=id, placeholder=placeholder)

    def complain(self, why: str) -> None:
        """Tell the person what does not work."""
        self.notify(why, severity="warning", markup=False)

    def on_mount(self) -> None:
        """Bring back what a dead window left."""
        if self._drafts is not None:
            self.run_worker(self._restore(self._drafts), exit_on_error=False, group="draft")

    async def _restore(self, drafts: DraftKeeper) -> None:
        draft = await drafts.restore()
        if draft is None or not draft.text:
            return
        typed, folds = self.text, dict(self.folds.texts)
        self.place(draft.text, draft.folds)
        if typed and not folds:  # keys that came before the draft: they go on where it ended
            self.insert(typed, self.document.end, maintain_selection_offset=False)
        self.notify("What you were writing when the last window ended is back.", markup=False)

    async def on_unmount(self) -> None:
        """Write the draft a last time and let the slot go."""
        if self._drafts is not None:
            self.keep_draft()
            await self._drafts.close()

    def keep_draft(self) -> None:
        """Write what is being written, now."""
        if self._draft_timer is not None:
            self._draft_timer.stop()
            self._draft_timer = None
        if self._drafts is not None:
            self._drafts.keep(self.aside or self.draft())

    def draft(self) -> Draft:
        """What stands in the area."""
        text = self.text
        return Draft(text, self.folds.used(text))

    def set_aside(self) -> None:
        """Keep what stands here for `bring_back`; a text that is aside already stays."""
        if self.aside is None:
            self.aside = self.draft()

    def bring_back(self) -> None:
        """Show what was set aside."""
        aside, self.aside = self.aside, None
        if aside is not None:
            self.place(aside.text, aside.folds)

    def place(self, text: str, folds: dict[int, str] | None = None) -> None:
        """Show a text that nobody types."""
        self._placing = True
        try:
            self.put(text, folds)
        finally:
            self._placing = False

    def changed(self) -> None:
        """Follow a change of the text."""
        if not self.is_mounted:
            return
        if self._draft_timer is None and self._drafts is not None:
            self._draft_timer = self.set_timer(KEEP_AFTER, self.keep_draft)
        if not self._placing:
            self.written()

    def written(self) -> None:
        """The person changed the text. For subclasses."""
