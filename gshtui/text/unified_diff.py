"""Unified diffs: made from two texts within bounded time, and parsed into files and hunks.

Pure. A piece that would take too long to compare is shown as replaced.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import msgspec
from msgspec.structs import replace

from gshtui.text.sanitise import literal, one_line

_CONTEXT = 3
_COMPARED = 2_000
"""Most differing lines for which the smallest change is searched; more are replaced as a whole."""
_STEPS = 3_000_000
"""Most pairs of equal lines to examine for the smallest change; recurring lines could take minutes."""
_LONGEST_LINE = 1_000
_MOST_LINES = 2_000
_CONTINUES = "… the diff continues: "
_CUT = re.compile(r"… \([\d,]+ characters\)$")


def make_diff(before: str, after: str, name: str, *, new: bool = False) -> str:
    """The unified diff between two texts, sanitised; empty if they are the same.

    Args:
        name: of the file, for the headers.
        new: the file did not exist.
    """
    if before == after and not new:
        return ""
    if _all_crlf(before) and _all_crlf(after):
        before, after = before.replace("\r\n", "\n"), after.replace("\r\n", "\n")
    old, fresh = _lines(before), _lines(after)
    lines = [f"--- {'/dev/null' if new else f'a/{name}'}", f"+++ b/{name}"]
    for number, line in enumerate(_hunks(old, fresh)):
        if number >= _MOST_LINES:
            lines.append(f"{_CONTINUES}{len(old):,} lines before, {len(fresh):,} after …")
            break
        lines.extend(_shown(line))
    return "\n".join(lines) + "\n"


def sizes_alone(before: str, after: str, name: str) -> str:
    """The diff between two texts that are too large to be compared or shown."""
    sizes = f"{len(before):,} characters before, {len(after):,} after …"
    return f"--- a/{name}\n+++ b/{name}\n{_CONTINUES}{sizes}\n"


def is_cut(diff: str) -> bool:
    """Whether a diff that was made here may leave out something of the change."""
    return any(line.startswith(_CONTINUES) or _CUT.search(line) for line in diff.split("\n"))


def count_changes(diff: str) -> str:
    """The diff's size as `+3 −1`."""
    body = diff.split("\n")[2:]
    added = sum(line.startswith("+") for line in body)
    removed = sum(line.startswith("-") for line in body)
    return f"+{added} −{removed}"


def _all_crlf(text: str) -> bool:
    """Whether every line ends with CRLF, which is then not worth showing."""
    return "\r\n" in text and text.count("\r\n") == text.count("\n")


def _lines(text: str) -> list[str]:
    """Lines with their newlines; only `\\n` ends one."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _shown(line: str) -> Iterator[str]:
    if line.startswith("@@"):
        yield line.rstrip("\n")
        return
    words = line[1:].removesuffix("\n")
    shown = literal(words)
    if len(shown) > _LONGEST_LINE:
        shown = f"{shown[:_LONGEST_LINE]}… ({len(words):,} characters)"
    yield line[0] + shown
    if not line.endswith("\n"):
        yield "\\ No newline at end of file"


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    """Hunks of the change; equal lines at both ends are removed before comparing."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    if max(len(old), len(new)) - start - end > _COMPARED:
        yield from _replaced(old, new, start, end)
        return
    lead, rest = max(0, start - _CONTEXT), max(0, end - _CONTEXT)
    part_old, part_new = old[lead : len(old) - rest], new[lead : len(new) - rest]
    groups = _groups(part_old, part_new, autojunk=False) or _groups(part_old, part_new, autojunk=True)
    if groups is None:
        yield from _replaced(old, new, start, end)
        return
    for group in groups:
        first, last = group[0], group[-1]
        yield _header(lead + first[1], last[2] - first[1], lead + first[3], last[4] - first[3])
        for tag, a, b, c, d in group:
            if tag == "equal":
                yield from (f" {line}" for line in part_old[a:b])
                continue
            yield from (f"-{line}" for line in part_old[a:b])
            yield from (f"+{line}" for line in part_new[c:d])


_Codes = list[tuple[str, int, int, int, int]]


class _TooManyAlike(Exception):
    """The same lines recur too often to find the smallest change quickly."""


