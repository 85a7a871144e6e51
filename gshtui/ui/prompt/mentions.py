"""`@path` in a prompt: which files are mentioned, and which of them go along as attachments.

A mention stays in the text as it is, for the agent to read with its tools; pictures and PDFs cannot be read that way,
so they are attached. Called by `PromptInput` on submit; it looks at the disk only for names that end like one.
"""

from __future__ import annotations

import re
from pathlib import Path

ATTACHED = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf"})
MOST = 20
_MENTION = re.compile(r'(?:^|(?<=[\s(\[{,;:]))@(?:"([^"\n]+)"|([^\s"]+))')
_TRAILING = ".,;:!?)]}"


def mentions(text: str) -> list[str]:
    """What stands behind an `@` that begins a word, in order, each once."""
    found = (quoted or bare.rstrip(_TRAILING) for quoted, bare in _MENTION.findall(text))
    return list(dict.fromkeys(name for name in found if name))


def attachments(text: str, project: Path) -> tuple[str, ...]:
    """Real paths of the pictures and PDFs that the text mentions and that exist; at most `MOST`."""
    found: list[str] = []
    for name in mentions(text):
        path = Path(name).expanduser()
        if path.suffix.lower() not in ATTACHED:
            continue
        path = path if path.is_absolute() else project / path
        try:
            if path.is_file():
                found.append(str(path))
        except OSError:
            continue
    return tuple(found[:MOST])
