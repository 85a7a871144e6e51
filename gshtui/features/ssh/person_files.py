"""The virtual files over SFTP, read-only: what one person may read, and nothing of the machine besides.

A guest sees `/calls`, and of these the lobby and those they are in. Who may do anything also sees the other mounts and
`/shared`, whose folders are real ones: a path there is resolved, has to be in its folder, and is opened step by step
without following a link. Every change is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import posixpath
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, NoReturn

import asyncssh
import msgspec
from asyncssh import SFTPAttrs, SFTPFailure, SFTPName, SFTPNoSuchFile, SFTPPermissionDenied

from gshtui.commands.declaration import Caller, CommandError, Invocation
from gshtui.system.expected_error import ExpectedError
from gshtui.tools.files import file_access, path_location
from gshtui.tools.files.file_paths import FilePaths, RealPath
from gshtui.vfs import ROOT, SHARED, FileError, Node, VirtualPath, joined

_MOST_OPEN = 64
"""Files that one person has open at a time."""
_FOLDER, _FILE, _LINK = stat.S_IFDIR | 0o555, stat.S_IFREG | 0o444, stat.S_IFLNK | 0o777
GUEST_MOUNTS = frozenset({"calls"})
"""The mounts whose files know what a guest may read."""


class ReadableFiles(msgspec.Struct, frozen=True):
    """The files of a hub, as one person reads them."""

    paths: FilePaths
    invocation: Callable[[Caller], Invocation]
    caller: Caller


class _OpenFile:
    """What is read: a virtual file's whole text, or a real file."""

    def __init__(self, content: bytes = b"", descriptor: int = -1) -> None:
        self.content = content
        self.descriptor = descriptor

    def read(self, offset: int, size: int) -> bytes:
        if self.descriptor < 0:
            return self.content[offset : offset + size]
        return os.pread(self.descriptor, size, offset)

    def attributes(self) -> SFTPAttrs:
        if self.descriptor < 0:
            return SFTPAttrs(size=len(self.content), permissions=_FILE)
        return _real_attributes(os.fstat(self.descriptor))

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


