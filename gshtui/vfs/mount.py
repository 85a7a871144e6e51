"""What the virtual file system needs of those who keep its files: the port of a mount, and the nodes that it shows."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import msgspec

from gshtui.commands.declaration import Caller
from gshtui.system.expected_error import ExpectedError
from gshtui.text.sanitise import one_line

NodeKind = Literal["folder", "file", "link"]
Right = Literal["free", "ask", "never"]
"""What an agent may do without a question, after one, or not at all. People may do everything that a mount can do."""
FileErrorKind = Literal["missing", "folder", "file", "refused", "full", "failed"]
MOST_BYTES = 1 << 20
"""Bytes of one virtual file, at most; a mount can have a lower limit."""


class FileError(ExpectedError):
    """A virtual file cannot be read or written.

    `kind`: missing: there is none. folder, file: it is one, and the other is needed. refused: it cannot be changed, or
    not by this caller. full: a quota. failed: what it is made of cannot be read or written now.
    """

    def __init__(self, kind: FileErrorKind, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.kind: FileErrorKind = kind


class Node(msgspec.Struct, frozen=True):
    """One entry of a folder."""

    name: str
    kind: NodeKind = "file"
    size: int | None = None
    """Bytes; `None`: it is computed when it is read."""
    at: float = 0.0
    """When it last changed, in epoch seconds; 0: that is not known."""
    target: str = ""
    """Where a link leads: a virtual path."""
    type: str = ""
    """What it stands for: `call`, `agent`, `memory`; empty: a file or folder."""
    about: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    """Further facts for a list, such as how many members a call has."""

    @property
    def hidden(self) -> bool:
        """Shown only in a list of all."""
        return self.name.startswith(".")


class Mount(Protocol):
    """A folder at the root. `steps` are the names below it; the empty tuple is the folder itself.

    The names are plain ones (`text/plain_name.py`). Each call raises only `FileError`.
    """

    async def right(self, caller: Caller, steps: tuple[str, ...], *, writes: bool) -> Right:
        """What an agent may do with a path, whether it exists or not."""
        ...

    async def stat(self, caller: Caller, steps: tuple[str, ...]) -> Node: ...

    async def list(self, caller: Caller, steps: tuple[str, ...]) -> list[Node]:
        """The entries of a folder, in their order."""
        ...

    async def read(self, caller: Caller, steps: tuple[str, ...]) -> str: ...

    async def write(self, caller: Caller, steps: tuple[str, ...], content: str, *, append: bool) -> None: ...

    async def make_folder(self, caller: Caller, steps: tuple[str, ...]) -> None: ...

    async def remove(self, caller: Caller, steps: tuple[str, ...]) -> None:
        """Remove a file, or a folder with all that is in it."""
        ...


class ReadOnlyMount:
    """Base of mounts whose files are computed: nothing in them can be written."""

    WHY = "It is computed when it is read."
    """What the refusal says."""

    async def write(self, caller: Caller, steps: tuple[str, ...], content: str, *, append: bool) -> None:
        raise self._refused(steps)

    async def make_folder(self, caller: Caller, steps: tuple[str, ...]) -> None:
        raise self._refused(steps)

    async def remove(self, caller: Caller, steps: tuple[str, ...]) -> None:
        raise self._refused(steps)

    def _refused(self, steps: tuple[str, ...]) -> FileError:
        return FileError("refused", f"{steps[-1] if steps else 'This folder'} cannot be changed.", self.WHY)


def missing(mount: str, steps: tuple[str, ...]) -> FileError:
    """The error for a path below a mount that leads to nothing."""
    return FileError("missing", f"There is no {whole_path(mount, steps)} here.", "`ls` shows what there is.")


def is_folder(mount: str, steps: tuple[str, ...]) -> FileError:
    return FileError("folder", f"{whole_path(mount, steps)} is a folder.", "`ls` lists it.")


def is_file(mount: str, steps: tuple[str, ...]) -> FileError:
    """The error for a file that is used as a folder."""
    return FileError("file", f"{whole_path(mount, steps)} is a file, not a folder.", "`cat` shows it.")


def whole_path(mount: str, steps: tuple[str, ...]) -> str:
    """The path of what is below a mount, on one line."""
    return one_line("/".join(("", mount, *steps)), 200)


def as_file_error(error: ExpectedError) -> FileError:
    """Another room's error as one of a mount: the same sentence and hint."""
    return FileError("failed", error.message, error.hint)


def appended(before: str, content: str) -> str:
    """The text with a new line of content behind what was there."""
    return f"{before}\n{content}" if before and not before.endswith("\n") else before + content