class _Matcher(difflib.SequenceMatcher[str]):
    """The library's matcher with a limit on its steps: one look costs as many as there are pairs of equal lines."""

    def __init__(self, old: Sequence[str], new: Sequence[str], *, autojunk: bool) -> None:
        super().__init__(None, old, new, autojunk=autojunk)
        times = Counter(new)
        if autojunk and len(new) >= 200:  # ignore lines that make up more than a hundredth of all
            times = Counter({line: count for line, count in times.items() if count <= len(new) // 100 + 1})
        self._pairs = [0, *accumulate(1 + times[line] for line in old)]
        self._left = _STEPS

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> difflib.Match:
        self._left -= self._pairs[-1 if ahi is None else ahi] - self._pairs[alo]
        if self._left < 0:
            raise _TooManyAlike
        return super().find_longest_match(alo, ahi, blo, bhi)


def _groups(old: list[str], new: list[str], *, autojunk: bool) -> list[_Codes] | None:
    """The changes with the lines around them; `None` if that would take too long."""
    try:
        return list(_Matcher(old, new, autojunk=autojunk).get_grouped_opcodes(_CONTEXT))
    except _TooManyAlike:
        return None


def _replaced(old: list[str], new: list[str], start: int, end: int) -> Iterator[str]:
    lead, rest = max(0, start - _CONTEXT), max(0, end - _CONTEXT)
    yield _header(lead, len(old) - rest - lead, lead, len(new) - rest - lead)
    yield from (f" {line}" for line in old[lead:start])
    yield from (f"-{line}" for line in old[start : len(old) - end])
    yield from (f"+{line}" for line in new[start : len(new) - end])
    yield from (f" {line}" for line in old[len(old) - end : len(old) - rest])


def _header(old_at: int, old_lines: int, new_at: int, new_lines: int) -> str:
    # Like diff(1), give a side without lines the number of the line before it.
    return f"@@ -{old_at + bool(old_lines)},{old_lines} +{new_at + bool(new_lines)},{new_lines} @@"


_HEAD = "diff --git "


class FilePatch(msgspec.Struct):
    """One file's part of a diff. `lines`: the text of its hunks, each beginning with a line `@@ … @@`."""

    path: str
    before: str = ""
    """Its previous path, if different."""
    status: str = "changed"
    """changed, added, deleted, renamed."""
    added: int = 0
    removed: int = 0
    binary: bool = False
    lines: list[str] = msgspec.field(default_factory=list[str])
    index: str = ""
    """The contents before and after, as git names them."""
    mode: str = ""
    """A change of the file's mode: `644 → 755`."""
    too_large: int = 0
    """Bytes of a new file that was not compared, as it is too large; 0: it is not."""

    def shown(self) -> FilePatch:
        lines = [literal(line) for line in self.lines]
        return replace(self, path=_shown_name(self.path), before=_shown_name(self.before), lines=lines)

    def plain(self) -> dict[str, Any]:
        """As data for scripts, sanitised."""
        shown = self.shown()
        return {
            "path": shown.path,
            "before": shown.before,
            "status": shown.status,
            "added": shown.added,
            "removed": shown.removed,
            "binary": shown.binary,
            **({"mode": shown.mode} if shown.mode else {}),
            "text": "\n".join(shown.lines),
        }


def parse_diff(diff: str) -> list[FilePatch]:
    """The files of a diff in git's own format, in order."""
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


def _file(block: list[str]) -> FilePatch:
    change = FilePatch(_of_head(block[0]))
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


def _take_header(change: FilePatch, line: str) -> None:
    word, _, rest = line.partition(" ")
    match word:
        case "new" if rest.startswith("file "):
            change.status = "added"
        case "old" if rest.startswith("mode "):
            change.mode = rest[-3:]
        case "new" if rest.startswith("mode "):
            change.mode = f"{change.mode} → {rest[-3:]}"
        case "index":
            change.index = rest
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
    """The path in `diff --git a/x b/x`, for files without a line `+++`: both halves are the same."""
    rest = line.removeprefix(_HEAD)
    if rest.startswith('"'):
        return unquoted(rest[: len(rest) // 2])[2:]
    return rest[2 : len(rest) // 2]


def unquoted(name: str) -> str:
    """The real name behind one that git quoted for its unusual characters."""
    if not (len(name) > 1 and name.startswith('"') and name.endswith('"')):
        return name
    raw = name[1:-1].encode("utf-8", "surrogateescape").decode("unicode_escape")
    return raw.encode("latin-1", "replace").decode("utf-8", "surrogateescape")


def _shown_name(name: str) -> str:
    return one_line(literal(name), limit=1000)
