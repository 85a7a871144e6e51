"""Reading a transcript: it stays where the reader is, opens what is asked for, and holds at any size."""

import asyncio
import base64
import random
import zlib
from collections.abc import Iterable
from typing import Any, get_args

import pytest
from msgspec.structs import replace
from textual.geometry import Offset, Region
from textual.selection import SELECT_ALL
from textual.widgets import Static

from gshtui.bus.messages import Picture
from gshtui.ui.kit.drawing.styled_lines import StyledLine
from gshtui.ui.kit.textual.kept_lines import FastScrollBar
from gshtui.ui.kit.transcript.document import unfolded
from gshtui.ui.kit.transcript.entries import (
    AnswerEntry,
    CutEntry,
    Entry,
    NoticeEntry,
    OutcomeEntry,
    Prepend,
    PromptEntry,
    Put,
    Remove,
    Stream,
    ThoughtEntry,
    ToolEntry,
    ToolStatus,
)
from gshtui.ui.kit.transcript.entry_blocks import CACHED_LINES
from gshtui.ui.kit.transcript.markdown_renderer import parser_loading
from gshtui.ui.kit.transcript.transcript import Transcript
from tests.kit.transcript_host import TranscriptHost, screen_rows, wait_until_drawn

DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n"
TOOL = ToolEntry("tool", "edit", "x.py", {"path": "x.py"}, "ok", "edited", DIFF, 0.4)
FAILED = ToolEntry("failed", "bash", "make", {"command": "make"}, "error", "no rule\nmore", duration=2.0)
THOUGHT = ThoughtEntry("thought", "First line of it.\n\nSecond part.", seconds=4.0)


def talk(count: int) -> list[Entry]:
    """Prompts and answers, numbered."""
    entries: list[Entry] = []
    for n in range(count):
        entries += [
            PromptEntry(f"p{n}", f"question {n}"),
            AnswerEntry(f"a{n}", f"answer {n}\n\n- one\n- two\n\nend {n}"),
        ]
    return entries


async def test_it_follows_the_end() -> None:
    app = TranscriptHost([*talk(20), AnswerEntry("live", "", live=True)])
    async with app.run_test(size=(60, 12)) as pilot:
        view = app.transcript
        for n in range(60):
            view.feed.stream("live", f"line {n}\n\n")
        await wait_until_drawn(pilot, view)
        assert screen_rows(view)[-1] == "line 59"
        assert view.viewport.following and view.viewport.unseen == 0


