"""The virtual file system: paths such as `/memory/main/parser.mem`, and mounts at the root, each kept by the room that
knows its files.

A path is virtual if it is absolute and its first step is a mount; one that could mean another is refused, never
repaired. Finds the mount of a path, follows links between mounts, and checks rights and sizes before a mount is asked.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, Protocol

import msgspec

from gshtui.commands.declaration import Caller
from gshtui.system.expected_error import ExpectedError
from gshtui.text.plain_name import NameRefused, known_names, plain_name
from gshtui.text.sanitise import one_line, visible

SHARED = "shared"
"""The mount whose folders are real ones: their files can have names that no virtual file may have."""
CALLS = "calls"
"""The mount of the shared rooms."""
CURRENT = "@here"
"""Below it: the call that the caller is in. No call has such a name."""
_MOST_STEPS = 64
_LONGEST = 4_096
PATTERN = frozenset("*?[")
"""Characters that make the last step a pattern."""


class PathRefused(ExpectedError):
    """It is no path that can be used; the message says why."""


class VirtualPath(msgspec.Struct, frozen=True):
    """Steps from the root `/`."""

    steps: tuple[str, ...] = ()

    @property
    def mount(self) -> str:
        """The first step; empty for the root."""
        return self.steps[0] if self.steps else ""

    @property
    def name(self) -> str:
        return self.steps[-1] if self.steps else "/"

    @property
    def parent(self) -> VirtualPath:
        """The folder that it is in; the root's is the root."""
        return VirtualPath(self.steps[:-1])

    def below(self, name: str) -> VirtualPath:
        return VirtualPath((*self.steps, name))

    def __str__(self) -> str:
        return "/" + "/".join(self.steps)


ROOT = VirtualPath()


def virtual_path(text: str, mounts: Collection[str]) -> VirtualPath | None:
    """The virtual path that an absolute path is; `None`: it is a real one. Raises `PathRefused`: it begins with a
    mount, but is no path that can be used.
    """
    if not text.startswith("/"):
        return None
    first, *rest = [step for step in text.split("/") if step] or [""]
    if not first:
        return ROOT
    if first not in mounts:
        return None
    if ".." in rest:
        raise PathRefused(f"{_shown(text)} has .. in it, which could lead out of /{first}.", "Name the folder itself.")
    return joined(VirtualPath((first,)), "/".join(rest))


def joined(folder: VirtualPath, text: str) -> VirtualPath:
    """A relative path from a virtual folder; `..` counts only at its beginning, and stays at the root.
    Raises `PathRefused`: it is no path that can be used.
    """
    if len(text) > _LONGEST:
        raise PathRefused(f"The path is longer than {_LONGEST:,} characters.")
    steps, climbing = list(folder.steps), True
    for step in text.split("/"):
        if step in ("", "."):
            continue
        if step == "..":
            if not climbing:
                raise PathRefused(f"{_shown(text)} has .. behind a name.", "Name the folder itself.")
            steps = steps[:-1]
            continue
        climbing = False
        steps.append(_step(step, steps))
    if len(steps) > _MOST_STEPS:
        raise PathRefused(f"The path has more than {_MOST_STEPS} steps.")
    return VirtualPath(tuple(steps))


def _step(step: str, before: list[str]) -> str:
    if before[:1] == [SHARED] and len(before) > 1:
        if "\0" in step:
            raise PathRefused("A path has no NUL in it.")
        return step
    try:
        plain_name(step, "name")
    except NameRefused as error:
        raise PathRefused(error.message, error.hint) from error
    return step


def _shown(text: str) -> str:
    shown = visible(one_line(text, 120))
    return shown if shown.isprintable() else ascii(shown)[1:-1]


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


_MOST_LINKS = 8