class PersonFiles(asyncssh.SFTPServer):
    """Serves one transfer; its methods are those that asyncssh calls."""

    def __init__(self, channel: asyncssh.SSHServerChannel[bytes], files: ReadableFiles) -> None:
        super().__init__(channel)  # pyright: ignore[reportUnknownMemberType]
        self._paths = files.paths
        self._files = files.paths.files
        self._caller = files.caller
        self._invocation = files.invocation(files.caller)
        self._open: set[_OpenFile] = set()

    async def realpath(self, path: bytes) -> bytes:
        return _normal(path).encode()

    async def stat(self, path: bytes) -> SFTPAttrs:
        found = await self._followed(self._place(path))
        if isinstance(found, RealPath):
            return await asyncio.to_thread(_stat_real, found)
        node = await self._node(found)
        if node.kind != "file":
            return _attributes(node)
        return _attributes(node, size=len(await self._text(found)))

    async def lstat(self, path: bytes) -> SFTPAttrs:
        place = self._place(path)
        if isinstance(place, VirtualPath) and len(place.steps) > 1:
            folder = await self._followed(place.parent)
            if isinstance(folder, VirtualPath):
                node = next((one for one in await self._nodes(folder) if one.name == place.name), None)
                if node is not None and node.kind == "link":
                    return _attributes(node)
        return await self.stat(path)

    async def readlink(self, path: bytes) -> bytes:
        place = self._place(path)
        if isinstance(place, VirtualPath) and len(place.steps) > 1:
            folder = await self._followed(place.parent)
            if isinstance(folder, VirtualPath):
                for node in await self._nodes(folder):
                    if node.name == place.name and node.kind == "link":
                        return node.target.encode()
        raise SFTPFailure("It is no link.")

    async def scandir(self, path: bytes) -> AsyncIterator[SFTPName]:
        place = await self._followed(self._place(path))
        if isinstance(place, RealPath):
            for name, attributes in await asyncio.to_thread(_scan_real, place):
                yield SFTPName(os.fsencode(name), attrs=attributes)
            return
        for name in (".", ".."):
            yield SFTPName(name.encode(), attrs=SFTPAttrs(permissions=_FOLDER))
        for node in await self._nodes(place):
            yield SFTPName(node.name.encode(), attrs=_attributes(node))

    async def open(self, path: bytes, pflags: int, attrs: SFTPAttrs) -> object:
        if pflags & ~asyncssh.FXF_READ:
            _refuse()
        return await self._opened(path)

    async def open56(self, path: bytes, desired_access: int, flags: int, attrs: SFTPAttrs) -> object:
        wanted = asyncssh.ACE4_READ_DATA | asyncssh.ACE4_READ_ATTRIBUTES
        if desired_access & ~wanted or flags & asyncssh.FXF_ACCESS_DISPOSITION != asyncssh.FXF_OPEN_EXISTING:
            _refuse()
        return await self._opened(path)

    async def _opened(self, path: bytes) -> _OpenFile:
        if len(self._open) >= _MOST_OPEN:
            raise SFTPFailure(f"More than {_MOST_OPEN} files are open.")
        place = await self._followed(self._place(path))
        if isinstance(place, RealPath):
            opened = _OpenFile(descriptor=await asyncio.to_thread(_open_real, place))
        else:
            opened = _OpenFile(await self._text(place))
        self._open.add(opened)
        return opened

    async def read(self, file_obj: object, offset: int, size: int) -> bytes:
        assert isinstance(file_obj, _OpenFile)
        return file_obj.read(offset, size)

    async def fstat(self, file_obj: object) -> SFTPAttrs:
        assert isinstance(file_obj, _OpenFile)
        return file_obj.attributes()

    async def close(self, file_obj: object) -> None:
        assert isinstance(file_obj, _OpenFile)
        file_obj.close()
        self._open.discard(file_obj)

    def exit(self) -> None:
        for opened in self._open:
            opened.close()
        self._open.clear()

    def format_user(self, uid: int | None) -> str:
        return "gsh"

    def format_group(self, gid: int | None) -> str:
        return "gsh"

    def map_path(self, path: bytes) -> bytes:
        """No path of the machine is made of one of a client's."""
        _refuse()

    def reverse_map_path(self, path: bytes) -> bytes:
        """See `map_path`."""
        _refuse()

    def _refuse_change(self, *_given: Any, **_named: Any) -> Any:
        _refuse()

    write = setstat = lsetstat = fsetstat = remove = mkdir = rmdir = rename = posix_rename = _refuse_change
    symlink = link = lock = unlock = statvfs = fstatvfs = fsync = _refuse_change

    def _place(self, path: bytes) -> VirtualPath | RealPath:
        """What a path means. Raises `SFTPError`."""
        with _as_sftp_errors():
            place = joined(ROOT, _normal(path))
            if self._caller.is_guest or place.mount != SHARED:
                return place
            return self._paths.resolve(self._invocation, str(place))

    async def _followed(self, place: VirtualPath | RealPath) -> VirtualPath | RealPath:
        """Where it leads, which this person may see. Raises `SFTPError`."""
        if isinstance(place, RealPath):
            return place
        self._confirm_visible(place)
        if place.mount == SHARED or not place.steps:
            return place
        with _as_sftp_errors():
            place = await self._files.followed(self._caller, place)
        self._confirm_visible(place)
        return place

    def _confirm_visible(self, place: VirtualPath) -> None:
        if place.steps and place.mount not in self._mounts():
            raise SFTPNoSuchFile(f"There is no /{place.mount} here.")

    def _mounts(self) -> list[str]:
        names = self._files.names
        return [name for name in names if not self._caller.is_guest or name in GUEST_MOUNTS]

    async def _node(self, place: VirtualPath) -> Node:
        if place.steps in ((), (SHARED,)):
            return Node(place.name, "folder")
        with _as_sftp_errors():
            return await self._files.stat(self._caller, place)

    async def _nodes(self, place: VirtualPath) -> list[Node]:
        if not place.steps:
            return [Node(name, "folder") for name in sorted(self._mounts())]
        if place.steps == (SHARED,):
            return self._paths.shared_nodes()
        with _as_sftp_errors():
            return await self._files.list(self._caller, place)

    async def _text(self, place: VirtualPath) -> bytes:
        if place.steps in ((), (SHARED,)):
            raise SFTPFailure(f"{place} is a folder.")
        with _as_sftp_errors():
            return (await self._files.read(self._caller, place)).encode(errors="replace")


