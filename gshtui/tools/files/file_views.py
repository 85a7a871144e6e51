"""The file commands that read: `cat head tail ls cd pwd`, over virtual and real paths alike.

Real files are read as the tool `read` reads them: ordinary files below a folder that no link redirects, and only text.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace
from pydantic import Field

from gshtui.commands.declaration import (
    Assessment,
    CommandError,
    Effect,
    Invocation,
    Mark,
    Outcome,
    UsageError,
    Word,
    as_data,
)
from gshtui.commands.schema import FOR_PEOPLE, PLAIN, ToolParameters
from gshtui.system.expected_error import ExpectedError
from gshtui.text.file_name import written_name
from gshtui.text.markdown_table import fenced
from gshtui.text.sanitise import literal, one_line, visible
from gshtui.tools.files import file_access, path_location
from gshtui.tools.files.file_paths import FilePaths, RealPath
from gshtui.tools.files.file_type import filetype
from gshtui.tools.files.read import reading
from gshtui.tools.files.workspace import Workspace, fingerprint
from gshtui.vfs import SHARED, FileError, Node, VirtualPath

LIMIT = 8 << 20
"""Largest real file, in bytes, that these commands show."""
_MOST_FILES = 200
_MOST_ENTRIES = 2_000


class CatParameters(ToolParameters):
    """Which files."""

    path: Word = Field(default=Word(), description="File, or a pattern of virtual ones", json_schema_extra=PLAIN)
    paths: list[str] = Field(default=[], description="Several files, one after another", json_schema_extra=PLAIN)


class PartParameters(ToolParameters):
    """How much of which file."""

    path: Word = Field(
        default=Word(), description="File; of a folder, its first or last files", json_schema_extra=PLAIN
    )
    n: int = Field(default=10, ge=1, le=100_000, description="Lines, or files of a folder", json_schema_extra=PLAIN)
    text: Annotated[str | None, Mark.PIPED] = Field(
        default=None, description="Text in place of a file: what is piped", json_schema_extra=FOR_PEOPLE
    )


class LsParameters(ToolParameters):
    """Which folder, and how much of it."""

    path: Word = Field(default=Word("."), description="Folder or file", json_schema_extra=PLAIN)
    long: bool = Field(default=False, description="With sizes and times", json_schema_extra=PLAIN)
    all: bool = Field(default=False, description="Also names that begin with a dot", json_schema_extra=PLAIN)


class CdParameters(ToolParameters):
    """Where to work."""

    to: Word = Field(default=Word(f"/{SHARED}/project"), description="Folder", json_schema_extra=PLAIN)


class PwdParameters(ToolParameters):
    """Nothing."""


class FileText(msgspec.Struct, frozen=True):
    """One file's text."""

    path: str
    """As people and models name it."""
    text: str
    size: int


