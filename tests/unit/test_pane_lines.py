"""The pane's pure parts: keys to edits and wishes, words to lines, questions as a person reads them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.bus.events.agent_events import ToolFinished, TurnStarted
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.bus.events.hub_events import FaultReported
from gshtui.guard.approval.answer_keys import PAUSE, READ, offers
from gshtui.headless.agents.agent_pane.pane_input import InputAction, InputLine
from gshtui.headless.agents.agent_pane.pane_lines import (
    AnswerLines,
    change_asked,
    diff_lines,
    lines_of,
    question_keys,
    question_lines,
)
from gshtui.text import cells


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("hello", "hello"),
        ("hallo\x1b[D\x1b[D\x1b[D\x1b[D\x1b[3~e", "hello"),
        ("a word\x17other", "a other"),
        ("gone\x15new", "new"),
        ("tail\x01\x0bnew", "new"),
        ("ac\x1b[Db\x1b[Fd", "abcd"),
        ("x\x7f\x7f\x7fy", "y"),
        ("漢字\x7fé", "漢é"),
        ("two\nlines", "two\nlines"),
        ("a\x1b[1;5Pb\x1bxc\x00\x07d", "abcd"),
        ("dropped\x03kept", "kept"),
    ],
)
def test_editing(keys: str, text: str) -> None:
    """Whole, and cut into single bytes."""
    line, bytewise = InputLine(), InputLine()
    assert line.feed(keys.encode()) == []
    for byte in keys.encode():
        bytewise.feed(bytes([byte]))
    assert line.text == bytewise.text == text


def test_wishes_and_history() -> None:
    line = InputLine()
    assert line.feed(b"one\rtwo\r") == [InputAction("submit", "one"), InputAction("submit", "two")]
    assert [wish.kind for wish in line.feed(b"\x03\x04\x0c\r  \r")] == ["interrupt", "leave", "redraw"]
    line.feed(b"\x1b[A\x1b[A")
    assert line.text == "one"
    line.feed(b"\x1b[B\x1b[B")
    assert line.text == ""


@given(st.integers(1, 30))
def test_a_paste_is_one_text_and_known_as_one(cut: int) -> None:
    """However the terminal cuts it, marks and all; what is typed after it does not make it typed."""
    raw = "\x1b[200~line 1\r\nline 2 \x03\x1b[A é\x1b[201~!\r".encode()
    line = InputLine()
    wishes = [wish for start in range(0, len(raw), cut) for wish in line.feed(raw[start : start + cut])]
    assert wishes == [InputAction("submit", "line 1\nline 2 \x03\x1b[A é!", pasted=True)]


@given(st.lists(st.integers(1, 9), max_size=30))
def test_what_the_terminal_says_of_itself_is_not_typed(sizes: list[int]) -> None:
    sent = b"a\x1bP>|tmux 3.3a\x1b\\b\x1b]11;rgb:1e/1e/2e\x07\x1b[?62;22cc\x1b_Gi=31;OK\x1b\\\x1b\x1b[Dde"
    line, at = InputLine(), 0
    for size in [*sizes, len(sent)]:
        line.feed(sent[at : at + size])
        at += size
    assert line.text == "abdec"


def test_an_escape_is_part_of_what_comes_with_it_only() -> None:
    line = InputLine()
    for piece, at in ((b"a\x1b", 1.0), (b"b", 2.0), (b"\x1bc", 3.0), (b"\x1bP>|half", 4.0), (b"d", 9.0)):
        line.feed(piece, at)
    assert line.text == "abd"


def test_a_line_is_about_the_question_that_could_be_read_when_it_was_begun() -> None:
    line = InputLine()
    line.feed(b"1", 0.0)
    line.keys.show_question("q", {"once"}, 1.0)
    (before,) = line.feed(b"\r", 2.0)
    (early,) = line.feed(b"1\r", 1.0 + READ - 0.01)
    (same_run,) = line.feed(b"1\r", 2.0 + PAUSE - 0.01)
    (meant,) = line.feed(b"1\r", 4.0)
    (pasted,) = line.feed(b"\x1b[200~1\x1b[201~\r", 6.0)
    assert [wish.about for wish in (before, early, same_run, meant, pasted)] == ["", "", "", "q", ""]


def test_words_come_as_lines_and_nothing_steers() -> None:
    words = AnswerLines()
    found = words.add_text("m", "first li") + words.add_text("m", "ne\nsec\x1b[2Jond\x9b\nthi")
    assert found == ["", "first line", "second"]
    assert words.unfinished(80, 5) == ["thi"]
    assert words.unfinished(2, 5) == ["th", "i"]
    assert words.rest() == ["thi"]
    long = words.add_text("n", "word " * 1_000)
    assert "".join(long) + "".join(words.rest()) == "word " * 1_000


@given(st.text(max_size=60), st.integers(2, 20))
def test_rows_hold_every_character_and_fit(text: str, width: int) -> None:
    rows = cells.rows(text, width)
    assert "".join(rows) == text
    assert all(cells.width(row) <= width for row in rows)


EVIL = "x\x1b]0;t\x07\x1b[2J\x9b\u202ey"


@pytest.mark.parametrize(
    "event",
    [
        TurnStarted(agent="a", session="s", turn="t", prompt="p", text=EVIL),
        ToolFinished(agent="a", session="s", call="c", tool="read", status="error", content=EVIL, diff=f"+{EVIL}"),
        ApprovalRequested(
            approval="i",
            agent="a",
            session="s",
            call="c",
            tool=EVIL,
            effect="execute",
            subject=EVIL,
            detail=EVIL,
            diff=f"-{EVIL}",
            pattern=EVIL,
            warnings=(EVIL,),
        ),
    ],
)
def test_no_event_brings_a_control_character_into_the_pane(
    event: TurnStarted | ToolFinished | ApprovalRequested,
) -> None:
    for line in question_lines(event) if isinstance(event, ApprovalRequested) else lines_of(event):
        for colour in ("\x1b[0m", *(f"\x1b[{code}m" for code in ("1", "2", "31", "32", "33", "36", "1;36", "1;33"))):
            line = line.replace(colour, "")
        assert line.isprintable(), repr(line)


DIFF = """\
--- a/m.py
+++ b/m.py
@@ -1,3 +1,4 @@
 def add(a, b):
