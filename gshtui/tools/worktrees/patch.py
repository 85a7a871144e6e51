"""A unified diff as files and hunks. Pure.

Owns the reading of what git prints; refuses to make or to draw one. Called by `changes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gshtui.guard.sanitise import literal, one_line

_HEAD = "diff --git "


@dataclass(slots=True)
class FileChange:
    """One file's part of a diff. `lines`: the text of its hunks, each beginning with a line `@@ … @@`."""

    path: str
    before: str = ""
    """Its path before, where it was another."""
    status: str = "changed"
    """changed, added, deleted, renamed."""
    added: int = 0
    removed: int = 0
    binary: bool = False
    lines: list[str] = field(default_factory=list[str])

    def plain(self) -> dict[str, Any]:
        """As data for scripts and faces, sanitised."""
        return {
            "path": _shown(self.path),
            "before": _shown(self.before),
            "status": self.status,
            "added": self.added,
            "removed": self.removed,
            "binary": self.binary,
            "text": "\n".join(literal(line) for line in self.lines),
        }


def files_of(diff: str) -> list[FileChange]:
    """The files of a diff as git prints it without external programs, in order."""
    return [_file(block) for block in _blocks(diff)]


def _blocks(diff: str) -> Iterator[list[str]]:
    block: list[str] = []
    for line in diff.removesuffix("\n").split("\n"):
        if line.startswith(_HEAD):
            if block:
                yield block
            block = []
        if block or line.startswith(_HEAD):
            block.append(line)
    if block:
        yield block


def _file(block: list[str]) -> FileChange:
    change = FileChange(_of_head(block[0]))
    inside = False
    for line in block[1:]:
        if line.startswith("@@ "):
            inside = True
        if not inside:
            _take_header(change, line)
            continue
        change.lines.append(line)
        change.added += line.startswith("+")
        change.removed += line.startswith("-")
    return change


def _take_header(change: FileChange, line: str) -> None:
    word, _, rest = line.partition(" ")
    match word:
        case "new":
            change.status = "added"
        case "deleted":
            change.status = "deleted"
        case "rename" if rest.startswith("from "):
            change.status, change.before = "renamed", unquoted(rest[5:])
        case "rename" if rest.startswith("to "):
            change.path = unquoted(rest[3:])
        case "Binary" | "GIT":
            change.binary = True
        case "---" | "+++" if (name := unquoted(rest.removesuffix("\t"))) != "/dev/null":
            change.path = name[2:]
        case _:
            pass


def _of_head(line: str) -> str:
    """The path of `diff --git a/x b/x`, for files without a line `+++`: both halves are the same."""
    rest = line.removeprefix(_HEAD)
    if rest.startswith('"'):
        return unquoted(rest[: len(rest) // 2])[2:]
    return rest[2 : len(rest) // 2]


def unquoted(name: str) -> str:
    """A name that git put into quotes for its strange characters, as it really is."""
    if not (len(name) > 1 and name.startswith('"') and name.endswith('"')):
        return name
    raw = name[1:-1].encode("utf-8", "surrogateescape").decode("unicode_escape")
    return raw.encode("latin-1", "replace").decode("utf-8", "surrogateescape")


def _shown(name: str) -> str:
    return one_line(literal(name), limit=1000)
