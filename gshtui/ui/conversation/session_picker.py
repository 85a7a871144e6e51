"""The full screen in which a person chooses a conversation: searched by its words, of this folder or all, by branch.

A preview stands beside the list, or below it where there is no room. Owns what is listed; reads everything through its
`SessionSource`, and opens nothing itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import OptionList, Static

from gshtui.text import units
from gshtui.ui.conversation.conversation_state import ConversationState, older_operations
from gshtui.ui.kit.keys.bound_keys import with_keys
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.kit.widgets.dialogs import InputScreen, Picker, PickerChoice
from gshtui.ui.kit.widgets.line_field import LineField

if TYPE_CHECKING:
    from gshtui.commands.declaration import Returns
    from gshtui.store.tables.message_table import StoredMessage
    from gshtui.store.tables.session_table import SessionInfo

NEW = "new"
WIDE = 110
"""Columns from which on the preview is beside the list."""
_BESIDE = 0.38
"""Its share of both, as in `styles/screens.tcss`."""
_LOW = 22
"""Rows below which a preview that is not beside the list is left out."""
_NARROW = 72
"""Columns below which keys and lists are named in fewer words."""
_PREVIEWED = 12
_SEARCHED = 3
"""Letters from which on the messages are searched."""
_HINT = (
    "{list.choose} to open · {sessions.rename} to rename · {sessions.archive} to %s · {sessions.remove} to remove"
    "%s · {list.close} to close"
)
_BRANCHES = " · {sessions.branch} next branch"


class SessionSource(Protocol):
    """The record, as far as this screen reads it. Each gives nothing where it cannot be read."""

    async def here(self) -> Sequence[SessionInfo]:
        """The conversations of this folder, newest first."""
        ...

    async def everywhere(self, *, archived: bool = False) -> Sequence[SessionInfo]:
        """The conversations of all folders, newest first; only the `archived` ones, or only the others."""
        ...

    def change(self, call: Returns[object], then: Callable[[], None]) -> None:
        """Rename, archive or remove one, once the person has answered what that asks."""
        ...

    async def saying(self, words: str) -> Sequence[str]:
        """The conversations with a message that has these words."""
        ...

    async def newest(self, session: str, limit: int) -> Sequence[StoredMessage]:
        """The newest messages of one, in order."""
        ...


class Preview(Transcript, can_focus=False):
    """The newest messages of the marked conversation."""


class SessionsScreen(Picker):
    """Choose a conversation; the answer is its id, or `new`.

    Args:
        sessions: those of this folder, newest first.
        current: the one in front.
        branch_of: the branch that a folder has checked out.
        names: of agents, by their ids.
    """

    BINDINGS = [
        bind("sessions.folders", "folders"),
        bind("sessions.branch", "branch"),
        bind("sessions.rename", "rename"),
        bind("sessions.archive", "archive"),
        bind("sessions.remove", "remove"),
    ]
    NAMES = 70
    GIVES = ("msgs", "model", "branch", "agent", "cost")
    RIGHT = ("age", "msgs", "cost")

    def __init__(
        self,
        sessions: Sequence[SessionInfo],
        now: float,
        current: str,
        source: SessionSource,
        branch_of: Callable[[Path], str],
        names: Mapping[str, str],
    ) -> None:
        super().__init__("Conversations", [], empty="No conversations yet.", look="-full")
        self._here = sessions
        self._others: dict[bool, Sequence[SessionInfo]] = {}
        """The conversations of all folders, as far as they were asked for: those that are archived, and the others."""
        self._now = now
        self._current = current
        self._source = source
        self._branch_of = cache(branch_of)
        self._names = names
        self._list: _List = "here"
        self._branch = ""
        self._saying: frozenset[str] = frozenset()
        """The conversations that have the words in a message."""
        self._asked = ""
        """The words that the messages were last searched for."""
        self._previewed = ""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -full"):
            yield Static("", classes="dialog-title", markup=False)
            yield LineField(self.words, placeholder="Search titles and messages", id="filter")
            with Horizontal(classes="session-body"):
                yield OptionList(id="choices", markup=False, compact=True)
                with Vertical(classes="session-preview"):
                    yield Preview(id="preview")
            yield Static("", classes="dialog-hint", markup=False)

    def room_to_be(self) -> int:
        room = super().room_to_be()
        return room - int((room + 1) * _BESIDE) if app_of(self).size.width >= WIDE else room

    def on_resize(self) -> None:
        self.set_class(self.size.width >= WIDE, "-wide")
        self.set_class(self.size.width < WIDE and self.size.height < _LOW, "-low")
        self._name_keys()

    def _name_keys(self) -> None:
        hint = _HINT % ("take back" if self._list == "archived" else "archive", _BRANCHES * bool(self._branches))
        narrow = app_of(self).size.width < _NARROW
        hint = hint.replace(" to ", " ") if narrow else hint
        self.query_one(".dialog-hint", Static).update(Content(with_keys(self, hint)))

    @property
    def _listed(self) -> Sequence[SessionInfo]:
        return self._here if self._list == "here" else self._others.get(self._list == "archived", ())

    def folder_of(self, session: str) -> str:
        """The folder of a conversation that this folder does not list; empty: it does."""
        others = (one for listed in self._others.values() for one in listed)
        return next((one.cwd for one in others if one.id == session and one not in self._here), "")

    def fill(self) -> None:
        self._search_messages()
        listed = self._listed
        fitting = [one for one in listed if not self._branch or self._branch_of(Path(one.cwd)) == self._branch]
        rows = parted([self._row(one) for one in fitting], [one.created for one in fitting], self._now)
        headings = (*_COLUMNS[:-1], *(("folder",) if self._list != "here" else ()), _COLUMNS[-1])
        kept = [at for at in range(len(headings)) if any(row.columns[at] for row in rows)]
        rows = [replace(row, columns=tuple(row.columns[at] for at in kept)) for row in rows]
        self.replace([_NEW_ROW, *rows], ("title", *(headings[at] for at in kept)), also=self._saying)
        super().fill()
        self._preview_chosen()
        matching = sum(option.id not in (None, NEW) for option in self.choices.options)
        of = f"{matching} of " if self.words.strip() else ""
        where, others = _LISTS[self._list]
        branch = f" · branch {self._branch}" if self._branch else ""
        others = others.partition(",")[0] if app_of(self).size.width < _NARROW else others
        title = f"Conversations · {of}{len(fitting)} {where}{branch}"
        lists = with_keys(self, f" · {{sessions.folders}} for {others}")
        self.query_one(".dialog-title", Static).update(Content.assemble(title, (lists, "not bold $foreground-muted")))
        self._name_keys()

    def first(self, fitting: Sequence[PickerChoice]) -> PickerChoice:
        return fitting[min(1, len(fitting) - 1)] if fitting[0].id == NEW else fitting[0]

    def _row(self, session: SessionInfo) -> PickerChoice:
        from gshtui.providers.catalog import label_of
        from gshtui.text.sanitise import one_line

        agent = self._names.get(session.agent, session.agent)
        held = f"in {session.held_by}" if session.held_by else f"{session.queued} unsent" if session.queued else ""
        held = "open" if session.held_by == f"agent {agent}" else held
        held = "" if session.id == self._current else held  # its mark says so
        folder = (one_line(Path(session.cwd).name or session.cwd, 24),) if self._list != "here" else ()
        columns = (
            units.age(max(0.0, self._now - session.updated)),
            str(session.messages),
            units.money(session.cost) if session.cost is not None else "",
            one_line(self._branch_of(Path(session.cwd)), 20),
            one_line(agent, 24),
            *folder,
            one_line(label_of(session.model), 24),
        )
        return PickerChoice(
            session.id,
            one_line(session.title or "(no title)", self.NAMES),
            current=session.id == self._current,
            columns=columns,
            state=one_line(held, 40),
        )

    def _search_messages(self) -> None:
        """Search the messages, too, once the person has typed three letters."""
        if self.words == self._asked:
            return
        self._asked = self.words
        self._saying = frozenset()
        if len(self.words.strip()) >= _SEARCHED:
            self.run_worker(self._search(self.words), exit_on_error=False, exclusive=True, group="search")

    async def _search(self, words: str) -> None:
        found = frozenset(await self._source.saying(words))
        if words == self.words and found != self._saying:
            self._saying = found
            self.fill()

    @on(OptionList.OptionHighlighted, "#choices")
    def _preview_chosen(self) -> None:
        chosen = self.chosen or ""
        if chosen != self._previewed:
            self._previewed = chosen
            self.run_worker(self._preview_of(chosen), exit_on_error=False, exclusive=True, group="preview")

    async def _preview_of(self, session: str) -> None:
        stored = await self._source.newest(session, _PREVIEWED) if session not in ("", NEW) else ()
        if session == self._previewed and self.is_attached:
            feed = self.query_one(Preview).feed
            feed.clear()
            feed.apply(older_operations(ConversationState(""), [one.message for one in stored]))

    def action_folders(self) -> None:
        """Show the conversations of all folders, the archived ones, or only this folder's."""
        self._list = list(_LISTS)[(list(_LISTS).index(self._list) + 1) % len(_LISTS)]
        self._branch = ""
        archived = self._list == "archived"
        if self._list != "here" and archived not in self._others:
            self.run_worker(self._list_others(archived), exit_on_error=False, group="folders")
        else:
            self.fill()

    async def _list_others(self, archived: bool) -> None:
        self._others[archived] = await self._source.everywhere(archived=archived)
        self.fill()

    def _marked(self, what: str) -> SessionInfo | None:
        """The marked conversation; if none is, say that there is nothing to do this with."""
        marked = next((one for one in self._listed if one.id == self.chosen), None)
        if marked is None:
            self.notify(f"Go to a conversation to {what} it.", markup=False)
        return marked

    @property
    def _branches(self) -> list[str]:
        return sorted({self._branch_of(Path(one.cwd)) for one in self._listed} - {""})

    def action_rename(self) -> None:
        """Give the marked conversation another title."""
        from gshtui.store.sessions.session_calls import RenameSession

        if (marked := self._marked("rename")) is None:
            return

        def answered(title: str | None) -> None:
            if title and title != marked.title:
                self._source.change(RenameSession(session=marked.id, title=title), self._renew)

        app_of(self).push_screen(InputScreen("Title", text=marked.title), answered)

    def action_archive(self) -> None:
        """Archive the marked conversation, or take it back."""
        from gshtui.store.sessions.session_calls import ArchiveSessions, UnarchiveSessions

        if (marked := self._marked("take back" if self._list == "archived" else "archive")) is not None:
            call = UnarchiveSessions if marked.archived else ArchiveSessions
            self._source.change(call(sessions=(marked.id,)), self._renew)

    def action_remove(self) -> None:
        """Remove the marked conversation, which is asked first."""
        from gshtui.store.sessions.session_calls import RemoveSessions

        if (marked := self._marked("remove")) is not None:
            self._source.change(RemoveSessions(sessions=(marked.id,)), self._renew)

    def _renew(self) -> None:
        if self.is_attached:
            self.run_worker(self._list_again(), exit_on_error=False, group="folders")

    async def _list_again(self) -> None:
        self._here = await self._source.here()
        for archived in self._others:
            self._others[archived] = await self._source.everywhere(archived=archived)
        self.fill()

    def action_branch(self) -> None:
        """Show the conversations of the next branch, and after the last one those of all."""
        if not self._branches:
            self.notify("None of these conversations is on a branch.", markup=False)
        later = [branch for branch in self._branches if branch > self._branch]
        self._branch = later[0] if later else ""
        self.fill()