class FileViews:
    """The handlers."""

    def __init__(self, workspace: Workspace, paths: FilePaths) -> None:
        self._workspace = workspace
        self._paths = paths

    async def cat(self, invocation: Invocation, parameters: CatParameters) -> Outcome:
        """Show files whole. Raises `ExpectedError`."""
        found = [file for asked in _wanted(parameters) for file in await self._texts(invocation, asked)]
        data = {"files": [{"path": file.path, "text": file.text, "bytes": file.size} for file in found]}
        return _shown(invocation, data, "".join(_ended(literal(file.text), len(found) > 1) for file in found))

    async def head(self, invocation: Invocation, parameters: PartParameters) -> Outcome:
        """Show the first lines. Raises `ExpectedError`."""
        return await self._part(invocation, parameters, first=True)

    async def tail(self, invocation: Invocation, parameters: PartParameters) -> Outcome:
        """Show the last lines. Raises `ExpectedError`."""
        return await self._part(invocation, parameters, first=False)

    async def ls(self, invocation: Invocation, parameters: LsParameters) -> Outcome:
        """List a folder. Raises `ExpectedError`."""
        path, nodes = await self._nodes(invocation, parameters.path)
        shown = [node for node in nodes if parameters.all or not node.hidden]
        data = {"path": path, "entries": [_entry(node, long=parameters.long) for node in shown]}
        lines = [_line(node, long=parameters.long) for node in shown[:_MOST_ENTRIES]]
        if len(shown) > _MOST_ENTRIES:
            lines.append(f"[{len(shown) - _MOST_ENTRIES:,} more of {len(shown):,}]")
        hidden = len(nodes) - len(shown)
        nothing = f"({hidden} hidden; all=true shows them)" if hidden else "(the folder is empty)"
        outcome = _shown(invocation, data, "\n".join(lines) or nothing)
        about_things = invocation.caller.is_agent and any(node.about for node in shown)
        return as_data(outcome) if about_things else outcome

    async def cd(self, invocation: Invocation, parameters: CdParameters) -> Outcome:
        """Work in another folder. Raises `ExpectedError`."""
        found = self._paths.resolve(invocation, parameters.to)
        if isinstance(found, RealPath):
            place = await asyncio.to_thread(path_location.locate, found.invocation, found.asked)
            if not place.real.is_dir():
                raise CommandError(f"{place.shown} is not a folder.", hint="`ls` shows what there is.")
            folder = self._paths.shared_place(invocation, place.real)
        else:
            folder = found
            node = await self._stat(invocation, folder)
            if node.kind != "folder":
                raise CommandError(f"{folder} is not a folder.", hint=f"`ls path={folder.parent}` shows what there is.")
        self._paths.enter(invocation, folder)
        return Outcome({"path": str(folder)}, str(folder))

    async def pwd(self, invocation: Invocation, parameters: PwdParameters) -> Outcome:
        """Say where the caller works."""
        folder = str(self._paths.folder(invocation))
        return Outcome({"path": folder}, folder)

    async def assess_cat(self, invocation: Invocation, parameters: CatParameters) -> Assessment:
        """Judge reading the files: each of them counts. Raises `ExpectedError`."""
        return _together([one for asked in _wanted(parameters) for one in await self._each(invocation, asked, "cat")])

    async def assess_part(self, invocation: Invocation, parameters: PartParameters) -> Assessment:
        """Judge reading a part of a file. Raises `ExpectedError`."""
        if parameters.text is not None:
            return Assessment(Effect.READ, "what is piped")
        found = self._paths.resolve(invocation, _named(parameters))
        if not isinstance(found, VirtualPath) or (await self._stat(invocation, found)).kind != "folder":
            return _together(await self._each(invocation, _named(parameters), "read"))
        files = [node for node in await self._list(invocation, found) if node.kind == "file" and not node.hidden]
        inside = [await assess_virtual(self._paths, invocation, found.below(node.name), "read") for node in files]
        return _together([await assess_virtual(self._paths, invocation, found, "read"), *inside])

    async def assess_ls(self, invocation: Invocation, parameters: LsParameters) -> Assessment:
        """Judge listing a folder. Raises `ExpectedError`."""
        return await self._assess(invocation, parameters.path, "ls")

    async def assess_cd(self, invocation: Invocation, parameters: CdParameters) -> Assessment:
        """Judge entering a folder: as listing it, since it tells whether there is one. Raises `ExpectedError`."""
        return await self._assess(invocation, parameters.to, "ls")

    async def assess_nothing(self, invocation: Invocation, parameters: PwdParameters) -> Assessment:
        return Assessment(Effect.READ, "the working folder")

    async def complete(self, invocation: Invocation, parameter: str, typed: str) -> list[str]:
        """Complete a virtual or real path."""
        if parameter not in ("path", "paths", "to", "in"):
            return []
        head, slash, start = typed.rpartition("/")
        try:
            found = self._paths.resolve(invocation, f"{head}{slash}" or ".")
            if isinstance(found, RealPath):
                below = await path_location.complete_path(found.invocation, "path", f"{_folder_of(found)}{start}")
                return [f"{head}{slash}{name.removeprefix(_folder_of(found))}" for name in below]
            nodes = await self._list(invocation, found)
        except ExpectedError:
            return []
        fits = [node for node in nodes if node.name.startswith(start) and (start.startswith(".") or not node.hidden)]
        return [f"{head}{slash}{node.name}{'/' if node.kind != 'file' else ''}" for node in fits][:200]

    async def _each(self, invocation: Invocation, asked: str, tool: str) -> list[Assessment]:
        """Judge every file that a path means. Raises `ExpectedError`."""
        found = self._paths.resolve(invocation, asked)
        if not isinstance(found, VirtualPath):
            return [await self._assess(invocation, asked, tool)]
        own = await assess_virtual(self._paths, invocation, found, tool)
        files = await self._paths.files.matching(invocation.caller, found) if own.inside else [found]
        return [await assess_virtual(self._paths, invocation, file, tool) for file in files[:_MOST_FILES]]

    async def _assess(self, invocation: Invocation, asked: str, tool: str) -> Assessment:
        found = self._paths.resolve(invocation, asked)
        if isinstance(found, VirtualPath):
            return await assess_virtual(self._paths, invocation, found, tool)
        place = await asyncio.to_thread(path_location.locate, found.invocation, found.asked)
        self._workspace.record_assessed(invocation, found.asked, place.real)
        return as_read(reading(place, tool))

    async def _texts(self, invocation: Invocation, asked: str) -> list[FileText]:
        found = self._paths.resolve(invocation, asked)
        if isinstance(found, RealPath):
            return [await asyncio.to_thread(self._read_real, found)]
        files = await self._paths.files.matching(invocation.caller, found)
        await _allowed(self._paths, invocation, found)
        texts = [(path, await self._paths.files.read(invocation.caller, path)) for path in files[:_MOST_FILES]]
        return [FileText(str(path), text, len(text.encode(errors="replace"))) for path, text in texts]

    async def _part(self, invocation: Invocation, parameters: PartParameters, *, first: bool) -> Outcome:
        if parameters.text is not None:
            return _lines_of(invocation, FileText("", parameters.text, len(parameters.text)), parameters.n, first=first)
        found = self._paths.resolve(invocation, _named(parameters))
        if isinstance(found, VirtualPath) and (await self._stat(invocation, found)).kind == "folder":
            nodes = [node for node in await self._list(invocation, found) if node.kind == "file" and not node.hidden]
            some = nodes[: parameters.n] if first else nodes[-parameters.n :]
            texts = [file for node in some for file in await self._texts(invocation, str(found.below(node.name)))]
            data = {"files": [{"path": file.path, "text": file.text, "bytes": file.size} for file in texts]}
            return _shown(invocation, data, "".join(_ended(literal(file.text), True) for file in texts) or "(no files)")
        (file,) = await self._texts(invocation, parameters.path)
        return _lines_of(invocation, file, parameters.n, first=first)

    async def _nodes(self, invocation: Invocation, asked: str) -> tuple[str, list[Node]]:
        found = self._paths.resolve(invocation, asked)
        if isinstance(found, RealPath):
            return await asyncio.to_thread(_real_nodes, self._workspace, found)
        node = await self._stat(invocation, found)
        return str(found), await self._list(invocation, found) if node.kind == "folder" else [node]

    async def _stat(self, invocation: Invocation, path: VirtualPath) -> Node:
        if path.steps == (SHARED,):
            return Node(SHARED, "folder")
        await _allowed(self._paths, invocation, path)
        return await self._paths.files.stat(invocation.caller, path)

    async def _list(self, invocation: Invocation, path: VirtualPath) -> list[Node]:
        if path.steps == (SHARED,):
            return self._paths.shared_nodes()
        await _allowed(self._paths, invocation, path)
        return await self._paths.files.list(invocation.caller, path)

    def _read_real(self, found: RealPath) -> FileText:
        invocation = found.invocation
        place = path_location.locate(invocation, found.asked)
        path_location.confirm_unchanged(self._workspace, invocation, place)
        if not os.path.lexists(place.real):
            raise path_location.missing(place)
        if place.real.is_dir():
            raise CommandError(f"{place.shown} is a folder.", hint="`ls` lists it.")
        with file_access.explaining(f"Cannot read {place.shown}"):
            content, state = file_access.read_whole(place.real, LIMIT)
        kind = filetype(content[:65_536], whole=len(content) <= 65_536)
        if content and not kind.encoding:
            raise CommandError(f"{place.shown} is not text: {kind.description}, {len(content):,} bytes.")
        self._workspace.record_read(invocation, place.real, fingerprint(state.st_mtime_ns, content))
        text = content.removeprefix(kind.mark).decode(kind.encoding or "utf-8", "replace")
        return FileText(place.shown, text, len(content))


