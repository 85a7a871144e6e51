"""The `read` tool: numbered lines of a file of any size, encoding or kind."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec
from msgspec.structs import replace
from pydantic import Field

from gshtui.commands.declaration import Assessment, CommandError, Effect, Invocation, Outcome, RuleScope
from gshtui.commands.schema import PLAIN, ToolParameters
from gshtui.guard.rules.rule_paths import escaped
from gshtui.text.sanitise import literal, one_line
from gshtui.tools.files import file_access, path_location
from gshtui.tools.files.file_type import FileType, filetype
from gshtui.tools.files.path_location import Location
from gshtui.tools.files.workspace import Fingerprint, Workspace, fingerprint

_BLOCK = 1 << 20
_MARGIN = 11
"""Bytes of a line number, the bar after it and the newline."""
_LONGEST = 2_000
"""Most characters shown of one line."""
_COUNTED = 256 << 20
"""Largest file, in bytes, whose lines are all counted, just to report the total."""
_WIDE = 32 << 20
"""Largest file, in bytes, that is read if it has two- or four-byte characters; it is decoded whole."""


class Excerpt(msgspec.Struct, frozen=True):
    """The lines to show, sanitised and without newlines."""

    lines: list[str]
    first: int
    """Number of the first line, counting from 1."""
    total: int
    """Lines in the whole file; 0 if they were not counted."""
    more: bool
    """More lines follow."""
    line_ends: str = ""
    """`CRLF` or `mixed CRLF and LF`; empty for LF."""


def excerpt(file: BinaryIO, kind: FileType, start: int, end: int, most: int, limit: int) -> Excerpt:
    """Return lines `start` to `end`, at most `most` lines and `limit` bytes, but always one line.

    Args:
        limit: 0: unlimited.
        start: counts from 1; negative counts from the end.
        end: inclusive; 0: no end.

    Raises `CommandError`: a file of wide characters is too large.
    """
    size = os.fstat(file.fileno()).st_size
    if kind.encoding.startswith(("utf-16", "utf-32")):
        return _wide(file, kind, size, start, end, most, limit)
    total = _count(file, size) if start < 0 or size <= _COUNTED else 0
    first = max(1, total + 1 + start) if start < 0 else max(1, start)
    _seek_line(file, first, len(kind.mark))
    taken = _Taken(kind.encoding, most if not end else min(most, max(0, end - first + 1)), limit)
    while taken.wants_more:
        raw = file.readline(_LONGEST * 4 + 2)
        if not raw:
            break
        size_of_line = len(raw)
        while not raw.endswith(b"\n") and (rest := file.readline(_BLOCK)):
            size_of_line += len(rest)
            raw = raw[: _LONGEST * 4] + (b"\n" if rest.endswith(b"\n") else b"")
            if rest.endswith(b"\n"):
                break
        taken.add(raw, size_of_line)
    more = taken.cut or bool(file.read(1))
    return Excerpt(taken.lines, first, total, more, taken.line_ends)


class _Taken:
    """The lines so far, and whether more fit."""

    def __init__(self, encoding: str, most: int, limit: int) -> None:
        self.lines: list[str] = []
        self._encoding = encoding
        self._most = most
        self._room = limit or sys.maxsize
        self._crlf = 0
        self._lf = 0
        self.cut = False
        """A line did not fit."""

    @property
    def wants_more(self) -> bool:
        return len(self.lines) < self._most and not self.cut

    @property
    def line_ends(self) -> str:
        if not self._crlf:
            return ""
        return "mixed CRLF and LF" if self._lf else "CRLF"

    def add(self, raw: bytes, size: int) -> None:
        end = 2 if raw.endswith(b"\r\n") else 1 if raw.endswith(b"\n") else 0
        self._crlf += end == 2
        self._lf += end == 1
        self.add_text(raw[: len(raw) - end].decode(self._encoding, "replace"), size)

    def add_text(self, text: str, size: int) -> None:
        shown = literal(text)
        if len(shown) > _LONGEST or size > _LONGEST * 4 + 2:
            shown = f"{shown[:_LONGEST]}{_rest(size)}"
        cost = len(shown.encode("utf-8", "replace")) + _MARGIN
        if not self.lines and cost > self._room:
            said = _rest(size)
            room = max(0, self._room - _MARGIN - len(said.encode()))
            cut = shown.encode("utf-8", "replace")[: min(room, _LONGEST)].decode("utf-8", "ignore") + said
            shown = min(shown, cut, key=len)
            cost = self._room
        if self.lines and cost > self._room:
            self.cut = True
            return
        self._room -= cost
        self.lines.append(shown)


def _rest(size: int) -> str:
    return f"… ⟨a line of {size:,} bytes⟩"


def _wide(file: BinaryIO, kind: FileType, size: int, start: int, end: int, most: int, limit: int) -> Excerpt:
    if size > _WIDE:
        raise CommandError(f"A file of {size:,} bytes in {kind.description} is too large to read.", hint="Use iconv.")
    file.seek(len(kind.mark))
    text = file.read().decode(kind.encoding, "replace")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    first = max(1, len(lines) + 1 + start) if start < 0 else max(1, start)
    last = min(end or len(lines), len(lines))
    taken = _Taken(kind.encoding, min(most, max(0, last - first + 1)), limit)
    for line in lines[first - 1 : last]:
        if not taken.wants_more:
            break
        line = line.removesuffix("\r")
        taken.add_text(line, len(line.encode(kind.encoding, "replace")))
    more = first - 1 + len(taken.lines) < len(lines)
    return Excerpt(taken.lines, first, len(lines), more, "CRLF" if "\r\n" in text else "")


def _count(file: BinaryIO, size: int) -> int:
    """Count all lines; the last one counts even without a newline."""
    file.seek(0)
    count, last = 0, b"\n"
    while block := file.read(_BLOCK):
        count += block.count(b"\n")
        last = block[-1:]
    return count + (last != b"\n" and size > 0)


def _seek_line(file: BinaryIO, number: int, mark: int) -> None:
    """Move to the beginning of a line, or to the end if there is no such line."""
    file.seek(mark)
    missing = number - 1
    while missing > 0:
        block = file.read(_BLOCK)
        if not block:
            return
        found = block.count(b"\n")
        if found < missing:
            missing -= found
            continue
        at = -1
        for _ in range(missing):
            at = block.index(b"\n", at + 1)
        file.seek(at + 1 - len(block), os.SEEK_CUR)
        return


DESCRIPTION = """\
Read a text file, its lines as `number│text`, or list a folder. Read a file before you change it. Prefer this to cat, \
head and sed: it is exact, and needs no approval in the project."""
DETAILS = """\
Without a range it starts at line 1 and stops at 2,000 lines or when the answer is full, and then says which \
start_line to continue from, and in many languages which parts follow; of a long text that is no code it gives the \
beginning and the end. Binary files and pictures are described, not \
shown. Control characters appear as symbols such as ␛ or ⟨U+200B⟩."""
_MOST_LINES = 2_000
_MOST_ENTRIES = 500
_HEAD = 65_536
_NOTE = 200
"""Bytes reserved for the note about the lines; at most half of a very small answer."""
_OUTLINE = 3_000
"""Bytes of the outline of what does not fit; at most an eighth of the answer."""
_OUTLINED = 2 << 20
"""Largest file, in bytes, that is outlined."""
_FOLLOWS = "[what follows:]"
_HASHED = 16 * 1024 * 1024


class ReadParameters(ToolParameters):
    """What to read."""

    path: str = Field(description="File or folder to read", json_schema_extra=PLAIN)
    start_line: int = Field(default=1, description="First line; negative: from the end")
    end_line: int = Field(default=0, ge=0, description="Last line; 0: as much as fits")


async def assess(workspace: Workspace, invocation: Invocation, parameters: ReadParameters) -> Assessment:
    """Judge a read: inside the project it needs no approval; elsewhere, or of a secret, it does."""
    place = await asyncio.to_thread(path_location.locate, invocation, parameters.path)
    workspace.record_assessed(invocation, parameters.path, place.real)
    return reading(place, "read")


def reading(place: Location, tool: str) -> Assessment:
    """Judge reading that location. `always` covers the folder, and is not offered for secrets."""
    secret = any(warning.startswith("may hold") for warning in place.warnings)
    is_folder = place.real.is_dir()
    folder = place.rule_name if is_folder else str(Path(place.rule_name).parent)
    named = escaped(folder).rstrip("/")
    alone = named in ("", ".")  # a pattern for the whole project would name everything else, too
    return Assessment(
        effect=Effect.READ,
        subject=place.shown,
        inside=place.inside,
        detail=f"{tool} {place.shown}",
        key=str(place.real),
        pattern="" if secret else f"{tool} {place.where}" if alone else f"{tool} what is in {folder}",
        scope=RuleScope(paths=(escaped(place.rule_name),) if alone else (named, f"{named}/*")),
        warnings=place.warnings,
    )


async def run(workspace: Workspace, invocation: Invocation, parameters: ReadParameters) -> Outcome:
    if parameters.end_line and 0 < parameters.end_line < parameters.start_line:
        raise CommandError(
            f"end_line {parameters.end_line} is before start_line {parameters.start_line}.", hint="Swap them."
        )
    return await asyncio.to_thread(_read, workspace, invocation, parameters)


def _read(workspace: Workspace, invocation: Invocation, parameters: ReadParameters) -> Outcome:
    place = path_location.locate(invocation, parameters.path)
    path_location.confirm_unchanged(workspace, invocation, place)
    if not os.path.lexists(place.real):
        raise path_location.missing(place)
    with file_access.explaining(f"Cannot read {place.shown}"):
        if place.real.is_dir():
            return _folder(place)
        with os.fdopen(file_access.open_regular(place.real), "rb") as file:
            state = os.fstat(file.fileno())
            head = file.read(_HEAD)
            kind = filetype(head, whole=len(head) >= state.st_size)
            if not kind.encoding:
                return _binary(place, kind.description, state.st_size)
            limit = invocation.limit(workspace.config.max_output_bytes)
            limit -= min(_NOTE, limit // 2)
            found = excerpt(file, kind, parameters.start_line, parameters.end_line, _MOST_LINES, limit)
            room = min(_OUTLINE, limit // 8)
            rest = _outline_of_rest(file, place, found, room) if _is_beginning(found, parameters) else ""
            if rest:  # then there is less room for the lines
                found = excerpt(file, kind, parameters.start_line, parameters.end_line, _MOST_LINES, limit - room)
                rest = _outline_of_rest(file, place, found, room)
            tail = (
                _end_of_rest(file, kind, place, found, limit) if _is_beginning(found, parameters) and not rest else None
            )
            if tail is not None:
                found = excerpt(file, kind, 1, 0, _MOST_LINES // 2, limit // 2)
            workspace.record_read(invocation, place.real, _state(file.fileno(), state))
    if tail is not None:
        return _both_ends(place, found, tail, kind.description)
    outcome = _shown(place, found, kind.description, state.st_size, parameters.end_line)
    return replace(outcome, text=f"{outcome.text}\n{rest}") if rest else outcome


def _is_beginning(found: Excerpt, parameters: ReadParameters) -> bool:
    """Whether this is the first part of a file that is read whole, and more of it follows."""
    return found.more and found.first == 1 and not parameters.end_line and bool(found.lines)


def _outline_of_rest(file: BinaryIO, place: Location, found: Excerpt, size: int) -> str:
    """The outline of what follows the lines that are shown, in so many bytes; empty: there is none."""
    from gshtui.tools.files import code_outline  # only where a file does not fit

    if not code_outline.can_outline(place.real.name):
        return ""
    file.seek(0)
    raw = file.read(_OUTLINED + 1)
    last = found.first + len(found.lines) - 1
    if len(raw) > _OUTLINED:
        return ""
    entries = code_outline.outline(place.real.name, raw.decode("utf-8", "replace"))
    lines = code_outline.fitting([entry for entry in entries if entry.last > last], size - len(_FOLLOWS) - 1)
    return "\n".join((_FOLLOWS, *lines)) if lines else ""


def _end_of_rest(file: BinaryIO, kind: FileType, place: Location, found: Excerpt, limit: int) -> Excerpt | None:
    """The last lines of a text that is no code, in half of the answer; `None` where the next lines are worth more."""
    from gshtui.tools.files import code_outline  # only where a file does not fit

    if not found.total or code_outline.can_outline(place.real.name) or kind.encoding.startswith(("utf-16", "utf-32")):
        return None
    wanted = min(len(found.lines), _MOST_LINES) // 2
    while wanted > 0:
        tail = excerpt(file, kind, -wanted, 0, wanted, limit // 2)
        if not tail.more:
            return tail if tail.first > found.first + len(found.lines) else None
        wanted = min(len(tail.lines), wanted - 1)
    return None


def _both_ends(place: Location, head: Excerpt, tail: Excerpt, encoding: str) -> Outcome:
    first = _shown(place, head, encoding, 1, head.first + len(head.lines) - 1)
    left_out = head.first + len(head.lines)
    note = (
        f"[lines {left_out:,}–{tail.first - 1:,} of {tail.total:,} are left out; continue with start_line={left_out}]"
    )
    data = {**cast("dict[str, Any]", first.data), "total": tail.total, "end": "\n".join(tail.lines)}
    return Outcome(data=data, text="\n".join((first.text, note, _numbered(tail))))


def _numbered(found: Excerpt) -> str:
    return "\n".join(f"{found.first + n:>6}│{line}" for n, line in enumerate(found.lines))


def _state(descriptor: int, state: os.stat_result) -> Fingerprint:
    """Return the file's state, with its content's hash unless it is too large."""
    if state.st_size > _HASHED:
        return Fingerprint(state.st_mtime_ns, state.st_size)
    return fingerprint(state.st_mtime_ns, os.pread(descriptor, state.st_size, 0))


def _shown(place: Location, found: Excerpt, encoding: str, size: int, end_line: int) -> Outcome:
    notes: list[str] = []
    if encoding:
        notes.append(f"encoding: {encoding}")
    if found.line_ends:
        notes.append(f"line ends: {found.line_ends}")
    last = found.first + len(found.lines) - 1
    text = _numbered(found)
    if not size:
        text = "(the file is empty)"
    elif not found.lines:
        whole = f": the file has {found.total:,} lines" if found.total else ""
        notes.append(f"there is no line {found.first:,}{whole}")
    elif found.more and last != end_line:
        whole = f"of {found.total:,}" if found.total else f"of a file of {size:,} bytes"
        notes.append(f"lines {found.first:,}–{last:,} {whole}; continue with start_line={last + 1}")
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


def _binary(place: Location, description: str, size: int) -> Outcome:
    text = f"[{place.shown}: {description}, {size:,} bytes; not text, so it is not shown]"
    return Outcome(data={"path": place.shown, "type": description, "size": size}, text=text)


def _folder(place: Location) -> Outcome:
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
