"""What a program asks about, from its transcript: whole, and only where its screen asks about exactly that."""

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gshtui.bus.agent_data import OpenQuestion
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.screen.screen_reading import read_screen
from gshtui.programs.transcripts.asked_call import whole_question, with_call
from gshtui.programs.transcripts.claude_transcript import slug
from gshtui.programs.transcripts.program_transcript import ProgramTranscript, TranscriptBuilder, TranscriptQuery
from gshtui.programs.transcripts.shown_change import bare
from tests.kit.record_questions import calls, made_project
from tests.kit.recorded_screens import Shot, for_each, shots

LOADED = profiles.load(Path("/nonexistent"))
LONG = "; ".join(f"touch file-{n}.txt" for n in range(60))


def transcript(
    folder: Path, *calls: tuple[str, dict[str, Any]], answered: int = 0, program: str = "claude"
) -> ProgramTranscript:
    """A conversation that ends with these calls, of which the first few have results."""
    book = TranscriptBuilder(folder / "t.jsonl", program)
    book.add_text("user", "Do it.", 1.0, "m1")
    for number, (name, arguments) in enumerate(calls):
        book.add_call(f"c{number}", name, arguments, 2.0, "m2")
        if number < answered:
            book.add_result(f"c{number}", "done", 3.0, "m3")
    return book.transcript


def asks(detail: str, subject: str = "Do you want to proceed?", *, partial: bool = False) -> OpenQuestion:
    return OpenQuestion("q", subject, detail, partial=partial)


def test_a_command_that_is_torn_or_cut_on_the_screen_is_whole(tmp_path: Path) -> None:
    torn = "\n".join(LONG[at : at + 60] for at in range(0, len(LONG), 60))
    for shown, partial in ((torn, False), (torn[-200:], True)):
        whole = with_call(asks(shown, partial=partial), transcript(tmp_path, ("Bash", {"command": LONG})), tmp_path)
        assert (whole.detail, whole.partial, whole.id) == (LONG, False, "q")


def test_a_command_whose_box_leaves_words_out_is_known_by_its_heading(tmp_path: Path) -> None:
    """Qwen at 80 columns: `' >` and `&&` have no room at the end of their rows, and are drawn nowhere else."""
    command = (
        "touch made.txt && echo 'a long line that goes on and on' > /tmp/somewhere/else/in/a/folder.txt && touch z"
    )
    heading = (
        "? Shell touch made.txt && echo 'a long line that goes on    ←\n  and on' > /tmp/somewhere/else/in/a/folder.txt"
    )
    box = "touch made.txt && echo 'a long line that goes on and on\n  /tmp/somewhere/else/in/a/folder.txt\n  touch z"
    asked = asks(f"{heading} &&\n  touch z\n\n{box}", "Allow execution of: 'touch, echo'?")
    whole = with_call(
        asked, transcript(tmp_path, ("run_shell_command", {"command": command}), program="qwen"), tmp_path
    )
    assert (whole.detail, whole.partial) == (command, False)


@pytest.mark.parametrize(
    ("shown", "is_it"),
    [
        ("Shell touch a && ls ←\n\n  touch a && ls", True),
        ("? Shell touch a && ls (Makes it) ←\n\n  touch a\n  ls", True),
        ("? Shell rm -rf ~; touch a && ls ←\n\n  touch a && ls", False),
        ("Shell touch a && ls; rm -rf ~ ←\n\n  touch a && ls", False),
        ("Shell touch a && ls ←\n\n  ls\n  touch a", False),
        ("Reason: Makes it\n\n$ touch a && ls", True),
        ("Reason: Makes it\n\n$ rm -rf ~\n\n$ touch a && ls", False),
    ],
)
def test_a_command_below_its_heading_is_all_that_is_there(tmp_path: Path, shown: str, is_it: bool) -> None:
    given = {"command": "touch a && ls", "description": "Makes it"}
    told = transcript(tmp_path, ("run_shell_command", given), program="qwen")
    assert (with_call(asks(shown), told, tmp_path).detail == "touch a && ls") == is_it


def test_what_the_screen_says_besides_stays_behind_the_command(tmp_path: Path) -> None:
    asked = asks("touch a\nMakes a file")
    given = {"command": "touch a", "description": "Makes a file"}
    whole = with_call(asked, transcript(tmp_path, ("Bash", given)), tmp_path)
    assert (whole.detail, whole.beside) == ("touch a", "Makes a file")


