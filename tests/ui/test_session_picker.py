"""The full screen of conversations: what is listed, searched and previewed."""

from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input, Static

from gshtui.bus.messages import Message, Text
from gshtui.store.sessions.session_calls import (
    ArchiveSessions,
    RemoveSessions,
    RenameSession,
    UnarchiveSessions,
)
from gshtui.store.tables.message_table import StoredMessage
from gshtui.store.tables.session_table import SessionInfo
from gshtui.ui.conversation.session_picker import WIDE, Preview, SessionsScreen, parted
from gshtui.ui.kit.drawing.themes import ThemedApp
from gshtui.ui.kit.widgets.dialogs import PickerChoice
from tests.kit.transcript_host import STYLES, screen_rows

NOW = 1_800_000_000.0
BRANCHES = {"/src/aurora": "main", "/src/aurora-fix": "fix-parser", "/src/other": ""}


def session(id: str, title: str, cwd: str = "/src/aurora", cost: float | None = None) -> SessionInfo:
    return SessionInfo(id, title, cwd, "main", "anthropic", "claude-sonnet-5-5", NOW - 900, NOW - 600, 4, cost=cost)


NAMES = {"0004": "build-and-release"}
HERE = [session("a1", "Make the parser take empty lines", cost=1.25), session("a2", "Why is the build slow?")]
THERE = [*HERE, session("b1", "Fix the tokens", "/src/aurora-fix"), session("c1", "A poem", "/src/other")]


class Source:
    """A record that is known by heart."""

    def __init__(self) -> None:
        self.asked: list[object] = []
        self.gone: set[str] = set()
        self.archived: set[str] = set()

    async def here(self) -> Sequence[SessionInfo]:
        return [one for one in HERE if one.id not in self.gone | self.archived]

    async def everywhere(self, *, archived: bool = False) -> Sequence[SessionInfo]:
        found = [one for one in THERE if one.id not in self.gone and (one.id in self.archived) == archived]
        return [replace(one, archived=archived) for one in found]

    def change(self, call: object, then: Callable[[], None]) -> None:
        self.asked.append(call)
        if isinstance(call, RemoveSessions):
            self.gone |= set(call.sessions)
        if isinstance(call, ArchiveSessions):
            self.archived |= set(call.sessions)
        if isinstance(call, UnarchiveSessions):
            self.archived -= set(call.sessions)
        then()

    async def saying(self, words: str) -> Sequence[str]:
        return ["a2"] if words == "ninja" else []

    async def newest(self, session: str, limit: int) -> Sequence[StoredMessage]:
        asked = Message(f"{session}-1", "user", (Text(f"the question of {session}"),))
        answer = Message(f"{session}-2", "assistant", (Text("[b]yes **of course**"),))
        return [StoredMessage(1, asked), StoredMessage(2, answer)]


class PickerHost(ThemedApp[None]):
    """Opens the screen, and keeps its answer."""

    CSS_PATH = [STYLES / "screens.tcss", STYLES / "transcript.tcss"]

    def __init__(self) -> None:
        super().__init__()
        self.source = Source()
        self.picker = SessionsScreen(HERE, NOW, "a2", self.source, lambda folder: BRANCHES[str(folder)], NAMES)
        self.answers: list[str | None] = []

    def compose(self) -> ComposeResult:
        yield Input()

    def on_mount(self) -> None:
        self.push_screen(self.picker, self.answers.append)

    def titles(self) -> list[str]:
        listed = self.picker.choices
        return [id for at in range(listed.option_count) if (id := listed.get_option_at_index(at).id)]

    def previewed(self) -> str:
        return "\n".join(screen_rows(self.picker.query_one(Preview)))


