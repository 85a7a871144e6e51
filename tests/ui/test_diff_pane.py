"""A tab of changes and the dialog for a new agent, in the window."""

from typing import Any

import pytest
from msgspec.structs import replace
from textual.widgets import OptionList, Static

from gshtui.bus.agent_data import AgentRow
from gshtui.commands.declaration import CommandError, Question
from gshtui.fleet.commands.spawn_command import SpawnAgent
from gshtui.providers.model_command import ListModels
from gshtui.tools.git.git_worktree import CompareWorktree, MergeWorktree, WorktreeList, WritePatch
from gshtui.tools.git.worktree import Worktree
from gshtui.ui.agents.spawn_dialog import SpawnList, SpawnScreen
from gshtui.ui.approvals.question_change import QuestionChange
from gshtui.ui.changes.diff_pane import DiffPane, WorktreesScreen
from gshtui.ui.kit.drawing.diff_lines import is_split
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.kit.widget_messages import OpenChanges
from gshtui.ui.kit.widgets.dialogs import ConfirmScreen
from tests.kit import recorded
from tests.kit.fake_hub import Answer
from tests.kit.keyboard import Keyboard
from tests.kit.recorded_fleet import DIFF, FEW, PERSONAS, PROFILES
from tests.kit.window import Window, at_rest, settled
from tests.ui.test_agents_pane import ran

PATH = "/src/aurora-lexer"
COMPARE = CompareWorktree(path=PATH)
LINE = COMPARE.words()
TREES = WorktreeList([Worktree("/src/aurora", "main", main=True), Worktree(PATH, "lexer")])


async def test_keys_go_from_change_to_change_and_file_to_file() -> None:
    app = Window(answers={LINE: Answer(DIFF)})
    async with at_rest(app, (80, 24)) as pilot:
        app.post_message(OpenChanges(PATH))
        await settled(pilot)
        pane = app.bench.deck.query_one(DiffPane)
        view = pane.view
        assert app.focused is view
        assert (view.hunk, view.file) == (0, 0)
        await pilot.press("n")
        assert (view.hunk, view.file) == (1, 0)
        await pilot.press("]")
        assert (view.hunk, view.file) == (2, 1)
        await pilot.press("n", "n", "n", "n")
        assert (view.hunk, view.file) == (4, 3)
        await pilot.press("N", "[")
        assert view.file == 1
        await pilot.press("g", "y")
        assert app.clipboard.startswith("@@ class Lexer:\n     def tokens")
        assert "tests" not in app.clipboard
        await pilot.press("Y")
        assert "docs/lexer.md" in app.clipboard
        await pilot.press("right")
        assert view.scroll_offset.x > 0
        await pilot.press("G")
        assert view.hunk == 4
        await pilot.press("pageup")
        assert 0 < view.hunk < 4
        assert view.scroll_offset.y <= view.marked[0] < view.scroll_offset.y + view.size.height
        await pilot.press("g", "up", "up")
        assert (view.scroll_offset.y, view.marked) == (0, (1, 1))
        await pilot.press("up", "up", *("down",) * 30)  # the line under the cursor is never off the screen
        top, last = view.scroll_offset.y, len(view.document.rows) - 1
        assert top <= view.marked[0] == min(30, last) < top + view.size.height


async def test_the_list_of_files_comes_by_key_where_there_is_no_room() -> None:
    app = Window(answers={LINE: Answer(DIFF)})
    async with at_rest(app, (80, 24)) as pilot:
        app.post_message(OpenChanges(PATH))
        await settled(pilot)
        pane = app.bench.deck.query_one(DiffPane)
        listed = pane.query_one(OptionList)
        assert not listed.display and pane.view.display
        await pilot.press("tab")
        await pilot.pause()
        assert listed.has_focus and not pane.view.display
        await pilot.press("down", "down", "enter")
        await pilot.pause()
        assert pane.view.has_focus and pane.view.file == 2


