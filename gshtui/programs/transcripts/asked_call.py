"""The call that a program asks about, as its transcript has it: the whole command, the whole change, the whole plan.

Its screen shows as much of it as has room there, in rows as wide as that terminal. What the transcript has is taken
only if it is certain that the screen asks about it. Those that read files block for a moment.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
from msgspec.structs import replace

from gshtui.bus.agent_data import OpenQuestion
from gshtui.programs.transcripts.program_transcript import ProgramTranscript, TranscriptQuery
from gshtui.programs.transcripts.transcript_readers import READERS, home_of
from gshtui.system.json_types import is_object, obj, seq, string
from gshtui.text.foreign_json import parse_foreign_json
from gshtui.text.sanitise import literal, one_line
from gshtui.text.unified_diff import is_cut, make_diff

_TAIL = 2_000_000
"""Bytes at a transcript's end in which the call is looked for."""
_ALIKE = 120
"""Characters, blanks left out, of a call that must be on the screen."""
_LARGEST = 2_000_000
"""Characters of a file and of a change that are compared."""
_COUNTED = re.compile(r"• .*\(\+(\d+) -(\d+)\)\n")
_CAPITAL = re.compile(r"([A-Z])")
_DRAWN = "←│"
"""Signs that programs draw into the rows of a command."""
_HEADING = re.compile(r"(?:Edit|Create|Write|Overwrite|Update) file")
"""What programs write above the change of a file."""
_ASKS_OF_PLAN = re.compile(r"(?i)\bplan\?$")
_PLANS = re.compile(r"/plans/[^/]+\.md$")


def whole_question(question: OpenQuestion, wanted: TranscriptQuery, environ: Mapping[str, str]) -> OpenQuestion:
    """The question with all that it is about, as far as the conversation's transcript has it; else as it is."""
    reader = READERS.get(wanted.program)
    if reader is None or not wanted.id:
        return question
    try:
        place = reader.find(wanted, environ, home_of(environ))
        transcript = None if place is None else reader.read(place, _TAIL)
    except OSError:
        return question
    return question if transcript is None else with_call(question, transcript, Path(wanted.cwd))


def with_call(question: OpenQuestion, transcript: ProgramTranscript, folder: Path) -> OpenQuestion:
    """The question with what the one waiting call is about that its screen shows. `folder`: of the agent, for paths
    that are not absolute.
    """
    if transcript.plan and _ASKS_OF_PLAN.search(question.subject):
        return _with_plan(question, transcript)
    told = [each for each in (_told(question, one, transcript, folder) for one in _waiting(transcript)) if each]
    return told[0] if len(told) == 1 else question


def _with_plan(question: OpenQuestion, transcript: ProgramTranscript) -> OpenQuestion:
    """The question with the plan that the last turn has come to, of which a screen shows the beginning or the end."""
    plan, shown = literal(transcript.plan).strip("\n"), _signs(question.detail)
    lines = [signs for line in plan.splitlines() if (signs := _signs(line))]
    is_shown = any(signs[:_ALIKE] in shown for signs in lines[:1] + lines[-1:])
    if not transcript.ended or not is_shown:
        return question
    return replace(question, detail=plan, partial=False)


def _signs(text: str) -> str:
    """Letters and digits alone: a screen shows a plan without its marks."""
    return "".join(filter(str.isalnum, text))


def _waiting(transcript: ProgramTranscript) -> list[dict[str, Any]]:
    """The arguments of the calls that have no result yet, of the last message with calls."""
    answered = {entry.call for entry in transcript.entries if entry.kind == "tool_result"}
    calls = [entry for entry in transcript.entries if entry.kind == "tool_call" and entry.call not in answered]
    found: list[dict[str, Any]] = []
    for entry in calls[-8:]:
        arguments = entry.text.partition(" ")[2]
        try:
            given = {"cmd": patch} if (patch := patch_in(arguments)) else parse_foreign_json(arguments.encode())
        except ValueError:
            continue
        if is_object(given):
            found.append({_CAPITAL.sub(r"_\1", name).lower(): value for name, value in given.items()})
    return found