def parted(rows: Sequence[PickerChoice], begun: Sequence[float], now: float) -> list[PickerChoice]:
    """The rows; conversations of one title say when each was begun, those of one minute also the second, and those of
    one second the end of their ids.
    """
    names = [row.name for row in rows]
    wordings = (
        [_when(at, now) for at in begun],
        [_when(at, now, seconds=True) for at in begun],
        [f"{_when(at, now, seconds=True)} · {row.id[-4:]}" for row, at in zip(rows, begun, strict=True)],
    )
    parted = list(names)
    for whens in wordings:
        count = Counter(parted)
        parted = [
            f"{name} · {when}" if count[so_far] > 1 else so_far
            for name, when, so_far in zip(names, whens, parted, strict=True)
        ]
    return [replace(row, name=name) for row, name in zip(rows, parted, strict=True)]


def _when(at: float, now: float, *, seconds: bool = False) -> str:
    began = datetime.fromtimestamp(at)
    time = f"{began:%H:%M:%S}" if seconds else f"{began:%H:%M}"
    return time if began.date() == datetime.fromtimestamp(now).date() else f"{began:%Y-%m-%d} {time}"


_List = Literal["here", "all", "archived"]
_LISTS: dict[_List, tuple[str, str]] = {
    "here": ("in this folder", "all folders, archived"),
    "all": ("in all folders", "archived"),
    "archived": ("archived", "this folder"),
}
"""What each list has, and what the key lists next."""
_COLUMNS = ("age", "msgs", "cost", "branch", "agent", "model")
_NEW_ROW = PickerChoice(NEW, "New conversation")
