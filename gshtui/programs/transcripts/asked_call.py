"""The call that a program asks about, as its transcript has it: the whole command, the whole change, the whole plan.

Its screen shows as much of it as has room there, in rows as wide as that terminal. What the transcript has is taken
only if it is certain that the screen asks about it. Those that read files block for a moment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Set
from itertools import accumulate, dropwhile, takewhile
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gshtui.bus.agent_data import OpenQuestion
from gshtui.programs.transcripts.asked_arguments import PatchedFile, arguments_of, patch_in, patched_files
from gshtui.programs.transcripts.program_transcript import ProgramTranscript, TranscriptEntry, TranscriptQuery
from gshtui.programs.transcripts.shown_change import (
    DRAWN,
    ENOUGH,
    CallChange,
    are_in_turn,
    bare,
    heading_of,
    is_shown,
    shows_change,
)
from gshtui.programs.transcripts.transcript_readers import READERS, home_of
from gshtui.system.json_types import objects, string
from gshtui.text.sanitise import literal, one_line
from gshtui.text.unified_diff import is_cut, make_diff

_TAILS = (2_000_000, 24_000_000)
"""Bytes at a transcript's end in which the last turn is looked for, one after the other: every call of it counts."""
_DONE = frozenset({("codex", "web_search"), ("codex", "tool_search")})
"""Calls that are recorded once they are over, without a result."""
_LARGEST = 2_000_000
"""Characters of a file and of a change that are compared."""
_COUNTED = re.compile(r"• .*\(\+(\d+) -(\d+)\)\n")
_CHANGED = re.compile(r" *\d+ ([-+].*)")
"""A row of the change that Codex shows."""
_TITLE, _REASON = "Bashcommand", "Reason:"
"""What programs write above a command, without blanks."""
_SIGN = re.compile(r"\$ |(?:\? )?Shell ")
"""What programs write before a command."""
_HEADING = re.compile(r"(?:Edit|Create|Write|Overwrite|Update) file")
"""What programs write above the change of a file."""
_AROUND = re.compile(r"[\s│'\"`():?]+")
"""What stands around a file's path."""
_ASKS_OF_PLAN = re.compile(r"(?i)\bplan\?$")
_PLANS = re.compile(r"/plans/[^/]+\.md$")


def whole_question(
    question: OpenQuestion, wanted: TranscriptQuery, environ: Mapping[str, str], answered: Set[str] = frozenset()
) -> OpenQuestion:
    """The question with all that it is about, as far as the conversation's transcript has it; else as it is.
    `answered`: calls about which the program asks no more.
    """
    reader = READERS.get(wanted.program)
    if reader is None or not wanted.id:
        return question
    try:
        place = reader.find(wanted, environ, home_of(environ))
        if place is None:
            return question
        transcript = reader.read(place, _TAILS[0])
        if not _has_turn(transcript):
            transcript = reader.read(place, _TAILS[1])
    except OSError:
        return question
    return with_call(question, transcript, Path(wanted.cwd), answered)


def with_call(
    question: OpenQuestion, transcript: ProgramTranscript, folder: Path, answered: Set[str] = frozenset()
) -> OpenQuestion:
    """The question with what the one waiting call is about that its screen shows.

    Args:
        folder: of the agent, for paths that are not absolute.
        answered: calls that wait no longer, whatever the transcript has of them.
    """
    if transcript.plan and _ASKS_OF_PLAN.search(question.subject):
        return _with_plan(question, transcript)
    waiting = _waiting(transcript, answered)
    given = None if waiting is None else _arguments(transcript.program, waiting)
    told = None if given is None else _told(question, given, transcript, folder)
    return question if waiting is None or told is None else replace(told, call=_of_call(waiting))


def _has_turn(transcript: ProgramTranscript) -> bool:
    """Whether the last turn is there from its beginning."""
    return bool(transcript.entries) and transcript.entries[-1].turn > 0


