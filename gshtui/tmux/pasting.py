"""Text that is pasted into a terminal: made safe for bracketed paste, in a buffer that nobody else names.

Pure. Called by `server`.
"""

from __future__ import annotations

import re
import secrets

_BREAKS = re.compile(r"\r\n?")
# Everything that is no text: an ESC would end the bracket (`ESC[201~`), a C1 control is the same to many terminals.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def cleaned(text: str) -> bytes:
    """The text with line feeds as its only line ends, and no control character but those and tabs."""
    return _CONTROLS.sub("", _BREAKS.sub("\n", text)).encode("utf-8", "replace")


def buffer_name() -> str:
    """A name that no other paste has."""
    return f"gsh-{secrets.token_hex(8)}"
