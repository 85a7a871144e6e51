"""The file commands that change: `append mkdir rm`, and `write` to a virtual file.

Real paths are judged and changed as the tool `write` does it: by the real path that the question named, below folders
that no link redirects. `rm` asks in every mode, and removes nothing that no tool may write.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from pathlib import Path
from typing import Annotated, ClassVar

import msgspec
from pydantic import Field, model_validator

from gshtui.commands.declaration import (
    Action,
    AnyAction,
    Assessment,
    CommandError,
    Effect,
    Invocation,
    Mark,
    Outcome,
    Question,
    Returns,
    Word,
)
from gshtui.commands.schema import FOR_PEOPLE, PLAIN, ToolParameters, renamed
from gshtui.guard.policy import sensitive_paths
from gshtui.text import unified_diff
from gshtui.text.sanitise import one_line
from gshtui.tools.files import file_access, path_location, write
from gshtui.tools.files.file_paths import FilePaths, RealPath
from gshtui.tools.files.file_views import assess_virtual
from gshtui.tools.files.path_location import Location
from gshtui.tools.files.workspace import Workspace
from gshtui.vfs import FileError, VirtualPath, appended

_COUNTED = 100_000
"""Files of a folder that are counted before it is removed; a larger one is refused."""


class AppendParameters(ToolParameters):
    """What to add to which file."""

    path: Word = Field(description="File", min_length=1, json_schema_extra=PLAIN)
    content: Annotated[str, Mark.VERBATIM, Mark.PIPED] = Field(
        description="Lines to add at its end", json_schema_extra=PLAIN
    )
    to: Word = Field(default=Word(), description="The same as path", json_schema_extra=FOR_PEOPLE)

    @model_validator(mode="before")
    @classmethod
    def _named_once(cls, data: object) -> object:
        return renamed("to", "path", data)


class MkdirParameters(ToolParameters):
    """Which folder to make."""

    path: Word = Field(description="Folder; missing ones above it are made too", min_length=1, json_schema_extra=PLAIN)


class RemovedPath(msgspec.Struct, frozen=True):
    """What was removed. `files`: how many."""

    path: str
    files: int
    was_folder: bool


class RemovePath(ToolParameters, Returns[RemovedPath]):
    """What to remove."""

    COMMAND: ClassVar[str] = "rm"
    path: Word = Field(description="File or folder", min_length=1, json_schema_extra=PLAIN)
    recursive: bool = Field(default=False, description="Delete folders recursively", json_schema_extra=PLAIN)


class FileChanges:
    """The handlers."""

    def __init__(self, workspace: Workspace, paths: FilePaths) -> None:
        self._workspace = workspace
        self._paths = paths
        self.remove: AnyAction = Action(
            RemovePath, self._remove, _render_removed, asks=self._ask_removal, effect=Effect.WRITE
        )

    async def write_virtual(self, invocation: Invocation, path: VirtualPath, content: str, *, append: bool) -> Outcome:
        """Write a virtual file. Raises `ExpectedError`."""
        path, before = await self._before(invocation, path)
        await self._paths.files.write(invocation.caller, path, content, append=append)
        after = appended(before or "", content) if append else content
        done = "Created" if before is None else "Appended to" if append else "Replaced"
        size = len(after.encode(errors="replace"))
        change = unified_diff.make_diff(before or "", after, str(path), new=before is None)
        data = {"path": str(path), "bytes": size, "created": before is None}
        return Outcome(data, f"{done} {path}: {size:,} bytes", diff=change)

    async def assess_virtual(
        self, invocation: Invocation, path: VirtualPath, tool: str, content: str, *, append: bool
    ) -> Assessment:
        """Judge it, with what it would change. Raises `ExpectedError`."""
        path, before = await self._before(invocation, path)
        after = appended(before or "", content) if append else content
        change = unified_diff.make_diff(before or "", after, str(path), new=before is None)
        return await assess_virtual(self._paths, invocation, path, tool, writes=True, change=change)

    async def append(self, invocation: Invocation, parameters: AppendParameters) -> Outcome:
        """Add lines at the end of a file. Raises `ExpectedError`."""
        found = self._paths.resolve(invocation, parameters.path)
        if isinstance(found, VirtualPath):
            return await self.write_virtual(invocation, found, parameters.content, append=True)
        return await asyncio.to_thread(self._append_real, found, parameters.content)

    async def assess_append(self, invocation: Invocation, parameters: AppendParameters) -> Assessment:
        """Judge it as writing the file. Raises `ExpectedError`."""
        found = self._paths.resolve(invocation, parameters.path)
        if isinstance(found, VirtualPath):
            return await self.assess_virtual(invocation, found, "append", parameters.content, append=True)
        return await asyncio.to_thread(self._assess_append_real, found, parameters.content)

    async def mkdir(self, invocation: Invocation, parameters: MkdirParameters) -> Outcome:
        """Make a folder. Raises `ExpectedError`."""
        found = self._paths.resolve(invocation, parameters.path)
        if isinstance(found, VirtualPath):
            await self._paths.files.make_folder(invocation.caller, found)
            return Outcome({"path": str(found)}, f"Made {found}")
        return await asyncio.to_thread(self._make_real, found)

    async def assess_mkdir(self, invocation: Invocation, parameters: MkdirParameters) -> Assessment:
        """Judge it as writing the folder. Raises `ExpectedError`."""
        found = self._paths.resolve(invocation, parameters.path)
        if isinstance(found, VirtualPath):
            return await assess_virtual(self._paths, invocation, found, "mkdir", writes=True)

        def judge() -> Assessment:
            place = _changeable(found)
            self._workspace.record_assessed(found.invocation, found.asked, place.real)
            return write.writing(place, "mkdir", "")

        return await asyncio.to_thread(judge)

    async def assess_rm(self, invocation: Invocation, parameters: RemovePath) -> Assessment:
        """Judge it: only a person's answer counts, unless it is the caller's own note. Raises `ExpectedError`."""
        found = self._paths.resolve(invocation, parameters.path)
        if isinstance(found, VirtualPath):
            return await assess_virtual(self._paths, invocation, found, "rm", writes=True)

        def judge() -> Assessment:
            place, files = _removable(found, recursive=parameters.recursive)
            self._workspace.record_assessed(found.invocation, found.asked, place.real)
            what = f"rm {place.shown}" + (f", a folder with {_files(files)}" if place.real.is_dir() else "")
            return Assessment(
                Effect.WRITE,
                place.shown,
                inside=place.inside,
                detail=what,
                only_person=True,
                warnings=(*place.warnings, "cannot be undone"),
            )

        return await asyncio.to_thread(judge)

    async def _ask_removal(self, invocation: Invocation, parameters: RemovePath) -> Question | None:
        found = self._paths.resolve(invocation, parameters.path)
        if isinstance(found, VirtualPath):
            return Question(parameters, f"Permanently remove {one_line(str(found), 200)}?", yes="Remove")
        place, files = await asyncio.to_thread(_removable, found, recursive=parameters.recursive)
        what = f"{place.shown} with {_files(files)}" if place.real.is_dir() else place.shown
        return Question(parameters, f"Permanently remove {what}?", yes="Remove", text="This cannot be undone.")

    async def _remove(self, invocation: Invocation, parameters: RemovePath) -> RemovedPath:
        found = self._paths.resolve(invocation, parameters.path)
        if isinstance(found, RealPath):
            return await asyncio.to_thread(self._remove_real, found, recursive=parameters.recursive)
        node = await self._paths.files.stat(invocation.caller, found)
        await self._paths.files.remove(invocation.caller, found, recursive=parameters.recursive)
        return RemovedPath(str(found), 1, node.kind == "folder")

    async def _before(self, invocation: Invocation, path: VirtualPath) -> tuple[VirtualPath, str | None]:
        """The path behind links, and the file's text as it is; `None`: there is none, or it cannot be read."""
        files, caller = self._paths.files, invocation.caller
        try:
            path = await files.followed(caller, path)
            return path, await files.read(caller, path) if await files.right(caller, path) == "free" else None
        except FileError as error:
            if error.kind == "missing":
                return path, None
            raise

    def _assess_append_real(self, found: RealPath, content: str) -> Assessment:
        place = write.writable(found.invocation, found.asked)
        self._workspace.record_assessed(found.invocation, found.asked, place.real)
        with file_access.explaining(f"Cannot read {place.shown}"):
            before = file_access.read_whole(place.real, write.LIMIT)[0] if place.real.exists() else None
        old = (before or b"").decode("utf-8", "replace")
        change = unified_diff.make_diff(old, _lines(old, content), place.shown, new=before is None)
        return write.writing(place, "append", change, content)

    def _append_real(self, found: RealPath, content: str) -> Outcome:
        place = write.writable(found.invocation, found.asked)
        path_location.confirm_unchanged(self._workspace, found.invocation, place)
        try:
            raw = content.encode("utf-8")
        except UnicodeEncodeError as error:
            raise CommandError("The content contains half a character (a lone surrogate).") from error
        with file_access.explaining(f"Cannot write {place.shown}"):
            created = file_access.append_lines(place.real, raw)
        data = {"path": place.shown, "bytes": len(raw), "created": created}
        return Outcome(data, f"{'Created' if created else 'Appended to'} {place.shown}: {len(raw):,} bytes")

    def _make_real(self, found: RealPath) -> Outcome:
        place = _changeable(found)
        path_location.confirm_unchanged(self._workspace, found.invocation, place)
        if place.real.exists():
            raise CommandError(f"{place.shown} exists already.", hint="`ls` shows what is in it.")
        with file_access.explaining(f"Cannot make {place.shown}"), file_access.parent_of(place.real / "-", create=True):
            pass
        return Outcome({"path": place.shown}, f"Made {place.shown}")

    def _remove_real(self, found: RealPath, *, recursive: bool) -> RemovedPath:
        place, files = _removable(found, recursive=recursive)
        path_location.confirm_unchanged(self._workspace, found.invocation, place)
        folder = place.real.is_dir()
        with file_access.explaining(f"Cannot remove {place.shown}"), file_access.parent_of(place.real) as parent:
            if folder:
                shutil.rmtree(place.real.name, dir_fd=parent)
            else:
                os.unlink(place.real.name, dir_fd=parent)
        return RemovedPath(place.shown, files, folder)


