"""Comments on lines of changes: written by keys, kept until they are sent, and sent as one message."""

import threading
from pathlib import Path

from msgspec.structs import replace

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.events.agent_events import PromptSubmitted
from gshtui.commands.declaration import CommandError
from gshtui.fleet.core.agent_calls import AgentList, SendToAgent, SentMessage
from gshtui.fleet.core.agent_states import AgentState
from gshtui.text.diff_rows import DiffRow
from gshtui.text.unified_diff import FilePatch
from gshtui.tools.git.hunk_commands import EditHunk, HunkText, ShowHunk, StageHunk
from gshtui.tools.git.hunks import hunks_of
from gshtui.ui.changes.diff_document import make_document
from gshtui.ui.changes.diff_pane import DiffPane
from gshtui.ui.changes.diff_view import ChangesView
from gshtui.ui.changes.line_comments import CommentFile, LineComment, message, rows_of
from gshtui.ui.kit.widget_messages import OpenChanges
from tests.kit.fake_hub import Answer
from tests.kit.recorded_fleet import DIFF
from tests.kit.window import Window, at_rest, settled
from tests.ui.test_agents_pane import ran
from tests.ui.test_diff_pane import LINE, PATH

HERE = AgentRow(id="main", name="main", runtime="local", cwd="/src/aurora", status="idle")
THERE = AgentRow(id="0002", name="lexer", cwd=PATH, worktree=PATH, status="thinking")


def shown_lines(view: ChangesView) -> list[str]:
    """What the lines of the screen say."""
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


def agents(*rows: AgentRow) -> Answer:
    return Answer(AgentList([AgentState(row) for row in rows]))


async def test_comments_are_written_kept_and_sent_as_one_message() -> None:
    send = SendToAgent(agent="0002", text="")
    app = Window(answers={LINE: Answer(DIFF), "agent ls": agents(HERE, THERE), send.words(): CommandError("Gone.")})
    async with at_rest(app, (120, 40)) as pilot:
        app.post_message(OpenChanges(PATH))
        await settled(pilot)
        await pilot.press("shift+down", "c", *"why", "ctrl+s")
        await settled(pilot)
        await pilot.press("]", "c", *"tests?", "ctrl+s")
        await settled(pilot)
        await pilot.press("c", *"!", "ctrl+s")  # the comment there is changed: there is no second one
        await settled(pilot)
        pane = app.bench.deck.query_one(DiffPane)
        assert [(one.place, one.text) for one in pane.comments] == [
            ("src/lexer.py:4-5 (removed)", "why"),
            ("tests/test_lexer.py:1", "!tests?"),
        ]
        await pilot.press("x")
        await settled(pilot)
        app.post_message(OpenChanges(PATH))
        await settled(pilot)
        pane = app.bench.deck.query_one(DiffPane)
        assert len(pane.comments) == 2
        assert pane.view.commented
        await settled(pilot)
        shown = shown_lines(pane.view)
        at = next(n for n, row in enumerate(shown) if row.endswith("┃ why"))
        assert "return words" in shown[at - 1]  # below the last line that it is about
        await pilot.press("S")
        await settled(pilot)
        (sent,) = [call for call in ran(app) if isinstance(call, SendToAgent)]
        assert sent.agent == "0002"
        assert sent.text == message(pane.comments, pane.document)
        assert sent.text.startswith(
            "Comments on your changes on lexer, line by line:\n\n1. src/lexer.py:4-5 (removed)\n"
        )
        assert "```diff\n-        words = line.split(' ')\n-        return words\n```\n\nwhy\n\n2. " in sent.text
        assert len(CommentFile(PATH).read()) == 2  # it could not be sent, so nothing is lost
        assert app.hub is not None
        app.hub.answers[send.words()] = Answer(SentMessage(THERE, "m", waits=True))
        await pilot.press("S")
        await settled(pilot)
        assert not pane.comments
        assert not CommentFile(PATH).read()


async def test_a_comment_between_the_lines_is_gone_to_changed_there_and_removed() -> None:
    """In one column and in two, as wide as the tab; and where its lines are gone, below the name of their file."""
    app = Window(answers={LINE: Answer(DIFF), "agent ls": agents(HERE)})
    async with at_rest(app, (120, 40)) as pilot:
        app.post_message(OpenChanges(PATH))
        await settled(pilot)
        words = "why is this " * 12
        await pilot.press("alt+z", "shift+down", "c", *words, "ctrl+s")
        await settled(pilot)
        pane = app.bench.deck.query_one(DiffPane)
        view = pane.view
        for wide in (False, True):
            await pilot.resize_terminal(150 if wide else 120, 40)
            await settled(pilot)
            assert view.split == wide
            shown = shown_lines(view)
            marked = [at for at, row in enumerate(shown) if "┃" in row]
            assert len(marked) >= 2 - wide and marked == list(range(marked[0], marked[-1] + 1))
            assert " ".join(shown[at].partition("┃ ")[2].strip() for at in marked) == words.strip()
        await pilot.resize_terminal(120, 40)
        await settled(pilot)
        await pilot.press("down", "down")  # from its first line to the comment
        copied = view.copied
        assert view.comment_here == 0 and view.marked == (0, -1) and "┃" not in copied and "why" not in copied
        await pilot.press("c", *"so, ", "ctrl+s")
        await settled(pilot)
        assert [one.text for one in pane.comments] == [f"so, {words.strip()}"]
        assert app.hub is not None
        lost = replace(DIFF, files=(FilePatch("src/lexer.py", lines=["@@ -1,0 +1,1 @@", "+# head"]),))
        app.hub.answers[LINE] = Answer(lost)
        await pilot.press("r")
        await settled(pilot)
        shown = shown_lines(view)
        at = next(n for n, row in enumerate(shown) if "┃" in row)
        assert "src/lexer.py" in shown[at - 1] and "has changed since: so, why" in shown[at]
        await pilot.press("g", "up", "delete")
        await settled(pilot)
        assert pane.comments == () and not any("┃" in row for row in shown_lines(view))


