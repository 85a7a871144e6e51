"""What a tab of changes makes of a diff's data, and what the dialog for a new agent makes of what is filled in."""

import msgspec
import pytest

from gshtui.bus.agent_data import SpawnRequest
from gshtui.commands.declaration import UsageError
from gshtui.fleet.commands.spawn_command import SpawnAgent
from gshtui.fleet.native.commands import SpawnAgentParameters
from gshtui.providers.model_command import ListedModel, ModelList
from gshtui.text.unified_diff import FilePatch
from gshtui.tools.git.worktree import Worktree
from gshtui.tools.git.worktree_changes import WorktreeChanges
from gshtui.ui.agents.spawn_dialog import (
    ANY,
    SpawnForm,
    SpawnList,
    SpawnOptions,
    form_problem,
    spawn_options,
    spawn_parameters,
)
from gshtui.ui.changes.diff_document import MOST_ROWS, make_document
from gshtui.ui.changes.diff_pane import worktree_choices
from tests.kit.recorded_fleet import DIFF, PERSONAS, PROFILES


def test_the_rows_of_a_diff_have_their_numbers_and_places() -> None:
    found = make_document(DIFF)
    assert [(file.path, file.row) for file in found.files][:2] == [("src/lexer.py", 0), ("tests/test_lexer.py", 16)]
    assert [found.file_at(row) for row in (0, 14, 16, 17)] == [0, 0, 1, 1]
    assert [(row.kind, row.number) for row in found.rows[1:7]] == [
        ("hunk", 3),
        ("same", 3),
        ("removed", 4),
        ("removed", 5),
        ("added", 4),
        ("added", 5),
    ]
    assert found.hunks[:3] == (1, 11, 17)
    assert (found.hunk_at(0), found.hunk_at(5), found.hunk_at(11)) == (0, 0, 1)
    assert (found.end_of(0), found.end_of(1)) == (11, 15)
    copied = found.text_of(1, 11)
    assert copied.startswith("@@ class Lexer:\n") and "\n-        return words\n+" in copied
    assert "Binary file" in found.rows[found.hunks[3]].text


def changes(*files: FilePatch) -> WorktreeChanges:
    return WorktreeChanges(Worktree("/a", "a"), "main", "0" * 40, files)


def test_lines_that_look_like_headers_are_lines() -> None:
    lines = ["@@ -5,2 +5,2 @@", "--- a/x", "+++ b/x", "@@ no hunk", "\\ No newline at end of file"]
    rows = make_document(changes(FilePatch("x", lines=lines))).rows
    assert [row.kind for row in rows] == ["file", "hunk", "removed", "added", "same", "note"]
    assert rows[2].text == "-- a/x"


def test_no_changes_are_an_empty_document() -> None:
    found = make_document(changes())
    assert (found.files, found.rows, found.hunk_at(0), found.file_at(0)) == ((), (), -1, -1)


def test_what_a_file_says_is_shown_without_its_escapes() -> None:
    document = make_document(changes(FilePatch("a\x1b[2Jb", lines=["@@ -1 +1 @@", "+c\x1b[2Jd"])))
    assert "\x1b" not in "".join(row.text for row in document.rows)


def test_a_document_has_an_end() -> None:
    long = FilePatch("a", lines=["@@ -1 +1 @@", *["+x"] * (MOST_ROWS + 5)])
    found = make_document(changes(long, FilePatch("b", lines=["@@ -1 +1 @@", "+y"])))
    assert len(found.rows) == MOST_ROWS + 1
    assert "Too many changes" in found.rows[-1].text


def test_worktrees_whose_folder_is_gone_are_not_offered() -> None:
    trees = [Worktree("/a", "main", main=True), Worktree("/b", commit="0123456789"), Worktree("/c", "c", gone=True)]
    assert [(choice.id, choice.name) for choice in worktree_choices(trees)] == [
        ("/b", "01234567"),
        ("/a", "main (main tree)"),
    ]


def test_the_offers_come_from_the_commands_data() -> None:
    models = ModelList([ListedModel("p", "m", "M"), ListedModel("q", "n", "N", usable=False)], [])
    found = spawn_options(PERSONAS, PROFILES, models, {"codex": "/bin/codex"}.get)
    assert [kind for kind, _ in found.kinds] == ["native", "codex", "command", "claude"]
    assert found.missing == {"claude"}
    assert [persona for persona, _ in found.personas] == ["explore", "test", "build"]
    assert (found.models, found.programs["codex"]) == (("p/m",), "codex")
    assert spawn_options(None, None, None).kinds == (("native", "Built-in agent"), ("command", "Other program"))


