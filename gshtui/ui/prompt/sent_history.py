"""Sent prompts: walking back and forth through them, and searching them.

Pure; the caller supplies the entries. Called by `PromptInput` (up, down) and the history search. A walk remembers
the current text, and returns it at its newer end.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

LIMIT = 1_000


class SentHistory(msgspec.Struct):
    """Entries, oldest first, without duplicates: sending a text again makes it the newest."""

    entries: list[str] = msgspec.field(default_factory=list[str])
    _at: int = -1
    _draft: str = ""

    def load(self, newest_first: Iterable[str]) -> None:
        """Add older entries before those of this run."""
        known = set(self.entries)
        older: list[str] = []
        for entry in newest_first:
            if entry not in known:
                known.add(entry)
                older.append(entry)
        self.entries[:0] = older[::-1]
        del self.entries[: max(0, len(self.entries) - LIMIT)]
        self.stop()

    def add(self, entry: str) -> None:
        """A text was sent."""
        if entry in self.entries:
            self.entries.remove(entry)
        self.entries.append(entry)
        del self.entries[:-LIMIT]
        self.stop()

    @property
    def walking(self) -> bool:
        """Whether an older entry is shown."""
        return self._at >= 0

    def older(self, current: str) -> str | None:
        """The previous entry that starts like the text when the walk began; `None`: there is none."""
        start = self._at if self.walking else len(self.entries)
        prefix = self._draft if self.walking else current
        for at in range(start - 1, -1, -1):
            if self.entries[at].startswith(prefix) and self.entries[at] != current:
                if not self.walking:
                    self._draft = current
                self._at = at
                return self.entries[at]
        return None

    def newer(self) -> str | None:
        """The next entry, or the text from before the walk; `None`: no walk."""
        if not self.walking:
            return None
        for at in range(self._at + 1, len(self.entries)):
            if self.entries[at].startswith(self._draft):
                self._at = at
                return self.entries[at]
        draft = self._draft
        self.stop()
        return draft

    def stop(self) -> None:
        """End the walk: the person edited or sent the entry."""
        self._at = -1
        self._draft = ""

    def newest_first(self) -> list[str]:
        """All entries, for the search."""
        return self.entries[::-1]

    def commands(self) -> list[str]:
        """The names of the commands that were sent, `/name …`, the latest first."""
        names = (entry[1:].split(maxsplit=1)[:1] for entry in reversed(self.entries) if entry.startswith("/"))
        return list(dict.fromkeys(name for found in names for name in found if "/" not in name))