async def test_the_agent_of_the_folder_gets_them_as_a_prompt_and_one_is_removed() -> None:
    row = AgentRow(id="main", name="main", runtime="local", cwd=PATH, status="idle")
    app = Window(Path(PATH), answers={LINE: Answer(DIFF), "agent ls": agents(row, replace_row(THERE))})
    async with at_rest(app, (120, 40)) as pilot:
        app.post_message(OpenChanges(PATH))
        await settled(pilot)
        await pilot.press("c", *"one", "ctrl+s")
        await settled(pilot)
        await pilot.press("down", "down", "c", *"two", "ctrl+s")  # past the comment
        await settled(pilot)
        await pilot.press("delete")
        await settled(pilot)
        await pilot.press("S")
        await settled(pilot)
        assert app.hub is not None
        (prompt,) = app.hub.intents(PromptSubmitted)
        assert isinstance(prompt, PromptSubmitted)
        assert prompt.agent == "main"
        assert "one" in prompt.text
        assert "two" not in prompt.text


def replace_row(row: AgentRow) -> AgentRow:
    """The agent somewhere else."""
    return AgentRow(id=row.id, name=row.name, cwd="/src/other", worktree="/src/other", status="idle")


async def test_a_change_is_staged_and_edited_by_its_mark() -> None:
    file = DIFF.files[0]
    hunk = hunks_of(file)[0]
    where = {"tree": PATH, "file": file.path, "number": 1, "mark": hunk.mark}
    results = {ShowHunk(**where): HunkText(hunk, "\tone\n")}
    app = Window(answers={LINE: Answer(DIFF)}, results=results)
    async with at_rest(app, (120, 40)) as pilot:
        app.post_message(OpenChanges(PATH))
        await settled(pilot)
        await pilot.press("a")
        await settled(pilot)
        assert StageHunk(**where) in ran(app)
        await pilot.press("e")
        await settled(pilot)
        await pilot.press("ctrl+s")
        await settled(pilot)
        assert not [call for call in ran(app) if isinstance(call, EditHunk)]  # nothing was changed
        await pilot.press("e")
        await settled(pilot)
        await pilot.press(*"  x", "ctrl+s")
        await settled(pilot)
        (done,) = [call for call in ran(app) if isinstance(call, EditHunk)]
        assert done == EditHunk(**where, text="  x\tone\n")


def test_comments_stay_with_their_lines() -> None:
    document = make_document(DIFF)
    lines = DIFF.files[0].lines
    row = next(at for at, row in enumerate(document.rows) if row.text == "        if not words:")
    comment = LineComment("src/lexer.py", document.rows[row : row + 2], "x")
    moved = replace(DIFF, files=(FilePatch("src/lexer.py", lines=["@@ -1,0 +1,1 @@", "+# head", *lines]),))
    again = make_document(moved)
    assert [again.rows[at].text for at in rows_of(again, comment)] == [row.text for row in comment.rows]
    gone = replace(DIFF, files=(FilePatch("src/lexer.py", lines=["@@ -1,0 +1,1 @@", "+# head"]),))
    assert rows_of(make_document(gone), comment) == []
    assert "has changed since the comment was written" in message([comment], make_document(gone))


def test_a_quoted_fence_does_not_end_the_quotation() -> None:
    comment = LineComment("a.md", (DiffRow("added", "```", 1),), "x")
    assert "````diff\n+```\n````" in message([comment], make_document(DIFF))


def test_two_windows_lose_no_comment_and_a_broken_file_is_set_aside(tmp_path: Path) -> None:
    def write(name: str) -> None:
        file = CommentFile(PATH, tmp_path)
        for number in range(20):
            said = LineComment(name, (DiffRow("added", "x", number),), "?")
            file.change(lambda kept, said=said: [*kept, said])

    threads = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(CommentFile(PATH, tmp_path).read()) == 40
    (stored,) = tmp_path.glob("*.json")
    stored.write_text("[" * 100_000)
    assert CommentFile(PATH, tmp_path).read() == ()
    assert list(tmp_path.glob("*.corrupt"))