-    return a - b
+    return a + b
+
 -- end
@@ -40 +41 @@ def last():
--- a comment
+x
"""


def test_a_change_has_numbers_signs_and_marked_words(monkeypatch: pytest.MonkeyPatch) -> None:
    done = ToolFinished(agent="a", session="s", call="c", tool="edit", status="ok", diff=DIFF, duration=0.1)
    lines = lines_of(done)
    assert [re.sub(r"\x1b\[[\d;]*m", "", line).rstrip() for line in lines[:-1]] == [
        "   1   def add(a, b):",
        "   2 -     return a - b",
        "   2 +     return a + b",
        "   3 +",
        "   4   -- end",
        "   ⋯ def last():",
        "  40 - -- a comment",
        "  41 + x",
    ]
    assert "\x1b[31;7m-\x1b[0m" in lines[1] and "\x1b[32;7m+\x1b[0m" in lines[2]
    monkeypatch.setenv("NO_COLOR", "1")
    assert lines_of(done)[1].endswith("return a \x1b[7m-\x1b[0m b")
    long = "--- a/m\n+++ b/m\n@@ -0,0 +1,60 @@\n" + "+x\n" * 60
    written = ToolFinished(agent="a", session="s", call="c", tool="write", status="ok", diff=long)
    assert "… 20 more changed lines" in lines_of(written)[-2]


def test_a_fault_names_its_file_only_where_there_is_one() -> None:
    lost = FaultReported(part="the link", doing="at a line", why="ValueError: x", hint="It goes on.")
    (line,) = lines_of(lost)
    assert "! the link failed at a line: ValueError: x. It goes on. The details could not be written." in line
    (line,) = lines_of(FaultReported(part="the link", why="ValueError: x", file="/tmp/crash-1.log"))
    assert "! the link failed: ValueError: x. The details are in /tmp/crash-1.log." in line


def test_a_question_shows_all_that_it_is_about() -> None:
    request = ApprovalRequested(
        approval="i",
        agent="a",
        session="s",
        call="c",
        tool="bash",
        effect="execute",
        subject="ls" + " " * 4_000 + "; rm -rf x",
        detail="ls" + " " * 4_000 + "; rm -rf x",
        warnings=("It deletes.",),
    )
    text = "\n".join(question_lines(request))
    assert question_keys(offers(request), 1, 100, 24) == [
        "  1 allow once",
        "  2 allow this exact call for this session",
        "  4 deny",
        "  5 deny with reason",
        "  its number and enter answers",
    ]
    assert question_keys(offers(request), 2, 30, 40)[1::3] == [
        "  2 this session",
        "  its number and enter answers · 1 of 2",
    ]
    assert question_keys(offers(request), 1, 120, 8) == [
        "1 allow once  2 allow this exact call for this session  4 deny  5 deny with reason · and enter"
    ]
    assert question_keys(offers(request), 2, 30, 8) == ["1  2  4  5 · and enter · 1 of 2"]
    assert "⟨4000 spaces⟩" in text and "rm -rf x" in text and "It deletes." in text


def test_a_cut_parts_no_line_from_what_replaces_it() -> None:
    for count in (30, 60, 90):
        removed, added = [f"-old {n}" for n in range(count)], [f"+new {n}" for n in range(count)]
        diff = "\n".join((f"@@ -1,{count} +1,{count} @@", *removed, *added))
        for shown in (diff_lines(diff), change_asked(diff, "a.py", 40)):
            signs = [re.sub(r"\x1b\[[\d;]*m", "", line).split()[1] for line in shown[:-1]]
            assert signs == ["-"] * 20 + ["+"] * 20, shown
            assert "more" in shown[-1]
