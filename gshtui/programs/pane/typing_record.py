"""What is being typed into a pane, for whoever comes after a process that was killed while it typed.

A file beside the lock for typing, which only the holder of that lock reads and writes. It tells our own unfinished text
in an input line from what a person has half typed there, and a message that was accepted from one that was not. The
text is in it only until it was accepted; what is kept of it then tells whether a slow program still has it to read.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import Literal

import msgspec

from gshtui.system.files import private_files
from gshtui.system.files.private_files import open_reader
from gshtui.system.struct_types import learned

_LIMIT = 1024 * 1024
_SURE = 100
"""Characters at the end of a text by which it is known, where the input does not show all of it."""
Step = Literal["typing", "entering", "accepted", "left"]


class TypedText(msgspec.Struct, frozen=True):
    """A text, and how far its typing went.

    `entering`: Enter was pressed, and nobody has seen what came of it. `left`: it may still be in the input, and a
    person is asked about that.
    """

    key: str
    """Tells the text that was to be sent from others."""
    step: Step
    words: str = ""
    """As they were typed."""
    shown: str = ""
    """The draft that was seen after that."""
    traces: tuple[str, ...] = ()
    """What tells the drafts that an accepted text can look like from others."""

    def is_draft(self, draft: str) -> bool:
        """Whether a draft is this text and nothing else: all of it, as it was seen then, or the end of a long one."""
        seen, whole = _packed(draft), _packed(self.words)
        if not seen or self.step == "accepted":
            return False
        return seen == whole or seen == _packed(self.shown) or (len(seen) >= _SURE and whole.endswith(seen))

    def is_unread(self, draft: str) -> bool:
        """Whether a draft is this text, which was accepted, but which the program has not read yet."""
        return self.step == "accepted" and bool(draft) and text_key(_packed(draft)) in self.traces


class TypingRecord:
    """The record of one pane. Its file's errors are raised as `OSError`, before anything is typed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._now: TypedText | None = None

    def begin(self, text: str, words: str) -> None:
        """Note that a text is about to be typed. Raises `OSError`."""
        self._write(TypedText(text_key(text), "typing", words))

    def seen(self, draft: str) -> None:
        self._advance(shown=draft)

    def entering(self) -> None:
        """Note that Enter is about to be pressed."""
        self._advance(step="entering")

    def left(self) -> None:
        """Note that it may still be in the input: nobody but a person takes it out."""
        self._advance(step="left")

    def accepted(self) -> None:
        """Note that the program took it; the text is no longer kept."""
        if self._now is not None:
            drafts = (self._now.words, self._now.words.rpartition("\n")[2], self._now.shown)
            traces = tuple(dict.fromkeys(text_key(packed) for draft in drafts if (packed := _packed(draft))))
            self._advance(step="accepted", words="", shown="", traces=traces)

    def drop(self) -> None:
        """Note that nothing of it is left to be done here."""
        self._now = None
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def read(self) -> TypedText | None:
        """The last text that was typed into the pane, by whatever process; `None`: nothing is known."""
        try:
            with open_reader(private_files.open_existing(self._path)) as file:
                return msgspec.json.decode(file.read(_LIMIT), type=learned(TypedText))
        except (OSError, msgspec.DecodeError):
            return None

    def is_unread(self, draft: str) -> bool:
        """Whether the program has yet to read what was entered last."""
        was = self.read()
        return was is not None and was.is_unread(draft)

    def _advance(self, **changes: str | tuple[str, ...]) -> None:
        if self._now is not None:
            with contextlib.suppress(OSError):  # then less is known later, and a person decides
                self._write(msgspec.structs.replace(self._now, **changes))

    def _write(self, text: TypedText) -> None:
        private_files.write_whole(self._path, msgspec.json.encode(text))
        self._now = text


def text_key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _packed(text: str) -> str:
    """Without spaces and line ends: an input line wraps its text wherever it likes."""
    return "".join(text.split())