@pytest.mark.parametrize(
    ("calls", "answered"),
    [
        ((("Bash", {"command": "rm -rf /"}),), 0),
        ((("Bash", {"command": "touch a"}),), 1),
        ((), 0),
        ((("Bash", {"command": "touch a"}), ("Bash", {"command": "touch a"})), 0),
    ],
    ids=["another", "answered", "none", "two"],
)
def test_a_call_that_is_not_certainly_the_one_changes_nothing(
    tmp_path: Path, calls: tuple[tuple[str, dict[str, Any]], ...], answered: int
) -> None:
    asked = asks("touch a")
    assert with_call(asked, transcript(tmp_path, *calls, answered=answered), tmp_path) == asked


def test_an_edit_is_the_change_of_the_file_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("one\ntwo\nthree\n", "utf-8")
    given = {"file_path": str(tmp_path / "notes.txt"), "old_string": "two", "new_string": "2"}
    asked = asks(" 2 -two", "Do you want to make this edit to notes.txt?", partial=True)
    asked = replace(asked, beside="Edit file\nnotes.txt\nnotes.txt is a link")
    whole = with_call(asked, transcript(tmp_path, ("Edit", given)), tmp_path)
    assert whole.beside == "notes.txt is a link"
    assert "+++ b/notes.txt" in whole.diff
    assert "-two\n+2\n" in whole.diff and " three" in whole.diff
    assert (whole.detail, whole.partial) == ("", False)


def test_a_new_file_is_told_and_an_edit_of_what_its_file_has_not_is_as_its_screen_shows_it(tmp_path: Path) -> None:
    new = {"file_path": str(tmp_path / "new.txt"), "content": "a\n"}
    asked = asks("", "Do you want to create new.txt?")
    assert "--- /dev/null" in with_call(asked, transcript(tmp_path, ("Write", new)), tmp_path).diff
    (tmp_path / "notes.txt").write_text("other words\n", "utf-8")
    edit = {"file_path": str(tmp_path / "notes.txt"), "old_string": "two", "new_string": "2"}
    asked = asks("", "Do you want to make this edit to notes.txt?")
    assert with_call(asked, transcript(tmp_path, ("Edit", edit)), tmp_path) == asked


def test_a_plan_is_read_from_the_call_or_from_the_file_that_was_written(tmp_path: Path) -> None:
    plan = "# Tidy up\n\n" + "".join(f"{n}. Step {n}\n" for n in range(40))
    asked = asks("Tidy up\n1. Step 1", "Would you like to proceed?", partial=True)
    assert with_call(asked, transcript(tmp_path, ("ExitPlanMode", {"plan": plan})), tmp_path).detail == plan.strip("\n")
    (tmp_path / "plans").mkdir()
    file = tmp_path / "plans" / "p.md"
    file.write_text(plan, "utf-8")
    calls = (("Write", {"file_path": str(file), "content": plan}), ("ExitPlanMode", {}))
    assert with_call(asked, transcript(tmp_path, *calls, answered=1), tmp_path).detail == plan.strip("\n")


@pytest.mark.parametrize(
    ("shown", "subject", "ended", "whole"),
    [
        ("Tidy up\n\n1. Step 0", "Implement this plan?", True, True),
        ("38. Step 38\n39. Step 39", "Implement this plan?", True, True),
        ("Another one", "Implement this plan?", True, False),
        ("39. Step 39", "Implement this plan?", False, False),
        ("39. Step 39", "Would you like to run it?", True, False),
    ],
)
def test_a_plan_that_is_no_call_is_read_from_the_turn_that_is_over(
    tmp_path: Path, shown: str, subject: str, ended: bool, whole: bool
) -> None:
    plan = "# **Tidy up**\n\n" + "".join(f"{n}. Step `{n}`\n" for n in range(40))
    told = transcript(tmp_path)
    told.plan, told.ended = plan, ended
    found = with_call(asks(shown, subject, partial=True), told, tmp_path)
    assert (found.detail, found.partial) == ((plan.strip("\n"), False) if whole else (shown, True))