async def test_a_tab_is_opened_once_and_closed() -> None:
    app = Window(answers={LINE: Answer(DIFF), "git_worktree list": Answer(TREES)})
    async with at_rest(app, (120, 40)) as pilot:
        await pilot.press("f5")
        await settled(pilot)
        assert isinstance(app.screen, WorktreesScreen)
        await pilot.press("enter")
        await settled(pilot)
        await pilot.press("ctrl+pageup")
        app.feed(*recorded.STARTED, *FEW)
        await pilot.press("alt+2", "d")
        await settled(pilot)
        assert len(app.bench.deck.query(DiffPane)) == 1
        assert app.bench.deck.front.startswith("changes-")
        await pilot.press("escape", *"well", "enter")
        await settled(pilot)
        assert app.bench.deck.front == "chat", "where what was sent is seen"
        await pilot.press("ctrl+pagedown", "x")
        await settled(pilot)
        assert len(app.bench.deck.query(DiffPane)) == 0
        assert app.focused is app.bench.input


async def test_a_merge_is_confirmed_and_the_tab_looks_again() -> None:
    merge = MergeWorktree(path=PATH)
    question = Question(merge, "Merge lexer into main?", "4 files.", "Merge")
    app = Window(answers={LINE: Answer(DIFF)}, questions={merge: question})
    async with at_rest(app, (120, 40)) as pilot:
        app.post_message(OpenChanges(PATH))
        await settled(pilot)
        await pilot.press("M")
        await settled(pilot)
        assert isinstance(app.screen, ConfirmScreen)
        Keyboard(app).post("y")
        await settled(pilot)
        assert ran(app) == [COMPARE, merge, COMPARE]
        await pilot.press("p")
        await settled(pilot)
        assert ran(app)[-1] == WritePatch(path=PATH)


@pytest.mark.parametrize("size", [(61, 20), (80, 24), (100, 30), (140, 40)])
async def test_of_a_long_path_the_end_and_the_counts_are_seen(size: tuple[int, int]) -> None:
    first = replace(DIFF.files[0], path="deep/" * 60 + "end.py", status="added")
    app = Window(answers={LINE: Answer(replace(DIFF, files=(first, *DIFF.files[1:])))})
    async with at_rest(app, size) as pilot:
        app.post_message(OpenChanges(PATH))
        await settled(pilot)
        view = app.bench.deck.query_one(DiffPane).view
        rows = [strip.text for strip in app.bench.drawn()[view.region.y : view.region.bottom]]
        (row,) = (row[view.region.x :] for row in rows if "end.py  +" in row)
        assert row.strip().startswith("…") and f"end.py  +{first.added} −{first.removed}  new" in row


async def test_without_changes_no_key_is_named_that_does_nothing() -> None:
    app = Window(answers={LINE: Answer(replace(DIFF, files=()))})
    async with at_rest(app, (120, 35)) as pilot:
        app.post_message(OpenChanges(PATH))
        await settled(pilot)
        assert "No changes" in str(app.bench.deck.query_one(".diff-says", Static).content)
        own = {key.binding.action for key in app.screen.active_bindings.values() if isinstance(key.node, DiffPane)}
        assert own == {"reload", "close"}


async def test_two_columns_where_there_is_room_and_the_place_is_kept() -> None:
    app = Window(answers={LINE: Answer(DIFF)})
    async with at_rest(app, (100, 30)) as pilot:
        app.post_message(OpenChanges(PATH))
        await settled(pilot)
        await pilot.press("alt+z", "n", "n")
        view = app.bench.deck.query_one(DiffPane).view
        assert not view.split and view.hunk == 2
        await pilot.resize_terminal(136, 30)
        await settled(pilot)
        assert view.split and view.hunk == 2
        hidden = "an empty line has no token"
        rows = [view.render_line(y).text for y in range(view.size.height)]
        assert not any(hidden in row for row in rows)
        await pilot.press("right", "right", "right")
        moved = [view.render_line(y).text for y in range(view.size.height)]
        assert any(hidden in row for row in moved)
        await pilot.press("left", "left", "left", "g")
        rows = [view.render_line(y).text for y in range(view.size.height)]
        both = next(row for row in rows if "words = line.split(' ')" in row)
        assert " │ " in both and both.rstrip().endswith("words = line.split()")
        await pilot.press("y")
        assert app.clipboard.startswith("@@ class Lexer:\n     def tokens")
        await pilot.resize_terminal(100, 30)
        await settled(pilot)
        assert not view.split and view.hunk == 0