def _with_plan(question: OpenQuestion, transcript: ProgramTranscript) -> OpenQuestion:
    """The question with the plan that the last turn has come to, of which a screen shows the beginning or the end."""
    plan, shown = literal(transcript.plan).strip("\n"), _signs(question.detail)
    lines = [signs for line in plan.splitlines() if (signs := _signs(line))]
    is_shown = any(signs[:ENOUGH] in shown for signs in lines[:1] + lines[-1:])
    if not transcript.ended or not is_shown:
        return question
    return replace(question, detail=plan, partial=False)


def _signs(text: str) -> str:
    """Letters and digits alone: a screen shows a plan without its marks."""
    return "".join(filter(str.isalnum, text))


def _waiting(transcript: ProgramTranscript, answered: Set[str]) -> TranscriptEntry | None:
    """The one call that has no result yet; `None` if there are more, or helpers, which ask about calls of their own."""
    waiting: list[TranscriptEntry] = []
    for entry in transcript.entries:
        if entry.kind == "tool_result":
            if done := [one for one in waiting if one.call == entry.call]:
                waiting.remove(done[0])  # an id that is used twice leaves one
        elif entry.kind == "tool_call" and (transcript.program, entry.text.partition(" ")[0]) not in _DONE:
            waiting.append(entry)
    waiting = [entry for entry in waiting if _of_call(entry) not in answered]
    return waiting[0] if len(waiting) == 1 and _has_turn(transcript) and not transcript.helped else None


def _of_call(entry: TranscriptEntry) -> str:
    """What tells a call from all others of its conversation: some models number those of each answer alike."""
    return f"{entry.call} of {entry.message}" if entry.call else ""


def _arguments(program: str, call: TranscriptEntry) -> dict[str, Any] | None:
    """What a call is given, by what it is; `None`: it cannot be read."""
    tool, _, text = call.text.partition(" ")
    if tool == "apply_patch" and (patch := patch_in(text)):
        return {"command": patch}
    return arguments_of(program, tool, text)


def _told(
    question: OpenQuestion, given: dict[str, Any], transcript: ProgramTranscript, folder: Path
) -> OpenQuestion | None:
    """The question with this call's arguments; `None` if it is not about them."""
    shown = bare(f"{question.subject} {question.detail} {question.beside}")
    command = string(given.get("command"))
    if (patch := patch_in(command)) and "Destination:" in question.detail:
        return _with_patch(question, patch, folder)
    if command:
        told = _with_command(question, command, string(given.get("about")))
        return None if told is None else replace(told, command=command)
    path = string(given.get("path"))
    if path and _is_named(folder / path, question):
        name = one_line(literal(path.removeprefix(f"{folder}/")), 4_096)
        change = _changed(given, folder / path, name, transcript.program)
        rows = question.detail.split("\n")
        if change is not None and shows_change(rows, change, transcript.program, partial=question.partial):
            beside = [line for line in question.beside.split("\n") if not _names_change(line.strip(), name)]
            return replace(question, detail="", diff=change.diff, beside="\n".join(beside), partial=is_cut(change.diff))
    if (told := _asked_of(given, shown)) and not question.choices:
        return replace(question, subject=one_line(literal(told[0]), 300), detail="\n".join(told[1:]))
    plans = {string(given.get("plan")), "" if given.keys() - {"plan"} else _written_plan(transcript)} - {""}
    plan = plans.pop() if len(plans) == 1 else ""
    if plan and is_shown(next(filter(None, plan.splitlines()), "").lstrip("# "), shown, cut=question.partial):
        return replace(question, detail=literal(plan).strip("\n"), partial=False)
    return None