@pytest.mark.parametrize(
    ("command", "shown", "whole"),
    [
        (
            "echo a\u202eb\u200bc\x07d\x1b[2Ke\u0301\tf; rm y",
            "echo abcd[2Ke\u0301f; rm y",
            "echo a⟨U+202E⟩b⟨U+200B⟩c␇d␛[2Ke\u0301\tf; rm y",
        ),
        ("rm -rf ~ #\rtrue", "rm -rf ~ #true", "rm -rf ~ #␍true"),
        ("true #\b\b\b; rm -rf ~", "true #; rm -rf ~", "true #␈␈␈; rm -rf ~"),
        ("cat > x <<'EOF'\n───\nEOF\nrm -rf ~", "│ cat > x <<'EOF'\n│ ───\n│ EOF\n│ rm -rf ~", None),
    ],
)
def test_what_a_screen_does_not_draw_of_a_command_is_shown(
    tmp_path: Path, command: str, shown: str, whole: str | None
) -> None:
    found = with_call(asks(shown), transcript(tmp_path, ("Bash", {"command": command})), tmp_path)
    assert found.detail == (whole or command)


def test_a_change_of_which_a_long_line_is_cut_is_not_whole(tmp_path: Path) -> None:
    for text, partial in (("word " * 100, False), ("word " * 500, True), ("line\n" * 3_000, True)):
        given = {"file_path": str(tmp_path / "new.txt"), "content": text}
        asked = asks("", "Do you want to create new.txt?")
        assert with_call(asked, transcript(tmp_path, ("Write", given)), tmp_path).partial == partial


def codex_asks(size: str, name: str) -> OpenQuestion:
    shot = next(shot for shot in shots() if shot.file.match(f"codex/0.171.0/changes-{size}/*-{name}.txt"))
    read = read_screen(LOADED.get("codex"), shot.lines, shot.told["title"], shot.cursor, shot.width).read
    assert read is not None
    return read.question


@pytest.mark.parametrize("size", ["80x24", "120x35", "160x45"])
@pytest.mark.parametrize("name", ["edit", "wide", "two", "write"])
def test_a_patch_is_shown_whole_where_its_record_agrees_with_the_screen(tmp_path: Path, size: str, name: str) -> None:
    asked, folder = codex_asks(size, name), Path("/home/u/project")
    ((tool, given),) = calls("codex", folder)[name]

    def told(*calls: tuple[str, dict[str, Any]], answered: int = 0) -> OpenQuestion:
        return with_call(asked, transcript(tmp_path, *calls, answered=answered, program="codex"), folder)

    whole = told((tool, given))
    assert not whole.partial and not whole.changeless and whole.id == asked.id
    lines = [line for line in given["cmd"].split("\n") if line[:1] in ("+", "-")]
    assert lines == [
        line for line in whole.diff.split("\n") if line[:1] in ("+", "-") and line[:3] not in ("+++", "---")
    ]
    assert "Destination: /home/u/project/" in whole.beside and "Details" not in whole.beside
    cmd = given["cmd"]
    another = cmd.replace("notes.txt", "other.txt").replace("new.txt", "other.txt")
    longer = cmd.replace("\n*** End Patch", "\n+rm -rf ~\n*** End Patch")
    lines = cmd.replace("\n-line", "\n-ine").replace("\n+one", "\n+ne")
    odd = cmd.replace("\n*** End Patch", "\nrm -rf ~\n*** End Patch")
    for wrong in (another, longer, lines, odd, cmd + "\nrm -rf ~", cmd.replace("'EOF'", "EOF")):
        assert told((tool, {"cmd": wrong})) == asked, wrong
    for unread in ("cd . && " + cmd, cmd.replace("Patch\n", "Patch\n*** Environment ID: x\n", 1)):
        assert told((tool, {"cmd": unread}), (tool, given)) == asked
    for more in ({"command": cmd}, {"Cmd": cmd}, {"shell": "/bin/other"}):
        assert told((tool, given | more)) == asked
    assert told(("shell", {"command": ["bash", "-lc", cmd]}), (tool, given)) == asked
    assert told((tool, given), (tool, given)) == asked
    assert told((tool, given), answered=1) == asked
    assert told(("web_search", {"query": "x"}), (tool, given)) == replace(whole, call="c1 of m2")


EDITS = "Would you like to make the following edits?"


def patched(folder: Path, text: str, parts: str) -> OpenQuestion:
    """The question about these parts of a patch of a file that holds this text."""
    (folder / "notes.txt").write_text(text, "utf-8")
    book = TranscriptBuilder(folder / "t", "codex")
    book.add_text("user", "Do it.", 1.0, "m1")
    book.add_call("c", "apply_patch", f"*** Begin Patch\n*** Update File: notes.txt\n{parts}*** End Patch", 1.0, "m")
    row = next(line for line in parts.split("\n") if line.startswith(("+", "-")))
    asked = asks(f"    2 {row}\n\nDestination: {folder}/notes.txt", EDITS, partial=True)
    return with_call(asked, book.transcript, folder)