def _refuse() -> NoReturn:
    raise SFTPPermissionDenied("The files are read-only here.")


@contextlib.contextmanager
def _as_sftp_errors() -> Any:
    """Errors of the files as those of the protocol."""
    try:
        yield
    except FileError as error:
        kinds = {"missing": SFTPNoSuchFile, "refused": SFTPPermissionDenied}
        raise kinds.get(error.kind, SFTPFailure)(error.message) from error
    except CommandError as error:
        raise SFTPPermissionDenied(error.message) from error
    except ExpectedError as error:
        raise SFTPNoSuchFile(error.message) from error
    except FileNotFoundError as error:
        raise SFTPNoSuchFile("There is no such file.") from error
    except PermissionError as error:
        raise SFTPPermissionDenied("The machine refuses it.") from error
    except OSError as error:
        raise SFTPFailure(error.strerror or "It cannot be read.") from error


def _normal(path: bytes) -> str:
    """An absolute path without `.` and `..`, which stay at the root. Raises `SFTPError`."""
    try:
        text = path.decode()
    except UnicodeDecodeError as error:
        raise SFTPNoSuchFile("The path is not UTF-8.") from error
    if "\0" in text:
        raise SFTPNoSuchFile("A path has no NUL in it.")
    return "/" + posixpath.normpath("/" + text).lstrip("/")


def _attributes(node: Node, size: int | None = None) -> SFTPAttrs:
    kind = {"folder": _FOLDER, "file": _FILE, "link": _LINK}[node.kind]
    at = int(node.at) if node.at else None
    return SFTPAttrs(size=node.size or 0 if size is None else size, permissions=kind, atime=at, mtime=at)


def _real_attributes(state: os.stat_result) -> SFTPAttrs:
    """A real file's attributes, without whose it is and without the right to write."""
    mode = stat.S_IFMT(state.st_mode) | (state.st_mode & 0o555)
    return SFTPAttrs(size=state.st_size, permissions=mode, atime=int(state.st_atime), mtime=int(state.st_mtime))


def _located(place: RealPath) -> Path:
    return path_location.locate(place.invocation, place.asked).real


def _stat_real(place: RealPath) -> SFTPAttrs:
    with _as_sftp_errors():
        real = _located(place)
        with file_access.parent_of(real) as folder:
            return _real_attributes(os.stat(real.name or "/", dir_fd=folder, follow_symlinks=False))


def _open_real(place: RealPath) -> int:
    with _as_sftp_errors():
        return file_access.open_regular(_located(place))


def _scan_real(place: RealPath) -> list[tuple[str, SFTPAttrs]]:
    with _as_sftp_errors():
        real = _located(place)
        with file_access.parent_of(real / "any") as folder:
            # What was opened to step on cannot be listed.
            listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
            try:
                with os.scandir(listed) as entries:
                    found = [(entry.name, _real_attributes(entry.stat(follow_symlinks=False))) for entry in entries]
            finally:
                os.close(listed)
        return sorted(found, key=lambda one: one[0])
