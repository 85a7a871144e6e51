"""The `edit` tool: replace one exact piece of text in a file; when it is missing, show the closest text."""

from __future__ import annotations

import asyncio
import difflib
import heapq
import time
from bisect import bisect_left
from collections.abc import Iterator
from typing import Annotated

import msgspec
from pydantic import Field

from gshtui.commands.declaration import Assessment, CommandError, Invocation, Mark, Outcome
from gshtui.commands.schema import PLAIN, ToolParameters
from gshtui.text import unified_diff
from gshtui.text.sanitise import literal
from gshtui.tools.files import file_access, path_location
from gshtui.tools.files.file_type import FileType, filetype
from gshtui.tools.files.path_location import Location
from gshtui.tools.files.workspace import Workspace, fingerprint
from gshtui.tools.files.write import LIMIT, keep_secrets, unchanged_since, writable, writing

_SECONDS = 0.5
_SHOWN = 3
_LINES_EACH = 12
_LONGEST = 240
_SIMILAR = 0.6


def near_misses(text: str, wanted: str) -> str:
    """Show where the text comes closest to `wanted`, and what exactly differs there."""
    lines = text.replace("\r\n", "\n").split("\n")
    asked = wanted.replace("\r\n", "\n").strip("\n").split("\n")
    if spot := _but_for_blanks(lines, asked):
        return f"It differs only in blanks:\n{_compared(lines, asked, spot)}"
    spots = _similar(lines, asked)
    if not spots:
        return "Nothing in the file resembles it; read the file again."
    shown = "\n".join(_compared(lines, asked, spot) for spot in spots)
    return f"The closest {'match is' if len(spots) == 1 else 'matches are'}:\n{shown}"


def _but_for_blanks(lines: list[str], asked: list[str]) -> int:
    """Return the line number (from 1) where the same words occur with different whitespace, or 0."""
    squeezed = ["".join(line.split()) for line in lines]
    wanted = ["".join(line.split()) for line in asked]
    if not any(wanted):
        return 0
    first = wanted[0]
    for at in range(len(squeezed) - len(wanted) + 1):
        if squeezed[at] == first and squeezed[at : at + len(wanted)] == wanted:
            return at + 1
    return 0


def _similar(lines: list[str], asked: list[str]) -> list[int]:
    """Return the line numbers where similar passages begin, most similar first."""
    offset, anchor = max(enumerate(asked), key=lambda pair: len(pair[1].strip()))
    anchor = anchor.strip()[:_LONGEST]
    if not anchor:
        return []
    best: list[tuple[float, int]] = []
    for ratio, number in _ratios(lines, anchor):
        if ratio >= _SIMILAR:
            heapq.heappush(best, (ratio, -number))
            if len(best) > _SHOWN:
                heapq.heappop(best)
    ranked = sorted(best, reverse=True)
    # Next to a near-perfect match the others are noise.
    kept = [item for item in ranked if item[0] >= ranked[0][0] - 0.15]
    return [max(1, -number - offset) for _, number in kept]


def _ratios(lines: list[str], anchor: str) -> Iterator[tuple[float, int]]:
    until = time.monotonic() + _SECONDS
    matcher = difflib.SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(anchor)
    for number, line in enumerate(lines, 1):
        candidate = line.strip()[:_LONGEST]
        if not candidate:
            continue
        matcher.set_seq1(candidate)
        if matcher.real_quick_ratio() >= _SIMILAR and matcher.quick_ratio() >= _SIMILAR:
            yield matcher.ratio(), number
        if time.monotonic() > until:
            return


def _compared(lines: list[str], asked: list[str], spot: int) -> str:
    """Show the file's lines from `spot` on and, under each line that differs, what was asked for and where they
    diverge.
    """
    out: list[str] = []
    for number, wanted in enumerate(asked[:_LINES_EACH], spot):
        there = lines[number - 1] if number <= len(lines) else ""
        out.append(f"{number:>6}│{literal(there)[:_LONGEST]}")
        if there != wanted:
            out.append(f"  asked│{literal(wanted)[:_LONGEST]}")
            out.append(f"       └ {_difference(there, wanted)}")
    if len(asked) > _LINES_EACH:
        out.append(f"       … and {len(asked) - _LINES_EACH} more lines")
    return "\n".join(out)