def test_a_patch_of_a_file_that_is_there_says_where_it_changes_it(tmp_path: Path) -> None:
    parts = "*** Move to: b.txt\n@@\n one\n-two\n+2\n"
    whole = patched(tmp_path, "one\ntwo\nthree\n", parts)
    assert "+++ b/notes.txt → b.txt" in whole.diff and "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three" in whole.diff
    whole = patched(tmp_path, "one\ntwo\n" * 2, parts)
    assert "@@ -1,2 +1,2 @@\n one\n-two\n+2" in whole.diff and "three" not in whole.diff


@pytest.mark.parametrize(
    ("text", "parts", "shown"),
    [
        ("a\nX\nb\nY\n", "@@\n a\n+Y\n@@\n-Y\n+Z\n", " a\n+Y\n X\n b\n-Y\n+Z\n"),
        ("ab\nb \n", "@@\n-b\n+c\n", "@@ -1,1 +1,1 @@\n-b\n+c"),
        ("x\ndef f\nx \n", "@@ def f\n-x\n+y\n", "@@ -1,2 +1,2 @@\n def f\n-x\n+y"),
    ],
    ids=["inserted before", "inside a line", "behind a line"],
)
def test_what_a_patch_changes_is_not_shown_in_another_place(tmp_path: Path, text: str, parts: str, shown: str) -> None:
    assert shown in patched(tmp_path, text, parts).diff


@pytest.mark.parametrize(
    ("program", "tool", "given", "more"),
    [
        ("gemini", "replace", {"old_string": "two", "new_string": "2"}, {"newString": "harmless"}),
        ("gemini", "replace", {"old_string": "two", "new_string": "2"}, {"replace_all": True}),
        ("gemini", "write_file", {"content": "one\n2\n"}, {"old_string": "two", "new_string": "harmless"}),
        ("opencode", "edit", {"oldString": "two", "newString": "2"}, {"new_string": "harmless"}),
        ("claude", "Write", {"content": "one\n2\n"}, {"Content": "harmless"}),
        ("vibe", "edit", {"old_string": "two", "new_string": "2"}, {"replace_all": "false"}),
    ],
)
def test_a_call_with_more_than_its_tool_knows_changes_nothing(
    tmp_path: Path, program: str, tool: str, given: dict[str, Any], more: dict[str, Any]
) -> None:
    (tmp_path / "notes.txt").write_text("one\ntwo\n", "utf-8")
    given = {"filePath" if program == "opencode" else "file_path": str(tmp_path / "notes.txt")} | given
    asked = asks("2 -two\n2 +2", "Apply this change to notes.txt?", partial=True)
    assert "+2" in with_call(asked, transcript(tmp_path, (tool, given), program=program), tmp_path).diff
    assert with_call(asked, transcript(tmp_path, (tool, given | more), program=program), tmp_path) == asked


def test_one_call_of_many_that_wait_is_not_taken_for_the_one_that_asks(tmp_path: Path) -> None:
    asked = asks(LONG[:200], partial=True)
    told = transcript(tmp_path, ("Bash", {"command": LONG}), ("Unknown", {"command": f"{LONG}; rm -rf ~"}))
    assert with_call(asked, told, tmp_path) == asked
    echoes = [("Bash", {"command": f"echo {n}"}) for n in range(7)]
    told = transcript(tmp_path, ("Bash", {"command": f"{LONG}; rm -rf ~"}), *echoes, ("Bash", {"command": LONG}))
    assert with_call(asked, told, tmp_path) == asked
    told = transcript(tmp_path, ("Bash", {"command": LONG}))
    assert with_call(asked, told, tmp_path).detail == LONG
    told.helped = True
    assert with_call(asked, told, tmp_path) == asked
    book = TranscriptBuilder(tmp_path / "t", "claude")
    book.add_text("user", "Do it.", 1.0, "m")
    for command in (f"{LONG}; rm -rf ~", "true"):
        book.add_call("c", "Bash", {"command": command}, 2.0, "m")
    book.add_result("c", "done", 3.0, "m")
    book.add_call("d", "Bash", {"command": LONG}, 2.0, "m")
    assert with_call(asked, book.transcript, tmp_path) == asked
    book = TranscriptBuilder(tmp_path / "t", "claude")  # of a long turn the end, where an earlier call may wait
    book.add_call("c", "Bash", {"command": LONG}, 2.0, "m")
    assert with_call(asked, book.transcript, tmp_path) == asked