def _is_named(path: Path, question: OpenQuestion) -> bool:
    """Whether what stands above a change names its file, and no row another one of that name: of its folders, as many
    as are shown are its own.
    """
    rows = [*question.subject.split("\n"), *question.beside.split("\n"), *heading_of(question.detail.split("\n"))]
    if re.search(r"\s", path.name):
        return any(path.name in row for row in rows)

    def is_own(name: str) -> bool:
        return f"/{path}".endswith(f"/{name.lstrip('~./…')}")

    words = [[word for word in _AROUND.split(row) if word] or [""] for row in rows]
    before = ["", *(row[-1] for row in words)]  # a narrow terminal breaks a long path
    named = [(row[-1], f"{start}{row[-1]}", len(row) == 1) for start, row in zip(before, words, strict=False)]
    alone = [is_own(word) or is_own(joined) for word, joined, alone in named if alone and word.endswith(path.name)]
    every = [word for row in words for word in row] + [joined for _, joined, _ in named]
    return all(alone) and any(is_own(word) for word in every if word.endswith(path.name))


def _asked_of(given: dict[str, Any], shown: str) -> list[str]:
    """What a program asks a person, with a line for each answer, of which the screen shows one whole."""
    found: list[list[str]] = []
    for asked in objects(given.get("questions")):
        options = objects(asked.get("options"))
        answers = [(string(each.get("label")), string(each.get("description"))) for each in options]
        if any(label and bare(f"{label}{about}") in shown for label, about in answers):
            found.append([string(asked.get("question")), *(literal(f"- {label}: {about}") for label, about in answers)])
    if len(found) > 1:  # with the same answers
        found = [asked for asked in found if bare(asked[0]) in shown]
    return found[0] if len(found) == 1 else []


def _with_patch(question: OpenQuestion, patch: str, folder: Path) -> OpenQuestion | None:
    """The question with the change of this patch; `None` if its screen counts other lines, names other files, or does
    not begin with these lines.
    """
    files = patched_files(patch)
    named = sorted(bare(each) for each in question.detail.split("Destination:")[1:])
    heading = _COUNTED.match(question.detail)
    signs = [line[0] for each in files for line in each.lines]
    counts = [str(signs.count("+")), str(signs.count("-"))]
    if named != sorted(bare(str(folder / each.path)) for each in files) or (heading and [*heading.groups()] != counts):
        return None
    lines = [bare(line) for each in sorted(files, key=lambda each: each.path) for line in each.lines]
    rows = [bare(row.group(1)) for line in question.detail.split("\n") if (row := _CHANGED.fullmatch(line))]
    is_shown = 0 < len(rows) <= len(lines) and all(map(str.startswith, lines, rows))
    changes = [_patched(each, folder) for each in files]
    if not is_shown or not all(changes):
        return None
    said = question.detail[question.detail.find("\n\n") :] if heading else question.detail
    diff = "".join(changes)
    return replace(question, detail="", diff=diff, beside=said.strip("\n"), partial=is_cut(diff), changeless=False)


def _patched(file: PatchedFile, folder: Path) -> str:
    """The change of one file of a patch, as a unified diff; empty where it cannot be told."""
    place = folder / file.path
    shown = [path.removeprefix(f"{folder}/") for path in (file.path, file.moved) if path]
    name, before = one_line(literal(" → ".join(shown)), 800), _read(place)
    if file.kind == "Add":
        return (
            ""
            if before is None and os.path.lexists(place)
            else make_diff(before or "", file.parts[0][1], name, new=before is None)
        )
    after = None if before is None or file.headed else _placed(before, file.parts)
    if before is not None and after is not None:
        return make_diff(before, after, name)
    return "".join(make_diff(old, new, name) for old, new in file.parts)  # where in the file, nobody can tell


def _placed(before: str, parts: list[tuple[str, str]]) -> str | None:
    """A text with its parts replaced; `None` unless each is there once, in whole lines, each behind the one before."""
    after, end, text = "", 0, f"\n{before}"
    for old, new in parts:
        at = text.find(f"\n{old}")
        if not old or at < end or text.find(f"\n{old}", at + 1) >= 0:
            return None
        after += before[end:at] + new
        end = at + len(old)
    return after + before[end:]