def _difference(there: str, wanted: str) -> str:
    """Describe where two lines diverge."""
    indent_there, indent_wanted = _indent(there), _indent(wanted)
    if there.strip() == wanted.strip():
        if indent_there != indent_wanted:
            return f"indentation: the file has {_blanks(indent_there)}, old_text has {_blanks(indent_wanted)}"
        return f"at the end of the line: the file has {_tail(there)}, old_text has {_tail(wanted)}"
    at = next((n for n, (a, b) in enumerate(zip(there, wanted, strict=False)) if a != b), min(len(there), len(wanted)))
    return f"character {at + 1}: the file has {_character(there, at)}, old_text has {_character(wanted, at)}"


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _tail(line: str) -> str:
    return _blanks(line[len(line.rstrip()) :])


def _blanks(blanks: str) -> str:
    if not blanks:
        return "nothing"
    tabs, spaces = blanks.count("\t"), blanks.count(" ")
    parts = [
        f"{count} {name}{'' if count == 1 else 's'}" for count, name in ((tabs, "tab"), (spaces, "space")) if count
    ]
    odd = sorted({f"U+{ord(char):04X}" for char in blanks if char not in "\t "})
    return " and ".join((*parts, *odd))


def _character(line: str, at: int) -> str:
    if at >= len(line):
        return "the end of the line"
    character = line[at]
    code = f"U+{ord(character):04X}"
    return f"{character!r} ({code})" if character.isprintable() and not character.isspace() else code


DESCRIPTION = """\
Replace old_text in a file. It must match exactly, indentation included, and occur once; replace_all changes every \
occurrence. Leave out the `number│` that `read` shows."""
DETAILS = """\
For the line `    12│  return x`, old_text is `  return x`. Write \\n for line breaks in CRLF files too; the file \
keeps its line ends. If old_text is not found, nothing changes and the answer shows the closest lines."""
_NAMED = 10


class EditParameters(ToolParameters):
    """What to replace, with what, and where."""

    path: str = Field(description="File to change", json_schema_extra=PLAIN)
    old_text: str = Field(description="Exact text to find; must be unique", json_schema_extra=PLAIN)
    new_text: Annotated[str, Mark.VERBATIM] = Field(description="Empty deletes old_text")
    replace_all: bool = Field(default=False, description="Replace every occurrence", json_schema_extra=PLAIN)


class _Edited(msgspec.Struct, frozen=True):
    place: Location
    before: str
    after: str
    content: bytes
    times: int
    lines: list[int]


async def assess(workspace: Workspace, invocation: Invocation, parameters: EditParameters) -> Assessment:
    """Judge an edit and show its diff. A missing text is reported here, before anyone is asked."""

    def work() -> Assessment:
        edited = _edited(workspace, invocation, parameters)
        workspace.record_assessed(invocation, parameters.path, edited.place.real)
        change = unified_diff.make_diff(edited.before, edited.after, edited.place.shown)
        what = (parameters.old_text, parameters.new_text, str(parameters.replace_all))
        return writing(edited.place, "edit", change, *what)

    return await asyncio.to_thread(work)


async def run(workspace: Workspace, invocation: Invocation, parameters: EditParameters) -> Outcome:
    return await asyncio.to_thread(_edit, workspace, invocation, parameters)


def _edit(workspace: Workspace, invocation: Invocation, parameters: EditParameters) -> Outcome:
    edited = _edited(workspace, invocation, parameters)
    path_location.confirm_unchanged(workspace, invocation, edited.place)
    with file_access.explaining(f"Cannot write {edited.place.shown}"):
        state = file_access.replace(edited.place.real, edited.content)
    workspace.record_read(invocation, edited.place.real, fingerprint(state.st_mtime_ns, edited.content))
    change = unified_diff.make_diff(edited.before, edited.after, edited.place.shown)
    where = _listed(edited.lines)
    times = "" if edited.times == 1 else f" in {edited.times:,} places"
    text = f"Edited {edited.place.shown}{times}, at {where} ({unified_diff.count_changes(change)})"
    return Outcome(data={"path": edited.place.shown, "replaced": edited.times}, text=text, diff=change)