@pytest.mark.parametrize("waits", [False, True])
def test_a_long_turn_is_read_from_its_beginning(tmp_path: Path, waits: bool) -> None:
    def call(id: str, command: str) -> dict[str, Any]:
        part = {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}
        return {"type": "assistant", "uuid": id, "message": {"id": id, "content": [part]}}

    said = {
        "type": "assistant",
        "uuid": "b",
        "message": {"id": "b", "content": [{"type": "text", "text": "a " * 10**6}]},
    }
    begun = {"type": "user", "uuid": "a", "message": {"content": "Do it."}}
    records = [begun, *([call("c", f"{LONG}; rm -rf ~")] if waits else []), said, said | {"uuid": "d"}, call("e", LONG)]
    file = tmp_path / "projects" / slug(str(tmp_path)) / "c1.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")
    asked = asks(LONG[:200], partial=True)
    query = TranscriptQuery("claude", "c1", str(tmp_path), 0.0)
    whole = whole_question(asked, query, {"CLAUDE_CONFIG_DIR": str(tmp_path), "HOME": str(tmp_path)})
    assert whole == (asked if waits else replace(asked, detail=LONG, partial=False, call="e of e", command=LONG))


def test_a_plan_that_is_given_is_not_taken_for_the_one_that_was_written(tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "p.md").write_text("# Tidy up\n\nrm -rf ~\n", "utf-8")
    calls = (("Write", {"file_path": str(tmp_path / "plans" / "p.md")}), ("ExitPlanMode", {"plan": "# Tidy up\n"}))
    asked = asks("Tidy up", "Would you like to proceed?", partial=True)
    assert with_call(asked, transcript(tmp_path, *calls, answered=1), tmp_path) == asked


