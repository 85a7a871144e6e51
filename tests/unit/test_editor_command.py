"""Which editor is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from gshtui.ui.kit.terminal_handoff import EditorError, editor_argv


@pytest.fixture
def programs(tmp_path: Path) -> str:
    for name in ("one", "two", "vi"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o700)
    return str(tmp_path)


def test_visual_before_editor_before_the_usual_ones(programs: str) -> None:
    assert editor_argv({"PATH": programs, "VISUAL": "one --wait 'a b'", "EDITOR": "two"}) == ["one", "--wait", "a b"]
    assert editor_argv({"PATH": programs, "VISUAL": " ", "EDITOR": "two"}) == ["two"]
    assert editor_argv({"PATH": programs}) == ["vi"]


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"EDITOR": "nowhere"}, "$EDITOR names 'nowhere', which is not installed"),
        ({"VISUAL": "one 'open"}, "$VISUAL is not a command"),
    ],
)
def test_what_is_wrong_is_said(programs: str, environ: dict[str, str], says: str) -> None:
    with pytest.raises(EditorError, match="^" + says.replace("$", r"\$")):
        editor_argv({"PATH": programs, **environ})


def test_no_editor_at_all(tmp_path: Path) -> None:
    with pytest.raises(EditorError, match="Set \\$VISUAL or \\$EDITOR"):
        editor_argv({"PATH": str(tmp_path)})
