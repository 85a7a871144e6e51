"""A question in words: all of it, and nothing hidden; the same in every face."""

from __future__ import annotations

import re

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from gshtui.guard.approval.question_text import (
    _OWN_WORDS,
    BUDGET,
    PROGRAM,
    QuestionLine,
    asked_words,
    question_lines,
    question_parts,
    question_title,
    shortened,
    waiting_words,
)
from gshtui.headless.agents.agent_pane import pane_lines
from gshtui.headless.turns.approval_prompt import key_hints, question_text
from gshtui.ui.approvals.question_view import wrapped_question
from tests.kit.prompt_host import make_question


def shown(**fields: object) -> str:
    return "\n".join(line.text for line in question_lines(make_question(1, **fields)))


def test_what_matters_comes_first() -> None:
    found = question_lines(
        make_question(1, warnings=("deletes",), detail="rm -r a\nrm -r b", diff="--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z")
    )
    assert [line.kind for line in found if line.text] == [
        "subject",
        "warning",
        *["detail"] * 2,
        *["hunk", "context"],
        "remove",
        "add",
        "context",
        "pattern",
    ]


def test_an_edit_of_one_file_names_it_once_and_shows_the_change_next() -> None:
    asked = make_question(
        1,
        tool="edit",
        subject="src/m.py",
        detail="edit src/m.py",
        diff="--- a/src/m.py\n+++ b/src/m.py\n@@ -1,2 +1,2 @@\n-x\n+y\n",
    )
    found = [line.text for line in question_lines(asked) if line.text]
    assert found[:4] == ["src/m.py", "1 - x", "1 + y", "always allow would add: bash rm -r build*"]
    moved = asked.__class__(**{**msgspec.structs.asdict(asked), "diff": "--- a/old\n+++ b/src/m.py\n@@ -1 +1 @@\n-x\n"})
    assert "was old" in [line.text for line in question_lines(moved)], "a name that says more stays"


def test_no_pattern_no_offer() -> None:
    assert "always" not in shown(rule="")


def test_a_detail_that_says_the_same_is_not_said_twice() -> None:
    assert shown(subject="ls", detail="ls\n", rule="") == "ls"
    assert shown(subject="a.md", detail="in the sandbox\n\nbash a.md", rule="") == "a.md\nin the sandbox"


def test_hidden_characters_are_seen() -> None:
    text = shown(subject="ls \x1b[8m; rm -rf ~\u202e" + " " * 500 + "x", detail="a\rb", diff="+\x1b]52;c;x\x07")
    assert not any(ord(char) < 32 and char != "\n" for char in text)
    assert "rm -rf ~" in text and "500 spaces" in text and "202E" in text


def test_the_title_says_who_and_which() -> None:
    assert question_title(make_question(1)) == "main wants to run a command"
    edit = make_question(1, effect="write", tool="edit")
    assert question_title(edit) == "main wants to edit a file"
    assert question_title(edit, "fix", "src/a.py") == "fix wants to edit src/a.py"
    asked = make_question(1, tool="claude", effect=PROGRAM)
    assert [question_title(asked, name) for name in ("fix", "claude-2")] == ["fix asks · claude", "claude-2 asks"]
    assert question_title(asked, "claude", "a.py") == "claude: a.py"
    assert "\x1b" not in question_title(make_question(1, agent="ma\x1b[2Jin", tool="\x07bash"))


@given(st.lists(st.text(alphabet="ab 字é\t", max_size=60), max_size=6), st.integers(8, 40))
def test_wrapping_loses_nothing(texts: list[str], width: int) -> None:
    given_lines = [QuestionLine("detail", text) for text in texts]
    found = wrapped_question(given_lines, width)
    assert "".join(line.text for line in found) == "".join(text.expandtabs(4) for text in texts)
    assert all(cell_len(line.text) <= width for line in found)


def test_a_row_ends_behind_a_blank_where_one_is_near() -> None:
    def rows(text: str) -> list[str]:
        return [line.text for line in wrapped_question([QuestionLine("detail", text)], 20)]

    assert rows("it redirects input or output") == ["it redirects input ", "or output"]
    assert rows("see https://example.org/a/b") == ["see https://example.", "org/a/b"]
    assert rows("x" * 25) == ["x" * 20, "x" * 5]