async def test_markdown_is_held_until_its_parser_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn before, it would hold the window up for the import that a thread is busy with."""
    app = TranscriptHost([])
    async with app.run_test(size=(60, 12)) as pilot:
        view = app.transcript
        monkeypatch.setattr(parser_loading, "under_way", True)
        view.feed.apply([Put(PromptEntry("p", "a question")), Put(AnswerEntry("a", "", live=True))])
        view.feed.apply(
            [Stream("a", "an *answer*\n\n"), Put(NoticeEntry("n", "info", "a notice")), Stream("a", "more")]
        )
        while not any("a question" in row for row in screen_rows(view)):
            await pilot.pause()
        assert view.document.get("a") is None
        monkeypatch.setattr(parser_loading, "under_way", False)
        await wait_until_drawn(pilot, view)
        rows = " ".join(" ".join(screen_rows(view)).split())
        assert rows.index("a question") < rows.index("an answer more") < rows.index("a notice")


async def test_it_follows_the_end_while_what_is_below_it_comes_and_goes() -> None:
    app = TranscriptHost(talk(20))
    async with app.run_test(size=(60, 24)) as pilot:
        view = app.transcript
        question = Static("\n".join("?" * 10))
        await app.mount(question)
        for n in range(12):
            question.display = bool(n % 2)
            for _ in range(6):
                view.feed.put(AnswerEntry(f"more{n}.{_}", f"more {n}.{_}"))
                await asyncio.sleep(0)
            await wait_until_drawn(pilot, view)
            assert view.viewport.following and screen_rows(view)[-1] == f"more {n}.5"


async def test_nothing_moves_under_a_reader_who_has_scrolled_up() -> None:
    app = TranscriptHost([*talk(20), AnswerEntry("live", "", live=True)])
    async with app.run_test(size=(60, 12)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        await pilot.press("pageup")
        before = screen_rows(view)
        for n in range(100):
            view.feed.stream("live", f"line {n}\n\n")
        view.feed.put(AnswerEntry("live", "".join(f"line {n}\n\n" for n in range(100))))
        view.feed.put(NoticeEntry("n", "info", "done"))
        await wait_until_drawn(pilot, view)
        assert screen_rows(view)[:-1] == before[:-1]
        assert ", 2 new · end" in screen_rows(view)[-1]
        await pilot.click(view, offset=(30, 11))
        await wait_until_drawn(pilot, view)
        assert screen_rows(view)[-1] == "i done" and view.viewport.unseen == 0


async def test_older_entries_come_in_above_without_moving_anything() -> None:
    app = TranscriptHost(talk(10))
    async with app.run_test(size=(60, 12)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        await pilot.press("home")
        before = screen_rows(view)
        view.feed.prepend([PromptEntry(f"old{n}", f"old {n} " + "word " * 50) for n in range(200)])
        await wait_until_drawn(pilot, view)
        assert screen_rows(view) == before
        await pilot.press("pageup")
        await wait_until_drawn(pilot, view)
        assert screen_rows(view)[-2:] == before[:2] or before[0] in screen_rows(view)
        await pilot.press("home")
        assert screen_rows(view)[0].startswith("▌❯ old 0")


async def test_scrolling_by_the_wheel_moves_by_exact_rows_over_what_was_never_drawn() -> None:
    app = TranscriptHost([AnswerEntry(f"a{n}", "word " * (n % 40) + "\n\n" + "x\n" * (n % 7)) for n in range(300)])
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        for _ in range(80):
            before = screen_rows(view)
            view.scroll_up(animate=False, immediate=True)
            await pilot.pause()
            assert screen_rows(view)[1:-1] == before[:-2]
        for _ in range(80):
            before = screen_rows(view)
            view.scroll_down(animate=False, immediate=True)
            await pilot.pause()
            assert screen_rows(view)[:-2] == before[1:-1]
        assert view.viewport.following


async def test_the_bar_goes_to_any_place_and_back_to_the_end() -> None:
    app = TranscriptHost(talk(500))
    async with app.run_test(size=(60, 12)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        view.scroll_to(y=view.max_scroll_y // 2, animate=False)
        await pilot.pause()
        numbers = [int(row.split()[-1]) for row in screen_rows(view) if row.startswith(("end", "answer"))]
        assert numbers and 150 < numbers[0] < 350
        view.scroll_to(y=view.max_scroll_y, animate=False)
        await pilot.pause()
        assert view.viewport.following and screen_rows(view)[-1] == "end 499"


async def test_the_bar_is_drawn_as_textual_draws_it() -> None:
    app = TranscriptHost([AnswerEntry(f"a{n}", f"Words {n}.") for n in range(200)])
    async with app.run_test(size=(60, 17)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        bar = app.transcript.vertical_scrollbar
        assert isinstance(bar, FastScrollBar)
        whole = bar.size.region
        seen: set[tuple[str, ...]] = set()
        for position in (0, 1, 37, 120.5, 200, 399):
            for hover in (False, True):
                bar.position, bar.mouse_over = position, hover
                await pilot.pause()
                drawn, textuals = bar.render_lines(whole), super(FastScrollBar, bar).render_lines(whole)
                assert [list(strip) for strip in drawn] == [list(strip) for strip in textuals], position
                assert bar.render_lines(Region(0, 3, 1, 5)) == drawn[3:8]
                seen.add(tuple(strip.text for strip in drawn))
        assert len(seen) > 3
        for rows in ({3}, set(range(17))):  # what is beside the rows is not drawn with them
            app.transcript.refresh_rows(rows)
            drawn_again = app.transcript._repaint_regions  # pyright: ignore[reportPrivateUsage]
            assert {region.right for region in drawn_again} == {bar.region.x - app.transcript.region.x}
            await pilot.pause()


async def test_a_call_shows_its_change_and_a_failed_one_all_of_its_error() -> None:
    app = TranscriptHost([TOOL, FAILED])
    async with app.run_test(size=(50, 12)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        first, *change, second, why, more = [row for row in screen_rows(app.transcript) if row]
        assert first.startswith("✓ edit x.py") and first.endswith("+1 -1 0.4 s ▸")
        assert change == ["  │ 1   same", "  │ 2 - old", "  │ 2 + new"]
        assert second.startswith("✗ bash make") and second.endswith("failed 2.0 s ▸")
        assert (why, more) == ("  │ no rule", "  │ more")


@pytest.mark.parametrize(("arguments", "shown"), [({"command": "make"}, range(4, 14)), ({"query": "x"}, range(1, 11))])
async def test_a_long_error_shows_the_end_of_a_command_and_the_start_of_another_call(
    arguments: dict[str, str], shown: range
) -> None:
    app = TranscriptHost([ToolEntry("t", "call", "x", arguments, "error", printed(13))])
    async with app.run_test(size=(50, 20)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        first, *rows = [row for row in screen_rows(app.transcript) if row]
        assert "13 lines" in first
        assert rows == [f"  │ line {number}" for number in shown]


def printed(count: int) -> str:
    return "\n".join(f"line {n}" for n in range(1, count + 1))


@pytest.mark.parametrize(
    ("output", "shown", "count"),
    [
        ("one", ["one"], ""),
        (printed(5) + "\n", [f"line {n}" for n in range(1, 6)], ""),
        (printed(6), [f"line {n}" for n in range(2, 7)], "6 lines "),
        (printed(1_700), [f"line {n}" for n in range(1_696, 1_701)], "1,700 lines "),
        ("", [], ""),
        ("\n\n", [], ""),
        ("(no output)", [], ""),
        ("(no output)\n[Started anew]", ["[Started anew]"], ""),
    ],
)
async def test_the_end_of_an_output_and_how_long_it_is(output: str, shown: list[str], count: str) -> None:
    app = TranscriptHost([ToolEntry("t", "bash", "seq", status="ok", output=output)])
    async with app.run_test(size=(60, 20)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        assert screen_rows(app.transcript)[0].split("seq", 1)[1].strip() == f"{count}▸"
        assert [row.removeprefix("  │ ") for row in screen_rows(app.transcript)[1:] if row] == shown
        app.transcript.result_lines = 0
        await wait_until_drawn(pilot, app.transcript)
        assert [row for row in screen_rows(app.transcript)[1:] if row] == []


async def test_a_cut_output_says_how_much_of_it_is_here_and_a_long_line_that_it_goes_on() -> None:
    cut = ToolEntry("t", "bash", "seq", status="ok", output=printed(9), bytes=115_000, cut=True)
    wide = ToolEntry("w", "bash", "cat", status="ok", output="x" * 100)
    app = TranscriptHost([cut, PromptEntry("p", "and"), wide])
    async with app.run_test(size=(60, 20)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        shown = screen_rows(app.transcript)
        assert shown[1].startswith("  │ ── the model got 62 B of 115 kB · r: receipt ─")
        assert shown[2] == "  │ line 5" and shown[0].endswith(" 115 kB ▸")
        long = next(row for row in shown if "xxx" in row)
        assert long.endswith("x…") and shown[shown.index(long) + 1] == ""
        await pilot.press("home", "enter")
        await wait_until_drawn(pilot, app.transcript)
        assert "  ╷ output, 62 B of 115 kB" in screen_rows(app.transcript)
        await pilot.press("r", "G", "r")
        assert app.receipts == ["t"], "the other output is whole"


async def test_what_is_said_of_a_change_is_shown_below_it() -> None:
    diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n"
    said = "Edited a.py\n1 new problem, quoted from ruff:\n│ a.py:1:1 error: Undefined name `y` (ruff F821)"
    app = TranscriptHost([ToolEntry("t", "edit", "a.py", status="ok", output=said, diff=diff)])
    async with app.run_test(size=(60, 20)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        shown = [row for row in screen_rows(app.transcript)[1:] if row]
        assert shown[-2:] == [
            "  │ 1 new problem, quoted from ruff:",
            "  │ │ a.py:1:1 error: Undefined name `y` (ruff F821)",
        ]
        assert not any("Edited" in row for row in shown)


@pytest.mark.parametrize(("lines", "rest"), [(30, ""), (31, ""), (44, "… 14 more changed lines below")])
async def test_a_long_change_says_how_many_lines_are_left(lines: int, rest: str) -> None:
    new = "".join(f"+line {n}\n" for n in range(lines))
    diff = f"--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,{lines} @@\n{new}"
    app = TranscriptHost([ToolEntry("t", "write", "new.txt", status="ok", output="written", diff=diff)])
    async with app.run_test(size=(60, 40)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        shown = [row.removeprefix("  │ ") for row in screen_rows(app.transcript)[1:] if row]
        assert len([row for row in shown if "+ line" in row]) == (30 if rest else lines)
        assert ("\n".join(shown[30:]) == rest) if rest else not any("more" in row for row in shown)


def test_each_change_that_waits_for_an_answer_is_shown_however_many_rows_they_take() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -0,0 +1,25 @@\n" + "+x\n" * 25
    asked = [ToolEntry(id, "edit", "x", status="asked", diff=diff) for id in "ab"]
    assert unfolded(asked, 5) == [True, True]
    assert unfolded([replace(one, status="ok") for one in asked], 5) == [False, True]


@pytest.mark.parametrize(("width", "count"), [(60, 40), (60, 6), (150, 40), (150, 12)])
async def test_a_shortened_change_shows_what_replaces_each_line(width: int, count: int) -> None:
    lines = "".join(f"{sign}{word} {n}\n" for sign, word in (("-", "old"), ("+", "new")) for n in range(count))
    diff = f"--- a/x.txt\n+++ b/x.txt\n@@ -1,{count} +1,{count} @@\n{lines}"
    app = TranscriptHost([ToolEntry("t", "edit", "x.txt", status="ok", output="Edited x.txt", diff=diff)])
    async with app.run_test(size=(width, 45)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        shown = "\n".join(screen_rows(app.transcript))
        olds, news = shown.count("- old"), shown.count("+ new")
        assert olds == news == min(count, 30 if width == 150 else 15)
        left = 2 * (count - olds)
        assert (f"… {left} more changed lines below" in shown) is bool(left)


async def test_a_turn_opens_and_folds_alone() -> None:
    entries = [
        *(PromptEntry("p1", "one"), THOUGHT, TOOL, AnswerEntry("a1", "done")),
        *(PromptEntry("p2", "two"), ToolEntry("t2", "bash", "make", {"command": "make"}, "ok", "built")),
    ]
    app = TranscriptHost(entries)
    async with app.run_test(size=(60, 40)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        await pilot.press("home", "t")
        shown = "\n".join(screen_rows(view))
        assert "Second part" in shown and "path: x.py" in shown and "command: make" not in shown
        await pilot.press("t")
        shown = "\n".join(screen_rows(view))
        assert "Second part" not in shown and "path: x.py" not in shown


@pytest.mark.parametrize("key", ["t", "o"])
async def test_the_block_under_the_cursor_stays_where_it_is_while_calls_around_it_open_and_fold(key: str) -> None:
    app = TranscriptHost([*talk(5), PromptEntry("p", "go"), TOOL, AnswerEntry("a", "It is done.")])
    async with app.run_test(size=(60, 16)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        await pilot.press("up", "down")
        assert view.cursor.text() == "It is done."
        rows = screen_rows(view)
        at = next(y for y, row in enumerate(rows) if "It is done." in row)
        await pilot.press(key)
        opened = screen_rows(view)
        assert opened[at] == rows[at] and opened != rows
        await pilot.press(key)
        assert screen_rows(view) == rows


@pytest.mark.parametrize("how", ["enter", "space", "click"])
async def test_a_call_opens_and_folds_and_its_line_stays(how: str) -> None:
    app = TranscriptHost([*talk(5), TOOL])
    async with app.run_test(size=(60, 20)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        at = next(y for y, row in enumerate(screen_rows(view)) if row.startswith("✓ edit"))
        await (pilot.click(view, offset=(5, at)) if how == "click" else pilot.press(how))
        opened = screen_rows(view)
        assert opened[at].endswith("▾")
        await pilot.press("pagedown")
        shown = "\n".join(screen_rows(view))
        assert "path: x.py" in shown and "- old" in shown and "+ new" in shown and "edited" in shown
        await pilot.press("enter")
        assert not any("path: x.py" in row for row in screen_rows(view))


class CutHost(TranscriptHost):
    """Keeps what cuts a reader wanted to see."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        super().__init__(entries)
        self.wanted: list[str] = []

    def on_transcript_cut_opened(self, message: Transcript.CutOpened) -> None:
        self.wanted.append(message.cut)


