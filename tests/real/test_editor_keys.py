"""The keys of a terminal that sends signals, pressed in the person's editor: they are for the editor alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.configuration import made_project
from tests.kit.home import Home
from tests.kit.pty_child import PtyChild, WarmPtyChild

EDITOR = """#!/bin/sh
trap 'printf "interrupted\\n"; printf " once more" >> "$1"; exit 0' INT
trap 'printf "told to quit\\n"; exit 3' QUIT
printf "editing\\n"
while :; do sleep 0.1; done
"""


@pytest.fixture
def window(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PtyChild]:
    """`gsh-tui` with such an editor."""
    editor = tmp_path / "editor"
    editor.write_text(EDITOR)
    editor.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(editor))
    child = WarmPtyChild([], made_project(tmp_path / "project"))
    yield child
    child.close()


def test_the_window_outlives_what_its_editor_is_told(window: PtyChild) -> None:
    window.go()
    window.read_until(lambda: b"for anything" in window.output)
    window.write(b"first")
    for key, said, shown in ((b"\x1c", b"told to quit", b"exited with code 3"), (b"\x03", b"interrupted", b" once")):
        begun = len(window.output)
        window.write(b"\x1be")
        window.read_until(lambda begun=begun: b"editing" in window.output[begun:])
        window.write(key)
        window.read_until(lambda begun=begun, said=said: said in window.output[begun:])
        window.read_until(lambda begun=begun, shown=shown: shown in window.output[begun:])
    window.write(b"\x11")
    assert window.wait() == 0
