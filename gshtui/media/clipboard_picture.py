"""The picture on the clipboard of this machine's desktop, as a private file, by the program there that reads it.

Asked for by a person's key alone. Over SSH the clipboard is another machine's, which only a terminal can give
(`ui/kit/textual/terminal_clipboard.py`). Blocks: call it in a thread.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from gshtui.media.attachment import MOST_BYTES
from gshtui.media.media_kind import HEAD, PICTURES, media_type
from gshtui.settings import paths
from gshtui.system.expected_error import ExpectedError
from gshtui.system.files import private_files

PICTURE_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif", "image/bmp", "image/tiff")
"""Best first."""
_WITHIN = 5.0
"""Seconds that a program may take."""
_HEX = re.compile(rb"\xc2\xabdata PNGf([0-9A-F]+)\xc2\xbb")
"""How AppleScript prints a picture."""
_APPLE = "get the clipboard as \xabclass PNGf\xbb"


class NoClipboardError(ExpectedError):
    """No program here reads the clipboard."""


class ClipboardProgram(msgspec.Struct, frozen=True):
    """How a program prints the clipboard. `types`: prints what there is, a type a line; empty: it knows PNG alone."""

    types: tuple[str, ...]
    read: tuple[str, ...]
    """`{}` stands for the type."""


def clipboard_program(
    environ: Mapping[str, str], find: Callable[[str], str | None] = shutil.which, platform: str = sys.platform
) -> ClipboardProgram | None:
    """The program that reads this desktop's clipboard; `None`: there is none."""
    if environ.get("WAYLAND_DISPLAY") and (path := find("wl-paste")):
        return ClipboardProgram((path, "--list-types"), (path, "--no-newline", "--type", "{}"))
    if environ.get("DISPLAY") and (path := find("xclip")):
        clipboard = (path, "-selection", "clipboard", "-o", "-t")
        return ClipboardProgram((*clipboard, "TARGETS"), (*clipboard, "{}"))
    if platform == "darwin" and not environ.get("SSH_CONNECTION"):
        if path := find("pngpaste"):
            return ClipboardProgram((), (path, "-"))
        if path := find("osascript"):
            return ClipboardProgram((), (path, "-e", _APPLE))
    return None


def save_clipboard_picture(environ: Mapping[str, str]) -> Path | None:
    """Write the picture on the clipboard into a private file, which lasts as long as the login; `None`: there is none.

    Raises `NoClipboardError`: no program here reads the clipboard; `ExpectedError`: the picture is too large or cannot
    be kept.
    """
    program = clipboard_program(environ)
    if program is None:
        raise NoClipboardError(
            "No program here reads pictures from the clipboard.", "Install wl-clipboard, xclip or pngpaste."
        )
    kind = "image/png"
    if program.types:
        offered = _printed(program.types).decode("utf-8", "replace").split()
        kind = next((one for one in PICTURE_TYPES if one in offered), "")
        if not kind:
            return None
    data = _printed(tuple(word.replace("{}", kind) for word in program.read))
    if found := _HEX.search(data):
        data = bytes.fromhex(found[1].decode())
    return keep_picture(data)


def keep_picture(data: bytes) -> Path | None:
    """Write what was on a clipboard into a private file, which lasts as long as the login; `None`: it is no picture.
    Raises `ExpectedError`: it cannot be kept.
    """
    kind = media_type(data[:HEAD])
    if kind not in PICTURES:
        return None
    name = f"clipboard-{hashlib.blake2b(data, digest_size=4).hexdigest()}.{kind.removeprefix('image/')}"
    try:
        file = paths.runtime_dir() / name
        private_files.write_whole(file, data)
    except OSError as error:
        raise ExpectedError(f"The picture on the clipboard cannot be kept: {error.strerror or error}.") from error
    return file


def _printed(argv: tuple[str, ...]) -> bytes:
    """What a program prints; nothing if it fails. Raises `ExpectedError`: it is too much."""
    try:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
    except OSError:
        return b""
    timer = threading.Timer(_WITHIN, process.kill)
    timer.start()
    try:
        with process:
            assert process.stdout is not None
            data = process.stdout.read(MOST_BYTES + 1)
            process.kill()
    finally:
        timer.cancel()
    if len(data) > MOST_BYTES:
        raise ExpectedError(f"The picture on the clipboard has more than {MOST_BYTES:,} bytes.")
    return data
