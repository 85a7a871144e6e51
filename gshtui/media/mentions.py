"""The files that a prompt names with `@`: pictures, PDFs and sounds among them go with it."""

from __future__ import annotations

import re
from pathlib import Path

from gshtui.media.attachment import NAMED, media_type_of

MOST_ATTACHED = 20
_MENTION = re.compile(r'(?:^|(?<=[\s(\[{,;:]))@(?:"([^"\n]+)"|([^\s"]+))')
_TRAILING = ".,;:!?)]}"


def mentions(text: str) -> list[str]:
    """The text after each `@` at the start of a word, in order, without duplicates."""
    found = (quoted or bare.rstrip(_TRAILING) for quoted, bare in _MENTION.findall(text))
    return list(dict.fromkeys(name for name in found if name))


def attachments(text: str, folder: Path) -> tuple[str, ...]:
    """Real paths of the pictures, PDFs and sounds that the text mentions and that exist; at most `MOST_ATTACHED`.

    Told by their content; a file whose name alone promises one is among them, so that it is refused, not passed over.
    """
    found: list[str] = []
    for name in mentions(text):
        try:
            path = folder / Path(name).expanduser()
            if path.is_file() and (path.suffix.lower() in NAMED or media_type_of(path)):
                found.append(str(path))
        except (OSError, ValueError, RuntimeError):
            continue
    return tuple(found[:MOST_ATTACHED])