class FileSystem:
    """The mounts of one hub, in the order in which its parts contributed them."""

    def __init__(self) -> None:
        self._makers: dict[str, Callable[[], Mount]] = {}
        self._mounts: dict[str, Mount] = {}

    def mount(self, name: str, make: Callable[[], Mount]) -> None:
        """Add a folder to the root; `make` is called when it is first used. A later mount replaces one of its name."""
        self._makers[name] = make
        self._mounts.pop(name, None)

    @property
    def names(self) -> tuple[str, ...]:
        """The folders at the root, `/shared` with them, whose folders are real."""
        return (*sorted(self._makers), SHARED)

    def path(self, text: str) -> VirtualPath | None:
        """The virtual path that an absolute path is; `None`: it is a real one. Raises `PathRefused`."""
        return virtual_path(text, self.names)

    async def right(self, caller: Caller, path: VirtualPath, *, writes: bool = False) -> Right:
        """What a caller may do where the path leads. Raises `FileError`."""
        if not caller.is_agent:
            return "free"
        path = await self.followed(caller, path)
        if not path.steps:
            return "never" if writes else "free"
        return await self._of(path).right(caller, path.steps[1:], writes=writes)

    async def stat(self, caller: Caller, path: VirtualPath) -> Node:
        """What is at a path; a link is followed. Raises `FileError`."""
        path = await self.followed(caller, path)
        return await self._of(path).stat(caller, path.steps[1:]) if path.steps else Node("/", "folder")

    async def list(self, caller: Caller, path: VirtualPath) -> list[Node]:
        """The entries of a folder; links are not followed. Raises `FileError`."""
        if not path.steps:
            return [Node(name, "folder") for name in sorted(self.names)]
        path = await self.followed(caller, path)
        return await self._of(path).list(caller, path.steps[1:])

    async def read(self, caller: Caller, path: VirtualPath) -> str:
        """A file's text. Raises `FileError`."""
        path = await self.followed(caller, path)
        if not path.steps:
            raise FileError("folder", "/ is a folder.", "`ls path=/` lists it.")
        return await self._of(path).read(caller, path.steps[1:])

    async def write(self, caller: Caller, path: VirtualPath, content: str, *, append: bool = False) -> None:
        """Write a file whole, or at its end. Raises `FileError`."""
        path = await self.followed(caller, path)
        await self._allowed(caller, path)
        if len(content.encode(errors="replace")) > MOST_BYTES:
            raise FileError("full", f"A virtual file has at most {MOST_BYTES // 1024:,} KB.", "Write a real file.")
        await self._of(path).write(caller, path.steps[1:], content, append=append)

    async def make_folder(self, caller: Caller, path: VirtualPath) -> None:
        """Make a folder. Raises `FileError`."""
        await self._allowed(caller, path)
        await self._of(path).make_folder(caller, path.steps[1:])

    async def remove(self, caller: Caller, path: VirtualPath, *, recursive: bool = False) -> None:
        """Remove a file, or with `recursive` a folder and all that is in it. Raises `FileError`."""
        await self._allowed(caller, path)
        node = await self._of(path).stat(caller, path.steps[1:])
        if node.kind == "folder" and not recursive:
            raise FileError("folder", f"{path} is a folder.", "With `recursive=true` it is removed with its files.")
        await self._of(path).remove(caller, path.steps[1:])

    async def matching(self, caller: Caller, path: VirtualPath) -> Sequence[VirtualPath]:
        """The files that a path means: itself, or those that its last step is a pattern of. Raises `FileError`."""
        if not PATTERN & set(path.name):
            return [path]
        found = await self.list(caller, path.parent)
        names = [node.name for node in found if not node.hidden and fnmatch.fnmatchcase(node.name, path.name)]
        if not names:
            raise FileError("missing", f"Nothing in {path.parent} matches {one_line(path.name)}.")
        return [path.parent.below(name) for name in names]

    async def followed(self, caller: Caller, path: VirtualPath) -> VirtualPath:
        """The path with the links on its way replaced by where they lead. Raises `FileError`."""
        for _ in range(_MOST_LINKS):
            if (found := await self._first_link(caller, path)) is None:
                return path
            at, node = found
            target = self.path(node.target)
            if target is None:
                raise FileError("refused", f"The link {one_line(node.name)} leads out of the virtual files.")
            path = VirtualPath((*target.steps, *path.steps[at:]))
        raise FileError("refused", f"{path} leads through too many links.")

    async def _first_link(self, caller: Caller, path: VirtualPath) -> tuple[int, Node] | None:
        """The first link on the way, and the number of steps that lead to it."""
        for at in range(2, len(path.steps) + 1):
            try:
                node = await self._of(path).stat(caller, path.steps[1:at])
            except FileError:
                return None  # the mount says what is missing when it is asked for the file itself
            if node.kind == "link":
                return at, node
        return None

    async def _allowed(self, caller: Caller, path: VirtualPath) -> None:
        if len(path.steps) < 2:
            raise FileError("refused", f"{path} cannot be changed.")
        if await self.right(caller, path, writes=True) == "never":
            hint = "An agent writes only its own memory, and where a call lets it."
            raise FileError("refused", f"Only a person changes {path}.", hint)

    def _of(self, path: VirtualPath) -> Mount:
        name = path.mount
        if name not in self._mounts:
            if name not in self._makers:
                raise FileError("missing", f"There is no /{one_line(name)} here.", known_names("folders", self.names))
            self._mounts[name] = self._makers[name]()
        return self._mounts[name]
