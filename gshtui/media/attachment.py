"""A file as a part of a prompt: told by its content, read in a process of its own, kept once, with what was done to it.

Blocks: call it in a thread. What cannot be sent is refused in one sentence, whatever the file is.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from gshtui.bus.messages import Audio, Document, Image, Medium
from gshtui.media import media_files, media_kind, media_process
from gshtui.system.expected_error import ExpectedError
from gshtui.text.sanitise import one_line

MOST_BYTES = 200_000_000
"""Of a picture or a PDF that is read."""
MOST_SENT = 20_000_000
"""Of a PDF or a sound that is sent as it is: with the conversation it stays below the smallest limit of a request."""
MOST_TEXT = 256_000
"""Bytes of a text file that is sent whole."""
NAMED = frozenset(
    f".{end}"
    for end in (
        *("png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "avif", "pdf"),
        *("wav", "mp3", "flac", "ogg", "m4a", "aac", "aiff"),
    )
)
"""Ends of names that promise a picture, a PDF or a sound."""
_WITHIN = 30.0
"""Seconds that reading a file may take."""


class AttachmentError(ExpectedError):
    """The file cannot be sent along; the text is one sentence that names it."""


def media_type_of(path: Path) -> str:
    """The media type of a file that models may take, by its content; empty: it is none, or cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return media_kind.media_type(os.read(descriptor, media_kind.HEAD))
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def attach(path: Path, name: str = "") -> Medium:
    """Read the file and keep what is sent of it.

    Args:
        path: the file.
        name: what it is called to people and models; by default the file's own name.

    Raises `AttachmentError`: it cannot be read, or no model could take it.
    """
    name = one_line(name or path.name, 120)
    size = _size(path, name)
    kind = media_type_of(path)
    if not kind and path.suffix.lower() in NAMED:
        raise AttachmentError(f"{name} is not what its name says: it is no picture, PDF or sound.", "Check the file.")
    if not kind:
        return _attached_text(path, name, size)
    most = MOST_SENT if kind in media_kind.SOUNDS else MOST_BYTES
    if size > most:
        raise AttachmentError(f"{name} has {size:,} bytes; at most {most:,} are read.", "Send a part of it.")
    with tempfile.TemporaryDirectory(prefix="gsh-media-") as folder:
        told = _read(kind, path, Path(folder), name)
        note = "; ".join(str(one) for one in told.get("done", ()))
        try:
            if kind in media_kind.PICTURES:
                data = Path(folder, "picture").read_bytes()
                sizes = int(told["width"]), int(told["height"])
                small = media_files.keep(Path(folder, "small").read_bytes())
                kept = (media_files.keep(data), len(data), *sizes, small, int(told["columns"]))
                return Image(str(told["media_type"]), "", name, *kept, note)
            if kind == media_kind.PDF:
                return _document(path, name, size, Path(folder, "text").read_bytes(), int(told["pages"]), note)
            data = path.read_bytes()
            return Audio(kind, "", name, media_files.keep(data), len(data), float(told["seconds"]), note)
        except OSError as error:
            raise _unreadable(name, error) from error


def attach_text(text: str, name: str) -> Document:
    """Keep a text as a document. Raises `AttachmentError`."""
    data = text.encode("utf-8", "replace")
    try:
        return Document("text/plain", "", name, media_files.keep(data), len(data))
    except OSError as error:
        raise _unreadable(name, error) from error


def small_png(key: str) -> bytes:
    """A picture of the media files as a PNG that a terminal is given; empty: it is gone or cannot be read. Blocks."""
    with tempfile.TemporaryDirectory(prefix="gsh-media-") as folder:
        try:
            _read(media_process.FOR_TERMINAL, media_files.folder() / key, Path(folder), key)
            return Path(folder, "picture").read_bytes()
        except (AttachmentError, OSError):
            return b""


def pixels(png: bytes, width: int, height: int) -> bytes:
    """A picture that was read before as pixels of few colours: 256 colours of three bytes each, then a byte a pixel.

    Empty: it cannot be read. Blocks.
    """
    with tempfile.TemporaryDirectory(prefix="gsh-media-") as folder:
        source = Path(folder, "source")
        try:
            source.write_bytes(png)
            _read(f"{media_process.FOR_PIXELS}{width}x{height}", source, Path(folder), "the picture")
            return Path(folder, "picture").read_bytes()
        except (AttachmentError, OSError):
            return b""


def _size(path: Path, name: str) -> int:
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from error
    if not stat.S_ISREG(found.st_mode):
        raise AttachmentError(f"{name} is not a file.", "Name a picture, a PDF, a sound or a text file.")
    if not found.st_size:
        raise AttachmentError(f"{name} is empty.")
    return found.st_size


def _unreadable(name: str, error: Exception) -> AttachmentError:
    why = (error.strerror if isinstance(error, OSError) else "") or str(error)
    return AttachmentError(f"Cannot attach {name}: {why}.")


def _attached_text(path: Path, name: str, size: int) -> Document:
    if size > MOST_TEXT:
        raise AttachmentError(
            f"{name} has {size:,} bytes and is neither a picture, a PDF nor a sound that models take.",
            "Name it in the prompt with @, and let the agent read it in parts.",
        )
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _unreadable(name, error) from error
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise AttachmentError(
            f"{name} is neither a picture, a PDF, a sound nor a text that models take.", "Convert it first."
        )
    return attach_text(text, name)


def _document(path: Path, name: str, size: int, text: bytes, pages: int, note: str) -> Document:
    """A PDF with its text; one that is too large to be sent is its text alone."""
    if size > MOST_SENT and not text:
        raise AttachmentError(f"{name} has {size:,} bytes and no text; at most {MOST_SENT:,} are sent.", "Split it.")
    data = path.read_bytes() if size <= MOST_SENT else b""
    if not data:
        note = "; ".join(part for part in (note, f"it has {size:,} bytes, so its text is sent") if part)
    return Document(
        media_kind.PDF,
        "",
        name,
        media_files.keep(data) if data else "",
        len(data),
        pages,
        media_files.keep(text) if text else "",
        len(text),
        note,
    )


def _read(kind: str, path: Path, folder: Path, name: str) -> dict[str, Any]:
    """What the reading process tells of the file. Raises `AttachmentError`."""
    argv = [sys.executable, "-P", "-m", "gshtui.media.media_process", kind, str(path.absolute()), str(folder)]
    root = str(Path(__file__).resolve().parents[2])
    environ = {
        "PATH": os.environ.get("PATH", ""),
        "PYTHONPATH": root,
        "LC_ALL": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_WITHIN,
            env=environ,
            check=False,
        )
        told: dict[str, Any] = json.loads((folder / media_process.TOLD).read_bytes())
    except subprocess.TimeoutExpired:
        raise AttachmentError(f"{name} takes too long to read, so it was not attached.") from None
    except (ValueError, FileNotFoundError):  # killed by a limit, or it died of what it read
        raise AttachmentError(f"{name} takes too much time or memory to read, so it was not attached.") from None
    except OSError as error:
        raise _unreadable(name, error) from error
    if why := told.get("refused"):
        raise AttachmentError(f"{name} {one_line(str(why), 200)}.")
    return told