def _edited(workspace: Workspace, invocation: Invocation, parameters: EditParameters) -> _Edited:
    place = writable(invocation, parameters.path)
    if not parameters.old_text:
        raise CommandError("old_text is empty.", hint="Use write to create a file or to fill an empty one.")
    if parameters.old_text == parameters.new_text:
        raise CommandError("old_text and new_text are the same, so there is nothing to change.")
    try:
        content, state = file_access.read_whole(place.real, LIMIT)
    except FileNotFoundError as error:
        raise path_location.missing(place) from error
    except OSError as error:
        raise file_access.explained(error, f"Cannot read {place.shown}") from error
    unchanged_since(workspace, invocation, place, fingerprint(state.st_mtime_ns, content))
    kind = _text_type(place, content)
    before = content.removeprefix(kind.mark).decode(kind.encoding)
    spans = _occurrences(before, parameters.old_text)
    times = len(spans)
    lines = _lines_at(before, [first for first, _ in spans[:_NAMED]])
    if not times:
        raise CommandError(f"old_text is not in {place.shown}.", hint=near_misses(before, parameters.old_text))
    if times > 1 and not parameters.replace_all:
        raise CommandError(
            f"old_text is in {place.shown} {times:,} times, at {_listed(lines)}.",
            hint="Include more of the lines around it, or set replace_all.",
        )
    after = _replaced(before, spans, parameters.new_text)
    keep_secrets(invocation, place, before, parameters.new_text)
    return _Edited(place, before, after, kind.mark + _encoded(after, kind, place), times, lines)


def _text_type(place: Location, content: bytes) -> FileType:
    kind = filetype(content[:65_536], whole=len(content) <= 65_536)
    if not kind.encoding:
        raise CommandError(f"{place.shown} is not text: {kind.description}.", hint="Use bash for it.")
    if kind.encoding == "utf-8":
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            return FileType("latin-1", kind.mark)
    return kind


def _encoded(text: str, kind: FileType, place: Location) -> bytes:
    try:
        return text.encode(kind.encoding)
    except UnicodeEncodeError as error:
        bad = text[error.start]
        raise CommandError(
            f"new_text contains U+{ord(bad):04X}, but {place.shown} is in {kind.encoding}, which lacks it.",
            hint="Convert the file to UTF-8 first, or use another character.",
        ) from error


def _occurrences(text: str, old: str) -> list[tuple[int, int]]:
    """Where a text occurs, whichever line ends each of its lines has in the file."""
    if "\r\n" in old and old in text:
        return _found(text, old)
    breaks: list[int] = []  # where the lines that end in CRLF end, with every line end counted as one character
    at = 0
    for line in text.split("\r\n")[:-1]:
        at += len(line)
        breaks.append(at)
        at += 1
    plain = _found(text.replace("\r\n", "\n"), old.replace("\r\n", "\n"))
    return [(first + bisect_left(breaks, first), last + bisect_left(breaks, last)) for first, last in plain]


def _found(text: str, part: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    at = text.find(part)
    while at >= 0:
        spans.append((at, at + len(part)))
        at = text.find(part, at + len(part))
    return spans


def _replaced(text: str, spans: list[tuple[int, int]], new: str) -> str:
    """The text with other words there; each new line ends as the line in its place did, or as most of the file's do."""
    lines = new.replace("\r\n", "\n").split("\n")
    usual = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    parts: list[str] = []
    at = 0
    for first, last in spans:
        old = text[first:last].split("\n")[:-1]
        ends = ["\r\n" if line.endswith("\r") else "\n" for line in old] or [usual]
        parts.append(text[at:first])
        for number, line in enumerate(lines[:-1]):
            parts += (line, ends[min(number, len(ends) - 1)])
        parts.append(lines[-1])
        at = last
    return "".join((*parts, text[at:]))


def _lines_at(text: str, places: list[int]) -> list[int]:
    """The numbers of the lines at these places, which are in order."""
    lines: list[int] = []
    line, counted = 1, 0
    for at in places:
        line += text.count("\n", counted, at)
        counted = at
        lines.append(line)
    return lines


def _listed(lines: list[int]) -> str:
    different = list(dict.fromkeys(lines))
    if len(different) == 1:
        return f"line {different[0]:,}"
    return f"lines {', '.join(f'{line:,}' for line in different)}{' …' if len(lines) >= _NAMED else ''}"