def _lines(before: str, content: str) -> str:
    """A file's text with whole lines at its end."""
    after = appended(before, content)
    return after if after.endswith("\n") or not content else f"{after}\n"


def _changeable(found: RealPath) -> Location:
    """A location that tools may change. Raises `ExpectedError`."""
    place = path_location.locate(found.invocation, found.asked)
    if why := sensitive_paths.guarded(place.real) or sensitive_paths.guarded(place.path):
        raise CommandError(f"No tool may write {place.shown}.", hint=why)
    if place.leaves:
        raise CommandError(f"{found.asked[:200]} leads outside the project, to {place.shown}.")
    return place


def _removable(found: RealPath, *, recursive: bool) -> tuple[Location, int]:
    """What would be removed, and how many files that is. Raises `ExpectedError`."""
    place = _changeable(found)
    link = place.path.name not in ("", ".", "..") and place.path.is_symlink()
    if link:
        raise CommandError(f"{place.shown} is reached by a link.", hint="Remove the link in your shell.")
    try:
        kind = place.real.lstat().st_mode
    except FileNotFoundError:
        raise path_location.missing(place) from None
    except OSError as error:
        raise file_access.explained(error, f"Cannot look at {place.shown}") from error
    if not stat.S_ISDIR(kind):
        if not stat.S_ISREG(kind):
            raise CommandError(f"{place.shown} is not an ordinary file.", hint="Remove it in your shell.")
        return place, 1
    if not recursive:
        raise CommandError(f"{place.shown} is a folder.", hint="With `recursive=true` it is removed with its files.")
    if place.project.is_relative_to(place.real) or _is_root(found, place):
        raise CommandError(f"{place.where} is the whole project or shared folder.", hint="Name something in it.")
    return place, _count(place)


def _is_root(found: RealPath, place: Location) -> bool:
    within = found.invocation.within
    return within is not None and Path(os.path.realpath(within)).is_relative_to(place.real)


def _count(place: Location) -> int:
    """List the files below a folder; raise if one is write-protected. Raises `ExpectedError`."""
    count = 0
    for folder, folders, files in os.walk(place.real):
        for name in (*folders, *files):
            one = Path(folder, name)
            if why := sensitive_paths.guarded(one):
                raise CommandError(
                    f"{place.shown} holds {one.relative_to(place.real)}, which no tool may remove.", hint=why
                )
        count += len(files)
        if count > _COUNTED:
            raise CommandError(f"{place.shown} has more than {_COUNTED:,} files.", hint="Remove it in your shell.")
    return count


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"


def _render_removed(_invocation: Invocation, removed: RemovedPath) -> Outcome:
    what = f"{removed.path} and {_files(removed.files)} in it" if removed.was_folder else removed.path
    return Outcome({"path": removed.path, "files": removed.files}, f"Removed {what}")
