"""The files that a prompt names with `@`: texts and folders are read, pictures, PDFs and sounds go with it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gshtui.media.attachment import NAMED, media_type_of
from gshtui.text.file_name import QUOTED, read_name

MOST_ATTACHED = 20
"""Files that go with one prompt."""
_LONGEST = 4_096
"""Characters of a path."""
_MENTION = re.compile(rf"(?:^|(?<=[\s(\[{{,;:]))@(?:({QUOTED})|\"([^\"\n]+)\"|'([^'\n]+)'|([^\s\"]+))")
TRAILING = ".,;:!?)]}"
"""At the end of a mention that is not quoted, these belong to the sentence."""


def mentions(text: str) -> list[str]:
    """The text after each `@` at the start of a word, in order, without duplicates."""
    found = (
        read_name(name) if name else double or single or bare.rstrip(TRAILING)
        for name, double, single, bare in _MENTION.findall(text)
    )
    return list(dict.fromkeys(name for name in found if name))


def dropped(text: str) -> str:
    """The mention of a picture, PDF or sound whose path a terminal pasted when it was dropped; empty: it is none.

    Terminals paste it as it is, in quotes, with backslashes, or as a `file:` address.
    """
    line = text.strip()
    if not line or "\n" in line or len(line) > _LONGEST or line[0] not in "/~'\"f":
        return ""
    try:
        words = [line] if Path(line).expanduser().is_file() else shlex.split(line)
        name = unquote(urlsplit(words[0]).path) if words[0].startswith("file://") else words[0]
        path = Path(name).expanduser()
        if len(words) != 1 or '"' in name or not path.is_absolute() or not media_type_of(path):
            return ""
    except (OSError, ValueError, RuntimeError, IndexError):
        return ""
    return f'@"{path}" ' if any(char.isspace() for char in str(path)) or str(path)[-1] in TRAILING else f"@{path} "


def attachments(text: str, folder: Path) -> tuple[str, ...]:
    """Real paths of the pictures, PDFs and sounds that the text mentions and that exist.

    Told by their content; a file whose name alone promises one is among them, so that it is refused, not passed over,
    and so is the first beyond `MOST_ATTACHED`.
    """
    found: list[str] = []
    for name in mentions(text):
        try:
            path = folder / Path(name).expanduser()
            if path.is_file() and (path.suffix.lower() in NAMED or media_type_of(path)):
                found.append(str(path))
        except (OSError, ValueError, RuntimeError):
            continue
    return tuple(found[: MOST_ATTACHED + 1])


def readable(text: str, folder: Path) -> list[str]:
    """The mentions of files and folders that exist and are no pictures, PDFs or sounds."""
    found: list[str] = []
    for name in mentions(text):
        try:
            path = folder / Path(name).expanduser()
            if path.is_dir() or (path.is_file() and path.suffix.lower() not in NAMED and not media_type_of(path)):
                found.append(name)
        except (OSError, ValueError, RuntimeError):
            continue
    return found[:MOST_ATTACHED]


def missing(text: str, *folders: Path) -> list[str]:
    """The mentions that promise a picture, a PDF or a sound, of which there is no file in any of the folders."""
    found: list[str] = []
    for name in mentions(text):
        try:
            path = Path(name).expanduser()
            if path.suffix.lower() in NAMED and not any((folder / path).exists() for folder in folders):
                found.append(name)
        except (OSError, ValueError, RuntimeError):
            found.append(name)
    return found[:MOST_ATTACHED]
