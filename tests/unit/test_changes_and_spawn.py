"""What a tab of changes makes of a diff's data, and what the dialog for a new agent makes of what is filled in."""

from __future__ import annotations

from typing import Any

import pytest

from gshtui.commands.language import parse
from gshtui.commands.registry import Registry
from gshtui.providers.model_command import ListedModel, ModelList
from gshtui.ui.agents.spawn_dialog import ANY, SpawnForm, form_problem, spawn_line, spawn_options
from gshtui.ui.changes.diff_document import MOST_ROWS, parse_diff
from gshtui.ui.changes.diff_pane import listed_worktrees
from tests.kit.recorded_fleet import DIFF, PERSONAS, PROFILES


def test_the_rows_of_a_diff_have_their_numbers_and_places() -> None:
    found = parse_diff(DIFF)
    assert [(file.path, file.row) for file in found.files][:2] == [("src/lexer.py", 0), ("tests/test_lexer.py", 16)]
    assert [found.file_at(row) for row in (0, 14, 16, 17)] == [0, 0, 1, 1]
    assert [(row.kind, row.number) for row in found.rows[1:7]] == [
        ("hunk", 3), ("same", 3), ("removed", 4), ("removed", 5), ("added", 4), ("added", 5),
    ]  # fmt: skip
    assert found.hunks[:3] == (1, 11, 17)
    assert (found.hunk_at(0), found.hunk_at(5), found.hunk_at(11)) == (0, 0, 1)
    assert (found.end_of(0), found.end_of(1)) == (11, 15)
    copied = found.text_of(1, 11)
    assert copied.startswith("@@ class Lexer:\n") and "\n-        return words\n+" in copied
    assert "Not text" in found.rows[found.hunks[3]].text


def test_lines_that_look_like_headers_are_lines() -> None:
    text = "@@ -1,2 +1,2 @@\n--- a/x\n+++ b/x\n@@ no hunk\n\\ No newline at end of file"
    rows = parse_diff({"files": [{"path": "x", "text": text}]}).rows
    assert [row.kind for row in rows] == ["file", "hunk", "removed", "added", "same", "note"]
    assert rows[2].text == "-- a/x"


@pytest.mark.parametrize("data", [None, [], "x", {}, {"files": None}])
def test_data_that_is_none_is_an_empty_document(data: Any) -> None:
    found = parse_diff(data)
    assert (found.files, found.rows, found.hunk_at(0), found.file_at(0)) == ((), (), -1, -1)


def test_a_document_has_an_end() -> None:
    text = "@@ -1 +1 @@\n" + "\n".join(["+x"] * (MOST_ROWS + 5))
    found = parse_diff({"files": [{"path": "a", "text": text}, {"path": "b", "text": "@@ -1 +1 @@\n+y"}]})
    assert len(found.rows) == MOST_ROWS + 1
    assert "more than can be shown" in found.rows[-1].text


def test_worktrees_whose_folder_is_gone_are_not_offered() -> None:
    rows = [
        {"path": "/a", "branch": "main", "main": True},
        {"path": "/b", "branch": "", "commit": "0123456789"},
        {"path": "/c", "branch": "c", "gone": True},
    ]
    assert [(choice.id, choice.name) for choice in listed_worktrees(rows)] == [
        ("/b", "01234567"),
        ("/a", "main (main tree)"),
    ]
    assert listed_worktrees(None) == []


def test_the_offers_come_from_the_commands_data() -> None:
    models = ModelList([ListedModel("p", "m", "M"), ListedModel("q", "n", "N", usable=False)], [])
    found = spawn_options(PERSONAS, PROFILES, models)
    assert [kind for kind, _ in found.kinds] == ["native", "claude", "codex", "command"]
    assert [persona for persona, _ in found.personas] == ["explore", "test", "build"]
    assert (found.models, found.programs["codex"]) == (("p/m",), "codex")
    assert spawn_options(None, None, None).kinds == (("native", "one of ours"), ("command", "any program"))


def test_the_line_says_what_was_filled_in() -> None:
    """Read back by the language itself: quotes, newlines and backslashes arrive as they were typed."""
    from gshtui.fleet.spawn_command import SpawnAgent, spawn_command

    registry = Registry()
    registry.register(spawn_command(None))  # pyright: ignore[reportArgumentType]  # only its declaration is used
    prompt = 'Don\'t "stop"\nbefore C:\\x is = done'
    line = spawn_line(SpawnForm(prompt, persona="test", model="p/m/large", worktree="feat/x", background=True), {})
    read = parse(registry, line).parameters
    assert isinstance(read, SpawnAgent)
    assert (read.prompt, read.persona, read.provider, read.model) == (prompt, "test", "p", "m/large")
    assert (read.worktree, read.background, read.cli) == ("feat/x", True, "")
    program = parse(
        registry, spawn_line(SpawnForm("go", kind="claude", persona="test", model="m"), {"claude": "claude"})
    )
    assert isinstance(program.parameters, SpawnAgent)
    assert (program.parameters.cli, program.parameters.profile) == ("claude", "claude")
    assert (program.parameters.persona, program.parameters.model) == ("", "")
    assert "provider" not in spawn_line(SpawnForm(model="large"), {})
    own = parse(registry, spawn_line(SpawnForm(kind=ANY, command="aider --no-git 'a b'", name="x"), {})).parameters
    assert isinstance(own, SpawnAgent)
    assert (own.cli, own.name, own.prompt) == ("aider --no-git 'a b'", "x", "")


def test_what_is_missing_is_said() -> None:
    assert form_problem(SpawnForm(kind=ANY)) == (
        "command",
        "Which program is it to be? Give its command line, such as `aider --no-git`.",
    )
    assert form_problem(SpawnForm(background=True))[0] == "task"
    assert form_problem(SpawnForm()) == ("", "")
