"""A changes tab: a worktree's changes against its base, as a list of files and a diff; and the worktree picker.

Owns the tab and the picker's descriptions. An injected function asks git, again on request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from gshtui.system.tasks import report_unexpected
from gshtui.tools.git.hunk_commands import HunkPlace
from gshtui.ui.changes.diff_document import ChangedFile, DiffDocument, make_document
from gshtui.ui.changes.diff_view import GUTTER, ChangesView
from gshtui.ui.changes.line_comments import LineComment, rows_of
from gshtui.ui.kit.drawing.diff_lines import SIDE_BY_SIDE
from gshtui.ui.kit.keys.bound_keys import key_of, with_keys
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.row_actions import row_binding, row_bindings
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widgets.dialogs import Picker, PickerChoice
from gshtui.ui.kit.widgets.tabs import TabPane

if TYPE_CHECKING:
    from gshtui.tools.git.worktree import Worktree
    from gshtui.tools.git.worktree_changes import WorktreeChanges


class WorktreesScreen(Picker):
    """Choose a worktree; the answer is its folder."""

    def __init__(self, choices: Sequence[PickerChoice]) -> None:
        super().__init__(
            "Worktree changes",
            choices,
            empty="This folder is not in a git repository.",
            hint="{list.choose} to compare it with its base · {list.close} to close",
        )


def worktree_choices(trees: Sequence[Worktree]) -> list[PickerChoice]:
    """The worktrees whose folder exists; the main one, which has no base, comes last."""
    return [
        PickerChoice(tree.shown, _worktree_name(tree), tree.shown)
        for tree in sorted(trees, key=lambda one: one.main)
        if not tree.gone
    ]


def _worktree_name(tree: Worktree) -> str:
    name = tree.branch or tree.commit[:8]
    return f"{name} (main tree)" if tree.main else name


WIDE = 90
"""From this width in columns, the list of files is shown beside the changes by default."""
LIST = 32
_SIGNS = {"added": ("+", "$success"), "deleted": ("−", "$error"), "renamed": ("→", "$secondary")}

FetchDiff = Callable[[], Awaitable["WorktreeChanges"]]
"""Fetches the changes. Raises an exception whose text is for people."""


class DiffPane(TabPane):
    """See the module.

    Args:
        worktree: its folder.
        perform: runs an action of the key table on the worktree.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        bind("diff.files", "files"),
        bind("diff.copy", "copy"),
        bind("diff.copy_all", "copy_all"),
        bind("diff.reload", "reload"),
        *map(row_binding, ("diff.comment", "diff.uncomment", "diff.send", "diff.edit")),
        *row_bindings("diff"),
        bind("diff.close", "close"),
    ]

    def __init__(self, worktree: str, fetch: FetchDiff, perform: Callable[[DiffPane, str], None]) -> None:
        super().__init__(classes="diff-pane")
        self.worktree = worktree
        self.view = self.front = ChangesView()
        self._fetch = fetch
        self._perform = perform
        self._title = Static("", markup=False, classes="diff-title")
        self._says = Static("Loading …", markup=False, classes="diff-says")
        self._said = Static("", markup=False, classes="diff-comments")
        self.comments: tuple[LineComment, ...] = ()
        self._list = OptionList(markup=False, compact=True, classes="diff-files")
        self._listed: bool | None = None  # None: as fits

    @property
    def document(self) -> DiffDocument:
        return self.view.document

    def compose(self) -> ComposeResult:
        yield self._title
        yield self._says
        with Horizontal():
            yield self._list
            yield self.view
        yield self._said

    def show_comments(self, comments: Sequence[LineComment]) -> None:
        """Show the comments that have not been sent yet."""
        self.comments = tuple(comments)
        self.view.show_comments([self._placed(one) for one in self.comments])
        self._remarks()

    def _placed(self, comment: LineComment) -> tuple[Sequence[int], str]:
        """The rows of a comment and what to show there: of one whose lines are gone, below the name of their file."""
        found = self.document
        if rows := rows_of(found, comment):
            return rows, comment.text
        heading = [file.row for file in found.files if file.path == comment.path]
        return heading, f"{comment.place}, which has changed since: {comment.text}"

    @property
    def comment_here(self) -> LineComment | None:
        """The comment under the cursor, or on a line there."""
        at = self.view.comment_here
        return None if at is None else self.comments[at]

    @property
    def hunk_here(self) -> HunkPlace | None:
        """The change under the cursor; `None`: there is none, or it has no lines."""
        found, at = self.document, self.view.hunk
        if at < 0 or not found.marks[at]:
            return None
        path = found.files[found.file_at(found.hunks[at])].path
        return HunkPlace(self.worktree, path, found.number_of(at), found.marks[at])

    def _remarks(self) -> None:
        self._said.display = bool(self.comments)
        if not self.comments:
            return
        gone = sum(not rows_of(self.document, one) for one in self.comments)
        count = "1 comment" if len(self.comments) == 1 else f"{len(self.comments)} comments"
        lost = f", {gone} on lines that have changed since" if gone else ""
        said = f"{count}{lost}, not sent yet · {key_of(self, 'diff.send')} to send"
        if self.comment_here is not None:
            said += (
                f" · {key_of(self, 'diff.comment')} to change this one · {key_of(self, 'diff.uncomment')} to remove it"
            )
        self._said.update(Content.styled(said, "$foreground-muted"))

    def on_mount(self) -> None:
        self._place()
        self.action_reload()

    def on_resize(self, _event: events.Resize) -> None:
        self._place()

    def _place(self) -> None:
        width = self.size.width
        wide = width >= WIDE
        # Two columns are worth more than the list, where there is no room for both.
        beside = wide and not SIDE_BY_SIDE <= width - GUTTER < SIDE_BY_SIDE + LIST
        shown = bool(self.document.files) and (beside if self._listed is None else self._listed)
        self._list.display = shown
        self._list.styles.width = LIST if wide else "1fr"
        self.view.display = bool(self.document.files) and (wide or not shown)
        self._says.display = not self.document.files

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        does_nothing = action in ("want", "files", "copy", "copy_all") and not self.document.files
        return False if does_nothing else super().check_action(action, parameters)

    def action_reload(self) -> None:
        """Fetch the changes again."""
        self.run_worker(self._load(), exit_on_error=False, exclusive=True, group="diff")

    async def _load(self) -> None:
        try:
            found = make_document(await self._fetch())
        except Exception as error:  # whatever it is, show it and keep the tab
            report_unexpected("the changes", error)
            self.view.load(DiffDocument())
            self._says.update(Content(f"Can't show the changes. {error}"))
        else:
            self.view.load(found)
            keys = with_keys(self.view, "{diff.reload} to reload, {diff.close} to close this tab.")
            self._says.update(Content(f"No changes compared with {found.base}. {keys}"))
            self._list.clear_options()
            self._list.add_options([Option(_entry(file)) for file in found.files])
        self.show_comments(self.comments)
        had = self._list.has_focus
        self._place()
        self.refresh_bindings()
        if not had and self.view.display and (self.has_focus_within or app_of(self).focused is None):
            self.view.focus()
        self._head()

    @on(ChangesView.Moved)
    def _head(self) -> None:
        self._remarks()
        found = self.document
        if not found.base:
            self._title.update(Content(self.worktree))
            return
        at = self.view.file
        place = f" · {at + 1}/{len(found.files)} {found.files[at].path}" if at >= 0 else ""
        count = "1 file" if len(found.files) == 1 else f"{len(found.files)} files"
        more = " · incomplete" if found.cut else ""
        last = found.base == "HEAD"
        self._title.update(
            Content.assemble(
                "Uncommitted changes on " if last else "",
                (found.title, "bold $primary"),
                f"{'' if last else f' against {found.base}'} · {count} ",
                (f"+{found.added}", "$success"),
                " ",
                (f"−{found.removed}", "$error"),
                (more, "$warning"),
                (place, "$foreground-muted"),
            )
        )
        if at >= 0 and self._list.option_count > at:
            with self._list.prevent(OptionList.OptionHighlighted):
                self._list.highlighted = at

    # Actions

    def action_files(self) -> None:
        """Go to the list of files, or back from it."""
        if self._list.has_focus:
            self._listed = None
            self._place()
            self.view.focus()
        elif self.document.files:
            self._listed = True
            self._place()
            self._list.focus()

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        if self._list.has_focus and self.view.display:
            self.view.show_file(event.option_index)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_files()
        self.view.show_file(event.option_index)

    def action_copy(self) -> None:
        self._copy(self.screen.get_selected_text() or self.view.copied)

    def action_copy_all(self) -> None:
        self._copy(self.document.text_of(0, len(self.document.rows)))

    def _copy(self, text: str) -> None:
        if text:
            app_of(self).copy_to_clipboard(text)
            self.notify("Copied.", markup=False, timeout=2)

    def action_want(self, key: str) -> None:
        """Request an action on the worktree, on the change or on the line under the cursor."""
        if self.document.files:
            self._perform(self, key)


def _entry(file: ChangedFile) -> Content:
    sign, colour = _SIGNS.get(file.status, ("~", "$foreground-muted"))
    counts = f"+{file.added} −{file.removed}"
    folder, slash, name = file.path.rpartition("/")
    room = LIST - 6 - len(counts)
    shown = (
        name if len(name) > room else f"…{(folder + slash + name)[-room + 1 :]}" if len(file.path) > room else file.path
    )
    return Content.assemble((f"{sign} ", colour), shown, (f" {counts}", "$foreground-muted"))