def _named(parameters: PartParameters) -> str:
    if not parameters.path:
        raise UsageError("The path is missing.", hint="Write `head FILE`, or pipe a result into it.")
    return parameters.path


def _lines_of(invocation: Invocation, file: FileText, count: int, *, first: bool) -> Outcome:
    lines = file.text.splitlines(keepends=True)
    some = lines[:count] if first else lines[-count:]
    number = 1 if first else len(lines) - len(some) + 1
    text = "".join(some)
    data = {"path": file.path, "text": text, "first": number, "lines": len(some), "total": len(lines)}
    return _shown(invocation, data, literal(text) or "(the file is empty)")


def _shown(invocation: Invocation, data: dict[str, Any], text: str) -> Outcome:
    """People see it exactly as it is, in a window too."""
    return Outcome(data, text) if invocation.caller.is_agent else Outcome(data, fenced(text), full=text)


def as_read(assessment: Assessment) -> Assessment:
    """Reading as another tool than `read` needs what `read` needs."""
    return replace(assessment, reads=True)


def _together(found: Sequence[Assessment]) -> Assessment:
    """One run that reads several files: a question names each of them that is a reason to ask."""
    asked = [one for one in found if not one.inside]
    if len(found) == 1 or not asked:
        return found[0] if len(found) == 1 else replace(found[0], every=tuple(found))
    return Assessment(
        Effect.READ,
        one_line(", ".join(one.subject for one in asked), 200),
        inside=False,
        detail="\n".join(one.detail for one in asked),
        key="\0".join(one.key for one in found),
        warnings=tuple(dict.fromkeys(f"{one.subject}: {warning}" for one in asked for warning in one.warnings)),
        why=next((one.why for one in asked if one.why), ""),
        reads=True,
        every=tuple(found),
    )