def test_a_command_that_stands_above_whole_is_not_said_twice() -> None:
    assert "⚠ touch changes things" in shown(subject="touch a", warnings=("`touch` changes things",), rule="")
    assert shown(subject="touch a", detail="It asks because …\n\nin src\ntouch a", rule="").count("touch a") == 1
    assert "touch a\nrm b" in shown(subject="touch a ⏎ rm b", detail="in src\ntouch a\nrm b", rule="")


def test_a_budget_that_is_used_up_is_a_question_about_going_on() -> None:
    assert question_title(make_question(1, tool="budget")) == "main wants to continue beyond its budget"


def test_a_question_about_no_tool_is_asked_in_words_of_its_own() -> None:
    titles = {
        "bash": "main wants to run a command",
        "git__log": "main wants to use git__log",
        "mcp_question": "main passes on a question from an MCP server",
        "workflow_continue": "main asks whether to go on after a failed step",
    }
    assert {tool: question_title(make_question(1, tool=tool, effect="execute")) for tool in titles} == titles
    assert asked_words("bash", "ls") == "bash ls"
    assert asked_words("mcp_question", "The server asks: why?") == "The server asks: why?"


WAITING = {
    "bash": "main wants to run: it",
    "edit": "main wants to edit it",
    "write": "main wants to write it",
    "read": "main wants to read it",
    "git__log": "main wants to use git__log: it",
    "another": "main wants to run another: it",
    BUDGET: "main wants to continue beyond its budget: it",
    "mcp_server": "main asks: it",
    "mcp_question": "main asks: it",
    "mcp_sampling": "main asks: it",
    "mcp_sign_in": "main asks: it",
    "workflow_continue": "main asks: it",
    "spawn_agent": "main wants to start an agent: it",
    "worktree_setup": "main wants to run the setup of a worktree: it",
    "worktree_setup_outside": "main wants to run the setup of a worktree outside the sandbox: it",
}


def test_what_an_agent_waits_for_is_a_sentence_of_it() -> None:
    effects = {"write": "write", "read": "read"}
    asked = {
        tool: make_question(1, tool=tool, effect=effects.get(tool, "execute"), subject="it")
        for tool in (*WAITING, *_OWN_WORDS)
    }
    assert {tool: waiting_words(one, "main") for tool, one in asked.items()} == WAITING
    for tool, one in asked.items():
        assert waiting_words(one) == WAITING[tool].removeprefix("main asks: ").removeprefix("main ")


def test_every_face_asks_in_the_same_words() -> None:
    asked = make_question(1, warnings=("deletes",), detail="rm -r a\nrm -r b", diff="--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y")
    words = [question_title(asked), *(line.text for line in question_lines(asked))]
    tail = [line.text.strip() for line in question_parts(asked).tail]
    assert words[-len(tail) :] == tail != []
    assert [line.strip() for line in question_text(asked).split("\n")] == words[: -len(tail) - 1]
    assert [line.strip() for line in key_hints(asked).split("\n")][-len(tail) - 1 : -1] == tail, "below the choices"
    pane = [re.sub(r"\x1b\[[\d;]*m", "", line).strip() for line in pane_lines.question_lines(asked)]
    assert pane == ["", f"? {words[0]}", *words[1:]]


def test_lines_without_room_are_counted() -> None:
    asked = make_question(1, detail="make", diff="+1\n+2\n+3\n+4", warnings=("w",))
    found = shortened(question_lines(asked), 2)
    assert [line.text for line in found][2:6] == ["make", "", "+1", "+2"]
    assert found[6].text == "… 2 more lines"
    assert shortened(question_lines(asked), 4) == question_lines(asked)


WORDS = st.lists(
    st.sampled_from(["in /src", "in ~/a", "for f", "", "do curl x | sh; done", 'in /a"; rm -rf b']), min_size=1
)


@given(WORDS, st.sampled_from(["execute", PROGRAM]), st.sampled_from(["in /src/made", f"in /{'a' * 200}", "outside"]))
def test_no_line_of_what_is_asked_is_taken_for_where(words: list[str], effect: str, where: str) -> None:
    """What a program or an agent says is read as it stands, and has to be read before an answer counts."""
    detail = "\n".join([where, *words]) if effect == "execute" else "\n".join(words)
    parts = question_parts(make_question(1, subject="asked", detail=detail, effect=effect))
    shown = [line.text for line in parts.head if line.kind not in ("subject", "label")]
    if effect == PROGRAM:
        assert (shown, parts.where) == ([word for word in words if word], "")
    elif where == "in /src/made":
        assert (shown, parts.where) == (words, where)
    else:
        assert (shown, parts.where) == ([where, *words], "")
