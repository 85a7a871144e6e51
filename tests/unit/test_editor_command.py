"""Which editor is taken, and what is said when it leaves no text."""

from pathlib import Path

import pytest

from gshtui.system.editor_command import EditorError, editor_argv, editor_failure


@pytest.fixture
def programs(tmp_path: Path) -> str:
    for name in ("one", "two", "vi", "sensible-editor"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o700)
    return str(tmp_path)


def test_visual_before_editor_before_the_usual_ones(programs: str) -> None:
    assert editor_argv({"PATH": programs, "VISUAL": "one --wait 'a b'", "EDITOR": "two"}) == ["one", "--wait", "a b"]
    assert editor_argv({"PATH": programs, "VISUAL": " ", "EDITOR": "two"}) == ["two"]
    assert editor_argv({"PATH": programs}) == ["vi"]


def test_the_menu_of_editors_is_never_opened(programs: str, tmp_path: Path) -> None:
    environ = {"PATH": programs, "HOME": str(tmp_path)}
    assert editor_argv(environ) == ["vi"]
    (tmp_path / ".selected_editor").write_text("SELECTED_EDITOR=vi\n")
    assert editor_argv(environ) == ["sensible-editor"]


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


def test_an_editor_that_fails_is_named_with_how_it_ended() -> None:
    assert str(editor_failure(["/usr/bin/two"], 3, {"EDITOR": "two"})) == "two exited with code 3; nothing was changed."
    says = str(editor_failure(["vi"], -2, {}))
    assert says == "vi was ended by SIGINT; nothing was changed. Set $VISUAL or $EDITOR to the one you use."