def _names_change(line: str, name: str) -> bool:
    """Whether a line of the screen says no more than the change does."""
    return line == name or _HEADING.fullmatch(line) is not None


def shows_still(question: OpenQuestion, told: OpenQuestion) -> bool:
    """Whether a screen still shows all that was told of its question; another one may have the same id."""
    if question.partial or question.id != told.on_screen:
        return False
    alike = (told.detail, told.diff, told.partial) == (question.detail, question.diff, question.partial)
    question = replace(question, id=told.id, screen=told.screen, call=told.call)
    question = replace(question, command=told.command, warnings=told.warnings)
    return alike or _with_command(question, told.detail, told.beside) == told


def _with_command(question: OpenQuestion, command: str, about: str) -> OpenQuestion | None:
    """The question with this command; `None` if its screen shows another one. `about`: what its call says of it."""
    if not _shows_only(question, command, bare(about)):
        return None
    return replace(question, detail=literal(command).strip("\n"), beside=_besides(question, command), partial=False)


def _shows_only(question: OpenQuestion, command: str, about: str) -> bool:
    """Whether the screen shows this command, row after row, and nothing else but what is said about it. Blanks count
    in a line that has a row of its own.
    """
    words, drawn = bare(command), [row.strip(f" {DRAWN}") for row in question.detail.split("\n")]
    top = list(takewhile(bare, drawn))
    heading = bare("".join(top))
    if heading == _TITLE or (heading.startswith(_REASON) and heading.removeprefix(_REASON) in about):
        drawn = list(dropwhile(lambda row: not bare(row), drawn[len(top) :]))
        top = list(takewhile(bare, drawn))
    sign = _SIGN.match(top[0]) if top else None
    if not words or not top:
        return False
    lines = [(bare(line), line.strip()) for line in command.split("\n") if line.isprintable()]
    for row in drawn:
        if any(line and bare(row).endswith(line) and not row.endswith(written) for line, written in lines):
            return False
    rows = [bare(row) for row in (top[0][sign.end() :] if sign else top[0], *drawn[1:])]
    if sign and sign.group() != "$ ":  # what follows shows it again, and may leave out what has no room
        return "".join(rows[: len(top)]) in (words, f"{words}({about})") and are_in_turn(rows[len(top) :], words)
    shown = "".join(rows)
    for part in accumulate(rows):
        is_end = question.partial and len(part) >= ENOUGH and words.endswith(part)
        if (part == words or is_end) and shown.removeprefix(part) in about:
            return True
    return question.partial and len(shown) >= ENOUGH and words.startswith(shown)


def _besides(question: OpenQuestion, command: str) -> str:
    """What the screen says besides the command that it showed."""
    words = bare(command)
    lines = [line for line in question.detail.split("\n") if bare(line) not in words]
    return "\n".join(filter(None, ("\n".join(lines).strip("\n"), question.beside)))


def _changed(given: dict[str, Any], path: Path, name: str, program: str) -> CallChange | None:
    """The change that a call would make; `None` if it is none, or cannot be told. `name`: of the file, for people."""
    before, old, new = _read(path), string(given.get("old")), string(given.get("new"))
    after = None
    if before is None and os.path.lexists(path):  # what is lost of it cannot be told
        return None
    if "content" in given:
        after = given["content"]
    elif "old" not in given or "new" not in given or len(old) + len(new) > _LARGEST:
        return None
    elif not old:
        after = new if before is None else None
    elif before and old in before:
        if program == "claude" and not new and not old.endswith("\n") and f"{old}\n" in before:
            old += "\n"  # it takes the line's end away with the line
        after = before.replace(old, new, -1 if given.get("all") else 1)
    diff = "" if after is None else make_diff(before or "", after, name, new=before is None)
    return CallChange(before, after, diff) if after is not None and diff else None


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
