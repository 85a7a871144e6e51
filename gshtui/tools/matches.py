"""What a search found, out of ripgrep's JSON lines: grouped by file, sanitised, capped.

Knows no process. Called by `grep`.
"""

from __future__ import annotations

import base64
import sys
from pathlib import Path
from typing import Any

import msgspec

from gshtui.guard.sanitise import literal
from gshtui.text.linear import Linear
from gshtui.tools.paths import shown

_MOST = 1_000
"""Matching lines."""
_LONGEST = 500


class Spoken(msgspec.Struct):
    """Text in ripgrep's JSON: as it is, or base64 where it is no UTF-8."""

    text: str | None = None
    bytes: str | None = None

    def words(self) -> str:
        """The text; of undecodable bytes, Latin-1."""
        if self.text is not None:
            return self.text
        return base64.b64decode(self.bytes or "").decode("latin-1")

    def name(self) -> str:
        """The text as a file name, undecodable bytes as Python keeps them."""
        if self.text is not None:
            return self.text
        return base64.b64decode(self.bytes or "").decode("utf-8", "surrogateescape")


class _Data(msgspec.Struct):
    path: Spoken | None = None
    lines: Spoken | None = None
    line_number: int | None = None


class _Line(msgspec.Struct):
    type: str
    data: _Data


_decode = msgspec.json.Decoder(_Line).decode


class Matches:
    """Collects until there is enough."""

    def __init__(self, root: Path, project: Path, limit: int, wanted: Linear | None = None) -> None:
        """`limit`: bytes of text, one match always; 0: any number. `wanted`: what a file's path must match."""
        self._wanted = wanted
        self._root = root
        self._project = project
        self._room = limit or sys.maxsize
        self._files: dict[str, list[tuple[int, bool, str]]] = {}
        self.count = 0
        """Matching lines so far."""
        self.cut = ""
        """Why there may be more, if there may."""

    def take(self, line: bytes) -> bool:
        """Take one line of JSON; false when there is enough."""
        try:
            said = _decode(line)
        except (msgspec.DecodeError, RecursionError):
            return True  # a line that was too long to hold, or of a kind that is not ours
        data = said.data
        if said.type not in ("match", "context") or data.path is None or data.lines is None:
            return True
        matched = said.type == "match"
        name = data.path.name().removeprefix("./")
        if self._wanted is not None and not self._wanted.match(name):
            return True
        first = data.line_number or 1
        for offset, words in enumerate(data.lines.words().removesuffix("\n").split("\n")):
            if not self._add(name, first + offset, matched, words.removesuffix("\r")):
                return False
        return True

    def _add(self, name: str, number: int, matched: bool, words: str) -> bool:
        text = literal(words[: _LONGEST * 2])
        if len(text) > _LONGEST:
            text = f"{text[:_LONGEST]}… ({len(words):,} characters)"
        rows = self._files.get(name)
        cost = len(text.encode("utf-8", "replace")) + 20 + (0 if rows else 2 * len(name))
        if (cost > self._room and self.count) or (matched and self.count >= _MOST):
            self.cut = f"stopped at {self.count:,} matches; narrow the pattern, the path or file_pattern to see others"
            return False
        self._room -= cost
        self.count += matched
        self._files.setdefault(name, []).append((number, matched, text))
        return True

    def text(self) -> str:
        """For people and models: by file, in order of the path."""
        blocks: list[str] = []
        for name, rows in sorted(self._files.items()):
            lines = [self._shown(name)]
            last = 0
            for number, matched, text in rows:
                if last and number > last + 1:
                    lines.append("     ⋯")
                lines.append(f"{number:>6}{':' if matched else '│'}{text}")
                last = number
            blocks.append("\n".join(lines))
        if self.cut:
            blocks.append(f"[{self.cut}]")
        return "\n\n".join(blocks)

    def data(self) -> dict[str, Any]:
        """The matching lines as plain data."""
        found = [
            {"path": self._shown(name), "line": number, "text": text}
            for name, rows in sorted(self._files.items())
            for number, matched, text in rows
            if matched
        ]
        return {"matches": found, "count": self.count, "complete": not self.cut}

    def _shown(self, name: str) -> str:
        return shown(self._root / name, self._project)