async def test_two_columns_are_switched_off_in_a_tab_by_a_key_and_everywhere_by_the_settings() -> None:
    app = Window(answers={LINE: Answer(DIFF)})
    async with at_rest(app, (150, 30)) as pilot:
        app.post_message(OpenChanges(PATH))
        await settled(pilot)
        view = app.bench.deck.query_one(DiffPane).view
        await pilot.press("alt+z")
        await settled(pilot)
        await pilot.press("n", "n")
        assert view.split and view.hunk == 2
        await pilot.press("s")
        assert not view.split and view.hunk == 2
        await pilot.resize_terminal(160, 30)
        await settled(pilot)
        assert not view.split, "it stays so"
        await pilot.press("s")
        assert view.split
        await pilot.resize_terminal(100, 30)
        await settled(pilot)
        await pilot.press("s")
        assert any("Two columns need" in notice.message for notice in app._notifications)

    app = Window(answers={LINE: Answer(DIFF)}, diff_columns="one")
    async with at_rest(app, (150, 30)) as pilot:
        app.post_message(OpenChanges(PATH))
        await settled(pilot)
        await pilot.press("alt+z")
        await settled(pilot)
        view = app.bench.deck.query_one(DiffPane).view
        assert not view.split
        page = app.query_one(Transcript).document.page
        assert not page.two_columns and not is_split((), replace(page, width=150))
        question = QuestionChange(view, lambda: None)
        question.show(_EDIT, "a.py")
        question.fit(150)
        assert question.height == 2, "a removed and an added row below one another"


_EDIT = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


async def test_outside_a_repository_one_sentence_says_so() -> None:
    said = "git cannot list the worktrees: fatal: not a git repository (or any of the parent directories): .git."
    app = Window(answers={"git_worktree list": CommandError(said)})
    async with at_rest(app, (100, 30)) as pilot:
        await pilot.press("f5")
        await settled(pilot)
        [note] = app._notifications  # pyright: ignore[reportPrivateUsage]
        assert note.message == "This folder is not in a git repository, so there is nothing to compare it with."
        assert len(app.screen_stack) == 1


async def test_what_git_says_instead_of_changes_is_shown() -> None:
    answers: dict[str, Any] = {LINE: CommandError("There is no worktree /src/aurora-lexer.", hint="There are: none.")}
    app = Window(answers=answers)
    async with at_rest(app, (120, 40)) as pilot:
        app.post_message(OpenChanges(PATH))
        await settled(pilot)
        shot = app.export_screenshot().replace("&#160;", " ")
        assert "show the changes. There is no worktree" in shot
        answers[LINE] = Answer(replace(DIFF, files=()))
        assert app.hub is not None
        app.hub.answers[LINE] = answers[LINE]
        app.bench.deck.query_one(DiffPane).action_reload()
        await settled(pilot)
        assert "No changes compared with main" in app.export_screenshot().replace("&#160;", " ")


async def test_a_new_agent_from_the_list_and_its_form() -> None:
    started = AgentRow(id="0001", name="test", session="s1")
    answers = {"personas": Answer(PERSONAS), "profiles ls": Answer(PROFILES), "spawn": Answer(started)}
    app = Window(answers=answers)
    async with at_rest(app, (80, 24)) as pilot:
        app.run_command("/spawn")
        await settled(pilot)
        assert isinstance(app.screen, SpawnList)
        await pilot.press("tab")
        await settled(pilot)
        assert isinstance(app.screen, SpawnScreen)
        await pilot.press(*"look", "tab", "tab", "tab", "tab", "tab", *"x-1", "ctrl+s")
        await settled(pilot)
        assert app.hub is not None
        assert app.hub.ran[-1] == SpawnAgent(prompt="look", worktree="x-1")
        await pilot.press("f8", *"other", "enter")
        await settled(pilot)
        screen = app.screen
        assert isinstance(screen, SpawnScreen), "a command line has to be entered first"
        assert app.focused is screen.query_one("#command")
        await pilot.press("ctrl+s")
        assert screen is app.screen
        await pilot.press(*"htop", "enter")
        await settled(pilot)
        assert app.hub.ran[-1] == SpawnAgent(cli="htop")
        await pilot.press("f8")
        await settled(pilot)
        await pilot.press("escape")
        await settled(pilot)
        assert not isinstance(app.hub.ran[-1], SpawnAgent) and ListModels() in app.hub.ran
        await pilot.press("f8", *"test", "enter")
        await settled(pilot)
        assert SpawnAgent(persona="test") in app.hub.ran
        assert "conversation-0001" in app.bench.deck.panes, "it is shown, to be given its task"
