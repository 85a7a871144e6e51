"""The `read` tool: lines of a file with their numbers, whatever the file's size, encoding or kind.

Holds no more of the file than it shows. Refuses devices and pipes, and describes what is no text. Run by the
registry; `lines.py` does the reading.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from pydantic import Field

from gshtui.commands.declaration import Assessment, CommandError, Effect, Invocation, Outcome
from gshtui.commands.tool_parameters import ToolParameters
from gshtui.guard.sanitise import literal, one_line
from gshtui.tools import files, paths
from gshtui.tools.filetype import filetype
from gshtui.tools.lines import Excerpt, excerpt
from gshtui.tools.paths import Place
from gshtui.tools.workspace import Fingerprint, Workspace, fingerprint

DESCRIPTION = """\
Read a text file, or list a folder. Lines come as `number│text`; the number and the bar are not part of the file.
Without a range it begins at line 1 and stops at 2,000 lines or when the answer is full, and then says with which \
start_line to go on. Read a file before you edit or overwrite it. Prefer this over cat, head, tail or sed in bash: it \
is exact about line numbers, encodings and line ends, and needs no approval inside the project. Binary files and \
pictures are described, not shown. Control characters appear as symbols such as ␛ or ⟨U+200B⟩."""
_MOST_LINES = 2_000
_MOST_ENTRIES = 500
_HEAD = 65_536
_NOTE = 200
"""Bytes kept free for what is said about the lines; half of a very small answer at most."""
_HASHED = 16 * 1024 * 1024


class ReadParameters(ToolParameters):
    """What to read."""

    path: str = Field(description="File or folder to read")
    start_line: int = Field(default=1, description="First line to show, counting from 1; negative counts from the end")
    end_line: int = Field(default=0, ge=0, description="Last line to show, inclusive; 0 shows as much as fits")


async def assess(workspace: Workspace, invocation: Invocation, parameters: ReadParameters) -> Assessment:
    """A read: inside the project it needs no question, elsewhere and of secrets it does."""
    place = await asyncio.to_thread(paths.locate, invocation, parameters.path)
    workspace.assessed(invocation, parameters.path, place.real)
    return reading(place, "read")


def reading(place: Place, tool: str) -> Assessment:
    """What reading there would do. `always` covers the folder, and is not offered for secrets."""
    secret = any(warning.startswith("may hold") for warning in place.warnings)
    folder = place.real if place.real.is_dir() else place.real.parent
    return Assessment(
        effect=Effect.READ,
        subject=place.shown,
        inside=place.inside,
        detail=f"{tool} {place.shown}",
        key=str(place.real),
        pattern="" if secret else f"{tool} what is in {folder}",
        warnings=place.warnings,
    )


async def run(workspace: Workspace, invocation: Invocation, parameters: ReadParameters) -> Outcome:
    """Read it."""
    if parameters.end_line and 0 < parameters.end_line < parameters.start_line:
        raise CommandError(
            f"end_line {parameters.end_line} is before start_line {parameters.start_line}.", hint="Swap them."
        )
    return await asyncio.to_thread(_read, workspace, invocation, parameters)


def _read(workspace: Workspace, invocation: Invocation, parameters: ReadParameters) -> Outcome:
    place = paths.locate(invocation, parameters.path)
    paths.confirm_unchanged(workspace, invocation, place)
    if not os.path.lexists(place.real):
        raise paths.missing(place)
    try:
        if place.real.is_dir():
            return _folder(place)
        with os.fdopen(files.open_regular(place.real), "rb") as file:
            state = os.fstat(file.fileno())
            head = file.read(_HEAD)
            kind = filetype(head, whole=len(head) >= state.st_size)
            if not kind.encoding:
                return _binary(place, kind.description, state.st_size)
            limit = invocation.limit(workspace.config.max_output_bytes)
            limit -= min(_NOTE, limit // 2)
            found = excerpt(file, kind, parameters.start_line, parameters.end_line, _MOST_LINES, limit)
            workspace.saw(invocation, place.real, _state(file.fileno(), state))
    except OSError as error:
        raise files.explained(error, f"{place.shown} cannot be read") from error
    return _shown(place, found, kind.description, state.st_size, parameters.end_line)


def _state(descriptor: int, state: os.stat_result) -> Fingerprint:
    """The file's state; its content is compared later where it is not too large for that."""
    if state.st_size > _HASHED:
        return Fingerprint(state.st_mtime_ns, state.st_size)
    return fingerprint(state.st_mtime_ns, os.pread(descriptor, state.st_size, 0))


def _shown(place: Place, found: Excerpt, encoding: str, size: int, end_line: int) -> Outcome:
    notes: list[str] = []
    if encoding:
        notes.append(f"encoding: {encoding}")
    if found.line_ends:
        notes.append(f"line ends: {found.line_ends}")
    last = found.first + len(found.lines) - 1
    text = "\n".join(f"{found.first + n:>6}│{line}" for n, line in enumerate(found.lines))
    if not size:
        text = "(the file is empty)"
    elif not found.lines:
        whole = f": the file has {found.total:,} lines" if found.total else ""
        notes.append(f"there is no line {found.first:,}{whole}")
    elif found.more and last != end_line:
        whole = f"of {found.total:,}" if found.total else f"of a file of {size:,} bytes"
        notes.append(f"lines {found.first:,}–{last:,} {whole}; go on with start_line={last + 1}")
    if notes:
        text = "\n".join(filter(None, (text, f"[{'; '.join(notes)}]")))
    data = {
        "path": str(place.real).encode("utf-8", "replace").decode(),
        "first": found.first,
        "lines": len(found.lines),
        "total": found.total or None,
        "more": found.more,
        "text": "\n".join(found.lines),
    }
    return Outcome(data=data, text=text)


def _binary(place: Place, description: str, size: int) -> Outcome:
    text = f"[{place.shown}: {description}, {size:,} bytes; not text, so it is not shown]"
    return Outcome(data={"path": place.shown, "type": description, "size": size}, text=text)


def _folder(place: Place) -> Outcome:
    entries: list[dict[str, object]] = []
    with os.scandir(place.real) as scan:
        for entry in scan:
            folder = entry.is_dir()
            size = 0 if folder else entry.stat(follow_symlinks=False).st_size
            link = str(Path(entry.path).readlink()) if entry.is_symlink() else ""
            entries.append({"name": entry.name, "folder": folder, "size": size, "link": link})
    entries.sort(key=lambda entry: (not entry["folder"], str(entry["name"]).casefold()))
    rows = [_entry(entry) for entry in entries[:_MOST_ENTRIES]]
    if len(entries) > _MOST_ENTRIES:
        rows.append(f"[{len(entries) - _MOST_ENTRIES:,} more of {len(entries):,}; use glob to narrow it down]")
    text = "\n".join(rows) if rows else "(the folder is empty)"
    data = [{**entry, "name": _words(entry["name"]), "link": _words(entry["link"])} for entry in entries]
    return Outcome(data={"path": place.shown, "entries": data}, text=text)


def _entry(entry: dict[str, object]) -> str:
    name = _words(entry["name"])
    if entry["folder"]:
        name += "/"
    if entry["link"]:
        return f"{name} -> {_words(entry['link'])}"
    return name if entry["folder"] else f"{name}  ({entry['size']:,} bytes)"


def _words(name: object) -> str:
    return one_line(literal(str(name)), limit=1_000)