def test_what_is_not_installed_has_its_own_heading() -> None:
    listed = SpawnList(spawn_options(PERSONAS, PROFILES, None, {"codex": "/bin/codex"}.get))._choices
    groups = {choice.id: choice.group for choice in listed}
    assert (groups["codex"], groups["command"], groups["claude"]) == ("Programs", "Programs", "Not installed")
    assert not any(choice.state for choice in listed)


def test_the_parameters_say_what_was_filled_in() -> None:
    prompt = 'Don\'t "stop"\nbefore C:\\x is = done'
    native = SpawnForm(prompt, persona="test", model="p/m/large", worktree=" feat/x ", background=True, command="x")
    assert spawn_parameters(native, {}) == SpawnAgent(
        prompt=prompt, persona="test", provider="p", model="m/large", worktree="feat/x", background=True
    )
    program = SpawnForm("go", kind="claude", persona="test", model="m")
    assert spawn_parameters(program, {"claude": "claude"}) == SpawnAgent(prompt="go", cli="claude", profile="claude")
    own_options = SpawnForm(kind="claude", command="claude --chrome ")
    assert spawn_parameters(own_options, {}) == SpawnAgent(cli="claude --chrome", profile="claude")
    assert spawn_parameters(SpawnForm(model="large"), {}) == SpawnAgent(model="large")
    there = SpawnForm(kind="claude", host="far")
    assert spawn_parameters(there, {}) == SpawnAgent(cli="claude", profile="claude", host="far")
    spoken = SpawnForm("go", kind="claude", acp=True)
    assert spawn_parameters(spoken, {"claude": "claude"}) == SpawnAgent(prompt="go", acp="claude")
    assert spawn_parameters(SpawnForm(kind=ANY, command="mine serve", acp=True), {}) == SpawnAgent(acp="mine serve")
    own = SpawnForm(kind=ANY, command="aider --no-git 'a b'", name="x")
    assert spawn_parameters(own, {}) == SpawnAgent(cli="aider --no-git 'a b'", name="x")


def test_all_that_can_be_asked_of_an_agent_travels_in_the_request() -> None:
    """A parameter under a name of its own would be lost on its way to the fleet."""
    asked = {
        "prompt": "go",
        "name": "n",
        "persona": "test",
        "model": "m",
        "provider": "p",
        "tools": ["read"],
        "max_iterations": 3,
        "budget_usd": 1.5,
        "background": True,
        "worktree": "b",
        "cli": "aider 'a b'",
    }
    shared = SpawnRequest(
        "go", "n", "test", "p", "m", ("read",), 3, 1.5, background=True, worktree="b", cli=("aider", "a b")
    )
    assert SpawnAgentParameters.model_validate(asked).request() == shared
    own = SpawnAgent.model_validate(
        {**asked, "profile": "codex", "cwd": "/x", "env": ["A=1"], "mode": "edit", "host": "far"}
    )
    assert own.request() == msgspec.structs.replace(
        shared, profile="codex", cwd="/x", env=("A=1",), mode="edit", host="far"
    )
    forks = {"fork", "conversation", "anew", "here"}
    assert set(SpawnRequest.__struct_fields__) - set(SpawnAgent.model_fields) == {"parent", "depth", "paths", *forks}
    assert set(SpawnAgent.model_fields) - set(SpawnAgentParameters.model_fields) == {
        *("profile", "cwd", "env", "attach", "account", "group", "mode", "setup", "yes", "host"),
    }
    assert set(SpawnAgentParameters.model_fields) - set(SpawnAgent.model_fields) == {"fork"}
    with pytest.raises(UsageError, match="`cli` is not a valid command line"):
        SpawnAgent(cli="aider 'a b").request()


def test_a_model_must_give_a_task_and_a_person_need_not() -> None:
    assert SpawnAgent().prompt == ""
    with pytest.raises(ValueError, match="at least 1"):
        SpawnAgentParameters(prompt="")


def test_what_is_missing_is_said() -> None:
    assert form_problem(SpawnForm(kind=ANY), SpawnOptions()) == (
        "command",
        "Which program? Enter its command line, such as aider --no-git.",
    )
    assert form_problem(SpawnForm(background=True), SpawnOptions())[0] == "task"
    assert form_problem(SpawnForm(), SpawnOptions()) == ("", "")
    found = spawn_options(PERSONAS, PROFILES, None, {}.get)
    assert form_problem(SpawnForm(kind="codex"), found) == (
        "command",
        "codex is not on your PATH. Install it, or enter the command line that starts it.",
    )
    assert form_problem(SpawnForm(kind="codex", command="/opt/codex"), found) == ("", "")
    assert form_problem(SpawnForm(kind="codex", host="far"), found) == ("", ""), "it is looked for there"
    assert form_problem(SpawnForm(host="far"), found) == ("", ""), "our own agents can work there"
    assert form_problem(SpawnForm(kind="codex", host="far", worktree="x"), found)[0] == "worktree"
