"""Text that every API accepts: no lone surrogates, and names and ids that satisfy the strictest API.

Pure. Changes only form, not meaning. Called by the adapters in both directions.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from gshtui.system.json_types import map_texts

_SURROGATE = re.compile("[\ud800-\udfff]")
_HIGH = re.compile("[\ud800-\udbff]\\Z")
_BAD_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]")
NAME_LENGTH = 64
ID_LENGTH = 40
"""The shortest limit of those APIs that have one (chat completions)."""


def text(value: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced, so that it can be encoded."""
    if not _SURROGATE.search(value):
        return value
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def data(value: Any) -> Any:
    """JSON data with every text in it, keys included, cleaned."""
    return map_texts(value, text)


class Joiner:
    """Cleans text that arrives in pieces, which may split an emoji in two."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown by now."""
        piece = self._held + piece
        self._held = ""
        if _HIGH.search(piece):
            self._held, piece = piece[-1], piece[:-1]
        return text(piece)

    def rest(self) -> str:
        """The text held back whose second half never arrived."""
        held, self._held = self._held, ""
        return text(held)


def _shortened(value: str, limit: int) -> str:
    if len(value) <= limit:
        return value
    return value[: limit - 9] + "_" + hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()[:8]


def identifier(value: str) -> str:
    """A call id of `[a-zA-Z0-9_-]`, at most `ID_LENGTH` long; the same for the same value."""
    return _shortened(_BAD_IN_NAME.sub("_", value) or "call", ID_LENGTH)


class ToolNames:
    """Tool names as the APIs allow them, and back."""

    def __init__(self, names: Iterable[str]) -> None:
        self.known: dict[str, str] = {}
        """Each name so far, and how it is sent."""
        self._back: dict[str, str] = {}
        for name in names:
            self.to_wire(name)

    def to_wire(self, name: str) -> str:
        """The name to send: letters, digits, `_` and `-`, starting with a letter or `_`; unique for each name."""
        if (known := self.known.get(name)) is not None:
            return known
        base = _BAD_IN_NAME.sub("_", name) or "_"
        if not (base[0].isalpha() or base[0] == "_"):
            base = "_" + base
        candidate = _shortened(base, NAME_LENGTH)
        count = 2
        while candidate in self._back:
            candidate = f"{_shortened(base, NAME_LENGTH - 4)}_{count}"
            count += 1
        self.known[name] = candidate
        self._back[candidate] = name
        return candidate

    def knows(self, name: str) -> bool:
        """Whether a tool was sent under this name."""
        return name in self._back

    def from_wire(self, name: str) -> str:
        """The original name; a name that we never sent is returned unchanged."""
        sent = name if name in self._back else name.strip()
        return self._back.get(sent, text(name))
