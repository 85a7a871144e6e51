"""Long pastes and commands that are referred to, folded: a label stands in the input for a text kept beside it.

Pure. It never changes a folded text: what was pasted is what is sent. Called by `PromptInput` and the drafts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

FOLD_LINES = 10
FOLD_CHARACTERS = 1_000
_LABEL = re.compile(r"\[(?:pasted|shell) #(\d+) · [^\[\]\n]*\]")
_SHELL = re.compile(r"<shell-command [^\n]*>\n\$ ([^\n]*)")
"""A command of the shell log that is referred to; its label names it."""
_NAMED = 40
"""Characters of a command that a label shows."""
_BREAKS_LIKE_A_LINE = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""Characters at which a text area would break a line and forget which one it was."""


def newlines(text: str) -> str:
    """The text with `\\r\\n` and `\\r` as `\\n`: a terminal sends returns for the line ends of a paste."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def wants_fold(text: str) -> bool:
    """Whether a paste is too long to stand in the input, or could not stand there unchanged."""
    return len(text) > FOLD_CHARACTERS or text.count("\n") >= FOLD_LINES or _BREAKS_LIKE_A_LINE.search(text) is not None


def size(count: int) -> str:
    """A number of bytes for people: `812 B`, `14.2 KB`, `1.0 MB`."""
    if count < 1_000:
        return f"{count} B"
    return f"{count / 1_000:.1f} KB" if count < 999_950 else f"{count / 1_000_000:.1f} MB"


@dataclass(slots=True)
class Folds:
    """The folded texts of one input, by number. Numbers are not used twice before `clear`."""

    texts: dict[int, str] = field(default_factory=dict[int, str])
    _last: int = 0

    def __bool__(self) -> bool:
        return bool(self.texts)

    def add(self, text: str) -> str:
        """Keep the text; the label that stands for it."""
        self._last = max(self._last, *self.texts, 0) + 1
        self.texts[self._last] = text
        return self.label(self._last)

    def label(self, number: int) -> str:
        """What stands in the input for this text."""
        text = self.texts[number]
        if shell := _SHELL.match(text):
            name = shell[1].strip().replace("[", "(").replace("]", ")")
            name = name if len(name) <= _NAMED else name[: _NAMED - 1] + "…"
            return f"[shell #{number} · {name}]"
        lines = text.count("\n") + (not text.endswith("\n"))
        of = "line" if lines == 1 else "lines"
        return f"[pasted #{number} · {lines:,} {of} · {size(len(text.encode(errors='surrogatepass')))}]"

    def expand(self, text: str) -> str:
        """The text with every label of ours replaced by what it stands for; once, not again inside."""
        if not self.texts:
            return text
        return _LABEL.sub(lambda found: self.texts.get(int(found[1]), found[0]), text)

    def spans(self, line: str) -> list[tuple[int, int, int]]:
        """(start, end, number) of each label of ours in a line of the input."""
        if not self.texts or " #" not in line:
            return []
        return [
            (found.start(), found.end(), int(found[1]))
            for found in _LABEL.finditer(line)
            if int(found[1]) in self.texts
        ]

    def used(self, text: str) -> dict[int, str]:
        """The texts whose labels stand in the input."""
        return {n: self.texts[n] for _, _, n in self.spans(text)}

    def clear(self) -> None:
        """Forget all; numbers start again at 1."""
        self.texts.clear()
        self._last = 0