async def assess_virtual(
    paths: FilePaths, invocation: Invocation, path: VirtualPath, tool: str, *, writes: bool = False, change: str = ""
) -> Assessment:
    """Judge a virtual file: what the mount says of this caller. Raises `ExpectedError`."""
    subject = visible(one_line(str(path), 200))
    if path.steps == (SHARED,):
        return Assessment(Effect.READ, subject)
    right = await paths.files.right(invocation.caller, path, writes=writes)
    if right == "never":
        raise CommandError(
            f"Only a person changes {subject}.", hint="An agent writes its own memory, and where a call lets it."
        )
    if right == "free":
        return Assessment(Effect.READ, subject, diff=change)
    return Assessment(
        Effect.WRITE if writes else Effect.READ,
        subject,
        inside=False,
        detail=f"{tool} {subject}",
        diff=change,
        key=f"{path}\0{change}",
        pattern="" if writes else f"{tool} {subject}",
        why="it is another agent's" if not writes else "it is shared with others",
    )


async def _allowed(paths: FilePaths, invocation: Invocation, path: VirtualPath) -> None:
    """Refuse what no approval can have been asked about. Raises `FileError`."""
    if await paths.files.right(invocation.caller, path) == "never":
        raise FileError("refused", f"Only a person reads {path}.")


def _wanted(parameters: CatParameters) -> Sequence[str]:
    wanted = [*([parameters.path] if parameters.path else []), *parameters.paths]
    if not wanted:
        raise UsageError("cat: the path is missing.", hint="Write `cat FILE`, or `cat paths=[FILE, FILE]`.")
    return wanted[:_MOST_FILES]


def _real_nodes(workspace: Workspace, found: RealPath) -> tuple[str, list[Node]]:
    place = path_location.locate(found.invocation, found.asked)
    path_location.confirm_unchanged(workspace, found.invocation, place)
    if not os.path.lexists(place.real):
        raise path_location.missing(place)
    with file_access.explaining(f"Cannot read {place.shown}"):
        if not place.real.is_dir():
            state = place.real.lstat()
            return place.shown, [Node(place.real.name, "file", state.st_size, state.st_mtime)]
        with os.scandir(place.real) as scan:
            nodes = [_real_node(entry) for entry in scan]
    return place.shown, sorted(nodes, key=lambda node: (node.kind != "folder", node.name.casefold()))


def _real_node(entry: os.DirEntry[str]) -> Node:
    state = entry.stat(follow_symlinks=False)
    if entry.is_symlink():
        return Node(entry.name, "link", None, state.st_mtime, str(Path(entry.path).readlink()))
    kind = "folder" if entry.is_dir() else "file"
    return Node(entry.name, kind, None if kind == "folder" else state.st_size, state.st_mtime)


def _folder_of(found: RealPath) -> str:
    return found.asked if found.asked.endswith("/") else "" if found.asked == "." else f"{found.asked}/"


def _entry(node: Node, *, long: bool) -> dict[str, Any]:
    data: dict[str, Any] = {"name": written_name(node.name), "type": node.type or node.kind, **node.about}
    if node.size is not None:
        data["size"] = node.size
    if node.target:
        data["target"] = written_name(node.target)
    if long and node.at:
        data["at"] = node.at
    return data


def _line(node: Node, *, long: bool) -> str:
    name = written_name(node.name) + ("/" if node.kind == "folder" else "")
    name += f" -> {written_name(node.target)}" if node.target else ""
    facts = [_fact(key, value) for key, value in node.about.items() if value not in ("", None, False)]
    if long and node.size is not None:
        facts.insert(0, f"{node.size:,} bytes")
    if long and node.at:
        facts.append(datetime.fromtimestamp(node.at).astimezone().strftime("%Y-%m-%d %H:%M"))
    return f"{name}  ({', '.join(facts)})" if facts else name


def _fact(key: str, value: object) -> str:
    if value is True:
        return key
    if isinstance(value, int):
        return f"{value:,} {key.removesuffix('s') if value == 1 else key}"
    return one_line(str(value), 120)


def _ended(text: str, several: bool) -> str:
    return text if text.endswith("\n") or not several or not text else f"{text}\n"