def _told(
    question: OpenQuestion, given: dict[str, Any], transcript: ProgramTranscript, folder: Path
) -> OpenQuestion | None:
    """The question with this call's arguments; `None` if it is not about them."""
    shown = _bare(f"{question.subject} {question.detail} {question.beside}")
    command = string(given.get("command")) or string(given.get("cmd"))
    if (patch := patch_in(command)) and "Destination:" in question.detail:
        return _with_patch(question, patch, folder)
    if command:
        if not _is_shown(command, shown, cut=question.partial):
            return None
        return replace(question, detail=literal(command).strip("\n"), beside=_besides(question, command), partial=False)
    path = string(given.get("file_path")) or string(given.get("absolute_path"))
    if path and Path(path).name in f"{question.subject} {question.detail} {question.beside}":
        name = one_line(path.removeprefix(f"{folder}/"), 400).lstrip("/")
        change = _change(given, folder / path, name)
        if change:
            beside = [line for line in question.beside.split("\n") if not _names_change(line.strip(), name)]
            return replace(question, detail="", diff=change, beside="\n".join(beside), partial=is_cut(change))
    plan = string(given.get("plan")) or ("" if given else _written_plan(transcript))
    if plan and _is_shown(next(filter(None, plan.splitlines()), "").lstrip("# "), shown, cut=question.partial):
        return replace(question, detail=literal(plan).strip("\n"), partial=False)
    return None


def _with_patch(question: OpenQuestion, patch: str, folder: Path) -> OpenQuestion | None:
    """The question with the change of this patch; `None` if its screen counts other lines, or names other files."""
    files = patched_files(patch)
    named = sorted(_bare(each) for each in question.detail.split("Destination:")[1:])
    heading = _COUNTED.match(question.detail)
    counts = [str(sum(each.added for each in files)), str(sum(each.removed for each in files))]
    if named != sorted(_bare(str(folder / each.path)) for each in files) or (heading and [*heading.groups()] != counts):
        return None
    changes = [_patched(each, folder) for each in files]
    if not all(changes):
        return None
    said = question.detail[question.detail.find("\n\n") :] if heading else question.detail
    diff = "".join(changes)
    return replace(question, detail="", diff=diff, beside=said.strip("\n"), partial=is_cut(diff), changeless=False)


def _patched(file: PatchedFile, folder: Path) -> str:
    """The change of one file of a patch, as a unified diff; empty where it cannot be told."""
    place = folder / file.path
    shown = [path.removeprefix(f"{folder}/") for path in (file.path, file.moved) if path]
    name, before = one_line(literal(" → ".join(shown)), 800), _read(place)
    if file.kind == "Delete":
        return make_diff(before, "", name) if before else ""
    if file.kind == "Add":
        return _change({"content": file.parts[0][1]}, place, name)
    if before is not None and all(before.count(old) == 1 for old, _ in file.parts):
        edits = [{"old_string": old, "new_string": new} for old, new in file.parts]
        return _change({"edits": edits}, place, name)
    return "".join(make_diff(old, new, name) for old, new in file.parts)  # where in the file, nobody can tell


def _names_change(line: str, name: str) -> bool:
    """Whether a line of the screen says no more than the change does."""
    return line == name or _HEADING.fullmatch(line) is not None


def _bare(text: str) -> str:
    """What a screen draws of a text, however it breaks it into rows: nothing of blanks, of controls and of marks, and
    not the arrow that some draw behind the first row of a waiting call's heading. Where their box leaves out what has
    no room in a row, that heading still has it.
    """
    return "".join(sign for sign in text if unicodedata.category(sign)[0] not in "CMZ" and sign not in _DRAWN)


def _is_shown(text: str, shown: str, *, cut: bool) -> bool:
    """Whether a screen shows a text, from its beginning; `cut`: or its end, since more is out of sight."""
    words = _bare(text)
    if words[:_ALIKE] in shown:
        return bool(words)
    return cut and len(words) > _ALIKE and words[-_ALIKE:] in shown