@pytest.mark.parametrize("width", [20, 60, 120])
async def test_a_cut_is_a_line_across_that_opens_its_receipt(width: int) -> None:
    app = CutHost([*talk(1), CutEntry("cut/c1", "c1", "Compacted 19.3k → 6.0k tokens")])
    async with app.run_test(size=(width, 24)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        rows = screen_rows(view)
        at = next(y for y, row in enumerate(rows) if row.startswith("── Compacted"))
        assert rows[at - 1] == "" and all(len(row) <= width - 2 for row in rows)
        if width > 60:
            assert " · enter for details ──" in rows[at] and rows[at].endswith("───")
        await pilot.press("y")
        assert app.clipboard == "Compacted 19.3k → 6.0k tokens"
        await pilot.press("enter")
        await pilot.click(view, offset=(6, at))
        assert app.wanted == ["c1", "c1"]


async def test_thoughts_are_folded_and_open() -> None:
    app = TranscriptHost([THOUGHT])
    async with app.run_test(size=(60, 12)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        assert screen_rows(view)[0].startswith("✻ Thought for 4.0 s  First line of it.")
        assert not any("Second part" in row for row in screen_rows(view))
        await pilot.press("enter")
        assert any("Second part" in row for row in screen_rows(view))


async def test_a_live_thought_shows_its_last_line() -> None:
    app = TranscriptHost([ThoughtEntry("t", "", live=True)])
    async with app.run_test(size=(60, 12)) as pilot:
        view = app.transcript
        view.feed.stream("t", "one thing\n")
        view.feed.stream("t", "another thing")
        await wait_until_drawn(pilot, view)
        assert screen_rows(view)[0].startswith("✻ Thinking…  another thing")


async def test_all_open_and_all_fold_and_what_comes_is_open_too() -> None:
    app = TranscriptHost([THOUGHT, TOOL])
    async with app.run_test(size=(60, 40)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        await pilot.press("o")
        view.feed.put(FAILED)
        await wait_until_drawn(pilot, view)
        shown = "\n".join(screen_rows(view))
        assert all(words in shown for words in ("Second part", "+ new", "command: make"))
        await pilot.press("o")
        folded = "\n".join(screen_rows(view))
        assert not any(words in folded for words in ("Second part", "path: x.py", "command: make"))


async def test_the_cursor_moves_over_blocks_and_through_large_ones() -> None:
    code = "```\n" + "\n".join(f"row {n}" for n in range(40)) + "\n```"
    app = TranscriptHost([PromptEntry("p", "first"), AnswerEntry("a", f"second\n\n{code}\n\nlast")])
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        await pilot.press("home")
        seen = [view.cursor.text()]
        for _ in range(12):
            await pilot.press("down")
            if view.cursor.text() != seen[-1]:
                seen.append(view.cursor.text())
        assert [text.split("\n")[0] for text in seen] == ["first", "second", "row 0", "last"]
        assert screen_rows(view)[-1] == "last"
        for _ in range(12):
            await pilot.press("up")
        assert view.cursor.text() == "first" and screen_rows(view)[0] == "▌❯ first"


async def test_copying_a_block_copies_its_source() -> None:
    app = TranscriptHost([AnswerEntry("a", "**bold** words\n\n```python\nif x:\n\treturn 1\n```")])
    async with app.run_test(size=(40, 12)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        await pilot.press("y")
        assert app.clipboard == "if x:\n\treturn 1"
        await pilot.press("up", "y")
        assert app.clipboard == "**bold** words"


async def test_the_whole_answer_and_the_nearest_code_have_keys_of_their_own() -> None:
    answer = "Run this:\n\n```sh\nmake\n```\n\nThen look.\n\n```\nok\n```\n\nThat is all."
    app = TranscriptHost([PromptEntry("p", "how?"), AnswerEntry("a", answer), TOOL])
    async with app.run_test(size=(60, 30)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        await pilot.press("end", "Y")
        assert app.clipboard == answer
        await pilot.press("c")  # from the call: the last code above it
        assert app.clipboard == "ok" and view.cursor.text() == "ok"
        await pilot.press("up", "up", "c")
        assert app.clipboard == "make" and view.cursor.text() == "make"
        await pilot.press("home", "c")  # from the prompt: the first code below it
        assert app.clipboard == "make"
        for entry in (PromptEntry("q", "and then?"), AnswerEntry("b", "First this.\n\n```\nlater\n```")):
            view.feed.put(entry)
        await wait_until_drawn(pilot, view)
        await pilot.press("end", "up", "c")  # from above it: what the turn before has is further away
        assert app.clipboard == "later"


async def test_without_an_answer_or_code_nothing_is_copied_and_the_window_says_so() -> None:
    app = TranscriptHost([PromptEntry("p", "how?"), TOOL])
    async with app.run_test(size=(60, 12)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        await pilot.press("Y", "c")
        assert app.clipboard == ""
        said = [note.message for note in app._notifications]  # pyright: ignore[reportPrivateUsage]
        assert said == ["No answer in this turn yet.", "No code block in this conversation."]


async def test_copying_a_long_code_block_copies_all_of_it() -> None:
    code = "\n".join(f"line {n}" for n in range(300))
    app = TranscriptHost([AnswerEntry("a", f"```\n{code}\n```")])
    async with app.run_test(size=(40, 12)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        await pilot.press("y")
        assert app.clipboard == code


async def test_selecting_with_the_mouse_copies_words_without_decoration() -> None:
    words = "one two three four five six seven eight nine ten"
    app = TranscriptHost([AnswerEntry("a", f"{words}\n\n> quoted text\n\nend")])
    async with app.run_test(size=(24, 12)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        await pilot.mouse_down(view, offset=(2, 0))
        await pilot.hover(view, offset=(20, 4))
        await pilot.mouse_up(view, offset=(20, 4))
        assert app.screen.get_selected_text() == f"{words}\n\nquoted text"
        await pilot.press("y")
        assert app.clipboard == f"{words}\n\nquoted text"


async def test_a_selection_stays_on_its_words_when_something_comes_in_above() -> None:
    app = TranscriptHost(talk(10))
    async with app.run_test(size=(40, 12)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        await pilot.press("pageup")
        at = next(y for y, row in enumerate(screen_rows(view)) if row.startswith("answer"))
        await pilot.mouse_down(view, offset=(2, at))
        await pilot.hover(view, offset=(12, at))
        await pilot.mouse_up(view, offset=(12, at))
        chosen = app.screen.get_selected_text()
        assert chosen and chosen.startswith("answer")
        view.feed.prepend([PromptEntry(f"old{n}", f"old {n}") for n in range(50)])
        await wait_until_drawn(pilot, view)
        assert app.screen.get_selected_text() == chosen


async def test_selecting_everything_copies_the_source_of_everything() -> None:
    app = TranscriptHost(talk(3))
    async with app.run_test(size=(40, 12)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        app.screen.selections = {app.transcript: SELECT_ALL}
        assert (app.screen.get_selected_text() or "").startswith("question 0\n\nanswer 0\n\n- one")


async def test_the_place_is_kept_when_the_window_changes_its_size() -> None:
    app = TranscriptHost([AnswerEntry(f"a{n}", f"number {n}. " + "word " * 60) for n in range(50)])
    async with app.run_test(size=(100, 20)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        view.viewport.show(view.document.sheets[20], 0, 1)
        view.sync()
        first = screen_rows(view)[0][:10]
        assert first == "number 20."
        for width in (40, 20, 160, 100):
            await pilot.resize_terminal(width, 20)
            await wait_until_drawn(pilot, view)
            assert screen_rows(view)[0][:10] == first
        await pilot.press("end")
        for height in (8, 30, 3, 12):
            await pilot.resize_terminal(30, height)
            await wait_until_drawn(pilot, view)
            assert view.viewport.following and screen_rows(view)[-1].split()[-1] == "word"


@pytest.mark.parametrize("size", [(20, 5), (20, 1), (6, 3), (80, 24), (200, 50)])
async def test_any_size_works(size: tuple[int, int]) -> None:
    table = "| a | b | c | d | e | f |\n|---|---|---|---|---|---|\n| 1 | 2 | 3 | 4 | 5 | 6 |"
    app = TranscriptHost(
        [*talk(3), THOUGHT, TOOL, FAILED, AnswerEntry("t", f"# Title\n\n> - deep\n\n{table}\n\n日本語 👩‍👩‍👧")]
    )
    async with app.run_test(size=size) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        await pilot.press("o")
        for _ in range(30):
            await pilot.press("pageup")
            assert all(view.row_strip(y).cell_length == view.size.width for y in range(view.size.height))
        await pilot.press("home")
        assert screen_rows(view)[0].startswith("▌❯ question"[: size[0] - 3])


async def test_a_line_of_a_million_characters_is_shown_and_reached() -> None:
    app = TranscriptHost([PromptEntry("p", "go"), AnswerEntry("a", "x" * 999_990 + " the end")])
    async with app.run_test(size=(80, 24)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        assert screen_rows(view)[-1].endswith("the end")
        await pilot.press("home")
        assert screen_rows(view)[0] == "▌❯ go"


async def test_what_is_kept_is_bounded_and_there_is_no_widget_for_a_message() -> None:
    app = TranscriptHost([AnswerEntry(f"a{n}", "word\n\n" * 50) for n in range(200)])
    async with app.run_test(size=(80, 50)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        for _ in range(100):
            await pilot.press("pageup")
        assert view.document.cache.lines <= CACHED_LINES
        assert len(view.children) == 0


async def test_what_cannot_be_drawn_is_shown_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[StyledLine]:
        raise ValueError("lexer")

    app = TranscriptHost([AnswerEntry("a", "before\n\n```python\nx = [1\n```\n\nafter")])
    async with app.run_test(size=(60, 10)) as pilot:
        monkeypatch.setattr("gshtui.ui.kit.drawing.highlighter.Highlighter.lines", broken)
        await wait_until_drawn(pilot, app.transcript)
        assert [row for row in screen_rows(app.transcript) if row] == [
            "before",
            "x = [1",
            "(shown unformatted: ValueError)",
            "after",
        ]


async def test_a_stream_below_the_reader_is_marked() -> None:
    app = TranscriptHost([*talk(10), AnswerEntry("live", "", live=True)])
    async with app.run_test(size=(60, 8)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        await pilot.press("pageup")
        view.feed.stream("live", "more\n\nand more")
        view.feed.stream("live", " still")
        await wait_until_drawn(pilot, view)
        assert ", 1 new · end" in screen_rows(view)[-1]
        await pilot.press("G")
        await wait_until_drawn(pilot, view)
        assert screen_rows(view)[-1] == "and more still"


@pytest.mark.parametrize("size", [(40, 8), (80, 18), (120, 29), (30, 5)])
async def test_a_reader_within_an_answer_sees_its_prompt_and_the_way_to_the_end(size: tuple[int, int]) -> None:
    long = "\n\n".join(f"part {n}" for n in range(80))
    app = TranscriptHost([*talk(2), PromptEntry("long", "explain " + "it " * 60), AnswerEntry("answer", long)])
    async with app.run_test(size=size) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        whole = screen_rows(view)
        assert "❯" not in whole[0] and "↓" not in whole[-1]
        await pilot.press("pageup")
        rows = screen_rows(view)
        hidden = view.document.height - view.top - view.size.height + 1
        assert rows[-1].strip() == f"↓ {hidden} more lines · end", "a row of its own"
        assert (rows[0].startswith("▌❯ explain it it") and rows[0].endswith("…")) == (size[1] > 5)
        for _ in range(40):
            await pilot.press("up")
            cursor = view.cursor.shown()
            assert cursor and (cursor[0] > 0 or view.viewport.heading is None), "the prompt hides no cursor"
            assert cursor[0] < size[1] - bool(view.viewport.below), "nor does the way to the end"
        await pilot.press("p")
        assert screen_rows(view)[0].startswith("▌❯ explain it") and view.viewport.heading is None
        await pilot.click(view, offset=(size[0] // 2, size[1] - 1))
        assert screen_rows(view) == whole


async def test_the_prompt_above_an_answer_is_gone_to_by_a_click() -> None:
    app = TranscriptHost(
        [*talk(2), PromptEntry("long", "explain it"), AnswerEntry("answer", "\n\n".join("abcdefghijklm"))]
    )
    async with app.run_test(size=(60, 10)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        await pilot.press("pageup")
        assert view.viewport.heading is not None
        await pilot.click(view, offset=(10, 0))
        assert view.viewport.heading is None and view.standing
        assert screen_rows(view)[0].startswith("▌❯ explain it")


async def test_what_a_command_answers_is_not_below_an_earlier_prompt() -> None:
    app = TranscriptHost([*talk(2), OutcomeEntry("o", "/info", "\n\n".join("abcdefghijklm"))])
    async with app.run_test(size=(60, 10)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        await pilot.press("pageup")
        assert screen_rows(app.transcript)[1] == "e" and app.transcript.viewport.heading is None
        await pilot.press("pageup", "pageup")
        assert app.transcript.viewport.heading is not None, "above it, the answer to the prompt is read"


async def test_a_folded_answer_has_no_marks() -> None:
    app = TranscriptHost([OutcomeEntry("o", "/spawn", "Started 7. `gsh-tui agent attach 7` to **attach**.")])
    async with app.run_test(size=(80, 10)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        await pilot.click(app.transcript, offset=(4, 0))
        await pilot.pause()
        assert "Started 7. gsh-tui agent attach 7 to attach." in screen_rows(app.transcript)[0]


async def test_a_double_click_selects_the_block() -> None:
    app = TranscriptHost([AnswerEntry("a", "first words\n\nsecond words here")])
    async with app.run_test(size=(40, 8)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        await pilot.double_click(app.transcript, offset=(5, 2))
        assert app.screen.get_selected_text() == "second words here"


async def test_a_theme_is_taken_over_at_once() -> None:
    app = TranscriptHost([AnswerEntry("a", "words")])
    async with app.run_test(size=(40, 5)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        dark = app.transcript.document.page.palette
        app.theme = "gsh-light"
        await wait_until_drawn(pilot, app.transcript)
        assert app.transcript.document.page.palette != dark
        colours = {segment.style.color for segment in app.transcript.row_strip(0) if segment.style}
        assert dark.text.color not in colours


@pytest.mark.parametrize("theme", ["gsh-dark", "gsh-light", "textual-dark", "ansi-dark", "ansi-light", "nord"])
async def test_every_theme_has_a_palette(theme: str) -> None:
    app = TranscriptHost([*talk(1), TOOL, THOUGHT, FAILED], theme)
    async with app.run_test(size=(60, 20)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        await pilot.press("o")
        assert screen_rows(app.transcript)[0] == "▌❯ question 0"


@pytest.mark.parametrize("status", [status for each in get_args(ToolStatus) for status in get_args(each)])
async def test_only_a_call_that_waits_for_the_person_is_yellow(status: ToolStatus) -> None:
    app = TranscriptHost([ToolEntry("t", "bash", "make", {"command": "make"}, status, "no reason")])
    async with app.run_test(size=(60, 20)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        yellow = app.transcript.document.page.palette.warning.color
        rows = range(len(screen_rows(app.transcript)))
        found = {one.style.color for y in rows for one in app.transcript.row_strip(y) if one.style and one.text.strip()}
        assert (yellow in found) is (status == "asked")


async def test_an_empty_transcript_says_what_will_be_there() -> None:
    app = TranscriptHost(empty="Nothing yet.\nType a prompt.")
    async with app.run_test(size=(40, 9)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        assert [row.strip() for row in screen_rows(app.transcript) if row] == ["Nothing yet.", "Type a prompt."]
        app.transcript.feed.put(PromptEntry("p", "x"))
        await wait_until_drawn(pilot, app.transcript)
        drawn = [strip.text.strip() for strip in app.screen._compositor.render_strips()]  # what the terminal got
        assert drawn == ["▌❯ x", *[""] * 8]
        app.transcript.feed.clear()
        await wait_until_drawn(pilot, app.transcript)
        assert any("Nothing yet." in row for row in screen_rows(app.transcript))


HOSTILE = (
    "[/ [/] [bold]x[/bold] [@click=app.exit]click[/] \x1b]52;c;aGk=\x07\x1b[2J\x1b[31mred\x1b[0m \x9b5n "
    "\u202eevil\u202c \u200bhidden &#27;[2J ${x} {y} %s \\x1b[0m"
)


async def test_hostile_text_is_only_text_everywhere() -> None:
    entries: list[Entry] = [
        PromptEntry("p", HOSTILE, (HOSTILE,)),
        AnswerEntry(
            "a", f"# {HOSTILE}\n\n{HOSTILE}\n\n```{HOSTILE}\n{HOSTILE}\n```\n\n| {HOSTILE} |\n|---|\n| {HOSTILE} |"
        ),
        ThoughtEntry("t", HOSTILE),
        ToolEntry(
            "c", HOSTILE, HOSTILE, {HOSTILE: HOSTILE, "n": 3}, "error", HOSTILE, f"@@ -1 +1 @@\n-{HOSTILE}\n+{HOSTILE}"
        ),
        NoticeEntry("n", "error", HOSTILE, HOSTILE),
    ]
    app = TranscriptHost(entries)
    async with app.run_test(size=(60, 60)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        await pilot.press("o")
        shown: list[str] = []
        await pilot.press("home")
        for _ in range(6):
            shown += screen_rows(view)
            await pilot.click(view, offset=Offset(20, 20))
            await pilot.press("pagedown")
        text = "".join(shown)
        assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in text)
        assert not any(letter in text for letter in "\u202e\u202c\u200b")
        assert "[@click=app.exit]" in text and app.is_running
        await pilot.press("y")
        assert "\x1b" not in app.clipboard


def drawn(title: str, columns: int, colours: str) -> ToolEntry:
    picture = Picture(title, "", 400, 300, 900, columns, colours)
    return ToolEntry(title, "python", "plot()", status="ok", output="1", pictures=(picture,))


async def test_a_picture_is_drawn_in_half_blocks_and_copied_as_its_name() -> None:
    rgb = bytes(range(0, 108, 3)) * 3  # 6 × 6 pixels
    colours = base64.b64encode(zlib.compress(rgb)).decode()
    app = TranscriptHost([drawn("Squares", 6, colours)])
    async with app.run_test(size=(60, 12)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        assert screen_rows(view)[2:6] == ["  ╷ picture Squares, 400 × 300", *["  │ ▀▀▀▀▀▀"] * 3]
        first = list(view.row_strip(3))[2]
        assert first.style is not None and first.style.color is not None and first.style.bgcolor is not None
        assert (*(first.style.color.triplet or ()), *(first.style.bgcolor.triplet or ())) == (*rgb[:3], *rgb[18:21])
        assert view.document.sheets[0].text.endswith("[picture Squares, 400 × 300]")


@pytest.mark.parametrize("copy", [b"", b"not packed", zlib.compress(b"1234")])
async def test_a_picture_without_a_usable_copy_is_a_line(copy: bytes) -> None:
    colours = base64.b64encode(copy).decode() or "no base64"
    app = TranscriptHost([drawn("Odd\x1b]2;x\x07", 6, colours), drawn("none", 0, colours)])
    async with app.run_test(size=(60, 12)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        rows = screen_rows(app.transcript)
        assert not any("▀" in row or "\x1b" in row for row in rows)
        assert sum("picture " in row for row in rows) == 2


def looked(number: int, name: str = "read", **fields: Any) -> ToolEntry:
    """A call that only looks."""
    given: dict[str, Any] = {"status": "ok", "output": "line\n" * 17, "duration": 0.1} | fields
    return ToolEntry(f"look{number}", name, f"src/m{number}.py", **given)


async def test_calls_that_only_look_take_one_row_together() -> None:
    app = TranscriptHost()
    async with app.run_test(size=(100, 40)) as pilot:
        view = app.transcript
        view.feed.apply([Put(looked(0, status="running", output="")), Put(looked(0))])
        await wait_until_drawn(pilot, view)
        assert screen_rows(view)[0].startswith("✓ read src/m0.py"), "one call that has ended is one call"
        view.feed.apply(Put(looked(n, status="running", output="")) for n in range(3))
        view.feed.apply([*(Put(looked(n)) for n in range(3)), Put(looked(3, "grep"))])
        await wait_until_drawn(pilot, view)
        rows = [row for row in screen_rows(view) if row]
        assert len(rows) == 1 and rows[0].startswith("✓ 3 reads, 1 search src/m0.py, src/m1.py")
        view.feed.apply(Put(looked(n, status="asked", output="")) for n in (1, 2))
        await wait_until_drawn(pilot, view)
        assert len([row for row in screen_rows(view) if row]) == 1, "those that wait are in it, too"
        view.feed.apply([Put(looked(2)), Put(looked(1, status="error", output="no such file"))])
        await wait_until_drawn(pilot, view)
        assert [row.strip("│ ") for row in screen_rows(view) if "no such file" in row], "what failed is seen"
        bash = ToolEntry("b", "bash", "make", status="ok", output="done")
        view.feed.apply([Remove("look1"), Remove("look0"), Put(bash)])
        await wait_until_drawn(pilot, view)
        assert [row[:18] for row in screen_rows(view) if row] == [
            "✓ 1 read, 1 search",
            "✓ bash make       ",
            "  │ done",
        ]
        group = view.document.sheets[0]
        view.document.toggle(group, True)
        view.document.built(group)
        assert sum(block.copied.startswith("line") for block in group.blocks) == 2, "opened, it shows what each gave"


def ran(number: int, **fields: Any) -> ToolEntry:
    """A command with a long output."""
    given: dict[str, Any] = {"status": "ok", "output": printed(34) + f"\nend of {number}"} | fields
    return ToolEntry(f"run{number}", "bash", f"make t{number}", {"command": f"make t{number}"}, **given)


def failed(number: int) -> ToolEntry:
    return ran(number, status="error", output=printed(30) + f"\nend of {number}\n[exit code: 2]", word="exit 2")


def edited(number: int) -> ToolEntry:
    return ToolEntry(f"edit{number}", "edit", f"src/m{number}.py", {}, "ok", f"end of {number}", DIFF)


def looked_long(number: int) -> ToolEntry:
    return looked(number, ("read", "grep", "glob")[number % 3], output=f"{printed(17)}\nend of {number}")


TURNS: dict[str, list[ToolEntry]] = {
    "reads": [looked_long(n) for n in range(20)],
    "commands": [ran(n) for n in range(20)],
    "commands and reads": [ran(n) if n % 2 else looked_long(n) for n in range(20)],
    "four commands": [ran(n) if n % 5 == 4 else looked_long(n) for n in range(20)],
    "changes": [edited(n) for n in range(9)] + [looked_long(n) for n in range(9, 18)] + [ran(18), ran(19)],
    "work": [edited(n) if n in (5, 11) else failed(n) if n in (2, 8) else looked_long(n) for n in range(19)]
    + [ran(19)],
    "a failure at the end": [edited(n) if n == 7 else looked_long(n) for n in range(19)] + [failed(19)],
}


@pytest.mark.parametrize("kind", TURNS)
async def test_a_turn_of_twenty_calls_fits_in_twenty_rows_and_opens_to_all_of_them(kind: str) -> None:
    calls = TURNS[kind]
    app = TranscriptHost([PromptEntry("p", "go")])
    async with app.run_test(size=(120, 35)) as pilot:
        view = app.transcript
        for call in calls:
            view.feed.put(replace(call, status="running", output="", diff=""))
            view.feed.put(call)
        view.feed.put(AnswerEntry("a", "Done."))
        await wait_until_drawn(pilot, view)
        rows = [row for row in screen_rows(view) if row][1:-1]
        assert len(calls) == 20 and len(rows) <= 20, "\n".join(rows)
        if calls[-1].name == "bash":
            assert rows[-1] == "  │ end of 19", "the end of the newest output is there"
        for call in calls:
            assert call.status == "ok" or f"end of {call.id.removeprefix('run')}" in "\n".join(rows)
        for sheet in view.document.sheets:
            view.document.toggle(sheet, True)
            view.document.built(sheet)
        shown = "\n".join(sheet.text for sheet in view.document.sheets)
        assert all(f"end of {n}\n" in f"{shown}\n" for n in range(20))
        again = TranscriptHost()
    async with again.run_test(size=(120, 35)) as pilot:
        again.transcript.feed.prepend([PromptEntry("p", "go"), *calls, AnswerEntry("a", "Done.")])
        await wait_until_drawn(pilot, again.transcript)
        assert [row for row in screen_rows(again.transcript) if row][1:-1] == rows, "the record shows it the same way"


@pytest.mark.parametrize("at_once", [False, True], ids=["one by one", "all asked at once"])
async def test_quick_commands_that_only_read_are_one_row_with_the_reads(at_once: bool) -> None:
    looks = [looked_long(n) if n and not n % 3 else ran(n, reads=True, duration=0.2) for n in range(20)]
    own = [ran(20), ran(21, reads=True, duration=60.0), replace(failed(22), reads=True)]
    calls = [*looks, own[0], looks[19], *own[1:]]
    calls = [replace(call, id=f"c{n}") for n, call in enumerate(calls)]
    app = TranscriptHost([PromptEntry("p", "go")])
    async with app.run_test(size=(80, 24)) as pilot:
        view = app.transcript
        waiting = [replace(call, status="asked", output="", reads=False, duration=0.0) for call in calls]
        for n, (before, call) in enumerate(zip(waiting, calls, strict=True)):
            if at_once:
                view.feed.apply(Put(one) for one in waiting if not n)
            view.feed.apply([Put(before), Put(call)])
        view.feed.put(NoticeEntry("end", "quiet", "8s"))
        await wait_until_drawn(pilot, view)
        rows = [" ".join(row.split()) for row in screen_rows(view) if row][1:]
        assert [row[:28] for row in rows if not row.startswith("│")] == [
            "✓ 6 reads, 14 commands make ",
            "✓ bash make t20 35 lines ▸",
            "✓ bash make t19 35 lines 0.2",
            "✓ bash make t21 35 lines 1 m",
            "✗ bash make t22 31 lines exi",
            "· 8s",
        ]


async def test_a_remark_stands_with_the_calls_that_it_is_about() -> None:
    words = "Let me look."
    app = TranscriptHost([AnswerEntry("a", words), looked(1), AnswerEntry("b", f"{words}\n\nThen more."), looked(2)])
    async with app.run_test(size=(80, 14)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        rows = [" ".join(row.split())[:12] for row in screen_rows(app.transcript)]
        assert rows[:8] == [words, "✓ read src/m", "", words, "", "Then more.", "", "✓ read src/m"]


async def test_an_older_failure_without_a_word_has_no_row_below() -> None:
    wordless = ran(1, status="error", output="(no output)\n[exit code: 1]", word="exit 1")
    app = TranscriptHost([PromptEntry("p", "go"), wordless, looked(2), ran(3, output="done")])
    async with app.run_test(size=(80, 14)) as pilot:
        await wait_until_drawn(pilot, app.transcript)
        rows = [row[:11] for row in screen_rows(app.transcript) if row][1:]
        assert rows == ["✗ bash make", "✓ read src/", "✓ bash make", "  │ done"]


async def test_an_older_output_is_one_row_unless_somebody_reads_it() -> None:
    app = TranscriptHost([PromptEntry("p", "go"), *talk(3), ran(1)])
    async with app.run_test(size=(80, 14)) as pilot:
        view = app.transcript
        await wait_until_drawn(pilot, view)
        view.scroll_to(y=view.max_scroll_y - 1, animate=False, immediate=True)
        await wait_until_drawn(pilot, view)
        before = screen_rows(view)
        view.feed.apply([Put(ran(2)), Put(ran(3))])
        await wait_until_drawn(pilot, view)
        assert screen_rows(view)[:-1] == before[:-1]
        await pilot.press("G")
        await wait_until_drawn(pilot, view)
        view.feed.put(failed(4))
        view.feed.put(ToolEntry("e", "edit", "a.py", {}, "error", "There is no such text.\nNearest: line 4\n  └ x"))
        view.feed.put(ran(5))
        await wait_until_drawn(pilot, view)
        shown = [row for row in screen_rows(view) if row]
        runs = [" ".join(row.split()) for row in shown if "make" in row or "exit" in row]
        assert runs[:3] == [f"✓ bash make t{n} 35 lines ▸" for n in (1, 2, 3)]
        assert runs[3:] == ["✗ bash make t4 31 lines exit 2 ▸", "✓ bash make t5 35 lines ▸"]
        assert shown[shown.index("  │ end of 4") + 2] == "  │ There is no such text."
        assert shown[-5:] == [*(f"  │ line {n}" for n in range(31, 35)), "  │ end of 5"]


@pytest.mark.parametrize("seed", range(5))
async def test_older_calls_are_grouped_as_new_ones_are(seed: int) -> None:
    chance = random.Random(seed)
    entries: list[Entry] = []
    for n in range(30):
        looks = chance.random() < 0.7
        entries.append(looked(n, chance.choice(("read", "glob"))) if looks else AnswerEntry(f"a{n}", "words"))
    shown: list[list[str]] = []
    for older in (False, True):
        app = TranscriptHost()
        async with app.run_test(size=(80, 60)) as pilot:
            app.transcript.feed.apply([Prepend(tuple(entries))] if older else map(Put, entries))
            await wait_until_drawn(pilot, app.transcript)
            shown.append(screen_rows(app.transcript))
    assert shown[0] == shown[1]