async def pressed(pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def test_conversations_of_one_title_say_when_they_were_begun() -> None:
    rows = [PickerChoice(id, title) for id, title in (("a", "look"), ("b", "look"), ("c", "look"), ("d", "other"))]
    begun = [NOW, NOW - 60, NOW - 86_400, NOW]
    names = [row.name for row in parted(rows, begun, NOW)]
    assert names[3] == "other" and len(set(names)) == 4
    assert [len(name) - len("look · ") for name in names[:3]] == [5, 5, 16]
    begun = [NOW, NOW + 1, NOW, NOW]
    names = [row.name for row in parted(rows, begun, NOW)]
    assert len(set(names)) == 4 and [len(name) for name in names] == [19, 15, 19, 5]


@pytest.mark.parametrize("width", [200, 120])
async def test_no_fact_is_cut_for_a_long_title_and_an_agent_has_its_name(width: int) -> None:
    app = PickerHost()
    long = [replace(session(f"x{n}", f"{n} " + "a long title " * 8), agent="0004") for n in range(3)]
    app.picker._here = [replace(one, held_by="agent build-and-release") for one in long]
    async with app.run_test(size=(width, 50)) as pilot:
        await pressed(pilot)
        shown = app.export_screenshot().replace("&#160;", " ")
        assert "0004" not in shown and "agent build" not in shown
        if width == 200:
            assert "build-and-release" in shown and "Claude Sonnet 5.5" in shown


async def test_conversations_are_searched_filtered_and_previewed() -> None:
    app = PickerHost()
    async with app.run_test(size=(WIDE, 30)) as pilot:
        await pressed(pilot)
        assert app.titles() == ["new", "a1", "a2"]
        assert app.picker.chosen == "a2" and "the question of a2" in app.previewed()
        assert "[b]yes of course" in app.previewed(), "a page, and no marks of it"
        shown = app.export_screenshot().replace("&#160;", " ")
        assert all(words in shown for words in ("$1.25", "main", "10 m", "2 in this folder")), "cost, branch, age"
        await pressed(pilot, "up")
        assert "the question of a1" in app.previewed()
        await pressed(pilot, *"ninja")
        assert app.titles() == ["a2"], "no title has it, but a message"
        await pressed(pilot, *["backspace"] * 5, "tab")
        assert app.titles() == ["new", "a1", "a2", "b1", "c1"]
        await pressed(pilot, "shift+tab")
        assert app.titles() == ["new", "b1"], "the first branch: fix-parser"
        await pressed(pilot, "shift+tab")
        assert app.titles() == ["new", "a1", "a2"]
        await pressed(pilot, "shift+tab", *"poem")
        assert app.titles() == ["c1"] and app.picker.folder_of("c1") == "/src/other" and not app.picker.folder_of("a1")
        await pressed(pilot, "enter")
        assert app.answers == ["c1"]


async def test_the_title_counts_what_matches_and_nothing_has_no_preview() -> None:
    app = PickerHost()
    async with app.run_test(size=(WIDE, 30)) as pilot:
        for words, counts in (("slow", "1 of 2 in this folder"), ("zzqq", "0 of 2 in this folder")):
            app.picker.query_one("#filter", Input).value = words
            await pressed(pilot)
            assert counts in str(app.picker.query_one(".dialog-title", Static).content)
            assert ("the question of" in app.previewed()) == (words == "slow")


async def test_it_fits_every_screen() -> None:
    app = PickerHost()
    async with app.run_test(size=(80, 24)) as pilot:
        for width, height in ((80, 24), (120, 35), (200, 50), (100, 30), (300, 80), (60, 15)):
            await pilot.resize_terminal(width, height)
            await pressed(pilot)
            assert app.picker.query_one(".session-preview").display == (height >= 22), "it would be no more than a row"
            if height < 22:
                continue
            listed, preview = app.picker.choices.region, app.picker.query_one(".session-preview").region
            assert (preview.x >= listed.right) == (width >= WIDE) and (preview.y >= listed.bottom) == (width < WIDE)
            assert app.picker.query_one(".dialog-hint").region.bottom <= height
            assert listed.height >= (height - 10) * (1 if width >= WIDE else 0.6) - 1, "the list has all the room"


async def test_the_marked_conversation_is_renamed_and_removed_by_keys_that_the_screen_names() -> None:
    app = PickerHost()
    async with app.run_test(size=(80, 24)) as pilot:
        await pressed(pilot, "up")
        named = str(app.screen.query_one(".dialog-hint", Static).content)
        assert "ctrl+r to rename · ctrl+t to archive" in named and named.endswith("escape to close")
        assert app.picker.chosen == "a1"
        await pressed(pilot, "ctrl+r", "end", *" at last", "enter")
        assert app.source.asked == [RenameSession(session="a1", title=f"{HERE[0].title} at last")]
        await pressed(pilot, "ctrl+d")
        assert app.source.asked[1:] == [RemoveSessions(sessions=("a1",))]
        assert app.titles() == ["new", "a2"]
        while app.picker.chosen != "new":
            await pressed(pilot, "up")
        await pressed(pilot, "ctrl+d", "ctrl+r")
        assert app.screen is app.picker and len(app.source.asked) == 2, "there is no conversation in that row"


async def test_an_archived_conversation_leaves_the_lists_and_is_taken_back_from_its_own() -> None:
    app = PickerHost()
    async with app.run_test(size=(80, 24)) as pilot:
        await pressed(pilot, "up")
        title = str(app.picker.query_one(".dialog-title", Static).content)
        assert title == "Conversations · 2 in this folder · tab for all folders, archived"
        await pressed(pilot, "ctrl+t")
        assert app.source.asked == [ArchiveSessions(sessions=("a1",))]
        assert app.titles() == ["new", "a2"]
        await pressed(pilot, "tab")
        assert "a1" not in app.titles() and "b1" in app.titles(), "nor is it in that of all folders"
        await pressed(pilot, "tab")
        assert app.titles() == ["new", "a1"] and "1 archived" in str(
            app.picker.query_one(".dialog-title", Static).content
        )
        assert "ctrl+t to take back" in str(app.screen.query_one(".dialog-hint", Static).content)
        while app.picker.chosen != "a1":
            await pressed(pilot, "down")
        await pressed(pilot, "ctrl+t")
        assert app.source.asked[1:] == [UnarchiveSessions(sessions=("a1",))]
        assert app.titles() == ["new"]
        await pressed(pilot, "tab")
        assert app.titles() == ["new", "a1", "a2"] and "in this folder" in str(
            app.picker.query_one(".dialog-title", Static).content
        )


@pytest.mark.parametrize("size", [(61, 20), (80, 24), (120, 35)])
async def test_folders_are_told_and_all_keys_named_where_there_is_little_room(size: tuple[int, int]) -> None:
    app = PickerHost()
    long = replace(session("a3", "a long title " * 8), updated=NOW - 90_000, held_by="pts/4")
    HERE.append(long)
    THERE.append(long)
    try:
        async with app.run_test(size=size) as pilot:
            await pressed(pilot)
            hint = str(app.picker.query_one(".dialog-hint", Static).content)
            assert all(key in hint for key in ("ctrl+t", "ctrl+d", "shift+tab"))
            await pressed(pilot, "tab")
            listed = app.picker.choices
            rows = [str(listed.get_option_at_index(at).prompt) for at in range(listed.option_count)]
            assert "folder" in rows[0] and any("aurora-fix" in row for row in rows)
            ends = {row.index(age) + len(age) for row in rows for age in (" 10 min", " 25 h") if age in row}
            assert len(ends) == 1, rows
    finally:
        HERE.remove(long)
        THERE.remove(long)


@pytest.mark.parametrize("key", ["ctrl+t", "ctrl+d", "ctrl+r"])
async def test_a_key_that_has_nothing_to_change_says_so(key: str) -> None:
    app = PickerHost()
    async with app.run_test(size=(80, 24)) as pilot:
        while app.picker.chosen != "new":
            await pressed(pilot, "up")
        await pressed(pilot, key)
        assert [one.message for one in app._notifications] and not app.source.asked


@pytest.mark.parametrize("width", [61, 80, 119, 120, 121, 157, 200, 201])
async def test_the_rows_are_laid_out_at_once_for_the_cells_that_they_get(width: int) -> None:
    app = PickerHost()
    filled: list[int] = []
    app.picker.fill = lambda: filled.append(app.picker.room)  # type: ignore[method-assign]
    async with app.run_test(size=(width, 24)):
        assert filled and set(filled) == {app.picker.room}
