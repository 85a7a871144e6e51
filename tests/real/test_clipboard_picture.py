"""The picture on the clipboard, by programs that stand in for the desktop's: found, bounded, and none that is none."""

import os
from pathlib import Path

import pytest

from gshtui.media import clipboard_picture
from gshtui.media.clipboard_picture import clipboard_program, save_clipboard_picture
from gshtui.system.expected_error import ExpectedError
from tests.kit.png import png


def program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o700)


def test_the_desktops_own_program_is_asked() -> None:
    assert clipboard_program({}, lambda name: name, "linux") is None
    wayland = clipboard_program({"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, lambda name: name, "linux")
    assert wayland is not None and wayland.read[0] == "wl-paste"
    x11 = clipboard_program({"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, lambda name: name * (name == "xclip"), "linux")
    assert x11 is not None and x11.types[-1] == "TARGETS"
    apple = clipboard_program({}, lambda name: name * (name == "osascript"), "darwin")
    assert apple is not None and "class PNGf" in apple.read[-1]
    assert clipboard_program({"SSH_CONNECTION": "a b"}, lambda name: name, "darwin") is None


def test_what_is_on_it_is_kept_privately_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    environ = {"DISPLAY": ":0"}
    (tmp_path / "a.png").write_bytes(png())
    read = f"cat {tmp_path}/a.png"
    program(tmp_path, "xclip", f'case "$5" in TARGETS) echo "TARGETS\nimage/png";; *) {read};; esac')
    file = save_clipboard_picture(environ)
    assert file is not None and file.read_bytes() == png() and file.stat().st_mode & 0o777 == 0o600
    for script in ("echo text/plain", "echo image/png", "exit 1"):  # no picture; one that is none; a failure
        program(tmp_path, "xclip", script)
        assert save_clipboard_picture(environ) is None
    monkeypatch.setattr(clipboard_picture, "MOST_BYTES", 100_000)
    program(tmp_path, "xclip", 'case "$5" in TARGETS) echo image/png;; *) yes;; esac')
    with pytest.raises(ExpectedError, match="more than 100,000 bytes"):
        save_clipboard_picture(environ)
    monkeypatch.setattr(clipboard_picture, "_WITHIN", 0.2)
    program(tmp_path, "xclip", "exec sleep 60")
    assert save_clipboard_picture(environ) is None
    with pytest.raises(ExpectedError, match="No program here reads pictures"):
        save_clipboard_picture({})