def test_a_file_outside_the_project_is_not_headed_as_one_in_it(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    given = {"file_path": str(tmp_path / "new.txt"), "content": "a\n"}
    asked = asks("", "Do you want to create new.txt?")
    whole = with_call(asked, transcript(tmp_path, ("Write", given)), tmp_path / "project")
    assert f"+++ b/{tmp_path}/new.txt\n" in whole.diff


def test_what_is_lost_of_a_file_that_cannot_be_read_is_not_taken_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_bytes(b"\xff\n")
    given = {"file_path": str(tmp_path / "new.txt"), "content": "a\n"}
    asked = asks("", "Do you want to overwrite new.txt?", partial=True)
    assert with_call(asked, transcript(tmp_path, ("Write", given)), tmp_path) == asked


def test_a_question_that_has_no_room_on_its_screen_is_said_by_its_record_and_answered_there(tmp_path: Path) -> None:
    shot = next(shot for shot in shots() if shot.file.match("claude/*/tall-80x24/01-question.txt"))
    reading = read_screen(LOADED.get("claude"), shot.lines, shot.told["title"], shot.cursor, shot.width)
    assert (reading.status, reading.dialog) == ("waiting", False) and reading.read is not None
    words = [(f"Option {n} {'with many words ' * 8}".strip(), "What it does " * 20) for n in range(1, 5)]
    options = [{"label": label, "description": about} for label, about in words]
    call = ("AskUserQuestion", {"questions": [{"question": "Which of the twelve?", "options": options}]})
    asked = with_call(reading.read.question, transcript(tmp_path, call), tmp_path)
    assert (asked.subject, asked.choices) == ("Which of the twelve?", ())
    assert [line.partition(":")[0] for line in asked.detail.split("\n")] == [f"- {label}" for label, _ in words]
    other = ("AskUserQuestion", {"questions": [{"question": "Which?", "options": [{"label": "Another"}]}]})
    assert with_call(reading.read.question, transcript(tmp_path, other), tmp_path) == reading.read.question


_SAME = "\n".join(["python - <<'E'", *(f"step_{n}('some work that is the same')" for n in range(8))])


@pytest.mark.parametrize(
    ("shown", "written"),
    [
        (f"{_SAME}\nimport shutil; shutil.rmtree('/home/u')", f"{_SAME}\nprint('done')\nE"),
        (f"{_SAME}\nimport shutil; shutil.rmtree('/home/u')\nE", f"{_SAME}\nprint('done')\nE"),
        (f"{_SAME}\nE\n\nrm -rf ~", f"{_SAME}\nE"),
        ("touch a; rm -rf ~", "touch a"),
        ("touch a; \\\nrm -rf ~", "touch a; \\"),
        ("touch a\nrm -rf ~", "touch a"),
        ("rm 'a  b'", "rm 'a b'"),
        ("$ rm 'a b'", "rm 'a  b'"),
        ("rm -rf ~; ls", "ls"),
        ("rm -rf ~ &&\n  ls", "ls"),
        ("rm -rf ~\nls", "ls"),
        ("rm -rf ~\n\nls", "ls"),
        ("sudo touch a", "touch a"),
        ("touch a Does it", "touch a"),
        ("cd /tmp && rm -rf *\nrm -rf *", "cd /tmp && rm -rf *"),
        ("rm -rf *\ntouch a", "touch a\nrm -rf *"),
        ("rm -rf ~\n$ ls", "ls"),
        ("touch a\nrm -rf ~", "touch a\nls\nrm -rf ~"),
    ],
)
@pytest.mark.parametrize("partial", [False, True])
def test_a_call_that_begins_as_the_one_on_the_screen_is_not_taken_for_it(
    tmp_path: Path, shown: str, written: str, partial: bool
) -> None:
    asked = asks(f"Bash command\n\n  {shown}", partial=partial)
    told = transcript(tmp_path, ("Bash", {"command": written, "description": "Does it"}))
    assert with_call(asked, told, tmp_path) == asked


@pytest.mark.parametrize("first", [0, 1], ids=["it is shown", "another is shown"])
def test_a_command_of_which_a_row_counts_the_lines_out_of_sight_is_whole(first: int, tmp_path: Path) -> None:
    shot = next(shot for shot in shots() if shot.file.match("codex/0.171.0/long-80x24/02-line.txt"))
    read = read_screen(LOADED.get("codex"), shot.lines, shot.told["title"], shot.cursor, shot.width).read
    assert read is not None and "37 lines" in read.question.beside
    command = "; ".join(f"touch file-{n}.txt" for n in range(first, 200))
    told = with_call(read.question, transcript(tmp_path, ("exec_command", {"cmd": command}), program="codex"), tmp_path)
    assert (told.detail, told.partial) == ((command, False) if first == 0 else (read.question.detail, True))


def test_a_row_beside_a_scroll_bar_stays_in_its_command() -> None:
    shot = next(shot for shot in shots() if shot.file.match("vibe/3.0.2/long-80x24/02-line.txt"))
    read = read_screen(LOADED.get("vibe"), shot.lines, shot.told["title"], shot.cursor, shot.width).read
    assert read is not None and read.question.partial
    assert "; ".join(f"touch file-{n}.txt" for n in range(16)) in " ".join(read.question.detail.split())


_EDIT = re.compile(r"(claude|gemini|opencode|qwen|vibe)/[^/]+/[^/]+/\d+-(small-edit|edit)\.txt")


@for_each([shot for shot in shots() if _EDIT.search(str(shot.file))])
def test_an_edit_is_told_of_the_call_whose_lines_the_screen_shows(shot: Shot) -> None:
    """At every size, with long lines and short ones, whole or in part; not of one that differs in any line shown."""
    read = read_screen(LOADED.get(shot.program), shot.lines, shot.told["title"], shot.cursor, shot.width).read
    assert read is not None
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        shown = replace(read.question, detail=read.question.detail.replace("/home/u/project", place))
        made_project(folder)
        name = "wide" if "/wide-" in str(shot.file) else "small" if "small" in shot.file.name else "edit"
        made = calls(shot.program, folder)
        tool, given = made["change" if (shot.program, name) == ("gemini", "small") else name][-1]
        (new,) = {"new_string", "newString"} & given.keys()

        def told(text: str) -> bool:
            transcript_ = transcript(folder, (tool, given | {new: text}), program=shot.program)
            return with_call(shown, transcript_, folder).diff != ""

        if shown.changeless and "notes.txt" not in shown.subject + shown.beside:
            assert not told(given[new]), "nothing says of which file"
            return
        assert told(given[new]), shown.detail
        if not re.search(r"\d [-+]", shown.detail):
            return  # its change is yet to be drawn
        assert shown.partial or not told(f"{given[new]} and more"), shown.detail
        rows = bare("".join(row for row in shown.detail.split("\n") if re.match(r"[ │]*\d+ ", row)))
        for line in given[new].split("\n"):
            if bare(line) and bare(line) in rows:
                assert not told(given[new].replace(line, f"{line};", 1)), shown.detail
                assert not told(given[new].replace(line, line[:-1], 1)), shown.detail
        assert shown.partial or not told(f"rm -rf ~\n{given[new]}"), shown.detail


_TEN = "".join(f"line {number}\n" for number in range(1, 11))
_LONG_LINE = "some words that go on until the row is over, in 2024 and later"


_WRAPPED = ("1   some words that go on until", "    the row is over, in", "    2024 and later", "2")
_BESIDE = "\n".join(
    f"{left:<40}{right}" for left, right in zip((*_WRAPPED, "3 - two", ""), (*_WRAPPED, "3 + 2", "4 +"), strict=True)
)


@pytest.mark.parametrize(
    ("before", "old", "new", "rows"),
    [
        ("one\n\ttwo\n", "\ttwo", "\t2", " 1  one\n 2 -  two\n 2 +  2"),
        ("one\r\ntwo\r\n", "two", "2", " 1  one\n 2 -two\n 2 +2"),
        ("one\ntwo", "two", "2", " 1  one\n 2 -two\n 2 +2"),
        ("一二\n三四\n", "三四", "五六", " 1  一二\n 2 -三四\n 2 +五六"),
        ("one\n\ntwo\n", "one\n", "one\n\n", " 1  one\n 2\n 3 +\n 4  two"),
        ("- a\n- b\n", "- b", "- c\n- d", " 1  - a\n 2 -- b\n 2 +- c\n 3 +- d"),
        ("1. a\n2. b\n", "2. b", "3 - c", " 1  1. a\n 2 -2. b\n 2 +3 - c"),
        ("one\ntwo\nthree\n", "two", "", " 1  one\n 2 -two\n 2  three"),
        (
            f"two\n{_LONG_LINE}\n",
            "two",
            "2",
            " 1 -two\n 1 +2\n 2  some words that go on until the row is over, in\n    2024 and later",
        ),
        (
            "two\n",
            "two",
            _LONG_LINE,
            " 1 - two\n 1 + some words that go on until the row is over, in\n     2024 and later",
        ),
        (
            "two\n",
            "two",
            _LONG_LINE,
            " 1 -two\n 1 +some words that go on until the row is over, in\n   +2024 and later",
        ),
        (
            _TEN,
            _TEN,
            _TEN.replace("e 2\n", "e two\n").replace("e 9\n", "e nine\n"),
            "1  line 1\n2 -line 2\n2 +line two\n3  line 3\n...\n 8  line 8\n 9 -line 9\n 9 +line nine\n10  line 10",
        ),
        (f"{_LONG_LINE}\n\ntwo\n", "two", "2\n", _BESIDE),
        ("two\n", "two", "a table  5 - x", " 1 -two\n 1 +a table  5 - x"),
        ("see docs/notes.txt\ntwo\n", "two", "2", " 1  see docs/notes.txt\n 2 -two\n 2 +2"),
    ],
)
@pytest.mark.parametrize("partial", [False, True])
def test_an_edit_is_told_however_its_lines_are_drawn(
    before: str, old: str, new: str, rows: str, partial: bool, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_bytes(before.encode())
    given = {"file_path": str(tmp_path / "notes.txt"), "old_string": old, "new_string": new}
    asked = asks(rows, "Do you want to make this edit to notes.txt?", partial=partial)
    assert with_call(asked, transcript(tmp_path, ("Edit", given)), tmp_path).diff


@pytest.mark.parametrize(
    ("rows", "said", "new"),
    [
        (" 2 -two\n 2 +2", "Edit file\nother/notes.txt", "2"),
        (" 2 -two\n 2 +2", "Edit file\n~/other/notes.txt", "2"),
        (" 2 -two\n 2 +rm -rf build\n   +/x", "", "rm -rf build;/x"),
        (" 2 -two\n 2 +rm -rf / tmp/x", "", "rm -rf /tmp/x"),
        (" 1  one\n 2 -two\n 2 + return", "", " return check(user)"),
        (
            " 1  the widest of all rows that are there\n 2 -two\n 2 +return the value of it",
            "",
            "return the value of it all",
        ),
    ],
    ids=[
        "another folder",
        "a folder at home",
        "a sign between rows",
        "a blank",
        "more of a short line",
        "more that had room",
    ],
)
@pytest.mark.parametrize("partial", [False, True])
def test_an_edit_is_not_told_of_a_call_that_is_almost_the_one_on_the_screen(
    rows: str, said: str, new: str, partial: bool, tmp_path: Path
) -> None:
    first = rows.partition("\n")[0][4:] if rows.startswith(" 1") else "one"
    (tmp_path / "notes.txt").write_text(f"{first}\ntwo\n", "utf-8")
    given = {"file_path": str(tmp_path / "notes.txt"), "old_string": "two", "new_string": new}
    asked = asks(rows, "Do you want to make this edit to notes.txt?", partial=partial)
    asked = replace(asked, beside=said)
    assert with_call(asked, transcript(tmp_path, ("Edit", given)), tmp_path) == asked


@pytest.mark.parametrize("shown", ["Delete the old branch?", "Delete the whole repository?", ""])
def test_of_two_questions_with_the_same_answers_the_one_on_the_screen_is_told(shown: str, tmp_path: Path) -> None:
    answers = [{"label": "Yes", "description": ""}, {"label": "No", "description": ""}]
    questions = ("Delete the old branch?", "Delete the whole repository?")
    given = {"questions": [{"question": each, "options": answers} for each in questions]}
    asked = asks("1. Yes\n2. No", shown or "It asks something.")
    told = with_call(asked, transcript(tmp_path, ("AskUserQuestion", given)), tmp_path)
    assert told.subject == (shown or "It asks something.")
    assert bool(told.call) is bool(shown)


def test_a_screen_that_shows_all_of_an_edit_shows_each_of_its_lines(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("one\ntwo\n", "utf-8")
    asked = asks(" 1  one\n 2 -two\n 2 +2", "Do you want to make this edit to notes.txt?")
    given = {"file_path": str(tmp_path / "notes.txt"), "old_string": "two", "new_string": "2\nrm -rf ~"}
    told = transcript(tmp_path, ("Edit", given))
    assert with_call(asked, told, tmp_path) == asked
    assert with_call(replace(asked, partial=True), told, tmp_path).diff


@pytest.mark.parametrize("side", [False, True])
@pytest.mark.parametrize("partial", [False, True])
def test_an_edit_of_the_same_file_that_makes_another_change_is_not_taken_for_the_one_on_the_screen(
    tmp_path: Path, side: bool, partial: bool
) -> None:
    (tmp_path / "notes.txt").write_text("one\ntwo\nthree\n", "utf-8")
    shown = " 2 - two    2 + 22" if side else " 2 - two\n 2 + 22"
    asked = asks(shown, "Do you want to make this edit to notes.txt?", partial=partial)
    given = {"file_path": str(tmp_path / "notes.txt"), "old_string": "two", "new_string": "22"}
    assert with_call(asked, transcript(tmp_path, ("Edit", given)), tmp_path).diff
    for name in ("my_notes.txt", "notes.txt.bak"):
        named = replace(asked, subject=f"Do you want to make this edit to {name}?")
        assert with_call(named, transcript(tmp_path, ("Edit", given)), tmp_path) == named
    for other in ({"old_string": "one"}, {"new_string": "33"}):
        assert with_call(asked, transcript(tmp_path, ("Edit", given | other)), tmp_path) == asked


@pytest.mark.parametrize(
    ("shown", "content", "told"),
    [
        (" 1 import shutil\n 2 shutil.rmtree('/')", "print('hi')\n", False),
        (" 1 import shutil\n 2 shutil.rmtree('/')", "import shutil\nprint('hi')\n", False),
        (" 25 shutil.rmtree('/')", "print('hi')\n", False),
        (" 1 import shutil\n 2 print('hello')", "import shutil\nprint('hello')\n", True),
        (" 1 import shutil\n 2 print('a long\n     line')", "import shutil\nprint('a long line')\n", True),
    ],
)
def test_a_new_file_is_told_of_the_call_whose_lines_the_screen_shows(
    shown: str, content: str, told: bool, tmp_path: Path
) -> None:
    question = asks(f"Create file\nnotes.txt\n\n{shown}", "Do you want to create notes.txt?", partial=True)
    call = "Write", {"file_path": str(tmp_path / "notes.txt"), "content": content}
    assert (with_call(question, transcript(tmp_path, call), tmp_path) != question) is told
