"""The `edit` tool: one piece of text in a file replaced by another, exactly.

Everything else in the file stays as it is, byte by byte: line ends, byte order mark, encoding. Refuses when the text
is not there (and says what is near) or not unique. Run by the registry.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pydantic import Field

from gshtui.commands.declaration import Assessment, CommandError, Invocation, Outcome
from gshtui.commands.tool_parameters import ToolParameters
from gshtui.tools import diff, files, paths
from gshtui.tools.filetype import FileType, filetype
from gshtui.tools.near import near_misses
from gshtui.tools.paths import Place
from gshtui.tools.workspace import Workspace, fingerprint
from gshtui.tools.write import LIMIT, unchanged_since, writable, writing

DESCRIPTION = """\
Replace old_text by new_text in a file. old_text must be in the file exactly, with its indentation and blanks, and \
only once; give a few lines around it to make it unique, or set replace_all to change every occurrence. Leave out the \
line numbers and bars that `read` shows. Line ends are kept: write \\n also for files with CRLF. When old_text is not \
found, nothing is changed and the answer shows the lines that come nearest."""
_NAMED = 10


class EditParameters(ToolParameters):
    """What to replace by what, and where."""

    path: str = Field(description="File to change")
    old_text: str = Field(description="Exact text to find, unique in the file")
    new_text: str = Field(description="Text to put in its place; empty deletes")
    replace_all: bool = Field(default=False, description="Every occurrence")


@dataclass(frozen=True, slots=True)
class _Edited:
    place: Place
    before: str
    after: str
    content: bytes
    times: int
    lines: list[int]


async def assess(workspace: Workspace, invocation: Invocation, parameters: EditParameters) -> Assessment:
    """An edit, with its diff. A miss is found here already, before anyone is asked."""

    def work() -> Assessment:
        edited = _edited(workspace, invocation, parameters)
        workspace.assessed(invocation, parameters.path, edited.place.real)
        change = diff.unified(edited.before, edited.after, edited.place.shown)
        what = (parameters.old_text, parameters.new_text, str(parameters.replace_all))
        return writing(edited.place, "edit", change, *what)

    return await asyncio.to_thread(work)


async def run(workspace: Workspace, invocation: Invocation, parameters: EditParameters) -> Outcome:
    """Change it."""
    return await asyncio.to_thread(_edit, workspace, invocation, parameters)


def _edit(workspace: Workspace, invocation: Invocation, parameters: EditParameters) -> Outcome:
    edited = _edited(workspace, invocation, parameters)
    paths.confirm_unchanged(workspace, invocation, edited.place)
    try:
        state = files.replace(edited.place.real, edited.content)
    except OSError as error:
        raise files.explained(error, f"{edited.place.shown} cannot be written") from error
    workspace.saw(invocation, edited.place.real, fingerprint(state.st_mtime_ns, edited.content))
    change = diff.unified(edited.before, edited.after, edited.place.shown)
    where = _listed(edited.lines)
    times = "" if edited.times == 1 else f" in {edited.times:,} places"
    text = f"Edited {edited.place.shown}{times}, at {where} ({diff.counted(change)})"
    return Outcome(data={"path": edited.place.shown, "replaced": edited.times}, text=text, diff=change)


def _edited(workspace: Workspace, invocation: Invocation, parameters: EditParameters) -> _Edited:
    place = writable(invocation, parameters.path)
    if not parameters.old_text:
        raise CommandError("old_text is empty.", hint="Use write to make a file or to fill an empty one.")
    if parameters.old_text == parameters.new_text:
        raise CommandError("old_text and new_text are the same, so there is nothing to change.")
    try:
        content, state = files.read_whole(place.real, LIMIT)
    except FileNotFoundError as error:
        raise paths.missing(place) from error
    except OSError as error:
        raise files.explained(error, f"{place.shown} cannot be read") from error
    unchanged_since(workspace, invocation, place, fingerprint(state.st_mtime_ns, content))
    kind = _text_type(place, content)
    before = content.removeprefix(kind.mark).decode(kind.encoding)
    old, new = _with_line_ends(before, parameters.old_text, parameters.new_text)
    times = before.count(old)
    lines = _lines_of(before, old, _NAMED)
    if not times:
        raise CommandError(f"old_text is not in {place.shown}.", hint=near_misses(before, parameters.old_text))
    if times > 1 and not parameters.replace_all:
        raise CommandError(
            f"old_text is in {place.shown} {times:,} times, at {_listed(lines)}.",
            hint="Give more of the lines around it, or set replace_all.",
        )
    after = before.replace(old, new)
    return _Edited(place, before, after, kind.mark + _encoded(after, kind, place), times, lines)


def _text_type(place: Place, content: bytes) -> FileType:
    kind = filetype(content[:65_536], whole=len(content) <= 65_536)
    if not kind.encoding:
        raise CommandError(f"{place.shown} is no text: {kind.description}.", hint="Use bash for it.")
    if kind.encoding == "utf-8":
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            return FileType("latin-1", kind.mark)
    return kind


def _encoded(text: str, kind: FileType, place: Place) -> bytes:
    try:
        return text.encode(kind.encoding)
    except UnicodeEncodeError as error:
        bad = text[error.start]
        raise CommandError(
            f"new_text holds U+{ord(bad):04X}, which the encoding of {place.shown} ({kind.encoding}) cannot hold.",
            hint="Convert the file to UTF-8 first, or use another character.",
        ) from error


def _with_line_ends(text: str, old: str, new: str) -> tuple[str, str]:
    """Both texts with the line ends that the file has at the place that is meant."""
    if "\r\n" not in text:
        return old, new
    crlf_old = old.replace("\r\n", "\n").replace("\n", "\r\n")
    crlf_new = new.replace("\r\n", "\n").replace("\n", "\r\n")
    if "\n" in old:
        return (old, new) if old in text else (crlf_old, crlf_new)
    mostly = text.count("\r\n") * 2 > text.count("\n")
    return (old, crlf_new) if mostly else (old, new)


def _lines_of(text: str, part: str, most: int) -> list[int]:
    """Numbers of the lines where the part begins, as far as the first `most` of them."""
    lines: list[int] = []
    at, line, counted = text.find(part), 1, 0
    while at >= 0 and len(lines) < most:
        line += text.count("\n", counted, at)
        counted = at
        lines.append(line)
        at = text.find(part, at + len(part))
    return lines


def _listed(lines: list[int]) -> str:
    different = list(dict.fromkeys(lines))
    if len(different) == 1:
        return f"line {different[0]:,}"
    return f"lines {', '.join(f'{line:,}' for line in different)}{' …' if len(lines) >= _NAMED else ''}"
