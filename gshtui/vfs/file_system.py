"""The virtual file system: mounts at the root, each kept by the room that knows its files.

Finds the mount of a path, follows links between mounts, and checks rights and sizes before a mount is asked.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence

from gshtui.commands.declaration import Caller
from gshtui.text.sanitise import one_line
from gshtui.text.similar_names import known_names
from gshtui.vfs.mount import MOST_BYTES, FileError, Mount, Node, Right
from gshtui.vfs.virtual_path import PATTERN, SHARED, VirtualPath, virtual_path

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
