"""The patch that Codex asks about: its files, each with what is put in the place of what. Pure.

A patch that is not understood in every line has no files.
"""

from __future__ import annotations

import re
from typing import Literal, cast

import msgspec

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