def _besides(question: OpenQuestion, command: str) -> str:
    """What the screen says besides the command that it showed."""
    bare = _bare(command)
    lines = [line for line in question.detail.split("\n") if _bare(line) not in bare]
    return "\n".join(filter(None, ("\n".join(lines).strip("\n"), question.beside)))


def _change(given: dict[str, Any], path: Path, name: str) -> str:
    """The change that a call would make, as a unified diff; empty if it is none, or cannot be told. `name`: of the
    file, for people.
    """
    pairs = [(_text(each, "old_string"), _text(each, "new_string")) for each in seq(given.get("edits"))]
    if "old_string" in given and "new_string" in given:
        pairs = [(_text(given, "old_string"), _text(given, "new_string"))]
    before = _read(path)
    if "content" in given and not pairs:
        return make_diff(before or "", _text(given, "content"), name, new=before is None)
    if not pairs or sum(len(old) + len(new) for old, new in pairs) > _LARGEST:
        return ""
    after = before
    for old, new in pairs:
        if after is None or not old or old not in after:
            after = None
            break
        after = after.replace(old, new, -1 if given.get("replace_all") else 1)
    if before is not None and after is not None:
        return make_diff(before, after, name)
    return "".join(make_diff(old, new, name, new=not old and before is None) for old, new in pairs)


def _text(given: object, name: str) -> str:
    return string(obj(given).get(name))


def _read(path: Path) -> str | None:
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        return path.read_text("utf-8")
    except (OSError, ValueError):
        return None


def _written_plan(transcript: ProgramTranscript) -> str:
    """The plan that the program has written into a file last."""
    for entry in reversed(transcript.entries):
        if entry.kind == "tool_call" and _PLANS.search(entry.path):
            return _read(Path(entry.path).expanduser()) or ""
    return ""


_GIVEN = re.compile(
    r"(?:apply_patch <<(['\"])(\w+)\1\n)?(\*{3} Begin Patch\n.*\n\*{3} End Patch)\n?(\2\n?)?", re.DOTALL
)
_FILE = re.compile(r"\*\*\* (Add|Delete|Update) File: (\S.*)")
_MOVED = "*** Move to: "
_END = "*** End of File"


class PatchedFile(msgspec.Struct):
    """One file. `parts`: what is replaced by what; of a new file, its text by nothing before."""

    kind: Literal["Add", "Delete", "Update"]
    path: str
    moved: str = ""
    parts: list[tuple[str, str]] = msgspec.field(default_factory=list[tuple[str, str]])
    added: int = 0
    removed: int = 0


def patch_in(command: str) -> str:
    """The patch that a command or an argument is, and nothing else; empty: it is none."""
    found = _GIVEN.fullmatch(command)
    return found.group(3) if found is not None and bool(found.group(2)) == bool(found.group(4)) else ""


def patched_files(patch: str) -> list[PatchedFile]:
    """The files of a patch; none where a line of it is not understood."""
    files, is_open = list[PatchedFile](), False
    for line in patch.split("\n")[1:-1]:
        if (found := _FILE.fullmatch(line)) is not None:
            files.append(PatchedFile(cast("Literal['Add', 'Delete', 'Update']", found.group(1)), found.group(2)))
            is_open = files[-1].kind == "Add"
            files[-1].parts += [("", "")] if is_open else []
        elif not files or files[-1].kind == "Delete":
            return []
        elif line.startswith(_MOVED) and not files[-1].parts:
            files[-1].moved = line.removeprefix(_MOVED)
        elif line.startswith("@@") and files[-1].kind == "Update":
            files[-1].parts.append(("", ""))
            is_open = True
        elif line != _END and not (is_open and _took(files[-1], line)):
            return []
    return files


def _took(file: PatchedFile, line: str) -> bool:
    """Whether a line belongs to the last part of a file, which then has it."""
    sign, words = line[:1] or " ", f"{line[1:]}\n"
    if sign not in ("+" if file.kind == "Add" else " +-"):
        return False
    old, new = file.parts[-1]
    file.parts[-1] = old + words * (sign != "+"), new + words * (sign != "-")
    file.added += sign == "+"
    file.removed += sign == "-"
    return True
