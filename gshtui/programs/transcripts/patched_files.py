"""The files that a patch in the form of `apply_patch` changes. Pure."""

from __future__ import annotations

import re
from typing import Literal, cast

import msgspec

_GIVEN = re.compile(
    r"(?:apply_patch <<(['\"])(\w+)\1\n)?(\*{3} Begin Patch\n.*\n\*{3} End Patch)\n?(\2\n?)?", re.DOTALL
)
_FILE = re.compile(r"\*\*\* (Add|Update) File: (\S.*)")
_MOVED = "*** Move to: "


class PatchedFile(msgspec.Struct):
    """One file. `parts`: what is replaced by what; of a new file, its text by nothing before. `lines`: those with a
    sign. `headed`: it says behind which line a part is, which the part then begins with.
    """

    kind: Literal["Add", "Update"]
    path: str
    moved: str = ""
    parts: list[tuple[str, str]] = msgspec.field(default_factory=list[tuple[str, str]])
    lines: list[str] = msgspec.field(default_factory=list[str])
    headed: bool = False


def patch_in(command: str) -> str:
    """The patch that a command or an argument is, and nothing else; empty: it is none."""
    found = _GIVEN.fullmatch(command)
    return found.group(3) if found is not None and bool(found.group(2)) == bool(found.group(4)) else ""


def patched_files(patch: str) -> list[PatchedFile]:
    """The files of a patch; none where a line of it is not understood."""
    files, is_open = list[PatchedFile](), False
    for line in patch.split("\n")[1:-1]:
        if (found := _FILE.fullmatch(line)) is not None:
            files.append(PatchedFile(cast("Literal['Add', 'Update']", found.group(1)), found.group(2)))
            is_open = files[-1].kind == "Add"
            files[-1].parts += [("", "")] if is_open else []
        elif not files:
            return []
        elif line.startswith(_MOVED) and not files[-1].parts:
            files[-1].moved = line.removeprefix(_MOVED)
        elif line.startswith("@@") and files[-1].kind == "Update":
            heading = f"{words}\n" if (words := line[2:].removeprefix(" ")) else ""
            files[-1].parts.append((heading, heading))
            files[-1].headed |= bool(heading)
            is_open = True
        elif not (is_open and _took(files[-1], line)):
            return []
    return files


def _took(file: PatchedFile, line: str) -> bool:
    """Whether a line belongs to the last part of a file, which then has it."""
    sign, words = line[:1] or " ", f"{line[1:]}\n"
    if sign not in ("+" if file.kind == "Add" else " +-"):
        return False
    old, new = file.parts[-1]
    file.parts[-1] = old + words * (sign != "+"), new + words * (sign != "-")
    file.lines += [line] * (sign != " ")
    return True
